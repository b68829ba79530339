//! Each keyword: a valid line and its effect, an invalid line and its message.
use super::*;
use crate::model::*;

/// A line, and a check of its value in the model.
type Good<T> = (&'static str, fn(&T) -> bool);

#[test]
fn global_keywords() {
    let cases: &[Good<Global>] = &[
        ("chroot /var/empty", |g| g.process.chroot.as_deref() == Some("/var/empty".as_ref())),
        ("cpu-map auto:1/1-4 0-3", |g| {
            let map = &g.process.cpu_map[0];
            map.auto && map.threads == 0b1111 && map.cpus == [0, 1, 2, 3]
        }),
        ("cpu-map 2/1- 0-", |g| {
            let map = &g.process.cpu_map[0];
            (map.groups, map.threads, map.cpus.len()) == (2, u64::MAX, 64)
        }),
        ("cpu-map auto:1-2/3 4,2", |g| {
            let map = &g.process.cpu_map[0];
            (map.groups, map.threads, &map.cpus[..]) == (3, 4, &[2, 4]) && map.auto
        }),
        ("busy-polling", |g| g.tune.busy_polling),
        ("busy-polling\n no busy-polling", |g| !g.tune.busy_polling),
        ("profiling.tasks on", |g| g.tune.profiling == Profiling::On),
        ("profiling.tasks off", |g| g.tune.profiling == Profiling::Off),
        ("profiling.memory off", |g| g.tune.profiling == Profiling::Auto),
        ("stats maxconn 5", |g| g.process.threads.count() == 2),
        ("nbthread 70\n thread-groups 2", |g| {
            g.process.threads.seat(69) == Some(Seat { group: 2, rank: 34 })
        }),
        ("thread-groups 2\n thread-group 1 2", |g| {
            g.process.threads.seat(0) == Some(Seat { group: 2, rank: 0 })
        }),
        ("thread-group 1 2\n thread-group 1", |g| g.process.threads.count() == 2),
        ("tune.runqueue-depth 0", |g| g.tune.runqueue_depth.is_none()),
        ("tune.maxpollevents 0", |g| g.tune.maxpollevents.is_none()),
        ("daemon", |g| g.process.daemon),
        ("master-worker", |g| g.process.master_worker && !g.process.no_exit_on_failure),
        ("master-worker no-exit-on-failure", |g| {
            g.process.master_worker && g.process.no_exit_on_failure
        }),
        ("mworker-max-reloads 3", |g| g.process.max_reloads == Some(3)),
        ("default-path origin /etc", |_| true),
        ("description a b  c", |g| g.settings.description.as_deref() == Some("a b c")),
        ("gid 12", |g| g.process.gid == Some(12)),
        ("group www-data", |g| g.process.gid == Some(34)),
        ("hard-stop-after 30s", |g| g.hard_stop_after == Some(30_000)),
        ("log stdout format raw local0", |g| {
            g.logs[0].address == LogAddress::Fd(1) && g.logs[0].transport == LogTransport::Raw
        }),
        ("log-send-hostname", |g| g.log_send_hostname == SendHostname::System),
        ("log-send-hostname me", |g| g.log_send_hostname == SendHostname::Name("me".into())),
        ("log-tag x", |g| g.log_tag.as_deref() == Some("x")),
        ("max-spread-checks 5s", |g| g.settings.max_spread_checks == Some(5000)),
        ("maxconn 100", |g| g.process.maxconn == Some(100)),
        ("maxpipes 100", |g| g.process.maxpipes == Some(100)),
        ("nosplice", |g| g.process.nosplice),
        ("tune.pipesize 100", |g| g.tune.pipe_size == 100),
        ("tune.pool-low-fd-ratio 7", |g| g.tune.pool_low == Some(7)),
        ("tune.pool-high-fd-ratio 8", |g| g.tune.pool_high == Some(8)),
        ("tune.listener.multi-queue off", |g| !g.settings.spreads_clients),
        ("maxconn 5\nnamespace_list\n namespace a\n namespace b", |g| {
            g.process.namespaces == ["a", "b"]
        }),
        ("nbthread 4", |g| g.process.nbthread == Some(4)),
        ("node n-1", |g| g.node.as_deref() == Some("n-1")),
        ("pidfile /run/x.pid", |g| g.process.pidfile.as_deref() == Some("/run/x.pid".as_ref())),
        ("quiet", |g| g.process.quiet),
        ("anonkey 4294967295", |g| g.anon_key == u32::MAX),
        ("h1-accept-payload-with-any-method", |g| g.settings.payload_with_any_method),
        ("spread-checks 5", |g| g.settings.spread_checks == 5),
        ("stats socket /run/s level admin mode 660", |g| {
            let options = &g.stats.sockets[0].options;
            options.level == Level::Admin && options.access.mode == Some(0o660)
        }),
        ("stats socket fd@5", |g| g.stats.sockets[0].address == BindAddress::Inherited(5)),
        ("stats timeout 2m", |g| g.stats.timeout == 120_000),
        ("stats maxconn 20", |g| g.stats.maxconn == 20),
        ("close-spread-time 2s", |g| g.settings.close_spread == CloseSpread::Over(2_000)),
        ("close-spread-time infinite", |g| g.settings.close_spread == CloseSpread::Never),
        ("fd-hard-limit 100", |g| g.process.fd_hard_limit == Some(100)),
        ("grace 2s", |g| g.grace == 2_000),
        ("insecure-setuid-wanted", |g| g.process.insecure_setuid),
        ("set-dumpable", |g| g.process.dumpable),
        ("no strict-limits", |g| g.process.lax_limits),
        ("tune.http.cookielen 8", |g| g.tune.cookie_len == 8),
        ("tune.http.logurilen 20", |g| g.settings.log_uri_len == 20),
        ("tune.buffers.limit 100", |g| g.tune.buffer_limit == 100),
        ("tune.buffers.reserve 3", |g| g.tune.buffer_reserve == Some(3)),
        ("tune.bufsize 32768", |g| g.settings.buffer_size == 32768),
        ("tune.h2.header-table-size 8192", |g| g.settings.h2.header_table_size == 8_192),
        ("tune.h2.initial-window-size 10", |g| g.settings.h2.initial_window_size == 10),
        ("tune.h2.max-concurrent-streams 0", |g| g.settings.h2.max_concurrent_streams.is_none()),
        ("tune.ssl.max-handshakes 9", |g| g.settings.max_handshakes == Some(9)),
        ("tune.glitches.kill.cpu-usage 80", |g| g.settings.h2.kill_cpu_usage == 80),
        ("tune.h2.fe.glitches-threshold 0", |g| {
            g.settings.h2.glitches_threshold == [Some(0), None]
        }),
        ("tune.h2.be.glitches-threshold 9", |g| {
            g.settings.h2.glitches_threshold == [None, Some(9)]
        }),
        ("tune.h2.fe.max-frames-at-once 9", |g| g.settings.h2.max_frames_at_once == [9, 0]),
        ("tune.h2.be.max-frames-at-once 9", |g| g.settings.h2.max_frames_at_once == [0, 9]),
        ("tune.h2.fe.max-rst-at-once 9", |g| g.settings.h2.max_rst_at_once == 9),
        ("tune.h2.fe.max-total-streams 9", |g| g.settings.h2.max_total_streams == 9),
        ("tune.h2.max-frame-size 20000", |g| g.tune.h2_max_frame_size == Some(20_000)),
        ("h2-workaround-bogus-websocket-clients", |g| g.settings.h2.hides_websockets),
        ("tune.http.maxhdr 10", |g| g.settings.max_headers == 10),
        ("tune.idle-pool.shared off", |g| !g.settings.shared_pools),
        ("tune.histograms off", |g| !g.settings.histograms),
        ("tune.history 60", |g| g.settings.history == 60),
        ("tune.memory.limit 6g", |g| g.tune.memory_limit == Some(6 << 30)),
        ("tune.why off", |g| g.tune.why == Some(false)),
        ("tune.maxaccept -1", |g| g.tune.maxaccept == Some(-1)),
        ("tune.maxpollevents 100", |g| g.tune.maxpollevents == Some(100)),
        ("tune.maxrewrite 1000", |g| g.settings.max_rewrite == 1000),
        ("cluster-secret s3cret", |g| g.settings.quic.secret == b"s3cret"),
        ("tune.quic.frontend.conn-tx-buffers.limit 20", |g| g.settings.quic.tx_buffers == 20),
        ("tune.quic.frontend.max-idle-timeout 20s", |g| g.settings.quic.idle_ms == 20_000),
        ("tune.quic.retry-threshold 50", |g| g.settings.quic.retry_threshold == 50),
        ("tune.notsent-lowat.client 0", |g| g.tune.unsent_client == Some(0)),
        ("tune.notsent-lowat.client 3g", |g| g.tune.unsent_client == Some(0)),
        ("tune.notsent-lowat.server 64k", |g| g.tune.unsent_server == 65_536),
        ("tune.runqueue-depth 100", |g| g.tune.runqueue_depth == Some(100)),
        ("tune.sched.low-latency on", |g| g.tune.low_latency),
        ("uid 0", |g| g.process.uid == Some(0)),
        ("ulimit-n 1000", |g| g.process.ulimit_n == Some(1000)),
        ("user www-data", |g| g.process.uid == Some(33)),
        ("zero-warning", |g| g.process.zero_warning),
    ];
    for (line, holds) in cases {
        assert!(holds(&model(&format!("global\n {line}\n")).global), "{line}");
    }
}

#[test]
fn environment_keywords_act_from_the_next_line_on() {
    let model = model(concat!(
        "global\n setenv A 1\n presetenv A 2\n presetenv B 3\n unsetenv X\n",
        " description \"$A-$B-$C-${X-gone}\"\n resetenv A\n"
    ));
    assert_eq!(model.global.settings.description.as_deref(), Some("1-3--gone"));
    assert_eq!(model.env.iter().collect::<Vec<_>>(), [("A", "1")]);
}

#[test]
fn global_errors() {
    for (line, message) in [
        ("maxcon 1", "unknown keyword 'maxcon' in 'global' section"),
        ("maxconn 99999999999", "'maxconn' expects an integer argument."),
        ("maxconn", "'maxconn' expects an integer argument."),
        ("maxconn 5 6", "'maxconn' cannot handle unexpected argument '6'."),
        ("daemon x", "'daemon' cannot handle unexpected argument 'x'."),
        ("pidfile", "'pidfile' expects a file name as an argument."),
        ("user nosuchuser", "cannot find user id for 'nosuchuser'"),
        ("nbthread abc", "'nbthread' passed a missing or unparsable integer value in 'abc'"),
        ("nbthread 9999", "'nbthread' value must be between 1 and 1024 (was 9999)"),
        (
            "nbthread 65",
            "Remaining unassigned threads found (1) because all groups are in use. Please increase 'thread-groups', reduce 'nbthreads' or remove or extend 'thread-group' enumerations.",
        ),
        ("thread-groups 17", "'thread-groups' value must be between 1 and 16 (was 17)"),
        ("thread-groups", "'thread-groups' passed a missing or unparsable integer value in ''"),
        ("thread-groups 1 1", "'thread-groups' cannot handle unexpected argument '1'."),
        ("thread-group 2 1", "'thread-group' thread-group number must be between 1 and 1 (was 2)"),
        (
            "thread-group 1 1,2",
            "'thread-group 1' passed an unparsable or invalid thread number '1,2' (valid range is 1 to 1024)",
        ),
        (
            "tune.h2.header-table-size 70000",
            "'tune.h2.header-table-size' expects a numeric value between 4096 and 65536.",
        ),
        (
            "tune.h2.max-frame-size",
            "'tune.h2.max-frame-size' expects a numeric value between 16384 and 16777215.",
        ),
        ("busy-polling on", "'busy-polling' cannot handle unexpected argument 'on'."),
        (
            "profiling.tasks x",
            "'profiling.tasks' expects either 'on', 'auto', or 'off' but got 'x'.",
        ),
        ("tune.runqueue-depth", "'tune.runqueue-depth' expects an integer argument."),
        ("tune.maxpollevents -3", "'tune.maxpollevents' expects an integer argument."),
        ("log", "log : expects <address> and <facility> as arguments"),
        ("log 127.0.0.1", "log : expects <address> and <facility> as arguments"),
        ("log 127.0.0.1 foo", "log : unknown log facility 'foo'"),
        ("log 127.0.0.1 local0 foo", "log : unknown optional log level 'foo'"),
        ("log 127.0.0.1 local0 info bar", "log : unknown optional minimum log level 'bar'"),
        ("log 127.0.0.1 local0 info debug x", "log : cannot handle unexpected argument 'x'"),
        (
            "log 127.0.0.1 len 10 local0",
            "log : invalid log length '10', must be between 80 and 65535",
        ),
        ("log 127.0.0.1 format foo local0", "log : unknown log format 'foo'"),
        ("log 127.0.0.1 sample x local0", "log : Missing sample size"),
        ("log 127.0.0.1 sample 1:0 local0", "log : wrong sample size '0' for sample range '1'"),
        ("log global", "log : 'global' is not supported for a global syslog server"),
        ("anonkey x", "'anonkey' expects an integer argument."),
        (
            "stats socket",
            "'stats socket' in global section expects an address or a path to a UNIX socket",
        ),
        ("stats foo", "'stats' only supports 'socket', 'maxconn' and 'timeout' (got 'foo')"),
        ("stats timeout x", "unexpected character 'x' in 'stats timeout'"),
        ("stats timeout 0", "'stats timeout' expects a positive value"),
        ("stats maxconn 0", "'stats maxconn' expects a positive value"),
        (
            "stats socket /s level foo",
            "'stats socket' : 'level' only supports 'user', 'operator', and 'admin' (got 'foo')",
        ),
        ("tune.bufsize 0", "'tune.bufsize' expects a positive integer argument."),
        ("tune.foo 1", "unknown keyword 'tune.foo' in 'global' section"),
        ("cpu-map x 1", "cpu-map : 'x' is not a valid number/range."),
        ("cpu-map 1 x", "cpu-map : 'x' is not a CPU range."),
        ("cpu-map 1 5000", "cpu-map : supports CPU numbers from 0 to 1023."),
        (
            "cpu-map 65 0",
            "cpu-map : '65' is not a valid number/range. It supports numbers from 1 to 64.",
        ),
        (
            "cpu-map auto:1/1-4 0-1",
            "cpu-map : PROC/THREAD range and CPU sets must have the same size to be automatically bound",
        ),
        (
            "cpu-map auto:1-2/1-2 0-3",
            "cpu-map : PROC/THREAD range and CPU sets must have the same size to be automatically bound",
        ),
        ("setenv A", "'setenv' expects a name and a value."),
        ("setenv A \"\"", "'setenv' expects a name and a value."),
        ("setenv A \"${UNSET}\"", "'setenv' expects a name and a value."),
        ("presetenv A ''", "'presetenv' expects a name and a value."),
        ("setenv A=B c", "'setenv' failed on variable 'A=B' : Invalid argument."),
        ("presetenv A=B c", "'presetenv' failed on variable 'A=B' : Invalid argument."),
        ("unsetenv", "'unsetenv' expects at least one variable name."),
        ("hard-stop-after", "'hard-stop-after' expects <time> as argument."),
        ("hard-stop-after x", "unexpected character 'x' in argument to <hard-stop-after>."),
        ("spread-checks 60", "'spread-checks' needs a positive value in range 0..50."),
        (
            "node a/b",
            "'node' requires valid node name - non-empty string with digits(0-9), letters(A-Z, a-z), dot(.), hyphen(-) or underscode(_).",
        ),
        ("description", "'description' expects a string argument."),
        (
            "issuers-chain-path /x",
            "global statement 'issuers-chain-path' expects a directory path as an argument.",
        ),
        (
            "nbproc 2",
            "nbproc is not supported any more since HAProxy 2.5. Threads will automatically be used on multi-processor machines if available.",
        ),
    ] {
        assert_eq!(messages(&format!("global\n {line}\n"), Severity::Alert), [message], "{line}");
    }
}

#[test]
fn proxy_keywords() {
    let cases: &[Good<Proxy>] = &[
        ("backlog 100", |p| front(p).backlog == Some(100)),
        ("balance leastconn", |p| matches!(back(p).balance, Balance::LeastConn)),
        ("balance random", |p| matches!(back(p).balance, Balance::Random { draws: 2 })),
        ("balance random(3)", |p| matches!(back(p).balance, Balance::Random { draws: 3 })),
        ("balance static-rr", |p| matches!(back(p).balance, Balance::StaticRr)),
        ("balance source", |p| matches!(back(p).balance, Balance::Source)),
        ("balance first", |p| matches!(back(p).balance, Balance::First)),
        ("balance peak-ewma", |p| matches!(back(p).balance, Balance::PeakEwma)),
        ("balance uri len 3 depth 2 whole path-only", |p| {
            let all = UriKey { len: Some(3), depth: Some(2), whole: true, path_only: true };
            matches!(back(p).balance, Balance::Uri(key) if key == all)
        }),
        (
            "balance url_param k check_post 64",
            |p| matches!(&back(p).balance, Balance::UrlParam { name, check_post: true } if name == "k"),
        ),
        ("balance hdr(Host) use_domain_only", |p| {
            let balance = &back(p).balance;
            matches!(balance, Balance::Header { name, domain_only: true } if name == "host")
        }),
        ("balance hash src,ipmask(24)", |p| matches!(back(p).balance, Balance::Hash(_))),
        ("balance rdp-cookie(x)", |p| matches!(back(p).balance, Balance::RdpCookie(_))),
        ("hash-balance-factor 150", |p| back(p).hash_balance_factor == 150),
        ("bind :81-83 name x", |p| front(p).binds.len() == 4 && front(p).binds[3].id == 4),
        ("bind :81,:82", |p| &*front(p).binds[2].written == ":82"),
        ("bind :81 quic-cc-algo newreno", |p| {
            let bind = front(p).binds.last();
            bind.is_some_and(|it| it.options.quic_congestion == QuicCongestion::NewReno)
        }),
        ("cookie S insert indirect nocache httponly secure domain .x.y attr SameSite=Lax", |p| {
            let cookie = back(p).settings.cookie.as_ref().unwrap();
            cookie.mode == CookieMode::Insert
                && cookie.indirect
                && cookie.nocache
                && cookie.attributes
                    == [&b"domain=.x.y"[..], b"HttpOnly", b"Secure", b"SameSite=Lax"]
        }),
        ("cookie S prefix postonly maxidle 30 maxlife 1h dynamic\n dynamic-cookie-key k", |p| {
            let cookie = back(p).settings.cookie.as_ref().unwrap();
            cookie.mode == CookieMode::Prefix
                && cookie.post_only
                && back(p).settings.dynamic_cookie
                && (cookie.max_idle, cookie.max_life) == (30, 3600)
                && back(p).settings.cookie_key.as_deref() == Some("k")
        }),
        ("description a b", |p| p.description.as_deref() == Some("a b")),
        ("disabled", |p| p.disabled),
        (
            "errorfile 503 /503.http",
            |p| matches!(&p.common.error_replies[&503], ErrorReply::File { raw, .. } if raw.len() == 25),
        ),
        (
            "errorfile 503 /empty",
            |p| matches!(&p.common.error_replies[&503], ErrorReply::File { raw, .. } if raw.is_empty()),
        ),
        ("errorloc303 400 /x", |p| {
            let reply = &p.common.error_replies[&400];
            location(reply).as_deref() == Some("303 See Other /x")
        }),
        ("fullconn 10", |p| back(p).settings.full_connections == Some(10)),
        ("hash-type consistent", |p| back(p).hash_type.avalanche),
        ("hash-type map-based djb2 avalanche", |p| {
            back(p).hash_type.function == HashFunction::Djb2 && back(p).hash_type.avalanche
        }),
        ("hash-type consistent wt6", |p| back(p).hash_type.function == HashFunction::Wt6),
        ("http-reuse always", |p| back(p).settings.reuse == Reuse::Always),
        ("id 77", |p| p.id == 77),
        ("log 127.0.0.1:514 local0 notice", |p| p.common.logs[0].level == LogLevel(5)),
        ("log-tag t", |p| p.common.log_tag.as_deref() == Some("t")),
        ("max-keep-alive-queue 3", |p| back(p).settings.keep_alive_queue == Some(3)),
        ("max-keep-alive-queue -1", |p| back(p).settings.keep_alive_queue.is_none()),
        ("maxconn 5", |p| front(p).settings.maxconn == Some(5)),
        ("mode tcp", |p| p.mode == Mode::Tcp),
        ("monitor-uri /up", |p| front(p).settings.monitor_uri.as_deref() == Some(b"/up")),
        ("retry-on 503 404 empty-response", |p| {
            let statuses = [503, 404].into_iter().filter_map(RetryOn::status);
            back(p).settings.retry_on == statuses.fold(RetryOn::EMPTY, RetryOn::and)
        }),
        ("retry-on none", |p| back(p).settings.retry_on == RetryOn::NEVER),
        ("retry-on all-retryable-errors", |p| {
            let also = [500, 502, 503, 504].into_iter().filter_map(RetryOn::status);
            let also = also.chain([RetryOn::JUNK, RetryOn::EARLY]);
            also.fold(back(p).settings.retry_on, RetryOn::and) == back(p).settings.retry_on
                && !back(p).settings.retry_on.has(RetryOn::status(404).unwrap())
        }),
        ("retries 1", |p| back(p).settings.retries == 1),
        (
            "server s localhost:80 weight 5 check inter 3s rise 4 fall 5 backup maxconn 9 cookie c",
            |p| {
                let server = &back(p).servers[0];
                let (o, check) = (&server.options, &server.options.check);
                server.id == 1
                    && o.weight == 5
                    && o.backup
                    && o.maxconn == 9
                    && o.cookie.as_deref() == Some("c")
                    && (check.enabled, check.inter, check.rise, check.fall) == (true, 3000, 4, 5)
            },
        ),
        (
            "server s 1.2.3.4:80 disabled fastinter 1s downinter 2s port 81 addr 1.2.3.5 id 9 slowstart 5s",
            |p| {
                let server = &back(p).servers[0];
                let check = &server.options.check;
                server.id == 9
                    && server.options.disabled
                    && server.options.slowstart == 5000
                    && (check.fastinter, check.downinter, check.port)
                        == (Some(1000), Some(2000), Some(81))
                    && check.addr == Some("1.2.3.5".parse().unwrap())
            },
        ),
        ("default-server check weight 7\n server s 1.2.3.4:80 no-check", |p| {
            let options = &back(p).servers[0].options;
            !options.check.enabled && options.weight == 7
        }),
        ("server s 1.2.3.4:80 pool-max-conn -1 pool-purge-delay 0", |p| {
            back(p).servers[0].options.pool_purge_delay == 0
        }),
        ("server s 1.2.3.4:80 pool-low-conn 3 max-reuse 0 minconn 2 maxqueue 4", |p| {
            let options = &back(p).servers[0].options;
            (options.pool_low_conn, options.max_reuse) == (3, 0)
                && (options.minconn, options.maxqueue) == (2, 4)
        }),
        ("http-send-name-header X-Srv", |p| {
            back(p).settings.name_header.as_deref() == Some("x-srv")
        }),
        ("stats enable\n stats uri /s\n stats refresh 5", |p| {
            let page = p.common.stats.as_ref().unwrap();
            page.uri == "/s" && page.refresh == 5
        }),
        (
            "stats hide-version\n stats show-legends\n stats show-node n\n stats show-desc a b",
            |p| {
                let page = p.common.stats.as_ref().unwrap();
                page.hide_version && page.show_legends && page.description.as_deref() == Some("a b")
            },
        ),
        (
            "stats auth a:b\n stats auth c\n stats realm x\\ y\n stats scope .\n stats scope z",
            |p| {
                let page = p.common.stats.as_ref().unwrap();
                let users = [(b"a".to_vec(), b"b".to_vec()), (b"c".to_vec(), Vec::new())];
                page.users == users
                    && page.realm.as_deref() == Some("x y")
                    && page.scope == ["l", "z"]
            },
        ),
        ("stats http-request auth", |p| p.common.stats.is_some() && !p.rules.stats.is_empty()),
        ("timeout client 5s", |p| p.common.timeouts.client == Some(5000)),
        ("timeout client-fin 5", |p| p.common.timeouts.client_fin == Some(5)),
        ("timeout server 1m", |p| p.common.timeouts.server == Some(60_000)),
        ("timeout server-fin 1m", |p| p.common.timeouts.server_fin == Some(60_000)),
        ("timeout connect 0\n timeout connect 2s", |p| p.common.timeouts.connect == Some(2000)),
        ("timeout queue 0", |p| p.common.timeouts.queue.is_none()),
        ("timeout check 3s", |p| p.common.timeouts.check == Some(3000)),
        ("timeout tunnel 1h", |p| p.common.timeouts.tunnel == Some(3_600_000)),
        ("timeout http-request 1s", |p| p.common.timeouts.http_request == Some(1000)),
        ("timeout http-keep-alive 1s", |p| p.common.timeouts.http_keep_alive == Some(1000)),
        ("timeout tarpit 1s", |p| p.common.timeouts.tarpit == Some(1000)),
    ];
    for (line, holds) in cases {
        assert!(holds(&only(&listen(&format!(" {line}")))), "{line}");
    }
}

#[test]
fn options() {
    let cases: &[Good<Proxy>] = &[
        ("abortonclose", |p| back(p).settings.abort_on_close),
        ("accept-invalid-http-request", |p| front(p).accept_invalid_request),
        ("accept-invalid-http-response", |p| back(p).accept_invalid_response),
        ("accept-invalid-http-request\n no option accept-invalid-http-request", |p| {
            !front(p).accept_invalid_request
        }),
        ("accept-unsafe-violations-in-http-request", |p| front(p).accept_unsafe_request),
        ("accept-unsafe-violations-in-http-response", |p| back(p).accept_unsafe_response),
        ("allbackups", |p| back(p).settings.all_backups),
        ("checkcache", |p| back(p).settings.check_cache),
        ("disable-h2-upgrade", |p| front(p).settings.disable_h2_upgrade),
        ("dontlog-normal", |p| front(p).settings.dont_log_normal),
        ("dontlognull", |p| front(p).settings.dont_log_null),
        ("forwardfor except 10.0.0.0/8 header X-Client if-none", |p| {
            let forward = p.common.forward_for.as_ref().unwrap();
            forward.if_none && forward.header == "x-client" && forward.except.unwrap().1 == 8
        }),
        ("http-ignore-probes", |p| front(p).settings.ignore_probes),
        ("http-use-proxy-header", |p| front(p).settings.proxy_header),
        ("http-keep-alive", |p| p.common.connection_mode == ConnectionMode::KeepAlive),
        ("http-server-close", |p| p.common.connection_mode == ConnectionMode::ServerClose),
        ("http-pretend-keepalive", |p| back(p).settings.pretend_keep_alive),
        ("prefer-last-server", |p| back(p).settings.prefer_last),
        ("httpclose", |p| p.common.connection_mode == ConnectionMode::Close),
        ("httplog", |p| front(p).log_style == LogStyle::Http),
        ("httplog clf", |p| front(p).log_style == LogStyle::HttpClf),
        ("httplog json", |p| front(p).log_style == LogStyle::HttpJson),
        ("tcplog", |p| front(p).log_style == LogStyle::Tcp),
        ("log-health-checks", |p| back(p).settings.log_checks),
        ("log-separate-errors", |p| front(p).settings.separate_errors),
        ("logasap", |p| front(p).settings.log_asap),
        ("redispatch", |p| back(p).settings.redispatch == -1),
        ("redispatch 2", |p| back(p).settings.redispatch == 2),
        ("httpclose\n no option httpclose", |p| {
            p.common.connection_mode == ConnectionMode::KeepAlive
        }),
        ("httpclose\n no option http-server-close", |p| {
            p.common.connection_mode == ConnectionMode::Close
        }),
        ("redispatch\n no option redispatch", |p| back(p).settings.redispatch == 0),
        ("dontlognull\n default option dontlognull", |p| !front(p).settings.dont_log_null),
    ];
    for (line, holds) in cases {
        assert!(holds(&only(&listen(&format!(" option {line}")))), "{line}");
    }
}

fn script(text: &str) -> Option<std::sync::Arc<rules::check::Script>> {
    match back(&only(&listen(text))).check.clone() {
        HealthCheck::Script(script) => Some(script),
        HealthCheck::Connect | HealthCheck::External { .. } => None,
    }
}

#[test]
fn simple_http_checks() {
    let simple = |text: &str| {
        let simple = script(text).unwrap().as_simple_http().unwrap();
        (String::from_utf8(simple.request).unwrap(), simple.statuses, simple.negated)
    };
    let usual = |request: &str| (request.to_owned(), vec![(200, 399)], false);
    for (text, request) in [
        (" option httpchk", "OPTIONS / HTTP/1.0\r\n\r\n"),
        (" option httpchk /x", "OPTIONS /x HTTP/1.0\r\n\r\n"),
        (" option httpchk HEAD /x", "HEAD /x HTTP/1.0\r\n\r\n"),
        (" option httpchk GET /up HTTP/1.1", "GET /up HTTP/1.1\r\nconnection: close\r\n\r\n"),
        (
            " option httpchk GET / HTTP/1.1\\r\\nHost:\\ a.b\\r\\n\\r\\nbody",
            "GET / HTTP/1.1\r\nhost: a.b\r\ncontent-length: 4\r\nconnection: close\r\n\r\nbody",
        ),
        // The later line wins.
        (" option httpchk GET /x\n http-check send uri /y", "GET /y HTTP/1.0\r\n\r\n"),
        (" http-check send uri /y\n option httpchk GET /x", "GET /x HTTP/1.0\r\n\r\n"),
    ] {
        assert_eq!(simple(text), usual(request), "{text}");
    }
    let text = " option httpchk /x\n http-check send meth HEAD hdr Host a.b hdr X y body z\n http-check expect ! status 200-299,404";
    let request = "HEAD /x HTTP/1.0\r\nhost: a.b\r\nx: y\r\ncontent-length: 1\r\n\r\nz";
    assert_eq!(simple(text), (request.to_owned(), vec![(200, 299), (404, 404)], true));
    assert!(script(" http-check expect status 200").is_none(), "needs option httpchk");
}

#[test]
fn agents() {
    let agent = |line: &str| {
        let text = listen(&format!(" server s 1.2.3.4:80 {line}"));
        back(&only(&text)).servers[0].options.check.agent.clone()
    };
    let usual = agent("agent-check agent-port 5");
    assert!(usual.enabled && usual.send.is_empty() && usual.addr.is_none());
    assert_eq!((usual.port, usual.inter), (Some(5), 2000));
    let own = agent("agent-check agent-port 5 agent-addr 1.1.1.1 agent-inter 3s agent-send a\\n");
    assert_eq!((own.addr, own.inter), ("1.1.1.1".parse().ok(), 3000));
    assert_eq!(own.send, b"a\n");
    assert!(!agent("agent-check agent-port 5 no-agent-check").enabled);
}

#[test]
fn checks_that_need_a_script() {
    for lines in [
        " http-check disable-on-404",
        " http-check send-state",
        " http-check connect port 1",
        " http-check expect string x",
        " http-check expect comment x status 200",
        " http-check comment x\n http-check expect status 200",
        " http-check expect ok-status L6OK status 200",
        " http-check expect on-error x status 200",
        " http-check send hdr x %[be_name]",
        " http-check send uri-lf /%[be_name]",
    ] {
        let script = script(&format!(" option httpchk\n{lines}")).unwrap();
        assert!(script.as_simple_http().is_none(), "{lines}");
    }
    let last_wins = script(" option tcp-check\n option redis-check\n tcp-check expect string x");
    assert_eq!(last_wins.unwrap().kind, rules::check::Kind::Ready);
    let text = " option tcp-check\n tcp-check connect\n tcp-check expect string x";
    assert_eq!(script(text).unwrap().steps.len(), 2);
}

#[test]
fn proxy_errors() {
    for (line, message) in [
        ("monitr-uri /x", "unknown keyword 'monitr-uri' in 'listen' section"),
        ("mode htp", "unknown proxy mode 'htp'."),
        (
            "mode health",
            "'mode health' doesn't exist anymore. Please use 'http-request return status 200' instead.",
        ),
        (
            "balance foo",
            "balance only supports 'roundrobin', 'static-rr', 'leastconn', 'source', 'uri', 'url_param', 'hdr(name)' and 'rdp-cookie(name)' options.",
        ),
        ("balance uri len 0", "balance uri : 'len' expects a positive integer (got '0')."),
        ("balance uri depth", "balance uri : 'depth' expects a positive integer (got '')."),
        (
            "balance uri bad",
            "balance uri only accepts parameters 'len', 'depth', 'path-only', and 'whole' (got 'bad').",
        ),
        ("balance url_param", "balance url_param requires an URL parameter name."),
        (
            "balance url_param k foo",
            "balance url_param only accepts 'check_post' modifier (got 'foo').",
        ),
        ("balance hdr()", "balance hdr requires an http header field name."),
        (
            "balance hdr(k) foo",
            "balance hdr(k) only accepts 'use_domain_only' modifier (got 'foo').",
        ),
        ("balance hash", "balance hash requires a sample expression."),
        ("balance hash src x", "balance hash takes no other argument (got 'x')."),
        ("balance rdp-cookie()", "balance rdp-cookie : missing cookie name."),
        ("balance random(0)", "balance random : number of draws must be at least 1."),
        ("balance random(x)", "balance random : unexpected character 'x' after argument."),
        ("balance random(2", "balance random : missing closing parenthesis."),
        ("hash-balance-factor 100", "'hash-balance-factor' must be 0 or greater than 100."),
        ("hash-balance-factor", "'hash-balance-factor' expects an integer argument."),
        (
            "bind",
            "'bind' expects {<path>|[addr1]:port1[-end1]}{,[addr]:port[-end]}... as arguments.",
        ),
        (
            "bind :80,,:81",
            "'bind' : '' resolves to an empty address (environment variable missing?)",
        ),
        ("bind :8000 foo", "'bind :8000' : unknown keyword 'foo'"),
        ("bind quic4@:8000", "'bind quic4@:8000' : QUIC needs 'ssl'"),
        ("bind quic4@:8000 ssl crt a", "'bind quic4@:8000' : QUIC needs 'alpn h3'"),
        (
            "bind quic4@:8000 ssl crt a alpn h3 accept-proxy",
            "'bind quic4@:8000' : 'accept-proxy' is not usable with QUIC",
        ),
        (
            "bind quic6@:8000 quic-cc-algo reno",
            "'bind quic6@:8000' : 'quic-cc-algo' : unknown control algorithm 'reno'",
        ),
        ("bind :80 maxconn", "'bind :80' : 'maxconn' : missing value"),
        (
            "bind :80 thread 9999",
            "'bind :80' : '9999' : '9999' is not a valid number/range. It supports numbers from 1 to 1024.",
        ),
        ("bind :80 thread 1,2", "'bind :80' : '1,2' : '1,2' is not a valid number/range."),
        (
            "bind :80 thread 17/1",
            "'bind :80' : '17/1' thread-group number must be between 1 and 16 (was 17)",
        ),
        (
            "bind :80 thread 1/1 thread 2",
            "'bind :80' : '2' multiple thread-groups are not supported",
        ),
        (
            "bind :81 thread 3",
            "Proxy 'l': 'thread' directive contains threads that belong to no group in 'bind :81' at [a.cfg:8].",
        ),
        (
            "bind :81 thread 2/1",
            "Proxy 'l': 'thread' directive only references threads not belonging to the group in 'bind :81' at [a.cfg:8].",
        ),
        ("bind :80 nice", "'bind :80' : 'nice' : missing value"),
        (
            "bind :80 nice 1025",
            "'bind :80' : 'nice' : invalid value 1025, allowed range is -1024..1024",
        ),
        ("bind :80 interface", "'bind :80' : 'interface' : missing interface name"),
        ("bind :80 id 0", "'bind :80' : 'id' : custom id has to be > 0"),
        (
            "bind :80 mode 9",
            "'bind :80' : 'mode' : missing or invalid mode '9' (octal integer expected)",
        ),
        ("bind :80 namespace missing", "'bind :80' : Cannot open namespace 'missing'."),
        ("server s :80 namespace missing", "'server l/s' : Cannot open namespace 'missing'."),
        ("bind :80 id 5 id 6", "'bind :80' : 'id' : custom id 6 already used on this line"),
        ("cookie X rewrite indirect", "cookie 'rewrite' and 'indirect' modes are incompatible."),
        ("cookie", "'cookie' expects <cookie_name> as argument."),
        ("cookie X preserve", "cookie 'preserve' requires at least 'insert' or 'indirect'."),
        ("cookie X insert maxidle", "'maxidle' expects <idletime> in seconds as argument."),
        ("retry-on none 503", "'retry-on' 'none' keyworld only usable alone"),
        ("retry-on 505", "'retry-on': unknown keyword '505'"),
        (
            "cookie X insert rewrite",
            "cookie 'rewrite', 'insert' and 'prefix' modes are incompatible.",
        ),
        ("cookie X insert domain", "'domain' expects <domain> as argument."),
        ("default_backend nope", "Proxy 'l': unable to find required default_backend: 'nope'."),
        ("errorfile", "errorfile : expects <status_code> and <file> as arguments."),
        ("errorfile 999 /x", "errorfile : status code '999' not handled."),
        ("errorfile 500 /bad", "errorfile : unable to parse file '/bad' : invalid status line."),
        ("errorfile 500 /nonexist", "errorfile : error opening file '/nonexist'."),
        ("errorloc 503", "errorloc : expects <status_code> and <url> as arguments."),
        ("hash-type foo", "'hash-type' only supports 'consistent' and 'map-based'."),
        (
            "hash-type consistent foo",
            "'hash-type' only supports 'sdbm', 'djb2', 'crc32', or 'wt6' hash functions.",
        ),
        (
            "http-check expect",
            "'http-check expect' : expects at least a matching pattern as arguments.",
        ),
        (
            "http-check expect status x",
            "'http-check expect' : invalid character 'x' in the list of status codes",
        ),
        (
            "http-check set-var(x) int(1)",
            "'http-check set-var' : invalid variable name 'x'. A variable name must be start by its scope. The scope can be 'proc', 'sess', 'txn', 'req', 'res' or 'check'",
        ),
        (
            "http-check set-var(txn.x) int(1)",
            "'http-check set-var' : a check has only variables of the scopes 'proc', 'sess' and 'check'",
        ),
        ("tcp-check send-binary 4x", "'tcp-check send-binary' : '4x' invalid binary string."),
        (
            "tcp-check expect tout-status L7OK string x",
            "'tcp-check expect' : 'tout-status' only supports 'L4TOUT', 'L6TOUT', 'L7TOUT' (got 'L7OK').",
        ),
        (
            "tcp-check expect status 200",
            "'tcp-check expect' : 'only supports min-recv, '[!]binary', '[!]string', '[!]rstring', '[!]rbinary', '[!]string-lf', '[!]binary-lf' or comment but got 'status' as argument.",
        ),
        ("option pgsql-check", "'option pgsql-check' expects 'user <username>' as argument."),
        ("http-check send meth", "'http-check send' : 'meth' expects a string as argument."),
        ("http-reuse foo", "'http-reuse' only supports 'never', 'safe', 'aggressive', 'always'."),
        ("id 0", "custom id has to be > 0."),
        (
            "server s 1.2.3.4:+5 check",
            "proxy 'l': server 's' has neither service port nor check port.",
        ),
        (
            "server s 1.2.3.4:5 usesrc client",
            "'server l/s' : 'usesrc' only allowed after a 'source' statement.",
        ),
        (
            "server s 1.2.3.4:5 proxy-v2-options x",
            "'server l/s' : 'x' : proxy v2 option not implemented.",
        ),
        (
            "server s 1.2.3.4:5 socks4 foo:1",
            "'server l/s' : 'socks4 foo:1' : invalid address: 'foo' in 'foo:1'",
        ),
        ("rate-limit foo", "'rate-limit' only supports 'sessions' (got 'foo')."),
        ("usesrc client", "'usesrc' only allowed after a 'source' statement."),
        ("errorfiles", "'errorfiles' expects the name of an http-errors section as argument."),
        ("errorfiles nope", "Proxy 'l': unable to find required http-errors section 'nope'."),
        ("errorfiles x 999", "errorfiles : status code '999' not handled."),
        ("log foo", "log : invalid address: 'foo' in 'foo'"),
        ("log", "log : expects <address> and <facility> or global as arguments"),
        ("option", "'option' expects an option name."),
        ("option httplogg", "unknown option 'httplogg'"),
        ("option dontlognull x", "'option dontlognull' cannot handle unexpected argument 'x'."),
        (
            "option forwardfor x",
            "'option forwardfor' only supports optional values: 'except', 'header' and 'if-none'.",
        ),
        (
            "option forwardfor except x",
            "'option forwardfor except' expects <address>[/mask] as argument.",
        ),
        ("no option httpchk", "negation/default is not supported for option 'httpchk'."),
        (
            "no mode http",
            "negation/default currently supported only for options, log, busy-polling, set-dumpable, strict-limits, insecure-fork-wanted and numa-cpu-mapping.",
        ),
        ("retries", "'retries' expects an integer argument (dispatch counts for one)."),
        ("server a", "'server' expects <name> and <addr>[:<port>] as arguments."),
        ("server b/c 1.2.3.4", "character '/' is not permitted in server name 'b/c'."),
        ("server s 1.2.3.4:80 chek", "'server l/s' : unknown keyword 'chek'"),
        (
            "server s 1.2.3.4:80 weight 500",
            "'server l/s' : weight of server is not within 0 and 256 (500).",
        ),
        (
            "server s 1.2.3.4:80 inter 3q",
            "'server l/s' : unexpected character 'q' in 'inter' argument of server.",
        ),
        ("server s 1.2.3.4:80 inter", "'server l/s' : 'inter' expects a delay as argument."),
        ("server s 1.2.3.4:80 inter 0", "'server l/s' : invalid value 0 for argument 'inter'."),
        ("server s 1.2.3.4:80 rise 0", "'server l/s' : 'rise' has to be > 0."),
        (
            "server s 1.2.3.4 check",
            "proxy 'l': server 's' has neither service port nor check port.",
        ),
        (
            "server s nosuch.invalid:80",
            "'server l/s' : could not resolve address 'nosuch.invalid'.",
        ),
        (
            "stats foo",
            "unknown stats parameter 'foo', expects 'admin', 'uri', 'realm', 'auth', 'scope', 'enable', 'hide-version', 'show-node', 'show-desc' or 'show-legends'.",
        ),
        ("stats admin", "'stats' requires either 'if' or 'unless' followed by a condition."),
        ("stats auth", "'auth' needs a user:password account."),
        ("stats realm", "'realm' needs an realm name."),
        ("stats scope", "'scope' needs a proxy name."),
        ("stats refresh x", "unexpected character 'x' in argument to stats refresh interval."),
        ("stats uri", "'uri' needs an URI prefix."),
        (
            "timeout",
            "'timeout' supports 'client', 'server', 'connect', 'check', 'queue', 'http-keep-alive', 'http-request', 'tunnel', 'tarpit', 'client-fin' and 'server-fin' (got '')",
        ),
        ("timeout server", "'timeout server' expects an integer value (in milliseconds)"),
        ("timeout server 5x", "unexpected character 'x' in 'timeout server'"),
        (
            "timeout server 1s 2s",
            "'timeout server' : unexpected extra argument '2s' after value '1s'.",
        ),
        (
            "timeout server 30d",
            "timer overflow in argument '30d' to 'timeout server' (maximum value is 2147483647 ms or ~24.8 days)",
        ),
        (
            "reqadd x",
            "The 'reqadd' directive is not supported anymore since HAProxy 2.1. Use 'http-request add-header' instead.",
        ),
        (
            "option forceclose",
            "option 'forceclose' is not supported any more since HAProxy 2.0, please just remove it, or use 'option httpclose' if absolutely needed.",
        ),
    ] {
        assert_eq!(messages(&listen(&format!(" {line}")), Severity::Alert), [message], "{line}");
    }
}

fn front(proxy: &Proxy) -> &Front {
    proxy.front.as_ref().unwrap()
}

fn back(proxy: &Proxy) -> &Back {
    proxy.back.as_ref().unwrap()
}

#[test]
fn keywords_without_effect_say_so() {
    for (line, why) in [
        ("noepoll", "epoll is the only poller there is"),
        ("nogetaddrinfo", "names are resolved by getaddrinfo() only"),
        ("numa-cpu-mapping", "threads are bound by 'cpu-map' only"),
        ("tune.fd.edge-triggered off", "descriptors are always polled edge-triggered"),
        ("tune.fail-alloc 3", "allocations are not made to fail"),
        ("tune.pattern.cache-size 5000", "look-ups of patterns need no cache"),
        ("tune.recv_enough 100", "a socket is read until it has nothing more"),
    ] {
        let text = format!("global\n expose-experimental-directives\n {line}\n");
        let keyword = line.split(' ').next().unwrap_or_default();
        let said = messages(&text, Severity::Warning);
        assert_eq!(said, [format!("'{keyword}' has no effect: {why}")], "{line}");
    }
    let no_delay = |line: &str, severity| messages(&listen(&format!(" {line}")), severity);
    let told = "'http-no-delay' has no effect: nothing is ever delayed";
    assert_eq!(no_delay("option http-no-delay", Severity::Warning), [told]);
    let extra = "'option http-no-delay' cannot handle unexpected argument 'x'.";
    assert_eq!(no_delay("option http-no-delay x", Severity::Alert), [extra]);
    let quiet = "global\n expose-experimental-directives\n nopoll\n nokqueue\n noevports\n \
                 no-memory-trimming\n no numa-cpu-mapping\n tune.fd.edge-triggered on\n \
                 tune.fail-alloc 0\n tune.pattern.cache-size 0\n";
    assert_eq!(messages(quiet, Severity::Warning), [""; 0]);
}

#[test]
fn long_captured_cookies_are_cut() {
    let text = |global: &str, len: u32| {
        format!(
            "global\n{global}\nfrontend f\n mode http\n bind :1\n timeout client 1s\n \
             capture cookie S len {len}\n"
        )
    };
    for (global, len, kept) in [("", 63, 63), ("", 64, 63), (" tune.http.cookielen 8", 9, 8)] {
        let text = text(global, len);
        let cut = format!("truncating capture length to {kept} bytes for frontend 'f'.");
        let said = messages(&text, Severity::Warning);
        assert_eq!(said.contains(&cut), kept < len, "{said:?}");
        let cookie = model(&text).proxies[0].captured.cookie.clone();
        assert_eq!(cookie, Some(("S".to_owned(), kept as usize)));
    }
}

#[test]
fn shards_beside_an_inherited_socket_are_warned_of() {
    let text =
        |bind: &str| format!("frontend f\n mode http\n timeout client 1s\n bind {bind} shards 2\n");
    let of = |bind: &str| messages(&text(bind), Severity::Warning);
    let why = "'shards' has no effect on unix and inherited sockets: there is one of each";
    assert_eq!(of("/tmp/s"), [format!("'bind /tmp/s' : {why}")]);
    assert_eq!(of("fd@3"), [format!("'bind fd@3' : {why}")]);
    assert_eq!(of(":80"), [""; 0]);
    // At any position of the section `global`.
    let global = "global\n noreuseport\n";
    let said = messages(&format!("{}{global}", text(":80-81")), Severity::Warning);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].ends_with("'shards' has no effect with 'noreuseport'"), "{said:?}");
    assert_eq!(messages(&format!("{}{global}", text("fd@3")), Severity::Warning).len(), 1);
}
