//! Requests of the process itself: by scripts (`core.httpclient`) and by operators (`httpclient`).

use crate::support::{
    Identity, LogReceiver, NameServer, Origin, Peer, Running, Says, Setup, eventually, nobody,
    reply,
};
use std::net::SocketAddr;
use std::os::unix::net::UnixListener;

/// Answers `METHOD URL` headers: what the client returns for the case that the path names.
const SCRIPT: &str = "
    local function show(ok, r)
        if not ok then return 'error ' .. tostring(r):gsub('^.-%.lua:%d+: ', '') end
        local lines = {}
        for name, values in pairs(r.headers) do
            for at = 0, #values do lines[#lines + 1] = name .. '[' .. at .. ']=' .. values[at] end
        end
        table.sort(lines)
        return r.status .. ' ' .. r.reason .. ' (' .. table.concat(lines, ' ') .. ') ' .. r.body
    end
    core.register_service('go', 'http', function(applet)
        local text = show(pcall(cases[applet.path:sub(2)]))
        applet:set_status(200)
        applet:add_header('content-length', #text)
        applet:start_response()
        applet:send(text)
    end)";

/// A frontend whose paths name functions of the script: `name = function() ... end`.
fn setup(cases: &str) -> Setup {
    Setup::http("    http-request use-service lua.go", "")
        .global("lua-load <dir>/a.lua")
        .global("tune.lua.service-timeout 30s")
        .global("log <log> format raw local0")
        .file("a.lua", &script(cases))
}

fn script(cases: &str) -> String {
    format!("local http = core.httpclient\ncases = {{ {cases} }}\n{SCRIPT}")
}

/// The result of one expression that makes a request of the origin.
fn one(origin: SocketAddr, call: &str) -> String {
    let weir = setup(&case(&call.replace("<origin>", &origin.to_string()))).start();
    result(&weir)
}

fn case(call: &str) -> String {
    format!("a = function() return {call} end")
}

fn result(weir: &Running) -> String {
    weir.web().get("/a").text()
}

/// An origin that sends these bytes behind each request, and closes.
fn raw(bytes: impl Into<Vec<u8>>) -> Origin {
    let bytes = bytes.into();
    Origin::new(move |mut peer: Peer| {
        if peer.request().is_some() {
            peer.send(&bytes);
        }
    })
}

#[test]
fn a_script_gets_status_reason_headers_and_body() {
    let origin =
        raw("HTTP/1.1 203 Fine\r\nX-A: 1\r\nx-a: 2\r\nX-B: 3\r\nContent-Length: 2\r\n\r\nhi");
    let expected = "203 Fine (content-length[0]=2 x-a[0]=1 x-a[1]=2 x-b[0]=3) hi";
    assert_eq!(one(origin.address(), "http():get{url='http://<origin>/x?y=1'}"), expected);
    let request = origin.request(0);
    assert_eq!(request.target(), "/x?y=1");
    let host = origin.address().to_string();
    for (name, value) in [("host", &*host), ("accept", "*/*"), ("user-agent", "HAProxy")] {
        assert_eq!(request.header(name), Some(value), "{name}");
    }
    assert_eq!(request.header("content-length").or(request.header("transfer-encoding")), None);
}

#[test]
fn methods_headers_and_bodies_reach_the_server() {
    let origin = Origin::saying("ok");
    let calls = "
        local c = http()
        local u = 'http://<origin>/'
        c:head{url=u}
        c:put{url=u .. '#part', body='BODY', headers={['X-One']={'1','2'}, Host={'h.test'}}}
        c:post{url=u .. '?q', body='abc', headers={['content-length']={'3'}}}
        c:delete{url='http://me:secret@<origin>', headers={Connection={'close'}, ['user-agent']={'mine'}}}
        return c:post{url=u}";
    let calls = calls.replace("<origin>", &origin.address().to_string());
    let weir = setup(&format!("a = function() {calls} end")).start();
    assert_eq!(result(&weir).split(' ').next(), Some("200"));
    let seen = origin.requests();
    let lines: Vec<_> = seen.iter().map(|it| it.start.clone()).collect();
    assert_eq!(
        lines,
        [
            "HEAD / HTTP/1.1",
            "PUT / HTTP/1.1",
            "POST /?q HTTP/1.1",
            "DELETE / HTTP/1.1",
            "POST / HTTP/1.1"
        ]
    );
    assert_eq!(seen[1].all("x-one").collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(seen[1].header("host"), Some("h.test"));
    assert_eq!(
        (seen[1].header("transfer-encoding"), seen[1].text()),
        (Some("chunked"), "BODY".into())
    );
    assert_eq!((seen[2].header("content-length"), seen[2].text()), (Some("3"), "abc".into()));
    assert_eq!(seen[3].header("user-agent"), Some("mine"));
    assert_eq!((seen[3].header("authorization"), seen[3].header("connection")), (None, None));
}

#[test]
fn bodies_beyond_a_buffer_pass_in_both_directions() {
    let origin = Origin::new(|mut peer: Peer| {
        let Some(request) = peer.request() else { return };
        let body = request.text();
        let chunk = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        peer.send(format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunk}"));
    });
    let call = "(function() local s = ('x'):rep(300000)
        local r = http():post{url='http://<origin>/', body=s}
        r.headers, r.body = {}, tostring(r.body == s) return r end)()";
    assert_eq!(one(origin.address(), call), "200 OK () true");
}

#[test]
fn interim_responses_are_skipped_and_redirects_are_not_followed() {
    let origin = raw(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: x\r\n\r\nHTTP/1.1 301 M\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n",
    );
    let answer = one(origin.address(), "http():get{url='http://<origin>/'}");
    assert_eq!(answer, "301 M (content-length[0]=0 location[0]=/x) ");
    assert_eq!(origin.connections(), 1);
}

#[test]
fn responses_without_a_body_or_a_length_end() {
    for (response, expected) in [
        ("HTTP/1.1 204 No Content\r\n\r\n", "204 No Content () "),
        ("HTTP/1.1 200 OK\r\n\r\nuntil the end", "200 OK () until the end"),
    ] {
        let origin = raw(response);
        assert_eq!(one(origin.address(), "http():get{url='http://<origin>/'}"), expected);
    }
    let origin = raw("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n");
    let head = one(origin.address(), "http():head{url='http://<origin>/'}");
    assert_eq!(head, "200 OK (content-length[0]=5) ");
}

/// As with HAProxy, a body that a server cuts short ends there.
#[test]
fn faults_of_servers_are_answers_of_the_proxy() {
    let endless = Origin::new(|mut peer: Peer| {
        if peer.request().is_some() {
            peer.send("HTTP/1.1 200 OK\r\n");
            let line = "x-filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n".repeat(64);
            while peer.client.try_send(&line).is_ok() {}
        }
    });
    let status = |origin: &Origin| {
        let answer = one(origin.address(), "http():get{url='http://<origin>/'}");
        answer.split(' ').next().expect("a word").to_owned()
    };
    assert_eq!(status(&raw("this is no response\r\n\r\n")), "502");
    assert_eq!(status(&endless), "502");
    for half in [
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ] {
        let answer = one(raw(half).address(), "http():get{url='http://<origin>/'}");
        assert!(answer.starts_with("200 OK (") && answer.ends_with(") half"), "{answer}");
    }
}

#[test]
fn a_body_without_end_is_an_error_of_the_script() {
    let origin = Origin::new(|mut peer: Peer| {
        if peer.request().is_some() {
            peer.send("HTTP/1.1 200 OK\r\n\r\n");
            let piece = vec![b'x'; 1 << 16];
            while peer.client.try_send(&piece).is_ok() {}
        }
    });
    let answer = one(origin.address(), "http():get{url='http://<origin>/'}");
    assert_eq!(answer, "error the body of the response is too large");
}

#[test]
fn silent_servers_are_given_up_and_requests_that_change_nothing_repeated() {
    let origin = Origin::new(|mut peer: Peer| {
        peer.request();
        peer.request();
    });
    let weir = setup(&format!(
        "a = function() return http():get{{url='http://{0}/', timeout=50}} end,
         b = function() return http():post{{url='http://{0}/', timeout=50, body='x'}} end",
        origin.address()
    ))
    .start();
    assert!(result(&weir).starts_with("504 Gateway Time-out ("));
    assert_eq!(origin.connections(), 4, "with three retries");
    assert!(weir.web().get("/b").text().starts_with("504 Gateway Time-out ("));
    assert_eq!(origin.connections(), 5, "it may have changed something");
}

#[test]
fn refused_connections_are_retried_and_logged() {
    let log = LogReceiver::new();
    let target = nobody();
    let weir = setup(&case(&format!("http():get{{url='http://{target}/x'}}")))
        .global("httpclient.retries 1")
        .with("log", log.address())
        .start();
    let answer = result(&weir);
    assert!(answer.starts_with("503 Service Unavailable ("), "{answer}");
    assert!(answer.contains("content-type[0]=text/html"), "{answer}");
    let line = log.find("<HTTPCLIENT>");
    assert!(line.contains(" <HTTPCLIENT> <HTTPCLIENT>/<HTTPCLIENT> "), "{line}");
    assert!(line.contains(" 503 217 - - SC-- ") && line.contains("/1 0/0 {} "), "{line}");
    assert!(line.ends_with(&format!("\"GET http://{target}/x HTTP/1.1\"")), "{line}");
}

#[test]
fn a_request_has_a_log_line_without_the_secrets_of_its_url() {
    let log = LogReceiver::new();
    let origin = raw("HTTP/1.1 200 OK\r\nx-b: 2\r\ncontent-length: 5\r\n\r\nhello");
    let address = origin.address();
    let weir = setup(&case(&format!("http():get{{url='http://me:secret@{address}/x'}}")))
        .with("log", log.address())
        .start();
    result(&weir);
    let line = log.find("<HTTPCLIENT>");
    assert!(line.starts_with("-:- [") && line.contains(" 200 58 - - ---- "), "{line}");
    assert!(line.ends_with(&format!(" {{}} \"GET http://{address}/x HTTP/1.1\"")), "{line}");
}

#[test]
fn faults_of_scripts_raise_errors() {
    let origin = Origin::saying("ok");
    for (call, message) in [
        ("http():get()", "'get' needs a table as argument"),
        ("http():post('x')", "'post' needs a table as argument"),
        ("http():get{}", "'get' need a 'url' argument"),
        ("http():get{url=5}", "invalid parameter in 'url', must be a string"),
        ("http():get{url='foo'}", "couldn't start the httpclient"),
        ("http():get{url='ftp://<origin>/'}", "couldn't start the httpclient"),
        ("http():get{url='http://<origin>/x y'}", "couldn't start the httpclient"),
        ("http():get{url='http://<origin>/', dst='!!'}", "Can't use the 'dst' argument"),
        (
            "http():get{url='http://<origin>/', headers='x'}",
            "invalid parameter in 'headers', must be a table",
        ),
        (
            "http():get{url='http://<origin>/', body=5}",
            "invalid parameter in 'body', must be a string",
        ),
        (
            "http():get{url='http://<origin>/', timeout='x'}",
            "invalid parameter in 'timeout', must be a number",
        ),
        ("http():get{url='http://<origin>/', foo=5}", "'foo' invalid parameter name"),
        (
            "http():get{url='http://<origin>/', headers={['x-a']={'1\\r\\nx-b: 2'}}}",
            "couldn't start the httpclient: the value of 'x-a' ends its line",
        ),
        (
            "http():get{url='http://<origin>/', headers={['x a']={'1'}}}",
            "couldn't start the httpclient: 'x a' is no header name",
        ),
        (
            "http():post{url='http://<origin>/', body='x', headers={['content-length']={'9'}}}",
            "couldn't start the httpclient: 'content-length' is not the length of the body",
        ),
        (
            "http():get{url='http://<origin>/' .. ('x'):rep(20000)}",
            "couldn't start the httpclient: the head of the request is too large",
        ),
    ] {
        assert_eq!(one(origin.address(), call), format!("error {message}"), "{call}");
    }
    assert_eq!(origin.connections(), 0);
}

#[test]
fn an_object_makes_one_request_after_another() {
    let origin = Origin::saying("ok");
    let call = "(function() local c = http()
        pcall(c.get, c, {url='foo'})
        c:get{url='http://<origin>/1'}
        return c:get{url='http://<origin>/2'} end)()";
    assert!(one(origin.address(), call).ends_with(" ok"));
    assert_eq!(origin.requests().len(), 2);
}

