//! Failures of scripts, in HAProxy's words.

use mlua::{Error, Lua, Value};
use std::fmt;

/// The failure of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// An error with its place, or the end of its time.
    Runtime(String),
    /// Its state may use no more memory.
    Memory,
    /// The script waits in a place where waiting is not allowed.
    Yield,
    /// There is no function of this name.
    Unknown,
}

impl Fault {
    /// The text for logs, without the name of the function; `state` is the state's number.
    pub fn text(&self, state: u32) -> String {
        match self {
            Fault::Runtime(text) => format!("[state-id {state}] runtime error: {text}"),
            Fault::Memory => "out of memory error.".to_owned(),
            Fault::Yield => "yield not allowed.".to_owned(),
            Fault::Unknown => "the function is not registered.".to_owned(),
        }
    }
}

/// The message of an error value, without its place.
pub(crate) fn message(lua: &Lua, error: &Value) -> String {
    match error {
        Value::Error(error) => of_error(error),
        other => match lua.coerce_string(other.clone()) {
            Ok(Some(text)) => text.to_string_lossy(),
            _ => other.to_string().unwrap_or_default(),
        },
    }
}

/// The innermost message of an error.
pub(crate) fn of_error(error: &Error) -> String {
    match error {
        Error::RuntimeError(text) | Error::MemoryError(text) => text.clone(),
        Error::SyntaxError { message, .. } => message.clone(),
        Error::CallbackError { cause, .. } => of_error(cause),
        other => other.to_string(),
    }
}

/// The name under which the chunk of the built-in tables is loaded.
pub(crate) const BUILT_IN: &str = "=[C]";

/// One frame of the stack.
struct Frame {
    native: bool,
    text: String,
    place: Option<String>,
}

fn frame(debug: &mlua::debug::Debug<'_>) -> Frame {
    let (source, names, line) = (debug.source(), debug.names(), debug.current_line());
    let short = source.short_src.unwrap_or_default().into_owned();
    let native = short == "[C]";
    let place = line.filter(|_| !native).map(|line| format!("{short}:{line}"));
    let what = match (names.name_what, names.name) {
        (Some(what), Some(name)) => format!("in {what} '{name}'"),
        _ if source.what == "main" => "in main chunk".to_owned(),
        _ if native => "in ?".to_owned(),
        _ => format!("in function line {}", source.line_defined.unwrap_or(0)),
    };
    let text = format!("{}: {what}", place.as_deref().unwrap_or("[C]"));
    Frame { native, text, place }
}

/// The stack from level `from` on, as HAProxy writes it, and the first place in a file. Of the
/// built-in functions at the top the outermost one is named; those at the bottom belong to us.
pub(crate) fn stack(lua: &Lua, from: usize) -> (String, Option<String>) {
    let mut frames = Vec::new();
    while frames.len() < 32
        && let Some(frame) = lua.inspect_stack(from + frames.len(), frame)
    {
        frames.push(frame);
    }
    while frames.last().is_some_and(|frame| frame.native) {
        frames.pop();
    }
    let first = frames.iter().position(|frame| !frame.native).unwrap_or(frames.len());
    let place = frames.get(first).and_then(|frame| frame.place.clone());
    let shown = &frames[first.saturating_sub(1)..];
    let texts: Vec<&str> = shown.iter().map(|frame| frame.text.as_str()).collect();
    (texts.join(", "), place)
}

/// The handler of errors: makes the whole text while the stack is there.
pub(crate) fn handle(lua: &Lua, error: &Value) -> String {
    let (stack, place) = stack(lua, 1);
    let mut text = message(lua, error);
    if let (Value::Error(_), Some(place)) = (error, place) {
        text = format!("{place}: {text}");
    }
    with_stack(&text, &stack)
}

pub(crate) fn with_stack(text: &str, stack: &str) -> String {
    if stack.is_empty() { format!("{text}.") } else { format!("{text} from {stack}.") }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(0))
    }
}
