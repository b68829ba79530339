//! Tests of the choice of certificate, version and protocol.

use super::pair::{Memory, Pair, acceptor, bind, connector, ecdsa, joined, make, rsa, trusting};
use crate::setup_error::SetupError;
use crate::{Acceptor, BindSettings, CrtListEntry, Options, Reason, ServerSettings, Version};

/// The common name of the certificate that a client gets.
fn shown(acceptor: &Acceptor, client: ServerSettings, name: Option<&str>) -> Option<String> {
    let connector = connector(client, &Memory::default()).unwrap();
    let client = connector.connect(0, name, None).unwrap();
    let mut pair = Pair::new(client, acceptor.accept().unwrap());
    let (client, _) = pair.shake();
    client.ok()?;
    let name = pair.client.peer_certificate()?.subject(crate::NamePart::default())?;
    Some(String::from_utf8(name).unwrap())
}

#[test]
fn the_name_decides() {
    let files = Memory::default()
        .with("a.pem", make(&["a.test", "x.test"], ecdsa(), None).pem())
        .with("b.pem", make(&["*.b.test"], ecdsa(), None).pem());
    let line = bind(&["a.pem", "b.pem"], Options::default());
    let open = acceptor(line.clone(), &files).unwrap();
    let name = |name| shown(&open, trusting(), name);
    assert_eq!(name(Some("x.test")).as_deref(), Some("/CN=a.test"));
    assert_eq!(name(Some("W.b.Test")).as_deref(), Some("/CN=*.b.test"));
    assert_eq!(name(Some("other")).as_deref(), Some("/CN=a.test"));
    assert_eq!(name(None).as_deref(), Some("/CN=a.test"));
    let strict = acceptor(BindSettings { strict_sni: true, ..line }, &files).unwrap();
    assert_eq!(shown(&strict, trusting(), Some("other")), None);
    assert_eq!(shown(&strict, trusting(), None), None);
    let connector = connector(trusting(), &files).unwrap();
    let client = connector.connect(0, Some("other"), None).unwrap();
    let mut pair = Pair::new(client, strict.accept().unwrap());
    assert!(!pair.step_client() && !pair.step_server());
    // One record, and `unrecognized_name` (RFC 6066 section 3).
    let alert: Vec<u8> = pair.down.bytes.iter().copied().collect();
    assert_eq!((alert.len(), &alert[5..]), (7, &[2, 112][..]));
    assert_eq!(shown(&strict, trusting(), Some("a.test")).as_deref(), Some("/CN=a.test"));
}

#[test]
fn filters_replace_the_names_of_a_certificate() {
    let files = Memory::default()
        .with("a.pem", make(&["a.test"], ecdsa(), None).pem())
        .with("b.pem", make(&["b.test"], ecdsa(), None).pem());
    let mut line = bind(&["a.pem"], Options::default());
    let list =
        crate::parse_crt_list("l", "b.pem [ssl-max-ver TLSv1.2] *.c.test !no.c.test\n").unwrap();
    line.certificates.extend(list);
    let acceptor = acceptor(line, &files).unwrap();
    let name = |name| shown(&acceptor, trusting(), Some(name)).unwrap();
    assert_eq!(name("b.test"), "/CN=a.test");
    assert_eq!(name("w.c.test"), "/CN=b.test");
    assert_eq!(name("no.c.test"), "/CN=a.test");
    // Its options apply to this client alone.
    let new = || {
        let mut client = trusting();
        client.options.versions.min = Some(Version::Tls13);
        client
    };
    assert_eq!(shown(&acceptor, new(), Some("w.c.test")), None);
    assert!(shown(&acceptor, new(), Some("a.test")).is_some());
}

