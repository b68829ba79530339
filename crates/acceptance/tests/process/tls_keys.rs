//! Key exchange, chains and certificates that are made while clients wait.

use crate::support::{
    Eager, Identity, Origin, PATIENCE, Plain, Running, Secure, Setup, is_built_on,
};
use ffi::{Channel, Resumer};
use openssl::bn::BigNum;
use openssl::dh::Dh;
use openssl::pkey::PKey;
use openssl::rsa::Rsa;
use openssl::ssl::{SslConnectorBuilder, SslContext, SslMethod, SslVersion};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

/// The beginning of every configuration here, with the given lines in `global`.
fn setup(global: &str, sections: &str) -> Setup {
    Setup::new(&format!(
        "global\n    stats socket <dir>/cli level admin\n    ca-base <dir>\n    crt-base <dir>\n    \
         {global}\ndefaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
         timeout server 20s\n{sections}"
    ))
}

/// A client that exchanges keys by DH only, and the bits of the key that it is sent.
fn bits(weir: &Running) -> Option<u32> {
    let by_dh = |builder: &mut SslConnectorBuilder| {
        builder.set_max_proto_version(Some(SslVersion::TLS1_2)).expect("a version");
        builder.set_cipher_list("DHE-RSA-AES128-GCM-SHA256").expect("ciphers");
    };
    let client = Secure::try_connect(weir.address("web"), "a.test", by_dh).ok()?;
    Some(client.0.ssl().peer_tmp_key().expect("a key").bits())
}

/// Parameters as a file has them.
fn parameters() -> String {
    let prime = BigNum::get_rfc3526_prime_3072().expect("a number");
    let two = BigNum::from_u32(2).expect("a number");
    let made = Dh::from_pqg(prime, None, two).expect("parameters");
    String::from_utf8(made.params_to_pem().expect("a text")).expect("a text")
}

#[test]
fn key_exchange_by_dh_needs_parameters() {
    if is_built_on("AWS-LC") {
        // The library exchanges no keys by finite fields.
        return;
    }
    let key = PKey::from_rsa(Rsa::generate(2_048).expect("a key")).expect("a key");
    let server = Identity::with_key("a.test", key, None);
    let start = |global: &str| {
        let web =
            "frontend web\n    bind <web> ssl crt a.pem\n    http-request return status 200\n";
        setup(global, web).file("a.pem", &server.pem()).file("dh.pem", &parameters()).start()
    };
    let weir = start("");
    assert_eq!(bits(&weir), None);
    let name = weir.path("a.pem").display().to_string();
    let text = server.pem() + &parameters();
    weir.cli(&format!("set ssl cert {name} <<\n{text}\n"));
    assert!(weir.cli(&format!("commit ssl cert {name}")).contains("Success!"));
    assert_eq!(bits(&weir), Some(3_072), "with the certificate");
    assert_eq!(bits(&start("tune.ssl.default-dh-param 4096")), Some(2_048), "as long as its key");
    assert_eq!(bits(&start("ssl-dh-param-file <dir>/dh.pem")), Some(3_072));
}

#[test]
fn chains_are_completed() {
    let issuer = Identity::new("issuer", None);
    let server = Identity::new("a.test", Some(&issuer));
    let web = "frontend web\n    bind <web> ssl crt a.pem\n    http-request return status 200\n";
    let links = |global: &str| {
        let setup = setup(global, web).file("a.pem", &server.pem());
        // The `.issuer` file is for OCSP responses and is not sent as a chain.
        let setup = setup.file("a.pem.issuer", &issuer.certificate());
        std::fs::create_dir(setup.path("chains")).expect("a new directory");
        let weir = setup.file("chains/issuer.pem", &issuer.certificate()).start();
        let client = Secure::connect(weir.address("web"), "a.test");
        let links = client.0.ssl().peer_cert_chain().expect("a chain").len();
        let name = weir.path("a.pem").display().to_string();
        let file = |name: &str| {
            let shown = weir.cli(&format!("show ssl cert {name}"));
            let line = shown.lines().nth(2).and_then(|line| line.strip_prefix("Chain Filename: "));
            let line = line.map(str::to_owned);
            assert_eq!(line.is_some(), shown.contains("Chain Subject: "), "{shown}");
            line
        };
        let chain = weir.path("chains/issuer.pem").display().to_string();
        let expected = (links > 1).then_some(chain);
        assert_eq!(file(&name), expected);
        // A new certificate of a transaction is shown with the chain that it will have.
        let text = server.pem();
        weir.cli(&format!("set ssl cert {name} <<\n{text}\n"));
        assert_eq!(file(&format!("*{name}")), expected);
        // A certificate that comes with its chain is not completed.
        let text = server.pem() + &issuer.certificate();
        weir.cli(&format!("set ssl cert {name} <<\n{text}\n"));
        let shown = weir.cli(&format!("show ssl cert *{name}"));
        assert!(shown.contains("Chain Subject: ") && !shown.contains("Chain Filename"), "{shown}");
        links
    };
    assert_eq!(links(""), 1);
    assert_eq!(links("issuers-chain-path <dir>/chains"), 2);
}

