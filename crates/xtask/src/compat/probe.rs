//! One line of configuration for each name, all in one file, and the program's messages about each
//! line.

use super::table::Name;

/// The program's verdict on a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The name works.
    Works,
    /// The name belongs to an area that is not implemented.
    Waits(String),
    /// HAProxy refuses the name too, and names the replacement.
    Retired(String),
    /// The program does not know the name.
    Unknown(String),
    /// The probe cannot find out.
    Untold,
}

/// The section of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Global,
    Listen,
    /// A section of its own kind.
    Named(&'static str),
    /// The name opens a section itself, or is a directive.
    None,
}

/// How names of a class are written: the section, and the words before and behind the name.
struct Shape {
    class: &'static str,
    section: Section,
    before: &'static str,
    behind: &'static str,
}

const fn shape(
    class: &'static str,
    section: Section,
    before: &'static str,
    behind: &'static str,
) -> Shape {
    Shape { class, section, before, behind }
}

/// Every class that a line of configuration can show.
const SHAPES: &[Shape] = &[
    shape("cfg-global", Section::Global, "", ""),
    shape("cfg-proxy", Section::Listen, "", ""),
    shape("option", Section::Listen, "option ", ""),
    shape("timeout", Section::Listen, "timeout ", " 1s"),
    shape("bind-option", Section::Listen, "bind 127.0.0.1:1 ", ""),
    shape("crt-list-option", Section::Listen, "bind 127.0.0.1:1 ssl ", ""),
    shape("server-option", Section::Listen, "server s 127.0.0.1:1 ", ""),
    shape("action:tcp-req-conn", Section::Listen, "tcp-request connection ", ""),
    shape("action:tcp-req-sess", Section::Listen, "tcp-request session ", ""),
    shape("action:tcp-req-cont", Section::Listen, "tcp-request content ", ""),
    shape("action:tcp-res", Section::Listen, "tcp-response content ", ""),
    shape("action:http-req", Section::Listen, "http-request ", ""),
    shape("action:http-res", Section::Listen, "http-response ", ""),
    shape("action:http-after-res", Section::Listen, "http-after-response ", ""),
    shape("action:tcp-check/http-check", Section::Listen, "http-check ", ""),
    shape("acl", Section::Listen, "acl a ", " x"),
    shape("acl-match", Section::Listen, "acl a url -m ", " 1"),
    shape("acl-flag", Section::Listen, "acl a url ", ""),
    shape("acl-int-operator", Section::Listen, "acl a src_port ", " 1"),
    shape("acl-predefined", Section::Listen, "http-request deny if ", ""),
    shape("fetch", Section::Listen, "acl a ", " -m found"),
    shape("converter", Section::Listen, "acl a src,", " -m found"),
    shape("filter", Section::Listen, "filter ", ""),
    shape("service", Section::Listen, "http-request use-service ", ""),
    shape("section", Section::None, "", " x"),
    shape("cfg-section:cache", Section::Named("cache"), "", ""),
    shape("cfg-section:fcgi-app", Section::Named("fcgi-app"), "", ""),
    shape("cfg-section:http-errors", Section::Named("http-errors"), "", ""),
    shape("cfg-section:log-forward", Section::Named("log-forward"), "", ""),
    shape("cfg-section:mailers", Section::Named("mailers"), "", ""),
    shape("cfg-section:namespace_list", Section::Named("namespace_list"), "", ""),
    shape("cfg-section:peers", Section::Named("peers"), "", ""),
    shape("cfg-section:program", Section::Named("program"), "", ""),
    shape("cfg-section:resolvers", Section::Named("resolvers"), "", ""),
    shape("cfg-section:ring", Section::Named("ring"), "", ""),
    shape("cfg-section:userlist", Section::Named("userlist"), "", " x"),
    shape("log-tag", Section::Listen, "log-format ", ""),
    shape("log-flag", Section::Listen, "log-format %{", "}ci"),
    shape("log-arg", Section::Listen, "log ", ""),
    shape("log-transport-format", Section::Listen, "log 127.0.0.1 format ", " local0"),
    shape("log-facility", Section::Listen, "log 127.0.0.1 ", ""),
    shape("log-level", Section::Listen, "log 127.0.0.1 local0 ", ""),
    shape("log-builtin-format", Section::Listen, "", ""),
    shape("http-check", Section::Listen, "http-check ", ""),
    shape("http-check-expect-match", Section::Listen, "http-check expect ", " x"),
    shape("http-check-expect-hdr-arg", Section::Listen, "http-check expect hdr ", " x"),
    shape("tcp-check", Section::Listen, "tcp-check ", ""),
    shape("tcp-check-expect-match", Section::Listen, "tcp-check expect ", " x"),
    shape("balance", Section::Listen, "balance ", ""),
    shape("hash-type-method", Section::Listen, "hash-type ", ""),
    shape("hash-type-function", Section::Listen, "hash-type map-based ", ""),
    shape("hash-type-modifier", Section::Listen, "hash-type map-based sdbm ", ""),
    shape("cookie-arg", Section::Listen, "cookie c ", ""),
    shape("retry-on", Section::Listen, "retry-on ", ""),
    shape("http-reuse", Section::Listen, "http-reuse ", ""),
    shape("proxy-mode", Section::Listen, "mode ", ""),
    shape("stick-table-arg", Section::Listen, "stick-table type ip size 1k ", ""),
    shape("stick-table-data", Section::Listen, "stick-table type ip size 1k store ", ""),
    shape("stick-table-key-type", Section::Listen, "stick-table size 1k type ", ""),
    shape("stick-verb", Section::Listen, "stick ", ""),
    shape("redirect-arg", Section::Listen, "http-request redirect ", ""),
    shape("http-reply-arg", Section::Listen, "http-request return ", ""),
    shape("normalize-uri", Section::Listen, "http-request normalize-uri ", ""),
    shape("stats-verb", Section::Listen, "stats ", ""),
    shape("compression-verb", Section::Listen, "compression ", ""),
    shape("compression-algo", Section::Listen, "compression algo ", ""),
    shape("email-alert-verb", Section::Listen, "email-alert ", ""),
    shape("load-server-state-mode", Section::Listen, "load-server-state-from-file ", ""),
    shape("capture-verb", Section::Listen, "capture ", ""),
    shape(
        "option-value:http-restrict-req-hdr-names",
        Section::Listen,
        "option http-restrict-req-hdr-names ",
        "",
    ),
    shape("errorfile-code", Section::Listen, "errorloc ", " /x"),
    shape("server-init-addr", Section::Listen, "server s 127.0.0.1:1 init-addr ", ""),
    shape("server-proxy-v2-option", Section::Listen, "server s 127.0.0.1:1 proxy-v2-options ", ""),
    shape("server-observe", Section::Listen, "server s 127.0.0.1:1 observe ", ""),
    shape("server-on-error", Section::Listen, "server s 127.0.0.1:1 on-error ", ""),
    shape("server-on-marked-down", Section::Listen, "server s 127.0.0.1:1 on-marked-down ", ""),
    shape("server-on-marked-up", Section::Listen, "server s 127.0.0.1:1 on-marked-up ", ""),
    shape("server-ws", Section::Listen, "server s 127.0.0.1:1 ws ", ""),
    shape("server-resolve-opts", Section::Listen, "server s 127.0.0.1:1 resolve-opts ", ""),
    shape("tls-version-token", Section::Listen, "bind 127.0.0.1:1 ssl ssl-min-ver ", ""),
    shape("ssl-default-bind-option", Section::Global, "ssl-default-bind-options ", ""),
    shape("mux-proto", Section::Listen, "bind 127.0.0.1:1 proto ", ""),
    shape("addr-prefix", Section::Listen, "bind ", "127.0.0.1:1"),
    shape("cond-directive", Section::None, "", ""),
    shape("cond-predicate", Section::None, ".if ", "()"),
    shape("env-var", Section::None, ".notice \"${", "-unset}\""),
    shape("env-pseudo-var", Section::None, ".notice \"${", "-unset}\""),
    shape("var-scope", Section::Listen, "http-request set-var(", ".x) src"),
    shape("var-condition", Section::Listen, "http-request set-var(txn.x,", ") src"),
];

