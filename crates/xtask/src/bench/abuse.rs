//! `bench abuse`: clients that send frames which HTTP/2 allows but which request nothing, the CPU
//! that they cost, and the latency of another client meanwhile.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::attacks::{ATTACKS, FrameAttack, HELLO};
use super::awake::Awake;
use super::files::Files;
use super::origin;
use super::pace;
use super::process::{self, Process};
use super::subjects::{self, Subject};
use super::sums::median;
use crate::args;
use crate::clock;
use crate::failure::Outcome;
use crate::tools;

const FLAGS: &[args::Flag] =
    &[args::value("-d"), args::value("-c"), args::value("-a"), args::value("-r"), subjects::ALONE];

/// Each run's proxy takes the next port.
const FIRST_PORT: u16 = 18851;

/// The origins of the client that behaves, which need not wait for the other one, and of attackers.
const ORIGIN: u16 = 19041;
const ATTACKED: u16 = 19042;

/// Frames that an attack sends each time, on all its connections together, and how often.
const BURST: u32 = 100;
const EVERY: Duration = Duration::from_millis(5);

/// Pace of the client that behaves.
const STEP: Duration = Duration::from_millis(2);

/// The result of one attack.
#[derive(Default)]
struct Sent {
    frames: u64,
    connections: u64,
}

/// The waits of the measured client, in milliseconds.
struct Waited {
    half: f64,
    most: f64,
    /// The proxy's work that 99 % of its requests saw at most.
    work: f64,
}

/// One round: one attack on one binary.
struct Round {
    sent: Sent,
    /// Processor time in microseconds.
    used: f64,
    /// Resident memory, KiB more than at rest.
    grown: u64,
    waited: Waited,
}

/// The settings that all rounds share.
struct FrameSiege {
    files: Files,
    length: Duration,
    connections: u32,
    /// The port of the last proxy.
    port: u16,
}

pub(super) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    let length = Duration::from_secs(u64::from(parsed.number("-d", 2)?));
    let (connections, rounds) = (parsed.number("-c", 10)?.max(1), parsed.number("-r", 1)?.max(1));
    let attacks = subjects::chosen(&parsed, ATTACKS, |it| it.name)?;
    tools::require(&[tools::NGINX, tools::TASKSET])?;
    process::pin_self(1);
    let subjects = subjects::subjects(&parsed)?;
    let files = Files::new("abuse")?;
    let _origin = origin::start(&files, "origin", &[ORIGIN])?.urgent();
    let _attacked = origin::start(&files, "attacked", &[ATTACKED])?;
    let _awake = Awake::start()?;
    let mut siege = FrameSiege { files, length, connections, port: FIRST_PORT };
    let mut at_rest = Vec::new();
    for attack in std::iter::once(None).chain(attacks.into_iter().map(Some)) {
        let all = subjects::in_turns(rounds, &subjects, |subject| {
            siege.port += 1;
            siege.round(subject, attack)
        })?;
        if attack.is_none() {
            at_rest = all.iter().map(|rounds| middle(rounds, |it| it.used)).collect();
        }
        for ((subject, rounds), at_rest) in subjects.iter().zip(&all).zip(&at_rest) {
            show(&subject.name, attack.map_or("nobody", |it| it.name), rounds, *at_rest);
        }
    }
    Ok(())
}

impl FrameSiege {
    /// An attack, beside the client that behaves.
    fn round(&self, subject: &Subject, attack: Option<&FrameAttack>) -> Outcome<Round> {
        let proxy = subject.start(&self.files, self.port, configuration(self.port))?;
        let (before, resident) = (proxy.worked()?, proxy.resident()?);
        let mut most = resident;
        let (sent, waited) = std::thread::scope(|scope| {
            let attacker = attack.map(|attack| {
                scope.spawn(|| assault(self.port, attack, self.length, self.connections))
            });
            let waited = self.ask(&proxy);
            most = most.max(proxy.resident().unwrap_or_default());
            let sent = attacker.map(|it| it.join().unwrap_or_default());
            (sent.unwrap_or_default(), waited)
        });
        let used = (proxy.worked()? - before).as_secs_f64() * 1e6;
        Ok(Round { sent, used, grown: most.saturating_sub(resident), waited: waited? })
    }

    /// The waits of the measured client.
    fn ask(&self, proxy: &Process) -> Outcome<Waited> {
        let worked = || proxy.worked().unwrap_or_default();
        let (mut waited, mut work) =
            process::urgently(|| pace::ask(self.port, STEP, self.length, worked))?;
        Ok(Waited { half: waited.ms(500), most: waited.ms(990), work: work.ms(990) })
    }
}

fn middle(rounds: &[Round], figure: impl Fn(&Round) -> f64) -> f64 {
    median(rounds.iter().map(figure).collect())
}

/// Prints the medians of rounds; `at_rest` is the CPU cost of the well-behaved client without an
/// attack.
fn show(name: &str, attack: &str, rounds: &[Round], at_rest: f64) {
    let middle = |figure: fn(&Round) -> f64| middle(rounds, figure);
    let frames = middle(|it| it.sent.frames as f64);
    print!("{name:8} {attack:22} ");
    if frames > 0.0 {
        let per_frame = (middle(|it| it.used) - at_rest).max(0.0) / frames;
        let (connections, grown) =
            (middle(|it| it.sent.connections as f64), middle(|it| it.grown as f64));
        print!("{per_frame:6.2} us/frame, {frames:7} frames on {connections:5} connections, ");
        print!("{grown:6} KiB more, ");
    }
    let (half, most) = (middle(|it| it.waited.half), middle(|it| it.waited.most));
    let work = middle(|it| it.waited.work);
    print!("others: half {half:.2} ms, 99 % {most:.2} ms, ");
    println!("of it work of the proxy {work:.2} ms");
}

fn configuration(port: u16) -> String {
    format!(
        "global\n    nbthread 1\n    maxconn 4000\n\
         defaults\n    mode http\n    timeout client 60s\n    timeout server 60s\n    \
         timeout connect 5s\n\
         frontend fe\n    bind 127.0.0.1:{port}\n    use_backend attacked if {{ req.ver 2.0 }}\n    \
         default_backend be\n\
         backend be\n    http-reuse always\n    server s1 127.0.0.1:{ORIGIN}\n\
         backend attacked\n    http-reuse always\n    server s1 127.0.0.1:{ATTACKED}\n"
    )
}

/// One connection of an attacker.
struct Connection {
    stream: TcpStream,
    /// The frames that were made and not sent yet.
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

    /// Sends the next part of an attack; returns the number of frames, or an error if the proxy has
    /// closed.
    fn step(&mut self, attack: &FrameAttack, frames: u32) -> std::io::Result<u64> {
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

    /// Reads and drops the frames of the proxy.
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

/// Attacks for so long, at a steady pace; connections that are closed are made again. Attackers
/// have machines of their own, so that here they must not keep the origin and the other client
/// waiting.
fn assault(port: u16, attack: &FrameAttack, length: Duration, connections: u32) -> Sent {
    process::give_way();
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
