//! Clients that encrypt, and certificates made on the spot.

use super::PATIENCE;
use openssl::asn1::{Asn1Object, Asn1OctetString, Asn1Time};
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::sign::Signer;
use openssl::ssl::{
    SslConnector, SslConnectorBuilder, SslContextBuilder, SslMethod, SslStream, SslVerifyMode,
};
use openssl::symm::Cipher;
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509Builder, X509Extension, X509NameBuilder};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

/// A certificate and its key.
pub(crate) struct Identity {
    certificate: X509,
    key: PKey<Private>,
}

impl Identity {
    /// A certificate for this name, signed by `by` or by itself.
    pub(crate) fn new(name: &str, by: Option<&Self>) -> Self {
        let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).expect("a known curve");
        let key = EcKey::generate(&group).and_then(PKey::from_ec_key).expect("a key");
        Self::with_key(name, key, by)
    }

    /// A certificate that names a responder of OCSP, signed by `by`.
    pub(crate) fn with_responder(name: &str, by: &Self, url: &str) -> Self {
        let key = Self::new(name, None).key;
        let certificate = sign(name, &key, Some(by), Some(url)).expect("a certificate");
        Self { certificate, key }
    }

    /// Its subject (DER).
    pub(crate) fn subject(&self) -> Vec<u8> {
        self.certificate.subject_name().to_der().expect("a name")
    }

    /// Signs something with ecdsa-with-SHA256.
    pub(crate) fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        let mut signer = Signer::new(MessageDigest::sha256(), &self.key).expect("a signer");
        signer.sign_oneshot_to_vec(bytes).expect("a signature")
    }

    /// An identity with a key of another kind.
    pub(crate) fn with_key(name: &str, key: PKey<Private>, by: Option<&Self>) -> Self {
        let certificate = sign(name, &key, by, None).expect("a certificate");
        Self { certificate, key }
    }

    /// The certificate and its key, as a file contains them (PEM).
    pub(crate) fn pem(&self) -> String {
        let key = self.key.private_key_to_pem_pkcs8().expect("a key");
        self.certificate() + &String::from_utf8(key).expect("a text")
    }

    /// Has a server show it.
    pub(crate) fn present(&self, context: &mut SslContextBuilder) {
        context.set_certificate(&self.certificate).expect("a certificate");
        context.set_private_key(&self.key).expect("its key");
    }

    pub(crate) fn key(&self) -> &PKey<Private> {
        &self.key
    }

    /// Its key as a file has it that needs a password.
    pub(crate) fn locked(&self, password: &str) -> String {
        let cipher = Cipher::aes_128_cbc();
        let key = self.key.private_key_to_pem_pkcs8_passphrase(cipher, password.as_bytes());
        String::from_utf8(key.expect("a key")).expect("a text")
    }

    pub(crate) fn certificate(&self) -> String {
        let text = self.certificate.to_pem().expect("a certificate");
        String::from_utf8(text).expect("a text")
    }

    /// A list of what this authority has revoked, for some decades (RFC 5280 section 5.1).
    pub(crate) fn revoke(&self, others: &[&Self]) -> String {
        let (from, to) = (der(0x17, b"200101000000Z"), der(0x18, b"20991231235959Z"));
        let revoked: Vec<u8> = others
            .iter()
            .flat_map(|it| {
                let serial = it.certificate.serial_number().to_bn().expect("a number");
                der(0x30, &[der(0x02, &serial.to_vec()), from.clone()].concat())
            })
            .collect();
        let revoked = if revoked.is_empty() { revoked } else { der(0x30, &revoked) };
        let issuer = self.certificate.subject_name().to_der().expect("a name");
        // Version 2; ecdsa-with-SHA256 (RFC 5758 section 3.2).
        let method = der(0x30, &der(0x06, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2]));
        let list = der(0x30, &[der(2, &[1]), method.clone(), issuer, from, to, revoked].concat());
        let mut signer = Signer::new(MessageDigest::sha256(), &self.key).expect("a signer");
        let signature = signer.sign_oneshot_to_vec(&list).expect("a signature");
        let bits = der(0x03, &[&[0], &signature[..]].concat());
        let digits = openssl::base64::encode_block(&der(0x30, &[list, method, bits].concat()));
        format!("-----BEGIN X509 CRL-----\n{}-----END X509 CRL-----\n", lines(&digits))
    }
}

/// A value of the distinguished encoding.
fn der(tag: u8, contents: &[u8]) -> Vec<u8> {
    let length = u16::try_from(contents.len()).expect("a short value").to_be_bytes();
    [&[tag, 0x82], &length, contents].concat()
}

/// Breaks text into lines of the length that PEM has.
fn lines(digits: &str) -> String {
    let parts = digits.as_bytes().chunks(64).map(|part| String::from_utf8_lossy(part) + "\n");
    parts.collect()
}

