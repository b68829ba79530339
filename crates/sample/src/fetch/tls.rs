//! Fetches about the TLS of connections and the certificates shown on them.

use super::Source::{Call, Tls};
use super::{CLIENT_TLS, Fetch, SERVER_CONN, fetch};
use crate::args::{ArgError, Args};
use crate::context::ParseContext;
use crate::facts::{CertificateFact as Part, Facts, Hop, NamePart, Offered, Owner, TlsFact};
use crate::value::{Bytes, Missing, Outcome, Type, Value};

use Hop::{Client, Server};

/// Arguments of fetches of names.
const NAME: &str = "[string,integer,string]";

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Fetch] = &[
    fetch("ssl_bc", "", Type::Bool, SERVER_CONN, "Whether the server connection is encrypted.", Tls(Server, TlsFact::Used)),
    fetch("ssl_bc_alg_keysize", "", Type::Int, SERVER_CONN, "Bits of its cipher's algorithm.", Tls(Server, TlsFact::AlgorithmBits)),
    fetch("ssl_bc_alpn", "", Type::Str, SERVER_CONN, "Protocol negotiated by ALPN with the server.", Tls(Server, TlsFact::Alpn)),
    fetch("ssl_bc_cipher", "", Type::Str, SERVER_CONN, "Cipher of the server connection.", Tls(Server, TlsFact::Cipher)),
    fetch("ssl_bc_client_random", "", Type::Bin, SERVER_CONN, "Our random bytes of its handshake.", Tls(Server, TlsFact::ClientRandom)),
    fetch("ssl_bc_err", "", Type::Int, SERVER_CONN, "Last TLS error of the server connection.", Tls(Server, TlsFact::Error)),
    fetch("ssl_bc_err_str", "", Type::Str, SERVER_CONN, "The same in words.", Tls(Server, TlsFact::ErrorText)),
    fetch("ssl_bc_is_resumed", "", Type::Bool, SERVER_CONN, "Whether its TLS session was resumed.", Tls(Server, TlsFact::Resumed)),
    fetch("ssl_bc_npn", "", Type::Str, SERVER_CONN, "Protocol negotiated by NPN with the server.", Tls(Server, TlsFact::Npn)),
    fetch("ssl_bc_protocol", "", Type::Str, SERVER_CONN, "TLS version of the server connection.", Tls(Server, TlsFact::Version)),
    fetch("ssl_bc_server_random", "", Type::Bin, SERVER_CONN, "The server's random bytes of its handshake.", Tls(Server, TlsFact::ServerRandom)),
    fetch("ssl_bc_session_id", "", Type::Bin, SERVER_CONN, "Number of its TLS session.", Tls(Server, TlsFact::SessionId)),
    fetch("ssl_bc_session_key", "", Type::Bin, SERVER_CONN, "Master key of its TLS session.", Tls(Server, TlsFact::SessionKey)),
    fetch("ssl_bc_unique_id", "", Type::Bin, SERVER_CONN, "First Finished message of its handshake.", Tls(Server, TlsFact::UniqueId)),
    fetch("ssl_bc_use_keysize", "", Type::Int, SERVER_CONN, "Bits of its cipher's secret that count.", Tls(Server, TlsFact::SecretBits)),

    fetch("ssl_c_ca_err", "", Type::Int, CLIENT_TLS, "First error of the client's authorities, 0 without one.", Tls(Client, TlsFact::AuthorityError)),
    fetch("ssl_c_ca_err_depth", "", Type::Int, CLIENT_TLS, "How far up the chain that was.", Tls(Client, TlsFact::AuthorityDepth)),
    fetch("ssl_c_chain_der", "", Type::Bin, CLIENT_TLS, "The client's chain of certificates.", Tls(Client, TlsFact::Chain)),
    fetch("ssl_c_der", "", Type::Bin, CLIENT_TLS, "The client's certificate.", peer(Client, Part::Der)),
    fetch("ssl_c_err", "", Type::Int, CLIENT_TLS, "First error of the client's certificate, 0 without one.", Tls(Client, TlsFact::CertificateError)),
    fetch("ssl_c_i_dn", NAME, Type::Str, CLIENT_TLS, "Name of who signed the client's certificate.", Call(c_issuer)).prepare(name),
    fetch("ssl_c_key_alg", "", Type::Str, CLIENT_TLS, "Algorithm of its key.", peer(Client, Part::KeyAlgorithm)),
    fetch("ssl_c_notafter", "", Type::Str, CLIENT_TLS, "Until when it is valid, YYMMDDhhmmssZ.", peer(Client, Part::NotAfter)),
    fetch("ssl_c_notbefore", "", Type::Str, CLIENT_TLS, "From when it is valid, YYMMDDhhmmssZ.", peer(Client, Part::NotBefore)),
    fetch("ssl_c_s_dn", NAME, Type::Str, CLIENT_TLS, "Name that the client's certificate is for.", Call(c_subject)).prepare(name),
    fetch("ssl_c_serial", "", Type::Bin, CLIENT_TLS, "Its number.", peer(Client, Part::Serial)),
    fetch("ssl_c_sha1", "", Type::Bin, CLIENT_TLS, "Its digest by SHA-1.", peer(Client, Part::Sha1)),
    fetch("ssl_c_sig_alg", "", Type::Str, CLIENT_TLS, "Algorithm that it is signed by.", peer(Client, Part::SignatureAlgorithm)),
    fetch("ssl_c_used", "", Type::Bool, CLIENT_TLS, "Whether the session has a certificate of the client.", Tls(Client, TlsFact::HasCertificate)),
    fetch("ssl_c_verify", "", Type::Int, CLIENT_TLS, "What verifying it came to, 0 for success.", Tls(Client, TlsFact::VerifyResult)),
    fetch("ssl_c_version", "", Type::Int, CLIENT_TLS, "Version of its format.", peer(Client, Part::Version)),

    fetch("ssl_f_der", "", Type::Bin, CLIENT_TLS, "The certificate that the client was shown.", own(Part::Der)),
    fetch("ssl_f_i_dn", NAME, Type::Str, CLIENT_TLS, "Name of who signed it.", Call(f_issuer)).prepare(name),
    fetch("ssl_f_key_alg", "", Type::Str, CLIENT_TLS, "Algorithm of its key.", own(Part::KeyAlgorithm)),
    fetch("ssl_f_notafter", "", Type::Str, CLIENT_TLS, "Until when it is valid, YYMMDDhhmmssZ.", own(Part::NotAfter)),
    fetch("ssl_f_notbefore", "", Type::Str, CLIENT_TLS, "From when it is valid, YYMMDDhhmmssZ.", own(Part::NotBefore)),
    fetch("ssl_f_s_dn", NAME, Type::Str, CLIENT_TLS, "Name that it is for.", Call(f_subject)).prepare(name),
    fetch("ssl_f_serial", "", Type::Bin, CLIENT_TLS, "Its number.", own(Part::Serial)),
    fetch("ssl_f_sha1", "", Type::Bin, CLIENT_TLS, "Its digest by SHA-1.", own(Part::Sha1)),
    fetch("ssl_f_sig_alg", "", Type::Str, CLIENT_TLS, "Algorithm that it is signed by.", own(Part::SignatureAlgorithm)),
    fetch("ssl_f_version", "", Type::Int, CLIENT_TLS, "Version of its format.", own(Part::Version)),

    fetch("ssl_fc", "", Type::Bool, CLIENT_TLS, "Whether the client connection is encrypted.", Tls(Client, TlsFact::Used)),
    fetch("ssl_fc_alg_keysize", "", Type::Int, CLIENT_TLS, "Bits of its cipher's algorithm.", Tls(Client, TlsFact::AlgorithmBits)),
    fetch("ssl_fc_alpn", "", Type::Str, CLIENT_TLS, "Protocol negotiated by ALPN.", Tls(Client, TlsFact::Alpn)),
    fetch("ssl_fc_cipher", "", Type::Str, CLIENT_TLS, "Cipher of the client connection.", Tls(Client, TlsFact::Cipher)),
    fetch("ssl_fc_cipherlist_bin", "[integer]", Type::Str, CLIENT_TLS, "Ciphers that the client offered; 1: without GREASE.", Call(ciphers)).prepare(filter),
    fetch("ssl_fc_cipherlist_hex", "[integer]", Type::Bin, CLIENT_TLS, "The same in hexadecimal digits.", Call(hexadecimal)).prepare(filter),
    fetch("ssl_fc_cipherlist_str", "[integer]", Type::Str, CLIENT_TLS, "The same as names.", Call(names)).prepare(filter),
    fetch("ssl_fc_cipherlist_xxh", "", Type::Int, CLIENT_TLS, "Hash of all ciphers that the client offered.", Call(|_, f| offered(f, Offered::CiphersHash))),
    fetch("ssl_fc_client_early_traffic_secret", "", Type::Str, CLIENT_TLS, "Secret of the client's early data.", secret("CLIENT_EARLY_TRAFFIC_SECRET")),
    fetch("ssl_fc_client_handshake_traffic_secret", "", Type::Str, CLIENT_TLS, "Secret of the client's handshake.", secret("CLIENT_HANDSHAKE_TRAFFIC_SECRET")),
    fetch("ssl_fc_client_random", "", Type::Bin, CLIENT_TLS, "The client's random bytes.", Tls(Client, TlsFact::ClientRandom)),
    fetch("ssl_fc_client_traffic_secret_0", "", Type::Str, CLIENT_TLS, "Secret of the client's first data.", secret("CLIENT_TRAFFIC_SECRET_0")),
    fetch("ssl_fc_early_exporter_secret", "", Type::Str, CLIENT_TLS, "Secret that early keys are exported from.", secret("EARLY_EXPORTER_SECRET")),
    fetch("ssl_fc_ecformats_bin", "", Type::Str, CLIENT_TLS, "Formats of points that the client offered.", Call(|_, f| bytes(f, Offered::PointFormats))),
    fetch("ssl_fc_eclist_bin", "[integer]", Type::Str, CLIENT_TLS, "Groups that the client offered; 1: without GREASE.", Call(groups)).prepare(filter),
    fetch("ssl_fc_err", "", Type::Int, CLIENT_TLS, "Last TLS error of the client connection, 0 without one.", Tls(Client, TlsFact::Error)),
    fetch("ssl_fc_err_str", "", Type::Str, CLIENT_TLS, "The same in words.", Tls(Client, TlsFact::ErrorText)),
    fetch("ssl_fc_exporter_secret", "", Type::Str, CLIENT_TLS, "Secret that keys are exported from.", secret("EXPORTER_SECRET")),
    fetch("ssl_fc_extlist_bin", "[integer]", Type::Str, CLIENT_TLS, "Extensions that the client offered; 1: without GREASE.", Call(extensions)).prepare(filter),
    fetch("ssl_fc_has_crt", "", Type::Bool, CLIENT_TLS, "Whether the client has shown a certificate.", Tls(Client, TlsFact::HasShown)),
    fetch("ssl_fc_has_early", "", Type::Bool, CLIENT_TLS, "Whether this came before the handshake ended.", Tls(Client, TlsFact::Early)),
    fetch("ssl_fc_has_sni", "", Type::Bool, CLIENT_TLS, "Whether the client announced a server name.", Tls(Client, TlsFact::HasServerName)),
    fetch("ssl_fc_is_resumed", "", Type::Bool, CLIENT_TLS, "Whether the TLS session was resumed.", Tls(Client, TlsFact::Resumed)),
    fetch("ssl_fc_npn", "", Type::Str, CLIENT_TLS, "Protocol negotiated by NPN.", Tls(Client, TlsFact::Npn)),
    fetch("ssl_fc_protocol", "", Type::Str, CLIENT_TLS, "TLS version of the client connection.", Tls(Client, TlsFact::Version)),
    fetch("ssl_fc_protocol_hello_id", "", Type::Int, CLIENT_TLS, "Version that the client's first message has.", Call(|_, f| offered(f, Offered::Version))),
    fetch("ssl_fc_server_handshake_traffic_secret", "", Type::Str, CLIENT_TLS, "Secret of our handshake.", secret("SERVER_HANDSHAKE_TRAFFIC_SECRET")),
    fetch("ssl_fc_server_random", "", Type::Bin, CLIENT_TLS, "Our random bytes.", Tls(Client, TlsFact::ServerRandom)),
    fetch("ssl_fc_server_traffic_secret_0", "", Type::Str, CLIENT_TLS, "Secret of our first data.", secret("SERVER_TRAFFIC_SECRET_0")),
    fetch("ssl_fc_session_id", "", Type::Bin, CLIENT_TLS, "Number of the TLS session.", Tls(Client, TlsFact::SessionId)),
    fetch("ssl_fc_session_key", "", Type::Bin, CLIENT_TLS, "Master key of the TLS session.", Tls(Client, TlsFact::SessionKey)),
    fetch("ssl_fc_sni", "", Type::Str, CLIENT_TLS, "Server name that the client announced.", Tls(Client, TlsFact::ServerName)),
    fetch("ssl_fc_unique_id", "", Type::Bin, CLIENT_TLS, "First Finished message of the handshake.", Tls(Client, TlsFact::UniqueId)),
    fetch("ssl_fc_use_keysize", "", Type::Int, CLIENT_TLS, "Bits of its cipher's secret that count.", Tls(Client, TlsFact::SecretBits)),

    fetch("ssl_s_chain_der", "", Type::Bin, CLIENT_TLS, "The server's chain of certificates.", Tls(Server, TlsFact::Chain)),
    fetch("ssl_s_der", "", Type::Bin, CLIENT_TLS, "The server's certificate.", peer(Server, Part::Der)),
    fetch("ssl_s_i_dn", NAME, Type::Str, CLIENT_TLS, "Name of who signed the server's certificate.", Call(s_issuer)).prepare(name),
    fetch("ssl_s_key_alg", "", Type::Str, CLIENT_TLS, "Algorithm of its key.", peer(Server, Part::KeyAlgorithm)),
    fetch("ssl_s_notafter", "", Type::Str, CLIENT_TLS, "Until when it is valid, YYMMDDhhmmssZ.", peer(Server, Part::NotAfter)),
    fetch("ssl_s_notbefore", "", Type::Str, CLIENT_TLS, "From when it is valid, YYMMDDhhmmssZ.", peer(Server, Part::NotBefore)),
    fetch("ssl_s_s_dn", NAME, Type::Str, CLIENT_TLS, "Name that the server's certificate is for.", Call(s_subject)).prepare(name),
    fetch("ssl_s_serial", "", Type::Bin, CLIENT_TLS, "Its number.", peer(Server, Part::Serial)),
    fetch("ssl_s_sha1", "", Type::Bin, CLIENT_TLS, "Its digest by SHA-1.", peer(Server, Part::Sha1)),
    fetch("ssl_s_sig_alg", "", Type::Str, CLIENT_TLS, "Algorithm that it is signed by.", peer(Server, Part::SignatureAlgorithm)),
    fetch("ssl_s_version", "", Type::Int, CLIENT_TLS, "Version of its format.", peer(Server, Part::Version)),
];

