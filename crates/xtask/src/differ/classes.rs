//! The differences that are intended. Each is a class of `docs/http1-strictness.md`, which gives
//! its reason.

use super::exchange::Exchange;
use super::play::PlayResult;

/// One intended difference.
pub(super) struct Class {
    /// Its name in the document.
    pub(super) name: &'static str,
    holds: fn(&Comparison<'_>) -> bool,
}

/// All of them, fifteen at most; the first that holds gives the name.
pub(super) const CLASSES: &[Class] = &[
    Class { name: "chunks-to-an-old-client", holds: chunks_to_an_old_client },
    Class { name: "connect-with-content", holds: connect_with_content },
    Class { name: "request-cut-short", holds: |case| case.exchange.half_close },
    Class { name: "nul", holds: |case| case.spoilt.contains(&0) },
    Class { name: "lines-of-chunks", holds: lines_of_chunks },
    Class { name: "trailers", holds: trailers },
    Class { name: "status-code", holds: status_code },
    Class { name: "version", holds: version },
    Class { name: "control-in-target", holds: control_in_target },
    Class { name: "spelling-of-framing", holds: spelling_of_framing },
    Class { name: "content-length-beyond-64-bits", holds: content_length_beyond_64_bits },
    Class { name: "interim-then-garbage", holds: interim_then_garbage },
    Class { name: "te-in-part", holds: te_in_part },
    Class { name: "upgrade", holds: upgrade },
    Class { name: "hosts-and-targets", holds: hosts_and_targets },
];

/// A difference to be judged.
struct Comparison<'a> {
    exchange: &'a Exchange,
    haproxy: &'a PlayResult,
    weir: &'a PlayResult,
    /// The malformed message.
    spoilt: &'a [u8],
}

/// The class of a difference.
pub(super) fn class(
    exchange: &Exchange,
    haproxy: &PlayResult,
    weir: &PlayResult,
) -> Option<&'static Class> {
    if exchange.flaws.is_empty() {
        return None;
    }
    let case = Comparison { exchange, haproxy, weir, spoilt: &exchange.spoilt.0 };
    CLASSES.iter().find(|class| (class.holds)(&case))
}

impl Comparison<'_> {
    fn is_answer(&self) -> bool {
        self.exchange.spoilt.1
    }

    /// The words of its start line.
    fn words(&self) -> impl Iterator<Item = &[u8]> {
        let mut lines = self.spoilt.split(|byte| matches!(byte, b'\r' | b'\n'));
        let start = lines.find(|line| !line.is_empty()).unwrap_or_default();
        start.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty())
    }

    /// The bytes after its head.
    fn body(&self) -> &[u8] {
        let end = self.spoilt.windows(4).position(|four| four == b"\r\n\r\n");
        end.map_or(&[], |at| &self.spoilt[at + 4..])
    }

    /// The values of its fields with this name, which is in lower case, as they are written.
    fn spelled(&self, name: &str) -> Vec<String> {
        let head = &self.spoilt[..self.spoilt.len() - self.body().len()];
        let text = String::from_utf8_lossy(head);
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        let named = lines.filter(|line| line.0.eq_ignore_ascii_case(name));
        named.map(|line| line.1.trim().to_owned()).collect()
    }

    /// The same in lower case.
    fn values(&self, name: &str) -> Vec<String> {
        self.spelled(name).iter().map(|value| value.to_ascii_lowercase()).collect()
    }

    fn is_chunked(&self) -> bool {
        self.values("transfer-encoding").iter().any(|value| value.contains("chunked"))
    }
}

/// The origin answers HTTP/1.0 in chunks; HAProxy passes the chunks on, Weir passes their content
/// on.
fn chunks_to_an_old_client(case: &Comparison<'_>) -> bool {
    let has = |head: &[u8]| {
        String::from_utf8_lossy(head).to_ascii_lowercase().contains("\r\ntransfer-encoding:")
    };
    let mut both = case.haproxy.answers.iter().zip(&case.weir.answers);
    let first = both.find(|(one, other)| one != other);
    first.is_some_and(|(one, other)| has(&one.head) && !has(&other.head) && one.body == other.body)
}

fn connect_with_content(case: &Comparison<'_>) -> bool {
    let announced = ["content-length", "transfer-encoding"];
    !case.is_answer()
        && case.words().next() == Some(b"CONNECT")
        && announced.iter().any(|name| !case.values(name).is_empty())
}

/// A size line, or the end of a chunk, is a line feed alone; or an extension has an open quotation
/// mark or a control character.
fn lines_of_chunks(case: &Comparison<'_>) -> bool {
    let mut rest = case.body();
    while case.is_chunked() {
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { return false };
        if end == 0 || rest[end - 1] != b'\r' {
            return true;
        }
        let line = &rest[..end - 1];
        let marks = line.iter().filter(|byte| **byte == b'"').count();
        if marks % 2 == 1 || line.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
            return true;
        }
        let digits = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let size = std::str::from_utf8(&rest[..digits]).ok();
        let size = size.and_then(|text| usize::from_str_radix(text, 16).ok()).unwrap_or(0);
        if size == 0 {
            return false;
        }
        let Some(next) = rest[end + 1..].get(size..) else { return false };
        match next {
            [b'\r', b'\n', more @ ..] => rest = more,
            _ => return next.first() == Some(&b'\n'),
        }
    }
    false
}

