//! The options in the address of a page: HAProxy's words after `;`.

use super::change::Outcome;
use crate::stats::{Look, States};
use crate::web::decode;

/// How the figures are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Format {
    #[default]
    Html,
    /// As `show stat` writes them.
    Rows(Look),
    /// The JSON schema of the figures, instead of the figures.
    Schema,
}

/// The options of one request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PageQuery {
    pub(super) format: Format,
    pub(super) states: States,
    /// Whether the page reloads itself.
    pub(super) refreshes: bool,
    /// Part of the names of the proxies shown.
    pub(super) scope: String,
    /// The result of the change that redirected to this page.
    pub(super) outcome: Option<Outcome>,
}

/// Longest scope that is looked at, in bytes.
const LONGEST_SCOPE: usize = 64;

impl PageQuery {
    /// Reads the options from a URI that begins with `prefix`. Options follow a semicolon in any
    /// order, as in HAProxy; other words, `/up` for one, are part of the path.
    pub(super) fn parse(uri: &[u8], prefix: &str) -> Self {
        let rest = uri.get(prefix.len()..).unwrap_or_default();
        let text = String::from_utf8_lossy(rest);
        Self {
            format: Format::of(&text),
            states: match () {
                () if text.contains(";up") => States::Up,
                () if text.contains(";no-maint") => States::NoMaint,
                () => States::All,
            },
            refreshes: !text.contains(";norefresh"),
            scope: value(&text, "scope=")
                .map_or_else(String::new, |it| decode(it).chars().take(LONGEST_SCOPE).collect()),
            outcome: value(&text, ";st=").and_then(Outcome::parse),
        }
    }
}

impl Format {
    fn of(text: &str) -> Self {
        match () {
            () if text.contains(";json-schema") => Format::Schema,
            () if text.contains(";json") => Format::Rows(Look::Json),
            () if text.contains(";typed") => Format::Rows(Look::Typed { describe: false }),
            () if text.contains(";csv") => Format::Rows(Look::Csv),
            () => Format::Html,
        }
    }
}

/// The text behind the first `name`, up to the next separator.
fn value<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let rest = &text[text.find(name)? + name.len()..];
    rest.split([';', '?', '&', '/']).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn options_are_found_at_any_position() {
        let parse = |uri: &str| PageQuery::parse(uri.as_bytes(), "/");
        assert_eq!(parse("/;csv").format, Format::Rows(Look::Csv));
        assert_eq!(parse("/;json;norefresh").format, Format::Rows(Look::Json));
        assert_eq!(parse("/;json-schema;csv").format, Format::Schema);
        assert_eq!(parse("/?json-schema").format, Format::Html);
        assert!(parse("/").refreshes && !parse("/;norefresh").refreshes);
        assert_eq!(parse("/;up").states, States::Up);
        assert_eq!(parse("/?scope=be%2dx+y;csv").scope, "be-x y");
        assert_eq!(parse("/;csv;scope=100%").scope, "100%");
        let typed = PageQuery::parse(b"/haproxy?stats;typed", "/haproxy?stats");
        assert_eq!(typed.format, Format::Rows(Look::Typed { describe: false }));
        assert_eq!(parse("/;st=DENY").outcome, Some(Outcome::Denied));
        assert_eq!(parse("/;st=<b>").outcome, None);
    }

    #[test]
    fn words_without_a_semicolon_are_no_options() {
        let none = PageQuery::parse(b"/", "/");
        for uri in
            ["/up", "/csv", "/?up", "/&up", "//up", "/?json", "/typed", "/norefresh", "/?st=DENY"]
        {
            assert_eq!(PageQuery::parse(uri.as_bytes(), "/"), none, "{uri}");
        }
    }

    #[test]
    fn the_order_of_options_does_not_matter() {
        for (uri, look) in [
            ("/;json;csv", Look::Json),
            ("/;csv;json", Look::Json),
            ("/;json;typed", Look::Json),
            ("/;typed;csv", Look::Typed { describe: false }),
            ("/;csv;typed", Look::Typed { describe: false }),
        ] {
            assert_eq!(PageQuery::parse(uri.as_bytes(), "/").format, Format::Rows(look), "{uri}");
        }
        assert_eq!(PageQuery::parse(b"/;no-maint;up", "/").states, States::Up);
    }

    proptest! {
        #[test]
        fn any_address_is_understood(uri in prop::collection::vec(any::<u8>(), 0..60)) {
            let query = PageQuery::parse(&uri, "/x");
            prop_assert!(query.scope.chars().count() <= LONGEST_SCOPE);
        }
    }
}