#[test]
fn requests_go_to_the_address_of_dst() {
    let origin = Origin::saying("ok");
    let (address, port) = (origin.address(), origin.address().port());
    for call in [
        format!("http():get{{url='http://some.test/', dst='{address}'}}"),
        format!("http():get{{url='http://some.test/', dst='ipv4@{address}'}}"),
        format!("http():get{{url='http://some.test:{port}/', dst='127.0.0.1'}}"),
    ] {
        assert!(one(address, &call).ends_with(" ok"), "{call}");
    }
    assert!(
        origin
            .requests()
            .iter()
            .all(|it| it.header("host").is_some_and(|host| host.starts_with("some.test")))
    );
    let setup = setup("");
    let path = setup.path("socket");
    let listener = UnixListener::bind(&path).expect("a socket");
    let server = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = listener.accept().expect("a client");
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(reply("200 OK", "unix").as_bytes());
    });
    let call = format!("http():get{{url='http://some.test/', dst='unix@{}'}}", path.display());
    let weir = setup.file("a.lua", &script(&case(&call))).start();
    assert!(result(&weir).ends_with(" unix"));
    server.join().expect("it has served");
}

/// A `resolvers` section that `dns` serves.
fn with_names(dns: &NameServer, section: &str, cases: &str) -> Setup {
    let setup = setup(cases);
    let lines = format!(
        "resolvers {section}\n nameserver d {}\n timeout resolve 50ms\n timeout retry 100ms\n \
         resolve_retries 2\n",
        dns.address()
    );
    setup.append(&lines)
}

