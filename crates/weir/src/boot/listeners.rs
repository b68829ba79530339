//! Listening sockets, opened before privileges are dropped. Never accepts.

use super::old_processes::Predecessors;
use super::socket_files::{self, SocketFiles, UnixSocketError};
use crate::complain;
use config::model::{Address, Bind, BindAddress, BindOptions, Front, Global, Mode, UnixAccess};
use reactor::{Handle, KeepAlive, Namespace, SystemBuffers};
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) mod quic;

/// Unsent bytes in a client's socket buffer, unless `tune.notsent-lowat.client` sets them. Without
/// a bound, the system takes up to 4 MiB for each client that reads slowly; fast clients need only
/// the bytes that they read until the thread comes round again.
const UNSENT: u32 = 256 * 1024;

/// A socket that listens.
pub(super) struct Open {
    pub(super) handle: Handle,
    pub(super) address: Address,
    /// Reason why the socket accepts from any interface, though its line names one.
    pub(super) loose: Option<io::Error>,
}

impl Open {
    fn new(handle: Handle, address: Address) -> Self {
        Self { handle, address, loose: None }
    }

    /// Warns that clients may come from interfaces other than that of the line: HAProxy continues
    /// with a warning.
    pub(super) fn warn(&self, owner: &str, bind: &Bind) {
        let (Some(error), Some(interface)) = (&self.loose, &bind.options.interface) else { return };
        let (pid, place, why) = (std::process::id(), &bind.place, words(error));
        complain(&format!(
            "[WARNING]  ({pid}) : Binding [{}:{}] for {owner}: cannot bind receiver to device \
             '{interface}' ({why}) for [{}]\n",
            place.file, place.line, bind.written
        ));
    }
}

/// Clients that may wait to be accepted: as many as the connection limit, unless `backlog` is set.
/// The order was measured on HAProxy; the system has a bound of its own.
fn backlog(line: &BindOptions, front: &Front, global: &Global) -> u32 {
    let said = |count: u32| Some(count).filter(|count| *count > 0);
    let queue = said(line.backlog).or(front.backlog);
    let connections = said(line.maxconn).or(front.settings.maxconn).or(global.process.maxconn);
    queue.or(connections).unwrap_or(4096)
}

/// Options of a listener beyond its own line.
#[derive(Clone, Default)]
pub(super) struct Asked {
    /// Clients that may wait to be accepted.
    pub(super) backlog: u32,
    /// Keep-alive probes to silent clients.
    pub(super) keep_alive: Option<KeepAlive>,
    /// Whether connections end with a reset.
    pub(super) resets: bool,
    /// Whether acknowledgements are delayed until a response.
    pub(super) patient: bool,
    /// Sizes of the system's socket buffers.
    pub(super) buffers: SystemBuffers,
    /// Whether no other socket may listen on the address.
    pub(super) exclusive: bool,
}

impl Asked {
    /// The options from a frontend for a listener of a line.
    pub(super) fn of(line: &BindOptions, front: &Front, mode: Mode, global: &Global) -> Self {
        Self {
            backlog: backlog(line, front, global),
            keep_alive: front.keep_alive.probes(),
            resets: front.nolinger,
            patient: front.smart_accept.unwrap_or(mode == Mode::Http),
            buffers: SystemBuffers {
                receive: global.tune.rcvbuf_client,
                send: global.tune.sndbuf_client,
                unsent: global.tune.unsent_client.unwrap_or(UNSENT),
            },
            exclusive: global.process.noreuseport,
        }
    }
}

/// Sockets of a previous process, by name; each is a copy of our own.
pub(crate) type Pool = HashMap<String, Vec<i32>>;

/// Inherited sockets may be named by several bind lines: each is adopted once. So are namespaces.
#[derive(Default)]
pub(super) struct Opener {
    inherited: HashMap<i32, Handle>,
    namespaces: HashMap<String, Arc<Namespace>>,
    /// Sockets handed over by another process and not yet claimed.
    pool: Pool,
    /// Open listeners, each with its name for a handover.
    opened: Vec<(String, Handle)>,
    /// Sockets that are open and cannot be handed over.
    others: Vec<Handle>,
    /// Processes that may still own the ports.
    before: Predecessors,
    /// Socket files that are still under their temporary names.
    files: SocketFiles,
}

