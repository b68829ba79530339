//! Connections of one kind that have had one exchange and then rest, and the origin of tunnels.
//!
//! `cargo xtask bench idle` starts it.
#![forbid(unsafe_code)]

mod exchange;
mod origin;
mod tls;

use exchange::Kind;
use std::process::ExitCode;

const USAGE: &str = "\
usage: idle_hold origin PORT tcp|ws
       idle_hold clients KIND PORT CONNECTIONS
KIND: h1 tls h2 h2tls tcp ws wstls";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["origin", port, kind] => origin::run(port, *kind == "tcp"),
        ["clients", kind, port, connections] => clients(kind, port, connections),
        _ => Err(USAGE.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Opens the connections, says so, and holds them until the process is ended.
fn clients(kind: &str, port: &str, connections: &str) -> Result<(), exchange::Error> {
    let kind = Kind::parse(kind).ok_or(USAGE)?;
    let (port, connections): (u16, usize) = (port.parse()?, connections.parse()?);
    let tls = tls::config(kind.alpn());
    let held: Vec<_> =
        (0..connections).map(|_| exchange::open(kind, port, &tls)).collect::<Result<_, _>>()?;
    println!("open: {}", held.len());
    loop {
        std::thread::park();
    }
}
