//! `bench certificates`: a proxy with thousands of certificates: time to start, memory, and the
//! cost of replacing one of them.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use super::files::Files;
use super::forged::Forge;
use super::load::{self, Counted};
use super::process::Process;
use super::subjects::{self, Subject};
use super::sums::{Tail, median};
use crate::args;
use crate::clock;
use crate::failure::{self, Outcome};
use crate::tools;

const FLAGS: &[args::Flag] =
    &[args::value("-n"), args::value("-d"), args::value("-r"), subjects::ALONE];

/// The port of the first proxy; each takes the next one.
const FIRST_PORT: u16 = 18981;

/// Certificates that are replaced while the proxy has no other work.
const REPLACED: usize = 100;

/// How long a start may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// The state of the process once a proxy accepted.
struct Started {
    seconds: f64,
    cpu: f64,
    mebibytes: f64,
}

pub(super) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    let count = parsed.number("-n", 10_000)? as usize;
    let seconds = parsed.number("-d", 5)?;
    let rounds = parsed.number("-r", 3)?;
    tools::require(&[tools::OPENSSL, tools::TASKSET, tools::WRK])?;
    let subjects = subjects::subjects(&parsed)?;
    let files = Files::new("certificates")?;
    let (forge, directory) = (Forge::new(&files)?, files.path().join("all"));
    let failed = |error| failure::machine(format!("{}: {error}", directory.display()));
    std::fs::create_dir_all(&directory).map_err(failed)?;
    for number in 0..count {
        std::fs::write(certificate(&directory, number), forge.pem(number, 0)).map_err(failed)?;
    }
    for (subject, port) in subjects.iter().zip(FIRST_PORT..) {
        let stand =
            CertificateRun { files: &files, forge: &forge, directory: &directory, subject, port };
        if let Err(error) = stand.measure(count, seconds, rounds) {
            println!("{:8} FAILED {error}", subject.name);
        }
    }
    Ok(())
}

/// The file of a certificate.
fn certificate(directory: &Path, number: usize) -> PathBuf {
    directory.join(format!("{}.pem", super::forged::host(number)))
}

/// The proxy under test, and the settings of the measurement.
struct CertificateRun<'a> {
    files: &'a Files,
    forge: &'a Forge,
    directory: &'a Path,
    subject: &'a Subject,
    port: u16,
}

impl CertificateRun<'_> {
    fn measure(&self, count: usize, seconds: u32, rounds: u32) -> Outcome {
        let name = &self.subject.name;
        let starts = (0..rounds).map(|_| Ok(self.start()?.1)).collect::<Outcome<Vec<_>>>()?;
        let of = |part: fn(&Started) -> f64| median(starts.iter().map(part).collect());
        println!(
            "{name:8} {count} certificates: ready after {:6.3} s, {:6.3} s of CPU, {:6.1} MB",
            of(|it| it.seconds),
            of(|it| it.cpu),
            of(|it| it.mebibytes)
        );
        let (_proxy, _) = self.start()?;
        let times: Outcome<Vec<f64>> =
            (0..REPLACED.min(count)).map(|number| self.replace(number, 1)).collect();
        println!("{name:8} replacing one at rest:    {}", shown(times?));
        let (counted, times) = self.under_load(seconds)?;
        println!(
            "{name:8} replacing one under load: {}  {} handshakes with it {}",
            shown(times),
            counted.requests,
            counted.note()
        );
        Ok(())
    }

    /// Starts the proxy and waits until it accepts.
    fn start(&self) -> Outcome<(Process, Started)> {
        let text = configuration(self.port, &self.socket(), self.directory);
        let file = self.files.write(&format!("{}.cfg", self.subject.name), text)?;
        let began = clock::now();
        let mut command = Command::new(&self.subject.binary);
        let mut proxy = Process::start(command.arg("-f").arg(file).arg("-db"), None)?;
        let accepts = || TcpStream::connect(("127.0.0.1", self.port)).is_ok();
        let ready = || accepts() || !proxy.runs();
        if !clock::wait_until(PATIENCE, Duration::from_millis(1), ready) || !proxy.runs() {
            return Err(failure::check("did not start"));
        }
        let seconds = began.elapsed().as_secs_f64();
        let mebibytes = proxy.resident()? as f64 / 1024.0;
        let started = Started { seconds, cpu: proxy.cpu()?, mebibytes };
        Ok((proxy, started))
    }

    fn socket(&self) -> PathBuf {
        self.files.path().join(format!("{}.sock", self.subject.name))
    }

    /// Puts another certificate in the place of one; the milliseconds that both commands took.
    fn replace(&self, number: usize, version: usize) -> Outcome<f64> {
        let name = certificate(self.directory, number);
        let text = self.forge.pem(number, version);
        let set = format!("set ssl cert {} <<\n{}\n\n", name.display(), text.trim_end());
        let commit = format!("commit ssl cert {}\n", name.display());
        let began = clock::now();
        let answers = ask(&self.socket(), &set).and_then(|set| {
            let commit = ask(&self.socket(), &commit)?;
            Ok((set, commit))
        });
        let took = began.elapsed().as_secs_f64() * 1_000.0;
        let (set, commit) =
            answers.map_err(|error| failure::check(format!("the runtime socket: {error}")))?;
        match commit.contains("Success!") {
            true => Ok(took),
            false => Err(failure::check(format!("not replaced: {} {}", set.trim(), commit.trim()))),
        }
    }

    /// Handshakes at full speed with a certificate that is replaced again and again.
    fn under_load(&self, seconds: u32) -> Outcome<(Counted, Vec<f64>)> {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let operator = scope.spawn(|| {
                let mut times = Vec::new();
                while !over.load(Relaxed) {
                    times.push(self.replace(0, times.len())?);
                    clock::pause(Duration::from_millis(10));
                }
                Ok(times)
            });
            let words = ["wrk", "-t1", "-c32", "-H", "Connection: close"].map(str::to_owned);
            let target = [format!("-d{seconds}s"), format!("https://127.0.0.1:{}/", self.port)];
            let counted = load::run(&[&words[..], &target[..]].concat());
            over.store(true, Relaxed);
            let times = operator.join().map_err(|_| failure::check("the operator ended early"))?;
            Ok((counted?, times?))
        })
    }
}

/// Milliseconds.
fn shown(times: Vec<f64>) -> String {
    let tail = Tail::new(times);
    let (half, most, all) = (tail.at(0.5), tail.at(0.99), tail.at(1.0));
    format!("{:4} times, half {half:.2} ms, 99 % {most:.2} ms, all {all:.2} ms", tail.count())
}

/// Sends a command; returns the answer.
fn ask(socket: &Path, command: &str) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    stream.write_all(command.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn configuration(port: u16, socket: &Path, directory: &Path) -> String {
    format!(
        "global\n    nbthread 2\n    maxconn 1000\n    stats socket {} level admin\n\
         defaults\n    mode http\n    timeout client 10s\n    timeout server 10s\n    \
         timeout connect 2s\n\
         frontend fe\n    bind 127.0.0.1:{port} ssl crt {}\n    \
         http-request return status 200 content-type text/plain string ok\n",
        socket.display(),
        directory.display()
    )
}
