//! Loads the files of a configuration, and answers which functions they have registered.

use crate::budget::BURST;
use crate::error::LoadError;
use crate::host::NoHost;
use crate::registry::{Registered, ServiceMode};
use crate::runtime::{Cell, Command, Function, Runtime, Timeouts};
use crate::state::{Limits, State};
use sample::{ParseContext, ScriptAction, ScriptFunction, ScriptNames};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// Limits of all states, known at the end of the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Instructions after which a script is cut (`tune.lua.forced-yield`).
    pub instructions: u32,
    /// Bytes of memory; 0 without limit (`tune.lua.maxmem`).
    pub memory: usize,
    /// Milliseconds of one turn; 0 without end (`tune.lua.burst-timeout`).
    pub burst: u64,
    /// The time that scripts have.
    pub timeouts: Timeouts,
    /// The threads of the process.
    pub threads: usize,
}

/// A step of loading that each thread's state takes again.
enum Repeated {
    Path(String, String),
    File { name: String, text: Vec<u8>, args: Vec<String> },
}

/// A `filter lua.NAME` line.
struct FilterLine {
    name: String,
    args: Vec<String>,
    per_thread: bool,
}

#[derive(Default)]
struct Inner {
    shared: Option<State>,
    first: Option<State>,
    steps: Vec<Repeated>,
    /// Lines of filters, in order.
    filters: Vec<FilterLine>,
    /// Registered functions by kind and name, and whether each thread has a state of its own for
    /// them.
    names: HashMap<String, (Registered, bool)>,
}

/// The scripts of a configuration that is being read.
pub struct Loader {
    inner: RefCell<Inner>,
    runtime: Arc<OnceLock<Arc<Runtime>>>,
    clock: fn() -> u64,
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader").finish_non_exhaustive()
    }
}

/// Instructions of a slice while files are loaded.
const INSTRUCTIONS: u32 = 10_000;

impl Loader {
    /// A loader without a file; `clock` gives milliseconds that only go forward.
    pub fn new(clock: fn() -> u64) -> Loader {
        Loader { inner: RefCell::default(), runtime: Arc::default(), clock }
    }

    fn state(&self, number: u32) -> Result<State, LoadError> {
        let clock = self.clock;
        State::new(Limits { number, instructions: INSTRUCTIONS, memory: 0, burst: BURST, clock })
    }

    /// Has `require` look in another path first: `variable` is `path` or `cpath`.
    ///
    /// # Errors
    /// The scripts are at fault, or memory is short.
    pub fn prepend_path(&self, path: &str, variable: &str) -> Result<(), LoadError> {
        let mut inner = self.inner.borrow_mut();
        let Inner { shared, first, steps, .. } = &mut *inner;
        for state in [shared, first].into_iter().flatten() {
            state.prepend_path(path, variable)?;
        }
        steps.push(Repeated::Path(path.to_owned(), variable.to_owned()));
        Ok(())
    }

    /// Runs the body of a file: for all threads together, or for each.
    ///
    /// # Errors
    /// The scripts are at fault, or memory is short.
    pub fn load(
        &self,
        (name, text): (&str, &[u8]),
        args: &[&str],
        per_thread: bool,
        maps: &ParseContext<'_>,
    ) -> Result<(), LoadError> {
        let mut inner = self.inner.borrow_mut();
        let Inner { shared, first, steps, names, .. } = &mut *inner;
        let kept = if per_thread { first } else { shared };
        let mut state = match kept.take() {
            Some(state) => state,
            None => {
                let mut state = self.state(u32::from(per_thread))?;
                for step in steps.iter() {
                    if let Repeated::Path(path, variable) = step {
                        state.prepend_path(path, variable)?;
                    }
                }
                state
            }
        };
        let loaded = state.load((name, text), args, Some(maps), &mut NoHost);
        for (name, what) in state.names() {
            names.insert(format!("{}{name}", what.prefix()), (what.clone(), per_thread));
        }
        *kept = Some(state);
        if per_thread {
            let args = args.iter().map(|arg| (*arg).to_owned()).collect();
            let (name, text) = (name.to_owned(), text.to_vec());
            steps.push(Repeated::File { name, text, args });
        }
        loaded
    }

