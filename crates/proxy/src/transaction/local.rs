//! Answers in place of a server that pass the rules about responses: of services and scripts.

mod script_service;
pub(crate) mod service;
