//! The hashes of crypt(3) that a userlist may contain, distinguished by prefix.

mod des;
mod md5;
mod scrypt;

use sha_crypt::{PasswordVerifier as _, ShaCrypt};
use yescrypt::{PasswordHashRef, Yescrypt};

/// The kind of a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CryptKind {
    /// `$5$` and `$6$`: SHA-256 and SHA-512.
    Sha,
    /// `$1$`: MD5.
    Md5,
    /// `$2a$`, `$2b$`, `$2x$` and `$2y$`: Blowfish.
    Bcrypt,
    /// `$y$`: yescrypt.
    Yescrypt,
    /// `$7$`: scrypt.
    Scrypt,
    /// 13 characters of crypt's own alphabet: DES.
    Des,
}

fn kind(hash: &str) -> Option<CryptKind> {
    let prefix = |prefixes: &[&str]| prefixes.iter().any(|prefix| hash.starts_with(prefix));
    if prefix(&["$5$", "$6$"]) {
        Some(CryptKind::Sha)
    } else if prefix(&["$1$"]) {
        Some(CryptKind::Md5)
    } else if prefix(&["$2a$", "$2b$", "$2x$", "$2y$"]) {
        Some(CryptKind::Bcrypt)
    } else if prefix(&["$y$"]) {
        Some(CryptKind::Yescrypt)
    } else if prefix(&["$7$"]) {
        Some(CryptKind::Scrypt)
    } else {
        (hash.len() == 13 && hash.bytes().all(|byte| digit(byte).is_some()))
            .then_some(CryptKind::Des)
    }
}

/// Whether `hash` is of a kind that can be verified.
pub(crate) fn is_supported(hash: &str) -> bool {
    kind(hash).is_some()
}

/// Whether `given` is the password that `hash` was made of. The time depends on the cost parameter
/// of the hash.
pub(crate) fn verify(hash: &str, given: &[u8]) -> bool {
    let computed = match kind(hash) {
        Some(CryptKind::Sha) => return ShaCrypt::default().verify_password(given, hash).is_ok(),
        Some(CryptKind::Bcrypt) => return bcrypt::verify(given, hash).unwrap_or(false),
        Some(CryptKind::Yescrypt) => {
            let hash = PasswordHashRef::new(hash);
            return hash.is_ok_and(|hash| Yescrypt::default().verify_password(given, hash).is_ok());
        }
        Some(CryptKind::Scrypt) => scrypt::crypt(given, hash),
        Some(CryptKind::Md5) => md5::crypt(given, hash),
        Some(CryptKind::Des) => des::crypt(given, hash),
        None => return false,
    };
    computed.is_some_and(|computed| same(computed.as_bytes(), hash.as_bytes()))
}

/// The digits of crypt's base 64, from 0 to 63.
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The value of a digit.
fn digit(byte: u8) -> Option<u32> {
    DIGITS.iter().position(|digit| *digit == byte).map(|value| value as u32)
}

/// Whether two texts are equal; the time depends on their lengths only.
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    let differing = a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && differing == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Made by the system's crypt(3).
    const HASHES: &[(&str, &str)] = &[
        ("Hello world!", "$1$saltstri$YMyguxXMBpd2TEZ.vS/3q1"),
        ("Hello world!", "$1$x$nOgEtOLmf3xhWqibKtjGl."),
        ("Hello world!", "abMbH7WsHr7wQ"),
        ("Hello world!", "./C8Yx8rc0s.g"),
        ("Hello world!", "zZq.NeTMwMr6A"),
        ("Hello world!", "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"),
        (
            "Hello world!",
            "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
        ),
        ("Hello world!", "$2b$04$abcdefghijklmnopqrstuuyeG8laUfZvsCmc.AE6qIDYSPGM2efmK"),
        ("secret", "$y$j75$saltsaltsalt$jyf/lxrpdyAIshWRo1x5DRC6KIE7sNRRtjcomR3PgHA"),
        ("secret", "$7$6/..../....SodiumChloride$bciGDDIOZNONWHBBHFwzWAFXsMqIK9RG40myI7U7.Z1"),
        ("a", "$1$saltstri$HP4ANLG0Ln2mcWmFUeETo."),
        ("a", "$1$x$P8VObTrxaqT4VBmnH06P8."),
        ("a", "abxxB7HlIeckU"),
        ("a", "./xT2u5QYaHcU"),
        ("a", "zZ/Dc0K.bMxrQ"),
        ("a", "$2b$04$abcdefghijklmnopqrstuuMFdJu9yVgmagVAIC24fOZkaFqd3s9JC"),
        ("password", "$1$saltstri$qQY4WxjABChYG1ccLpfkz/"),
        ("password", "$1$x$ntiM1/Tz/A.K1foNwVMof0"),
        ("password", "abJnggxhB/yWI"),
        ("password", "./xZjzHv5vzVE"),
        ("password", "zZDDIZ0NOlPzw"),
        ("password", "$2b$04$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm"),
        ("A rather long password of more than sixteen bytes", "$1$saltstri$vsjQznxowfskW8WT9skpe0"),
        ("A rather long password of more than sixteen bytes", "$1$x$k72B6ywnC02vArH1GPF8P."),
        ("A rather long password of more than sixteen bytes", "abyvia/.DOR5o"),
        ("A rather long password of more than sixteen bytes", "./aa8QwyeHsMo"),
        ("A rather long password of more than sixteen bytes", "zZfZWiYxDDMSA"),
        (
            "A rather long password of more than sixteen bytes",
            "$2b$04$abcdefghijklmnopqrstuuy8mfxNxXf7/1k0yE5TtjwL0LYEVEbly",
        ),
    ];

    #[test]
    fn hashes_of_crypt_are_verified() {
        for (password, hash) in HASHES {
            assert!(is_supported(hash) && verify(hash, password.as_bytes()), "{hash}");
            for wrong in ["wrong", "", &password[1..]] {
                assert!(!verify(hash, wrong.as_bytes()), "{hash} {wrong}");
            }
        }
    }

    #[test]
    fn other_hashes_are_not() {
        for hash in ["$9$x$y", "plain", "", "$gy$j9T$x$y", "_J9..rasmBYk8r9AiWNc", "rl.3StKT.4T8!"]
        {
            assert!(!is_supported(hash) && !verify(hash, b"x"), "{hash}");
        }
        for hash in
            ["$y$", "$y$j9T$x$y", "$y$zzzzzzzzzz$x$y", "$7$", "$7$6/..../..$x", "$7$zzzzzzzzzzz$x"]
        {
            assert!(!verify(hash, b"x"), "{hash}");
        }
        for hash in ["$1$", "$2b$", "$2b$31$", "$5$", "$6$rounds=99999999999$a$b", "............."]
        {
            assert!(!verify(hash, b"x"), "{hash}");
        }
    }

    proptest! {
        #[test]
        fn no_hash_panics(hash in "(\\$[126][aby]?\\$)?[./$A-Za-z]{0,20}", given in prop::collection::vec(any::<u8>(), 0..20)) {
            let _ = verify(&hash, &given);
        }
    }
}
