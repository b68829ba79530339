//! Every match method, with and without case, and the bounds of its patterns.

use super::number::Operator;
use super::{Match, PatternError, PatternFiles, Refusal, View};
use crate::value::{Bytes, Type, Value};
use std::sync::Arc;

fn set(
    method: Match,
    ignore_case: bool,
    patterns: &[&str],
) -> Result<Arc<View>, (usize, PatternError)> {
    let patterns = patterns.iter().map(|pattern| pattern.as_bytes());
    PatternFiles::default().inline((method, ignore_case), patterns, String::new(), None)
}

fn matches(method: &str, ignore_case: bool, patterns: &[&str], value: Value<'_>) -> bool {
    let method = Match::find(method).expect("a method");
    set(method, ignore_case, patterns).expect("valid patterns").matches(&value)
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
        ("len", false, &["3"], "abc", true), ("len", false, &["4:"], "abc", false), ("len", false, &[":3"], "abc", true),
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
(&[], 0, false),
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
    // As measured with HAProxy 2.6, and as the manual has it: all values are ignored.
    for pattern in ["false", "0", "true", "maybe"] {
        assert!(matches("bool", false, &[pattern], Value::Bool(true)), "{pattern}");
        assert!(!matches("bool", false, &[pattern], Value::Bool(false)), "{pattern}");
    }
}

