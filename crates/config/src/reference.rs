//! All implemented keywords as data, for the reference page and the coverage report.
use crate::keyword::{Keyword, Places};
use crate::parse::{
    bind, compression, filter, global, option, proxy, quic_global, server, stats, timeout, tls,
    tls_global,
};
use crate::section::{Lines, SECTIONS};
use crate::{known, later};

/// One implemented keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeywordDoc {
    /// The table that it is in: `global`, `proxy`, `option`, `timeout`, `stats`, `bind`, `server`,
    /// or the name of a section that has keywords of its own.
    pub class: &'static str,
    /// The word.
    pub name: &'static str,
    /// Its arguments as the manual writes them.
    pub arguments: &'static str,
    /// Allowed in `defaults`; `Some(false)` is in named ones only.
    pub in_defaults: Option<bool>,
    /// Acts in sections with a client side.
    pub in_frontends: bool,
    /// Acts in sections with a server side.
    pub in_backends: bool,
    /// Its effect, in a sentence.
    pub doc: &'static str,
    /// The first version of the programs that has it.
    pub since: Since,
}

/// The first program that has a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// HAProxy 2.7, or a version before.
    Language,
    /// A later version of HAProxy.
    Later,
    /// No HAProxy.
    Weir,
}

impl Since {
    /// Its name for readers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Language => "HAProxy 2.7",
            Self::Later => "HAProxy 3",
            Self::Weir => "Weir",
        }
    }

    fn of(class: &'static str, name: &str) -> Self {
        match (known::contains(class, name), later::contains(class, name)) {
            (true, _) => Self::Language,
            (false, true) => Self::Later,
            _ => Self::Weir,
        }
    }
}

/// One kind of section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionDoc {
    /// The keyword that opens the section, which is also the class of its keywords.
    pub name: &'static str,
    /// Its content, in a sentence.
    pub doc: &'static str,
    /// Whether the section has keywords of its own, which [`keywords`] lists.
    pub has_keywords: bool,
}

/// All implemented kinds of sections, alphabetical.
pub fn sections() -> Vec<SectionDoc> {
    let implemented = SECTIONS.iter().filter(|kind| !matches!(kind.lines, Lines::Unread));
    let mut all: Vec<SectionDoc> = implemented
        .map(|kind| SectionDoc {
            name: kind.name,
            doc: kind.doc,
            has_keywords: !kind.keywords().is_empty(),
        })
        .collect();
    all.sort_by_key(|section| section.name);
    all
}

/// All implemented keywords, table by table, alphabetical in each.
pub fn keywords() -> Vec<KeywordDoc> {
    let mut all = Vec::new();
    all.extend(
        global::KEYWORDS
            .iter()
            .chain(tls_global::KEYWORDS)
            .chain(quic_global::KEYWORDS)
            .map(|k| doc("global", k)),
    );
    all.extend(proxy::KEYWORDS.iter().map(|k| doc("proxy", k)));
    all.extend(option::OPTIONS.iter().map(|choice| doc("option", &choice.keyword)));
    all.extend(
        timeout::TIMEOUTS.iter().map(|t| entry("timeout", t.name, "<time>", t.places, t.doc)),
    );
    all.extend(compression::VERBS.iter().map(|k| doc("compression", k)));
    all.extend(filter::FILTERS.iter().map(|f| doc("filter", &f.keyword)));
    all.extend(stats::VERBS.iter().map(|k| doc("stats", k)));
    all.extend(bind::OPTIONS.iter().chain(tls::BIND).map(|k| doc("bind", k)));
    all.extend(server::OPTIONS.iter().chain(tls::SERVER).map(|k| doc("server", k)));
    for kind in SECTIONS {
        all.extend(kind.keywords().iter().map(|k| doc(kind.name, k)));
    }
    // Words of TLS have tables of their own.
    for class in all.chunk_by_mut(|one, next| one.class == next.class) {
        class.sort_by_key(|keyword| keyword.name);
    }
    all
}

/// Name and scope of each filter, alphabetical, as `-vv` and `-dK` list them.
pub fn filters() -> impl Iterator<Item = (&'static str, &'static str)> {
    filter::FILTERS.iter().map(|filter| (filter.keyword.name, filter.scope))
}

/// How many names of a class HAProxy 2.7 has.
pub fn known_names(class: &'static str) -> usize {
    known::names(class).count()
}

fn doc<F>(class: &'static str, keyword: &Keyword<F>) -> KeywordDoc {
    entry(class, keyword.name, keyword.arguments, keyword.places, keyword.doc)
}

fn entry(
    class: &'static str,
    name: &'static str,
    arguments: &'static str,
    places: Places,
    doc: &'static str,
) -> KeywordDoc {
    let in_defaults = match (places.has(Places::DEFAULTS), places.has(Places::NAMED)) {
        (true, _) => Some(true),
        (false, named) => named.then_some(false),
    };
    let (in_frontends, in_backends) = (places.has(Places::FRONT), places.has(Places::BACK));
    let since = Since::of(class, name);
    KeywordDoc { class, name, arguments, in_defaults, in_frontends, in_backends, doc, since }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keywords that HAProxy has not, or not before its third version (`tune.notsent-lowat`,
    /// `accept-unsafe-violations`).
    const OWN: &[(&str, &str)] = &[
        ("bind", "ocsp-update"),
        ("bind", "quic-socket"),
        ("cache", "coalesce"),
        ("cache", "ranges"),
        ("cache", "revalidate"),
        ("cache", "stale-if-error"),
        ("cache", "stale-while-revalidate"),
        ("global", "httpclient.resolvers.disabled"),
        ("global", "httpclient.retries"),
        ("global", "httpclient.timeout.connect"),
        ("global", "tune.histograms"),
        ("global", "tune.history"),
        ("global", "tune.memory.limit"),
        ("global", "tune.notsent-lowat.client"),
        ("global", "tune.notsent-lowat.server"),
        ("global", "tune.ssl.max-handshakes"),
        ("global", "tune.ssl.own-records"),
        ("global", "tune.why"),
        ("option", "accept-unsafe-violations-in-http-request"),
        ("option", "accept-unsafe-violations-in-http-response"),
        ("peers", "shards"),
        ("resolvers", "honor-ttl"),
        ("stats", "drain"),
    ];

    /// Beginnings of global keywords that HAProxy has in its third version.
    const THIRD: &[&str] =
        &["tune.glitches.", "tune.h2.be.", "tune.h2.fe.", "tune.quic.fe.", "tune.quic.listen"];

    #[test]
    fn tables_are_alphabetical_without_doubles_and_of_known_names() {
        let all = keywords();
        for pair in all.windows(2).filter(|pair| pair[0].class == pair[1].class) {
            assert!(pair[0].name < pair[1].name, "{} {}", pair[0].class, pair[1].name);
        }
        for keyword in &all {
            let third = THIRD.iter().any(|beginning| keyword.name.starts_with(beginning));
            let later = third || keyword.since == Since::Later;
            let own = later || OWN.contains(&(keyword.class, keyword.name));
            assert!(own || known::contains(keyword.class, keyword.name), "{keyword:?}");
            assert!(keyword.doc.ends_with('.'), "{keyword:?}");
        }
    }
}
