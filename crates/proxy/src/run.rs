//! Composition: the tasks that each thread starts with and the upkeep of its state.

pub(crate) mod maintenance;
pub(crate) mod ocsp_update;
pub(crate) mod scripts;
pub mod server_add_delete;
pub(crate) mod start;
pub(crate) mod table_expiry;
#[cfg(test)]
pub(crate) mod tests;
