//! Servers that speak FastCGI: the parameters that applications receive, and the responses made of
//! their output.

use crate::support::{
    AppConn, LogReceiver, Responder, Running, STDERR, STDOUT, Setup, Talker, end, eventually,
    record,
};
use std::io::Write as _;

mod answers;
mod checks;
mod compared;
mod connections;
mod interpreters;
mod parameters;

/// Weir in front of an application whose section has these lines, and a backend with these.
fn weir(app: &str, back: &str, responder: &Responder, log: &LogReceiver) -> Running {
    let text = format!(
        "global\n    nbthread 1\n    stats socket <dir>/cli level admin\n\
         defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
         timeout server 20s\n    log <log> format raw local0\n    option httplog\n    \
         option abortonclose\n\
         frontend web\n    bind <web>\n    default_backend app\n\
         backend app\n    use-fcgi-app php\n{back}\n    server s <app> proto fcgi\n\
         fcgi-app php\n    docroot /var/www\n{app}\n"
    );
    Setup::new(&text).with("app", responder.address()).with("log", log.address()).start()
}

/// The usual output of an application.
const HELLO: &[u8] = b"Content-Type: text/plain\r\n\r\nhello";
