//! `show quic`: the QUIC connections of clients.

use super::call::{Call, Later, Reply};
use engine::state::records::anon::Anon;
use engine::state::session::quic_view::{QuicConnectionView, QuicState};
use std::fmt::Write as _;

/// The words of `show quic`.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuicQuery {
    /// Lines of each connection, in the order of [`PARTS`]; none: one line in all.
    parts: [bool; PARTS.len()],
    filter: QuicFilter,
}

#[derive(Clone, Copy, Debug)]
enum QuicFilter {
    /// Connections that serve requests or will.
    Open,
    All,
    Closing,
    /// Connections to servers, which Weir does not make.
    Servers,
    One(u64),
}

/// The parts of a listing, as a list of fields names them.
const PARTS: [&str; 4] = ["sock", "pktns", "cc", "mux"];

const HELP: &str = "Usage: show quic [help|<format>] [<filter>]\n\
    Dump information on all QUIC connections of clients.\n\n\
    <format> is one of:\n  \
      oneline  one line per connection (default)\n  \
      full     all fields of each connection\n  \
      stream   the streams of each connection\n  \
      <list>   fields, separated by commas: sock, pktns, cc, mux\n\
    <filter> is one of:\n  \
      all      also connections that are being closed\n  \
      clo      only those\n  \
      be       only connections to servers\n  \
      <addr>   the connection with this hexadecimal number\n";

/// `show quic [help|<format>] [<filter>]`
pub(super) fn show(call: &mut Call<'_>) -> Reply {
    let mut words = [call.word(2), call.word(3)].into_iter().filter(|word| !word.is_empty());
    let mut query = QuicQuery { parts: [false; PARTS.len()], filter: QuicFilter::Open };
    let Some(first) = words.next() else {
        return Reply::Later(Later::Quic(query, call.state.anon));
    };
    if first == "help" {
        return Reply::Dump(HELP.to_owned());
    }
    let filter = match format(first) {
        Some(parts) => {
            query.parts = parts;
            words.next()
        }
        None => Some(first),
    };
    query.filter = match filter.map(self::filter) {
        None => QuicFilter::Open,
        Some(Some(filter)) => filter,
        Some(None) => return Reply::error("Invalid format or filter. Try 'show quic help'."),
    };
    Reply::Later(Later::Quic(query, call.state.anon))
}

fn format(word: &str) -> Option<[bool; PARTS.len()]> {
    match word {
        "oneline" => Some([false; PARTS.len()]),
        "full" => Some([true; PARTS.len()]),
        "stream" | "streams" => Some([false, false, false, true]),
        list => {
            let mut parts = [false; PARTS.len()];
            for name in list.split(',') {
                parts[PARTS.iter().position(|part| *part == name)?] = true;
            }
            Some(parts)
        }
    }
}

fn filter(word: &str) -> Option<QuicFilter> {
    match word {
        "all" => Some(QuicFilter::All),
        "clo" => Some(QuicFilter::Closing),
        "be" => Some(QuicFilter::Servers),
        number => {
            let digits = number.strip_prefix("0x").unwrap_or(number);
            u64::from_str_radix(digits, 16).ok().map(QuicFilter::One)
        }
    }
}

fn id(view: &QuicConnectionView) -> u64 {
    ((view.thread as u64 + 1) << 32) | view.number as u64
}

fn matches(filter: QuicFilter, view: &QuicConnectionView) -> bool {
    match filter {
        QuicFilter::Open => view.state != QuicState::Closing,
        QuicFilter::All => true,
        QuicFilter::Closing => view.state == QuicState::Closing,
        QuicFilter::Servers => false,
        QuicFilter::One(wanted) => id(view) == wanted,
    }
}

/// The listing of these connections.
pub(super) fn render(query: QuicQuery, anon: Anon, mut views: Vec<QuicConnectionView>) -> String {
    views.retain(|view| matches(query.filter, view));
    views.sort_by_key(id);
    let mut out = String::new();
    let short = query.parts == [false; PARTS.len()];
    if short {
        out.push_str("# conn/frontend state streams requests rtt_us cwnd mtu sent lost from to\n");
    }
    for view in &views {
        // Writing to a string cannot fail.
        let _ = if short { line(view, anon, &mut out) } else { block(view, query, anon, &mut out) };
    }
    out
}

