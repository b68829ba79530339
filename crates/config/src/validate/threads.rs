//! Threads of the process, of listeners, and their sockets.
use crate::context::Cx;
use crate::diag::{Diagnostic, Severity};
use crate::draft::DraftProxy;
use crate::model::{MAX_THREADS, PER_GROUP, Process, Proxy, Threads};

/// The threads of the process and their groups.
pub(super) fn seat_threads(process: &mut Process, cx: &mut Cx<'_>) {
    let most = process.thread_groups * PER_GROUP;
    let available = u16::try_from(cx.processors).unwrap_or(MAX_THREADS).clamp(1, most);
    let count = process.nbthread.unwrap_or(available);
    match Threads::new(count, process.thread_groups, &process.thread_group) {
        Ok(threads) => process.threads = threads,
        Err(left) => {
            let message = format!(
                "Remaining unassigned threads found ({left}) because all groups are in use. Please increase 'thread-groups', reduce 'nbthreads' or remove or extend 'thread-group' enumerations."
            );
            cx.diagnostics.push(Diagnostic::general(Severity::Alert, message));
        }
    }
}

/// Every listener needs a thread that accepts.
pub(super) fn check_threads(draft: &DraftProxy, threads: &Threads, cx: &mut Cx<'_>) {
    for bind in &draft.settings.front.binds {
        let set = &bind.options.threads;
        if set.is_empty() || !threads.of(set).is_empty() {
            continue;
        }
        let wrong = match set.group {
            None => "contains threads that belong to no group",
            Some(_) => "only references threads not belonging to the group",
        };
        let message = format!(
            "Proxy '{}': 'thread' directive {wrong} in 'bind {}' at [{}].",
            draft.name, bind.written, bind.place
        );
        cx.diagnostics.push(Diagnostic::general(Severity::Alert, message));
    }
}

pub(super) fn warn_of_shards(proxies: &[Proxy], cx: &mut Cx<'_>) {
    for bind in proxies.iter().flat_map(Proxy::sharded) {
        let text = "'shards' has no effect with 'noreuseport'";
        let message = format!("'bind {}' : {text}", bind.written);
        cx.about(Severity::Warning, &bind.place, message);
    }
}
