//! `add server` and `del server` (management.txt 9.3).

use super::call::{Call, Reply, Severity};
use engine::state::backend::server_register::Refusal;
use engine::state::runtime::Backend;
use proxy::run::server_add_delete;
use std::borrow::Cow;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU16;
use std::sync::Arc;

/// `add server <bk>/<srv> <addr>[:<port>] [param*]`
pub(super) fn add(call: &mut Call<'_>) -> Reply {
    let whole = |(backend, name): &(&str, &str)| !backend.is_empty() && !name.is_empty();
    let Some((backend, name)) = call.word(2).split_once('/').filter(whole) else {
        return Reply::error("Require 'backend/server'.").bare();
    };
    let unknown = || Reply::error("No such backend.").bare();
    let Some(back) = call.backend(backend) else { return unknown() };
    if !server_add_delete::takes_servers(back.balancer.algorithm()) {
        return refused(&back, Refusal::Static);
    }
    let made = (call.settings.server.0)(&back, name, &call.words[3..]);
    let made = made.map(|server| settings::Server { words: Some(words(call)), ..server });
    let added = made.and_then(|server| {
        let server = leads(call, server)?;
        server_add_delete::add(call.worker, &back, server).map_err(|refusal| text(&back, refusal))
    });
    // A server in the place of a deleted one has its side of TLS, too.
    let settings = |slot: usize| Some(&back.servers.get(slot)?.settings);
    let connector = added.as_ref().ok().and_then(|slot| settings(*slot)?.connector.as_ref());
    connector.into_iter().for_each(|connector| call.settings.tls.watch(connector));
    match added {
        Ok(_) => Reply::Message(Severity::Info, "New server registered.".to_owned()),
        Err(text) => Reply::error(text),
    }
}

/// The words of an `add server` command but for its name, address and number: the form of the
/// address and the options. Settings of servers with the same words differ in these three only.
fn words(call: &Call<'_>) -> Arc<str> {
    let form = form(call.word(3));
    let (mut words, mut rest) = (vec![&*form], call.words[4.min(call.words.len())..].iter());
    while let Some(word) = rest.next() {
        match &**word {
            "id" => drop(rest.next()),
            word => words.push(word),
        }
    }
    words.join(" ").into()
}

/// The form of an address; a rare one is a form of its own.
fn form(address: &str) -> Cow<'_, str> {
    let inet = address.parse::<SocketAddr>().ok().filter(|inet| inet.port() > 0);
    match (inet, address.rsplit_once(':')) {
        // The address is the client's.
        (Some(inet), _) if inet.ip().is_unspecified() => "any".into(),
        (Some(_), _) => "ip".into(),
        (None, None) if address.starts_with('/') => "path".into(),
        (None, Some((host, port))) if is_host(host) && port.parse::<NonZeroU16>().is_ok() => {
            if port.starts_with('+') { format!("host:{port}").into() } else { "host".into() }
        }
        _ => address.into(),
    }
}

/// Whether this is the name of a host, which is no address and no service.
fn is_host(name: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    name.bytes().all(letters) && !name.starts_with('_') && name.parse::<Ipv4Addr>().is_err()
}

/// The server that a new one tracks must be there, from the start, and be watched.
fn leads(call: &Call<'_>, server: settings::Server) -> Result<settings::Server, String> {
    let Some(track) = &server.balance.track else { return Ok(server) };
    let back = call.shared().backend(&track.backend);
    let back = back.ok_or_else(|| {
        format!("unable to find required proxy '{}' for tracking.", track.backend)
    })?;
    let servers = &back.servers;
    let leader = servers.iter().find(|it| it.state.name() == track.server).ok_or_else(|| {
        format!("unable to find required server '{}' for tracking.", track.server)
    })?;
    let name = format!("{}/{}", track.backend, track.server);
    if leader.settings.dynamic {
        return Err(format!("unable to use {name} for tracking as it is a dynamic server."));
    }
    let watched = &leader.settings.balance;
    if !watched.checked && watched.track.is_none() && leader.agent.is_none() {
        return Err(format!(
            "unable to use {name} for tracking as it does not have any check nor agent enabled."
        ));
    }
    Ok(server)
}

/// `del server <bk>/<srv>`
pub(super) fn del(call: &mut Call<'_>) -> Reply {
    let target = match call.target(2) {
        Ok(target) => target,
        Err(reply) => return reply.bare(),
    };
    let connector = target.server().settings.connector.clone();
    match server_add_delete::delete(call.worker, &target.back, target.slot) {
        Ok(()) => {
            connector.iter().for_each(|connector| call.settings.tls.forget(connector));
            Reply::Bare(Severity::Info, "Server deleted.".to_owned())
        }
        Err(refusal) => refused(&target.back, refusal),
    }
}

fn refused(back: &Backend, refusal: Refusal) -> Reply {
    Reply::error(text(back, refusal)).bare()
}

fn text(back: &Backend, refusal: Refusal) -> String {
    match refusal {
        Refusal::NameTaken => "Already exists a server with the same name in backend.".to_owned(),
        Refusal::NumberTaken(slot) => {
            let state = &back.servers[slot].state;
            let (id, name) = (state.id(), state.name());
            format!("'id' : custom id {id} already used ('server {name}').")
        }
        Refusal::Static => {
            "Backend must use a dynamic load balancing to support dynamic servers.".to_owned()
        }
        Refusal::Referenced => "This server cannot be removed at runtime due to other configuration elements pointing to it.".to_owned(),
        Refusal::InService => "Only servers in maintenance mode can be deleted.".to_owned(),
        Refusal::Busy => "Server still has connections attached to it, cannot remove it.".to_owned(),
    }
}
