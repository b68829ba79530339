//! Rules in order, and their evaluation.

use crate::action::{self, Action, Outcome};
use crate::context::{Context, facts};
use crate::redirect::Redirect;
use crate::rule_set_kind::RuleSetKind;
use crate::verdict::{Cursor, Need, Verdict};
use sample::regex::effort;
use sample::{Answer, Condition, ConditionHits, ConditionIndex, Facts, ParseError, Parser};
use std::sync::{Arc, OnceLock};

/// One compiled rule.
#[derive(Debug)]
pub struct Rule {
    action: Action,
    condition: Option<Condition>,
    file: Arc<str>,
    line: u32,
    wants_record: bool,
}

impl Rule {
    /// Parses a rule: the words behind the rule set's own, `action arguments [if|unless
    /// condition]`.
    pub fn parse(
        ruleset: RuleSetKind,
        words: &[&str],
        cx: &mut Parser<'_>,
    ) -> Result<Rule, ParseError> {
        cx.wants_record.set(false);
        let (action, used) = action::parse(ruleset, words, cx)?;
        let name = words.first().copied().unwrap_or("");
        let context = format!("'{} {name}' ", ruleset.keyword());
        Rule::finish(action, &words[used..], used, &context, cx)
    }

    fn finish(
        action: Action,
        rest: &[&str],
        used: usize,
        context: &str,
        cx: &mut Parser<'_>,
    ) -> Result<Rule, ParseError> {
        let condition = Condition::parse_clause(rest, cx).map_err(|error| {
            let what = if matches!(rest.first(), Some(&("if" | "unless"))) {
                format!("error detected while parsing an {}condition : ", context)
            } else {
                context.to_owned()
            };
            error.shifted(used).context(what)
        })?;
        let wants_record = cx.wants_record.get();
        Ok(Rule { action, condition, file: cx.file.clone(), line: cx.line, wants_record })
    }

    /// A rule without words of its own in a table of actions: file and line tell where it comes
    /// from.
    pub fn new(action: Action, condition: Option<Condition>, file: Arc<str>, line: u32) -> Rule {
        Rule { action, condition, file, line, wants_record: false }
    }

    /// File and line of the rule.
    pub fn place(&self) -> (&str, u32) {
        (&self.file, self.line)
    }

    /// The action of the rule.
    pub fn action(&self) -> &Action {
        &self.action
    }

    /// The condition under which the rule runs; without one it always runs.
    pub fn condition(&self) -> Option<&Condition> {
        self.condition.as_ref()
    }

    /// Whether it always ends the evaluation, so that rules behind it never run.
    pub fn is_final(&self) -> bool {
        self.condition.is_none() && self.action.is_final()
    }

    /// Whether HAProxy warns of HTTP rules behind this one. As measured, it does not for some
    /// actions that end the evaluation.
    pub fn is_known_as_final(&self) -> bool {
        use action::Control::{Reject, Service, SilentDrop};
        let silent = matches!(self.action, Action::Control(Reject | Service(_) | SilentDrop));
        self.is_final() && !silent
    }
}

/// The rules of one set of one proxy, in order.
#[derive(Debug)]
pub struct RuleSet {
    ruleset: RuleSetKind,
    rules: Vec<Rule>,
    wants_record: bool,
    guards: OnceLock<ConditionIndex>,
}

impl RuleSet {
    /// An empty set.
    pub fn new(ruleset: RuleSetKind) -> RuleSet {
        RuleSet { ruleset, rules: Vec::new(), wants_record: false, guards: OnceLock::new() }
    }

    /// Appends a rule.
    pub fn push(&mut self, rule: Rule) {
        self.wants_record |= rule.wants_record;
        self.rules.push(rule);
        self.guards = OnceLock::new();
    }

    /// The guards of the conditions, compiled at the first call: ACL lines may follow the rules
    /// that name them.
    pub fn guards(&self) -> &ConditionIndex {
        self.guards.get_or_init(|| ConditionIndex::new(self.rules.iter().map(Rule::condition)))
    }

    /// Whether a rule's format has a log variable: only then need [`Facts::record`] be up to date.
    pub fn wants_record(&self) -> bool {
        self.wants_record
    }

