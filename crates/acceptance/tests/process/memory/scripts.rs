//! Payload that scripts gather: within the memory budget, and given up when memory is short.

use super::{ALONE, assert_within, info};
use crate::support::{Origin, Running, Setup, eventually};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

const SCRIPT: &str = "
    core.register_service('all', 'http', function(applet)
        local body = applet:receive()
        applet:start_response() applet:send(tostring(#body))
    end)
    core.register_service('line', 'http', function(applet)
        local body = applet:getline()
        applet:start_response() applet:send(tostring(#body))
    end)
    core.register_service('fetch', 'http', function(applet)
        local answer = core.httpclient():get{url = 'http://' .. ORIGIN .. '/'}
        if not answer.body then error('no body') end
        applet:start_response() applet:send(tostring(#answer.body))
    end)
    core.register_service('socket', 'http', function(applet)
        local socket = core.tcp()
        socket:connect(ORIGIN)
        socket:send('GET / HTTP/1.0\\r\\n\\r\\n')
        local all = socket:receive('*a')
        applet:start_response() applet:send(tostring(#all))
    end)";

const FILE: &str = "global\n    stats socket <dir>/cli level admin\n    nbthread 2\n    \
     lua-load<per> <dir>/a.lua\n    <limit>\n\
     defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
     timeout server 20s\n\
     frontend web\n    bind <web>\n    http-request use-service lua.all if { path /all }\n    \
     http-request use-service lua.line if { path /line }\n    \
     http-request use-service lua.fetch if { path /fetch }\n    \
     http-request use-service lua.socket if { path /socket }\n    \
     http-request return status 200\n";

const BODY: usize = 40 << 20;

fn start(limit: &str, per_thread: bool, origin: &Origin) -> Running {
    let per = if per_thread { "-per-thread" } else { "" };
    let file = FILE.replace("<limit>", limit).replace("<per>", per);
    let script = format!("ORIGIN = '{}'\n{SCRIPT}", origin.address());
    Setup::new(&file).file("a.lua", &script).start()
}

/// A program with 20 MiB more than it uses at the start.
fn start_small(per_thread: bool, origin: &Origin) -> Running {
    let probe = start("tune.memory.limit 1g", per_thread, origin);
    let base = eventually("a look", || Some(info(&probe, "MemUsed_bytes")).filter(|it| *it > 0));
    drop(probe);
    start(&format!("tune.memory.limit {}", base + (20 << 20)), per_thread, origin)
}

/// An origin whose responses are as large as the body of an upload.
fn large() -> Origin {
    Origin::new(|mut peer| {
        if peer.client.try_head().is_some() {
            peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\n"));
            let _ = peer.client.try_send(vec![b'x'; BODY]);
        }
    })
}

/// The status of the answer to a request with a large body, or of one without a body.
fn ask(program: &Running, path: &str, uploads: bool) -> Option<String> {
    let mut stream = TcpStream::connect(program.address("web")).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    let length = if uploads { BODY } else { 0 };
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).ok()?;
    if uploads {
        let _ = stream.write_all(&vec![b'x'; BODY]);
    }
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).ok()?;
    Some(String::from_utf8_lossy(&answer[9..]).into_owned())
}

/// Asks six times at once, and looks at the memory meanwhile.
fn asks_within_the_limit(program: &Running, path: &str, uploads: bool) {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..6).map(|_| scope.spawn(|| ask(program, path, uploads))).collect();
        scope.spawn(|| {
            while !ended.load(Relaxed) {
                assert_within(program);
            }
        });
        for client in clients {
            let status = client.join().expect("no panic");
            assert!(status.as_deref() != Some("200"), "{path}: forty mebibytes were kept");
        }
        ended.store(true, Relaxed);
    });
}

#[test]
fn bodies_that_scripts_gather_stay_within_the_memory_limit() {
    let _alone = ALONE.lock();
    let origin = large();
    for per_thread in [false, true] {
        let program = start_small(per_thread, &origin);
        for (path, uploads) in
            [("/all", true), ("/line", true), ("/fetch", false), ("/socket", false)]
        {
            let before = info(&program, "MemRequestsEnded");
            asks_within_the_limit(&program, path, uploads);
            assert!(info(&program, "MemRequestsEnded") > before, "{path}");
            // The garbage collector frees the memory of ended scripts.
            eventually("memory to be free", || (info(&program, "MemLevel") == 0).then_some(()));
            assert_eq!(ask(&program, "/", false).as_deref(), Some("200"), "{path}");
        }
    }
}

#[test]
fn a_script_gathers_what_the_memory_limit_allows() {
    let _alone = ALONE.lock();
    let origin = Origin::saying("hello");
    let program = start_small(false, &origin);
    for (path, length) in [("/fetch", "5"), ("/all", "300000")] {
        for _ in 0..20 {
            let mut client = program.web();
            client
                .send(format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n"));
            client.send(vec![b'x'; 300_000]);
            let answer = client.response();
            assert_eq!((answer.status(), answer.text()), (200, length.to_owned()), "{path}");
        }
    }
    assert_eq!(info(&program, "MemRequestsEnded"), 0);
}
