//! Scripts: loaded while the configuration is read, handed to the process when it is built.

use crate::{PATIENCE, complain};
use config::Scripts;
use sample::{ParseContext, ScriptAction, ScriptFunction, ScriptNames};
use script::{BURST, LoadError, Loader, Runtime, Settings, Surroundings, Timeouts};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Instructions of a slice without `tune.lua.forced-yield`.
const SLICE: u32 = 10_000;

/// The states of this process, once its configuration is complete.
static RUNTIME: OnceLock<Arc<Runtime>> = OnceLock::new();

/// Names of the severities, by their numbers.
const LEVELS: [&str; 8] = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"];

/// The loader of the configuration that is being read.
pub(crate) struct ScriptLoader(Loader);

impl ScriptLoader {
    pub(crate) fn new() -> ScriptLoader {
        script::surround(Rc::new(Loading));
        ScriptLoader(Loader::new(|| sys::clock::monotonic() / 1_000_000))
    }

    /// Completes the states of all threads.
    ///
    /// # Errors
    /// The scripts are at fault, or memory is short.
    pub(crate) fn finish(&self, model: &config::Model) -> Result<(), LoadError> {
        let (tune, times) = (&model.global.lua, Timeouts::default());
        let settings = Settings {
            instructions: tune.forced_yield.unwrap_or(SLICE),
            memory: tune.max_memory.unwrap_or(0) as usize * 1024 * 1024,
            burst: tune.burst_timeout.unwrap_or(BURST),
            timeouts: Timeouts {
                session: tune.session_timeout.unwrap_or(times.session),
                service: tune.service_timeout.unwrap_or(times.service),
                task: tune.task_timeout.unwrap_or(times.task),
            },
            threads: model.global.process.threads.count(),
        };
        if let Some(runtime) = self.0.finish(settings)? {
            let _ = RUNTIME.set(runtime);
        }
        Ok(())
    }
}

/// Runs the functions of `core.register_init`.
///
/// # Errors
/// The first function that fails.
pub(super) fn initialize() -> Result<(), LoadError> {
    let pause = |span| sys::clock::sleep(Duration::from_millis(span));
    runtime().map_or(Ok(()), |runtime| runtime.init(pause))
}

/// TLS of the sockets of scripts: as in HAProxy, certificates of servers are not verified.
///
/// # Errors
/// The TLS library refuses the settings.
pub(super) fn encryption(model: &config::Model) -> Result<settings::Encryption, tls::SetupError> {
    let settings = tls::ServerSettings { verify: false, reuse: true, ..Default::default() };
    let connector =
        tls::Connector::new(settings, model.global.tls.defaults, &model.store, &NoFiles)?;
    let (connector, name) = (Arc::new(connector), settings::ServerName::None);
    Ok(settings::Encryption { connector, name, alpn: None })
}

/// The files of a connector that names none.
struct NoFiles;

impl tls::Files for NoFiles {
    fn read(&self, _: &std::path::Path) -> std::io::Result<Vec<u8>> {
        Err(std::io::ErrorKind::NotFound.into())
    }

    fn list(&self, _: &std::path::Path) -> std::io::Result<Option<Vec<String>>> {
        Err(std::io::ErrorKind::NotFound.into())
    }
}

/// The states of this process, if it has loaded scripts.
pub(super) fn runtime() -> Option<Arc<Runtime>> {
    RUNTIME.get().cloned()
}

impl ScriptNames for ScriptLoader {
    fn fetch(&self, name: &str) -> Option<Arc<dyn ScriptFunction>> {
        self.0.fetch(name)
    }

    fn converter(&self, name: &str) -> Option<Arc<dyn ScriptFunction>> {
        self.0.converter(name)
    }

    fn action(&self, name: &str, rules: &str) -> ScriptAction {
        self.0.action(name, rules)
    }

    fn filter(&self, name: &str, args: &[&str]) -> Option<(usize, bool)> {
        self.0.filter(name, args)
    }

    fn service(&self, name: &str, http: bool) -> Option<bool> {
        self.0.service(name, http)
    }
}

impl Scripts for ScriptLoader {
    fn prepend_path(&self, path: &str, variable: &str) -> Result<(), String> {
        self.0.prepend_path(path, variable).map_err(|error| error.to_string())
    }

    fn load(
        &self,
        file: (&str, &[u8]),
        args: &[&str],
        per_thread: bool,
        context: &ParseContext<'_>,
    ) -> Result<(), String> {
        self.0.load(file, args, per_thread, context).map_err(|error| error.to_string())
    }
}

/// The process while it reads its configuration: logs go to the standard error output.
struct Loading;

impl Surroundings for Loading {
    fn log(&self, level: Option<u8>, text: &[u8]) {
        let level = LEVELS[usize::from(level.unwrap_or(0)) & 7];
        let text = String::from_utf8_lossy(text);
        complain(&format!("[{level}] ({}) : {text}\n", std::process::id()));
    }

    fn alert(&self, text: &str) {
        complain(&format!("[ALERT]    ({}) : {text}\n", std::process::id()));
    }

    fn write(&self, descriptor: i32, text: &[u8]) {
        // The process before this one may still serve and must not wait for long.
        let _ = sys::output::write_within(descriptor, text, PATIENCE);
    }

    fn wall(&self) -> (i64, u32) {
        let nanos = sys::clock::wall();
        ((nanos / 1_000_000_000) as i64, (nanos / 1_000 % 1_000_000) as u32)
    }
}
