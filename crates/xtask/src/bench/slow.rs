//! `bench slow`: thousands of clients that send or read a little now and then (slowhttptest), and
//! what others wait for their answers meanwhile.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::awake::Awake;
use super::files::Files;
use super::origin;
use super::pace;
use super::process::{self, Process};
use super::subjects::{self, Subject};
use super::sums::median;
use crate::args;
use crate::clock;
use crate::failure::{self, Outcome};
use crate::tools;

const FLAGS: &[args::Flag] =
    &[args::value("-a"), args::value("-n"), args::value("-d"), args::value("-r"), subjects::ALONE];

/// Each run's proxy takes the next port.
const FIRST_PORT: u16 = 18951;

/// The origin of the measured client, and that of slow clients, so that the first does not wait for
/// the second.
const ORIGIN: u16 = 19021;
const SLOW_ORIGIN: u16 = 19022;

/// Slow clients that connect per second.
const PACE: u32 = 1_000;

/// One way of being slow: its name, and the arguments of slowhttptest.
struct SlowAttack {
    name: &'static str,
    path: &'static str,
    words: &'static [&'static str],
}

const ATTACKS: &[SlowAttack] = &[
    SlowAttack { name: "headers", path: "/", words: &["-H", "-x", "8"] },
    SlowAttack { name: "body", path: "/", words: &["-B", "-s", "8192", "-x", "8"] },
    SlowAttack {
        name: "read",
        path: "/1m",
        words: &["-X", "-w", "512", "-y", "1024", "-n", "1", "-z", "32"],
    },
];

/// Pace of the client that behaves.
const STEP: Duration = Duration::from_millis(1);

/// How long the slow clients may take until they are all there.
const ARRIVAL: Duration = Duration::from_secs(60);

/// The figures of one run.
struct SlowFigures {
    /// The measured client's waits: p50, p99 and longest, in milliseconds.
    waits: [f64; 3],
    /// The proxy's work in p99 and in the longest wait.
    work: [f64; 2],
    /// Descriptors that the proxy had open for the slow clients.
    open: f64,
    /// Percent of a processor that the proxy used for the slow clients alone.
    cpu: f64,
    /// Growth of resident memory, in bytes per slow client.
    memory: f64,
}

/// The settings that all runs share.
struct SlowSiege {
    files: Files,
    slow: u32,
    length: Duration,
    /// The port of the last proxy.
    port: u16,
}

pub(super) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    let slow = parsed.number("-n", 4_000)?;
    let length = Duration::from_secs(u64::from(parsed.number("-d", 10)?));
    let rounds = parsed.number("-r", 1)?.max(1);
    let attacks = subjects::chosen(&parsed, ATTACKS, |it| it.name)?;
    tools::require(&[tools::NGINX, tools::TASKSET, tools::SLOWHTTPTEST])?;
    process::raise_descriptor_limit();
    process::pin_self(1);
    let subjects = subjects::subjects(&parsed)?;
    let files = Files::new("slow")?;
    let _origin = origin::start(&files, "origin", &[ORIGIN])?.urgent();
    let _slow = origin::start(&files, "slow", &[SLOW_ORIGIN])?;
    let _awake = Awake::start()?;
    let mut siege = SlowSiege { files, slow, length, port: FIRST_PORT };
    for attack in std::iter::once(None).chain(attacks.into_iter().map(Some)) {
        let all = subjects::in_turns(rounds, &subjects, |subject| {
            siege.port += 1;
            siege.measure(subject, attack)
        })?;
        for (subject, measured) in subjects.iter().zip(&all) {
            show(&subject.name, attack, measured);
        }
    }
    Ok(())
}

/// Prints the medians of rounds.
fn show(name: &str, attack: Option<&SlowAttack>, measured: &[SlowFigures]) {
    let middle =
        |figure: &dyn Fn(&SlowFigures) -> f64| median(measured.iter().map(figure).collect());
    let [half, most, all] = [0, 1, 2].map(|at| middle(&|it| it.waits[at]));
    let what = attack.map_or("nobody", |it| it.name);
    let [work, all_work] = [0, 1].map(|at| middle(&|it| it.work[at]));
    print!(
        "{name:8} {what:8} half {half:.2} ms, 99 % {most:.2} ms, all {all:.2} ms; of it work of the \
         proxy {work:.2} and {all_work:.2} ms"
    );
    if attack.is_some() {
        let (open, cpu) = (middle(&|it| it.open), middle(&|it| it.cpu));
        let memory = middle(&|it| it.memory);
        print!(
            "; {open:5.0} descriptors more, {cpu:5.1} % of a processor and {memory:6.0} bytes each \
             for the slow ones"
        );
    }
    println!();
}