impl Opener {
    /// Opens one listener.
    ///
    /// # Errors
    /// The error of the system.
    pub(super) fn open(&mut self, bind: &Bind, asked: &Asked) -> io::Result<Open> {
        let options = self.options(&bind.options, asked)?;
        match &bind.address {
            BindAddress::Inherited(number) => self.inherit(*number, &options),
            BindAddress::At(Address::Pair(number)) => {
                let handle = Handle(sys::listen::inherited_pair(*number)?);
                self.inherited.insert(*number, handle);
                Ok(Open::new(handle, Address::Pair(*number)))
            }
            BindAddress::At(Address::Inet(address)) => {
                let (fd, loose) = self.tcp(*address, bind, &options)?;
                let bound = sys::socket::local_address(fd).unwrap_or(*address);
                let address = Address::Inet(bound);
                Ok(Open { handle: Handle(fd), address, loose })
            }
            BindAddress::At(Address::Unix(path)) => {
                let (path, is_file) = whole(path, bind);
                let name = format!("unix@{}", path.display()).replace(['\0', '\n'], "%");
                let access = bind.options.access.clone();
                let fits = !is_file || socket_files::has(&path, &access);
                let fd = match self.take(&name, &options).filter(|_| fits) {
                    Some(fd) => fd,
                    None => self.open_unix(&path, &access, options.backlog)?,
                };
                self.opened.push((name, Handle(fd)));
                Ok(Open::new(Handle(fd), Address::Unix(path)))
            }
        }
    }

    /// Opens a socket for datagrams.
    ///
    /// # Errors
    /// The error of the system.
    pub(super) fn open_datagrams(&mut self, bind: &Bind, asked: &Asked) -> io::Result<Handle> {
        let options = self.options(&bind.options, asked)?;
        let fd = match &bind.address {
            BindAddress::Inherited(number) => sys::listen::inherited_datagrams(*number)?,
            BindAddress::At(Address::Inet(address)) => sys::listen::datagrams(*address, &options)?,
            BindAddress::At(Address::Unix(path)) => {
                let (path, _) = whole(path, bind);
                let access = bind.options.access.clone();
                let opened = sys::listen::unix_datagrams(&path, access.mode);
                self.named(&path, &access, opened)?
            }
            BindAddress::At(Address::Pair(_)) => return Err(io::ErrorKind::Unsupported.into()),
        };
        match bind.address {
            BindAddress::Inherited(number) => drop(self.inherited.insert(number, Handle(fd))),
            BindAddress::At(_) => self.others.push(Handle(fd)),
        }
        Ok(Handle(fd))
    }

    /// Opens a unix socket, whose file gets its name after all sockets are open.
    fn open_unix(&mut self, path: &Path, access: &UnixAccess, backlog: u32) -> io::Result<i32> {
        self.named(path, access, sys::listen::unix(path, backlog, access.mode))
    }

    /// The socket opened for a path whose file is still under its temporary name.
    fn named(
        &mut self,
        path: &Path,
        access: &UnixAccess,
        opened: io::Result<(i32, Option<PathBuf>)>,
    ) -> io::Result<i32> {
        let (fd, fresh) = opened.map_err(UnixSocketError::at("cannot bind UNIX socket"))?;
        let Some(fresh) = fresh else { return Ok(fd) };
        let allowed = socket_files::allow(&fresh, access);
        self.files.add(fresh, path);
        match allowed {
            Ok(()) => Ok(fd),
            Err(error) => {
                sys::close(fd);
                Err(error)
            }
        }
    }

    /// Another socket of an address that is open already.
    pub(super) fn open_again(
        &mut self,
        open: &Open,
        bind: &Bind,
        asked: &Asked,
    ) -> io::Result<Handle> {
        let options = self.options(&bind.options, asked)?;
        let address = open.address.inet().ok_or(io::ErrorKind::Unsupported)?;
        self.tcp(address, bind, &options).map(|(fd, _)| Handle(fd))
    }

