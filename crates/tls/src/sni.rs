//! Which certificates belong to a host name: exact names, then wildcards, kind of key by kind of key.
//! Never parses a message.
//!
//! A look-up costs two hash look-ups, whatever the number of names.

use crate::hello::{Hello, KeyKind};
use std::collections::HashMap;

/// What stands for one name: for each kind of key the first certificate that claims it, and those
/// that do not want it.
#[derive(Debug, Default)]
struct Slot {
    kinds: [Option<usize>; 3],
    refusing: Vec<usize>,
}

/// Names, and the numbers of the certificates that claim them.
#[derive(Debug, Default)]
pub(crate) struct Names {
    exact: HashMap<Box<[u8]>, Slot>,
    /// By what follows the first label, dot included.
    wild: HashMap<Box<[u8]>, Slot>,
    /// Claimed by `*`.
    any: Slot,
}

impl Names {
    /// Adds the claim of a certificate on a name: `*.name`, or `!name` for one that it does not
    /// want. Earlier claims go first.
    pub(crate) fn claim(&mut self, pattern: &str, kind: KeyKind, certificate: usize) {
        let (refuses, name) = match pattern.strip_prefix('!') {
            Some(name) => (true, name),
            None => (false, pattern),
        };
        let name = name.to_ascii_lowercase();
        let slot = match name.strip_prefix('*') {
            Some("") => &mut self.any,
            Some(rest) => self.wild.entry(rest.as_bytes().into()).or_default(),
            None => self.exact.entry(name.as_bytes().into()).or_default(),
        };
        if refuses {
            slot.refusing.push(certificate);
        } else {
            slot.kinds[kind as usize].get_or_insert(certificate);
        }
    }

    /// The certificate for a client, if any claims the name that it asks for.
    pub(crate) fn find(&self, hello: &Hello) -> Option<usize> {
        let name = hello.name.as_deref()?;
        let exact = self.exact.get(name);
        let refusing = exact.map_or(&[][..], |slot| &slot.refusing);
        let dot = name.iter().position(|byte| *byte == b'.');
        let wild = dot.and_then(|dot| self.wild.get(&name[dot..]));
        let slots = [exact, wild, Some(&self.any)];
        let good = |slot| verifiable(slot, hello, refusing);
        // One that the client may not be able to verify is for it to refuse.
        let some = |slot| pick(slot, [KeyKind::Rsa, KeyKind::Ecdsa, KeyKind::Dsa], refusing);
        let slots = || slots.into_iter().flatten();
        slots().find_map(good).or_else(|| slots().find_map(some))
    }
}

/// The best of a slot that the client can verify.
fn verifiable(slot: &Slot, hello: &Hello, refusing: &[usize]) -> Option<usize> {
    pick(slot, KeyKind::ALL.into_iter().filter(|kind| hello.can_verify(*kind)), refusing)
}

/// The first of these kinds that a slot has.
fn pick(
    slot: &Slot,
    kinds: impl IntoIterator<Item = KeyKind>,
    refusing: &[usize],
) -> Option<usize> {
    let there = |kind: KeyKind| slot.kinds[kind as usize].filter(|it| !refusing.contains(it));
    kinds.into_iter().find_map(there)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(name: &str, ecdsa: bool) -> Hello {
        Hello { name: Some(name.as_bytes().to_vec()), verifies: [ecdsa, true, true] }
    }

    #[test]
    fn exact_names_go_before_wildcards() {
        let mut names = Names::default();
        names.claim("*.example.com", KeyKind::Rsa, 0);
        names.claim("a.Example.com", KeyKind::Rsa, 1);
        names.claim("a.example.com", KeyKind::Rsa, 2);
        assert_eq!(names.find(&hello("a.example.com", true)), Some(1));
        assert_eq!(names.find(&hello("b.example.com", true)), Some(0));
        assert_eq!(names.find(&hello("a.b.example.com", true)), None);
        assert_eq!(names.find(&hello("example.com", true)), None);
        assert_eq!(names.find(&Hello::default()), None);
    }

    #[test]
    fn a_certificate_may_refuse_a_name() {
        let mut names = Names::default();
        names.claim("*.example.com", KeyKind::Rsa, 0);
        names.claim("!www.example.com", KeyKind::Rsa, 0);
        assert_eq!(names.find(&hello("www.example.com", true)), None);
        names.claim("*", KeyKind::Rsa, 1);
        assert_eq!(names.find(&hello("www.example.com", true)), Some(1));
    }

    #[test]
    fn the_key_is_one_that_the_client_can_verify() {
        let mut names = Names::default();
        names.claim("a.b", KeyKind::Rsa, 0);
        names.claim("a.b", KeyKind::Ecdsa, 1);
        assert_eq!(names.find(&hello("a.b", true)), Some(1));
        assert_eq!(names.find(&hello("a.b", false)), Some(0));
        names.claim("*.b", KeyKind::Rsa, 2);
        names.claim("c.b", KeyKind::Ecdsa, 3);
        assert_eq!(names.find(&hello("c.b", true)), Some(3));
        assert_eq!(names.find(&hello("c.b", false)), Some(2), "rather the wildcard");
    }
}
