//! Conditions: ACLs joined by implicit AND, `or`, `!` and anonymous ACLs in braces (manual section 7.2).

use crate::acl::{Acl, Answer, Test};
use crate::error::ParseError;
use crate::facts::Facts;
use crate::parser::Parser;
use crate::place::Places;
use std::sync::Arc;

/// One term: an ACL, perhaps negated.
#[derive(Debug)]
struct Term {
    negated: bool,
    acl: Arc<Acl>,
}

/// The condition behind `if` or `unless`: any of several groups of terms, all of which must hold.
#[derive(Debug)]
pub struct Condition {
    unless: bool,
    any: Vec<Vec<Term>>,
    /// The places where the condition is evaluated.
    places: Places,
}

impl Condition {
    /// Parses the words behind `if` or `unless`, all of them. Uses in places where an ACL can never
    /// match are warned about through the context.
    pub fn parse(words: &[&str], cx: &mut Parser<'_>) -> Result<Condition, ParseError> {
        let mut groups = vec![Vec::new()];
        let mut negated = false;
        let mut at = 0;
        while let Some(word) = words.get(at).filter(|word| !word.is_empty()) {
            if word.eq_ignore_ascii_case("or") || *word == "||" {
                groups.push(Vec::new());
                at += 1;
                continue;
            }
            let name = word.trim_start_matches('!');
            negated ^= (word.len() - name.len()) % 2 == 1;
            if name.is_empty() {
                at += 1;
                continue;
            }
            let acl = if name == "{" {
                let (acl, end) = anonymous(words, at, cx)?;
                at = end;
                acl
            } else {
                let offset = word.len() - name.len();
                cx.acls.find(name, cx).map_err(|error| ParseError::at(at, offset, error))?
            };
            if let Some(warning) = acl.conflict(cx.places) {
                cx.warn(warning);
            }
            groups.last_mut().expect("there is a first group").push(Term { negated, acl });
            negated = false;
            at += 1;
        }
        if groups.iter().all(Vec::is_empty) {
            groups.clear();
            cx.warn("this condition says nothing: it never holds");
        }
        Ok(Condition { unless: false, any: groups, places: cx.places })
    }

    /// Whether all facts that the condition needs exist at `places`.
    pub fn known_in(&self, places: Places) -> bool {
        self.any.iter().flatten().all(|term| term.acl.known_in(places))
    }

    /// Whether one of its tests reads the raw bytes of a stream, which HTTP mode does not have.
    pub fn wants_unparsed(&self) -> bool {
        let wants = |test: &Arc<Test>| test.expr().wants_unparsed();
        self.any.iter().flatten().any(|term| term.acl.tests().any(wants))
    }

    /// Tests that are evaluated first and of which at least one must hold for the condition to
    /// hold; empty if there are no such tests.
    pub(crate) fn leading_tests(&self) -> Option<Vec<Arc<Test>>> {
        let leads = |group: &Vec<Term>| group.first().is_some_and(|term| !term.negated);
        if self.unless || !self.any.iter().all(leads) {
            return None;
        }
        let first = self.any.iter().filter_map(|group| group.first());
        Some(first.flat_map(|term| term.acl.tests()).cloned().collect())
    }

    /// Parses `if ...` or `unless ...` at the end of a rule; no word at all is no condition.
    pub fn parse_clause(
        words: &[&str],
        cx: &mut Parser<'_>,
    ) -> Result<Option<Condition>, ParseError> {
        match words.first() {
            None | Some(&"") => Ok(None),
            Some(&word @ ("if" | "unless")) => {
                let condition = Condition::parse(&words[1..], cx)
                    // A missing condition is shown at the word that announced it.
                    .map_err(|error| error.shifted(usize::from(words.len() > 1)))?;
                Ok(Some(Condition { unless: word == "unless", ..condition }))
            }
            Some(other) => Err(ParseError::new(
                0,
                format!(
                    "expects either 'if' or 'unless' followed by a condition but found '{other}'"
                ),
            )),
        }
    }

    /// Whether the condition lets the rule run.
    pub fn eval(&self, facts: &dyn Facts) -> Answer {
        let mut answer = Answer::No;
        for group in &self.any {
            match all(group, self.places, facts) {
                Answer::Yes => {
                    answer = Answer::Yes;
                    break;
                }
                Answer::NotYet => answer = Answer::NotYet,
                Answer::No => {}
            }
        }
        match answer {
            Answer::NotYet => Answer::NotYet,
            decided => Answer::from((decided == Answer::Yes) != self.unless),
        }
    }
}

fn all(group: &[Term], places: Places, facts: &dyn Facts) -> Answer {
    let mut answer = Answer::Yes;
    for term in group {
        match term.acl.eval_in(places, facts) {
            Answer::NotYet => answer = Answer::NotYet,
            decided if (decided == Answer::Yes) == term.negated => return Answer::No,
            _ => {}
        }
    }
    answer
}

/// The ACL in braces that opens at `words[at]`, and the index of the closing brace.
fn anonymous(words: &[&str], at: usize, cx: &Parser<'_>) -> Result<(Arc<Acl>, usize), ParseError> {
    let inside = &words[at + 1..];
    let end = inside.iter().position(|word| *word == "}" || word.is_empty());
    let Some(end) = end.filter(|end| inside[*end] == "}") else {
        return Err(ParseError::new(at, "missing closing '}' in condition"));
    };
    let acl = Acl::parse("", &inside[..end], cx).map_err(|error| error.shifted(at + 1))?;
    Ok((Arc::new(acl), at + 1 + end))
}

#[cfg(test)]
mod tests;
