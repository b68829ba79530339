//! QPACK: the examples of RFC 9204 appendix B, limits, and round trips.

use super::static_table::{self, TABLE};
use super::{InvalidInstruction, QpackDecoder, SectionError, field, prefix, status};
use htx::HeaderId;
use proptest::prelude::*;

type Fields = Vec<(String, String)>;

fn hex(text: &str) -> Vec<u8> {
    let digits = text.bytes().filter(u8::is_ascii_hexdigit).collect::<Vec<_>>();
    let value = |digit: u8| (digit as char).to_digit(16).unwrap() as u8;
    digits.chunks(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect()
}

fn decoded(
    decoder: &mut QpackDecoder,
    section: &[u8],
    stream: u64,
) -> Result<Fields, SectionError> {
    let (mut fields, mut out) = (Fields::new(), Vec::new());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let prefix = decoder.decode_within(section, usize::MAX, |name, value| {
        fields.push((text(name), text(value)));
    })?;
    decoder.acknowledge(prefix, stream, &mut out);
    Ok(fields)
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn a_literal_with_a_static_name_is_decoded() {
    let section = hex("0000 510b 2f69 6e64 6578 2e68 746d 6c");
    let fields = decoded(&mut QpackDecoder::new(0), &section, 0);
    assert_eq!(fields, Ok(vec![pair(":path", "/index.html")]));
}

/// RFC 9204 appendices B.2 to B.5: one table throughout.
#[test]
fn the_table_follows_the_examples_of_the_rfc() {
    let (mut decoder, mut out) = (QpackDecoder::new(220), Vec::new());
    let section = hex("0381 10 11");
    assert_eq!(decoded(&mut decoder, &section, 4), Err(SectionError::Blocked));
    let instructions =
        hex("3fbd01 c00f 7777 772e 6578 616d 706c 652e 636f 6d c10c 2f73 616d 706c 652f 7061 7468");
    // The instructions arrive byte by byte.
    instructions.iter().for_each(|byte| decoder.handle_instructions(&[*byte]).unwrap());
    assert_eq!((decoder.inserted(), decoder.table_size()), (2, 106));
    let mut fields = Vec::new();
    let prefix = decoder
        .decode_within(&section, 1_000, |name, value| {
            fields.push((name.to_vec(), value.to_vec()));
        })
        .unwrap();
    assert_eq!(fields[0], (b":authority".to_vec(), b"www.example.com".to_vec()));
    assert_eq!(fields[1], (b":path".to_vec(), b"/sample/path".to_vec()));
    decoder.acknowledge(prefix, 4, &mut out);
    assert_eq!(std::mem::take(&mut out), [0x84]);
    decoder
        .handle_instructions(&hex("4a63 7573 746f 6d2d 6b65 790c 6375 7374 6f6d 2d76 616c 7565"))
        .unwrap();
    decoder.report(&mut out);
    assert_eq!(std::mem::take(&mut out), [0x01]);
    decoder.handle_instructions(&hex("02")).unwrap();
    let fields = decoded(&mut decoder, &hex("0500 80 c1 81"), 8).unwrap();
    let expected = [
        pair(":authority", "www.example.com"),
        pair(":path", "/"),
        pair("custom-key", "custom-value"),
    ];
    assert_eq!(fields, expected);
    decoder.cancel(8, &mut out);
    assert_eq!(out, [0x48]);
    decoder.handle_instructions(&hex("810d 6375 7374 6f6d 2d76 616c 7565 32")).unwrap();
    assert_eq!((decoder.inserted(), decoder.table_size()), (5, 215));
}

#[test]
fn invalid_sections_are_refused() {
    let refused = |text: &str| decoded(&mut QpackDecoder::new(4_096), &hex(text), 0).unwrap_err();
    // Truncated in the prefix, in an index, in a name, in a value.
    for text in ["", "00", "00ff", "0000 ff", "0000 27", "0000 510b 2f"] {
        assert_eq!(refused(text), SectionError::Broken, "{text}");
    }
    // An unknown static entry, a dynamic one although none is required, a base below 0, a padding
    // that is not Huffman code, a count beyond the range.
    for text in ["0000 ff24", "0000 80", "0000 10", "0080", "0000 51 81 00", "ffff ff00 00"] {
        assert_eq!(refused(text), SectionError::Broken, "{text}");
    }
    assert_eq!(refused("0200 80"), SectionError::Blocked);
    let overflow = "0000 ff ffff ffff ffff ffff ff01";
    assert_eq!(refused(overflow), SectionError::Broken);
}

#[test]
fn invalid_instructions_are_refused() {
    let refused = |text: &str| QpackDecoder::new(100).handle_instructions(&hex(text)).is_err();
    // A capacity beyond the announced one, an entry beyond the capacity, a name and a duplicate of
    // an entry that is not there.
    for text in ["3f46", "c001 61", "3f45 8001 61", "3f45 00", "3f45 ff24 00"] {
        assert!(refused(text), "{text}");
    }
    assert!(!refused("3f45"));
    let mut decoder = QpackDecoder::new(100);
    let endless = [&hex("3f45 5f ffff7f")[..], &[b'a'; 600]].concat();
    assert_eq!(decoder.handle_instructions(&endless), Err(InvalidInstruction));
}

#[test]
fn decoding_ends_with_the_limit() {
    let section = [&hex("0000")[..], &[0xd1; 100]].concat();
    let mut decoder = QpackDecoder::new(0);
    let size = 32 + ":methodGET".len();
    let within = |decoder: &mut QpackDecoder, most| {
        let mut shown = 0;
        let result = decoder.decode_within(&section, most, |_, _| shown += 1);
        (result.map(drop), shown)
    };
    assert_eq!(within(&mut decoder, 100 * size), (Ok(()), 100));
    assert_eq!(within(&mut decoder, 10 * size), (Err(SectionError::TooLarge), 10));
}

#[test]
fn well_known_names_have_the_lowest_entry() {
    for (id, name) in HeaderId::ALL.into_iter().skip(1) {
        let entry = TABLE.iter().position(|(it, _)| *it == name.as_bytes());
        assert_eq!(static_table::index_of(id).map(usize::from), entry, "{name}");
    }
}

proptest! {
    #[test]
    fn encoded_fields_are_decoded(
        fields in proptest::collection::vec(("[a-z-]{1,20}", "[ -~]{0,60}"), 0..20),
        code in 100..600u16,
    ) {
        let mut section = Vec::new();
        prefix(&mut section);
        status(code, &mut section);
        for (name, value) in &fields {
            let id = HeaderId::from_lower(name.as_bytes());
            field(id, name.as_bytes(), value.as_bytes(), &mut section);
        }
        let mut expected = vec![(":status".to_owned(), code.to_string())];
        expected.extend(fields);
        prop_assert_eq!(decoded(&mut QpackDecoder::new(0), &section, 0), Ok(expected));
    }

    #[test]
    fn arbitrary_input_never_panics(
        instructions in proptest::collection::vec(any::<u8>(), 0..300),
        section in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut decoder = QpackDecoder::new(4_096);
        let _ = decoder.handle_instructions(&instructions);
        let _ = decoder.decode_within(&section, 65_536, |_, _| ());
        prop_assert!(decoder.table_size() <= 4_096);
    }

    #[test]
    fn required_counts_wrap(inserted in 0..200u64, ahead in 0..6u64) {
        let mut decoder = QpackDecoder::new(220);
        decoder.handle_instructions(&hex("3fbd01")).unwrap();
        (0..inserted).for_each(|_| decoder.handle_instructions(&hex("4161 0162")).unwrap());
        let required = inserted + ahead;
        let encoded = if required == 0 { 0 } else { required % 12 + 1 };
        let prefix = decoder.prefix(&[encoded as u8, 0]).unwrap();
        prop_assert_eq!(prefix.required, required);
    }
}
