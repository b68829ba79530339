//! `--generate`: man pages, the manual and completions, made from the tables that the program itself uses.

mod completion;
mod man;
mod manual;
mod roff;

/// A name and the function that makes the document.
type Document = (&'static str, fn() -> String);

/// The documents; the command line has their names.
const DOCUMENTS: &[Document] = &[
    ("weir.8", man::command),
    ("weir.cfg.5", man::configuration),
    ("manual", manual::pages),
    ("bash", completion::bash),
    ("zsh", completion::zsh),
    ("fish", completion::fish),
];

/// Makes the document with this name.
pub(crate) fn make(name: &str) -> String {
    DOCUMENTS.iter().filter(|(known, _)| *known == name).map(|(_, make)| make()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::generated;

    #[test]
    fn the_command_line_takes_the_name_of_every_document() {
        assert!(DOCUMENTS.iter().all(|(name, _)| generated(name) == Some(name)));
        assert!(generated("tcsh").is_none() && generated("").is_none());
    }
}
