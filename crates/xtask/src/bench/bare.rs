//! The cost of a check without a proxy: connect, send, receive, close. `bench checks` prints it as
//! the lower bound on the present machine.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::clock;
use crate::failure::{self, Outcome};

/// The cost of a check in a bare loop.
pub(super) struct Bare {
    /// CPU microseconds.
    pub(super) cost: f64,
    /// Voluntary context switches.
    pub(super) switches: f64,
}

/// Between two wake-ups: a machine that is let rest, as it is between checks.
const REST: Duration = Duration::from_millis(5);

/// Checks a port so many times in all, `batch` at a wake-up.
pub(super) fn run(port: u16, batch: usize, checks: usize) -> Outcome<Bare> {
    let before = used()?;
    for _ in 0..checks / batch {
        check(port, batch)
            .map_err(|error| failure::machine(format!("the bare loop, port {port}: {error}")))?;
        clock::pause(REST);
    }
    let after = used()?;
    let per_check = |from: u64, to: u64| (to - from) as f64 / (checks / batch * batch) as f64;
    Ok(Bare { cost: per_check(before.0, after.0) / 1000.0, switches: per_check(before.1, after.1) })
}

fn check(port: u16, batch: usize) -> std::io::Result<()> {
    let connect = |_| TcpStream::connect(("127.0.0.1", port));
    let mut streams = (0..batch).map(connect).collect::<std::io::Result<Vec<_>>>()?;
    for stream in &mut streams {
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
    }
    let mut answer = [0; 4096];
    for stream in &mut streams {
        if stream.read(&mut answer)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

/// CPU nanoseconds and voluntary context switches of this thread so far.
fn used() -> Outcome<(u64, u64)> {
    let read = |name: &str| {
        let path = format!("/proc/thread-self/{name}");
        std::fs::read_to_string(&path).map_err(|error| failure::machine(format!("{path}: {error}")))
    };
    let nanos = read("schedstat")?.split_whitespace().next().and_then(|it| it.parse().ok());
    let switches = super::process::field(&read("status")?, "voluntary_ctxt_switches:");
    nanos.zip(switches).ok_or_else(|| failure::machine("cannot read what this thread has used"))
}
