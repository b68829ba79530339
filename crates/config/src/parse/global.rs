//! Keywords of the `global` section (section 3).
use super::values::{digits_at, flag, integer, log_tag, on_off, text, time};
use super::{
    accounts, bind, case, compression, cpu_map, environment, http_client, log, lua, quic_global,
    stats_socket, threads, tls_global, variable, without_effect,
};
use crate::context::{Cx, DefaultPath, Prefix};
use crate::keyword::{Fill, Keyword, global as entry};
use crate::line::{Args, Fault, Parsed};
use crate::model::{CloseSpread, Global, Profiling, SendHostname};
use crate::value;
use std::path::Path;

type GlobalKeyword = Keyword<Fill<Global>>;

/// A number of `tune.h2.*`.
fn h2(args: Args<'_>, expected: &str, range: std::ops::RangeInclusive<u32>) -> Result<u32, Fault> {
    let number = args.leading(1).filter(|number| range.contains(number));
    number.ok_or_else(|| args.fault(1, format!("'{}' expects {expected}.", args.text(0))))
}

/// All implemented keywords of `global`, alphabetical.
pub(crate) const KEYWORDS: &[GlobalKeyword] = &[
    entry("anonkey", "<key>", "What names are hashed with in the anonymized mode.", |g, _, a| {
        a.no_more_than(1)?;
        digits_at(a, 1, 0..=u32::MAX).map(|key| g.anon_key = key)
    }),
    entry("busy-polling", "", "Polls without ever sleeping.", |g, cx, a| {
        a.no_more_than(0)?;
        g.tune.busy_polling = cx.prefix == Prefix::None;
        Ok(())
    }),
    entry("chroot", "<jail dir>", "Changes the root directory before serving.", |g, _, a| {
        text(a, "a directory as an argument.").map(|dir| g.process.chroot = Some(dir.into()))
    }),
    entry("close-spread-time", "<time>", "Spreads the end of connections.", |g, _, a| {
        close_spread(a).map(|spread| g.settings.close_spread = spread)
    }),
    entry(
        "cpu-map",
        "[auto:]<thread-group>[/<thread-set>] <cpu-set>...",
        "Binds threads to CPUs.",
        cpu_map::parse,
    ),
    entry("daemon", "", "Goes to the background.", |g, _, a| flag(a, &mut g.process.daemon)),
    entry(
        "default-path",
        "{ current | config | parent | origin <path> }",
        "Says where relative file names start.",
        default_path,
    ),
    entry("description", "<text>", "Describes this instance.", |g, cx, a| {
        g.settings.description = Some(description(a)?);
        cx.described = true;
        Ok(())
    }),
    entry(
        "expose-experimental-directives",
        "",
        "Allows directives that may still change.",
        |_, cx, a| {
            cx.experimental = true;
            a.ignores_behind(0);
            Ok(())
        },
    ),
    entry("external-check", "", "Allows programs to check servers.", |g, _, a| {
        flag(a, &mut g.process.external_check)
    }),
    entry("fd-hard-limit", "<number>", "Bounds the descriptors to count on.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.process.fd_hard_limit = Some(n))
    }),
    entry("gid", "<number>", "Changes the group before serving.", |g, _, a| {
        accounts::id(a, "group").map(|id| g.process.gid = id)
    }),
    entry("grace", "<time>", "Delays a soft stop.", |g, _, a| {
        time(a, "argument to <grace>.").map(|t| g.grace = t)
    }),
    entry("group", "<group name>", "Changes the group before serving.", |g, cx, a| {
        a.no_more_than(1)?;
        accounts::group(cx, a).map(|id| g.process.gid = Some(id))
    }),
    entry(
        "h1-accept-payload-with-any-method",
        "",
        "Takes bodies of HTTP/1.0 requests of any method.",
        |g, _, a| flag(a, &mut g.settings.payload_with_any_method),
    ),
    entry("h1-case-adjust", "<from> <to>", "How to write a header name.", |g, _, a| {
        case::entry(g, a)
    }),
    entry("h1-case-adjust-file", "<hdrs-file>", "How to write header names.", |g, _, a| {
        case::file(g, a)
    }),
    entry(
        "h2-workaround-bogus-websocket-clients",
        "",
        "Does not tell clients that streams can be websockets.",
        |g, _, a| flag(a, &mut g.settings.h2.hides_websockets),
    ),
    entry("hard-stop-after", "<time>", "Bounds a soft stop.", |g, _, a| {
        time(a, "argument to <hard-stop-after>.")
            .map(|t| g.hard_stop_after = Some(t).filter(|t| *t > 0))
    }),
    entry(
        "httpclient.resolvers.disabled",
        "{ on | off }",
        "Has the HTTP client resolve no names.",
        |g, _, a| http_client::no_resolvers(g, a),
    ),
    entry(
        "httpclient.resolvers.id",
        "<resolvers id>",
        "The resolvers section of the HTTP client.",
        |g, _, a| http_client::resolvers(g, a),
    ),
    entry(
        "httpclient.resolvers.prefer",
        "{ ipv4 | ipv6 }",
        "The family of addresses that the HTTP client prefers.",
        |g, _, a| http_client::prefer(g, a),
    ),
    entry("httpclient.retries", "<number>", "Retries of the HTTP client.", |g, _, a| {
        http_client::retries(g, a)
    }),
    entry(
        "httpclient.ssl.ca-file",
        "<cafile>",
        "The authorities that the HTTP client trusts.",
        |g, _, a| http_client::ca_file(g, a),
    ),
    entry(
        "httpclient.ssl.verify",
        "{ none | required }",
        "Whether the HTTP client checks certificates of servers.",
        |g, _, a| http_client::verify(g, a),
    ),
    entry(
        "httpclient.timeout.connect",
        "<time>",
        "Bounds the time for a connection of the HTTP client.",
        |g, _, a| http_client::timeout(g, a),
    ),
    entry("insecure-fork-wanted", "", "Allows to start programs.", |g, cx, a| {
        a.no_more_than(0)?;
        g.process.insecure_fork = cx.prefix == Prefix::None;
        Ok(())
    }),
    entry("insecure-setuid-wanted", "", "Lets programs gain privileges.", |g, _, a| {
        flag(a, &mut g.process.insecure_setuid)
    }),
    entry("localpeer", "<name>", "Names this instance for its peers.", environment::local_peer),
    entry(
        "log",
        "<target> [len <length>] [format <format>] [sample <ranges>:<size>] <facility> [<level> [<minlevel>]]",
        "Adds a log target for `log global`.",
        |g, cx, a| log::global(&mut g.logs, cx, a),
    ),
    entry(
        "log-send-hostname",
        "[<string>]",
        "Sets the host name in the syslog header.",
        |g, _, a| {
            a.ignores_behind(1);
            g.log_send_hostname =
                a.get(1).map_or(SendHostname::System, |name| SendHostname::Name(name.to_owned()));
            Ok(())
        },
    ),
    entry("log-tag", "<string>", "Sets the tag in the syslog header.", |g, _, a| {
        log_tag(a).map(|tag| g.log_tag = Some(tag))
    }),
    entry("lua-load", "<file> [<arg>...]", "Loads a script for all threads.", lua::load),
    entry("lua-load-per-thread", "<file> [<arg>...]", "Loads a script for each thread.", lua::load),
    entry(
        "lua-prepend-path",
        "<path> [path|cpath]",
        "Says where scripts look for modules first.",
        lua::prepend_path,
    ),
    entry(
        "master-worker",
        "[no-exit-on-failure]",
        "Puts a master above the workers.",
        |g, _, a| master_worker(g, a),
    ),
    entry("max-spread-checks", "<delay>", "Bounds the spread of checks at start.", |g, _, a| {
        time(a, "'max-spread-checks' (wants an integer delay).")
            .map(|t| g.settings.max_spread_checks = Some(u32::try_from(t).unwrap_or(u32::MAX)))
    }),
    entry(
        "maxcompcpuusage",
        "<number>",
        "Percent of the CPU above which nothing more is compressed.",
        |g, _, a| percent(a).map(|n| g.settings.compression.limits.cpu_percent = n as u8),
    ),
    entry("maxcomprate", "<number>", "Bounds what is compressed per second, kB.", |g, _, a| {
        let expected = "expects an integer argument in kb/s.";
        compression::limit(a, expected)
            .map(|n| g.settings.compression.limits.rate = u64::from(n) << 10)
    }),
    entry("maxconn", "<number>", "Bounds the connections of the process.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.process.maxconn = Some(n).filter(|n| *n > 0))
    }),
    entry("maxconnrate", "<number>", "Bounds the connections per second.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.settings.max_rates.connections = n)
    }),
    entry("maxpipes", "<number>", "Bounds the pipes that payload goes through.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.process.maxpipes = Some(n))
    }),
    entry("maxsessrate", "<number>", "Bounds the sessions per second.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.settings.max_rates.sessions = n)
    }),
    entry("maxsslconn", "<number>", "Bounds the connections over TLS.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.settings.max_tls = n)
    }),
    entry("maxsslrate", "<number>", "Bounds the connections over TLS per second.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.settings.max_rates.tls_sessions = n)
    }),
    entry("maxzlibmem", "<number>", "Bounds the memory of compression, MB.", |g, _, a| {
        let expected = "expects an integer argument.";
        compression::limit(a, expected)
            .map(|n| g.settings.compression.limits.memory = u64::from(n) << 20)
    }),
    entry(
        "mworker-max-reloads",
        "<number>",
        "How many reloads a worker may outlive.",
        |g, _, a| integer(a, 0..=i32::MAX as u32).map(|n| g.process.max_reloads = Some(n)),
    ),
    entry("nbthread", "<number>", "Sets the number of threads.", |g, _, a| {
        threads::nbthread(a).map(|n| g.process.nbthread = Some(n))
    }),
    entry("no-memory-trimming", "", "Keeps freed memory, as is always done.", |_, _, a| {
        a.no_more_than(0)
    }),
    entry("node", "<name>", "Names this instance.", |g, _, a| {
        node(a).map(|name| g.node = Some(name))
    }),
    entry("noepoll", "", "Has no effect.", |_, cx, a| without_effect::no_epoll(cx, a)),
    entry("noevports", "", "Does not use event ports.", |_, _, a| a.no_more_than(0)),
    entry("nogetaddrinfo", "", "Has no effect.", |_, cx, a| without_effect::no_getaddrinfo(cx, a)),
    entry("nokqueue", "", "Does not use kqueue.", |_, _, a| a.no_more_than(0)),
    entry("nopoll", "", "Does not use poll.", |_, _, a| a.no_more_than(0)),
    entry("noreuseport", "", "Shares no address with others.", |g, _, a| {
        flag(a, &mut g.process.noreuseport)
    }),
    entry("nosplice", "", "Moves nothing through pipes.", |g, _, a| {
        flag(a, &mut g.process.nosplice)
    }),
    entry("numa-cpu-mapping", "", "Has no effect.", |_, cx, a| without_effect::numa(cx, a)),
    entry("pidfile", "<pidfile>", "Writes the process id to a file.", |g, _, a| {
        text(a, "a file name as an argument.").map(|file| g.process.pidfile = Some(file.into()))
    }),
    entry(
        "pp2-never-send-local",
        "",
        "Has PROXY headers of checks name their connection.",
        |g, _, a| flag(a, &mut g.process.pp2_never_send_local),
    ),
    entry("presetenv", "<name> <value>", "Sets a variable unless it exists.", environment::preset),
    entry("profiling.memory", "{ on | off }", "Counts allocations by caller.", |_, cx, a| {
        if on_off(a)? {
            cx.warn(a, 0, "'profiling.memory' has no effect: memory is not profiled");
        }
        Ok(())
    }),
    entry("profiling.tasks", "{ auto | on | off }", "Times tasks by function.", |g, _, a| {
        profiling(a).map(|mode| g.tune.profiling = mode)
    }),
    entry("quiet", "", "Says nothing at start.", |g, cx, a| {
        flag(a, &mut g.process.quiet)?;
        cx.diagnostics.mute();
        Ok(())
    }),
    entry("resetenv", "[<name> ...]", "Removes all variables but these.", environment::reset),
    entry("server-state-base", "<directory>", "Where server state files are.", |g, _, a| {
        let directory = a.need(1, "'server-state-base' expects one argument: a directory path.")?;
        g.server_state_base = Some(directory.to_owned());
        Ok(())
    }),
    entry("server-state-file", "<file>", "The last states of all servers.", |g, _, a| {
        let file = a.need(1, "'server-state-file' expect one argument: a file path.")?;
        g.server_state_file = Some(file.to_owned());
        Ok(())
    }),
    entry("set-dumpable", "", "Tries to leave core dumps.", |g, cx, a| {
        a.no_more_than(0)?;
        g.process.dumpable = cx.prefix == Prefix::None;
        Ok(())
    }),
    entry(
        "set-var",
        "<var-name>[,<cond>...] <expr>",
        "Sets a variable of the process.",
        variable::set,
    ),
    entry(
        "set-var-fmt",
        "<var-name>[,<cond>...] <fmt>",
        "Sets a variable of the process from a format.",
        variable::set_format,
    ),
    entry("setenv", "<name> <value>", "Sets a variable.", environment::set),
    entry(
        "spread-checks",
        "<0..50, in percent>",
        "Adds randomness to check intervals.",
        |g, _, a| spread_checks(a).map(|n| g.settings.spread_checks = n),
    ),
    entry(
        "stats",
        "socket <address> [param*] | timeout <time> | maxconn <n>",
        "The runtime API.",
        |g, cx, a| stats_socket::parse(&mut g.stats, cx, a),
    ),
    entry("strict-limits", "", "Refuses to start with too few descriptors.", |g, cx, a| {
        a.no_more_than(0)?;
        g.process.lax_limits = cx.prefix == Prefix::No;
        Ok(())
    }),
    entry("thread-group", "<group> [<thread-range>...]", "Seats threads in a group.", |g, _, a| {
        threads::group(g, a)
    }),
    entry("thread-groups", "<number>", "Sets the number of thread groups.", |g, _, a| {
        threads::groups(a).map(|n| g.process.thread_groups = n)
    }),
    entry("tune.buffers.limit", "<number>", "Bounds the buffers of the process.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.tune.buffer_limit = n)
    }),
    entry("tune.buffers.reserve", "<number>", "Keeps buffers back to end requests.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.tune.buffer_reserve = Some(n))
    }),
    entry("tune.bufsize", "<number>", "Sets the size of buffers.", |g, _, a| {
        positive(a).map(|n| g.settings.buffer_size = n as usize)
    }),
    entry("tune.comp.maxlevel", "<number>", "The highest compression level.", |g, _, a| {
        compression::level(a, 1..=9, "").map(|n| g.settings.compression.tuning.level = n)
    }),
    entry("tune.fail-alloc", "<percent>", "Has no effect.", |_, cx, a| {
        without_effect::fail_alloc(cx, a)
    }),
    entry("tune.fd.edge-triggered", "{ on | off }", "Is always on.", |_, cx, a| {
        without_effect::edge_triggered(cx, a)
    }),
    entry("tune.glitches.kill.cpu-usage", "<percent>", "Tolerates glitches below.", |g, _, a| {
        integer(a, 0..=100).map(|n| g.settings.h2.kill_cpu_usage = n)
    }),
    entry("tune.h2.be.glitches-threshold", "<number>", "Glitches of a server.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.settings.h2.glitches_threshold[1] = Some(n))
    }),
    entry("tune.h2.be.max-frames-at-once", "<number>", "Frames of a turn.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.settings.h2.max_frames_at_once[1] = n)
    }),
    entry("tune.h2.fe.glitches-threshold", "<number>", "Glitches of a client.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.settings.h2.glitches_threshold[0] = Some(n))
    }),
    entry("tune.h2.fe.max-frames-at-once", "<number>", "Frames of a turn.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.settings.h2.max_frames_at_once[0] = n)
    }),
    entry("tune.h2.fe.max-rst-at-once", "<number>", "Resets of a turn.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.settings.h2.max_rst_at_once = n)
    }),
    entry(
        "tune.h2.fe.max-total-streams",
        "<number>",
        "Streams before a graceful end.",
        |g, _, a| integer(a, 0..=i32::MAX as u32).map(|n| g.settings.h2.max_total_streams = n),
    ),
    entry("tune.h2.header-table-size", "<number>", "Bounds a peer's table.", |g, _, a| {
        let range = "a numeric value between 4096 and 65536";
        h2(a, range, 4_096..=65_536).map(|n| g.settings.h2.header_table_size = n)
    }),
    entry("tune.h2.initial-window-size", "<number>", "Window of a stream.", |g, _, a| {
        let range = "a positive numeric value";
        h2(a, range, 0..=i32::MAX as u32).map(|n| g.settings.h2.initial_window_size = n)
    }),
    entry("tune.h2.max-concurrent-streams", "<number>", "Streams of a connection.", |g, _, a| {
        let range = "a positive numeric value";
        let most = h2(a, range, 0..=i32::MAX as u32)?;
        g.settings.h2.max_concurrent_streams = Some(most).filter(|most| *most > 0);
        Ok(())
    }),
    entry("tune.h2.max-frame-size", "<number>", "Largest frame taken.", |g, _, a| {
        let range = "a numeric value between 16384 and 16777215";
        h2(a, range, 16_384..=16_777_215).map(|n| g.tune.h2_max_frame_size = Some(n))
    }),
    entry("tune.histograms", "{ on | off }", "Counts times in histograms.", |g, _, a| {
        on_off(a).map(|on| g.settings.histograms = on)
    }),
    entry("tune.history", "<seconds>", "Keeps figures for the dashboard's charts.", |g, _, a| {
        integer(a, 0..=3600).map(|n| g.settings.history = n)
    }),
    entry("tune.http.cookielen", "<number>", "Bounds captured cookies.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.tune.cookie_len = n)
    }),
    entry(
        "tune.http.logurilen",
        "<number>",
        "Bounds the target of requests in logs.",
        |g, _, a| log_uri_len(a).map(|n| g.settings.log_uri_len = n),
    ),
    entry("tune.http.maxhdr", "<number>", "Bounds the header lines of a message.", |g, _, a| {
        integer(a, 1..=32767).map(|n| g.settings.max_headers = n as usize)
    }),
    entry("tune.idle-pool.shared", "{ on | off }", "Shares idle connections.", |g, _, a| {
        on_off(a).map(|on| g.settings.shared_pools = on)
    }),
    entry("tune.idletimer", "<time>", "When a paused transfer begins anew.", |g, _, a| {
        without_effect::idle_timer(a).map(|pause| g.tls.defaults.pause = pause)
    }),
    entry("tune.listener.multi-queue", "{ on | off }", "Spreads clients by load.", |g, _, a| {
        on_off(a).map(|on| g.settings.spreads_clients = on)
    }),
    entry("tune.lua.burst-timeout", "<time>", "Bounds a turn of a script.", |g, _, a| {
        lua::timeout(g, a)
    }),
    entry(
        "tune.lua.forced-yield",
        "<number>",
        "Instructions after which a script stands aside.",
        |g, _, a| lua::forced_yield(g, a),
    ),
    entry("tune.lua.maxmem", "<number>", "Bounds the memory of scripts, MB.", |g, _, a| {
        lua::max_memory(g, a)
    }),
    entry("tune.lua.service-timeout", "<time>", "Bounds services of scripts.", |g, _, a| {
        lua::timeout(g, a)
    }),
    entry("tune.lua.session-timeout", "<time>", "Bounds actions of scripts.", |g, _, a| {
        lua::timeout(g, a)
    }),
    entry("tune.lua.task-timeout", "<time>", "Bounds tasks of scripts.", |g, _, a| {
        lua::timeout(g, a)
    }),
    entry("tune.maxaccept", "<number>", "Bounds connections accepted in a row.", |g, _, a| {
        maxaccept(a).map(|n| g.tune.maxaccept = Some(n))
    }),
    entry("tune.maxpollevents", "<number>", "Bounds the events per poll.", |g, _, a| {
        or_default(a).map(|n| g.tune.maxpollevents = n)
    }),
    entry("tune.maxrewrite", "<number>", "Reserves buffer space for rewriting.", |g, _, a| {
        integer(a, 0..=1 << 30).map(|n| g.settings.max_rewrite = n as usize)
    }),
    entry(
        "tune.memory.limit",
        "<size>",
        "Bounds the memory of the process; 0: no bound.",
        |g, _, a| memory(a).map(|bytes| g.tune.memory_limit = Some(bytes)),
    ),
    // HAProxy has no bound by default; a slow reader then takes megabytes of the system.
    entry(
        "tune.notsent-lowat.client",
        "<size>",
        "Bounds what waits, 256k if not set.",
        |g, _, a| room(a).map(|n| g.tune.unsent_client = Some(unsent(n))),
    ),
    entry("tune.notsent-lowat.server", "<size>", "Bounds what waits to be sent.", |g, _, a| {
        room(a).map(|n| g.tune.unsent_server = unsent(n))
    }),
    entry("tune.pattern.cache-size", "<number>", "Has no effect.", |_, cx, a| {
        without_effect::pattern_cache(cx, a)
    }),
    entry(
        "tune.peers.max-updates-at-once",
        "<number>",
        "Updates that a peer gets in one go.",
        |g, _, a| positive(a).map(|n| g.tune.peers_max_updates = Some(n)),
    ),
    entry("tune.pipesize", "<number>", "Sets the size of pipes.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.tune.pipe_size = n)
    }),
    entry(
        "tune.pool-high-fd-ratio",
        "<number>",
        "Descriptors in use above which idle connections are closed for new ones.",
        |g, _, a| percent(a).map(|n| g.tune.pool_high = Some(n)),
    ),
    entry(
        "tune.pool-low-fd-ratio",
        "<number>",
        "Descriptors in use above which no connection is kept.",
        |g, _, a| percent(a).map(|n| g.tune.pool_low = Some(n)),
    ),
    entry("tune.rcvbuf.client", "<number>", "Sets the system's buffers of clients.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.tune.rcvbuf_client = n)
    }),
    entry("tune.rcvbuf.server", "<number>", "Sets the system's buffers of servers.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.tune.rcvbuf_server = n)
    }),
    entry("tune.recv_enough", "<bytes>", "Has no effect.", |_, cx, a| {
        without_effect::recv_enough(cx, a)
    }),
    entry("tune.runqueue-depth", "<number>", "Bounds the tasks run between polls.", |g, _, a| {
        or_default(a).map(|n| g.tune.runqueue_depth = n)
    }),
    entry("tune.sched.low-latency", "{ on | off }", "Favours latency.", |g, _, a| {
        on_off(a).map(|on| g.tune.low_latency = on)
    }),
    entry("tune.sndbuf.client", "<number>", "Sets the system's buffers of clients.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.tune.sndbuf_client = n)
    }),
    entry("tune.sndbuf.server", "<number>", "Sets the system's buffers of servers.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.tune.sndbuf_server = n)
    }),
    entry(
        "tune.vars.check-max-size",
        "<size>",
        "Bounds variables of health checks.",
        |_, cx, a| room(a).map(|n| cx.variables.limits.check = n),
    ),
    entry("tune.vars.global-max-size", "<size>", "Bounds variables of all scopes.", |_, cx, a| {
        room(a).map(|n| cx.variables.limits.global = n)
    }),
    entry("tune.vars.proc-max-size", "<size>", "Bounds variables of the process.", |_, cx, a| {
        room(a).map(|n| cx.variables.limits.process = n)
    }),
    entry(
        "tune.vars.reqres-max-size",
        "<size>",
        "Bounds variables of a request or response.",
        |_, cx, a| room(a).map(|n| cx.variables.limits.message = n),
    ),
    entry("tune.vars.sess-max-size", "<size>", "Bounds variables of a session.", |_, cx, a| {
        room(a).map(|n| cx.variables.limits.session = n)
    }),
    entry("tune.vars.txn-max-size", "<size>", "Bounds variables of a transaction.", |_, cx, a| {
        room(a).map(|n| cx.variables.limits.transaction = n)
    }),
    entry("tune.why", "{ on | off }", "Remembers transactions for 'show why'.", |g, _, a| {
        on_off(a).map(|on| g.tune.why = Some(on))
    }),
    entry("tune.zlib.memlevel", "<number>", "The memory that compression takes.", |g, _, a| {
        compression::level(a, 1..=9, ".").map(|n| g.settings.compression.tuning.memory_level = n)
    }),
    entry("tune.zlib.windowsize", "<number>", "The window of compression.", |g, _, a| {
        compression::level(a, 8..=15, ".").map(|n| g.settings.compression.tuning.window_bits = n)
    }),
    entry("uid", "<number>", "Changes the user before serving.", |g, _, a| {
        accounts::id(a, "user").map(|id| g.process.uid = id)
    }),
    entry("ulimit-n", "<number>", "Sets the limit of descriptors.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.process.ulimit_n = Some(n).filter(|n| *n > 0))
    }),
    entry(
        "unix-bind",
        "[prefix <prefix>] [mode <mode>] [user <user>] [uid <uid>] [group <group>] [gid <gid>]",
        "What unix sockets have by default.",
        bind::unix_defaults,
    ),
    entry("unsetenv", "[<name> ...]", "Removes variables.", environment::unset),
    entry("user", "<user name>", "Changes the user before serving.", |g, cx, a| {
        a.no_more_than(1)?;
        accounts::user(cx, a).map(|id| g.process.uid = Some(id))
    }),
    entry("zero-warning", "", "Makes warnings fatal.", |g, _, a| {
        flag(a, &mut g.process.zero_warning)
    }),
];

