//! Orders measured with HAProxy 2.6 behind known weights and hashes, held as tables.

use stdx::Prng;

use super::{ORDERS, backend, id, ordered, pick, sequence, with};
use crate::{Admin, Algorithm, HashMethod, NoServer, PickRequest, Ticket, hash};

const MAINT: Admin = Admin::FORCED_MAINT;
const NONE: Admin = Admin(0);

#[test]
fn round_robin_takes_turns_in_the_measured_order() {
    let table: &[(&[u32], &str)] = &[
        (&[1, 1, 1], "123123123123123123123123"),
        (&[3, 2, 1], "121312121312121312121312"),
        (&[1, 2, 3], "323132323132323132323132"),
        (&[10, 1], "111111111121111111111211"),
        (&[1, 10], "222222222212222222222122"),
        (&[5, 1, 1], "111211311121131112113111"),
        (&[2, 2, 1], "121231212312123121231212"),
        (&[1, 2], "221221221221221221221221"),
        (&[3, 3, 2], "121231213212312132123121"),
        (&[256, 128, 1], "112112112112112112112112112112112112112112112112112112112112"),
        (&[7, 3, 2, 1], "112131214132111213121413"),
        (&[4, 3], "112121211212121121212112"),
        (&[0, 1, 1], "232323232323232323232323"),
        (
            &[3, 2, 2, 3, 2, 3],
            "1462314651243615462314651243615462314651243615462314651243615462314651",
        ),
        (&[7, 7, 2], "121212123121212132121212312121213212121231212121"),
    ];
    for (weights, order) in table {
        assert_eq!(sequence(&backend(Algorithm::RoundRobin, weights), order.len()), *order);
    }
}

#[test]
fn round_robin_takes_changes_in_its_stride() {
    let all = backend(Algorithm::RoundRobin, &[1, 1, 1]);
    assert_eq!(sequence(&all, 4), "1231");
    all.set_admin(1, MAINT, NONE, 0);
    assert_eq!(sequence(&all, 6), "313131");
    all.set_admin(1, NONE, MAINT, 0);
    assert_eq!(sequence(&all, 9), "312312312");

    let weighted = backend(Algorithm::RoundRobin, &[3, 2, 1]);
    assert_eq!(sequence(&weighted, 6), "121312");
    weighted.set_weight(2, 4, 0);
    assert_eq!(sequence(&weighted, 18), "123132133123132133");

    let alone = backend(Algorithm::RoundRobin, &[3, 2, 1]);
    assert_eq!(sequence(&alone, 4), "1213");
    alone.set_admin(0, MAINT, NONE, 0);
    assert_eq!(sequence(&alone, 6), "222232");
}

#[test]
fn a_full_server_catches_up_on_a_round_and_no_more() {
    // As HAProxy 2.6 continues with equal weights, however long the first server has been full.
    let table: &[(&[u32], usize, &str)] = &[
        (&[1, 1], 600_000, "121212121212"),
        (&[1, 1], 1, "112121212121"),
        (&[10, 1], 1_000, "111111111121111111111211"),
        (&[1, 10], 1_000, "122222222222122222222221"),
    ];
    for (weights, count, order) in table {
        let backend = backend(Algorithm::RoundRobin, weights);
        let full = &backend.servers()[0];
        sequence(&backend, 12);
        let held = Ticket::claim(full);
        full.set_maxconn(1);
        let random = Prng::new(1);
        (0..*count).for_each(|_| assert_eq!(id(&pick(&backend, None, &random).unwrap()), 2));
        drop(held);
        assert_eq!(sequence(&backend, order.len()), *order, "{weights:?} {count}");
    }
}

#[test]
fn static_round_robin_follows_its_table() {
    let table: &[(&[u32], &str)] = &[
        (&[3, 2, 1], "112123112123"),
        (&[1, 2, 3], "132323132323"),
        (&[10, 1], "111111111121111111111211"),
        (&[1, 10], "122222222221222222222212"),
        (&[5, 1, 1], "111211311121131112113111"),
        (&[3, 3, 2], "121321231213212312132123"),
        (&[7, 3, 2, 1], "112121312131411212131213"),
        (&[4, 3], "112121211212121121212112"),
        (&[0, 1, 1], "232323"),
        (&[256, 128, 1], "112112112112112112112112"),
    ];
    for (weights, order) in table {
        assert_eq!(sequence(&backend(Algorithm::StaticRr, weights), order.len()), *order);
    }
}

#[test]
fn static_algorithms_keep_the_configured_weights() {
    let map = Algorithm::Hash { method: HashMethod::MapBased, balance_factor: 0 };
    for algorithm in [Algorithm::StaticRr, map] {
        let backend = backend(algorithm, &[3, 2]);
        let weight = |given| {
            backend.set_weight(0, given, 0);
            backend.servers()[0].user_weight()
        };
        assert_eq!([200, 0, 1, 3].map(weight), [3, 0, 0, 3], "{algorithm:?}");
    }
}

