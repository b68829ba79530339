//! `bench kill`: two origins under load, one killed in the middle and started again. Counts
//! requests that the client lost and failures in the log, and measures when the proxy noticed.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::files::Files;
use super::load::{self, Counted};
use super::origin;
use super::process::{self, Process};
use super::subjects::{self, Subject};
use crate::args;
use crate::clock;
use crate::failure::{self, Outcome};
use crate::tools;

const FLAGS: &[args::Flag] =
    &[args::value("-c"), args::value("-d"), args::switch("--retry"), subjects::ALONE];

/// The port of the first proxy; each takes the next one.
const FIRST_PORT: u16 = 18901;

/// The two origins; the second one is killed.
const ORIGINS: [u16; 2] = [19011, 19012];

/// The log of one run, counted.
#[derive(Debug, Default, PartialEq, Eq)]
struct Story {
    /// Requests logged.
    requests: u64,
    /// Requests logged with a status of 400 or more, or none at all.
    failed: u64,
    /// Requests logged for the killed server between its DOWN and its UP.
    while_down: u64,
    /// Lines of the log that are not requests, with the time since the load began.
    events: Vec<(Duration, String)>,
    down: bool,
}

/// The course of the benchmark.
struct Load {
    connections: u32,
    seconds: u32,
    /// Whether requests that fail are sent again (`retry-on all-retryable-errors`).
    retry: bool,
}

/// The figures of one run.
struct KillFigures {
    counted: Counted,
    story: Story,
    killed: Duration,
    restarted: Duration,
}

pub(super) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    let connections = parsed.number("-c", 256)?;
    let seconds = parsed.number("-d", 20)?;
    let load = Load { connections, seconds, retry: parsed.has("--retry") };
    tools::require(&[tools::NGINX, tools::WRK, tools::TASKSET])?;
    let subjects = subjects::subjects(&parsed)?;
    let files = Files::new("kill")?;
    for (subject, port) in subjects.iter().zip(FIRST_PORT..) {
        match measure(&files, subject, port, &load) {
            Ok(measured) => print(&subject.name, &measured),
            Err(error) => println!("{:8} FAILED {error}", subject.name),
        }
    }
    Ok(())
}

