//! Guards: one look-up for all rules of a set whose conditions begin with a test of the same text.
//!
//! Configurations choose by host and path, so hundreds of rules ask the same header about texts
//! that exclude each other. The patterns of such rules are put into one index; the message is
//! looked up in it once, and a rule that is not among the hits is passed over without evaluating
//! anything. A rule that is hit is evaluated as if there were no guard.

use crate::acl::Test;
use crate::condition::Condition;
use crate::facts::Facts;
use crate::pattern::{SharedIndex, View};
use crate::value::Value;
use std::sync::Arc;

/// Rules that must share a test before they are guarded: with fewer, the look-up costs more than it
/// saves.
const WORTHWHILE: usize = 3;
/// Rules with more patterns stay without a guard, which would hold the patterns twice.
const MAX_PATTERNS: usize = 256;
/// Groups of rules; conditions of any further kind stay without a guard.
const GROUPS: usize = 6;
/// Rules hit by one message beyond which all count as hit.
const HITS: usize = 8;

/// The guards of a list of rules, by each rule's index in it.
#[derive(Debug, Default)]
pub struct ConditionIndex {
    groups: Vec<GuardGroup>,
    places: Vec<Option<GuardedRule>>,
}

/// Which group guards a rule, and the views that its patterns came from.
#[derive(Debug)]
struct GuardedRule {
    group: usize,
    views: Vec<Arc<View>>,
}

#[derive(Debug)]
struct GuardGroup {
    /// The test of its first rule; all its rules use the same sample.
    test: Arc<Test>,
    patterns: SharedIndex,
}

/// The results of the guards for the current message. An edit of the message has to clear them.
#[derive(Debug, Default)]
pub struct ConditionHits([Option<Hits>; GROUPS]);

impl ConditionHits {
    /// The request may look different from now on.
    pub fn forget(&mut self) {
        self.0 = [None; GROUPS];
    }
}

/// The rules that one message may satisfy.
#[derive(Debug, Clone, Copy, Default)]
struct Hits {
    rules: [u32; HITS],
    /// Beyond [`HITS`], all rules count as hit.
    len: usize,
}

impl Hits {
    fn add(&mut self, rule: u32) {
        if let Some(slot) = self.rules.get_mut(self.len) {
            *slot = rule;
        }
        self.len = (self.len + 1).min(HITS + 1);
    }

    fn holds(&self, rule: usize) -> bool {
        let known = self.rules.get(..self.len);
        known.is_none_or(|rules| rules.contains(&(rule as u32)))
    }
}

impl ConditionIndex {
    /// Guards for rules with these conditions, in order. To be called when no further ACL line will
    /// be read.
    pub fn new<'c>(conditions: impl Iterator<Item = Option<&'c Condition>>) -> ConditionIndex {
        let wanted: Vec<_> = conditions.map(|condition| guarded(condition?)).collect();
        // The test that stands for each kind, and how many rules are of that kind.
        let mut kinds: Vec<(Arc<Test>, usize)> = Vec::new();
        for tests in wanted.iter().flatten() {
            match kinds.iter().position(|(known, _)| known.asks_like(&tests[0])) {
                Some(kind) => kinds[kind].1 += 1,
                None if kinds.len() < 4 * GROUPS => kinds.push((tests[0].clone(), 1)),
                None => {}
            }
        }
        kinds.retain(|(_, count)| *count >= WORTHWHILE);
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        kinds.truncate(GROUPS);
        let groups = kinds.into_iter().filter_map(|(test, _)| {
            let patterns = test.views().first()?.gathering()?;
            Some(GuardGroup { test, patterns })
        });
        let mut guards = ConditionIndex { groups: groups.collect(), places: Vec::new() };
        for (rule, tests) in wanted.into_iter().enumerate() {
            let place = tests.and_then(|tests| guards.place(rule, &tests));
            guards.places.push(place);
        }
        guards
    }

    /// Puts the patterns of a rule into the group for its kind.
    fn place(&mut self, rule: usize, tests: &[Arc<Test>]) -> Option<GuardedRule> {
        let group = self.groups.iter().position(|group| group.test.asks_like(&tests[0]))?;
        let number = u32::try_from(rule).ok()?;
        let views: Vec<Arc<View>> =
            tests.iter().flat_map(|test| test.views().iter().cloned()).collect();
        if views.iter().map(|view| view.len()).sum::<usize>() > MAX_PATTERNS {
            return None;
        }
        let patterns = &mut self.groups[group].patterns;
        views
            .iter()
            .all(|view| view.gather(number, patterns))
            .then_some(GuardedRule { group, views })
    }

    /// Whether rule `rule` surely does not apply to the request at hand. `lookout` belongs to this
    /// evaluation and these guards.
    #[inline]
    pub fn rule_out(&self, rule: usize, facts: &dyn Facts, lookout: &mut ConditionHits) -> bool {
        let Some(Some(place)) = self.places.get(rule) else { return false };
        // Patterns that came at run time are not in the index.
        if place.views.iter().any(|view| view.has_changed()) {
            return false;
        }
        let hits = match &mut lookout.0[place.group] {
            Some(hits) => hits,
            free => free.insert(self.groups[place.group].look(facts)),
        };
        !hits.holds(rule)
    }
}

impl GuardGroup {
    fn look(&self, facts: &dyn Facts) -> Hits {
        let mut hits = Hits::default();
        if !facts.is_final() {
            // Missing data may still arrive, so only the test itself can decide.
            hits.len = HITS + 1;
            return hits;
        }
        // An undefined sample satisfies no test.
        let _ = self.test.expr().any(facts, &mut |value: Value<'_>| {
            self.patterns.look(&value, &mut |rule| hits.add(rule));
            false
        });
        hits
    }
}

/// The tests of which one must hold for the condition to hold, if all compare the same sample and
/// an index can hold them.
fn guarded(condition: &Condition) -> Option<Vec<Arc<Test>>> {
    let tests = condition.leading_tests()?;
    let first = tests.first()?;
    let fits = |test: &Arc<Test>| test.can_be_guarded() && test.asks_like(first);
    tests.iter().all(fits).then_some(tests)
}

#[cfg(test)]
mod tests;
