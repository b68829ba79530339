//! Lua: states, scripts that suspend, classes. The only crate that names the interpreter.
//!
//! A [`State`] is one interpreter with the functions that its files have registered. A call of such
//! a function is a [`Script`]: it runs until it ends, until it waits for something that its host
//! has to do ([`Request`]), or until its slice of instructions is over. All that a script may ask
//! of the process goes through [`Host`].
#![forbid(unsafe_code)]

mod arguments;
mod budget;
mod call;
mod convert;
mod dates;
mod error;
mod fault;
mod filters;
mod host;
mod http_client;
#[cfg(test)]
mod interface;
mod loader;
mod members;
mod native;
mod operation_args;
mod operations;
mod pattern;
mod process;
mod process_calls;
mod registry;
mod run;
mod runtime;
mod state;
mod string_library;
mod surroundings;
#[cfg(test)]
mod tests;

pub use budget::BURST;
pub use call::{Answer, Call, HttpRequest, Request, Script, Step, Subject};
pub use error::{LoadError, ScriptError};
pub use fault::Fault;
pub use filters::{FilterEvent, FilterObject};
pub use host::{ChannelBytes, ChannelState, HeaderLines, Host, LocalReply, NoHost, Private};
pub use http_client::{ClientRequest, ClientResponse};
pub use loader::{Loader, Settings};
pub use process::{
    CheckCall, Pattern, PatternCall, Plain, Process, ProxyCall, ProxyEntry, ServerCall, ServerOf,
    SocketCall, SocketCloser, SocketHandle, TableCall, TableFilter, key,
};
pub use registry::{Environment, Registered, ServiceMode};
pub use runtime::{Cell, Command, Runtime, Timeouts, Turn};
pub use state::{Limits, State};
pub use surroundings::{Surroundings, alert, surround};
