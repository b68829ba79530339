//! `show why`: outcomes of transactions in plain sentences, from the flight recorders of the
//! threads.

use super::call::{Call, Later, Reply};
use engine::state::records::anon::Anon;
use engine::state::records::flight_recorder::Flight;
use engine::state::runtime::Shared;
use sample::calendar::Date;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use transport::stats::transaction_log::Chooser;
use transport::stats::transaction_log::{Cause, Phase};

/// Transactions in a list.
const LISTED: usize = 20;

/// The transactions that are asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    /// A line for each of the last ones, or of the last that failed.
    List { failed: bool },
    /// The last one, or the last that failed.
    Last { failed: bool },
    /// The one with this number or this unique id.
    One(String),
}

/// `show why [errors | last [error] | <number> | <unique-id>]`
pub(super) fn show(call: &mut Call<'_>) -> Reply {
    let asked = match (call.word(2), call.word(3)) {
        ("", _) => Asked::List { failed: false },
        ("errors", _) => Asked::List { failed: true },
        ("last", "") => Asked::Last { failed: false },
        ("last", "error") => Asked::Last { failed: true },
        ("last", _) => return Reply::error("'show why last' only supports 'error'."),
        (id, _) => Asked::One(id.to_owned()),
    };
    if !call.shared().records.load(Relaxed) {
        return Reply::error("Nothing is remembered: use 'set why on'.");
    }
    Reply::Later(Later::Why(asked, call.state.anon))
}

/// `set why {on|off}`
pub(super) fn set(call: &mut Call<'_>) -> Reply {
    let on = match call.word(2) {
        "on" => true,
        "off" => false,
        _ => return Reply::error("'set why' only supports 'on' and 'off'."),
    };
    call.shared().records.store(on, Relaxed);
    Reply::Done
}

impl Asked {
    /// The records of a thread: all of them, or only failures. Failures are kept longer, so a
    /// search for one transaction asks for both.
    pub(super) fn of(&self, worker: &engine::state::worker::Worker) -> Vec<Flight> {
        match self {
            Self::List { failed } | Self::Last { failed } => worker.flights(*failed),
            Self::One(_) => [worker.flights(true), worker.flights(false)].concat(),
        }
    }
}

/// The whole answer, from what each thread remembers.
pub(crate) struct WhyPage<'a> {
    pub(crate) shared: &'a Arc<Shared>,
    pub(crate) anon: Anon,
    /// Seconds east of Greenwich.
    pub(crate) offset: i32,
}

/// One transaction, in the words of `show why`.
pub(crate) struct ToldFlight {
    /// Number of the thread, and of the transaction on it.
    pub(crate) id: String,
    /// When its first byte came, in milliseconds since 1970.
    pub(crate) wall_ms: u64,
    pub(crate) client: String,
    pub(crate) request: String,
    pub(crate) frontend: String,
    /// Empty where there was none, as the server.
    pub(crate) backend: String,
    pub(crate) server: String,
    pub(crate) status: u16,
    /// The first two characters of the termination state.
    pub(crate) state: String,
    pub(crate) took_us: u64,
    /// How it ended, as a sentence.
    pub(crate) ending: String,
    /// File and line of the rule that decided last.
    pub(crate) rule: Option<(Arc<str>, u32)>,
    /// All that is known of it.
    pub(crate) story: String,
}

