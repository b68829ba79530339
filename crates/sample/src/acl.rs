//! ACLs: named tests of samples against patterns (manual section 7.1).

mod names;

pub use names::{DERIVED, PREDEFINED};

use crate::context::ParseContext;
use crate::error::ParseError;
use crate::expr::{Expr, keyword_end};
use crate::facts::Facts;
use crate::name_reference::{NameReference, ReferenceTarget};
use crate::pattern::number::Operator;
use crate::pattern::{Match, PatternError, View};
use crate::place::Places;
use crate::value::{Missing, Type};
use crate::{fetch, known_keywords};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// One line of an ACL: an expression, a match method and patterns.
#[derive(Debug)]
pub struct Test {
    /// The keyword as written, for messages.
    keyword: Box<str>,
    expr: Expr,
    method: Match,
    sets: Vec<Arc<View>>,
}

/// The answer of a test, an ACL or a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The condition holds.
    Yes,
    /// The condition does not hold.
    No,
    /// The result depends on bytes that have not arrived.
    NotYet,
}

impl From<bool> for Answer {
    fn from(yes: bool) -> Self {
        if yes { Answer::Yes } else { Answer::No }
    }
}

impl Test {
    /// Parses `expression [flags] [patterns]`, all of `words`.
    pub fn parse(words: &[&str], cx: &ParseContext<'_>) -> Result<Test, ParseError> {
        let Some(word) = words.first().filter(|word| !word.is_empty()) else {
            return Err(ParseError::new(0, "missing fetch method in ACL expression"));
        };
        let end = keyword_end(word, 0);
        let keyword = &word[..end];
        let derived = DERIVED.iter().find(|entry| entry.0 == keyword);
        let expr = match derived {
            Some((_, fetch, _)) if fetch::find(fetch).is_some() => {
                Expr::parse_word(&format!("{fetch}{}", &word[end..]), cx)
                    // The caret points into what the user wrote.
                    .map_err(|e| ParseError {
                        offset: (e.offset + end).saturating_sub(fetch.len()),
                        ..e
                    })?
            }
            Some((name, ..)) => {
                return Err(ParseError::new(
                    0,
                    format!(
                        "ACL keyword '{name}' is not implemented yet{}",
                        known_keywords::reason(name)
                    ),
                ));
            }
            None => Expr::parse_word(word, cx).map_err(|error| in_acl(error, word, keyword))?,
        };
        if words.get(1).is_none_or(|word| word.is_empty()) && expr.output() != Type::Bool {
            cx.warn(format!("parsing acl keyword '{word}' :\n{NO_PATTERN}"));
        }
        // With converters the sample is compared by its type, without them by the keyword's method.
        let method = derived.filter(|_| !expr.has_converters()).map(|entry| entry.2);
        let mut flags = AclFlags { method, ..AclFlags::default() };
        let at = flags.parse(words, 1, &expr, cx)?;
        let own = method.is_some() && !words[..at].contains(&"-m");
        if own && keyword == "method" && names_methods(&words[at..]) {
            // Methods of the protocol are compared by number: each has only one spelling.
            flags.ignore_case = false;
        }
        if keyword == "http_auth_group" {
            note_groups(&expr, words.get(at..).unwrap_or_default(), cx);
        }
        flags.finish(words, at, keyword, expr, cx)
    }

    /// The expression whose sample is compared.
    pub(crate) fn expr(&self) -> &Expr {
        &self.expr
    }

    /// The patterns that it compares with.
    pub(crate) fn views(&self) -> &[Arc<View>] {
        &self.sets
    }

    /// Whether its sample comes from the request's head alone, and can be compared with its texts
    /// in an index that other tests share: an index regards case, or it does not.
    pub(crate) fn can_be_guarded(&self) -> bool {
        self.expr.depends_on_head_only()
            && !self.sets.is_empty()
            && self.sets.iter().all(|view| {
                view.gathering().is_some() && Some(view.ignores_case()) == self.ignores_case()
            })
    }

    /// Whether it compares the same sample in the same way as `other`.
    pub(crate) fn asks_like(&self, other: &Test) -> bool {
        self.method == other.method
            && self.ignores_case() == other.ignores_case()
            && self.expr.is_like(&other.expr)
    }

