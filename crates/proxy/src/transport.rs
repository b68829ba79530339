//! Connections to peers: sockets, TLS, the codecs of HTTP/1 and HTTP/2, splicing, and the forwarder of one direction.

pub(crate) mod channel;
pub(crate) mod codec;
pub(crate) mod forwarder;
pub mod h2;
pub(crate) mod proxy_v2_tls;
pub mod socket;
pub mod splice;
pub(crate) mod tls_facts;
