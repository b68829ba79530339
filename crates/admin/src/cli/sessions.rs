//! `show sess`: the streams of all threads, a line each or one at length (management.txt 9.3).
//!
//! The lines are HAProxy's: client, listener, server, age, descriptors, the time that the task has
//! used (nanoseconds only while tasks are profiled) and when its next timer fires. Fields without a
//! meaning here, such as the flags of buffers, are empty or zero, so that tools find every field.

use super::call::{Call, Reply};
use engine::state::records::anon::Anon;
use engine::state::runtime::{ProxySection, Server};
use engine::state::session::stream_list::{Listing, Part};
use proxy::{Shared, Worker};
use reactor::{Address, Handle};
use sample::calendar::Date;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;

/// The streams to list, and the detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamDetail {
    /// A line each.
    Lines,
    /// All of them at length.
    All,
    /// The one with this number at length.
    One(u64),
}

/// Some streams of a thread, as text.
#[derive(Default)]
pub(super) struct ListedStreams {
    streams: Vec<(Listing, Ends)>,
    /// The place to continue from, if there may be more.
    pub(super) next: Option<u32>,
}

/// The own addresses of a stream's connections to the client and to the server; addresses of
/// connections shared with other streams are left out.
#[derive(Clone, Copy, Default)]
struct Ends {
    front: Option<SocketAddr>,
    back: Option<SocketAddr>,
}

impl StreamDetail {
    /// Facts of these streams, gathered on the thread that serves them: on other threads a
    /// descriptor may have been reused.
    pub(super) fn of(self, worker: &Worker, part: Part) -> ListedStreams {
        let address = |descriptor: i32| match descriptor {
            ..0 => None,
            descriptor => worker.thread.kernel().local_address(Handle(descriptor)),
        };
        let ends = |stream: &Listing| {
            let at_length = match self {
                Self::Lines => false,
                Self::All => true,
                Self::One(number) => number == stream.number,
            };
            if !at_length {
                return Ends::default();
            }
            let (front, back) = (address(stream.descriptor), address(stream.server_descriptor));
            Ends { front, back }
        };
        let streams = part.streams.into_iter().map(|stream| {
            let ends = ends(&stream);
            (stream, ends)
        });
        ListedStreams { streams: streams.collect(), next: part.next }
    }
}

/// `show sess [<id> | all]`
pub(super) fn show(call: &mut Call<'_>) -> Reply {
    let wanted = match call.word(2) {
        "" => StreamDetail::Lines,
        "all" => StreamDetail::All,
        id => match u64::from_str_radix(id.strip_prefix("0x").unwrap_or(id), 16) {
            Ok(number) => StreamDetail::One(number),
            Err(_) => StreamDetail::One(0),
        },
    };
    Reply::Streams(StreamPage {
        shared: call.shared().clone(),
        anon: call.state.anon,
        offset: call.worker.local_offset(),
        wanted,
        found: false,
    })
}

/// The answer about the streams of all threads.
pub(super) struct StreamPage {
    shared: Arc<Shared>,
    anon: Anon,
    /// Seconds east of Greenwich.
    offset: i32,
    pub(super) wanted: StreamDetail,
    /// Whether the requested stream was found.
    found: bool,
}

impl StreamPage {
    /// The lines about these streams.
    pub(super) fn render(&mut self, told: &ListedStreams) -> String {
        let mut out = String::new();
        for (stream, ends) in &told.streams {
            match self.wanted {
                StreamDetail::Lines => self.line(stream, &mut out),
                StreamDetail::All => self.detail(stream, *ends, &mut out),
                StreamDetail::One(number) if number == stream.number => {
                    self.detail(stream, *ends, &mut out);
                }
                StreamDetail::One(_) => {}
            }
        }
        self.found |= !out.is_empty();
        out
    }