#[test]
fn least_connections_fills_up_in_the_measured_order() {
    let table: &[(&[u32], &str)] = &[
        (&[1, 1, 1], "12312312312312"),
        (&[3, 1], "12111121112111"),
        (&[3, 2, 1], "12312112132112"),
        (&[2, 2, 1], "12312123121231"),
        (&[10, 3], "12111112111211"),
    ];
    let random = Prng::new(1);
    for (index, (weights, order)) in
        ORDERS.iter().flat_map(|index| table.iter().map(move |row| (index, row)))
    {
        let backend = ordered(*index, weights);
        let held: Vec<Ticket> =
            order.chars().map(|_| pick(&backend, None, &random).unwrap()).collect();
        let seen: String = held.iter().map(|t| id(t).to_string()).collect();
        assert_eq!(seen, *order, "{index:?} {weights:?}");
        drop(held);
        let ids: String = (1..=weights.len()).map(|n| n.to_string()).collect();
        assert_eq!(sequence(&backend, 3 * ids.len()).len(), 3 * ids.len());
    }
    for index in ORDERS {
        assert_eq!(sequence(&ordered(index, &[3, 1]), 6), "121212");
    }
}

#[test]
fn first_fills_one_server_after_the_other() {
    let backend = with(Algorithm::First, &[1, 1, 1], |s| s.maxconn = 2);
    let random = Prng::new(1);
    let held: Vec<_> = (0..6).map(|_| pick(&backend, None, &random).unwrap()).collect();
    let ids: Vec<_> = held.iter().map(id).collect();
    assert_eq!(ids, [1, 1, 2, 2, 3, 3]);
    assert_eq!(pick(&backend, None, &random).unwrap_err(), NoServer::Full);
}

#[test]
fn sources_and_uris_map_to_the_measured_servers() {
    let sources = [
        "10.0.0.1",
        "10.0.0.2",
        "10.0.0.3",
        "192.168.7.9",
        "1.2.3.4",
        "2001:db8::1",
        "2001:db8::2",
    ];
    let sources: Vec<u32> = sources.map(|a| hash::source(a.parse().unwrap())).to_vec();
    let uris = ["/", "/a", "/url1", "/url2", "/url3", "/x/y/z"];
    let uris: Vec<u32> = uris.map(|uri| hash::sdbm(uri.as_bytes())).to_vec();
    let mixed = |keys: &[u32]| keys.iter().map(|k| hash::avalanche(*k)).collect::<Vec<_>>();
    let map = Algorithm::Hash { method: HashMethod::MapBased, balance_factor: 0 };
    let ring = Algorithm::Hash { method: HashMethod::Consistent, balance_factor: 0 };
    let table: &[(Algorithm, [u32; 3], Vec<u32>, &str)] = &[
        (map, [1, 1, 1], sources.clone(), "3122212"),
        (map, [3, 2, 1], sources.clone(), "3111212"),
        (map, [1, 1, 1], uris.clone(), "312312"),
        (map, [3, 2, 1], uris.clone(), "311212"),
        (ring, [1, 1, 1], mixed(&sources), "1111213"),
        (ring, [3, 2, 1], mixed(&sources), "1111212"),
        (ring, [1, 1, 1], mixed(&uris), "222131"),
        (ring, [3, 2, 1], mixed(&uris), "121131"),
    ];
    let random = Prng::new(1);
    for (algorithm, weights, keys, order) in table {
        let backend = backend(*algorithm, weights);
        let one = |key: &u32| id(&pick(&backend, Some(*key), &random).unwrap()).to_string();
        assert_eq!(keys.iter().map(one).collect::<String>(), *order, "{algorithm:?} {weights:?}");
    }
}

#[test]
fn only_the_first_backup_serves_unless_all_may() {
    let settings = |backup: bool, id: u32| {
        let mut settings = crate::ServerSettings::new(id, format!("s{id}"));
        settings.backup = backup;
        settings
    };
    let servers = || vec![settings(false, 1), settings(true, 2), settings(true, 3)];
    for (all, order) in [(false, "2222"), (true, "2323")] {
        let backend = crate::Balancer::new(Algorithm::RoundRobin, all, servers(), 0);
        let takes_part = || [0, 1, 2, 3].map(|slot| backend.takes_part(slot));
        assert_eq!((&*sequence(&backend, 3), takes_part()), ("111", [true, false, false, false]));
        backend.set_weight(0, 0, 0);
        assert_eq!((&*sequence(&backend, 4), takes_part()), (order, [false, true, all, false]));
        assert!(backend.usable().on_backup());
        backend.set_admin(1, MAINT, NONE, 0);
        backend.set_admin(2, Admin::FORCED_DRAIN, NONE, 0);
        let none = pick(&backend, None, &Prng::new(1)).unwrap_err();
        assert_eq!((none, backend.usable()), (NoServer::Unusable, crate::Usable::default()));
        assert_eq!(takes_part(), [false; 4]);
    }
}

#[test]
fn the_avoided_server_is_taken_only_when_alone() {
    let random = Prng::new(1);
    let hash = |method| Algorithm::Hash { method, balance_factor: 0 };
    let all = [
        Algorithm::RoundRobin,
        Algorithm::StaticRr,
        Algorithm::LeastConn,
        Algorithm::First,
        Algorithm::Random { draws: 2, balance_factor: 0 },
        hash(HashMethod::MapBased),
        hash(HashMethod::Consistent),
    ];
    for algorithm in all {
        for key in 0..20 {
            let wish = PickRequest { key: Some(key), avoid: Some(0), random: &random, now_ns: 0 };
            let two = backend(algorithm, &[1, 1]);
            assert_eq!(id(&two.pick(&wish).unwrap()), 2, "{algorithm:?}");
            let one = backend(algorithm, &[1]);
            assert_eq!(id(&one.pick(&wish).unwrap()), 1, "{algorithm:?}");
        }
    }
}
