//! `peers` sections with their listeners opened.

use super::listeners::{self, Asked, Opener};
use config::Model;
use config::data_plane::Builder;
use engine::state::os_handles::{OsHandles, PEERS, SectionSockets};
use settings::PeersSection;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

/// Clients that wait to be accepted.
const BACKLOG: u32 = 1_024;

/// The sections in service, their sockets open.
pub(super) fn sections(
    model: &Model,
    builder: &mut Builder<'_>,
    replaces: bool,
    (opener, handles): (&mut Opener, &mut OsHandles),
    errors: &mut Vec<String>,
) -> Vec<Arc<PeersSection>> {
    let mut sections = builder.peers(model);
    for section in &mut sections {
        section.replaces = replaces;
        section.seed = RandomState::new().build_hasher().finish();
        open(model, section, (opener, handles), errors);
    }
    sections.into_iter().map(Arc::new).collect()
}

/// Opens the listener of a section, and tells its address to the process that takes over.
fn open(
    model: &Model,
    section: &mut PeersSection,
    (opener, handles): (&mut Opener, &mut OsHandles),
    errors: &mut Vec<String>,
) {
    let from = model.peers.iter().find(|from| *from.name == *section.name);
    let Some(bind) = from.and_then(|from| from.bind.as_ref()) else { return };
    let owner = format!("peers {}", section.name);
    match opener.open(bind, &Asked { backlog: BACKLOG, ..Asked::default() }) {
        Ok(opened) => {
            opened.warn(&owner, bind);
            let listeners = vec![opened.handle];
            let sockets = SectionSockets { listeners, ..SectionSockets::default() };
            handles.add_section(PEERS, &section.name, sockets);
            if let Some(successor) = &mut section.successor {
                successor.address = Some(opened.address);
            }
        }
        Err(error) => errors.push(listeners::failure(&owner, bind, &error)),
    }
}
