//! Commands about the patterns of ACLs and maps (management.txt 9.3: `add acl` to `show map`).

use super::call::{Call, Reply, Severity};
use sample::pattern::{Dictionary, Refusal, Sighting, View};
use std::fmt::Write;
use std::sync::Arc;

/// The number of rows in one piece of a listing.
const STEP: u32 = 128;

/// Which of the two families of commands: they differ in words and in which dictionaries they see.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PatternKind {
    Acl,
    Map,
}

impl PatternKind {
    /// The second word of the command.
    fn of(call: &Call<'_>) -> PatternKind {
        if call.word(1) == "acl" { PatternKind::Acl } else { PatternKind::Map }
    }

    fn name(self) -> &'static str {
        match self {
            PatternKind::Acl => "ACL",
            PatternKind::Map => "map",
        }
    }

    fn sees(self, dictionary: &Dictionary) -> bool {
        match self {
            PatternKind::Acl => dictionary.is_acl() || !dictionary.has_values(),
            PatternKind::Map => dictionary.is_map(),
        }
    }

    /// The dictionary that a word names.
    fn find<'c>(self, call: &'c Call<'_>, name: &str) -> Result<&'c Arc<Dictionary>, Reply> {
        let found = call.settings.dictionaries.find(name);
        found.filter(|dictionary| self.sees(dictionary)).ok_or_else(|| self.unknown())
    }

    fn unknown(self) -> Reply {
        Reply::error(format!("Unknown {} identifier. Please use #<id> or <file>.", self.name()))
    }

    fn missing(self) -> Reply {
        Reply::error(format!("Missing {} identifier.", self.name()))
    }
}

/// The version behind `@` at word 2, and the position of the word behind it.
fn version(call: &Call<'_>) -> (Option<u32>, usize) {
    match call.word(2).strip_prefix('@') {
        Some(text) => (Some(text.parse().unwrap_or(0)), 3),
        None => (None, 2),
    }
}

/// The subject of a command in a dictionary.
enum About<'a> {
    Key(&'a str),
    /// A row by its number.
    Row(u64),
    /// The text is no number, so that no row has it.
    Nothing,
    /// Other text follows the number.
    Malformed,
}

impl<'a> About<'a> {
    /// Rows are shown, and taken behind `#`, as numbers in hexadecimal.
    fn of(word: &'a str) -> Self {
        let Some(text) = word.strip_prefix('#') else { return Self::Key(word) };
        let digits = text.strip_prefix("0x").unwrap_or(text);
        match u64::from_str_radix(digits, 16) {
            Ok(row) => Self::Row(row),
            Err(_) if text.starts_with(|letter: char| letter.is_ascii_hexdigit()) => {
                Self::Malformed
            }
            Err(_) => Self::Nothing,
        }
    }
}

/// The message about [`About::Malformed`].
const MALFORMED: &str = "Malformed identifier. Please use #<id> or <file>.";

/// `show acl|map`
pub(super) fn show(call: &mut Call<'_>) -> Reply {
    let kind = PatternKind::of(call);
    let (version, at) = version(call);
    let name = call.word(at);
    if name.is_empty() {
        return Reply::Dump(list(kind, call));
    }
    let dictionary = match kind.find(call, name) {
        Ok(dictionary) => dictionary,
        Err(reply) => return reply,
    };
    let (dictionary, mut from) = (dictionary.clone(), 0);
    Reply::Pieces(Box::new(move |_, out| {
        let next = dictionary.rows(version, (from, STEP), &mut |row, key, value| {
            let _ = write!(out, "{row:#x} {}", String::from_utf8_lossy(key));
            if dictionary.has_values() {
                let _ = write!(out, " {}", String::from_utf8_lossy(value));
            }
            out.push('\n');
        });
        from = next.unwrap_or(from);
        next.is_some()
    }))
}

