//! `bench abuse`: clients that live on what HTTP/2 allows them to ask for nothing, what it costs, and
//! what another client waits meanwhile. Never judges what the attackers are told.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::attacks::{ATTACKS, Attack, HELLO};
use super::files::Files;
use super::origin;
use super::pace;
use super::process::{self, Process};
use super::subjects::{self, Subject};
use crate::args;
use crate::clock;
use crate::failure::{self, Outcome};
use crate::tools;

const FLAGS: &[args::Flag] =
    &[args::value("-d"), args::value("-c"), args::value("-a"), subjects::ALONE];

/// The port of the first proxy; each run takes the next one.
const FIRST_PORT: u16 = 18851;

/// The origin.
const ORIGIN: u16 = 19041;

/// Frames that an attack sends each time, on all its connections together, and how often.
const BURST: u32 = 100;
const EVERY: Duration = Duration::from_millis(5);

/// Pace of the client that behaves.
const STEP: Duration = Duration::from_millis(2);

/// What one attack came to.
#[derive(Default)]
struct Sent {
    frames: u64,
    connections: u64,
}

/// What all attacks on one binary have in common.
struct Siege<'a> {
    files: &'a Files,
    subject: &'a Subject,
    length: Duration,
    connections: u32,
}

pub(super) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    let seconds = Duration::from_secs(u64::from(parsed.number("-d", 2)?));
    let connections = parsed.number("-c", 10)?.max(1);
    let chosen = parsed.value("-a").unwrap_or_default();
    let attacks: Vec<_> = ATTACKS.iter().filter(|it| it.name.contains(chosen)).collect();
    if attacks.is_empty() {
        return Err(failure::usage(format!("-a: no attack is called `{chosen}`")));
    }
    tools::require(&[tools::NGINX, tools::TASKSET])?;
    process::pin_self(1);
    let subjects = subjects::subjects(&parsed)?;
    let files = Files::new("abuse")?;
    let _origin = origin::start(&files, "origin", &[ORIGIN])?;
    let mut port = FIRST_PORT;
    for subject in &subjects {
        let siege = Siege { files: &files, subject, length: seconds, connections };
        let alone = siege.quiet(port)?;
        port += 1;
        for attack in &attacks {
            match siege.measure(port, attack, alone) {
                Ok(line) => println!("{:8} {:22} {line}", subject.name, attack.name),
                Err(error) => println!("{:8} {:22} FAILED {error}", subject.name, attack.name),
            }
            port += 1;
        }
    }
    Ok(())
}

impl Siege<'_> {
    /// The share of a processor that the client that behaves costs alone.
    fn quiet(&self, port: u16) -> Outcome<f64> {
        let proxy = start(self.files, self.subject, port)?;
        let before = proxy.worked()?;
        let waited = self.ask(port, &proxy)?;
        let share = (proxy.worked()? - before).as_secs_f64() / self.length.as_secs_f64();
        println!("{:8} {:22} others: {waited}", self.subject.name, "nobody");
        Ok(share)
    }

    /// What the client that behaves has waited.
    fn ask(&self, port: u16, proxy: &Process) -> Outcome<String> {
        let worked = || proxy.worked().unwrap_or_default();
        let (mut waited, mut work) = pace::ask_beside(port, STEP, self.length, worked)?;
        let ms = |it: Duration| it.as_secs_f64() * 1_000.0;
        let (half, most) = (ms(waited.per_mille(500)), ms(waited.per_mille(990)));
        let work = ms(work.per_mille(990));
        Ok(format!("half {half:.2} ms, 99 % {most:.2} ms, of it work of the proxy {work:.2} ms"))
    }

    /// One attack, beside the client that behaves, which costs the share `alone` by itself.
    fn measure(&self, port: u16, attack: &Attack, alone: f64) -> Outcome<String> {
        let proxy = start(self.files, self.subject, port)?;
        let (before, resident) = (proxy.worked()?, proxy.resident()?);
        let mut most = resident;
        let (sent, waited) = std::thread::scope(|scope| {
            let attacker = scope.spawn(|| assault(port, attack, self.length, self.connections));
            let waited = self.ask(port, &proxy);
            most = most.max(proxy.resident().unwrap_or_default());
            (attacker.join().unwrap_or_default(), waited)
        });
        let used = (proxy.worked()? - before).as_secs_f64() - alone * self.length.as_secs_f64();
        let per_frame = used.max(0.0) * 1e6 / sent.frames.max(1) as f64;
        Ok(format!(
            "{per_frame:8.2} us/frame, {:7} frames on {:5} connections, {:6} KiB more, others: {}",
            sent.frames,
            sent.connections,
            most.saturating_sub(resident),
            waited?,
        ))
    }
}

fn start(files: &Files, subject: &Subject, port: u16) -> Outcome<Process> {
    subject.start(files, port, configuration(port))
}

fn configuration(port: u16) -> String {
    format!(
        "global\n    nbthread 1\n    maxconn 4000\n\
         defaults\n    mode http\n    timeout client 60s\n    timeout server 60s\n    \
         timeout connect 5s\n\
         frontend fe\n    bind 127.0.0.1:{port}\n    default_backend be\n\
         backend be\n    http-reuse always\n    server s1 127.0.0.1:{ORIGIN}\n"
    )
}

/// One connection of an attacker.
struct Connection {
    stream: TcpStream,
    /// What was made and not sent yet.
    pending: Vec<u8>,
    /// Units so far.
    units: u32,
}

impl Connection {
    fn open(port: u16) -> std::io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self { stream, pending: HELLO.to_vec(), units: 0 })
    }

    /// Sends some more of an attack; how many frames, or that the proxy has had enough.
    fn step(&mut self, attack: &Attack, frames: u32) -> std::io::Result<u64> {
        let mut made = 0;
        while made < frames && self.pending.len() < 1 << 20 {
            made += (attack.unit)(self.units, &mut self.pending);
            self.units += 1;
        }
        loop {
            match self.stream.write(&self.pending) {
                Ok(count) => drop(self.pending.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
            if self.pending.is_empty() {
                break;
            }
        }
        self.listen()?;
        Ok(u64::from(made))
    }

    /// Drops what the proxy says.
    fn listen(&mut self) -> std::io::Result<()> {
        let mut waste = [0; 16_384];
        loop {
            match self.stream.read(&mut waste) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

/// Attacks for so long, at a steady pace; connections that are closed are made again.
fn assault(port: u16, attack: &Attack, length: Duration, connections: u32) -> Sent {
    let (start, mut sent) = (clock::now(), Sent::default());
    let mut all: Vec<Option<Connection>> = (0..connections).map(|_| None).collect();
    let mut due = Duration::ZERO;
    while due < length {
        clock::pause(due.saturating_sub(start.elapsed()));
        for place in &mut all {
            if place.is_none() {
                *place = Connection::open(port).ok();
                sent.connections += 1;
            }
            let result = place.as_mut().map(|it| it.step(attack, BURST.div_ceil(connections)));
            match result {
                Some(Ok(frames)) => sent.frames += frames,
                _ => *place = None,
            }
        }
        due += EVERY;
    }
    sent
}
