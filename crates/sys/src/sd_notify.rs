//! Notifications to the service manager: sd_notify(3).

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The socket of the service manager that started the process.
#[derive(Debug)]
pub struct ServiceManager(UnixDatagram);

impl ServiceManager {
    /// Connects to the manager at an address in the form of the environment's `NOTIFY_SOCKET`: a
    /// path, or an abstract name after `@`. Must be called before the process changes its root
    /// directory.
    ///
    /// # Errors
    ///
    /// There is no such socket, or the address has another form.
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

    /// Reports that the process serves.
    pub fn ready(&self, pid: u32) {
        self.notify(&format!("READY=1\nMAINPID={pid}\nSTATUS=Serving"));
    }

    /// Reports that the process reads its configuration again (sd_notify(3), `Type=notify-reload`
    /// included).
    pub fn reloading(&self) {
        let now = crate::clock::monotonic() / 1_000;
        self.notify(&format!("RELOADING=1\nMONOTONIC_USEC={now}\nSTATUS=Reloading"));
    }

    /// Reports that the process serves with the previous configuration because the new one is
    /// faulty.
    pub fn reload_failed(&self, pid: u32) {
        self.notify(&format!("READY=1\nMAINPID={pid}\nSTATUS=Reload failed, serving as before"));
    }

    /// Reports that the process is stopping.
    pub fn stopping(&self) {
        self.notify("STOPPING=1\nSTATUS=Stopping");
    }

    fn notify(&self, text: &str) {
        // A notification that fails cannot be reported elsewhere.
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
        let manager = ServiceManager::at(OsStr::new(&format!("@{name}"))).unwrap();
        manager.ready(7);
        let mut bytes = [0; 64];
        let len = listener.recv(&mut bytes).unwrap();
        assert_eq!(&bytes[..len], b"READY=1\nMAINPID=7\nSTATUS=Serving");
        assert!(ServiceManager::at(OsStr::new("")).is_err());
        assert!(ServiceManager::at(OsStr::new("relative")).is_err());
    }
}
