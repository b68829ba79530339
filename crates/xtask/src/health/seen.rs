//! States, figures, logs and mails without times, ports and dates.

/// The log lines of a program in one step, and the state of its servers after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) states: Vec<String>,
    pub(super) checks: Vec<String>,
    pub(super) log: Vec<String>,
    pub(super) mails: Vec<String>,
}

/// One intended difference.
pub(super) struct HealthDifference {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// Removes the difference from the observations of a side.
    pub(super) level: fn(&mut Seen),
}

/// All of them.
pub(super) const INTENDED: &[HealthDifference] = &[];

/// Columns of `show servers state` that are of this run: since when, and ports.
const OF_THE_RUN: [&str; 3] = ["srv_time_since_last_change", "srv_port", "srv_agent_port"];

/// The text before the duration of a check.
const DURATION: &str = "check duration: ";

/// The compared columns of `show stat`: all about checks except durations.
const COMPARED: [&str; 24] = [
    "svname",
    "status",
    "weight",
    "act",
    "bck",
    "chkfail",
    "chkdown",
    "slim",
    "tracked",
    "check_status",
    "check_code",
    "hanafail",
    "last_chk",
    "check_desc",
    "check_rise",
    "check_fall",
    "check_health",
    "agent_status",
    "agent_code",
    "last_agt",
    "agent_desc",
    "agent_rise",
    "agent_fall",
    "agent_health",
];

/// The rows of `show servers state`, one per server.
pub(super) fn states(dump: &str) -> Vec<String> {
    let mut lines = dump.lines().filter(|line| !line.is_empty()).skip(1);
    let names: Vec<&str> =
        lines.next().unwrap_or_default().trim_start_matches("# ").split(' ').collect();
    let row = |line: &str| {
        let fields =
            names.iter().zip(line.split(' ')).filter(|(name, _)| !OF_THE_RUN.contains(name));
        let fields: Vec<String> = fields.map(|(name, value)| format!("{name}={value}")).collect();
        fields.join(" ")
    };
    lines.map(row).collect()
}

/// The rows of `show stat` about servers.
pub(super) fn checks(csv: &str) -> Vec<String> {
    let mut lines = csv.lines().filter(|line| !line.is_empty());
    let names: Vec<&str> =
        lines.next().unwrap_or_default().trim_start_matches("# ").split(',').collect();
    let row = |line: &str| {
        let fields = names.iter().zip(cells(line)).filter(|(name, _)| COMPARED.contains(name));
        let fields: Vec<String> = fields.map(|(name, value)| format!("{name}={value}")).collect();
        fields.join(" ")
    };
    lines.map(row).collect()
}

/// The cells of a row; those in quotes may hold commas.
fn cells(line: &str) -> Vec<&str> {
    let mut quoted = false;
    let split = |letter: char| {
        quoted ^= letter == '"';
        letter == ',' && !quoted
    };
    line.split(split).collect()
}

/// A row without what changes while a check is under way.
pub(super) fn at_rest(row: &str) -> String {
    let passing = ["srv_check_state=", "srv_agent_state=", "srv_check_result="];
    let kept = |word: &&str| !passing.iter().any(|name| word.starts_with(name));
    row.split(' ').filter(kept).collect::<Vec<_>>().join(" ")
}

/// Whether no check is under way: HAProxy shows those as without a result.
pub(super) fn is_still(states: &[String]) -> bool {
    let under_way = |word: &str| {
        let mask = ["srv_check_state=", "srv_agent_state="].map(|name| word.strip_prefix(name));
        let mask = mask.into_iter().flatten().next().and_then(|text| text.parse::<u32>().ok());
        mask.is_some_and(|mask| mask & 1 == 1)
    };
    !states.iter().any(|row| row.split(' ').any(under_way))
}

/// Lines of a log as `<priority> text`, sorted: servers that have nothing to do with each other
/// come in any order.
pub(super) fn log(lines: Vec<String>, ports: &[u16]) -> Vec<String> {
    let text = |line: String| {
        let (priority, rest) = line.split_once('>').unwrap_or(("", &line));
        let (_, text) = rest.split_once("]: ").unwrap_or(("", rest));
        plain(&format!("{priority}> {text}"), ports)
    };
    sorted(lines.into_iter().map(text).collect())
}

/// Mails, sorted for the same reason.
pub(super) fn mails(mails: Vec<String>, ports: &[u16]) -> Vec<String> {
    sorted(mails.into_iter().map(|mail| plain(&mail, ports)).collect())
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

/// Without durations and ports of this run.
fn plain(text: &str, ports: &[u16]) -> String {
    let mut text = text.to_owned();
    for (place, port) in ports.iter().enumerate() {
        text = text.replace(&format!(":{port}"), &format!(":PORT{place}"));
    }
    let mut parts = text.split(DURATION);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| {
        let rest = part.trim_start_matches(|letter: char| letter.is_ascii_digit());
        format!("{out}{DURATION}N{rest}")
    })
}

/// The lines that only one side has, `-` HAProxy's, `+` Weir's.
pub(super) fn difference([haproxy, weir]: &[Seen; 2]) -> String {
    let mut out = String::new();
    for (what, left, right) in [
        ("state", &haproxy.states, &weir.states),
        ("stat", &haproxy.checks, &weir.checks),
        ("log", &haproxy.log, &weir.log),
        ("mail", &haproxy.mails, &weir.mails),
    ] {
        let mut rest = right.clone();
        for line in left {
            match rest.iter().position(|other| other == line) {
                Some(place) => drop(rest.remove(place)),
                None => out.push_str(&format!("  - {what}: {line}\n")),
            }
        }
        rest.iter().for_each(|line| out.push_str(&format!("  + {what}: {line}\n")));
    }
    out
}

#[cfg(test)]
mod tests {
    //! Values of the run are removed, all else stays.
    use super::*;

    #[test]
    fn times_and_ports_are_taken_out() {
        let line = "<133>Nov 21 10:00:00 haproxy[7]: Health check for server b/s at :80 failed, check duration: 12ms, status: 0/1 DOWN.";
        let expected = "<133> Health check for server b/s at :PORT0 failed, check duration: Nms, status: 0/1 DOWN.";
        assert_eq!(log(vec![line.to_owned()], &[80]), [expected]);
        let dump = "1\n# be_name srv_time_since_last_change srv_port\nb 17 80\n\n";
        assert_eq!(states(dump), ["be_name=b"]);
        let csv = "# pxname,svname,last_chk,lastchg,status,\nb,s,\"x, y\",17,UP,\n\n";
        assert_eq!(checks(csv), ["svname=s last_chk=\"x, y\" status=UP"]);
    }

    #[test]
    fn differences_name_their_side() {
        let of = |log: &[&str]| Seen {
            log: log.iter().map(|line| (*line).to_owned()).collect(),
            ..Seen::default()
        };
        let both = [of(&["a", "a", "b"]), of(&["a", "c"])];
        assert_eq!(difference(&both), "  - log: a\n  - log: b\n  + log: c\n");
    }
}
