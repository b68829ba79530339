//! Running listeners, connections, transactions, server pools, checks and logs. Never parses configuration.
#![forbid(unsafe_code)]
