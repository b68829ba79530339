//! Tests of verification: clients by servers, servers by clients, and resumed sessions.

use super::pair::{Memory, Pair, acceptor, bind, connector, ecdsa, make, make_for, trusting};
use crate::authority::{AuthorityFileError, Purpose};
use crate::store::{Extras, Store};
use crate::{Connector, Ignored, OptionKeyword, Options, Reason, ServerSettings, Version};

/// An authority, and files with a server's and a client's certificate that it has signed.
fn files() -> Memory {
    let authority = make(&["ca"], ecdsa(), None);
    let foreign = make(&["other ca"], ecdsa(), None);
    Memory::default()
        .with("ca.pem", authority.certificate())
        .with(
            "server.pem",
            make_for("cn.test", &["a.test", "*.w.test"], ecdsa(), Some(&authority)).pem(),
        )
        .with("client.pem", make(&["client"], ecdsa(), Some(&authority)).pem())
        .with("foreign.pem", make(&["client"], ecdsa(), Some(&foreign)).pem())
}

fn options(given: &[(&str, &str)]) -> Options {
    let mut options = Options::default();
    for (name, value) in given {
        OptionKeyword::find(name).unwrap().read(&mut options, value).unwrap();
    }
    options
}

fn client(certificate: Option<&str>) -> ServerSettings {
    ServerSettings { certificate: certificate.map(str::to_owned), ..trusting() }
}

/// The server's view of a client: the end of its handshake, and the errors found.
fn judged(given: &[(&str, &str)], certificate: Option<&str>) -> (Option<Reason>, u32, u32) {
    judged_with(&files(), given, certificate)
}

fn judged_with(
    files: &Memory,
    given: &[(&str, &str)],
    certificate: Option<&str>,
) -> (Option<Reason>, u32, u32) {
    let acceptor = acceptor(bind(&["server.pem"], options(given)), files).unwrap();
    let connector = connector(client(certificate), files).unwrap();
    let client = connector.connect(0, None, None).unwrap();
    let mut pair = Pair::new(client, acceptor.accept().unwrap());
    let (_, server) = pair.shake();
    let checked = pair.server.checked();
    let reason = server.err().map(|fault| fault.reason);
    (reason, checked.certificate_error, pair.server.verify_result())
}

/// A certificate as `openssl x509 -trustout` writes it, with these purposes that it is trusted for.
fn with_trust(certificate: &[u8], trust: &[u8]) -> String {
    let mut der = openssl::x509::X509::from_pem(certificate).unwrap().to_der().unwrap();
    der.extend(trust);
    let body = openssl::base64::encode_block(&der);
    let lines: Vec<_> = body.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
    format!(
        "-----BEGIN TRUSTED CERTIFICATE-----\n{}\n-----END TRUSTED CERTIFICATE-----\n",
        lines.join("\n")
    )
}

#[test]
fn authorities_may_list_their_trusted_purposes() {
    let given = [("verify", "required"), ("ca-file", "ca.pem")];
    // `reject` has the usage `clientAuth` (RFC 5280 section 4.2.1.12).
    let rejecting = b"\x30\x0c\xa0\x0a\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x02";
    for (trust, reason) in [(&b"\x30\x00"[..], None), (rejecting, Some(Reason::Authority))] {
        let authority = make(&["ca"], ecdsa(), None);
        let server = make_for("a", &["a"], ecdsa(), Some(&authority));
        let leaf = with_trust(&server.certificate(), b"\x30\x00").into_bytes();
        let files = Memory::default()
            .with("ca.pem", with_trust(&authority.certificate(), trust))
            .with("server.pem", [leaf, server.pem()].concat())
            .with("client.pem", make(&["client"], ecdsa(), Some(&authority)).pem());
        assert_eq!(judged_with(&files, &given, Some("client.pem")).0, reason, "{trust:?}");
    }
    let whole = with_trust(&make(&["ca"], ecdsa(), None).certificate(), rejecting);
    for broken in [whole.replace("MII", "MIJ"), whole.replace("-----END", "END")] {
        let files = files().with("ca.pem", broken);
        assert!(acceptor(bind(&["server.pem"], options(&given)), &files).is_err());
    }
}

