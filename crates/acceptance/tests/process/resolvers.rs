//! Names that are resolved while the program serves, against a name server by script.

use crate::support::{
    Identity, LogReceiver, NameServer, Origin, Running, Says, Setup, eventually, pass,
};
use std::time::Duration;

/// A frontend, and a backend with these lines, resolved by `dns` in a section with these lines.
fn setup(dns: &NameServer, log: &LogReceiver, section: &str, front: &str, back: &str) -> Setup {
    let text = format!(
        "global\n nbthread 2\n stats socket <dir>/cli level admin\n\
         defaults\n mode http\n timeout connect 5s\n timeout client 20s\n timeout server 20s\n \
         log <log> format raw local0\n\
         resolvers r\n nameserver d <dns>\n timeout resolve 50ms\n timeout retry 100ms\n \
         resolve_retries 2\n{section}\
         frontend web\n bind <web>\n default_backend b\n{front}\
         backend b\n default-server resolvers r resolve-prefer ipv4\n{back}"
    );
    Setup::new(&text).with("dns", dns.address()).with("log", log.address())
}

/// Fields of `show servers state`, by their names.
fn state(weir: &Running, server: &str, fields: &[&str]) -> String {
    let dump = weir.cli("show servers state");
    let mut lines = dump.lines();
    let header = lines.find(|line| line.starts_with('#')).expect("a header");
    let names: Vec<&str> = header.trim_start_matches("# ").split(' ').collect();
    let row: Vec<&str> = lines
        .map(|line| line.split(' ').collect::<Vec<_>>())
        .find(|row| row.get(3) == Some(&server))
        .expect("the server");
    let field = |name: &&str| row[names.iter().position(|it| it == name).expect("a column")];
    fields.iter().map(field).collect::<Vec<_>>().join(" ")
}

fn wait_for(weir: &Running, server: &str, fields: &[&str], expected: &str) {
    eventually(&format!("{server} has {expected}, it has {}", state(weir, server, fields)), || {
        (state(weir, server, fields) == expected).then_some(())
    });
}

fn address(weir: &Running, server: &str, expected: &str) {
    wait_for(weir, server, &["srv_addr"], expected);
}

const NONE: &str = " default-server init-addr none\n";

#[test]
fn a_server_follows_its_name_and_logs_it_as_haproxy_does() {
    let (dns, log) = (NameServer::new(), LogReceiver::new());
    let origin = Origin::saying("here");
    let port = origin.address().port();
    let back = format!("{NONE} server s app.test:{port}\n");
    let weir = setup(&dns, &log, " hold nx 200ms\n hold valid 1s\n", "", &back).start();
    // Unknown at the start: it rests, and nothing waits for it.
    assert_eq!(weir.stat("b", "s", "status"), "MAINT (resolution)");
    let unknown = ["srv_addr", "srv_op_state", "srv_admin_state", "srv_fqdn", "srv_port"];
    assert_eq!(state(&weir, "s", &unknown), format!("- 0 32 app.test {port}"));
    assert_eq!(weir.web().get("/").status(), 503);
    dns.say("app.test A", Says::Records(&["127.0.0.1"]));
    assert_eq!(log.find("changed its IP"), "b/s changed its IP from (none) to 127.0.0.1 by r/d.");
    assert_eq!(log.find("Server b/s"), "Server b/s ('app.test') is UP/READY (resolves again).");
    let ready = "Server b/s administratively READY thanks to valid DNS answer.";
    assert_eq!(log.find("Server b/s"), ready);
    assert_eq!(weir.web().get("/").text(), "here");
    assert_eq!(weir.stat("b", "s", "status"), "no check");
    dns.say("app.test A", Says::Records(&["127.0.0.9"]));
    let moved = "b/s changed its IP from 127.0.0.1 to 127.0.0.9 by r/d.";
    assert_eq!(log.find("changed its IP"), moved);
    dns.say("app.test A", Says::Code(3));
    let down = "Server b/s is going DOWN for maintenance (DNS NX status). 0 active and 0 backup \
                servers left. 0 sessions active, 0 requeued, 0 remaining in queue.";
    assert_eq!(log.find("Server b/s"), down);
    assert_eq!(log.find("no server"), "backend b has no server available!");
    address(&weir, "s", "-");
    dns.say("app.test A", Says::Records(&["127.0.0.1"]));
    address(&weir, "s", "127.0.0.1");
    assert_eq!(weir.web().get("/").text(), "here");
}

