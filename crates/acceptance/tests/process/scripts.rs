//! Scripts in Lua: loaded with the configuration, called by expressions, rules and the process.

use crate::support::master::Master;
use crate::support::{LogReceiver, Moment, Origin, Running, Setup, eventually};
use std::io::Write as _;
use std::net::TcpListener;
use std::time::Duration;

/// `tune.lua.session-timeout` and `tune.lua.service-timeout` by default.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(4);

/// A frontend with the rules given, and a script.
fn start(script: &str, rules: &str) -> Running {
    setup(script, rules).start()
}

fn setup(script: &str, rules: &str) -> Setup {
    Setup::http(rules, "").global("lua-load <dir>/a.lua").file("a.lua", script)
}

#[test]
fn fetches_and_converters_of_scripts_are_parts_of_expressions() {
    let script = "
        core.register_fetches('num', function(txn) return 12 end)
        core.register_fetches('hdr', function(txn, name) return txn.f:req_fhdr(name) end)
        core.register_converters('up', function(s, x) return s:upper() .. (x or '-') end)";
    let weir = start(
        script,
        "    http-request deny if { lua.num 13 }\n    \
         http-request set-var(txn.v) str(a) lua.up\n    \
         http-request return status 200 hdr x-n %[lua.num,add(1)] hdr x-h %[lua.hdr(host)] \
         hdr x-u %[str(abc),lua.up(y)] hdr x-v %[var(txn.v)]",
    );
    let answer = weir.web().get("/");
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.header("x-n"), Some("13"));
    assert_eq!(answer.header("x-h"), Some("test"));
    assert_eq!(answer.header("x-u"), Some("ABCy"));
    assert_eq!(answer.header("x-v"), Some("A-"));
}

#[test]
fn the_failure_of_a_fetch_is_logged_with_its_place() {
    let log = LogReceiver::new();
    let weir = setup(
        "core.register_fetches('err', function(txn)\n error('boom') end)",
        "    http-request return status 200 hdr x-e [%[lua.err]]",
    )
    .global("log <log> format raw local0")
    .with("log", log.address())
    .start();
    assert_eq!(weir.web().get("/").header("x-e"), Some("[]"));
    let text = "/a.lua:2: boom from [C]: in global 'error', ";
    assert!(log.find("Lua sample-fetch 'err': [state-id 0] runtime error: ").contains(text));
    weir.expect_error(text);
}

#[test]
fn initializers_run_before_the_process_serves_and_tasks_once_it_does() {
    let script = "
        core.register_init(function() core.Info('init ' .. core.thread) end)
        core.register_task(function(n) core.msleep(20) core.yield() core.Warning('task ' .. n) end, 7)
        core.register_task(function() error('no task') end)";
    let log = LogReceiver::new();
    let weir = setup(script, "    http-request return status 200")
        .global("log <log> format raw local0")
        .with("log", log.address())
        .start();
    log.find("init 0");
    log.find("Lua task: [state-id 0] runtime error");
    log.find("task 7");
    assert_eq!(weir.web().get("/").status(), 200);
}

#[test]
fn a_failing_initializer_refuses_the_start() {
    let script = "
        core.register_init(function() core.msleep(1) core.yield() core.Info('slept') end)
        core.register_init(function() error('boom') end)
        core.register_init(function() core.Info('third') end)";
    for load in ["lua-load", "lua-load-per-thread"] {
        let setup = Setup::http("    http-request return status 200", "")
            .global(&format!("{load} <dir>/a.lua"))
            .file("a.lua", script);
        let alerts = refused(setup);
        assert!(alerts.contains(" : slept"), "{alerts}");
        let place = "a.lua:3: boom from [C]: in global 'error', ";
        assert!(alerts.contains("Lua init: ") && alerts.contains(place), "{alerts}");
        assert!(!alerts.contains("third"), "{alerts}");
    }
}

#[test]
fn variables_of_the_process_are_set_if_the_configuration_mentions_them() {
    let script = "
        core.register_action('set', {'http-req'}, function(txn, name)
            txn:set_var('txn.set', tostring(txn:set_var(name, 'x', true)))
        end, 1)";
    let weir = start(
        script,
        "    http-request set-header x-v %[var(proc.known)]\n    \
         http-request lua.set proc.known if { path /known }\n    \
         http-request lua.set proc.other if { path /other }\n    \
         http-request lua.set txn.other if { path /txn }\n    \
         http-request return status 200 hdr x-set %[var(txn.set)]",
    );
    let set = |path| weir.web().get(path).header("x-set").map(str::to_owned);
    assert_eq!(set("/known").as_deref(), Some("true"));
    assert_eq!(set("/txn").as_deref(), Some("true"));
    for _ in 0..2 {
        assert_eq!(set("/other").as_deref(), Some("false"), "the first try declares nothing");
    }
}

#[test]
fn each_thread_has_a_state_of_its_own_where_it_is_asked_for() {
    let script = "
        local a, b = ...
        core.register_fetches('thread', function(txn) return core.thread end)
        core.register_fetches('args', function(txn) return a .. b end)";
    let weir = Setup::http(
        "    http-request return status 200 hdr x-t %[lua.thread],%[thread] hdr x-a %[lua.args]",
        "",
    )
    .global("lua-load-per-thread <dir>/a.lua one two")
    .file("a.lua", script)
    .start();
    let answer = weir.web().get("/");
    assert_eq!(answer.header("x-t"), Some("1,0"));
    assert_eq!(answer.header("x-a"), Some("onetwo"));
}

#[test]
fn maps_and_modules_are_loaded_with_the_script() {
    let script = "
        local module = require('one')
        local map = Map.new(module.file, Map._str)
        core.register_fetches('map', function(txn, key) return map:lookup(key) end)
        core.register_fetches('text', function(txn, key) return map:slookup(key) end)";
    let setup =
        setup(script, "    http-request return status 200 hdr x-a [%[lua.map(a)][%[lua.text(a)]")
            .global("lua-prepend-path <dir>/?.lua");
    let file = format!("return {{ file = '{}' }}", setup.path("list.map").display());
    let weir = setup.file("one.lua", &file).file("list.map", "a 1\n").start();
    assert_eq!(weir.web().get("/").header("x-a"), Some("[1[1"));
}