/// HAProxy takes `!*.name` for nothing at all; the manual excludes patterns from the names of a
/// certificate.
#[test]
fn a_domain_may_be_refused() {
    let files = Memory::default()
        .with("a.pem", make(&["a.test"], ecdsa(), None).pem())
        .with("b.pem", make(&["b.test", "w.c.test", "*.d.test"], ecdsa(), None).pem());
    let shown_by = |list: &str| {
        let mut line = bind(&["a.pem"], Options::default());
        line.certificates.extend(crate::parse_crt_list("l", &format!("{list}\n")).unwrap());
        let acceptor = acceptor(line, &files).unwrap();
        ["b.test", "w.c.test", "x.d.test"].map(|name| {
            shown(&acceptor, trusting(), Some(name)).is_some_and(|shown| shown == "/CN=b.test")
        })
    };
    assert_eq!(shown_by("b.pem"), [true, true, true]);
    assert_eq!(shown_by("b.pem !*.c.test"), [true, false, true]);
    assert_eq!(shown_by("b.pem !*.d.test"), [true, true, false]);
    assert_eq!(shown_by("b.pem * !*.d.test"), [true, true, false]);
    assert_eq!(shown_by("b.pem w.c.test !*.c.test"), [false, true, false]);
}

#[test]
fn bundles_offer_a_key_that_the_client_can_verify() {
    let files = Memory::default()
        .with("a.pem.rsa", make(&["a.test", "rsa"], rsa(), None).pem())
        .with("a.pem.ecdsa", make(&["a.test", "ecdsa"], ecdsa(), None).pem());
    let acceptor = acceptor(bind(&["a.pem"], Options::default()), &files).unwrap();
    assert_eq!(acceptor.certificates(), ["a.pem.rsa", "a.pem.ecdsa"]);
    let kind = |ciphers: &str| {
        let mut client = trusting();
        client.options.ciphers = Some(ciphers.to_owned());
        client.options.versions.max = Some(Version::Tls12);
        let connector = connector(client, &Memory::default()).unwrap();
        let client = connector.connect(0, Some("a.test"), None).unwrap();
        let mut pair = Pair::new(client, acceptor.accept().unwrap());
        pair.shake().0.unwrap();
        pair.client.cipher()
    };
    assert!(kind("ECDHE-RSA-AES128-GCM-SHA256").contains("RSA"));
    assert!(kind("ECDHE-ECDSA-AES128-GCM-SHA256").contains("ECDSA"));
    assert!(kind("ALL").contains("ECDSA"));
}

#[test]
fn a_directory_is_all_its_certificates() {
    let files = Memory::default()
        .with("d/b.pem", make(&["b.test"], ecdsa(), None).pem())
        .with("d/a.pem", make(&["a.test"], ecdsa(), None).pem())
        .with("d/a.pem.issuer", "not looked at as a certificate")
        .with("d/.hidden", "nor this");
    // The issuer is read as what it is, and is none.
    let wrong = acceptor(bind(&["d"], Options::default()), &files).unwrap_err();
    assert_eq!(wrong[0].to_string(), "unable to load issuer from file 'd/a.pem.issuer'.");
    let mut files = files;
    files.0.remove("d/a.pem.issuer");
    let acceptor = acceptor(bind(&["d"], Options::default()), &files).unwrap();
    assert_eq!(acceptor.certificates(), ["d/a.pem", "d/b.pem"]);
}

#[test]
fn protocols_are_chosen_by_the_server() {
    let files = Memory::default().with("a.pem", make(&["a.test"], ecdsa(), None).pem());
    let mut options = Options::default();
    crate::OptionKeyword::find("alpn").unwrap().read(&mut options, "h2,http/1.1").unwrap();
    let acceptor = acceptor(bind(&["a.pem"], options), &files).unwrap();
    let connector = connector(trusting(), &files).unwrap();
    for (offered, chosen) in [
        (&b"\x08http/1.1\x02h2"[..], Some(&b"h2"[..])),
        (b"\x08http/1.1", Some(b"http/1.1")),
        (b"\x03foo", None),
    ] {
        let client = connector.connect(0, None, Some(offered)).unwrap();
        let mut pair = Pair::new(client, acceptor.accept().unwrap());
        pair.shake().0.unwrap();
        assert_eq!(pair.server.alpn(), chosen);
        assert_eq!(pair.client.alpn(), chosen);
    }
}