    /// The states of all threads, once the configuration is complete; `None` without any file.
    ///
    /// # Errors
    /// The scripts are at fault, or memory is short.
    pub fn finish(&self, settings: Settings) -> Result<Option<Arc<Runtime>>, LoadError> {
        let mut inner = self.inner.borrow_mut();
        let Inner { shared, first, steps, names, filters } = &mut *inner;
        if shared.is_none() && first.is_none() {
            return Ok(None);
        }
        let mut threads = Vec::new();
        if let Some(first) = first.take() {
            threads.push(first);
            for number in 1..settings.threads {
                threads.push(self.repeat(steps, number as u32 + 1)?);
            }
        }
        let mut shared = shared.take();
        for state in threads.iter_mut().chain(&mut shared) {
            state.limit(settings.instructions, settings.memory, settings.burst)?;
            let per_thread = state.number() > 0;
            let own = filters.iter().enumerate().filter(|(_, it)| it.per_thread == per_thread);
            for (number, line) in own {
                state.add_filter(number, &line.name, &line.args)?;
            }
        }
        let runtime = Arc::new(Runtime {
            shared: shared.map(Cell::new),
            threads: threads.into_iter().map(Cell::new).collect(),
            timeouts: settings.timeouts,
            commands: commands(names),
            early: stdx::Mutex::default(),
        });
        Ok(Some(self.runtime.get_or_init(|| runtime).clone()))
    }

    /// Loads the files of each thread for one more.
    fn repeat(&self, steps: &[Repeated], number: u32) -> Result<State, LoadError> {
        let mut state = self.state(number)?;
        for step in steps {
            match step {
                Repeated::Path(path, variable) => state.prepend_path(path, variable)?,
                Repeated::File { name, text, args } => {
                    let args: Vec<&str> = args.iter().map(String::as_str).collect();
                    state.load((name, text), &args, None, &mut NoHost)?;
                }
            }
        }
        Ok(state)
    }

    fn function(&self, key: String, name: &str) -> Option<Arc<dyn ScriptFunction>> {
        let per_thread = self.inner.borrow().names.get(&key)?.1;
        let runtime = self.runtime.clone();
        Some(Arc::new(Function { runtime, per_thread, name: name.into() }))
    }
}

/// The commands among the registered names.
fn commands(names: &HashMap<String, (Registered, bool)>) -> Vec<Command> {
    let command = |(key, (what, per_thread)): (&String, &(Registered, bool))| {
        let Registered::Command(usage) = what else { return None };
        let words = key.strip_prefix(what.prefix())?;
        // Help lists them beside the built-in ones, as long as the process lives.
        let kept = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
        Some(Command { words: kept(words), usage: kept(usage), per_thread: *per_thread })
    };
    let mut commands: Vec<Command> = names.iter().filter_map(command).collect();
    commands.sort_by_key(|command| command.words);
    commands
}

impl ScriptNames for Loader {
    fn fetch(&self, name: &str) -> Option<Arc<dyn ScriptFunction>> {
        self.function(format!("fetch:{name}"), name)
    }

    fn converter(&self, name: &str) -> Option<Arc<dyn ScriptFunction>> {
        self.function(format!("converter:{name}"), name)
    }

    fn action(&self, name: &str, rules: &str) -> ScriptAction {
        match self.inner.borrow().names.get(&format!("action:{rules}:{name}")) {
            Some((Registered::Action(_, count), per_thread)) => {
                ScriptAction::Found(*count, *per_thread)
            }
            _ => ScriptAction::Unknown,
        }
    }

    fn filter(&self, name: &str, args: &[&str]) -> Option<(usize, bool)> {
        let mut inner = self.inner.borrow_mut();
        let per_thread = inner.names.get(&format!("filter:{name}"))?.1;
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        inner.filters.push(FilterLine { name: name.to_owned(), args, per_thread });
        Some((inner.filters.len() - 1, per_thread))
    }

    fn service(&self, name: &str, http: bool) -> Option<bool> {
        let inner = self.inner.borrow();
        let (what, per_thread) = inner.names.get(&format!("service:{name}"))?;
        let wanted = if http { ServiceMode::Http } else { ServiceMode::Tcp };
        matches!(what, Registered::Service(mode) if *mode == wanted).then_some(*per_thread)
    }
}
