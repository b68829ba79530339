//! Certificates, authorities and lists that an operator changes while the program runs.

use crate::support::{Identity, LogReceiver, Running, Secure, Setup, eventually, is_built_on};
use std::net::SocketAddr;

/// A certificate authority, and the certificates that it has signed.
struct Names {
    authority: Identity,
    a: Identity,
    b: Identity,
}

impl Names {
    fn new() -> Self {
        let authority = Identity::new("authority", None);
        let [a, b] = ["a.test", "b.test"].map(|name| Identity::new(name, Some(&authority)));
        Self { authority, a, b }
    }

    /// Starts with `ca.pem`, `a.pem`, `b.pem`, and a list `list` with `a.pem`.
    fn start(&self, sections: &str) -> Running {
        Setup::new(&format!(
            "global\n    nbthread 1\n    stats socket <dir>/cli level admin\n    ca-base <dir>\n    \
             crt-base <dir>\ndefaults\n    mode http\n    timeout connect 5s\n    timeout client \
             20s\n    timeout server 20s\n{sections}"
        ))
        .file("ca.pem", &self.authority.certificate())
        .file("a.pem", &self.a.pem())
        .file("b.pem", &self.b.pem())
        .file("list", "a.pem\n")
        .start()
    }
}

/// The name of the certificate that a client is shown.
fn shown(address: SocketAddr, name: &str) -> String {
    Secure::connect(address, name).peer()
}

/// The answer to a command, with the empty line at its end.
fn ask(weir: &Running, command: &str) -> String {
    weir.cli(command) + "\n\n"
}

/// A command with a payload.
fn tell(weir: &Running, command: &str, payload: &str) -> String {
    ask(weir, &format!("{command} <<\n{}\n", payload.trim_end().replace("\n\n", "\n")))
}

fn file(weir: &Running, name: &str) -> String {
    weir.path(name).display().to_string()
}

const WEB: &str = "frontend web
    bind <web> ssl crt a.pem
    http-request return status 200 content-type text/plain lf-string %[ssl_fc_sni]
";

#[test]
fn a_certificate_is_replaced_in_a_transaction() {
    let names = Names::new();
    let weir = names.start(WEB);
    let a = file(&weir, "a.pem");
    let mut before = Secure::connect(weir.address("web"), "x.test");
    let listing = format!("# filename\n{a}\n\n");
    assert_eq!(ask(&weir, "show ssl cert"), listing);
    let shown_before = ask(&weir, &format!("show ssl cert {a}"));
    assert!(shown_before.starts_with(&format!("Filename: {a}\nStatus: Used\nSerial: 06\n")));
    let expected = "Subject Alternative Name: DNS:a.test\nAlgorithm: EC256\nSHA1 FingerPrint: ";
    assert!(shown_before.contains(expected), "{shown_before}");
    let ends = "Subject: /CN=a.test\nIssuer: /CN=authority\nOCSP Response Key:\n\n";
    assert!(shown_before.ends_with(ends), "{shown_before}");
    let said = tell(&weir, &format!("set ssl cert {a}"), &names.b.pem());
    assert_eq!(said, format!("Transaction created for certificate {a}!\n\n"));
    assert_eq!(ask(&weir, "show ssl cert"), format!("# transaction\n*{a}\n{listing}"));
    let drafted = ask(&weir, &format!("show ssl cert *{a}"));
    assert!(drafted.starts_with(&format!("Filename: *{a}\nStatus: Unused\n")), "{drafted}");
    assert_eq!(shown(weir.address("web"), "x.test"), "a.test");
    let said = ask(&weir, &format!("commit ssl cert {a}"));
    assert_eq!(said, format!("Committing {a}.\nSuccess!\n\n"));
    assert_eq!(shown(weir.address("web"), "x.test"), "b.test");
    assert_eq!(before.get("/"), "x.test", "the connection goes on");
    tell(&weir, &format!("set ssl cert {a}"), &names.a.pem());
    let said = ask(&weir, &format!("abort ssl cert {a}"));
    assert_eq!(said, format!("Transaction aborted for certificate '{a}'!\n\n"));
    let said = ask(&weir, &format!("commit ssl cert {a}"));
    assert_eq!(said, format!("No ongoing transaction! !\nCan't commit {a}!\n\n"));
    let said = tell(&weir, &format!("set ssl cert {a}"), "garbage");
    let why = format!("unable to load certificate from file '{a}'.\nCan't load the payload\n");
    assert_eq!(said, format!("{why}Can't update {a}!\n\n"));
    let said = ask(&weir, &format!("del ssl cert {a}"));
    let used = format!("certificate '{a}' in use, can't be deleted!");
    assert_eq!(said, format!("Can't remove the certificate: {used}\n\n"));
}