const fn peer(hop: Hop, part: Part<'static>) -> super::Source {
    Tls(hop, TlsFact::Certificate(Owner::Peer, part))
}

const fn own(part: Part<'static>) -> super::Source {
    Tls(Client, TlsFact::Certificate(Owner::Own, part))
}

const fn secret(label: &'static str) -> super::Source {
    Tls(Client, TlsFact::Secret(label))
}

fn name(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    match args.text(2) {
        "" | "rfc2253" => Ok(()),
        other => {
            Err(ArgError::Value(format!("only rfc2253 is supported as a format, not '{other}'")))
        }
    }
}

fn filter(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    match args.int(0).unwrap_or(0) {
        0 | 1 => Ok(()),
        other => Err(ArgError::Value(format!("the filter is 0 or 1, not '{other}'"))),
    }
}

fn part(args: &Args) -> NamePart<'_> {
    NamePart {
        kind: args.text(0),
        occurrence: args.int(1).unwrap_or(1),
        rfc2253: !args.text(2).is_empty(),
    }
}

fn issuer<'e>(args: &'e Args, facts: &'e dyn Facts, hop: Hop, owner: Owner) -> Outcome<'e> {
    ask(facts, hop, TlsFact::Certificate(owner, Part::Issuer(part(args))))
}

