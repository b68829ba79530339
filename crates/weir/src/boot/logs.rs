//! Conversion of log targets, rings and forwarders to settings of the data plane.

use super::link;
use super::listeners::{self, Asked, Opener};
use config::model::{self, SendHostname};
use engine::state::os_handles::{Backing, LOG_FORWARD, OsHandles, SectionSockets};
use settings::{LogAddress, LogBind, LogForward, LogSample, LogTarget, Logs, Ring, RingServer};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

/// The log settings of a proxy, or of the process.
pub(super) fn logs(
    targets: &[model::LogTarget],
    tag: Option<&str>,
    global: &model::Global,
) -> Arc<Logs> {
    let tag = tag.or(global.log_tag.as_deref()).unwrap_or("haproxy").to_owned();
    let hostname = match &global.log_send_hostname {
        SendHostname::No => None,
        SendHostname::System => Some(sys::hostname()),
        SendHostname::Name(name) => Some(name.clone()),
    };
    let targets = targets.iter().map(|it| target(it, &global.rings)).collect();
    Arc::new(Logs { targets, tag, hostname })
}

fn target(from: &model::LogTarget, rings: &[model::Ring]) -> LogTarget {
    LogTarget {
        address: match &from.address {
            model::LogAddress::Udp(address) => LogAddress::Udp(*address),
            model::LogAddress::Unix(path) => LogAddress::Unix(path.clone()),
            model::LogAddress::Fd(number) => LogAddress::Fd(*number),
            model::LogAddress::Ring(name) => {
                let section = rings.iter().position(|ring| ring.name == *name);
                // A ring that is missing gets an unused number, so the target drops its messages.
                let missing = if &**name == "buf0" { engine::state::ring::OWN } else { usize::MAX };
                LogAddress::Ring(section.map_or(missing, |index| index + 1))
            }
        },
        transport: from.transport,
        keeps: from.default_transport,
        max_len: from.max_len,
        facility: from.facility.0,
        level: from.level.0,
        min_level: from.min_level.0,
        sample: from.sample.as_ref().map(|sample| LogSample {
            ranges: sample.ranges.clone(),
            size: sample.size,
            seen: Default::default(),
        }),
    }
}

/// The `ring` sections.
pub(super) fn rings(
    model: &config::Model,
    handles: &mut OsHandles,
    errors: &mut Vec<String>,
) -> Vec<Ring> {
    backing_files(model, handles, errors);
    model.global.rings.iter().map(ring).collect()
}

/// Creates the backing files of rings.
fn backing_files(model: &config::Model, handles: &mut OsHandles, errors: &mut Vec<String>) {
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

fn ring(from: &model::Ring) -> Ring {
    let span = |span: Option<u64>| span.map(|span| u32::try_from(span).unwrap_or(u32::MAX));
    let server = |server: &model::RingServer| RingServer {
        address: match &server.address {
            model::Address::Ip(address) => reactor::Address::Inet(*address),
            model::Address::Unix(path) => reactor::Address::Unix(path.clone()),
            model::Address::Pair(number) => reactor::Address::Pair(*number),
        },
        counts: server.counts,
        encryption: server
            .tls
            .clone()
            .filter(|_| server.options.tls.enabled)
            .map(|connector| link::fixed_encryption(connector, &server.options)),
    };
    Ring {
        name: from.name.to_string(),
        description: from.description.clone(),
        transport: from.format,
        max_len: from.max_len,
        size: from.size,
        servers: from.servers.iter().map(server).collect(),
        connect_ms: span(from.connect),
        server_ms: span(from.server),
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

/// The `log-forward` sections, their sockets open.
pub(super) fn forwards(
    model: &config::Model,
    (opener, handles): (&mut Opener, &mut OsHandles),
    errors: &mut Vec<String>,
) -> Vec<Arc<LogForward>> {
    let mut forward = |from: &model::LogForward| {
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
        let line = |bind: &model::Bind| LogBind {
            preamble: listeners::preamble(bind),
            maxconn: bind.options.maxconn,
        };
        Arc::new(LogForward {
            name: from.name.to_string(),
            binds: from.binds.iter().map(line).collect(),
            logs: logs(&from.logs, None, &model.global),
            maxconn: from.maxconn,
            client_ms: from.client.map(|span| u32::try_from(span).unwrap_or(u32::MAX)),
        })
    };
    model.log_forwards.iter().map(&mut forward).collect()
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