/// A trailer's name is no token, a blank is before it or behind it, or it has no place there.
fn trailers(case: &Comparison<'_>) -> bool {
    const MISPLACED: [&str; 4] = ["content-length", "transfer-encoding", "host", "connection"];
    let text = String::from_utf8_lossy(case.body());
    let Some((_, trailers)) = text.split_once("\r\n0\r\n") else { return false };
    let mut names = trailers.lines().filter_map(|line| line.split_once(':')).map(|it| it.0);
    case.is_chunked()
        && names.any(|name| name.trim() != name || MISPLACED.contains(&&*name.to_ascii_lowercase()))
}

fn status_code(case: &Comparison<'_>) -> bool {
    let code = case.words().nth(1).unwrap_or_default();
    case.is_answer()
        && !matches!(code, [b'1'..=b'9', b, c] if b.is_ascii_digit() && c.is_ascii_digit())
}

/// HAProxy repeats odd versions and takes some for HTTP; Weir sends its own version and refuses
/// other versions.
fn version(case: &Comparison<'_>) -> bool {
    let word = match case.is_answer() {
        true => case.words().next(),
        false => case.words().nth(2),
    };
    !matches!(word, Some(b"HTTP/1.0" | b"HTTP/1.1"))
}

fn control_in_target(case: &Comparison<'_>) -> bool {
    !case.is_answer() && case.words().nth(1).unwrap_or_default().contains(&0x7f)
}

/// An empty item, another case than the usual one, zeros in front of a number.
fn spelling_of_framing(case: &Comparison<'_>) -> bool {
    let coding = |value: &String| {
        value.is_empty() && case.is_answer()
            || value.ends_with(',')
            || value.eq_ignore_ascii_case("chunked") && value != "chunked"
    };
    let zeros = |value: &String| {
        value.split(',').any(|item| item.trim().len() > 1 && item.trim().starts_with('0'))
    };
    case.spelled("transfer-encoding").iter().any(coding)
        || case.spelled("content-length").iter().any(zeros)
}

/// HAProxy passes on what asks for a protocol with requests in it, and an `Upgrade` that
/// `Connection` does not name; with a body, it passes on none.
fn upgrade(case: &Comparison<'_>) -> bool {
    let option = |value: &String| value.contains("upgrade") || value.contains("http2-settings");
    !case.values("upgrade").is_empty()
        || !case.values("http2-settings").is_empty()
        || case.values("connection").iter().any(option)
}

/// HAProxy takes hosts and targets of no valid form where they agree.
fn hosts_and_targets(case: &Comparison<'_>) -> bool {
    let usual = |host: &str| {
        let name = host.split(':').next().unwrap_or_default();
        let port = host.split_once(':').map_or("", |(_, port)| port);
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
            && port.bytes().all(|byte| byte.is_ascii_digit())
    };
    let head = String::from_utf8_lossy(&case.spoilt[..case.spoilt.len() - case.body().len()]);
    let mut lines = head.lines().zip(head.lines().skip(1));
    let folded = lines.any(|(line, next)| {
        line.to_ascii_lowercase().starts_with("host:") && next.starts_with([' ', '\t'])
    });
    let method = case.words().next().unwrap_or_default();
    let target = String::from_utf8_lossy(case.words().nth(1).unwrap_or_default()).into_owned();
    let right = match target.split_once("://") {
        _ if target.starts_with('/') || method == b"CONNECT" => true,
        Some((_, rest)) => {
            let authority = rest.split(['/', '?']).next().unwrap_or_default();
            let host = authority.rsplit('@').next().unwrap_or_default();
            !host.is_empty() && usual(host)
        }
        None => target == "*" && method == b"OPTIONS",
    };
    !case.is_answer() && (folded || !right || !case.spelled("host").iter().all(|host| usual(host)))
}

fn content_length_beyond_64_bits(case: &Comparison<'_>) -> bool {
    let beyond = |value: &String| {
        value.bytes().all(|byte| byte.is_ascii_digit())
            && !value.is_empty()
            && value.parse::<u64>().is_err()
    };
    case.values("content-length").iter().any(beyond)
}

/// An interim response is valid by itself: Weir passes it on before it parses the next bytes.
fn interim_then_garbage(case: &Comparison<'_>) -> bool {
    case.is_answer() && case.words().nth(1).is_some_and(|code| code.starts_with(b"1"))
}

/// HAProxy finds `trailers` in any word that ends with it.
fn te_in_part(case: &Comparison<'_>) -> bool {
    let words = |value: &String| -> Vec<String> {
        value.split([',', ';']).map(|word| word.trim().to_owned()).collect()
    };
    let part = |word: &String| word.ends_with("trailers") && word != "trailers";
    !case.is_answer() && case.values("te").iter().any(|value| words(value).iter().any(part))
}

#[cfg(test)]
mod tests {
    //! The list is short, and the document has it.
    use super::*;

    #[test]
    fn every_class_is_in_the_document_with_its_section() {
        assert!(CLASSES.len() <= 15);
        let root = crate::workspace::root().unwrap();
        let text = std::fs::read_to_string(root.join("docs/http1-strictness.md")).unwrap();
        for class in CLASSES {
            let row = format!("| `{}` |", class.name);
            let line = text.lines().find(|line| line.starts_with(&row));
            let line = line.unwrap_or_else(|| panic!("no row for {}", class.name));
            assert!(line.contains("RFC 9112"), "{line}");
        }
        let rows = text.lines().skip_while(|line| *line != "## Intended differences");
        let rows = rows.filter(|line| line.starts_with("| `")).count();
        assert_eq!(rows, CLASSES.len(), "a class in the document that the tool does not know");
    }
}