    /// Whether the first of its patterns match in any case; `-i` counts from its place in the line.
    fn ignores_case(&self) -> Option<bool> {
        self.sets.first().map(|view| view.ignores_case())
    }

    /// Whether any sample matches.
    pub fn eval(&self, facts: &dyn Facts) -> Answer {
        let input = self.method.input();
        let found = self.expr.any(facts, &mut |value| {
            if self.method == Match::Found {
                return true;
            }
            // Texts are compared as they are: a cast would copy methods and numbers for nothing.
            let value = if input == Type::Str { Some(value) } else { value.cast(input) };
            value.is_some_and(|value| self.sets.iter().any(|set| set.matches(&value)))
        });
        match found {
            // More bytes may make it match (manual section 7.3.5, `req.len`).
            Ok(false) if !facts.is_final() && self.expr.grows(facts) => Answer::NotYet,
            Ok(found) => found.into(),
            Err(Missing::NotYet) => Answer::NotYet,
            Err(Missing::Absent) => Answer::No,
        }
    }
}

/// Whether these patterns are nothing but methods that the protocol knows, in any case.
fn names_methods(patterns: &[&str]) -> bool {
    let known = ["OPTIONS", "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "CONNECT"];
    let mut patterns = patterns.iter().take_while(|word| !word.is_empty());
    patterns.all(|word| known.iter().any(|known| known.eq_ignore_ascii_case(word)))
}

/// Notes the groups that a test of a user's groups names: one that does not exist never matches.
fn note_groups(expr: &Expr, groups: &[&str], cx: &ParseContext<'_>) {
    let Some(list) = expr.only_argument() else { return };
    for group in groups.iter().take_while(|word| !word.is_empty()) {
        let wanted = ReferenceTarget::Group(list.into(), (*group).into());
        let mention = NameReference { wanted, number: 1, keyword: "http_auth_group" };
        cx.shared.mentions.borrow_mut().push(mention);
    }
}

/// HAProxy names the whole expression when its first keyword is unknown.
fn in_acl(error: ParseError, word: &str, keyword: &str) -> ParseError {
    if error.offset > 0 || !error.message.starts_with("unknown fetch method") {
        return error;
    }
    let names = DERIVED
        .iter()
        .map(|entry| entry.0)
        .chain(known_keywords::fetches())
        .chain(known_keywords::acls());
    let hint = crate::error::hint(keyword, names);
    let message = format!("unknown fetch method '{keyword}' in ACL expression '{word}'{hint}");
    ParseError { message, ..error }
}

/// The warning about a test without patterns.
const NO_PATTERN: &str =
    "  no pattern to match against were provided, so this ACL will never match.
  If this is what you intended, please add '--' to get rid of this warning.
  If you intended to match only for existence, please use '-m found'.
  If you wanted to force an int to match as a bool, please use '-m bool'.";

/// Patterns in their final form, and the number of each one's word.
type Patterns<'w> = (Vec<Cow<'w, [u8]>>, Vec<usize>);

/// The flags in front of patterns, and the files they name.
#[derive(Default)]
struct AclFlags {
    method: Option<Match>,
    ignore_case: bool,
    keyed: bool,
    /// Host names are no addresses (`-n`).
    no_names: bool,
    id: Option<u32>,
    sets: Vec<Arc<View>>,
}

