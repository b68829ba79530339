//! Completions for shells.

use crate::cli::{self, Flag};
use std::fmt::Write as _;

/// Whether a flag's value is the name of a file or of a directory.
fn takes_path(flag: &Flag) -> bool {
    ["<cfgfile|cfgdir>", "<pidfile>", "<dir>", "<unix_socket>"].contains(&flag.value)
}

/// The values of a flag that has a few fixed ones: `{a|b}`.
fn choices(flag: &Flag) -> Option<String> {
    let inside = flag.value.strip_prefix('{')?.strip_suffix('}')?;
    inside.contains('|').then(|| inside.replace('|', " "))
}

/// For bash.
pub(super) fn bash() -> String {
    let names = cli::documented().flat_map(|flag| [flag.name, flag.long]);
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    let mut cases = String::new();
    for flag in cli::documented() {
        let reply = match choices(flag) {
            Some(values) => format!("COMPREPLY=($(compgen -W \"{values}\" -- \"$word\"))"),
            None if takes_path(flag) => "COMPREPLY=($(compgen -f -- \"$word\"))".to_owned(),
            None => continue,
        };
        // Writing to a string cannot fail.
        let names = if flag.long.is_empty() { "" } else { "|" };
        let _ = writeln!(cases, "    {}{names}{}) {reply}; return ;;", flag.name, flag.long);
    }
    format!(
        "# bash completion for weir\n_weir() {{\n  local word=\"${{COMP_WORDS[COMP_CWORD]}}\"\n  \
         case \"${{COMP_WORDS[COMP_CWORD-1]}}\" in\n{cases}  esac\n  \
         COMPREPLY=($(compgen -W \"{}\" -- \"$word\"))\n}}\n\
         complete -o filenames -F _weir weir\n",
        names.join(" ")
    )
}

/// For fish.
pub(super) fn fish() -> String {
    let mut out = String::from("# fish completion for weir\ncomplete -c weir -f\n");
    for flag in cli::documented() {
        let name = match flag.name.strip_prefix("--") {
            Some(long) => format!("-l {long}"),
            None => format!("-o {}", flag.name.trim_start_matches('-')),
        };
        let long = match flag.long.strip_prefix("--") {
            Some(long) => format!(" -l {long}"),
            None => String::new(),
        };
        let value = match choices(flag) {
            Some(values) => format!(" -x -a '{values}'"),
            None if takes_path(flag) => " -r -F".to_owned(),
            None if flag.value.is_empty() => String::new(),
            None => " -x".to_owned(),
        };
        let help = flag.help.replace('\\', "\\\\").replace('\'', "\\'");
        let _ = writeln!(out, "complete -c weir {name}{long}{value} -d '{help}'");
    }
    out
}

/// For zsh.
pub(super) fn zsh() -> String {
    let mut out = String::from("#compdef weir\n_arguments");
    for flag in cli::documented() {
        for name in [flag.name, flag.long].into_iter().filter(|name| !name.is_empty()) {
            let _ = write!(
                out,
                " \\\n  '*{name}{}[{}]{}'",
                join(flag, name),
                quoted(flag.help),
                value(flag)
            );
        }
    }
    out.push_str(" \\\n  '*:configuration file:_files'\n");
    out
}

/// How a value follows a name in zsh's words: in the same word, or in the next one.
fn join(flag: &Flag, name: &str) -> &'static str {
    match (flag.takes_suffix(), name.starts_with("--")) {
        (true, true) => "=-",
        (true, false) => "-",
        (false, true) if !flag.value.is_empty() => "=",
        (false, _) => "",
    }
}

/// The words of zsh that complete the value of a flag.
fn value(flag: &Flag) -> String {
    match choices(flag) {
        Some(values) => format!(":value:({values})"),
        None if takes_path(flag) => ":file:_files".to_owned(),
        None if flag.value.is_empty() => String::new(),
        None if flag.takes_suffix() => "::value: ".to_owned(),
        None => ":value: ".to_owned(),
    }
}

/// A description between the brackets and quotation marks of zsh.
fn quoted(text: &str) -> String {
    text.replace('\'', "'\\''").replace('[', "\\[").replace(']', "\\]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_their_values() {
        let bash = bash();
        assert!(bash.contains("    -f|--config) COMPREPLY=($(compgen -f"), "{bash}");
        assert!(bash.contains("    --output) COMPREPLY=($(compgen -W \"json sarif\""), "{bash}");
        let fish = fish();
        assert!(
            fish.contains("complete -c weir -o q -l quiet -d 'quiet mode: doesn\\'t"),
            "{fish}"
        );
        let zsh = zsh();
        assert!(
            zsh.contains("\n  '*--config=[loads") && zsh.contains(":file:_files' \\\n"),
            "{zsh}"
        );
        assert!(
            zsh.contains("\n  '*--output=[with -c") && zsh.contains(":value:(json sarif)'"),
            "{zsh}"
        );
        assert!(zsh.contains("\n  '*-q[quiet mode: doesn'\\''t"), "{zsh}");
        assert!(fish.contains("complete -c weir -l output -x -a 'json sarif' -d"), "{fish}");
    }
}