#[test]
fn a_list_takes_new_certificates() {
    let names = Names::new();
    let weir = names.start(
        "frontend web
    bind <web> ssl crt-list <dir>/list
    http-request return status 200
",
    );
    let (list, a, new) = (file(&weir, "list"), file(&weir, "a.pem"), file(&weir, "new.pem"));
    assert_eq!(ask(&weir, "show ssl crt-list"), format!("{list}\n\n"));
    let said = ask(&weir, &format!("new ssl cert {new}"));
    assert_eq!(said, format!("New empty certificate store '{new}'!\n\n"));
    let empty = ask(&weir, &format!("show ssl cert {new}"));
    assert_eq!(empty, format!("Filename: {new}\nStatus: Empty\nOCSP Response Key:\n\n"));
    tell(&weir, &format!("set ssl cert {new}"), &names.b.pem());
    ask(&weir, &format!("commit ssl cert {new}"));
    assert_eq!(shown(weir.address("web"), "c.test"), "a.test");
    let line = "new.pem [verify none] c.test !d.test";
    let said = tell(&weir, &format!("add ssl crt-list {list}"), line);
    let added = format!("Inserting certificate '{new}' in crt-list '{list}'.\nSuccess!\n\n");
    assert_eq!(said, added);
    assert_eq!(shown(weir.address("web"), "c.test"), "b.test");
    let dump = ask(&weir, &format!("show ssl crt-list -n {list}"));
    let lines = format!("{a}:1\n{new}:2 [verify none] c.test !d.test\n");
    assert_eq!(dump, format!("# {list}\n{lines}\n"));
    let misplaced = format!(
        "found a certificate '{new}' but the line number is incorrect, please specify a correct \
         line number preceded by colons (2)!"
    );
    for (line, why) in [
        ("9", misplaced),
        ("x", format!("wrong line number after colons in '{new}:x'!")),
        ("", format!("wrong line number after colons in '{new}:'!")),
    ] {
        let said = ask(&weir, &format!("del ssl crt-list {list} {new}:{line}"));
        assert_eq!(said, format!("Can't delete the entry: {why}\n\n"));
    }
    let said = ask(&weir, &format!("del ssl crt-list {list} {new}:0"));
    assert_eq!(said, format!("Entry '{new}' deleted in crtlist '{list}'!\n\n"));
    assert_eq!(shown(weir.address("web"), "c.test"), "a.test");
    let said = ask(&weir, &format!("del ssl cert {new}"));
    assert_eq!(said, format!("Certificate '{new}' deleted!\n\n"));
    let said = ask(&weir, &format!("del ssl crt-list {list} {a}"));
    assert!(said.contains("it is used as default certificate by the following frontends:\n\t- "));
}

