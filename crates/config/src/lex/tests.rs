//! Tests of quoting, escaping and expansion.
use super::*;
use proptest::prelude::*;

fn env() -> Environment {
    [("X", "p q  r"), ("E", ""), ("P", "80")].into_iter().collect()
}

fn words(line: &str) -> Result<Vec<String>, String> {
    let env = env();
    let around = Surroundings { env: &env, file: "a.cfg", line: 7, section: "fe" };
    split(line, &around)
        .map(|words| words.into_iter().map(|w| w.text.into_owned()).collect())
        .map_err(|e| e.message)
}

#[test]
fn words_quotes_escapes_and_comments() {
    for (line, expected) in [
        ("", vec![]),
        ("  # all comment", vec![]),
        ("a\tb  c", vec!["a", "b", "c"]),
        ("global#this", vec!["global"]),
        ("foo\\#bar", vec!["foo#bar"]),
        ("'foo#bar' \"a#b\"", vec!["foo#bar", "a#b"]),
        ("a\\ b", vec!["a b"]),
        (r"\d \\ \x41 \.", vec![r"\d", r"\", "A", r"\."]),
        (r#"\q"\q\d""#, vec![r"\q\q\d"]),
        (r#""a b"c'd e'"#, vec!["a bcd e"]),
        (r#""" ''"#, vec!["", ""]),
        (r"a\", vec![r"a\"]),
        (r#""\n\r\t\x0a""#, vec!["\n\r\t\n"]),
        (r"'\x41$X'", vec![r"\x41$X"]),
        ("maxconn 3\r", vec!["maxconn", "3"]),
        (r#"log-format "%{+Q}o %t"' %s'\ %{-Q}r"#, vec!["log-format", "%{+Q}o %t %s %{-Q}r"]),
        (r"\xc3\xa9 é", vec!["é", "é"]),
    ] {
        assert_eq!(words(line).unwrap(), expected, "{line}");
    }
}

#[test]
fn variables_expand_only_inside_double_quotes() {
    for (line, expected) in [
        ("$X '$X' ${X}", vec!["$X", "$X", "${X}"]),
        (r#""$X""#, vec!["p q  r"]),
        (r#""${X}-y" "$P-z""#, vec!["p q  r-y", "80-z"]),
        (r#""${N-def}" "${E-def}" "${N}" "$Nope""#, vec!["def", "", "", ""]),
        (r#""${N-a b[*]}""#, vec!["a b[*]"]),
        (r#""${N-"x"}" "${N-\}}""#, vec!["\"x\"", "\\}"]),
        (r#"a "${X[*]}" z"#, vec!["a", "p", "q", "r", "z"]),
        (r#""a${X[*]}"b"#, vec!["ap", "q", "rb"]),
        (r#""${N[*]}" x"#, vec!["", "x"]),
        (r#""${N[*]-d e}""#, vec!["d", "e"]),
        (r#""${.LINE} ${.FILE} $.SECTION""#, vec!["7 a.cfg fe"]),
        (r#""\$X" "\x24X""#, vec!["$X", "$X"]),
        (r#""127.0.0.1:$P""#, vec!["127.0.0.1:80"]),
    ] {
        assert_eq!(words(line).unwrap(), expected, "{line}");
    }
}

#[test]
fn errors_name_the_position_as_haproxy_does() {
    for (line, message) in [
        ("frontend \"fe", "unmatched quote at position 10"),
        (r".notice '\x41\''", "unmatched quote at position 16"),
        (" bind \"$1\"", "forbidden first char in environment variable name at position 9"),
        (".notice \"${1X}\"", "forbidden first char in environment variable name at position 12"),
        (".notice \"$\"", "forbidden first char in environment variable name at position 11"),
        (".notice \"${.FOO}\"", "forbidden first char in environment variable name at position 12"),
        (" bind \"${A B}\"", "unmatched brace in environment variable name at position 9"),
        (" bind \"${A-x", "unmatched brace in environment variable name at position 9"),
        (" bind \\x2", "truncated or invalid hexadecimal sequence at position 7"),
        (".notice \"\\xzz\"", "truncated or invalid hexadecimal sequence at position 10"),
        (" maxconn 3\0 foo", "Stray NUL character at position 11"),
    ] {
        assert_eq!(words(line).unwrap_err(), message, "{line}");
    }
    let many = " a".repeat(65);
    assert!(words(&many).unwrap_err().starts_with("too many words, truncating after word 64"));
    assert_eq!(words(&" a".repeat(64)).unwrap().len(), 64);
    assert!(words(&"a".repeat(MAX_LINE + 1)).unwrap_err().starts_with("line too long"));
}

#[test]
fn spans_survive_quotes_and_expansion() {
    let env = env();
    let around = Surroundings { env: &env, file: "a.cfg", line: 7, section: "fe" };
    let words = split(r#"bind "127.0.0.1:$P"x plain"#, &around).unwrap();
    assert_eq!((words[1].start, words[1].end), (5, 20));
    // Text is 127.0.0.1:80x; the '1' of "127", the '8' and '0' of the variable, then the x.
    assert_eq!(words[1].span_from(1), (7, 20));
    assert_eq!(words[1].span_from(10), (16, 20));
    assert_eq!(words[1].span_from(11), (16, 20));
    assert_eq!(words[1].span_from(12), (19, 20));
    assert_eq!(words[1].span_from(99), (20, 20));
    assert_eq!(words[2].span_from(2), (23, 26));
}

proptest! {
    #[test]
    fn no_line_panics(line in "\\PC*|[ \"'\\\\$#{}x0-9a-zA-Z.\\[\\]*-]{0,80}") {
        let _ = words(&line);
    }

    #[test]
    fn single_quotes_keep_everything(text in "[^'\\x00\\r\\n]{0,40}") {
        let word = sample::word::from_bytes(text.clone().into_bytes());
        prop_assert_eq!(words(&format!("'{text}'")).unwrap(), vec![word]);
    }
}

#[test]
fn words_hold_any_byte() {
    let env = Environment::default();
    let around = Surroundings { env: &env, file: "f", line: 1, section: "" };
    let found = split("a \"x\\xe0\\xffy\" b", &around).unwrap();
    assert_eq!(&*sample::word::to_bytes(&found[1].text), b"x\xe0\xffy");
    // The offset of what follows an escaped byte still points at it.
    let at = found[1].text.len() - 1;
    assert_eq!(found[1].span_from(at).0, 12);
}
