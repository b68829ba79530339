//! Tests of block chains: contents, bounds, sharing between threads.

use super::*;
use proptest::prelude::*;

fn text(chain: &SharedBlocks) -> Vec<u8> {
    chain.pieces(0, usize::MAX).collect::<Vec<_>>().concat()
}

#[test]
fn a_chain_grows_until_the_area_is_empty_and_returns_its_blocks() {
    let area = BlockArea::new(4, 3).expect("memory");
    let mut chain = area.chain();
    assert_eq!(chain.append(b"abcdefghijklmnop"), 12, "three blocks of four bytes");
    assert_eq!((chain.len(), chain.blocks(), area.free()), (12, 3, 0));
    assert_eq!(area.chain().append(b"x"), 0);
    drop(chain);
    assert_eq!(area.free(), 3);
    assert!(area.chain().share().is_none(), "an empty chain has nothing to share");
}

#[test]
fn blocks_return_with_the_last_holder() {
    let area = BlockArea::new(4, 4).expect("memory");
    let mut chain = area.chain();
    chain.append(b"....56789");
    chain.overwrite_front(b"1234");
    let one = chain.share().expect("some bytes");
    let two = one.clone();
    assert_eq!((one.holders(), area.free()), (2, 1));
    drop(one);
    assert_eq!((text(&two), area.free()), (b"123456789".to_vec(), 1));
    drop(two);
    assert_eq!(area.free(), 4);
}

#[test]
fn a_reader_lends_pieces_and_continues_where_it_stopped() {
    let area = BlockArea::new(4, 4).expect("memory");
    let mut chain = area.chain();
    chain.append(b"0123456789abcdef");
    let mut reader = BlockReader::new(chain.share().expect("some bytes"), 2, 12);
    let mut out = [IoSlice::new(b""); 2];
    assert_eq!(reader.lend(&mut out), 1, "the blocks lie one behind the other");
    assert_eq!(&*out[0], b"23456789abcd");
    reader.consume(3);
    assert_eq!(reader.pieces().collect::<Vec<_>>().concat(), b"56789abcd");
    reader.consume(9);
    assert_eq!((reader.left(), reader.pieces().count()), (0, 0));
    assert_eq!(reader.blocks().pieces(16, 5).count(), 0, "nothing is behind the end");
}

#[test]
fn blocks_that_lie_apart_are_lent_in_several_slices() {
    let area = BlockArea::new(4, 6).expect("memory");
    let (mut chain, mut other) = (area.chain(), area.chain());
    for (ours, theirs) in [("01234567", "xxxx"), ("89abcdef", "x")] {
        chain.append(ours.as_bytes());
        other.append(theirs.as_bytes());
    }
    let mut reader = BlockReader::new(chain.share().expect("some bytes"), 1, 14);
    let lent = |reader: &BlockReader, most: usize| {
        let mut out = [IoSlice::new(b""); 3];
        let count = reader.lend(&mut out[..most]);
        out[..count].iter().map(|slice| slice.to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(lent(&reader, 3), [b"1234567".to_vec(), b"89abcde".to_vec()]);
    assert_eq!(lent(&reader, 1), [b"1234567".to_vec()]);
    assert!(lent(&reader, 0).is_empty());
    reader.consume(9);
    assert_eq!(lent(&reader, 3), [b"abcde".to_vec()]);
    reader.consume(5);
    assert!(lent(&reader, 3).is_empty());
}

#[test]
fn threads_read_a_chain_while_others_are_written() {
    let area = BlockArea::new(8, 64).expect("memory");
    let rounds = if cfg!(miri) { 8 } else { 500 };
    let threads: Vec<_> = (0..4u8)
        .map(|number| {
            let area = area.clone();
            std::thread::spawn(move || {
                for _ in 0..rounds {
                    let mut chain = area.chain();
                    let written = chain.append(&[number; 60]);
                    assert_eq!(written, 60, "four chains of eight blocks fit twice");
                    let shared = chain.share().expect("some bytes");
                    let other = shared.clone();
                    let reader = std::thread::spawn(move || text(&other) == vec![number; 60]);
                    assert_eq!(text(&shared), vec![number; 60]);
                    drop(shared);
                    assert!(reader.join().expect("no panic"));
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no panic");
    }
    assert_eq!(area.free(), 64);
}

proptest! {
    #[test]
    fn chains_keep_their_bytes_and_no_block_is_lost(
        steps in prop::collection::vec((0usize..4, 0usize..3, 0usize..40), 0..60)
    ) {
        let area = BlockArea::new(8, 12).expect("memory");
        let mut open: Vec<(BlockChain, Vec<u8>)> = Vec::new();
        let mut shared: Vec<(SharedBlocks, Vec<u8>)> = Vec::new();
        for (round, (what, which, len)) in steps.into_iter().enumerate() {
            match what {
                0 => {
                    if open.len() <= which {
                        open.push((area.chain(), Vec::new()));
                    }
                    let at = which.min(open.len() - 1);
                    let (chain, expected) = &mut open[at];
                    let bytes = vec![round as u8; len];
                    let written = chain.append(&bytes);
                    expected.extend_from_slice(&bytes[..written]);
                    prop_assert!(written == len || area.free() == 0);
                }
                1 if which < open.len() => {
                    let (chain, expected) = open.swap_remove(which);
                    if let Some(chain) = chain.share() {
                        shared.push((chain.clone(), expected.clone()));
                        shared.push((chain, expected));
                    }
                }
                2 if which < open.len() => drop(open.swap_remove(which)),
                3 if which < shared.len() => drop(shared.swap_remove(which)),
                _ => {}
            }
            for (chain, expected) in &shared {
                prop_assert_eq!(&text(chain), expected);
            }
        }
        open.clear();
        shared.clear();
        prop_assert_eq!(area.free(), 12);
    }
}
