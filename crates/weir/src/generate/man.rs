//! The man pages: the command, and the configuration.

use super::roff::Page;
use crate::cli;
use config::KeywordDoc;
use rules::action;

/// `weir(8)`.
pub(super) fn command() -> String {
    let mut page = Page::new("weir", 8, "load balancer that takes HAProxy's configuration");
    page.section("Synopsis");
    page.paragraph("weir [option]... -f <file>... [-- <file>...]");
    page.section("Options");
    for flag in cli::documented() {
        let (names, value) = flag.head();
        page.entry(&names, &value, flag.help);
    }
    page.section("Signals");
    for (name, text) in SIGNALS {
        page.entry(name, "", text);
    }
    page.section("Environment");
    for (name, text) in ENVIRONMENT {
        page.entry(name, "", text);
    }
    page.section("Exit status");
    for (status, text) in STATUS {
        page.entry(status, "", text);
    }
    page.section("See also");
    page.paragraph("weir.cfg(5)");
    page.finish()
}

const SIGNALS: &[(&str, &str)] = &[
    ("SIGUSR1", "Stops listening, serves what is there to its end, then ends."),
    ("SIGTERM, SIGINT", "Ends at once."),
    ("SIGHUP", "Writes the states of servers and proxies to the logs."),
    ("SIGTTOU", "Pauses the listeners: their ports are free for others."),
    ("SIGTTIN", "Resumes them."),
];

const ENVIRONMENT: &[(&str, &str)] = &[(
    "NOTIFY_SOCKET",
    "Socket of the service manager, which is told when the process serves and when it stops.",
)];

const STATUS: &[(&str, &str)] = &[
    ("0", "Success; with -c, the configuration is valid."),
    ("1", "An error in the command line or in the configuration, or the start failed."),
    ("2", "The configuration is valid, but nothing listens."),
];

/// Title and class of each part of the configuration's page.
const PARTS: &[(&str, &str, &str)] = &[
    ("Section global", "global", ""),
    ("Sections defaults, frontend, backend, listen", "proxy", ""),
    ("Options of proxies", "option", "option"),
    ("Timeouts of proxies", "timeout", "timeout"),
    ("Compression of proxies", "compression", "compression"),
    ("Filters of proxies", "filter", "filter"),
    ("Statistics page of proxies", "stats", "stats"),
    ("Options of bind lines", "bind", ""),
    ("Options of server lines", "server", ""),
];

/// `weir.cfg(5)`.
pub(super) fn configuration() -> String {
    let mut page = Page::new("weir.cfg", 5, "configuration of weir");
    page.section("Description");
    page.paragraph(
        "The language is that of HAProxy 2.7; its configuration manual explains it at length. This \
         page lists what this version understands. A keyword that is not here is refused.",
    );
    page.section("Keywords");
    let keywords = config::keywords();
    for (title, class, before) in PARTS {
        page.subsection(title);
        for keyword in keywords.iter().filter(|keyword| keyword.class == *class) {
            let word = format!("{before} {}", keyword.name);
            page.entry(word.trim_start(), keyword.arguments, &text(keyword));
        }
    }
    for section in config::sections().iter().filter(|section| section.has_keywords) {
        page.subsection(&format!("Section {}", section.name));
        page.paragraph(section.doc);
        for keyword in keywords.iter().filter(|keyword| keyword.class == section.name) {
            page.entry(keyword.name, keyword.arguments, keyword.doc);
        }
    }
    page.section("Actions");
    for keyword in action::KEYWORDS {
        page.entry(keyword.name, keyword.args, keyword.doc);
    }
    page.section("Samples");
    for fetch in sample::fetch::all() {
        page.entry(fetch.name, fetch.args, fetch.doc);
    }
    page.section("Converters");
    for converter in sample::conv::all() {
        page.entry(converter.name, converter.args, converter.doc);
    }
    page.section("See also");
    page.paragraph("weir(8)");
    page.finish()
}

/// The description of a keyword, with the sides of a proxy that it applies to if not both.
fn text(keyword: &KeywordDoc) -> String {
    let side = match (keyword.class, keyword.in_frontends, keyword.in_backends) {
        ("global" | "bind" | "server", ..) | (_, true, true) => "",
        (_, true, false) => " Client side only.",
        _ => " Server side only.",
    };
    format!("{}{side}", keyword.doc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manual_pages_contain_all_table_entries() {
        let page = command();
        assert!(
            page.contains(
                "\\fB\\-f, \\-\\-config\\fR <cfgfile|cfgdir>\nloads a configuration file"
            )
        );
        assert!(page.contains("\\fB\\-S, "));
        let page = configuration();
        for word in ["maxconn", "option httplog", "timeout client", "sc_http_req_rate", "regsub"] {
            assert!(page.contains(&format!("\\fB{word}\\fR")), "{word}");
        }
    }
}