/// Keywords that HAProxy has removed, and its messages about them.
const REMOVED: [(&str, &str); 2] = [
    (
        "nbproc",
        "nbproc is not supported any more since HAProxy 2.5. Threads will automatically be used on multi-processor machines if available.",
    ),
    (
        "tune.chksize",
        "option 'tune.chksize' is not supported any more (tune.bufsize is used instead).",
    ),
];

/// One line of a `global` section.
pub(crate) fn line(global: &mut Global, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let name = args.text(0);
    if let Some(what) = given_before(global, name) {
        cx.warn(args, 0, format!("{what} already specified. Continuing."));
        return Ok(());
    }
    let own = Keyword::find(KEYWORDS, name);
    if let Some(keyword) = own
        .or_else(|| Keyword::find(tls_global::KEYWORDS, name))
        .or_else(|| Keyword::find(quic_global::KEYWORDS, name))
    {
        let parsed = (keyword.parse)(global, cx, args);
        cx.tls_presets = global.tls.presets.clone();
        return parsed;
    }
    if let Some((_, hint)) = REMOVED.iter().find(|(removed, _)| *removed == name) {
        return Err(args.fault(0, *hint));
    }
    let unknown = format!("unknown keyword '{name}' in 'global' section");
    Err(crate::known::fault(args, 0, "global", name, unknown))
}

