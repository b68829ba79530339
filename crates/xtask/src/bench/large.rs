//! `bench large`: the largest answers of the runtime socket, asked for again and again while
//! clients are served: how long clients wait that ask as fast as they can, and one that asks at a
//! steady pace beside them.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use super::files::Files;
use super::load::{self, Counted};
use super::origin;
use super::pace;
use super::process::{self, Process};
use super::subjects::{self, Subject};
use super::sums;
use crate::args;
use crate::clock;
use crate::failure::{self, Outcome};
use crate::tools;

const FLAGS: &[args::Flag] =
    &[args::value("-n"), args::value("-c"), args::value("-d"), args::value("-r"), subjects::ALONE];

/// The port of the first proxy; each takes the next two.
const FIRST_PORT: u16 = 18971;

/// The origin.
const ORIGIN: u16 = 19031;

/// Commands sent together while the table is filled: less than HAProxy's buffer takes.
const TOGETHER: u32 = 300;

/// The interval between two requests of the client whose latency is measured.
const PACE: Duration = Duration::from_millis(1);

/// The command under load; nothing at first.
const QUESTIONS: [&str; 3] = ["", "show table t", "show sess"];

/// The answers to one command.
#[derive(Debug, Default)]
struct Answers {
    count: u32,
    bytes: u64,
    took: Duration,
}

pub(super) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    let entries = parsed.number("-n", 1_000_000)?;
    let streams = parsed.number("-c", 10_000)?;
    let seconds = parsed.number("-d", 4)?;
    let rounds = parsed.number("-r", 5)?;
    tools::require(&[tools::NGINX, tools::SOCAT, tools::TASKSET, tools::WRK])?;
    process::raise_descriptor_limit();
    process::pin_self(1);
    let subjects = subjects::subjects(&parsed)?;
    let files = Files::new("large")?;
    let _origin = origin::start(&files, "origin", &[ORIGIN])?;
    for (subject, port) in subjects.iter().zip((FIRST_PORT..).step_by(2)) {
        if let Err(error) = measure(&files, subject, port, (entries, streams), (seconds, rounds)) {
            println!("{:8} FAILED {error}", subject.name);
        }
    }
    Ok(())
}

fn measure(
    files: &Files,
    subject: &Subject,
    port: u16,
    (entries, streams): (u32, u32),
    (seconds, rounds): (u32, u32),
) -> Outcome {
    let socket = files.path().join(format!("{}.sock", subject.name));
    let text = configuration(port, &socket, entries, streams);
    let configuration = files.write(&format!("{}.cfg", subject.name), text)?;
    let mut command = process::pinned(0, &subject.binary);
    let proxy = Process::start(command.arg("-f").arg(configuration).arg("-db"), None)?;
    if !process::wait_for_port(port) {
        return Err(failure::check("did not start"));
    }
    let failed = |error| failure::check(format!("the runtime socket: {error}"));
    fill(&socket, entries).map_err(failed)?;
    let open: Vec<TcpStream> = (0..streams)
        .map(|_| TcpStream::connect(("127.0.0.1", port + 1)))
        .collect::<std::io::Result<_>>()
        .map_err(|error| failure::machine(format!("cannot open {streams} streams: {error}")))?;
    let mut runs: [Vec<Run>; QUESTIONS.len()] = Default::default();
    for _ in 0..rounds {
        for (question, runs) in QUESTIONS.iter().zip(&mut runs) {
            runs.push(under_load(&proxy, (&socket, port), question, seconds)?);
        }
    }
    drop(open);
    for (question, those) in QUESTIONS.iter().zip(&runs) {
        report(&subject.name, question, those, &runs[0]);
    }
    Ok(())
}

/// The result of one command under load: response times of the client with the steady pace (50, 99
/// and 99.9 %), time that the proxy worked meanwhile (99 %), in milliseconds; the count of the
/// other client; and the answers.
struct Run {
    waited: [f64; 3],
    work: f64,
    counted: Counted,
    answers: Answers,
}

/// A line of medians; `alone` is what was measured in the same rounds without a question.
fn report(name: &str, question: &str, runs: &[Run], alone: &[Run]) {
    let of = |part: &dyn Fn(&Run) -> f64| sums::median(runs.iter().map(part).collect());
    let [half, most, worst] = [0, 1, 2].map(|at| of(&|run| run.waited[at]));
    let (requests, fast) =
        (of(&|run| run.counted.requests as f64), of(&|run| run.counted.p99_ms()));
    print!(
        "{name:8} {question:12} {requests:6.0} requests of wrk, 99 % {fast:.2} ms; at a steady pace \
         50 % {half:.2} ms, 99 % {most:.2} ms (of it work of the proxy {:.2}), 99.9 % {worst:.2} ms",
        of(&|run| run.work)
    );
    let count: u32 = runs.iter().map(|run| run.answers.count).sum();
    if count > 0 {
        let more = |part: &dyn Fn(&Run) -> f64| {
            let pairs = runs.iter().zip(alone);
            sums::median(pairs.map(|(run, alone)| part(run) - part(alone)).collect())
        };
        let took: Duration = runs.iter().map(|run| run.answers.took).sum();
        let bytes: u64 = runs.iter().map(|run| run.answers.bytes).sum();
        let each = took.as_secs_f64() / f64::from(count);
        let size = bytes as f64 / f64::from(count) / 1e6;
        print!(
            "; more than alone {:+.2} and {:+.2} ms; {count} answers of {size:.1} MB, {each:.2} s each",
            more(&|run| run.counted.p99_ms()),
            more(&|run| run.waited[1])
        );
    }
    let notes: Vec<_> = runs.iter().map(|run| run.counted.note()).collect();
    println!("  {}", notes.concat());
}

