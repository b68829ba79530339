//! The TLS options that bind, server and certificate list lines share (manual sections 5.1 and
//! 5.2), as plain data.

use crate::ignored::{Ignored, LAST};
use crate::provider::UnavailableKeyword;
use crate::version::{Version, Versions};
use std::fmt;

/// Whether a peer has to show a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// The client is asked for no certificate, or its certificate is not verified.
    #[default]
    None,
    /// The client may send a certificate, which is then verified.
    Optional,
    /// The client has to send a certificate.
    Required,
}

/// The TLS options of a bind line, of a server line or of a line of a certificate list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `ssl-min-ver`, `ssl-max-ver`, `no-*`, `force-*`
    pub versions: Versions,
    /// `ciphers`: up to TLS 1.2.
    pub ciphers: Option<String>,
    /// `ciphersuites`: from TLS 1.3 on.
    pub ciphersuites: Option<String>,
    /// `curves`
    pub curves: Option<String>,
    /// `ecdhe`
    pub ecdhe: Option<String>,
    /// `alpn`, in wire format.
    pub alpn: Option<Vec<u8>>,
    /// `npn`, in wire format.
    pub npn: Option<Vec<u8>>,
    /// `verify`
    pub verify: Option<Verify>,
    /// `ca-file`
    pub ca_file: Option<String>,
    /// `ca-verify-file`: authorities whose names are not sent to clients.
    pub ca_verify_file: Option<String>,
    /// `crl-file`
    pub crl_file: Option<String>,
    /// `ca-ignore-err`
    pub ca_ignored: Ignored,
    /// `crt-ignore-err`
    pub crt_ignored: Ignored,
    /// `no-ca-names`: no names of authorities are sent to clients.
    pub no_ca_names: bool,
    /// `no-tls-tickets`
    pub no_tickets: bool,
    /// `prefer-client-ciphers`
    pub prefer_client_ciphers: bool,
    /// `allow-0rtt`: early data may come from a client or go to a server.
    pub early: bool,
    /// `ocsp-update`: OCSP responses are fetched from the authority.
    pub ocsp_update: Option<bool>,
}

/// Why the value of an option is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionFault {
    /// The library of this build does not support the option.
    Unavailable(UnavailableKeyword),
    /// There is no value; its name.
    Missing(&'static str),
    /// No version of the protocol has this name.
    Version(String),
    /// No method of verification has this name.
    VerifyMethod(String),
    /// Neither `on` nor `off`.
    Switch(String),
    /// An error number is too large, in this list.
    ErrorId {
        /// The number.
        number: i64,
        /// The list.
        list: String,
    },
    /// A name in the list of protocols is longer than 255 bytes; ALPN or NPN.
    LongProtocol(&'static str),
    /// The list of protocols is empty; ALPN or NPN.
    NoProtocol(&'static str),
}

/// An option whose value is refused. Messages are HAProxy's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionError {
    /// The option.
    pub keyword: &'static str,
    /// Why.
    pub fault: OptionFault,
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { keyword, fault } = self;
        match fault {
            OptionFault::Unavailable(error) => error.fmt(f),
            OptionFault::Version(name) => write!(f, "'{name}' : unknown ssl/tls version"),
            OptionFault::VerifyMethod(name) => write!(
                f,
                "'verify' : unknown verify method '{name}', only 'none', 'optional', and \
                 'required' are supported"
            ),
            OptionFault::Switch(value) => {
                write!(f, "'{keyword}' : '{value}' is neither 'on' nor 'off'")
            }
            OptionFault::Missing(what) => write!(f, "'{keyword}' : missing {what}"),
            OptionFault::ErrorId { number, list } => write!(
                f,
                "'{keyword}' : ID '{number}' out of range (1..{LAST}) in error IDs list '{list}'"
            ),
            OptionFault::LongProtocol(kind) => {
                write!(f, "'{keyword}' : {kind} protocol name too long")
            }
            OptionFault::NoProtocol(kind) => {
                write!(f, "'{keyword}' : missing the comma-delimited {kind} protocol suite")
            }
        }
    }
}

impl std::error::Error for OptionError {}

/// How an option of a line is read.
type Read = fn(&mut Options, &str) -> Result<(), OptionFault>;

/// An option that lines of certificate lists may have: name, whether a value follows, how it is
/// read.
#[derive(Clone, Copy)]
pub struct OptionKeyword {
    /// Its name.
    pub name: &'static str,
    /// Whether a value follows.
    pub has_value: bool,
    read: Read,
    /// Whether lines of certificate lists may have it.
    listed: bool,
}

const fn given(name: &'static str, listed: bool, read: Read) -> OptionKeyword {
    OptionKeyword { name, has_value: true, read, listed }
}

