//! Files of rings and sockets of `log-forward` sections.

use super::listeners::{self, Asked, Opener};
use config::model;
use engine::state::os_handles::{Backing, LOG_FORWARD, OsHandles, SectionSockets};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

/// Creates the backing files of rings.
pub(super) fn backing_files(
    model: &config::Model,
    handles: &mut OsHandles,
    errors: &mut Vec<String>,
) {
    for ring in &model.global.rings {
        let Some(path) = &ring.backing_file else { continue };
        match backing(path, ring.size) {
            Ok(file) => handles.add_file(&ring.name, Arc::new(file)),
            Err(error) => errors.push(format!(
                "ring '{}': cannot open '{}' as a ring buffer: {error}.",
                ring.name,
                path.display()
            )),
        }
    }
}

/// A file with a copy of a ring's bytes.
#[derive(Debug)]
struct BackingFile(File);

impl Backing for BackingFile {
    fn begin(&self) {
        sys::process::unshare_descriptors_except(&[self.0.as_raw_fd()]);
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) {
        // A full disk loses the copy, not the ring.
        let _ = self.0.write_all_at(bytes, offset);
    }
}

/// Creates the backing file of a ring; an earlier file that is not empty gets the suffix `.bak`.
fn backing(path: &Path, size: usize) -> io::Result<BackingFile> {
    if std::fs::metadata(path).is_ok_and(|known| known.len() > 0) {
        let mut old = path.as_os_str().to_owned();
        old.push(".bak");
        // Without the permission to rename, the old copy is overwritten.
        let _ = std::fs::rename(path, &old);
    }
    let mut options = File::options();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.set_len(size as u64)?;
    Ok(BackingFile(file))
}

/// Opens the sockets of `log-forward` sections.
pub(super) fn forwards(
    model: &config::Model,
    (opener, handles): (&mut Opener, &mut OsHandles),
    errors: &mut Vec<String>,
) {
    for from in &model.log_forwards {
        let backlog = if from.backlog > 0 { from.backlog } else { from.maxconn.max(1) };
        let asked = Asked { backlog, ..Asked::default() };
        let owner = format!("log-forward {}", from.name);
        let mut opened = |binds: &[model::Bind], datagrams: bool| {
            let mut open = |bind: &model::Bind| match datagrams {
                true => opener.open_datagrams(bind, &asked),
                false => opener.open(bind, &asked).map(|open| {
                    open.warn(&owner, bind);
                    open.handle
                }),
            };
            let mut told = |bind: &model::Bind| match open(bind) {
                Ok(handle) => Some(handle),
                Err(error) => {
                    errors.push(listeners::failure(&owner, bind, &error));
                    None
                }
            };
            binds.iter().filter_map(&mut told).collect::<Vec<_>>()
        };
        let listeners = opened(&from.binds, false);
        let datagrams = opened(&from.datagrams, true);
        handles.add_section(LOG_FORWARD, &from.name, SectionSockets { listeners, datagrams });
    }
}

/// Descriptors of log targets that are written to while the process serves.
pub(super) fn descriptors(model: &config::Model) -> Vec<i32> {
    let proxies = model.proxies.iter().flat_map(|proxy| &proxy.common.logs);
    let forwards = model.log_forwards.iter().flat_map(|forward| &forward.logs);
    let number = |target: &model::LogTarget| match target.address {
        model::LogAddress::Fd(number) => Some(number),
        _ => None,
    };
    let targets = proxies.chain(forwards).chain(&model.global.logs);
    [1, 2].into_iter().chain(targets.filter_map(number)).collect()
}