/// A configuration whose lines contain names, with the name of each line.
pub(crate) struct Probe {
    pub(crate) text: String,
    /// For each name of the table: the lines (from 1) that speak of it.
    lines: Vec<Vec<usize>>,
}

/// Builds the configuration for all names that a line can show.
pub(crate) fn build(names: &[Name]) -> Probe {
    let mut probe = Probe { text: String::new(), lines: vec![Vec::new(); names.len()] };
    let mut next = 0;
    let mut all: Vec<(usize, &Name)> = names.iter().enumerate().collect();
    // `resetenv` takes the environment away.
    all.sort_by_key(|(_, name)| !name.class.starts_with("env-"));
    for (index, name) in all {
        let Some(shape) = SHAPES.iter().find(|shape| shape.class == name.class) else { continue };
        next += 1;
        let opening = match shape.section {
            Section::Global => Some("global".to_owned()),
            Section::Listen => Some(format!("listen probe{next}")),
            Section::Named(word) => Some(format!("{word} probe{next}")),
            Section::None => None,
        };
        for line in opening.into_iter().chain([line(shape, name)]).chain(closing(&name.name)) {
            probe.text.push_str(&line);
            probe.text.push('\n');
            let number = probe.text.lines().count();
            probe.lines[index].push(number);
        }
    }
    probe
}

