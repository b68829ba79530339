//! The stages of a transaction: their table, the drivers, and features of one stage each.

pub(crate) mod body_for_balance;
pub(crate) mod cache_validation;
pub(crate) mod checkcache;
pub(crate) mod cookie;
pub(crate) mod fcgi;
pub(crate) mod http_rules;
pub(crate) mod rdp_cookie;
pub(crate) mod response;
pub(crate) mod rewrite;
pub(crate) mod route;
pub mod rule_sections;
pub(crate) mod spoe_events;
pub(crate) mod stage;
pub(crate) mod sticking;
pub mod table;
pub(crate) mod tcp_content_rules;
pub(crate) mod wait;
