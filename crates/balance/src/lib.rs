//! Balancing algorithms, weights and health state machines. Receives weights and hashes, never requests.
#![forbid(unsafe_code)]
