//! Compares our codec with another one on random lists and bytes.

use super::super::{Decoder, encode};
use htx::HeaderId;
use loona_hpack as other;
use proptest::collection::vec;
use proptest::prelude::*;

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Names of the static table and others.
fn name() -> impl Strategy<Value = Vec<u8>> {
    let known = ["cookie", "accept", "content-type", "cache-control", "x-a", "etag", "x-b"];
    prop_oneof![
        prop::sample::select(known.to_vec()).prop_map(|it| it.as_bytes().to_vec()),
        "[a-z][a-z0-9-]{0,30}".prop_map(String::into_bytes),
    ]
}

/// Few values, so that table entries are hit, and some arbitrary bytes.
fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::sample::select(vec!["", "a", "gzip, deflate", "no-cache"])
            .prop_map(|it| it.as_bytes().to_vec()),
        vec(any::<u8>(), 0..200),
    ]
}

/// The header lists of one connection.
fn lists() -> impl Strategy<Value = Vec<Pairs>> {
    vec(vec((name(), value()), 0..20), 1..8)
}

fn ours(decoder: &mut Decoder, block: &[u8]) -> Option<Pairs> {
    let mut list = Pairs::new();
    let kept = &mut list;
    let result = decoder.decode(block, |name, value| kept.push((name.to_vec(), value.to_vec())));
    result.is_ok().then_some(list)
}

proptest! {
    #[test]
    fn blocks_of_the_other_encoder(lists in lists(), size in prop::sample::select(vec![0, 100, 4_096])) {
        let (mut encoder, mut decoder) = (other::Encoder::new(), Decoder::new(4_096));
        // Both tables shrink before the first block, which has to be announced.
        encoder.set_max_table_size(size as usize);
        for (number, list) in lists.iter().enumerate() {
            let mut block = Vec::new();
            if number == 0 {
                super::super::size_update(size, &mut block);
            }
            let fields = list.iter().map(|(name, value)| (&name[..], &value[..]));
            block.extend(encoder.encode(fields));
            prop_assert_eq!(ours(&mut decoder, &block), Some(list.clone()));
            prop_assert!(decoder.table_size() <= size as usize);
        }
    }

    #[test]
    fn blocks_of_our_encoder(lists in lists()) {
        let mut decoder = other::Decoder::new();
        for list in lists {
            let mut block = Vec::new();
            for (name, value) in &list {
                encode::field(HeaderId::from_lower(name), name, value, &mut block);
            }
            prop_assert_eq!(decoder.decode(&block).ok(), Some(list));
        }
    }

    /// Blocks with errors: both codecs agree on what both accept, and the differences are known.
    #[test]
    fn mutated_blocks(
        lists in lists(),
        flaws in vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        let mut encoder = other::Encoder::new();
        let (mut mine, mut theirs) = (Decoder::new(4_096), other::Decoder::new());
        theirs.set_max_allowed_table_size(4_096);
        for list in &lists {
            let mut block = encoder.encode(list.iter().map(|(n, v)| (&n[..], &v[..])));
            let length = block.len();
            for (place, byte) in flaws.iter().filter(|_| length > 0) {
                block[place.index(length)] = *byte;
            }
            match (ours(&mut mine, &block), theirs.decode(&block)) {
                (Some(mine), Ok(theirs)) => prop_assert_eq!(mine, theirs),
                // The tables may differ from here on.
                _ => break,
            }
        }
    }
}
