//! The services of a client: one request, one TCP session, and the answer in place of a server's.

mod background_validation;
pub mod http;
mod resting;
mod script_service;
pub(crate) mod send_response;
pub(crate) mod service;
mod silent_tunnel;
pub(crate) mod switch_mode;
pub mod tcp;