/// The alerts of a start that fails.
fn refused(setup: Setup) -> String {
    let mut weir = setup.start();
    assert_eq!(weir.wait().code(), Some(1));
    eventually("the alerts", || Some(weir.errors()).filter(|text| text.contains("ALERT")))
}

#[test]
fn scripts_that_cannot_be_loaded_refuse_the_configuration() {
    let alerts = refused(setup("x x", ""));
    assert!(
        alerts.contains("/a.lua': ") && alerts.contains("a.lua:1: syntax error near 'x'"),
        "{alerts}"
    );
    let alerts = refused(setup("\nerror('no')", ""));
    assert!(alerts.contains("Lua runtime error: ") && alerts.contains("a.lua:2: no"), "{alerts}");
    let alerts = refused(Setup::http("", "").global("lua-load <dir>/none.lua"));
    assert!(alerts.contains("none.lua: No such file or directory"), "{alerts}");
    let alerts = refused(setup("", "    http-request deny if { lua.none 1 }"));
    assert!(alerts.contains("unknown fetch method 'lua.none'"), "{alerts}");
}

#[test]
fn a_fetch_without_end_is_ended_after_its_time() {
    let weir = setup(
        "core.register_fetches('loop', function(txn) while true do pcall(string.rep, 'x') end end)",
        "    http-request return status 200 hdr x-e [%[lua.loop]]",
    )
    .global("tune.lua.session-timeout 50")
    .global("tune.lua.maxmem 20")
    .global("tune.lua.forced-yield 1000")
    .start();
    assert_eq!(weir.web().get("/").header("x-e"), Some("[]"));
    weir.expect_error("Lua sample-fetch 'loop': [state-id 0] runtime error: execution timeout");
}

#[test]
fn texts_of_scripts_stay_on_one_line() {
    let log = LogReceiver::new();
    let weir = setup(
        "core.register_action('a', {'http-req'}, function(txn)
            local value = txn.sc:url_dec(txn.sf:req_hdr('x'))
            core.Warning('[' .. value .. ']')
            error('(' .. value .. ')')
        end)",
        "    http-request lua.a\n    http-request return status 200",
    )
    .global("log <log> format raw local0")
    .with("log", log.address())
    .start();
    weir.web().ask("GET / HTTP/1.1\r\nHost: a\r\nX: a%0d%0ab%1b%00%7f\u{e9}\r\n\r\n");
    assert_eq!(log.find("["), "[a..b...\u{e9}]");
    assert!(log.find("(").contains(": (a..b...\u{e9}) from "));
    weir.expect_error(" : [a..b...\u{e9}]\n");
    weir.expect_error(": (a..b...\u{e9}) from ");
}

/// The watchdog ends a process whose thread is held for two seconds.
#[test]
fn no_script_holds_its_thread_for_longer_than_a_second_with_the_default_limits() {
    let weir = setup(
        "core.register_fetches('loop', function(txn) while true do pcall(string.rep, 'x') end end)
        core.register_action('inner', {'http-req'}, function(txn)
            coroutine.wrap(function() while true do end end)()
        end)",
        "    http-request lua.inner if { path /inner }\n    \
         http-request return status 200 hdr x-e [%[lua.loop]]",
    )
    .start();
    assert_eq!(weir.web().get("/").header("x-e"), Some("[]"));
    assert_eq!(weir.web().get("/inner").header("x-e"), Some("[]"));
    weir.expect_error("Lua function 'inner': [state-id 0] runtime error: execution timeout");
}

#[test]
fn a_turn_of_a_script_is_ended_after_burst_timeout() {
    let weir = setup(
        "core.register_fetches('loop', function(txn) while true do pcall(string.rep, 'x') end end)",
        "    http-request return status 200 hdr x-e [%[lua.loop]]",
    )
    .global("tune.lua.burst-timeout 50")
    .start();
    let took = (0..5).map(|_| {
        let begun = Moment::now();
        assert_eq!(weir.web().get("/").header("x-e"), Some("[]"));
        begun.elapsed()
    });
    // A second without the line.
    assert!(took.min().is_some_and(|it| it < Duration::from_millis(900)));
    weir.expect_error("Lua sample-fetch 'loop': [state-id 0] runtime error: execution timeout");
}

