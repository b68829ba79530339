//! Truth and errors of conditional expressions, the exit codes of `-cc` included.
use super::*;
use proptest::prelude::*;

fn check(text: &str) -> Result<bool, String> {
    let env: Environment = [("X", "yes"), ("E", "")].into_iter().collect();
    let features = Features {
        version: "2.7-dev7-1234",
        words: &["OPENSSL", "EPOLL"],
        enabled: &["EPOLL"],
        ssl_library: "OpenSSL 3.0.1",
        openssl_version: "3.0.1",
    };
    check_condition(text, &env, &features).map_err(|error| error.to_string())
}

#[test]
fn truth() {
    for (text, value) in [
        ("", false),
        ("   ", false),
        ("0", false),
        ("1", true),
        ("-1", true),
        ("00", false),
        ("!0", true),
        ("!!1", true),
        ("!(0)", true),
        ("( 1 )&&!( 0 || 0 )", true),
        ("0 && 0 || 1", true),
        ("1 || 0 && 0", true),
        ("(1 || 1) && 0", false),
        ("feature(OPENSSL)", true),
        ("feature(openssl)", false),
        ("!feature(LUA)", true),
        ("defined(X) && defined(E) && !defined(N)", true),
        ("defined()", false),
        ("enabled(EPOLL)", true),
        ("streq(a,a)", true),
        ("streq(,)", true),
        ("\"streq(a b,a b)\"", true),
        ("streq(a b,a b)", true),
        ("streq(\"$X\",yes)", true),
        ("strneq(\"${N-no}\",yes)", true),
        ("'streq(\"a,b\",\"a,b\")'", true),
        ("'streq(a\\,b,\"a,b\")'", true),
        ("version_atleast(2.7)", false),
        ("version_atleast(2.7-dev0)", true),
        ("version_before(2.8)", true),
        ("version_atleast(abc)", true),
        ("ssllib_name_startswith(OpenSSL) && !ssllib_name_startswith(BoringSSL)", true),
        ("openssl_version_atleast(1.1.1) && openssl_version_before(4.0)", true),
    ] {
        assert_eq!(check(text), Ok(value), "{text}");
    }
}

#[test]
fn errors_in_haproxy_words() {
    for (text, message) in [
        ("foo", "unparsable conditional expression 'foo'"),
        ("1 2", "unexpected character '2' at the end of conditional expression '1 2'"),
        ("200rrr", "unexpected character 'r' at the end of conditional expression '200rrr'"),
        ("!(0))", "unexpected character ')' at the end of conditional expression '!(0))'"),
        ("1 &&", "unparsable conditional expression ''"),
        ("1 || nope", "unparsable conditional expression 'nope'"),
        (
            "defined(",
            "expected ')' in argument 1 of predicate 'defined' used in conditional expression",
        ),
        (
            "streq(a)",
            "missing arguments (got 1/2), type 'string' expected in argument 1 of predicate 'streq' used in conditional expression",
        ),
    ] {
        let message = format!("Failed to evaluate condition: {message}");
        assert_eq!(check(text), Err(message), "{text}");
    }
    assert!(check("\"").unwrap_err().starts_with("Syntax Error in condition: unmatched quote"));
    assert!(check(&"(".repeat(100_000)).unwrap_err().contains("nested too deeply"));
    assert!(check(&"!".repeat(100_000)).unwrap_err().contains("nested too deeply"));
}

proptest! {
    #[test]
    fn no_expression_panics(text in "\\PC*|[!()&| 01,\"'\\\\a-z]{0,60}|(streq|defined)\\([a,\"')\\\\]{0,9}") {
        let _ = check(&text);
    }
}