fn line(shape: &Shape, name: &Name) -> String {
    let word = match (shape.class, name.name.as_str()) {
        // Placeholders of the table.
        ("service", "lua.<name>") => "lua.x",
        ("server-init-addr", "<ip>") => "127.0.0.1",
        ("log-arg", "<target>") => "127.0.0.1",
        ("mux-proto", "<default>") => return "bind 127.0.0.1:1".to_owned(),
        ("cond-directive", ".endif") => return ".if 1\n.endif".to_owned(),
        ("cond-directive", ".else" | ".elif") => return format!(".if 1\n{} 1\n.endif", name.name),
        ("addr-prefix", "fd@") => return "bind fd@1".to_owned(),
        ("addr-prefix", "unix@" | "abns@" | "uxst@") => return format!("bind {}/x", name.name),
        ("addr-prefix", "udp@" | "udp4@" | "udp6@" | "uxdg@" | "dgram+") => {
            return format!("log {}127.0.0.1:514 local0", name.name);
        }
        ("acl-flag", "-f" | "-M") => return format!("acl a url {} /nonexistent", name.name),
        ("http-check-expect-hdr-arg", "value" | "value-lf") => {
            return format!("http-check expect hdr name x {} y", name.name);
        }
        ("stick-table-arg", "peers") => "peers x",
        ("log-arg", "len") => return "log 127.0.0.1 len 100 local0".to_owned(),
        ("log-arg", "format") => return "log 127.0.0.1 format raw local0".to_owned(),
        ("log-arg", "sample") => return "log 127.0.0.1 sample 1:2 local0".to_owned(),
        ("log-builtin-format", "default") => return "log-format \"%ci\"".to_owned(),
        ("log-builtin-format", "httplog-clf") => return "option httplog clf".to_owned(),
        ("log-builtin-format", "error-log-format") => return "error-log-format \"%ci\"".to_owned(),
        ("log-builtin-format", other) => return format!("option {other}"),
        (
            "action:http-req"
            | "action:http-res"
            | "action:tcp-req-conn"
            | "action:tcp-req-sess"
            | "action:tcp-req-cont"
            | "action:tcp-res",
            "track-sc",
        ) => "track-sc0",
        (_, word) => word,
    };
    format!("{}{word}{}", shape.before, shape.behind)
}

/// The lines that an opened block needs after it.
fn closing(name: &str) -> Option<String> {
    let opens = [".if"].contains(&name) || super::PREDICATES.contains(&name);
    opens.then(|| ".endif".to_owned())
}

