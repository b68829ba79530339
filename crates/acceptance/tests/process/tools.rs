//! The tools that operators have, unchanged: halog, hatop, promtool, prometheus-haproxy-exporter
//! and the Python library haproxyadmin. A test whose tool is missing prints a note and passes.

use crate::support::{LogReceiver, Origin, Running, Setup, eventually};
use std::io::Write as _;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Where a tool of this Debian package is.
fn tool(name: &str, package: &str) -> Option<PathBuf> {
    let found = ["/usr/bin", "/usr/sbin"].map(|place| PathBuf::from(place).join(name));
    let found = found.into_iter().find(|path| path.is_file());
    if found.is_none() {
        println!("skipped: no {name}; on Debian: sudo apt-get install {package}");
    }
    found
}

/// The output of a command for an input.
fn feed(command: &mut Command, input: &str) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the tool starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(input.as_bytes()).expect("the tool reads");
    drop(pipe);
    child.wait_with_output().expect("the tool ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// One backend with two servers, the statistics page at `/stats`, metrics at `/metrics`.
fn start(origin: &Origin, log: &LogReceiver) -> Running {
    let front = "    stats uri /stats\n    stats admin if TRUE\n    \
                 http-request use-service prometheus-exporter if { path /metrics }\n    \
                 http-request deny if { path /no }";
    let back = "    server s1 <origin>\n    server s2 <origin> backup";
    Setup::http(front, back).global("description something").between(origin, log)
}

#[test]
fn halog_reads_the_log() {
    let Some(halog) = tool("halog", "haproxy") else { return };
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let weir = start(&origin, &log);
    let mut client = weir.web();
    (0..4).for_each(|_| assert_eq!(client.get("/a").status(), 200));
    assert_eq!(client.get("/no").status(), 403);
    // The prefix that a syslog daemon adds.
    let file = (0..5).map(|_| format!("Nov 22 03:24:13 host haproxy[7]: {}\n", log.line()));
    let file: String = file.collect();
    let ask = |flag: &str| {
        let output = feed(Command::new(&halog).arg(flag), &file);
        assert!(text(&output.stderr).contains(" 0 parsing errors"), "{flag}: {output:?}");
        text(&output.stdout)
    };
    assert!(ask("-srv").contains("\napp/s1 0 4 0 0 0 0 4 4 100.0 "), "{}", ask("-srv"));
    assert_eq!(ask("-st"), "200 4\n403 1\n");
    assert!(ask("-tc").starts_with("-- 4\n"), "{}", ask("-tc"));
    assert!(ask("-u").contains("\n4 0 "), "{}", ask("-u"));
    assert!(ask("-pct").contains("\n100.0 4 "), "{}", ask("-pct"));
}

#[test]
fn promtool_reads_the_metrics() {
    let Some(promtool) = tool("promtool", "prometheus") else { return };
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let weir = start(&origin, &log);
    assert_eq!(weir.web().get("/a").status(), 200);
    let metrics = weir.web().get("/metrics").text();
    let output = feed(Command::new(promtool).args(["check", "metrics"]), &metrics);
    // The one counter whose name in HAProxy is not as promtool advises.
    let told = text(&output.stderr) + &text(&output.stdout);
    let told: Vec<_> = told.lines().filter(|it| !it.contains("failed_resolutions")).collect();
    assert!(told.is_empty(), "{told:?}");
}

#[test]
fn the_exporter_reads_page_and_socket() {
    let name = "prometheus-haproxy-exporter";
    let Some(exporter) = tool(name, name) else { return };
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let weir = start(&origin, &log);
    assert_eq!(weir.web().get("/a").status(), 200);
    let socket = format!("unix:{}", weir.path("cli").display());
    for source in [format!("http://{}/stats;csv", weir.address("web")), socket] {
        let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("a port");
        let mut child = Command::new(&exporter)
            .args(["--haproxy.scrape-uri", &source, "--web.listen-address", &port.to_string()])
            .stderr(Stdio::null())
            .spawn()
            .expect("the tool starts");
        let answer = || {
            let mut stream = std::net::TcpStream::connect(port).ok()?;
            stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").ok()?;
            std::io::read_to_string(stream).ok()
        };
        let metrics = eventually("the exporter answers", answer);
        // The program was started above, and its output is complete.
        let _ = child.kill().and_then(|()| child.wait());
        for line in [
            "haproxy_up 1\n",
            "haproxy_exporter_csv_parse_failures_total 0\n",
            "haproxy_server_up{backend=\"app\",server=\"s2\"} 1\n",
            "haproxy_backend_http_responses_total{backend=\"app\",code=\"2xx\"} 1\n",
        ] {
            assert!(metrics.contains(line), "{source}: {line}{metrics}");
        }
    }
}

#[test]
fn hatop_shows_and_asks() {
    let (Some(hatop), Some(python)) = (tool("hatop", "hatop"), tool("python3", "python3")) else {
        return;
    };
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let weir = start(&origin, &log);
    let mut command = Command::new(python);
    command.arg("-").arg(hatop).arg(weir.path("cli"));
    let output = feed(&mut command, include_str!("data/hatop.py"));
    let shown = text(&output.stdout);
    for word in ["BACKEND", "s1", "Release_date: ", "Tainted: 0"] {
        assert!(shown.contains(word), "{word}: {shown} {}", text(&output.stderr));
    }
}

#[test]
fn haproxyadmin_reads_and_changes() {
    let python = ["python3", "/usr/bin/python3"].into_iter().find(|python| {
        let known = Command::new(python).args(["-c", "import haproxyadmin"]).output();
        known.is_ok_and(|output| output.status.success())
    });
    let Some(python) = python else {
        return println!("skipped: no haproxyadmin; pip install haproxyadmin");
    };
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let weir = start(&origin, &log);
    assert_eq!(weir.web().get("/a").status(), 200);
    let mut command = Command::new(python);
    command.arg("-").arg(weir.path("cli"));
    let output = feed(&mut command, include_str!("data/haproxyadmin.py"));
    assert!(output.status.success(), "{} {}", text(&output.stdout), text(&output.stderr));
    assert_eq!(weir.stat("app", "s1", "status"), "MAINT");
    assert_eq!(weir.stat("app", "s2", "weight"), "7");
}
