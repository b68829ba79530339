//! What the address of a page asks for: HAProxy's words after `;`. Never fails: what is not
//! understood is ignored.

use super::change::Outcome;
use crate::stats::{Look, States};

/// How the figures are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Format {
    #[default]
    Html,
    /// As `show stat` writes them.
    Rows(Look),
    /// Not the figures: what they look like in JSON.
    Schema,
}

/// The options of one request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Query {
    pub(super) format: Format,
    pub(super) states: States,
    /// Whether the page reloads itself.
    pub(super) refreshes: bool,
    /// Part of the names of the proxies shown.
    pub(super) scope: String,
    /// How the change that led here went.
    pub(super) outcome: Option<Outcome>,
}

/// Longest scope that is looked at, in bytes.
const LONGEST_SCOPE: usize = 64;

impl Query {
    /// Reads the options from a URI that begins with `prefix`.
    pub(super) fn parse(uri: &[u8], prefix: &str) -> Self {
        let rest = uri.get(prefix.len()..).unwrap_or_default();
        let text = String::from_utf8_lossy(rest);
        let mut query = Self {
            format: Format::Html,
            states: States::All,
            refreshes: true,
            scope: String::new(),
            outcome: None,
        };
        for word in text.split([';', '?', '&', '/']) {
            query.take(word);
        }
        if text.contains(";json-schema") {
            query.format = Format::Schema;
        }
        query
    }

    fn take(&mut self, word: &str) {
        match word {
            "csv" => self.format = Format::Rows(Look::Csv),
            "typed" => self.format = Format::Rows(Look::Typed { describe: false }),
            "json" => self.format = Format::Rows(Look::Json),
            "up" => self.states = States::Up,
            "no-maint" => self.states = States::NoMaint,
            "norefresh" => self.refreshes = false,
            _ => {
                if let Some(scope) = word.strip_prefix("scope=") {
                    self.scope = decode(scope).chars().take(LONGEST_SCOPE).collect();
                } else if let Some(outcome) = word.strip_prefix("st=") {
                    self.outcome = Outcome::parse(outcome);
                }
            }
        }
    }
}

/// Decodes `%41` and `+`.
pub(crate) fn decode(text: &str) -> String {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match (byte, after) {
            (b'+', _) => bytes.push(b' '),
            (b'%', [high, low, after @ ..]) => match (digit(high), digit(low)) {
                (Some(high), Some(low)) => {
                    bytes.push((high * 16 + low) as u8);
                    rest = after;
                }
                _ => bytes.push(b'%'),
            },
            (other, _) => bytes.push(*other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn options_are_found_wherever_they_stand() {
        let parse = |uri: &str| Query::parse(uri.as_bytes(), "/");
        assert_eq!(parse("/;csv").format, Format::Rows(Look::Csv));
        assert_eq!(parse("/;json;norefresh").format, Format::Rows(Look::Json));
        assert_eq!(parse("/;json-schema;csv").format, Format::Schema);
        assert_eq!(parse("/?json-schema").format, Format::Html);
        assert!(parse("/").refreshes && !parse("/;norefresh").refreshes);
        assert_eq!(parse("/;up").states, States::Up);
        assert_eq!(parse("/?scope=be%2dx+y;csv").scope, "be-x y");
        assert_eq!(parse("/;csv;scope=100%").scope, "100%");
        let typed = Query::parse(b"/haproxy?stats;typed", "/haproxy?stats");
        assert_eq!(typed.format, Format::Rows(Look::Typed { describe: false }));
        assert_eq!(parse("/;st=DENY").outcome, Some(Outcome::Denied));
        assert_eq!(parse("/;st=<b>").outcome, None);
    }

    proptest! {
        #[test]
        fn any_address_is_understood(uri in prop::collection::vec(any::<u8>(), 0..60)) {
            let query = Query::parse(&uri, "/x");
            prop_assert!(query.scope.chars().count() <= LONGEST_SCOPE);
        }
    }
}
