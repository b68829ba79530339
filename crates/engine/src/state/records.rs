//! Records for operators: traces, histories, invalid messages, the last transactions.

pub mod anon;
pub mod flight_recorder;
pub mod history;
pub mod last_invalid;
pub mod trace;
