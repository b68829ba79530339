//! Tests of the wire format: encoded bytes, and hostile or broken answers.

use super::*;
use proptest::prelude::*;

const ID: u16 = 0x1234;

/// The labels of a name on the wire.
fn wire(name: &str) -> Vec<u8> {
    let labels = name.split('.').filter(|label| !label.is_empty());
    let mut bytes: Vec<u8> =
        labels.flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat()).collect();
    bytes.push(0);
    bytes
}

fn record(owner: &[u8], rtype: u16, ttl: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = owner.to_vec();
    bytes.extend(rtype.to_be_bytes());
    bytes.extend(1u16.to_be_bytes());
    bytes.extend(ttl.to_be_bytes());
    bytes.extend((data.len() as u16).to_be_bytes());
    bytes.extend(data);
    bytes
}

/// A response with these flags and sections.
fn response(
    flags: u16,
    question: (&str, u16),
    answers: &[Vec<u8>],
    additional: &[Vec<u8>],
) -> Vec<u8> {
    let mut bytes = ID.to_be_bytes().to_vec();
    for word in [flags, 1, answers.len() as u16, 0, additional.len() as u16] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend(wire(question.0));
    bytes.extend(question.1.to_be_bytes());
    bytes.extend(1u16.to_be_bytes());
    bytes.extend(answers.concat());
    bytes.extend(additional.concat());
    bytes
}

const GOOD: u16 = 0x8180;
/// A pointer to the name of the question.
const SAME: &[u8] = &[0xc0, 12];

fn answers(answers: &[Vec<u8>]) -> Reply {
    decode(&response(GOOD, ("app.test", 1), answers, &[]), ID, "app.test", RecordType::V4)
}

fn addresses(reply: Reply) -> Vec<String> {
    let Reply::Answer(answer) = reply else { panic!("{reply:?}") };
    let text = |record: &Record| match record {
        Record::Address(address) => address.to_string(),
        Record::Service(service) => format!("{service:?}"),
    };
    answer.records.iter().map(text).collect()
}

