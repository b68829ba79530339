//! Tests of OCSP responses and SCT lists: which are sent, and with which certificate.

use super::changes::{Line, line};
use super::pair::{Made, Memory, acceptor, bind, ecdsa, make};
use crate::Options;
use crate::runtime::{StapleRefusal, Unfit};
use openssl::base64;

const LATER: &str = "20990101000000Z";
const GONE: &str = "20010101000000Z";

fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let contents = parts.concat();
    let length = (contents.len() as u16).to_be_bytes();
    [&[tag, 0x82, length[0], length[1]], &contents[..]].concat()
}

fn date(text: &str) -> Vec<u8> {
    der(0x18, &[text.as_bytes()])
}

/// The status of one certificate in a response (RFC 6960 section 4.2.1).
fn single(of: &Made, by: &Made, status: &[u8], until: &str) -> Vec<u8> {
    let id = ffi::certificate_id(&of.certificate, &by.certificate).unwrap();
    der(0x30, &[&id, status, &date("20000101000000Z"), &der(0xa0, &[&date(until)])])
}

/// An unsigned response with these single responses.
fn response(singles: &[Vec<u8>]) -> Vec<u8> {
    let singles = der(0x30, &singles.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let responder = der(0xa2, &[&der(4, &[&[7; 20]])]);
    let said = der(0x30, &[&responder, &date("20000101000000Z"), &singles]);
    let ecdsa = b"\x30\x0a\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02";
    let basic = der(0x30, &[&said, ecdsa, &der(3, &[b"\0signature"])]);
    let kind = b"\x06\x09\x2b\x06\x01\x05\x05\x07\x30\x01\x01";
    let bytes = der(0x30, &[kind, &der(4, &[&basic])]);
    der(0x30, &[b"\x0a\x01\0", &der(0xa0, &[&bytes])])
}

const GOOD: &[u8] = b"\x80\0";
const UNKNOWN: &[u8] = b"\x82\0";

fn revoked() -> Vec<u8> {
    der(0xa1, &[&date("20000101000000Z")])
}

/// An authority, a certificate that it has signed, and its OCSP response.
struct World {
    ca: Made,
    leaf: Made,
    other: Made,
}

impl World {
    fn new() -> Self {
        let ca = make(&["ca"], ecdsa(), None);
        let leaf = make(&["a"], ecdsa(), Some(&ca));
        let other = make(&["another"], ecdsa(), Some(&ca));
        Self { ca, leaf, other }
    }

    fn said(&self, of: &Made, status: &[u8], until: &str) -> Vec<u8> {
        response(&[single(of, &self.ca, status, until)])
    }

    fn files(&self, ocsp: &[u8]) -> Memory {
        Memory::default()
            .with("a.pem", self.leaf.pem())
            .with("a.pem.issuer", self.ca.certificate())
            .with("a.pem.ocsp", ocsp)
    }

    fn line(&self, ocsp: &[u8]) -> Line {
        line(bind(&["a.pem"], Options::default()), &self.files(ocsp))
    }
}

impl Line {
    fn stapled(&self) -> Option<Vec<u8>> {
        let staple = self.store.certificate("a.pem")?.staple().cloned()?;
        Some(staple.shown_at(None)?.to_vec())
    }

    fn set_staple(&self, der: &[u8]) -> Result<(), StapleRefusal> {
        self.runtime.set_staple(&base64::encode_block(der))
    }
}

#[test]
fn responses_are_judged_where_they_come_from_files_and_where_they_are_set() {
    let it = World::new();
    let good = it.said(&it.leaf, GOOD, LATER);
    let two = [&it.leaf, &it.other].map(|of| single(of, &it.ca, GOOD, LATER));
    for (said, unfit) in [
        (good.clone(), None),
        (it.said(&it.leaf, &revoked(), LATER), None),
        (it.said(&it.leaf, UNKNOWN, LATER), Some(Unfit::Undecided)),
        (it.said(&it.leaf, GOOD, GONE), Some(Unfit::Outdated)),
        (it.said(&it.other, GOOD, LATER), Some(Unfit::Foreign)),
        (response(&two), Some(Unfit::Several(2))),
        (b"\x30\x03\x0a\x01\x06".to_vec(), Some(Unfit::Unsuccessful)),
        (b"garbage".to_vec(), Some(Unfit::Unreadable)),
    ] {
        let loaded = it.line(&said);
        let shown = unfit.is_none().then_some(said.clone());
        assert_eq!(loaded.stapled(), shown, "{unfit:?}");
        let told = unfit.map(|why| format!("'a.pem.ocsp' : {why}. Content will be ignored."));
        assert_eq!(loaded.acceptor.complaints(), Vec::from_iter(told));
        // An empty file only announces a response (manual section 5.1, `crt`).
        let empty = it.line(b"");
        assert_eq!((empty.stapled(), empty.acceptor.complaints().len()), (None, 0));
        assert_eq!(
            empty.set_staple(&said),
            unfit.map_or(Ok(()), |it| Err(StapleRefusal::Unfit(it)))
        );
        assert_eq!(empty.stapled(), shown, "{unfit:?}");
        assert_eq!(empty.set_staple(&good), Ok(()));
        assert_eq!(empty.stapled(), Some(good.clone()));
    }
}

#[test]
fn responses_are_shown_for_as_long_as_they_hold() {
    let it = World::new();
    let loaded = it.line(&it.said(&it.leaf, GOOD, LATER));
    let staple = loaded.store.certificate("a.pem").unwrap().staple().cloned().unwrap();
    // The first second of 2099, and five minutes.
    let until = 4_070_908_800 + 300;
    let shown = |now| staple.shown_at(Some(now)).is_some();
    assert_eq!([shown(until), shown(until + 1)], [true, false]);
}

#[test]
fn the_signer_of_a_response_has_to_be_known() {
    let it = World::new();
    let mut files = it.files(b"");
    files.0.remove("a.pem.issuer");
    let told = acceptor(bind(&["a.pem"], Options::default()), &files).unwrap_err();
    assert!(
        told[0].to_string().starts_with("'a.pem.ocsp' is present and activates OCSP but"),
        "{told:?}"
    );
}

#[test]
fn a_response_does_not_go_over_to_another_certificate() {
    let it = World::new();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let said = |of| base64::encode_block(&it.said(of, GOOD, LATER));
    let (old, new) = (it.said(&it.leaf, GOOD, LATER), it.said(&it.other, GOOD, LATER));
    let line = it.line(&old);
    let commit = |parts: &[(&str, String)]| {
        for (name, text) in parts {
            line.runtime.set_certificate(name, text).unwrap();
        }
        line.runtime.commit_certificate("a.pem").unwrap();
    };
    commit(&[("a.pem", text(it.leaf.pem()))]);
    assert_eq!(line.stapled(), Some(old.clone()), "the same one");
    commit(&[("a.pem.ocsp", said(&it.other))]);
    assert_eq!(line.stapled(), Some(old), "one that is not good is ignored");
    commit(&[("a.pem", text(it.other.pem()))]);
    assert_eq!(line.stapled(), None);
    commit(&[("a.pem.ocsp", said(&it.leaf)), ("a.pem", text(it.leaf.pem()))]);
    assert!(line.stapled().is_some(), "it came with it");
    commit(&[("a.pem", text(it.other.pem())), ("a.pem.ocsp", said(&it.other))]);
    assert_eq!(line.stapled(), Some(new));
}
