//! `bench checks`: the CPU cost of health checks on many threads, and their effect on the latency
//! of other requests.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::bare;
use super::files::Files;
use super::origin;
use super::process::Process;
use super::subjects::{self, Subject};
use super::sums::{self, Tail};
use crate::args;
use crate::clock;
use crate::failure::{self, Outcome};
use crate::tools;

const FLAGS: &[args::Flag] = &[
    args::value("-t"),
    args::value("-n"),
    args::value("-i"),
    args::value("-d"),
    args::value("-r"),
    subjects::ALONE,
];

/// The first port that a proxy gets; each run takes the next one.
const FIRST_PORT: u16 = 19201;

/// The port of the nginx that is all checked servers.
const ORIGIN: u16 = 19101;

const REQUEST: &[u8] = b"GET /;csv HTTP/1.1\r\nHost: x\r\n\r\n";

/// The end of a chunked answer.
const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// Checks of the bare loop that the figures are held against.
const BARE_CHECKS: usize = 800;

/// Between two requests, so that each finds a proxy at rest.
const BREATH: Duration = Duration::from_micros(500);

/// The measurement that the command line describes.
struct Plan {
    threads: u32,
    servers: u32,
    inter_ms: u32,
    seconds: u32,
}

/// The figures of one run.
struct CheckFigures {
    /// Of one core, while nothing but checks ran.
    percent: f64,
    /// CPU microseconds per check that the origin answered.
    cost: f64,
    /// Voluntary context switches per check.
    switches: f64,
    /// Checks per second that the origin answered.
    rate: f64,
    /// To the first byte of the answer, in milliseconds.
    tail: Tail,
}

pub(super) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    let plan = Plan {
        threads: parsed.number("-t", 48)?,
        servers: parsed.number("-n", 200)?,
        inter_ms: parsed.number("-i", 2000)?,
        seconds: parsed.number("-d", 20)?,
    };
    let rounds = parsed.number("-r", 1)?;
    tools::require(&[tools::NGINX, tools::TASKSET])?;
    let subjects = subjects::subjects(&parsed)?;
    let files = Files::new("checks")?;
    let _origin = origin::start_counting(&files, "origin", ORIGIN)?;
    let mut runs: Vec<Vec<Outcome<CheckFigures>>> = subjects.iter().map(|_| Vec::new()).collect();
    let mut port = FIRST_PORT;
    for _ in 0..rounds {
        for (subject, runs) in subjects.iter().zip(&mut runs) {
            runs.push(measure(&files, subject, &plan, port));
            port += 1;
        }
    }
    let Plan { threads, servers, inter_ms, seconds } = plan;
    let asked = f64::from(servers) * 1000.0 / f64::from(inter_ms);
    println!(
        "{threads} threads, {servers} servers every {inter_ms} ms ({asked:.0} checks/s asked), \
         {seconds} s, median of {rounds}"
    );
    for batch in [1, 8] {
        let bare = bare::run(ORIGIN, batch, BARE_CHECKS)?;
        println!(
            "bare loop  {batch} at a time             {:6.1} us/check              {:6.2} switches/check",
            bare.cost, bare.switches
        );
    }
    print(subjects.iter().map(|subject| subject.name.as_str()).zip(runs));
    Ok(())
}

/// One run of one proxy: first checks alone, then requests and checks together.
fn measure(files: &Files, subject: &Subject, plan: &Plan, port: u16) -> Outcome<CheckFigures> {
    let name = format!("{}.cfg", subject.name);
    let configuration = files.write(&name, configuration(plan, port))?;
    let mut command = std::process::Command::new(&subject.binary);
    command.arg("-f").arg(configuration).arg("-db");
    let mut proxy = Process::start(&command, None)?;
    // Checks are spread over an interval, so that the measurement starts after they have settled.
    let settling = Duration::from_millis(u64::from(plan.inter_ms)) * 5 / 2;
    clock::pause(settling.max(Duration::from_secs(3)));
    if !proxy.runs() {
        return Err(failure::check("did not start"));
    }
    let length = Duration::from_secs(u64::from(plan.seconds));
    let before = (proxy.cpu()?, proxy.voluntary_switches()?, origin::requests(ORIGIN)?);
    let start = clock::now();
    clock::pause(length / 2);
    let span = start.elapsed().as_secs_f64();
    let cpu = proxy.cpu()? - before.0;
    let switches = proxy.voluntary_switches()? - before.1;
    // The request for this count is one more.
    let checks = (origin::requests(ORIGIN)? - before.2 - 1).max(1) as f64;
    let tail = first_bytes(port, length)
        .map_err(|error| failure::check(format!("requests beside the checks: {error}")))?;
    Ok(CheckFigures {
        percent: 100.0 * cpu / span,
        cost: 1e6 * cpu / checks,
        switches: switches as f64 / checks,
        rate: checks / span,
        tail,
    })
}