#[test]
fn authorities_are_replaced_in_a_transaction() {
    let names = Names::new();
    let foreign = Identity::new("foreign", None);
    let weir = names.start(
        "frontend web
    bind <web> ssl crt a.pem ca-file ca.pem verify required
    http-request return status 200
",
    );
    let ca = file(&weir, "ca.pem");
    let asks = || {
        let client = Secure::try_connect(weir.address("web"), "x", |builder| {
            Secure::show(builder, &names.b);
        });
        client.and_then(|mut it| it.ask("GET / HTTP/1.1\r\nhost: x\r\n\r\n")).is_ok()
    };
    assert!(asks());
    assert!(ask(&weir, "show ssl ca-file").contains(&format!("{ca} - 1 certificate(s)\n")));
    let said = tell(&weir, &format!("set ssl ca-file {ca}"), &foreign.certificate());
    assert_eq!(said, format!("transaction created for CA {ca}!\n\n"));
    let first = format!("# transaction\n*{ca} - 1 certificate(s)\n");
    assert!(ask(&weir, "show ssl ca-file").starts_with(&first));
    assert!(asks(), "nothing has been committed");
    let said = ask(&weir, &format!("commit ssl ca-file {ca}"));
    assert_eq!(said, format!("Committing {ca}.\nSuccess!\n\n"));
    assert!(!asks());
    let said = tell(&weir, &format!("add ssl ca-file {ca}"), &names.authority.certificate());
    assert_eq!(said, format!("transaction created for CA {ca}!\n\n"));
    ask(&weir, &format!("commit ssl ca-file {ca}"));
    assert!(asks());
    let second = ask(&weir, &format!("show ssl ca-file {ca}:2"));
    let begins = format!("Filename: {ca}\nStatus: Used\n \nCertificate #2:\nSerial: 09\n");
    assert!(second.starts_with(&begins), "{second}");
    tell(&weir, &format!("set ssl ca-file {ca}"), &foreign.certificate());
    let said = ask(&weir, &format!("abort ssl ca-file {ca}"));
    assert_eq!(said, format!("Transaction aborted for certificate '{ca}'!\n\n"));
    assert_eq!(ask(&weir, "new ssl ca-file n"), "New CA file created 'n'!\n\n");
    assert_eq!(ask(&weir, "new ssl ca-file n"), "CA file 'n' already exists!\n\n");
    assert_eq!(ask(&weir, "del ssl ca-file n"), "CA file 'n' deleted!\n\n");
    let said = ask(&weir, &format!("del ssl ca-file {ca}"));
    let used = format!("CA file '{ca}' in use, can't be deleted!");
    assert_eq!(said, format!("Can't remove the CA file: {used}\n\n"));
}

#[test]
fn clients_whose_certificate_is_revoked_are_refused() {
    let authority = Identity::new("authority", None);
    let [web, good, revoked] =
        ["web.test", "good.x", "no"].map(|name| Identity::new(name, Some(&authority)));
    let weir = Setup::new(
        "global\n    nbthread 1\n    stats socket <dir>/cli level admin\n    ca-base <dir>\n    \
         crt-base <dir>\ndefaults\n    mode http\n    timeout client 20s\n    \
         timeout connect 5s\n    timeout server 20s\nfrontend web
    bind <web> ssl crt web.pem ca-file ca.pem crl-file list.pem verify required
    bind <lenient> ssl crt web.pem ca-file ca.pem crl-file list.pem verify optional crt-ignore-err 23
    http-request return status 200 content-type text/plain lf-string %[ssl_c_err]
",
    )
    .file("ca.pem", &authority.certificate())
    .file("list.pem", &authority.revoke(&[&revoked]))
    .file("web.pem", &web.pem())
    .start();
    let get = |bind: &str, own: &Identity| {
        let client =
            Secure::try_connect(weir.address(bind), "x", |builder| Secure::show(builder, own));
        client.and_then(|mut it| it.ask("GET / HTTP/1.1\r\nhost: x\r\n\r\n")).map(|(_, it)| it)
    };
    assert_eq!(get("web", &good).expect("an answer"), b"0");
    assert!(get("web", &revoked).is_err());
    assert_eq!(get("lenient", &revoked).expect("an answer"), b"23");
    let list = file(&weir, "list.pem");
    tell(&weir, &format!("set ssl crl-file {list}"), &authority.revoke(&[&good]));
    assert!(get("web", &revoked).is_err(), "nothing has been committed");
    let said = ask(&weir, &format!("commit ssl crl-file {list}"));
    assert!(said.ends_with("\nSuccess!\n\n"), "{said}");
    assert_eq!(get("web", &revoked).expect("an answer"), b"0");
    assert!(get("web", &good).is_err());
}

