//! Lists in field values (RFC 9110, section 5.6.1).

/// The elements of a list, split at commas outside quoted strings.
pub(crate) fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    let mut escaped = false;
    value.split(move |byte| {
        let ends = *byte == b',' && !quoted;
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ => {}
        }
        ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_quoted_strings_split_nothing() {
        let parts = |value: &'static str| elements(value.as_bytes()).collect::<Vec<_>>();
        assert_eq!(parts("a, b"), [&b"a"[..], b" b"]);
        assert_eq!(parts("a=\"x,y\",b"), [&b"a=\"x,y\""[..], b"b"]);
        assert_eq!(parts("a=\"x\\\",y\",b"), [&b"a=\"x\\\",y\""[..], b"b"]);
        assert_eq!(parts("a=\"x,b"), [&b"a=\"x,b"[..]]);
        assert_eq!(parts(""), [&b""[..]]);
    }
}
