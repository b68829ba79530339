//! Fetches and converters called `lua.NAME`: functions that scripts have registered.

use crate::facts::Facts;
use crate::value::Value;
use std::fmt;
use std::sync::Arc;

/// The beginning of the names of such functions.
pub const PREFIX: &str = "lua.";

/// A function of a script, called with texts.
pub trait ScriptFunction: fmt::Debug + Send + Sync {
    /// Calls a fetch, or a converter with its input; no value if there is none or the script fails.
    fn call(
        &self,
        input: Option<Value<'_>>,
        args: &[&[u8]],
        facts: &dyn Facts,
    ) -> Option<Value<'static>>;
}

/// Where an action may be used, or why it may not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScriptAction {
    /// The action exists: its number of arguments, and whether each thread has a state of its own.
    Found(usize, bool),
    /// No script has registered it for these rules.
    Unknown,
}

/// Names that scripts have registered so far, without their prefix.
pub trait ScriptNames {
    /// A fetch.
    fn fetch(&self, name: &str) -> Option<Arc<dyn ScriptFunction>>;

    /// A converter.
    fn converter(&self, name: &str) -> Option<Arc<dyn ScriptFunction>>;

    /// An action for the rules of this name in scripts (`http-req` and so on).
    fn action(&self, name: &str, rules: &str) -> ScriptAction;

    /// A filter, for a line with these arguments: the number of the line, and whether each thread
    /// has a state of its own for it.
    fn filter(&self, _name: &str, _args: &[&str]) -> Option<(usize, bool)> {
        None
    }

    /// A service of HTTP, or else of TCP; whether each thread has a state of its own for it.
    fn service(&self, name: &str, http: bool) -> Option<bool>;
}
