//! The index of certificates by host name: exact names, then wildcards, per kind of key.
//!
//! A look-up takes two hash look-ups, whatever the number of names.

use crate::hello::{Hello, KeyKind};
use std::collections::HashMap;

/// The claims on one name, in the order of the certificates.
#[derive(Debug, Default)]
struct Slot {
    claims: Vec<(usize, KeyKind)>,
    /// Certificates that do not take this name.
    refusing: Vec<usize>,
}

/// Names, and the places of the certificates that claim them.
#[derive(Debug, Default)]
pub(crate) struct Names {
    exact: HashMap<Box<[u8]>, Slot>,
    /// By what follows the first label, dot included.
    wild: HashMap<Box<[u8]>, Slot>,
    /// Claimed by `*`.
    any: Slot,
}

impl Names {
    /// Adds the claim of a certificate on a name: `*.name`, or `!name` for one that it excludes.
    /// Certificates in front have precedence.
    pub(crate) fn claim(&mut self, pattern: &str, kind: KeyKind, place: usize) {
        let (refuses, name) = understand(pattern);
        let slot = match name.strip_prefix('*') {
            Some("") => &mut self.any,
            Some(rest) => self.wild.entry(rest.as_bytes().into()).or_default(),
            None => self.exact.entry(name.as_bytes().into()).or_default(),
        };
        if refuses {
            slot.refusing.push(place);
        } else {
            let at = slot.claims.partition_point(|(own, _)| *own <= place);
            slot.claims.insert(at, (place, kind));
        }
    }

    /// Takes back all claims of a place on a name.
    pub(crate) fn give_up(&mut self, pattern: &str, place: usize) {
        let (refuses, name) = understand(pattern);
        let (map, key) = match name.strip_prefix('*') {
            Some("") => return self.any.remove(refuses, place),
            Some(rest) => (&mut self.wild, rest.as_bytes()),
            None => (&mut self.exact, name.as_bytes()),
        };
        if let Some(slot) = map.get_mut(key) {
            slot.remove(refuses, place);
            if slot.claims.is_empty() && slot.refusing.is_empty() {
                map.remove(key);
            }
        }
    }

    /// The certificate for a client, if any claims the name that it asks for. A certificate whose
    /// kind of key the client's ciphers exclude is not `usable`; it serves only if there is no
    /// other.
    pub(crate) fn find<'a>(
        &'a self,
        hello: &Hello,
        usable: &dyn Fn(usize) -> bool,
    ) -> Option<usize> {
        let name = hello.name.as_deref()?;
        let exact = self.exact.get(name);
        let dot = name.iter().position(|byte| *byte == b'.');
        let wild = dot.and_then(|dot| self.wild.get(&name[dot..]));
        let refusing = |slot: Option<&'a Slot>| slot.map_or(&[][..], |slot| &slot.refusing);
        // A certificate that has the exact name serves it, even if it excludes part of the domain.
        let name_only = [refusing(exact), &[]];
        let both = [refusing(exact), refusing(wild)];
        let slots = [(exact, name_only), (wild, both), (Some(&self.any), both)];
        let good = |(slot, refusing)| verifiable(slot, hello, refusing, usable);
        // A certificate that the client may be unable to verify is sent all the same; the client
        // decides.
        let some = |(slot, refusing)| {
            pick(slot, [KeyKind::Rsa, KeyKind::Ecdsa, KeyKind::Dsa], refusing, &|_| true)
        };
        let slots = || slots.into_iter().filter_map(|(slot, refusing)| Some((slot?, refusing)));
        slots().find_map(good).or_else(|| slots().find_map(some))
    }
}

impl Slot {
    fn remove(&mut self, refusing: bool, place: usize) {
        if refusing {
            self.refusing.retain(|own| *own != place);
        } else {
            self.claims.retain(|(own, _)| *own != place);
        }
    }
}

/// Whether this pattern excludes a name that the certificate of the line has.
pub(crate) fn excludes(pattern: &str, name: &str) -> bool {
    let (refuses, refused) = understand(pattern);
    let name = name.to_ascii_lowercase();
    let domain = |name: &str| name.find('.').map(|dot| name[dot..].to_owned());
    refuses
        && match refused.strip_prefix('*') {
            Some(rest) => domain(&name).is_some_and(|own| own == rest),
            None => name == refused,
        }
}

/// Whether a pattern refuses, and the name in it.
fn understand(pattern: &str) -> (bool, String) {
    match pattern.strip_prefix('!') {
        Some(name) => (true, name.to_ascii_lowercase()),
        None => (false, pattern.to_ascii_lowercase()),
    }
}

/// The best of a slot that the client can verify.
fn verifiable(
    slot: &Slot,
    hello: &Hello,
    refusing: [&[usize]; 2],
    usable: &dyn Fn(usize) -> bool,
) -> Option<usize> {
    let kinds = KeyKind::ALL.into_iter().filter(|kind| hello.can_verify(*kind));
    pick(slot, kinds, refusing, usable)
}

