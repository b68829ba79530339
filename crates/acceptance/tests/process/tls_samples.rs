//! Samples of TLS sessions, client hellos and certificates.

use crate::support::{Identity, LogReceiver, Running, Secure, Setup, is_built_on};
use openssl::nid::Nid;
use openssl::x509::X509;

/// An authority, certificates of a server and a client signed by it, and files with all of them.
fn setup(sections: &str) -> (Setup, Identity) {
    let authority = Identity::new("authority", None);
    let server = Identity::new("a.test", Some(&authority));
    let client = Identity::new("client", Some(&authority));
    let setup = Setup::new(&format!(
        "global\n    nbthread 1\n    ca-base <dir>\n    crt-base <dir>\n    \
         tune.ssl.capture-buffer-size 400\n    tune.ssl.keylog on\ndefaults\n    mode http\n    \
         timeout connect 5s\n    timeout client 5s\n    timeout server 5s\n    retries 0\n    \
         log <log> format raw local0\n    option httplog\n{sections}"
    ))
    .file("ca.pem", &authority.certificate())
    .file("a.pem", &server.pem())
    .file("client.pem", &client.pem());
    (setup, client)
}

/// A response with lines `<name>=<value>`.
fn told(names: &[&str]) -> String {
    let lines: Vec<_> = names.iter().map(|name| format!("{name}=%[{name}]")).collect();
    format!(
        "    http-request return status 200 content-type text/plain lf-string \"{}\"\n",
        lines.join("\\n")
    )
}

/// The value behind a name.
fn value<'a>(text: &'a str, name: &str) -> &'a str {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    lines.next_back().unwrap_or_else(|| panic!("{name} in {text}"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

#[test]
fn fetches_describe_clients_and_their_certificates() {
    let names = [
        "ssl_c_used",
        "ssl_c_verify",
        "ssl_c_der,sha1,hex",
        "ssl_c_sha1,hex",
        "ssl_c_s_dn",
        "ssl_c_s_dn(cn)",
        "ssl_c_s_dn(CN,2)",
        "ssl_c_i_dn(,0,rfc2253)",
        "ssl_c_serial,hex",
        "ssl_c_key_alg",
        "ssl_c_sig_alg",
        "ssl_c_version",
        "ssl_c_notafter",
        "ssl_f_s_dn(CN)",
        "ssl_f_sha1,hex",
        "ssl_fc_has_crt",
        "ssl_fc_has_sni",
        "ssl_fc_has_early",
        "ssl_fc_alg_keysize",
        "ssl_fc_use_keysize",
        "ssl_fc_client_random,hex",
        "ssl_fc_server_random,hex",
        "ssl_fc_session_key,hex",
        "ssl_fc_unique_id,hex",
        "ssl_fc_err",
        "ssl_fc_client_traffic_secret_0",
        "ssl_fc_exporter_secret",
    ];
    let (setup, identity) = setup(&format!(
        "frontend web
    bind <web> ssl crt a.pem ca-file ca.pem verify optional \
     ciphersuites TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256\n{}",
        told(&names)
    ));
    let weir: Running = setup.start();
    let mut client =
        Secure::try_connect(weir.address("web"), "a.test", |it| Secure::show(it, &identity))
            .unwrap();
    let text = client.get("/");
    let of = |name: &str| value(&text, name);
    let shown = X509::from_pem(identity.certificate().as_bytes()).unwrap();
    let digest = hex(&shown.digest(openssl::hash::MessageDigest::sha1()).unwrap());
    for (name, expected) in [
        ("ssl_c_used", "1"),
        ("ssl_c_verify", "0"),
        ("ssl_c_der,sha1,hex", &*digest),
        ("ssl_c_sha1,hex", &digest),
        ("ssl_c_s_dn", "/CN=client"),
        ("ssl_c_s_dn(cn)", "client"),
        ("ssl_c_s_dn(CN,2)", ""),
        ("ssl_c_i_dn(,0,rfc2253)", "CN=authority"),
        ("ssl_c_serial,hex", "06"),
        ("ssl_c_key_alg", "id-ecPublicKey"),
        ("ssl_c_sig_alg", "ecdsa-with-SHA256"),
        ("ssl_c_version", "3"),
        ("ssl_f_s_dn(CN)", "a.test"),
        ("ssl_fc_has_crt", "1"),
        ("ssl_fc_has_sni", "1"),
        ("ssl_fc_has_early", "0"),
        ("ssl_fc_alg_keysize", "256"),
        ("ssl_fc_use_keysize", "256"),
        ("ssl_fc_err", "0"),
    ] {
        assert_eq!(of(name), expected, "{name}");
    }
    let ssl = client.0.ssl();
    let filled = |fill: &dyn Fn(&mut [u8]) -> usize| {
        let mut bytes = [0; 64];
        let length = fill(&mut bytes);
        hex(&bytes[..length.min(64)])
    };
    let random = |fill: &dyn Fn(&mut [u8]) -> usize| filled(fill)[..64].to_owned();
    assert_eq!(of("ssl_fc_client_random,hex"), random(&|it| ssl.client_random(&mut it[..32])));
    assert_eq!(of("ssl_fc_server_random,hex"), random(&|it| ssl.server_random(&mut it[..32])));
    assert_eq!(of("ssl_fc_unique_id,hex"), filled(&|it| ssl.finished(it)));
    assert_eq!(of("ssl_c_notafter").len(), "991231235959Z".len());
    assert_eq!(of("ssl_f_sha1,hex").len(), 40);
    for secret in ["ssl_fc_client_traffic_secret_0", "ssl_fc_exporter_secret"] {
        assert_eq!(of(secret).len(), 96, "{secret}");
    }
    assert_eq!(shown.subject_name().entries_by_nid(Nid::COMMONNAME).count(), 1);
    assert_eq!(value(&Secure::connect(weir.address("web"), "x").get("/"), "ssl_c_used"), "0");
}

