//! The command line: HAProxy's flags to plain options (management manual, section 3).
//!
//! A flag is recognised by the longest name in [`FLAGS`] that begins its word, and the rest of the
//! word is left out, as HAProxy does: `-dWx` is `-dW`, `-n5 7` is `-n 7`, any unknown `-d...` is
//! `-d`, and flags never combine, so that `-db` is not `-d -b`. GNU spellings are accepted too:
//! `--check`, `--config FILE` and `--config=FILE` are complete words.

#[cfg(test)]
mod tests;
mod usage;

pub(crate) use usage::{UsageError, help, no_configuration};

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// The task of the process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Action {
    /// Load the configuration and serve.
    #[default]
    Run,
    /// `-c`: load the configuration, report, and exit with 0 (valid), 1 (errors) or 2 (valid, but
    /// nothing listens).
    Check,
    /// `-cc`: evaluate a condition and exit with 0 (true), 1 (false) or 2 (unparsable); no
    /// configuration is loaded.
    Condition(String),
    /// `-h`: print [`help`] and exit with 0.
    Help,
    /// `-v`: print the version in HAProxy's words and exit with 0.
    Version,
    /// `--version`: print the version of Weir and exit with 0.
    OwnVersion,
    /// `-vv`: print the version and what the build can do, and exit with 0.
    BuildOptions,
    /// `--generate`: print a man page or a completion, by its name, and exit with 0.
    Generate(&'static str),
    /// `-dMhelp`: print [`MEMORY_HELP`] and exit with 0.
    MemoryHelp,
}

impl Action {
    /// Whether further words are ignored.
    fn is_complete(&self) -> bool {
        !matches!(self, Self::Run | Self::Check | Self::Condition(_))
    }
}

/// The documents that `--generate` can make, as the usage text shows them.
const GENERATED: &str = "{weir.8|weir.cfg.5|manual|bash|zsh|fish}";

/// The name of a document that can be generated.
pub(crate) fn generated(name: &str) -> Option<&'static str> {
    GENERATED.trim_matches(['{', '}']).split('|').find(|known| *known == name)
}

/// The fate of the processes that this one replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Farewell {
    /// `-sf`: they finish running requests first (SIGUSR1).
    Finish,
    /// `-st`: they stop at once (SIGTERM).
    Terminate,
}

/// The command line, understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The task of the process.
    pub(crate) action: Action,
    /// `-f` and `--`: configuration files and directories, in order.
    pub(crate) sources: Vec<PathBuf>,
    /// `-V`: verbose; wins over `-q` in any order.
    pub(crate) verbose: bool,
    /// `-q`: quiet.
    pub(crate) quiet: bool,
    /// `-d`: foreground, and SIGINT and SIGTERM keep their default action.
    pub(crate) debug: bool,
    /// `-d` and `-db`: stay in the foreground, against the configuration and `-D`.
    pub(crate) foreground: bool,
    /// `-D`: go to the background.
    pub(crate) daemon: bool,
    /// `-W`, `-Ws`: a master watches over the process that serves.
    pub(crate) master: bool,
    /// `-Ws`: `daemon` in the configuration has no effect, because the service manager watches
    /// over the process that it has started; `-D` still has.
    pub(crate) ignores_daemon: bool,
    /// `-S`: the master's own runtime sockets, as given.
    pub(crate) master_sockets: Vec<String>,
    /// `-x`: the runtime socket of a process whose listening sockets are taken over.
    pub(crate) takes_over: Option<PathBuf>,
    /// `-p`: file that receives the process ids.
    pub(crate) pid_file: Option<PathBuf>,
    /// `-n`: connections of the process, instead of the configuration's `maxconn`; never 0.
    pub(crate) maxconn: Option<u32>,
    /// `-N`: default `maxconn` of a proxy; never 0.
    pub(crate) proxy_maxconn: Option<u32>,
    /// `-m`: memory of the process in MiB; never 0.
    pub(crate) memory_mib: Option<u32>,
    /// `-L`: name of the local peer, instead of the host's.
    pub(crate) local_peer: Option<String>,
    /// `-C`: directory to change to before files are loaded.
    pub(crate) directory: Option<PathBuf>,
    /// `-dW`: any warning of the configuration is an error.
    pub(crate) zero_warning: bool,
    /// `--output`: how `-c` hands its messages over, on the standard output.
    pub(crate) output: Option<config::Format>,
    /// `-dK`: the classes of names to list.
    pub(crate) keywords: Option<String>,
    /// `-dC`: list the configuration as it is understood; 0 hides nothing, any other key hides
    /// names and secrets.
    pub(crate) listing: Option<u32>,
    /// `-dL`: list the object files that are loaded.
    pub(crate) libraries: bool,
    /// `-dD`: report suspicious statements.
    pub(crate) diagnostics: bool,
    /// `-dr`: a server whose name does not resolve is no error.
    pub(crate) ignore_resolution: bool,
    /// `-dV`: certificates of servers are not verified unless the configuration asks for it.
    pub(crate) trusts_servers: bool,
    /// `-dR`: listeners do not set SO_REUSEPORT.
    pub(crate) no_reuse_port: bool,
    /// `-dS`: no payload goes through pipes.
    pub(crate) no_splice: bool,
    /// `-sf`, `-st`: processes to tell when this one serves.
    pub(crate) old_pids: Vec<i32>,
    /// The signal for them.
    pub(crate) farewell: Option<Farewell>,
    /// Flags that were accepted and have no effect, with the reason. Not warnings of the
    /// configuration: `-dW` does not count them.
    pub(crate) notes: Vec<String>,
}