#[test]
fn names_are_resolved_by_the_section_that_the_configuration_names() {
    let (dns, log, origin) = (NameServer::new(), LogReceiver::new(), Origin::saying("ok"));
    dns.say("app.test A", Says::Records(&["127.0.0.1"]));
    // Without `httpclient.resolvers.prefer` the client takes the address of IPv6.
    dns.say("app.test AAAA", Says::Records(&["2001:db8::1"]));
    let port = origin.address().port();
    let call = case(&format!("http():get{{url='http://App.test:{port}/'}}"));
    for section in ["default", "own"] {
        let mut setup = with_names(&dns, section, &call).with("log", log.address());
        setup = setup.global("httpclient.resolvers.prefer ipv4");
        if section == "own" {
            setup = setup.global("httpclient.resolvers.id own");
        }
        let weir = setup.start();
        assert!(result(&weir).ends_with(" ok"), "{section}");
        let line = log.find("<HTTPCLIENT>");
        assert!(line.contains(" {127.0.0.1} \"GET http://App.test:"), "{line}");
    }
    assert_eq!(origin.request(0).header("host"), Some(&*format!("App.test:{port}")));
}

#[test]
fn names_without_an_address_are_answered_by_503() {
    let (dns, log) = (NameServer::new(), LogReceiver::new());
    dns.say("no.test AAAA", Says::Code(3));
    dns.say("no.test A", Says::Code(3));
    let call = case("http():get{url='http://no.test/'}");
    let weir = with_names(&dns, "default", &call).with("log", log.address()).start();
    assert_eq!(result(&weir), "503 Service Unavailable (content-length[0]=0) ");
    assert!(log.find("<HTTPCLIENT>").contains(" 503 66 - - LR-- "));
    let asked = dns.asked().len();
    let weir =
        with_names(&dns, "default", &call).global("httpclient.resolvers.disabled on").start();
    assert_eq!(result(&weir), "503 Service Unavailable (content-length[0]=0) ");
    assert_eq!(dns.asked().len(), asked, "nothing is asked");
}

