//! Texts about the command line: the help, and what is wrong with a line that is refused.

use super::{FLAGS, Flag};
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

/// Reason why a command line was refused. The exit status is 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UsageError {
    /// No configuration is named.
    NoSource,
    /// An unknown option, and the most similar one.
    Unknown { given: String, suggestion: Option<String> },
    /// A word that belongs to no option; whether there is a file of that name.
    Stray { given: String, is_file: bool },
    /// A flag without its value.
    MissingValue(&'static str),
    /// A GNU spelling with a value that its flag does not take.
    NeedlessValue(&'static str),
    /// The value of a flag has the wrong type.
    BadValue { flag: &'static str, wants: &'static str, given: String },
}

impl fmt::Display for UsageError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSource => {
                out.write_str(
                    "weir: no configuration is given, name a file or a directory with -f\n",
                )?;
                return out.write_str(SHORT);
            }
            Self::Unknown { given, suggestion } => {
                write!(out, "weir: unknown option '{given}'")?;
                if let Some(suggestion) = suggestion {
                    write!(out, "; did you mean '{suggestion}' maybe ?")?;
                }
            }
            Self::Stray { given, is_file: true } => {
                write!(
                    out,
                    "weir: '{given}' is not an option; a configuration file follows -f: -f {given}"
                )?;
            }
            Self::Stray { given, .. } => {
                write!(out, "weir: '{given}' is not an option, nor the value of one")?;
            }
            Self::MissingValue(flag) => {
                write!(out, "{flag}: a value is missing")?;
                if let Some(flag) = FLAGS.iter().find(|known| known.name == *flag) {
                    write!(out, ": {} {}", flag.name, flag.value)?;
                }
            }
            Self::NeedlessValue(flag) => write!(out, "{flag}: no value is expected")?,
            Self::BadValue { flag, wants, given } => {
                write!(out, "{flag}: {wants} is expected, not '{given}'")?;
            }
        }
        out.write_str("\n'weir --help' lists all options.")
    }
}

/// The error about a word that is no known option.
pub(super) fn unknown(word: &OsStr) -> UsageError {
    let given = word.to_string_lossy().into_owned();
    if !given.starts_with('-') || given == "-" {
        return UsageError::Stray { is_file: Path::new(word).exists(), given };
    }
    let names = FLAGS.iter().flat_map(|flag| [flag.name, flag.long]);
    let name = given.split('=').next().unwrap_or(&given);
    let suggestion = config::nearest(name, names.filter(|name| name.starts_with("--")));
    UsageError::Unknown { given, suggestion }
}

/// The message about directories that hold no configuration.
pub(crate) fn no_configuration(sources: &[PathBuf]) -> String {
    let names: Vec<String> = sources.iter().map(|path| path.display().to_string()).collect();
    format!(
        "No configuration file found in {} : of a directory, files are read whose names end with .cfg \
         and do not begin with a dot",
        names.join(", ")
    )
}

/// The usage text behind an error: three command lines.
const SHORT: &str = "\
Usage : weir [-c] -f <cfgfile|cfgdir> [<option>]... [-- <cfgfile>...]
  weir -c -f /etc/haproxy/haproxy.cfg    checks a configuration
  weir -db -f /etc/haproxy/haproxy.cfg   serves it in the foreground
  weir --help                            lists all options";

/// The output of `--help`: one line per flag.
pub(crate) fn help() -> String {
    let mut text = String::from(
        "Usage : weir [-c] -f <cfgfile|cfgdir> [<option>]... [-- <cfgfile>...]\n\n\
         Serves what a configuration of HAProxy describes. Options are HAProxy's, most with a long name too.\n\n",
    );
    for flag in FLAGS {
        let (names, value) = flag.head();
        let gap = if value.is_empty() || flag.takes_suffix() { "" } else { " " };
        let head = format!("{names}{gap}{value}");
        text.push_str(&format!("  {head:36} {}\n", flag.help));
    }
    text + EXAMPLES
}

/// The examples below the list of flags.
const EXAMPLES: &str = "
Examples:
  weir -c -f /etc/haproxy/haproxy.cfg    checks a configuration
  weir -db -f /etc/haproxy/haproxy.cfg   serves it in the foreground
  weir -Ws -f FILE -S /run/weir/cli      serves it below a master that can be reloaded

Exit status: 0 for success, 1 for a failure, with -c 2 for a valid configuration that listens nowhere.
";

impl Flag {
    /// Its names, and its value with the sign before it, as in the help.
    pub(crate) fn head(&self) -> (String, String) {
        let names = match self.long {
            "" => self.name.to_owned(),
            long => format!("{}, {long}", self.name),
        };
        let value = match (self.takes_suffix(), self.long) {
            (true, "") | (false, _) => self.value.to_owned(),
            (true, _) if self.value.starts_with('[') => format!("[={}", &self.value[1..]),
            (true, _) => format!("={}", self.value),
        };
        (names, value)
    }
}
