//! The memory budget of a process: its limit, and the measurement of memory in use.
//!
//! An address space limit counts mapped memory, used or not. A process with such a limit measures
//! mapped memory, and its workers share one arena of the allocator: memory that one worker frees is
//! reused by the others.

use super::super::cli::Options;
use super::super::start_error::StartError;
use settings::memory::Budget;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use tikv_jemalloc_ctl::{Access as _, AsName as _, epoch, stats};

/// Share of an external limit that the budget uses: the rest is for memory that the allocator
/// keeps.
const PART: (u64, u64) = (85, 100);

/// The smallest budget, in bytes.
const LEAST: u64 = 4 << 20;

/// Address space of a thread that is yet to start: its stack, and the first block of the arena that
/// the allocator gives it before it has another one.
const THREAD: u64 = 4 << 20;

/// Bytes of the program outside the allocator: code, and stacks at the start.
static BESIDE: AtomicU64 = AtomicU64::new(0);

/// Whether the budget counts address space.
static COUNTS_ADDRESSES: AtomicBool = AtomicBool::new(false);

/// The size of a process that counts address space. Opened before `chroot` hides `/proc`.
static SIZE: OnceLock<File> = OnceLock::new();

/// The budget, if a limit applies to the process, which has yet to start its `threads`.
///
/// # Errors
/// The limit set by the operator leaves too little.
pub(super) fn budget(
    options: &Options,
    limit: Option<u64>,
    threads: usize,
) -> Result<Option<Budget>, StartError> {
    let (virtual_bytes, resident) = pages().unwrap_or_default();
    epoch::advance().ok();
    BESIDE.store(resident.saturating_sub(read(stats::resident::read())), Relaxed);
    let base = used();
    let flag = options.memory_mib.map(|mib| u64::from(mib) << 20);
    let own = match (flag, limit) {
        (Some(flag), Some(limit)) if limit > 0 => Some(flag.min(limit)),
        (flag, limit) => flag.or(limit.filter(|limit| *limit > 0)),
    };
    if let Some(own) = own.filter(|own| *own < base + LEAST) {
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        let (limit, used, least) = (mib(own), mib(base), mib(LEAST));
        return Err(StartError::Memory { limit, used, least });
    }
    let own = own.map(|limit| Budget { limit, base, measure: used });
    let mapped = virtual_bytes.saturating_sub(unused()) + threads as u64 * THREAD;
    let part = |most: u64, base: u64| (most / PART.1 * PART.0).max(base + LEAST);
    let others = [
        control_group().map(|most| Budget { limit: part(most, base), base, measure: used }),
        address_space().map(|most| Budget {
            limit: part(most, mapped),
            base: mapped,
            measure: address_space_used,
        }),
    ];
    // `tune.memory.limit 0` leaves the limits of the system out of account.
    let others = others.into_iter().flatten().filter(|_| limit != Some(0));
    let least = own.into_iter().chain(others).min_by_key(Budget::room);
    COUNTS_ADDRESSES.store(least.is_some_and(|least| least.base == mapped), Relaxed);
    Ok(least)
}

/// Limit on the address space of a process with a budget of `bytes`: the last line, far beyond the
/// budget.
pub(super) fn most_address_space(bytes: u64) -> u64 {
    let now = pages().map_or(0, |pages| pages.0);
    now.saturating_add(bytes.saturating_mul(2)).saturating_add(1 << 30)
}

/// Prepares a process that serves, while it still sees `/proc`.
pub(super) fn prepare() {
    if COUNTS_ADDRESSES.load(Relaxed)
        && let Ok(file) = File::open("/proc/self/statm")
    {
        let _ = SIZE.set(file);
    }
}

/// Prepares a thread: it uses the arena of all others, where address space is limited.
pub(super) fn prepare_thread() {
    if COUNTS_ADDRESSES.load(Relaxed) {
        // Where that fails the thread keeps its own arena.
        let _ = b"thread.arena\0".name().write(0_u32);
    }
}

/// Bytes that the process uses, without those that the allocator keeps for later.
fn used() -> u64 {
    epoch::advance().ok();
    let used = read(stats::active::read()) + read(stats::metadata::read());
    used + BESIDE.load(Relaxed)
}

/// Bytes of address space that the process uses, without those that the allocator can reuse.
fn address_space_used() -> u64 {
    epoch::advance().ok();
    let mut text = [0; 128];
    let length = SIZE.get().and_then(|file| file.read_at(&mut text, 0).ok()).unwrap_or(0);
    let size = std::str::from_utf8(&text[..length]).ok().and_then(sizes);
    size.map_or_else(used, |(size, _)| size.saturating_sub(unused()))
}

/// Bytes of address space that the allocator keeps, with memory or without.
fn unused() -> u64 {
    let dirty = read(stats::resident::read())
        .saturating_sub(read(stats::active::read()) + read(stats::metadata::read()));
    read(stats::retained::read()) + dirty
}

fn read<E>(bytes: Result<usize, E>) -> u64 {
    bytes.unwrap_or(0) as u64
}

/// Bytes of address space and of memory of the process.
fn pages() -> Option<(u64, u64)> {
    sizes(&fs::read_to_string("/proc/self/statm").ok()?)
}

/// The first two numbers of `statm`, in bytes.
fn sizes(text: &str) -> Option<(u64, u64)> {
    let mut words = text.split(' ').map(|word| word.parse::<u64>().unwrap_or(0) * 4096);
    Some((words.next()?, words.next()?))
}

/// The limit of the address space.
fn address_space() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/limits").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()
}

/// The least limit of the control groups that the process is in, of either version.
fn control_group() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let limits = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|it| it == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => return None,
        };
        least_limit(Path::new(root), path, file)
    });
    limits.min()
}

/// The smallest limit of a group and its ancestors. In a container the path may be that of the
/// host, which is not there: then the root is the group.
fn least_limit(root: &Path, path: &str, file: &str) -> Option<u64> {
    let group: PathBuf = root.join(path.trim_start_matches('/'));
    let limits =
        group.ancestors().take_while(|group| group.starts_with(root)).filter_map(|group| {
            let text = fs::read_to_string(group.join(file)).ok()?;
            // Version 1 shows a number near the largest one where there is no limit.
            text.trim().parse::<u64>().ok().filter(|limit| *limit < 1 << 60)
        });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_around_a_group_hold_for_it() {
        let root = std::env::temp_dir().join(format!("weir-cgroup-{}", std::process::id()));
        let inner = root.join("a/b");
        fs::create_dir_all(&inner).expect("a directory");
        fs::write(root.join("memory.max"), "max\n").expect("a file");
        fs::write(root.join("a/memory.max"), "1000000\n").expect("a file");
        fs::write(inner.join("memory.max"), "9223372036854771712\n").expect("a file");
        assert_eq!(least_limit(&root, "/a/b", "memory.max"), Some(1_000_000));
        assert_eq!(least_limit(&root, "/a/gone/c", "memory.max"), Some(1_000_000));
        assert_eq!(least_limit(&root, "/x", "memory.max"), None);
        fs::remove_dir_all(root).expect("it is there");
    }

    #[test]
    fn memory_in_use_is_measured() {
        let before = used();
        let more = vec![1u8; 8 << 20];
        assert!(used() >= before + more.len() as u64 / 2, "{before}");
    }
}