/// Keywords whose first line takes effect, with HAProxy's name for them in the message about a
/// second line. HAProxy logs this as an alert, yet starts.
fn given_before(global: &Global, name: &str) -> Option<&'static str> {
    let (process, tune) = (&global.process, &global.tune);
    let (given, what) = match name {
        "chroot" => (process.chroot.is_some(), "'chroot'"),
        "fd-hard-limit" => (process.fd_hard_limit.is_some_and(|n| n > 0), "'fd-hard-limit'"),
        "gid" | "group" => (process.gid.is_some(), "gid/group was"),
        "log-send-hostname" => {
            (global.log_send_hostname != SendHostname::default(), "'log-send-hostname'")
        }
        "maxconn" => (process.maxconn.is_some_and(|n| n > 0), "'maxconn'"),
        "maxpipes" => (process.maxpipes.is_some_and(|n| n > 0), "'maxpipes'"),
        "pidfile" => (process.pidfile.is_some(), "'pidfile'"),
        "server-state-base" => (global.server_state_base.is_some(), "'server-state-base'"),
        "server-state-file" => (global.server_state_file.is_some(), "'server-state-file'"),
        "spread-checks" => (global.settings.spread_checks > 0, "spread-checks"),
        "tune.maxaccept" => (tune.maxaccept.is_some_and(|n| n != 0), "'tune.maxaccept'"),
        "tune.maxpollevents" => (tune.maxpollevents.is_some(), "'tune.maxpollevents'"),
        "tune.runqueue-depth" => (tune.runqueue_depth.is_some(), "'tune.runqueue-depth'"),
        "uid" | "user" => (process.uid.is_some(), "user/uid"),
        "ulimit-n" => (process.ulimit_n.is_some_and(|n| n > 0), "'ulimit-n'"),
        _ => return None,
    };
    given.then_some(what)
}