#[test]
fn clients_are_verified() {
    let required = [("verify", "required"), ("ca-file", "ca.pem")];
    let optional = [("verify", "optional"), ("ca-file", "ca.pem")];
    assert_eq!(judged(&required, Some("client.pem")), (None, 0, 0));
    assert_eq!(judged(&required, Some("foreign.pem")), (Some(Reason::Certificate), 20, 20));
    assert_eq!(judged(&required, None).0, Some(Reason::Handshake));
    assert_eq!(judged(&optional, None), (None, 0, 0));
    assert_eq!(judged(&optional, Some("foreign.pem")).0, Some(Reason::Certificate));
    let ignoring = [("verify", "optional"), ("ca-file", "ca.pem"), ("crt-ignore-err", "all")];
    let (reason, error, _) = judged(&ignoring, Some("foreign.pem"));
    assert_eq!((reason, error), (None, 20));
    assert!(Ignored::parse("20").unwrap().has(20));
}

/// Whether a client of `settings` accepts the server.
fn accepts(settings: ServerSettings, name: Option<&str>) -> bool {
    let files = files();
    let acceptor = acceptor(bind(&["server.pem"], Options::default()), &files).unwrap();
    let mut files = files;
    let authority = files.0["ca.pem"].clone();
    files.0.insert("ca.pem".into(), authority);
    let connector = connector(settings, &files).unwrap();
    let client = connector.connect(0, name, None).unwrap();
    Pair::new(client, acceptor.accept().unwrap()).shake().0.is_ok()
}

#[test]
fn servers_are_verified() {
    let verifying = |host: Option<&str>| ServerSettings {
        verify: true,
        verify_host: host.map(str::to_owned),
        options: options(&[("ca-file", "ca.pem")]),
        ..ServerSettings::default()
    };
    assert!(accepts(verifying(None), None));
    assert!(accepts(verifying(None), Some("a.test")));
    assert!(accepts(verifying(None), Some("x.w.test")));
    assert!(!accepts(verifying(None), Some("b.test")));
    // The name in the ClientHello takes precedence over `verifyhost`.
    assert!(!accepts(verifying(Some("a.test")), Some("b.test")));
    assert!(accepts(verifying(Some("b.test")), Some("a.test")));
    assert!(accepts(verifying(Some("a.test")), None));
    assert!(!accepts(verifying(Some("b.test")), None));
    // The subject counts beside alternative names.
    assert!(accepts(verifying(None), Some("cn.test")));
    let alone = ServerSettings { verify: true, ..ServerSettings::default() };
    assert!(!accepts(alone, None));
}

/// `ca-file` on a directory: files whose names begin with a dot are ignored (manual section 5.1).
#[test]
fn hidden_files_are_not_trusted() {
    let mut files = files();
    let authority = files.0["ca.pem"].clone();
    let other = make(&["other"], ecdsa(), None).certificate();
    files = files.with("d/.ca.pem", authority.clone()).with("d/other.pem", other);
    let accepts = |files: &Memory| {
        let acceptor = acceptor(bind(&["server.pem"], Options::default()), files).unwrap();
        let options = options(&[("ca-file", "d")]);
        let settings = ServerSettings { verify: true, options, ..ServerSettings::default() };
        let client = connector(settings, files).unwrap().connect(0, Some("a.test"), None).unwrap();
        Pair::new(client, acceptor.accept().unwrap()).shake().0.is_ok()
    };
    assert!(!accepts(&files));
    assert!(accepts(&files.with("d/ca.crt", authority)));
}

/// A list that was cut off while it was written must not let in whom it revokes.
#[test]
fn broken_authorities_and_lists_are_refused() {
    let good = files().0["ca.pem"].clone();
    let list = |end: &str| format!("-----BEGIN X509 CRL-----\nMIIB{end}").into_bytes();
    let cut = b"-----BEGIN CERTIFICATE-----\nMIIB\n".to_vec();
    for broken in [list(""), list("\n-----END X509 CRL-----\n"), cut] {
        let files = files().with("both.pem", [good.clone(), broken].concat());
        let store = Store::new(Extras::default());
        for purpose in [Purpose::Trust, Purpose::Revocation] {
            let error = store.load_authorities("both.pem", purpose, &files).unwrap_err();
            assert!(matches!(error, AuthorityFileError::Malformed(_)), "{error}");
        }
    }
}

