//! The `weir` command as a function: reads the command line, then starts, checks or explains.
//!
//! A library, so that the acceptance tests can link the program that they start.
#![forbid(unsafe_code)]

mod boot;
mod cli;
mod dump;
mod generate;
mod keywords;
mod master;
mod progress;
mod signals;
mod start_error;
mod version;

use boot::Leading;
use cli::{Action, Options};
use config::{Environment, Features, LocalPeer, Setup, Severity, Style, Verdict};
use master::master_state::Record;
use progress::Watched;
use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// The C library's own keeps only small blocks at hand, and a handshake asks for many larger ones.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Runs the program with the arguments of this process; returns its exit status.
pub fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    match cli::parse(&words) {
        Ok(options) => run(options),
        Err(error) => {
            complain(&format!("{error}\n"));
            ExitCode::from(1)
        }
    }
}

fn run(options: Options) -> ExitCode {
    let directory = std::env::current_dir().unwrap_or_default();
    if let Some(directory) = &options.directory
        && let Err(error) = std::env::set_current_dir(directory)
    {
        let (directory, why) = (directory.display(), boot::words(&error));
        return fail(&format!("Could not change to directory {directory} : {why}"));
    }
    match &options.action {
        Action::Help => print(&cli::help()),
        Action::Version => print(&version::short()),
        Action::OwnVersion => print(version::OWN),
        Action::BuildOptions => print(&version::long(version::FEATURES, &version::services())),
        Action::MemoryHelp => print(cli::MEMORY_HELP),
        Action::Generate(name) => print(&generate::make(name)),
        Action::Condition(text) => condition(text),
        Action::Check => load(options, None),
        Action::Run => {
            // A signal that arrives too early must not end a master that is not ready yet.
            let leading = lead(&options, directory);
            load(options, leading)
        }
    }
}

/// Sets an environment variable of the configuration and of programs (configuration manual, section
/// 2.3).
fn set_variable(name: &str, value: &str) {
    sys::fork::set_variable(name, value);
}

fn print(text: &str) -> ExitCode {
    // A reader that closed early is no error here.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

/// Whether clients depend on this process, so that it must not wait for a reader.
static SERVES: AtomicBool = AtomicBool::new(false);
/// How long a process that serves waits for a reader of its standard error output.
const PATIENCE: Duration = Duration::from_millis(100);

/// From now on, [`complain`] gives up when the reader of the standard error output is slow.
fn never_wait_to_complain() {
    SERVES.store(true, Relaxed);
}

fn complain(text: &str) {
    // A failure cannot be reported anywhere else.
    let _ = match SERVES.load(Relaxed) {
        true => sys::output::write_within(2, text.as_bytes(), PATIENCE),
        false => std::io::stderr().write_all(text.as_bytes()),
    };
}

/// One alert in HAProxy's shape.
fn alert(text: &str) -> String {
    format!("[ALERT]    ({}) : {text}\n", std::process::id())
}

/// Prints an alert in HAProxy's shape; returns the exit status 1.
fn fail(text: &str) -> ExitCode {
    complain(&format!("[ALERT]    ({}) : {text}\n", std::process::id()));
    ExitCode::from(1)
}

fn condition(text: &str) -> ExitCode {
    let words = version::words();
    match config::check_condition(text, &environment(), &features(&words)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            complain(&config::line(Severity::Alert, std::process::id(), &error.to_string()));
            ExitCode::from(2)
        }
    }
}

fn environment() -> Environment {
    let text = |word: OsString| word.to_string_lossy().into_owned();
    let mut all: Environment =
        std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect();
    all.preset("HAPROXY_BRANCH", "2.7");
    all
}

