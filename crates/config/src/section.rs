//! Kinds of sections (sections 3 and 4): one row each, in one table, which the reader, the model and the references use.
use crate::context::Cx;
use crate::diag::Place;
use crate::draft::Draft;
use crate::keyword::{Keyword, Places};
use crate::line::{Args, Fault, Parsed};
use crate::model::{Model, Proxy};
use crate::validate::tls::TlsContext;
use crate::value::is_name_char;
use crate::{later, suggest};

mod cache;
mod error_recovery;
mod fcgi_app;
mod global;
mod http_errors;
mod log_forward;
mod mailers;
mod namespaces;
mod peers;
mod program;
mod proxy;
pub(crate) mod resolvers;
mod ring;
mod userlist;

/// Every kind of section, in the order in which they are completed and their final messages appear.
pub(crate) const SECTIONS: &[SectionKind] = &[
    proxy::DEFAULTS,
    proxy::FRONTEND,
    proxy::BACKEND,
    proxy::LISTEN,
    http_errors::KIND,
    userlist::KIND,
    mailers::KIND,
    log_forward::KIND,
    ring::KIND,
    program::KIND,
    resolvers::KIND,
    namespaces::KIND,
    global::KIND,
    cache::KIND,
    fcgi_app::KIND,
    peers::KIND,
];

/// Reads one line of the section with this index among those of its kind.
pub(crate) type ReadLine = fn(&mut Draft, usize, &mut Cx<'_>, Args<'_>) -> Parsed;

