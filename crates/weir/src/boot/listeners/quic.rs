//! Sockets of QUIC listeners, and their links with the processes before and after this one.
//!
//! A process takes over all sockets of an address from its predecessor: datagrams would still
//! arrive at a socket that was left out. It also gets an end of a socket pair, over which it passes
//! the datagrams of that process's connections. The names of these ends carry the number of their
//! process, and the keys that processes of an address have in common.

use super::{Asked, Open, Opener};
use config::model::Bind;
use engine::state::os_handles::QuicSockets;
use engine::state::session::quic_line::QuicIdentity;
use reactor::Handle;
use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;

/// First word of the names of links.
const LINK: &str = "quic-link";

/// Bytes of the secret that processes draw.
const SECRET: usize = 32;

/// A QUIC listener that is open.
pub(in super::super) struct QuicOpen {
    pub(in super::super) open: Open,
    /// Sockets of the address beside the first.
    pub(in super::super) others: Vec<Handle>,
    pub(in super::super) links: QuicSockets,
}

/// A link that was handed over.
struct Link {
    /// The other end of the pair is the process that has handed the socket over.
    is_direct: bool,
    identity: QuicIdentity,
    fd: i32,
}

impl Opener {
    /// Opens at least `wanted` sockets of one address.
    ///
    /// # Errors
    /// The error of the system.
    pub(in super::super) fn open_quic(
        &mut self,
        bind: &Bind,
        address: SocketAddr,
        asked: &Asked,
        wanted: usize,
    ) -> io::Result<QuicOpen> {
        let options = self.options(&bind.options, asked)?;
        let line = &bind.options;
        let fixed = (options.v6_only, options.transparent, options.exclusive);
        let name = format!("quic@{address} {:?} {:?} {fixed:?}", line.interface, line.namespace);
        let name = name.replace(['\n', '\t'], "%");
        let mut sockets = self.pool.remove(&name).unwrap_or_default();
        let mut bound = sockets.first().and_then(|fd| sys::socket::local_address(*fd));
        while sockets.len() < wanted.max(1) {
            let fd = sys::listen::datagrams(bound.unwrap_or(address), &options)?;
            bound = bound.or_else(|| sys::socket::local_address(fd));
            sockets.push(fd);
        }
        let sockets: Vec<_> = sockets.into_iter().map(Handle).collect();
        self.opened.extend(sockets.iter().map(|handle| (name.clone(), *handle)));
        let links = self.links(&name)?;
        let address = reactor::Address::Inet(bound.unwrap_or(address));
        let open = Open::new(sockets[0], address);
        Ok(QuicOpen { open, others: sockets[1..].to_vec(), links })
    }

    /// The links of an address: those that were handed over and lead to a process that runs, and
    /// one for the next process.
    fn links(&mut self, name: &str) -> io::Result<QuicSockets> {
        let mut before: Vec<Link> = self.take_links(name);
        before.sort_by_key(|link| !link.is_direct);
        let identity = match before.first() {
            Some(last) => {
                let used = |number: &u8| before.iter().any(|link| link.identity.process == *number);
                let next = (1..=u8::MAX).map(|n| last.identity.process.wrapping_add(n));
                let process = next.into_iter().find(|number| !used(number)).unwrap_or_default();
                QuicIdentity { process, ..last.identity.clone() }
            }
            None => draw(),
        };
        let (own, theirs) = sys::socketpair::sequence()?;
        self.others.push(Handle(own));
        self.opened.push((written(true, &identity, name), Handle(theirs)));
        for link in &before {
            self.opened.push((written(false, &link.identity, name), Handle(link.fd)));
        }
        let predecessors = before.iter().map(|link| (link.identity.process, Handle(link.fd)));
        let (sockets, predecessors) = (Vec::new(), predecessors.collect());
        Ok(QuicSockets { sockets, identity, own: Handle(own), predecessors })
    }

    /// Takes the links of an address from the handles that the old process passed on. Links to
    /// processes that have ended are closed.
    fn take_links(&mut self, name: &str) -> Vec<Link> {
        let names: Vec<String> =
            self.pool.keys().filter(|key| key.ends_with(name)).cloned().collect();
        let mut found = Vec::new();
        for whole in names {
            let Some((is_direct, identity)) = read(&whole, name) else { continue };
            for fd in self.pool.remove(&whole).unwrap_or_default() {
                // A message of an unknown kind, which changes nothing for a process that runs.
                match sys::socketpair::send(fd, &[0], &[]) {
                    Err(error) if error.kind() != io::ErrorKind::WouldBlock => sys::close(fd),
                    _ => found.push(Link { is_direct, identity: identity.clone(), fd }),
                }
            }
        }
        found
    }
}

/// The threads of each socket: all sockets are received from, and all threads have one to send
/// from.
pub(in super::super) fn distribute(sockets: &[Handle], threads: &[u16]) -> Vec<(Handle, Vec<u16>)> {
    let count = sockets.len();
    let own = |place: usize| match threads.len() {
        0 => Vec::new(),
        all if all < count => vec![threads[place % all]],
        _ => threads.iter().copied().skip(place).step_by(count).collect(),
    };
    sockets.iter().enumerate().map(|(place, handle)| (*handle, own(place))).collect()
}