/// One service has sent half of its response, one action waits, a task never ends.
#[test]
fn scripts_in_the_middle_of_their_work_end_properly_after_a_reload() {
    let gate = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = gate.local_addr().expect("a listener").port();
    let script = "
        core.register_task(function() while true do core.msleep(10) end end)
        local function wait()
            local s = core.tcp()
            s:settimeout(60)
            s:connect('127.0.0.1', PORT)
            local line = s:receive('*l')
            s:close()
            return line
        end
        core.register_action('wait', {'http-req'}, function(txn) txn:set_var('txn.v', wait()) end)
        core.register_service('half', 'http', function(applet)
            applet:set_status(200)
            applet:add_header('content-length', '10')
            applet:start_response()
            applet:send('first-')
            applet:send(wait())
        end)";
    let text = "global\n    nbthread 2\n    stats socket <dir>/cli level admin\n    \
                lua-load <dir>/a.lua\n    tune.lua.session-timeout 60s\n    \
                tune.lua.service-timeout 60s\ndefaults\n    mode http\n    timeout connect 5s\n    \
                timeout client 60s\n    timeout server 60s\nfrontend web\n    bind <web>\n    \
                http-request use-service lua.half if { path /half }\n    http-request lua.wait\n    \
                http-request return status 200 content-type text/plain lf-string %[var(txn.v)]\n";
    let setup = Setup::new(text).file("a.lua", &script.replace("PORT", &port.to_string()));
    let master = Master::start(setup, &["-W"]);
    let old = master.worker();
    let mut clients = ["/half", "/wait"].map(|path| {
        let mut client = master.running.web();
        client.send(format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n"));
        let (waiting, _) = gate.accept().expect("the script connects");
        (client, waiting)
    });
    let head = clients[0].0.head();
    assert_eq!((head.status(), clients[0].0.take(6)), (200, b"first-".to_vec()));
    assert_eq!(master.cli("reload"), "Loading success.");
    eventually("the old worker to stop", || {
        let info = master.cli(&format!("@!{old} show info"));
        info.contains("\nStopping: 1\n").then_some(())
    });
    for (_, waiting) in &mut clients {
        waiting.write_all(b"last\n").expect("the script reads");
    }
    let [(mut half, _), (mut waiter, _)] = clients;
    assert_eq!(half.take(4), b"last");
    assert_eq!(waiter.response().text(), "last");
    drop((half, waiter));
    master.running.expect_error(&format!("Former worker ({old}) exited with code 0 (Exit)"));
}

#[test]
fn a_request_that_patterns_of_scripts_take_too_long_for_is_refused_with_500() {
    let log = LogReceiver::new();
    let weir = setup(
        "local function search(v) return tostring(pcall(string.find, v, 'a-a-a-b')) end
        core.register_fetches('f', function(txn) return search(txn.sf:req_hdr('x')) end)
        core.register_converters('c', search)
        core.register_action('a', {'http-req'}, function(txn)
            core.yield()
            search(txn.sf:req_hdr('x'))
        end)
        core.register_service('s', 'http', function(applet)
            applet:set_status(200)
            applet:add_header('found', search(applet.headers['x'][0]))
            applet:start_response()
        end)",
        "    http-request deny if { path /fetch } { lua.f none }\n    \
         http-request deny if { path /converter } { req.hdr(x),lua.c none }\n    \
         http-request lua.a if { path /action }\n    \
         http-request use-service lua.s if { path /service }\n    \
         http-request return status 204",
    )
    .global("log <log> format raw local0")
    .with("log", log.address())
    .start();
    let ask = |path: &str, value: &str| {
        weir.web().ask(format!("GET {path} HTTP/1.1\r\nHost: a\r\nX: {value}\r\n\r\n")).status()
    };
    let long = "a".repeat(10_000);
    for path in ["/fetch", "/converter", "/action"] {
        assert_eq!(ask(path, "aaa"), 204, "{path}");
        assert_eq!(ask(path, &long), 500, "{path}");
    }
    assert_eq!(ask("/service", &long), 200, "it has caught the error itself");
    assert_eq!(ask("/other", &long), 204);
}

#[test]
fn memory_of_scripts_is_limited() {
    let weir = setup(
        "core.register_fetches('much', function(txn)
            local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end end)
         core.register_fetches('little', function(txn) return 'l' end)",
        "    http-request return status 200 hdr x-e [%[lua.much]%[lua.little]]",
    )
    .global("tune.lua.maxmem 4")
    .start();
    assert_eq!(weir.web().get("/").header("x-e"), Some("[l]"));
    weir.expect_error("Lua sample-fetch 'much': out of memory error.");
}

#[test]
fn a_task_without_end_is_ended_after_its_time() {
    let weir = setup(
        "core.register_task(function() while true do end end)",
        "    http-request return status 200",
    )
    .global("tune.lua.task-timeout 50")
    .start();
    weir.expect_error("Lua task: [state-id 0] runtime error: execution timeout from ");
    assert_eq!(weir.web().get("/").status(), 200);
}

#[test]
fn actions_see_and_change_the_request() {
    let script = "
        core.register_action('edit', {'http-req'}, function(txn, word)
            txn:set_var('txn.w', word)
            txn.http:req_set_path('/new')
            txn.http:req_add_header('x-a', '1')
            txn.http:req_add_header('x-a', '2')
            txn.http:req_set_header('host', 'other')
            txn.http:req_del_header('x-gone')
            txn.http:req_rep_header('x-old', '^(.)(.)', '\\\\2\\\\1')
            local h = txn.http:req_get_headers()
            txn:set_var('req.n', h['x-a'][0] .. h['x-a'][1])
        end, 1)";
    let weir = start(
        script,
        "    http-request lua.edit word\n    \
         http-request return status 200 hdr x-w %[var(txn.w)] hdr x-p %[path] \
         hdr x-n %[var(req.n)] hdr x-h %[req.hdr(host)] hdr x-g [%[req.hdr(x-gone)]] \
         hdr x-o %[req.hdr(x-old)]",
    );
    let answer = weir.web().ask("GET /a HTTP/1.1\r\nHost: test\r\nX-Gone: 1\r\nX-Old: abc\r\n\r\n");
    assert_eq!(answer.status(), 200);
    let expected = [
        ("x-w", "word"),
        ("x-p", "/new"),
        ("x-n", "12"),
        ("x-h", "other"),
        ("x-g", "[]"),
        ("x-o", "ba"),
    ];
    for (name, value) in expected {
        assert_eq!(answer.header(name), Some(value), "{name}");
    }
}

#[test]
fn actions_wait_without_holding_the_thread() {
    let script = "
        core.register_action('wait', {'http-req', 'http-res'}, function(txn)
            core.msleep(50) core.yield()
            txn:set_var('txn.waited', (txn:get_var('txn.waited') or 0) + 1) end)
        core.register_action('long', {'http-req'}, function(txn)
            local n = 0 for i = 1, 300000 do n = n + 1 end txn:set_var('txn.n', n) end)";
    let weir = start(
        script,
        "    http-request lua.wait if { path /wait }\n    http-request lua.long if { path /long }\n    \
         http-response lua.wait\n    http-response set-header x-w %[var(txn.waited)]\n    \
         http-request return status 200 hdr x-w %[var(txn.waited)] hdr x-n %[var(txn.n)]",
    );
    assert_eq!(weir.web().get("/wait").header("x-w"), Some("1"));
    assert_eq!(weir.web().get("/long").header("x-n"), Some("300000"));
}

