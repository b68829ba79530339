//! `peers` sections of the model as the data plane takes them.

use super::link;
use super::listeners::{self, Asked, Opener};
use super::logs;
use config::model::{self, Model};
use engine::state::os_handles::{OsHandles, PEERS, SectionSockets};
use settings::{Announce, PeerServer, PeersSection, Preamble};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

/// Clients that wait to be accepted.
const BACKLOG: u32 = 1_024;

/// The sections in service, their sockets open.
pub(super) fn sections(
    model: &Model,
    replaces: bool,
    (opener, handles): (&mut Opener, &mut OsHandles),
    errors: &mut Vec<String>,
) -> Vec<Arc<PeersSection>> {
    let in_service = model.peers.iter().filter(|section| !section.disabled);
    let built = in_service.map(|from| section(model, from, replaces, (opener, handles), errors));
    built.map(Arc::new).collect()
}

fn section(
    model: &Model,
    from: &model::Peers,
    replaces: bool,
    (opener, handles): (&mut Opener, &mut OsHandles),
    errors: &mut Vec<String>,
) -> PeersSection {
    let mut open = None;
    if let Some(bind) = &from.bind {
        let owner = format!("peers {}", from.name);
        match opener.open(bind, &Asked { backlog: BACKLOG, ..Asked::default() }) {
            Ok(opened) => {
                opened.warn(&owner, bind);
                let listeners = vec![opened.handle];
                let sockets = SectionSockets { listeners, ..SectionSockets::default() };
                handles.add_section(PEERS, &from.name, sockets);
                open = Some(opened);
            }
            Err(error) => errors.push(listeners::failure(&owner, bind, &error)),
        }
    }
    let remote = |peer: &&model::Peer| peer.name != from.local;
    let reach = |peer: &model::Peer| server(peer, peer.address.as_ref().map(address));
    PeersSection {
        name: from.name.to_string(),
        local: from.local.clone(),
        successor: open.as_ref().and_then(|open| successor(from, open.address.clone())),
        preamble: from.bind.as_ref().map_or_else(Preamble::default, listeners::preamble),
        remotes: from.peers.iter().filter(remote).map(reach).collect(),
        tables: tables(model, from),
        max_updates: model.global.tune.peers_max_updates.map(|updates| updates as usize),
        logs: logs::logs(&from.logs, None, &model.global),
        replaces,
        seed: RandomState::new().build_hasher().finish(),
    }
}

/// The way to the process that takes over the listener: a PROXY header goes first if it expects
/// one.
fn successor(from: &model::Peers, address: reactor::Address) -> Option<PeerServer> {
    let local = server(from.local_peer()?, Some(address));
    let expects = from.bind.as_ref().is_some_and(|bind| bind.options.accept_proxy);
    let announce = expects.then(|| local.announce.unwrap_or(Announce::V1));
    Some(PeerServer { announce, ..local })
}

fn address(from: &model::Address) -> reactor::Address {
    match from {
        model::Address::Ip(address) => reactor::Address::Inet(*address),
        model::Address::Unix(path) => reactor::Address::Unix(path.clone()),
        model::Address::Pair(number) => reactor::Address::Pair(*number),
    }
}

fn server(peer: &model::Peer, address: Option<reactor::Address>) -> PeerServer {
    let connector = peer.tls.clone().filter(|_| peer.options.tls.enabled);
    let encryption = connector.map(|it| link::fixed_encryption(it, &peer.options));
    let asked = peer.options.link.announce;
    let announce = asked.any().then(|| link::announce(asked, false));
    PeerServer { name: peer.name.clone(), address, encryption, announce }
}

/// The tables that name the section. Peers know a table of the section itself by a slash and what
/// its line calls it.
fn tables(model: &Model, section: &model::Peers) -> Vec<(Arc<str>, usize)> {
    let shared = |(index, table): (usize, &table::Settings)| {
        table.peers.as_ref().filter(|peers| **peers == section.name)?;
        let own = table.name.strip_prefix(&*section.name).filter(|rest| rest.starts_with('/'));
        Some((own.map_or_else(|| table.name.clone(), Arc::from), index))
    };
    model.tables.iter().enumerate().filter_map(shared).collect()
}
