//! The words of the command line.

use std::net::SocketAddr;

pub(crate) const USAGE: &str = "\
usage: h3-load [-cCONNECTIONS] [-mSTREAMS] [-DSECONDS] [-tTHREADS] [--handshakes | --hold] https://ADDRESS:PORT/PATH";

/// The options of a run.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) connections: u32,
    /// Requests of a connection at the same time.
    pub(crate) streams: u32,
    pub(crate) seconds: u32,
    /// Each thread has a socket, and its share of the connections.
    pub(crate) threads: u32,
    /// A connection makes one request, and is followed by a new connection.
    pub(crate) handshakes: bool,
    /// A connection makes one request, and stays idle.
    pub(crate) hold: bool,
    pub(crate) address: SocketAddr,
    pub(crate) path: String,
}

impl Options {
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            connections: 1,
            streams: 1,
            seconds: 5,
            threads: 1,
            handshakes: false,
            hold: false,
            address: SocketAddr::from(([0, 0, 0, 0], 0)),
            path: String::new(),
        };
        for word in words {
            options.take(&word)?;
        }
        if options.address.port() == 0 {
            return Err("no address".to_owned());
        }
        options.threads = options.threads.clamp(1, options.connections.max(1));
        Ok(options)
    }

    fn take(&mut self, word: &str) -> Result<(), String> {
        let number = |text: &str| text.parse().map_err(|_| format!("`{word}` is not a number"));
        match word.split_at_checked(2) {
            Some(("-c", rest)) => self.connections = number(rest)?,
            Some(("-m", rest)) => self.streams = number(rest)?,
            Some(("-D", rest)) => self.seconds = number(rest)?,
            Some(("-t", rest)) => self.threads = number(rest)?,
            _ if word == "--handshakes" => self.handshakes = true,
            _ if word == "--hold" => self.hold = true,
            _ => {
                let rest = word.strip_prefix("https://");
                let rest = rest.ok_or_else(|| format!("`{word}` is not known"))?;
                let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
                self.address = host.parse().map_err(|_| format!("`{host}` is no address"))?;
                self.path = format!("/{path}");
            }
        }
        Ok(())
    }
}
