//! The summary of a check: faults that keep a configuration of HAProxy from starting here, and
//! warnings.
use crate::diag::{Diagnostic, Diagnostics, Severity};
use crate::later;
use crate::render;

/// The most messages of a group that are repeated; the others are counted.
const SHOWN: usize = 20;

/// Why a message matters for a migration.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MigrationGroup {
    /// A keyword of HAProxy 2.7 that is not implemented yet.
    Missing,
    /// A keyword of a later version of HAProxy.
    Later,
    /// An error of the configuration itself.
    Mistake,
    /// A keyword without effect.
    Idle,
}

/// Every group, in the order of the summary, with its title.
const GROUPS: &[(MigrationGroup, &str)] = &[
    (MigrationGroup::Missing, "not in Weir yet"),
    (MigrationGroup::Later, "words of later versions of HAProxy"),
    (MigrationGroup::Mistake, "errors of the configuration itself"),
    (MigrationGroup::Idle, "without effect here, can be dropped"),
];

/// The lines about a configuration that has errors of several kinds, or keywords to drop; empty if
/// the messages themselves say it all.
pub fn summary(diagnostics: &Diagnostics, pid: u32) -> String {
    let of = |group| diagnostics.iter().filter(move |it| self::group(it) == Some(group));
    let migrates = [MigrationGroup::Missing, MigrationGroup::Later, MigrationGroup::Idle]
        .map(|it| of(it).count());
    if migrates == [0; 3] {
        return String::new();
    }
    let errors = diagnostics.of(Severity::Alert).count();
    let mut text = match errors {
        0 => "The configuration works; some of it has no effect:".to_owned(),
        1 => "1 error keeps this configuration from starting:".to_owned(),
        errors => format!("{errors} errors keep this configuration from starting:"),
    };
    for (group, title) in GROUPS {
        let found: Vec<&Diagnostic> = of(*group).collect();
        if found.is_empty() {
            continue;
        }
        text.push_str(&format!("\n  {title} ({}):", found.len()));
        found.iter().take(SHOWN).for_each(|it| text.push_str(&format!("\n    {}", short(it))));
        if found.len() > SHOWN {
            text.push_str(&format!("\n    and {} more", found.len() - SHOWN));
        }
    }
    render::line(Severity::Notice, pid, &text)
}

fn group(diagnostic: &Diagnostic) -> Option<MigrationGroup> {
    let has = |phrase| diagnostic.message.contains(phrase);
    match diagnostic.severity {
        Severity::Alert if has(later::PHRASE) => Some(MigrationGroup::Later),
        Severity::Alert if has("not implemented yet") => Some(MigrationGroup::Missing),
        Severity::Alert => Some(MigrationGroup::Mistake),
        Severity::Warning if has(" has no effect: ") => Some(MigrationGroup::Idle),
        _ => None,
    }
}

/// The place of a message, the keyword and, for keywords of later versions, the replacement.
fn short(diagnostic: &Diagnostic) -> String {
    let place = diagnostic.place.as_ref().map_or(String::new(), |place| format!("{place} "));
    let message = render::printable(&diagnostic.message);
    let brief = match group(diagnostic) {
        Some(MigrationGroup::Later) => short_later(&message),
        Some(MigrationGroup::Missing | MigrationGroup::Idle) => quoted(&message),
        _ => message.lines().next().unwrap_or_default().to_owned(),
    };
    match diagnostic.area.filter(|_| group(diagnostic) == Some(MigrationGroup::Missing)) {
        Some(area) => format!("{place}{brief} ({area})"),
        None => format!("{place}{brief}"),
    }
}

/// The keyword of a message, in its quotation marks.
fn quoted(message: &str) -> String {
    message.split('\'').nth(1).map_or(message.to_owned(), |name| format!("'{name}'"))
}

/// The keyword of a later version, that version, and what to write instead.
fn short_later(message: &str) -> String {
    let (before, rest) = message.split_once(later::PHRASE).unwrap_or_default();
    let name = before.trim_end().trim_end_matches('\'').rsplit('\'').next().unwrap_or_default();
    let (versions, instead) = rest.split_once(", Weir not yet").unwrap_or((rest, ""));
    let versions = versions.trim_start_matches(": ");
    let versions = versions.trim_end_matches(" have it").trim_end_matches(" has it");
    format!("'{name}' ({versions}){instead}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Place;

    fn about(severity: Severity, line: u32, message: &str) -> Diagnostic {
        Diagnostic::about(severity, &Place::new(&"h.cfg".into(), line), message)
    }

    #[test]
    fn messages_are_sorted_by_what_they_mean_for_a_migration() {
        let mut all = Diagnostics::default();
        all.push(about(Severity::Warning, 2, "'noepoll' has no effect: epoll is the only poller"));
        all.push(about(Severity::Alert, 3, "'mode spop' is not implemented yet"));
        all.push(about(Severity::Alert, 4, &later::message("section", "crt-store", "crt-store")));
        all.push(about(Severity::Alert, 5, "unknown keyword 'x' in 'global' section"));
        let expected = "[NOTICE]   (7) : config : 3 errors keep this configuration from starting:
  not in Weir yet (1):
    h.cfg:3 'mode spop'
  words of later versions of HAProxy (1):
    h.cfg:4 'crt-store' (HAProxy 3.0 and later); instead: 'crt' or 'crt-list' on 'bind' lines with the paths of the files
  errors of the configuration itself (1):
    h.cfg:5 unknown keyword 'x' in 'global' section
  without effect here, can be dropped (1):
    h.cfg:2 'noepoll'
";
        assert_eq!(summary(&all, 7), expected);
    }

    #[test]
    fn mistakes_alone_have_no_summary_and_long_groups_are_cut() {
        let mut all = Diagnostics::default();
        all.push(about(Severity::Alert, 5, "unknown keyword 'x' in 'global' section"));
        assert_eq!(summary(&all, 7), "");
        (0..25).for_each(|n| all.push(about(Severity::Alert, n, "'y' is not implemented yet")));
        let text = summary(&all, 7);
        assert!(
            text.contains("  not in Weir yet (25):") && text.contains("\n    and 5 more\n"),
            "{text}"
        );
    }
}
