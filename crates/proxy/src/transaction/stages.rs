//! Features that act on a request or response at one stage each.

pub(crate) mod body_for_balance;
pub(crate) mod checkcache;
pub mod cookie;
pub(crate) mod fcgi;
pub(crate) mod header_case;
pub(crate) mod rdp_cookie;
pub(crate) mod rewrite;
pub(crate) mod server_redirect;
pub(crate) mod sticking;
