//! Conditional expressions of `.if`, `.elif` and `-cc` (section 2.4).
use crate::env::Environment;
use crate::features::Features;
use crate::lex::{self, Surroundings};
use std::cmp::Ordering;
use std::fmt;

#[cfg(test)]
mod tests;

/// Parentheses and negations that may nest.
const MAX_DEPTH: usize = 64;

/// Why an expression cannot be evaluated. `at` is a byte offset in the expression.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CondError {
    pub(crate) at: usize,
    pub(crate) message: String,
}

/// Why the argument of `-cc` has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConditionError {
    /// The words of the condition cannot be separated.
    Syntax(String),
    /// Its expression is malformed.
    Evaluation(String),
}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(message) => write!(f, "Syntax Error in condition: {message}."),
            Self::Evaluation(message) => write!(f, "Failed to evaluate condition: {message}"),
        }
    }
}

impl std::error::Error for ConditionError {}

/// Evaluates the argument of `-cc`: tokenized like a configuration line, outside of any file.
///
/// Exit codes: `Ok(true)` is 0, `Ok(false)` is 1, `Err` is 2.
pub fn check_condition(
    text: &str,
    env: &Environment,
    features: &Features<'_>,
) -> Result<bool, ConditionError> {
    let around = Surroundings { env, file: "-cc", line: 1, section: "" };
    let words = lex::split(text, &around).map_err(|error| ConditionError::Syntax(error.message))?;
    let joined: Vec<&str> = words.iter().map(|w| &*w.text).collect();
    evaluate(&joined.join(" "), env, features)
        .map_err(|error| ConditionError::Evaluation(error.message))
}

/// Evaluates an expression; an empty one is false. The whole text is parsed even when its first
/// terms decide.
pub(crate) fn evaluate(
    text: &str,
    env: &Environment,
    features: &Features<'_>,
) -> Result<bool, CondError> {
    let mut parser = Parser { text, pos: 0, depth: 0, env, features };
    parser.spaces();
    if parser.rest().is_empty() {
        return Ok(false);
    }
    let value = parser.any()?;
    parser.spaces();
    match parser.rest().chars().next() {
        None => Ok(value),
        Some(c) => Err(parser.error(format!(
            "unexpected character '{c}' at the end of conditional expression '{text}'"
        ))),
    }
}