#[test]
fn each_resolver_failure_has_its_hold_time_and_name() {
    let cases = [
        ("hold nx", Says::Code(3), "DNS NX status"),
        ("hold refused", Says::Code(5), "DNS refused status"),
        ("hold other", Says::Code(2), "unspecified DNS error"),
        ("hold timeout", Says::Nothing, "DNS timeout status"),
    ];
    for (hold, says, words) in cases {
        let (dns, log) = (NameServer::new(), LogReceiver::new());
        dns.say("app.test A", Says::Records(&["127.0.0.1"]));
        dns.say("app.test AAAA", says.clone());
        let back = format!("{NONE} server s app.test:1\n");
        // The others would keep it for longer than the test is patient.
        let weir = setup(&dns, &log, &format!(" {hold} 700ms\n"), "", &back).start();
        address(&weir, "s", "127.0.0.1");
        let asked = dns.count("app.test A ");
        dns.say("app.test A", says);
        eventually("several questions", || (dns.count("app.test A ") > asked + 2).then_some(()));
        assert_eq!(state(&weir, "s", &["srv_addr"]), "127.0.0.1", "{hold}: it is held");
        let line = log.find("going DOWN");
        assert!(line.contains(&format!("maintenance ({words})")), "{line}");
    }
}

#[test]
fn an_address_that_is_missing_serves_until_it_is_obsolete() {
    let (dns, log) = (NameServer::new(), LogReceiver::new());
    dns.say("app.test A", Says::Records(&["127.0.0.1", "127.0.0.2"]));
    let back = format!("{NONE} server-template t 1-3 app.test:80\n");
    let weir = setup(&dns, &log, " hold obsolete 600ms\n", "", &back).start();
    let fields = ["srv_addr", "srv_admin_state"];
    wait_for(&weir, "t1", &fields, "127.0.0.1 0");
    wait_for(&weir, "t2", &fields, "127.0.0.2 0");
    assert_eq!(state(&weir, "t3", &fields), "- 32", "each has an address of its own");
    assert!(log.find("b/t2 changed").ends_with("to 127.0.0.2 by DNS cache."));
    dns.say("app.test A", Says::Records(&["127.0.0.2", "127.0.0.3", "127.0.0.4"]));
    wait_for(&weir, "t3", &fields, "127.0.0.3 0");
    assert_eq!(state(&weir, "t1", &fields), "127.0.0.1 0", "the cache has it still");
    wait_for(&weir, "t1", &fields, "127.0.0.4 0");
    dns.say("app.test A", Says::Records(&["127.0.0.2"]));
    assert!(log.find("going DOWN").contains("maintenance (No IP for server )"));
}

#[test]
fn resolve_options_rank_addresses() {
    let (dns, log) = (NameServer::new(), LogReceiver::new());
    dns.say("app.test A", Says::Records(&["10.1.0.1", "10.2.0.1"]));
    dns.say("app.test AAAA", Says::Records(&["::2", "::1"]));
    let back = format!(
        "{NONE} server four app.test:80\n server six app.test:80 resolve-prefer ipv6\n \
         server near app.test:81 resolve-net 10.2.0.0/16\n \
         server one one.test:80 resolve-opts allow-dup-ip\n \
         server same one.test:80 resolve-opts allow-dup-ip\n \
         server other one.test:80 resolve-opts allow-dup-ip,prevent-dup-ip\n"
    );
    dns.say("one.test A", Says::Records(&["10.3.0.1"]));
    let weir = setup(&dns, &log, "", "", &back).start();
    address(&weir, "four", "10.1.0.1");
    address(&weir, "six", "::2");
    address(&weir, "near", "10.2.0.1");
    address(&weir, "one", "10.3.0.1");
    address(&weir, "same", "10.3.0.1");
    assert_eq!(state(&weir, "other", &["srv_addr", "srv_admin_state"]), "- 32");
}

