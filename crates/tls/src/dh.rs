//! Parameters of finite-field key exchange (`ssl-dh-param-file`, `tune.ssl.default-dh-param`).

use crate::hello::KeyKind;
use openssl::bn::BigNum;
use openssl::dh::Dh;
use openssl::pkey::Params;
use openssl::x509::X509Ref;
use std::sync::{Arc, OnceLock};

/// Parameters that many certificates share.
pub(crate) type Shared = Arc<Dh<Params>>;

/// The bits of known groups.
const GROUPS: [u32; 5] = [1_024, 2_048, 3_072, 4_096, 8_192];

/// Where certificates without parameters of their own take them from.
#[derive(Default)]
pub(crate) struct Exchange {
    /// `ssl-dh-param-file`
    file: Option<Shared>,
    /// `tune.ssl.default-dh-param`: the most bits; 0 for none.
    most: u32,
    /// The parameters of [`GROUPS`] that handshakes have used.
    known: [OnceLock<Option<Shared>>; GROUPS.len()],
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").field("most", &self.most).finish_non_exhaustive()
    }
}

impl Exchange {
    pub(crate) fn new(file: Option<Shared>, most: u32) -> Self {
        Self { file, most, known: Default::default() }
    }

    /// The parameters of a file; if there are none, some as strong as the key of the certificate
    /// but within the limit. Only keys that such an exchange can be signed with have any.
    pub(crate) fn of(&self, leaf: &X509Ref, kind: KeyKind) -> Option<Shared> {
        if kind == KeyKind::Ecdsa {
            return None;
        }
        if self.file.is_some() || self.most == 0 {
            return self.file.clone();
        }
        let bits = leaf.public_key().ok()?.bits().min(self.most);
        let at = GROUPS.iter().rposition(|size| *size <= bits).unwrap_or(0);
        let make = || {
            let prime = ffi::known_prime(GROUPS[at])?;
            Dh::from_pqg(prime, None, BigNum::from_u32(2).ok()?).ok().map(Arc::new)
        };
        self.known[at].get_or_init(make).clone()
    }
}

/// Reads the text of a file; `None` if it has no parameters.
pub(crate) fn read(text: &[u8]) -> Option<Shared> {
    Dh::params_from_pem(text).ok().map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::pair::{ecdsa, make, rsa};

    #[test]
    fn parameters_are_as_strong_as_the_key_within_a_limit() {
        let leaf = make(&["a"], rsa(), None).certificate;
        let bits = |most| {
            let found = Exchange::new(None, most).of(&leaf, KeyKind::Rsa);
            found.map(|dh| dh.prime_p().num_bits())
        };
        let found = [0, 1_024, 2_047, 2_048, 4_096].map(bits);
        match ffi::LACKS.contains(&"ssl-dh-param-file") {
            // The library exchanges no keys by finite fields.
            true => assert_eq!(found, [None; 5]),
            false => {
                assert_eq!(found, [None, Some(1_024), Some(1_024), Some(2_048), Some(2_048)]);
            }
        }
    }

    #[test]
    fn parameters_of_a_file_have_precedence() {
        let prime = BigNum::get_rfc3526_prime_3072().unwrap();
        let made = Dh::from_pqg(prime, None, BigNum::from_u32(2).unwrap()).unwrap();
        let exchange = Exchange::new(read(&made.params_to_pem().unwrap()), 2_048);
        let leaf = make(&["a"], rsa(), None).certificate;
        let found = exchange.of(&leaf, KeyKind::Rsa).unwrap();
        assert_eq!(found.prime_p().num_bits(), 3_072);
        let leaf = make(&["a"], ecdsa(), None).certificate;
        assert!(exchange.of(&leaf, KeyKind::Ecdsa).is_none());
        assert!(read(b"x").is_none());
    }
}
