//! Whole configurations: keywords, models, diagnostics, bounds.
use crate::addr::{Family, Resolver};
use crate::context::{LocalPeer, Setup};
use crate::diag::{Diagnostic, Severity};
use crate::env::Environment;
use crate::features::Features;
use crate::load::{Loaded, load};
use crate::model::{Model, Proxy};
use crate::source::{Files, Source};
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

mod actions;
mod bandwidth;
mod bounds;
mod caches;
mod checks;
mod diagnostics;
mod direct;
mod fcgi;
mod filters;
mod keywords;
mod language;
mod leading;
mod lenient;
mod output;
mod peers;
mod programs;
mod references;
mod resolvers;
mod rings;
mod semantics;
mod tls;
mod unheard;
mod values;
mod wild;

/// A few files.
struct Memory;

impl Files for Memory {
    fn has_namespace(&self, name: &str) -> bool {
        name != "missing"
    }
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let text = match path.to_str() {
            Some("/etc/passwd") => "root:x:0:0::/:\nwww-data:x:33:34::/:\n",
            Some("/etc/group") => "root:x:0:\nwww-data:x:34:\n",
            Some("/503.http" | "dir/503.http") => "HTTP/1.1 503 Nope\r\n\r\nno\r\n",
            Some("/empty") => "",
            Some("/bad") => "nonsense\n\n",
            Some("/case") => "# names\n x-b\tX-B \n\nx-c  X-C\n",
            Some("/ca.pem") => AUTHORITY,
            Some("/paths.lst") => "/a\n/b\n",
            Some("/15k.http") => {
                return Ok([&b"HTTP/1.1 503 Nope\r\n\r\n"[..], &[b'x'; 15_000]].concat());
            }
            _ => return Err(io::Error::from_raw_os_error(2)),
        };
        Ok(text.as_bytes().to_vec())
    }
    fn list(&self, path: &Path) -> io::Result<Option<Vec<PathBuf>>> {
        if path == "/missing" {
            return Err(io::Error::from_raw_os_error(2));
        }
        Ok(None)
    }
}

/// A self-made certificate for tests.
const AUTHORITY: &str = "-----BEGIN CERTIFICATE-----
MIIBcDCCARegAwIBAgIUP/GJeBvfPaXBdGu9wo+Y6ns3SeIwCgYIKoZIzj0EAwIw
DTELMAkGA1UEAwwCY2EwIBcNMjYxMTIzMTcyODAyWhgPMjEyNjEwMzAxNzI4MDJa
MA0xCzAJBgNVBAMMAmNhMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEnADTQKiN
MPl9Sq02W5S2XY67jGVmVRwy3x2NY8S26TINdDnH4F3OsKyP0usd1D1Xa0UV/QA6
2ylL1+C0I/4YnqNTMFEwHQYDVR0OBBYEFPA42vneFniaH5sLeAfiz2iY8kysMB8G
A1UdIwQYMBaAFPA42vneFniaH5sLeAfiz2iY8kysMA8GA1UdEwEB/wQFMAMBAf8w
CgYIKoZIzj0EAwIDRwAwRAIgewnrUUcX+jgQZjLuCed5jCCcp9g2aA3CietqDMw4
4WgCIGsuyX6MYjNT12YUgpqoQPu0oEeufwp+L8msC6pDG+us
-----END CERTIFICATE-----
";

/// A resolver that knows `localhost` only.
struct Names;

impl Resolver for Names {
    fn resolve(&self, host: &str, _: Family) -> Option<IpAddr> {
        (host == "localhost").then(|| "127.0.0.1".parse().unwrap())
    }
}

pub(crate) fn setup<'a>() -> Setup<'a> {
    Setup {
        env: [("X", "p q"), ("E", ""), ("PORT", "8080")].into_iter().collect::<Environment>(),
        features: Features { version: "2.7.0", words: &["EPOLL"], ..Features::default() },
        files: &Memory,
        names: &Names,
        processors: 2,
        local_peer: LocalPeer { name: "vm", fixed: false },
        trusts_servers: false,
        scripts: None,
    }
}

fn loaded(text: &str) -> Loaded {
    load(&[Source::new("a.cfg", text)], setup())
}

/// The model of a good configuration.
fn model(text: &str) -> Model {
    let loaded = loaded(text);
    let alerts: Vec<&Diagnostic> = loaded.diagnostics.of(Severity::Alert).collect();
    assert!(alerts.is_empty(), "{alerts:#?}\n{text}");
    loaded.model.expect("no alerts, so there is a model")
}

/// The only proxy of a configuration.
fn only(text: &str) -> Proxy {
    let mut model = model(text);
    assert_eq!(model.proxies.len(), 1);
    model.proxies.remove(0)
}

/// A `listen` section with these lines, in HTTP mode with all timeouts.
fn listen(lines: &str) -> String {
    format!(
        "defaults\n mode http\n timeout client 1s\n timeout server 1s\n timeout connect 1s\nlisten l\n bind :80\n{lines}\n"
    )
}

/// Messages of one severity.
fn messages(text: &str, severity: Severity) -> Vec<String> {
    loaded(text).diagnostics.of(severity).map(|d| d.message.clone()).collect()
}

/// The status, the reason and the location of a redirect that replaces an error reply.
fn location(reply: &crate::model::ErrorReply) -> Option<String> {
    let crate::model::ErrorReply::File { raw, .. } = reply else { return None };
    let text = std::str::from_utf8(raw).ok()?;
    let status = text.lines().next()?.strip_prefix("HTTP/1.1 ")?;
    let to = text.lines().find_map(|line| line.strip_prefix("location: "))?;
    Some(format!("{status} {to}"))
}

/// The client side of the first proxy.
fn front(model: &Model) -> &crate::model::Front {
    model.proxies[0].front.as_ref().unwrap()
}

/// Of the first proxy.
fn back(model: &Model) -> &crate::model::Back {
    model.proxies[0].back.as_ref().unwrap()
}

/// The first of the first proxy.
fn server(model: &Model) -> &crate::model::Server {
    &back(model).servers[0]
}