#[test]
fn networks() {
    #[rustfmt::skip]
    let cases: &[(&[&str], &str, bool)] = &[
        (&["10.0.0.0/8"], "10.255.1.2", true), (&["10.0.0.0/8"], "11.0.0.1", false), (&["10.12/8"], "10.3.4.5", true),
        (&["10/8"], "10.3.4.5", false), (&["192.168.1/22"], "192.168.3.4", true), (&["192.168.42/24"], "192.168.42.1", false),
        (&["192.168.1"], "192.168.0.1", true), (&["10.12"], "10.0.0.12", true), (&["1.2.65535"], "1.2.255.255", true),
        (&["12.0300"], "12.0.0.192", true),
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
}

#[test]
fn operators_become_ranges() {
    for (word, number, range) in [
        ("eq", "3", "3"),
        ("eq", "3:5", "3:5"),
        ("gt", "3", "4:"),
        ("ge", "3", "3:"),
        ("le", "-3", ":-3"),
        ("lt", "3", ":2"),
    ] {
        let operator = Operator::find(word).expect(word);
        assert_eq!(operator.range(number).as_deref(), Ok(range), "{word} {number}");
    }
    assert!(Operator::Gt.range("9223372036854775807").is_err());
    assert!(Operator::Lt.range("-9223372036854775808").is_err());
    // A range stays one.
    for range in ["3:5", "3-5", "8:8", "3:", ":5", "3-"] {
        assert_eq!(Operator::Lt.range(range).as_deref(), Ok(range));
        assert_eq!(Operator::Gt.range(range).as_deref(), Ok(range));
    }
    assert!(Operator::Eq.range("+3").is_err() && Operator::Eq.range("3-5-8").is_err());
    assert_eq!(Operator::find("ne"), None);
}

#[test]
fn bad_patterns_are_refused() {
    #[rustfmt::skip]
    let cases = [
        ("int", "abc", "'abc' is not a number"), ("int", "5:1", "'5:1' is not a valid number range"), ("int", ":", "is not a number"),
        ("ip", "1.2.3.4/33", "'1.2.3.4/33' is not a valid IPv4 or IPv6 address"), ("ip", "1.2.3.400", "is not a valid"),
        ("ip", "::/129", "is not a valid"), ("reg", "(", "missing closing parenthesis"), ("bin", "abc", "hex digits"),
    ];
    for (method, pattern, expected) in cases {
        let method = Match::find(method).expect("a method");
        let (_, message) = set(method, false, &[pattern]).expect_err(pattern);
        assert!(message.to_string().contains(expected), "{message}");
    }
}

fn read(path: &std::path::Path) -> std::io::Result<Vec<u8>> {
    match path.to_str() {
        Some("m") => Ok(b"a 1\nb two\n#c 3\na 5\n".to_vec()),
        Some("n") => Ok(b"/ 1\n/st 2\n/static/ 3\n".to_vec()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    }
}

fn text(view: &View, key: &str) -> Option<String> {
    let value = view.value(&Value::str(key.as_bytes()))?.to_str()?;
    Some(String::from_utf8_lossy(&value).into_owned())
}

#[test]
fn trees_take_the_longest_and_lists_the_first() {
    let files = PatternFiles::default();
    let map = |method| files.map("n", method, Type::Str, "here", &read).expect("a map");
    let (beg, end, sub) = (map(Match::Beg), map(Match::End), map(Match::Sub));
    assert_eq!(text(&beg, "/static/x").as_deref(), Some("3"));
    assert_eq!(text(&sub, "/static/x").as_deref(), Some("1"));
    assert_eq!(text(&end, "x/static/").as_deref(), Some("1"));
    assert_eq!(text(&end, "x/st").as_deref(), Some("2"));
    let all = files.finish();
    let dictionary = all.find("n").expect("by name");
    // A pattern added at run time is matched together with the loaded ones.
    dictionary.add(None, b"/sta", b"4").expect("valid");
    assert_eq!(text(&beg, "/static/x").as_deref(), Some("3"));
    assert_eq!(text(&beg, "/stax").as_deref(), Some("4"));
    assert_eq!(text(&sub, "/stax").as_deref(), Some("1"));
    dictionary.remove(b"/static/").expect("there");
    assert_eq!(text(&beg, "/static/x").as_deref(), Some("4"));
}

#[test]
fn dictionaries_change_while_views_are_read() {
    let files = PatternFiles::default();
    let view = files.map("m", Match::Str, Type::Str, "file 'f' line 1", &read).expect("a map");
    let late = files.later("m", true, "file 'f' line 2");
    let missing = files.later("q", true, "file 'f' line 3");
    let wrong = files.set("m", (Match::Str, false), false, "", &read).expect_err("two columns");
    assert!(wrong.to_string().contains("is already used as two column file"), "{wrong}");
    let all = files.finish();
    assert!(Arc::ptr_eq(late.get().expect("found"), all.find("#0").expect("by id")));
    assert_eq!(missing.get().expect("made").totals().entries, 0);
    let map = all.find("m").expect("by name");
    assert_eq!(map.description(), "pattern loaded from file 'm' used by map at file 'f' line 1");
    assert_eq!(text(&view, "a").as_deref(), Some("1"));
    map.set(b"a", b"7").expect("there");
    assert_eq!(text(&view, "a").as_deref(), Some("7"));
    assert_eq!(map.set(b"z", b"7"), Err(Refusal::NoEntry));
    map.assign(b"z", b"8").expect("new");
    map.assign(b"z", b"9").expect("there");
    assert_eq!(text(&view, "z").as_deref(), Some("9"));
    map.remove_row(0).expect("the first row");
    assert_eq!(text(&view, "a").as_deref(), Some("7"), "the second row of that key");
    map.remove(b"a").expect("there");
    assert_eq!(text(&view, "a"), None);
    assert_eq!(map.remove(b"a"), Err(Refusal::NoEntry));
    let version = map.prepare();
    map.add(Some(version), b"n", b"v").expect("prepared");
    assert_eq!(map.add(Some(9), b"n", b"v"), Err(Refusal::FutureVersion));
    assert_eq!((text(&view, "n"), text(&view, "b").as_deref()), (None, Some("two")));
    assert_eq!(map.commit(9), Err(Refusal::NoVersion));
    map.commit(version).expect("prepared");
    assert_eq!((text(&view, "n").as_deref(), text(&view, "b")), (Some("v"), None));
    assert_eq!(map.commit(version), Err(Refusal::NoVersion));
    map.clear(None);
    assert!(view.is_empty() && text(&view, "n").is_none());
    map.add(None, b"n", b"w").expect("valid");
    assert_eq!(text(&view, "n").as_deref(), Some("w"));
}

#[test]
fn a_listing_reads_a_given_number_of_rows_and_continues() {
    let files = PatternFiles::default();
    files.map("m", Match::Str, Type::Str, "", &|_| Ok(b"a 1\nb 2\nc 3\n".to_vec())).expect("a map");
    let all = files.finish();
    let map = all.find("m").expect("there");
    let version = map.prepare();
    map.add(Some(version), b"d", b"4").expect("prepared");
    map.remove_row(1).expect("there");
    let list = |version, from, most| {
        let mut keys = String::new();
        let next = map.rows(version, (from, most), &mut |_, key, _| {
            keys.push_str(std::str::from_utf8(key).expect("a letter"));
        });
        (keys, next)
    };
    assert_eq!(list(None, 0, 2), ("a".to_owned(), Some(2)));
    assert_eq!(list(None, 2, 2), ("c".to_owned(), None));
    map.add(None, b"e", b"5").expect("valid");
    assert_eq!(list(None, 0, 3), ("ac".to_owned(), Some(4)));
    assert_eq!(list(None, 1, 3), ("ce".to_owned(), None));
    assert_eq!(list(Some(version), 0, 3), ("d".to_owned(), None));
    assert_eq!(list(Some(version), 3, u32::MAX), ("d".to_owned(), None));
    assert_eq!(list(None, 7, 2), (String::new(), None));
}

#[test]
fn a_row_that_was_shown_is_never_taken_for_another() {
    let files = PatternFiles::default();
    files.map("m", Match::Str, Type::Str, "", &|_| Ok(b"a 1\nb 2\nc 3\n".to_vec())).expect("a map");
    let all = files.finish();
    let map = all.find("m").expect("there");
    let shown = |wanted: &[u8]| {
        let mut found = None;
        map.rows(None, (0, u32::MAX), &mut |row, key, _| {
            found = found.or(Some(row).filter(|_| key == wanted));
        });
        found.expect("there")
    };
    let (removed, kept) = (shown(b"a"), shown(b"c"));
    map.remove(b"a").expect("there");
    map.add(None, b"a", b"2").expect("valid");
    for byte in [b'x', b'y', b'z'] {
        map.set(b"c", &[byte; 70_000]).expect("there");
    }
    assert_eq!((map.key(removed), map.key(kept).as_deref()), (None, Some(&b"c"[..])));
    assert_eq!(map.remove_row(removed), Err(Refusal::NoEntry));
    assert_ne!(shown(b"a"), removed);
    assert_eq!(map.key(shown(b"b")).as_deref(), Some(&b"b"[..]));
    map.set_row(shown(b"b"), b"7").expect("there");
    map.remove_row(shown(b"c")).expect("there");
    assert_eq!(map.set(b"c", b"8"), Err(Refusal::NoEntry));
    map.set(b"b", b"8").expect("still there");
}

#[test]
fn many_additions_and_removals() {
    let files = PatternFiles::default();
    let lists = [Match::Str, Match::Sub, Match::Beg, Match::Reg]
        .map(|method| files.map("m", method, Type::Str, "", &read).expect("a map"));
    let all = files.finish();
    let map = all.find("m").expect("by name");
    for i in 0..500 {
        map.add(None, format!("k{i:03}").as_bytes(), i.to_string().as_bytes()).expect("valid");
    }
    for i in (0..500).filter(|i| i % 3 == 0) {
        map.remove(format!("k{i:03}").as_bytes()).expect("there");
    }
    map.set(b"k100", b"new").expect("there");
    for view in &lists {
        for i in 0..500 {
            let expected = match i {
                _ if i % 3 == 0 => None,
                100 => Some("new".to_owned()),
                _ => Some(i.to_string()),
            };
            assert_eq!(text(view, &format!("k{i:03}")), expected, "{i} {:?}", view.method());
        }
    }
    assert_eq!(lists[0].len(), 3 + 333);
}

/// The rows of a large map, and its view.
fn large(count: u32) -> (super::Dictionaries, Arc<View>) {
    let text: String = (0..count).map(|number| format!("k{number} {number}\n")).collect();
    let files = PatternFiles::default();
    let read = |_: &std::path::Path| Ok(text.clone().into_bytes());
    let view = files.map("m", Match::Str, Type::Str, "", &read).expect("a map");
    (files.finish(), view)
}

#[expect(clippy::disallowed_methods, reason = "the time that a change takes is what is tested")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

/// The longest of some changes, in microseconds; the shortest of three tries, since the machine has
/// other work.
fn longest(mut change: impl FnMut(u32)) -> u128 {
    let mut number = 0;
    let mut longest = || {
        let mut most = 0;
        for _ in 0..3_000 {
            let begin = now();
            change(number);
            most = most.max(begin.elapsed().as_micros());
            number += 1;
        }
        most
    };
    (0..3).map(|_| longest()).min().unwrap_or_default()
}

#[test]
fn changes_of_one_row_of_a_large_map_are_short() {
    const COUNT: u32 = 400_000;
    let (all, view) = large(COUNT);
    let map = all.find("m").expect("there");
    let key = |number: u32| format!("k{number}").into_bytes();
    let begin = now();
    map.set(b"k5", b"new").expect("there");
    let first = begin.elapsed().as_millis();
    let set = longest(|number| map.set(&key(number), b"other").expect("there"));
    let add = longest(|number| map.add(None, &key(COUNT + number), b"1").expect("valid"));
    let remove = longest(|number| map.remove(&key(number)).expect("there"));
    let version = map.prepare();
    let stage = longest(|number| map.add(Some(version), &key(number), b"2").expect("valid"));
    assert_eq!(text(&view, "k399999").as_deref(), Some("399999"));
    let begin = now();
    map.commit(version).expect("prepared");
    let commit = begin.elapsed().as_millis();
    assert_eq!((text(&view, "k8999").as_deref(), text(&view, "k9000")), (Some("2"), None));
    // A pass over all rows takes half a second; the machine may stop this thread for some 20 ms.
    assert!(first < 100 && commit < 100, "the first change takes {first} ms, a commit {commit} ms");
    assert!(set.max(add).max(remove).max(stage) < 60_000, "{set} {add} {remove} {stage} us");
}

/// Layers merge on another thread meanwhile.
#[test]
fn large_changes_are_seen_as_they_are_made() {
    let (all, view) = large(5_000);
    let map = all.find("m").expect("there");
    let model = |number: u32| match number {
        0..20_000 if number.is_multiple_of(3) => None,
        0..5_000 if number.is_multiple_of(7) => Some("seven".to_owned()),
        0..20_000 => Some(number.to_string()),
        _ => None,
    };
    for number in 5_000..20_000u32 {
        map.add(None, format!("k{number}").as_bytes(), number.to_string().as_bytes()).expect("new");
        assert_eq!(text(&view, &format!("k{number}")), Some(number.to_string()));
    }
    for number in 0..20_000u32 {
        let key = format!("k{number}");
        if number.is_multiple_of(3) {
            map.remove(key.as_bytes()).expect("there");
        } else if number.is_multiple_of(7) && number < 5_000 {
            map.set(key.as_bytes(), b"seven").expect("there");
        }
        assert_eq!(text(&view, &key), model(number), "{key}");
    }
    // All layers are merged at some time.
    while view.layers().iter().filter(|layer| layer.size() > 1024).count() > 4 {
        std::thread::yield_now();
    }
    (0..20_100).for_each(|number| assert_eq!(text(&view, &format!("k{number}")), model(number)));
    let begun = view.len();
    map.clear(None);
    assert_eq!((begun, view.len(), map.totals().entries), (13_333, 0, 0));
}

#[test]
fn rows_that_come_and_go_leave_nothing() {
    let (all, view) = large(1_000);
    let map = all.find("m").expect("there");
    for round in 0..20_000u32 {
        let key = format!("round-{round}");
        map.add(None, key.as_bytes(), b"v").expect("new");
        map.set(key.as_bytes(), b"w").expect("there");
        map.remove(key.as_bytes()).expect("there");
    }
    let patterns: usize = view.layers().iter().map(|layer| layer.size()).sum();
    assert_eq!((view.len(), view.layers().len(), patterns), (1_000, 1, 1_000));
}

proptest::proptest! {
    #[test]
    fn no_pattern_panics(method in 0usize..13, ignore_case: bool, pattern in "\\PC{0,20}", value in "\\PC{0,20}") {
        let method = Match::TABLE[method].1;
        if let Ok(view) = set(method, ignore_case, &[&pattern]) {
            let _ = view.matches(&Value::str(value.as_bytes()));
            if matches!(method, Match::Str | Match::Beg | Match::End | Match::Sub) && !value.is_empty() {
                let whole = set(method, ignore_case, &[&value]).expect("any text");
                assert!(whole.matches(&Value::str(value.as_bytes())));
            }
        }
    }
}