#[test]
fn records_of_a_service_fill_a_template() {
    let (dns, log) = (NameServer::new(), LogReceiver::new());
    let origin = Origin::saying("found");
    let two = ["srv 1000 8001 h1.test", "srv 65535 8002 h2.test 127.0.0.8"];
    dns.say("_h._tcp.test SRV", Says::Records(Box::leak(Box::new(two))));
    dns.say("h1.test A", Says::Records(&["127.0.0.7"]));
    let back = " server-template t 3 _h._tcp.test init-addr none\n\
                backend c\n server-template u 2 _h._tcp.test resolvers r resolve-opts ignore-weight \
                weight 9 resolve-prefer ipv4 init-addr none\n";
    let weir = setup(&dns, &log, "", "", back).start();
    let fields = ["srv_addr", "srv_port", "srv_uweight", "srv_fqdn", "srvrecord"];
    wait_for(&weir, "t1", &fields, "127.0.0.7 8001 4 h1.test _h._tcp.test");
    wait_for(&weir, "t2", &fields, "127.0.0.8 8002 256 h2.test _h._tcp.test");
    assert_eq!(state(&weir, "t3", &fields), "- 0 1 - _h._tcp.test");
    wait_for(&weir, "u2", &fields, "127.0.0.8 8002 9 h2.test _h._tcp.test");
    assert_eq!(state(&weir, "t2", &["srv_admin_state"]), "64");
    let refused = "set server <b>/<s> fqdn failed because SRV resolution is configured.";
    assert_eq!(weir.cli("set server b/t2 fqdn h1.test").trim(), refused);
    assert_eq!(weir.cli("set server b/t3 fqdn h1.test").trim(), refused);
    assert!(log.find("b/t2 changed").ends_with("to 127.0.0.8 by DNS additional record."));
    // In this answer one SRV record is missing, one is new, and one has another weight.
    let port = origin.address().port();
    let here = format!("srv 1 {port} h3.test 127.0.0.1");
    let now = [&*here.leak(), "srv 512 8002 h2.test 127.0.0.8"];
    dns.say("_h._tcp.test SRV", Says::Records(Box::leak(Box::new(now))));
    wait_for(&weir, "t2", &fields, "127.0.0.8 8002 2 h2.test _h._tcp.test");
    wait_for(&weir, "t1", &fields, &format!("127.0.0.1 {port} 1 h3.test _h._tcp.test"));
    dns.say("_h._tcp.test SRV", Says::Records(now[..1].to_vec().leak()));
    let line = log.find("Server b/t2 is going DOWN");
    assert!(
        line.starts_with(
            "Server b/t2 is going DOWN for maintenance (entry removed from SRV record)"
        ),
        "{line}"
    );
    assert_eq!(weir.web().get("/").text(), "found");
}

#[test]
fn answers_that_do_not_fit_come_over_tcp() {
    let (dns, log) = (NameServer::new(), LogReceiver::new());
    dns.say("app.test A", Says::Truncated(&["127.0.0.4"]));
    let back = format!(
        "{NONE} server s app.test:80\n server t app.test:80 resolvers q\n\
         resolvers q\n nameserver e tcp@<dns>\n timeout resolve 50ms\n"
    );
    let weir = setup(&dns, &log, " accepted_payload_size 4096\n", "", &back).start();
    address(&weir, "s", "127.0.0.4");
    address(&weir, "t", "127.0.0.4");
    let asked = dns.asked();
    assert!(asked.iter().any(|it| it.ends_with("udp")), "{asked:?}");
    let counters = weir.cli("show resolvers r");
    let of = |name: &str| -> u64 {
        let line = counters.lines().find(|line| line.trim_start().starts_with(name));
        line.and_then(|line| line.split_whitespace().last()?.parse().ok()).expect("a counter")
    };
    assert!(of("truncated:") > 0 && of("valid:") > 0 && of("sent:") > 0, "{counters}");
    assert_eq!(of("update:"), 1, "{counters}");
    assert!(
        counters.starts_with("Resolvers section r\n nameserver d:\n  sent:        "),
        "{counters}"
    );
    assert!(weir.cli("show resolvers nope").contains("Can't find that resolvers section"));
    assert!(weir.cli("show resolvers").contains("Resolvers section q\n nameserver e:\n"));
}

/// A backend with a server per name, each with an address, whose name server is asked over TCP with
/// these parameters, or through the listener `dot` with these.
fn streams(dns: &NameServer, names: usize, parameters: &str, encrypted: &str) -> Running {
    let (mut back, log) = (NONE.to_owned(), LogReceiver::new());
    for n in 0..names {
        dns.say(&format!("n{n}.test A"), Says::Records(&["127.0.0.4"]));
        back.push_str(&format!(" server s{n} n{n}.test:80 resolvers q\n"));
    }
    let place = if encrypted.is_empty() { "dns" } else { "dot" };
    back.push_str(&format!(
        "resolvers q\n nameserver e tcp@<{place}> {parameters}{encrypted}\n timeout resolve 50ms\n\
         listen dot\n bind <dot> ssl crt <dir>/key.pem\n mode tcp\n server d <dns>\n"
    ));
    let key = Identity::new("dns.test", None).pem();
    let weir = setup(dns, &log, "", "", &back).file("key.pem", &key).start();
    (0..names).for_each(|n| address(&weir, &format!("s{n}"), "127.0.0.4"));
    weir
}