/// An origin over TLS in the program itself, which shows the certificate of `name`.
fn encrypted(name: &str, authority: &str, calls: &str) -> Setup {
    let (ca, other) = (Identity::new("ca", None), Identity::new("other", None));
    let own = Identity::new(name, Some(&ca));
    let text = "frontend origin\n bind <tls> ssl crt <dir>/own.pem\n \
                http-request return status 200 content-type text/plain lf-string %[ssl_fc_sni]\n";
    setup(calls)
        .append(text)
        .global(authority)
        .file("own.pem", &own.pem())
        .file("ca.pem", &ca.certificate())
        .file("other.pem", &other.certificate())
}

#[test]
fn certificates_of_servers_are_verified() {
    let start = |name: &str, authority: &str, call: &str| {
        let weir = encrypted(name, &format!("httpclient.retries 0\n    {authority}"), "")
            .file("a.lua", "core.register_service('go', 'http', function(applet)
                applet:set_status(200) applet:start_response() applet:send(code(applet)) end)
                function code(applet)
                    local port = applet.headers['x-port'][0]
                    local r = core.httpclient():get{url=applet.headers['x-url'][0]:gsub('PORT', port), dst='127.0.0.1:' .. port}
                    return r.status .. ' ' .. (r.status == 200 and r.body or '')
                end")
            .start();
        let port = weir.address("tls").port();
        let request =
            format!("GET / HTTP/1.1\r\nhost: x\r\nx-port: {port}\r\nx-url: {call}\r\n\r\n");
        weir.web().ask(request).text()
    };
    let known = "httpclient.ssl.ca-file <dir>/ca.pem";
    assert_eq!(start("a.test", known, "https://a.test/"), "200 a.test");
    assert_eq!(start("a.test", known, "https://a.test:PORT/"), "200 a.test");
    assert_eq!(start("a.test", known, "https://b.test/"), "503 ", "another name");
    assert_eq!(
        start("a.test", "httpclient.ssl.ca-file <dir>/other.pem", "https://a.test/"),
        "503 "
    );
    assert_eq!(start("a.test", "", "https://a.test/"), "503 ", "no authority of the system");
    assert_eq!(start("a.test", "httpclient.ssl.verify none", "https://b.test/"), "200 b.test");
    assert_eq!(start("a.test", known, "http://a.test/"), "502 ", "in the clear");
}

