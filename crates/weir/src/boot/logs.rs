//! Log settings of the model as the data plane takes them. Never opens a socket.

use config::model::{self, SendHostname};
use proxy::settings::{LogAddress, LogSample, LogTarget, LogTransport, Logs};
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
    Arc::new(Logs { targets: targets.iter().map(target).collect(), tag, hostname })
}

fn target(from: &model::LogTarget) -> LogTarget {
    LogTarget {
        address: match &from.address {
            model::LogAddress::Udp(address) => LogAddress::Udp(*address),
            model::LogAddress::Unix(path) => LogAddress::Unix(path.clone()),
            model::LogAddress::Fd(number) => LogAddress::Fd(*number),
        },
        transport: match from.transport {
            model::LogTransport::Local => LogTransport::Local,
            model::LogTransport::Rfc3164 => LogTransport::Rfc3164,
            model::LogTransport::Rfc5424 => LogTransport::Rfc5424,
            model::LogTransport::Priority => LogTransport::Priority,
            model::LogTransport::Short => LogTransport::Short,
            model::LogTransport::Timed => LogTransport::Timed,
            model::LogTransport::Iso => LogTransport::Iso,
            model::LogTransport::Raw => LogTransport::Raw,
        },
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
