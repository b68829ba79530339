//! Diagnostics for programs: JSON for editors, SARIF 2.1.0 for code scanners.
use crate::diag::{Diagnostic, Diagnostics, Severity};
use crate::render::message;
use std::fmt::Write as _;
use stdx::json::quoted;

/// How diagnostics are handed to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One object: `valid`, and `diagnostics` with `severity`, `file`, `line`, `column`, `length`,
    /// `message`, `suggestion` and `area`. Lines and columns count from 1, columns in bytes; what
    /// has no place lacks these fields.
    Json,
    /// A log with one run.
    Sarif,
}

impl Format {
    /// The format of a name.
    pub fn find(name: &str) -> Option<Self> {
        match name {
            "json" => Some(Self::Json),
            "sarif" => Some(Self::Sarif),
            _ => None,
        }
    }
}

/// All messages as one document, newline included. `show_diag` is `-dD`.
pub fn document(
    diagnostics: &Diagnostics,
    format: Format,
    version: &str,
    show_diag: bool,
) -> String {
    let shown = diagnostics.iter().filter(|d| d.severity > Severity::Diag || show_diag);
    match format {
        Format::Json => {
            let items: Vec<String> = shown.map(json).collect();
            let valid = !diagnostics.failed();
            let (separator, end) = if items.is_empty() { ("", "") } else { ("\n  ", "\n") };
            let list = items.join(",\n  ");
            format!("{{\"valid\": {valid}, \"diagnostics\": [{separator}{list}{end}]}}\n")
        }
        Format::Sarif => sarif(shown, version),
    }
}

fn json(diagnostic: &Diagnostic) -> String {
    let mut out = format!("{{\"severity\": {}", quoted(name(diagnostic.severity)));
    if let Some(place) = &diagnostic.place {
        let _ = write!(out, ", \"file\": {}, \"line\": {}", quoted(&place.file), place.line);
    }
    if diagnostic.column > 0 {
        let (column, length) = (diagnostic.column, diagnostic.len);
        let _ = write!(out, ", \"column\": {column}, \"length\": {length}");
    }
    let _ = write!(out, ", \"message\": {}", quoted(&diagnostic.message));
    if let Some(word) = &diagnostic.suggestion {
        let _ = write!(out, ", \"suggestion\": {}", quoted(word));
    }
    if let Some(area) = diagnostic.area {
        let _ = write!(out, ", \"area\": {}", quoted(area));
    }
    out + "}"
}

fn name(severity: Severity) -> &'static str {
    match severity {
        Severity::Alert => "error",
        Severity::Warning => "warning",
        Severity::Notice => "note",
        Severity::Diag => "info",
    }
}

fn sarif<'d>(shown: impl Iterator<Item = &'d Diagnostic>, version: &str) -> String {
    let results: Vec<String> = shown.map(result).collect();
    format!(
        "{{\"version\": \"2.1.0\", \
         \"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\", \
         \"runs\": [{{\"tool\": {{\"driver\": {{\"name\": \"weir\", \"version\": {}, \
         \"rules\": [{{\"id\": \"config\"}}]}}}}, \
         \"columnKind\": \"unicodeCodePoints\", \"results\": [{}]}}]}}\n",
        quoted(version),
        results.join(",\n")
    )
}

fn result(diagnostic: &Diagnostic) -> String {
    let level = match diagnostic.severity {
        Severity::Alert => "error",
        Severity::Warning => "warning",
        Severity::Notice | Severity::Diag => "note",
    };
    let mut text = message(diagnostic);
    if let Some(word) = &diagnostic.suggestion {
        let _ = write!(text, "; did you mean '{word}'?");
    }
    let mut out = format!(
        "{{\"ruleId\": \"config\", \"level\": {}, \"message\": {{\"text\": {}}}",
        quoted(level),
        quoted(&text)
    );
    if let Some(place) = &diagnostic.place {
        let mut region = format!("\"startLine\": {}", place.line.max(1));
        if diagnostic.column > 0 {
            let (start, end) = characters(diagnostic);
            let _ = write!(region, ", \"startColumn\": {start}, \"endColumn\": {end}");
        }
        let _ = write!(
            out,
            ", \"locations\": [{{\"physicalLocation\": {{\"artifactLocation\": \
             {{\"uri\": {}}}, \"region\": {{{region}}}}}}}]",
            quoted(&uri(&place.file))
        );
    }
    out + "}"
}

/// First column and the one behind the last, in characters.
fn characters(diagnostic: &Diagnostic) -> (usize, usize) {
    let source = diagnostic.source.as_deref().unwrap_or("");
    let count = |bytes: usize| {
        source.char_indices().take_while(|(at, _)| *at < bytes).count()
            + bytes.saturating_sub(source.len())
    };
    let start = diagnostic.column as usize - 1;
    (count(start) + 1, count(start + diagnostic.len as usize) + 1)
}

/// A file name as a relative reference, or as a `file:` URI when it is absolute.
fn uri(file: &str) -> String {
    let mut out = if file.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in file.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => out.push(byte as char),
            byte if byte.is_ascii_alphanumeric() => out.push(byte as char),
            byte => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}