fn draw() -> QuicIdentity {
    let mut bytes = [0; 17 + SECRET];
    sys::random(&mut bytes);
    let word = |at: usize| bytes[at..at + 8].iter().fold(0, |all, it| all << 8 | u64::from(*it));
    QuicIdentity { process: bytes[16], key: [word(0), word(8)], secret: bytes[17..].to_vec() }
}

/// The name of a link.
fn written(is_direct: bool, identity: &QuicIdentity, name: &str) -> String {
    let QuicIdentity { process, key, secret } = identity;
    let kind = if is_direct { "own" } else { "older" };
    let mut text = format!("{LINK}\t{kind}\t{process}\t{:016x}\t{:016x}\t", key[0], key[1]);
    for byte in secret {
        let _ = write!(text, "{byte:02x}");
    }
    text + "\t" + name
}

/// The kind and the identity in the name of a link of an address.
fn read(whole: &str, name: &str) -> Option<(bool, QuicIdentity)> {
    let mut words = whole.split('\t');
    let mut next = || words.next();
    if next()? != LINK {
        return None;
    }
    let is_direct = next()? == "own";
    let process = next()?.parse().ok()?;
    let key = [u64::from_str_radix(next()?, 16).ok()?, u64::from_str_radix(next()?, 16).ok()?];
    let secret = next()?;
    let byte = |at: usize| u8::from_str_radix(secret.get(at..at + 2)?, 16).ok();
    let secret = (0..secret.len()).step_by(2).map(byte).collect::<Option<_>>()?;
    (next()? == name).then_some((is_direct, QuicIdentity { process, key, secret }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_links_carry_the_identity() {
        let identity = draw();
        for is_direct in [true, false] {
            let text = written(is_direct, &identity, "quic@[::]:443 None");
            assert_eq!(read(&text, "quic@[::]:443 None"), Some((is_direct, identity.clone())));
            assert_eq!(read(&text, "quic@[::]:444 None"), None);
            assert_eq!(read(text.get(..30).expect("a prefix"), ""), None);
        }
    }

    #[test]
    fn every_socket_has_a_receiver_and_every_thread_a_socket() {
        for sockets in 1..8 {
            for threads in 1..9 {
                let handles: Vec<_> = (0..sockets).map(Handle).collect();
                let all: Vec<u16> = (0..threads).collect();
                let made = distribute(&handles, &all);
                assert!(made.iter().all(|(_, threads)| !threads.is_empty()));
                let mut own: Vec<u16> = made.into_iter().flat_map(|(_, own)| own).collect();
                own.sort_unstable();
                own.dedup();
                assert_eq!(own, all, "{sockets} sockets");
            }
        }
    }

    #[test]
    fn a_process_takes_sockets_and_links_of_the_one_before() {
        let bind = |opener: &mut Opener, wanted| {
            let model = super::super::tests::model(
                "global\n noreuseport\nlisten l\n bind :1\n timeout client 1s\n",
            );
            let front = model.proxies[0].front.as_ref().expect("a listen section");
            let address = "127.0.0.1:0".parse().expect("an address");
            opener.open_quic(&front.binds[0], address, &Asked::default(), wanted).expect("a port")
        };
        let (one, other) = sys::socketpair::pair().expect("descriptors");
        // Copies, as the next process gets them.
        let copies = |opener: &Opener| {
            let mut pool = super::super::Pool::new();
            for handed in opener.handed() {
                sys::socketpair::send(one, b"x", &[handed.handle.0]).expect("an open socket");
                let (_, copies) = sys::socketpair::receive(other, &mut [0]).expect("a message");
                pool.entry(handed.name).or_default().extend(copies);
            }
            pool
        };
        let mut first = Opener::default();
        let old = bind(&mut first, 2);
        assert_eq!((old.others.len(), old.links.predecessors.len()), (1, 0));
        let mut second = Opener::with(copies(&first), Default::default());
        let new = bind(&mut second, 3);
        assert_eq!(new.others.len(), 2);
        assert_eq!(new.open.address, old.open.address, "the same port");
        let (older, newer) = (&old.links.identity, &new.links.identity);
        assert_eq!((older.key, &older.secret), (newer.key, &newer.secret));
        assert_eq!(
            new.links.predecessors.iter().map(|it| it.0).collect::<Vec<_>>(),
            [older.process]
        );
        let mut third = Opener::with(copies(&second), Default::default());
        let last = bind(&mut third, 1);
        assert_eq!(last.others.len(), 2, "all sockets are taken");
        let before: Vec<_> = last.links.predecessors.iter().map(|it| it.0).collect();
        assert_eq!(before, [newer.process, older.process]);
        drop(first.close());
        let mut fourth = Opener::with(copies(&third), Default::default());
        let links = bind(&mut fourth, 1).links;
        let before: Vec<_> = links.predecessors.iter().map(|it| it.0).collect();
        assert_eq!(before, [last.links.identity.process, newer.process], "the first has ended");
        for opener in [second, third, fourth] {
            drop(opener.close());
        }
        [one, other].into_iter().for_each(sys::close);
    }
}