#[test]
fn results_of_actions_have_haproxys_consequences() {
    let log = LogReceiver::new();
    let weir = setup(
        "core.register_action('ret', {'http-req'}, function(txn, v) return tonumber(v) end, 1)
         core.register_action('reply', {'http-req'}, function(txn)
            local r = txn:reply{status = 418, reason = 'tea'}
            r:add_header('x-a', '1') r:add_header('x-a', '2') r:set_body('teapot') txn:done(r) end)
         core.register_action('fails', {'http-req'}, function(txn) local x = nil; x.y = 1 end)",
        "    http-request lua.fails if { path /fails }\n    http-request lua.ret 1 if { path /r1 }\n    \
         http-request lua.ret 3 if { path /r3 }\n    http-request lua.ret 5 if { path /r5 }\n    \
         http-request lua.ret 6 if { path /r6 }\n    http-request lua.ret 7 if { path /r7 }\n    \
         http-request lua.reply if { path /reply }\n    http-request return status 200",
    )
    .with("log", log.address())
    .start();
    let statuses = [
        ("/fails", 200, "LR--"),
        ("/r1", 503, "SC--"),
        ("/r3", 500, "IR--"),
        ("/r5", 403, "PR--"),
        ("/r6", 503, "PR--"),
        ("/r7", 400, "PR--"),
    ];
    for (path, status, state) in statuses {
        assert_eq!(weir.web().get(path).status(), status, "{path}");
        let line = log.find(&format!("GET {path} "));
        assert!(line.contains(state), "{line}");
    }
    let answer = weir.web().get("/reply");
    assert_eq!((answer.status(), answer.text().as_str()), (418, "teapot"));
    assert_eq!(answer.header("x-a"), Some("1"));
    let line = log.find("GET /reply ");
    assert!(line.contains(" 418 61 - - LR-- "), "{line}");
    weir.expect_error("Lua function 'fails': [state-id 0] runtime error: ");
}

#[test]
fn actions_of_responses_change_them_and_keep_values() {
    let origin = Origin::saying("body");
    let script = "
        core.register_action('first', {'http-req'}, function(txn) txn:set_priv('kept') end)
        core.register_action('second', {'http-res'}, function(txn)
            core.msleep(20)
            txn.http:res_set_status(201, 'Made')
            txn.http:res_add_header('x-p', txn:get_priv())
            local h = txn.http
            h:res_add_header('x-q', 'old') h:res_set_header('x-q', 'abc') h:res_rep_header('x-q', 'b', 'B')
            h:res_add_header('x-gone', '1') h:res_del_header('x-gone')
            h:res_add_header('x-seen', h:res_get_headers()['x-q'][0]) end)
        core.register_action('third', {'http-after-res'}, function(txn)
            txn.http:res_add_header('x-t', txn.f:status() .. '') end)
        core.register_action('replace', {'http-res'}, function(txn) txn:done{status = 204} end)";
    let rules = "    http-request lua.first\n    http-response lua.second\n    \
                 http-after-response lua.third\n    http-response lua.replace if { path /r }";
    let weir = Setup::http(rules, "    server a <origin>")
        .global("lua-load <dir>/a.lua")
        .file("a.lua", script)
        .with("origin", origin.address())
        .start();
    let answer = weir.web().get("/");
    assert_eq!((answer.status(), answer.text().as_str()), (201, "body"));
    assert_eq!(answer.header("x-p"), Some("kept"));
    assert_eq!(answer.header("x-q"), Some("B"));
    assert_eq!(answer.header("x-seen"), Some("B"));
    assert_eq!(answer.header("x-gone"), None);
    assert_eq!(answer.header("x-t"), Some("201"));
}

#[test]
fn an_action_may_have_a_function_for_each_rule_set() {
    let script = "
        core.register_action('both', {'http-req'}, function(txn, a) txn:set_var('txn.a', a) end, 1)
        core.register_action('both', {'http-res', 'http-after-res'}, function(txn)
            txn.http:res_add_header('x-both', txn:get_var('txn.a'))
        end, 0)";
    let rules = "    http-request lua.both word\n    http-response lua.both\n    \
                 http-request return status 200 if { path /own }\n    http-after-response lua.both";
    let origin = Origin::saying("body");
    let weir = Setup::http(rules, "    server s <origin>")
        .global("lua-load <dir>/a.lua")
        .file("a.lua", script)
        .between(&origin, &LogReceiver::new());
    assert_eq!(weir.web().get("/own").header("x-both"), Some("word"));
    let answer = weir.web().get("/");
    assert_eq!((answer.header("x-both"), answer.text().as_str()), (Some("word"), "body"));
}

