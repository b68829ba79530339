//! Tests of characters behind numbers and ports, or in their place, and of the errors for them.
use super::{back, front, listen, loaded, messages, model, server};
use crate::diag::Severity;
use crate::model::{Address, BindAddress, Model, ServerPort};

/// A line, what it makes of the model, and the warning.
type Case = (&'static str, fn(&Model) -> bool, &'static str);

#[rustfmt::skip]
const PROXY: &[Case] = &[
    (" server s 127.0.0.1:80 weight 20.2%", |m| server(m).options.weight == 20, "'weight' : '20.2%' is read as 20: what follows the digits is ignored"),
    (" server s 127.0.0.1:80 weight x", |m| server(m).options.weight == 0, "'weight' : 'x' is read as 0: it does not begin with a digit"),
    (" server s 127.0.0.1:80 maxconn 10k", |m| server(m).options.maxconn == 10, "'maxconn' : '10k' is read as 10: what follows the digits is ignored"),
    (" server s 127.0.0.1:80 minconn 5k", |m| server(m).options.minconn == 5, "'minconn' : '5k' is read as 5: what follows the digits is ignored"),
    (" server s 127.0.0.1:80 maxqueue 5k", |m| server(m).options.maxqueue == 5, "'maxqueue' : '5k' is read as 5: what follows the digits is ignored"),
    (" server s 127.0.0.1:80 check rise 3x", |m| server(m).options.check.rise == 3, "'rise' : '3x' is read as 3: what follows the digits is ignored"),
    (" server s 127.0.0.1:80 check port 80x", |m| server(m).options.check.port == Some(80), "'port' : '80x' is read as 80: what follows the digits is ignored"),
    (" server s 127.0.0.1:80 check port x", |m| server(m).options.check.port.is_none(), "'port' : 'x' is read as 0: it does not begin with a digit"),
    (" server s 127.0.0.1:80 id 3x", |m| server(m).id == 3, "'id' : '3x' is read as 3: what follows the digits is ignored"),
    (" server s 127.0.0.1:80 error-limit 4x", |m| server(m).options.error_limit == 4, "'error-limit' : '4x' is read as 4: what follows the digits is ignored"),
    (" server s 127.0.0.1:80 pool-max-conn 4x", |m| server(m).options.pool_max_conn == 4, "'pool-max-conn' : '4x' is read as 4: what follows the digits is ignored"),
    (" server-template s 2x 127.0.0.1:80", |m| m.proxies[0].back.as_ref().unwrap().servers.len() == 2, "'server-template' : '2x' is read as 2: what follows the digits is ignored"),
    (" bind :82 maxconn 10k", |m| bind(m).options.maxconn == 10, "'maxconn' : '10k' is read as 10: what follows the digits is ignored"),
    (" bind :82 backlog 10k", |m| bind(m).options.backlog == 10, "'backlog' : '10k' is read as 10: what follows the digits is ignored"),
    (" bind :82 nice 3x", |m| bind(m).options.nice == 3, "'nice' : '3x' is read as 3: what follows the digits is ignored"),
    (" maxconn 10k", |m| front(m).settings.maxconn == Some(10), "'maxconn' : '10k' is read as 10: what follows the digits is ignored"),
    (" backlog k", |m| front(m).backlog.is_none(), "'backlog' : 'k' is read as 0: it does not begin with a digit"),
    (" fullconn x", |m| back(m).settings.full_connections.is_none(), "'fullconn' : 'x' is read as 0: it does not begin with a digit"),
    (" retries 3x", |m| back(m).settings.retries == 3, "'retries' : '3x' is read as 3: what follows the digits is ignored"),
    (" option redispatch 3x", |m| back(m).settings.redispatch == 3, "'redispatch' : '3x' is read as 3: what follows the digits is ignored"),
    (" id 30x", |m| m.proxies[0].id == 30, "'id' : '30x' is read as 30: what follows the digits is ignored"),
    (" hash-balance-factor 150x", |m| back(m).hash_balance_factor == 150, "'hash-balance-factor' : '150x' is read as 150: what follows the digits is ignored"),
    (" capture request header h len 10x", |m| m.proxies[0].captured.request[0].len == 10, "'len' : '10x' is read as 10: what follows the digits is ignored"),
    (" capture cookie c len x", |m| m.proxies[0].captured.cookie.as_ref().unwrap().1 == 0, "'len' : 'x' is read as 0: it does not begin with a digit"),
    (" http-request capture path len 10x", |m| m.proxies[0].captured.request[0].len == 10, "'len' : '10x' is read as 10: what follows the digits is ignored"),
    (" http-request deny deny_status 429x", |_| true, "'deny_status' : '429x' is read as 429: what follows the digits is ignored"),
    (" redirect scheme https code 301x", |_| true, "'code' : '301x' is read as 301: what follows the digits is ignored"),
    (" http-request set-nice 3x", |_| true, "'set-nice' : '3x' is read as 3: what follows the digits is ignored"),
    (" errorfile 503x /503.http", |_| true, "'errorfile' : '503x' is read as 503: what follows the digits is ignored"),
    (" server s 127.0.0.1:9090/metrics", |m| server(m).address.port == ServerPort::Fixed(9090), "port '9090/metrics' is read as 9090: what follows the digits is ignored"),
    (" server s 127.0.0.1:+8x", |m| server(m).address.port == ServerPort::FromClient(8), "port '+8x' is read as +8: what follows the digits is ignored"),
    (" bind :82x", |m| port(m) == 82, "port '82x' is read as 82: what follows the digits is ignored"),
    (" bind :81,:82-83x", |m| front(m).binds.len() == 4, "port '82-83x' is read as 82-83: what follows the digits is ignored"),
    (" log ring@nope local0", |_| true, "log : unable to find required ring 'nope'."),
    (" log 127.0.0.1:514x local0", |_| true, "port '514x' is read as 514: what follows the digits is ignored"),
    (" server s 127.0.0.1:80 source 127.0.0.1:81x", |_| true, "port '81x' is read as 81: what follows the digits is ignored"),
];

