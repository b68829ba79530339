//! The differences that are intended. Each is a class of `docs/http1-strictness.md`, where its reason
//! stands. Never excuses a valid message.

use super::exchange::Exchange;
use super::play::Seen;

/// One intended difference.
pub(super) struct Class {
    /// Its name in the document.
    pub(super) name: &'static str,
    holds: fn(&Case<'_>) -> bool,
}

/// All of them, fifteen at most; the first that holds gives the name.
pub(super) const CLASSES: &[Class] = &[
    Class { name: "chunks-to-an-old-client", holds: chunks_to_an_old_client },
    Class { name: "connect-with-content", holds: connect_with_content },
    Class { name: "request-cut-short", holds: |case| case.exchange.half_close },
    Class { name: "nul", holds: |case| case.spoilt.contains(&0) },
    Class { name: "line-ends-of-chunks", holds: line_ends_of_chunks },
    Class { name: "trailer-names", holds: trailer_names },
    Class { name: "status-code", holds: status_code },
    Class { name: "version", holds: version },
    Class { name: "control-in-target", holds: control_in_target },
    Class { name: "empty-transfer-encoding", holds: empty_transfer_encoding },
    Class { name: "content-length-beyond-64-bits", holds: content_length_beyond_64_bits },
    Class { name: "interim-then-garbage", holds: interim_then_garbage },
    Class { name: "te-in-part", holds: te_in_part },
    Class { name: "upgrade-with-a-body", holds: upgrade_with_a_body },
];

/// A difference to be judged.
struct Case<'a> {
    exchange: &'a Exchange,
    haproxy: &'a Seen,
    weir: &'a Seen,
    /// The malformed message.
    spoilt: &'a [u8],
}

/// The class of a difference.
pub(super) fn class(exchange: &Exchange, haproxy: &Seen, weir: &Seen) -> Option<&'static Class> {
    if exchange.flaws.is_empty() {
        return None;
    }
    let case = Case { exchange, haproxy, weir, spoilt: &exchange.spoilt.0 };
    CLASSES.iter().find(|class| (class.holds)(&case))
}

impl Case<'_> {
    fn is_answer(&self) -> bool {
        self.exchange.spoilt.1
    }

    /// The words of its start line.
    fn words(&self) -> impl Iterator<Item = &[u8]> {
        let mut lines = self.spoilt.split(|byte| matches!(byte, b'\r' | b'\n'));
        let start = lines.find(|line| !line.is_empty()).unwrap_or_default();
        start.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty())
    }

    /// What follows its head.
    fn body(&self) -> &[u8] {
        let end = self.spoilt.windows(4).position(|four| four == b"\r\n\r\n");
        end.map_or(&[], |at| &self.spoilt[at + 4..])
    }

    /// The values of its fields with this name, which is in lower case.
    fn values(&self, name: &str) -> Vec<String> {
        let head = &self.spoilt[..self.spoilt.len() - self.body().len()];
        let text = String::from_utf8_lossy(head).to_ascii_lowercase();
        let lines = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        lines.map(|value| value.trim().to_owned()).collect()
    }

    fn is_chunked(&self) -> bool {
        self.values("transfer-encoding").iter().any(|value| value.contains("chunked"))
    }
}

/// The origin answers HTTP/1.0 in chunks; HAProxy passes them on, Weir passes on what is in them.
fn chunks_to_an_old_client(case: &Case<'_>) -> bool {
    let has = |head: &[u8]| {
        String::from_utf8_lossy(head).to_ascii_lowercase().contains("\r\ntransfer-encoding:")
    };
    let mut both = case.haproxy.answers.iter().zip(&case.weir.answers);
    let first = both.find(|(one, other)| one != other);
    first.is_some_and(|(one, other)| has(&one.head) && !has(&other.head) && one.body == other.body)
}

/// HAProxy drops `Upgrade` of a request with a body, Weir passes it on.
fn upgrade_with_a_body(case: &Case<'_>) -> bool {
    let announced = ["content-length", "transfer-encoding"];
    let asked = case.values("connection").iter().any(|value| value.contains("upgrade"));
    !case.is_answer()
        && asked
        && !case.values("upgrade").is_empty()
        && announced.iter().any(|name| !case.values(name).is_empty())
}

fn connect_with_content(case: &Case<'_>) -> bool {
    let announced = ["content-length", "transfer-encoding"];
    !case.is_answer()
        && case.words().next() == Some(b"CONNECT")
        && announced.iter().any(|name| !case.values(name).is_empty())
}

/// A size line, or the end of a chunk, is a line feed alone.
fn line_ends_of_chunks(case: &Case<'_>) -> bool {
    let mut rest = case.body();
    while case.is_chunked() {
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { return false };
        if end == 0 || rest[end - 1] != b'\r' {
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

/// A trailer's name is no token, or a blank is before it or behind it.
fn trailer_names(case: &Case<'_>) -> bool {
    let text = String::from_utf8_lossy(case.body());
    let Some((_, trailers)) = text.split_once("\r\n0\r\n") else { return false };
    let mut names = trailers.lines().filter_map(|line| line.split_once(':')).map(|it| it.0);
    case.is_chunked() && names.any(|name| name.trim() != name)
}

fn status_code(case: &Case<'_>) -> bool {
    let code = case.words().nth(1).unwrap_or_default();
    case.is_answer()
        && !matches!(code, [b'1'..=b'9', b, c] if b.is_ascii_digit() && c.is_ascii_digit())
}

/// HAProxy repeats odd versions and takes some for HTTP; Weir sends its own and refuses others.
fn version(case: &Case<'_>) -> bool {
    let word = match case.is_answer() {
        true => case.words().next(),
        false => case.words().nth(2),
    };
    !matches!(word, Some(b"HTTP/1.0" | b"HTTP/1.1"))
}

fn control_in_target(case: &Case<'_>) -> bool {
    !case.is_answer() && case.words().nth(1).unwrap_or_default().contains(&0x7f)
}

fn empty_transfer_encoding(case: &Case<'_>) -> bool {
    case.is_answer() && case.values("transfer-encoding").iter().any(String::is_empty)
}

fn content_length_beyond_64_bits(case: &Case<'_>) -> bool {
    let beyond = |value: &String| {
        value.bytes().all(|byte| byte.is_ascii_digit())
            && !value.is_empty()
            && value.parse::<u64>().is_err()
    };
    case.values("content-length").iter().any(beyond)
}

/// An interim response is right by itself: Weir passes it on before it looks at what follows.
fn interim_then_garbage(case: &Case<'_>) -> bool {
    case.is_answer() && case.words().nth(1).is_some_and(|code| code.starts_with(b"1"))
}

/// HAProxy finds `trailers` in any word that ends with it.
fn te_in_part(case: &Case<'_>) -> bool {
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