struct Parser<'a> {
    text: &'a str,
    pos: usize,
    depth: usize,
    env: &'a Environment,
    features: &'a Features<'a>,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.pos..]
    }

    fn spaces(&mut self) {
        let rest = self.rest();
        self.pos += rest.len() - rest.trim_start_matches([' ', '\t']).len();
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        self.pos += if found { token.len() } else { 0 };
        found
    }

    fn error(&self, message: String) -> CondError {
        CondError { at: self.pos, message }
    }

    /// `a || b || c`
    fn any(&mut self) -> Result<bool, CondError> {
        let mut value = self.all()?;
        loop {
            self.spaces();
            if !self.eat("||") {
                return Ok(value);
            }
            value |= self.all()?;
        }
    }

    /// `a && b && c`
    fn all(&mut self) -> Result<bool, CondError> {
        let mut value = self.term()?;
        loop {
            self.spaces();
            if !self.eat("&&") {
                return Ok(value);
            }
            value &= self.term()?;
        }
    }

    /// `!term`, `(expression)`, a number, or a predicate.
    fn term(&mut self) -> Result<bool, CondError> {
        self.spaces();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("conditional expression nested too deeply".to_owned()));
        }
        let value = if self.eat("!") {
            !self.term()?
        } else if self.eat("(") {
            self.group()?
        } else if let Some(value) = self.number() {
            value
        } else {
            self.predicate()?
        };
        self.depth -= 1;
        Ok(value)
    }

    fn group(&mut self) -> Result<bool, CondError> {
        let value = self.any()?;
        self.spaces();
        if self.eat(")") {
            return Ok(value);
        }
        Err(self.error(format!("expected ')' in conditional expression '{}'", self.text)))
    }

    fn number(&mut self) -> Option<bool> {
        let rest = self.rest();
        let sign = usize::from(rest.starts_with(['-', '+']));
        let digits = rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return None;
        }
        self.pos += sign + digits;
        Some(rest[sign..sign + digits].bytes().any(|b| b != b'0'))
    }

    fn predicate(&mut self) -> Result<bool, CondError> {
        let start = self.pos;
        let rest = self.rest();
        let len = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let found = PREDICATES.iter().find(|p| p.name == &rest[..len]);
        let (Some(predicate), true) = (found, rest[len..].starts_with('(')) else {
            let message = format!("unparsable conditional expression '{rest}'");
            return Err(CondError { at: start, message });
        };
        self.pos += len + 1;
        let arguments = self.arguments(predicate)?;
        let (first, second) = (arguments.first(), arguments.get(1));
        let text = |a: Option<&String>| a.map_or_else(String::new, Clone::clone);
        Ok((predicate.holds)(self, &text(first), &text(second)))
    }

    /// Arguments up to the closing parenthesis, with their own level of quotes and escapes (section
    /// 2.2).
    fn arguments(&mut self, predicate: &Predicate) -> Result<Vec<String>, CondError> {
        let mut arguments = Vec::new();
        loop {
            let start = self.pos;
            let argument = self.argument();
            match argument {
                Some(argument) if self.eat(",") => arguments.push(argument),
                Some(argument) if self.eat(")") => {
                    arguments.push(argument);
                    break;
                }
                _ => {
                    let message = format!(
                        "expected ')' in argument {} of predicate '{}' used in conditional expression",
                        arguments.len() + 1,
                        predicate.name
                    );
                    return Err(CondError { at: start, message });
                }
            }
        }
        self.check_count(predicate, &arguments)?;
        Ok(arguments)
    }

    fn check_count(&self, predicate: &Predicate, arguments: &[String]) -> Result<(), CondError> {
        let (given, wanted) = (arguments.len(), predicate.arguments);
        let what = match given.cmp(&wanted) {
            Ordering::Equal => return Ok(()),
            Ordering::Less => {
                format!("missing arguments (got {given}/{wanted}), type 'string' expected")
            }
            Ordering::Greater => format!("too many arguments (got {given}/{wanted})"),
        };
        let message = format!(
            "{what} in argument {} of predicate '{}' used in conditional expression",
            given.min(wanted),
            predicate.name
        );
        Err(CondError { at: self.pos.saturating_sub(1), message })
    }

    /// One argument; `None` on an unmatched quote. Stops before `,` or `)`, or at the end of the
    /// text.
    fn argument(&mut self) -> Option<String> {
        let mut out = String::new();
        let mut quote = None;
        while let Some(c) = self.rest().chars().next() {
            match (quote, c) {
                (None, ',' | ')') => break,
                (None, '"' | '\'') => quote = Some(c),
                (Some(q), _) if q == c => quote = None,
                (None | Some('"'), '\\') => {
                    self.pos += 1;
                    let Some(next) = self.rest().chars().next() else { return Some(out) };
                    match next {
                        'n' => out.push('\n'),
                        'r' => out.push('\r'),
                        't' => out.push('\t'),
                        ' ' | '\\' | '"' | '\'' | ',' | ')' => out.push(next),
                        _ => out.extend(['\\', next]),
                    }
                    self.pos += next.len_utf8();
                    continue;
                }
                _ => out.push(c),
            }
            self.pos += c.len_utf8();
        }
        quote.is_none().then_some(out)
    }
}

/// One predicate of section 2.4.
struct Predicate {
    name: &'static str,
    arguments: usize,
    holds: fn(&Parser<'_>, &str, &str) -> bool,
}

/// All predicates, alphabetical.
const PREDICATES: &[Predicate] = &[
    Predicate { name: "defined", arguments: 1, holds: |p, name, _| p.env.get(name).is_some() },
    Predicate { name: "enabled", arguments: 1, holds: |p, n, _| p.features.enabled.contains(&n) },
    Predicate { name: "feature", arguments: 1, holds: |p, n, _| p.features.words.contains(&n) },
    Predicate {
        name: "openssl_version_atleast",
        arguments: 1,
        holds: |p, v, _| p.features.compare_openssl(v).is_some_and(Ordering::is_ge),
    },
    Predicate {
        name: "openssl_version_before",
        arguments: 1,
        holds: |p, v, _| p.features.compare_openssl(v).is_some_and(Ordering::is_lt),
    },
    Predicate {
        name: "ssllib_name_startswith",
        arguments: 1,
        holds: |p, name, _| {
            let library = p.features.ssl_library;
            !library.is_empty() && library.starts_with(name)
        },
    },
    Predicate { name: "streq", arguments: 2, holds: |_, a, b| a == b },
    Predicate { name: "strneq", arguments: 2, holds: |_, a, b| a != b },
    Predicate {
        name: "version_atleast",
        arguments: 1,
        holds: |p, version, _| p.features.compare_version(version).is_ge(),
    },
    Predicate {
        name: "version_before",
        arguments: 1,
        holds: |p, version, _| p.features.compare_version(version).is_lt(),
    },
];
