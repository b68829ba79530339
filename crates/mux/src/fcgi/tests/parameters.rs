//! Parameters from request heads.

use super::*;
use params::{decode_path, encode};

const APP: Application<'_> =
    Application { docroot: b"/var/www", index: b"index.php", passed: &[], set: &[] };

fn facts(script: ScriptPath<'_>) -> RequestFacts<'_> {
    RequestFacts {
        script,
        remote_addr: Some(b"127.0.0.1"),
        remote_port: Some(b"34072"),
        server_name: b"192.0.2.1",
        server_port: b"8001",
        auth: None,
        tls: false,
        content_length: 0,
        software: b"S",
    }
}

fn head(uri: &str, fields: &[(&str, &str)]) -> Head {
    let mut head = Head::default();
    head.set_request(b"GET", uri.as_bytes(), Version::Http11);
    for (name, value) in fields {
        head.push(name.as_bytes(), value.as_bytes());
    }
    head
}

fn encoded(head: &Head, app: &Application<'_>, facts: &RequestFacts<'_>) -> Vec<(String, String)> {
    let mut out = Vec::new();
    encode(head, app, facts, 16_000, &mut out).expect("valid");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Pairs::new(&out)
        .map(|pair| pair.map(|(name, value)| (text(name), text(value))).expect("well-formed"))
        .collect()
}

#[test]
fn parameters_come_in_order() {
    let fields = [
        ("Host", "www.x.org:8001"),
        ("User-Agent", "ua"),
        ("Authorization", "Basic dTpw"),
        ("X-Dup", "1"),
        ("X-Dup", "2"),
        ("Content-Type", "t/p"),
        ("Content-Length", "5"),
        ("Proxy", "evil"),
        ("Connection", "close"),
        ("TE", "trailers"),
    ];
    let head = head("/a/index.php/p/i%20x?q=1&r", &fields);
    let script = ScriptPath::Matched { script: b"/a/index.php", path_info: Some(b"/p/i x") };
    let facts = RequestFacts {
        auth: Some((b"Basic", b"u")),
        tls: true,
        content_length: 5,
        ..facts(script)
    };
    let app = Application { set: &listed(&[(b"REDIRECT_STATUS", b"200")]), ..APP };
    let expected = [
        ("HTTP_HOST", "www.x.org:8001"),
        ("HTTP_USER_AGENT", "ua"),
        ("HTTP_X_DUP", "1"),
        ("HTTP_X_DUP", "2"),
        ("AUTH_TYPE", "Basic"),
        ("REDIRECT_STATUS", "200"),
        ("REMOTE_USER", "u"),
        ("GATEWAY_INTERFACE", "CGI/1.1"),
        ("DOCUMENT_ROOT", "/var/www"),
        ("SCRIPT_NAME", "/a/index.php"),
        ("PATH_INFO", "/p/i x"),
        ("REQUEST_URI", "/a/index.php/p/i%20x?q=1&r"),
        ("REQUEST_METHOD", "GET"),
        ("QUERY_STRING", "q=1&r"),
        ("SERVER_NAME", "www.x.org:8001"),
        ("SERVER_PORT", "8001"),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("HTTPS", "on"),
        ("REMOTE_ADDR", "127.0.0.1"),
        ("REMOTE_PORT", "34072"),
        ("SCRIPT_FILENAME", "/var/www/a/index.php"),
        ("PATH_TRANSLATED", "/var/www/p/i x"),
        ("CONTENT_TYPE", "t/p"),
        ("CONTENT_LENGTH", "5"),
        ("SERVER_SOFTWARE", "S"),
    ];
    assert_eq!(encoded(&head, &app, &facts), expected.map(|(n, v)| (n.to_owned(), v.to_owned())));
}

/// Names and values as encoded pairs.
fn listed(pairs: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in pairs {
        pairs::put(name, &[value], &mut out);
    }
    out
}

fn value<'a>(list: &'a [(String, String)], name: &str) -> Vec<&'a str> {
    list.iter().filter(|(it, _)| it == name).map(|(_, value)| value.as_str()).collect()
}