#[test]
fn a_server_without_tls_is_a_failed_connection() {
    let origin = Origin::answering("no handshake\r\n\r\n");
    let call = format!("http():get{{url='https://a.test/', dst='{}'}}", origin.address());
    let weir = setup(&case(&call))
        .global("httpclient.retries 0\n    httpclient.timeout.connect 300ms")
        .start();
    assert!(result(&weir).starts_with("503 Service Unavailable"));
}

#[test]
fn words_of_the_client_are_checked() {
    for (line, message) in [
        (
            "httpclient.ssl.verify optional",
            "'httpclient.ssl.verify' expects 'none' or 'required' as argument.",
        ),
        ("httpclient.ssl.ca-file /nonexistent/ca", "/nonexistent/ca"),
        ("httpclient.ssl.ca-file", "'httpclient.ssl.ca-file' expects"),
        (
            "httpclient.resolvers.prefer ip",
            "'httpclient.resolvers.prefer' expects 'ipv4' or 'ipv6' as argument.",
        ),
        ("httpclient.resolvers.prefer ipv4 x", "cannot handle unexpected argument 'x'"),
        (
            "httpclient.resolvers.id zz",
            "Proxy '<HTTPCLIENT>': Can't find resolvers section 'zz' for do-resolve action.",
        ),
        (
            "httpclient.resolvers.disabled maybe",
            "'httpclient.resolvers.disabled' expects either 'on' or 'off'",
        ),
        (
            "httpclient.retries 5000",
            "'httpclient.retries' value must be between 0 and 1000 (was 5000)",
        ),
        ("httpclient.timeout.connect x", "httpclient.timeout.connect"),
    ] {
        let mut weir = Setup::http("    http-request return status 200", "").global(line).start();
        assert_eq!(weir.wait().code(), Some(1), "{line}");
        weir.expect_error(message);
        weir.expect_error(":2]");
    }
}

