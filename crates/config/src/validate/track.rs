//! `track`: the servers that others follow (section 5.2).
use crate::context::Cx;
use crate::diag::Severity;
use crate::draft::DraftProxy;
use std::fmt;
use std::sync::Arc;

/// Backend and server, as indices.
type ServerIndex = (usize, usize);

/// Resolves the targets of `track`, and marks servers that rules or other servers refer to.
pub(super) fn resolve(proxies: &mut [DraftProxy], cx: &mut Cx<'_>) {
    let mut found = Vec::new();
    for (index, proxy) in proxies.iter().enumerate().filter(|(_, proxy)| proxy.has_backend()) {
        for (slot, server) in proxy.settings.back.servers.iter().enumerate() {
            let context = format!("'server {}/{}'", proxy.name, server.name);
            let mut alert = |message: String| {
                let message = format!("{context} : {message}");
                cx.about(Severity::Alert, &server.place, message);
            };
            if server.options.track.is_some() {
                match tracked(proxies, (index, slot)) {
                    Ok(at) => found.push(((index, slot), at)),
                    Err(error) => alert(error.to_string()),
                }
            }
        }
    }
    for ((index, slot), (other, at)) in found {
        let name = Arc::clone(&proxies[other].name);
        let target = &mut proxies[other].settings.back.servers[at];
        target.referenced = true;
        let names = (name, Arc::clone(&target.name));
        proxies[index].settings.back.servers[slot].tracked = Some(names);
    }
    proxies.iter_mut().for_each(mark);
}

/// Servers that `use-server` rules name.
fn mark(proxy: &mut DraftProxy) {
    for line in &proxy.rules.selection {
        if let rules::BackendName::Fixed(name) = line.rule.name() {
            let mut servers = proxy.settings.back.servers.iter_mut();
            servers
                .find(|server| *server.name == **name)
                .into_iter()
                .for_each(|it| it.referenced = true);
        }
    }
}

/// Why a server cannot track another one. Names of servers are `backend/server`.
#[derive(Debug)]
enum TrackError {
    /// The tracking server has checks of its own.
    OwnChecks,
    /// Only one of the backends has `http-check disable-on-404`.
    DisableOn404(String),
    /// The chain of tracked servers leads back to a server of it.
    Loop { first: String, last: String },
    /// The end of the chain has neither checks nor an agent.
    Unchecked(String),
    /// The backend does not exist.
    UnknownProxy(String),
    /// The backend has no such server.
    UnknownServer(String),
}

impl fmt::Display for TrackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OwnChecks => {
                f.write_str("unable to enable checks and tracking at the same time!")
            }
            Self::DisableOn404(server) => {
                write!(
                    f,
                    "unable to use {server} for tracking: disable-on-404 option inconsistency."
                )
            }
            Self::Loop { first, last } => {
                let chain = "a tracking chain looping back to";
                write!(f, "unable to track {first} as it belongs to {chain} {last}.")
            }
            Self::Unchecked(server) => {
                let why = "it does not have any check nor agent enabled.";
                write!(f, "unable to use {server} for tracking as {why}")
            }
            Self::UnknownProxy(name) => {
                write!(f, "unable to find required proxy '{name}' for tracking.")
            }
            Self::UnknownServer(name) => {
                write!(f, "unable to find required server '{name}' for tracking.")
            }
        }
    }
}

/// The server that one follows directly; the chain must end at one that is checked.
fn tracked(proxies: &[DraftProxy], from: ServerIndex) -> Result<ServerIndex, TrackError> {
    let first = step(proxies, from)?;
    let on_404 = |(index, _): ServerIndex| proxies[index].settings.check.disable_on_404;
    if on_404(first) != on_404(from) {
        let (proxy, server) = (&proxies[first.0], &proxies[first.0].settings.back.servers[first.1]);
        return Err(TrackError::DisableOn404(format!("{}/{}", proxy.name, server.name)));
    }
    if proxies[from.0].settings.back.servers[from.1].options.check.enabled {
        return Err(TrackError::OwnChecks);
    }
    let name = |(index, slot): ServerIndex| {
        let proxy = &proxies[index];
        format!("{}/{}", proxy.name, proxy.settings.back.servers[slot].name)
    };
    let (mut at, mut seen) = (first, vec![from]);
    loop {
        let options = &proxies[at.0].settings.back.servers[at.1].options;
        if seen.contains(&at) {
            return Err(TrackError::Loop { first: name(first), last: name(from) });
        }
        if options.track.is_none() {
            let watched = options.check.enabled || options.check.agent.enabled;
            return if watched { Ok(first) } else { Err(TrackError::Unchecked(name(at))) };
        }
        seen.push(at);
        at = step(proxies, at)?;
    }
}

fn step(proxies: &[DraftProxy], (index, slot): ServerIndex) -> Result<ServerIndex, TrackError> {
    let given = &proxies[index].settings.back.servers[slot].options.track;
    let given = given.as_deref().unwrap_or_default();
    let (backend, server) = given.split_once('/').unwrap_or((&proxies[index].name, given));
    let other = proxies.iter().position(|it| it.has_backend() && *it.name == *backend);
    let other = other.ok_or_else(|| TrackError::UnknownProxy(backend.to_owned()))?;
    let servers = &proxies[other].settings.back.servers;
    let at = servers.iter().position(|it| *it.name == *server);
    at.map(|at| (other, at)).ok_or_else(|| TrackError::UnknownServer(server.to_owned()))
}