/// One flag of the command line.
pub(crate) struct Flag {
    /// With its dash.
    pub(crate) name: &'static str,
    /// The GNU spelling with its dashes; empty if there is none.
    pub(crate) long: &'static str,
    /// The placeholder of its value in the usage text; empty for a flag without a value.
    pub(crate) value: &'static str,
    /// Its description in the usage text.
    pub(crate) help: &'static str,
    /// Applies the flag and its value to the options.
    apply: Apply,
}

/// A flag, in the order of the columns of [`FLAGS`].
const fn flag(
    name: &'static str,
    long: &'static str,
    value: &'static str,
    help: &'static str,
    apply: Apply,
) -> Flag {
    Flag { name, long, value, help, apply }
}

type Apply = fn(&mut Options, &mut Words<'_>) -> Result<(), UsageError>;

/// Every flag, in the order of the usage text.
#[rustfmt::skip]
const FLAGS: &[Flag] = &[
    flag("-h", "--help", "", "displays this help", |o, _| action(o, Action::Help)),
    flag("-f", "--config", "<cfgfile|cfgdir>", "loads a configuration file, or the *.cfg of a directory", source),
    flag("-v", "", "", "displays the version, in HAProxy's words", |o, _| action(o, Action::Version)),
    flag("--version", "", "", "displays the version of Weir alone", |o, _| action(o, Action::OwnVersion)),
    flag("-vv", "--build-options", "", "shows known build options", |o, _| action(o, Action::BuildOptions)),
    flag("-d", "--debug", "", "enters debug mode, in the foreground", debug),
    flag("-db", "--foreground", "", "only disables background mode", |o, _| on(&mut o.foreground)),
    flag("-dM", "--memory-debug", "[<byte>,help,...]", "debug memory (no effect)", memory),
    flag("-V", "--verbose", "", "enters verbose mode (disables quiet mode)", |o, _| on(&mut o.verbose)),
    flag("-D", "--daemon", "", "goes daemon", |o, _| on(&mut o.daemon)),
    flag("-W", "--master-worker", "", "master-worker mode", |o, _| on(&mut o.master)),
    flag("-Ws", "--systemd", "", "master-worker mode with systemd notify support, in the foreground", notifying_master),
    flag("-q", "--quiet", "", "quiet mode: doesn't display messages", |o, _| on(&mut o.quiet)),
    flag("-c", "--check", "", "check mode: only checks config files and exits", |o, _| action(o, Action::Check)),
    flag("--output", "", "{json|sarif}", "with -c: writes messages for programs to the standard output", output),
    flag("--generate", "", GENERATED, "writes a man page or a shell's completion and exits", generation),
    flag("-cc", "--condition", "<condition>", "evaluates a condition and exits", condition),
    flag("-n", "--maxconn", "<maxconn>", "sets the maximum total number of connections", |o, w| limit(&mut o.maxconn, w)),
    flag("-m", "--memory", "<megs>", "limits the usable amount of memory (in MB)", |o, w| limit(&mut o.memory_mib, w)),
    flag("-N", "--proxy-maxconn", "<maxpconn>", "sets the default maximum of connections of a proxy", |o, w| limit(&mut o.proxy_maxconn, w)),
    flag("-L", "--local-peer", "<name>", "sets the local peer name (default: the host's name)", |o, w| set(&mut o.local_peer, w.text())),
    flag("-p", "--pid-file", "<pidfile>", "writes the process ids to this file", |o, w| set(&mut o.pid_file, w.path())),
    flag("-C", "--directory", "<dir>", "changes to this directory before loading files", |o, w| set(&mut o.directory, w.path())),
    flag("-dC", "--dump-config", "[<key>]", "dumps the configuration; with a key, without names and secrets", listing),
    flag("-de", "", "", "disables epoll (no effect)", |o, _| note(o, "-de", "epoll is the only poller")),
    flag("-dp", "", "", "disables poll (no effect)", |o, _| note(o, "-dp", "epoll is the only poller")),
    flag("-dS", "--no-splice", "", "disables splice", |o, _| on(&mut o.no_splice)),
    flag("-dG", "", "", "disables getaddrinfo (no effect)", |o, _| note(o, "-dG", "there is one resolver call")),
    flag("-dR", "--no-reuse-port", "", "disables SO_REUSEPORT", |o, _| on(&mut o.no_reuse_port)),
    flag("-dL", "--list-libraries", "", "dumps loaded object files", |o, _| on(&mut o.libraries)),
    flag("-dK", "--list-keywords", "{class[,...]}", "dumps registered keywords", classes),
    flag("-dr", "--ignore-resolution", "", "ignores server address resolution failures", |o, _| on(&mut o.ignore_resolution)),
    flag("-dV", "--no-server-verify", "", "disables SSL verify on the server side", |o, _| on(&mut o.trusts_servers)),
    flag("-dW", "--no-warnings", "", "fails if any warning is emitted", |o, _| on(&mut o.zero_warning)),
    flag("-dD", "--diagnostics", "", "warns about suspicious configuration statements", |o, _| on(&mut o.diagnostics)),
    flag("-sf", "--finish", "[pid ]*", "finishes old processes", |o, w| farewell(o, w, Farewell::Finish)),
    flag("-st", "--terminate", "[pid ]*", "terminates old processes", |o, w| farewell(o, w, Farewell::Terminate)),
    flag("-x", "--take-over", "<unix_socket>", "gets listening sockets from a unix socket", |o, w| set(&mut o.takes_over, w.path())),
    flag("-S", "--master-socket", "<bind>[,<option>...]", "binds the master's command socket", master_socket),
];

/// Every flag, for documents.
pub(crate) fn documented() -> impl Iterator<Item = &'static Flag> {
    FLAGS.iter()
}