/// Sorts the program's messages by line.
pub(crate) fn verdicts(probe: &Probe, names: &[Name], said: &str) -> Vec<Verdict> {
    let messages: Vec<(usize, &str)> = said.lines().filter_map(message).collect();
    let about = |lines: &[usize]| -> Vec<&str> {
        messages.iter().filter(|(line, _)| lines.contains(line)).map(|(_, text)| *text).collect()
    };
    names
        .iter()
        .zip(&probe.lines)
        .map(
            |(name, lines)| {
                if lines.is_empty() { Verdict::Untold } else { judge(name, &about(lines)) }
            },
        )
        .collect()
}

/// Line and text of `[ALERT] (pid) : config : parsing [file:line] : text`.
fn message(line: &str) -> Option<(usize, &str)> {
    let (_, rest) = line.split_once(" : parsing [")?;
    let (place, text) = rest.split_once("] : ")?;
    Some((place.rsplit(':').next()?.parse().ok()?, text))
}

const RETIRED: [&str; 4] =
    ["not supported any more", "not supported anymore", "doesn't exist anymore", "is deprecated"];

fn judge(name: &Name, said: &[&str]) -> Verdict {
    let with = |word: &str| said.iter().find(|text| text.contains(word));
    // A file of its own has these sections, and tests use them.
    if name.name.starts_with("spoe-") {
        return Verdict::Works;
    }
    // This is how the table calls a bare `expect`.
    if name.name == "custom" {
        return Verdict::Waits(String::new());
    }
    if let Some(text) = with("not implemented yet") {
        let area = text.rsplit_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
        return Verdict::Waits(area.unwrap_or_default().to_owned());
    }
    if let Some(text) = RETIRED.iter().find_map(|word| with(word)) {
        return Verdict::Retired((*text).to_owned());
    }
    // Some are there only with a master, or when everything is open.
    let later = ["HAPROXY_CLI", "HAPROXY_MASTER_CLI", "HAPROXY_MWORKER"].contains(&&*name.name);
    if name.class.starts_with("env-") && !later && with("'unset'").is_some() {
        return Verdict::Waits(String::new());
    }
    match said.iter().find(|text| is_strange(name, text)) {
        Some(text) => Verdict::Unknown((*text).to_owned()),
        None => Verdict::Works,
    }
}

/// Whether a message says that the name itself is not known, rather than how to continue behind it.
fn is_strange(name: &Name, text: &str) -> bool {
    let quoted = format!("'{}", name.name);
    let alone = SHAPES.iter().any(|shape| shape.class == name.class && shape.before.is_empty());
    let named = text.contains(&quoted) || text.contains(&format!(" {}'", name.name));
    let got = text.contains(&format!("got {quoted}")) || text.contains(&format!("(was {quoted}"));
    let unknown = named && text.to_ascii_lowercase().contains("unknown");
    let listed = text.contains("supports ") && !named && !alone;
    got || unknown || listed
}

#[cfg(test)]
mod tests {
    //! Tests that lines are found by name, and that messages are recognized.
    use super::*;

    fn name(class: &str, name: &str) -> Name {
        Name { class: class.into(), name: name.into(), arguments: String::new() }
    }

    #[test]
    fn messages_find_their_names() {
        let names = [name("option", "tcpka"), name("lua-api", "x"), name("balance", "first")];
        let probe = build(&names);
        assert_eq!(probe.text, "listen probe1\noption tcpka\nlisten probe2\nbalance first\n");
        let said = "[ALERT] (1) : config : parsing [a:2] : 'x' is not implemented yet (sockets)\n";
        assert_eq!(
            verdicts(&probe, &names, said),
            [Verdict::Waits("sockets".into()), Verdict::Untold, Verdict::Works]
        );
        let said = "[ALERT] (1) : config : parsing [a:4] : unknown 'first'\n";
        assert_eq!(verdicts(&probe, &names, said)[2], Verdict::Unknown("unknown 'first'".into()));
    }
}
