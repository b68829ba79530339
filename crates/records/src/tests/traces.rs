//! The records of RFC 8448 that follow a handshake, replayed in both directions.

use super::{hex, opened};
use crate::{Direction, Opened, RecordLayer, Suite};

/// A session of RFC 8448: secrets, keys with static nonces, and records of the client and of the
/// server.
struct Trace {
    secrets: [&'static str; 2],
    keys: [(&'static str, &'static str); 2],
    data: [&'static str; 2],
    alerts: [&'static str; 2],
    /// Records of the server before its data: tickets.
    tickets: u64,
}

/// Section 3: a full handshake, with a ticket.
const FULL: Trace = Trace {
    secrets: [
        "9e 40 64 6c e7 9a 7f 9d c0 5a f8 88 9b ce 65 52 87 5a fa 0b 06 df 00 87 f7 92 eb b7 c1 75 04 a5",
        "a1 1a f9 f0 55 31 f8 56 ad 47 11 6b 45 a9 50 32 82 04 b4 f4 4b fb 6b 3a 4b 4f 1f 3f cb 63 16 43",
    ],
    keys: [
        ("17 42 2d da 59 6e d5 d9 ac d8 90 e3 c6 3f 50 51", "5b 78 92 3d ee 08 57 90 33 e5 23 d9"),
        ("9f 02 28 3b 6c 9c 07 ef c2 6b b9 f2 ac 92 e3 56", "cf 78 2b 88 dd 83 54 9a ad f1 e9 84"),
    ],
    data: [
        "17 03 03 00 43 a2 3f 70 54 b6 2c 94 d0 af fa fe 82 28 ba 55 cb ef ac ea 42 f9 14 aa 66 bc ab \
         3f 2b 98 19 a8 a5 b4 6b 39 5b d5 4a 9a 20 44 1e 2b 62 97 4e 1f 5a 62 92 a2 97 70 14 bd 1e 3d \
         ea e6 3a ee bb 21 69 49 15 e4",
        "17 03 03 00 43 2e 93 7e 11 ef 4a c7 40 e5 38 ad 36 00 5f c4 a4 69 32 fc 32 25 d0 5f 82 aa 1b \
         36 e3 0e fa f9 7d 90 e6 df fc 60 2d cb 50 1a 59 a8 fc c4 9c 4b f2 e5 f0 a2 1c 00 47 c2 ab f3 \
         32 54 0d d0 32 e1 67 c2 95 5d",
    ],
    alerts: [
        "17 03 03 00 13 c9 87 27 60 65 56 66 b7 4d 7f f1 15 3e fd 6d b6 d0 b0 e3",
        "17 03 03 00 13 b5 8f d6 71 66 eb f5 99 d2 47 20 cf be 7e fa 7a 88 64 a9",
    ],
    tickets: 1,
};

/// Section 4: a session that is resumed, with early data before.
const RESUMED: Trace = Trace {
    secrets: [
        "2a bb f2 b8 e3 81 d2 3d be be 1d d2 a7 d1 6a 8b f4 84 cb 49 50 d2 3f b7 fb 7f a8 54 70 62 d9 a1",
        "cc 21 f1 bf 8f eb 7d d5 fa 50 5b d9 c4 b4 68 a9 98 4d 55 4a 99 3d c4 9e 6d 28 55 98 fb 67 26 91",
    ],
    keys: [
        ("3c f1 22 f3 01 c6 35 8c a7 98 95 53 25 0e fd 72", "ab 1a ec 26 aa 78 b8 fc 11 76 b9 ac"),
        ("e8 57 c6 90 a3 4c 5a 91 29 d8 33 61 96 84 f9 5e", "06 85 d6 b5 61 aa b9 ef 10 13 fa f9"),
    ],
    data: [
        "17 03 03 00 43 b1 ce bc e2 42 aa 20 1b e9 ae 5e 1c b2 a9 aa 4b 33 d4 e8 66 af 1e db 06 89 19 \
         23 77 41 aa 03 1d 7a 74 d4 91 c9 9b 9d 4e 23 2b 74 20 6b c6 fb aa 04 fe 78 be 44 a9 b4 f5 43 \
         20 a1 7e b7 69 92 af ac 31 03",
        "17 03 03 00 43 27 5e 9f 20 ac ff 57 bc 00 06 57 d3 86 7d f0 39 cc cf 79 04 78 84 cf 75 77 17 \
         46 f7 40 b5 a8 3f 46 2a 09 54 c3 58 13 93 a2 03 a2 5a 7d d1 41 41 ef 1a 37 90 0c db 62 ff 62 \
         de e1 ba 39 ab 25 90 cb f1 94",
    ],
    alerts: [
        "17 03 03 00 13 0f ac ce 32 46 bd fc 63 69 83 8d 6a 82 ae 6d e5 d4 22 dc",
        "17 03 03 00 13 5b 18 af 44 4e 8e 1e ec 71 58 fb 62 d8 f2 57 7d 37 ba 5d",
    ],
    tickets: 0,
};

impl Trace {
    fn direction(&self, side: usize) -> Direction {
        let suite = Suite::of_name("TLS_AES_128_GCM_SHA256").unwrap();
        let sequence = if side == 1 { self.tickets } else { 0 };
        Direction::tls13(suite, &hex(self.secrets[side]), sequence).unwrap()
    }

    fn layer(&self, reads: usize) -> RecordLayer {
        RecordLayer::new(self.direction(reads), self.direction(1 - reads))
    }
}

#[test]
fn traffic_keys_are_those_of_the_traces() {
    for trace in [FULL, RESUMED] {
        for side in [0, 1] {
            let direction = trace.direction(side);
            assert_eq!(direction.key(), hex(trace.keys[side].0));
            assert_eq!(direction.nonce(0, None), hex(trace.keys[side].1)[..]);
        }
    }
}

#[test]
fn records_of_the_traces_are_opened_and_made_again() {
    let payload: Vec<u8> = (0..50).collect();
    for trace in [FULL, RESUMED] {
        for side in [0, 1] {
            let (mut receiver, mut sender) = (trace.layer(side), trace.layer(1 - side));
            let (data, alert) = (hex(trace.data[side]), hex(trace.alerts[side]));
            assert_eq!(receiver.first_length(&data), Ok(Some(data.len())));
            assert_eq!(opened(&mut receiver, &data).unwrap(), (Opened::Data(50), payload.clone()));
            assert_eq!(opened(&mut receiver, &alert).unwrap().0, Opened::Closed);
            let mut out = Vec::new();
            sender.seal(&[&payload], &mut out).unwrap();
            sender.close(&mut out).unwrap();
            assert_eq!(out, [data, alert].concat());
        }
    }
}
