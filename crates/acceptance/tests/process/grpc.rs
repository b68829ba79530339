//! Calls between a client and a server of gRPC as others have written them (Python's grpcio).

use crate::support::{Identity, Setup};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The script that calls; its end is the end of the server too.
struct Calls {
    child: Child,
    said: BufReader<std::process::ChildStdout>,
}

impl Calls {
    /// `None` where the system lacks grpcio.
    fn start() -> Option<Self> {
        let mut probe = Command::new("python3");
        probe.args(["-c", "import grpc"]).stderr(Stdio::null());
        if !probe.status().is_ok_and(|status| status.success()) {
            println!("skipped: python3 or its package grpcio is missing");
            return None;
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/process/data/grpc_calls.py");
        let mut command = Command::new("python3");
        command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("python3 runs");
        let said = BufReader::new(child.stdout.take().expect("it was asked for"));
        Some(Self { child, said })
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("a text");
        line.trim().to_owned()
    }

    /// Calls a method through an address; returns the fault.
    fn call(&mut self, target: &str) -> String {
        let input = self.child.stdin.as_mut().expect("it was asked for");
        writeln!(input, "{target}").expect("the script reads");
        self.line()
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn calls_of_every_kind_pass() {
    let Some(mut calls) = Calls::start() else { return };
    let port = calls.line();
    let text = "global\n    nbthread 2\ndefaults\n    mode http\n    timeout connect 5s\n    \
                timeout client 20s\n    timeout server 20s\n\
                listen clear\n    bind <clear>\n    server s 127.0.0.1:<port> proto h2\n\
                listen secure\n    bind <secure> ssl crt <dir>/key.pem alpn h2\n    \
                server s 127.0.0.1:<port> proto h2\n\
                listen twice\n    bind <twice>\n    \
                server s <secure> ssl verify none alpn h2,http/1.1\n";
    let identity = Identity::new("a.test", None);
    let setup = Setup::new(text).file("key.pem", &identity.pem()).with("port", port);
    let weir = setup.file("authority.pem", &identity.certificate()).start();
    let authority = weir.path("authority.pem").display().to_string();
    let address = |name: &str| weir.address(name).to_string();
    assert_eq!(calls.call(&address("clear")), "fine");
    assert_eq!(calls.call(&format!("{} {authority}", address("secure"))), "fine");
    assert_eq!(calls.call(&address("twice")), "fine");
}
