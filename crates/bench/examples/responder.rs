//! The FastCGI application and the agent of SPOE of `cargo xtask bench compare`.
//!
//! `responder fcgi|spop PORT` answers on one thread until it is killed.

#![forbid(unsafe_code)]

use bench::peers::{self, Answer};
use reactor::os::Os;
use reactor::{Handle, Kernel, Watch};
use std::collections::HashMap;
use std::error::Error;
use std::io::{ErrorKind, IoSlice};
use std::net::TcpListener;
use std::os::fd::IntoRawFd;

/// Token of the listener; the token of a connection is its handle, and `u64::MAX` is the alarm of
/// `Os`.
const LISTENER: u64 = u64::MAX - 1;

/// The size of a read.
const READ: usize = 1 << 16;

fn main() -> Result<(), Box<dyn Error>> {
    let usage = "usage: responder fcgi|spop PORT";
    let name = std::env::args().nth(1).ok_or(usage)?;
    let port: u16 = std::env::args().nth(2).ok_or(usage)?.parse()?;
    let answer = peers::find(&name).ok_or(usage)?;
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    listener.set_nonblocking(true)?;
    serve(&Os::new(200)?, Handle(listener.into_raw_fd()), answer)
}

fn serve(os: &Os, listener: Handle, answer: Answer) -> Result<(), Box<dyn Error>> {
    os.watch(listener, LISTENER, Watch::Listener)?;
    // Input of each connection that is not a whole unit yet.
    let mut inputs: HashMap<i32, Vec<u8>> = HashMap::new();
    let (mut events, mut buffer, mut out) = (Vec::new(), vec![0; READ], Vec::new());
    loop {
        events.clear();
        os.wait(None, &mut events)?;
        for event in &events {
            if event.token == LISTENER {
                if let Ok((client, _)) = os.accept(listener) {
                    os.watch(client, client.0 as u64, Watch::Stream)?;
                    inputs.insert(client.0, Vec::new());
                }
                continue;
            }
            let client = Handle(event.token as i32);
            let Some(input) = inputs.get_mut(&client.0) else { continue };
            if pass(os, client, (input, &mut buffer, &mut out), answer).is_none() {
                inputs.remove(&client.0);
                os.close(client, false);
            }
        }
    }
}

/// Reads and answers the bytes that have arrived. Answers that do not fit are dropped: they are far
/// smaller than socket buffers. `None`: the connection has ended.
fn pass(
    os: &Os,
    client: Handle,
    (input, buffer, out): (&mut Vec<u8>, &mut [u8], &mut Vec<u8>),
    answer: Answer,
) -> Option<()> {
    loop {
        match os.recv(client, buffer) {
            Ok(count @ 1..) => input.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Some(()),
            _ => return None,
        }
        out.clear();
        let taken = answer(input, out)?;
        input.drain(..taken);
        if !out.is_empty() {
            os.send(client, &[IoSlice::new(out)], false).ok()?;
        }
    }
}
