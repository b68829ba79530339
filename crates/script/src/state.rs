//! A state: one interpreter with its limits and the functions that its files have registered.

use crate::budget::{Budget, Slice};
use crate::error::LoadError;
use crate::fault::{self, BUILT_IN};
use crate::members::{self, Members};
use crate::native;
use crate::registry::{Registered, Registry};
use crate::string_library;
use mlua::{Function, HookTriggers, Lua, LuaOptions, StdLib, Table, Value, VmState};
use std::collections::HashMap;
use std::sync::Arc;

/// The built-in code, in the order in which it runs.
const PRELUDE: [&str; 6] = [
    include_str!("prelude/core.lua"),
    include_str!("prelude/channel.lua"),
    include_str!("prelude/process.lua"),
    include_str!("prelude/filter.lua"),
    include_str!("prelude/socket.lua"),
    include_str!("prelude/http_client.lua"),
];

/// The limits of a state.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// 0 for the shared state, else the number of the thread, from 1.
    pub number: u32,
    /// Instructions after which a script is cut (`tune.lua.forced-yield`).
    pub instructions: u32,
    /// Bytes of memory; 0 without limit (`tune.lua.maxmem`).
    pub memory: usize,
    /// Milliseconds of one turn; 0 without end (`tune.lua.burst-timeout`).
    pub burst: u64,
    /// Milliseconds of a clock that only goes forward.
    pub clock: fn() -> u64,
}

/// Instructions between two looks at the clock where scripts are not cut otherwise.
const LOOK: u32 = 10_000;
/// Turns between two collections of the memory of dropped scripts.
const TIDY: u64 = 64;
/// Bytes that a full collection has to be worth.
const GARBAGE: usize = 1 << 20;

/// One interpreter.
pub struct State {
    pub(crate) lua: Lua,
    pub(crate) limits: Limits,
    pub(crate) registry: Registry,
    pub(crate) members: Members,
    pub(crate) budget: Arc<Budget>,
    /// The table whose first element is the function that reaches the host of the running script.
    pub(crate) slot: Table,
    /// The first value that a request hands out.
    pub(crate) marker: Table,
    pub(crate) native: Table,
    /// Calls the function of a script under the handler of errors.
    pub(crate) guard: Function,
    pub(crate) handler: Function,
    /// Filters of `filter lua.NAME` lines, by the number of the line.
    pub(crate) filters: HashMap<usize, Table>,
    runs: i64,
    turns: u64,
    /// Bytes that were left after the last full collection.
    kept: usize,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("number", &self.limits.number).finish_non_exhaustive()
    }
}

impl State {
    /// An interpreter with the built-in tables.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn new(limits: Limits) -> Result<State, LoadError> {
        State::build(limits).map_err(LoadError::from)
    }

    fn build(limits: Limits) -> mlua::Result<State> {
        let lua = Lua::new_with(StdLib::ALL_SAFE, LuaOptions::new())?;
        let budget = Arc::new(Budget::default());
        let native = lua.create_table()?;
        let (slot, marker) = (lua.create_table()?, lua.create_table()?);
        native.set("slot", &slot)?;
        native.set("marker", &marker)?;
        native.set("thread", limits.number)?;
        native::add(&lua, &native)?;
        string_library::add(&lua, &native)?;
        members::add_names(&lua, &native)?;
        for chunk in PRELUDE {
            lua.load(chunk).set_name(BUILT_IN).call::<()>(&native)?;
        }
        hook(&lua, limits, &budget)?;
        if limits.memory > 0 {
            lua.set_memory_limit(limits.memory)?;
        }
        let handler = lua.create_function(|lua, error: Value| Ok(fault::handle(lua, &error)))?;
        let guard: Function = lua.globals().get("xpcall")?;
        Ok(State {
            lua,
            limits,
            registry: Registry::default(),
            members: Members::default(),
            budget,
            slot,
            marker,
            native,
            guard,
            handler,
            filters: HashMap::new(),
            runs: 0,
            turns: 0,
            kept: 0,
        })
    }

    /// Other limits, before the first script that they are for.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn limit(&mut self, instructions: u32, memory: usize, burst: u64) -> Result<(), LoadError> {
        self.limits = Limits { instructions, memory, burst, ..self.limits };
        hook(&self.lua, self.limits, &self.budget)
            .and_then(|()| self.lua.set_memory_limit(memory).map(drop))
            .map_err(LoadError::from)
    }

    /// The number of the state: 0 for the shared one, else that of its thread.
    pub fn number(&self) -> u32 {
        self.limits.number
    }

    /// Adds a path to the search paths of `require` (`lua-prepend-path`).
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn prepend_path(&mut self, path: &str, variable: &str) -> Result<(), LoadError> {
        let add = || -> mlua::Result<()> {
            let package: Table = self.lua.globals().get("package")?;
            let old: String = package.get(variable)?;
            package.set(variable, format!("{path};{old}"))
        };
        add().map_err(LoadError::from)
    }

    /// The number of tasks that wait to be started.
    pub fn tasks(&self) -> usize {
        self.registry.tasks.len()
    }

    /// The registered names, in order.
    pub fn names(&self) -> &[(String, Registered)] {
        &self.registry.names
    }

    pub(crate) fn next_run(&mut self) -> i64 {
        self.runs += 1;
        self.runs
    }

    /// Frees what dropped scripts have held, now and then.
    pub(crate) fn tidy_up(&mut self) {
        self.turns += 1;
        if self.turns.is_multiple_of(TIDY) {
            self.lua.expire_registry_values();
        }
    }

    /// Frees what scripts have left behind, if it may be much: the collector waits until as much
    /// again is in use as it has left the last time.
    pub fn free_garbage(&mut self) {
        if self.memory() < self.kept + GARBAGE {
            return;
        }
        self.lua.expire_registry_values();
        // A finalizer that fails leaves its error to no script.
        let _ = self.lua.gc_collect();
        self.kept = self.memory();
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.lua.used_memory()
    }
}

/// Interrupts scripts for other tasks, and ends those that exceed their time.
fn hook(lua: &Lua, limits: Limits, budget: &Arc<Budget>) -> mlua::Result<()> {
    let every = if limits.instructions == 0 { LOOK } else { limits.instructions };
    let (budget, cuts) = (budget.clone(), limits.instructions > 0);
    let triggers = HookTriggers::new().every_nth_instruction(every);
    lua.set_global_hook(triggers, move |lua, _| {
        let coroutine = lua.current_thread().to_pointer() as usize;
        match budget.slice((limits.clock)(), coroutine) {
            Slice::Cut if cuts => Ok(VmState::Yield),
            Slice::Cut | Slice::GoesOn => Ok(VmState::Continue),
            Slice::Expired => {
                let (stack, _) = fault::stack(lua, 0);
                budget.set_trace(stack);
                // From now on every instruction fails, so that no `pcall` keeps the script alive.
                let each = HookTriggers::new().every_nth_instruction(1);
                lua.set_hook(each, |_, _| Err(timeout()))?;
                Err(timeout())
            }
        }
    })
}

fn timeout() -> mlua::Error {
    mlua::Error::runtime("execution timeout")
}
