//! `-dK`: the keywords of this build, in HAProxy's layout (management manual, section 3), for tools
//! that compare such lists.

use std::fmt::Write as _;

use config::KeywordDoc;
use rules::{RuleSetKind, action};
use sample::Places;

/// One class of names.
struct Class {
    name: &'static str,
    doc: &'static str,
    title: &'static str,
    list: fn(&mut String),
}

/// Every class, in the order of the help.
const CLASSES: &[Class] = &[
    Class { name: "acl", doc: "ACL keywords", title: "ACL keywords", list: acls },
    Class {
        name: "cfg",
        doc: "configuration keywords",
        title: "configuration keywords",
        list: configuration,
    },
    Class { name: "cli", doc: "CLI keywords", title: "CLI keywords", list: commands },
    Class {
        name: "cnv",
        doc: "sample converter keywords",
        title: "sample converter functions",
        list: converters,
    },
    Class { name: "flt", doc: "filter names", title: "filter names", list: filters },
    Class {
        name: "smp",
        doc: "sample fetch functions",
        title: "sample fetch functions",
        list: fetches,
    },
    Class { name: "svc", doc: "service names", title: "service names", list: services },
];

/// The lists of the classes named, separated by commas: `all` is all of them, `help` what there is.
/// Unknown classes are empty.
pub(crate) fn dump(classes: &str) -> String {
    let wanted: Vec<&str> = classes.split(',').collect();
    let mut out = String::new();
    if wanted.contains(&"help") {
        out.push_str("# List of supported keyword classes:\nall: list all keywords\n");
        for class in CLASSES {
            line(&mut out, format_args!("{}: {}", class.name, class.doc));
        }
    }
    for class in CLASSES.iter().filter(|c| wanted.contains(&c.name) || wanted.contains(&"all")) {
        line(&mut out, format_args!("# List of registered {}:", class.title));
        (class.list)(&mut out);
    }
    out
}

/// Writing to a string cannot fail.
fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = writeln!(out, "{text}");
}

fn sorted<T>(items: impl Iterator<Item = T>, name: fn(&T) -> &'static str) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort_by_key(name);
    items
}

fn acls(out: &mut String) {
    for (name, fetch, matching) in sorted(sample::acl::DERIVED.iter(), |entry| entry.0) {
        line(out, format_args!("{name} = {fetch} -m {}", matching.name()));
    }
}

fn converters(out: &mut String) {
    for converter in sorted(sample::conv::all(), |converter| converter.name) {
        let (from, to) = (converter.from.name(), converter.to.name());
        let args = arguments(converter.args);
        line(out, format_args!("{}{args}: {from} => {to}", converter.name));
    }
}

fn fetches(out: &mut String) {
    legend(out);
    for fetch in sorted(sample::fetch::all(), |fetch| fetch.name) {
        let letters: Vec<String> = fetch.valid.letters().chars().map(String::from).collect();
        let args = arguments(fetch.args);
        let (places, out_type) = (letters.join(" "), fetch.out.name());
        line(out, format_args!("[ {places} ] {}{args}: {out_type}", fetch.name));
    }
}

/// A picture that leads from each column to its place.
fn legend(out: &mut String) {
    let names = Places::NAMES;
    for (n, name) in names.iter().enumerate() {
        let (space, rest) = (" ".repeat(names.len() + 1 - n), "/ ".repeat(n));
        let dashes = "-".repeat(names.len() - n);
        line(out, format_args!("#{space}{rest}_.{dashes} {name}"));
    }
    line(out, format_args!("# {} ", "/ ".repeat(names.len())));
    line(out, format_args!("# {}", "| ".repeat(names.len())));
}

fn arguments(args: &str) -> String {
    if args.is_empty() { String::new() } else { format!("({args})") }
}

fn commands(out: &mut String) {
    for name in sorted(admin::commands(), |name| name) {
        let masters = admin::master::commands().any(|own| own == name);
        line(out, format_args!("{name} [{}] ", if masters { "MASTER" } else { "WORKER" }));
    }
}

fn filters(out: &mut String) {
    for (name, scope) in config::filters() {
        line(out, format_args!("{name} [{scope}]"));
    }
}

fn services(out: &mut String) {
    for (name, _) in sorted(rules::Service::TABLE.iter(), |entry| entry.0) {
        line(out, format_args!("{name}"));
    }
}

/// How the line of a keyword looks.
type Look = fn(&KeywordDoc) -> String;

/// The section of a class of keywords, the class, and the format of its lines.
const CONFIGURATION: &[(&str, &str, Look)] = &[
    ("global", "global", |k| k.name.into()),
    ("listen", "proxy", |k| k.name.into()),
    ("listen", "bind", |k| format!("bind <addr> {}", with_value(k))),
    ("listen", "server", |k| format!("server <name> <addr> {}", with_value(k))),
    ("listen", "option", option),
];

