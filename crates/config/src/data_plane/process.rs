//! Settings of the process.

use super::{Builder, servers};
use crate::model::{HttpErrors, Model};
use settings::memory::BufferLimit;
use settings::{Http2, Process};
use std::sync::Arc;

/// Clients accepted in one turn without `tune.maxaccept`.
const MAX_ACCEPT: usize = 4;

impl Builder<'_> {
    /// Settings of the process, with its sections other than proxies and peers. The caller adds
    /// what the system decides: limits, the number of the process, the memory budget.
    pub fn process(&mut self, model: &Model) -> Process {
        let (global, threads) = (self.global, &self.global.process.threads);
        let http_errors = |it: &HttpErrors| (it.name.to_string(), it.files.clone());
        let log_forwards = model.log_forwards.iter().map(|it| Arc::new(self.log_forward(it)));
        Process {
            log_forwards: log_forwards.collect(),
            logs: self.logs(&global.logs, None),
            threads: threads.count(),
            seats: (0..threads.count())
                .filter_map(|thread| threads.seat(thread))
                .map(|seat| (seat.group, seat.rank + 1))
                .collect(),
            buffer_limit: self.buffer_limit(),
            max_accept: match global.tune.maxaccept {
                Some(-1) => usize::MAX,
                Some(count) => usize::try_from(count).unwrap_or(MAX_ACCEPT),
                None => MAX_ACCEPT,
            },
            h2: self.http2(),
            node: global.node.clone().unwrap_or_else(|| self.machine.hostname.clone()),
            hostname: self.machine.hostname.clone(),
            http_errors: model.http_errors.iter().map(http_errors).collect(),
            tables: model.tables.clone(),
            resolvers: model.resolvers.iter().map(servers::resolvers).collect(),
            userlists: model.userlists.clone(),
            variables: model.variables.clone(),
            caches: model.caches.clone(),
            header_case: Arc::new(global.header_case.names.clone()),
            rings: self.rings(),
            log_samples: self.log_samples,
            ..global.settings.clone()
        }
    }

    /// The limit on buffers that the configuration sets.
    fn buffer_limit(&self) -> Option<BufferLimit> {
        let tune = &self.global.tune;
        let reserve = tune.buffer_reserve.map_or(BufferLimit::RESERVE, |reserve| reserve as usize);
        let limit = |buffers| BufferLimit { buffers, reserve, sheds: false };
        Some(tune.buffer_limit as usize).filter(|buffers| *buffers > 0).map(limit)
    }

    /// Settings of HTTP/2; no frame may be larger than a buffer, so that it can be taken in one
    /// piece.
    fn http2(&self) -> Http2 {
        let settings = &self.global.settings;
        let buffer = u32::try_from(settings.buffer_size).unwrap_or(u32::MAX);
        let largest = buffer.clamp(settings.h2.max_frame_size, (1 << 24) - 1);
        let max_frame_size = self.global.tune.h2_max_frame_size.unwrap_or(largest).min(largest);
        Http2 { max_frame_size, ..settings.h2 }
    }
}