#[test]
fn certificates_are_made_for_names_that_have_none() {
    let authority = Identity::new("authority", None);
    let server = Identity::new("a.test", Some(&authority));
    let web = "frontend web
    bind <web> ssl crt a.pem generate-certificates ca-sign-file ca.pem ca-sign-pass secret
    http-request return status 200 content-type text/plain lf-string %[ssl_f_i_dn(CN)]
";
    let start = |global: &str| {
        let ca = authority.certificate() + &authority.locked("secret");
        setup(global, web).file("a.pem", &server.pem()).file("ca.pem", &ca).start()
    };
    let shown = |weir: &Running, name: &str| {
        let mut client = Secure::connect(weir.address("web"), name);
        assert_eq!(client.get("/"), "authority");
        client.0.ssl().peer_certificate().expect("a certificate")
    };
    let weir = start("");
    let made = shown(&weir, "b.test");
    assert_eq!(made.subject_alt_names().expect("names")[0].dnsname(), Some("b.test"));
    assert!(made.verify(authority.key()).expect("a signature"));
    let der = |it: openssl::x509::X509| it.to_der().expect("a certificate");
    let first = der(made);
    assert_eq!(der(shown(&weir, "b.test")), first, "it is kept");
    assert_ne!(der(shown(&weir, "a.test")), first, "one that is there goes first");
    let weir = start("tune.ssl.ssl-ctx-cache-size 0");
    assert_ne!(der(shown(&weir, "b.test")), der(shown(&weir, "b.test")), "none is kept");
}

/// `allow-0rtt`, the header `early-data` for servers, and `http-request wait-for-handshake`.
#[test]
fn clients_may_ask_before_their_handshake_is_over() {
    let origin = Origin::saying("hello");
    let server = Identity::new("a.test", None);
    let start = |bind: &str| {
        let web = format!(
            "frontend web
    bind <web> ssl {bind}
    http-request wait-for-handshake if {{ path /wait }}
    http-request set-header x-early %[ssl_fc_has_early]
    default_backend app
backend app
    server s <origin>
"
        );
        let setup = setup("", &web).file("a.pem", &server.pem());
        setup.file("list", "a.pem [allow-0rtt]\n").with("origin", origin.address()).start()
    };
    let field = |number: usize, name: &str| origin.request(number).header(name).map(str::to_owned);
    let mut asked = 0;
    for bind in ["crt a.pem allow-0rtt", "crt-list <dir>/list"] {
        let weir = start(bind);
        let mut client = Eager::new(&weir);
        client.shake();
        client.ask("/");
        assert_eq!(client.answer(), "HTTP/1.1 200 OK");
        assert_eq!(field(asked, "x-early").as_deref(), Some("0"));
        client.again(&weir);
        assert!(client.ask_early("/early"), "{bind}");
        // The server has it before the handshake continues.
        assert_eq!(field(asked + 1, "early-data").as_deref(), Some("1"));
        assert_eq!(field(asked + 1, "x-early").as_deref(), Some("1"));
        client.shake();
        assert_eq!(client.answer(), "HTTP/1.1 200 OK");
        client.ask("/later");
        assert_eq!(client.answer(), "HTTP/1.1 200 OK");
        assert_eq!(field(asked + 2, "early-data"), None);
        client.again(&weir);
        assert!(client.ask_early("/wait"));
        client.shake();
        assert_eq!(client.answer(), "HTTP/1.1 200 OK");
        assert_eq!(field(asked + 3, "early-data"), None);
        assert_eq!(field(asked + 3, "x-early").as_deref(), Some("0"));
        asked += 4;
    }
    let weir = start("crt a.pem");
    let mut client = Eager::new(&weir);
    client.shake();
    client.ask("/");
    client.answer();
    client.again(&weir);
    assert!(!client.ask_early("/early"), "nobody has allowed it");
}