#[test]
fn services_read_the_request_and_write_the_response() {
    let script = "
        core.register_service('svc', 'http', function(a)
            local line = a:getline() or ''
            local rest = a:receive(2) .. '|' .. a:receive()
            a:set_status(201, 'Made') a:add_header('x-m', a.method .. a.version .. a.path)
            a:add_header('x-q', a.qs .. a.length .. a.headers['x-i'][0] .. a.f:path())
            a:start_response()
            a:send(line) core.msleep(10) a:send(rest)
        end)
        core.register_service('big', 'http', function(a)
            a:set_status(200) a:add_header('content-length', 100000) a:start_response()
            for i = 1, 10 do a:send(('x'):rep(10000)) end
        end)
        core.register_service('nothing', 'http', function(a) end)
        core.register_service('fails', 'http', function(a) a:send('x') end)
        core.register_service('late', 'http', function(a) a:start_response() error('late') end)
        core.register_service('vars', 'http', function(a)
            local ok = a:set_var('txn.v', 'value')
            a:set_priv({1}) a:add_header('x-v', a:get_var('txn.v') .. #a:get_priv() .. tostring(ok))
            a:set_var('txn.w', 1) a:unset_var('txn.w') a:add_header('x-w', tostring(a:get_var('txn.w')))
            a:add_header('x-c', tostring(a) .. ' ' .. a.c:upper('c') .. a.sc:upper('sc') .. a.sf:path())
            a:start_response() a:send('') end)";
    let log = LogReceiver::new();
    let rules = ["svc", "big", "nothing", "fails", "late", "vars"]
        .map(|name| format!("    http-request use-service lua.{name} if {{ path /{name} }}\n"))
        .concat();
    let weir = setup(script, &(rules + "    http-response set-header x-r %[var(txn.v)]"))
        .with("log", log.address())
        .start();
    let answer = weir
        .web()
        .ask("POST /svc?q=1 HTTP/1.1\r\nHost: h\r\nX-I: i\r\nContent-Length: 9\r\n\r\none\n12345");
    assert_eq!((answer.status(), answer.text().as_str()), (201, "one\n12|345"));
    assert_eq!(answer.header("x-m"), Some("POSTHTTP/1.1/svc"));
    assert_eq!(answer.header("x-q"), Some("q=19i/svc"));
    let line = log.find("POST /svc");
    assert!(line.contains("web/<lua.svc> "), "no lua.<name> in {line}");
    assert_eq!(weir.web().get("/big").text().len(), 100_000);
    assert_eq!(weir.web().get("/nothing").status(), 500);
    assert_eq!(weir.web().get("/fails").status(), 500);
    weir.expect_error(
        "'send' you must call start_response() before sending data. from [C]: in method 'send'",
    );
    let answer = weir.web().get("/vars");
    assert_eq!(answer.header("x-v"), Some("value1true"));
    assert_eq!(answer.header("x-r"), Some("value"));
    assert_eq!(answer.header("x-w"), Some("nil"));
    assert_eq!(answer.header("x-c"), Some("HAProxy class AppletHTTP CSC/vars"));
}

#[test]
fn a_service_that_leaves_its_request_unread_is_heard() {
    let script = "
        core.register_service('svc', 'http', function(a) a:start_response() a:send('hello') end)";
    let weir = start(script, "    http-request use-service lua.svc");
    let head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n";
    let mut client = weir.web();
    for _ in 0..2 {
        client.send(head);
        client.send(vec![b'x'; 300_000]);
        let answer = client.response();
        assert_eq!((answer.status(), answer.text().as_str()), (200, "hello"));
    }
}

#[test]
fn half_a_response_closes_the_connection_and_reading_beyond_the_end_gives_nothing() {
    let script = "
        core.register_service('half', 'http', function(applet)
            applet:set_status(200) applet:add_header('content-length', 10) applet:start_response()
            applet:send('12345')
            if applet.path == '/fails' then error('boom') end end)
        core.register_service('beyond', 'http', function(applet)
            local all = applet:receive()
            local more = applet:receive() .. applet:receive(5) .. applet:getline()
            applet:set_status(200) applet:start_response()
            applet:send(all .. '|' .. more) end)";
    let rules = "    http-request use-service lua.beyond if { path /beyond }\n    \
                 http-request use-service lua.half";
    let weir = start(script, rules);
    for path in ["/half", "/fails"] {
        let mut client = weir.web();
        client.send(format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n"));
        let rest = String::from_utf8_lossy(&client.rest()).into_owned();
        assert!(rest.ends_with("12345"), "{path}: {rest}");
    }
    weir.expect_error("boom");
    let post = "POST /beyond HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";
    assert_eq!(weir.web().ask(post).text(), "abc|");
}

#[test]
fn an_action_without_end_is_ended_after_its_time() {
    let weir = setup(
        "core.register_action('loop', {'http-req'}, function(txn) while true do end end)",
        "    http-request lua.loop\n    http-request return status 200",
    )
    .global("tune.lua.session-timeout 50")
    .start();
    let begin = Moment::now();
    weir.web().get("/");
    assert!(begin.elapsed() < DEFAULT_TIMEOUT, "{:?}", begin.elapsed());
    weir.expect_error("Lua function 'loop': [state-id 0] runtime error: execution timeout from ");
}

#[test]
fn a_busy_task_lets_others_run_after_the_configured_instructions() {
    let script = "
        core.register_task(function()
            for turn = 1, 1000 do
                if DONE then return core.Alert('the other task has run') end
            end
            core.Alert('no other task has run')
        end)
        core.register_task(function() DONE = true end)";
    for (global, message) in [
        ("tune.lua.forced-yield 1000", "the other task has run"),
        ("tune.lua.forced-yield 100000", "no other task has run"),
    ] {
        let setup = setup(script, "    http-request return status 200").global("nbthread 1");
        setup.global(global).start().expect_error(message);
    }
}

#[test]
fn a_service_without_end_is_ended_after_its_time() {
    let weir = setup(
        "core.register_service('loop', 'http', function(a) while true do end end)",
        "    http-request use-service lua.loop",
    )
    .global("tune.lua.service-timeout 50")
    .start();
    let begin = Moment::now();
    assert_eq!(weir.web().get("/").status(), 500);
    assert!(begin.elapsed() < DEFAULT_TIMEOUT, "{:?}", begin.elapsed());
    weir.expect_error(
        "Lua applet http '<lua.loop>': [state-id 0] runtime error: execution timeout from",
    );
}

/// A frontend in TCP mode with the rules given, and a script.
fn plain(script: &str, rules: &str) -> Setup {
    let text = format!(
        "global\n    nbthread 1\n    stats socket <dir>/cli level user\n    lua-load <dir>/a.lua\n\
         defaults\n    mode tcp\n    timeout connect 5s\n    timeout client 20s\n    \
         timeout server 20s\n    log <log> format raw local0\n    option tcplog\n\
         frontend web\n    bind <web>\n    tcp-request inspect-delay 5s\n{rules}\n    \
         default_backend app\nbackend app\n<answers>\n    server s <origin>\n"
    );
    Setup::new(&text).file("a.lua", script).with("answers", "")
}

#[test]
fn tcp_services_converse_with_the_client() {
    let script = "core.register_service('talk', 'tcp', function(applet)
            applet:set_var('txn.result', 'said')
            applet:send('[' .. applet:getline() .. ']')
            applet:send('[' .. applet:receive(3) .. ']')
            applet:send('[' .. applet:receive() .. ']' .. #applet:receive() .. #applet:getline())
        end)";
    let log = LogReceiver::new();
    let rules =
        "    tcp-request content use-service lua.talk\n    log-format %ft,%s,%B,%[var(txn.result)]";
    let weir =
        plain(script, rules).with("log", log.address()).with("origin", "127.0.0.1:9").start();
    let mut client = weir.web();
    client.send("one\r\n");
    assert_eq!(client.take(7), b"[one\r\n]");
    client.send("abcdef");
    assert_eq!(client.take(5), b"[abc]");
    client.half_close();
    assert_eq!(client.rest(), b"[def]00");
    assert_eq!(log.line().trim(), "web,<lua.talk>,19,said");
}

#[test]
fn the_end_of_a_tcp_service_closes_the_connection() {
    let script = "core.register_service('bye', 'tcp', function(applet) applet:send('bye') end)
        core.register_service('bad', 'tcp', function(applet) applet:send('x') error('boom') end)
        core.register_service('loop', 'tcp', function(applet)
            while true do applet:send(('x'):rep(10000)) end end)";
    for (name, said) in [("bye", "bye"), ("bad", "x")] {
        let rules = format!("    tcp-request content use-service lua.{name}");
        let weir = plain(script, &rules).with("origin", "127.0.0.1:9").start();
        let mut client = weir.web();
        client.send("unread");
        assert_eq!(client.rest(), said.as_bytes());
        if name == "bad" {
            weir.expect_error("Lua applet tcp '<lua.bad>': [state-id 0] runtime error: ");
        }
    }
    let log = LogReceiver::new();
    let rules = "    tcp-request content use-service lua.loop";
    let weir =
        plain(script, rules).with("log", log.address()).with("origin", "127.0.0.1:9").start();
    let mut client = weir.web();
    client.take(100_000);
    client.reset();
    log.find("<lua.loop>");
}

#[test]
fn services_of_scripts_run_in_the_mode_of_their_protocol() {
    let script = "core.register_service('tcp', 'tcp', function() end)
        core.register_service('http', 'http', function() end)";
    let rules = |rule: &str| setup(script, rule).with("log", "127.0.0.1:9");
    let alerts = refused(rules("    tcp-request content use-service lua.tcp"));
    assert!(alerts.contains("Lua TCP services cannot be used on HTTP proxies"), "{alerts}");
    let alerts = refused(rules("    tcp-request content use-service lua.http"));
    assert!(alerts.contains("HTTP applets are forbidden from 'tcp-request' rulesets"), "{alerts}");
    let alerts = refused(rules("    http-request use-service lua.tcp"));
    assert!(alerts.contains("'lua.tcp' unknown service name"), "{alerts}");
}

#[test]
fn commands_of_scripts_are_commands_of_the_runtime_socket() {
    let script = "
        core.register_cli({'show', 'echo'}, 'show echo <text> : says it again', function(applet, ...)
            applet:send(tostring(applet) .. ' ' .. table.concat({...}, '|') .. '\\n') end)
        core.register_cli({'later'}, 'later : waits', function(applet)
            core.msleep(10) applet:set_priv('p') applet:send(applet:get_priv() .. '\\n') end)
        core.register_cli({'boom'}, 'boom : fails', function(applet)
            applet:send('a\\n') error('oops') end)";
    let weir = start(script, "    http-request return status 200");
    assert_eq!(weir.cli("show echo a b"), "HAProxy class AppletTCP show|echo|a|b");
    assert_eq!(weir.cli("later"), "p");
    assert_eq!(weir.cli("boom"), "a");
    weir.expect_error("Lua cli '<lua.cli.boom>': [state-id 0] runtime error: ");
    let help = weir.cli("help");
    assert!(help.contains("\n  show echo <text> : says it again\n"), "{help}");
    assert!(weir.cli("show info").contains("Name: "), "built-in commands go first");
}

#[test]
fn an_action_that_yields_runs_anew_when_more_has_come() {
    let script = "local n = 0
        core.register_action('more', {'tcp-req'}, function(txn)
            n = n + 1
            core.Warning('call ' .. n)
            if txn.req:get_in_len() < 5 then return act.YIELD end
            txn:set_var('txn.n', n)
        end)";
    let origin = Origin::answering("x");
    let log = LogReceiver::new();
    let rules = "    tcp-request content lua.more\n    log-format %[var(txn.n)]";
    let weir = plain(script, rules).between(&origin, &log);
    let mut client = weir.web();
    client.send("ab");
    weir.expect_error("call 1");
    client.send("cdef");
    client.half_close();
    client.rest();
    assert_eq!(log.line().trim(), "2");
}

#[test]
fn an_http_action_that_yields_runs_anew_after_its_time() {
    let script = "local n = 0
        core.register_action('twice', {'http-req'}, function(txn)
            n = n + 1
            txn:set_var('txn.n', n)
            if n < 3 then act.wake_time(10) return act.YIELD end
        end)";
    let weir = start(
        script,
        "    http-request lua.twice\n    http-request return status 200 hdr x-n %[var(txn.n)]",
    );
    assert_eq!(weir.web().get("/").header("x-n"), Some("3"));
}

#[test]
fn an_action_of_a_tcp_response_that_yields_runs_anew_after_its_time() {
    let script = "local n = 0
        core.register_action('often', {'tcp-res'}, function(txn)
            n = n + 1
            txn:set_var('txn.n', n)
            if n < 20 then act.wake_time(10) return act.YIELD end
        end)";
    // Says a word, then waits for the client to leave.
    let origin = Origin::new(|mut peer| {
        peer.send("hello");
        peer.client.rest();
    });
    let log = LogReceiver::new();
    let rules = "    log-format %[var(txn.n)]";
    let answers = "    tcp-response inspect-delay 1h\n    tcp-response content lua.often";
    let weir = plain(script, rules).with("answers", answers).between(&origin, &log);
    let mut client = weir.web();
    assert_eq!(client.take(5), b"hello");
    client.half_close();
    client.rest();
    assert_eq!(log.line().trim(), "20");
}

#[test]
fn channels_show_and_change_the_bytes_of_a_session() {
    let script = "core.register_action('edit', {'tcp-req'}, function(txn)
            local c, seen = txn.req, {}
            if c:get_in_len() < 15 then return act.YIELD end
            local function see(value) seen[#seen + 1] = tostring(value):gsub('\\n', '/') end
            see(c) see(c:line()) see(c:data(2)) see(c:data(1, 2)) see(c:data(-2)) see(c:is_resp())
            see(c:append('++')) see(c:prepend('--')) see(c:insert('II', 3)) see(c:data())
            see(c:remove(2, 3)) see(c:set('ZZZ', 1, 2)) see(c:data()) see(c:getline()) see(c:dup())
            see(c:forward(1)) see(c:data()) see(c:send('S')) see(c:input()) see(c:output())
            see(c:get_in_len()) see(c:get_out_len()) see(c:is_full()) see(type(c:may_recv()))
            see(pcall(c.insert, c, 'x', 99)) see(c:append(('x'):rep(100000)))
            see(pcall(txn.res.append, txn.res, 'x'))
            txn:set_var('txn.seen', table.concat(seen, ' '))
        end)
        core.register_action('take', {'tcp-req'}, function(txn)
            txn.req:append(txn.req:get():upper()) end)
        core.register_action('answer', {'tcp-res'}, function(txn)
            if txn.res:get_in_len() == 0 then return act.YIELD end
            txn.res:append('!') txn.res:prepend(tostring(txn.res:is_resp())) end)";
    // Echoes the received bytes.
    let origin = Origin::new(|mut peer| {
        let bytes = peer.client.rest();
        peer.send(bytes);
    });
    let log = LogReceiver::new();
    let rules = "    tcp-request content lua.edit\n    tcp-request content lua.take\n    \
                 log-format %[var(txn.seen)]";
    let answers = "    tcp-response inspect-delay 5s\n    tcp-response content lua.answer";
    let weir = plain(script, rules).with("answers", answers).between(&origin, &log);
    let mut client = weir.web();
    client.send("abcdefgh\nsecond");
    client.half_close();
    assert_eq!(String::from_utf8_lossy(&client.rest()), "truesSECOND++!");
    let seen = "HAProxy class Channel abcdefgh/ cdefgh/second bc nd false 2 2 2 \
        --aIIbcdefgh/second++ 3 3 -ZZZcdefgh/second++ -ZZZcdefgh/ second++ 1 econd++ 1 7 2 7 2 \
        false boolean false -1 false";
    assert_eq!(log.line().trim(), seen);
}

#[test]
fn forgotten_sockets_are_closed() {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    static CLOSED: AtomicUsize = AtomicUsize::new(0);
    let origin = Origin::new(|mut peer| {
        peer.client.rest();
        CLOSED.fetch_add(1, Relaxed);
    });
    let script = format!(
        "core.register_action('open', {{'http-req'}}, function(txn)
            for i = 1, 50 do assert(core.tcp():connect('127.0.0.1', {})) end
            collectgarbage() collectgarbage()
        end)",
        origin.address().port()
    );
    let weir = start(&script, "    http-request lua.open\n    http-request return status 200");
    assert_eq!(weir.web().get("/").status(), 200);
    eventually("all sockets are closed", || (CLOSED.load(Relaxed) == 50).then_some(()));
    assert!(weir.errors().is_empty() || !weir.errors().contains("Lua"), "{}", weir.errors());
}

#[test]
fn a_service_that_waits_for_a_socket_ends_with_its_client() {
    use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
    /// The socket is open; it has been closed.
    static STATE: AtomicU8 = AtomicU8::new(0);
    let origin = Origin::new(|mut peer| {
        STATE.store(1, Relaxed);
        peer.client.rest();
        STATE.store(2, Relaxed);
    });
    let script = format!(
        "core.register_service('wait', 'http', function()
            local socket = core.tcp()
            socket:settimeout(3600)
            socket:connect('127.0.0.1', {})
            socket:receive()
        end)",
        origin.address().port()
    );
    let text = "global\n    lua-load <dir>/a.lua\ndefaults\n    mode http\n    \
                timeout connect 5s\n    timeout client 1h\n    timeout server 1h\n    \
                option abortonclose\nlisten web\n    bind <web>\n    \
                http-request use-service lua.wait\n";
    let weir = Setup::new(text).file("a.lua", &script).start();
    let mut client = weir.web();
    client.send("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    eventually("the socket is open", || (STATE.load(Relaxed) == 1).then_some(()));
    client.close();
    eventually("the socket is closed", || (STATE.load(Relaxed) == 2).then_some(()));
}

#[test]
fn a_socket_reads_and_writes_over_tls() {
    use crate::support::Identity;
    let identity = Identity::new("localhost", None);
    let script = "core.register_service('secure', 'http', function(applet)
            local socket = core.tcp()
            local ok, message = socket:connect_ssl('127.0.0.1', tonumber(applet.qs))
            socket:send('GET /inner HTTP/1.0\\r\\n\\r\\n')
            applet:start_response()
            applet:send(tostring(ok) .. (message or '') .. (socket:receive('*a') or 'nothing'))
        end)";
    let rules = "    http-request use-service lua.secure if { path /outer }\n    \
                 bind <tls> ssl crt <dir>/tls.pem\n    \
                 http-request return status 200 content-type text/plain string inside";
    let weir = setup(script, rules).file("tls.pem", &identity.pem()).start();
    let port = weir.address("tls").port();
    let text = weir.web().get(&format!("/outer?{port}")).text();
    assert!(text.starts_with("1HTTP/1.") && text.ends_with("inside"), "{text}");
}