impl AclFlags {
    /// Reads flags from `words[at]` on; returns the index of the first pattern.
    fn parse(
        &mut self,
        words: &[&str],
        mut at: usize,
        expr: &Expr,
        cx: &ParseContext<'_>,
    ) -> Result<usize, ParseError> {
        while let Some(flag) = words.get(at) {
            let value =
                |what: &str| {
                    words.get(at + 1).copied().filter(|word| !word.is_empty()).ok_or_else(|| {
                        ParseError::new(at, format!("missing {what} after '{flag}'"))
                    })
                };
            match *flag {
                "-i" => self.ignore_case = true,
                "-n" => self.no_names = true,
                "-M" => self.keyed = true,
                "--" => return Ok(at + 1),
                // At the end of a line the flag has no effect.
                "-u" if words.get(at + 1).is_none_or(|word| word.is_empty()) => {}
                "-u" => {
                    let id = value("unique id")?;
                    self.id = Some(unique_id(id, cx).map_err(|error| error.shifted(at + 1))?);
                    at += 1;
                }
                "-m" => {
                    let name = value("match method")?;
                    self.set_method(name).map_err(|error| error.shifted(at + 1))?;
                    at += 1;
                }
                "-f" => {
                    let name = value("pattern file name")?;
                    let method = self.method_for(expr).map_err(|error| error.shifted(at))?;
                    let (files, place) = (&cx.shared.patterns, cx.place());
                    let set = files
                        .set(name, (method, self.ignore_case), self.keyed, &place, cx.shared.files)
                        .map_err(|message| ParseError::new(at + 1, message))?;
                    self.sets.push(set);
                    at += 1;
                }
                other if other.starts_with('-') => {
                    let message = format!(
                        "'{other}' is not a valid ACL option. Please use '--' before any pattern beginning with a '-'"
                    );
                    return Err(ParseError::new(at, message));
                }
                _ => break,
            }
            at += 1;
        }
        Ok(at)
    }

    fn set_method(&mut self, name: &str) -> Result<(), ParseError> {
        if !self.sets.is_empty() {
            return Err(ParseError::new(
                0,
                "'-m' must only be specified before patterns and files in parsing ACL expression",
            ));
        }
        let method = Match::find(name).ok_or_else(|| {
            let hint = crate::error::hint(name, Match::TABLE.iter().map(|entry| entry.0));
            let message =
                format!("unknown matching method '{name}' when parsing ACL expression{hint}");
            ParseError::new(0, message)
        })?;
        self.method = Some(method);
        Ok(())
    }

    fn method_for(&self, expr: &Expr) -> Result<Match, ParseError> {
        self.method.or_else(|| Match::default_for(expr.output())).ok_or_else(|| {
            let message = format!(
                "matching method must be specified first (using '-m') when using a sample fetch \
                 of this type ('{}')",
                expr.keyword()
            );
            ParseError::new(0, message)
        })
    }

    /// Compiles the patterns `words[at..]`.
    fn finish(
        mut self,
        words: &[&str],
        at: usize,
        keyword: &str,
        expr: Expr,
        cx: &ParseContext<'_>,
    ) -> Result<Test, ParseError> {
        let method = self.method_for(&expr)?;
        if !expr.output().casts_to(method.input()) {
            let message = format!(
                "matching method '{}' cannot be used with fetch keyword '{keyword}'",
                method.name()
            );
            return Err(ParseError::new(0, message));
        }
        let patterns = words.get(at..).unwrap_or_default();
        // An empty word ends the patterns, as it ends the line for HAProxy's parsers.
        let patterns = patterns.split(|word| word.is_empty()).next().unwrap_or_default();
        let truths = ["1", "true", "yes", "on"];
        for word in patterns.iter().filter(|word| method == Match::Bool && !truths.contains(word)) {
            cx.warn(format!("'{word}' is ignored: a boolean is compared with nothing but true"));
        }
        let (patterns, numbers) = self
            .read(method, keyword, patterns, cx)
            .map_err(|(number, message)| ParseError::new(at + number, message))?;
        // Without any pattern a boolean tests itself; everything else never matches.
        if !patterns.is_empty() || self.sets.is_empty() || method != Match::Bool {
            let place = format!("acl '{keyword}' {}", cx.place());
            let bytes = patterns.iter().map(|pattern| &**pattern);
            let files = &cx.shared.patterns;
            let set = files
                .inline((method, self.ignore_case), bytes, place, self.id)
                .map_err(|(row, message)| ParseError::new(at + numbers[row], message))?;
            self.sets.push(set);
        }
        Ok(Test { keyword: keyword.into(), expr, method, sets: self.sets })
    }