impl WhyPage<'_> {
    pub(super) fn render(&self, asked: &Asked, known: Vec<Vec<Flight>>) -> String {
        let mut flights: Vec<(usize, Flight)> = Vec::new();
        for (thread, own) in known.into_iter().enumerate() {
            flights.extend(own.into_iter().map(|flight| (thread + 1, flight)));
        }
        flights.sort_by_key(|(_, flight)| flight.wall);
        let nothing = || "Nothing is known of such a transaction.\n".to_owned();
        match asked {
            Asked::List { .. } if flights.is_empty() => "Nothing has happened yet.\n".to_owned(),
            Asked::List { .. } => {
                let first = flights.len().saturating_sub(LISTED);
                flights[first..].iter().map(|it| self.line(it)).collect()
            }
            Asked::Last { .. } => flights.last().map_or_else(nothing, |it| self.story(it)),
            Asked::One(id) => {
                let is = |(thread, flight): &&(usize, Flight)| {
                    flight.unique_id.bytes() == id.as_bytes()
                        || format!("{thread}.{}", flight.number) == *id
                };
                flights.iter().rev().find(is).map_or_else(nothing, |it| self.story(it))
            }
        }
    }

    /// A transaction of a thread, which is numbered from 1.
    pub(crate) fn told(&self, it: &(usize, Flight)) -> ToldFlight {
        let (thread, flight) = it;
        ToldFlight {
            id: format!("{thread}.{}", flight.number),
            wall_ms: flight.wall / 1_000_000,
            client: self.client(flight),
            request: self.request(flight),
            frontend: self.proxy(flight.frontend),
            backend: flight.backend.map(|index| self.proxy(index)).unwrap_or_default(),
            server: self.server(flight).unwrap_or_default(),
            status: flight.status,
            state: state(flight),
            took_us: flight.span(0, 5).unwrap_or(0) / 1_000,
            ending: ending(flight),
            rule: flight.rule.clone(),
            story: self.story(it),
        }
    }

    /// One line: number, date, client, request, server, end.
    fn line(&self, (thread, flight): &(usize, Flight)) -> String {
        format!(
            "{thread}.{} {} {} {} {}/{} {} {} {}\n",
            flight.number,
            self.date(flight.wall),
            self.client(flight),
            self.request(flight),
            self.proxy(flight.backend.unwrap_or(flight.frontend)),
            self.server(flight).as_deref().unwrap_or("<NOSRV>"),
            flight.status,
            state(flight),
            Millis(flight.span(0, 5).unwrap_or(0)),
        )
    }

    /// All records of one transaction.
    fn story(&self, it: &(usize, Flight)) -> String {
        let (thread, flight) = it;
        let mut out = format!(
            "{thread}.{}: {} from {} on frontend {}, {}\n",
            flight.number,
            self.request(flight),
            self.client(flight),
            self.proxy(flight.frontend),
            self.date(flight.wall)
        );
        // Writing to a string cannot fail.
        if !flight.unique_id.bytes().is_empty() {
            let _ =
                writeln!(out, "  Its unique id is {}.", flight.unique_id.bytes().escape_ascii());
        }
        if let Some(span) = flight.span(0, 1) {
            let _ = writeln!(out, "  The head of the request was complete after {}.", Millis(span));
        }
        if let Some((file, line)) = &flight.rule {
            let _ = writeln!(out, "  The rule that decided last stands at {file}:{line}.");
        }
        self.way(flight, &mut out);
        if let Some(span) = flight.span(3, 4) {
            let _ = writeln!(out, "  The head of the response came {} later.", Millis(span));
        }
        let (received, sent) = flight.bytes;
        let _ = match flight.status {
            0 => writeln!(out, "  No status was sent; {received} bytes came, {sent} went back."),
            status => writeln!(
                out,
                "  Status {status} was sent; {received} bytes came, {sent} went back."
            ),
        };
        let took =
            flight.span(0, 5).map_or_else(String::new, |it| format!(" after {}", Millis(it)));
        let _ = writeln!(out, "  It ended{took} ({}): {}", state(flight), ending(flight));
        out
    }

    /// The backend, the queue, the server, the connection.
    fn way(&self, flight: &Flight, out: &mut String) {
        let Some(backend) = flight.backend else {
            let _ = writeln!(out, "  It was given to no backend.");
            return;
        };
        let _ = write!(out, "  It was given to backend {}", self.proxy(backend));
        let Some(server) = self.server(flight) else {
            let _ = writeln!(out, ", and to no server.");
            return;
        };
        let _ = writeln!(out, " and to server {server}, {}.", self.chosen(flight, backend));
        let before = flight.queue_positions;
        if before != (0, 0) {
            let span = Millis(flight.span(1, 2).unwrap_or(0));
            let _ = writeln!(
                out,
                "  It waited {span} in queues: with it, {} requests left the server's, {} the \
                 backend's.",
                before.0, before.1
            );
        }
        match (flight.span(2, 3), flight.fresh) {
            (Some(span), true) => {
                let _ = writeln!(out, "  A new connection to it took {}.", Millis(span));
            }
            (Some(_), false) => out.push_str("  A connection to it was there already.\n"),
            (None, _) => out.push_str("  No connection to it was established.\n"),
        }
        if flight.retries > 0 {
            let elsewhere = match flight.redispatched {
                true => ", the last one elsewhere than at first",
                false => "",
            };
            let _ = writeln!(out, "  {} attempts were repeated{elsewhere}.", flight.retries);
        }
    }

    /// Why this server.
    fn chosen(&self, flight: &Flight, backend: usize) -> String {
        let by = match flight.chooser {
            Chooser::Algorithm => {
                let back = self.shared.backend_at(backend);
                let name = back.map_or("", |back| back.settings.algorithm_name.as_str());
                return match (flight.redispatched, name) {
                    (true, _) => "after another one had failed".to_owned(),
                    (false, "") => "chosen by load balancing".to_owned(),
                    (false, name) => format!("chosen by load balancing ({name})"),
                };
            }
            Chooser::Rule => "a use-server rule",
            Chooser::Cookie => "the client's cookie",
            Chooser::Table => "a stick table",
            Chooser::Address => return "the only place to go".to_owned(),
        };
        format!("named by {by}")
    }

    fn date(&self, wall: u64) -> String {
        let mut date = Vec::new();
        Date::new((wall / 1_000_000_000) as i64, self.offset).write_clf(&mut date);
        format!("{}.{:03}", String::from_utf8_lossy(&date), wall / 1_000_000 % 1_000)
    }

    fn client(&self, flight: &Flight) -> String {
        flight.peer.map_or_else(|| "unix".to_owned(), |peer| self.anon.address(peer))
    }

    /// As much of the request line as is remembered.
    fn request(&self, flight: &Flight) -> String {
        let line = flight.line.bytes();
        if line.is_empty() {
            return if flight.bad_request { "<BADREQ>" } else { "<TCP>" }.to_owned();
        }
        let text = line.escape_ascii().to_string();
        let end = if flight.line.is_full() { "..." } else { "" };
        format!("{}{end}", self.anon.word(&text))
    }

    fn proxy(&self, index: usize) -> String {
        let named = self.shared.proxy(index);
        named.map_or_else(String::new, |proxy| self.anon.word(proxy.name()).into_owned())
    }

    fn server(&self, flight: &Flight) -> Option<String> {
        let back = self.shared.backend_at(flight.backend?)?;
        Some(self.anon.word(&back.servers.get(flight.server?)?.state.name()).into_owned())
    }
}