/// A class of filters that registers for payload; `methods` are its other functions.
fn filter_class(methods: &str) -> String {
    format!(
        "local F = {{}} F.__index = F
        F.id = 'f' F.flags = filter.FLT_CFG_FL_HTX
        function F.new(line) return setmetatable({{ args = line.args }}, F) end
        function F:start_analyze(txn, channel) filter.register_data_filter(self, channel) end
        {methods}
        core.register_filter('f', F, function(line, args) line.args = args return line end)"
    )
}

#[test]
fn filters_see_and_change_heads_and_payload() {
    let script = filter_class(
        "function F:http_headers(txn, m)
            local line = m:get_stline()
            if m:is_resp() then
                m:set_status(202, 'Yes') m:add_header('x-line', line.code .. line.version)
                m:del_header('x-gone') m:del_header('content-length')
            else
                m:add_header('x-f', 'a') m:set_header('x-f', 'b') m:rep_header('x-f', 'b', 'c')
                m:rep_value('x-f', 'c', 'd') m:set_method('PUT') m:set_uri('/o?z') m:set_path('/np') m:set_query('q')
                m:add_header('x-seen', table.concat({ line.method, line.uri, line.version,
                    tostring(m), tostring(m:eom()), tostring(m:get_headers()['host'][0]),
                    self.args[1] .. self.args[2], tostring((pcall(m.set_status, m, 201))),
                    tostring(m == txn.http_req), tostring(txn.http_res), tostring(m:may_recv()) }, ' '))
                m:del_header('content-length')
            end
        end
        function F:http_payload(txn, m)
            if m:is_resp() then return end
            m:append('XY') m:prepend('<') m:insert('-', 2) m:remove(0, 1) m:set('ZZ', 0, 1)
            txn:set_var('txn.body', table.concat({ m:body(), m:body(2), m:body(1, 2) }, ' '))
            m:send('S') m:forward(1)
            txn:set_var('txn.sizes', m:input() .. ' ' .. m:output() .. tostring(m:is_full()))
        end
        function F:http_end(txn, m)
            m:set_eom()
            if type(m.unset_eom) ~= 'function' or pcall(m.unset_eom, m) then error('the end has moved') end
            txn:set_var('txn.ends', (txn:get_var('txn.ends') or 0) + 1) end
        function F:end_analyze(txn, channel)
            txn:set_var('txn.ended', tostring(channel:is_resp()))
            core.Alert('ends ' .. tostring(channel:is_resp())) end",
    );
    let origin = Origin::new(|mut peer| {
        while let Some(request) = peer.request() {
            let body = request.text();
            peer.send(format!(
                "HTTP/1.1 200 OK\r\nX-Gone: 1\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ));
        }
    });
    let log = LogReceiver::new();
    let rules = "    filter lua.f one two\n    \
                 log-format %[var(txn.body)],%[var(txn.sizes)],%[var(txn.ends)],%[var(txn.ended)]";
    let weir = Setup::http(rules, "    server s <origin>")
        .global("lua-load <dir>/a.lua")
        .file("a.lua", &script)
        .between(&origin, &log);
    let post = "POST /p?x HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello";
    let answer = weir.web().ask(post);
    assert_eq!((answer.status(), answer.text().as_str()), (202, "SZZ-elloXY"));
    assert_eq!(answer.header("x-line"), Some("200HTTP/1.1"));
    assert_eq!(answer.header("x-gone"), None);
    let request = origin.request(0);
    assert_eq!(request.target(), "/np?q");
    assert_eq!(request.header("x-f"), Some("d"));
    let seen = "POST /p?x HTTP/1.1 HAProxy class HTTPMessage true h onetwo false true HAProxy class HTTPMessage false";
    assert_eq!(request.header("x-seen"), Some(seen));
    // The line is written before the streams of the filters end, as by HAProxy.
    assert_eq!(log.line().trim(), "ZZ-elloXY -elloXY Z-,8 2false,2,-");
    weir.expect_error("ends false");
    weir.expect_error("ends true");
}

#[test]
fn failures_of_filters_refuse_their_message() {
    let script = filter_class(
        "function F:http_headers(txn, m)
            if not m:is_resp() then txn:set_var('txn.path', txn.f:path()) end
            local path = txn:get_var('txn.path')
            if path == '/error' then return filter.ERROR end
            if path == '/boom' then error('boom') end
            if path == '/sleep' then core.msleep(1) end
            if path == '/out' then filter.unregister_data_filter(self, txn.res) end
        end
        function F:http_payload(txn, m) if m:is_resp() then m:append('more') end end",
    );
    let origin = Origin::saying("body");
    let weir = Setup::http("    filter lua.f", "    server s <origin>")
        .global("lua-load <dir>/a.lua")
        .file("a.lua", &script)
        .between(&origin, &LogReceiver::new());
    for path in ["/error", "/boom", "/sleep"] {
        assert_eq!(weir.web().get(path).status(), 400, "{path}");
    }
    weir.expect_error("Lua filter 'f' : [state-id 0] runtime error: ");
    weir.expect_error("Lua filter 'f' : yield not allowed.");
    assert_eq!(weir.web().get("/out").text(), "body", "it sees no payload any more");
    let mut client = weir.web();
    client.send("GET /longer HTTP/1.1\r\nHost: h\r\n\r\n");
    let rest = String::from_utf8_lossy(&client.rest()).into_owned();
    assert!(!rest.contains("more"), "more than announced was sent: {rest}");
    weir.expect_error("the length of the payload is not that of 'content-length'");
}

/// The answer to bytes that pass the filter `f` of a script to a server that sends them back.
fn echo(script: &str, bytes: &str) -> String {
    let origin = Origin::new(|mut peer| {
        let bytes = peer.client.rest();
        peer.send(bytes);
    });
    let weir = plain(script, "    filter lua.f").between(&origin, &LogReceiver::new());
    let mut client = weir.web();
    client.send(bytes);
    client.half_close();
    String::from_utf8_lossy(&client.rest()).into_owned()
}

#[test]
fn filters_see_and_change_the_bytes_of_a_session() {
    let script = filter_class(
        "function F:tcp_payload(txn, channel)
            if channel:is_resp() then channel:append('!') else
                channel:set(channel:data():upper())
            end
        end",
    );
    assert_eq!(echo(&script, "abc"), "ABC!");
}

#[test]
fn a_filter_that_waits_sees_the_payload_again_at_its_time() {
    let script = filter_class(
        "function F:tcp_payload(txn, channel)
            if channel:is_resp() then return end
            if not self.waited then
                self.waited = core.now()
                filter.wake_time(150)
                return filter.WAIT
            end
            local now = core.now()
            local span = (now.sec - self.waited.sec) * 1000 + (now.usec - self.waited.usec) / 1000
            channel:set((span >= 140) and 'late' or 'early')
        end",
    );
    assert_eq!(echo(&script, "abc"), "late");
}

#[test]
fn a_filter_that_no_script_has_registered_is_an_error() {
    let alerts = refused(setup("", "    filter lua.none").with("log", "127.0.0.1:9"));
    assert!(alerts.contains("no script has registered 'lua.none'"), "{alerts}");
    let script = filter_class("").replace("return line end", "end");
    let alerts = refused(setup(&script, "    filter lua.f").with("log", "127.0.0.1:9"));
    assert!(alerts.contains("Lua filter 'f' : "), "{alerts}");
    assert!(alerts.contains("its function has returned no table"), "{alerts}");
}
