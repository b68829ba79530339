//! Tests of key exchange parameters, completed chains and generated certificates.

use super::pair::{Made, Memory, Pair, acceptor, bind, connector, ecdsa, make, rsa, trusting};
use crate::runtime::{Bases, Bound};
use crate::{
    Acceptor, BindSettings, Defaults, Extras, Generates, Options, Runtime, ServerSettings, Store,
    Verify, Version,
};
use openssl::bn::BigNum;
use openssl::dh::Dh;
use openssl::x509::X509;
use std::sync::Arc;

/// Parameters of 3072 bits, as a file has them.
fn parameters() -> Vec<u8> {
    let prime = BigNum::get_rfc3526_prime_3072().unwrap();
    let made = Dh::from_pqg(prime, None, BigNum::from_u32(2).unwrap()).unwrap();
    made.params_to_pem().unwrap()
}

/// Whether the library exchanges keys by finite fields: AWS-LC does not.
fn knows_dh() -> bool {
    !ffi::LACKS.contains(&"ssl-dh-param-file")
}

/// A client that exchanges keys by DH only.
fn by_dh() -> ServerSettings {
    let mut client = trusting();
    client.options.versions.max = Some(Version::Tls12);
    client.options.ciphers = Some("DHE-RSA-AES128-GCM-SHA256".to_owned());
    client
}

/// Bits of the key that such a client is sent.
fn bits(acceptor: &Acceptor) -> Option<u32> {
    let connector = connector(by_dh(), &Memory::default()).unwrap();
    let client = connector.connect(0, Some("a.test"), None).unwrap();
    let mut pair = Pair::new(client, acceptor.accept().unwrap());
    assert!(!pair.step_client() && !pair.step_server());
    let bits = prime(pair.down.bytes.make_contiguous());
    pair.shake().0.ok()?;
    bits
}

/// Bits of the prime that a server's first flight of TLS 1.2 names (RFC 5246 section 7.4.3).
fn prime(mut records: &[u8]) -> Option<u32> {
    let mut messages = Vec::new();
    while let [22, _, _, high, low, rest @ ..] = records {
        let (record, others) = rest.split_at(usize::from(u16::from_be_bytes([*high, *low])));
        messages.extend_from_slice(record);
        records = others;
    }
    let mut messages = &messages[..];
    while let [kind, lengths @ ..] = messages {
        let length = u32::from_be_bytes([0, lengths[0], lengths[1], lengths[2]]) as usize;
        let (message, others) = lengths[3..].split_at(length);
        if *kind == 12 {
            return Some(u32::from(u16::from_be_bytes([message[0], message[1]])) * 8);
        }
        messages = others;
    }
    None
}

#[test]
fn parameters_are_of_the_certificate_or_of_a_file_or_as_long_as_the_key() {
    if !knows_dh() {
        return;
    }
    let made = make(&["a.test"], rsa(), None);
    let mut with = made.pem();
    with.extend(parameters());
    let files = Memory::default().with("a.pem", made.pem()).with("b.pem", with);
    let serve = |name: &str, file: Option<&[u8]>, most| {
        let mut store = Store::default();
        assert!(store.set_dh(file, most));
        let line = bind(&[name], Options::default());
        bits(&Acceptor::new(line, Defaults::default(), &store, &files).unwrap())
    };
    let file = parameters();
    assert_eq!(serve("a.pem", None, 0), None);
    assert_eq!(serve("a.pem", None, 1_024), None, "the library refuses those");
    assert_eq!(serve("a.pem", None, 4_096), Some(2_048));
    assert_eq!(serve("a.pem", Some(&file), 2_048), Some(3_072));
    assert_eq!(serve("b.pem", None, 2_048), Some(3_072));
    assert!(!Store::default().set_dh(Some(b"x"), 0));
}

#[test]
fn parameters_can_be_added_while_connections_are_made() {
    if !knows_dh() {
        return;
    }
    let made = make(&["a.test"], rsa(), None);
    let files = Memory::default().with("a.pem", made.pem());
    let store = Arc::new(Store::default());
    let line = bind(&["a.pem"], Options::default());
    let acceptor = Arc::new(Acceptor::new(line, Defaults::default(), &store, &files).unwrap());
    let bound = Bound { acceptor: acceptor.clone(), place: "a.cfg:1".to_owned() };
    let runtime = Runtime::new(store, vec![bound], Bases::default());
    assert_eq!(bits(&acceptor), None);
    let mut text = made.pem();
    text.extend(parameters());
    runtime.set_certificate("a.pem", &String::from_utf8(text).unwrap()).unwrap();
    runtime.commit_certificate("a.pem").unwrap();
    assert_eq!(bits(&acceptor), Some(3_072));
}