/// The first of these kinds that a slot has.
fn pick(
    slot: &Slot,
    kinds: impl IntoIterator<Item = KeyKind>,
    refusing: [&[usize]; 2],
    usable: &dyn Fn(usize) -> bool,
) -> Option<usize> {
    let refused = |place: &usize| refusing.iter().any(|own| own.contains(place));
    let fits =
        |kind, claim: &&(usize, KeyKind)| claim.1 == kind && !refused(&claim.0) && usable(claim.0);
    kinds
        .into_iter()
        .find_map(|kind| slot.claims.iter().find(|claim| fits(kind, claim)))
        .map(|(place, _)| *place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(name: &str, ecdsa: bool) -> Hello {
        let verifies = [ecdsa, true, true];
        Hello { name: Some(name.as_bytes().to_vec()), verifies, ..Hello::default() }
    }

    fn find(names: &Names, hello: &Hello) -> Option<usize> {
        names.find(hello, &|_| true)
    }

    #[test]
    fn exact_names_go_before_wildcards() {
        let mut names = Names::default();
        names.claim("*.example.com", KeyKind::Rsa, 0);
        names.claim("a.Example.com", KeyKind::Rsa, 1);
        names.claim("a.example.com", KeyKind::Rsa, 2);
        assert_eq!(find(&names, &hello("a.example.com", true)), Some(1));
        assert_eq!(find(&names, &hello("b.example.com", true)), Some(0));
        assert_eq!(find(&names, &hello("a.b.example.com", true)), None);
        assert_eq!(find(&names, &hello("example.com", true)), None);
        assert_eq!(find(&names, &Hello::default()), None);
    }

    #[test]
    fn a_certificate_may_refuse_a_name() {
        let mut names = Names::default();
        names.claim("*.example.com", KeyKind::Rsa, 0);
        names.claim("!www.example.com", KeyKind::Rsa, 0);
        assert_eq!(find(&names, &hello("www.example.com", true)), None);
        names.claim("*", KeyKind::Rsa, 1);
        assert_eq!(find(&names, &hello("www.example.com", true)), Some(1));
        names.claim("!*.example.com", KeyKind::Rsa, 1);
        assert_eq!(find(&names, &hello("www.example.com", true)), None);
        assert_eq!(find(&names, &hello("w.example.org", true)), Some(1));
        names.claim("w.example.com", KeyKind::Rsa, 1);
        assert_eq!(find(&names, &hello("w.example.com", true)), Some(1), "wanted in full");
    }

    #[test]
    fn names_in_a_certificate_may_be_excluded() {
        assert!(excludes("!*.Example.com", "www.example.com"));
        assert!(excludes("!*.example.com", "*.example.com"));
        assert!(excludes("!www.example.com", "WWW.example.com"));
        for (pattern, name) in [
            ("*.example.com", "www.example.com"),
            ("!*.example.com", "example.com"),
            ("!*.example.com", "a.b.example.com"),
            ("!example.com", "www.example.com"),
        ] {
            assert!(!excludes(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn the_key_is_one_that_the_client_can_verify() {
        let mut names = Names::default();
        names.claim("a.b", KeyKind::Rsa, 0);
        names.claim("a.b", KeyKind::Ecdsa, 1);
        assert_eq!(find(&names, &hello("a.b", true)), Some(1));
        assert_eq!(find(&names, &hello("a.b", false)), Some(0));
        names.claim("*.b", KeyKind::Rsa, 2);
        names.claim("c.b", KeyKind::Ecdsa, 3);
        assert_eq!(find(&names, &hello("c.b", true)), Some(3));
        assert_eq!(find(&names, &hello("c.b", false)), Some(2), "rather the wildcard");
    }

    #[test]
    fn claims_can_be_given_up() {
        let mut names = Names::default();
        for (place, kind) in [(2, KeyKind::Rsa), (0, KeyKind::Rsa), (1, KeyKind::Ecdsa)] {
            ["a.b", "*.b", "*", "!x.b"].iter().for_each(|name| names.claim(name, kind, place));
        }
        assert_eq!(find(&names, &hello("a.b", false)), Some(0), "the earliest place");
        assert_eq!(find(&names, &hello("x.b", true)), None);
        for place in [0, 1] {
            ["a.b", "*.b", "*", "!x.b"].iter().for_each(|name| names.give_up(name, place));
        }
        assert_eq!(find(&names, &hello("a.b", true)), Some(2));
        assert_eq!(find(&names, &hello("x.b", true)), None);
        names.give_up("!x.b", 2);
        assert_eq!(find(&names, &hello("x.b", true)), Some(2));
        ["a.b", "*.b", "*"].iter().for_each(|name| names.give_up(name, 2));
        assert!(names.exact.is_empty() && names.wild.is_empty());
    }
}