#[test]
fn a_server_is_added_with_files_that_have_been_loaded() {
    let names = Names::new();
    let weir = names.start(&format!("{WEB}backend app\n    balance roundrobin\n"));
    let add = |name: &str, options: &str| {
        ask(&weir, &format!("add server app/{name} 127.0.0.1:1 ssl {options}"))
    };
    let (a, b, ca) = (file(&weir, "a.pem"), file(&weir, "b.pem"), file(&weir, "ca.pem"));
    let registered = "New server registered.\n\n";
    assert_eq!(add("one", &format!("verify none crt {a}")), registered);
    let why = "it has not been loaded, and a program that runs reads no files";
    let said = add("two", &format!("verify none crt {b}"));
    assert_eq!(said, format!("unable to stat SSL certificate from file '{b}' : {why}.\n\n"));
    let said = add("two", &format!("verify required ca-file {ca}"));
    assert!(said.starts_with(&format!("'ca-file' : unable to load {ca}: ")), "{said}");
    assert!(said.contains(why), "{said}");
    for option in ["ca-file", "crl-file"] {
        let said = ask(&weir, &format!("add server app/two 127.0.0.1:1 {option} {ca}"));
        let unable = format!("'{option}' : unable to load {ca}: ");
        assert!(said.starts_with(&unable), "also without 'ssl': {said}");
    }
    assert!(!ask(&weir, "show ssl ca-file").contains(&ca));
    ask(&weir, &format!("new ssl cert {b}"));
    tell(&weir, &format!("set ssl cert {b}"), &names.b.pem());
    ask(&weir, &format!("commit ssl cert {b}"));
    assert_eq!(add("two", &format!("verify none crt {b}")), registered);
}

#[test]
fn revocation_lists_are_changed_in_transactions() {
    let names = Names::new();
    let weir = names.start(WEB);
    assert_eq!(ask(&weir, "show ssl crl-file"), "# filename\n\n");
    assert_eq!(ask(&weir, "new ssl crl-file r"), "New CRL file created 'r'!\n\n");
    assert_eq!(ask(&weir, "new ssl crl-file r"), "CRL file 'r' already exists!\n\n");
    assert_eq!(ask(&weir, "show ssl crl-file"), "# filename\nr\n\n");
    assert_eq!(ask(&weir, "show ssl crl-file r"), "Filename: r\nStatus: Empty\n\n");
    let said = tell(&weir, "set ssl crl-file r", &names.a.certificate());
    assert_eq!(said, "Invalid payload\nCan't update r!\n\n");
    let said = tell(&weir, "set ssl crl-file none", &names.a.certificate());
    let why = "Can't replace a CRL file which is not referenced by the configuration!\n";
    assert_eq!(said, format!("{why}Can't update none!\n\n"));
    let said = ask(&weir, "commit ssl crl-file r");
    assert_eq!(said, "No ongoing transaction! !\nCan't commit r!\n\n");
    assert_eq!(ask(&weir, "abort ssl crl-file r"), "No ongoing transaction!\n\n");
    assert_eq!(ask(&weir, "del ssl crl-file r"), "CRL file 'r' deleted!\n\n");
    assert_eq!(ask(&weir, "show ssl crl-file"), "# filename\n\n");
}

#[test]
fn providers_and_answers_of_authorities_are_shown() {
    let names = Names::new();
    let weir = names.start(WEB);
    // AWS-LC has none.
    let providers = if is_built_on("AWS-LC") { "\n\n" } else { " \n\t- default\n\n" };
    assert_eq!(ask(&weir, "show ssl providers"), format!("Loaded providers :{providers}"));
    assert_eq!(ask(&weir, "show ssl ocsp-response"), "\n\n");
    let unknown = "Certificate ID does not match any certificate.\n\n";
    assert_eq!(ask(&weir, "show ssl ocsp-response 303b"), unknown);
    let refused = "'set ssl ocsp-response' received invalid base64 encoded response.\n\n";
    assert_eq!(ask(&weir, "set ssl ocsp-response xx"), refused);
    let refused = "Unable to parse OCSP response.\n\n";
    assert_eq!(ask(&weir, "set ssl ocsp-response aGFsbG8K"), refused);
}

#[test]
fn certificates_change_under_load() {
    let names = Names::new();
    let weir = names.start(WEB);
    let address = weir.address("web");
    let a = file(&weir, "a.pem");
    let done = std::sync::atomic::AtomicBool::new(false);
    /// Ends the clients, also when the test fails.
    struct End<'a>(&'a std::sync::atomic::AtomicBool);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut seen = [0; 2];
                    while !done.load(std::sync::atomic::Ordering::Relaxed) {
                        let mut client = Secure::connect(address, "x.test");
                        assert_eq!(client.get("/"), "x.test");
                        seen[usize::from(client.peer() == "b.test")] += 1;
                    }
                    seen
                })
            })
            .collect();
        let end = End(&done);
        for turn in 0..20 {
            let next = if turn % 2 == 0 { &names.b } else { &names.a };
            tell(&weir, &format!("set ssl cert {a}"), &next.pem());
            let said = ask(&weir, &format!("commit ssl cert {a}"));
            assert!(said.ends_with("Success!\n\n"), "{said}");
        }
        drop(end);
        for client in clients {
            let seen = client.join().expect("all its connections were served");
            assert!(seen[0] + seen[1] > 0);
        }
    });
}

