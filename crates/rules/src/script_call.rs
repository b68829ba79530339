//! A call of a script's function, as an action `lua.NAME` makes it.

/// A call of a script's function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptCall {
    /// The name that the script has registered.
    pub name: Box<str>,
    /// The rule set, by its name in scripts (`http-req`).
    pub rules: &'static str,
    /// Whether each thread has a state of its own for it.
    pub per_thread: bool,
    /// The words behind the name.
    pub args: Vec<Box<[u8]>>,
}

/// The continuation of the rules behind a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScriptStep {
    /// The rules continue, or wait for an answer.
    Next,
    /// The rule is evaluated again when more bytes have come (`act.YIELD`).
    Again,
}

/// A `filter lua.NAME` line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptFilter {
    /// The name in the script.
    pub name: std::sync::Arc<str>,
    /// The number of the line among those of scripts.
    pub number: usize,
    /// Whether each thread has a state of its own for it.
    pub per_thread: bool,
}