/// As in HAProxy, the good files of a directory of authorities count, and the others are warned of.
#[test]
fn other_files_in_directories_of_authorities_are_reported() {
    let files = files();
    let good = files.0["ca.pem"].clone();
    let files = files.with("d/ca.pem", good).with("d/x.pem", "x").with("e/x.crt", "x");
    let notes = |name: &str| {
        let store = Store::new(Extras::default());
        store.load_authorities(name, Purpose::Trust, &files).unwrap();
        store.take_notes()
    };
    let told = "ca-file: 'd' couldn't load 'd/x.pem' (no certificate or crl found)";
    assert_eq!(notes("d"), [told]);
    assert_eq!(notes("e")[1], "ca-file: 0 CA were loaded from 'e'");
    assert!(notes("ca.pem").is_empty());
}

/// Whether the second of two connections continues with the session of the first.
fn resumes(server: &[(&str, &str)], settings: ServerSettings, names: [&str; 2]) -> bool {
    let files = files();
    let acceptor = acceptor(bind(&["server.pem"], options(server)), &files).unwrap();
    let connector: Connector = connector(settings, &files).unwrap();
    let mut resumed = false;
    for name in names {
        let client = connector.connect(0, Some(name), None).unwrap();
        let mut pair = Pair::new(client, acceptor.accept().unwrap());
        pair.shake().0.unwrap();
        pair.server_send(b"hello").unwrap();
        pair.client_recv(&mut [0; 16]).unwrap();
        resumed = pair.server.is_resumed() && pair.client.is_resumed();
    }
    resumed
}

#[test]
fn sessions_go_on() {
    let old = || {
        let mut client = trusting();
        client.options.versions.max = Some(Version::Tls12);
        client
    };
    let same = ["a.test", "a.test"];
    assert!(resumes(&[], trusting(), same));
    assert!(resumes(&[], old(), same));
    // AWS-LC keeps sessions of TLS 1.3 in tickets only.
    let kept = resumes(&[("no-tls-tickets", "")], trusting(), same);
    assert_eq!(kept, ffi::NAME != "AWS-LC");
    assert!(resumes(&[("no-tls-tickets", "")], old(), same));
    assert!(!resumes(&[], ServerSettings { reuse: false, ..trusting() }, same));
    assert!(!resumes(&[], trusting(), ["a.test", "b.test"]));
}

/// An error about a client's certificate is not taken for the end of another session.
#[test]
fn errors_ignored_for_one_client_do_not_affect_others() {
    let authority = make(&["ca"], ecdsa(), None);
    // The certificate names an authority that has not signed it.
    let namesake = make(&["ca"], ecdsa(), None);
    let files = Memory::default()
        .with("ca.pem", authority.certificate())
        .with("server.pem", make(&["a.test"], ecdsa(), Some(&authority)).pem())
        .with("client.pem", make(&["client"], ecdsa(), Some(&namesake)).pem());
    let given = [("verify", "optional"), ("ca-file", "ca.pem"), ("crt-ignore-err", "all")];
    let acceptor = acceptor(bind(&["server.pem"], options(&given)), &files).unwrap();
    let pair = |certificate| {
        let connector = connector(client(certificate), &files).unwrap();
        let client = connector.connect(0, None, None).unwrap();
        Pair::new(client, acceptor.accept().unwrap())
    };
    let mut other = pair(None);
    other.shake().1.unwrap();
    let mut ignored = pair(Some("client.pem"));
    ignored.shake().1.unwrap();
    assert_ne!(ignored.server.checked().certificate_error, 0);
    assert!(openssl::error::ErrorStack::get().errors().is_empty());
    // Another failed call leaves errors in the library's queue, too.
    assert!(openssl::x509::X509::from_pem(b"none").is_err());
    openssl::error::ErrorStack::get();
    crate::response_text(b"none");
    assert!(openssl::error::ErrorStack::get().errors().is_empty());
    let left = openssl::bn::BigNum::from_dec_str("x").unwrap_err();
    left.put();
    let end = other.server_recv(&mut [0; 8]).unwrap_err();
    assert_eq!(end.kind(), std::io::ErrorKind::WouldBlock);
}