#[test]
fn an_operator_switches_tls_of_a_server_on() {
    let names = Names::new();
    let weir = names.start(
        "frontend web
    bind <web>
    default_backend app
backend app
    http-reuse always
    server plain <origin> no-ssl
    default-server ssl verify none
    server s <origin> no-ssl weight 0
frontend origin
    bind <origin> ssl crt a.pem
    bind <clear>
    http-request return status 200 content-type text/plain lf-string %[ssl_fc]
",
    );
    let state = || {
        let text = ask(&weir, "show servers state app");
        let line = text.lines().find(|line| line.contains(" s ")).expect("a server").to_owned();
        line.split(' ').nth(20).expect("srv_use_ssl").to_owned()
    };
    assert_eq!(state(), "-1");
    let refused = "'set server <srv> ssl' cannot be set.  default-server should define ssl \
                   settings\n\n";
    assert_eq!(ask(&weir, "set server app/plain ssl on"), refused);
    ask(&weir, "set server app/plain state maint");
    ask(&weir, "set server app/s weight 100%");
    ask(&weir, "set server app/s weight 1");
    let updated = "server ssl setting updated.\n\n";
    assert_eq!(ask(&weir, "set server app/s ssl on"), updated);
    assert_eq!((state().as_str(), weir.web().get("/").text().as_str()), ("1", "1"));
    assert_eq!(ask(&weir, "set server app/s ssl off"), updated);
    assert_eq!(state(), "0");
    let clear = weir.address("clear");
    ask(&weir, &format!("set server app/s addr {} port {}", clear.ip(), clear.port()));
    assert_eq!(weir.web().get("/").text(), "0", "no idle connection of before is taken");
}

#[test]
fn steps_of_checks_use_tls_with_the_word_ssl() {
    let names = Names::new();
    let weir = names.start(
        "backend tcp
    option tcp-check
    tcp-check connect ssl sni c.test alpn h2,http/1.1
    server s <origin> verify none check inter 50ms
backend http
    option httpchk
    http-check connect ssl sni c.test
    http-check send meth GET uri / ver HTTP/1.1 hdr host x
    http-check expect string c.test
    server s <origin> verify none check inter 50ms
backend wrong
    option tcp-check
    tcp-check connect ssl sni other.test
    server s <strict> verify none check inter 50ms
frontend origin
    bind <origin> ssl crt a.pem
    bind <strict> ssl crt a.pem strict-sni
    http-request return status 200 content-type text/plain lf-string %[ssl_fc_sni]
",
    );
    for (backend, wanted) in [("tcp", "L6OK"), ("http", "L7OK"), ("wrong", "L6RSP")] {
        eventually(&format!("{backend} is {wanted}"), || {
            (weir.stat(backend, "s", "check_status") == wanted).then_some(())
        });
    }
    let told = weir.stat("wrong", "s", "last_chk");
    assert!(told.ends_with("at step 1 of tcp-check (connect)"), "{told}");
}

#[test]
fn messages_of_rings_are_encrypted_on_their_way() {
    let names = Names::new();
    let log = LogReceiver::new();
    let weir = Setup::new(
        "global
    nbthread 1
defaults
    mode http
    timeout client 5s
frontend web
    bind <web>
    log ring@away format raw local0
    log-format \"asked for %HU\"
    http-request return status 200
ring away
    format rfc3164
    server s <syslog> ssl verify required ca-file <dir>/ca.pem sni str(a.test)
log-forward there
    bind <syslog> ssl crt <dir>/a.pem
    log <log> format raw local0
",
    )
    .file("ca.pem", &names.authority.certificate())
    .file("a.pem", &names.a.pem())
    .with("log", log.address())
    .start();
    weir.web().get("/it");
    assert!(log.find("asked for").ends_with("asked for /it"));
}
