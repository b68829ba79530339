//! The manual of the configuration in Markdown: pages with one row per keyword, from the tables of the program.

use config::KeywordDoc;
use rules::{RuleSetKind, action};
use std::fmt::Write as _;

/// Before each page: this, the name of its file, and a line end.
const PAGE: &str = "<<< ";

/// A table of keywords on a page: title, class, and the word before each.
type Part = (&'static str, &'static str, &'static str);

/// Pages whose tables are classes of keywords: file, title, introduction, tables.
const PAGES: &[(&str, &str, &str, &[Part])] = &[
    (
        "global.md",
        "The section `global`",
        "Settings of the process.",
        &[("Keywords", "global", "")],
    ),
    (
        "proxies.md",
        "Sections `defaults`, `frontend`, `backend` and `listen`",
        "*Where* says in which sections a keyword is allowed: D `defaults`, F `frontend`, B `backend`; a `listen` \
         section takes both sides.",
        &[
            ("Keywords", "proxy", ""),
            ("Options", "option", "option"),
            ("Timeouts", "timeout", "timeout"),
            ("Statistics", "stats", "stats"),
            ("Compression", "compression", "compression"),
            ("Filters", "filter", "filter"),
        ],
    ),
    (
        "bind.md",
        "Words of `bind` lines",
        "Options of a listener, after its address.",
        &[("Words", "bind", "")],
    ),
    (
        "server.md",
        "Words of `server` lines",
        "Options of a server, after its address; `default-server` and `server-template` take most of them.",
        &[("Words", "server", "")],
    ),
];

/// Every page.
pub(super) fn pages() -> String {
    let mut out = String::new();
    begin(&mut out, "README.md", "The manual of the configuration");
    out.push_str(INDEX);
    let keywords = config::keywords();
    for (file, title, introduction, parts) in PAGES {
        begin(&mut out, file, title);
        let _ = writeln!(out, "{introduction}");
        for (title, class, before) in *parts {
            let of_class = keywords.iter().filter(|keyword| keyword.class == *class);
            table(&mut out, title, before, of_class);
        }
    }
    begin(&mut out, "sections.md", "Other sections");
    for section in config::sections().iter().filter(|section| section.has_keywords) {
        let of_section = keywords.iter().filter(|keyword| keyword.class == section.name);
        table(&mut out, &format!("`{}`", section.name), "", of_section);
    }
    actions(&mut out);
    samples(&mut out);
    converters(&mut out);
    out
}

/// The text of the first page.
const INDEX: &str = "\
Every keyword that this version understands, with its arguments, where it is allowed and since which version of HAProxy
it exists. HAProxy's configuration manual of 2.7 explains each at length; [differences.md](../differences.md) has
what is different here, [compat.md](../compat.md) what is missing. A keyword that is not here is refused.

- [global](global.md): settings of the process
- [proxies](proxies.md): `defaults`, `frontend`, `backend`, `listen`
- [bind](bind.md) and [server](server.md): words of their lines
- [sections](sections.md): peers, resolvers, caches, rings and others
- [actions](actions.md): `http-request`, `tcp-request` and their like
- [samples](samples.md) and [converters](converters.md): values of expressions, ACLs and log formats

`weir --generate weir.cfg.5` has the same as a man page. The pages are written by `cargo xtask manual` from the tables
that the parser uses, and `cargo xtask test` holds that they are up to date.
";

fn begin(out: &mut String, file: &str, title: &str) {
    // Writing to a string cannot fail, here and below.
    let _ = write!(out, "{PAGE}{file}\n# {title}\n\n");
}

fn table<'k>(
    out: &mut String,
    title: &str,
    before: &str,
    keywords: impl Iterator<Item = &'k KeywordDoc>,
) {
    let _ =
        write!(out, "\n## {title}\n\n| keyword | where | since | effect |\n|---|---|---|---|\n");
    for keyword in keywords {
        let syntax = format!("{before} {} {}", keyword.name, keyword.arguments);
        let (place, since) = (place(keyword), keyword.since.name());
        let _ = writeln!(out, "| {} | {place} | {since} | {} |", code(&syntax), cell(keyword.doc));
    }
}

