//! Diagnostics as data: the fault, its place, its severity, and the probable intention.
use std::sync::Arc;

/// How bad a diagnostic is, in HAProxy's words and order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Shown only in diagnostic mode (`-dD`).
    Diag,
    /// For information.
    Notice,
    /// Works, but probably not as meant; fatal with `-dW` or `zero-warning`.
    Warning,
    /// Fatal: no model comes out.
    Alert,
}

/// The place of an object or of a mistake in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Name of the file as it was given.
    pub file: Arc<str>,
    /// Line number from 1, or 0 when the place is the file itself.
    pub line: u32,
}

impl Place {
    /// A place from a file name and a line counted from 1.
    pub fn new(file: &Arc<str>, line: u32) -> Self {
        Self { file: Arc::clone(file), line }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// One message about the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The severity of the fault.
    pub severity: Severity,
    /// File and line, if it concerns a line.
    pub place: Option<Place>,
    /// Byte column in the source line, from 1; 0 when no word is to blame.
    pub column: u32,
    /// Length in bytes of the blamed words in the source line, at least 1 when `column` is not 0.
    pub len: u32,
    /// The message, without place and without suggestion.
    pub message: String,
    /// The closest known word, when one is close enough.
    pub suggestion: Option<String>,
    /// The area that is missing, when something is not implemented yet.
    pub area: Option<&'static str>,
    /// The source line, if there is one.
    pub source: Option<String>,
}

impl Diagnostic {
    /// A message about the whole configuration.
    pub fn general(severity: Severity, message: impl Into<String>) -> Self {
        Self {
            severity,
            place: None,
            column: 0,
            len: 0,
            message: message.into(),
            suggestion: None,
            area: None,
            source: None,
        }
    }

    /// A message about an object declared at `place`.
    pub fn about(severity: Severity, place: &Place, message: impl Into<String>) -> Self {
        Self { place: Some(place.clone()), ..Self::general(severity, message) }
    }
}

/// All messages about a configuration, in the order in which they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    dropped: usize,
    alerts: usize,
    warnings: usize,
    /// How many messages there were when `quiet` was read.
    quiet_from: Option<usize>,
}

/// Diagnostics kept; the others are only counted.
const MAX_KEPT: usize = 10_000;
/// Messages beyond which none of the lowest severity is added.
const MAX_ADVICE: usize = 1_000;

impl Diagnostics {
    /// Adds one, in order. Beyond 10,000, messages are counted and dropped, so that memory stays
    /// bounded.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        // Advice must not push anything else out, nor be missed.
        if diagnostic.severity == Severity::Diag && self.list.len() >= MAX_ADVICE {
            return;
        }
        let first_alert = diagnostic.severity == Severity::Alert && self.alerts == 0;
        match diagnostic.severity {
            Severity::Alert => self.alerts += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Notice | Severity::Diag => {}
        }
        if self.list.len() < MAX_KEPT || first_alert {
            self.list.push(diagnostic);
        } else {
            self.dropped += 1;
        }
    }

    /// `quiet` in `global`: messages from here on are muted. A second `quiet` changes nothing.
    pub(crate) fn mute(&mut self) {
        self.quiet_from.get_or_insert(self.list.len());
    }

    /// Whether the configuration says `quiet`.
    pub fn is_quiet(&self) -> bool {
        self.quiet_from.is_some()
    }

    /// The messages of the lines before `quiet`, which are printed all the same; all messages of a
    /// configuration without `quiet`.
    pub fn before_quiet(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter().take(self.quiet_from.unwrap_or(usize::MAX))
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Diagnostic> {
        self.list.iter_mut()
    }

    /// The diagnostics of one severity.
    pub fn of(&self, severity: Severity) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter().filter(move |d| d.severity == severity)
    }

    /// The number of alerts and warnings.
    pub(crate) fn faults(&self) -> usize {
        self.alerts + self.warnings
    }

    /// True when an alert forbids to start.
    pub fn failed(&self) -> bool {
        self.alerts > 0
    }

    /// How many alerts were found.
    pub(crate) fn alerts(&self) -> usize {
        self.alerts
    }

    /// How many warnings were found.
    pub fn warnings(&self) -> usize {
        self.warnings
    }

    /// How many messages were dropped beyond the bound.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Names of the files with alerts, each once, in order.
    pub fn failed_files(&self) -> Vec<Arc<str>> {
        let mut files: Vec<Arc<str>> = Vec::new();
        for place in self.of(Severity::Alert).filter_map(|d| d.place.as_ref()) {
            if !files.contains(&place.file) {
                files.push(Arc::clone(&place.file));
            }
        }
        files
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