    /// A TCP listener, handed over or new, and the reason if its interface is missing and it
    /// accepts from all interfaces.
    fn tcp(
        &mut self,
        address: SocketAddr,
        bind: &Bind,
        options: &sys::listen::Options,
    ) -> io::Result<(i32, Option<io::Error>)> {
        // Options that cannot change later.
        let (line, fixed) = (&bind.options, (options.v6_only, options.transparent));
        let name = format!(
            "{address} {:?} {:?} {fixed:?} {}",
            line.interface, line.namespace, options.exclusive
        );
        let (fd, loose) = match self.take(&name, options) {
            Some(fd) => (fd, None),
            None => match self.before.free(|| sys::listen::tcp(address, options)) {
                Ok(fd) => (fd, None),
                Err(error) if options.interface.is_some() && sys::listen::lacks_device(&error) => {
                    let options = sys::listen::Options { interface: None, ..options.clone() };
                    (sys::listen::tcp(address, &options)?, Some(error))
                }
                Err(error) => return Err(error),
            },
        };
        self.opened.push((name, Handle(fd)));
        Ok((fd, loose))
    }

    /// The socket of this name, if it was handed over and its options match.
    fn take(&mut self, name: &str, options: &sys::listen::Options) -> Option<i32> {
        let fd = self.pool.get_mut(name)?.pop()?;
        match sys::listen::inherited_from_previous(fd, options) {
            Ok(fd) => Some(fd),
            Err(_) => {
                sys::close(fd);
                None
            }
        }
    }

    /// An opener that claims sockets of another process, and takes the ports of previous ones.
    pub(super) fn with(pool: Pool, before: Predecessors) -> Self {
        Self { pool, before, ..Self::default() }
    }

    /// Listeners to hand over to a later process.
    pub(super) fn handed(&self) -> Vec<admin::ListeningSocket> {
        let handed = |(name, handle): &(String, Handle)| admin::ListeningSocket {
            name: name.clone(),
            handle: *handle,
        };
        self.opened.iter().map(handed).collect()
    }

    /// Closes handed-over sockets that were not claimed.
    pub(super) fn close_rest(&mut self) {
        self.pool.drain().flat_map(|(_, all)| all).for_each(sys::close);
    }

    /// Closes all opened sockets, and leaves the ports to their previous owners.
    pub(super) fn give_up(mut self) {
        let mut before = std::mem::take(&mut self.before);
        drop(self.close());
        before.resume();
    }

    /// The socket files made by the opener, which the caller publishes or drops.
    pub(super) fn files(&mut self) -> &mut SocketFiles {
        &mut self.files
    }

    /// Closes all sockets that it opened, as another process serves. Inherited sockets stay open,
    /// also for the program that this process executes. The socket files are the caller's.
    pub(super) fn close(mut self) -> SocketFiles {
        self.close_rest();
        let own = self.opened.drain(..).map(|(_, handle)| handle).chain(self.others.drain(..));
        own.for_each(|handle| sys::close(handle.0));
        for handle in self.inherited.values() {
            let _ = sys::process::keep_across_exec(handle.0, true);
        }
        std::mem::take(&mut self.files)
    }

    fn options(&mut self, line: &BindOptions, asked: &Asked) -> io::Result<sys::listen::Options> {
        let namespace = line.namespace.as_deref().map(|name| self.namespace(name)).transpose()?;
        Ok(sys::listen::Options {
            backlog: if line.backlog > 0 { line.backlog } else { asked.backlog },
            interface: line.interface.clone(),
            v6_only: line.v6only,
            exclusive: asked.exclusive,
            transparent: line.transparent,
            namespace,
            max_segment: u32::try_from(line.mss).unwrap_or(0),
            user_timeout_ms: line.tcp_ut,
            fast_open: line.tfo,
            defer_accept: line.defer_accept,
            keep_alive: asked.keep_alive,
            buffers: asked.buffers,
            resets: asked.resets,
            patient: asked.patient,
        })
    }

    /// The namespace of this name.
    ///
    /// # Errors
    /// The namespace does not exist, or may not be used.
    pub(super) fn namespace(&mut self, name: &str) -> io::Result<Arc<Namespace>> {
        if let Some(known) = self.namespaces.get(name) {
            return Ok(known.clone());
        }
        let told = |error| io::Error::other(format!("Cannot open namespace '{name}': {error}"));
        let opened = Arc::new(Namespace::open(name).map_err(told)?);
        self.namespaces.insert(name.to_owned(), opened.clone());
        Ok(opened)
    }

