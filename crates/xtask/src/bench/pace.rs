//! Paced clients: one sends requests at a steady pace regardless of response times, so that delays
//! of later requests count too; one rests after each response.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::clock;
use crate::failure::{self, Outcome};

/// The durations of one client's requests, from the moment that each was due.
#[derive(Debug, Default)]
pub(super) struct Latencies(Vec<Duration>);

impl Latencies {
    /// The time that so many of a thousand requests took at most.
    fn per_mille(&mut self, share: usize) -> Duration {
        self.0.sort_unstable();
        let at = (self.0.len() * share).div_ceil(1_000).saturating_sub(1);
        self.0.get(at).copied().unwrap_or_default()
    }

    /// The same in milliseconds.
    pub(super) fn ms(&mut self, share: usize) -> f64 {
        self.per_mille(share).as_secs_f64() * 1e3
    }

    /// The number of measured times.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}

/// Asks for `/` every `step` for so long, over one connection; and by how much `work` has grown
/// while each request was under way.
pub(super) fn ask(
    port: u16,
    step: Duration,
    length: Duration,
    work: impl Fn() -> Duration,
) -> Outcome<(Latencies, Latencies)> {
    over(port, |stream| {
        let (start, mut latencies) = (clock::now(), Latencies::default());
        let mut shares = Latencies::default();
        let mut due = Duration::ZERO;
        while due < length {
            clock::pause(due.saturating_sub(start.elapsed()));
            let before = work();
            question(stream)?;
            latencies.0.push(start.elapsed().saturating_sub(due));
            shares.0.push(work().saturating_sub(before));
            due += step;
        }
        Ok((latencies, shares))
    })
}

/// From which on a program counts as kept from its processor: the system's own errands are shorter.
const KEPT: Duration = Duration::from_micros(50);

/// Asks for `/`, rests and asks again for so long, over one connection. `kept` tells how long the
/// server has been kept from its processor so far: the second are the requests during which it was
/// not, so that their time is the server's own.
pub(super) fn ask_again(
    port: u16,
    rest: Duration,
    length: Duration,
    kept: impl Fn() -> Duration,
) -> Outcome<(Latencies, Latencies)> {
    over(port, |stream| {
        let (start, mut all) = (clock::now(), Latencies::default());
        let mut own = Latencies::default();
        while start.elapsed() < length {
            let before = kept();
            let asked = clock::now();
            question(stream)?;
            let took = asked.elapsed();
            all.0.push(took);
            if kept().saturating_sub(before) < KEPT {
                own.0.push(took);
            }
            clock::pause(rest);
        }
        Ok((all, own))
    })
}

fn over<T>(port: u16, run: impl FnOnce(&mut TcpStream) -> std::io::Result<T>) -> Outcome<T> {
    let connected = || {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(stream)
    };
    connected()
        .and_then(|mut stream| run(&mut stream))
        .map_err(|error| failure::check(format!("a request was not answered: {error}")))
}

fn question(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")?;
    read_answer(stream)
}

/// Reads one answer with a `content-length`.
fn read_answer(stream: &mut TcpStream) -> std::io::Result<()> {
    let (mut answer, mut chunk) = (Vec::new(), [0; 4_096]);
    loop {
        if whole(&answer).is_some_and(|length| answer.len() >= length) {
            return Ok(());
        }
        match stream.read(&mut chunk) {
            Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => answer.extend_from_slice(&chunk[..count]),
            // The whole machine may have been stopped for a while.
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// How long an answer is, once its head is there.
fn whole(answer: &[u8]) -> Option<usize> {
    let head = answer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&answer[..head]).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"))?;
    Some(head + length.trim().parse::<usize>().ok()?)
}

#[cfg(test)]
mod tests {
    //! Shares, and lengths of answers.
    use super::*;

    #[test]
    fn shares_of_latencies() {
        let mut latencies = Latencies((1..=1_000).rev().map(Duration::from_micros).collect());
        assert_eq!(latencies.per_mille(990), Duration::from_micros(990));
        assert_eq!(latencies.ms(1_000), 1.0);
        assert_eq!(Latencies::default().per_mille(990), Duration::ZERO);
    }

    #[test]
    fn answers_have_a_length() {
        assert_eq!(whole(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"), Some(43));
        assert_eq!(whole(b"HTTP/1.1 200 OK\r\nContent-Le"), None);
    }
}