#[test]
fn a_session_is_known_from_both_sides() {
    let pair = joined();
    assert_eq!(pair.server.version(), "TLSv1.3");
    // AWS-LC asks for the shorter key first.
    let (cipher, bits) = match ffi::NAME == "AWS-LC" {
        true => ("TLS_AES_128_GCM_SHA256", 128),
        false => ("TLS_AES_256_GCM_SHA384", 256),
    };
    assert_eq!(pair.server.cipher(), cipher);
    assert_eq!(pair.server.cipher_bits(), Some((bits, bits)));
    assert_eq!(pair.server.server_name(), Some(&b"a.test"[..]));
    let shown = pair.client.peer_certificate().unwrap();
    assert_eq!(shown.der(), pair.server.own_certificate().unwrap().der());
    assert_eq!(pair.client.unique_id(), pair.server.unique_id());
    assert!(pair.client.unique_id().is_some_and(|id| id.len() >= 32));
    assert_eq!(pair.client.client_random(), pair.server.client_random());
    assert!(!pair.server.is_resumed());
}

/// Up to TLS 1.2 a session has a name, and the client may continue with it under another one.
#[test]
fn the_server_name_is_that_of_the_current_handshake() {
    for max in [Version::Tls12, Version::Tls13] {
        let files = Memory::default().with("a.pem", make(&["a.test"], ecdsa(), None).pem());
        let acceptor = acceptor(bind(&["a.pem"], Options::default()), &files).unwrap();
        let mut client = trusting();
        client.options.versions.max = Some(max);
        let connector = connector(client, &files).unwrap();
        let mut resumed = false;
        for name in ["a.test", "B.test", "c.test"] {
            let client = connector.connect_as(0, "a.test", name).unwrap();
            let mut pair = Pair::new(client, acceptor.accept().unwrap());
            pair.shake().0.unwrap();
            pair.server_send(b"hello").unwrap();
            pair.client_recv(&mut [0; 16]).unwrap();
            assert_eq!(pair.server.server_name(), Some(name.as_bytes()), "{max:?}");
            resumed |= pair.server.is_resumed();
        }
        assert!(resumed || max != Version::Tls12);
    }
}

#[test]
fn mistakes_are_reported_in_haproxys_words() {
    let one = make(&["a.test"], ecdsa(), None);
    let other = make(&["b.test"], ecdsa(), None);
    let mixed = [one.certificate(), other.key()].concat();
    let files = Memory::default()
        .with("empty.pem", "")
        .with("key.pem", one.key())
        .with("cert.pem", one.certificate())
        .with("mixed.pem", mixed)
        .with("a.pem", one.pem());
    for (name, message) in [
        (
            "no.pem",
            "unable to stat SSL certificate from file 'no.pem' : No such file or directory.",
        ),
        ("empty.pem", "unable to load certificate from file 'empty.pem'."),
        ("key.pem", "unable to load certificate from file 'key.pem'."),
        ("cert.pem", "No Private Key found in 'cert.pem.key'."),
        ("mixed.pem", "inconsistencies between private key and certificate loaded 'mixed.pem'."),
    ] {
        let told = acceptor(bind(&[name], Options::default()), &files).unwrap_err();
        assert_eq!((told.len(), told[0].to_string()), (1, message.to_owned()));
    }
    for (option, value, message) in [
        ("ciphers", "foo", "unable to set SSL cipher list to 'foo'"),
        ("ciphersuites", "foo", "unable to set TLS 1.3 cipher suites to 'foo'"),
        ("curves", "foo", "unable to set SSL curves list to 'foo'"),
        ("ecdhe", "foo", "unable to set elliptic named curve to 'foo'"),
        ("verify", "required", "verify is enabled but no CA file specified"),
    ] {
        let mut options = Options::default();
        crate::OptionKeyword::find(option).unwrap().read(&mut options, value).unwrap();
        let told = acceptor(bind(&["a.pem"], options), &files).unwrap_err();
        assert_eq!((told.len(), told[0].to_string()), (1, message.to_owned()));
    }
    assert_eq!(acceptor(BindSettings::default(), &files).unwrap_err(), [SetupError::NoCertificate]);
    let list = BindSettings {
        certificates: vec![CrtListEntry {
            path: "no.pem".into(),
            list: ("l".into(), 3),
            ..CrtListEntry::default()
        }],
        ..BindSettings::default()
    };
    assert!(
        acceptor(list, &files).unwrap_err()[0]
            .to_string()
            .starts_with("'crt-list' : parsing [l:3]: ")
    );
}