/// The first two characters of the termination state.
fn state(flight: &Flight) -> String {
    [flight.cause.letter(), flight.phase.letter()].map(char::from).iter().collect()
}

/// How it ended (manual, section 8.5).
fn ending(flight: &Flight) -> String {
    if flight.bad_request {
        return "the request could not be understood; see 'show errors'.".to_owned();
    }
    let why = match (flight.cause, flight.phase) {
        (Cause::Normal, _) => return "all was passed on.".to_owned(),
        (Cause::Local, _) => return "the proxy itself has answered.".to_owned(),
        (Cause::ServerAbort, Phase::Connect) if flight.server.is_none() => {
            return "there was no server that could take it.".to_owned();
        }
        (Cause::ServerTimeout, Phase::Queue) => "no server had room for it in time",
        (Cause::ServerAbort, Phase::Connect) => "the server refused the connection",
        (Cause::ServerTimeout, Phase::Connect) => {
            "the server did not accept the connection in time"
        }
        (Cause::ClientAbort, _) => "the client closed its connection, or lost it,",
        (Cause::ClientTimeout, _) => "the client took too long",
        (Cause::ServerAbort, _) => "the server closed its connection, or lost it,",
        (Cause::ServerTimeout, _) => "the server took too long",
        (Cause::Proxy, Phase::Headers) => "the response was refused or could not be understood",
        (Cause::Proxy, _) => "a rule or a limit refused it",
        (Cause::Resource, _) => "the proxy ran out of something",
        (Cause::Internal, _) => "the proxy itself failed",
        (Cause::Down, _) => "its server went down, which ends sessions here,",
        (Cause::Up, _) => "a better server came up, which ends sessions of backups here,",
        (Cause::Killed, _) => "an operator ended it",
    };
    let when = match flight.phase {
        Phase::End => "",
        Phase::Request => " before the whole request had come",
        Phase::Queue => " while it waited in a queue",
        Phase::Connect => " while its connection was made",
        Phase::Headers => " before the head of the response was complete",
        Phase::Data => " while data was passed on",
        Phase::Last => " while the last data went to the client",
        Phase::Tarpit => " in a tarpit",
    };
    format!("{why}{when}.")
}