#[test]
fn queries_equal_haproxys() {
    let mut expected = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1];
    expected.extend(wire("app.test"));
    expected.extend([0, 1, 0, 1]);
    // An OPT record with the payload size.
    expected.extend([0, 0, 41, 2, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(encode(ID, "app.test", RecordType::V4, 512), Some(expected));
    for (kind, rtype) in [(RecordType::V6, 28), (RecordType::Service, 33)] {
        let question = encode(ID, "_a._tcp.b.", kind, 4096).unwrap();
        let at = 12 + wire("_a._tcp.b").len();
        assert_eq!(question[at..at + 2], [0, rtype]);
        assert_eq!(question[question.len() - 8..][..2], [16, 0]);
    }
    for bad in ["", ".", "a..b", "a b", "é", &"x".repeat(64), &"abc.".repeat(70)] {
        assert!(!is_name(bad) && encode(ID, bad, RecordType::V4, 512).is_none(), "{bad}");
    }
}

#[test]
fn addresses_and_their_least_time_to_live() {
    let one = record(SAME, 1, 60, &[10, 0, 0, 1]);
    let two = record(&wire("APP.test"), 1, 5, &[10, 0, 0, 2]);
    let reply = answers(&[one.clone(), two, one]);
    let Reply::Answer(answer) = &reply else { panic!("{reply:?}") };
    assert_eq!(answer.ttl, 5);
    assert_eq!(addresses(reply), ["10.0.0.1", "10.0.0.2"], "each once, in order");
    let six = record(SAME, 28, 1, &std::net::Ipv6Addr::LOCALHOST.octets());
    let bytes = response(GOOD, ("app.test", 28), &[six], &[]);
    assert_eq!(addresses(decode(&bytes, ID, "app.test", RecordType::V6)), ["::1"]);
}

#[test]
fn aliases_are_followed() {
    let alias = |from: &[u8], to: &str| record(from, 5, 60, &wire(to));
    let address = record(&wire("y.test"), 1, 60, &[10, 0, 0, 3]);
    let chain = [alias(SAME, "x.test"), alias(&wire("x.test"), "y.test"), address.clone()];
    assert_eq!(addresses(answers(&chain)), ["10.0.0.3"]);
    assert_eq!(answers(&chain[..2]), Reply::Failed(ResolveError::Alias));
    assert_eq!(answers(&[address]), Reply::Failed(ResolveError::Empty), "somebody else's address");
    // A CNAME loop.
    let circle = [alias(SAME, "x.test"), alias(&wire("x.test"), "app.test")];
    assert!(!matches!(answers(&circle), Reply::Answer(_)));
}

#[test]
fn srv_records_and_additional_addresses() {
    let srv = |weight: u16, port: u16, target: &str| {
        let numbers: Vec<u8> = [1, weight, port].iter().flat_map(|n| n.to_be_bytes()).collect();
        record(SAME, 33, 60, &[numbers, wire(target)].concat())
    };
    let told = record(&wire("h2.test"), 1, 60, &[10, 0, 0, 8]);
    let all = [srv(10, 8001, "H1.test"), srv(256, 8002, "h2.test"), srv(1, 1, ".")];
    let bytes = response(GOOD, ("_h._tcp.test", 33), &all, &[told]);
    let Reply::Answer(answer) = decode(&bytes, ID, "_h._tcp.test", RecordType::Service) else {
        panic!()
    };
    let service = |target: &str, port, weight, address: Option<&str>| {
        let address = address.map(|text| text.parse().unwrap());
        Record::Service(SrvRecord { target: target.into(), port, weight, address })
    };
    let expected =
        [service("h1.test", 8001, 10, None), service("h2.test", 8002, 256, Some("10.0.0.8"))];
    assert_eq!(answer.records, expected, "a target of one dot is nowhere");
}

#[test]
fn refusals_by_their_codes() {
    let codes = [
        (GOOD | 3, Reply::Failed(ResolveError::NoSuchName)),
        (GOOD | 5, Reply::Failed(ResolveError::Refused)),
        (GOOD | 2, Reply::Failed(ResolveError::Other)),
        (GOOD, Reply::Failed(ResolveError::Empty)),
        (GOOD | 0x200, Reply::Truncated),
    ];
    for (flags, expected) in codes {
        let bytes = response(flags, ("app.test", 1), &[], &[]);
        assert_eq!(decode(&bytes, ID, "app.test", RecordType::V4), expected, "{flags:x}");
    }
    // A name server that could not parse the query reports that without repeating it.
    let mut bytes = response(GOOD | 1, ("app.test", 1), &[], &[]);
    bytes.truncate(12);
    bytes[5] = 0;
    assert_eq!(decode(&bytes, ID, "app.test", RecordType::V4), Reply::Failed(ResolveError::Other));
}

#[test]
fn answers_to_other_questions_are_foreign() {
    let good = response(GOOD, ("app.test", 1), &[record(SAME, 1, 60, &[10, 0, 0, 1])], &[]);
    assert!(matches!(decode(&good, ID, "APP.test.", RecordType::V4), Reply::Answer(_)));
    assert_eq!(decode(&good, ID + 1, "app.test", RecordType::V4), Reply::Foreign, "another number");
    assert_eq!(decode(&good, ID, "bpp.test", RecordType::V4), Reply::Foreign, "another name");
    assert_eq!(decode(&good, ID, "app.test", RecordType::V6), Reply::Foreign, "another type");
    let mut question = good.clone();
    question[2] &= 0x7f;
    assert_eq!(decode(&question, ID, "app.test", RecordType::V4), Reply::Foreign, "no response");
}

#[test]
fn loops_and_false_lengths_are_malformed() {
    // A name that points at itself, at later bytes, or beyond the end.
    let here = (12 + wire("app.test").len() + 4) as u16;
    for target in [here, here + 2, 0x3fff] {
        let pointer = (0xc000 | target).to_be_bytes();
        let reply = answers(&[record(&pointer, 1, 60, &[10, 0, 0, 1])]);
        assert_eq!(reply, Reply::Malformed, "{target}");
    }
    let short = record(SAME, 1, 60, &[10, 0, 0]);
    assert_eq!(answers(&[short]), Reply::Malformed, "an address of three bytes");
    let mut long = record(SAME, 1, 60, &[10, 0, 0, 1]);
    long[11] = 200;
    assert_eq!(answers(&[long]), Reply::Malformed, "data beyond the end");
    let mut many = response(GOOD, ("app.test", 1), &[record(SAME, 1, 60, &[10, 0, 0, 1])], &[]);
    many[6] = 0xff;
    assert_eq!(
        decode(&many, ID, "app.test", RecordType::V4),
        Reply::Malformed,
        "records not there"
    );
    assert_eq!(decode(&many[..11], ID, "app.test", RecordType::V4), Reply::Malformed);
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        kind in prop::sample::select(vec![RecordType::V4, RecordType::V6, RecordType::Service]),
    ) {
        let _ = decode(&bytes, ID, "app.test", kind);
        let _ = id(&bytes);
    }

    #[test]
    fn a_damaged_answer_yields_no_more_records(
        at in 0usize..200, to in any::<u8>(), cut in 0usize..200,
    ) {
        let alias = record(SAME, 5, 60, &wire("x.test"));
        let owner = wire("x.test");
        let all = [alias, record(&owner, 1, 60, &[10, 0, 0, 1]), record(&owner, 1, 9, &[10, 0, 0, 2])];
        let mut bytes = response(GOOD, ("app.test", 1), &all, &[record(&owner, 1, 9, &[1, 2, 3, 4])]);
        let len = bytes.len();
        bytes[at % len] = to;
        bytes.truncate(len - cut % len);
        if let Reply::Answer(answer) = decode(&bytes, ID, "app.test", RecordType::V4) {
            prop_assert!(!answer.records.is_empty() && answer.records.len() <= 4);
        }
    }

    #[test]
    fn names_are_encoded_unchanged(text in "[a-z0-9_.-]{0,80}") {
        if let Some(bytes) = encode(ID, &text, RecordType::V4, 512) {
            let mut back = bytes.clone();
            back[2] |= 0x80;
            back[3] |= 3;
            prop_assert_eq!(decode(&back, ID, &text, RecordType::V4), Reply::Failed(ResolveError::NoSuchName));
        }
    }
}
