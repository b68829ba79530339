//! Diagnostics as text: HAProxy's own line first and a caret after it, or a coloured frame for a terminal.
use crate::diag::{Diagnostic, Diagnostics, Severity};
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// Longest part of a source line shown under a message, in characters.
const SHOWN: usize = 160;

/// How messages are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// HAProxy's line, then the source line and a caret: for logs, pipes and tools.
    Plain,
    /// A coloured frame around the source line: for terminals.
    Pretty,
}

impl Severity {
    /// The label and its padding, as HAProxy writes them before the process id.
    fn label(self) -> &'static str {
        match self {
            Self::Diag => "[DIAG]     ",
            Self::Notice => "[NOTICE]   ",
            Self::Warning => "[WARNING]  ",
            Self::Alert => "[ALERT]    ",
        }
    }
}

/// One line in HAProxy's shape: `[ALERT]    (123) : config : text`, newline included.
pub fn line(severity: Severity, pid: u32, text: &str) -> String {
    format!("{}({pid}) : config : {text}\n", severity.label())
}

/// All messages, then HAProxy's closing lines when there are alerts. `show_diag` is `-dD`.
pub fn report(diagnostics: &Diagnostics, pid: u32, style: Style, show_diag: bool) -> String {
    let mut out = listed(diagnostics.iter(), pid, style, show_diag);
    if diagnostics.dropped() > 0 {
        let text = format!("{} more messages are not shown.", diagnostics.dropped());
        out.push_str(&line(Severity::Notice, pid, &text));
    }
    for file in diagnostics.failed_files() {
        let text = format!("Error(s) found in configuration file : {file}");
        out.push_str(&line(Severity::Alert, pid, &text));
    }
    if diagnostics.failed() {
        out.push_str(&line(Severity::Alert, pid, "Fatal errors found in configuration."));
    }
    out
}

/// The messages before `quiet` in a configuration that has it.
pub fn report_before_quiet(
    diagnostics: &Diagnostics,
    pid: u32,
    style: Style,
    show_diag: bool,
) -> String {
    listed(diagnostics.before_quiet(), pid, style, show_diag)
}

fn listed<'d>(
    diagnostics: impl Iterator<Item = &'d Diagnostic>,
    pid: u32,
    style: Style,
    show_diag: bool,
) -> String {
    let shown = diagnostics.filter(|it| it.severity > Severity::Diag || show_diag);
    shown.map(|diagnostic| one(diagnostic, pid, style)).collect()
}

/// One message.
pub fn one(diagnostic: &Diagnostic, pid: u32, style: Style) -> String {
    match (style, &diagnostic.source) {
        (Style::Pretty, Some(source)) if diagnostic.column > 0 => pretty(diagnostic, source),
        _ => plain(diagnostic, pid),
    }
}

fn plain(diagnostic: &Diagnostic, pid: u32) -> String {
    let mut text = String::new();
    if let Some(place) = &diagnostic.place {
        text.push_str(&format!("parsing [{place}] : "));
    }
    text.push_str(&with_suggestion(diagnostic));
    let mut out = line(diagnostic.severity, pid, &printable(&text));
    if let Some(source) = diagnostic.source.as_deref().filter(|_| diagnostic.column > 0) {
        out.push_str(&caret(source, diagnostic.column as usize - 1, diagnostic.len as usize));
    }
    out
}

fn with_suggestion(diagnostic: &Diagnostic) -> String {
    match &diagnostic.suggestion {
        Some(word) => {
            let message = diagnostic.message.trim_end_matches('.');
            format!("{message}; did you mean '{word}' maybe ?")
        }
        None => message(diagnostic),
    }
}

/// The message, and the area that it is about.
pub(crate) fn message(diagnostic: &Diagnostic) -> String {
    let area = diagnostic.area.map(|area| format!("({area})"));
    match area {
        // Messages of expressions may contain the area already.
        Some(area) if !diagnostic.message.ends_with(&area) => {
            format!("{} {area}", diagnostic.message)
        }
        _ => diagnostic.message.clone(),
    }
}

/// Control characters become visible, so that a configuration cannot draw on the terminal. Newlines
/// of our own stay.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

/// The source line without its indentation and a caret line below it, cut to a window around the
/// caret.
fn caret(source: &str, at: usize, len: usize) -> String {
    let indent = source.len() - source.trim_start().len();
    let before = source.get(indent..at.max(indent)).unwrap_or("").chars().count();
    let marked = source.get(at..at.saturating_add(len)).map_or(1, |s| s.chars().count());
    let shown: Vec<char> = printable(source.trim()).chars().collect();
    let skip = if before + marked > SHOWN { before.saturating_sub(SHOWN / 4) } else { 0 };
    let window: String = shown.iter().skip(skip).take(SHOWN).collect();
    let marks = marked.clamp(1, SHOWN.saturating_sub(before - skip).max(1));
    format!("  {window}\n  {}{}\n", " ".repeat(before - skip), "^".repeat(marks))
}

fn pretty(diagnostic: &Diagnostic, source: &str) -> String {
    let level = match diagnostic.severity {
        Severity::Alert => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Notice => Level::NOTE,
        Severity::Diag => Level::INFO,
    };
    let message = printable(&message(diagnostic));
    let label = diagnostic.suggestion.as_ref().map(|word| format!("did you mean '{word}'?"));
    let at = (diagnostic.column as usize - 1).min(source.len());
    let end = at.saturating_add(diagnostic.len as usize).min(source.len());
    // A column counts bytes; a byte that is no text has the column of its replacement.
    let (at, end) = (source.floor_char_boundary(at), source.ceil_char_boundary(end));
    let mut annotation = AnnotationKind::Primary.span(at..end);
    if let Some(label) = &label {
        annotation = annotation.label(label.as_str());
    }
    let mut snippet = Snippet::source(source).annotation(annotation);
    if let Some(place) = &diagnostic.place {
        snippet = snippet.line_start(place.line as usize).path(&*place.file);
    }
    let group = [level.primary_title(message.as_str()).element(snippet)];
    format!("{}\n", Renderer::styled().render(&group))
}
