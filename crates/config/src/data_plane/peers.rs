//! `peers` sections.

use super::Builder;
use super::link::{announce, fixed_encryption, preamble};
use crate::model::{BindAddress, Model, Peer, Peers};
use settings::{Announce, PeerServer, PeersSection, Preamble};
use std::sync::Arc;
use stdx::socket::Address;

impl Builder<'_> {
    /// The sections in service. The caller sets the seed, and whether another process is replaced.
    pub fn peers(&mut self, model: &Model) -> Vec<PeersSection> {
        let in_service = model.peers.iter().filter(|section| !section.disabled);
        in_service.map(|section| self.section(model, section)).collect()
    }

    fn section(&mut self, model: &Model, from: &Peers) -> PeersSection {
        let remote = |peer: &&Peer| peer.name != from.local;
        let reach = |peer: &Peer| server(peer, peer.address.clone());
        PeersSection {
            name: from.name.to_string(),
            local: from.local.clone(),
            successor: successor(from),
            preamble: from.bind.as_ref().map_or_else(Preamble::default, preamble),
            remotes: from.peers.iter().filter(remote).map(reach).collect(),
            shards: from.shards,
            tables: tables(model, from),
            max_updates: self.global.tune.peers_max_updates.map(|updates| updates as usize),
            logs: self.logs(&from.logs, None),
            replaces: false,
            seed: 0,
        }
    }
}

/// The way to the process that takes over the listener: a PROXY header is sent first if the
/// listener expects one.
fn successor(from: &Peers) -> Option<PeerServer> {
    let bind = from.bind.as_ref()?;
    let address = match &bind.address {
        BindAddress::At(address) => Some(address.clone()),
        BindAddress::Inherited(_) => None,
    };
    let local = server(from.local_peer()?, address);
    let announce = bind.options.accept_proxy.then(|| local.announce.unwrap_or(Announce::V1));
    Some(PeerServer { announce, ..local })
}

fn server(peer: &Peer, address: Option<Address>) -> PeerServer {
    let connector = peer.tls.clone().filter(|_| peer.options.tls.enabled);
    let encryption = connector.map(|it| fixed_encryption(it, &peer.options));
    let announce = announce(peer.options.link.announce, false);
    PeerServer { name: peer.name.clone(), address, shard: peer.shard, encryption, announce }
}

/// The tables that name the section. Peers name a table of the section itself by a slash and the
/// name in its line.
fn tables(model: &Model, section: &Peers) -> Vec<(Arc<str>, usize)> {
    let shared = |(index, table): (usize, &table::Settings)| {
        table.peers.as_ref().filter(|peers| **peers == section.name)?;
        let own = table.name.strip_prefix(&*section.name).filter(|rest| rest.starts_with('/'));
        Some((own.map_or_else(|| table.name.clone(), Arc::from), index))
    };
    model.tables.iter().enumerate().filter_map(shared).collect()
}