#[test]
fn clients_of_other_protocols_fail() {
    let mut pair = joined();
    let files = Memory::default().with("a.pem", make(&["a.test"], ecdsa(), None).pem());
    let fresh = acceptor(bind(&["a.pem"], Options::default()), &files).unwrap();
    pair.server = fresh.accept().unwrap();
    pair.up.bytes.extend(b"GET / HTTP/1.1\r\n\r\n");
    let fault = pair.shake().1.unwrap_err();
    let text = if ffi::NAME == "AWS-LC" { "HTTP_REQUEST" } else { "http request" };
    assert_eq!((fault.reason, fault.text.as_str()), (Reason::Handshake, text));
    // The error names the mistake in a record.
    if ffi::NAME != "AWS-LC" {
        let mut pair = joined();
        pair.server = fresh.accept().unwrap();
        pair.up.bytes.extend(b"PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\n");
        let fault = pair.shake().1.unwrap_err();
        assert_ne!(fault.text, "record layer failure");
        assert!(!fault.text.is_empty() && fault.code != 0);
    }
    // Nothing at all, then the end.
    let mut pair = joined();
    pair.server = fresh.accept().unwrap();
    pair.up.closed = true;
    assert_eq!(pair.shake().1.unwrap_err().reason, Reason::Closed);
    // A hello, and the end once it is answered.
    let client = connector(trusting(), &files).unwrap().connect(0, None, None).unwrap();
    let mut pair = Pair::new(client, fresh.accept().unwrap());
    assert!(!pair.step_client());
    pair.up.closed = true;
    let fault = pair.server_handshake().and_then(|_| pair.server_handshake()).unwrap_err();
    assert_eq!(fault.reason, Reason::Handshake);
}

/// The suite of TLS 1.3 that a session gets.
fn suite(ours: Option<&str>, prefers_theirs: bool, theirs: &str) -> Option<&'static str> {
    let files = Memory::default().with("a.pem", make(&["a"], ecdsa(), None).pem());
    let ciphersuites = ours.map(str::to_owned);
    let options =
        Options { ciphersuites, prefer_client_ciphers: prefers_theirs, ..Options::default() };
    let acceptor = acceptor(bind(&["a.pem"], options), &files).unwrap();
    let mut client = trusting();
    client.options.ciphersuites = Some(theirs.to_owned());
    let client = connector(client, &files).unwrap().connect(0, Some("a"), None).unwrap();
    let mut pair = Pair::new(client, acceptor.accept().unwrap());
    pair.shake().1.ok()?;
    Some(pair.server.cipher())
}

#[test]
fn suites_are_chosen_among_those_of_both_sides() {
    let (small, large) = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384");
    let other = "TLS_CHACHA20_POLY1305_SHA256";
    let (up, down) = (&format!("{small}:{large}"), &format!("{large}:{small}"));
    for (ours, prefers_theirs, theirs, chosen) in [
        (None, false, small, Some(small)),
        (None, false, large, Some(large)),
        (None, false, other, Some(other)),
        (None, true, large, Some(large)),
        (None, true, down, Some(large)),
        (None, true, up, Some(small)),
        (Some(&**up), false, &**down, Some(small)),
        (Some(down), false, up, Some(large)),
        (Some(down), true, up, Some(small)),
        (Some(large), false, up, Some(large)),
        (Some(large), true, up, Some(large)),
        (Some(large), false, small, None),
        (Some(other), false, small, None),
    ] {
        let what = format!("{ours:?} {prefers_theirs} {theirs}");
        assert_eq!(suite(ours, prefers_theirs, theirs), chosen, "{what}");
    }
}

