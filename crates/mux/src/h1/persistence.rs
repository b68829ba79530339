//! The `Connection` header (RFC 9110 section 7.6.1, RFC 9112 section 9): reading the peer's options
//! and announcing our own.

use htx::{Head, HeaderId, list};

/// The `Connection` options of interest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) close: bool,
    pub(super) keep_alive: bool,
    pub(super) upgrade: bool,
}

/// Reads every `Connection` field.
#[inline]
pub(super) fn options(head: &Head) -> Options {
    let Some(first) = head.first(HeaderId::Connection) else { return Options::default() };
    match sole_option(head, first.value) {
        Some(options) => options,
        None => all_options(head),
    }
}

/// Fast path for a single field with one option in its usual spelling. `None` does not mean that
/// there are no options.
#[inline]
fn sole_option(head: &Head, value: &[u8]) -> Option<Options> {
    if head.as_fields().may_repeat(HeaderId::Connection) {
        return None;
    }
    match value {
        b"keep-alive" | b"Keep-Alive" => Some(Options { keep_alive: true, ..Options::default() }),
        b"close" | b"Close" => Some(Options { close: true, ..Options::default() }),
        _ => None,
    }
}

#[inline(never)]
fn all_options(head: &Head) -> Options {
    let mut options = Options::default();
    for field in head.by_id(HeaderId::Connection) {
        for item in list::items(field.value) {
            options.close |= is_close(item);
            options.keep_alive |= is_keep_alive(item);
            options.upgrade |= item.eq_ignore_ascii_case(b"upgrade");
        }
    }
    options
}

/// Whether the sender of this head will close after the message: `close` wins, and HTTP/1.0
/// persists only on request.
pub(super) fn peer_closes(head: &Head, options: Options) -> bool {
    options.close || (!head.version().at_least_11() && !options.keep_alive)
}

/// Announces whether the connection persists, in a head without `close` and `keep-alive`. HTTP/1.1
/// announces only `close`, HTTP/1.0 only `keep-alive`, a response to an HTTP/1.0 client either.
#[inline]
pub(super) fn announce(head: &mut Head, closes: bool, to_old_client: bool) {
    if head.version().at_least_11() {
        if closes {
            head.push(b"connection", b"close");
        } else if to_old_client {
            head.push(b"connection", b"keep-alive");
        }
    } else if !closes {
        head.push(b"connection", b"keep-alive");
    }
}

/// Removes `close` and `keep-alive`; other options stay, joined by commas. Fields without either
/// stay unchanged. Returns whether `upgrade` is among the remaining options.
#[inline]
pub(super) fn strip(head: &mut Head) -> bool {
    let Some(first) = head.first(HeaderId::Connection) else { return false };
    if sole_option(head, first.value).is_some() {
        head.remove_at(first.index);
        return false;
    }
    let upgrade = all_options(head).upgrade;
    strip_all(head);
    upgrade
}

#[inline(never)]
fn strip_all(head: &mut Head) {
    remove(head, &|item| is_close(item) || is_keep_alive(item));
}

/// Removes the options for which `goes` returns true; the others stay, joined by commas.
pub(super) fn remove(head: &mut Head, goes: &dyn Fn(&[u8]) -> bool) {
    let mut from = 0;
    while let Some((index, kept)) = next_with(head, from, goes) {
        match kept.is_empty() {
            true => head.remove_at(index),
            false => head.replace_value(index, &kept),
        };
        from = index + 1;
    }
}

fn next_with(head: &Head, from: usize, goes: &dyn Fn(&[u8]) -> bool) -> Option<(usize, Vec<u8>)> {
    let field = head
        .by_id(HeaderId::Connection)
        .find(|f| f.index >= from && list::items(f.value).any(goes))?;
    let mut kept = Vec::new();
    for item in list::items(field.value).filter(|item| !goes(item)) {
        if !kept.is_empty() {
            kept.push(b',');
        }
        kept.extend_from_slice(item);
    }
    Some((field.index, kept))
}

/// Reduces every `TE` field to `trailers`, or removes it: other codings are not forwarded (RFC 9110
/// section 10.1.4).
#[inline]
pub(super) fn reduce_te(head: &mut Head) {
    if head.has(HeaderId::Te) {
        reduce_each_te(head);
    }
}

#[inline(never)]
fn reduce_each_te(head: &mut Head) {
    let trailers = |value: &[u8]| list::has_token(value, b"trailers");
    head.as_fields_mut().remove_where(|f| f.id == HeaderId::Te && !trailers(f.value));
    let more = |head: &Head| {
        let mut kept = head.by_id(HeaderId::Te);
        kept.find(|f| !f.value.eq_ignore_ascii_case(b"trailers")).map(|f| f.index)
    };
    while let Some(index) = more(head) {
        head.replace_value(index, b"trailers");
    }
}

fn is_close(item: &[u8]) -> bool {
    item.eq_ignore_ascii_case(b"close")
}

fn is_keep_alive(item: &[u8]) -> bool {
    item.eq_ignore_ascii_case(b"keep-alive")
}

#[cfg(test)]
mod tests {
    use htx::Version;
    use proptest::prelude::*;

    use super::*;

    fn written(head: &Head) -> Vec<u8> {
        head.runs().flatten().copied().collect()
    }

    proptest! {
        #[test]
        fn a_sole_option_is_read_and_stripped_like_a_list(
            values in proptest::collection::vec(
                prop_oneof![
                    "(close|Close|CLOSE|keep-alive|Keep-Alive|keep-Alive|upgrade|x)",
                    "(close|Keep-Alive|x)(, ?(close|keep-alive|y))?,?",
                ],
                0..3,
            ),
            last in any::<bool>(),
        ) {
            let mut head = Head::default();
            head.set_response(Version::Http11, 200, b"OK");
            for value in &values {
                head.push(b"Connection", value.as_bytes());
            }
            if !last {
                head.push(b"x", b"y");
            }
            prop_assert_eq!(options(&head), all_options(&head));
            let (mut quick, mut slow) = (head.clone(), head);
            strip(&mut quick);
            strip_all(&mut slow);
            prop_assert_eq!(written(&quick), written(&slow));
            prop_assert_eq!(options(&quick), options(&slow));
        }
    }
}
