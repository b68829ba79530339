//! Servers that an operator adds while the program runs (management.txt 9.3, `add server`): the words of a `server`
//! line, without presets. Never adds one.
use super::server;
use crate::addr::{Family, Resolver};
use crate::cx::{Cx, Setup};
use crate::diag::Place;
use crate::draft::{DraftKind, DraftProxy, Settings};
use crate::env::Environment;
use crate::features::Features;
use crate::finish::tls::{connector, unspoken};
use crate::keyword::Keyword;
use crate::lex::Word;
use crate::line::Line;
use crate::model::{Mode, ProxyKind, Server, ServerPort, TlsProcess};
use crate::source::Disk;
use std::net::IpAddr;
use std::sync::Arc;

/// The words that such a server may have.
const ACCEPTED: &str = " addr agent-addr agent-check agent-inter agent-port agent-send allow-0rtt alpn backup ca-file check check-alpn check-proto check-send-proxy check-sni check-ssl check-via-socks4 ciphers ciphersuites crl-file crt disabled downinter enabled error-limit fall fastinter force-sslv3 force-tlsv10 force-tlsv11 force-tlsv12 force-tlsv13 id inter maxconn maxqueue minconn no-ssl-reuse no-sslv3 no-tlsv10 no-tlsv11 no-tlsv12 no-tlsv13 no-tls-tickets npn observe on-error on-marked-down on-marked-up pool-low-conn pool-max-conn pool-purge-delay port proto proxy-v2-options rise send-proxy send-proxy-v2 send-proxy-v2-ssl send-proxy-v2-ssl-cn slowstart sni source ssl ssl-max-ver ssl-min-ver tfo tls-tickets track usesrc verify verifyhost weight ws ";

/// Looks nothing up: such a server needs an address.
struct NoNames;

impl Resolver for NoNames {
    fn resolve(&self, _: &str, _: Family) -> Option<IpAddr> {
        None
    }
}

/// A server from its name, its address and its options, for a backend of this name; `http` tells
/// the backend's mode.
///
/// # Errors
/// What is wrong, in one line.
pub fn dynamic_server(
    backend: &str,
    name: &str,
    words: &[String],
    http: bool,
    (process, store): (&TlsProcess, &tls::Store),
) -> Result<Server, String> {
    let features =
        Features { version: "", words: &[], enabled: &[], ssl_library: "", openssl_version: "" };
    let env = Environment::default();
    let mut cx = Cx::new(Setup { env, features, files: &Disk, names: &NoNames, processors: 1 });
    let place = Place { file: "add server".into(), line: 0 };
    let texts = ["server", name].into_iter().chain(words.iter().map(String::as_str));
    let line = Line { words: texts.map(Word::plain).collect(), raw: "", place: place.clone() };
    refuse(words)?;
    let mode = if http { Mode::Http } else { Mode::Tcp };
    let settings = Settings { mode, ..Settings::default() };
    let mut draft = DraftProxy::new(backend, DraftKind::Proxy(ProxyKind::Backend), place, settings);
    server::server(&mut draft, &mut cx, line.args()).map_err(|fault| {
        let context = format!("'server {backend}/{name}' : ");
        let message = fault.message.strip_prefix(&context).unwrap_or(&fault.message);
        match fault.suggestion {
            Some(meant) => format!("{message}; did you mean '{meant}' maybe ?"),
            None => message.to_owned(),
        }
    })?;
    if let Some(unknown) = draft.unknown_addresses.pop() {
        let message = unknown.diagnostic.message;
        let (_, told) = message.split_once(" : ").unwrap_or(("", &message));
        return Err(told.to_owned());
    }
    let mut server = draft.settings.back.servers.pop().ok_or("no server")?;
    let made = connector(&server.options, (backend, name), process, store, &Disk)?;
    server.tls = made.map(Arc::new);
    judge(backend, server)
}

/// Words that are known, but not for such a server.
fn refuse(words: &[String]) -> Result<(), String> {
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        if !crate::known::contains("server", word) {
            continue;
        }
        if !ACCEPTED.contains(&format!(" {word} ")) {
            return Err(format!("'{word}' option is not accepted for dynamic server"));
        }
        let takes = server::find(word).map_or(0, Keyword::takes);
        for _ in 0..takes {
            rest.next();
        }
    }
    Ok(())
}

fn judge(backend: &str, server: Server) -> Result<Server, String> {
    let options = &server.options;
    let portless = matches!(server.address.port, ServerPort::FromClient(_));
    if options.check.enabled && options.track.is_some() {
        return Err("unable to enable checks and tracking at the same time!".to_owned());
    }
    if portless && options.check.enabled && options.check.port.is_none() {
        return Err(format!(
            "config: backend '{backend}': server '{}' has neither service port nor check port nor tcp_check rule 'connect' with port information.",
            server.name
        ));
    }
    if let Some(error) = unspoken(options) {
        return Err(error);
    }
    if portless {
        return Err("a port taken from the client is not implemented yet".to_owned());
    }
    Ok(server)
}
