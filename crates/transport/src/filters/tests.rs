//! Tests of filter chains: bytes that pass, their pieces, and the time.

use super::*;
use proptest::prelude::*;
use stdx::Prng;

/// Passes a random part of the payload, and records it.
#[derive(Debug)]
struct PassesSome(Prng, std::rc::Rc<std::cell::RefCell<Vec<u8>>>);

impl PayloadFilter for PassesSome {
    fn take(&mut self, offer: Offer<'_>, _: &mut Vec<u8>) -> Taken {
        if offer.payload.is_empty() {
            return Taken::Bytes(0);
        }
        let count = 1 + self.0.below(offer.payload.len() as u32) as usize;
        self.1.borrow_mut().extend_from_slice(&offer.payload[..count]);
        Taken::Bytes(count)
    }
}

/// Writes each byte twice, and `!` at the end.
#[derive(Debug)]
struct Doubles(Prng);

impl PayloadFilter for Doubles {
    fn replaces(&self) -> bool {
        true
    }

    fn take(&mut self, offer: Offer<'_>, output: &mut Vec<u8>) -> Taken {
        let all = offer.payload.len();
        let count = if all > 0 { 1 + self.0.below(all as u32) as usize } else { 0 };
        output.extend(offer.payload[..count].iter().flat_map(|byte| [*byte, *byte]));
        if offer.last && count == all {
            output.push(b'!');
        }
        Taken::Bytes(count)
    }
}

/// The output for a message that arrives in pieces.
fn run(chain: &mut FilterChain, message: &[u8], random: &mut Prng) -> Vec<u8> {
    let (mut input, mut arrived, mut out) = (Vec::new(), 0, Vec::new());
    for _ in 0..100_000 {
        if arrived < message.len() && random.below(2) == 0 {
            let more = 1 + random.below((message.len() - arrived) as u32) as usize;
            input.extend_from_slice(&message[arrived..arrived + more]);
            arrived += more;
        }
        let passed = chain.pass(&input, arrived == message.len(), &Fields::default());
        if chain.replaces() {
            out.extend_from_slice(chain.output());
            chain.drop_output();
        } else {
            out.extend_from_slice(&input[..passed.input]);
        }
        input.drain(..passed.input);
        if passed.ended {
            assert!(input.is_empty());
            return out;
        }
    }
    panic!("the message does not end");
}

fn doubled(message: &[u8], times: usize) -> Vec<u8> {
    (0..times).fold(message.to_vec(), |text, _| {
        let mut twice: Vec<u8> = text.iter().flat_map(|byte| [*byte, *byte]).collect();
        twice.push(b'!');
        twice
    })
}

proptest! {
    #[test]
    fn every_byte_passes_each_filter_once_and_in_order(
        message in prop::collection::vec(any::<u8>(), 0..300),
        kinds in prop::collection::vec(any::<bool>(), 1..5),
        seed: u64,
    ) {
        let mut random = Prng::new(seed);
        let (mut chain, mut seen, mut before) = (FilterChain::default(), Vec::new(), 0);
        for (number, replaces) in kinds.iter().enumerate() {
            let own = Prng::new(seed ^ number as u64);
            if *replaces {
                before += 1;
                chain.push(Box::new(Doubles(own)));
            } else {
                let notes = std::rc::Rc::default();
                seen.push((before, std::rc::Rc::clone(&notes)));
                chain.push(Box::new(PassesSome(own, notes)));
            }
        }
        let out = run(&mut chain, &message, &mut random);
        prop_assert_eq!(&out, &doubled(&message, before));
        for (times, notes) in seen {
            prop_assert_eq!(&*notes.borrow(), &doubled(&message, times));
        }
    }
}

/// Passes no bytes before a moment.
#[derive(Debug)]
struct Later(Tick, std::rc::Rc<std::cell::Cell<bool>>);

impl PayloadFilter for Later {
    fn take(&mut self, offer: Offer<'_>, _: &mut Vec<u8>) -> Taken {
        if self.1.get() { Taken::Bytes(offer.payload.len()) } else { Taken::Until(self.0) }
    }
}

#[test]
fn the_end_of_a_message_waits_for_what_is_held_back() {
    let (tick, open) = (Tick::default().plus_ms(5), std::rc::Rc::default());
    let mut chain = FilterChain::default();
    chain.push(Box::new(Later(tick, std::rc::Rc::clone(&open))));
    let held = chain.pass(b"abc", true, &Fields::default());
    assert_eq!((held.input, held.ended, held.until), (0, false, Some(tick)));
    open.set(true);
    let passed = chain.pass(b"abc", true, &Fields::default());
    assert_eq!((passed.input, passed.ended, passed.until), (3, true, None));
}
