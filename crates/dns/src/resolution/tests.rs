//! Tests of the machine: sequences that HAProxy 2.6 was seen to make, and the `hold` rules.

use super::*;
use crate::message::SrvRecord;
use proptest::prelude::*;

fn settings() -> Settings {
    let hold = Hold {
        valid: 1_000,
        nx: 2_000,
        other: 3_000,
        refused: 4_000,
        timeout: 5_000,
        obsolete: 1_500,
    };
    Settings { resolve: 300, retry: 200, retries: 2, hold, ..Settings::default() }
}

fn address(last: u8) -> Record {
    Record::Address([10, 0, 0, last].into())
}

fn answer(last: &[u8]) -> Reply {
    Reply::Answer(Answer { records: last.iter().map(|it| address(*it)).collect(), ttl: 60 })
}

/// A machine with a clock and a number of name servers.
struct Bench {
    it: Resolution,
    now: u64,
    servers: usize,
    settings: Settings,
}

impl Bench {
    fn new(kind: RecordType, servers: usize) -> Self {
        Self { it: Resolution::new("a.test", kind, 0), now: 0, servers, settings: settings() }
    }

    /// Advances the clock to the time at which the machine is due.
    fn wait(&mut self) -> Event {
        self.now = self.now.max(self.it.due());
        self.it.on_timer(self.now, 7, self.servers, &self.settings)
    }

    fn hear(&mut self, reply: Reply) -> Event {
        self.it.on_reply(reply, self.now, 7, self.servers, &self.settings)
    }

    fn known(&self) -> Vec<Record> {
        self.it.records().cloned().collect()
    }

    /// Fails every query until the machine gives up; returns times and types of the queries.
    fn fail(&mut self, failure: ResolveError) -> Vec<(u64, RecordType)> {
        let mut asked = Vec::new();
        let mut event = self.wait();
        loop {
            match event {
                Event::Ask => {
                    asked.push((self.now, self.it.kind));
                    event = match failure {
                        ResolveError::Timeout => self.wait(),
                        _ => self.hear(Reply::Failed(failure)),
                    };
                }
                Event::Failed(said) => {
                    assert_eq!(said, failure);
                    return asked;
                }
                _ => event = self.wait(),
            }
        }
    }
}

#[test]
fn an_error_is_answered_by_the_other_family_and_both_again_after_the_retry() {
    let mut bench = Bench::new(RecordType::V4, 1);
    let asked = bench.fail(ResolveError::NoSuchName);
    assert_eq!(
        asked,
        [(0, RecordType::V4), (0, RecordType::V6), (200, RecordType::V4), (200, RecordType::V6)]
    );
    assert_eq!(bench.it.due(), 500, "`timeout resolve` after the end");
    let mut services = Bench::new(RecordType::Service, 1);
    let asked = services.fail(ResolveError::NoSuchName);
    assert_eq!(
        asked,
        [(0, RecordType::Service), (200, RecordType::Service)],
        "a service has no family"
    );
}

#[test]
fn a_timeout_repeats_the_query() {
    let mut bench = Bench::new(RecordType::V6, 2);
    assert_eq!(bench.fail(ResolveError::Timeout), [(0, RecordType::V6), (200, RecordType::V6)]);
    assert_eq!((bench.now, bench.it.due()), (400, 700));
}

#[test]
fn one_valid_answer_is_enough_and_errors_count_when_all_have_failed() {
    let mut bench = Bench::new(RecordType::V4, 2);
    assert_eq!(bench.wait(), Event::Ask);
    assert_eq!(bench.hear(Reply::Failed(ResolveError::NoSuchName)), Event::Nothing);
    assert_eq!(bench.hear(Reply::Foreign), Event::Nothing);
    assert_eq!(bench.hear(answer(&[1])), Event::Answered);
    assert_eq!(bench.known(), [address(1)]);
    assert_eq!(bench.hear(answer(&[2])), Event::Nothing, "the second one comes too late");
    assert_eq!(bench.it.due(), 300);
    // The last error counts.
    assert_eq!(bench.wait(), Event::Ask);
    assert_eq!(bench.hear(Reply::Failed(ResolveError::NoSuchName)), Event::Nothing);
    assert_eq!(bench.hear(Reply::Malformed), Event::Ask);
    assert_eq!(bench.it.kind, RecordType::V6);
    // One name server fails, the other is silent: an error, not a timeout.
    assert_eq!(bench.hear(Reply::Failed(ResolveError::Refused)), Event::Nothing);
    assert_eq!(bench.wait(), Event::Nothing);
    assert_eq!(bench.wait(), Event::Ask);
    assert_eq!(bench.it.kind, RecordType::V4);
}