    /// The kind of the rule set.
    pub fn ruleset(&self) -> RuleSetKind {
        self.ruleset
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules in order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The action that would end an evaluation with the current data, if any. No action runs, so
    /// changes by earlier rules are not taken into account.
    pub fn foresee(&self, facts: &dyn Facts) -> Option<&Action> {
        let holds = |rule: &&Rule| match &rule.condition {
            None => true,
            // A condition that needs more data counts as possible.
            Some(condition) => condition.eval(facts) != Answer::No,
        };
        let ends = self.rules.iter().filter(|rule| rule.action.is_final()).find(holds)?;
        let known = ends.condition.as_ref().is_none_or(|it| it.eval(facts) == Answer::Yes);
        known.then_some(&ends.action)
    }

    /// Runs the rules from `cursor` on (the default one begins at the first).
    ///
    /// Once regular expressions have used up the steps of a message, their results are invalid.
    /// This function reports that unless it was reported before: then the rules are those of the
    /// error reply.
    pub fn evaluate<'r>(&'r self, mut cursor: Cursor, cx: &mut dyn Context) -> Verdict<'r> {
        // An awaited answer may use steps too, so the state is that of the beginning.
        let known = *cursor.exhausted.get_or_insert_with(effort::is_exhausted);
        let (verdict, rule) = self.walk((cursor, known), cx);
        if !known && effort::is_exhausted() {
            if let Some(rule) = rule {
                cx.set_last_rule(&rule.file, rule.line);
            }
            return Verdict::OutOfSteps;
        }
        verdict
    }

    /// The verdict of the rules, and the rule at which the evaluation ends.
    fn walk<'r>(
        &'r self,
        (cursor, known): (Cursor, bool),
        cx: &mut dyn Context,
    ) -> (Verdict<'r>, Option<&'r Rule>) {
        let Cursor { next, mut strict, yields, exhausted } = cursor;
        let suspend = |next, strict, need| Verdict::Suspend {
            cursor: Cursor { next, strict, yields: false, exhausted },
            need,
        };
        let (guards, mut lookout) = (self.guards(), ConditionHits::default());
        for (index, rule) in self.rules.iter().enumerate().skip(next) {
            if yields && index > next && effort::is_turn_over() {
                return (suspend(index, strict, Need::Turn), Some(rule));
            }
            if guards.rule_out(index, facts(cx), &mut lookout) {
                continue;
            }
            if let Some(condition) = &rule.condition {
                let answer = condition.eval(facts(cx));
                if !known && effort::is_exhausted() {
                    return (Verdict::OutOfSteps, Some(rule));
                }
                match answer {
                    Answer::Yes => {}
                    Answer::No => continue,
                    Answer::NotYet => {
                        return (suspend(index, strict, missing(cx)), Some(rule));
                    }
                }
            }
            if rule.action.edits_message() {
                lookout.forget();
            }
            match rule.action.run(self.ruleset.side(), cx) {
                Outcome::Next => {}
                Outcome::Strict(on) => strict = on,
                Outcome::Suspend => return (suspend(index, strict, missing(cx)), Some(rule)),
                Outcome::Wait(need) => return (suspend(index + 1, strict, need), Some(rule)),
                Outcome::NoRoom => {
                    cx.count_failed_rewrite();
                    if strict {
                        cx.set_last_rule(&rule.file, rule.line);
                        return (Verdict::RewriteFailed, Some(rule));
                    }
                }
                Outcome::Cached => {
                    cx.set_last_rule(&rule.file, rule.line);
                    let cursor = Cursor { next: index + 1, strict, yields: false, exhausted };
                    return (Verdict::Cached { cursor }, Some(rule));
                }
                Outcome::Final(verdict) => {
                    cx.set_last_rule(&rule.file, rule.line);
                    return (verdict, Some(rule));
                }
            }
            if !known && effort::is_exhausted() {
                return (Verdict::OutOfSteps, Some(rule));
            }
        }
        (Verdict::Continue, None)
    }
}

/// The need of a rule that is not decided.
fn missing(cx: &dyn Context) -> Need {
    if cx.is_asked() { Need::Answer } else { Need::Bytes }
}

/// Parses the words behind `http-request`.
pub fn parse_http_request(words: &[&str], cx: &mut Parser<'_>) -> Result<Rule, ParseError> {
    Rule::parse(RuleSetKind::HttpRequest, words, cx)
}

/// Parses the words behind `http-response`.
pub fn parse_http_response(words: &[&str], cx: &mut Parser<'_>) -> Result<Rule, ParseError> {
    Rule::parse(RuleSetKind::HttpResponse, words, cx)
}

/// Parses the words behind `http-after-response`.
pub fn parse_http_after_response(words: &[&str], cx: &mut Parser<'_>) -> Result<Rule, ParseError> {
    Rule::parse(RuleSetKind::HttpAfterResponse, words, cx)
}

/// Parses the words behind `tcp-request connection`.
pub fn parse_tcp_connection(words: &[&str], cx: &mut Parser<'_>) -> Result<Rule, ParseError> {
    Rule::parse(RuleSetKind::TcpConnection, words, cx)
}

/// Parses the words behind `tcp-request session`.
pub fn parse_tcp_session(words: &[&str], cx: &mut Parser<'_>) -> Result<Rule, ParseError> {
    Rule::parse(RuleSetKind::TcpSession, words, cx)
}

/// Parses the words behind `tcp-request content`.
pub fn parse_tcp_request(words: &[&str], cx: &mut Parser<'_>) -> Result<Rule, ParseError> {
    Rule::parse(RuleSetKind::TcpRequest, words, cx)
}

/// Parses the words behind `tcp-response content`.
pub fn parse_tcp_response(words: &[&str], cx: &mut Parser<'_>) -> Result<Rule, ParseError> {
    Rule::parse(RuleSetKind::TcpResponse, words, cx)
}

/// Parses the words behind the keyword `redirect` at the start of a line. Such rules form a set of
/// their own that runs after `http-request`; their targets are plain texts.
pub fn parse_redirect(words: &[&str], cx: &mut Parser<'_>) -> Result<Rule, ParseError> {
    let (redirect, used) = Redirect::parse(words, false, cx)?;
    Rule::finish(Action::Redirect(redirect), &words[used..], used, "'redirect' ", cx)
}

#[cfg(test)]
mod effects;
#[cfg(test)]
mod tests;
