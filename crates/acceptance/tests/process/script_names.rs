//! The names of the interface for scripts, one row of a table each: statements and their results.

use crate::support::{Running, Setup};
use std::path::Path;

/// Name, statements, results.
const TABLE: &str = include_str!("data/lua_names.tsv");

/// Runs the statements that a request brings, and answers with their results.
const SCRIPT: &str = r"
    CLASSES, GET, MAP = {}, 'GET / HTTP/1.0\r\n\r\n', Map.new(DIR .. '/a.map', Map._str)
    MAPS = { int = Map.new(DIR .. '/int.map', Map._int), ip = Map.new(DIR .. '/ip.map', Map._ip) }
    MAPS.reg = Map.new(DIR .. '/reg.map', Map._reg)
    for _, kind in ipairs { 'str', 'beg', 'sub', 'dir', 'dom', 'end' } do
        MAPS[kind] = Map.new(DIR .. '/text.map', Map['_' .. kind])
    end
    local function text(...)
        local all = table.pack(...)
        for at = 1, all.n do all[at] = tostring(all[at]) end
        return table.concat(all, ' ')
    end
    core.register_service('http', 'http', function(applet)
        applet:set_status(200) applet:add_header('content-length', 5)
        applet:add_header('connection', 'close') applet:start_response() applet:send('abcde')
    end)
    core.register_service('tcp', 'tcp', function(applet)
        CLASSES.tcp, CLASSES.f, CLASSES.sf = tostring(applet), tostring(applet.f), tostring(applet.sf)
        CLASSES.c, CLASSES.sc = tostring(applet.c), tostring(applet.sc)
        local what = applet:getline():sub(1, -2)
        applet:set_priv('kept')
        local calls = {
            getline = function() return applet:getline():gsub('\n', '\\n') end,
            receive = function() return applet:receive(2) end,
            send = function() return applet:send('12345') and applet:send('12345') end,
            get_priv = function() return applet:get_priv() end,
            set_priv = function() applet:set_priv('other') return applet:get_priv() end,
            set_var = function() return applet:set_var('txn.a', 1) end,
            unset_var = function() applet:set_var('txn.a', 1) applet:unset_var('txn.a') return applet:get_var('txn.a') end,
            get_var = function() applet:set_var('txn.a', 'value') return applet:get_var('txn.a') end,
        }
        applet:send('\n' .. text((calls[what]())) .. '\n')
    end)
    function TCP(what, more)
        local socket = core.tcp()
        socket:connect('127.0.0.1', PLAIN)
        socket:send(what .. '\n' .. more)
        local answer = socket:receive('*a')
        return (answer:match('\n(.-)\n$'))
    end
    function WEB(path)
        local socket = core.tcp()
        socket:connect('127.0.0.1', FRONT)
        socket:send('GET ' .. path .. ' HTTP/1.0\r\n\r\n')
        return (socket:receive('*l'):match(' (%d+) '))
    end
    core.register_action('try', {'http-req'}, function(txn)
        T = txn
        local run, message = load(txn.f:req_body())
        local reply = txn:reply{status = 200}
        reply:set_body(run and text(run()) or message)
        txn:done(reply)
    end)
";

fn start() -> Running {
    let text = "global\n    nbthread 1\n    stats socket <dir>/cli level admin\n    lua-load <dir>/a.lua\n\
        defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    timeout server 20s\n\
        frontend web\n    bind <web>\n    \
        http-request deny if { path -f <dir>/a.acl }\n    \
        http-request wait-for-body time 5s\n    http-request lua.try if { method POST }\n    \
        default_backend app\n\
        backend app\n    stick-table type string len 32 size 1k expire 1m store gpc0,conn_cur,http_req_rate(10s)\n    \
        http-request track-sc0 str(abc)\n    http-request sc-inc-gpc0(0)\n    http-request return status 200\n    \
        server s1 <echo> weight 10 maxconn 7 check inter 1h\n    \
        server s2 127.0.0.1:9 agent-check agent-port 9 agent-inter 1h\n\
        frontend plain\n    mode tcp\n    bind <plain> name named\n    \
        tcp-request content use-service lua.tcp\n\
        frontend doomed\n    mode tcp\n    bind <doomed>\n    tcp-request content use-service lua.tcp\n\
        listen echo\n    bind <echo>\n    http-request use-service lua.http\n";
    let mut setup = Setup::new(text).file("a.map", "a b\n").file("a.acl", "/listed\n");
    setup = setup.file("int.map", "5 five\n10:20 range\n").file("ip.map", "10.0.0.0/8 ten\n");
    setup = setup.file("text.map", "abc hit\n").file("reg.map", "^a.c$ hit\n");
    if let Some(peer) = std::env::var_os("LUA_PEER") {
        setup = setup.program(Path::new(&peer));
    }
    let dir = setup.path("").display().to_string();
    setup.file("a.lua", &format!("DIR = '{}'\n{SCRIPT}", dir.trim_end_matches('/'))).start()
}

fn run(weir: &Running, statements: &str) -> String {
    let set = format!(
        "ECHO, PLAIN, FRONT = {}, {}, {} {statements}",
        weir.address("echo").port(),
        weir.address("plain").port(),
        weir.address("web").port()
    );
    let head = format!("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", set.len());
    weir.web().ask(head + &set).text()
}

#[test]
fn every_name_has_its_result() {
    let weir = start();
    weir.web().get("/");
    let mut wrong = Vec::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let mut columns = line.split('\t');
        let mut column = || columns.next().unwrap_or_default();
        let (name, statements, expected) = (column(), column(), column());
        let found = run(&weir, statements);
        if found != expected {
            wrong.push(format!("{name}: {statements}\n  expected {expected}\n  found    {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), weir.errors());
}
