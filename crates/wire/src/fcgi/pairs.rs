//! Name-value pairs, in PARAMS, GET_VALUES and GET_VALUES_RESULT (FastCGI specification, section
//! 3.4).

/// The longest name or value: longer ones do not fit in the four bytes of a length.
pub const MAX_LEN: usize = 0x7fff_ffff;

/// A list of pairs that is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairError {
    /// The content ends inside a length, or a length exceeds what follows it.
    Truncated,
}

/// Bytes of a pair on the wire.
pub fn encoded_len(name: usize, value: usize) -> usize {
    let prefix = |len: usize| if len < 0x80 { 1 } else { 4 };
    prefix(name) + prefix(value) + name + value
}

/// Appends a pair whose value is `parts`, concatenated. Returns whether name and value fit in their
/// lengths; otherwise nothing is appended.
pub fn put(name: &[u8], parts: &[&[u8]], out: &mut Vec<u8>) -> bool {
    put_parts([name, b""], parts, out)
}

/// As [`put`], for a name of two parts.
pub fn put_parts(name: [&[u8]; 2], parts: &[&[u8]], out: &mut Vec<u8>) -> bool {
    let name_len = name[0].len() + name[1].len();
    let value = parts.iter().map(|part| part.len()).sum();
    if name_len > MAX_LEN || value > MAX_LEN {
        return false;
    }
    put_len(name_len, out);
    put_len(value, out);
    name.iter().for_each(|part| out.extend_from_slice(part));
    parts.iter().for_each(|part| out.extend_from_slice(part));
    true
}

fn put_len(len: usize, out: &mut Vec<u8>) {
    match u8::try_from(len) {
        Ok(short @ 0..0x80) => out.push(short),
        _ => out.extend_from_slice(&(len as u32 | 1 << 31).to_be_bytes()),
    }
}

/// The pairs of a complete content, as slices of it. Ends after the first error.
#[derive(Clone, Debug)]
pub struct Pairs<'a> {
    rest: &'a [u8],
}

impl<'a> Pairs<'a> {
    /// Reads the pairs of `content`.
    pub fn new(content: &'a [u8]) -> Self {
        Self { rest: content }
    }

    fn pair(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        let (name_len, value_len) = (self.len()?, self.len()?);
        let (name, rest) = self.rest.split_at_checked(name_len)?;
        let (value, rest) = rest.split_at_checked(value_len)?;
        self.rest = rest;
        Some((name, value))
    }

    fn len(&mut self) -> Option<usize> {
        let (&first, rest) = self.rest.split_first()?;
        if first < 0x80 {
            self.rest = rest;
            return Some(first.into());
        }
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some((u32::from_be_bytes(*bytes) & 0x7fff_ffff) as usize)
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = Result<(&'a [u8], &'a [u8]), PairError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let pair = self.pair();
        if pair.is_none() {
            self.rest = &[];
        }
        Some(pair.ok_or(PairError::Truncated))
    }
}
