//! Limits of the process: threads, connections, descriptors, pipes.

use crate::cli::Options;
use crate::complain;
use crate::start_error::StartError;
use config::Model;
use config::model::{CpuMap, Process, Seat, SpliceOptions, Tune};
use settings::splice::PipeLimits;

/// Descriptors needed besides those of connections: listeners, pollers, logs, files.
const SPARE: u64 = 64;
/// The most descriptors assumed when no limit is configured.
const MOST: u64 = 1 << 20;

/// Connection limit of the process, with the descriptor limit raised for it. Without a configured
/// limit it follows from the descriptors that the system allows.
///
/// # Errors
/// The system does not allow as many descriptors as are needed, and `strict-limits` holds.
pub(super) fn connections(
    model: &Model,
    options: &Options,
    listeners: usize,
) -> Result<u32, StartError> {
    let (process, spliced) = (&model.global.process, splices(model, options));
    // A pipe has two ends.
    let asked_pipes = process.maxpipes.filter(|_| spliced).map_or(0, |pipes| 2 * u64::from(pipes));
    let fixed = SPARE + listeners as u64 + asked_pipes;
    // One of every four connections may have a pipe, unless `maxpipes` is set.
    let four = if spliced && process.maxpipes.is_none() { 10 } else { 8 };
    let asked = process.ulimit_n.map(u64::from);
    if let Some(wanted) = options.maxconn.or(process.maxconn) {
        raise(process, asked.unwrap_or(0).max(four * u64::from(wanted) / 4 + fixed))?;
        return Ok(wanted);
    }
    let (soft, hard) = sys::process::descriptor_limit();
    let bound = process.fd_hard_limit.filter(|bound| *bound > 0).map_or(u64::MAX, u64::from);
    let target = asked.unwrap_or(hard.min(MOST).min(bound));
    let allowed = raise(process, target.max(soft.min(bound)))?;
    let usable = if asked.is_some() { allowed } else { allowed.min(bound) };
    Ok(u32::try_from(usable.saturating_sub(fixed) * 4 / four).unwrap_or(u32::MAX).max(1))
}

/// Whether any proxy splices payload.
fn splices(model: &Model, options: &Options) -> bool {
    let off = model.global.process.nosplice || options.no_splice;
    !off && model.proxies.iter().any(|proxy| proxy.common.splice != SpliceOptions::default())
}

/// Bounds on pipes (`maxpipes`, `tune.pipesize`), for so many connections.
pub(super) fn pipes(model: &Model, options: &Options, maxconn: u32) -> PipeLimits {
    let global = &model.global;
    let off = global.process.nosplice || options.no_splice;
    let pipes = global.process.maxpipes.unwrap_or(maxconn.div_ceil(4));
    PipeLimits { pipes: if off { 0 } else { pipes }, size: global.tune.pipe_size }
}

/// Descriptors in use above which idle connections are not kept, and above which some are closed.
pub(super) fn idle(tune: &Tune) -> (i32, i32) {
    let (all, _) = sys::process::descriptor_limit();
    let part = |percent: u32| i32::try_from(all / 100 * u64::from(percent)).unwrap_or(i32::MAX);
    (part(tune.pool_low.unwrap_or(20)), part(tune.pool_high.unwrap_or(25)))
}

/// Raises the descriptor limit and returns the new one.
fn raise(process: &Process, wanted: u64) -> Result<u64, StartError> {
    let allowed = sys::process::raise_descriptor_limit(wanted);
    if allowed >= wanted {
        return Ok(allowed);
    }
    let error = StartError::Descriptors { wanted, allowed };
    if !process.lax_limits {
        return Err(error);
    }
    complain(&format!("[WARNING]  ({}) : [haproxy.main()] {error}\n", std::process::id()));
    Ok(allowed)
}

/// Gives frontends without a limit that of the command line (`-N`).
pub(super) fn proxies(model: &mut Model, options: &Options) {
    for front in model.proxies.iter_mut().filter_map(|proxy| proxy.front.as_mut()) {
        front.settings.maxconn = front.settings.maxconn.or(options.proxy_maxconn);
    }
}

/// The processors that a thread is bound to; `None` if it is not bound.
pub(super) fn processors(maps: &[CpuMap], seat: Seat) -> Option<Vec<usize>> {
    let group = 1u64.checked_shl(u32::from(seat.group).wrapping_sub(1))?;
    let thread = 1u64.checked_shl(u32::from(seat.rank))?;
    let is_meant = |map: &&CpuMap| map.groups & group != 0 && map.threads & thread != 0;
    let map = maps.iter().rev().find(is_meant)?;
    if !map.auto {
        return Some(map.cpus.iter().map(|cpu| *cpu as usize).collect());
    }
    // Only one of the two is a range; the other is a single bit.
    let below = |set: u64, bit: u64| (set & (bit - 1)).count_ones() as usize;
    let place = below(map.groups, group) + below(map.threads, thread);
    map.cpus.get(place).map(|cpu| vec![*cpu as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_map_holds_and_auto_spreads() {
        let map = |groups, threads, auto, cpus: &[u32]| CpuMap {
            groups,
            threads,
            auto,
            cpus: cpus.to_vec(),
        };
        let maps = [map(1, 0b1111, true, &[0, 2, 4, 6]), map(1, 0b0100, false, &[7])];
        let at = |maps: &[CpuMap], group, rank| processors(maps, Seat { group, rank });
        assert_eq!(at(&maps, 1, 0), Some(vec![0]));
        assert_eq!(at(&maps, 1, 2), Some(vec![7]));
        assert_eq!(at(&maps, 1, 3), Some(vec![6]));
        assert_eq!(at(&maps, 1, 4), None);
        assert_eq!(at(&maps, 2, 0), None);
        let groups = [map(0b110, 0b10, true, &[3, 5])];
        assert_eq!(at(&groups, 2, 1), Some(vec![3]));
        assert_eq!(at(&groups, 3, 1), Some(vec![5]));
        assert_eq!(at(&groups, 3, 0), None);
    }
}