/// A kind of section: what happens at the line that opens one, at each line in it, and when all
/// lines of the configuration are read.
pub(crate) struct SectionKind {
    /// The keyword that opens it.
    pub(crate) name: &'static str,
    /// One sentence for the reference page.
    pub(crate) doc: &'static str,
    /// Reads the line that opens the section; returns its index among those of its kind. Mistakes
    /// in the line do not keep the section from opening, so that its lines are judged too.
    pub(crate) open: fn(&mut Draft, &mut Cx<'_>, Args<'_>) -> usize,
    /// The value of `.SECTION`.
    pub(crate) title: fn(&Draft, usize) -> &str,
    /// The tables that its lines are read by.
    pub(crate) lines: Lines,
    /// Own keywords that HAProxy has removed, and its messages about them.
    pub(crate) removed: &'static [(&'static str, &'static str)],
    /// The message about an unknown keyword, where it is not the usual one.
    pub(crate) unknown: Option<fn(&str) -> String>,
    /// Loads certificates and authorities of its lines, before anything refers to it.
    pub(crate) tls: fn(&mut Draft, &TlsContext, &mut Cx<'_>),
    /// Completes its sections before the proxies that name them are completed.
    pub(crate) complete: fn(&mut Draft, &mut Cx<'_>),
    /// Judges its sections when all proxies are complete.
    pub(crate) finish: fn(&mut Draft, &Finished<'_>, &mut Cx<'_>),
    /// Moves its sections into the model.
    pub(crate) build: fn(&mut Draft, &mut Model),
    /// Whether one of its sections listens.
    pub(crate) listens: fn(&Model) -> bool,
}

/// The tables that the lines of a section are read by.
#[derive(Clone, Copy)]
pub(crate) enum Lines {
    /// The table of `global`.
    Global(ReadLine),
    /// The keywords of `defaults` and proxies.
    Proxy(ReadLine),
    /// A table of the section's own.
    Own(&'static [Keyword<ReadLine>]),
    /// No table: the lines are not read.
    Unread,
}

/// The state when all proxies are complete.
pub(crate) struct Finished<'a> {
    pub(crate) proxies: &'a [Proxy],
    /// False after errors: a line that failed must not be reported as missing too.
    pub(crate) advise: bool,
}

/// A row without functions, from which other rows take the fields that they lack.
const PLAIN: SectionKind = SectionKind {
    name: "",
    doc: "",
    open: |_, _, _| 0,
    title: |_, _| "",
    lines: Lines::Unread,
    removed: &[],
    unknown: None,
    tls: |_, _, _| {},
    complete: |_, _| {},
    finish: |_, _, _| {},
    build: |_, _| {},
    listens: |_| false,
};

/// An open section.
#[derive(Clone, Copy)]
pub(crate) struct Section {
    pub(crate) kind: &'static SectionKind,
    /// The index of the section among those of its kind.
    index: usize,
}

impl Section {
    /// Opens the section that the line names; `None` if it names none.
    pub(crate) fn open(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> Option<Self> {
        let name = args.text(0);
        let kind = SECTIONS.iter().find(|kind| kind.name == name)?;
        Some(Self { kind, index: (kind.open)(draft, cx, args) })
    }

    /// The value of `.SECTION`.
    pub(crate) fn title(self, draft: &Draft) -> &str {
        (self.kind.title)(draft, self.index)
    }

    /// Parses one line of the section.
    pub(crate) fn line(self, draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
        match self.kind.lines {
            Lines::Global(read) | Lines::Proxy(read) => read(draft, self.index, cx, args),
            Lines::Unread => Ok(()),
            Lines::Own(table) => match Keyword::find(table, args.text(0)) {
                Some(keyword) => (keyword.parse)(draft, self.index, cx, args),
                None => Err(self.kind.unknown(table, args)),
            },
        }
    }
}

impl SectionKind {
    /// The section's own keywords; empty if its lines are those of proxies or of `global`.
    pub(crate) fn keywords(&self) -> &'static [Keyword<ReadLine>] {
        match self.lines {
            Lines::Own(table) => table,
            _ => &[],
        }
    }

    /// The fault of a line with none of its own keywords.
    fn unknown(&self, table: &'static [Keyword<ReadLine>], args: Args<'_>) -> Fault {
        let word = args.text(0);
        if let Some((_, hint)) = self.removed.iter().find(|(removed, _)| *removed == word) {
            return args.fault(0, *hint);
        }
        if later::contains(self.name, word) {
            return args.fault(0, later::message(self.name, word, word));
        }
        if later::contains("section", word) {
            return args.fault(0, later::message("section", word, word));
        }
        let message = match self.unknown {
            Some(message) => message(word),
            None => format!("unknown keyword '{word}' in '{}' section", self.name),
        };
        let names = table.iter().map(|keyword| keyword.name);
        args.fault(0, message).suggest(suggest::nearest(word, names))
    }
}

/// The fault of a line before the first section.
pub(crate) fn outside(args: Args<'_>) -> Fault {
    let word = args.text(0);
    if later::contains("section", word) {
        return args.fault(0, later::message("section", word, word));
    }
    let message = format!("unknown keyword '{word}' out of section.");
    args.fault(0, message).suggest(suggest::nearest(word, SECTIONS.iter().map(|kind| kind.name)))
}

/// The row of a keyword in a section of its own.
const fn own(
    name: &'static str,
    arguments: &'static str,
    doc: &'static str,
    parse: ReadLine,
) -> Keyword<ReadLine> {
    Keyword { name, arguments, places: Places::WORD, doc, parse }
}

/// Reports an error as an alert.
fn reported<T>(cx: &mut Cx<'_>, args: Args<'_>, parsed: Parsed<T>) -> Option<T> {
    parsed.map_err(|fault| cx.alert(args, fault)).ok()
}

/// The name of a section whose line has no other words. Additional words are an error, but the
/// section keeps its name.
fn only_name<'l>(cx: &mut Cx<'_>, args: Args<'l>, missing: &str) -> &'l str {
    let name = reported(cx, args, args.need(1, missing)).unwrap_or("");
    reported(cx, args, args.no_more_than(1));
    name
}

/// The name of a section of this kind, behind which words are ignored as in HAProxy.
fn first_name<'l>(cx: &mut Cx<'_>, args: Args<'l>, kind: &str) -> &'l str {
    let missing = args.need(1, format!("missing name for {kind} section."));
    let name = reported(cx, args, missing).unwrap_or("");
    check_chars(cx, args, kind, name);
    args.ignores_behind(1);
    name
}

/// Reports a character of a section's name that may not be in one.
fn check_chars(cx: &mut Cx<'_>, args: Args<'_>, kind: &str, name: &str) {
    if let Some((at, c)) = odd_char(name) {
        let message = format!("character '{c}' is not permitted in '{kind}' name '{name}'.");
        cx.alert(args, args.fault_at(1, at, message));
    }
}

/// Reports a section with the name of another one of its kind, which was declared at `first`.
fn check_unique(
    cx: &mut Cx<'_>,
    args: Args<'_>,
    (kind, name): (&str, &str),
    first: Option<&Place>,
) {
    if let Some(place) = first {
        let message = format!(
            "{kind} section '{name}' has the same name as another {kind} section declared at {place}."
        );
        cx.alert(args, args.fault(1, message));
    }
}

/// The first character of a name that may not be in one, and where it is.
fn odd_char(name: &str) -> Option<(usize, char)> {
    name.char_indices().find(|(_, c)| !is_name_char(*c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_section_of_haproxy_has_one_row() {
        let mut names: Vec<&str> = SECTIONS.iter().map(|kind| kind.name).collect();
        names.sort_unstable();
        assert_eq!(names, crate::known::names("section").collect::<Vec<_>>());
    }

    #[test]
    fn tables_of_sections_are_alphabetical_and_documented() {
        for kind in SECTIONS {
            assert!(kind.doc.ends_with('.'), "{}", kind.name);
            let table = kind.keywords();
            assert!(table.windows(2).all(|pair| pair[0].name < pair[1].name), "{}", kind.name);
        }
    }
}