#[test]
fn the_end_of_a_script_ends_its_request() {
    let origin = Origin::new(|mut peer: Peer| {
        peer.request();
        peer.request();
    });
    let log = LogReceiver::new();
    let text = "global\n    lua-load <dir>/a.lua\n    log <log> format raw local0\n\
                defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
                timeout server 20s\n    option abortonclose\n\
                listen web\n    bind <web>\n    http-request use-service lua.go\n";
    let call = case(&format!("http():get{{url='http://{}/'}}", origin.address()));
    let weir = Setup::new(text).file("a.lua", &script(&call)).with("log", log.address()).start();
    let mut client = weir.web();
    client.send("GET /a HTTP/1.1\r\nhost: x\r\n\r\n");
    eventually("the request", || (origin.requests().len() == 1).then_some(()));
    client.close();
    assert!(log.find("<HTTPCLIENT>").contains(" - - CD--"));
}

#[test]
fn a_request_under_way_outlives_a_soft_stop() {
    let origin = Origin::new(|mut peer: Peer| {
        if let Some(request) = peer.request() {
            let go: std::path::PathBuf = request.header("x-go").expect("a path").into();
            eventually("the stop", || go.exists().then_some(()));
            peer.send(reply("200 OK", "late"));
        }
    });
    let setup = setup("");
    let go = setup.path("go");
    let call = format!(
        "http():get{{url='http://{}/', headers={{['x-go']={{'{}'}}}}}}",
        origin.address(),
        go.display()
    );
    let mut weir = setup.file("a.lua", &script(&case(&call))).start();
    let mut client = weir.web();
    client.send("GET /a HTTP/1.1\r\nhost: x\r\n\r\n");
    eventually("the request", || (origin.requests().len() == 1).then_some(()));
    weir.signal(sys::signal::USR1);
    weir.expect_error("Proxy web stopped");
    std::fs::write(&go, "").expect("a file");
    assert!(client.response().text().ends_with(" late"));
    assert!(weir.wait().success());
}

#[test]
fn actions_and_tasks_make_requests_as_well() {
    let (log, origin) = (LogReceiver::new(), Origin::saying("ok"));
    let address = origin.address();
    let script = format!(
        "core.register_action('ask', {{'http-req'}}, function(txn)
            txn:set_var('txn.body', core.httpclient():get{{url='http://{address}/a'}}.body) end)
         core.register_task(function()
            core.Info('task got ' .. core.httpclient():get{{url='http://{address}/t'}}.body) end)
         core.register_fetches('ask', function(txn)
            return core.httpclient():get{{url='http://{address}/f'}}.body end)"
    );
    let weir = Setup::http(
        "    http-request return status 200 hdr x-f [%[lua.ask]] if { path /f }\n    \
         http-request lua.ask\n    http-request return status 200 hdr x-a %[var(txn.body)]",
        "",
    )
    .global("lua-load <dir>/a.lua")
    .global("log <log> format raw local0")
    .file("a.lua", &script)
    .with("log", log.address())
    .start();
    log.find("task got ok");
    assert_eq!(weir.web().get("/").header("x-a"), Some("ok"));
    assert_eq!(weir.web().get("/f").header("x-f"), Some("[]"), "a fetch cannot wait");
    log.find("Lua sample-fetch 'ask': yield not allowed.");
}

