//! `stick` rules: the expressions by which a client's former server is remembered and found.

use sample::{
    Answer, Condition, Expr, Facts, ParseError, Parser, Place, Places, TableRef, TableUse, tables,
};
use std::sync::Arc;
use table::{Key, Table};

/// One `stick` line (manual section 4.2).
#[derive(Debug)]
pub struct StickRule {
    /// Looks an entry up: `stick match`, `stick on`.
    pub matches: bool,
    /// Remembers the server from the request: `stick store-request`, `stick on`.
    pub stores_request: bool,
    /// Remembers the server from the response: `stick store-response`.
    pub stores_response: bool,
    key: Expr,
    table: Arc<TableRef>,
    condition: Option<Condition>,
    file: Arc<str>,
    line: u32,
}

/// Parses the words behind `stick`.
///
/// # Errors
/// The line is malformed, or its pattern is not available when it is evaluated.
pub fn parse_stick(words: &[&str], cx: &mut Parser<'_>) -> Result<StickRule, ParseError> {
    let (matches, stores_request, stores_response) = match words.first().copied() {
        Some("on") => (true, true, false),
        Some("match") => (true, false, false),
        Some("store-request") => (false, true, false),
        Some("store-response") => (false, false, true),
        _ => return Err(ParseError::new(0, "'stick' expects 'on', 'match', or 'store'.")),
    };
    if words.get(1).is_none_or(|word| word.is_empty()) {
        return Err(ParseError::new(0, "'stick' expects a fetch method."));
    }
    let place = if stores_response { Place::BeStickStore } else { Place::BeServerChoice };
    let before = std::mem::replace(&mut cx.places, Places::of(place));
    let rule = parse_rest(words, cx, (matches, stores_request, stores_response));
    cx.places = before;
    rule
}

fn parse_rest(
    words: &[&str],
    cx: &mut Parser<'_>,
    (matches, stores_request, stores_response): (bool, bool, bool),
) -> Result<StickRule, ParseError> {
    let context = |error: ParseError| error.context("'stick': ");
    let mut at = 1;
    let key = Expr::parse(words, &mut at, cx).map_err(context)?;
    let mut name = None;
    if words.get(at) == Some(&"table") {
        name = Some(
            *words
                .get(at + 1)
                .ok_or_else(|| ParseError::new(at, "'stick': missing table name."))?,
        );
        at += 2;
    }
    let usage = match matches {
        true => TableUse::Match(key.output()),
        false => TableUse::Store(key.output()),
    };
    let table = cx.refer(name, usage);
    if let Some(word) = words.get(at).filter(|word| !matches!(**word, "if" | "unless")) {
        return Err(ParseError::new(at, format!("'stick': unknown keyword '{word}'.")));
    }
    let condition = Condition::parse_clause(&words[at..], cx).map_err(|error| {
        let what = "'stick': error detected while parsing sticking condition : ";
        error.shifted(at).context(what)
    })?;
    let (file, line) = (cx.file.clone(), cx.line);
    Ok(StickRule { matches, stores_request, stores_response, key, table, condition, file, line })
}

impl StickRule {
    /// The condition under which the rule runs; without one it always runs.
    pub fn condition(&self) -> Option<&Condition> {
        self.condition.as_ref()
    }

    /// File and line of the rule.
    pub fn place(&self) -> (&str, u32) {
        (&self.file, self.line)
    }

    /// Number of its table.
    pub fn table(&self) -> Option<usize> {
        self.table.number()
    }

    /// Whether its condition holds.
    pub fn applies(&self, facts: &dyn Facts) -> bool {
        self.condition.as_ref().is_none_or(|condition| condition.eval(facts) == Answer::Yes)
    }

    /// The key of the message, and the table; `None` if the message has no key.
    pub fn with_key<T>(
        &self,
        facts: &dyn Facts,
        look: impl FnOnce(&Table, &Key<'_>) -> T,
    ) -> Option<T> {
        let table = facts.table(self.table.number()?)?;
        let value = self.key.eval(facts).ok()?;
        tables::with_key(value, table.kind(), |key| look(table, key))
    }
}