/// The certificates that a client is shown.
fn chain(acceptor: &Acceptor, name: Option<&str>) -> Option<Vec<X509>> {
    let connector = connector(trusting(), &Memory::default()).unwrap();
    let client = connector.connect(0, name, None).unwrap();
    let mut pair = Pair::new(client, acceptor.accept().unwrap());
    pair.shake().0.ok()?;
    let chain = pair.client.library()?.peer_cert_chain()?;
    Some(chain.iter().map(|link| link.to_owned()).collect())
}

fn der(certificate: &X509) -> Vec<u8> {
    certificate.to_der().unwrap()
}

#[test]
fn chains_are_completed() {
    let issuer = make(&["issuer"], ecdsa(), None);
    let leaf = make(&["a.test"], ecdsa(), Some(&issuer));
    let mut whole = leaf.pem();
    whole.extend(make(&["own"], ecdsa(), None).certificate());
    let files = Memory::default().with("a.pem", leaf.pem()).with("b.pem", whole);
    let mut store = Store::default();
    assert!(store.add_issuers("issuer.pem", &issuer.certificate()));
    let shown = |name: &str| {
        let line = bind(&[name], Options::default());
        chain(&Acceptor::new(line, Defaults::default(), &store, &files).unwrap(), None).unwrap()
    };
    let completed = shown("a.pem");
    assert_eq!(completed.len(), 2);
    assert_eq!(der(&completed[1]), der(&issuer.certificate));
    assert_ne!(der(&shown("b.pem")[1]), der(&issuer.certificate), "it has its own");
}

#[test]
fn authorities_for_peers_do_not_complete_chains() {
    let authority = make(&["ca"], ecdsa(), None);
    let leaf = make(&["a.test"], ecdsa(), Some(&authority));
    let files = Memory::default().with("ca.pem", authority.certificate());
    let files = files.with("a.pem", leaf.pem());
    let options = || Options {
        ca_file: Some("ca.pem".to_owned()),
        verify: Some(Verify::Optional),
        ..Options::default()
    };
    let acceptor = acceptor(bind(&["a.pem"], options()), &files).unwrap();
    assert_eq!(chain(&acceptor, None).unwrap().len(), 1);
    let mut client = trusting();
    client.certificate = Some("a.pem".to_owned());
    client.options.ca_file = Some("ca.pem".to_owned());
    let client = connector(client, &files).unwrap().connect(0, None, None).unwrap();
    let mut pair = Pair::new(client, acceptor.accept().unwrap());
    pair.shake().0.unwrap();
    // A server's own list of its peer's certificates is without the leaf.
    assert_eq!(pair.server.peer_chain(), None);
}

/// A bind line that makes certificates.
fn generating(line: BindSettings, authority: &Made, files: Memory) -> Result<Acceptor, String> {
    let generates = Generates { authority: "ca.pem".to_owned(), password: None };
    let line = BindSettings { generates: Some(generates), ..line };
    let files = files.with("ca.pem", authority.pem());
    acceptor(line, &files).map_err(|errors| errors[0].to_string())
}

#[test]
fn certificates_are_made_for_unknown_names() {
    let authority = make(&["ca"], ecdsa(), None);
    let own = make(&["a.test"], rsa(), None);
    let mut text = own.pem();
    text.extend(make(&["own issuer"], ecdsa(), None).certificate());
    let files = || Memory::default().with("a.pem", text.clone());
    let line = || bind(&["a.pem"], Options::default());
    let generating = |line| generating(line, &authority, files()).unwrap();
    let open = generating(line());
    for name in [None, Some("a.test")] {
        assert_eq!(der(&chain(&open, name).unwrap()[0]), der(&own.certificate));
    }
    let shown = chain(&open, Some("B.test")).unwrap();
    assert_eq!(shown[0].subject_alt_names().unwrap()[0].dnsname(), Some("b.test"));
    assert!(shown[0].verify(&authority.key).unwrap());
    assert_eq!(der(&shown[1]), der(&authority.certificate), "and not the issuer of the other one");
    assert_eq!(shown.len(), 2);
    assert_eq!(der(&chain(&open, Some("b.test")).unwrap()[0]), der(&shown[0]), "kept");
    let strict = generating(BindSettings { strict_sni: true, ..line() });
    assert!(chain(&strict, Some("b.test")).is_some());
    assert!(chain(&strict, None).is_none());
}

#[test]
fn an_authority_without_its_key_is_named() {
    let made = make(&["a"], ecdsa(), None);
    let files = Memory::default().with("a.pem", made.pem()).with("ca.pem", made.certificate());
    let told = |authority: &str| {
        let generates = Generates { authority: authority.to_owned(), password: None };
        let line = bind(&["a.pem"], Options::default());
        acceptor(BindSettings { generates: Some(generates), ..line }, &files).unwrap_err()
    };
    assert!(
        told("ca.pem")[0]
            .to_string()
            .starts_with("'ca-sign-file' : unable to load 'ca.pem' : no private")
    );
    assert!(told("none")[0].to_string().ends_with("'none' : No such file or directory"));
}

