//! `bench streams`: HTTP/2 with more and more streams on one connection, and the run that others
//! publish.

use super::files::Files;
use super::process::{self, Process};
use super::subjects::{self, Subject};
use super::{load, origin};
use crate::args;
use crate::clock;
use crate::failure::{self, Outcome};
use crate::tools;

const FLAGS: &[args::Flag] = &[args::value("-d"), args::value("-n"), subjects::ALONE];

/// The port of the first proxy; each run takes the next one.
const FIRST_PORT: u16 = 18801;

/// The origin.
const ORIGIN: u16 = 19031;

/// Streams at once on the one connection.
const STREAMS: [u32; 7] = [1, 3, 10, 30, 100, 300, 1_000];

pub(super) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    let seconds = parsed.number("-d", 2)?;
    let requests = parsed.number("-n", 1_000_000)?;
    tools::require(&[tools::NGINX, tools::TASKSET, tools::H2LOAD])?;
    let subjects = subjects::subjects(&parsed)?;
    let files = Files::new("streams")?;
    let _origin = origin::start(&files, "origin", &[ORIGIN])?;
    let mut ports = FIRST_PORT..;
    let mut port = || ports.next().unwrap_or(FIRST_PORT);
    for streams in STREAMS {
        let words =
            |port| format!("h2load -t1 -c1 -m{streams} -D{seconds} http://127.0.0.1:{port}/");
        for subject in &subjects {
            let port = port();
            print(&format!("1x{streams}"), subject, measure(&files, subject, port, &words(port)));
        }
    }
    let words = |port| format!("h2load -t2 -c10 -m100 -n{requests} http://127.0.0.1:{port}/");
    for subject in &subjects {
        let port = port();
        print("published", subject, measure(&files, subject, port, &words(port)));
    }
    Ok(())
}

fn print(what: &str, subject: &Subject, measured: Outcome<(f64, f64, String)>) {
    match measured {
        Ok((cpu, rate, note)) => {
            println!("{what:10} {:8} {cpu:7.2} us/req {rate:8.0} req/s {note}", subject.name);
        }
        Err(error) => println!("{what:10} {:8} FAILED {error}", subject.name),
    }
}

/// Microseconds of CPU per request, requests per second, and a note on errors.
fn measure(files: &Files, subject: &Subject, port: u16, load: &str) -> Outcome<(f64, f64, String)> {
    let configuration = files.write(&format!("{}.cfg", subject.name), configuration(port))?;
    let mut command = process::pinned(0, &subject.binary);
    command.arg("-f").arg(configuration).arg("-db");
    let proxy = Process::start(&command, None)?;
    if !process::wait_for_port(port) {
        return Err(failure::check("did not start"));
    }
    let (before, start) = (proxy.cpu()?, clock::now());
    let words: Vec<String> = load.split(' ').map(str::to_owned).collect();
    let counted = load::run(&words)?;
    let requests = counted.requests.max(1) as f64;
    let rate = requests / start.elapsed().as_secs_f64();
    Ok(((proxy.cpu()? - before) * 1e6 / requests, rate, counted.note()))
}

fn configuration(port: u16) -> String {
    format!(
        "global\n    nbthread 1\n    maxconn 4000\n    tune.h2.max-concurrent-streams 1000\n\
         defaults\n    mode http\n    timeout client 60s\n    timeout server 60s\n    \
         timeout connect 5s\n\
         frontend fe\n    bind 127.0.0.1:{port} proto h2\n    default_backend be\n\
         backend be\n    http-reuse always\n    server s1 127.0.0.1:{ORIGIN}\n"
    )
}