    /// All namespaces that are in use or listed.
    pub(super) fn namespaces(&self) -> Vec<Arc<Namespace>> {
        self.namespaces.values().cloned().collect()
    }

    fn inherit(&mut self, number: i32, options: &sys::listen::Options) -> io::Result<Open> {
        let handle = match self.inherited.get(&number) {
            Some(handle) => *handle,
            None => Handle(sys::listen::inherited(number, options)?),
        };
        self.inherited.insert(number, handle);
        let address = match sys::socket::local_address(handle.0) {
            Some(address) => Address::Inet(address),
            None => Address::Unix(Default::default()),
        };
        Ok(Open::new(handle, address))
    }
}

/// A path with the prefix of its line, and whether it names a file.
fn whole(path: &Path, bind: &Bind) -> (PathBuf, bool) {
    let is_file = !path.as_os_str().as_encoded_bytes().starts_with(b"\0");
    let path = match bind.options.unix_prefix.as_ref().filter(|_| is_file) {
        // As text, so that it may also be the beginning of a name.
        Some(prefix) => PathBuf::from(format!("{prefix}{}", path.display())),
        None => path.to_owned(),
    };
    (path, is_file)
}

/// HAProxy's message for a line whose socket cannot be opened.
pub(super) fn failure(owner: &str, bind: &Bind, error: &io::Error) -> String {
    let (place, why) = (&bind.place, reason(error));
    let joint = if UnixSocketError::is(error) { "" } else { "for " };
    format!("Binding [{}:{}] for {owner}: {why} {joint}[{}]", place.file, place.line, bind.written)
}

/// HAProxy's reason why a socket cannot be opened.
pub(super) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => "cannot bind socket (Address already in use)".into(),
        io::ErrorKind::PermissionDenied => "cannot bind socket (Permission denied)".into(),
        io::ErrorKind::AddrNotAvailable => {
            "cannot bind socket (Cannot assign requested address)".into()
        }
        _ if UnixSocketError::is(error) => error.to_string(),
        _ => format!("cannot create listening socket ({})", words(error)),
    }
}

