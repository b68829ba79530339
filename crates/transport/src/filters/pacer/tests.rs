//! Pacing with a virtual clock: rates, wakes, turns of several streams, a clock that is set.

use super::*;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// Bytes that a forwarder offers at once.
const BUFFER: u64 = 16_384;

fn per_second(bytes: u64) -> PaceLimit {
    PaceLimit { bytes, period_ms: 1_000, min_size: 0 }
}

/// A stream with bytes to send, and its record.
#[derive(Clone, Debug, Default)]
struct Sender {
    left: u64,
    turn: PaceTurn,
    wake: u64,
    wakes: u32,
    sent: Vec<(u64, u64)>,
}

impl Sender {
    fn new(left: u64) -> Self {
        Self { left, ..Self::default() }
    }

    /// Sends until it has to wait, as a forwarder does.
    fn run(&mut self, pacer: &mut Pacer, limit: &PaceLimit, used: PaceUse, now: u64) {
        self.wakes += 1;
        while self.left > 0 {
            let bytes = self.left.min(BUFFER);
            let offer = PaceOffer { bytes, last: bytes == self.left };
            match pacer.pass(limit, used, &mut self.turn, offer, now) {
                Pace::Bytes(bytes) => {
                    assert!(bytes > 0 && bytes <= offer.bytes, "{bytes}");
                    self.left -= bytes;
                    self.sent.push((now, bytes));
                }
                Pace::Until(at) => {
                    assert!(at > now, "a wait has an end that is to come");
                    // The timer has a resolution of a millisecond.
                    self.wake = at.div_ceil(MS) * MS;
                    return;
                }
            }
        }
    }

    fn sent_before(&self, moment: u64) -> u64 {
        self.sent.iter().filter(|(at, _)| *at < moment).map(|(_, bytes)| bytes).sum()
    }

    fn end(&self) -> u64 {
        self.sent.last().map_or(0, |(at, _)| *at)
    }
}

/// Runs streams that share a limit until all have sent everything; each wake is this late.
fn play(limit: &PaceLimit, senders: &mut [Sender], late: u64) {
    let mut pacer = Pacer::default();
    let start = 5 * SECOND;
    senders.iter_mut().for_each(|sender| sender.wake = start);
    while let Some(next) = senders.iter().filter(|it| it.left > 0).map(|sender| sender.wake).min() {
        let streams = senders.iter().filter(|sender| sender.left > 0).count() as u32;
        let recent = senders
            .iter()
            .flat_map(|it| &it.sent)
            .filter(|(at, _)| at + u64::from(limit.period_ms) * MS > next)
            .map(|(_, bytes)| bytes)
            .sum();
        let used =
            if senders.len() == 1 { PaceUse::ALONE } else { PaceUse { streams, recent, piece: 0 } };
        for sender in senders.iter_mut().filter(|it| it.left > 0 && it.wake == next) {
            sender.run(&mut pacer, limit, used, next + late);
        }
    }
    senders.iter_mut().flat_map(|it| &mut it.sent).for_each(|(at, _)| *at -= start);
}

fn alone(limit: &PaceLimit, bytes: u64) -> Sender {
    let mut senders = [Sender::new(bytes)];
    play(limit, &mut senders, 0);
    let [sender] = senders;
    sender
}

/// The most bytes that have passed in any span of this length.
fn most_within(sent: &[(u64, u64)], span: u64) -> u64 {
    let within = |start: u64| {
        let inside = sent.iter().filter(|(at, _)| (start..start + span).contains(at));
        inside.map(|(_, bytes)| bytes).sum()
    };
    sent.iter().map(|(at, _)| within(*at)).max().unwrap_or(0)
}

#[test]
fn the_allowance_of_a_period_passes_at_once_and_the_rest_evenly() {
    let sender = alone(&per_second(20_000), 100_000);
    assert_eq!(sender.sent_before(1), 20_000);
    assert_eq!(sender.sent_before(1_200 * MS), 20_000);
    assert_eq!(sender.sent_before(1_201 * MS), 24_000);
    assert_eq!(sender.end(), 5 * SECOND);
}

