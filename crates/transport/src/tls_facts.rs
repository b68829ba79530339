//! TLS sessions as sample expressions read them.

use sample::{Bytes, CertificateFact, NamePart, Offered, Owner, TlsFact, Value};
use tls::{CertificateFields, Conn, HandshakeError, Offer};

/// State of a connection whose handshake failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failed {
    /// Number and text of the failure, as the manual lists them for `bc_err` and `bc_err_str`.
    pub words: (u8, &'static str),
    /// Error code of the TLS library.
    pub(crate) code: i64,
    pub(crate) line: Option<String>,
    /// Parameters agreed on before the failure.
    state: State,
}

/// Parameters that both sides have agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct State {
    version: Option<&'static str>,
    cipher: Option<&'static str>,
    /// Effective bits of the cipher's secret, and bits of the algorithm.
    bits: Option<(i32, i32)>,
}

impl Failed {
    /// A failure of a session, if there was one.
    pub fn new(
        words: (u8, &'static str),
        fault: Option<&HandshakeError>,
        session: Option<&Conn>,
    ) -> Self {
        let state = session.map(|session| State {
            version: Some(session.version()),
            cipher: Some(session.cipher()),
            bits: session.cipher_bits(),
        });
        Self {
            words,
            code: fault.map_or(0, |fault| fault.code.cast_signed()),
            line: fault.map(HandshakeError::line),
            state: state.unwrap_or_default(),
        }
    }

    /// The fatal error that ended an established session in the library: an alert of the peer, such
    /// as one about our certificate, which TLS 1.3 sends behind the handshake.
    pub fn fatal(session: &Conn) -> Option<Self> {
        let fault = session.failure()?;
        Some(Self::new((43, "SSL fatal error"), Some(fault), Some(session)))
    }
}

/// The answer where there is no session.
pub fn without(fact: TlsFact<'_>) -> Option<Value<'static>> {
    match fact {
        TlsFact::Used | TlsFact::Resumed | TlsFact::HasServerName => Some(Value::Bool(false)),
        _ => None,
    }
}

/// The answer of a session that has failed, and is gone.
pub fn of_failed(failed: &Failed, fact: TlsFact<'_>) -> Option<Value<'static>> {
    match fact {
        TlsFact::Used => Some(Value::Bool(true)),
        TlsFact::Error => Some(Value::Int(failed.code)),
        TlsFact::Version => failed.state.version.map(|name| Value::str(name.as_bytes())),
        TlsFact::Cipher => failed.state.cipher.map(|name| Value::str(name.as_bytes())),
        TlsFact::AlgorithmBits => number(failed.state.bits?.1),
        TlsFact::SecretBits => number(failed.state.bits?.0),
        TlsFact::ErrorText => failed.line.clone().and_then(|line| text(line.into_bytes())),
        _ => without(fact),
    }
}

/// The answer of a session.
pub fn of_session(session: &Conn, fact: TlsFact<'_>) -> Option<Value<'static>> {
    match fact {
        TlsFact::Used => flag(true),
        TlsFact::AlgorithmBits => number(session.cipher_bits()?.1),
        TlsFact::SecretBits => number(session.cipher_bits()?.0),
        TlsFact::Alpn => text(session.alpn()?.to_vec()),
        TlsFact::Npn => text(session.npn()?.to_vec()),
        TlsFact::Cipher => Some(Value::str(session.cipher().as_bytes())),
        TlsFact::Version => Some(Value::str(session.version().as_bytes())),
        TlsFact::ServerName => text(session.server_name()?.to_vec()),
        TlsFact::HasServerName => flag(session.server_name().is_some()),
        TlsFact::Resumed => flag(session.is_resumed()),
        TlsFact::Early => flag(session.is_early()),
        TlsFact::SessionId => block(session.session_id()?),
        TlsFact::SessionKey => block(session.session_key()?),
        TlsFact::ClientRandom => block(session.client_random()),
        TlsFact::ServerRandom => block(session.server_random()),
        TlsFact::UniqueId => block(session.unique_id()?),
        TlsFact::Error => {
            Some(Value::Int(session.failure().map_or(0, |fault| fault.code.cast_signed())))
        }
        TlsFact::ErrorText => text(session.failure()?.line().into_bytes()),
        TlsFact::HasShown => flag(session.has_shown()),
        TlsFact::HasCertificate => flag(session.peer_certificate().is_some()),
        TlsFact::VerifyResult => number(session.verify_result()).filter(|_| session.stands()),
        TlsFact::CertificateError => number(session.checked().certificate_error),
        TlsFact::AuthorityError => number(session.checked().authority_error),
        TlsFact::AuthorityDepth => number(session.checked().authority_depth),
        TlsFact::Chain => block(session.peer_chain()?),
        TlsFact::Secret(label) => text(session.secret(label)?.into_string().into_bytes()),
        TlsFact::Offer(part) => offered(session, part),
        TlsFact::Certificate(Owner::Peer, part) => certificate(&session.peer_certificate()?, part),
        TlsFact::Certificate(Owner::Own, part) => certificate(&session.own_certificate()?, part),
    }
}

fn offered(session: &Conn, part: Offered) -> Option<Value<'static>> {
    let offer = session.offer()?;
    let lean = |list: &[u8], lean| if lean { Offer::without_grease(list) } else { list.to_vec() };
    match part {
        Offered::Version => number(offer.version),
        Offered::Ciphers(without) => block(lean(&offer.ciphers, without)),
        Offered::CipherNames(without) => {
            text(session.cipher_names(&lean(&offer.ciphers, without)).into_bytes())
        }
        Offered::CiphersHash => Some(Value::Int(offer.ciphers_hash.cast_signed())),
        Offered::Extensions(without) => block(lean(&offer.extensions, without)),
        Offered::Groups(without) => block(lean(&offer.groups, without)),
        Offered::PointFormats => block(offer.formats.clone()),
    }
}

fn certificate(shown: &CertificateFields, part: CertificateFact<'_>) -> Option<Value<'static>> {
    match part {
        CertificateFact::Der => block(shown.der()?),
        CertificateFact::Sha1 => block(shown.sha1()?),
        CertificateFact::Serial => block(shown.serial()?),
        CertificateFact::NotBefore => text(shown.not_before()?),
        CertificateFact::NotAfter => text(shown.not_after()?),
        CertificateFact::KeyAlgorithm => Some(Value::str(shown.key_algorithm()?.as_bytes())),
        CertificateFact::SignatureAlgorithm => {
            Some(Value::str(shown.signature_algorithm()?.as_bytes()))
        }
        CertificateFact::Version => Some(Value::Int(shown.version())),
        CertificateFact::Subject(part) => text(shown.subject(wanted(part))?),
        CertificateFact::Issuer(part) => text(shown.issuer(wanted(part))?),
    }
}

fn wanted(part: NamePart<'_>) -> tls::NamePart<'_> {
    let NamePart { kind, occurrence, rfc2253 } = part;
    tls::NamePart { kind, occurrence, rfc2253 }
}

fn flag(value: bool) -> Option<Value<'static>> {
    Some(Value::Bool(value))
}

fn number(value: impl Into<i64>) -> Option<Value<'static>> {
    Some(Value::Int(value.into()))
}

fn text(bytes: Vec<u8>) -> Option<Value<'static>> {
    Some(Value::Str(Bytes::Owned(bytes)))
}

fn block(bytes: Vec<u8>) -> Option<Value<'static>> {
    Some(Value::Bin(Bytes::Owned(bytes)))
}
