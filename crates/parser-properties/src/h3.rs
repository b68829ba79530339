//! Properties of HTTP/3 field sections and of frames, in any pieces.

use wire::h3::qpack::{self, QpackDecoder, SectionError};

/// Decodes encoder instructions and a section with two decoders, one of which gets the instructions
/// in pieces: both give the same result, no table exceeds its limit, and the decoded fields can be
/// encoded and decoded again.
pub fn field_section(data: &[u8]) {
    let [size, split, piece, rest @ ..] = data else { return };
    let (instructions, section) = rest.split_at(usize::from(*split).min(rest.len()));
    let allowed = u32::from(*size) * 32;
    let (mut one, mut two) = (QpackDecoder::new(allowed), QpackDecoder::new(allowed));
    let whole = one.handle_instructions(instructions);
    let mut pieces = instructions.chunks(usize::from(*piece).max(1));
    assert_eq!(whole, pieces.try_for_each(|piece| two.handle_instructions(piece)));
    if whole.is_err() {
        return;
    }
    assert_eq!((one.inserted(), one.table_size()), (two.inserted(), two.table_size()));
    assert!(one.table_size() <= allowed as usize);
    let mut fields = Vec::new();
    let result = one.decode_within(section, 1 << 20, |name, value| {
        fields.push((name.to_vec(), value.to_vec()));
    });
    assert_eq!(result, two.decode_within(section, 1 << 20, |_, _| ()));
    assert!(result != Err(SectionError::Blocked) || fields.is_empty());
    let mut again = Vec::new();
    qpack::prefix(&mut again);
    for (name, value) in &fields {
        qpack::field(htx::HeaderId::from_lower(name), name, value, &mut again);
    }
    let mut all = fields.iter();
    let result = QpackDecoder::new(0).decode_within(&again, usize::MAX, |name, value| {
        let (expected, text) = all.next().expect("as many as were encoded");
        assert!(name == expected && value == text);
    });
    assert!(result.is_ok() && all.next().is_none());
}
