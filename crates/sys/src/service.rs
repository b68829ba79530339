//! Telling the service manager how the process is: sd_notify(3). Never waits for it.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The manager that started the process and wants to be told.
#[derive(Debug)]
pub struct Manager(UnixDatagram);

impl Manager {
    /// Finds the manager at an address as the environment's `NOTIFY_SOCKET` has it: a path, or an
    /// abstract name after `@`. To be called before the process changes its root directory.
    ///
    /// # Errors
    ///
    /// There is no such socket, or the name is none of these.
    pub fn at(address: &OsStr) -> io::Result<Self> {
        let bytes = address.as_bytes();
        let address = match bytes.split_first() {
            Some((b'@', name)) => SocketAddr::from_abstract_name(name)?,
            Some((b'/', _)) => SocketAddr::from_pathname(address)?,
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        };
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        socket.connect_addr(&address)?;
        Ok(Self(socket))
    }

    /// The process serves.
    pub fn ready(&self, pid: u32) {
        self.tell(&format!("READY=1\nMAINPID={pid}\nSTATUS=Serving"));
    }

    /// The process reads its configuration anew (sd_notify(3), `Type=notify-reload` included).
    pub fn reloading(&self) {
        let now = crate::clock::monotonic() / 1_000;
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={now}\nSTATUS=Reloading"));
    }

    /// The process serves, with the configuration of before: the new one is broken.
    pub fn kept(&self, pid: u32) {
        self.tell(&format!("READY=1\nMAINPID={pid}\nSTATUS=Reload failed, serving as before"));
    }

    /// The process ends by and by.
    pub fn stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=Stopping");
    }

    fn tell(&self, text: &str) {
        // A manager that does not listen is none that could be told of it.
        let _ = self.0.send(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abstract_names_and_odd_ones() {
        let name = format!("weir-service-{}", std::process::id());
        let listener =
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let manager = Manager::at(OsStr::new(&format!("@{name}"))).unwrap();
        manager.ready(7);
        let mut bytes = [0; 64];
        let len = listener.recv(&mut bytes).unwrap();
        assert_eq!(&bytes[..len], b"READY=1\nMAINPID=7\nSTATUS=Serving");
        assert!(Manager::at(OsStr::new("")).is_err());
        assert!(Manager::at(OsStr::new("relative")).is_err());
    }
}