/// The words of a command line as they are taken one by one.
struct Words<'a> {
    rest: std::slice::Iter<'a, OsString>,
    /// The flag being applied, for errors.
    flag: &'static str,
    /// The rest of the word after the flag's name.
    suffix: &'a str,
    /// The value behind the equals sign of a GNU spelling.
    attached: Option<&'a OsStr>,
}

impl<'a> Words<'a> {
    fn value(&mut self) -> Result<&'a OsStr, UsageError> {
        let next = self.attached.take().or_else(|| self.rest.next().map(OsString::as_os_str));
        next.ok_or(UsageError::MissingValue(self.flag))
    }

    fn path(&mut self) -> Result<PathBuf, UsageError> {
        self.value().map(PathBuf::from)
    }

    fn text(&mut self) -> Result<String, UsageError> {
        let value = self.value()?;
        value.to_str().map(str::to_owned).ok_or_else(|| self.bad("UTF-8 text", value))
    }

    /// A process id as in kill(2): 0 and below would address groups, or all processes.
    fn pid(&self, word: &OsStr) -> Result<i32, UsageError> {
        let pid = word.to_str().and_then(|text| text.parse().ok()).filter(|pid: &i32| *pid > 0);
        pid.ok_or_else(|| self.bad("a process id", word))
    }

    fn bad(&self, wants: &'static str, given: &OsStr) -> UsageError {
        let given = given.to_string_lossy().into_owned();
        UsageError::BadValue { flag: self.flag, wants, given }
    }
}

