//! The end of a message in a stream (RFC 6587, section 3.4).

/// A message at the front of the received bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Frame<'a> {
    /// Its text.
    pub(super) message: &'a [u8],
    /// Bytes up to its end.
    pub(super) len: usize,
}

/// The next message, if it is complete: behind its length if a digit comes first, up to the end of
/// the line otherwise. At the end of the stream a line needs no end.
pub(super) fn next(input: &[u8], at_end: bool) -> Option<Frame<'_>> {
    if input.first()?.is_ascii_digit() {
        let (length, start) = length(input)?;
        let end = start.checked_add(length)?;
        return Some(Frame { message: input.get(start..end)?, len: end });
    }
    match memchr::memchr2(b'\n', 0, input) {
        Some(end) => Some(Frame { message: &input[..end], len: end + 1 }),
        None if at_end => Some(Frame { message: input, len: input.len() }),
        None => None,
    }
}

/// The largest length of the octet count in front of a message, in bytes.
pub(super) const PREFIX: usize = 10;

/// Whether the bytes cannot become a message, or only one longer than `most`.
pub(super) fn is_broken(input: &[u8], most: usize) -> bool {
    if !input.first().is_some_and(u8::is_ascii_digit) {
        return false;
    }
    let digits = input.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match input.get(digits) {
        Some(b' ') => length(input).is_none_or(|(length, _)| length > most),
        Some(_) => true,
        None => digits > 9,
    }
}

/// The number in front of a space, and where the message begins.
fn length(input: &[u8]) -> Option<(usize, usize)> {
    let space = input.iter().position(|byte| *byte == b' ')?;
    let digits = std::str::from_utf8(&input[..space]).ok()?;
    // A count begins with a nonzero digit (RFC 6587 section 3.4.1).
    let number = (!digits.starts_with('0')).then(|| digits.parse().ok())??;
    Some((number, space + 1))
}
