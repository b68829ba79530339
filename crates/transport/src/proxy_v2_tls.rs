//! The part of a PROXY protocol header that describes a client's TLS session (proxy-protocol.txt,
//! section 2.2.6).

use settings::{Announce, Values};
use std::net::SocketAddr;
use tls::{Conn, NamePart};
use wire::proxy_protocol;
use wire::proxy_protocol::ProxyHeader;
use wire::proxy_protocol::ProxyTls;

/// TLS facts for the requested TLVs.
#[derive(Debug)]
pub struct ProxyTlsValues {
    /// Whether the client sent a certificate: on this connection, in this session.
    certificate: (bool, bool),
    verify: u32,
    version: &'static str,
    common_name: Option<Vec<u8>>,
    cipher: Option<&'static str>,
    signature: Option<&'static str>,
    key: Option<String>,
}

impl ProxyTlsValues {
    /// The TLS facts of a session.
    pub fn of(session: &Conn, values: Values) -> Self {
        let (peer, own) = (session.peer_certificate(), session.own_certificate());
        let name = NamePart { kind: "CN", occurrence: 1, rfc2253: false };
        let peer_name = || peer.as_ref()?.subject(name);
        let signature = || own.as_ref()?.signature_algorithm();
        let key = || own.as_ref()?.key_kind();
        Self {
            certificate: (session.has_shown(), peer.is_some()),
            verify: session.verify_result(),
            version: session.version(),
            common_name: values.common_name.then(peer_name).flatten(),
            cipher: values.cipher.then(|| session.cipher()),
            signature: values.signature.then(signature).flatten(),
            key: values.key.then(key).flatten(),
        }
    }

    /// The facts as the TLV of the header.
    pub(crate) fn tls(&self) -> ProxyTls<'_> {
        ProxyTls {
            encrypted: true,
            certificate: self.certificate,
            verify: self.verify,
            version: Some(self.version.as_bytes()),
            common_name: self.common_name.as_deref(),
            cipher: self.cipher.map(str::as_bytes),
            signature: self.signature.map(str::as_bytes),
            key: self.key.as_deref().map(str::as_bytes),
        }
    }
}

/// Writes the header of a connection without a client, such as a health check's; `ends` are the
/// addresses of that connection.
pub fn introduce_self(
    announce: Announce,
    ends: Option<(SocketAddr, SocketAddr)>,
    out: &mut Vec<u8>,
) {
    match announce {
        Announce::V1 => proxy_protocol::encode_v1(ends, out),
        Announce::V2(values) => {
            let ends = ends.filter(|_| values.never_local);
            proxy_protocol::encode_v2(&ProxyHeader { ends, ..header(values, None) }, out);
        }
    }
}

/// A v2 header; clear connections have empty TLS facts.
pub fn header(values: Values, told: Option<&ProxyTlsValues>) -> ProxyHeader<'_> {
    let tls = values.tls.then(|| told.map_or_else(ProxyTls::default, ProxyTlsValues::tls));
    ProxyHeader { checksum: values.checksum, tls, ..ProxyHeader::default() }
}