/// Parses a command line, without its first word (the program's name).
///
/// # Errors
///
/// Words that HAProxy refuses, unknown long names, and values that are not numbers (HAProxy reads
/// those as 0). `-v` and `-vv` end the parsing at their position.
pub(crate) fn parse(words: &[OsString]) -> Result<Options, UsageError> {
    let mut options = Options::default();
    let mut words = Words { rest: words.iter(), flag: "", suffix: "", attached: None };
    while let Some(word) = words.rest.next() {
        if word == "--" {
            options.sources.extend(words.rest.by_ref().map(PathBuf::from));
            break;
        }
        let flag = words.recognise(word)?;
        (flag.apply)(&mut options, &mut words)?;
        if words.attached.take().is_some() {
            return Err(UsageError::NeedlessValue(flag.long));
        }
        if options.action.is_complete() {
            return Ok(options);
        }
    }
    finish(options)
}

impl<'a> Words<'a> {
    /// The flag that a word begins with, or that it spells in full behind two dashes.
    fn recognise(&mut self, word: &'a OsStr) -> Result<&'static Flag, UsageError> {
        let bytes = word.as_bytes();
        let equals = bytes.iter().position(|byte| *byte == b'=');
        let is_long = bytes.starts_with(b"--");
        let (name, value) = match equals.filter(|_| is_long) {
            Some(at) => (&bytes[..at], Some(OsStr::from_bytes(&bytes[at + 1..]))),
            None => (bytes, None),
        };
        let flag = if is_long { spelled(name) } else { shortened(word) };
        let flag = flag.ok_or_else(|| usage::unknown(word))?;
        (self.flag, self.suffix, self.attached) = (flag.name, "", value);
        if !is_long {
            self.suffix = word.to_str().and_then(|it| it.strip_prefix(flag.name)).unwrap_or("");
        } else if flag.takes_suffix() {
            self.suffix = self.attached.take().and_then(OsStr::to_str).unwrap_or("");
        }
        Ok(flag)
    }
}

impl Flag {
    /// Whether the value is a part of the flag's word: `-dKall`.
    pub(crate) fn takes_suffix(&self) -> bool {
        self.name.starts_with("-d") && !self.value.is_empty()
    }
}

/// The flag with this name or GNU spelling.
fn spelled(name: &[u8]) -> Option<&'static Flag> {
    FLAGS.iter().find(|flag| [flag.name, flag.long].iter().any(|it| it.as_bytes() == name))
}

/// The flag whose name is the longest beginning of a word.
fn shortened(word: &OsStr) -> Option<&'static Flag> {
    let word = word.to_string_lossy();
    let candidates = FLAGS.iter().filter(|flag| word.starts_with(flag.name));
    candidates.max_by_key(|flag| flag.name.len())
}

/// Resolves options that depend on several flags.
fn finish(mut options: Options) -> Result<Options, UsageError> {
    let needs_sources = !matches!(options.action, Action::Condition(_));
    if needs_sources && options.sources.is_empty() {
        return Err(UsageError::NoSource);
    }
    options.quiet &= !options.verbose && !options.debug;
    options.daemon &= !options.foreground;
    Ok(options)
}

fn on(switch: &mut bool) -> Result<(), UsageError> {
    *switch = true;
    Ok(())
}

fn notifying_master(options: &mut Options, _: &mut Words<'_>) -> Result<(), UsageError> {
    options.master = true;
    options.ignores_daemon = true;
    Ok(())
}

fn set<T>(place: &mut Option<T>, value: Result<T, UsageError>) -> Result<(), UsageError> {
    *place = Some(value?);
    Ok(())
}

fn classes(options: &mut Options, words: &mut Words<'_>) -> Result<(), UsageError> {
    options.keywords = Some(words.suffix.to_owned());
    Ok(())
}

