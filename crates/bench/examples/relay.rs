//! The lower bound of `cargo xtask bench compare --floor`: it only copies bytes between client and
//! server.
//!
//! `relay -f FILE -db` reads the addresses to listen on and to connect to from a proxy's
//! configuration file, so that it can be used in place of a proxy.

#![forbid(unsafe_code)]

use reactor::os::Os;
use reactor::{Address, Handle, Kernel, Watch};
use std::collections::HashMap;
use std::error::Error;
use std::io::{ErrorKind, IoSlice};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::IntoRawFd;

/// Token of the listener; the token of a connection is its handle, and `u64::MAX` is the alarm of
/// `Os`.
const LISTENER: u64 = u64::MAX - 1;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(2).ok_or("usage: relay -f FILE -db")?;
    let text = std::fs::read_to_string(file)?;
    let listen = addresses(&text, "bind")?;
    let servers = addresses(&text, "server")?;
    let listener = TcpListener::bind(*listen.first().ok_or("no `bind`")?)?;
    listener.set_nonblocking(true)?;
    relay(&Os::new(200)?, Handle(listener.into_raw_fd()), &servers)
}

/// The addresses on lines that begin with this word.
fn addresses(text: &str, word: &str) -> Result<Vec<SocketAddr>, Box<dyn Error>> {
    let lines = text.lines().filter(|line| line.split_whitespace().next() == Some(word));
    let words = lines.flat_map(str::split_whitespace);
    Ok(words.filter_map(|word| word.parse().ok()).collect())
}

fn relay(os: &Os, listener: Handle, servers: &[SocketAddr]) -> Result<(), Box<dyn Error>> {
    os.watch(listener, LISTENER, Watch::Listener)?;
    let mut peers: HashMap<i32, Handle> = HashMap::new();
    let mut events = Vec::new();
    let mut buffer = vec![0; 16_384];
    let mut next = servers.iter().cycle();
    loop {
        events.clear();
        os.wait(None, &mut events)?;
        for event in &events {
            if event.token == LISTENER {
                let Some(server) = next.next() else { continue };
                if let Ok((client, _)) = os.accept(listener) {
                    join(os, client, *server, &mut peers)?;
                }
            } else if event.readable {
                pass(os, Handle(event.token as i32), &mut buffer, &mut peers);
            }
        }
    }
}

/// Connects a client to a server connection of its own.
fn join(
    os: &Os,
    client: Handle,
    server: SocketAddr,
    peers: &mut HashMap<i32, Handle>,
) -> Result<(), Box<dyn Error>> {
    let server = os.connect(&Address::Inet(server))?;
    for (one, other) in [(client, server), (server, client)] {
        os.watch(one, one.0 as u64, Watch::Stream)?;
        peers.insert(one.0, other);
    }
    Ok(())
}

/// Forwards the result of one read. Bytes that do not fit are lost: the messages here are far
/// smaller than socket buffers.
fn pass(os: &Os, from: Handle, buffer: &mut [u8], peers: &mut HashMap<i32, Handle>) {
    let Some(&to) = peers.get(&from.0) else { return };
    match os.recv(from, buffer) {
        Ok(count @ 1..) => {
            let _ = os.send(to, &[IoSlice::new(&buffer[..count])], false);
        }
        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
        _ => {
            for handle in [from, to] {
                peers.remove(&handle.0);
                os.close(handle, false);
            }
        }
    }
}