#[test]
fn the_last_valid_answer_is_kept_as_long_as_the_failure_says() {
    let spans = [
        (ResolveError::NoSuchName, 2_000),
        (ResolveError::Other, 3_000),
        (ResolveError::Empty, 3_000),
        (ResolveError::Alias, 3_000),
        (ResolveError::Refused, 4_000),
        (ResolveError::Timeout, 5_000),
    ];
    for (failure, span) in spans {
        let mut bench = Bench::new(RecordType::V4, 1);
        let holds = |bench: &Bench, now| {
            [now - 1, now].map(|at| bench.it.holds(failure, at, &bench.settings))
        };
        assert_eq!(holds(&bench, span), [true, false], "{failure:?}, what there was before");
        bench.now = 100;
        bench.wait();
        bench.hear(answer(&[1]));
        assert_eq!(holds(&bench, 100 + span), [true, false], "{failure:?}");
        while bench.now < 100 + span {
            assert_eq!(bench.known(), [address(1)], "{failure:?} at {}", bench.now);
            bench.fail(failure);
        }
        assert_eq!(bench.known(), [], "{failure:?} at {}", bench.now);
    }
}

#[test]
fn a_missing_record_is_kept_until_it_is_obsolete() {
    let mut bench = Bench::new(RecordType::V4, 1);
    bench.wait();
    bench.hear(answer(&[1, 2]));
    while bench.now < 1_500 {
        assert_eq!(bench.known()[..2], [address(1), address(2)], "at {}", bench.now);
        bench.wait();
        bench.hear(answer(&[2, 3]));
    }
    assert_eq!(bench.known(), [address(2), address(3)]);
    bench.settings.hold.obsolete = 0;
    bench.wait();
    bench.hear(answer(&[4]));
    assert_eq!(bench.known(), [address(4)], "at once, without `hold obsolete`");
}

#[test]
fn records_of_a_name_are_bounded() {
    let mut bench = Bench::new(RecordType::V4, 1);
    bench.settings.hold.obsolete = 3_600_000;
    let record = |n: u32| Record::Address(std::net::Ipv4Addr::from_bits(n).into());
    for round in 0..5 {
        bench.wait();
        let records: Vec<Record> = (round * 300..round * 300 + 300).map(record).collect();
        bench.hear(Reply::Answer(Answer { records: records.clone(), ttl: 60 }));
        let known = bench.known();
        assert!(known.len() <= message::MAX_RECORDS);
        assert!(records.iter().all(|it| known.contains(it)), "the last answer is kept");
    }
    assert_eq!(bench.known().len(), message::MAX_RECORDS);
}

#[test]
fn valid_records_answer_queries() {
    let mut bench = Bench::new(RecordType::V4, 1);
    assert!(!bench.it.is_fresh(0, &bench.settings));
    bench.wait();
    bench.hear(answer(&[1]));
    assert!(bench.it.is_fresh(999, &bench.settings) && !bench.it.is_fresh(1_000, &bench.settings));
    bench.fail(ResolveError::NoSuchName);
    assert!(!bench.it.is_fresh(bench.now, &bench.settings), "the name server knows better now");
}

#[test]
fn the_ttl_can_postpone_the_next_query() {
    let mut bench = Bench::new(RecordType::V4, 1);
    bench.settings.honours_ttl = true;
    bench.wait();
    bench.hear(answer(&[1]));
    assert_eq!(bench.it.due(), 60_000);
    bench.it.resolve_now(1_000);
    assert_eq!(bench.it.due(), 1_000, "unless somebody is in a hurry");
    bench.wait();
    bench.hear(Reply::Answer(Answer { records: vec![address(1)], ttl: 0 }));
    assert_eq!(bench.it.due(), 1_300, "never sooner than `timeout resolve`");
}

#[test]
fn the_weight_of_a_service_may_change() {
    let service =
        |weight| Record::Service(SrvRecord { target: "h".into(), port: 1, weight, address: None });
    let reply = |weight| Reply::Answer(Answer { records: vec![service(weight)], ttl: 1 });
    let mut bench = Bench::new(RecordType::Service, 1);
    bench.wait();
    bench.hear(reply(1));
    bench.wait();
    bench.hear(reply(9));
    assert_eq!(bench.known(), [service(9)]);
}

proptest! {
    #[test]
    fn resolutions_end_and_start_again(
        steps in prop::collection::vec((0u8..8, 0u64..400), 1..200), servers in 0usize..4,
    ) {
        let mut bench = Bench::new(RecordType::V4, servers);
        for (what, ahead) in steps {
            bench.now += ahead;
            let before = bench.it.due();
            let event = match what {
                0 => bench.hear(answer(&[1, 2])),
                1 => bench.hear(Reply::Failed(ResolveError::NoSuchName)),
                2 => bench.hear(Reply::Malformed),
                3 => bench.hear(Reply::Foreign),
                4 => bench.hear(Reply::Truncated),
                _ => bench.it.on_timer(bench.now, 7, servers, &bench.settings),
            };
            prop_assert_eq!(event == Event::Ask, event == Event::Ask && bench.it.asking().is_some());
            prop_assert!(bench.it.due() <= bench.now.max(before) + 1_000);
            prop_assert!(bench.it.left <= 2);
            if event == Event::Answered {
                prop_assert!(bench.known().len() >= 2);
            }
        }
        // Left alone, the machine gives up within its retries.
        let mut calls = 0;
        while !bench.it.is_idle() {
            bench.wait();
            calls += 1;
            prop_assert!(calls < 10);
        }
    }
}