/// Asks for the CSV page over one connection for a while; milliseconds to each first byte.
fn first_bytes(port: u16, length: Duration) -> std::io::Result<Tail> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut answer = vec![0; 64 * 1024];
    let mut spans = Vec::new();
    let start = clock::now();
    while start.elapsed() < length {
        spans.push(ask(&mut stream, &mut answer)?.as_secs_f64() * 1e3);
        clock::pause(BREATH);
    }
    Ok(Tail::new(spans))
}

/// Sends one request and measures the time to its first byte. Reads the answer to its end.
fn ask(stream: &mut TcpStream, buffer: &mut [u8]) -> std::io::Result<Duration> {
    let asked: Instant = clock::now();
    stream.write_all(REQUEST)?;
    let mut count = stream.read(buffer)?;
    let first = asked.elapsed();
    let mut answer = Vec::with_capacity(buffer.len());
    while count > 0 {
        answer.extend_from_slice(&buffer[..count]);
        if is_complete(&answer) {
            return Ok(first);
        }
        count = stream.read(buffer)?;
    }
    Err(std::io::ErrorKind::UnexpectedEof.into())
}

/// Whether an answer of either framing is there in full.
fn is_complete(answer: &[u8]) -> bool {
    let Some(end) = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let length: Option<usize> =
        head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    match length {
        Some(length) => answer.len() - end - 4 >= length,
        None => answer.ends_with(LAST_CHUNK),
    }
}

fn configuration(plan: &Plan, port: u16) -> String {
    let Plan { threads, servers, inter_ms, .. } = plan;
    let servers: String = (0..*servers)
        .map(|number| format!("  server s{number} 127.0.0.1:{ORIGIN} check inter {inter_ms}ms\n"))
        .collect();
    format!(
        "global\n  nbthread {threads}\n  maxconn 2000\n\
         defaults\n  mode http\n  timeout client 60s\n  timeout server 60s\n  \
         timeout connect 2s\n  timeout check 1s\n\
         listen st\n  bind 127.0.0.1:{port}\n  stats enable\n  stats uri /\n\
         backend be\n  option httpchk GET /\n{servers}"
    )
}

/// Prints two lines per proxy: the checks alone, then the requests beside them.
fn print<'a>(results: impl Iterator<Item = (&'a str, Vec<Outcome<CheckFigures>>)>) {
    let mut base = None;
    for (name, runs) in results {
        let good: Vec<&CheckFigures> = runs.iter().filter_map(|run| run.as_ref().ok()).collect();
        if good.is_empty() {
            let error = runs.first().and_then(|run| run.as_ref().err());
            println!("{name:10} FAILED {}", error.map_or(String::new(), ToString::to_string));
            continue;
        }
        let middle = |value: fn(&CheckFigures) -> f64| {
            sums::median(good.iter().map(|run| value(run)).collect())
        };
        let cost = middle(|run| run.cost);
        let ratio = cost / *base.get_or_insert(cost);
        println!(
            "{name:10} checks alone  cpu {:6.2} %  {cost:6.1} us/check  ratio {ratio:5.2}  \
             {:6.2} switches/check  {:8.0} checks/s  {:7.0} checks per CPU second",
            middle(|run| run.percent),
            middle(|run| run.switches),
            middle(|run| run.rate),
            1e6 / cost,
        );
        println!(
            "{name:10} first byte    ms p50 {:.3}  p99 {:.3}  p99.9 {:.3}  p99.99 {:.3}  max {:.3}  \
             ({:.0} requests)",
            middle(|run| run.tail.at(0.5)),
            middle(|run| run.tail.at(0.99)),
            middle(|run| run.tail.at(0.999)),
            middle(|run| run.tail.at(0.9999)),
            middle(|run| run.tail.at(1.0)),
            middle(|run| run.tail.count() as f64),
        );
    }
}

#[cfg(test)]
mod tests {
    //! Knowing the end of an answer.
    use super::*;

    #[test]
    fn both_framings_end() {
        let sized = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        assert!(is_complete(sized) && !is_complete(&sized[..sized.len() - 1]));
        let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
        assert!(is_complete(chunked) && !is_complete(&chunked[..chunked.len() - 1]));
        assert!(!is_complete(b"HTTP/1.1 200 OK\r\n"));
    }
}