fn list(kind: PatternKind, call: &Call<'_>) -> String {
    let mut out = String::from("# id (file) description\n");
    for dictionary in call.settings.dictionaries.iter().filter(|d| kind.sees(d)) {
        let totals = dictionary.totals();
        let _ = writeln!(
            out,
            "{} ({}) {}. curr_ver={} next_ver={} entry_cnt={}",
            dictionary.id(),
            dictionary.file().unwrap_or(""),
            dictionary.description(),
            totals.current,
            totals.newest,
            totals.entries
        );
    }
    out
}

/// `get acl|map`
pub(super) fn get(call: &mut Call<'_>) -> Reply {
    // An expression may use steps, which no message has to pay for.
    sample::regex::effort::open(0);
    let kind = PatternKind::of(call);
    let (name, key) = (call.word(2), call.word(3));
    if name.is_empty() || key.is_empty() {
        return Reply::error(format!("Missing {} identifier and/or key.", kind.name()));
    }
    let dictionary = match kind.find(call, name) {
        Ok(dictionary) => dictionary,
        Err(reply) => return reply,
    };
    let mut out = String::new();
    for (view, sighting) in dictionary.sight(key.as_bytes()) {
        describe(kind, dictionary, &view, sighting, &mut out);
    }
    Reply::Dump(out)
}

fn describe(
    kind: PatternKind,
    dictionary: &Dictionary,
    view: &View,
    sighting: Option<Sighting>,
    out: &mut String,
) {
    let case = if view.ignores_case() { "insensitive" } else { "sensitive" };
    let word = if kind == PatternKind::Map { "found" } else { "match" };
    let _ = write!(out, "type={}, case={case}, {word}=", view.method().name());
    let Some(sighting) = sighting else {
        out.push_str("no\n");
        return;
    };
    let _ = write!(out, "yes, idx={}, ", view.shape());
    let name = if kind == PatternKind::Map { "key" } else { "pattern" };
    match sighting.row.and_then(|row| dictionary.key(row)) {
        Some(key) => {
            let _ = write!(out, "{name}=\"{}\"", String::from_utf8_lossy(&key));
        }
        None => {
            let _ = write!(out, "{name}=unknown");
        }
    }
    match (kind, sighting.value) {
        (PatternKind::Acl, _) => {}
        (PatternKind::Map, None) => out.push_str(", value=none"),
        (PatternKind::Map, Some((text, kind))) => {
            let text = String::from_utf8_lossy(&text);
            let _ = write!(out, ", value=\"{text}\", type=\"{}\"", kind.name());
        }
    }
    out.push('\n');
}

/// The answer to a change.
fn done(kind: PatternKind, result: Result<(), Refusal>, no_entry: &str) -> Reply {
    match result {
        Ok(()) => Reply::Done,
        Err(Refusal::Invalid(message)) => Reply::error(format!("{message}.")),
        Err(Refusal::NoEntry) => Reply::error(no_entry),
        Err(Refusal::Memory) => Reply::error("Memory is short."),
        Err(Refusal::NoVersion) => Reply::error("Version number out of range."),
        Err(Refusal::FutureVersion) => Reply::error(format!(
            "Version number in the future, please use 'prepare {}' before.",
            kind.name().to_ascii_lowercase()
        )),
    }
}

/// `add acl|map`
pub(super) fn add(call: &mut Call<'_>) -> Reply {
    let kind = PatternKind::of(call);
    let (version, at) = version(call);
    let (name, key, value) = (call.word(at), call.word(at + 1), call.word(at + 2));
    if kind == PatternKind::Map && !name.is_empty() && key.is_empty() && call.payload.is_some() {
        return add_payload(call, version, name);
    }
    if kind == PatternKind::Map && value.is_empty() {
        return Reply::error(
            "'add map' expects three parameters (map identifier, key and value) or one parameter \
             (map identifier) and a payload",
        );
    }
    if key.is_empty() {
        return Reply::error("'add acl' expects two parameters: ACL identifier and pattern.");
    }
    let value = if kind == PatternKind::Map { value } else { "" };
    match kind.find(call, name) {
        Ok(dictionary) => done(kind, dictionary.add(version, key.as_bytes(), value.as_bytes()), ""),
        Err(reply) => reply,
    }
}