#[test]
fn streams_are_used_again_and_not_more_than_may_be() {
    let dns = NameServer::new();
    let _weir = streams(&dns, 5, "maxconn 1 source 127.0.0.9", "");
    let asked = dns.asked().len();
    eventually("more questions", || (dns.asked().len() > asked + 20).then_some(()));
    assert_eq!(dns.peers().len(), 1, "one stream for all of them");
    assert_eq!(dns.peers()[0].ip().to_string(), "127.0.0.9");
    assert!(dns.asked().iter().all(|question| question.ends_with("tcp")));
}

#[test]
fn a_name_server_may_want_encryption() {
    let dns = NameServer::new();
    let weir = streams(&dns, 2, "", "ssl verify none sni str(dns.test)");
    let asked = dns.asked().len();
    eventually("more questions", || (dns.asked().len() > asked + 10).then_some(()));
    // As many streams as names that are asked for at once.
    let sessions: usize = weir.stat("dot", "FRONTEND", "stot").parse().expect("a counter");
    assert!((1..=2).contains(&sessions), "{sessions}");
}

/// `commit ssl ca-file` reaches the lines that use the file.
#[test]
fn the_authorities_of_a_name_server_are_in_use() {
    let (dns, log) = (NameServer::new(), LogReceiver::new());
    let back = format!(
        "{NONE}resolvers q\n nameserver e tcp@<dns> ssl verify required ca-file <dir>/ca.pem\n"
    );
    let authority = Identity::new("ca", None).certificate();
    let weir = setup(&dns, &log, "", "", &back).file("ca.pem", &authority).start();
    let names = weir.cli("show ssl ca-file");
    let name = names.lines().find_map(|line| line.strip_suffix(" - 1 certificate(s)"));
    let shown = weir.cli(&format!("show ssl ca-file {}", name.expect("a file")));
    assert!(shown.contains("Status: Used\n"), "{shown}");
}

#[test]
fn hostile_answers_move_nothing() {
    let (dns, log) = (NameServer::new(), LogReceiver::new());
    dns.say("app.test A", Says::Forged(&["127.6.6.6"], &["127.0.0.1"]));
    let back = format!("{NONE} server s app.test:80\n server t bad.test:80\n");
    let weir = setup(&dns, &log, " hold other 1h\n hold nx 1h\n", "", &back).start();
    address(&weir, "s", "127.0.0.1");
    // A pointer to itself, a length beyond the end, half a record, and rubbish.
    let answers: [&[u8]; 4] = [
        &[0xc0, 26, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 127, 6, 6, 6],
        &[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0xff, 0xff, 127, 6, 6, 6],
        &[0xc0, 12, 0, 1],
        &[0x3f; 300],
    ];
    for bytes in answers {
        let before = dns.count("bad.test");
        dns.say("bad.test A", Says::Bytes(bytes.to_vec()));
        dns.say("bad.test AAAA", Says::Bytes(bytes.to_vec()));
        eventually("some questions", || (dns.count("bad.test") > before + 4).then_some(()));
    }
    assert_eq!(state(&weir, "t", &["srv_addr"]), "-");
    assert_eq!(state(&weir, "s", &["srv_addr"]), "127.0.0.1");
    let counters = weir.cli("show resolvers r");
    let invalid = counters.lines().find(|line| line.contains("invalid:")).expect("a counter");
    assert!(!invalid.ends_with(" 0"), "{counters}");
    let outdated = counters.lines().find(|line| line.contains("outdated:")).expect("a counter");
    assert!(!outdated.ends_with(" 0"), "{counters}");
    log.find("changed its IP");
    assert!(log.lines_for(Duration::from_millis(100)).iter().all(|it| !it.contains("127.6.6.6")));
}

