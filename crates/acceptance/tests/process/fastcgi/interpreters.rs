//! FastCGI applications of other projects, if installed: PHP-FPM and fcgiwrap.

use super::*;
use crate::support::{Client, Message};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The process of an interpreter.
struct Interpreter(Child);

impl Drop for Interpreter {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The first of these programs that is installed.
fn installed(names: &[&str]) -> Option<PathBuf> {
    let places = ["/usr/sbin", "/usr/bin", "/usr/local/sbin"];
    let all = names.iter().flat_map(|name| places.map(|place| Path::new(place).join(name)));
    let found = all.into_iter().find(|path| path.exists());
    if found.is_none() {
        let install = "on Debian: sudo apt-get install php-fpm fcgiwrap";
        println!("skipped: no {}; {install}", names.join(" or "));
    }
    found
}

fn setup(app: &str) -> Setup {
    setup_with("", app)
}

fn setup_with(rules: &str, app: &str) -> Setup {
    Setup::new(&format!(
        "global\n    nbthread 2\ndefaults\n    mode http\n    timeout connect 5s\n    \
         timeout client 20s\n    timeout server 20s\n    option abortonclose\n\
         listen web\n    bind <web>\n{rules}    use-fcgi-app app\n    retries 30\n    \
         server s unix@<dir>/app.sock proto fcgi\n\
         fcgi-app app\n    docroot <dir>\n{app}\n"
    ))
}

/// Starts an interpreter, and waits until it listens.
fn start(command: &mut Command, socket: &Path) -> Interpreter {
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let interpreter = Interpreter(child.expect("it is installed"));
    eventually("an interpreter that listens", || UnixStream::connect(socket).ok());
    interpreter
}

const SCRIPT: &str = r#"<?php
switch ($_GET['do'] ?? '') {
case 'echo':
    $hash = hash_init('md5');
    $size = 0;
    $in = fopen('php://input', 'rb');
    while (($piece = fread($in, 65536)) !== false && $piece !== '') {
        hash_update($hash, $piece);
        $size += strlen($piece);
    }
    echo $_SERVER['REQUEST_METHOD'], ' ', $size, ' ', hash_final($hash);
    break;
case 'params':
    foreach (['SCRIPT_NAME', 'PATH_INFO', 'QUERY_STRING', 'CONTENT_TYPE', 'HTTP_X_A'] as $name) {
        echo $name, '=', $_SERVER[$name] ?? '', "\n";
    }
    break;
case 'late':
    echo 'begun ';
    flush();
    $size = 0;
    $in = fopen('php://input', 'rb');
    while (($piece = fread($in, 65536)) !== false && $piece !== '') { $size += strlen($piece); }
    echo $size;
    break;
case 'status': http_response_code(418); echo 'tea'; break;
case 'redirect': header('Location: /there'); break;
case 'early': echo 'first'; fastcgi_finish_request(); usleep(100000); break;
case 'error': error_log("php \x1b[31m says"); echo 'ok'; break;
case 'long': for ($i = 0; $i < 3000; $i++) { echo str_repeat('x', 1000); } break;
case 'endless': while (!connection_aborted()) { echo ' '; flush(); usleep(1000); } break;
default: echo 'hello';
}
"#;

/// PHP-FPM with two workers behind Weir.
fn php(lines: &str) -> Option<(Interpreter, Running)> {
    php_behind("", lines)
}

/// The same, with these lines in the proxy too.
fn php_behind(rules: &str, lines: &str) -> Option<(Interpreter, Running)> {
    let program = installed(&["php-fpm8.2", "php-fpm8.3", "php-fpm8.4", "php-fpm"])?;
    let path_info = "    path-info ^(/.+\\.php)(/.*)?$\n    index index.php";
    let setup = setup_with(rules, &format!("{path_info}\n{lines}")).file("index.php", SCRIPT);
    let directory = setup.path("index.php").parent().expect("a directory").to_owned();
    let socket = directory.join("app.sock");
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0);
    let user = if is_root { "user = root\n" } else { "" };
    let pool = format!(
        "[global]\nerror_log = {0}/fpm.log\n[www]\n{user}listen = {0}/app.sock\npm = static\n\
         pm.max_children = 2\nphp_admin_value[post_max_size] = 0\n\
         php_admin_value[output_buffering] = 0\n\
         php_admin_value[enable_post_data_reading] = 0\n",
        directory.display()
    );
    let setup = setup.file("fpm.conf", &pool);
    let mut command = Command::new(program);
    command.args(["-n", "-F", "-O", "-R", "-y"]).arg(setup.path("fpm.conf"));
    let interpreter = start(&mut command, &socket);
    Some((interpreter, setup.start()))
}