/// A key, blanks and a value per line; stops at the first line that is refused.
fn add_payload(call: &Call<'_>, version: Option<u32>, name: &str) -> Reply {
    let dictionary = match PatternKind::Map.find(call, name) {
        Ok(dictionary) => dictionary,
        Err(reply) => return reply,
    };
    for line in call.payload.unwrap_or("").lines() {
        let line = line.trim_matches([' ', '\t']);
        let Some((key, value)) = line.split_once([' ', '\t']) else {
            return Reply::error(format!("Missing value for key '{line}'."));
        };
        let value = value.trim_start_matches([' ', '\t']);
        let added = dictionary.add(version, key.as_bytes(), value.as_bytes());
        if added.is_err() {
            return done(PatternKind::Map, added, "");
        }
    }
    Reply::Done
}

/// `set map`
pub(super) fn set(call: &mut Call<'_>) -> Reply {
    let (name, key, value) = (call.word(2), call.word(3), call.word(4));
    if name.is_empty() || key.is_empty() || value.is_empty() {
        return Reply::error("'set map' expects three parameters: map identifier, key and value.");
    }
    let dictionary = match PatternKind::Map.find(call, name) {
        Ok(dictionary) => dictionary,
        Err(reply) => return reply,
    };
    const NOT_FOUND: &str = "entry not found.";
    let result = match About::of(key) {
        About::Key(key) => dictionary.set(key.as_bytes(), value.as_bytes()),
        About::Row(row) => dictionary.set_row(row, value.as_bytes()),
        About::Nothing => return Reply::error(NOT_FOUND),
        About::Malformed => return Reply::error(MALFORMED),
    };
    done(PatternKind::Map, result, NOT_FOUND)
}

/// `del acl|map`
pub(super) fn del(call: &mut Call<'_>) -> Reply {
    let kind = PatternKind::of(call);
    let (name, key) = (call.word(2), call.word(3));
    if name.is_empty() || key.is_empty() {
        let name = kind.name();
        return Reply::error(format!(
            "This command expects two parameters: {name} identifier and key."
        ));
    }
    let dictionary = match kind.find(call, name) {
        Ok(dictionary) => dictionary,
        // HAProxy has this text for ACLs too.
        Err(_) => return PatternKind::Map.unknown(),
    };
    const NOT_FOUND: &str = "Key not found.";
    let result = match About::of(key) {
        About::Key(key) => dictionary.remove(key.as_bytes()),
        About::Row(row) => dictionary.remove_row(row),
        About::Nothing => return Reply::error(NOT_FOUND),
        About::Malformed => return Reply::error(MALFORMED),
    };
    done(kind, result, NOT_FOUND)
}

/// `clear acl|map`
pub(super) fn clear(call: &mut Call<'_>) -> Reply {
    let kind = PatternKind::of(call);
    let (version, at) = version(call);
    if call.word(at).is_empty() {
        return kind.missing();
    }
    match kind.find(call, call.word(at)) {
        Ok(dictionary) => {
            dictionary.clear(version);
            Reply::Done
        }
        Err(reply) => reply,
    }
}

/// `prepare acl|map`
pub(super) fn prepare(call: &mut Call<'_>) -> Reply {
    match PatternKind::of(call).find(call, call.word(2)) {
        Ok(dictionary) => {
            Reply::Message(Severity::Info, format!("New version created: {}", dictionary.prepare()))
        }
        Err(reply) => reply,
    }
}

/// `commit acl|map`
pub(super) fn commit(call: &mut Call<'_>) -> Reply {
    let kind = PatternKind::of(call);
    let (Some(version), at) = version(call) else {
        return Reply::error("Missing version number.");
    };
    if call.word(at).is_empty() {
        return kind.missing();
    }
    match kind.find(call, call.word(at)) {
        Ok(dictionary) => done(kind, dictionary.commit(version), ""),
        Err(reply) => reply,
    }
}