#[test]
fn requests_wait_for_names_and_for_nothing_else() {
    let (dns, log) = (NameServer::new(), LogReceiver::new());
    dns.say("x.test A", Says::Records(&["10.0.0.7"]));
    dns.say("slow.test A", Says::Nothing);
    let front = " http-request do-resolve(txn.ip,r,ipv4) req.hdr(host),host_only\n \
                 http-request return status 200 hdr x-ip %[var(txn.ip)] if { var(txn.ip) -m found }\n \
                 http-request return status 404\n";
    let tcp = "frontend tcp\n bind <tcp>\n mode tcp\n tcp-request inspect-delay 5s\n \
               tcp-request content do-resolve(txn.ip,r,ipv4) req.payload(0,6)\n \
               tcp-request content reject unless { var(txn.ip) -m ip 10.0.0.7 }\n use_backend echo\n\
               backend echo\n mode tcp\n server s <origin>\n";
    let origin = Origin::new(|mut peer| {
        while let Some(line) = peer.client.try_line() {
            peer.send(format!("{line}!\r\n"));
        }
    });
    let weir =
        setup(&dns, &log, " hold valid 10s\n", front, &format!(" server s 127.0.0.1:1\n{tcp}"))
            .with("origin", origin.address())
            .start();
    let mut slow = weir.web();
    slow.send("GET / HTTP/1.1\r\nHost: slow.test\r\n\r\n");
    let get = |host: &str| {
        let answer = weir.web().ask(format!("GET / HTTP/1.1\r\nHost: {host}:80\r\n\r\n"));
        (answer.status(), answer.header("x-ip").map(str::to_owned))
    };
    assert_eq!(get("X.test"), (200, Some("10.0.0.7".to_owned())));
    assert_eq!(get("x.test"), (200, Some("10.0.0.7".to_owned())));
    assert_eq!(dns.count("x.test A"), 1, "memory has answered");
    assert_eq!(get("no.test"), (404, None));
    assert_eq!(get("not..a_name"), (404, None));
    assert_eq!(slow.response().status(), 404, "given up in the end");
    assert_eq!(dns.count("slow.test A "), 2, "`resolve_retries`");
    let mut tcp = weir.connect("tcp");
    tcp.send("x.test\r\n");
    assert_eq!(tcp.try_line().as_deref(), Some("x.test!"));
    let mut refused = weir.connect("tcp");
    refused.send("y.test\r\n");
    refused.expect_end();
}

#[test]
fn init_addr_selects_the_source_of_the_first_address() {
    let (dns, log) = (NameServer::new(), LogReceiver::new());
    let back = " server a localhost:80 init-addr libc\n server b a.invalid:80 init-addr libc,127.0.0.99\n \
                server c a.invalid:80 init-addr last,none,127.0.0.99\n server d a.invalid:80\n";
    let weir = setup(&dns, &log, " timeout resolve 1h\n", "", back).start();
    let fields = ["srv_addr", "srv_admin_state", "srv_fqdn"];
    assert_eq!(state(&weir, "a", &["srv_addr", "srv_fqdn"]), "127.0.0.1 localhost");
    assert_eq!(state(&weir, "b", &fields), "127.0.0.99 0 a.invalid");
    assert_eq!(state(&weir, "c", &fields), "- 32 a.invalid");
    assert_eq!(state(&weir, "d", &fields), "- 32 a.invalid", "with resolvers nobody needs one");
    weir.expect_error("could not resolve address 'a.invalid', disabling server");
}

#[test]
fn the_time_to_live_may_be_honoured() {
    let (dns, log) = (NameServer::new(), LogReceiver::new());
    dns.say("app.test A", Says::Records(&["127.0.0.1"]));
    let back = format!("{NONE} server s app.test:80\n");
    // A late answer must not be the reason for a second question.
    let lines = " honor-ttl\n timeout retry 20s\n";
    let weir = setup(&dns, &log, lines, "", &back).start();
    address(&weir, "s", "127.0.0.1");
    pass(Duration::from_millis(300));
    assert_eq!(dns.count("app.test A "), 1, "it is good for a minute");
}

#[test]
fn a_failed_connection_of_a_check_resolves_the_name_at_once() {
    let (dns, log) = (NameServer::new(), LogReceiver::new());
    dns.say("app.test A", Says::Records(&["127.0.0.1"]));
    let silent = Origin::new(|mut peer| while peer.request().is_some() {});
    let back = format!(
        "{NONE} option tcp-check\n tcp-check expect tout-status L4TOUT string x\n \
         server s app.test:{} check inter 100ms\n",
        silent.address().port()
    );
    let _weir = setup(&dns, &log, " timeout resolve 1h\n", "", &back).start();
    eventually("the name is asked for again", || (dns.count("app.test A ") >= 3).then_some(()));
}