fn sign(
    name: &str,
    key: &PKey<Private>,
    by: Option<&Identity>,
    responder: Option<&str>,
) -> Result<X509, openssl::error::ErrorStack> {
    let mut subject = X509NameBuilder::new()?;
    subject.append_entry_by_nid(Nid::COMMONNAME, name)?;
    let subject = subject.build();
    let mut builder = X509Builder::new()?;
    builder.set_version(2)?;
    builder.set_serial_number(&*BigNum::from_u32(name.len() as u32)?.to_asn1_integer()?)?;
    builder.set_subject_name(&subject)?;
    builder.set_not_before(&*Asn1Time::days_from_now(0)?)?;
    builder.set_not_after(&*Asn1Time::days_from_now(2)?)?;
    builder.set_pubkey(key)?;
    builder.set_issuer_name(by.map_or(&*subject, |by| by.certificate.subject_name()))?;
    if by.is_none() {
        builder.append_extension(BasicConstraints::new().ca().build()?)?;
    }
    let names =
        SubjectAlternativeName::new().dns(name).build(&builder.x509v3_context(None, None))?;
    builder.append_extension(names)?;
    if let Some(url) = responder {
        // id-ad-ocsp (RFC 5280 section 4.2.2.1).
        let method = der(0x06, &[0x2b, 6, 1, 5, 5, 7, 0x30, 1]);
        let access = der(0x30, &der(0x30, &[method, der(0x86, url.as_bytes())].concat()));
        let access = Asn1OctetString::new_from_bytes(&access)?;
        let kind = Asn1Object::from_str("authorityInfoAccess")?;
        builder.append_extension(X509Extension::new_from_der(&kind, false, &access)?)?;
    }
    builder.sign(by.map_or(key, |by| &by.key), MessageDigest::sha256())?;
    Ok(builder.build())
}

/// An encrypted connection.
pub(crate) struct Secure(pub(crate) SslStream<TcpStream>);

impl Secure {
    /// Connects and asks for a name; nothing is verified.
    pub(crate) fn connect(address: SocketAddr, name: &str) -> Self {
        Self::try_connect(address, name, |_| {}).expect("a handshake that goes well")
    }

    /// A client with further settings; returns the error of a failed handshake.
    pub(crate) fn try_connect(
        address: SocketAddr,
        name: &str,
        prepare: impl FnOnce(&mut SslConnectorBuilder),
    ) -> Result<Self, String> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE).expect("a listener");
        Self::try_over(stream, name, prepare)
    }

    /// A client over this connection.
    pub(crate) fn try_over(
        stream: TcpStream,
        name: &str,
        prepare: impl FnOnce(&mut SslConnectorBuilder),
    ) -> Result<Self, String> {
        stream.set_read_timeout(Some(PATIENCE)).expect("a TCP socket");
        stream.set_nodelay(true).expect("a TCP socket");
        let mut builder = SslConnector::builder(SslMethod::tls()).expect("a context");
        builder.set_verify(SslVerifyMode::NONE);
        prepare(&mut builder);
        let mut config = builder.build().configure().expect("a session");
        config.set_verify_hostname(false);
        config.connect(name, stream).map(Self).map_err(|error| error.to_string())
    }

    /// Shows a certificate.
    pub(crate) fn show(builder: &mut SslConnectorBuilder, identity: &Identity) {
        builder.set_certificate(&identity.certificate).expect("a certificate");
        builder.set_private_key(&identity.key).expect("its key");
    }

    /// The name in the certificate that it was shown.
    pub(crate) fn peer(&self) -> String {
        let certificate = self.0.ssl().peer_certificate().expect("a server's certificate");
        let mut names = certificate.subject_name().entries_by_nid(Nid::COMMONNAME);
        names.next().and_then(|it| it.data().to_string().ok()).expect("a name").to_string()
    }

    /// Sends a request, and takes an answer whose length is announced: its head and its body.
    pub(crate) fn ask(&mut self, request: impl AsRef<[u8]>) -> Result<(String, Vec<u8>), String> {
        self.0.write_all(request.as_ref()).map_err(|error| error.to_string())?;
        let (mut received, mut bytes) = (Vec::new(), [0; 16_384]);
        loop {
            let end = received.windows(4).position(|part| part == b"\r\n\r\n");
            if let Some(end) = end {
                let head = String::from_utf8_lossy(&received[..end]).into_owned();
                let length = head.split("content-length: ").nth(1);
                let length = length.and_then(|rest| rest.lines().next()?.parse().ok());
                if received.len() >= end + 4 + length.unwrap_or(0) {
                    return Ok((head, received.split_off(end + 4)));
                }
            }
            match self.0.read(&mut bytes).map_err(|error| error.to_string())? {
                0 => return Err("the end".to_owned()),
                count => received.extend_from_slice(&bytes[..count]),
            }
        }
    }

    /// The body of the answer to a GET.
    pub(crate) fn get(&mut self, target: &str) -> String {
        let (_, body) =
            self.ask(format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n")).expect("an answer");
        String::from_utf8(body).expect("a text")
    }
}
