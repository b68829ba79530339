//! Scripts in Lua: loaded with the configuration, called by expressions, rules and the process.

use crate::support::{LogReceiver, Running, Setup, eventually};

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
fn initializers_and_tasks_run_once_the_process_serves() {
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