#[rustfmt::skip]
const GLOBAL: &[Case] = &[
    ("ulimit-n 10k", |m| m.global.process.ulimit_n == Some(10), "'ulimit-n' : '10k' is read as 10: what follows the digits is ignored"),
    ("maxconnrate x", |m| m.global.settings.max_rates.connections == 0, "'maxconnrate' : 'x' is read as 0: it does not begin with a digit"),
    ("tune.maxrewrite 1024x", |m| m.global.settings.max_rewrite == 1024, "'tune.maxrewrite' : '1024x' is read as 1024: what follows the digits is ignored"),
    ("tune.h2.header-table-size 4096x", |_| true, "'tune.h2.header-table-size' : '4096x' is read as 4096: what follows the digits is ignored"),
    ("tune.ssl.cachesize 10k", |m| m.global.tls.defaults.cache_size == 10, "'tune.ssl.cachesize' : '10k' is read as 10: what follows the digits is ignored"),
    ("spread-checks 5x", |_| true, "'spread-checks' : '5x' is read as 5: what follows the digits is ignored"),
    ("stats maxconn 10x", |m| m.global.stats.maxconn == 10, "'maxconn' : '10x' is read as 10: what follows the digits is ignored"),
    ("log 127.0.0.1 len 1024x local0", |_| true, "'len' : '1024x' is read as 1024: what follows the digits is ignored"),
];

fn bind(model: &Model) -> &crate::model::Bind {
    front(model).binds.last().unwrap()
}

fn port(model: &Model) -> u16 {
    match &bind(model).address {
        BindAddress::At(Address::Inet(address)) => address.port(),
        other => panic!("{other:?}"),
    }
}

fn holds(text: &str, line: &str, (seen, said): (fn(&Model) -> bool, &str)) {
    let model = model(text);
    let warnings = messages(text, Severity::Warning);
    let found = warnings.iter().filter(|warning| warning.ends_with(said)).count();
    assert_eq!(found, 1, "{line}: {warnings:?}");
    assert!(seen(&model), "{line}");
}