#[test]
fn rates_from_a_kilobyte_to_a_gigabyte_per_second_are_exact() {
    for rate in [1_000, 10_000, 1_000_000, 100_000_000, 1_000_000_000] {
        let sender = alone(&per_second(rate), 5 * rate);
        let end = sender.end() as f64 / SECOND as f64;
        assert!((end - 5.0).abs() < 0.05, "{rate} bytes/s: 5 s of payload take {end} s");
    }
}

#[test]
fn streams_of_a_crowded_thread_are_woken_less_often_and_keep_their_rate() {
    let limit = per_second(20_000);
    let pieces = [2_000, 4_000, 10_000, 1_000_000].map(|it| limit.crowd_piece(it, BUFFER));
    assert_eq!(pieces, [0, 8_000, BUFFER, BUFFER]);
    for piece in pieces {
        let (mut pacer, mut sender) = (Pacer::default(), Sender::new(200_000));
        sender.wake = 5 * SECOND;
        let used = PaceUse { piece, ..PaceUse::ALONE };
        while sender.left > 0 {
            let now = sender.wake;
            sender.run(&mut pacer, &limit, used, now);
        }
        let end = (sender.end() - 5 * SECOND) as f64 / SECOND as f64;
        assert!((end - 10.0).abs() < 0.1, "{piece}: 10 s of payload take {end} s");
        let most = 10 * limit.bytes / piece.max(limit.bytes / 5) + 2;
        assert!(u64::from(sender.wakes) <= most, "{piece}: {} wakes", sender.wakes);
    }
}

#[test]
fn wakes_that_are_late_cost_no_bandwidth() {
    let mut senders = [Sender::new(100_000)];
    play(&per_second(20_000), &mut senders, 40 * MS);
    // The first wake is late, and the last one.
    assert!(senders[0].end() <= 5_080 * MS, "{}", senders[0].end());
}

#[test]
fn wakes_of_a_thread_that_stalls_again_and_again_cost_no_bandwidth() {
    for late in [300 * MS, 600 * MS] {
        let mut senders = [Sender::new(400_000)];
        play(&per_second(20_000), &mut senders, late);
        let end = senders[0].end() as f64 / SECOND as f64;
        assert!(end <= 20.4 + late as f64 / SECOND as f64, "{late}: {end} s");
        let most = most_within(&senders[0].sent, SECOND);
        assert!(most <= 20_000 + 4_000 + BUFFER, "{late}: {most} bytes in a second");
    }
}

#[test]
fn a_stream_is_woken_at_most_five_times_per_second() {
    for (bytes, period_ms) in [(20_000, 1_000), (1_000_000_000, 1_000), (200, 10), (1, 1), (50, 7)]
    {
        let limit = PaceLimit { bytes, period_ms, min_size: 0 };
        let total = (bytes * 5_000 / u64::from(period_ms)).max(1_000);
        let sender = alone(&limit, total);
        let seconds = sender.end() / SECOND + 1;
        assert!(u64::from(sender.wakes) <= 5 * seconds + 2, "{limit:?}: {} wakes", sender.wakes);
    }
}

#[test]
fn no_period_has_more_than_its_allowance_and_a_buffer() {
    for rate in [10_000, 20_000, 75_000] {
        let sender = alone(&per_second(rate), 10 * rate);
        let most = most_within(&sender.sent, SECOND);
        assert!(most <= rate + BUFFER, "{rate}: {most}");
    }
}

#[test]
fn a_source_that_pauses_does_not_save_bandwidth_up() {
    let limit = per_second(20_000);
    let (mut pacer, mut sender) = (Pacer::default(), Sender::default());
    // A trickle, then a flood, again and again.
    for round in 0..20 {
        let start = round * 1_300 * MS;
        for step in 0..5 {
            sender.left += 100;
            sender.run(&mut pacer, &limit, PaceUse::ALONE, start + step * 60 * MS);
        }
        sender.left = 30_000;
        sender.wake = start + 700 * MS;
        while sender.wake < start + 1_300 * MS {
            let now = sender.wake;
            sender.run(&mut pacer, &limit, PaceUse::ALONE, now);
        }
    }
    let most = most_within(&sender.sent, SECOND);
    assert!(most <= 20_000 + BUFFER, "{most}");
}

