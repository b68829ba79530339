//! The cipher suites that the record layer knows, by their names in the registry of IANA.

use ffi::Aead;

/// The hash function of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// SHA-256
    Sha256,
    /// SHA-384
    Sha384,
}

impl Hash {
    /// Bytes of a digest.
    pub const fn length(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
        }
    }
}

/// The algorithms of a cipher suite that protect records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suite {
    /// The algorithm that protects records.
    pub aead: Aead,
    /// The hash function that keys are derived with.
    pub hash: Hash,
}

impl Suite {
    /// The suite of a name such as `TLS_AES_128_GCM_SHA256`; `None` if records of it are not known
    /// here.
    pub fn of_name(name: &str) -> Option<Self> {
        let rest = name.strip_prefix("TLS_")?;
        let protection = rest.split_once("WITH_").map_or(rest, |(_, protection)| protection);
        let (aead, hash) = match protection {
            "AES_128_GCM_SHA256" => (Aead::Aes128Gcm, Hash::Sha256),
            "AES_256_GCM_SHA384" => (Aead::Aes256Gcm, Hash::Sha384),
            "CHACHA20_POLY1305_SHA256" => (Aead::ChaCha20Poly1305, Hash::Sha256),
            _ => return None,
        };
        Some(Self { aead, hash })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_known_by_their_protection() {
        for (name, aead, hash) in [
            ("TLS_AES_128_GCM_SHA256", Aead::Aes128Gcm, Hash::Sha256),
            ("TLS_AES_256_GCM_SHA384", Aead::Aes256Gcm, Hash::Sha384),
            ("TLS_CHACHA20_POLY1305_SHA256", Aead::ChaCha20Poly1305, Hash::Sha256),
            ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", Aead::Aes128Gcm, Hash::Sha256),
            ("TLS_DHE_RSA_WITH_AES_256_GCM_SHA384", Aead::Aes256Gcm, Hash::Sha384),
            ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", Aead::ChaCha20Poly1305, Hash::Sha256),
        ] {
            assert_eq!(Suite::of_name(name), Some(Suite { aead, hash }), "{name}");
        }
        for name in [
            "TLS_AES_128_CCM_SHA256",
            "TLS_RSA_WITH_AES_128_CBC_SHA",
            "TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8",
            "TLS_RSA_WITH_ARIA_128_GCM_SHA256",
            "AES_128_GCM_SHA256",
            "",
        ] {
            assert_eq!(Suite::of_name(name), None, "{name}");
        }
    }
}