/// Runs clients that use half of the proxy's CPU, one client at a steady pace, and one that repeats
/// the command.
fn under_load(
    proxy: &Process,
    (socket, port): (&Path, u16),
    question: &'static str,
    seconds: u32,
) -> Outcome<Run> {
    let over = AtomicBool::new(question.is_empty());
    let length = Duration::from_secs(seconds.into());
    let worked = || proxy.worked().unwrap_or_default();
    let words = ["wrk", "-t1", "-c1", "--latency"].map(str::to_owned);
    let target = [format!("-d{seconds}s"), format!("http://127.0.0.1:{port}/")];
    let (counted, answers, paced) = std::thread::scope(|scope| {
        let operator = scope.spawn(|| ask_again(socket, question, &over));
        let paced = scope.spawn(|| pace::ask(port, PACE, length, worked));
        let counted = load::run(&[&words[..], &target[..]].concat());
        over.store(true, Relaxed);
        (counted, operator.join(), paced.join())
    });
    let early = |who: &str| failure::check(format!("the {who} ended early"));
    let answers = answers.map_err(|_| early("operator"))?;
    let answers =
        answers.map_err(|error| failure::check(format!("the runtime socket: {error}")))?;
    let (mut waited, mut work) = paced.map_err(|_| early("steady client"))??;
    let waited = [500, 990, 999].map(|share| waited.ms(share));
    Ok(Run { waited, work: work.ms(990), counted: counted?, answers })
}

/// Repeats a command until the measurement is over.
fn ask_again(socket: &Path, question: &str, over: &AtomicBool) -> std::io::Result<Answers> {
    let mut answers = Answers::default();
    while !over.load(Relaxed) {
        let began = clock::now();
        answers.bytes += patiently(socket, question)?;
        answers.took += began.elapsed();
        answers.count += 1;
    }
    Ok(answers)
}

/// As [`ask`], by a program that runs when nothing else wants its processor: it reads as fast as it
/// is let, and the clients beside it would wait for it and not for the proxy.
fn patiently(socket: &Path, question: &str) -> std::io::Result<u64> {
    let script = format!(
        "echo '{question}' | socat -T 60 -t 60 - UNIX-CONNECT:{} | wc -c",
        socket.display()
    );
    let words = ["--idle", "0", "taskset", "-c", "1", "sh", "-c", &script];
    let output = Command::new("chrt").args(words).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| std::io::Error::other("socat said nothing"))
}

/// Sends commands; returns the size of the answer.
fn ask(socket: &Path, commands: &str) -> std::io::Result<u64> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    stream.write_all(commands.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    let (mut total, mut chunk) = (0, vec![0; 256 * 1024]);
    loop {
        match stream.read(&mut chunk)? {
            0 => return Ok(total),
            count => total += count as u64,
        }
    }
}

fn fill(socket: &Path, entries: u32) -> std::io::Result<()> {
    for first in (1..=entries).step_by(TOGETHER as usize) {
        let keys = first..(first + TOGETHER).min(entries + 1);
        let commands = keys.map(|key| format!("set table t key {key} data.gpc0 1;"));
        ask(socket, &format!("{}\n", commands.collect::<String>()))?;
    }
    Ok(())
}

fn configuration(port: u16, socket: &Path, entries: u32, streams: u32) -> String {
    let (room, second) = (streams + 1_000, port + 1);
    format!(
        "global\n    nbthread 1\n    no strict-limits\n    maxconn {room}\n    stats socket {} level admin\n    \
         stats timeout 2m\n\
         defaults\n    mode http\n    timeout client 300s\n    timeout server 60s\n    \
         timeout connect 2s\n\
         frontend fe\n    bind 127.0.0.1:{port}\n    default_backend be\n\
         listen by\n    mode tcp\n    bind 127.0.0.1:{second} backlog {room}\n    \
         tcp-request inspect-delay 300s\n    tcp-request content accept if {{ req.len gt 9 }}\n    \
         server s1 127.0.0.1:{ORIGIN}\n\
         backend be\n    server s1 127.0.0.1:{ORIGIN}\n\
         backend t\n    stick-table type integer size {entries} expire 1h store gpc0,conn_cnt\n",
        socket.display()
    )
}
