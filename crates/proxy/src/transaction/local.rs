//! Answers in place of a server that pass the rules about responses: of services, scripts and caches.

pub(crate) mod cached;
mod script_service;
pub(crate) mod service;
