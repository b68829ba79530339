//! `.if` blocks and `.notice`-like messages (section 2.4): which lines are read.
use crate::cond;
use crate::diag::{Diagnostic, Severity};
use crate::env::Environment;
use crate::features::Features;
use crate::line::{Args, Fault, Line, Parsed};
use crate::suggest;

/// `.if` blocks that may nest.
const MAX_BLOCKS: usize = 1024;

/// The state of one open block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Branch {
    /// Its lines count.
    Taken,
    /// A later branch may still count.
    Pending,
    /// An earlier branch counted.
    Over,
    /// The block is inside an inactive one, or its condition is invalid.
    Dead,
}

#[derive(Debug)]
struct Block {
    branch: Branch,
    seen_else: bool,
    opened: Diagnostic,
}

/// The open blocks of one file.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    open: Vec<Block>,
}

/// The message of a directive.
pub(crate) type DirectiveMessage = Option<(Severity, Fault)>;

const DIRECTIVES: [&str; 8] =
    [".alert", ".diag", ".elif", ".else", ".endif", ".if", ".notice", ".warning"];

impl Blocks {
    /// True when the current lines count.
    pub(crate) fn active(&self) -> bool {
        self.open.last().is_none_or(|block| block.branch == Branch::Taken)
    }

    /// Handles a line whose first word starts with a dot.
    pub(crate) fn directive(
        &mut self,
        line: &Line<'_>,
        env: &Environment,
        features: &Features<'_>,
    ) -> Parsed<DirectiveMessage> {
        let args = line.args();
        match args.text(0) {
            ".if" => self.open_block(line, env, features)?,
            ".elif" => self.other_branch(args, env, features)?,
            ".else" => self.last_branch(args)?,
            ".endif" => {
                self.open.pop().ok_or_else(|| lone(args))?;
                no_argument(args)?;
            }
            _ if !self.active() => {}
            name => return message(name, args).map(Some),
        }
        Ok(None)
    }

    fn open_block(
        &mut self,
        line: &Line<'_>,
        env: &Environment,
        features: &Features<'_>,
    ) -> Parsed {
        let args = line.args();
        let opened = line.diagnostic(Severity::Alert, args.fault(0, "non-terminated '.if' block."));
        let active = self.active();
        self.open.push(Block { branch: Branch::Dead, seen_else: false, opened });
        if self.open.len() > MAX_BLOCKS {
            return Err(args.fault(0, format!("too many nested '.if', max is {MAX_BLOCKS}")));
        }
        if active {
            let branch = if holds(args, env, features)? { Branch::Taken } else { Branch::Pending };
            self.set(branch);
        }
        Ok(())
    }

    fn other_branch(
        &mut self,
        args: Args<'_>,
        env: &Environment,
        features: &Features<'_>,
    ) -> Parsed {
        let block = self.open.last().ok_or_else(|| lone(args))?;
        if block.seen_else {
            return Err(args.fault(0, "'.elif' after '.else' is not permitted."));
        }
        match block.branch {
            Branch::Taken => self.set(Branch::Over),
            Branch::Pending => {
                self.set(Branch::Dead);
                let holds = holds(args, env, features)?;
                self.set(if holds { Branch::Taken } else { Branch::Pending });
            }
            Branch::Over | Branch::Dead => {}
        }
        Ok(())
    }

    fn last_branch(&mut self, args: Args<'_>) -> Parsed {
        let block = self.open.last_mut().ok_or_else(|| lone(args))?;
        if block.seen_else {
            return Err(args.fault(0, "'.else' after '.else' is not permitted."));
        }
        block.seen_else = true;
        block.branch = match block.branch {
            Branch::Taken => Branch::Over,
            Branch::Pending => Branch::Taken,
            other => other,
        };
        no_argument(args)
    }

    fn set(&mut self, branch: Branch) {
        if let Some(block) = self.open.last_mut() {
            block.branch = branch;
        }
    }

    /// The blocks still open at the end of the file, as alerts where they were opened.
    pub(crate) fn unterminated(self) -> impl Iterator<Item = Diagnostic> {
        self.open.into_iter().map(|block| block.opened)
    }
}

fn lone(args: Args<'_>) -> Fault {
    args.fault(0, format!("lone '{}' with no matching '.if'.", args.text(0)))
}

fn no_argument(args: Args<'_>) -> Parsed {
    match args.get(1) {
        None => Ok(()),
        Some(extra) => {
            let message = format!("Unexpected argument '{extra}' for '{}'.", args.text(0));
            Err(args.fault(1, message))
        }
    }
}

/// The truth of the condition after the directive: its words, joined by single spaces.
fn holds(args: Args<'_>, env: &Environment, features: &Features<'_>) -> Parsed<bool> {
    let words = args.all_texts(1);
    let text = words.join(" ");
    cond::evaluate(&text, env, features).map_err(|error| {
        let (mut word, mut offset) = (0, error.at);
        while word + 1 < words.len() && offset > words[word].len() {
            offset -= words[word].len() + 1;
            word += 1;
        }
        let position = error.at + 1;
        let message = format!("{} in '{}' at position {position}", error.message, args.text(0));
        args.fault_at(word + 1, offset, message)
    })
}

/// `.notice`, `.warning`, `.alert`, `.diag`: one argument, which is the message.
fn message(name: &str, args: Args<'_>) -> Parsed<(Severity, Fault)> {
    let severity = match name {
        ".diag" => Severity::Diag,
        ".notice" => Severity::Notice,
        ".warning" => Severity::Warning,
        ".alert" => Severity::Alert,
        _ => {
            let fault = args.fault(0, format!("unknown directive '{name}'"));
            return Err(fault.suggest(suggest::nearest(name, DIRECTIVES)));
        }
    };
    if let Some(extra) = args.get(2) {
        return Err(args.fault(
            2,
            format!(
                "Unexpected argument '{extra}' for '{name}'. Use quotes if the message should contain spaces."
            ),
        ));
    }
    Ok((severity, args.fault(1, format!("'{}'.", args.text(1)))))
}
