//! `cargo xtask h3-load`: a load of HTTP/3.

use std::path::PathBuf;
use std::process::Command;

use crate::failure::{self, Outcome};
use crate::{steps, workspace};

pub(crate) const HELP: &str = "\
usage: cargo xtask h3-load [-cCONNECTIONS] [-mSTREAMS] [-DSECONDS] [-tTHREADS] [--handshakes | --hold]
                           https://ADDRESS:PORT/PATH

Requests of HTTP/3 in a closed loop: each stream of each connection sends its next request when the last
one is answered. Prints requests per second, failures, and percentiles of the time to the end of an answer.
Any certificate is accepted.

  -c   connections (1)
  -m   requests of a connection at the same time (1)
  -D   seconds (5)
  -t   threads, each with a socket and its share of the connections (1)
  --handshakes  a connection makes one request, and another one follows it; sessions are resumed
  --hold        a connection makes one request and stays idle, until the program is ended; prints
                `open: CONNECTIONS` when all of them are
";

/// The name under which scenarios know the load generator.
pub(crate) const NAME: &str = "h3-load";

pub(crate) fn run(words: &[String]) -> Outcome {
    if words.is_empty() {
        return Err(failure::usage("h3-load wants an address (try --help)"));
    }
    steps::run(NAME, Command::new(program()?).args(words))
}

/// The load generator, built now.
pub(crate) fn program() -> Outcome<PathBuf> {
    workspace::release_example(&workspace::root()?, "bench", "h3_load")
}
