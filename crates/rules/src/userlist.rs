//! `userlist`: users, groups, passwords (manual section 3.4), and the hashes of crypt(3).

use crate::crypt;
use std::collections::BTreeMap;

/// The users of one list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserList {
    /// By name.
    pub users: BTreeMap<String, User>,
    /// The names of its groups.
    pub groups: Vec<String>,
}

/// One user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    /// The password; a user without one cannot log in.
    pub password: Option<Password>,
    /// Groups, in order of declaration.
    pub groups: Vec<String>,
}

/// A password as configured.
#[derive(Clone, PartialEq, Eq)]
pub enum Password {
    /// `insecure-password`
    Plain(Box<[u8]>),
    /// `password`: as crypt(3) writes it. A verification takes milliseconds.
    Hashed(Box<str>),
}

impl std::fmt::Debug for Password {
    /// Secrets stay out of traces.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Password::Plain(_) => "Plain(...)",
            Password::Hashed(_) => "Hashed(...)",
        })
    }
}

impl Password {
    /// Whether `given` is this password. With a hash the time depends on the hash's cost parameter.
    pub fn verify(&self, given: &[u8]) -> bool {
        match self {
            Password::Plain(plain) => crypt::same(plain, given),
            Password::Hashed(hash) => crypt::verify(hash, given),
        }
    }
}

/// Whether `hash` is of a kind that can be verified: SHA-256, SHA-512, MD5, bcrypt,
/// yescrypt, scrypt or DES.
pub fn is_supported(hash: &str) -> bool {
    crypt::is_supported(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_compared() {
        assert!(Password::Plain(b"a".as_slice().into()).verify(b"a"));
        assert!(!Password::Plain(b"a".as_slice().into()).verify(b"ab"));
        assert!(!Password::Hashed("$9$x".into()).verify(b"x"), "never a panic");
    }
}