const fn flag(name: &'static str, read: Read) -> OptionKeyword {
    OptionKeyword { name, has_value: false, read, listed: false }
}

/// All options, alphabetical.
const OPTIONS: &[OptionKeyword] = &[
    OptionKeyword {
        name: "allow-0rtt",
        has_value: false,
        listed: true,
        read: |o, _| {
            o.early = true;
            Ok(())
        },
    },
    given("alpn", true, |o, value| {
        o.alpn = Some(protocols(value, "ALPN")?);
        Ok(())
    }),
    given("ca-file", true, |o, value| text(&mut o.ca_file, value, "CAfile path")),
    given("ca-ignore-err", false, |o, value| ignored(&mut o.ca_ignored, value)),
    given("ca-verify-file", true, |o, value| text(&mut o.ca_verify_file, value, "CAfile path")),
    given("ciphers", true, |o, value| text(&mut o.ciphers, value, "cipher suite")),
    given("ciphersuites", true, |o, value| text(&mut o.ciphersuites, value, "cipher suite")),
    given("crl-file", true, |o, value| text(&mut o.crl_file, value, "CRLfile path")),
    given("crt-ignore-err", false, |o, value| ignored(&mut o.crt_ignored, value)),
    given("curves", true, |o, value| text(&mut o.curves, value, "curve suite")),
    given("ecdhe", true, |o, value| text(&mut o.ecdhe, value, "named curve")),
    flag("force-sslv3", |o, _| force(o, Version::Ssl3)),
    flag("force-tlsv10", |o, _| force(o, Version::Tls10)),
    flag("force-tlsv11", |o, _| force(o, Version::Tls11)),
    flag("force-tlsv12", |o, _| force(o, Version::Tls12)),
    flag("force-tlsv13", |o, _| force(o, Version::Tls13)),
    OptionKeyword {
        name: "no-ca-names",
        has_value: false,
        listed: true,
        read: |o, _| {
            o.no_ca_names = true;
            Ok(())
        },
    },
    flag("no-sslv3", |o, _| exclude(o, Version::Ssl3)),
    flag("no-tls-tickets", |o, _| {
        o.no_tickets = true;
        Ok(())
    }),
    flag("no-tlsv10", |o, _| exclude(o, Version::Tls10)),
    flag("no-tlsv11", |o, _| exclude(o, Version::Tls11)),
    flag("no-tlsv12", |o, _| exclude(o, Version::Tls12)),
    flag("no-tlsv13", |o, _| exclude(o, Version::Tls13)),
    given("npn", true, |o, value| {
        o.npn = Some(protocols(value, "NPN")?);
        Ok(())
    }),
    given("ocsp-update", true, |o, value| {
        o.ocsp_update = Some(match value {
            "on" => true,
            "off" => false,
            "" => return Err(OptionFault::Missing("'on' or 'off'")),
            _ => return Err(OptionFault::Switch(value.to_owned())),
        });
        Ok(())
    }),
    flag("prefer-client-ciphers", |o, _| {
        o.prefer_client_ciphers = true;
        Ok(())
    }),
    given("ssl-max-ver", true, |o, value| {
        o.versions.max = version(value)?;
        Ok(())
    }),
    given("ssl-min-ver", true, |o, value| {
        o.versions.min = version(value)?;
        Ok(())
    }),
    given("verify", true, |o, value| {
        o.verify = Some(match value {
            "none" => Verify::None,
            "optional" => Verify::Optional,
            "required" => Verify::Required,
            "" => return Err(OptionFault::Missing("verify method")),
            _ => return Err(OptionFault::VerifyMethod(value.to_owned())),
        });
        Ok(())
    }),
];

impl OptionKeyword {
    /// The option of this name.
    pub fn find(name: &str) -> Option<Self> {
        OPTIONS.iter().find(|option| option.name == name).copied()
    }

    /// As [`OptionKeyword::find`], among those that lines of certificate lists may have.
    pub(crate) fn find_listed(name: &str) -> Option<Self> {
        Self::find(name).filter(|option| option.listed)
    }

    /// Parses the value into `options`; a flag has an empty one.
    ///
    /// # Errors
    ///
    /// The value is refused, or the library does not support the option.
    pub fn read(self, options: &mut Options, value: &str) -> Result<(), OptionError> {
        let fault = match crate::lacks(self.name) {
            Ok(()) => (self.read)(options, value).err(),
            Err(error) => Some(OptionFault::Unavailable(error)),
        };
        fault.map_or(Ok(()), |fault| Err(OptionError { keyword: self.name, fault }))
    }
}

