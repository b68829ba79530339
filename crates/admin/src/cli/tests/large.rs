//! Answers of any size come in small pieces, each in a turn of its own.

use super::*;
use ::table::{DataType, KeyKind};

/// The maximum of lines of one piece.
const LINES: usize = 128;
/// Entries of the table.
const ENTRIES: u32 = 3_000;

/// A runtime with a table `t` of many entries, each of which has its number in `gpc0`.
fn with_table() -> Bench {
    let mut settings = ::table::Settings::new("t", KeyKind::Integer, ENTRIES);
    settings.expire = Some(60_000);
    settings.add(DataType::Gpc0, 1, 0);
    settings.add(DataType::HttpReqRate, 1, 10_000);
    let process = settings::Process { tables: vec![settings], ..testing::process() };
    bench(proxy::build(process, testing::proxies(), Default::default(), 0))
}

fn bench(shared: Arc<Shared>) -> Bench {
    let worker = testing::worker(&shared);
    let now = worker.millis();
    for table in &shared.tables {
        for number in 1..=ENTRIES {
            let key = ::table::Key::integer(number.into());
            let count = |entry: &::table::Entry| entry.count(&[DataType::Gpc0], number.into(), now);
            table.enter(&key, now, count).unwrap();
        }
    }
    Bench { worker, settings: testing::settings(), shared, listener: Cell::new(-1) }
}

/// The pieces of an answer; the table's entries are counted between them.
fn pieces(bench: &Bench, line: &str, mut between: impl FnMut(&str)) {
    let mut state = SessionState::new(&offer(Level::Admin), &bench.settings);
    let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
    let (worker, settings) = (&bench.worker, &bench.settings);
    let mut call = Call { worker, settings, state: &mut state, words: &words, payload: None };
    let Reply::Pieces(mut next) = table::run(&mut call) else { panic!("{line}: all at once") };
    let mut more = true;
    while more {
        let mut out = String::new();
        more = next(worker, &mut out);
        between(&out);
    }
}

/// The number of pieces, the number of lines of the longest piece, and all lines.
fn counted(bench: &Bench, line: &str) -> (usize, usize, String) {
    let (mut count, mut longest, mut all) = (0, 0, String::new());
    pieces(bench, line, |piece| {
        count += 1;
        longest = longest.max(piece.lines().count());
        all.push_str(piece);
    });
    (count, longest, all)
}

#[test]
fn keys_of_integers_have_no_sign() {
    let bench = with_table();
    for key in ["-7", "x", "4294967296"] {
        for command in ["set", "show", "clear"] {
            let line = format!("{command} table t key {key}");
            assert_eq!(bench.run(&line), "Invalid key\n\n", "{line}");
        }
    }
    assert_eq!(bench.run("set table t key 4294967295"), "\n");
    assert!(bench.run("show table t key 4294967295").contains(" key=4294967295 "));
}

/// As in HAProxy, an address of the other family is refused, and each command names its own
/// arguments.
#[test]
fn keys_are_of_the_table_s_family() {
    let settings = ::table::Settings::new("six", KeyKind::Ipv6, 10);
    let process = settings::Process { tables: vec![settings], ..testing::process() };
    let shared = proxy::build(process, testing::proxies(), Default::default(), 0);
    let (worker, settings) = (testing::worker(&shared), testing::settings());
    let bench = Bench { worker, settings, shared, listener: Cell::new(-1) };
    assert_eq!(bench.run("set table six key 1.2.3.4"), "Invalid key\n\n");
    assert_eq!(bench.run("set table six key ::1"), "\n");
    let cleared = bench.run("clear table six foo");
    assert!(cleared.starts_with("Required arguments: <table> \"data."), "{cleared}");
    assert!(bench.run("show table six foo").starts_with("Optional argument only supports"));
}

#[test]
fn a_piece_of_a_table_looks_at_few_entries_whether_it_shows_them_or_not() {
    let bench = with_table();
    let least = ENTRIES as usize / ::table::STEP;
    let (count, longest, all) = counted(&bench, "show table t");
    assert!(count >= least && longest <= ::table::STEP + 1, "{count} pieces of {longest} lines");
    let title = format!("# table: t, type: integer, size:{ENTRIES}, used:{ENTRIES}\n");
    assert!(all.starts_with(&title), "{}", &all[..100]);
    let mut numbers = Vec::new();
    for line in all.lines().skip(1) {
        let (place, rest) = line.split_once(": key=").unwrap();
        assert!(place.starts_with("0x"), "{line}");
        let words: Vec<_> = rest.split(' ').collect();
        let [key, "use=0", expiry, gpc0, "http_req_rate(10000)=0"] = words[..] else {
            panic!("{line}");
        };
        assert!(expiry.strip_prefix("exp=").is_some_and(|ms| ms.parse::<u32>().is_ok()), "{line}");
        assert_eq!(gpc0.strip_prefix("gpc0="), Some(key));
        numbers.push(key.parse::<u32>().unwrap());
    }
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(1..=ENTRIES));
    // A search that finds nothing is no shorter.
    let (count, _, all) = counted(&bench, "show table t data.gpc0 gt 1000000");
    assert!(count >= least && all == title, "{count} pieces: {all}");
}

#[test]
fn a_piece_of_a_removal_takes_few_entries_out() {
    let bench = with_table();
    let table = bench.shared.tables[0].clone();
    let mut left = table.used();
    pieces(&bench, "clear table t data.gpc0 gt 10", |_| {
        let now = table.used();
        assert!(left - now <= ::table::STEP as u32, "{} went at once", left - now);
        left = now;
    });
    assert_eq!(left, 10);
}

#[test]
fn a_piece_of_a_map_looks_at_few_rows() {
    let bench = with_patterns();
    let map = &bench.settings.dictionaries.find("m").unwrap();
    for _ in 0..2_000 {
        map.add(None, b"key", b"value").unwrap();
    }
    let (count, longest, all) = counted(&bench, "show map m");
    assert!(count >= 2_000 / LINES && longest <= LINES, "{count} pieces of {longest} lines");
    assert_eq!(all.lines().count(), 2_003);
    assert_eq!(all.lines().last(), Some("0x7d2 key value"));
    let version = map.prepare();
    map.add(Some(version), b"only", b"one").unwrap();
    let (_, _, all) = counted(&bench, &format!("show map @{version} m"));
    assert_eq!(all, "0x7d3 only one\n");
}

#[test]
fn servers_are_listed_some_at_a_time() {
    let bench = bench(testing::crowded(1_000));
    for (line, most) in [("show stat", 16), ("show servers state", 34)] {
        let (_, longest, all) = counted(&bench, line);
        assert!(longest <= most, "{line}: {longest} lines at once");
        assert!(all.lines().count() > 1_000, "{line}");
    }
}

#[test]
fn the_thread_sleeps_while_a_long_answer_is_made() {
    let bench = with_table();
    let address = bench.listen(Level::Admin);
    let activity = bench.worker.thread.scheduler().activity().clone();
    for question in ["show table t\n", "show table t data.gpc0 gt 1000000\n"] {
        let before = (activity.loops.get(), activity.poll_expired.get());
        bench.ask(address, question);
        let pieces = u64::from(ENTRIES) / ::table::STEP as u64;
        let [turns, slept] =
            [activity.loops.get() - before.0, activity.poll_expired.get() - before.1];
        assert!(turns >= pieces, "{turns} turns for {pieces} pieces");
        assert!(slept >= pieces / 16, "slept {slept} times between {pieces} pieces");
    }
}