fn state(view: &QuicConnectionView) -> &'static str {
    match view.state {
        QuicState::Handshake => "HDSHK",
        QuicState::Established => "ESTAB",
        QuicState::Closing => "CLOSE",
    }
}

fn ends(view: &QuicConnectionView, anon: Anon) -> (String, String) {
    let to = view.to.map_or_else(|| "-".to_owned(), |to| anon.address(to));
    (anon.address(view.from), to)
}

fn line(view: &QuicConnectionView, anon: Anon, out: &mut String) -> std::fmt::Result {
    let (from, to) = ends(view, anon);
    let name = anon.word(&view.frontend);
    write!(out, "{:#x}[{:02}]/{name} {}", id(view), view.thread + 1, state(view))?;
    let QuicConnectionView { streams, requests, rtt_us, window, mtu, sent, lost, .. } = view;
    writeln!(out, " {streams} {requests} {rtt_us} {window} {mtu} {sent} {lost} {from} {to}")
}

fn block(
    view: &QuicConnectionView,
    query: QuicQuery,
    anon: Anon,
    out: &mut String,
) -> std::fmt::Result {
    let (from, to) = ends(view, anon);
    let name = anon.word(&view.frontend);
    let (id, thread, state) = (id(view), view.thread + 1, state(view));
    writeln!(out, "* {id:#x}[{thread:02}]: frontend={name} state={state} age={}ms", view.age_ms)?;
    let [sock, pktns, cc, mux] = query.parts;
    if sock {
        writeln!(out, "  sock: from={from} to={to} migrations={}", view.migrations)?;
    }
    if pktns {
        writeln!(out, "  pktns: sent={} lost={}", view.sent, view.lost)?;
    }
    if cc {
        writeln!(out, "  cc: cwnd={} rtt={}us mtu={}", view.window, view.rtt_us, view.mtu)?;
    }
    if mux {
        writeln!(out, "  mux: streams={} requests={}", view.streams, view.requests)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(thread: usize, number: usize, state: QuicState) -> QuicConnectionView {
        QuicConnectionView {
            number,
            thread,
            frontend: "web".to_owned(),
            state,
            from: "192.0.2.1:5000".parse().unwrap(),
            to: None,
            age_ms: 7,
            rtt_us: 250,
            window: 14_720,
            mtu: 1_452,
            sent: 12,
            lost: 1,
            migrations: 2,
            streams: 3,
            requests: 4,
        }
    }

    fn shown(format: &str, filter: &str) -> String {
        let parts = super::format(format).unwrap();
        let filter = super::filter(filter).unwrap();
        let views = vec![
            view(1, 0, QuicState::Established),
            view(0, 2, QuicState::Handshake),
            view(0, 1, QuicState::Closing),
        ];
        render(QuicQuery { parts, filter }, Anon::new(None), views)
    }

    #[test]
    fn connections_are_listed_by_format_and_filter() {
        let all = shown("oneline", "all");
        let rest = "3 4 250 14720 1452 12 1 192.0.2.1:5000 -";
        let expected = [
            "# conn/frontend state streams requests rtt_us cwnd mtu sent lost from to".to_owned(),
            format!("0x100000001[01]/web CLOSE {rest}"),
            format!("0x100000002[01]/web HDSHK {rest}"),
            format!("0x200000000[02]/web ESTAB {rest}"),
        ];
        assert_eq!(all.lines().collect::<Vec<_>>(), expected);
        assert_eq!(shown("oneline", "clo").lines().count(), 2);
        assert_eq!(shown("oneline", "be").lines().count(), 1);
        assert_eq!(
            shown("full", "200000000"),
            "* 0x200000000[02]: frontend=web state=ESTAB age=7ms\n  \
             sock: from=192.0.2.1:5000 to=- migrations=2\n  pktns: sent=12 lost=1\n  \
             cc: cwnd=14720 rtt=250us mtu=1452\n  mux: streams=3 requests=4\n"
        );
        assert_eq!(shown("cc,mux", "0x200000000").lines().count(), 3);
        assert!(format("cc,other").is_none() && filter("others").is_none());
    }
}