    /// The lines after all streams.
    pub(super) fn end(&self) -> &'static str {
        match self.wanted {
            StreamDetail::One(_) if !self.found => "Session not found.\n",
            _ => "",
        }
    }

    fn line(&self, stream: &Listing, out: &mut String) {
        let name = |index: Option<usize>| match self.named(index) {
            Some(proxy) => self.anon.word(proxy.name()),
            None => "<NONE>".into(),
        };
        let server = self.server(stream).map(|it| self.anon.word(&it.state.name()).into_owned());
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "0x{:x}: {} fe={} be={} srv={} ts=00 epoch=0 age={} calls={} rate={} cpu={} lat={}",
            stream.number,
            self.source(stream, "src"),
            name(Some(stream.frontend)),
            name(stream.backend),
            server.as_deref().unwrap_or("<none>"),
            Age(stream.age_s),
            stream.usage.calls,
            rate(stream),
            stream.usage.cpu,
            stream.usage.latency,
        );
        let _ = writeln!(
            out,
            " rq[f=000000h,i=0,an=00h,rx=,wx=,ax=] rp[f=000000h,i=0,an=00h,rx=,wx=,ax=] \
             scf=[8,0h,fd={}] scb=[8,0h,fd={}] exp={} rc=0 c_exp=",
            stream.descriptor,
            stream.server_descriptor,
            expiry(stream, ""),
        );
    }

    fn detail(&self, stream: &Listing, ends: Ends, out: &mut String) {
        let mut date = Vec::new();
        Date::new((stream.began / 1_000_000_000) as i64, self.offset).write_clf(&mut date);
        let micros = stream.began / 1_000 % 1_000_000;
        let _ = writeln!(
            out,
            "0x{:x}: [{}.{micros:06}] id={} {}",
            stream.number,
            String::from_utf8_lossy(&date),
            stream.number >> 4 & 0xf_ffff,
            self.source(stream, "source"),
        );
        out.push_str(
            "  flags=0x0, conn_retries=0, conn_exp=<NEVER> conn_et=0x000 srv_conn=(nil), \
             pend_pos=(nil) waiting=0 epoch=0\n",
        );
        let _ = writeln!(
            out,
            "  frontend={}, {}\n  backend={}{}",
            self.proxy(Some(stream.frontend)),
            self.listener(stream, ends.front),
            self.proxy(stream.backend),
            self.address(ends.back),
        );
        let _ = match self.server(stream) {
            Some(server) => {
                let (name, id) = (server.state.name(), server.state.id());
                let address = self.address(address_of(server));
                writeln!(out, "  server={} (id={id}){address}", self.anon.word(&name))
            }
            None => writeln!(out, "  server=<NONE> (id=-1)"),
        };
        let _ = writeln!(
            out,
            "  task=0x{:x} (state=0x00 nice=0 calls={} rate={} exp={} age={})\n{}  scf fd={}\n  \
             scb fd={}",
            stream.task,
            stream.usage.calls,
            rate(stream),
            expiry(stream, "<NEVER>"),
            Age(stream.age_s),
            transaction(stream),
            stream.descriptor,
            stream.server_descriptor,
        );
    }

    /// `fe (id=2 mode=http)`
    fn proxy(&self, index: Option<usize>) -> String {
        match self.named(index) {
            Some(proxy) => {
                let http = proxy.settings.mode == settings::Mode::Http;
                let mode = if http { "http" } else { "tcp" };
                format!("{} (id={} mode={mode})", self.anon.word(proxy.name()), proxy.settings.id)
            }
            None => "<NONE> (id=-1 mode=-)".to_owned(),
        }
    }

    fn named(&self, index: Option<usize>) -> Option<&ProxySection> {
        self.shared.proxy(index?)
    }

    fn server<'s>(&'s self, stream: &Listing) -> Option<&'s Server> {
        self.named(stream.backend)?.back.as_ref()?.servers.get(stream.server?)
    }

    /// `listener=web (id=1) addr=127.0.0.1:80`; the address is the one that the client knows.
    fn listener(&self, stream: &Listing, own: Option<SocketAddr>) -> String {
        let front = self.named(Some(stream.frontend)).and_then(|it| it.front.as_ref());
        let bind = front.and_then(|front| front.settings.binds.get(stream.bind as usize));
        let name = bind.and_then(|bind| bind.name.as_deref()).unwrap_or("?");
        let id = bind.map_or(stream.bind + 1, |bind| bind.id);
        let address = match bind.map(|bind| &bind.address) {
            Some(Address::Unix(_)) => format!(" addr=unix:{id}"),
            _ => self.address(own),
        };
        format!("listener={} (id={id}){address}", self.anon.word(name))
    }

    /// ` addr=127.0.0.1:80`, or nothing.
    fn address(&self, address: Option<SocketAddr>) -> String {
        address.map_or_else(String::new, |it| format!(" addr={}", self.anon.address(it)))
    }

    /// Protocol and address of the client; one without an address came over a unix socket.
    fn source(&self, stream: &Listing, word: &str) -> String {
        match stream.peer {
            Some(SocketAddr::V4(address)) => {
                format!("proto=tcpv4 {word}={}", self.anon.address(address.into()))
            }
            Some(SocketAddr::V6(address)) => {
                let ip = self.anon.ip((*address.ip()).into());
                format!("proto=tcpv6 {word}={ip}:{}", address.port())
            }
            None => format!("proto=unix_stream {word}=unix:{}", stream.bind + 1),
        }
    }
}

/// Where a server is, unless that depends on the client.
fn address_of(server: &Server) -> Option<SocketAddr> {
    let (now, follows) = (server.location.now(), server.settings.link.follows);
    let fixed = now.known && !follows.ip && follows.port.is_none();
    now.address.inet().filter(|_| fixed)
}

/// The messages of one in HTTP mode, a line.
fn transaction(stream: &Listing) -> String {
    let Some(http) = &stream.http else { return String::new() };
    let status = if http.status == 0 { -1 } else { i32::from(http.status) };
    let (request, response) = (http.request, http.response);
    format!(
        "  txn=0x{:x} flags=0x0 meth={} status={status} req.st={} rsp.st={} req.f=0x{:02x} \
         rsp.f=0x{:02x}\n",
        stream.number,
        http.method,
        request.state.word(),
        response.state.word(),
        request.flags,
        response.flags,
    )
}

/// Turns of its task per second of its life.
fn rate(stream: &Listing) -> u64 {
    u64::from(stream.usage.calls) / stream.age_s.max(1)
}

/// The time of the task's next timer, or `<NEVER>`.
fn expiry(stream: &Listing, never: &str) -> String {
    match stream.expires_ms {
        Some(ms) => Age(ms.div_ceil(1_000)).to_string(),
        None => never.to_owned(),
    }
}

/// Seconds in the two largest units: `1h5m`.
struct Age(u64);

impl std::fmt::Display for Age {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let units = [(86_400, 'd'), (3_600, 'h'), (60, 'm'), (1, 's')];
        let mut rest = self.0;
        let mut written = 0;
        for (span, unit) in units {
            let count = rest / span;
            rest %= span;
            if count > 0 && written < 2 {
                write!(f, "{count}{unit}")?;
                written += 1;
            } else if written == 1 {
                break;
            }
        }
        if written == 0 { f.write_str("0s") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::Age;

    #[test]
    fn an_age_has_two_units() {
        let ages = [0, 59, 61, 3_600, 3_605, 90_061, 5 * 86_400].map(|age| Age(age).to_string());
        assert_eq!(ages, ["0s", "59s", "1m1s", "1h", "1h", "1d1h", "5d"]);
    }
}
