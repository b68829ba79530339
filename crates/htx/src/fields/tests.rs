//! Tests of the field arena against a plain list of pairs.

use proptest::prelude::*;

use super::*;

fn joined(fields: &Fields) -> Vec<u8> {
    fields.runs().flatten().copied().collect()
}

#[test]
fn a_field_entry_is_sixteen_bytes() {
    assert_eq!(size_of::<Field>(), 16);
}

#[test]
fn untouched_fields_are_one_run() {
    let mut f = Fields::with_capacity(256, 8);
    f.push(b"Host", b"a");
    f.push_line(b"X-A: b\r\n", 3);
    assert_eq!(f.runs().count(), 1);
    assert_eq!(joined(&f), b"host: a\r\nx-a: b\r\n");
    assert_eq!(f.wire_len(), joined(&f).len());
}

#[test]
fn removal_splits_runs_and_later_appends_merge() {
    let mut f = Fields::with_capacity(256, 8);
    for n in ["a", "b", "c"] {
        f.push(n.as_bytes(), b"1");
    }
    assert_eq!(f.remove(b"B"), 1);
    f.push(b"d", b"2");
    assert_eq!(f.runs().count(), 2);
    assert_eq!(joined(&f), b"a: 1\r\nc: 1\r\nd: 2\r\n");
    assert_eq!(f.len(), 3);
}

#[test]
fn removing_the_last_line_leaves_one_run() {
    let mut f = Fields::with_capacity(256, 8);
    f.push(b"host", b"a");
    f.push(b"connection", b"keep-alive");
    assert_eq!(f.remove_id(HeaderId::Connection), 1);
    f.fold_last(2, b"folded");
    assert_eq!(f.runs().count(), 1);
    assert_eq!(joined(&f), b"host: a\r\n");
    f.push(b"connection", b"close");
    assert_eq!((f.runs().count(), f.len()), (1, 2));
    assert_eq!(f.sole(HeaderId::Connection).map(|c| (c.index, c.value)), Some((2, &b"close"[..])));
}

#[test]
fn repeated_fields_are_found_far_behind() {
    let mut f = Fields::default();
    for n in 0..300 {
        f.push(b"x", n.to_string().as_bytes());
    }
    f.push(b"host", b"a");
    assert_eq!(f.sole(HeaderId::Host).map(|h| h.index), Some(300));
    f.push(b"Host", b"b");
    assert!(f.sole(HeaderId::Host).is_none() && f.may_repeat(HeaderId::Host));
    f.remove_at(300);
    assert_eq!(f.first(HeaderId::Host).map(|h| (h.index, h.value)), Some((301, &b"b"[..])));
    assert_eq!(f.remove_id(HeaderId::Host), 1);
    assert!(!f.has(HeaderId::Host) && !f.may_repeat(HeaderId::Host));
    assert_eq!(f.get(b"X"), Some(&b"0"[..]));
}

#[test]
fn appending_copies_any_length() {
    let bytes: Vec<u8> = (0..200).collect();
    for len in 0..bytes.len() {
        let mut arena = b"before".to_vec();
        append(&mut arena, &bytes[..len]);
        assert_eq!(arena, [b"before", &bytes[..len]].concat());
    }
}

#[test]
fn folding_extends_the_last_field() {
    let mut f = Fields::with_capacity(256, 8);
    f.push(b"a", b"x");
    f.fold_last(3, b"y ");
    assert_eq!(joined(&f), b"a: x   y\r\n");
    f.push(b"b", b"");
    f.fold_last(3, b"z");
    assert_eq!(f.get(b"b"), Some(&b"z"[..]));
    assert_eq!(f.wire_len(), joined(&f).len());
}

#[test]
fn reuse_allocates_nothing() {
    let mut f = Fields::with_capacity(64, 4);
    let before = f.capacity();
    for _ in 0..100 {
        f.clear();
        f.push(b"host", b"example.org");
        f.push(b"accept", b"*/*");
    }
    assert_eq!(f.capacity(), before);
}