#[test]
fn offers_of_clients_are_captured() {
    let names = [
        "ssl_fc_protocol_hello_id",
        "ssl_fc_cipherlist_bin(1),hex",
        "ssl_fc_cipherlist_hex",
        "ssl_fc_cipherlist_str",
        "ssl_fc_cipherlist_xxh",
        "ssl_fc_extlist_bin,hex",
        "ssl_fc_eclist_bin(1),be2dec(-,2)",
        "ssl_fc_ecformats_bin,be2dec(-,1)",
    ];
    let (setup, _) =
        setup(&format!("frontend web\n    bind <web> ssl crt a.pem\n{}", told(&names)));
    let weir = setup.start();
    let text = Secure::try_connect(weir.address("web"), "a.test", |it| {
        it.set_max_proto_version(Some(openssl::ssl::SslVersion::TLS1_2)).unwrap();
        it.set_cipher_list("ECDHE-ECDSA-AES128-GCM-SHA256").unwrap();
        it.set_groups_list("P-256:X25519").unwrap();
    })
    .unwrap()
    .get("/");
    for (name, expected) in [
        ("ssl_fc_protocol_hello_id", "771"),
        ("ssl_fc_cipherlist_bin(1),hex", "C02B"),
        ("ssl_fc_cipherlist_hex", "C02B"),
        ("ssl_fc_cipherlist_str", "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ("ssl_fc_eclist_bin(1),be2dec(-,2)", "23-29"),
    ] {
        assert_eq!(value(&text, name), expected, "{name}");
    }
    // Which formats beside the first one the client's library offers depends on its version.
    assert_eq!(value(&text, "ssl_fc_ecformats_bin,be2dec(-,1)"), "0", "{text}");
    assert!(value(&text, "ssl_fc_extlist_bin,hex").contains("0000000B000A"), "{text}");
    assert_ne!(value(&text, "ssl_fc_cipherlist_xxh"), "");
}

#[test]
fn fetches_describe_servers_and_their_certificates() {
    let (setup, _) = setup(
        "frontend web
    bind <web>
    default_backend app
backend app
    http-response set-header x-all \"%[ssl_bc] %[ssl_bc_protocol] %[ssl_bc_cipher] %[ssl_bc_alpn] %[ssl_bc_err] %[ssl_bc_is_resumed] %[ssl_bc_alg_keysize] %[ssl_s_s_dn] %[ssl_s_i_dn(CN)] %[ssl_s_chain_der,length] %[ssl_s_der,length]\"
    server s <inner> ssl verify none alpn http/1.1
frontend inner
    bind <inner> ssl crt a.pem alpn http/1.1
    http-request return status 200
",
    );
    let weir = setup.start();
    let answer = weir.web().get("/");
    let all = answer.header("x-all").unwrap_or_default().to_owned();
    // AWS-LC asks for the shorter key first.
    let bits = if is_built_on("AWS-LC") { "128_GCM_SHA256" } else { "256_GCM_SHA384" };
    let (size, _) = bits.split_once('_').unwrap();
    let expected = format!("1 TLSv1.3 TLS_AES_{bits} http/1.1 0 0 {size} /CN=a.test authority ");
    assert!(all.starts_with(&expected), "{all}");
    let lengths: Vec<_> = all.rsplit(' ').take(2).collect();
    assert_eq!(lengths[0], lengths[1], "the chain is the certificate alone");
}

#[test]
fn failed_handshakes_are_logged_in_error_log_format() {
    let log = LogReceiver::new();
    let (setup, identity) = setup(
        "frontend web
    bind <web> ssl crt a.pem ca-file a.pem verify required
    bind <strict> ssl crt a.pem strict-sni
    error-log-format \"%ft %b/%s %ST %ts %[fc_err]:%[fc_err_str] %[ssl_fc_err,hex]:%[ssl_fc_err_str] %[ssl_c_err]/%[ssl_c_ca_err]/%[ssl_c_ca_err_depth] %sslv/%sslc %[ssl_c_s_dn] %[ssl_fc_sni] %[ssl_c_verify]\"
    http-request return status 200
frontend plain
    bind <plain>
    default_backend app
    log-format \"%[bc_err]:%[bc_err_str] %[ssl_bc_err,hex]:%[ssl_bc_err_str]\"
backend app
    use-server wrong if { path /wrong }
    use-server named if { path /named }
    server wrong <inner> ssl verify required ca-file ca.pem verifyhost other.test weight 0
    server named <inner> ssl verify required ca-file ca.pem sni str(other.test) weight 0
    server foreign <inner> ssl verify required ca-file a.pem
frontend inner
    no log
    bind <inner> ssl crt a.pem
    http-request return status 200
",
    );
    let weir = setup.with("log", log.address()).start();
    let mut client = weir.connect("web");
    client.send("GET / HTTP/1.1\r\n\r\n");
    // Numbers and words are the library's own.
    let [http, verify] = match is_built_on("AWS-LC") {
        false => {
            [("0A00009C", "http request 0/0/0 TLSv1.3"), ("0A000086", "certificate verify failed")]
        }
        true => {
            [("1000009C", "HTTP_REQUEST 0/0/0 TLSv1.2"), ("1000007D", "CERTIFICATE_VERIFY_FAILED")]
        }
    }
    .map(|(code, text)| format!("00000000{code}:error:{code}:SSL routines::{text}"));
    assert_eq!(
        log.line(),
        format!("web~ web/<NOSRV> 0 PR 34:SSL handshake failure {http}/(NONE) - - -")
    );
    // AWS-LC knows the cipher before the session is established.
    let chosen = if is_built_on("AWS-LC") { "ECDHE-ECDSA-AES128-GCM-SHA256" } else { "(NONE)" };
    let refused = |it: &mut openssl::ssl::SslConnectorBuilder| {
        it.set_max_proto_version(Some(openssl::ssl::SslVersion::TLS1_2)).unwrap();
        Secure::show(it, &identity);
    };
    assert!(Secure::try_connect(weir.address("web"), "a.test", refused).is_err());
    assert_eq!(
        log.line(),
        format!(
            "web~ web/<NOSRV> 0 PR 31:SSL client certificate not trusted {verify} 20/0/0 \
             TLSv1.2/{chosen} /CN=client a.test -"
        )
    );
    assert!(Secure::try_connect(weir.address("strict"), "none.test", |_| ()).is_err());
    let line = log.line();
    assert!(line.ends_with("/(NONE) - none.test -"), "{line}");
    let words = "Server presented an SSL certificate different from the";
    for (path, expected) in [
        ("/", "34:SSL handshake failure".to_owned()),
        ("/wrong", format!("32:{words} configured one")),
        ("/named", format!("33:{words} expected one")),
    ] {
        assert_eq!(weir.connect("plain").get(path).status(), 503);
        assert_eq!(log.line(), format!("{expected} {verify}"), "{path}");
    }
}

#[test]
fn sessions_that_have_ended_are_remembered() {
    let log = LogReceiver::new();
    let (setup, _) = setup(
        "frontend plain
    bind <plain>
    http-request return status 200 if { path /none }
    use_backend foreign if { path /foreign }
    default_backend app
    log-format \"%[bc_err]:%[bc_err_str] %[ssl_bc_err_str] %[ssl_bc] %[ssl_bc_protocol] %[ssl_bc_cipher] %[bc_http_major]\"
backend app
    server s <inner> ssl verify none
backend foreign
    server s <open> ssl verify required ca-file a.pem
frontend inner
    no log
    bind <inner> ssl crt a.pem ca-file ca.pem verify required
    bind <open> ssl crt a.pem
    http-request return status 200
",
    );
    let weir = setup.with("log", log.address()).start();
    assert_eq!(weir.connect("plain").get("/none").status(), 200);
    assert_eq!(log.line(), "-:- - 0 - - -");
    for (path, words) in [("/", "43:SSL fatal error"), ("/foreign", "34:SSL handshake failure")] {
        assert!(matches!(weir.connect("plain").get(path).status(), 502 | 503), "{path}");
        let line = log.line();
        let told = line.strip_prefix(words).expect(&line);
        assert!(told.starts_with(" error:"), "{line}");
        assert!(told.contains(" 1 TLSv1.3 TLS_AES_") && told.ends_with(" -"), "{line}");
    }
}