fn subject<'e>(args: &'e Args, facts: &'e dyn Facts, hop: Hop, owner: Owner) -> Outcome<'e> {
    ask(facts, hop, TlsFact::Certificate(owner, Part::Subject(part(args))))
}

fn c_issuer<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    issuer(args, facts, Client, Owner::Peer)
}

fn c_subject<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    subject(args, facts, Client, Owner::Peer)
}

fn f_issuer<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    issuer(args, facts, Client, Owner::Own)
}

fn f_subject<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    subject(args, facts, Client, Owner::Own)
}

fn s_issuer<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    issuer(args, facts, Server, Owner::Peer)
}

fn s_subject<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    subject(args, facts, Server, Owner::Peer)
}

/// The sample, as an owned value.
fn ask<'e>(facts: &dyn Facts, hop: Hop, fact: TlsFact<'_>) -> Outcome<'e> {
    facts.tls(hop, fact).ok_or(Missing::Absent)
}

/// Whether values of RFC 8701 are left out.
fn lean(args: &Args) -> bool {
    args.int(0) == Some(1)
}

fn offered<'e>(facts: &'e dyn Facts, what: Offered) -> Outcome<'e> {
    ask(facts, Client, TlsFact::Offer(what))
}

fn bytes<'e>(facts: &'e dyn Facts, what: Offered) -> Outcome<'e> {
    let bytes = offered(facts, what)?.to_bin().ok_or(Missing::Absent)?;
    Ok(Value::Bin(Bytes::Owned(bytes.to_vec())))
}

fn ciphers<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    bytes(facts, Offered::Ciphers(lean(args)))
}

fn names<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    offered(facts, Offered::CipherNames(lean(args)))
}

fn groups<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    bytes(facts, Offered::Groups(lean(args)))
}

fn extensions<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    bytes(facts, Offered::Extensions(lean(args)))
}

fn hexadecimal<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let list = offered(facts, Offered::Ciphers(lean(args)))?.to_bin().ok_or(Missing::Absent)?;
    let digits: String = list.iter().map(|byte| format!("{byte:02X}")).collect();
    Ok(Value::Str(Bytes::Owned(digits.into_bytes())))
}

#[cfg(test)]
pub(crate) mod tests;
