//! The questions that expressions ask about the TLS session of a connection (manual section 7.3.4).

/// The connection that a fetch reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hop {
    /// The client's.
    Client,
    /// The server's.
    Server,
}

/// A question about a session. Answers are texts, numbers or bytes, as the manual has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsFact<'q> {
    /// `ssl_fc`: whether the connection has a TLS session
    Used,
    /// `ssl_fc_alg_keysize`
    AlgorithmBits,
    /// `ssl_fc_use_keysize`
    SecretBits,
    /// `ssl_fc_alpn`
    Alpn,
    /// `ssl_fc_npn`
    Npn,
    /// `ssl_fc_cipher`, `%sslc`
    Cipher,
    /// `ssl_fc_protocol`, `%sslv`
    Version,
    /// `ssl_fc_sni`
    ServerName,
    /// `ssl_fc_has_sni`
    HasServerName,
    /// `ssl_fc_is_resumed`
    Resumed,
    /// `ssl_fc_has_early`
    Early,
    /// `ssl_fc_session_id`
    SessionId,
    /// `ssl_fc_session_key`
    SessionKey,
    /// `ssl_fc_client_random`
    ClientRandom,
    /// `ssl_fc_server_random`
    ServerRandom,
    /// `ssl_fc_unique_id`
    UniqueId,
    /// `ssl_fc_err`
    Error,
    /// `ssl_fc_err_str`
    ErrorText,
    /// `ssl_fc_has_crt`: the peer has shown a certificate in this handshake
    HasShown,
    /// `ssl_c_used`: there is a certificate of the peer
    HasCertificate,
    /// `ssl_c_verify`
    VerifyResult,
    /// `ssl_c_err`
    CertificateError,
    /// `ssl_c_ca_err`
    AuthorityError,
    /// `ssl_c_ca_err_depth`
    AuthorityDepth,
    /// `ssl_c_chain_der`
    Chain,
    /// `ssl_fc_exporter_secret` and so on, by its label in key log files
    Secret(&'static str),
    /// `ssl_fc_cipherlist_bin` and so on
    Offer(Offered),
    /// `ssl_c_der` and so on: part of a certificate, the peer's or our own
    Certificate(Owner, CertificateFact<'q>),
}

/// The owner of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Whom the connection is with.
    Peer,
    /// Ours.
    Own,
}

/// Part of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateFact<'q> {
    /// `ssl_c_der`
    Der,
    /// `ssl_c_sha1`
    Sha1,
    /// `ssl_c_serial`
    Serial,
    /// `ssl_c_notbefore`
    NotBefore,
    /// `ssl_c_notafter`
    NotAfter,
    /// `ssl_c_key_alg`
    KeyAlgorithm,
    /// `ssl_c_sig_alg`
    SignatureAlgorithm,
    /// `ssl_c_version`
    Version,
    /// `ssl_c_s_dn`
    Subject(NamePart<'q>),
    /// `ssl_c_i_dn`
    Issuer(NamePart<'q>),
}

/// Which part of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NamePart<'q> {
    /// Its kind, such as `CN`; empty for the whole name.
    pub kind: &'q str,
    /// Which of several, from 1; from the end if negative.
    pub occurrence: i64,
    /// The whole name in the form of RFC 2253.
    pub rfc2253: bool,
}

/// The parts of a ClientHello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    /// `ssl_fc_protocol_hello_id`
    Version,
    /// `ssl_fc_cipherlist_bin`; whether values of RFC 8701 are left out
    Ciphers(bool),
    /// `ssl_fc_cipherlist_str`
    CipherNames(bool),
    /// `ssl_fc_cipherlist_xxh`
    CiphersHash,
    /// `ssl_fc_extlist_bin`
    Extensions(bool),
    /// `ssl_fc_eclist_bin`
    Groups(bool),
    /// `ssl_fc_ecformats_bin`
    PointFormats,
}
