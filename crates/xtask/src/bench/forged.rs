//! Many certificates quickly: few are generated, and the others are copies with another host name.
//! Their signatures are not true, which no server looks at.

use std::path::Path;
use std::process::{Command, Stdio};

use super::files::Files;
use crate::failure::{self, Outcome};

/// Certificates that are really made, each with a key of its own.
const MADE: usize = 8;

/// The name in all that are made; others have the same length.
const NAME: &str = "host00000";

/// A certificate that others are made from.
struct Model {
    /// DER.
    certificate: Vec<u8>,
    /// PEM.
    key: String,
}

/// The source of certificates.
pub(super) struct Forge(Vec<Model>);

impl Forge {
    /// Makes the first few: P-256, for a name and for `www.` before it.
    pub(super) fn new(files: &Files) -> Outcome<Self> {
        (0..MADE).map(|_| model(files.path())).collect::<Outcome<_>>().map(Self)
    }

    /// A certificate and its key for [`host`] `number`. Another `version` has another key.
    pub(super) fn pem(&self, number: usize, version: usize) -> String {
        let model = &self.0[(number + version) % self.0.len()];
        let mut certificate = model.certificate.clone();
        let name = format!("host{number:05}");
        while let Some(at) = find(&certificate, NAME.as_bytes()).filter(|_| number > 0) {
            certificate[at..at + NAME.len()].copy_from_slice(name.as_bytes());
        }
        let digits = base64(&certificate);
        let lines: Vec<&str> = digits
            .as_bytes()
            .chunks(64)
            .filter_map(|line| std::str::from_utf8(line).ok())
            .collect();
        format!(
            "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n{}",
            lines.join("\n"),
            model.key
        )
    }
}

/// The host name of the certificate of this number, below 100,000.
pub(super) fn host(number: usize) -> String {
    format!("host{number:05}.example.com")
}

fn model(directory: &Path) -> Outcome<Model> {
    let (key, certificate) = (directory.join("model.key"), directory.join("model.der"));
    let names = format!("subjectAltName=DNS:{0},DNS:www.{0}", host(0));
    let status = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
        .args(["-nodes", "-days", "30", "-subj", &format!("/CN={}", host(0)), "-addext", &names])
        .args(["-outform", "DER", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .stderr(Stdio::null())
        .status();
    let read = || Some((std::fs::read(&certificate).ok()?, std::fs::read_to_string(&key).ok()?));
    match read().filter(|_| status.is_ok_and(|status| status.success())) {
        Some((certificate, key)) => Ok(Model { certificate, key }),
        None => Err(failure::machine("openssl cannot make a certificate")),
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|part| part == wanted)
}

/// RFC 4648 section 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let all = (0..3).fold(0, |all, at| all << 8 | u32::from(*three.get(at).unwrap_or(&0)));
        for digit in 0..4 {
            let value = all >> (18 - 6 * digit) & 63;
            let padding = digit > three.len();
            text.push(if padding { '=' } else { char::from(DIGITS[value as usize]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    //! The digits, and names put into bytes.
    use super::*;

    #[test]
    fn digits_are_those_of_the_rfc() {
        let pairs =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (bytes, text) in pairs {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn certificates_differ_by_name_and_by_version() {
        let model = |key: &str| Model {
            certificate: b"(host00000.host00000)".to_vec(),
            key: key.to_owned(),
        };
        let forge = Forge(vec![model("one"), model("two")]);
        assert!(forge.pem(7, 0).contains(&base64(b"(host00007.host00007)")));
        assert!(forge.pem(0, 0).contains(&base64(b"(host00000.host00000)")));
        assert!(forge.pem(6, 0).ends_with("one") && forge.pem(6, 1).ends_with("two"));
        assert_eq!(host(42), "host00042.example.com");
    }
}
