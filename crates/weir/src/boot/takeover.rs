//! Requests the listening sockets of a process that serves already over its runtime socket (`-x`).
//!
//! The other side documents the format: `admin`, `_getsocks`.

use super::listeners::Pool;
use std::io;
use std::path::Path;
use sys::socket::Target;

/// Silence of the other process after which the request fails, in milliseconds.
const PATIENCE: u32 = 5_000;
/// Bytes of a message, enough for the names of all its sockets.
const MESSAGE: usize = 64 * 1024;

/// The listening sockets of the process behind a runtime socket.
///
/// # Errors
/// The process is not there, is silent, or hands over no socket.
pub(crate) fn at(path: &Path) -> io::Result<Pool> {
    over(sys::socket::connect(Target::Unix(path))?)
}

/// The same over a connection, which is closed.
///
/// # Errors
/// As [`at`].
pub(crate) fn over(connection: i32) -> io::Result<Pool> {
    let mut pool = Pool::new();
    let asked = request_sockets(connection, &mut pool);
    sys::close(connection);
    match asked {
        Ok(()) => Ok(pool),
        Err(error) => {
            pool.into_values().flatten().for_each(sys::close);
            Err(error)
        }
    }
}

fn request_sockets(connection: i32, pool: &mut Pool) -> io::Result<()> {
    sys::socketpair::send(connection, b"_getsocks\n", &[])?;
    let mut buffer = vec![0; MESSAGE];
    loop {
        if !sys::socketpair::wait_readable(connection, PATIENCE)? {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let (count, sockets) = match sys::socketpair::receive(connection, &mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            received => received?,
        };
        if count == 0 {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&buffer[..count]);
        let names: Vec<&str> = text.lines().collect();
        let fits = names.len() == sockets.len();
        for (place, socket) in sockets.into_iter().enumerate() {
            let name = names.get(place).copied().unwrap_or_default();
            pool.entry(name.to_owned()).or_default().push(socket);
        }
        if !fits {
            return Err(io::Error::other(text.trim().to_owned()));
        }
    }
}
