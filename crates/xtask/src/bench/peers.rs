//! `bench peers`: what a table that is shared costs: CPU of a tracked request with two peers and
//! without, the time in which a fresh process is taught a large table, and the memory that peers
//! pin which do not read.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::files::Files;
use super::load;
use super::process::{self, Process};
use super::subjects::{self, Subject};
use super::sums;
use crate::args;
use crate::clock;
use crate::failure::{self, Outcome};
use crate::tools;

const FLAGS: &[args::Flag] =
    &[args::value("-n"), args::value("-d"), args::value("-r"), subjects::ALONE];

/// The port of the first proxy; each takes the next ten.
const FIRST_PORT: u16 = 18701;

/// Commands sent together while the table is filled: less than HAProxy's buffer takes.
const TOGETHER: u32 = 200;

/// How long a lesson may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// The names of the processes.
const NAMES: [&str; 3] = ["A", "B", "C"];

pub(super) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    let entries = parsed.number("-n", 1_000_000)?;
    let seconds = parsed.number("-d", 5)?;
    let rounds = parsed.number("-r", 3)?;
    tools::require(&[tools::WRK, tools::TASKSET])?;
    process::pin_self(1);
    let subjects = subjects::subjects(&parsed)?;
    let files = Files::new("peers")?;
    let groups: Vec<Group> = subjects
        .iter()
        .zip((FIRST_PORT..).step_by(10))
        .map(|(subject, port)| Group { files: &files, subject, port, entries })
        .collect();
    requests(&groups, seconds, rounds)?;
    lessons(&groups, rounds)?;
    stopped_peers(&groups, seconds)
}

/// The processes of one binary that share a table.
struct Group<'a> {
    files: &'a Files,
    subject: &'a Subject,
    port: u16,
    entries: u32,
}

