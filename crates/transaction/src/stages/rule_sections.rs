//! The evaluation of one rule set in the sections of a proxy: those of its defaults, then its own.

use engine::state::session::transaction::RulePlace;
use rules::{Cursor, Need, RuleSet, Rules, Verdict};

/// Picks a rule set of a section.
pub type SetOf = fn(&Rules) -> &RuleSet;

/// Evaluates the rules from `at` on until one decides or waits; then `at` is where the rules
/// continue, or would continue without the response of a cache. For more bytes they are evaluated
/// from the same place again.
pub fn evaluate<'r>(
    proxy: &'r settings::Proxy,
    set: SetOf,
    at: &mut RulePlace,
    mut evaluate: impl FnMut(&'r RuleSet, Cursor) -> Verdict<'r>,
) -> Verdict<'r> {
    let first = *at;
    for (section, rules) in proxy.rule_sections().map(set).enumerate().skip(first.section) {
        if rules.is_empty() {
            continue;
        }
        let cursor = if section == first.section { first.cursor } else { Cursor::default() };
        match evaluate(rules, cursor) {
            Verdict::Continue => {}
            Verdict::Suspend { cursor, need } if need != Need::Bytes => {
                *at = RulePlace { section, cursor };
                return Verdict::Suspend { cursor, need };
            }
            Verdict::Cached { cursor } => {
                *at = RulePlace { section, cursor };
                return Verdict::Cached { cursor };
            }
            decided => return decided,
        }
    }
    Verdict::Continue
}