#[derive(Debug, Clone)]
enum Edit {
    Push(u8, String),
    Set(u8, String),
    Remove(u8),
    RemoveAt(usize),
    Replace(usize, String),
}

const NAMES: [&str; 5] = ["Host", "x-one", "X-Two", "cookie", "set-cookie"];

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let value = "[a-z ]{0,6}".prop_map(|s: String| s.trim().to_owned());
    let one = prop_oneof![
        (0u8..5, value.clone()).prop_map(|(n, v)| Edit::Push(n, v)),
        (0u8..5, value.clone()).prop_map(|(n, v)| Edit::Set(n, v)),
        (0u8..5).prop_map(Edit::Remove),
        (0usize..12).prop_map(Edit::RemoveAt),
        (0usize..12, value).prop_map(|(i, v)| Edit::Replace(i, v)),
    ];
    proptest::collection::vec(one, 0..24)
}

proptest! {
    #[test]
    fn lines_of_known_names_are_pushed_like_any(
        name in proptest::sample::select(&["Host", "DATE", "connection", "Content-Length", "te"][..]),
        value in "[a-z]{1,70}",
    ) {
        let line = format!("{name}: {value}\r\n");
        let (mut known, mut any, mut parts) = <(Fields, Fields, Fields)>::default();
        for _ in 0..2 {
            any.push_line(line.as_bytes(), name.len());
            parts.push(name.as_bytes(), value.as_bytes());
            match ShortName::of_line(line.as_bytes(), name.len()) {
                Some(short) => known.push_known_line(line.as_bytes(), short),
                None => known.push(name.as_bytes(), value.as_bytes()),
            }
        }
        prop_assert!(known.iter().eq(any.iter()) && any.iter().eq(parts.iter()));
        prop_assert_eq!(joined(&known), joined(&any));
        prop_assert_eq!(known.wire_len(), any.wire_len());
    }

    #[test]
    fn edits_equal_a_plain_list(edits in edits()) {
        let mut f = Fields::with_capacity(0, 0);
        let mut model: Vec<Option<(String, String)>> = Vec::new();
        for edit in edits {
            let lower = |n: u8| NAMES[usize::from(n)].to_ascii_lowercase();
            let drop_all = |model: &mut Vec<Option<(String, String)>>, n: u8| {
                for slot in model.iter_mut().filter(|s| s.as_ref().is_some_and(|s| s.0 == lower(n))) {
                    *slot = None;
                }
            };
            match edit {
                Edit::Push(n, v) => {
                    f.push(NAMES[usize::from(n)].as_bytes(), v.as_bytes());
                    model.push(Some((lower(n), v)));
                }
                Edit::Set(n, v) => {
                    f.set(NAMES[usize::from(n)].as_bytes(), v.as_bytes());
                    drop_all(&mut model, n);
                    model.push(Some((lower(n), v)));
                }
                Edit::Remove(n) => {
                    f.remove(NAMES[usize::from(n)].as_bytes());
                    drop_all(&mut model, n);
                }
                Edit::RemoveAt(i) => {
                    f.remove_at(i);
                    if let Some(slot) = model.get_mut(i) { *slot = None; }
                }
                Edit::Replace(i, v) => {
                    f.replace_value(i, v.as_bytes());
                    if let Some(Some(slot)) = model.get_mut(i) { slot.1 = v; }
                }
            }
        }
        let wire: String =
            model.iter().flatten().map(|(n, v)| format!("{n}: {v}\r\n")).collect();
        prop_assert_eq!(joined(&f), wire.clone().into_bytes());
        prop_assert_eq!(f.wire_len(), wire.len());
        prop_assert_eq!(f.len(), model.iter().flatten().count());
        for name in NAMES {
            let want = model.iter().flatten().find(|m| m.0 == name.to_ascii_lowercase());
            prop_assert_eq!(f.get(name.as_bytes()), want.map(|m| m.1.as_bytes()));
        }
    }
}
