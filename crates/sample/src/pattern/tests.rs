//! Every match method, with and without case, and the bounds of its patterns.

use super::{Match, PatternSet};
use crate::value::{Bytes, Value};

fn matches(method: &str, ignore_case: bool, patterns: &[&str], value: Value<'_>) -> bool {
    let method = Match::find(method).expect("a method");
    let set =
        PatternSet::new(method, ignore_case, patterns.iter().copied()).expect("valid patterns");
    set.find(&value).is_some()
}

#[test]
fn texts() {
    #[rustfmt::skip]
    let cases: &[(&str, bool, &[&str], &str, bool)] = &[
        ("str", false, &["b", "a"], "a", true), ("str", false, &["a"], "A", false), ("str", true, &["a"], "A", true),
        ("beg", false, &["/st", "/x"], "/static", true), ("beg", false, &["/st"], "/s", false), ("beg", true, &["/ST"], "/static", true),
        ("end", false, &[".png"], "a.png", true), ("end", false, &[".png"], "png", false), ("end", true, &[".PNG"], "a.png", true),
        ("sub", false, &["x", "tat"], "/static", true), ("sub", false, &["TAT"], "/static", false), ("sub", true, &["TAT"], "/static", true),
        ("dir", false, &["img"], "/a/img/b", true), ("dir", false, &["/img/"], "/a/img", true), ("dir", false, &["img"], "/a/imgs", false),
        ("dir", true, &["IMG"], "/img?x", true), ("dir", false, &["a/b"], "/x/a/b/c", true), ("dir", false, &["//"], "/a//b", false),
        ("dom", false, &["example"], "www.example.com", true), ("dom", false, &["ample"], "www.example.com", false),
        ("dom", false, &["com"], "www.example.com:80", true), ("dom", true, &["WWW"], "www.a", true),
        ("reg", false, &["^a+$", "b"], "aaa", true), ("reg", false, &["^A"], "aaa", false), ("reg", true, &["^A"], "aaa", true),
        ("len", false, &["3"], "abc", true), ("len", false, &["4:"], "abc", false), ("len", false, &["lt", "4"], "abc", true),
        ("bin", false, &["6162"], "ab", true), ("bin", false, &["61"], "ab", false),
        ("int", false, &["12"], "12abc", true), ("int", false, &["0"], "", false),
        ("found", false, &[], "", true),
    ];
    for (method, ignore_case, patterns, text, expected) in cases {
        let found = matches(method, *ignore_case, patterns, Value::str(text.as_bytes()));
        assert_eq!(found, *expected, "-m {method} {patterns:?} on {text}");
    }
    assert!(matches("str", false, &["GET"], Value::Meth(Bytes::Borrowed(b"GET"))));
}

#[test]
fn integers_and_booleans() {
    #[rustfmt::skip]
    let cases: &[(&[&str], i64, bool)] = &[
        (&["3"], 3, true), (&["3:5"], 5, true), (&["3:5"], 6, false), (&[":5"], -9, true), (&["5:"], 4, false),
        (&["gt", "3"], 3, false), (&["gt", "3"], 4, true), (&["ge", "3"], 3, true), (&["le", "3"], 3, true),
        (&["lt", "3"], 3, false), (&["eq", "3", "7"], 7, true), (&["lt", "0", "eq", "9"], 9, true),
        (&["gt", "9223372036854775807"], i64::MAX, false), (&[], 0, false),
    ];
    for (patterns, int, expected) in cases {
        assert_eq!(
            matches("int", false, patterns, Value::Int(*int)),
            *expected,
            "{patterns:?} on {int}"
        );
    }
    assert!(matches("bool", false, &[], Value::Bool(true)));
    assert!(!matches("bool", false, &[], Value::Bool(false)));
    assert!(matches("bool", false, &["false"], Value::Bool(false)));
}

#[test]
fn networks() {
    #[rustfmt::skip]
    let cases: &[(&[&str], &str, bool)] = &[
        (&["10.0.0.0/8"], "10.255.1.2", true), (&["10.0.0.0/8"], "11.0.0.1", false), (&["10/8"], "10.3.4.5", true),
        (&["10.0.0.0/255.0.0.0"], "10.1.1.1", true), (&["1.2.3.4"], "1.2.3.4", true), (&["0.0.0.0/0"], "9.9.9.9", true),
        (&["2001:db8::/32"], "2001:db8::1", true), (&["2001:db8::/32"], "2001:db9::1", false), (&["::1"], "::1", true),
        (&["10.0.0.0/8"], "::ffff:10.1.1.1", true), (&["::ffff:10.0.0.0/104"], "10.1.1.1", true),
    ];
    for (patterns, address, expected) in cases {
        let value = Value::from(address.parse::<std::net::IpAddr>().expect("an address"));
        assert_eq!(matches("ip", false, patterns, value), *expected, "{patterns:?} on {address}");
        assert_eq!(
            matches("ip", false, patterns, Value::str(address.as_bytes())),
            *expected,
            "text {address}"
        );
    }
    let set =
        PatternSet::new(Match::Ip, false, ["10.0.0.0/8", "10.1.0.0/16", "10.1.2.3"].into_iter())
            .expect("valid");
    assert_eq!(set.find(&Value::str(b"10.1.9.9")), Some(1), "the longest network wins");
    let set =
        PatternSet::new(Match::Beg, false, ["/", "/static/", "/st"].into_iter()).expect("valid");
    assert_eq!(set.find(&Value::str(b"/static/a")), Some(1), "the longest prefix wins");
}

#[test]
fn bad_patterns_are_refused() {
    #[rustfmt::skip]
    let cases = [
        ("int", "abc", "'abc' is not a number"), ("int", "5:1", "'5:1' is not a valid number range"), ("int", ":", "is not a number"),
        ("ip", "1.2.3.4/33", "'1.2.3.4/33' is not a valid IPv4 or IPv6 address"), ("ip", "1.2.3.400", "is not a valid"),
        ("ip", "::/129", "is not a valid"), ("reg", "(", "missing closing parenthesis"), ("bin", "abc", "hex digits"), ("bool", "maybe", "not a boolean"),
    ];
    for (method, pattern, expected) in cases {
        let method = Match::find(method).expect("a method");
        let (_, message) =
            PatternSet::new(method, false, std::iter::once(pattern)).expect_err(pattern);
        assert!(message.contains(expected), "{message}");
    }
}

proptest::proptest! {
    #[test]
    fn no_pattern_panics(method in 0usize..13, ignore_case: bool, pattern in "\\PC{0,20}", value in "\\PC{0,20}") {
        let method = Match::TABLE[method].1;
        if let Ok(set) = PatternSet::new(method, ignore_case, std::iter::once(&*pattern)) {
            let _ = set.find(&Value::str(value.as_bytes()));
            if matches!(method, Match::Str | Match::Beg | Match::End | Match::Sub) && !value.is_empty() {
                let whole = PatternSet::new(method, ignore_case, std::iter::once(&*value)).expect("any text");
                assert!(whole.find(&Value::str(value.as_bytes())).is_some());
            }
        }
    }
}
