//! Runtime API, statistics page and metrics. Reads the running proxy; never sits on the data path.
#![forbid(unsafe_code)]
