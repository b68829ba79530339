//! Clients of HTTP/3 that break rules or leave: others are served all the same.

use crate::support::h3_client::{H3Client, H3Options, Mangle, RETURN, started, started_with};
use crate::support::{Origin, Running, eventually, reply};

fn stat(weir: &Running, field: &str) -> u64 {
    weir.stat("web", "FRONTEND", field).parse().unwrap_or_else(|_| panic!("{field}"))
}

#[test]
fn a_flood_of_first_packets_is_bounded_and_hurts_no_established_connection() {
    let global = "    nbthread 2\n    tune.quic.retry-threshold 20\n";
    let front = format!("    timeout client 2s\n{RETURN}");
    let (weir, address, trust) = started(global, &front);
    let mut client = H3Client::connect(address, &trust);
    for round in 0..10 {
        for _ in 0..30 {
            H3Client::new(address, &trust).knock();
        }
        assert_eq!(client.ask("GET", "/", b"").1, b"hello", "{round}");
        assert!(stat(&weir, "quic_half_open_conn") <= 20);
    }
    eventually("Retry packets", || (stat(&weir, "quic_retry_sent") >= 250).then_some(()));
    // A client that answers the Retry gets in.
    assert_eq!(H3Client::connect(address, &trust).ask("GET", "/", b"").1, b"hello");
    eventually("no handshake is left", || (stat(&weir, "quic_half_open_conn") == 0).then_some(()));
    assert!(stat(&weir, "quic_hdshk_fail") <= 20);
}

#[test]
fn datagrams_that_are_doubled_cut_or_changed_do_no_harm() {
    let (weir, address, trust) = started("", RETURN);
    let manglings: [Mangle; 4] = [
        |bytes| vec![bytes.to_vec(); 3],
        |bytes| vec![bytes[..bytes.len() / 2].to_vec(), bytes.to_vec(), bytes[..1].to_vec()],
        |bytes| {
            let mut changed = bytes.to_vec();
            let middle = changed.len() / 2;
            changed[middle] ^= 1;
            vec![changed, bytes.to_vec()]
        },
        |bytes| {
            let mut longer = bytes.to_vec();
            longer.extend_from_slice(&[0x55; 40]);
            vec![longer, bytes.to_vec(), vec![0xff; 1_300], vec![0; 40], Vec::new()]
        },
    ];
    for mangle in manglings {
        let mut client = H3Client::new(address, &trust);
        client.mangle = mangle;
        client.greet();
        for size in [0, 10, 100_000] {
            assert_eq!(client.ask("POST", "/", &vec![b'x'; size]).1, b"hello");
        }
    }
    assert!(stat(&weir, "quic_dropped_pkt") > 0);
    assert_eq!(stat(&weir, "quic_hdshk_fail"), 0);
}

#[test]
fn a_client_that_does_not_read_a_hundred_answers_delays_nobody_else() {
    const SIZE: usize = 100_000;
    let origin = Origin::new(|mut peer| {
        while peer.request().is_some() {
            peer.send(reply("200 OK", &"x".repeat(SIZE)));
        }
    });
    let front = format!(
        "    http-request return status 200 content-type text/plain string hello if {{ path /own }}\n    \
         default_backend app\nbackend app\n    server s {}\n",
        origin.address()
    );
    let (weir, address, trust) = started_with("", "    nbthread 1\n", &front);
    let options = H3Options { window: Some(200_000), ..H3Options::default() };
    let mut slow = H3Client::with(address, &trust, options);
    slow.greet();
    let ids: Vec<_> = (0..99).map(|_| slow.request("GET", "/", b"")).collect();
    eventually("all requests arrive", || {
        slow.rest();
        (origin.requests().len() == ids.len()).then_some(())
    });
    let mut other = H3Client::connect(address, &trust);
    assert_eq!(other.ask("GET", "/own", b"").1, b"hello");
    assert_eq!(other.ask("GET", "/", b"").1.len(), SIZE);
    let answers = slow.answers(&ids);
    assert!(answers.iter().all(|(_, body)| body.len() == SIZE));
    assert!(weir.cli("show quic full").contains("streams=0 requests=99"));
}

#[test]
fn streams_beyond_the_limit_and_resets_in_a_row_end_only_their_connection() {
    let global = "    tune.quic.fe.stream.max-concurrent 5\n    \
                  tune.quic.fe.sec.glitches-threshold 50\n";
    let (weir, address, trust) = started(global, RETURN);
    let mut other = H3Client::connect(address, &trust);
    let mut client = H3Client::connect(address, &trust);
    // Heads without a path, until the server has enough.
    for _ in 0..60 {
        if client.lost.is_none() && !client.break_stream() {
            break;
        }
    }
    client.run(|client| client.lost.is_some());
    assert_eq!(client.end(), 0x107);
    eventually("counted", || (stat(&weir, "h3_excessive_load") == 1).then_some(()));
    assert_eq!(other.ask("GET", "/", b"").1, b"hello");
}
