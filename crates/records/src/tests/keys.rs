//! Derivations beside an independent implementation, and the vectors that there are.

use super::{hex, sessions};
use crate::contexts;
use crate::schedule::{Hmac, expand_label, prf};
use crate::suite::Hash;
use crate::tests::Pair;
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sign::Signer;
use proptest::prelude::*;

proptest! {
    #[test]
    fn hmac_is_that_of_the_library(
        key in prop::collection::vec(any::<u8>(), 1..200),
        text in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        for (hash, digest) in
            [(Hash::Sha256, MessageDigest::sha256()), (Hash::Sha384, MessageDigest::sha384())]
        {
            let own = Hmac::new(hash, &key).digest(&[&text[..text.len() / 3], &text[text.len() / 3..]]);
            let key = PKey::hmac(&key).unwrap();
            let theirs = Signer::new(digest, &key).unwrap().sign_oneshot_to_vec(&text).unwrap();
            prop_assert_eq!(&*own, &theirs[..]);
        }
    }
}

/// RFC 8448 section 3: the key of the client's application data.
#[test]
fn labels_are_expanded_as_in_the_traces() {
    let secret = hex(
        "9e 40 64 6c e7 9a 7f 9d c0 5a f8 88 9b ce 65 52 87 5a fa 0b 06 df 00 87 f7 92 eb b7 c1 75 04 a5",
    );
    let mut key = [0; 16];
    expand_label(&Hmac::new(Hash::Sha256, &secret), b"key", &mut key);
    assert_eq!(key[..], hex("17 42 2d da 59 6e d5 d9 ac d8 90 e3 c6 3f 50 51"));
}

/// The vector for P_SHA256 that the working group's list has.
#[test]
fn the_pseudorandom_function_is_that_of_the_vector() {
    let (secret, seed) = (
        hex("9b be 43 6b a9 40 f0 17 b1 76 52 84 9a 71 db 35"),
        hex("a0 ba 9f 93 6c da 31 18 27 a6 f7 96 ff d5 19 8c"),
    );
    let mut out = [0; 100];
    prf(Hash::Sha256, &secret, b"test label", [&seed[..5], &seed[5..]], &mut out);
    let expected = hex(
        "e3 f2 29 ba 72 7b e1 7b 8d 12 26 20 55 7c d4 53 c2 aa b2 1d 07 c3 d4 95 32 9b 52 d4 e6 1e \
         db 5a 6b 30 17 91 e9 0d 35 c9 c9 a4 6b 4e 14 ba f9 af 0f a0 22 f7 07 7d ef 17 ab fd 37 97 \
         c0 56 4b ab 4f bc 91 66 6e 9d ef 9b 97 fc e3 4f 79 67 89 ba a4 80 82 d1 22 ee 42 c5 a7 2e \
         5a 51 10 ff f7 01 87 34 7b 66",
    );
    assert_eq!(out[..], expected);
}

#[test]
fn contexts_are_few_and_freed_with_their_layers() {
    let mut pairs: Vec<Pair> = Vec::new();
    for round in 0..3 {
        for (place, (version, suite)) in sessions().cycle().take(contexts::MOST).enumerate() {
            if round == 0 {
                pairs.push(Pair::new(version, suite));
            }
            let pair = &mut pairs[place];
            let record = pair.client_record(b"data");
            assert_eq!(super::opened(&mut pair.server, &record).unwrap().1, b"data", "{round}");
        }
        assert!(contexts::keys() <= 2 * contexts::MOST, "{}", contexts::keys());
    }
    assert!(contexts::keys() >= contexts::MOST);
    drop(pairs);
    assert_eq!(contexts::keys(), 0, "no key outlives its layer on the thread");
}

#[test]
fn layers_may_move_to_other_threads() {
    for (version, suite) in sessions() {
        let mut pair = Pair::new(version, suite);
        for _ in 0..3 {
            let record = pair.client_record(b"data");
            pair = std::thread::spawn(move || {
                let mut other = Pair::new(version, suite);
                other.client_record(b"takes the first place");
                assert_eq!(super::opened(&mut pair.server, &record).unwrap().1, b"data");
                pair
            })
            .join()
            .unwrap();
        }
    }
}