/// CPU of a tracked request, in microseconds.
fn requests(groups: &[Group<'_>], seconds: u32, rounds: u32) -> Outcome {
    let mut all: Vec<[Vec<f64>; 2]> = groups.iter().map(|_| Default::default()).collect();
    for _ in 0..rounds {
        for (group, costs) in groups.iter().zip(&mut all) {
            for (shared, costs) in [false, true].into_iter().zip(costs) {
                costs.push(group.cost(shared, seconds)?);
            }
        }
    }
    for (group, costs) in groups.iter().zip(all) {
        let [alone, shared] = costs.map(sums::median);
        println!(
            "{:8} tracked request {alone:.2} us, with two peers {shared:.2} us: {:+.2} us",
            group.subject.name,
            shared - alone
        );
    }
    Ok(())
}

/// The time in which a fresh process is taught all entries, in seconds.
fn lessons(groups: &[Group<'_>], rounds: u32) -> Outcome {
    for group in groups {
        let teacher = group.start(0, 0, true)?;
        group.fill()?;
        let (mut took, mut worked) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let before = teacher.worked()?;
            took.push(group.lesson()?);
            worked.push((teacher.worked()? - before).as_secs_f64());
        }
        println!(
            "{:8} {} entries taught in {:.2} s from the first to the last, CPU of the teacher {:.2} s, \
             of its memory {} KiB",
            group.subject.name,
            group.entries,
            sums::median(took),
            sums::median(worked),
            teacher.resident()?
        );
    }
    Ok(())
}

/// The growth of memory while all entries change and two peers are stopped.
fn stopped_peers(groups: &[Group<'_>], seconds: u32) -> Outcome {
    for group in groups {
        let first = group.start(0, 0, true)?;
        let others = [group.start(1, 1, true)?, group.start(2, 1, true)?];
        group.load(seconds)?;
        let before = first.resident()?;
        others.iter().for_each(|other| other.signal("STOP"));
        group.load(2 * seconds)?;
        let after = first.resident()?;
        others.iter().for_each(|other| other.signal("CONT"));
        println!(
            "{:8} memory {before} KiB, with two stopped peers {after} KiB: {:+} KiB",
            group.subject.name,
            after as i64 - before as i64
        );
    }
    Ok(())
}

impl Group<'_> {
    /// Starts the process in this place of [`NAMES`] on a processor.
    fn start(&self, at: usize, processor: usize, shared: bool) -> Outcome<Process> {
        let name = NAMES[at];
        let text = self.configuration(at, shared);
        let file = format!("{}-{name}.cfg", self.subject.name);
        let configuration = self.files.write(&file, text)?;
        let mut command = process::pinned(processor, &self.subject.binary);
        command.arg("-f").arg(configuration).arg("-db");
        let process = Process::start(&command, None)?;
        match process::wait_for_port(self.web_port(at)) {
            true => Ok(process),
            false => Err(failure::check(format!("{} {name} did not start", self.subject.name))),
        }
    }

    fn web_port(&self, at: usize) -> u16 {
        self.port + at as u16
    }

    fn socket(&self, at: usize) -> PathBuf {
        self.files.path().join(format!("{}-{}.sock", self.subject.name, NAMES[at]))
    }

    fn configuration(&self, at: usize, shared: bool) -> String {
        let peers: String = NAMES
            .iter()
            .zip(self.port + 5..)
            .map(|(name, port)| format!("    peer {name} 127.0.0.1:{port}\n"))
            .collect();
        let (section, word) = match shared {
            true => (format!("peers group\n{peers}"), "peers group"),
            false => (String::new(), ""),
        };
        let rates = "gpc0,http_req_cnt,conn_cnt,http_req_rate(10s)";
        format!(
            "global\n    nbthread 1\n    maxconn 4000\n    localpeer {}\n    \
             stats socket {} level admin\n    stats timeout 2m\n\
             defaults\n    mode http\n    timeout client 60s\n    timeout server 60s\n    \
             timeout connect 5s\n{section}\
             frontend fe\n    bind 127.0.0.1:{}\n    \
             http-request track-sc0 rand(10000),concat(key) table t\n    \
             http-request return status 200\n\
             backend t\n    stick-table type string len 32 size {} expire 1h store {rates} {word}\n",
            NAMES[at],
            self.socket(at).display(),
            self.web_port(at),
            2 * self.entries.max(10_000),
        )
    }

    /// CPU microseconds per tracked request.
    fn cost(&self, shared: bool, seconds: u32) -> Outcome<f64> {
        let proxy = self.start(0, 0, shared)?;
        let _others = match shared {
            true => vec![self.start(1, 1, true)?, self.start(2, 1, true)?],
            false => Vec::new(),
        };
        // All keys are there, and all peers are connected.
        self.load(2)?;
        let before = proxy.worked()?;
        let requests = self.load(seconds)?;
        let worked = proxy.worked()? - before;
        Ok(worked.as_secs_f64() * 1e6 / requests.max(1) as f64)
    }

    /// Has clients make tracked requests; how many.
    fn load(&self, seconds: u32) -> Outcome<u64> {
        let target = format!("http://127.0.0.1:{}/", self.web_port(0));
        let words = ["wrk", "-t1", "-c64", &format!("-d{seconds}s"), "--latency", &target];
        Ok(load::run(&words.map(str::to_owned))?.requests)
    }

    /// Fills the table of the first process.
    fn fill(&self) -> Outcome {
        let socket = self.socket(0);
        for first in (1..=self.entries).step_by(TOGETHER as usize) {
            let keys = first..(first + TOGETHER).min(self.entries + 1);
            let data = "data.gpc0 1 data.http_req_rate 5";
            let commands = keys.map(|key| format!("set table t key some-key-{key:08} {data};"));
            ask(&socket, &format!("{}\n", commands.collect::<String>()))?;
        }
        match self.used(0)? {
            used if used == self.entries => Ok(()),
            used => Err(failure::check(format!("{used} entries are in the table"))),
        }
    }

    /// The number of entries in the table of a process.
    fn used(&self, at: usize) -> Outcome<u32> {
        let answer = ask(&self.socket(at), "show table\n")?;
        let line = answer.lines().find(|line| line.starts_with("# table: t,"));
        let used = line.and_then(|line| line.rsplit("used:").next());
        used.and_then(|used| used.trim().parse().ok())
            .ok_or_else(|| failure::check(format!("no table in `{answer}`")))
    }

    /// Seconds from the first entry that a fresh process has learned to the last one.
    fn lesson(&self) -> Outcome<f64> {
        let _pupil = self.start(1, 1, true)?;
        let (mut first, mut last) = (None, None);
        clock::wait_until(PATIENCE, Duration::from_millis(2), || {
            let used = self.used(1).unwrap_or(0);
            if used > 0 {
                first.get_or_insert_with(clock::now);
            }
            if used >= self.entries {
                last = Some(clock::now());
            }
            last.is_some()
        });
        match first.zip(last) {
            Some((first, last)) => Ok((last - first).as_secs_f64()),
            None => Err(failure::check("the table was not taught")),
        }
    }
}

/// Sends commands to a runtime socket and returns the answer.
fn ask(socket: &Path, commands: &str) -> Outcome<String> {
    let answer = || -> std::io::Result<String> {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.write_all(commands.as_bytes())?;
        stream.shutdown(Shutdown::Write)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    answer().map_err(|error| failure::check(format!("the runtime socket: {error}")))
}
