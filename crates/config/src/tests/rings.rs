//! `ring` and `log-forward` sections, and the lines that name them.
use super::*;
use crate::load::Verdict;
use crate::model::{Address, LogAddress, LogTransport};

#[test]
fn quic_addresses_are_refused_where_no_http_proxy_listens() {
    for prefix in ["quic", "quic4", "quic6", "quicv4", "quicv6", "stream+quic4"] {
        for (head, who) in [
            ("log-forward f\n bind ", "'bind' : "),
            ("log-forward f\n dgram-bind ", "'dgram-bind' : "),
            ("global\n stats socket ", "'stats socket' : "),
            ("peers p\n server local\n bind ", "'bind' : "),
        ] {
            if (prefix, who) == ("stream+quic4", "'dgram-bind' : ") {
                continue;
            }
            let expected = format!(
                "{who}QUIC is only acceptable as 'quic4@' or 'quic6@' on a 'bind' line of a proxy, not in '{prefix}@:514'"
            );
            let text = format!("{head}{prefix}@:514\n");
            assert!(messages(&text, Severity::Alert).contains(&expected), "{text}");
        }
    }
}

#[test]
fn a_ring_has_its_defaults_and_takes_what_lines_say() {
    let text = "ring r\n description \"My ring\"\n format rfc5424\n maxlen 1200\n size 32764\n \
                backing-file /tmp/r\n timeout connect 5s\n timeout server 10s\n \
                server a 1.2.3.4:514\n server b [::1]:515 log-proto octet-count\n \
                server c unix@/c log-proto legacy\nring plain\n";
    let rings = model(text).global.rings;
    let ring = &rings[0];
    assert_eq!((&*ring.name, &*ring.description, ring.max_len), ("r", "My ring", 1200));
    assert_eq!((ring.size, ring.format), (32_764, LogTransport::Rfc5424));
    assert_eq!(ring.backing_file.as_deref(), Some("/tmp/r".as_ref()));
    assert_eq!((ring.connect, ring.server), (Some(5_000), Some(10_000)));
    let counts: Vec<_> = ring.servers.iter().map(|it| (&*it.name, it.counts)).collect();
    assert_eq!(counts, [("a", false), ("b", true), ("c", false)]);
    assert_eq!(ring.servers[2].address, Address::Unix("/c".into()));
    let plain = &rings[1];
    assert_eq!((&*plain.description, plain.size, plain.max_len), ("plain", 16_384, 1_024));
    assert_eq!(plain.format, LogTransport::Local);
    assert_eq!((plain.connect, plain.server, &plain.backing_file), (None, None, &None));
    let hosts = model("global\n log-send-hostname\nring r\nring s\n format raw\n").global.rings;
    assert_eq!(
        hosts.iter().map(|it| it.format).collect::<Vec<_>>(),
        [LogTransport::Rfc3164, LogTransport::Raw]
    );
}

#[test]
fn a_forwarder_takes_what_lines_say() {
    let text = "global\n log 1.2.3.4 local0\nlog-forward f\n bind :1514\n bind :1515,:1516\n \
                dgram-bind 1.2.3.4:514\n maxconn 20\n backlog 30\n timeout client 5s\n log global\n \
                log ring@r local1\nring r\nlog-forward plain\n dgram-bind :515\n";
    let model = model(text);
    let forward = &model.log_forwards[0];
    assert_eq!((forward.binds.len(), forward.datagrams.len()), (3, 1));
    assert_eq!((forward.maxconn, forward.backlog, forward.client), (20, 30, Some(5_000)));
    let to: Vec<_> = forward.logs.iter().map(|log| log.address.clone()).collect();
    assert_eq!(to, [LogAddress::Udp("1.2.3.4:514".parse().unwrap()), LogAddress::Ring("r".into())]);
    assert!(forward.logs[1].default_transport);
    let plain = &model.log_forwards[1];
    assert_eq!((plain.maxconn, plain.backlog, plain.client), (10, 0, None));
    let only_forwards = loaded("log-forward f\n dgram-bind :514\n").verdict(false);
    assert_eq!(only_forwards, Verdict::Valid);
}

#[test]
fn mistakes_are_reported_in_haproxys_words() {
    for (text, message) in [
        ("ring\n", "missing ring name."),
        ("ring r\nring r\n", "sink named 'r' already exists."),
        ("ring buf0\n", "sink named 'buf0' already exists."),
        ("ring r\n zork\n", "unknown statement 'zork'."),
        ("ring r\n format x\n", "unknown format 'x'."),
        ("ring r\n size x\n", "invalid size 'x' for new sink buffer."),
        ("ring r\n maxlen 0\n", "invalid size '0' for new sink buffer."),
        ("ring r\n description\n", "missing ring description text."),
        ("ring r\n timeout connect\n", "'timeout connect' expects <time> as argument."),
        ("ring r\n timeout foo 1\n", "'timeout' expects 'connect' or 'server' but got 'foo'."),
        ("ring r\n server s\n", "'server' expects <name> and <addr>[:<port>] as arguments."),
        ("ring r\n server s 1.2.3.4\n", "'server r/s' : missing port specification in '1.2.3.4'"),
        ("ring r\n server s 1.2.3.4:1 zork\n", "'server r/s' : unknown keyword 'zork'"),
        ("ring r\n server s 1.2.3.4:1 check\n", "'server r/s' : 'check' is not implemented yet"),
        (
            "ring r\n server s 1.2.3.4:1 log-proto zz\n",
            "'server r/s' : 'log-proto' expects one of 'legacy' or 'octet-count' but got 'zz'.",
        ),
        ("global\n log ring@zz local0\n", "log : unable to find required ring 'zz'."),
        ("log-forward\n", "missing name for log-forward section."),
        (
            "log-forward f\nlog-forward f\n",
            "log-forward section 'f' has the same name as another log-forward section declared at a.cfg:1.",
        ),
        ("log-forward f\n zork\n", "unknown keyword 'zork' in log-forward section."),
        (
            "log-forward f\n timeout server 1s\n",
            "'timeout' in log-forward section expects 'client'.",
        ),
        ("log-forward f\n dgram-bind sockpair@3\n", "'dgram-bind' : a pair takes no datagrams."),
        (
            "log-forward f\n dgram-bind stream+ip@:514\n",
            "'dgram-bind' : stream-type address not acceptable in 'stream+ip@:514'",
        ),
        (
            "log-forward f\n bind dgram+ip@:514\n",
            "'bind' : dgram-type address not acceptable in 'dgram+ip@:514'",
        ),
        ("log-forward f\n maxconn\n", "'maxconn' expects an integer argument."),
    ] {
        assert_eq!(messages(text, Severity::Alert), [message], "{text}");
    }
    let small = messages("ring r\n size 100\n", Severity::Warning);
    assert!(small[0].starts_with("ignoring new size '100' that is smaller than"), "{small:?}");
    let outside = messages("backend b\n server s 1.2.3.4:5 log-proto legacy\n", Severity::Warning);
    assert_eq!(outside[0], "'log-proto' has no effect outside 'ring' sections");
}
