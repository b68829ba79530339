//! The life of one request or TCP stream, from its first byte to its log line.

pub(crate) mod body_buffer;
pub(crate) mod connect;
pub(crate) mod early_data;
pub(crate) mod early_send;
pub(crate) mod filters;
pub(crate) mod first_bytes;
pub(crate) mod forward;
pub(crate) mod http_rules;
pub(crate) mod local;
pub(crate) mod local_response;
pub(crate) mod read_request;
pub(crate) mod retry;
pub(crate) mod route;
pub(crate) mod rule_sections;
pub(crate) mod run;
pub(crate) mod send_response;
pub(crate) mod server_redirect;
pub(crate) mod stages;
pub(crate) mod stream_acquire;
pub(crate) mod switch_mode;
pub(crate) mod tcp;
pub(crate) mod tcp_content_rules;
pub(crate) mod tls_wait;
pub(crate) mod wait;