#[test]
fn an_idle_period_brings_a_new_allowance() {
    let limit = per_second(20_000);
    let (mut pacer, mut sender) = (Pacer::default(), Sender::new(1_000));
    sender.run(&mut pacer, &limit, PaceUse::ALONE, SECOND);
    sender.left = 50_000;
    sender.run(&mut pacer, &limit, PaceUse::ALONE, 3 * SECOND);
    assert_eq!(sender.sent.iter().filter(|(at, _)| *at == 3 * SECOND).count(), 2);
    assert_eq!(sender.left, 30_000);
}

#[test]
fn pieces_below_the_minimum_wait_until_they_are_large_enough() {
    let limit = PaceLimit { min_size: 5_000, ..per_second(20_000) };
    let sender = alone(&limit, 60_000);
    let (last, others) = sender.sent.split_last().unwrap();
    assert!(others.iter().all(|(_, bytes)| *bytes >= 5_000), "{:?}", sender.sent);
    assert!(last.1 > 0 && (2_900 * MS..3_100 * MS).contains(&sender.end()), "{}", sender.end());
}

#[test]
fn a_minimum_above_the_limit_lengthens_the_waits_and_keeps_the_rate() {
    let limit = PaceLimit { min_size: 4_000, ..per_second(1_000) };
    let sender = alone(&limit, 20_000);
    assert!(sender.sent.iter().all(|(_, bytes)| *bytes >= 4_000), "{:?}", sender.sent);
    assert!((19 * SECOND..21 * SECOND).contains(&sender.end()), "{}", sender.end());
}

#[test]
fn small_pieces_below_the_rate_pass_without_a_wait() {
    let limit = per_second(20_000);
    let (mut pacer, mut sender) = (Pacer::default(), Sender::default());
    for step in 0..100 {
        sender.left += 100;
        sender.run(&mut pacer, &limit, PaceUse::ALONE, step * 10 * MS);
        assert_eq!(sender.left, 0, "step {step}");
    }
}

#[test]
fn streams_of_one_limit_share_it_equally_and_none_starves() {
    for late in [0, 1, 7] {
        let mut senders = vec![Sender::new(90_000); 3];
        play(&per_second(30_000), &mut senders, late * MS);
        let ends: Vec<u64> = senders.iter().map(|it| it.end() / MS).collect();
        let last = *ends.iter().max().unwrap();
        assert!((8_900..9_200).contains(&last), "{ends:?}");
        // The first one has the allowance of the first period, the rest is even.
        for second in 2..6 {
            let within = |it: &Sender| {
                it.sent_before((second + 1) * SECOND) - it.sent_before(second * SECOND)
            };
            for sender in &senders {
                let share = within(sender);
                assert!((8_000..=12_100).contains(&share), "second {second}: {share}");
            }
        }
        for sender in &senders {
            let mut before = SECOND;
            for (at, _) in sender.sent.iter().filter(|(at, _)| *at > SECOND) {
                assert!(at - before <= 500 * MS, "a stream waits {} ms", (at - before) / MS);
                before = *at;
            }
        }
    }
}

#[test]
fn a_thousand_streams_share_a_limit_and_are_woken_seldom() {
    let mut senders = vec![Sender::new(2_000); 1_000];
    play(&per_second(400_000), &mut senders, 0);
    let last = senders.iter().map(Sender::end).max().unwrap();
    assert!((4_900 * MS..5_400 * MS).contains(&last), "{} ms", last / MS);
    let wakes = senders.iter().map(|it| it.wakes).max().unwrap();
    assert!(wakes <= 30, "{wakes}");
}

#[test]
fn unused_shares_go_to_streams_with_payload() {
    let limit = per_second(30_000);
    let (mut pacer, mut sender) = (Pacer::default(), Sender::new(150_000));
    let used = PaceUse { streams: 3, recent: 0, piece: 0 };
    while sender.left > 0 {
        let now = sender.wake;
        sender.run(&mut pacer, &limit, used, now);
    }
    assert!(sender.end() <= 5_100 * MS, "{}", sender.end() / MS);
    assert!(sender.wakes <= 27, "{}", sender.wakes);
}

