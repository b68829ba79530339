//! Cookies inside a field's value (RFC 6265 section 4, RFC 2965 section 3).

/// The first byte of an attribute of the cookie before it (RFC 2965 section 3.3.4).
const ATTRIBUTE: &[u8] = b"$";
/// The delimiter between a server's name and the cookie that it prefixes.
pub(super) const PREFIXED: u8 = b'~';

/// The text between two delimiters, as offsets in the field's value.
#[derive(Clone, Copy)]
pub(super) struct CookiePair {
    start: usize,
    name_end: usize,
    /// Where the value is, without blanks around it; none without `=`.
    value: Option<(usize, usize)>,
    end: usize,
}

impl CookiePair {
    fn new(text: &[u8], start: usize, end: usize) -> Self {
        let equals = text[start..end].iter().position(|byte| *byte == b'=').map(|at| start + at);
        let name_end = start + text[start..equals.unwrap_or(end)].trim_ascii_end().len();
        let value = equals.map(|at| {
            let from = end - text[at + 1..end].trim_ascii_start().len();
            (from, from + text[from..end].trim_ascii_end().len())
        });
        Self { start, name_end, value, end }
    }

    fn name<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        text[self.start..self.name_end.max(self.start)].trim_ascii_start()
    }

    /// The value, if it is a cookie of this name.
    fn value_of<'a>(&self, text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
        let (from, to) = self.value.filter(|_| self.name(text) == name)?;
        Some(&text[from..to])
    }

    /// Appends the bytes before the value and another value; returns the end of the old one.
    fn put(&self, text: &[u8], from: usize, value: &[&[u8]], out: &mut Vec<u8>) -> usize {
        out.extend_from_slice(&text[from..self.name_end]);
        out.push(b'=');
        value.iter().for_each(|part| out.extend_from_slice(part));
        self.value.map_or(self.end, |(_, to)| to)
    }
}

/// The parts between delimiters. Delimiters inside quotes do not count: a value cannot forge
/// another cookie.
fn parts<'a>(text: &'a [u8], delimiters: &'a [u8]) -> impl Iterator<Item = CookiePair> + 'a {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let start = next?;
        let end = end_of(text, start, delimiters);
        next = (end < text.len()).then_some(end + 1);
        Some(CookiePair::new(text, start, end))
    })
}

fn end_of(text: &[u8], from: usize, delimiters: &[u8]) -> usize {
    let (mut at, mut quoted) = (from, false);
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            byte if !quoted && delimiters.contains(byte) => break,
            _ => {}
        }
        at += 1;
    }
    at.min(text.len())
}

/// Cookies of a client end with either, as RFC 2965 has it.
const CLIENT: &[u8] = b";,";

/// The values of the cookies with a name in a `Cookie` field.
pub(super) fn values<'a>(text: &'a [u8], name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    parts(text, CLIENT).filter_map(move |part| part.value_of(text, name))
}

/// A `Cookie` field as it is sent to the server: without the prefix of a server's name, and without
/// blanks around `=`, which not all servers understand. None: it is unchanged.
pub(super) fn cleaned(text: &[u8], name: &[u8], prefixed: bool) -> Option<Vec<u8>> {
    let (mut out, mut done) = (Vec::new(), 0);
    for part in parts(text, CLIENT) {
        let Some(value) = part.value_of(text, name) else { continue };
        let at = value.iter().position(|byte| *byte == PREFIXED).filter(|_| prefixed);
        let kept = at.map_or(value, |at| &value[at + 1..]);
        let is = &text[part.name_end..part.value.map_or(part.end, |(_, to)| to)];
        if is.strip_prefix(b"=") != Some(kept) {
            done = part.put(text, done, &[kept], &mut out);
        }
    }
    (done > 0).then(|| {
        out.extend_from_slice(&text[done..]);
        out
    })
}

/// A `Cookie` field without the cookies of a name and their attributes; empty if no other cookie is
/// in it. The field has no such cookie.
pub(super) fn without(text: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let (mut first, mut left_out, mut others, mut found) = (true, false, false, false);
    for part in parts(text, CLIENT) {
        let is_attribute = part.name(text).starts_with(ATTRIBUTE);
        if part.value_of(text, name).is_some() || (left_out && is_attribute) {
            (left_out, found) = (true, true);
            continue;
        }
        let raw = &text[part.start..part.end];
        let kept = if left_out { raw.trim_ascii_start() } else { raw };
        if !first {
            if left_out {
                out.truncate(out.trim_ascii_end().len());
            }
            out.push(text[part.start - 1]);
            if left_out {
                out.push(b' ');
            }
        }
        out.extend_from_slice(kept);
        others |= !is_attribute && !raw.trim_ascii().is_empty();
        (first, left_out) = (false, false);
    }
    if !others {
        out.clear();
    }
    found.then_some(out)
}

/// A change of a cookie that a server sets.
#[derive(Clone, Copy)]
pub(super) enum Edit<'a> {
    /// The cookie is removed.
    Drop,
    /// The cookie gets another value.
    Value(&'a [u8]),
    /// Another value is put before the server's value.
    Prefix(&'a [u8]),
}

/// The cookies of a field in which a server sets one, or, where it is `listed` (`Set-Cookie2`),
/// several.
fn settings(text: &[u8], listed: bool) -> impl Iterator<Item = &[u8]> {
    let delimiters: &[u8] = if listed { b"," } else { b"" };
    parts(text, delimiters).map(|part| &text[part.start..part.end])
}

/// The cookie that is set, which its attributes follow.
fn set(setting: &[u8]) -> Option<CookiePair> {
    parts(setting, CLIENT).next()
}

/// Whether a server sets a cookie of this name.
pub(super) fn sets(text: &[u8], name: &[u8], listed: bool) -> bool {
    settings(text, listed).any(|it| set(it).is_some_and(|part| part.value_of(it, name).is_some()))
}

/// A `Set-Cookie` field after the edit; empty if nothing remains.
pub(super) fn edited(text: &[u8], name: &[u8], listed: bool, edit: Edit<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for setting in settings(text, listed) {
        let found = set(setting).and_then(|it| it.value_of(setting, name).map(|value| (it, value)));
        if found.is_some() && matches!(edit, Edit::Drop) {
            continue;
        }
        if !out.is_empty() {
            out.push(b',');
        }
        let done = match (found, edit) {
            (Some((part, _)), Edit::Value(other)) => part.put(setting, 0, &[other], &mut out),
            (Some((part, value)), Edit::Prefix(other)) => {
                part.put(setting, 0, &[other, &[PREFIXED], value], &mut out)
            }
            _ => 0,
        };
        out.extend_from_slice(&setting[done..]);
    }
    out.trim_ascii_start().to_vec()
}
