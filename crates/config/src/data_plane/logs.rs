//! Log targets, rings and `log-forward` sections.

use super::link::{fixed_encryption, preamble};
use super::{Builder, millis};
use crate::model::{self, SendHostname};
use settings::{LogAddress, LogBind, LogForward, LogSample, LogTarget, Logs, Ring, RingServer};
use std::sync::Arc;

impl Builder<'_> {
    /// The log settings of a section.
    pub(super) fn logs(&mut self, targets: &[model::LogTarget], tag: Option<&str>) -> Arc<Logs> {
        let tag = tag.or(self.global.log_tag.as_deref()).unwrap_or("haproxy").to_owned();
        let hostname = match &self.global.log_send_hostname {
            SendHostname::No => None,
            SendHostname::System => Some(self.machine.hostname.clone()),
            SendHostname::Name(name) => Some(name.clone()),
        };
        let targets = targets.iter().map(|target| self.target(target)).collect();
        Arc::new(Logs { targets, tag, hostname })
    }

    fn target(&mut self, from: &model::LogTarget) -> LogTarget {
        LogTarget {
            address: self.log_address(&from.address),
            transport: from.transport,
            keeps: from.default_transport,
            max_len: from.max_len,
            facility: from.facility.0,
            level: from.level.0,
            min_level: from.min_level.0,
            sample: from.sample.as_ref().map(|sample| self.sample(sample)),
        }
    }

    fn log_address(&self, from: &model::LogAddress) -> LogAddress {
        match from {
            model::LogAddress::Udp(address) => LogAddress::Udp(*address),
            model::LogAddress::Unix(path) => LogAddress::Unix(path.clone()),
            model::LogAddress::Fd(number) => LogAddress::Fd(*number),
            model::LogAddress::Ring(name) => {
                let section = self.global.rings.iter().position(|ring| ring.name == *name);
                // A ring that is missing gets an unused number, so the target drops its messages.
                let missing = if &**name == "buf0" { settings::OWN_RING } else { usize::MAX };
                LogAddress::Ring(section.map_or(missing, |index| index + 1))
            }
        }
    }

    fn sample(&mut self, from: &model::LogSample) -> LogSample {
        let number = self.log_samples;
        self.log_samples += 1;
        LogSample { ranges: from.ranges.clone(), size: from.size, number }
    }

    /// The `ring` sections.
    pub(super) fn rings(&self) -> Vec<Ring> {
        self.global.rings.iter().map(ring).collect()
    }

    /// A `log-forward` section.
    pub(super) fn log_forward(&mut self, from: &model::LogForward) -> LogForward {
        let line = |bind: &model::Bind| LogBind {
            preamble: preamble(bind),
            maxconn: bind.options.maxconn,
        };
        LogForward {
            name: from.name.to_string(),
            binds: from.binds.iter().map(line).collect(),
            logs: self.logs(&from.logs, None),
            maxconn: from.maxconn,
            client_ms: from.client.map(millis),
        }
    }
}

fn ring(from: &model::Ring) -> Ring {
    Ring {
        name: from.name.to_string(),
        description: from.description.clone(),
        transport: from.format,
        max_len: from.max_len,
        size: from.size,
        servers: from.servers.iter().map(ring_server).collect(),
        connect_ms: from.connect.map(millis),
        server_ms: from.server.map(millis),
    }
}

fn ring_server(from: &model::RingServer) -> RingServer {
    let connector = from.tls.clone().filter(|_| from.options.tls.enabled);
    RingServer {
        address: from.address.clone(),
        counts: from.counts,
        encryption: connector.map(|connector| fixed_encryption(connector, &from.options)),
    }
}
