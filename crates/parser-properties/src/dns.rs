//! Properties of DNS answers: arbitrary bytes, and arbitrary orders of answers and time.

use dns::message::{self, RecordType, Reply};
use dns::{Event, Record, Resolution, Settings};

/// The name that is queried.
const NAME: &str = "app.test";

/// Most records taken from an answer and kept for a name.
const MOST: usize = 1_024;

const KINDS: [RecordType; 3] = [RecordType::V4, RecordType::V6, RecordType::Service];

/// Decodes a message whose type is chosen by the first byte: it is an answer only with the query's
/// id, and yields records of that type only.
pub fn answer(data: &[u8]) {
    let Some((choice, bytes)) = data.split_first() else { return };
    let kind = KINDS[usize::from(*choice) % KINDS.len()];
    let id = message::id(bytes).unwrap_or_default();
    if let Reply::Answer(answer) = message::decode(bytes, id, NAME, kind) {
        assert!(!answer.records.is_empty() && answer.records.len() <= MOST.min(bytes.len()));
        for record in &answer.records {
            match record {
                Record::Address(address) => assert!(kind.has(*address)),
                Record::Service(service) => {
                    assert!(kind == RecordType::Service && !service.target.is_empty());
                }
            }
        }
    }
    match message::decode(bytes, id.wrapping_add(1), NAME, kind) {
        Reply::Foreign | Reply::Malformed => {}
        other => panic!("an answer to another question is taken for {other:?}"),
    }
}

/// Messages of up to 255 bytes with a delay before each: the known records stay bounded, there is
/// always a next due time, and a query is sent again after any answer.
pub fn resolution(data: &[u8]) {
    let settings = Settings { honours_ttl: data.len() % 2 == 1, ..Settings::default() };
    let (mut now, mut id, mut asked) = (0, 1, 0);
    let mut resolution = Resolution::new(NAME, RecordType::V4, now);
    let mut rest = data;
    while let [delay, length, after @ ..] = rest {
        let (bytes, next) = after.split_at(usize::from(*length).min(after.len()));
        rest = next;
        now += u64::from(*delay) * 20;
        id += 1;
        asked += u32::from(resolution.on_timer(now, id, 2, &settings) == Event::Ask);
        // As if the id had been guessed.
        let mut bytes = bytes.to_vec();
        if let (Some(id), [first, second, ..]) = (resolution.asking(), &mut bytes[..]) {
            [*first, *second] = id.to_be_bytes();
        }
        let reply = resolution.read(&bytes);
        id += 1;
        asked += u32::from(resolution.on_reply(reply, now, id, 2, &settings) == Event::Ask);
        assert!(resolution.records().count() <= MOST);
        assert!(
            resolution.due() > now || resolution.on_timer(now, id, 2, &settings) != Event::Nothing
        );
    }
    let before = asked;
    for _ in 0..4 {
        now = now.max(resolution.due());
        id += 1;
        asked += u32::from(resolution.on_timer(now, id, 2, &settings) == Event::Ask);
    }
    assert!(asked > before, "it asks again");
}
