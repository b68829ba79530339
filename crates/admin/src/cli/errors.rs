//! `show errors`: the last messages that were refused, with the place that is wrong (management.txt
//! 9.3).

use super::call::{Call, Reply};
use engine::state::records::last_invalid::Invalid;
use engine::state::runtime::ProxySection;
use sample::calendar::Date;
use std::fmt::Write as _;
use std::sync::atomic::Ordering::Relaxed;

/// Most columns of the text of a line.
const COLUMNS: usize = 70;

/// `show errors [<iid>|<proxy>] [request|response]`
pub(super) fn show(call: &mut Call<'_>) -> Reply {
    let (wanted, side) = match (call.word(2), call.word(3)) {
        (side @ ("request" | "response"), _) => (None, side),
        ("" | "-1", side) => (None, side),
        (name, side) => match id(call, name) {
            Some(id) => (Some(id), side),
            None => return Reply::error("No such proxy."),
        },
    };
    let (shared, offset) = (call.shared(), call.worker.local_offset());
    let mut out = format!(
        "Total events captured on [{}] : {}\n",
        date(call.worker.thread.wall(), offset),
        shared.invalid.load(Relaxed)
    );
    for proxy in &shared.proxies {
        for (is_request, invalid) in proxy.refused() {
            let on_side = side.is_empty() || (side == "request") == is_request;
            if on_side && wanted.is_none_or(|id| concerns(&shared.proxies, &invalid, id)) {
                let place = (date(invalid.wall, offset), is_request);
                event(&shared.proxies, &invalid, place, &mut out);
            }
        }
    }
    Reply::Dump(out)
}

fn id(call: &Call<'_>, name: &str) -> Option<u32> {
    let named = call.shared().proxies.iter().find(|proxy| proxy.name() == name);
    named.map(|proxy| proxy.settings.id).or_else(|| name.parse().ok())
}

fn concerns(proxies: &[ProxySection], invalid: &Invalid, id: u32) -> bool {
    let is = |index: usize| proxies.get(index).is_some_and(|proxy| proxy.settings.id == id);
    is(invalid.frontend) || invalid.backend.is_some_and(is)
}

fn date(wall: u64, offset: i32) -> String {
    let mut text = Vec::new();
    Date::new((wall / 1_000_000_000) as i64, offset).write_clf(&mut text);
    format!("{}.{:03}", String::from_utf8_lossy(&text), wall / 1_000_000 % 1_000)
}

fn event(
    proxies: &[ProxySection],
    invalid: &Invalid,
    (date, is_request): (String, bool),
    out: &mut String,
) {
    let named = |index: Option<usize>| match index.and_then(|index| proxies.get(index)) {
        Some(proxy) => format!("{} (#{})", proxy.name(), proxy.settings.id),
        None => "<NONE> (#-1)".to_owned(),
    };
    let (front, back) = (named(Some(invalid.frontend)), named(invalid.backend));
    let server = match &invalid.server {
        Some((name, id)) => format!("{name} (#{id})"),
        None => "<NONE> (#-1)".to_owned(),
    };
    // Writing to a string cannot fail.
    let _ = match is_request {
        true => write!(out, " \n[{date}] frontend {front}: invalid request\n  backend {back}"),
        false => write!(out, " \n[{date}] backend {back}: invalid response\n  frontend {front}"),
    };
    let source = match invalid.source {
        Some(source) => format!("src {source}"),
        None => "src unix:1".to_owned(),
    };
    let (len, size) = (invalid.bytes.len(), invalid.size);
    let _ = write!(
        out,
        ", server {server}, event #{}, {source}\n  \
         buffer starts at 0 (including 0 out), {} free,\n  \
         len {len}, wraps at {size}, error at position {}\n  \
         H1 connection flags 0x00000000, H1 stream flags 0x00000000\n  \
         H1 msg state {}, H1 msg flags 0x00000000\n  \
         H1 chunk len 0 bytes, H1 body len 0 bytes :\n  \n",
        invalid.number,
        size.saturating_sub(len),
        invalid.at,
        invalid.reason
    );
    dump(&invalid.bytes, out);
}

/// The bytes as text, a line for each line; `+` marks a continuation of the line before.
fn dump(bytes: &[u8], out: &mut String) {
    let (mut at, mut goes_on) = (0, false);
    while at < bytes.len() {
        let _ = write!(out, "  {at:05}{} ", if goes_on { '+' } else { ' ' });
        let mut columns = 0;
        goes_on = true;
        while let Some(byte) = bytes.get(at).filter(|_| columns < COLUMNS) {
            let before = out.len();
            let _ = match byte {
                b'\n' => write!(out, "\\n"),
                b'\r' => write!(out, "\\r"),
                b'\t' => write!(out, "\\t"),
                b'\\' => write!(out, "\\\\"),
                0x20..=0x7e => write!(out, "{}", char::from(*byte)),
                other => write!(out, "\\x{other:02X}"),
            };
            columns += out.len() - before;
            at += 1;
            if *byte == b'\n' {
                goes_on = false;
                break;
            }
        }
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::dump;

    #[test]
    fn bytes_are_shown_line_by_line() {
        let mut out = String::new();
        let long = "z".repeat(80);
        let bytes = format!("GET / HTTP/1.1\r\nFoo : b\tr\\\0\r\nlong: {long}\r\n\r\nrest");
        dump(bytes.as_bytes(), &mut out);
        let (first, rest) = ("z".repeat(64), "z".repeat(16));
        assert_eq!(
            out,
            format!(
                "  00000  GET / HTTP/1.1\\r\\n\n  00016  Foo : b\\tr\\\\\\x00\\r\\n\n  \
                 00029  long: {first}\n  00099+ {rest}\\r\\n\n  00117  \\r\\n\n  00119  rest\n"
            )
        );
    }
}
