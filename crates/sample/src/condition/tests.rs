//! Conditions: precedence, negation, braces, waiting, warnings.

use super::Condition;
use crate::acl::Answer;
use crate::place::{Place, Places};
use crate::testing::{World, with_parser};

fn parse_and_eval(text: &str, world: &World) -> Result<Answer, (usize, String)> {
    with_parser(|cx| {
        cx.acls.define(&["yes", "always_true"], cx).expect("valid");
        cx.acls.define(&["no", "always_false"], cx).expect("valid");
        let words: Vec<&str> = text.split(' ').collect();
        let condition =
            Condition::parse_clause(&words, cx).map_err(|error| (error.word, error.message))?;
        Ok(condition.expect("a condition").eval(world))
    })
}

#[test]
fn logic() {
    let world = World::full();
    #[rustfmt::skip]
    let cases = [
        ("if yes", true), ("unless yes", false), ("if no", false), ("unless no", true), ("if !no", true), ("if ! no", true), ("if !!no", false),
        ("if yes no", false), ("if yes !no", true), ("if no or yes", true), ("if no || yes", true), ("if no yes or yes no", false),
        ("if { path -m found }", true), ("if !{ path /x } yes", true), ("if { int(3) gt 2 } { int(3) lt 4 }", true), ("if TRUE !FALSE", true),
        ("if !{ req.hdr(none) x }", true), ("unless no or { path /x }", true),
    ];
    for (text, expected) in cases {
        assert_eq!(parse_and_eval(text, &world), Ok(Answer::from(expected)), "{text}");
    }
}

#[test]
fn undecided_terms_wait() {
    let world = World { is_final: false, ..World::default() };
    for (text, expected) in [
        ("if WAIT_END", Answer::NotYet),
        ("unless WAIT_END", Answer::NotYet),
        ("if no WAIT_END", Answer::No),
        ("if WAIT_END no", Answer::No),
        ("if WAIT_END or yes", Answer::Yes),
        ("if yes WAIT_END", Answer::NotYet),
        ("if { req.hdr(host) x } { path /a }", Answer::NotYet),
        ("if { req.cook(a) x }", Answer::NotYet),
    ] {
        assert_eq!(parse_and_eval(text, &world), Ok(expected), "{text}");
    }
}

#[test]
fn growing_samples_may_still_match() {
    for (text, now, in_the_end) in [
        ("if { req.len gt 2 }", Answer::Yes, Answer::Yes),
        ("if { req.len gt 3 }", Answer::NotYet, Answer::No),
        ("unless { req.len gt 3 }", Answer::NotYet, Answer::Yes),
        ("unless { req.payload(0,0) -m sub cd }", Answer::NotYet, Answer::Yes),
        ("if { req.payload(0,2) -m str zz }", Answer::No, Answer::No),
        ("if { req.payload(0,0),mqtt_is_valid }", Answer::No, Answer::No),
    ] {
        for (is_final, expected) in [(false, now), (true, in_the_end)] {
            let world = World { payload: Some(b"abc".to_vec()), is_final, ..World::default() };
            assert_eq!(parse_and_eval(text, &world), Ok(expected), "{text} {is_final}");
        }
    }
}

#[test]
fn errors_name_the_word() {
    let world = World::default();
    for (text, word, expected) in [
        ("if nosuch", 1, "no such ACL : 'nosuch'"),
        ("if yes yse", 2, "Did you mean 'yes' ?"),
        ("if { path a", 1, "missing closing '}' in condition"),
        ("if { int(3) abc }", 3, "'abc' is not a number"),
        ("iff yes", 0, "expects either 'if' or 'unless' followed by a condition but found 'iff'"),
    ] {
        let (at, message) = parse_and_eval(text, &world).expect_err(text);
        assert!(message.contains(expected), "{text}: {message}");
        assert_eq!(at, word, "{text}");
    }
    let error = with_parser(|cx| {
        Condition::parse(&["{", "hdr(X)", "", "}"], cx).expect_err("an empty word")
    });
    assert_eq!(error.message, "missing closing '}' in condition");
}

#[test]
fn empty_conditions_are_false() {
    let world = World::full();
    for (text, expected) in [("if", false), ("unless", true), ("if or", false)] {
        assert_eq!(parse_and_eval(text, &world), Ok(Answer::from(expected)), "{text}");
    }
}

#[test]
fn tests_without_patterns_are_warned_about() {
    for (words, warned) in [
        (&["path"][..], true),
        (&["path_beg", ""], true),
        (&["path,length"], true),
        (&["path", "--"], false),
        (&["path", "-m", "found"], false),
        (&["ssl_fc"], false),
        (&["path", "/"], false),
    ] {
        let warnings = with_parser(|cx| {
            cx.acls.define(&[&["a"], words].concat(), cx).expect("valid");
            cx.warnings.take()
        });
        assert_eq!(warnings.len(), usize::from(warned), "{words:?}: {warnings:?}");
    }
}

#[test]
fn places_where_nothing_can_match_are_warned_about() {
    let warnings = with_parser(|cx| {
        cx.places = Places::of(Place::FeHttpRequest);
        cx.acls.define(&["r", "status", "200"], cx).expect("valid");
        Condition::parse(&["r", "{", "be_name", "a", "}", "{", "path", "/", "}"], cx)
            .expect("valid");
        cx.warnings.take()
    });
    assert_eq!(
        warnings,
        [
            "acl 'r' will never match because it only involves keywords that are incompatible with 'frontend http-request header rule'",
            "anonymous acl will never match because it uses keyword 'be_name' which is incompatible with 'frontend http-request header rule'",
        ]
    );
}

#[test]
fn samples_missing_at_a_place_do_not_match() {
    // The request may still be at hand when the proxy itself answers.
    let world = World::full();
    for (words, expected) in [
        (&["{", "hdr(host)", "-m", "found", "}"][..], Answer::No),
        (&["!{", "hdr(host)", "-m", "found", "}"], Answer::Yes),
        (&["{", "path_beg", "/", "}"], Answer::No),
        (&["a"], Answer::Yes),
        (&["{", "status", "200:299", "}"], Answer::Yes),
    ] {
        let answer = with_parser(|cx| {
            cx.acls.define(&["a", "path_beg", "/none"], cx).expect("valid");
            cx.acls.define(&["a", "status", "200:299"], cx).expect("valid");
            cx.places = Places::of(Place::FeHttpResponse);
            Condition::parse(words, cx).expect("valid").eval(&world)
        });
        assert_eq!(answer, expected, "{words:?}");
    }
}

proptest::proptest! {
    #[test]
    fn no_words_panic(words in proptest::collection::vec("(\\{|\\}|!|or|\\|\\||TRUE|src|path|-m|-i|int|10.0.0.0/8|\\PC{0,6})", 0..12)) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let _ = with_parser(|cx| Condition::parse(&words, cx).map(|condition| condition.eval(&World::full())));
    }
}
