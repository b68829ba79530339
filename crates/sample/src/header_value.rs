//! The values in a header field: its parts between commas (RFC 9110 section 5.6.1).

/// The comma-separated values of one field; commas in double quotes do not split.
pub(crate) struct Values<'v> {
    rest: Option<&'v [u8]>,
}

/// Splits a field's value at its commas, blanks around the parts removed.
pub(crate) fn values(value: &[u8]) -> Values<'_> {
    Values { rest: Some(value) }
}

impl<'v> Iterator for Values<'v> {
    type Item = &'v [u8];

    fn next(&mut self) -> Option<&'v [u8]> {
        let rest = self.rest?;
        let Some(mut at) = memchr::memchr2(b',', b'"', rest) else {
            self.rest = None;
            return Some(trim(rest));
        };
        let mut quoted = false;
        while at < rest.len() {
            match rest[at] {
                b'"' => quoted = !quoted,
                b'\\' if quoted => at += 1,
                b',' if !quoted => break,
                _ => {}
            }
            at += 1;
        }
        self.rest = rest.get(at + 1..);
        Some(trim(&rest[..at.min(rest.len())]))
    }
}

pub(crate) fn trim(value: &[u8]) -> &[u8] {
    htx::list::trim(value)
}