#[test]
fn a_new_allowance_leaves_out_what_was_used_before() {
    let (mut pacer, mut sender) = (Pacer::default(), Sender::new(50_000));
    let used = PaceUse { streams: 1, recent: 25_000, piece: 0 };
    sender.run(&mut pacer, &per_second(30_000), used, SECOND);
    assert_eq!(sender.sent_before(2 * SECOND), 5_000);
}

#[test]
fn traffic_of_other_processes_slows_a_shared_limit_without_stopping_it() {
    let (mut pacer, mut sender) = (Pacer::default(), Sender::new(30_000));
    let used = PaceUse { streams: 1, recent: 100_000, piece: 0 };
    let mut longest = 0;
    while sender.left > 0 {
        let now = sender.wake;
        let before = sender.end();
        sender.run(&mut pacer, &per_second(30_000), used, now);
        longest = longest.max(sender.end() - before);
    }
    assert!(sender.end() > 3 * SECOND, "{}", sender.end());
    assert!(longest < 2 * SECOND, "{longest}");
}

#[test]
fn a_clock_that_is_set_loses_no_time() {
    for shift in [-3_600, 3_600] {
        let limit = per_second(20_000);
        let (mut pacer, mut sender) = (Pacer::default(), Sender::new(100_000));
        let start = 7_200 * SECOND;
        sender.wake = start;
        while sender.wake < start + 2 * SECOND {
            let now = sender.wake;
            sender.run(&mut pacer, &limit, PaceUse::ALONE, now);
        }
        sender.wake = (start + 2 * SECOND).saturating_add_signed(shift * SECOND as i64);
        let resumed = sender.wake;
        while sender.left > 0 {
            let now = sender.wake;
            sender.run(&mut pacer, &limit, PaceUse::ALONE, now);
        }
        let rest = sender.end() - resumed;
        assert!((1_500 * MS..=3_500 * MS).contains(&rest), "{shift}: {} ms", rest / MS);
    }
}

#[test]
fn threads_whose_clocks_differ_a_little_share_a_limit() {
    let limit = per_second(30_000);
    let (mut pacer, mut turn) = (Pacer::default(), PaceTurn::default());
    let used = PaceUse { streams: 2, recent: 0, piece: 0 };
    let offer = PaceOffer { bytes: 20_000, last: false };
    assert_eq!(pacer.pass(&limit, used, &mut turn, offer, SECOND), Pace::Bytes(20_000));
    let earlier = SECOND - 5 * MS;
    assert_eq!(pacer.pass(&limit, used, &mut turn, offer, earlier), Pace::Bytes(10_000));
}

#[test]
fn a_stream_that_ends_gives_back_what_it_has_reserved() {
    let limit = PaceLimit { bytes: 1, period_ms: 2_000_000_000, min_size: u64::from(u32::MAX) };
    let (mut pacer, offer) = (Pacer::default(), PaceOffer { bytes: 100, last: false });
    for _ in 0..1_000 {
        let mut turn = PaceTurn::default();
        let used = PaceUse { streams: 1, recent: 0, piece: 0 };
        let pace = pacer.pass(&limit, used, &mut turn, offer, SECOND);
        assert!(matches!(pace, Pace::Until(_)));
        pacer.cancel(&limit, &mut turn);
        assert_eq!(turn, PaceTurn::default());
    }
    assert!(pacer.paid <= SECOND, "{}", pacer.paid);
}

#[test]
fn a_pacer_that_is_made_anew_saves_up_nothing() {
    let mut turn = PaceTurn::default();
    let used = PaceUse { streams: 1, recent: 30_000, piece: 0 };
    let offer = PaceOffer { bytes: 1_000, last: false };
    let pace = Pacer::default().pass(&per_second(30_000), used, &mut turn, offer, SECOND);
    assert_eq!(pace, Pace::Until(SECOND + TURN));
}
