//! Filters of scripts: one object per line of the configuration, and one per stream.

use crate::budget::in_one_turn;
use crate::call::{Answer, Loading, Request, Step, failure};
use crate::error::LoadError;
use crate::fault::Fault;
use crate::host::{Host, NoHost};
use crate::state::State;
use mlua::{Function, RegistryKey, Table, Value as LuaValue};

/// An event of a stream that calls the functions of filters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FilterEvent {
    /// A direction begins.
    StartAnalyze,
    /// A direction has ended.
    EndAnalyze,
    /// Bytes of a session in TCP mode.
    TcpPayload,
    /// The head of a message.
    HttpHeaders,
    /// Payload of a message.
    HttpPayload,
    /// The end of a message.
    HttpEnd,
}

impl FilterEvent {
    /// The name of the function.
    fn method(self) -> &'static str {
        match self {
            FilterEvent::StartAnalyze => "start_analyze",
            FilterEvent::EndAnalyze => "end_analyze",
            FilterEvent::TcpPayload => "tcp_payload",
            FilterEvent::HttpHeaders => "http_headers",
            FilterEvent::HttpPayload => "http_payload",
            FilterEvent::HttpEnd => "http_end",
        }
    }

    /// Whether its function gets a message, not a channel.
    fn is_about_message(self) -> bool {
        matches!(self, FilterEvent::HttpHeaders | FilterEvent::HttpPayload | FilterEvent::HttpEnd)
    }
}

/// The object of a filter for one stream.
#[derive(Debug)]
pub struct FilterObject(RegistryKey);

impl State {
    /// Makes the filter of a line of the configuration.
    ///
    /// # Errors
    /// The function of the script is at fault, or memory is short.
    pub(crate) fn add_filter(
        &mut self,
        number: usize,
        name: &str,
        args: &[String],
    ) -> Result<(), LoadError> {
        let failed = |message| LoadError::Filter { name: name.to_owned(), message };
        let parse = self.registry.functions.get(&format!("filter:{name}")).cloned();
        let (Some(parse), Some(class)) = (parse, self.registry.classes.get(name).cloned()) else {
            return Err(failed("it is not registered in the state of each thread".to_owned()));
        };
        let words = self.lua.create_sequence_from(args.iter().map(String::as_str))?;
        let values = [LuaValue::Function(parse), LuaValue::Table(class), LuaValue::Table(words)];
        let call = (self.native.get("parse_filter")?, values.to_vec());
        if let Step::Failed(fault) = self.once(call, None, &mut NoHost, Loading::default()) {
            return Err(failed(fault.text(self.number())));
        }
        self.filters.insert(number, self.native.get("made")?);
        Ok(())
    }

    /// Makes the object of a filter for a stream; `limit` milliseconds are all that this may take.
    ///
    /// # Errors
    /// Its function `new` has failed.
    pub fn attach_filter(&mut self, number: usize, limit: u64) -> Result<FilterObject, Fault> {
        let line = self.filters.get(&number).cloned().ok_or(Fault::Unknown)?;
        let attach = self.native.get("attach").map_err(|error| failure(&error))?;
        if let Step::Failed(fault) =
            self.whole(attach, |_| vec![LuaValue::Table(line)], limit, &mut NoHost)
        {
            return Err(fault);
        }
        let made: mlua::Result<Table> = self.native.get("made");
        let key = made.and_then(|made| self.lua.create_registry_value(made));
        key.map(FilterObject).map_err(|error| failure(&error))
    }

    /// Tells a filter of an event, if it has a function for it.
    pub fn filter_event(
        &mut self,
        object: &FilterObject,
        event: FilterEvent,
        (response, http): (bool, bool),
        limit: u64,
        host: &mut dyn Host,
    ) -> Step {
        let object: Table = match self.lua.registry_value(&object.0) {
            Ok(object) => object,
            Err(error) => return Step::Failed(failure(&error)),
        };
        let method = self.lua.create_string(event.method());
        let (call, method) = match (self.native.get("event"), method) {
            (Ok(call), Ok(method)) => (call, method),
            (Err(error), _) | (_, Err(error)) => return Step::Failed(failure(&error)),
        };
        let values = |run: i64| {
            vec![
                LuaValue::Table(object),
                LuaValue::String(method),
                LuaValue::Integer(run),
                LuaValue::Boolean(response),
                LuaValue::Boolean(event.is_about_message()),
                LuaValue::Boolean(http),
            ]
        };
        self.whole(call, values, limit, host)
    }

    /// Runs a function to its end: a filter cannot wait, so its slices follow one another, for as
    /// long as a script that cannot be cut may hold its thread.
    fn whole(
        &mut self,
        function: Function,
        values: impl FnOnce(i64) -> Vec<LuaValue>,
        limit: u64,
        host: &mut dyn Host,
    ) -> Step {
        let run = self.next_run();
        let limit = in_one_turn(limit, self.limits.burst);
        let (mut step, mut script) = self.launch(function, values(run), (run, limit, false), host);
        while let (Step::Waits(Request::Slice), Some(script)) = (&step, &mut script) {
            step = self.resume(script, Answer::Done, host);
        }
        step
    }
}