/// Letters of the sections that may have a keyword of proxies.
fn place(keyword: &KeywordDoc) -> String {
    if !["proxy", "option", "timeout", "stats", "compression", "filter"].contains(&keyword.class) {
        return String::new();
    }
    let defaults = match keyword.in_defaults {
        Some(true) => "D ",
        Some(false) => "D with a name ",
        None => "",
    };
    let front = if keyword.in_frontends { "F " } else { "" };
    let back = if keyword.in_backends { "B" } else { "" };
    format!("{defaults}{front}{back}").trim_end().to_owned()
}

/// Rulesets, in the order of the columns of actions.
const RULESETS: [RuleSetKind; 7] = [
    RuleSetKind::TcpConnection,
    RuleSetKind::TcpSession,
    RuleSetKind::TcpRequest,
    RuleSetKind::TcpResponse,
    RuleSetKind::HttpRequest,
    RuleSetKind::HttpResponse,
    RuleSetKind::HttpAfterResponse,
];

fn actions(out: &mut String) {
    begin(out, "actions.md", "Actions");
    out.push_str("| action | in | effect |\n|---|---|---|\n");
    for keyword in action::KEYWORDS {
        let gap = if keyword.args.starts_with('(') { "" } else { " " };
        let syntax = format!("{}{gap}{}", keyword.name, keyword.args);
        let allowed = RULESETS.iter().filter(|ruleset| keyword.allowed_in(**ruleset));
        let allowed: Vec<String> = allowed.map(|it| format!("`{}`", it.keyword())).collect();
        let _ =
            writeln!(out, "| {} | {} | {} |", code(&syntax), allowed.join(", "), cell(keyword.doc));
    }
}

fn samples(out: &mut String) {
    begin(out, "samples.md", "Samples");
    out.push_str("| sample | type | value |\n|---|---|---|\n");
    let mut all: Vec<_> = sample::fetch::all().collect();
    all.sort_by_key(|fetch| fetch.name);
    for fetch in all {
        let syntax = called(fetch.name, fetch.args);
        let _ = writeln!(out, "| {} | {} | {} |", code(&syntax), fetch.out.name(), cell(fetch.doc));
    }
    out.push_str("\n## ACLs with a name of their own\n\n| ACL | is |\n|---|---|\n");
    let mut derived: Vec<_> = sample::acl::DERIVED.iter().collect();
    derived.sort_by_key(|entry| entry.0);
    for (name, fetch, matching) in derived {
        let _ = writeln!(out, "| `{name}` | `{fetch} -m {}` |", matching.name());
    }
}

fn converters(out: &mut String) {
    begin(out, "converters.md", "Converters");
    out.push_str("| converter | from | to | effect |\n|---|---|---|---|\n");
    let mut all: Vec<_> = sample::conv::all().collect();
    all.sort_by_key(|converter| converter.name);
    for it in all {
        let (syntax, from, to) = (called(it.name, it.args), it.from.name(), it.to.name());
        let _ = writeln!(out, "| {} | {from} | {to} | {} |", code(&syntax), cell(it.doc));
    }
}

fn called(name: &str, args: &str) -> String {
    if args.is_empty() { name.to_owned() } else { format!("{name}({args})") }
}

/// A piece of syntax in a cell of a table.
fn code(text: &str) -> String {
    format!("`{}`", cell(text.trim()))
}

/// A text in a cell: a bar would end it.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_a_row_for_every_keyword() {
        let pages = pages();
        assert!(pages.starts_with("<<< README.md\n# The manual"));
        assert_eq!(pages.matches("\n<<< ").count(), 8);
        for row in [
            "\n| `maxconn <number>` |  | HAProxy 2.7 | ",
            "\n| `timeout client <time>` | D F | HAProxy 2.7 | ",
            "\n| `tune.why",
            " | Weir | ",
            "\n| `base32+src` | bin | ",
        ] {
            assert!(pages.contains(row), "{row}");
        }
        for keyword in config::keywords() {
            assert!(
                pages.contains(&format!("{} ", keyword.name))
                    || pages.contains(&format!("{}`", keyword.name)),
                "{}",
                keyword.name
            );
        }
        assert!(pages.contains("\\|"), "a bar does not end a cell");
    }
}
