//! `use_backend`: choosing a backend by condition.

use sample::{Answer, Condition, Facts, LogFormat, LogStyle, ParseError, Parser};
use std::sync::Arc;

/// The backend a rule names.
#[derive(Debug)]
pub enum BackendName {
    /// Known at load; configurations check that it exists.
    Fixed(Box<str>),
    /// Built for each request. When no such backend exists, `default_backend` is used and later
    /// rules are not tried.
    Dynamic(LogFormat),
}

/// One `use_backend` line.
#[derive(Debug)]
pub struct UseBackend {
    name: BackendName,
    condition: Option<Condition>,
    file: Arc<str>,
    line: u32,
}

/// Parses the words behind `use_backend`.
pub fn parse_use_backend(words: &[&str], cx: &mut Parser<'_>) -> Result<UseBackend, ParseError> {
    let Some(name) = words.first().filter(|name| !name.is_empty()) else {
        return Err(ParseError::new(0, "'use_backend' expects a backend name"));
    };
    let format = LogFormat::parse(name, LogStyle::Header, cx)?;
    let name = match format.as_literal() {
        Some(_) => BackendName::Fixed((*name).into()),
        None => BackendName::Dynamic(format),
    };
    let context = "error detected while parsing switching rule : ";
    let condition = Condition::parse_clause(&words[1..], cx)
        .map_err(|error| error.shifted(1).context(context))?;
    Ok(UseBackend { name, condition, file: cx.file.clone(), line: cx.line })
}

/// Parses the words behind `use-server`: the same, with a server's name and a condition that must
/// be there.
pub fn parse_use_server(words: &[&str], cx: &mut Parser<'_>) -> Result<UseBackend, ParseError> {
    if words.is_empty() {
        return Err(ParseError::new(0, "'use-server' expects a server name."));
    }
    if !matches!(words.get(1), Some(&("if" | "unless"))) {
        let expected = "'use-server' requires either 'if' or 'unless' followed by a condition.";
        return Err(ParseError::new(words.len().saturating_sub(1).min(1), expected));
    }
    parse_use_backend(words, cx)
}

impl UseBackend {
    /// Whether the rule applies.
    pub fn applies(&self, facts: &dyn Facts) -> Answer {
        self.condition.as_ref().map_or(Answer::Yes, |condition| condition.eval(facts))
    }

    /// The condition under which the rule applies; without one it always applies.
    pub fn condition(&self) -> Option<&Condition> {
        self.condition.as_ref()
    }

    /// Whether it has no condition.
    pub fn is_unconditional(&self) -> bool {
        self.condition.is_none()
    }

    /// The backend as written.
    pub fn name(&self) -> &BackendName {
        &self.name
    }

    /// The backend's name for this request, in `scratch` when it has to be built.
    pub fn resolve<'n>(&'n self, facts: &dyn Facts, scratch: &'n mut Vec<u8>) -> &'n [u8] {
        match &self.name {
            BackendName::Fixed(name) => name.as_bytes(),
            BackendName::Dynamic(format) => {
                scratch.clear();
                format.write(facts, scratch);
                scratch
            }
        }
    }

    /// File and line of the rule.
    pub fn place(&self) -> (&str, u32) {
        (&self.file, self.line)
    }
}
