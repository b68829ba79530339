//! Runtime API, statistics page and metrics. Reads the running proxy; never sits on the data path.
//!
//! [`serve`] answers commands on a runtime socket, [`Pages`] the statistics page. Both show the
//! rows that [`stats`] gathers; how they look is the business of one small file per format.
#![forbid(unsafe_code)]

mod channel;
mod cli;
pub mod master;
mod page;
mod prometheus;
mod row_memory;
mod script_process;
mod settings;
pub mod stats;
#[cfg(test)]
mod testing;
mod web;

pub use cli::{Command, Line, LineParser, serve};
pub use page::Pages;
pub use row_memory::RowMemory;
pub use settings::{
    CliSocket, ConfigurationLine, ConfigurationText, Level, ListeningSocket, MakeServer, Reload,
    Reloads, Settings, SeverityOutput,
};

/// The words of every command, those of the master included.
pub fn commands() -> impl Iterator<Item = &'static str> {
    cli::commands().chain(master::commands())
}