impl SlowSiege {
    /// The latencies of the measured client beside slow clients, or alone.
    fn measure(&self, subject: &Subject, attack: Option<&SlowAttack>) -> Outcome<SlowFigures> {
        let text = configuration(self.port, self.slow + 1_000);
        let proxy = subject.start(&self.files, self.port, text)?;
        let before = proxy.resident()?;
        let open_before = proxy.descriptors()?;
        let mut slow_ones = match attack {
            Some(attack) => Some(self.arrive(&proxy, attack)?),
            None => None,
        };
        let open = proxy.descriptors()?.saturating_sub(open_before) as f64;
        let used = proxy.cpu()?;
        clock::pause(Duration::from_secs(2));
        let cpu = 100.0 * (proxy.cpu()? - used) / 2.0;
        let grown = 1024.0 * (proxy.resident()? as f64 - before as f64);
        let worked = || proxy.worked().unwrap_or_default();
        let (mut waits, mut work) =
            process::urgently(|| pace::ask(self.port, STEP, self.length, worked))?;
        if slow_ones.as_mut().is_some_and(|it| !it.runs()) {
            return Err(failure::check("the slow clients had left before the others were done"));
        }
        if let Some(mut it) = slow_ones {
            it.kill();
        }
        let waits = [500, 990, 1_000].map(|share| waits.ms(share));
        let work = [990, 1_000].map(|share| work.ms(share));
        Ok(SlowFigures { waits, work, open, cpu, memory: grown / f64::from(self.slow) })
    }

    /// Starts slow clients and waits until no more of them come.
    fn arrive(&self, proxy: &Process, attack: &SlowAttack) -> Outcome<Process> {
        let seconds = (ARRIVAL + self.length).as_secs() + 10;
        let slow_ones = Process::start(&self.clients(attack, seconds), None)?;
        let second = Duration::from_secs(1);
        clock::pause(second * (self.slow / PACE) + second);
        let mut open = proxy.descriptors()?;
        let settled = clock::wait_until(ARRIVAL, Duration::ZERO, || {
            clock::pause(second);
            let before = std::mem::replace(&mut open, proxy.descriptors().unwrap_or_default());
            open.abs_diff(before) <= u64::from(self.slow / 100)
        });
        match settled {
            true => Ok(slow_ones),
            false => Err(failure::check("after a minute, slow clients still came")),
        }
    }

    fn clients(&self, attack: &SlowAttack, seconds: u64) -> Command {
        // They are many and must not take the time of what is measured.
        let mut command = process::pinned(1, Path::new("nice"));
        let target = format!("http://127.0.0.1:{}{}", self.port, attack.path);
        command
            .args(["-n", "19", "slowhttptest"])
            .args(attack.words)
            .args(["-c", &self.slow.to_string(), "-r", &PACE.to_string()])
            .args(["-l", &seconds.to_string(), "-u", &target, "-p", "60", "-v", "0"])
            .stdin(Stdio::null());
        command
    }
}

fn configuration(port: u16, room: u32) -> String {
    format!(
        "global\n    nbthread 1\n    maxconn {room}\n\
         defaults\n    mode http\n    timeout client 60s\n    timeout server 60s\n    \
         timeout connect 2s\n    timeout http-request 60s\n\
         frontend fe\n    bind 127.0.0.1:{port} backlog {room}\n    \
         use_backend be if {{ method GET }} {{ path / }}\n    default_backend slow\n\
         backend be\n    http-reuse always\n    server s1 127.0.0.1:{ORIGIN}\n\
         backend slow\n    http-reuse always\n    server s1 127.0.0.1:{SLOW_ORIGIN}\n"
    )
}