/// Nanoseconds, shown in milliseconds.
struct Millis(u64);

impl std::fmt::Display for Millis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03} ms", self.0 / 1_000_000, self.0 / 1_000 % 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn flight(number: u64) -> Flight {
        Flight {
            number,
            wall: 1_000_000_000_000 + number,
            peer: "10.1.2.3:4567".parse().ok(),
            line: Default::default(),
            unique_id: Default::default(),
            frontend: 0,
            backend: Some(1),
            server: Some(0),
            chooser: Chooser::Cookie,
            moments: [1_000_000, 2_000_000, 52_000_000, 55_500_000, 80_000_000, 90_000_000],
            fresh: true,
            retries: 2,
            redispatched: false,
            queue_positions: (3, 0),
            status: 200,
            bytes: (120, 4_000),
            cause: Cause::Normal,
            phase: Phase::End,
            bad_request: false,
            rule: Some(("a.cfg".into(), 12)),
        }
    }

    #[test]
    fn show_why_explains_transactions_in_sentences() {
        let shared = testing::shared();
        let page = WhyPage { shared: &shared, anon: Anon::default(), offset: 0 };
        let failed = Flight {
            server: None,
            moments: [1_000_000, 2_000_000, 0, 0, 0, 3_000_000],
            status: 503,
            cause: Cause::ServerAbort,
            phase: Phase::Connect,
            rule: None,
            ..flight(8)
        };
        let known = vec![vec![flight(7)], vec![failed]];
        assert_eq!(
            page.render(&Asked::One("1.7".into()), known.clone()),
            "1.7: <TCP> from 10.1.2.3:4567 on frontend fe, 01/Jan/1970:00:16:40.000\n  \
             The head of the request was complete after 1.000 ms.\n  \
             The rule that decided last stands at a.cfg:12.\n  \
             It was given to backend be and to server s1, named by the client's cookie.\n  \
             It waited 50.000 ms in queues: with it, 3 requests left the server's, 0 the \
             backend's.\n  \
             A new connection to it took 3.500 ms.\n  \
             2 attempts were repeated.\n  \
             The head of the response came 24.500 ms later.\n  \
             Status 200 was sent; 120 bytes came, 4000 went back.\n  \
             It ended after 89.000 ms (--): all was passed on.\n"
        );
        assert_eq!(
            page.render(&Asked::Last { failed: true }, known.clone()),
            "2.8: <TCP> from 10.1.2.3:4567 on frontend fe, 01/Jan/1970:00:16:40.000\n  \
             The head of the request was complete after 1.000 ms.\n  \
             It was given to backend be, and to no server.\n  \
             Status 503 was sent; 120 bytes came, 4000 went back.\n  \
             It ended after 2.000 ms (SC): there was no server that could take it.\n"
        );
        let list = page.render(&Asked::List { failed: false }, known.clone());
        assert_eq!(list.lines().count(), 2);
        assert!(list.ends_with(" <TCP> be/<NOSRV> 503 SC 2.000 ms\n"), "{list}");
        let hidden = WhyPage { anon: Anon::new(Some(5)), ..page };
        let story = hidden.render(&Asked::One("1.7".into()), known.clone());
        assert!(!story.contains("10.1.2.3") && !story.contains("server s1"), "{story}");
        let unknown = hidden.render(&Asked::One("1.70".into()), known);
        assert_eq!(unknown, "Nothing is known of such a transaction.\n");
    }
}