    /// The patterns in their final form, and the number of each one's word: operators in front of
    /// integers are worked in, host names become addresses.
    fn read<'w>(
        &self,
        method: Match,
        keyword: &str,
        words: &[&'w str],
        cx: &ParseContext<'_>,
    ) -> Result<Patterns<'w>, (usize, PatternError)> {
        let mut operator = Operator::Eq;
        let (mut patterns, mut numbers) = (Vec::new(), Vec::new());
        for (number, word) in words.iter().enumerate() {
            patterns.push(match method {
                Match::Int | Match::Len => match Operator::find(word) {
                    Some(found) => {
                        operator = found;
                        continue;
                    }
                    // HAProxy reads it in the same way, without a warning.
                    None if *word == "--" => {
                        cx.warn("'--' behind an operator or a pattern is read as 0".to_owned());
                        Cow::Owned(operator.range("0").map_err(|why| (number, why))?.into_bytes())
                    }
                    None => {
                        let word = if keyword.ends_with("ssl_ver") { &*dotted(word) } else { word };
                        let range = operator.range(word).map_err(|message| (number, message))?;
                        Cow::Owned(range.into_bytes())
                    }
                },
                Match::Ip if !self.no_names && looks_like_a_name(word) => {
                    match (cx.shared.names)(word) {
                        Some(address) => Cow::Owned(address.to_string().into_bytes()),
                        None => Cow::Borrowed(word.as_bytes()),
                    }
                }
                _ => crate::word::to_bytes(word),
            });
            numbers.push(number);
        }
        Ok((patterns, numbers))
    }
}

/// TLS versions in a range are written as `3.1`, which means 196609.
fn dotted(range: &str) -> String {
    let version = |text: &str| {
        let (major, minor) = text.split_once('.')?;
        Some(((major.parse::<i64>().ok()? << 16) + minor.parse::<i64>().ok()?).to_string())
    };
    let bounds = range.split(':').map(|bound| version(bound).unwrap_or_else(|| bound.to_owned()));
    bounds.collect::<Vec<_>>().join(":")
}

/// Whether a pattern for addresses may be a host name: it has a letter, and neither a colon nor a
/// mask.
fn looks_like_a_name(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_alphabetic()) && !word.contains([':', '/'])
}

fn unique_id(text: &str, cx: &ParseContext<'_>) -> Result<u32, ParseError> {
    let id = text.parse().ok().filter(|id| *id < u32::MAX);
    let id = id.ok_or_else(|| ParseError::new(0, format!("invalid unique id '{text}'")))?;
    match cx.shared.patterns.has_id(id) {
        true => Err(ParseError::new(0, "the id is already used")),
        false => Ok(id),
    }
}

/// A named ACL. Lines of the same name add tests to it, also for conditions that were read before:
/// the tests form a list that only grows at its end while the configuration is read.
#[derive(Debug)]
pub struct Acl {
    name: Box<str>,
    test: Arc<Test>,
    next: OnceLock<Box<Acl>>,
}

impl Acl {
    /// Parses what follows the name of an ACL.
    pub fn parse(name: &str, words: &[&str], cx: &ParseContext<'_>) -> Result<Acl, ParseError> {
        Ok(Acl {
            name: name.into(),
            test: Arc::new(Test::parse(words, cx)?),
            next: OnceLock::new(),
        })
    }

    /// The name, empty for an anonymous one.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn push(&self, more: Acl) {
        let mut last = self;
        while let Some(next) = last.next.get() {
            last = next;
        }
        // The configuration is read by one thread, so the slot found empty is still empty.
        let _ = last.next.set(Box::new(more));
    }

    /// The tests of the ACL, at least one of which has to hold.
    pub(crate) fn tests(&self) -> impl Iterator<Item = &Arc<Test>> {
        std::iter::successors(Some(self), |acl| acl.next.get().map(|next| &**next))
            .map(|acl| &acl.test)
    }

    /// Whether any of its tests holds.
    pub fn eval(&self, facts: &dyn Facts) -> Answer {
        self.eval_in(Places::ALL, facts)
    }

    /// The same for `places`, where tests of missing data are false.
    pub(crate) fn eval_in(&self, places: Places, facts: &dyn Facts) -> Answer {
        let mut answer = Answer::No;
        for test in self.tests().filter(|test| test.expr.valid_in(places)) {
            match test.eval(facts) {
                Answer::Yes => return Answer::Yes,
                Answer::NotYet => answer = Answer::NotYet,
                Answer::No => {}
            }
        }
        answer
    }

    /// Whether all of its tests find their samples in `places`.
    pub(crate) fn known_in(&self, places: Places) -> bool {
        self.tests().all(|test| test.expr.valid_in(places))
    }

    /// The warning about a use in `places` where none of its tests can ever hold.
    pub(crate) fn conflict(&self, places: Places) -> Option<String> {
        if self.tests().any(|test| test.expr.valid_in(places)) {
            return None;
        }
        let place = places.name();
        Some(if self.name.is_empty() {
            let keyword = &self.test.keyword;
            format!(
                "anonymous acl will never match because it uses keyword '{keyword}' which is incompatible with '{place}'"
            )
        } else {
            let name = &self.name;
            format!(
                "acl '{name}' will never match because it only involves keywords that are incompatible with '{place}'"
            )
        })
    }
}

