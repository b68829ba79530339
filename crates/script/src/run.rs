//! Runs scripts: bodies of files, functions of `core.register_init`, tasks, registered functions.

use crate::budget::Pace;
use crate::call::{
    Answer, Call, HttpRequest, Loading, Request, Script, Step, Subject, failure, request, returned,
};
use crate::convert;
use crate::error::LoadError;
use crate::fault::{self, Fault};
use crate::host::Host;
use crate::operations::{self, Bindings};
use crate::state::State;
use mlua::{Function, Lua, MultiValue, Thread, Value as LuaValue};
use sample::ParseContext;
use std::borrow::Cow;

impl State {
    /// Calls a function; `limit` milliseconds are all that it may run, 0 without end. The script,
    /// if it waits, is resumed by [`State::resume`].
    pub fn start(
        &mut self,
        call: Call<'_>,
        subject: Subject<'_>,
        args: &[Cow<'_, [u8]>],
        limit: u64,
        host: &mut dyn Host,
    ) -> (Step, Option<Script>) {
        let Some(function) = self.registry.functions.get(&call.key()).cloned() else {
            return (Step::Failed(Fault::Unknown), None);
        };
        let run = self.next_run();
        let values = match self.arguments(run, subject, args) {
            Ok(values) => values,
            Err(error) => return (Step::Failed(failure(&error)), None),
        };
        self.launch(function, values, (run, limit, call.waits()), host)
    }

    /// Begins a coroutine of its own for a function.
    pub(crate) fn launch(
        &mut self,
        function: Function,
        values: Vec<LuaValue>,
        (run, limit, waits): (i64, u64, bool),
        host: &mut dyn Host,
    ) -> (Step, Option<Script>) {
        let thread = match self.lua.create_thread(self.guard.clone()) {
            Ok(thread) => thread,
            Err(error) => return (Step::Failed(failure(&error)), None),
        };
        let first = [LuaValue::Function(function), LuaValue::Function(self.handler.clone())];
        let values = MultiValue::from_iter(first.into_iter().chain(values));
        let mut pace = Pace { run, limit, burst: self.limits.burst, used: 0, waits };
        let step = self.turn(&thread, values, &mut pace, host, Loading::default());
        if !matches!(step, Step::Waits(_)) {
            return (step, None);
        }
        match self.lua.create_registry_value(thread) {
            Ok(thread) => (step, Some(Script { thread, pace })),
            Err(error) => (Step::Failed(failure(&error)), None),
        }
    }

    /// Resumes a script with the answer to its request.
    pub fn resume(&mut self, script: &mut Script, answer: Answer, host: &mut dyn Host) -> Step {
        let thread: Thread = match self.lua.registry_value(&script.thread) {
            Ok(thread) => thread,
            Err(error) => return Step::Failed(failure(&error)),
        };
        let values = match self.answer(answer) {
            Ok(values) => values,
            Err(error) => return Step::Failed(failure(&error)),
        };
        self.turn(&thread, values, &mut script.pace, host, Loading::default())
    }

    fn answer(&self, answer: Answer) -> mlua::Result<MultiValue> {
        let text = |bytes: &[u8]| self.lua.create_string(bytes).map(LuaValue::String);
        if let Answer::Refused(message) = answer {
            let values = [LuaValue::Boolean(true), LuaValue::Nil, text(message.as_bytes())?];
            return Ok(MultiValue::from_iter(values));
        }
        let values = match answer {
            Answer::Refused(_) | Answer::Done | Answer::Nothing => {
                [LuaValue::Boolean(true), LuaValue::Nil]
            }
            Answer::Number(number) => [LuaValue::Boolean(true), LuaValue::Integer(number)],
            Answer::Response(response) => {
                [LuaValue::Boolean(true), LuaValue::Table(response.table(&self.lua)?)]
            }
            Answer::Bytes(bytes) => [LuaValue::Boolean(true), text(&bytes)?],
            Answer::Failed(message) => [LuaValue::Boolean(false), text(message.as_bytes())?],
        };
        Ok(MultiValue::from_iter(values))
    }

    fn arguments(
        &self,
        run: i64,
        subject: Subject<'_>,
        args: &[Cow<'_, [u8]>],
    ) -> mlua::Result<Vec<LuaValue>> {
        let lua = &self.lua;
        let first = match subject {
            Subject::Transaction => self.make("txn", run, LuaValue::Nil)?,
            Subject::AppletTcp => self.make("applet_tcp", run, LuaValue::Nil)?,
            Subject::Value(value) => convert::to_lua(lua, value)?,
            Subject::AppletHttp(request) => {
                self.make("applet_http", run, LuaValue::Table(request_table(lua, request)?))?
            }
        };
        let mut values = vec![first];
        for arg in args {
            values.push(LuaValue::String(lua.create_string(arg)?));
        }
        Ok(values)
    }

    fn make(&self, name: &str, run: i64, with: LuaValue) -> mlua::Result<LuaValue> {
        self.native.get::<Function>(name)?.call((run, with))
    }

    /// One turn of a coroutine.
    pub(crate) fn turn(
        &mut self,
        thread: &Thread,
        values: MultiValue,
        pace: &mut Pace,
        host: &mut dyn Host,
        loading: Loading<'_>,
    ) -> Step {
        self.budget.begin(pace, (self.limits.clock)(), thread.to_pointer() as usize);
        let (lua, members) = (&self.lua, &mut self.members);
        let mut turn = Bindings {
            host,
            members,
            registry: loading.registry,
            maps: loading.maps,
            run: pace.run,
            state: self.limits.number,
        };
        let slot = &self.slot;
        let outcome = lua.scope(|scope| {
            let call = scope.create_function_mut(|lua, values: MultiValue| {
                let values: Vec<LuaValue> = values.into_iter().collect();
                Ok(match operations::call(lua, &mut turn, &values) {
                    Ok(value) => (true, value),
                    Err(error) => (false, LuaValue::String(lua.create_string(error.to_string())?)),
                })
            })?;
            slot.raw_set(1, call)?;
            let outcome = thread.resume::<MultiValue>(values);
            slot.raw_set(1, LuaValue::Nil)?;
            outcome
        });
        pace.used = self.budget.used((self.limits.clock)());
        self.tidy_up();
        if let Some(trace) = self.budget.expired() {
            let text = fault::with_stack("execution timeout", &trace);
            return Step::Failed(Fault::Runtime(text));
        }
        match outcome {
            Err(error) => Step::Failed(failure(&error)),
            Ok(values) if thread.is_resumable() => self.suspended(values, pace),
            Ok(values) => returned(values),
        }
    }

    /// The step that a suspended coroutine asks for, from the values that it has yielded.
    fn suspended(&self, values: MultiValue, pace: &Pace) -> Step {
        let values: Vec<LuaValue> = values.into_iter().collect();
        if values.is_empty() {
            return Step::Waits(Request::Slice);
        }
        let request = match &values[..] {
            [LuaValue::Table(marker), LuaValue::String(name), rest @ ..]
                if *marker == self.marker =>
            {
                request(&name.to_string_lossy(), rest)
            }
            _ => None,
        };
        match request {
            Some(None) => Step::Ended,
            Some(Some(_)) if !pace.waits => Step::Failed(Fault::Yield),
            Some(Some(request)) => Step::Waits(request),
            None => Step::Failed(Fault::Runtime("yield outside of a coroutine.".to_owned())),
        }
    }

    /// Runs the body of a file, whose functions register themselves. `text` is its content.
    ///
    /// # Errors
    /// The compiler refuses the file, or its body fails.
    pub fn load(
        &mut self,
        (name, text): (&str, &[u8]),
        args: &[&str],
        maps: Option<&ParseContext<'_>>,
        host: &mut dyn Host,
    ) -> Result<(), LoadError> {
        // As the interpreter does: a first line for the shell is none of Lua.
        let skipped = text.starts_with(b"#").then(|| text.iter().position(|byte| *byte == b'\n'));
        let text = skipped.map_or(text, |end| &text[end.unwrap_or(text.len())..]);
        let chunk = self.lua.load(text).set_name(format!("@{name}")).into_function();
        let body = chunk.map_err(|error| LoadError::Syntax {
            file: name.to_owned(),
            message: fault::of_error(&error),
        })?;
        let mut registry = std::mem::take(&mut self.registry);
        let loading = Loading { registry: Some(&mut registry), maps };
        let values = args.iter().map(|arg| self.lua.create_string(arg).map(LuaValue::String));
        let values: mlua::Result<Vec<LuaValue>> = values.collect();
        let step = values.map(|values| self.once((body, values), None, host, loading));
        self.registry = registry;
        match step? {
            Step::Failed(Fault::Runtime(text)) => {
                Err(LoadError::Raised(text.split(" from ").next().unwrap_or("").to_owned()))
            }
            Step::Failed(fault) => Err(LoadError::Failed(fault.text(self.limits.number))),
            _ => Ok(()),
        }
    }

    /// Runs a function to its end: slices follow one another. Without `pause` it cannot wait.
    pub(crate) fn once(
        &mut self,
        (function, values): (Function, Vec<LuaValue>),
        pause: Option<fn(u64)>,
        host: &mut dyn Host,
        mut loading: Loading<'_>,
    ) -> Step {
        let thread = match self.lua.create_thread(self.guard.clone()) {
            Ok(thread) => thread,
            Err(error) => return Step::Failed(failure(&error)),
        };
        let first = [LuaValue::Function(function), LuaValue::Function(self.handler.clone())];
        let mut values = MultiValue::from_iter(first.into_iter().chain(values));
        let run = self.next_run();
        let mut pace = Pace { run, limit: 0, burst: 0, used: 0, waits: pause.is_some() };
        loop {
            let again = Loading { registry: loading.registry.as_deref_mut(), maps: loading.maps };
            let step = self.turn(&thread, std::mem::take(&mut values), &mut pace, host, again);
            let answer = match (step, pause) {
                (Step::Waits(Request::Slice), _) => continue,
                (Step::Waits(Request::Yield), Some(_)) => Answer::Done,
                (Step::Waits(Request::Sleep(span)), Some(pause)) => {
                    pause(span);
                    Answer::Done
                }
                (Step::Waits(Request::Http(_)), _) => {
                    Answer::Failed("no requests can be made before the process serves".to_owned())
                }
                (Step::Waits(_), _) => Answer::Failed("there is no client here".to_owned()),
                (step, _) => return step,
            };
            values = match self.answer(answer) {
                Ok(values) => values,
                Err(error) => return Step::Failed(failure(&error)),
            };
        }
    }

    /// Runs the functions of `core.register_init`; `pause` waits for so many milliseconds.
    ///
    /// # Errors
    /// The first function that fails.
    pub fn init(&mut self, host: &mut dyn Host, pause: fn(u64)) -> Result<(), LoadError> {
        for function in std::mem::take(&mut self.registry.inits) {
            let mut registry = std::mem::take(&mut self.registry);
            let loading = Loading { registry: Some(&mut registry), maps: None };
            let step = self.once((function, Vec::new()), Some(pause), host, loading);
            self.registry = registry;
            if let Step::Failed(fault) = step {
                return Err(LoadError::Init(fault.text(self.limits.number)));
            }
        }
        Ok(())
    }

    /// Starts the oldest task of `core.register_task` that has not been started.
    pub fn start_task(
        &mut self,
        limit: u64,
        host: &mut dyn Host,
    ) -> Option<(Step, Option<Script>)> {
        if self.registry.tasks.is_empty() {
            return None;
        }
        let task = self.registry.tasks.remove(0);
        let run = self.next_run();
        Some(self.launch(task.run, task.args, (run, limit, true), host))
    }
}

fn request_table(lua: &Lua, request: HttpRequest<'_>) -> mlua::Result<mlua::Table> {
    let (head, table) = (request.head, lua.create_table()?);
    table.set("method", lua.create_string(head.method())?)?;
    let version = match head.version() {
        htx::Version::Http10 => "HTTP/1.0",
        _ => "HTTP/1.1",
    };
    table.set("version", version)?;
    if let Some(path) = head.path() {
        table.set("path", lua.create_string(path)?)?;
    }
    if let Some(query) = head.query() {
        table.set("qs", lua.create_string(query)?)?;
    }
    table.set("length", request.length.map_or(-1, |length| length as i64))?;
    table.set("headers", operations::header_table(lua, head)?)?;
    Ok(table)
}
