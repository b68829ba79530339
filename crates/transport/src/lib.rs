//! Connections to peers: sockets, TLS, the codecs of HTTP/1 and of streams, splicing, the accept loop, and the forwarder of one direction,
//! with the counters that they keep and the memory that a thread reuses.
#![forbid(unsafe_code)]

pub mod acceptor;
pub mod channel;
pub mod codec;
pub mod filters;
pub mod forwarder;
pub mod h2;
pub mod proxy_v2_tls;
pub mod quic_stats;
pub mod socket;
pub mod splice;
pub mod stats;
pub mod streams;
pub mod thread;
pub mod tls_facts;