#[test]
fn a_name_whose_address_changes_all_the_time_is_followed() {
    let (dns, log) = (NameServer::new(), LogReceiver::new());
    let back = format!("{NONE} server s app.test:80\n");
    let weir = setup(&dns, &log, "", "", &back).start();
    for (records, expected) in [
        (&["127.0.0.1"][..], "127.0.0.1"),
        (&["127.0.0.2"], "127.0.0.2"),
        (&["cname x.test", "127.0.0.3"], "127.0.0.3"),
        (&["127.0.0.1"], "127.0.0.1"),
    ] {
        dns.say("app.test A", Says::Records(Box::leak(records.to_vec().into())));
        address(&weir, "s", expected);
    }
    drop(dns);
    // The name server is down: known addresses are kept for `hold timeout`.
    pass(Duration::from_millis(500));
    assert_eq!(state(&weir, "s", &["srv_addr"]), "127.0.0.1");
}

#[test]
fn a_command_gives_a_server_another_name() {
    let (dns, log) = (NameServer::new(), LogReceiver::new());
    dns.say("app.test A", Says::Records(&["127.0.0.1"]));
    dns.say("other.test A", Says::Records(&["127.0.0.2"]));
    let back = format!("{NONE} server s app.test:80\n server t 127.0.0.1:80\n");
    let weir = setup(&dns, &log, "", "", &back).start();
    address(&weir, "s", "127.0.0.1");
    let by = "by 'stats socket command'";
    let told = format!("b/s changed its FQDN from app.test to other.test {by}");
    assert_eq!(weir.cli("set server b/s fqdn other.test").trim(), told);
    let fields = ["srv_addr", "srv_fqdn", "srv_admin_state"];
    wait_for(&weir, "s", &fields, "127.0.0.2 other.test 64");
    for (name, answer) in [
        ("other.test", format!("no need to change the FDQN {by}")),
        ("bad..x", format!("could not update b/s FQDN {by}")),
        ("a!b", format!("invalid fqdn 'a!b' {by}")),
        ("", "set server <b>/<s> fqdn requires a FQDN.".to_owned()),
    ] {
        assert_eq!(weir.cli(&format!("set server b/s fqdn {name}")).trim(), answer);
    }
    assert_eq!(state(&weir, "s", &fields), "127.0.0.2 other.test 64");
}

#[test]
fn a_command_gives_a_server_with_an_address_a_name() {
    let (dns, log) = (NameServer::new(), LogReceiver::new());
    dns.say("app.test A", Says::Records(&["127.0.0.2"]));
    let back = " server s 127.0.0.1:80\n server t /none.sock\n";
    let weir = setup(&dns, &log, "", "", back).start();
    let fields = ["srv_addr", "srv_fqdn", "srv_admin_state"];
    assert_eq!(state(&weir, "s", &fields), "127.0.0.1 - 0");
    let by = "by 'stats socket command'";
    let told = format!("b/s changed its FQDN from (null) to app.test {by}");
    assert_eq!(weir.cli("set server b/s fqdn app.test").trim(), told);
    wait_for(&weir, "s", &fields, "127.0.0.2 app.test 0");
    let told = format!("b/s changed its FQDN from app.test to none.test {by}");
    assert_eq!(weir.cli("set server b/s fqdn none.test").trim(), told);
    assert!(weir.cli("set server b/t fqdn app.test").contains("no resolution is configured"));
}

#[test]
fn a_server_without_resolvers_gets_no_name_from_a_command() {
    let (dns, log) = (NameServer::new(), LogReceiver::new());
    dns.say("app.test A", Says::Records(&["127.0.0.2"]));
    let back = format!("{NONE} server s app.test:80\nbackend other\n server u 127.0.0.1:80\n");
    let weir = setup(&dns, &log, "", "", &back).start();
    address(&weir, "s", "127.0.0.2");
    let refused = "set server <b>/<s> fqdn failed because no resolution is configured.";
    for name in ["app.test", "127.0.0.1", "bad..x"] {
        assert_eq!(weir.cli(&format!("set server other/u fqdn {name}")).trim(), refused, "{name}");
    }
    assert_eq!(state(&weir, "u", &["srv_addr", "srv_fqdn", "srv_admin_state"]), "127.0.0.1 - 0");
    let said = weir.cli("add server other/v 127.0.0.1:81");
    assert!(said.contains("New server registered."), "{said}");
    assert_eq!(weir.cli("set server other/v fqdn app.test").trim(), refused);
}

