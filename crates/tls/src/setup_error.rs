//! Why TLS cannot be set up for a line of the configuration.

use crate::authority::AuthorityFileError;
use crate::generated::GeneratorError;
use openssl::error::ErrorStack;
use std::fmt;

/// Why a certificate cannot be loaded. Messages are HAProxy's where it has any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CertificateError {
    /// There is no file, directory or bundle of this name.
    Missing {
        /// The name.
        name: String,
        /// The system's words.
        reason: String,
    },
    /// The file cannot be read.
    Unreadable {
        /// The file.
        name: String,
        /// The system's words.
        reason: String,
    },
    /// The file has no certificate.
    Malformed(String),
    /// The file of the issuer has no certificate.
    Issuer(String),
    /// The file of timestamps is malformed.
    Timestamps(String),
    /// The file has no private key.
    NoKey(String),
    /// The private key is not that of the certificate.
    ForeignKey(String),
    /// Lists differ in their `ocsp-update` for the certificate.
    UpdateModes(String),
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { name, reason } => {
                write!(f, "unable to stat SSL certificate from file '{name}' : {reason}.")
            }
            Self::Unreadable { name, reason } => {
                write!(f, "unable to load certificate from file '{name}': {reason}.")
            }
            Self::Malformed(name) => write!(f, "unable to load certificate from file '{name}'."),
            Self::Issuer(name) => write!(f, "unable to load issuer from file '{name}'."),
            Self::Timestamps(name) => write!(f, "'{name}' is present but cannot be parsed"),
            Self::NoKey(name) => write!(f, "No Private Key found in '{name}'."),
            Self::ForeignKey(name) => {
                write!(f, "inconsistencies between private key and certificate loaded '{name}'.")
            }
            Self::UpdateModes(name) => {
                write!(
                    f,
                    "'ocsp-update' of certificate '{name}' is 'on' in one list and 'off' in another."
                )
            }
        }
    }
}

impl std::error::Error for CertificateError {}

/// An option that the library refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedOption {
    /// The option, in HAProxy's words.
    pub what: &'static str,
    /// Its value.
    pub value: String,
}

impl fmt::Display for RefusedOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, value } = self;
        write!(f, "unable to set {what} to '{value}'")
    }
}

/// Why the sessions of a line cannot be set up. Messages are HAProxy's where it has any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetupError {
    /// The library cannot make a context; its errors.
    Context(String),
    /// The library refuses an option of a bind line.
    Option(RefusedOption),
    /// The library refuses an option of a server line.
    ServerOption(RefusedOption),
    /// Options exclude all versions of the protocol.
    NoVersion,
    /// Clients are to be verified, and there is no file of authorities.
    NoAuthority,
    /// A bind line has no certificate.
    NoCertificate,
    /// A file of authorities or revocation lists cannot be loaded.
    Authorities {
        /// The keyword that names it.
        keyword: &'static str,
        /// The file.
        name: String,
        /// Why.
        error: AuthorityFileError,
    },
    /// A certificate cannot be loaded.
    Certificate(CertificateError),
    /// The library refuses a certificate.
    RefusedCertificate {
        /// The certificate.
        name: String,
        /// The library's words.
        reason: String,
    },
    /// The library refuses the private key of a certificate.
    RefusedKey {
        /// The certificate.
        name: String,
        /// The library's words.
        reason: String,
    },
    /// The library refuses a certificate of a chain.
    RefusedChain {
        /// The certificate at its end.
        name: String,
        /// The library's errors.
        error: String,
    },
    /// The library refuses the parameters for key exchange beside a certificate.
    RefusedDh {
        /// The certificate.
        name: String,
        /// The library's words.
        reason: String,
    },
    /// There is an OCSP response for a certificate without an issuer.
    NoIssuer(String),
    /// Certificates cannot be generated.
    Generator {
        /// The file of the authority.
        name: String,
        /// Why.
        error: GeneratorError,
    },
    /// A line of a certificate list is at fault.
    Listed {
        /// The list.
        list: String,
        /// The line in it.
        line: u32,
        /// Why.
        error: Box<SetupError>,
    },
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Context(error) => write!(f, "unable to create an SSL context: {error}."),
            Self::Option(option) => option.fmt(f),
            Self::ServerOption(option) => write!(f, "{option}."),
            Self::NoVersion => f.write_str("all SSL/TLS versions are disabled"),
            Self::NoAuthority => f.write_str("verify is enabled but no CA file specified"),
            Self::NoCertificate => f.write_str("no SSL certificate specified"),
            Self::Authorities { keyword, name, error } => write!(
                f,
                "'{keyword}' : unable to load {name}: Couldn't open the ca-file '{name}' ({error})."
            ),
            Self::Certificate(error) => error.fmt(f),
            Self::RefusedCertificate { name, reason } => {
                write!(f, "unable to load SSL certificate into SSL Context '{name}': {reason}.")
            }
            Self::RefusedKey { name, reason } => {
                write!(f, "unable to load SSL private key into SSL Context '{name}': {reason}.")
            }
            Self::RefusedChain { name, error } => {
                write!(f, "unable to load chain certificate into SSL Context '{name}': {error}.")
            }
            Self::RefusedDh { name, reason } => {
                write!(f, "'{name}' : unable to set DH parameters: {reason}.")
            }
            Self::NoIssuer(name) => write!(
                f,
                "'{name}.ocsp' is present and activates OCSP but it is impossible to compute the \
                 OCSP certificate ID (maybe the issuer could not be found)'."
            ),
            Self::Generator { name, error } => {
                write!(f, "'ca-sign-file' : unable to load '{name}' : {error}")
            }
            Self::Listed { list, line, error } => {
                write!(f, "'crt-list' : parsing [{list}:{line}]: {error}")
            }
        }
    }
}

impl std::error::Error for SetupError {}

impl From<ErrorStack> for SetupError {
    fn from(error: ErrorStack) -> Self {
        Self::Context(error.to_string())
    }
}

impl From<CertificateError> for SetupError {
    fn from(error: CertificateError) -> Self {
        Self::Certificate(error)
    }
}
