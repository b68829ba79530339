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
    let names: Vec<&str> = cli::documented().map(|flag| flag.name).collect();
    let mut cases = String::new();
    for flag in cli::documented() {
        let reply = match choices(flag) {
            Some(values) => format!("COMPREPLY=($(compgen -W \"{values}\" -- \"$word\"))"),
            None if takes_path(flag) => "COMPREPLY=($(compgen -f -- \"$word\"))".to_owned(),
            None => continue,
        };
        // Writing to a string cannot fail.
        let _ = writeln!(cases, "    {}) {reply}; return ;;", flag.name);
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
        let value = match choices(flag) {
            Some(values) => format!(" -x -a '{values}'"),
            None if takes_path(flag) => " -r -F".to_owned(),
            None if flag.value.is_empty() => String::new(),
            None => " -x".to_owned(),
        };
        let help = flag.help.replace('\\', "\\\\").replace('\'', "\\'");
        let _ = writeln!(out, "complete -c weir {name}{value} -d '{help}'");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_their_values() {
        let bash = bash();
        assert!(bash.contains("    -f) COMPREPLY=($(compgen -f"), "{bash}");
        assert!(bash.contains("    --output) COMPREPLY=($(compgen -W \"json sarif\""), "{bash}");
        let fish = fish();
        assert!(fish.contains("complete -c weir -o q -d 'quiet mode: doesn\\'t"), "{fish}");
        assert!(fish.contains("complete -c weir -l output -x -a 'json sarif' -d"), "{fish}");
    }
}
