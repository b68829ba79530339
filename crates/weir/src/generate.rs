//! `--generate`: man pages and completions, made from the tables that the program itself goes by.
//! Never lists what does not work.

mod completion;
mod man;
mod roff;

/// A name and what makes it.
type Kind = (&'static str, fn() -> String);

/// What can be made, and how.
const KINDS: &[Kind] = &[
    ("weir.8", man::command),
    ("weir.cfg.5", man::configuration),
    ("bash", completion::bash),
    ("fish", completion::fish),
];

/// The names, as the usage text shows them.
pub(crate) const NAMES: &str = "{weir.8|weir.cfg.5|bash|fish}";

/// The name of a kind, if there is one.
pub(crate) fn find(name: &str) -> Option<&'static str> {
    KINDS.iter().find(|(known, _)| *known == name).map(|(known, _)| *known)
}

/// Makes what has this name.
pub(crate) fn make(name: &str) -> String {
    KINDS.iter().filter(|(known, _)| *known == name).map(|(_, make)| make()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usage_names_them_all() {
        let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
        assert_eq!(NAMES, format!("{{{}}}", names.join("|")));
        assert!(find("zsh").is_none());
    }
}