/// Replayed early data is rejected (RFC 8446 section 8).
#[test]
fn early_requests_are_accepted_once() {
    let origin = Origin::saying("hello");
    let server = Identity::new("a.test", None);
    let key = openssl::base64::encode_block(&[1; 48]);
    for keys in ["", "tls-ticket-keys <dir>/keys"] {
        let web = format!(
            "frontend web
    bind <web> ssl crt a.pem allow-0rtt {keys}
    default_backend app
backend app
    server s <origin>
"
        );
        let setup = setup("", &web).file("a.pem", &server.pem());
        let setup = setup.file("keys", &format!("{key}\n{key}\n{key}\n"));
        let weir = setup.with("origin", origin.address()).start();
        let mut client = Eager::new(&weir);
        client.shake();
        client.ask("/");
        client.answer();
        client.again(&weir);
        let overheard = client.overheard_early("/early");
        client.shake();
        assert_eq!(client.answer(), "HTTP/1.1 200 OK");
        for _ in 0..3 {
            let mut again = TcpStream::connect(weir.address("web")).expect("a listener");
            again.write_all(&overheard).expect("an open connection");
            again.shutdown(Shutdown::Write).expect("an open connection");
            again.set_read_timeout(Some(PATIENCE)).expect("a TCP socket");
            // The connection may be reset, because not all sent bytes are read.
            let _ = again.read_to_end(&mut Vec::new());
        }
        client.ask("/later");
        assert_eq!(client.answer(), "HTTP/1.1 200 OK");
    }
    let asked: Vec<_> = (0..6).map(|number| origin.request(number).target().to_owned()).collect();
    assert_eq!(asked, ["/", "/early", "/later", "/", "/early", "/later"]);
}

/// OpenSSL keeps sessions of lines with `allow-0rtt` to itself, AWS-LC puts them into tickets.
#[test]
fn shared_ticket_keys_allow_early_data_in_other_processes() {
    let server = Identity::new("a.test", None);
    let key = openssl::base64::encode_block(&[1; 48]);
    let web = "frontend web
    bind <web> ssl crt a.pem allow-0rtt tls-ticket-keys <dir>/keys
    http-request return status 200
";
    let keys = format!("{key}\n{key}\n{key}\n");
    let start = || setup("", web).file("a.pem", &server.pem()).file("keys", &keys).start();
    let (one, two) = (start(), start());
    let mut client = Eager::new(&one);
    client.shake();
    client.ask("/");
    client.answer();
    client.again(&two);
    assert!(client.ask_early("/early"));
    client.shake();
    let heard = is_built_on("AWS-LC");
    assert_eq!(client.is_resumed(), heard);
    if heard {
        assert_eq!(client.answer(), "HTTP/1.1 200 OK");
    }
    client.ask("/late");
    assert_eq!(client.answer(), "HTTP/1.1 200 OK");
}