fn post(client: &mut Client, target: &str, body: &[u8]) -> Message {
    let len = body.len();
    let head = format!("POST {target} HTTP/1.1\r\nHost: h\r\nContent-Length: {len}\r\n\r\n");
    client.ask([head.as_bytes(), body].concat())
}

fn md5(bytes: &[u8]) -> String {
    let digest = openssl::hash::hash(openssl::hash::MessageDigest::md5(), bytes).expect("a digest");
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn php_serves_requests_of_every_kind() {
    let Some((_php, weir)) = php("") else { return };
    let mut client = weir.web();
    assert_eq!(client.get("/").text(), "hello");
    assert_eq!(client.get("/index.php?do=status").status(), 418);
    let answer = client.get("/index.php?do=redirect");
    assert_eq!((answer.status(), answer.header("location")), (302, Some("/there")));
    assert_eq!(client.get("/index.php?do=early").text(), "first");
    assert_eq!(client.get("/index.php?do=long").body.len(), 3_000_000);
    let request = "GET /index.php/a%20b?do=params HTTP/1.1\r\nHost: h\r\nX-A: 1\r\n\r\n";
    let expected = "SCRIPT_NAME=/index.php\nPATH_INFO=/a b\nQUERY_STRING=do=params\n\
                    CONTENT_TYPE=\nHTTP_X_A=1\n";
    assert_eq!(client.ask(request).text(), expected);
    let head = "HEAD /index.php HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    assert_eq!(weir.web().ask(head).body, b"");
    assert_eq!(client.get("/none.php").status(), 404);
}

#[test]
fn php_reads_bodies_of_every_size() {
    let Some((_php, weir)) = php("") else { return };
    let mut client = weir.web();
    for size in [0, 1, 16_384, 65_536, 1_000_000, 5_000_000] {
        let body: Vec<u8> = (0..size).map(|at: usize| (at % 253) as u8).collect();
        let answer = post(&mut client, "/index.php?do=echo", &body);
        assert_eq!(answer.text(), format!("POST {size} {}", md5(&body)));
    }
    let chunked = "PUT /index.php?do=echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\
                   5\r\nhello\r\n0\r\n\r\n";
    assert_eq!(client.ask(chunked).text(), format!("PUT 5 {}", md5(b"hello")));
    for size in [0, 1, 16_000] {
        let body = vec![b'x'; size];
        let last = if size == 0 { "" } else { "\r\n0\r\n" };
        let head =
            "POST /index.php?do=echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
        let start = format!("{head}{size:x}\r\n");
        let answer = client.ask([start.as_bytes(), &body, last.as_bytes(), b"\r\n"].concat());
        assert_eq!(answer.text(), format!("POST {size} {}", md5(&body)), "in a chunk");
    }
    let head = "POST /index.php?do=echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
    let large = [head.as_bytes(), b"f4240\r\n", &vec![b'x'; 30_000]].concat();
    assert_eq!(weir.web().ask(large).status(), 400, "without a length, beyond a buffer");
}

#[test]
fn php_reads_uploads_of_a_hundred_megabytes() {
    let Some((_php, weir)) = php("") else { return };
    let mut client = weir.web();
    let (piece, size) = (vec![b'x'; 1_000_000], 100_000_000);
    client.send(format!(
        "POST /index.php?do=late HTTP/1.1\r\nHost: h\r\nContent-Length: {size}\r\n\r\n"
    ));
    for _ in 0..100 {
        client.send(&piece);
    }
    assert_eq!(client.response().text(), format!("begun {size}"));
    assert_eq!(client.get("/").text(), "hello", "the connection goes on");
}

#[test]
fn an_answer_of_php_may_begin_before_the_upload_has_ended() {
    let Some((_php, weir)) = php("") else { return };
    let mut client = weir.web();
    client.send("POST /index.php?do=late HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n");
    client.send([b'x'; 1_000]);
    let head = client.head();
    assert_eq!(head.status(), 200, "before the body is complete");
    client.send([b'x'; 99_000]);
    assert_eq!(client.finish(head, false).text(), "begun 100000");
}

/// The front controller of a content management system: what is no file is a path of `index.php`.
#[test]
fn paths_of_a_content_management_system_reach_its_front_controller() {
    let program = installed(&["php-fpm8.2", "php-fpm8.3", "php-fpm8.4", "php-fpm"]);
    if program.is_none() {
        return;
    }
    let Some((_php, weir)) = php_behind(
        "    http-request set-path /index.php%[path] unless { path_sub .php } or { path / }\n",
        "",
    ) else {
        return;
    };
    let mut client = weir.web();
    for (target, script, path_info, query) in [
        ("/2026/11/a-post/?do=params", "/index.php", "/2026/11/a-post/", "do=params"),
        ("/category/caf%c3%a9?do=params&p=2", "/index.php", "/category/caf\u{e9}", "do=params&p=2"),
        ("/index.php/feed?do=params", "/index.php", "/feed", "do=params"),
        ("/?do=params", "/index.php", "", "do=params"),
    ] {
        let expected = format!(
            "SCRIPT_NAME={script}\nPATH_INFO={path_info}\nQUERY_STRING={query}\nCONTENT_TYPE=\nHTTP_X_A=\n"
        );
        assert_eq!(client.get(target).text(), expected, "{target}");
    }
}

#[test]
fn error_output_of_php_is_logged() {
    let errors = LogReceiver::new();
    let lines = format!("    log-stderr {} format raw local0", errors.address());
    let Some((_php, weir)) = php(&lines) else { return };
    assert_eq!(weir.web().get("/index.php?do=error").text(), "ok");
    let line = errors.line();
    assert!(line.contains("php ?[31m says"), "{line}");
}

#[test]
fn aborted_requests_leave_no_worker_of_php_busy() {
    let Some((_php, weir)) = php("") else { return };
    for _ in 0..1_000 {
        let mut client = weir.web();
        client.send("GET /index.php?do=endless HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(client.head().status(), 200);
        client.close();
    }
    assert_eq!(weir.web().get("/").text(), "hello");
    assert_eq!(weir.web().get("/").text(), "hello");
}

const CGI: &str = "#!/bin/sh\necho 'Status: 201 Made'\necho 'Content-Type: text/plain'\necho\n\
                   echo \"$REQUEST_METHOD $CONTENT_LENGTH $QUERY_STRING\"\ncat\n";

#[test]
fn scripts_run_by_fcgiwrap_are_served() {
    let Some(program) = installed(&["fcgiwrap"]) else { return };
    let setup = setup("").file("run.cgi", CGI);
    let script = setup.path("run.cgi");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("a file");
    let socket = script.parent().expect("a directory").join("app.sock");
    let mut command = Command::new(program);
    command.arg("-s").arg(format!("unix:{}", socket.display()));
    let _wrap = start(&mut command, &socket);
    let weir = setup.start();
    let mut client = weir.web();
    for _ in 0..3 {
        // fcgiwrap stops when an echoed body is larger than two pipes.
        let answer = client.get("/run.cgi?a=b");
        assert_eq!((answer.status(), answer.text().as_str()), (201, "GET 0 a=b\n"));
        let body = vec![b'x'; 100_000];
        let answer = post(&mut client, "/run.cgi", &body);
        assert!(answer.text().starts_with("POST 100000 \nxxx"), "{}", answer.start);
        assert_eq!(answer.body.len(), 100_000 + "POST 100000 \n".len());
    }
    assert_eq!(client.get("/none.cgi").status(), 403);
    let head = "HEAD /run.cgi HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    let answer = weir.web().ask(head);
    assert_eq!((answer.status(), answer.body.len()), (201, 0));
}

const COUNT: &str = "#!/bin/sh\necho 'Content-Type: text/plain'\necho\nwc -c | tr -d ' \\n'\n";

#[test]
fn scripts_run_by_fcgiwrap_get_bodies_of_every_size() {
    let Some(program) = installed(&["fcgiwrap"]) else { return };
    let setup = setup("")
        .file("count.cgi", COUNT)
        .file("to.cgi", "#!/bin/sh\necho 'Location: /there'\necho\n");
    for name in ["count.cgi", "to.cgi"] {
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(setup.path(name), mode).expect("a file");
    }
    let socket = setup.path("count.cgi").parent().expect("a directory").join("app.sock");
    let mut command = Command::new(program);
    command.arg("-s").arg(format!("unix:{}", socket.display()));
    let _wrap = start(&mut command, &socket);
    let weir = setup.start();
    let mut client = weir.web();
    for size in [0, 1, 16_384, 1_000_000, 20_000_000] {
        assert_eq!(post(&mut client, "/count.cgi", &vec![b'x'; size]).text(), size.to_string());
    }
    let chunked = "POST /count.cgi HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\
                   5\r\nhello\r\n0\r\n\r\n";
    assert_eq!(client.ask(chunked).text(), "5");
    let answer = client.get("/to.cgi");
    assert_eq!((answer.status(), answer.header("location")), (302, Some("/there")));
}