/// `master-worker [no-exit-on-failure]`
fn master_worker(global: &mut Global, args: Args<'_>) -> Parsed {
    match args.get(1) {
        None => {}
        Some("no-exit-on-failure") => global.process.no_exit_on_failure = true,
        Some(_) => {
            let message = "'master-worker' only supports 'no-exit-on-failure' option.";
            return Err(args.fault(1, message));
        }
    }
    global.process.master_worker = true;
    args.no_more_than(1)
}

/// Bytes that variables may take; 0 for no limit.
fn room(args: Args<'_>) -> Parsed<usize> {
    args.ignores_behind(1);
    let (name, given) = (args.text(0), args.text(1));
    let message = format!("{name}: '{given}' is an invalid size");
    let size = value::size(args.need(1, &*message)?);
    size.map(|size| size as usize).map_err(|at| args.fault_at(1, at, message))
}

/// Bytes of memory.
fn memory(args: Args<'_>) -> Parsed<u64> {
    args.no_more_than(1)?;
    let (name, given) = (args.text(0), args.text(1));
    let message = format!("{name}: '{given}' is an invalid size");
    let size = value::large_size(args.need(1, &*message)?);
    size.map_err(|at| args.fault_at(1, at, message))
}

/// Bytes that may wait in the system; more than it counts is no bound.
fn unsent(size: usize) -> u32 {
    i32::try_from(size).map_or(0, i32::unsigned_abs)
}

