//! Tests of changes at run time while connections are made.

use super::pair::{Made, Memory, Pair, bind, connector, ecdsa, make, rsa, trusting};
use crate::runtime::{Bases, Bound, ListRefusal, Refusal, StapleRefusal, Status, Unfit};
use crate::{
    Acceptor, BindSettings, Connector, CrtListEntry, Defaults, Options, Purpose, Runtime,
    ServerSettings, Store, Verify,
};
use std::sync::Arc;

/// A bind line that can be changed.
pub(super) struct Line {
    pub(super) runtime: Runtime,
    pub(super) acceptor: Arc<Acceptor>,
    pub(super) store: Arc<Store>,
}

pub(super) fn line(settings: BindSettings, files: &Memory) -> Line {
    let store = Arc::new(Store::default());
    let acceptor = Acceptor::new(settings, Defaults::default(), &store, files);
    let acceptor = Arc::new(acceptor.unwrap());
    let bound = Bound { acceptor: acceptor.clone(), place: "a.cfg:1".to_owned() };
    let runtime = Runtime::new(store.clone(), vec![bound], Bases::default());
    Line { runtime, acceptor, store }
}

impl Line {
    /// The certificate that a client gets that asks for this name.
    fn shown(&self, name: Option<&str>) -> Option<Vec<u8>> {
        let connector = connector(trusting(), &Memory::default()).unwrap();
        let client = connector.connect(0, name, None).unwrap();
        let mut pair = Pair::new(client, self.acceptor.accept().unwrap());
        pair.shake().0.ok()?;
        Some(pair.client.peer_certificate()?.der().unwrap())
    }

    /// Puts a certificate under a name.
    fn put(&self, name: &str, made: &Made) {
        let text = String::from_utf8(made.pem()).unwrap();
        self.runtime.set_certificate(name, &text).unwrap();
        self.runtime.commit_certificate(name).unwrap();
    }
}