fn features<'a>(words: &'a [&'a str]) -> Features<'a> {
    let ssl_library = tls::library();
    let openssl_version = tls::api_version();
    Features { version: version::VERSION, words, enabled: &["EPOLL"], ssl_library, openssl_version }
}

/// The master that this process has been, or is to be in any case.
fn lead(options: &Options, directory: PathBuf) -> Option<Leading> {
    let again = Record::inherited();
    if again.is_some() {
        never_wait_to_complain();
    }
    if again.is_some() || options.master {
        set_variable("HAPROXY_MWORKER", "1");
        let _ = sys::signal::block(&master::SIGNALS, true);
    }
    match again {
        Some(record) => Some(Leading { record, again: true }),
        None => Record::new(directory).ok().map(|record| Leading { record, again: false }),
    }
}

/// Goes on as the master that this process has been; `status` is for a process that was none.
fn give_up(leading: Option<Leading>, options: &Options, said: &str, status: u8) -> ExitCode {
    match leading.filter(|leading| leading.again) {
        Some(leading) => boot::fail_reload(leading.record, options, said),
        None => ExitCode::from(status),
    }
}

/// Reads the configuration, prints its errors, and starts the process if that is requested.
fn load(options: Options, leading: Option<Leading>) -> ExitCode {
    let pid = std::process::id();
    for note in &options.notes {
        complain(&config::line(Severity::Notice, pid, note));
    }
    let style = if std::io::stderr().is_terminal() { Style::Pretty } else { Style::Plain };
    let files = Watched::new();
    let sources = match sources(&options, &files, style) {
        Ok(sources) => sources,
        Err(said) => {
            drop(files);
            return give_up(leading, &options, &said, 1);
        }
    };
    let words = version::words();
    let peer = options.local_peer.clone().unwrap_or_else(sys::hostname);
    let local_peer = LocalPeer { name: &peer, fixed: options.local_peer.is_some() };
    let scripts = boot::ScriptLoader::new();
    let setup = || Setup {
        env: environment(),
        features: features(&words),
        files: &files,
        names: &config::SystemResolver,
        processors: sys::cpu::available().len(),
        local_peer,
        trusts_servers: options.trusts_servers,
        scripts: Some(&scripts),
    };
    if let Some(key) = options.listing {
        print(&config::listing(&sources, setup(), Some(key).filter(|key| *key != 0)));
    }
    let mut loaded = config::load(&sources, setup());
    if let Some(said) = script_failure(&scripts, &loaded) {
        return give_up(leading, &options, &said, 1);
    }
    let quiet = is_quiet(&options, &mut loaded);
    drop(files);
    show(&options, &loaded);
    let verdict = loaded.verdict(options.zero_warning);
    let said = config::report(&loaded.diagnostics, pid, Style::Plain, options.diagnostics);
    let checks = options.action == Action::Check;
    if let Some(format) = options.output.filter(|_| checks) {
        // Advice is for editors; it changes no verdict.
        print(&config::document(&loaded.diagnostics, format, env!("CARGO_PKG_VERSION"), true));
        return ExitCode::from(verdict.exit_code());
    }
    report(&options, &loaded, (quiet, checks), style);
    if checks {
        conclude(verdict, loaded.diagnostics.warnings(), quiet);
        return ExitCode::from(verdict.exit_code());
    }
    let in_file = |model: &config::Model| model.global.process.master_worker;
    let leads = options.master || loaded.model.as_ref().is_some_and(in_file);
    if leading.as_ref().is_some_and(|leading| leading.again) && is_empty(&loaded, verdict) {
        // For example a file that is being written: the serving process continues.
        return give_up(leading, &options, &(said + &nothing_to_serve(pid)), 1);
    }
    match (loaded.model, verdict, leading) {
        (Some(model), Verdict::Valid | Verdict::NoListener, Some(leading))
            if leads || leading.again =>
        {
            let _ = sys::signal::block(&master::SIGNALS, true);
            boot::lead(model, &options, &said, leading)
        }
        (Some(model), Verdict::Valid, _) => boot::run(model, &options, &said),
        (_, Verdict::NoListener, _) => nothing_listens(pid),
        (_, _, leading) => give_up(leading, &options, &said, 1),
    }
}

/// The alert, printed, if scripts cannot be completed for all threads.
fn script_failure(scripts: &boot::ScriptLoader, loaded: &config::Loaded) -> Option<String> {
    let said = alert(&scripts.finish(loaded.model.as_ref()?).err()?.to_string());
    complain(&said);
    Some(said)
}

/// Prints the messages about the configuration.
fn report(options: &Options, loaded: &config::Loaded, (quiet, checks): (bool, bool), style: Style) {
    if options.quiet {
        return;
    }
    // A person at a terminal wants advice; a tool that reads the lines does not.
    let advice = options.diagnostics || (checks && style == Style::Pretty);
    let told = if quiet { config::report_before_quiet } else { config::report };
    let pid = std::process::id();
    complain(&told(&loaded.diagnostics, pid, style, advice));
    if checks && !quiet {
        complain(&config::summary(&loaded.diagnostics, pid));
    }
}

/// Whether the command line or the configuration asks for quiet mode; -V reverts both.
fn is_quiet(options: &Options, loaded: &mut config::Loaded) -> bool {
    if let Some(model) = loaded.model.as_mut().filter(|_| options.verbose) {
        model.global.process.quiet = false;
    }
    options.quiet || (loaded.diagnostics.is_quiet() && !options.verbose)
}

/// Prints the lists that the command line asks for.
fn show(options: &Options, loaded: &config::Loaded) {
    if let Some(classes) = &options.keywords {
        print(&keywords::dump(classes));
    }
    if options.libraries && loaded.model.is_some() {
        print(&libraries());
    }
}

/// Whether a configuration has neither listeners nor programs for a master.
fn is_empty(loaded: &config::Loaded, verdict: Verdict) -> bool {
    let idle = |model: &config::Model| model.programs.is_empty();
    verdict == Verdict::NoListener && loaded.model.as_ref().is_some_and(idle)
}

/// Prints that a reload is refused, and returns the line.
fn nothing_to_serve(pid: u32) -> String {
    let text = "No enabled listener found, the configuration before stays in force.";
    let alert = format!("[ALERT]    ({pid}) : {text}\n");
    complain(&alert);
    alert
}

/// The last message of a check, on the standard output.
fn conclude(verdict: Verdict, warnings: usize, quiet: bool) {
    let Some(message) = verdict.message().filter(|_| !quiet) else { return };
    let warned = if warnings > 0 { "Warnings were found.\n" } else { "" };
    print(&format!("{warned}{message}\n"));
}

/// The texts of all files, or the messages about unreadable ones.
fn sources(
    options: &Options,
    files: &Watched,
    style: Style,
) -> Result<Vec<config::Source>, String> {
    match config::collect(&options.sources, files) {
        Ok(sources) if !sources.is_empty() => Ok(sources),
        Ok(_) => {
            // Directories without a file.
            let text = cli::no_configuration(&options.sources);
            Err(unread(&[config::Diagnostic::general(Severity::Alert, text)], style))
        }
        Err(errors) => Err(unread(&errors, style)),
    }
}

/// Prints which files cannot be read, and returns the messages without colours.
fn unread(errors: &[config::Diagnostic], style: Style) -> String {
    let pid = std::process::id();
    errors.iter().for_each(|error| complain(&config::one(error, pid, style)));
    errors.iter().map(|error| config::one(error, pid, Style::Plain)).collect()
}

fn nothing_listens(pid: u32) -> ExitCode {
    complain(&format!("[NOTICE]   ({pid}) : haproxy version is {}\n", version::VERSION));
    complain(&format!(
        "[ALERT]    ({pid}) : [{}.main()] No enabled listener found (check for 'bind' \
         directives) ! Exiting.\n",
        program()
    ));
    ExitCode::from(1)
}

/// The program's own file and the libraries that it has loaded, a line each.
fn libraries() -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    // Address, rights, offset, device, inode, path.
    let loaded = |line: &str| {
        let mut words = line.split_whitespace();
        let rights = words.nth(1)?;
        let path = words.nth(3)?;
        (rights.contains('x') && path.starts_with('/')).then(|| format!("{path}\n"))
    };
    let mut files: Vec<String> = maps.lines().filter_map(loaded).collect();
    files.dedup();
    files.concat()
}

/// The name that the program was started with.
fn program() -> String {
    let name = std::env::args_os().next().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