#[test]
fn sections_change_parameters() {
    let fields = [("Authorization", "Basic dTpw"), ("Proxy", "evil"), ("Connection", "close")];
    let app = Application {
        passed: &listed(&[(b"Authorization", b""), (b"proxy", b"")]),
        set: &listed(&[(b"SERVER_NAME", b"mine"), (b"HTTP_X", b"set")]),
        ..APP
    };
    let head = head("/dir/", &[&fields[..], &[("X", "client"), ("Y.z", "1")]].concat());
    let list = encoded(&head, &app, &facts(ScriptPath::Unmatched(b"/dir/")));
    assert_eq!(value(&list, "HTTP_AUTHORIZATION"), ["Basic dTpw"]);
    assert_eq!(value(&list, "SERVER_NAME"), ["mine"], "set-param wins");
    assert_eq!(value(&list, "HTTP_X"), ["set"]);
    assert_eq!(value(&list, "HTTP_Y_Z"), ["1"]);
    assert_eq!(value(&list, "SCRIPT_NAME"), ["/dir/index.php"]);
    assert_eq!(value(&list, "SCRIPT_FILENAME"), ["/var/www/dir/index.php"]);
    for absent in ["HTTP_PROXY", "HTTP_CONNECTION", "QUERY_STRING", "PATH_INFO", "HTTPS"] {
        assert!(value(&list, absent).is_empty(), "{absent}");
    }
}

#[test]
fn hostile_paths_have_no_parameters() {
    for (script, expected) in [
        (ScriptPath::Whole(b"/a\0.php"), Err(ParamsError::Path)),
        (ScriptPath::Whole(b"/a\n.php"), Ok(())),
        (ScriptPath::Unmatched(b"/a\n.php"), Err(ParamsError::Path)),
        (ScriptPath::Unmatched(b"/../etc/passwd"), Err(ParamsError::OutsideRoot)),
        (ScriptPath::Whole(b"/a/./../../b"), Err(ParamsError::OutsideRoot)),
        (ScriptPath::Whole(b"/a/b/../.."), Ok(())),
        (ScriptPath::Matched { script: b"/a", path_info: Some(b"/x\0") }, Err(ParamsError::Path)),
        (
            ScriptPath::Matched { script: b"/a/b/c", path_info: Some(b"/../x") },
            Err(ParamsError::OutsideRoot),
        ),
    ] {
        let mut out = b"kept".to_vec();
        let result = encode(&head("/", &[]), &APP, &facts(script), 16_000, &mut out);
        assert_eq!(result, expected, "{script:?}");
        assert_eq!(out == b"kept", expected.is_err());
    }
}

#[test]
fn parameters_beyond_the_limit_are_refused_as_a_whole() {
    let head = head("/", &[("X", &"v".repeat(9_000))]);
    let mut out = Vec::new();
    let facts = facts(ScriptPath::Whole(b"/"));
    assert_eq!(encode(&head, &APP, &facts, 9_000, &mut out), Err(ParamsError::TooLarge));
    assert!(out.is_empty());
    let list = encoded(&head, &APP, &facts);
    assert_eq!(value(&list, "HTTP_X")[0].len(), 9_000, "in a length of four bytes");
    let mut conn = FcgiConn::new(FcgiSettings::default());
    let key = conn.open().expect("free");
    assert_eq!(conn.send_params(key, Method::Get, &[0; 20_000]), Err(ParamsError::TooLarge));
    conn.release(key);
    assert!(conn.output().is_empty() && conn.can_reuse());
}

#[test]
fn percent_signs_are_decoded_once() {
    for (path, expected) in
        [("/a%20b", "/a b"), ("/%2e%2E/%", "/../%"), ("/%2525%4", "/%25%4"), ("/%zz%+1", "/%zz%+1")]
    {
        let mut out = Vec::new();
        decode_path(path.as_bytes(), &mut out);
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}