fn measure(files: &Files, subject: &Subject, port: u16, load: &Load) -> Outcome<KillFigures> {
    let [one, two] = ORIGINS;
    let _first = origin::start(files, "first", &[one])?;
    let mut second = Some(origin::start(files, "second", &[two])?);
    let configuration =
        files.write(&format!("{}.cfg", subject.name), configuration(port, load.retry))?;
    let log = files.path().join(format!("{}.log", subject.name));
    let mut command = process::pinned(0, &subject.binary);
    command.arg("-f").arg(configuration).arg("-db");
    let _proxy = Process::start(&command, Some(&log))?;
    if !process::wait_for_port(port) {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        return Err(failure::check(format!("did not start: {}", load::tail(&text, 300))));
    }
    // The first checks must have marked both servers UP permanently.
    clock::pause(Duration::from_secs(2));
    let start = clock::now();
    let mut reader = LogReader::open(&log)?;
    let mut client = client(port, load.connections, load.seconds)?;
    let length = Duration::from_secs(u64::from(load.seconds));
    let (kill_at, restart_at) = (length.mul_f64(0.35), length.mul_f64(0.65));
    let (mut killed, mut restarted) = (Duration::ZERO, Duration::ZERO);
    while matches!(client.try_wait(), Ok(None)) {
        reader.read(start)?;
        if killed.is_zero() && start.elapsed() >= kill_at {
            second.take().iter_mut().for_each(Process::kill);
            killed = start.elapsed();
        }
        if restarted.is_zero() && start.elapsed() >= restart_at {
            second = Some(origin::start(files, "second", &[two])?);
            restarted = start.elapsed();
        }
        clock::pause(Duration::from_millis(20));
    }
    // The last requests of the client are logged after it has gone.
    clock::pause(Duration::from_secs(1));
    reader.read(start)?;
    let output = client
        .wait_with_output()
        .map_err(|error| failure::machine(format!("cannot read the load's output: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let counted = load::read(&text).ok_or_else(|| failure::check("no load result"))?;
    Ok(KillFigures { counted, story: reader.story, killed, restarted })
}

fn client(port: u16, connections: u32, seconds: u32) -> Outcome<std::process::Child> {
    let words = [
        "wrk".to_owned(),
        "-t1".to_owned(),
        format!("-c{connections}"),
        format!("-d{seconds}s"),
        "--latency".to_owned(),
        format!("http://127.0.0.1:{port}/"),
    ];
    load::command(&words)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failure::machine(format!("cannot start wrk: {error}")))
}

fn configuration(port: u16, retry: bool) -> String {
    let [one, two] = ORIGINS;
    let retry = if retry { "    retry-on all-retryable-errors\n" } else { "" };
    format!(
        "global\n    nbthread 1\n    maxconn 4000\n    log stdout format raw local0\n\
         defaults\n    mode http\n    log global\n    option httplog\n    option redispatch\n    \
         retries 3\n    timeout client 10s\n    timeout server 10s\n    timeout connect 2s\n\
         frontend fe\n    bind 127.0.0.1:{port}\n    default_backend be\n\
         backend be\n{retry}    balance roundrobin\n    option httpchk GET /\n    option log-health-checks\n    \
         default-server check inter 500ms fall 3 rise 2\n    \
         server s1 127.0.0.1:{one}\n    server s2 127.0.0.1:{two}\n"
    )
}

/// Follows a growing log file.
struct LogReader {
    file: File,
    rest: Vec<u8>,
    story: Story,
}

impl LogReader {
    /// Opens a log at its end.
    fn open(path: &Path) -> Outcome<Self> {
        let mut file = File::open(path).map_err(unreadable)?;
        file.seek(SeekFrom::End(0)).map_err(unreadable)?;
        Ok(Self { file, rest: Vec::new(), story: Story::default() })
    }

    /// Reads the lines written since the last call.
    fn read(&mut self, start: Instant) -> Outcome {
        self.file.read_to_end(&mut self.rest).map_err(unreadable)?;
        let end = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let now = start.elapsed();
        for line in self.rest[..end].split(|byte| *byte == b'\n') {
            self.story.tell(&String::from_utf8_lossy(line), now);
        }
        self.rest.drain(..end);
        Ok(())
    }
}

fn unreadable(error: std::io::Error) -> failure::Failure {
    failure::machine(format!("cannot read the proxy's log: {error}"))
}

impl Story {
    /// Takes in one line: `client [date] frontend backend/server timers status ...` or an event.
    fn tell(&mut self, line: &str, now: Duration) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, date, _, server, _, status, ..] = words.as_slice() else {
            return self.event(line, now);
        };
        if !date.starts_with('[') || !date.ends_with(']') || !server.contains('/') {
            return self.event(line, now);
        }
        self.requests += 1;
        let status: i32 = status.parse().unwrap_or(-1);
        self.failed += u64::from(!(200..400).contains(&status));
        self.while_down += u64::from(self.down && *server == "be/s2");
    }

    fn event(&mut self, line: &str, now: Duration) {
        // The same event also comes as a notice of the process, between brackets.
        if line.trim().is_empty() || line.starts_with('[') {
            return;
        }
        if line.contains("Server be/s2 is DOWN") {
            self.down = true;
        } else if line.contains("Server be/s2 is UP") {
            self.down = false;
        }
        self.events.push((now, line.to_owned()));
    }

    /// When the first event came that holds `text`, at or after a moment.
    fn first(&self, text: &str, after: Duration) -> Option<Duration> {
        let mut events = self.events.iter();
        events.find(|(at, line)| *at >= after && line.contains(text)).map(|(at, _)| *at)
    }
}

fn print(name: &str, measured: &KillFigures) {
    let KillFigures { counted, story, killed, restarted } = measured;
    let after = |text, from: Duration| match story.first(text, from) {
        Some(at) => format!("{:.1} s", at.saturating_sub(from).as_secs_f64()),
        None => "never".to_owned(),
    };
    println!(
        "{name:8} {:8} requests  failed {:5} (status {}, socket {})  logged {:8}, failed {:5}, to the dead server {}  DOWN after {}, UP after {}",
        counted.requests,
        counted.bad_status + counted.socket_errors,
        counted.bad_status,
        counted.socket_errors,
        story.requests,
        story.failed,
        story.while_down,
        after("Server be/s2 is DOWN", *killed),
        after("Server be/s2 is UP", *restarted),
    );
    for (at, line) in &story.events {
        println!("    {:5.1} s  {line}", at.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    //! Reading a log.
    use super::*;

    const OK: &str = "127.0.0.1:4 [21/Nov/2026:10:00:00.000] fe be/s2 0/0/0/1/1 200 213 - - ---- 9/9/9/4/0 0/0 \"GET / HTTP/1.1\"";

    #[test]
    fn tells_the_story_of_a_log() {
        let mut story = Story::default();
        let at = Duration::from_secs;
        story.tell(OK, at(1));
        story.tell(&OK.replace(" 200 ", " 502 "), at(2));
        story.tell("Server be/s2 is DOWN, reason: Layer4 connection problem", at(3));
        story.tell("[ALERT]    (7) : same thing again", at(3));
        story.tell(&OK.replace("---- ", "SC-- ").replace(" 200 ", " -1 "), at(4));
        story.tell(&OK.replace("s2", "s1"), at(4));
        story.tell("Server be/s2 is UP, reason: Layer7 check passed", at(5));
        story.tell(OK, at(6));
        assert_eq!((story.requests, story.failed, story.while_down), (5, 2, 1));
        assert_eq!(story.events.len(), 2);
        assert_eq!(story.first("is UP", at(4)), Some(at(5)));
        assert_eq!(story.first("is UP", at(6)), None);
    }
}