impl Options {
    /// The options of `self`, and those of `other` where `self` has none.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let pick = |own: &Option<String>, other: &Option<String>| own.clone().or(other.clone());
        let set = |own: Ignored, other| if own == Ignored::default() { other } else { own };
        Self {
            versions: self.versions.or(other.versions),
            ciphers: pick(&self.ciphers, &other.ciphers),
            ciphersuites: pick(&self.ciphersuites, &other.ciphersuites),
            curves: pick(&self.curves, &other.curves),
            ecdhe: pick(&self.ecdhe, &other.ecdhe),
            alpn: self.alpn.clone().or_else(|| other.alpn.clone()),
            npn: self.npn.clone().or_else(|| other.npn.clone()),
            verify: self.verify.or(other.verify),
            ca_file: pick(&self.ca_file, &other.ca_file),
            ca_verify_file: pick(&self.ca_verify_file, &other.ca_verify_file),
            crl_file: pick(&self.crl_file, &other.crl_file),
            ca_ignored: set(self.ca_ignored, other.ca_ignored),
            crt_ignored: set(self.crt_ignored, other.crt_ignored),
            no_ca_names: self.no_ca_names || other.no_ca_names,
            no_tickets: self.no_tickets || other.no_tickets,
            prefer_client_ciphers: self.prefer_client_ciphers || other.prefer_client_ciphers,
            early: self.early || other.early,
            ocsp_update: self.ocsp_update.or(other.ocsp_update),
        }
    }
}

fn text(into: &mut Option<String>, value: &str, what: &'static str) -> Result<(), OptionFault> {
    if value.is_empty() {
        return Err(OptionFault::Missing(what));
    }
    *into = Some(value.to_owned());
    Ok(())
}

fn force(options: &mut Options, version: Version) -> Result<(), OptionFault> {
    options.versions.force(version);
    Ok(())
}

fn exclude(options: &mut Options, version: Version) -> Result<(), OptionFault> {
    options.versions.exclude(version);
    Ok(())
}

fn version(value: &str) -> Result<Option<Version>, OptionFault> {
    match value {
        "" => Err(OptionFault::Missing("ssl/tls version")),
        _ => match Version::by_name(value) {
            None => Err(OptionFault::Version(value.to_owned())),
            found => Ok(found),
        },
    }
}

fn ignored(into: &mut Ignored, value: &str) -> Result<(), OptionFault> {
    if value.is_empty() {
        return Err(OptionFault::Missing("error IDs list"));
    }
    *into = Ignored::parse(value)
        .map_err(|number| OptionFault::ErrorId { number, list: value.to_owned() })?;
    Ok(())
}

/// Protocol names joined by commas, in wire format (RFC 7301 section 3.1).
pub(crate) fn protocols(value: &str, kind: &'static str) -> Result<Vec<u8>, OptionFault> {
    let mut wire = Vec::new();
    // HAProxy accepts empty names between commas too; they cannot be negotiated.
    for name in value.split(',').filter(|name| !name.is_empty()) {
        match u8::try_from(name.len()) {
            Ok(length) => {
                wire.push(length);
                wire.extend_from_slice(name.as_bytes());
            }
            _ => return Err(OptionFault::LongProtocol(kind)),
        }
    }
    if wire.is_empty() {
        return Err(OptionFault::NoProtocol(kind));
    }
    Ok(wire)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_in_order() {
        assert!(OPTIONS.is_sorted_by_key(|option| option.name));
    }

    #[test]
    fn mistakes_are_reported_in_haproxys_words() {
        let mut options = Options::default();
        for (name, value, message) in [
            ("ca-file", "", "'ca-file' : missing CAfile path"),
            ("ssl-min-ver", "foo", "'foo' : unknown ssl/tls version"),
            ("alpn", "", "'alpn' : missing the comma-delimited ALPN protocol suite"),
            ("npn", "", "'npn' : missing the comma-delimited NPN protocol suite"),
            (
                "crt-ignore-err",
                "foo",
                "'crt-ignore-err' : ID '0' out of range (1..94) in error IDs list 'foo'",
            ),
        ] {
            let read = OptionKeyword::find(name).unwrap().read(&mut options, value);
            let lacks = crate::lacks(name).err().map(|error| error.to_string());
            assert_eq!(read.unwrap_err().to_string(), lacks.as_deref().unwrap_or(message));
        }
        assert_eq!(options, Options::default());
    }

    #[test]
    fn protocols_are_counted() {
        assert_eq!(protocols("h2,http/1.1", "ALPN").unwrap(), b"\x02h2\x08http/1.1");
        assert_eq!(protocols(",h2,", "ALPN").unwrap(), b"\x02h2");
        assert!(protocols(",", "ALPN").is_err());
        assert!(protocols(&"x".repeat(256), "ALPN").is_err());
    }
}