/// The columns of a server's address and port from its service record, and of its maintenance.
const PLACE: [&str; 3] = ["srv_addr", "srv_port", "srv_admin_state"];

#[test]
fn servers_of_srv_records_recover_with_their_name_servers() {
    let (dns, log) = (NameServer::new(), LogReceiver::new());
    let service = || dns.say("_h._tcp.test SRV", Says::Records(&["srv 1 8001 h1.test"]));
    service();
    dns.say("h1.test A", Says::Records(&["127.0.0.7"]));
    let back = format!("{NONE} server-template t 2 _h._tcp.test\n");
    let weir = setup(&dns, &log, " hold timeout 200ms\n", "", &back).start();
    wait_for(&weir, "t1", &PLACE, "127.0.0.7 8001 64");
    dns.say("_h._tcp.test SRV", Says::Nothing);
    assert!(log.find("going DOWN").contains("maintenance (DNS timeout status)"));
    wait_for(&weir, "t1", &PLACE, "- 8001 96");
    service();
    wait_for(&weir, "t1", &PLACE, "127.0.0.7 8001 64");
    // Neither the service nor its host has an answer.
    for question in ["_h._tcp.test SRV", "h1.test A", "h1.test AAAA"] {
        dns.say(question, Says::Nothing);
    }
    wait_for(&weir, "t1", &PLACE, "- 8001 96");
    service();
    dns.say("h1.test A", Says::Records(&["127.0.0.9"]));
    wait_for(&weir, "t1", &PLACE, "127.0.0.9 8001 64");
}

#[test]
fn the_host_of_a_record_is_looked_up_once_answers_lack_its_address() {
    let (dns, log) = (NameServer::new(), LogReceiver::new());
    dns.say("_h._tcp.test SRV", Says::Records(&["srv 1 8001 h1.test 127.0.0.8"]));
    dns.say("h1.test A", Says::Records(&["127.0.0.7"]));
    let back = format!("{NONE} server-template t 2 _h._tcp.test\n");
    let weir = setup(&dns, &log, "", "", &back).start();
    wait_for(&weir, "t1", &PLACE, "127.0.0.8 8001 64");
    assert_eq!(dns.count("h1.test A "), 0, "it was told");
    dns.say("_h._tcp.test SRV", Says::Records(&["srv 1 8001 h1.test"]));
    wait_for(&weir, "t1", &PLACE, "127.0.0.7 8001 64");
    dns.say("_h._tcp.test SRV", Says::Records(&["srv 1 8001 h1.test 127.0.0.8"]));
    wait_for(&weir, "t1", &PLACE, "127.0.0.8 8001 64");
}

#[test]
fn srv_records_of_a_state_file_are_resolved_again() {
    let (dns, log) = (NameServer::new(), LogReceiver::new());
    let services = Says::Records(&["srv 1 8001 h1.test", "srv 1 8002 h1.test"]);
    dns.say("_h._tcp.test SRV", services.clone());
    dns.say("h1.test A", Says::Records(&["127.0.0.7", "127.0.0.8"]));
    let start = |states: &str, first: &str| {
        let section = " timeout retry 10s\nglobal\n server-state-file <dir>/states\n";
        let back = format!(
            " load-server-state-from-file global\n default-server init-addr {first}\n \
             server-template t 1 _h._tcp.test:80\n server-template u 1 _h._tcp.test\n"
        );
        setup(&dns, &log, section, "", &back).file("states", states).start()
    };
    let before = start("1\n", "none");
    wait_for(&before, "t1", &PLACE, "127.0.0.7 8001 64");
    wait_for(&before, "u1", &PLACE, "127.0.0.8 8002 64");
    let states = before.cli("show servers state") + "\n";
    drop(before);
    dns.say("_h._tcp.test SRV", Says::Nothing);
    let after = start(&states, "last");
    assert_eq!(state(&after, "t1", &PLACE), "127.0.0.7 8001 64");
    assert_eq!(state(&after, "u1", &PLACE), "127.0.0.8 8002 64");
    drop(after);
    dns.say("_h._tcp.test SRV", services);
    dns.say("h1.test A", Says::Records(&["127.0.0.9", "127.0.0.10"]));
    for first in ["none", "last"] {
        let after = start(&states, first);
        wait_for(&after, "t1", &PLACE, "127.0.0.9 8001 64");
        wait_for(&after, "u1", &PLACE, "127.0.0.10 8002 64");
    }
}