/// A pair with these defaults on the server's side.
fn paced(defaults: Defaults) -> Pair {
    let files = Memory::default().with("a.pem", make(&["a.test"], ecdsa(), None).pem());
    let settings = bind(&["a.pem"], Options::default());
    let acceptor = Acceptor::new(settings, defaults, &Store::default(), &files).unwrap();
    let connector = connector(trusting(), &files).unwrap();
    let client = connector.connect(0, None, None).unwrap();
    let mut pair = Pair::new(client, acceptor.accept().unwrap());
    pair.shake().1.unwrap();
    // Some libraries keep tickets for the first answer.
    pair.server_send(b"x").unwrap();
    pair
}

/// Sends so many bytes: the lengths of their records, and how many of each length follow on each
/// other.
fn records(pair: &mut Pair, mut count: usize) -> Vec<(usize, usize)> {
    pair.down.bytes.clear();
    let body = vec![7; count];
    while count > 0 {
        count -= pair.server_send(&body[..count]).unwrap();
    }
    let sent: Vec<u8> = pair.down.bytes.drain(..).collect();
    let (mut lengths, mut rest): (Vec<(usize, usize)>, _) = (Vec::new(), &sent[..]);
    while let [_, _, _, high, low, later @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        rest = &later[length..];
        // Each has its kind and its seal besides (RFC 8446 section 5.2).
        match lengths.last_mut().filter(|(_, of)| *of == length - 17) {
            Some((count, _)) => *count += 1,
            None => lengths.push((1, length - 17)),
        }
    }
    lengths
}

#[test]
fn records_are_as_long_as_they_may_be() {
    // tune.ssl.hard-maxrecord counts for all of them, the first and the last.
    let mut pair = paced(Defaults { hard_max_record: 1_000, ..Defaults::default() });
    assert_eq!(records(&mut pair, 40_500), [(40, 1_000), (1, 500)]);
    assert_eq!(records(&mut pair, 100_000), [(100, 1_000)]);
}

/// `tune.ssl.maxrecord`: three buffers of 16 kB, and again when a transfer begins or has paused.
#[test]
fn records_are_short_in_the_beginning() {
    let mut pair = paced(Defaults { max_record: 1_024, ..Defaults::default() });
    assert_eq!(records(&mut pair, 10_000), [(9, 1_024), (1, 784)]);
    assert_eq!(records(&mut pair, 60_000), [(39, 1_024), (1, 16_384), (1, 3_680)]);
    assert_eq!(records(&mut pair, 16_384), [(1, 16_384)], "it has gone on");
    pair.server.begin_transfer();
    assert_eq!(records(&mut pair, 65_536), [(48, 1_024), (1, 16_384)]);
    assert!(pair.server.minds_pauses());
    for (now, short) in [(5_000, true), (5_999, false), (6_998, false), (7_998, true)] {
        pair.server.note_time(now);
        let expected = if short { (48, 1_024) } else { (3, 16_384) };
        assert_eq!(records(&mut pair, 49_152), [expected], "at {now} ms");
    }
    let mut pair = paced(Defaults { max_record: 1_024, pause: 0, ..Defaults::default() });
    assert!(!pair.server.minds_pauses());
    let both = Defaults { max_record: 1_024, hard_max_record: 2_048, ..Defaults::default() };
    pair = paced(both);
    assert_eq!(records(&mut pair, 65_536), [(48, 1_024), (8, 2_048)]);
}

#[test]
fn roots_in_chains_are_sent_unless_they_are_to_be_kept() {
    let root = make(&["root"], ecdsa(), None);
    let mut text = make(&["a.test"], ecdsa(), Some(&root)).pem();
    text.extend_from_slice(&root.certificate.to_pem().unwrap());
    let files = Memory::default().with("a.pem", text);
    let sent = |keeps_roots| {
        let store = Store::new(Extras { keeps_roots, ..Extras::default() });
        let settings = bind(&["a.pem"], Options::default());
        let acceptor = Acceptor::new(settings, Defaults::default(), &store, &files).unwrap();
        let client = connector(trusting(), &files).unwrap().connect(0, None, None).unwrap();
        let mut pair = Pair::new(client, acceptor.accept().unwrap());
        pair.shake().0.unwrap();
        pair.client.library().unwrap().peer_cert_chain().unwrap().len()
    };
    assert_eq!([sent(false), sent(true)], [2, 1]);
}