/// A client of TLS 1.2 may offer a cipher for keys of kind ECDSA that the line does not have.
#[test]
fn a_certificate_without_a_common_cipher_gives_way_to_another_of_its_name() {
    let files = Memory::default()
        .with("e.pem", make(&["e.test", "a.test"], ecdsa(), None).pem())
        .with("r.pem", make(&["r.test", "a.test"], rsa(), None).pem());
    let enabled = "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256";
    let options = Options { ciphers: Some(enabled.into()), ..Options::default() };
    let acceptor = acceptor(bind(&["e.pem", "r.pem"], options), &files).unwrap();
    let given = |ciphers: &str, newest| {
        let mut client = trusting();
        client.options.versions.max = Some(newest);
        client.options.ciphers = Some(ciphers.into());
        shown(&acceptor, client, Some("a.test"))
    };
    let other = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256";
    assert_eq!(given(other, Version::Tls12).as_deref(), Some("/CN=r.test"));
    assert_eq!(given(other, Version::Tls13).as_deref(), Some("/CN=e.test"));
    assert_eq!(given(enabled, Version::Tls12).as_deref(), Some("/CN=e.test"));
    assert_eq!(given("ECDHE-ECDSA-AES128-GCM-SHA256", Version::Tls12), None, "nothing in common");
}

/// A client that offers TLS 1.3 too may have to speak TLS 1.2, where ciphers go with kinds of keys.
#[test]
fn a_line_without_tls13_chooses_certificates_by_the_ciphers_of_tls12() {
    let files = Memory::default()
        .with("e.pem", make(&["e.test", "a.test"], ecdsa(), None).pem())
        .with("r.pem", make(&["r.test", "a.test"], rsa(), None).pem());
    let enabled = "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256";
    let mut options = Options { ciphers: Some(enabled.into()), ..Options::default() };
    options.versions.max = Some(Version::Tls12);
    let acceptor = acceptor(bind(&["e.pem", "r.pem"], options), &files).unwrap();
    let given = |ciphers: &str| {
        let mut client = trusting();
        client.options.ciphers = Some(ciphers.into());
        shown(&acceptor, client, Some("a.test"))
    };
    let other = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256";
    assert_eq!(given(other).as_deref(), Some("/CN=r.test"));
    assert_eq!(given(enabled).as_deref(), Some("/CN=e.test"));
}

/// RFC 8422 section 5.1.1: in TLS 1.2 the groups of a client are the curves that it can verify too.
#[test]
fn a_certificate_of_a_curve_that_the_client_lacks_gives_way_to_another_of_its_name() {
    let files = Memory::default()
        .with("e.pem", make(&["e.test", "a.test"], ecdsa(), None).pem())
        .with("r.pem", make(&["r.test", "a.test"], rsa(), None).pem());
    let acceptor = acceptor(bind(&["e.pem", "r.pem"], Options::default()), &files).unwrap();
    let given = |curves: &str, newest| {
        let mut client = trusting();
        client.options.versions.max = Some(newest);
        client.options.curves = Some(curves.into());
        shown(&acceptor, client, Some("a.test"))
    };
    assert_eq!(given("P-384", Version::Tls12).as_deref(), Some("/CN=r.test"));
    assert_eq!(given("P-384", Version::Tls13).as_deref(), Some("/CN=e.test"));
    assert_eq!(given("P-384:P-256", Version::Tls12).as_deref(), Some("/CN=e.test"));
}

/// As HAProxy was seen to do, where `tune.ssl.lifetime` is not set.
#[test]
fn tickets_are_good_for_two_hours() {
    let files = Memory::default().with("a.pem", make(&["a.test"], ecdsa(), None).pem());
    let acceptor = acceptor(bind(&["a.pem"], Options::default()), &files).unwrap();
    let mut client = trusting();
    client.options.versions.max = Some(Version::Tls12);
    let connector = connector(client, &files).unwrap();
    let client = connector.connect(0, Some("a.test"), None).unwrap();
    let mut pair = Pair::new(client, acceptor.accept().unwrap());
    let _ = (pair.step_client(), pair.step_server(), pair.step_client(), pair.step_server());
    // NewSessionTicket, in the clear up to TLS 1.2 (RFC 5077 section 3.3).
    let said: Vec<u8> = pair.down.bytes.iter().copied().collect();
    assert_eq!((said[0], said[5]), (22, 4));
    assert_eq!(said[9..13], 7_200_u32.to_be_bytes());
}
