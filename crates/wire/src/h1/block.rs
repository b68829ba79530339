//! Fast path for all field lines of a head in their usual form: one search for line ends and
//! colons, one copy.

use htx::{Fields, ShortName};
use stdx::simd::{self, LANES};

use super::MAX_NAME;
use super::chars::{is_blank, token_len};

/// Parses the field lines at the front of `text` and the empty line after them, if there are at
/// most `room` lines and each is `name: value` CRLF without further blanks around the value or
/// control characters in it. Returns their length; otherwise `None`, and `fields` is unchanged.
#[inline]
pub(super) fn parse_lines(text: &[u8], room: u16, fields: &mut Fields) -> Option<usize> {
    let mut draft = fields.draft();
    let mut marks = LineMarks::new(text);
    let (mut start, mut lines) = (0, 0);
    loop {
        let rest = text.get(start..)?;
        if rest.starts_with(b"\r\n") {
            break;
        }
        let colon = marks.colon(start)?;
        let end = marks.stop(colon)?;
        let value = text.get(colon..end)?.strip_prefix(b": ")?;
        let (&first, &last) = (value.first()?, value.last()?);
        let name_len = colon - start;
        if is_blank(first) || is_blank(last) || !text[end..].starts_with(b"\r\n") || lines == room {
            return None;
        }
        match ShortName::of_line(rest, name_len) {
            Some(name) => draft.known_line(start, name, value.len()),
            None if !(1..=MAX_NAME).contains(&name_len) => return None,
            None if token_len(rest) != name_len => return None,
            None => draft.line(start, name_len, value.len()),
        }
        (start, lines) = (end + 2, lines + 1);
    }
    draft.commit(&text[..start]);
    Some(start + 2)
}

/// Bytes examined together, one bit of a word each.
const WINDOW: usize = 64;

/// Positions of possible line ends and of colons, in a window that moves over a text.
struct LineMarks<'a> {
    text: &'a [u8],
    /// Start of the window.
    base: usize,
    /// Control characters up to CR.
    stops: u64,
    colons: u64,
}

impl<'a> LineMarks<'a> {
    #[inline]
    fn new(text: &'a [u8]) -> Self {
        let mut marks = Self { text, base: 0, stops: 0, colons: 0 };
        marks.load();
        marks
    }

    /// The first colon from `from` on, if no control character precedes it. Searches only move
    /// forward.
    #[inline]
    fn colon(&mut self, from: usize) -> Option<usize> {
        self.reach(from)?;
        let mut ahead = u64::MAX << (from - self.base);
        loop {
            let (colons, stops) = (self.colons & ahead, self.stops & ahead);
            if (colons | stops) != 0 {
                let colon = colons.trailing_zeros();
                return (colon < stops.trailing_zeros()).then(|| self.base + colon as usize);
            }
            self.reach(self.base + WINDOW)?;
            ahead = u64::MAX;
        }
    }

    /// The first possible line end from `from` on.
    #[inline]
    fn stop(&mut self, from: usize) -> Option<usize> {
        self.reach(from)?;
        let mut stops = self.stops & u64::MAX << (from - self.base);
        while stops == 0 {
            self.reach(self.base + WINDOW)?;
            stops = self.stops;
        }
        Some(self.base + stops.trailing_zeros() as usize)
    }

    /// Moves the window so that it includes `at`; `None` beyond the text.
    #[inline]
    fn reach(&mut self, at: usize) -> Option<()> {
        if at >= self.text.len() {
            return None;
        }
        while at - self.base >= WINDOW {
            self.base += WINDOW;
            self.load();
        }
        Some(())
    }

    #[inline]
    fn load(&mut self) {
        let window = &self.text[self.base..self.text.len().min(self.base + WINDOW)];
        let (whole, rest) = window.as_chunks::<LANES>();
        (self.stops, self.colons) = (0, 0);
        for (i, lanes) in whole.iter().enumerate() {
            self.mark(lanes, 0, LANES * i);
        }
        if rest.is_empty() {
            return;
        }
        let shift = LANES * whole.len();
        match self.text.last_chunk::<LANES>() {
            // The last sixteen bytes, of which those that were examined before are shifted out.
            Some(last) => self.mark(last, LANES - rest.len(), shift),
            None => {
                let mut padded = [b' '; LANES];
                padded[..rest.len()].copy_from_slice(rest);
                self.mark(&padded, 0, shift);
            }
        }
    }

    /// Sets the bits of sixteen bytes except the first `skip`, from bit `shift` on.
    #[inline(always)]
    fn mark(&mut self, bytes: &[u8; LANES], skip: usize, shift: usize) {
        self.stops |= u64::from(simd::at_most(bytes, b'\r') >> skip) << shift;
        self.colons |= u64::from(simd::equal_to(bytes, b':') >> skip) << shift;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Fragments of heads, valid and invalid, that often cross a window's edge.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            4 => "(Host|content-LENGTH|x-forwarded-for|X-A|accept-encoding-and-more): [!-~]{1,90}\r\n",
            1 => "[ -~]{0,40}(\r\n|\n|\r)",
            1 => "[a-z]{1,20}(:|: | : )[a-z]{0,3}\t?\r\n",
        ];
        (proptest::collection::vec(piece, 0..8), any::<bool>(), "[ -~\r\n]{0,70}").prop_map(
            |(pieces, ends, tail)| {
                let end = if ends { "\r\n" } else { "" };
                (pieces.concat() + end + &tail).into_bytes()
            },
        )
    }

    proptest! {
        #[test]
        fn block_and_line_parsers_agree(text in text(), room in 0u16..8) {
            let (mut block, mut lines) = (Fields::default(), Fields::default());
            block.push(b"before", b"it");
            lines.push(b"before", b"it");
            let taken = parse_lines(&text, room, &mut block);
            let (mut at, mut count) = (0, 0);
            let whole = loop {
                if text[at..].starts_with(b"\r\n") {
                    break count <= room;
                }
                match super::super::field::usual(&text[at..], &mut lines) {
                    Some(len) => (at, count) = (at + len, count + 1),
                    None => break false,
                }
            };
            match taken {
                Some(taken) => {
                    prop_assert!(whole);
                    prop_assert_eq!(taken, at + 2);
                    let of = |fields: &Fields| format!("{fields:?}");
                    prop_assert_eq!(of(&block), of(&lines));
                }
                None => {
                    // Names beyond 32 bytes belong to the slow path, too: the fast path for single
                    // lines searches 32 bytes for a colon, this one the whole line.
                    prop_assert!(!whole, "{:?}", String::from_utf8_lossy(&text));
                    prop_assert_eq!(block.len(), 1);
                    block.push(b"after", b"it");
                    prop_assert_eq!(block.wire_len(), 12 + 11);
                }
            }
        }
    }
}
