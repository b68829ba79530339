//! Listening sockets, opened before privileges are dropped. Never accepts.

use config::model::{Address, Bind, BindAddress};
use reactor::Handle;
use std::collections::HashMap;
use std::io;

/// A socket that listens.
pub(super) struct Open {
    pub(super) handle: Handle,
    pub(super) address: reactor::Address,
}

/// Inherited sockets may be named by several bind lines: each is adopted once.
#[derive(Default)]
pub(super) struct Opener {
    inherited: HashMap<i32, Handle>,
}

impl Opener {
    /// Opens one listener, `backlog` clients deep.
    ///
    /// # Errors
    /// As the system says.
    pub(super) fn open(&mut self, bind: &Bind, backlog: u32) -> io::Result<Open> {
        let options = &bind.options;
        let backlog = if options.backlog > 0 { options.backlog } else { backlog };
        match &bind.address {
            BindAddress::Inherited(number) => self.inherit(*number),
            BindAddress::At(Address::Ip(address)) => {
                let options = sys::listen::Options {
                    backlog,
                    interface: options.interface.clone(),
                    v6_only: options.v6only,
                };
                let fd = sys::listen::tcp(*address, &options)?;
                let bound = sys::socket::local_address(fd).unwrap_or(*address);
                Ok(Open { handle: Handle(fd), address: reactor::Address::Inet(bound) })
            }
            BindAddress::At(Address::Unix(path)) => {
                let fd = sys::listen::unix(path, backlog, options.access.mode)?;
                if options.access.uid.is_some() || options.access.gid.is_some() {
                    sys::listen::set_owner(path, options.access.uid, options.access.gid)?;
                }
                Ok(Open { handle: Handle(fd), address: reactor::Address::Unix(path.clone()) })
            }
        }
    }

    fn inherit(&mut self, number: i32) -> io::Result<Open> {
        let handle = match self.inherited.get(&number) {
            Some(handle) => *handle,
            None => Handle(sys::listen::inherited(number)?),
        };
        self.inherited.insert(number, handle);
        let address = match sys::socket::local_address(handle.0) {
            Some(address) => reactor::Address::Inet(address),
            None => reactor::Address::Unix(Default::default()),
        };
        Ok(Open { handle, address })
    }
}

/// HAProxy's words for why a socket cannot be opened.
pub(super) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => "cannot bind socket (Address already in use)".into(),
        io::ErrorKind::PermissionDenied => "cannot bind socket (Permission denied)".into(),
        io::ErrorKind::AddrNotAvailable => {
            "cannot bind socket (Cannot assign requested address)".into()
        }
        _ => {
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or(&text).to_owned();
            format!("cannot create listening socket ({text})")
        }
    }
}