fn with_value(keyword: &KeywordDoc) -> String {
    let value = if keyword.arguments.is_empty() { "" } else { " +1" };
    format!("{}{value}", keyword.name)
}

fn option(keyword: &KeywordDoc) -> String {
    let front = if keyword.in_frontends { " FE" } else { "" };
    let back = if keyword.in_backends { " BE" } else { "" };
    format!("option {} [{front}{back} ]", keyword.name)
}

const RULESETS: [RuleSetKind; 8] = [
    RuleSetKind::QuicInitial,
    RuleSetKind::TcpConnection,
    RuleSetKind::TcpSession,
    RuleSetKind::TcpRequest,
    RuleSetKind::TcpResponse,
    RuleSetKind::HttpRequest,
    RuleSetKind::HttpResponse,
    RuleSetKind::HttpAfterResponse,
];

fn configuration(out: &mut String) {
    let keywords = config::keywords();
    let mut section = "";
    for (under, class, text) in CONFIGURATION {
        if section != *under {
            line(out, format_args!("{under}"));
            section = under;
        }
        for keyword in keywords.iter().filter(|keyword| keyword.class == *class) {
            line(out, format_args!("\t{}", text(keyword)));
        }
    }
    for ruleset in RULESETS {
        let actions = action::KEYWORDS.iter().filter(|keyword| keyword.allowed_in(ruleset));
        for action in sorted(actions, |action| action.name) {
            // Arguments in parentheses belong to the word.
            let star = if action.args.contains('(') { "*" } else { "" };
            line(out, format_args!("\t{} {}{star}", ruleset.keyword(), action.name));
        }
    }
    for section in config::sections().iter().filter(|section| section.has_keywords) {
        line(out, format_args!("{}", section.name));
        for keyword in keywords.iter().filter(|keyword| keyword.class == section.name) {
            line(out, format_args!("\t{}", keyword.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sample::Place;

    #[test]
    fn lists_have_haproxy_s_layout() {
        let all = dump("all");
        for expected in [
            "# List of registered ACL keywords:\nbase = base -m str\nbase_beg = base -m beg\n",
            "# List of registered configuration keywords:\nglobal\n\t",
            "\nlisten\n\tacl\n",
            "\n\tbind <addr> maxconn +1\n",
            "\n\tbind <addr> v4v6\n",
            "\n\tserver <name> <addr> backup\n",
            "\n\tserver <name> <addr> weight +1\n",
            "\n\toption abortonclose [ BE ]\n",
            "\n\toption httplog [ FE BE ]\n",
            "\n\ttcp-request connection accept\n",
            "\n\thttp-request set-var*\n",
            "\n\thttp-response return\n",
            "\nring\n\tbacking-file\n\tdescription\n",
            "\nuserlist\n\tgroup\n\tuser\n",
            "# List of registered CLI keywords:\n_getsocks [WORKER] \n_reload_failed [WORKER] \n_signal [WORKER] \nabort ssl ca-file [WORKER] \n",
            "# List of registered sample converter functions:\nadd(string): sint => sint\n",
            "\nbytes(integer[,integer]): bin => bin\n",
            "# List of registered filter names:\nbwlim-in [BWLIM]\nbwlim-out [BWLIM]\ncache [CACHE]\ncompression [COMP]\nfcgi-app [FCGI]\nspoe [SPOE]\ntrace [TRACE]\n# List of registered sample fetch functions:\n",
            "#                       _.---------------------- frontend tcp-request connection rule\n#                      / _.-",
            " / _.- CLI parser\n# / / ",
            "\n[ Y Y Y Y Y Y Y Y Y Y Y Y Y Y Y Y Y Y Y Y Y Y ] always_false: bool\n",
            "\n[ . . Y Y Y Y Y Y Y Y Y . . . . . . . . . . . ] base: str\n",
            "] srv_conn(server): sint\n",
            "# List of registered service names:\nprometheus-exporter\n",
        ] {
            assert!(all.contains(expected), "{expected}");
        }
        assert_eq!(dump("foo") + &dump(""), "");
        assert!(
            dump("svc,acl").ends_with("names:\nprometheus-exporter\n")
                && dump("svc,acl").starts_with("# List of registered ACL")
        );
        assert!(dump("help").ends_with("smp: sample fetch functions\nsvc: service names\n"));
    }

    #[test]
    fn keywords_that_do_not_work_are_not_listed() {
        let all = dump("all");
        for absent in ["deflate", "spoe-agent"] {
            assert!(!all.contains(absent), "{absent}");
        }
    }

    #[test]
    fn the_matrix_has_a_column_for_each_place() {
        assert_eq!(Places::NAMES.len(), Places::of(Place::Log).letters().len());
    }
}