#[test]
fn tickets_are_good_wherever_their_keys_are() {
    let server = Identity::new("a.test", None);
    let key = |byte: u8| openssl::base64::encode_block(&[byte; 48]);
    let keys = [1, 2, 3, 4].map(key).join("\n");
    let web = "frontend web
    bind <web> ssl crt a.pem tls-ticket-keys <dir>/keys
    http-request return status 200 hdr x-resumed %[ssl_fc_is_resumed]
";
    let start = || setup("", web).file("a.pem", &server.pem()).file("keys", &keys).start();
    let (one, two) = (start(), start());
    let mut client = Eager::new(&one);
    let mut goes_on = |weir: &Running| {
        client.again(weir);
        client.shake();
        client.ask("/");
        client.answer();
        client.is_resumed()
    };
    assert!(!goes_on(&one));
    assert!(goes_on(&two), "another process");
    let name = two.path("keys").display().to_string();
    assert_eq!(two.cli("show tls-keys"), format!("# id (file)\n0 ({name})"));
    let shown =
        format!("# id secret\n# 0 ({name})\n0.0 {}\n0.1 {}\n0.2 {}", key(2), key(3), key(4));
    assert_eq!(two.cli("show tls-keys #0"), shown);
    assert_eq!(two.cli("show tls-keys *"), shown);
    let unknown = "'show tls-keys' unable to locate referenced filename";
    assert_eq!(two.cli("show tls-keys #1"), unknown);
    let user = two.cli("user; show tls-keys; show tls-keys #0");
    assert!(user.contains(&name) && user.contains("Permission denied"), "{user}");
    assert!(!user.contains(&key(2)), "secrets are not for users: {user}");
    for byte in [5, 6] {
        let said = two.cli(&format!("set ssl tls-key {name} {}", key(byte)));
        assert_eq!(said, "TLS ticket key updated!");
    }
    assert!(goes_on(&one), "with a ticket of the first one");
    assert!(!goes_on(&two), "whose key is forgotten here");
    for (command, said) in [
        ("set ssl tls-key #0", "expects a filename and the new TLS key in base64 encoding."),
        ("set ssl tls-key #0 abc", "received invalid base64 encoded TLS key."),
        ("set ssl tls-key #0 abcd", "received a key of wrong size."),
        ("set ssl tls-key #7 abcd", "unable to locate referenced filename"),
    ] {
        assert_eq!(two.cli(command), format!("'set ssl tls-key' {said}"));
    }
}

/// The origin's answer on a connection that resumes the last session, for this name.
fn answer(weir: &Running, sessions: &Resumer, name: &str) -> Option<String> {
    let mut ssl = sessions.begin(0, b"any").expect("a session");
    ssl.set_connect_state();
    ssl.set_hostname(name).expect("a name");
    let stream = TcpStream::connect(weir.address("web")).expect("a listener");
    stream.set_read_timeout(Some(PATIENCE)).expect("a TCP socket");
    let (mut channel, mut wire) = (Channel::new(ssl).expect("a session"), Plain(stream));
    channel.handshake(&mut wire).ok()?;
    channel.write(&mut wire, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").ok()?;
    let mut bytes = [0; 4_096];
    let count = channel.read(&mut wire, &mut bytes).ok()?;
    channel.absolve();
    let text = String::from_utf8_lossy(&bytes[..count]);
    text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned())
}

#[test]
fn the_session_of_one_name_is_no_way_into_another() {
    let authority = Identity::new("authority", None);
    let [open, closed] = ["a.test", "b.test"].map(|name| Identity::new(name, Some(&authority)));
    let web = "frontend web\n    bind <web> ssl crt-list <dir>/list\n    http-request return status \
               200 content-type text/plain lf-string %[ssl_fc_is_resumed]\n";
    let weir = setup("", web)
        .file("a.pem", &open.pem())
        .file("b.pem", &closed.pem())
        .file("ca.pem", &authority.certificate())
        .file("list", "a.pem a.test\nb.pem [verify required ca-file ca.pem] b.test\n")
        .start();
    for newest in [SslVersion::TLS1_2, SslVersion::TLS1_3] {
        let mut context = SslContext::builder(SslMethod::tls_client()).expect("a context");
        context.set_max_proto_version(Some(newest)).expect("a version");
        let sessions = Resumer::new(context, 1);
        assert_eq!(answer(&weir, &sessions, "a.test").as_deref(), Some("0"));
        assert_eq!(answer(&weir, &sessions, "a.test").as_deref(), Some("1"), "it goes on");
        assert_eq!(answer(&weir, &sessions, "b.test"), None, "a certificate is wanted there");
    }
}
