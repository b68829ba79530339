//! Tests of header compression: the RFC's examples, comparison with another codec, arbitrary bytes.

mod differential;

use super::huffman;
use super::static_table::{self, TABLE};
use super::table::DynamicTable;
use super::{DecodeError, Decoder, InvalidBlock, encode};
use htx::HeaderId;
use proptest::prelude::*;

type List = Vec<(String, String)>;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        hex.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn decoded(decoder: &mut Decoder, block: &[u8]) -> Result<List, InvalidBlock> {
    let mut list = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    decoder.decode(block, |name, value| list.push((text(name), text(value))))?;
    Ok(list)
}

fn list(fields: &[(&str, &str)]) -> List {
    fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

/// RFC 7541 appendices C.3 (plain) and C.4 (Huffman-coded): three requests on one connection.
#[test]
fn requests_of_the_rfc() {
    let plain = [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ];
    let coded = [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ];
    let host = (":authority", "www.example.com");
    let first = list(&[(":method", "GET"), (":scheme", "http"), (":path", "/"), host]);
    let mut second = first.clone();
    second.extend(list(&[("cache-control", "no-cache")]));
    let https = [(":method", "GET"), (":scheme", "https"), (":path", "/index.html"), host];
    let mut third = list(&https);
    third.extend(list(&[("custom-key", "custom-value")]));
    for blocks in [plain, coded] {
        let mut decoder = Decoder::new(4_096);
        for (block, expected) in blocks.iter().zip([&first, &second, &third]) {
            assert_eq!(decoded(&mut decoder, &bytes(block)).as_ref(), Ok(expected));
        }
        assert_eq!(decoder.table_size(), 164);
    }
}

/// RFC 7541 appendix C.6: responses with Huffman coding and a table of 256 bytes, which evicts.
#[test]
fn responses_of_the_rfc() {
    let mut decoder = Decoder::new(256);
    let first = decoded(
        &mut decoder,
        &bytes(
            "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b \
             ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        ),
    );
    let expected = [
        (":status", "302"),
        ("cache-control", "private"),
        ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
        ("location", "https://www.example.com"),
    ];
    assert_eq!(first, Ok(list(&expected)));
    assert_eq!(decoder.table_size(), 222);
    let second = decoded(&mut decoder, &bytes("4883 640e ffc1 c0bf"));
    assert_eq!(second.map(|list| list[0].1.clone()), Ok("307".into()));
    assert_eq!(decoder.table_size(), 222);
}

#[test]
fn invalid_header_blocks() {
    for block in [
        "80",                                  // index 0
        "be",                                  // beyond the table
        "ff ff ff ff ff 7f",                   // an integer too large
        "82 20",                               // a size update after a field
        "3f e2 1f",                            // a size above what was announced
        "00 85 f2 b2 4a 84 ff 84 49 50 9f ff", // padding longer than seven bits
        "00 83 ff ff ff 01 61",                // the end of the string inside it
        "00 03 61 62",                         // cut off
    ] {
        assert_eq!(decoded(&mut Decoder::new(4_096), &bytes(block)), Err(InvalidBlock), "{block}");
    }
}

/// Decoding stops where the limit is exceeded.
#[test]
fn decoding_ends_with_the_limit() {
    let block = [&b"\x40\x01n\x0a0123456789"[..], &[0xbe; 1_000]].concat();
    let within = |most| {
        let (mut decoder, mut shown) = (Decoder::new(4_096), 0);
        let result = decoder.decode_within(&block, most, |_, _| shown += 1);
        (result, shown)
    };
    assert_eq!(within(43 * 1_001), (Ok(43 * 1_001), 1_001));
    assert_eq!(within(43 * 1_001 - 1), (Err(DecodeError::TooLarge), 1_000));
    assert_eq!(within(43 * 10), (Err(DecodeError::TooLarge), 10));
    assert_eq!(within(0), (Err(DecodeError::TooLarge), 0));
    let broken = Decoder::new(0).decode_within(b"\xbe", 100, |_, _| ());
    assert_eq!(broken, Err(DecodeError::Broken));
}

#[test]
fn well_known_names_have_the_lowest_entry() {
    for (id, name) in HeaderId::ALL.into_iter().skip(1) {
        let entry = TABLE.iter().position(|(it, _)| *it == name.as_bytes());
        assert_eq!(static_table::index_of(id), entry.map_or(0, |at| at + 1), "{name}");
    }
}

#[test]
fn an_entry_larger_than_the_table_empties_it() {
    let mut table = DynamicTable::new(100);
    table.insert(b"a", b"b");
    assert_eq!((table.size(), table.get(0)), (34, Some((&b"a"[..], &b"b"[..]))));
    table.insert(b"c", &[b'x'; 100]);
    assert_eq!((table.size(), table.get(0)), (0, None));
    table.insert(b"d", b"e");
    table.set_limit(0);
    assert_eq!((table.size(), table.get(0)), (0, None));
}

proptest! {
    #[test]
    fn strings_survive_huffman(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (mut coded, mut back) = (Vec::new(), Vec::new());
        huffman::encode(&text, &mut coded);
        prop_assert_eq!(huffman::decode(&coded, &mut back), Some(()));
        prop_assert_eq!(back, text);
    }

    #[test]
    fn encoded_fields_are_decoded(
        fields in proptest::collection::vec(("[a-z-]{1,20}", "[ -~]{0,60}"), 0..20),
        status in 100..600u16,
    ) {
        let mut block = Vec::new();
        encode::size_update(0, &mut block);
        encode::status(status, &mut block);
        for (name, value) in &fields {
            let id = HeaderId::from_lower(name.as_bytes());
            encode::field(id, name.as_bytes(), value.as_bytes(), &mut block);
        }
        let mut expected = vec![(":status".to_owned(), status.to_string())];
        expected.extend(fields);
        prop_assert_eq!(decoded(&mut Decoder::new(4_096), &block), Ok(expected));
    }

    #[test]
    fn the_table_is_what_a_plain_list_is(
        steps in proptest::collection::vec((0..60usize, 0..60usize, any::<bool>()), 0..200),
    ) {
        let mut table = DynamicTable::new(300);
        let (mut model, mut limit) = (std::collections::VecDeque::new(), 300);
        for (name, value, resizes) in steps {
            if resizes {
                limit = 5 * name;
                table.set_limit(limit);
            } else {
                let entry = (vec![b'n'; name], vec![b'v'; value]);
                table.insert(&entry.0, &entry.1);
                model.push_front(entry);
            }
            let size = |model: &std::collections::VecDeque<(Vec<u8>, Vec<u8>)>| {
                model.iter().map(|(name, value)| name.len() + value.len() + 32).sum::<usize>()
            };
            while size(&model) > limit {
                model.pop_back();
            }
            prop_assert_eq!(table.size(), size(&model));
            for at in 0..=model.len() {
                let expected = model.get(at).map(|(name, value)| (&name[..], &value[..]));
                prop_assert_eq!(table.get(at), expected);
            }
        }
    }

    #[test]
    fn arbitrary_blocks_never_panic(block in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut decoder = Decoder::new(4_096);
        let _ = decoder.decode(&block, |_, _| ());
        prop_assert!(decoder.table_size() <= 4_096);
    }
}