/// The ACLs of one section by name. Predefined ones are made on first use.
#[derive(Debug, Default)]
pub struct AclTable {
    acls: RefCell<HashMap<Box<str>, NamedAcl>>,
}

/// A named ACL, with file and line of its first definition unless it is a predefined one.
#[derive(Debug)]
struct NamedAcl {
    acl: Arc<Acl>,
    place: Option<(Arc<str>, u32)>,
}

/// An ACL that its author may have meant differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OddAcl {
    /// Its name.
    pub name: String,
    /// The file of its first line.
    pub file: Arc<str>,
    /// That line.
    pub line: u32,
    /// The ACL has the name of a predefined one; otherwise no rule uses it.
    pub hides: bool,
}

impl AclTable {
    /// Parses an `acl` line: `words` are the name and what follows.
    pub fn define(&self, words: &[&str], cx: &ParseContext<'_>) -> Result<(), ParseError> {
        let name = words.first().copied().unwrap_or("");
        let valid = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
        if name.is_empty() {
            return Err(ParseError::new(0, "missing ACL name"));
        }
        if let Some(offset) = name.find(|c| !valid(c)) {
            let bad = name[offset..].chars().next().unwrap_or(' ');
            let message = format!("character '{bad}' is not permitted in acl name '{name}'");
            return Err(ParseError::at(0, offset, message));
        }
        if name.eq_ignore_ascii_case("or") {
            let message = format!(
                "acl name '{name}' will never match. 'or' is used to express a logical disjunction within a condition"
            );
            return Err(ParseError::new(0, message));
        }
        let acl = Acl::parse(name, &words[1..], cx).map_err(|error| {
            error.shifted(1).context(format_args!("error detected while parsing ACL '{name}' : "))
        })?;
        let mut acls = self.acls.borrow_mut();
        match acls.get(name) {
            Some(first) => first.acl.push(acl),
            None => {
                let place = Some((cx.file.clone(), cx.line));
                acls.insert(name.into(), NamedAcl { acl: Arc::new(acl), place });
            }
        }
        Ok(())
    }

    /// ACLs that hide predefined ones, and ACLs without a condition that uses them; by line.
    pub fn odd(&self) -> Vec<OddAcl> {
        let acls = self.acls.borrow();
        let mut odd: Vec<OddAcl> = acls
            .iter()
            .filter_map(|(name, NamedAcl { acl, place })| {
                let (file, line) = place.clone()?;
                let hides = PREDEFINED.iter().any(|(known, _)| *known == &**name);
                let unused = Arc::strong_count(acl) == 1;
                (hides || unused).then(|| OddAcl { name: name.to_string(), file, line, hides })
            })
            .collect();
        odd.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        odd
    }

    /// The ACL called `name`, defined or predefined.
    ///
    /// # Errors
    ///
    /// No ACL has this name.
    pub fn find(&self, name: &str, cx: &ParseContext<'_>) -> Result<Arc<Acl>, ParseError> {
        if let Some(found) = self.acls.borrow().get(name) {
            return Ok(found.acl.clone());
        }
        let Some((_, words)) = PREDEFINED.iter().find(|(found, _)| *found == name) else {
            let acls = self.acls.borrow();
            let names = acls.keys().map(|name| &**name).chain(PREDEFINED.iter().map(|p| p.0));
            let hint = crate::error::hint(name, names);
            return Err(ParseError::new(0, format!("no such ACL : '{name}'{hint}")));
        };
        let acl = Acl::parse(name, words, cx)?;
        let acl = Arc::new(acl);
        self.acls.borrow_mut().insert(name.into(), NamedAcl { acl: acl.clone(), place: None });
        Ok(acl)
    }
}

#[cfg(test)]
mod tests;