/// A part of all descriptors.
fn percent(args: Args<'_>) -> Parsed<u32> {
    args.no_more_than(1)?;
    let number = args.leading(1).filter(|n| *n <= 100);
    let message = format!("'{}' expects an integer argument between 0 and 100.", args.text(0));
    number.ok_or_else(|| args.fault(1, message))
}

/// A time, or `infinite`.
fn close_spread(args: Args<'_>) -> Parsed<CloseSpread> {
    if args.text(1) == "infinite" {
        return args.no_more_than(1).map(|()| CloseSpread::Never);
    }
    time(args, "argument to <close-spread-time>.").map(CloseSpread::Over)
}

fn positive(args: Args<'_>) -> Parsed<u32> {
    let message = format!("'{}' expects a positive integer argument.", args.text(0));
    args.no_more_than(1)?;
    let number = args.leading(1).filter(|n| (1..=1 << 30).contains(n));
    number.ok_or_else(|| args.fault(1, message))
}

/// A positive integer; 0 selects the default.
fn or_default(args: Args<'_>) -> Parsed<Option<u32>> {
    integer(args, 0..=1 << 30).map(|n| Some(n).filter(|n| *n > 0))
}

/// Bytes of a logged target; 0 selects the default.
fn log_uri_len(args: Args<'_>) -> Parsed<usize> {
    let default = || settings::Process::default().log_uri_len;
    let number = integer(args, 0..=i32::MAX as u32)?;
    Ok(Some(number as usize).filter(|n| *n > 0).unwrap_or_else(default))
}