#[test]
fn tcp_services_tcp_actions_and_commands_make_requests_as_well() {
    let origin = Origin::saying("ok");
    let script = format!(
        "local function get() return core.httpclient():get{{url='http://{}/'}}.body end
         core.register_service('tcp', 'tcp', function(applet)
            applet:send('service ' .. get() .. ' ' .. applet:getline()) end)
         core.register_action('ask', {{'tcp-req'}}, function(txn) txn:set_var('txn.a', get()) end)
         core.register_cli({{'ask'}}, 'ask : makes a request', function(applet)
            applet:send('command ' .. get() .. '\\n') end)",
        origin.address()
    );
    let text = "global\n    stats socket <dir>/cli level user\n    lua-load <dir>/a.lua\n\
                defaults\n    mode tcp\n    timeout connect 5s\n    timeout client 20s\n    \
                timeout server 20s\nfrontend web\n    bind <web>\n    \
                tcp-request inspect-delay 5s\n    tcp-request content lua.ask\n    \
                tcp-request content use-service lua.tcp if { var(txn.a) -m str ok }\n";
    let weir = Setup::new(text).file("a.lua", &script).start();
    let mut client = weir.web();
    client.send("line\n");
    assert_eq!(client.rest(), b"service ok line\n");
    assert_eq!(weir.cli("ask"), "command ok");
}

#[test]
fn clients_cannot_choose_the_hidden_proxy() {
    let origin = Origin::saying("ok");
    let weir = Setup::http("    use_backend %[req.hdr(x-to)]", "    server s <origin>\n")
        .with("origin", origin.address())
        .start();
    let request = "GET / HTTP/1.1\r\nhost: x\r\nx-to: <HTTPCLIENT>\r\n\r\n";
    assert_eq!(weir.web().ask(request).text(), "ok", "the default backend answers");
}

#[test]
fn operators_make_requests_in_expert_mode() {
    let origin = raw("HTTP/1.1 200 Fine\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 2\r\n\r\nhi");
    let weir = Setup::http("    http-request return status 200", "").start();
    let ask = |line: &str| weir.cli(&format!("expert-mode on; httpclient {line}"));
    let url = format!("http://{}/x?y=1", origin.address());
    let expected = "\nHTTP/1.1 200 Fine\nx-a: 1\r\nx-a: 2\r\ncontent-length: 2\r\n\r\nhi";
    assert_eq!(ask(&format!("GET {url}")), expected);
    assert_eq!(origin.request(0).target(), "/x?y=1");
    ask(&format!("POST {url} <<\nline1\nline2\n"));
    let post = origin.request(1);
    assert_eq!((post.start.as_str(), post.text()), ("POST /x?y=1 HTTP/1.1", "line1\nline2".into()));
    let few = "Can't start the HTTP client: not enough parameters.";
    assert_eq!((ask("").trim(), ask("GET").trim()), (few, few));
    for line in [format!("FOO {url}"), format!("CONNECT {url}"), "GET foo".to_owned()] {
        assert_eq!(ask(&line).trim(), "Can't start the HTTP client.", "{line}");
    }
    let refused = weir.cli(&format!("httpclient GET {url}"));
    assert_eq!(refused, "This command is restricted to expert mode only.");
}

/// Statistics and dumps show sections alone.
#[test]
fn the_proxy_of_the_client_is_hidden() {
    let weir =
        Setup::http("    http-request return status 200", "    server s 127.0.0.1:9\n").start();
    for command in [
        "show stat",
        "show servers state",
        "show servers conn",
        "show backend",
        "show info",
        "show acl",
        "show errors",
    ] {
        let text = weir.cli(command);
        assert!(!text.contains("HTTPCLIENT") && !text.contains("HTTPSCLIENT"), "{command}: {text}");
    }
    assert_eq!(weir.stat("web", "FRONTEND", "iid"), "2");
}