fn der(made: &Made) -> Option<Vec<u8>> {
    Some(made.certificate.to_der().unwrap())
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_certificate_is_replaced_everywhere_at_once() {
    let (old, new) = (make(&["a.test"], ecdsa(), None), make(&["b.test"], rsa(), None));
    let files = Memory::default().with("a.pem", old.pem());
    let it = line(bind(&["a.pem", "a.pem"], Options::default()), &files);
    assert_eq!(it.runtime.certificate("a.pem").unwrap().status, Status::Used);
    let begun = it.runtime.set_certificate("a.pem", &text(new.pem())).unwrap();
    assert!(begun.new && begun.name == "a.pem");
    assert_eq!(it.runtime.ongoing_certificate().as_deref(), Some("a.pem"));
    assert_eq!(it.shown(None), der(&old), "nothing has been committed");
    let server = ServerSettings { certificate: Some("a.pem".to_owned()), ..trusting() };
    let server = Connector::new(server, Defaults::default(), &it.store, &files).unwrap();
    let server = Arc::new(server);
    it.runtime.watch(&server);
    assert_eq!(it.runtime.commit_certificate("a.pem"), Ok(3));
    assert_eq!(it.runtime.commit_certificate("a.pem"), Err(Refusal::Nothing));
    assert_eq!(it.shown(None), der(&new));
    drop(server);
    assert_eq!(it.runtime.servers().len(), 0, "one that is gone is forgotten");
}

#[test]
fn names_move_with_the_certificate() {
    let (old, new) = (make(&["a.test"], ecdsa(), None), make(&["b.test"], ecdsa(), None));
    let files = Memory::default().with("a.pem", old.pem());
    let settings = BindSettings { strict_sni: true, ..bind(&["a.pem"], Options::default()) };
    let it = line(settings, &files);
    assert_eq!((it.shown(Some("a.test")), it.shown(Some("b.test"))), (der(&old), None));
    it.put("a.pem", &new);
    assert_eq!((it.shown(Some("a.test")), it.shown(Some("b.test"))), (None, der(&new)));
}

#[test]
fn transactions_are_one_at_a_time_and_whole() {
    let (made, other) = (make(&["a.test"], ecdsa(), None), make(&["a.test"], ecdsa(), None));
    let files = Memory::default().with("a.pem", made.pem()).with("b.pem", other.pem());
    let it = line(bind(&["a.pem", "b.pem"], Options::default()), &files);
    let runtime = &it.runtime;
    let unknown = runtime.set_certificate("c.pem", &text(made.pem()));
    assert_eq!(unknown, Err(Refusal::Unknown));
    let unreadable = runtime.set_certificate("a.pem", "garbage");
    assert!(matches!(unreadable, Err(Refusal::Unreadable(_))));
    assert_eq!(runtime.ongoing_certificate(), None);
    runtime.set_certificate("a.pem", &text(other.certificate())).unwrap();
    assert_eq!(runtime.commit_certificate("a.pem"), Err(Refusal::Incomplete));
    let ongoing = Refusal::Ongoing("a.pem".to_owned());
    let second = runtime.set_certificate("b.pem", &text(made.pem()));
    assert_eq!(second.unwrap_err(), ongoing);
    assert_eq!(runtime.commit_certificate("b.pem").unwrap_err(), ongoing);
    assert_eq!(runtime.abort_certificate("b.pem").unwrap_err(), ongoing);
    assert_eq!(runtime.delete_certificate("a.pem").unwrap_err(), ongoing);
    let begun = runtime.set_certificate("a.pem.key", &text(made.key())).unwrap();
    assert!(!begun.new);
    assert_eq!(runtime.commit_certificate("a.pem"), Err(Refusal::Foreign));
    runtime.set_certificate("a.pem.key", &text(other.key())).unwrap();
    assert_eq!(runtime.commit_certificate("a.pem"), Ok(1));
    assert_eq!(it.shown(None), der(&other));
    assert_eq!(runtime.abort_certificate("a.pem"), Err(Refusal::Nothing));
}

#[test]
fn certificates_come_and_go() {
    let made = make(&["a.test"], ecdsa(), None);
    let files = Memory::default().with("a.pem", made.pem());
    let it = line(bind(&["a.pem"], Options::default()), &files);
    let runtime = &it.runtime;
    assert_eq!(runtime.new_certificate("a.pem"), Err(Refusal::Exists));
    runtime.new_certificate("b.pem").unwrap();
    assert_eq!(runtime.certificate("b.pem").unwrap().status, Status::Empty);
    it.put("b.pem", &made);
    assert_eq!(runtime.certificate("b.pem").unwrap().status, Status::Unused);
    assert_eq!(runtime.certificates(), ["a.pem", "b.pem"]);
    assert_eq!(runtime.delete_certificate("a.pem"), Err(Refusal::InUse));
    runtime.delete_certificate("b.pem").unwrap();
    assert_eq!(runtime.delete_certificate("b.pem"), Err(Refusal::Unknown));
}

/// A bind line with a list: `a.pem`, then `b.pem` for `b.test`.
fn listed(files: &Memory, strict_sni: bool) -> Line {
    let lines = crate::parse_crt_list("list", "a.pem\nb.pem b.test\n").unwrap();
    let lists = vec![("list".to_owned(), 2)];
    let settings = BindSettings { certificates: lines, lists, strict_sni, ..Default::default() };
    line(settings, files)
}

#[test]
fn lines_of_lists_come_and_go() {
    let made: Vec<_> = ["a", "b", "c"].map(|it| make(&[it], ecdsa(), None)).into();
    let names = ["a.pem", "b.pem"];
    let files = names.iter().zip(&made);
    let files = files.fold(Memory::default(), |all, (name, made)| all.with(name, made.pem()));
    let it = listed(&files, false);
    let runtime = &it.runtime;
    runtime.new_certificate("c.pem").unwrap();
    let empty = runtime.add_to_list("list", "c.pem");
    assert_eq!(empty, Err(ListRefusal::Empty("c.pem".to_owned())));
    it.put("c.pem", &made[2]);
    assert_eq!(it.shown(Some("c.test")), der(&made[0]), "the first one");
    let line = "c.pem [alpn h2,x verify none ssl-min-ver TLSv1.2] c.test !d.test";
    assert_eq!(runtime.add_to_list("list/", line), Ok(("c.pem".to_owned(), 1)));
    assert_eq!(it.shown(Some("c.test")), der(&made[2]));
    let written = |numbered| -> Vec<String> {
        let (_, entries) = runtime.list("list").unwrap();
        entries.iter().map(|entry| entry.written(numbered)).collect()
    };
    let added = "c.pem [alpn h2,x  verify none ssl-min-ver TLSv1.2] c.test !d.test";
    assert_eq!(written(false), ["a.pem", "b.pem b.test", added]);
    assert_eq!(written(true)[2], added.replacen("c.pem", "c.pem:3", 1));
    assert_eq!(runtime.delete_certificate("c.pem"), Err(Refusal::InUse));
    assert_eq!(runtime.delete_from_list("list", "c.pem", None), Ok("list".to_owned()));
    assert_eq!(it.shown(Some("c.test")), der(&made[0]));
    assert_eq!(runtime.delete_from_list("list", "c.pem", None), Err(ListRefusal::NotThere));
    let fallback = runtime.delete_from_list("list", "a.pem", Some(1));
    assert_eq!(fallback, Err(ListRefusal::Default(vec!["a.cfg:1".to_owned()])));
    let strict = listed(&files, true);
    assert_eq!(strict.runtime.delete_from_list("list", "a.pem", None), Ok("list".to_owned()));
    assert_eq!(strict.shown(Some("a")), None);
}

#[test]
fn lines_that_cannot_be_are_refused() {
    let made = make(&["a"], ecdsa(), None);
    let files = Memory::default().with("a.pem", made.pem()).with("b.pem", made.pem());
    let it = listed(&files, false);
    let add = |line: &str| it.runtime.add_to_list("list", line).unwrap_err();
    assert_eq!(add("a.pem\nb.pem"), ListRefusal::Lines);
    assert_eq!(add("x.pem"), ListRefusal::NoCertificate("x.pem".to_owned()));
    let fault = |line: &str| match add(line) {
        ListRefusal::Line(error) => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(fault("a.pem [foo]"), "parsing [CLI:1]: unknown ssl keyword foo");
    let misplaced = format!("parsing [CLI:1]: {}", crate::MISPLACED);
    assert_eq!(fault("a.pem x.test [verify none]"), misplaced);
    let unloaded = ListRefusal::NotLoaded { keyword: "ca-file", file: "ca.pem".to_owned() };
    assert_eq!(add("a.pem [ca-file ca.pem]"), unloaded);
    assert_eq!(it.runtime.add_to_list("none", "a.pem"), Err(ListRefusal::NoList));
    it.runtime.add_to_list("list", "a.pem").unwrap();
    let several = it.runtime.delete_from_list("list", "a.pem", None);
    assert_eq!(several, Err(ListRefusal::Ambiguous(vec![1, 3])));
    let missed = it.runtime.delete_from_list("list", "a.pem", Some(9));
    assert_eq!(missed, Err(ListRefusal::WrongLine(vec![1, 3])));
}

#[test]
fn directories_are_lists() {
    let (a, b) = (make(&["a"], ecdsa(), None), make(&["b"], ecdsa(), None));
    let files = Memory::default().with("d/a.pem", a.pem());
    let it = line(bind(&["d"], Options::default()), &files);
    assert_eq!(it.runtime.lists(), ["d"]);
    it.runtime.new_certificate("d/b.pem").unwrap();
    it.put("d/b.pem", &b);
    let elsewhere = it.runtime.add_to_list("d", "b.pem");
    assert_eq!(elsewhere, Err(ListRefusal::Elsewhere("b.pem".to_owned())));
    it.runtime.add_to_list("d", "d/b.pem").unwrap();
    assert_eq!(it.shown(Some("b")), der(&b));
    let (_, entries) = it.runtime.list("d/").unwrap();
    let written: Vec<_> = entries.iter().map(|entry| entry.written(true)).collect();
    assert_eq!(written, ["d/a.pem:0", "d/b.pem:1"]);
    for there in ["d/a.pem", "d/b.pem x.test"] {
        assert_eq!(it.runtime.add_to_list("d/", there), Err(ListRefusal::Exists), "{there}");
    }
    assert_eq!(it.runtime.delete_from_list("d", "d/b.pem", None), Ok("d".to_owned()));
    assert_eq!(it.shown(Some("b")), der(&a));
}

/// Whether the handshake succeeds on either side for a client with a certificate.
fn judged(acceptor: &Acceptor, client: &Connector) -> (bool, bool) {
    let session = client.connect(0, Some("a"), None).unwrap();
    let mut pair = Pair::new(session, acceptor.accept().unwrap());
    let (_, server) = pair.shake();
    let fine = server.is_ok();
    if fine {
        // The session ticket arrives together with the server's data.
        pair.server_send(b"hello").unwrap();
        pair.client_recv(&mut [0; 16]).unwrap();
    }
    (fine, pair.server.is_resumed())
}

#[test]
fn authorities_are_replaced_and_sessions_with_them() {
    let (ca, foreign) = (make(&["ca"], ecdsa(), None), make(&["other"], ecdsa(), None));
    let (server, client) = (make(&["a"], ecdsa(), None), make(&["c"], ecdsa(), Some(&ca)));
    let files = Memory::default()
        .with("a.pem", server.pem())
        .with("ca.pem", ca.certificate())
        .with("client.pem", client.pem());
    let (verify, ca_file) = (Some(Verify::Required), Some("ca.pem".to_owned()));
    let it = line(bind(&["a.pem"], Options { verify, ca_file, ..Options::default() }), &files);
    let shows = ServerSettings { certificate: Some("client.pem".to_owned()), ..trusting() };
    let shows = connector(shows, &files).unwrap();
    assert_eq!(judged(&it.acceptor, &shows), (true, false));
    assert_eq!(judged(&it.acceptor, &shows), (true, true), "the session goes on");
    let runtime = &it.runtime;
    let names = runtime.authorities(Purpose::Trust);
    assert_eq!(names, [("ca.pem".to_owned(), 1)]);
    let commit = |certificate: Vec<u8>, more| {
        let text = text(certificate);
        runtime.set_authorities("ca.pem", Purpose::Trust, &text, more).unwrap();
        runtime.commit_authorities("ca.pem", Purpose::Trust)
    };
    assert_eq!(commit(foreign.certificate(), false), Ok(1));
    assert!(!judged(&it.acceptor, &shows).0, "nor does a session of before help");
    assert_eq!(commit(ca.certificate(), true), Ok(1));
    assert_eq!(runtime.authorities(Purpose::Trust)[0].1, 2);
    assert!(judged(&it.acceptor, &shows).0);
    assert_eq!(runtime.delete_authorities("ca.pem", Purpose::Trust), Err(Refusal::InUse));
    runtime.new_authorities("x.pem", Purpose::Revocation).unwrap();
    let taken = runtime.new_authorities("x.pem", Purpose::Trust);
    assert_eq!(taken, Err(Refusal::Exists));
    let wrong =
        runtime.set_authorities("x.pem", Purpose::Revocation, &text(ca.certificate()), false);
    assert_eq!(wrong, Err(Refusal::Unreadable("Invalid payload".to_owned())));
    assert_eq!(runtime.delete_authorities("x.pem", Purpose::Trust), Err(Refusal::Otherwise));
    runtime.delete_authorities("x.pem", Purpose::Revocation).unwrap();
}

#[test]
fn a_session_does_not_go_where_certificates_are_asked_for() {
    let ca = make(&["ca"], ecdsa(), None);
    let made = make(&["a"], ecdsa(), None);
    let files = Memory::default().with("a.pem", made.pem()).with("ca.pem", ca.certificate());
    let open = CrtListEntry { path: "a.pem".to_owned(), ..CrtListEntry::default() };
    let options = Options {
        verify: Some(Verify::Required),
        ca_file: Some("ca.pem".to_owned()),
        ..Options::default()
    };
    let closed = CrtListEntry { options, filters: vec!["b".to_owned()], ..open.clone() };
    let settings = BindSettings { certificates: vec![open, closed], ..Default::default() };
    let it = line(settings, &files);
    let client = connector(trusting(), &Memory::default()).unwrap();
    assert_eq!(judged(&it.acceptor, &client), (true, false));
    assert_eq!(judged(&it.acceptor, &client), (true, true));
    // The same session under another name, as an attacker would.
    let session = client.connect_as(0, "a", "b").unwrap();
    let mut pair = Pair::new(session, it.acceptor.accept().unwrap());
    assert!(pair.shake().1.is_err(), "no certificate was shown");
}

#[test]
fn answers_about_nothing_are_refused() {
    let made = make(&["a"], ecdsa(), None);
    let files = Memory::default().with("a.pem", made.pem());
    let it = line(bind(&["a.pem"], Options::default()), &files);
    assert_eq!(it.runtime.set_staple("x"), Err(StapleRefusal::Encoding));
    let garbage = it.runtime.set_staple("aGFsbG8K");
    assert_eq!(garbage, Err(StapleRefusal::Unfit(Unfit::Unreadable)));
    assert!(it.runtime.staples().is_empty());
}

#[test]
fn many_certificates_are_read_together() {
    let made: Vec<_> = (0..40).map(|n| make(&[&*format!("n{n}")], ecdsa(), None)).collect();
    let files = made.iter().enumerate();
    let mut files = files
        .fold(Memory::default(), |all, (n, made)| all.with(&format!("d/{n:02}.pem"), made.pem()));
    let it = line(bind(&["d"], Options::default()), &files);
    assert_eq!(it.acceptor.certificates().len(), 40);
    assert_eq!(it.shown(Some("n33")), der(&made[33]));
    files = files.with("d/07.pem", "broken").with("d/30.pem", made[3].certificate());
    let store = Store::default();
    let settings = bind(&["d"], Options::default());
    let told = Acceptor::new(settings, Defaults::default(), &store, &files).unwrap_err();
    assert_eq!(told.len(), 2, "{told:?}");
    let told: Vec<String> = told.iter().map(ToString::to_string).collect();
    assert!(told[0].contains("d/07.pem") && told[1].contains("d/30.pem"));
}