/// As measured with HAProxy: a failure takes the address of a state file away once it has been held
/// for its time since the start.
#[test]
fn an_address_from_a_state_file_is_held_while_its_name_does_not_resolve() {
    let line = "2 b 1 s 127.0.0.7 2 0 1 1 9 1 0 2 0 0 0 0 app.test 80 - 0 0 - - 0\n";
    let start = |says: Says, first: &str, hold: &str| {
        let (dns, log) = (NameServer::new(), LogReceiver::new());
        dns.say("app.test A", says.clone());
        dns.say("app.test AAAA", says);
        let section = format!(" {hold}\nglobal\n server-state-file <dir>/states\n");
        let back = format!(
            " load-server-state-from-file global\n server s app.test:80 init-addr {first}\n"
        );
        let setup = setup(&dns, &log, &section, "", &back);
        let weir = setup.file("states", &format!("1\n# head\n{line}")).start();
        (weir, dns, log)
    };
    let fields = ["srv_addr", "srv_op_state", "srv_admin_state"];
    for first in ["last,none", "last,libc,none", "last"] {
        let (weir, dns, _log) = start(Says::Code(3), first, "hold nx 1h");
        eventually("it has failed twice", || (dns.count("app.test A ") > 4).then_some(()));
        assert_eq!(state(&weir, "s", &fields), "127.0.0.7 2 0", "{first}");
        dns.say("app.test A", Says::Records(&["127.0.0.9"]));
        wait_for(&weir, "s", &fields, "127.0.0.9 2 0");
    }
    for (hold, says) in [("hold nx 1s", Says::Code(3)), ("hold timeout 1s", Says::Nothing)] {
        let (weir, _dns, log) = start(says, "last,none", hold);
        assert_eq!(state(&weir, "s", &fields), "127.0.0.7 2 0", "{hold}");
        assert!(log.find("Server b/s").contains("is going DOWN for maintenance"));
        wait_for(&weir, "s", &fields, "- 0 32");
    }
}

#[test]
fn requests_follow_a_server_found_by_name_to_its_new_address() {
    let (dns, log) = (NameServer::new(), LogReceiver::new());
    let back = format!(
        "{NONE} server s app.test:80 check inter 1h\n server f 127.0.0.1:80 track b/s\n \
         server d 127.0.0.1:1 check inter 20ms fall 1\n server g two.test:80 track b/d\n"
    );
    let weir = setup(&dns, &log, " hold nx 100ms\n", "", &back).start();
    assert_eq!(weir.stat("b", "f", "status"), "MAINT (via b/s)");
    let states = ["srv_op_state", "srv_admin_state"];
    wait_for(&weir, "d", &states, "0 0");
    dns.say("two.test A", Says::Records(&["127.0.0.2"]));
    wait_for(&weir, "g", &["srv_addr", "srv_admin_state"], "127.0.0.2 0");
    assert_eq!(state(&weir, "g", &states), "0 0", "its leader is down");
    dns.say("app.test A", Says::Records(&["127.0.0.1"]));
    wait_for(&weir, "f", &states, "2 0");
    dns.say("app.test A", Says::Code(3));
    wait_for(&weir, "f", &states, "0 2");
}

#[test]
fn an_agent_beside_a_server_is_not_asked_before_the_server_is_found() {
    let (dns, log) = (NameServer::new(), LogReceiver::new());
    let agent = Origin::new(|mut peer| peer.send("50%\n"));
    let port = agent.address().port();
    let back =
        format!("{NONE} server s app.test:80 agent-check agent-port {port} agent-inter 20ms\n");
    let weir = setup(&dns, &log, " hold nx 100ms\n", "", &back).start();
    let asked = dns.count("app.test A ");
    eventually("time passes", || (dns.count("app.test A ") > asked + 10).then_some(()));
    assert_eq!(agent.connections(), 0, "nobody knows where it is");
    dns.say("app.test A", Says::Records(&["127.0.0.1"]));
    eventually("the agent is asked", || {
        (weir.stat("b", "s", "agent_status") == "CHECKED").then_some(())
    });
}