/// The system's error message, without its number.
pub(crate) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::fd::AsRawFd as _;

    /// Levels and options of socket(7), tcp(7) and ip(7).
    const SOCKET: i32 = 1;
    const TCP: i32 = 6;
    const IP: i32 = 0;

    fn bind(line: &str) -> Bind {
        let mut model = model(&format!("listen l\n bind {line}\n timeout client 1s\n"));
        model.proxies[0].front.as_mut().expect("a listen section").binds.remove(0)
    }

    pub(super) fn model(text: &str) -> config::Model {
        let setup = config::Setup::default();
        let loaded = config::load(&[config::Source::new("a.cfg", text)], setup);
        loaded.model.unwrap_or_else(|| panic!("{text}"))
    }

    /// The value of a socket option on a listener with this line, on an otherwise fresh socket.
    fn option_with(options: &str, asked: &Asked, level: i32, name: i32) -> i32 {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
        let bind = bind(&format!("fd@{} {options}", socket.as_raw_fd()));
        Opener::default().open(&bind, asked).expect("the options are taken");
        sys::option::get(socket.as_raw_fd(), level, name).expect("an option")
    }

    #[test]
    fn options_of_a_line_reach_its_socket() {
        let plain = Asked { backlog: 100, ..Asked::default() };
        for (options, level, name, expected) in [
            ("mss 1000", TCP, 2, 1000),
            ("tcp-ut 1500", TCP, 18, 1500),
            ("defer-accept", TCP, 9, 1),
            ("tfo", TCP, 23, 100),
            ("tfo backlog 7", TCP, 23, 7),
        ] {
            assert_eq!(option_with(options, &plain, level, name), expected, "{options}");
            assert_ne!(option_with("", &plain, level, name), expected, "without {options}");
        }
        assert_eq!(bind("fd@3 mss -100").options.mss, -100);
    }

    #[test]
    fn options_of_a_section_reach_its_sockets() {
        let probes = KeepAlive { count: Some(3), idle: Some(11), interval: Some(7) };
        let buffers = SystemBuffers { receive: 20_000, send: 30_000, unsent: 50_000 };
        let asked = Asked { keep_alive: Some(probes), buffers, patient: true, ..Asked::default() };
        for (level, name, expected) in [
            (SOCKET, 9, 1),
            (TCP, 12, 0),
            (TCP, 6, 3),
            (TCP, 4, 11),
            (TCP, 5, 7),
            (SOCKET, 8, 40_000),
            (SOCKET, 7, 60_000),
            (TCP, 25, 50_000),
        ] {
            assert_eq!(option_with("", &asked, level, name), expected, "{level} {name}");
        }
    }

    /// Measured on HAProxy with `ss -ltn`.
    #[test]
    fn the_default_backlog_is_the_limit_of_connections() {
        for (global, front, line, expected) in [
            ("", "", "", 4_096),
            ("maxconn 3000", "", "", 3_000),
            ("maxconn 3000", "maxconn 30", "", 30),
            ("", "maxconn 30", "maxconn 44", 44),
            ("", "maxconn 123\n backlog 77", "maxconn 44", 77),
            ("", "backlog 77", "backlog 55", 55),
        ] {
            let model = model(&format!(
                "global\n {global}\nlisten l\n timeout client 1s\n {front}\n bind :1 {line}\n"
            ));
            let front = model.proxies[0].front.as_ref().expect("a listen section");
            let asked = Asked::of(&front.binds[0].options, front, Mode::Tcp, &model.global);
            assert_eq!(asked.backlog, expected, "{front:?}");
        }
    }

    #[test]
    fn options_of_sections_reach_their_sockets() {
        let text = "global\n noreuseport\n tune.rcvbuf.client 20000\n tune.sndbuf.client 30000\n \
                    tune.notsent-lowat.client 40k\n\
                    listen l\n bind :1\n timeout client 1s\n option clitcpka\n clitcpka-cnt 3\n \
                    clitcpka-idle 11\n clitcpka-intvl 7s\n option nolinger\n \
                    option tcp-smart-accept\n";
        let model = model(text);
        let front = model.proxies[0].front.as_ref().expect("a listen section");
        let asked = Asked::of(&BindOptions::default(), front, Mode::Tcp, &model.global);
        assert!(asked.patient, "because the section says so");
        let probes = KeepAlive { count: Some(3), idle: Some(11), interval: Some(7) };
        assert_eq!((asked.keep_alive, asked.resets, asked.exclusive), (Some(probes), true, true));
        assert_eq!(asked.buffers, SystemBuffers { receive: 20_000, send: 30_000, unsent: 40_960 });
    }

    #[test]
    fn addresses_of_others_and_exclusive_ones() {
        let port = || {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            listener.local_addr().expect("an address").port()
        };
        let opened = |line: &str, asked: &Asked| {
            Opener::default().open(&bind(line), asked).expect("a free port").handle.0
        };
        let plain = Asked { backlog: 10, ..Asked::default() };
        let alone = Asked { exclusive: true, ..plain.clone() };
        for (asked, shared) in [(&plain, 1), (&alone, 0)] {
            let fd = opened(&format!("127.0.0.1:{}", port()), asked);
            assert_eq!(sys::option::get(fd, SOCKET, 15).expect("an option"), shared);
            sys::close(fd);
        }
        // Without the privilege, the listener gets only the option for absent addresses
        // (IP_FREEBIND).
        let fd = opened(&format!("192.0.2.1:{} transparent", port()), &plain);
        let either = [19, 15].map(|name| sys::option::get(fd, IP, name).expect("an option"));
        assert!(either.contains(&1), "{either:?}");
        sys::close(fd);
    }

    #[test]
    fn names_without_a_file_are_listened_on() {
        let name = format!("abns@weir-test-{}", std::process::id());
        let open = |asked: &Asked| Opener::default().open(&bind(&name), asked);
        let first = open(&Asked::default()).expect("nobody has the name");
        assert_eq!(first.address.to_string(), name);
        assert!(open(&Asked::default()).is_err(), "it is taken");
        let to = reactor::os::Os::new(1).expect("a poller");
        let connected = reactor::Kernel::connect(&to, &first.address).expect("somebody listens");
        sys::close(connected.0);
        sys::close(first.handle.0);
    }
}
