//! Proxies: both sides, listeners, mails.

use super::link::{self, ServerBase, preamble};
use super::{Builder, balancing, content, millis, servers};
use crate::model::{Back, BackendApp, Bind, BindAddress, EmailAlert, Front, HealthCheck, Proxy};
use settings::{Mail, Protocol, ProxySection, QuicBind};
use std::path::PathBuf;
use std::sync::Arc;
use stdx::socket::Address;

impl Builder<'_> {
    /// A proxy; rules, formats and captures move. Its listeners have the configured addresses.
    pub fn proxy(&mut self, from: &mut Proxy) -> ProxySection {
        let front = from.front.as_ref().map(|front| self.front(from, front));
        let back = from.back.as_ref().map(|back| self.back(back));
        let id_header = from.front.as_ref().and_then(|front| front.unique_id_header.as_ref());
        let (common, formats) = (&from.common, std::mem::take(&mut from.formats));
        let proxy = settings::Proxy {
            name: from.name.clone(),
            id: from.id,
            forced_id: from.forced_id,
            mode: from.mode,
            is_spop: from.is_spop,
            disabled: from.disabled,
            hidden: false,
            description: from.description.clone(),
            timeouts: common.timeouts,
            connection_mode: common.connection_mode,
            forward_for: common.forward_for.clone(),
            original_to: common.original_to.clone(),
            header_names: common.header_names.unwrap_or_default(),
            buffer_request: common.buffer_request,
            splice: common.splice,
            error_replies: common.error_replies.clone(),
            filters: self.filters(&common.filters),
            filter_sequences: common
                .filter_sequences
                .each_ref()
                .map(|list| list.as_ref().map(|list| self.sequence(list))),
            compression: common.compression.clone(),
            stats: common.stats.as_deref().cloned(),
            mail: common.email_alert.as_ref().map(|mail| self.mail(mail)),
            logs: self.logs(&common.logs, common.log_tag.as_deref()),
            unique_id_header: id_header.map(|name| name.to_ascii_lowercase()),
            log_format: formats.log,
            error_log_format: formats.error,
            logs_requests_only: formats.requests_only,
            logs_at_start: formats.at_start,
            log_format_sd: formats.structured_data,
            unique_id: formats.unique_id,
            captures: [
                std::mem::take(&mut from.captured.request),
                std::mem::take(&mut from.captured.response),
            ],
            captured_cookie: from
                .captured
                .cookie
                .take()
                .map(|(begin, most)| (content(&begin), most)),
            rules: std::mem::take(&mut from.rules),
            inherited_rules: from.inherited_rules.take(),
        };
        ProxySection { proxy, front, back }
    }

    fn front(&self, proxy: &Proxy, from: &Front) -> settings::Frontend {
        let binds = from.binds.iter().filter(|_| !proxy.disabled);
        settings::Frontend {
            binds: binds.map(|bind| self.bind(bind)).collect(),
            accept_invalid: from.accept_invalid_request || from.accept_unsafe_request,
            ..from.settings.clone()
        }
    }

    /// A listener; its backlog is 0 unless its own line has one.
    fn bind(&self, from: &Bind) -> settings::Bind {
        let options = &from.options;
        settings::Bind {
            address: match &from.address {
                BindAddress::At(address) => address.clone(),
                BindAddress::Inherited(_) => Address::Unix(PathBuf::new()),
            },
            namespace: options.namespace.as_deref().map(Arc::from),
            name: options.name.clone(),
            id: from.id,
            maxconn: options.maxconn,
            threads: self.global.process.threads.of(&options.threads),
            nice: options.nice,
            preamble: preamble(from),
            protocol: options.protocol.map_or(Protocol::Chosen, link::spoken),
            quic: from.is_quic.then(|| QuicBind {
                congestion: options.quic_congestion,
                always_retries: options.quic_force_retry,
            }),
            mss_reduction: options.mss.min(0).unsigned_abs(),
            backlog: options.backlog,
        }
    }

    fn back(&mut self, from: &Back) -> settings::Backend {
        let base = ServerBase::of(from, self.global);
        let server = |server| servers::server(server, link::links(server, &base));
        settings::Backend {
            servers: from.servers.iter().map(server).collect(),
            check: servers::check(&from.check, self.global),
            check_script: match &from.check {
                HealthCheck::Script(script) => script.clone(),
                _ => Arc::default(),
            },
            fcgi: from.fcgi.as_ref().map(|app| self.application(app)),
            direct: from.direct.as_ref().map(|to| servers::direct(to, base.without_server())),
            algorithm: balancing::algorithm(from),
            algorithm_name: from.balance.name().to_owned(),
            hashing: balancing::hashing(from),
            accept_invalid: from.accept_invalid_response || from.accept_unsafe_response,
            ..from.settings.clone()
        }
    }

    fn application(&mut self, from: &BackendApp) -> Arc<settings::BackendApp> {
        let logs = self.logs(&from.logs, Some(&from.app.name));
        let software = self.machine.software.clone().into_bytes();
        Arc::new(settings::BackendApp { app: from.app.clone(), logs, software })
    }

    fn mail(&self, from: &EmailAlert) -> Mail {
        let hostname = from.hostname.as_ref().unwrap_or(&self.machine.hostname);
        Mail {
            from: from.from.clone(),
            to: from.to.clone(),
            hostname: hostname.clone(),
            level: from.level.0,
            timeout_ms: millis(from.mailers.timeout),
            mailers: from.mailers.mailers.iter().map(|mailer| mailer.address).collect(),
        }
    }
}
