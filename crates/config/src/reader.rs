//! Reads the lines of one file into drafts, section by section.
use crate::context::{Cx, Prefix};
use crate::diag::{Diagnostic, Place, Severity};
use crate::directive::Blocks;
use crate::draft::Draft;
use crate::lex::{self, LexError, Surroundings};
use crate::line::{Args, Line, Parsed};
use crate::parse::{catastrophic, proxy};
use crate::section::{self, Section};
use crate::shown_text;
use crate::source::Source;
use crate::traps;

mod scope;

/// Lines between two reports of progress.
const PROGRESS: usize = 1 << 14;

/// Reads one file into the draft. Mistakes are reported and the next line continues.
pub(crate) fn file(draft: &mut Draft, cx: &mut Cx<'_>, source: &Source) {
    let mut reader = Reader { draft, cx, source, section: None, blocks: Blocks::default() };
    if let Some(trap) = &source.trap {
        let place = Place::new(&source.name, 1);
        reader.cx.diagnostics.push(Diagnostic::about(Severity::Alert, &place, trap.clone()));
    }
    let mut done = 0;
    for (index, raw) in source.text.split_inclusive('\n').enumerate() {
        reader.raw_line(raw, index as u32 + 1);
        done += raw.len();
        if index % PROGRESS == PROGRESS - 1 {
            reader.cx.files.progress(&source.name, done, source.text.len());
        }
    }
    for diagnostic in std::mem::take(&mut reader.blocks).unterminated() {
        reader.cx.diagnostics.push(diagnostic);
    }
}

struct Reader<'r, 'c> {
    draft: &'r mut Draft,
    cx: &'r mut Cx<'c>,
    source: &'r Source,
    /// The open section; `None` before the first one.
    section: Option<Section>,
    blocks: Blocks,
}

impl Reader<'_, '_> {
    fn raw_line(&mut self, raw: &str, number: u32) {
        let place = Place::new(&self.source.name, number);
        let bare = raw.strip_suffix('\n');
        let text = bare.unwrap_or(raw);
        let words = {
            let around = Surroundings {
                env: &self.cx.env,
                file: &self.source.name,
                line: number,
                section: self.section_name(),
            };
            match scope::declares(text) {
                Ok(true) => Ok(Vec::new()),
                Ok(false) => lex::split(text, &around).and_then(|words| self.check_encoding(words)),
                Err(error) => Err(error),
            }
        };
        let before = self.cx.diagnostics.faults();
        match words {
            Ok(words) if words.is_empty() => {}
            Ok(words) => self.line(&Line::new(words, text, place.clone())),
            Err(error) => self.lex_error(error, text, &place),
        }
        if self.cx.diagnostics.faults() > before {
            self.trap(text, &place);
        }
        if bare.is_none() && !text.is_empty() {
            let message = "Missing LF on last line, file might have been truncated";
            let error = LexError {
                at: text.len(),
                message: format!("{message} at position {}.", text.len() + 1),
            };
            self.lex_error(error, text, &place);
        }
    }

    /// Replaced bytes are fine in comments only.
    fn check_encoding<'a>(
        &self,
        words: Vec<lex::Word<'a>>,
    ) -> Result<Vec<lex::Word<'a>>, LexError> {
        let broken = words.iter().find(|word| self.source.lossy && word.text.contains('\u{fffd}'));
        match broken {
            None => Ok(words),
            Some(word) => Err(LexError {
                at: word.start,
                message: "word is not valid UTF-8; write such bytes as \\xNN".to_owned(),
            }),
        }
    }

    fn lex_error(&mut self, error: LexError, text: &str, place: &Place) {
        self.cx.diagnostics.push(Diagnostic {
            severity: Severity::Alert,
            place: Some(place.clone()),
            column: error.at as u32 + 1,
            len: 1,
            message: error.message,
            suggestion: None,
            area: None,
            source: Some(text.to_owned()),
        });
    }

    /// Adds the probable reason why a line was not understood, if it is one that another program
    /// left.
    fn trap(&mut self, text: &str, place: &Place) {
        let Some((at, len, message)) = traps::of_line(text) else { return };
        self.cx.diagnostics.push(Diagnostic {
            column: at as u32 + 1,
            len: len as u32,
            source: Some(text.to_owned()),
            ..Diagnostic::about(Severity::Notice, place, message)
        });
    }

    /// The value of `.SECTION`.
    fn section_name(&self) -> &str {
        self.section.map_or("", |section| section.title(self.draft))
    }

    fn line(&mut self, line: &Line<'_>) {
        let args = line.args();
        if args.text(0).starts_with('.') {
            match self.blocks.directive(line, &self.cx.env, &self.cx.features) {
                Ok(None) => {}
                Ok(Some((severity, fault))) => {
                    self.cx.diagnostics.push(line.diagnostic(severity, fault));
                }
                Err(fault) => self.cx.alert(args, fault),
            }
        } else if self.blocks.active() {
            self.cx.note_variables(line.words.iter().map(|word| &*word.text));
            let done = self.statement(args);
            // Words that no parser sees must not vanish, nor must their absence be explained by
            // what is wrong without them.
            let done = match args.empty_before_others() {
                None => done,
                Some(fault) => Err((args, fault)),
            };
            for (word, message) in self.cx.odd_ports.take() {
                args.note(args.find(0, &word).0, message);
            }
            for pattern in sample::regex::take_catastrophic() {
                args.note(args.find(0, &pattern).0, catastrophic(&pattern));
            }
            match done {
                Ok(()) => self.tell_notes(line),
                Err((args, fault)) => self.cx.alert(args, fault),
            }
        }
    }

    /// Reports the notes of a line as warnings.
    fn tell_notes(&mut self, line: &Line<'_>) {
        for note in line.notes() {
            self.cx.diagnostics.push(line.diagnostic(Severity::Warning, note));
        }
    }

    /// A line that is not a directive: a section, or a keyword of the current one.
    fn statement<'l>(&mut self, args: Args<'l>) -> Result<(), (Args<'l>, crate::line::Fault)> {
        let opened = Section::open(self.draft, self.cx, args);
        if let Some(listing) = &mut self.cx.listing {
            match opened {
                Some(_) => listing.section(args),
                None => listing.statement(args),
            }
        }
        shown_text::add(&mut self.cx.text, args, opened.is_some());
        if opened.is_some() {
            self.section = opened;
            return Ok(());
        }
        let (prefix, args) = prefixed(args).map_err(|fault| (args, fault))?;
        self.cx.prefix = prefix;
        let parsed = match self.section {
            None => Err(section::outside(args)),
            Some(section) => section.line(self.draft, self.cx, args),
        };
        self.cx.prefix = Prefix::None;
        parsed.map_err(|fault| (args, fault))
    }
}

/// Cuts `no` or `default` off.
fn prefixed(args: Args<'_>) -> Parsed<(Prefix, Args<'_>)> {
    let prefix = match args.text(0) {
        "no" => Prefix::No,
        "default" => Prefix::Default,
        _ => return Ok((Prefix::None, args)),
    };
    if !proxy::takes_prefix(args.text(1)) {
        return Err(args.fault(
            0,
            "negation/default currently supported only for options, log, busy-polling, set-dumpable, strict-limits, insecure-fork-wanted and numa-cpu-mapping.",
        ));
    }
    Ok((prefix, args.from(1)))
}