#[test]
fn leading_digits_count_and_the_rest_is_a_warning() {
    for (line, seen, said) in PROXY {
        holds(&listen(line), line, (*seen, said));
    }
    for (line, seen, said) in GLOBAL {
        holds(&format!("global\n {line}\n{}", listen("")), line, (*seen, said));
    }
}

#[test]
fn the_warning_names_the_line_and_the_word() {
    let loaded = loaded(&listen(" server s 127.0.0.1:80x weight 20.2%"));
    let odd: Vec<_> = loaded.diagnostics.of(Severity::Warning).collect();
    let places: Vec<_> =
        odd.iter().map(|it| (it.place.as_ref().unwrap().line, it.column)).collect();
    assert_eq!(places, [(8, 32), (8, 11)], "{odd:?}");
}

#[test]
fn what_haproxy_refuses_stays_refused() {
    for line in [
        " server s 127.0.0.1:80 check rise x",
        " server s 127.0.0.1:80 check rise 0x",
        " server s 127.0.0.1:80 weight -5x",
        " server s 127.0.0.1:80 weight 257x",
        " server s 127.0.0.1:80 id x",
        " server s 127.0.0.1:80 error-limit x",
        " server s 127.0.0.1:80-90",
        " server s 127.0.0.1:x",
        " server s 127.0.0.1:99999x",
        " server-template s x 127.0.0.1:80",
        " bind :82 id 3x",
        " bind :82 thread 1x",
        " bind :82 mss x",
        " bind :82 shards x",
        " bind :0x",
        " id x",
        " max-keep-alive-queue 3x",
        " rate-limit sessions 3x",
        " balance uri len x",
        " declare capture request len 10x",
        " declare capture request len 0",
        " http-request capture path len x",
        " http-request deny deny_status x",
        " http-response set-status 429x",
        " redirect scheme https code x",
        " timeout client 3x",
        " log 127.0.0.1 sample 1:3x local0",
    ] {
        let said = messages(&listen(line), Severity::Alert);
        assert_eq!(said.len(), 1, "{line}: {said:?}");
    }
}

#[test]
fn captures_may_be_as_long_as_one_likes() {
    let text = listen(" declare capture request len 400000\n capture request header a len 70000");
    let lens: Vec<_> = model(&text).proxies[0].captured.request.iter().map(|it| it.len).collect();
    assert_eq!(lens, [400_000, 70_000]);
}

#[test]
fn patterns_behind_booleans_are_ignored_and_told() {
    for (acl, ignored) in [
        ("ssl_fc, not", Some("not")),
        ("always_true foo", Some("foo")),
        ("always_true false", Some("false")),
        ("nbsrv -m bool foo", Some("foo")),
        ("ssl_fc 1", None),
        ("ssl_fc", None),
    ] {
        let text = listen(&format!(" acl a {acl}\n http-request deny if a"));
        model(&text);
        let said = messages(&text, Severity::Warning);
        let expected = ignored
            .map(|it| format!("'{it}' is ignored: a boolean is compared with nothing but true"));
        assert_eq!(said, Vec::from_iter(expected), "{acl}");
    }
}

#[test]
fn a_last_line_of_blanks_needs_its_end_too() {
    let text = format!("{}    ", listen(""));
    let message = "Missing LF on last line, file might have been truncated at position 5.";
    assert_eq!(messages(&text, Severity::Alert), [message]);
}

#[test]
fn scopes_are_taken_wherever_they_stand() {
    model(&format!("[...]\n{}[...]\n server s 127.0.0.1:80\n", listen("")));
    let text = listen("[foo] bar\n.if 0\n[foo] bar\n.endif");
    let message = "character 'b' is not permitted after scope declaration.";
    assert_eq!(messages(&text, Severity::Alert), [message; 2]);
}

#[test]
fn captures_below_zero_keep_nothing() {
    let lines = " capture request header h len -1\n capture cookie c len -1\n";
    let proxy = super::only(&listen(lines));
    assert_eq!(proxy.captured.request[0].len, 0);
    assert_eq!(proxy.captured.cookie.as_ref().unwrap().1, 0);
}