fn listing(options: &mut Options, words: &mut Words<'_>) -> Result<(), UsageError> {
    let key = if words.suffix.is_empty() { Ok(0) } else { words.suffix.parse() };
    options.listing = Some(key.map_err(|_| words.bad("a number", OsStr::new(words.suffix)))?);
    Ok(())
}

/// A later `-c` does not replace a condition.
fn action(options: &mut Options, action: Action) -> Result<(), UsageError> {
    if !matches!(options.action, Action::Condition(_)) {
        options.action = action;
    }
    Ok(())
}

fn note(options: &mut Options, flag: &str, reason: &str) -> Result<(), UsageError> {
    options.notes.push(format!("{flag} has no effect: {reason}"));
    Ok(())
}

fn master_socket(options: &mut Options, words: &mut Words<'_>) -> Result<(), UsageError> {
    options.master_sockets.push(words.text()?);
    Ok(())
}

fn source(options: &mut Options, words: &mut Words<'_>) -> Result<(), UsageError> {
    options.sources.push(words.path()?);
    Ok(())
}

fn condition(options: &mut Options, words: &mut Words<'_>) -> Result<(), UsageError> {
    options.action = Action::Condition(words.text()?);
    Ok(())
}

fn output(options: &mut Options, words: &mut Words<'_>) -> Result<(), UsageError> {
    let value = words.value()?;
    let format = value.to_str().and_then(config::Format::find);
    options.output = Some(format.ok_or_else(|| words.bad("json or sarif", value))?);
    Ok(())
}

fn generation(options: &mut Options, words: &mut Words<'_>) -> Result<(), UsageError> {
    let value = words.value()?;
    let name = value.to_str().and_then(generated);
    action(options, Action::Generate(name.ok_or_else(|| words.bad(GENERATED, value))?))
}

fn debug(options: &mut Options, _: &mut Words<'_>) -> Result<(), UsageError> {
    options.debug = true;
    options.foreground = true;
    Ok(())
}

/// A limit; 0 for no limit from the command line.
fn limit(place: &mut Option<u32>, words: &mut Words<'_>) -> Result<(), UsageError> {
    let value = words.value()?;
    let number: Option<u32> = value.to_str().and_then(|text| text.parse().ok());
    *place = Some(number.ok_or_else(|| words.bad("a number", value))?).filter(|limit| *limit > 0);
    Ok(())
}

/// The process ids after the flag: every word up to the next one that begins with a dash.
fn farewell(
    options: &mut Options,
    words: &mut Words<'_>,
    farewell: Farewell,
) -> Result<(), UsageError> {
    options.farewell = Some(farewell);
    if let Some(word) = words.attached.take() {
        options.old_pids.push(words.pid(word)?);
    }
    while let Some(word) = words.rest.as_slice().first() {
        if word.as_encoded_bytes().first() == Some(&b'-') {
            break;
        }
        options.old_pids.push(words.pid(word)?);
        words.rest.next();
    }
    Ok(())
}

/// The words that may follow `-dM`, besides a byte value.
const MEMORY_WORDS: &[&str] = &[
    "cache",
    "caller",
    "cold-first",
    "fail",
    "global",
    "hot-first",
    "integrity",
    "merge",
    "no-cache",
    "no-caller",
    "no-fail",
    "no-global",
    "no-integrity",
    "no-merge",
    "no-poison",
    "no-tag",
    "poison",
    "tag",
];

/// The output of `-dMhelp`.
pub(crate) const MEMORY_HELP: &str = "\
-dM and its options debug the memory pools of a program written in C. Memory is safe here by the
language's rules: the options are checked, and have no effect.
";

/// `-dM`, then nothing or a byte and words, separated by commas.
fn memory(options: &mut Options, words: &mut Words<'_>) -> Result<(), UsageError> {
    for (index, word) in words.suffix.split(',').enumerate() {
        if word == "help" {
            return action(options, Action::MemoryHelp);
        }
        let byte = index == 0 && (word.is_empty() || is_number(word));
        if !byte && !MEMORY_WORDS.contains(&word) {
            return Err(words.bad("a byte or a pool debugging option", OsStr::new(word)));
        }
    }
    note(options, "-dM", "memory is not poisoned")
}

fn is_number(word: &str) -> bool {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).is_ok(),
        None => word.parse::<u64>().is_ok(),
    }
}