fn profiling(args: Args<'_>) -> Parsed<Profiling> {
    args.no_more_than(1)?;
    match args.text(1) {
        "on" => Ok(Profiling::On),
        "auto" => Ok(Profiling::Auto),
        "off" => Ok(Profiling::Off),
        other => {
            let message = format!(
                "'profiling.tasks' expects either 'on', 'auto', or 'off' but got '{other}'."
            );
            Err(args.fault(1, message))
        }
    }
}

fn maxaccept(args: Args<'_>) -> Parsed<i32> {
    if args.get(1) == Some("-1") {
        return args.no_more_than(1).map(|()| -1);
    }
    integer(args, 0..=i32::MAX as u32).map(|n| n as i32)
}

fn spread_checks(args: Args<'_>) -> Parsed<u32> {
    args.no_more_than(1)?;
    let number = args.leading(1).filter(|n| *n <= 50);
    number.ok_or_else(|| args.fault(1, "'spread-checks' needs a positive value in range 0..50."))
}

fn node(args: Args<'_>) -> Parsed<String> {
    let name = args.text(1);
    let good = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    if name.is_empty() || !name.bytes().all(good) {
        return Err(args.fault(
            1,
            "'node' requires valid node name - non-empty string with digits(0-9), letters(A-Z, a-z), dot(.), hyphen(-) or underscode(_).",
        ));
    }
    args.no_more_than(1).map(|()| name.to_owned())
}

/// All words after `description`, joined.
pub(super) fn description(args: Args<'_>) -> Parsed<String> {
    args.need(1, "'description' expects a string argument.")?;
    Ok(args.texts(1).join(" "))
}

fn default_path(_: &mut Global, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    cx.default_path = match (args.text(1), args.get(2)) {
        ("current", _) => DefaultPath::Current,
        ("config", _) => DefaultPath::Config,
        ("parent", _) => DefaultPath::Parent,
        ("origin", Some(path)) => {
            if let Err(error) = cx.files.list(Path::new(path)) {
                let text = error.to_string();
                let reason = text.split(" (os error").next().unwrap_or(&text);
                let message = format!("couldn't set 'default-path' to origin '{path}': {reason}.");
                return Err(args.fault(2, message));
            }
            DefaultPath::Origin(path.into())
        }
        ("origin", None) => {
            return Err(args.fault(2, "'default-path origin' expects a directory as an argument."));
        }
        _ => {
            return Err(args.fault(
                1,
                "'default-path' only supports 'current', 'config', 'parent' and 'origin <path>'.",
            ));
        }
    };
    args.ignores_behind(if args.text(1) == "origin" { 2 } else { 1 });
    Ok(())
}
