//! Process-wide settings (section 3); `None` means "not set".
use super::{At, Bind, HttpClient, LogTarget, Ring, ThreadSet, Threads, TlsProcess};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

/// All `global` sections together.
#[derive(Debug, Default)]
pub struct Global {
    /// Settings that the data plane takes unchanged.
    pub settings: settings::Process,
    /// The process: identity, limits, files.
    pub process: Process,
    /// Performance settings.
    pub tune: Tune,
    /// TLS.
    pub tls: TlsProcess,
    /// `tune.lua.*`.
    pub lua: TuneLua,
    /// `httpclient.*`.
    pub http_client: HttpClient,
    /// `h1-case-adjust` and `h1-case-adjust-file`.
    pub header_case: HeaderCase,
    /// `server-state-base`
    pub server_state_base: Option<String>,
    /// `server-state-file`
    pub server_state_file: Option<String>,
    /// Runtime sockets.
    pub stats: StatsSettings,
    /// `ring` sections in order; log targets name them.
    pub rings: Vec<Ring>,
    /// Log targets for `log global`.
    pub logs: Vec<LogTarget>,
    /// `log-tag`: tag of all messages; the program name when not set.
    pub log_tag: Option<String>,
    /// `log-send-hostname`: host name in the syslog header.
    pub log_send_hostname: SendHostname,
    /// `grace`: from the signal to the soft stop, ms.
    pub grace: u64,
    /// `hard-stop-after`: longest soft stop, ms.
    pub hard_stop_after: Option<u64>,
    /// `anonkey`: what names are hashed with in the anonymized mode; 0 for none.
    pub anon_key: u32,
    /// `node`: name of this instance.
    pub node: Option<String>,
}

/// How header names are written for peers that tell upper from lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderCase {
    /// The way of each name that has one; names are in lower case.
    pub names: HashMap<Vec<u8>, Vec<u8>>,
    /// The file of `h1-case-adjust-file`, whose pairs have been added.
    pub file: Option<At<String>>,
}

/// Identity and limits of the process.
#[derive(Debug)]
pub struct Process {
    /// `daemon`: go to the background.
    pub daemon: bool,
    /// `master-worker`: a master watches over the process that serves.
    pub master_worker: bool,
    /// `master-worker no-exit-on-failure`: it stays when that process has failed.
    pub no_exit_on_failure: bool,
    /// `mworker-max-reloads`: reloads that a process may outlive.
    pub max_reloads: Option<u32>,
    /// `quiet`: no messages at the start.
    pub quiet: bool,
    /// `zero-warning`: warnings forbid to start.
    pub zero_warning: bool,
    /// `external-check`: programs may check servers.
    pub external_check: bool,
    /// `insecure-fork-wanted`: programs may be started while serving.
    pub insecure_fork: bool,
    /// `insecure-setuid-wanted`: programs that are started may gain privileges.
    pub insecure_setuid: bool,
    /// `set-dumpable`: try hard to leave a core dump.
    pub dumpable: bool,
    /// `no strict-limits`: start with fewer descriptors than are needed.
    pub lax_limits: bool,
    /// `fd-hard-limit`: the most descriptors that the number of connections is computed from.
    pub fd_hard_limit: Option<u32>,
    /// `pidfile`.
    pub pidfile: Option<PathBuf>,
    /// `chroot`.
    pub chroot: Option<PathBuf>,
    /// `user` or `uid`, resolved.
    pub uid: Option<u32>,
    /// `group` or `gid`, resolved.
    pub gid: Option<u32>,
    /// `maxconn`: concurrent connections of the process.
    pub maxconn: Option<u32>,
    /// `maxpipes`: pipes for splicing; a quarter of the connections when not set.
    pub maxpipes: Option<u32>,
    /// `nosplice`: none at all.
    pub nosplice: bool,
    /// `namespace_list`: network namespaces that are opened at the start.
    pub namespaces: Vec<String>,
    /// `noreuseport`: no other process may listen on the addresses of this one.
    pub noreuseport: bool,
    /// `pp2-never-send-local`: PROXY headers of health checks name their connection.
    pub pp2_never_send_local: bool,
    /// `ulimit-n`: descriptors of the process.
    pub ulimit_n: Option<u32>,
    /// `nbthread`, 1 to 1024; at most 64 a group.
    pub nbthread: Option<u16>,
    /// `thread-groups`, 1 to 16.
    pub thread_groups: u16,
    /// `thread-group`: the threads of each group that has such a line.
    pub thread_group: BTreeMap<u16, ThreadSet>,
    /// The result of these: all threads with their groups.
    pub threads: Threads,
    /// `cpu-map` lines in order; a later line overrides earlier ones for the threads that both
    /// name.
    pub cpu_map: Vec<CpuMap>,
}

impl Default for Process {
    fn default() -> Self {
        Self {
            daemon: false,
            master_worker: false,
            no_exit_on_failure: false,
            max_reloads: None,
            quiet: false,
            zero_warning: false,
            external_check: false,
            insecure_fork: false,
            insecure_setuid: false,
            dumpable: false,
            lax_limits: false,
            fd_hard_limit: None,
            pidfile: None,
            chroot: None,
            uid: None,
            gid: None,
            maxconn: None,
            maxpipes: None,
            nosplice: false,
            namespaces: Vec::new(),
            noreuseport: false,
            pp2_never_send_local: false,
            ulimit_n: None,
            nbthread: None,
            thread_groups: 1,
            thread_group: BTreeMap::new(),
            threads: Threads::default(),
            cpu_map: Vec::new(),
        }
    }
}

/// One `cpu-map` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuMap {
    /// Groups concerned: bit 0 is group 1.
    pub groups: u64,
    /// Threads of these groups: bit 0 is the first of each.
    pub threads: u64,
    /// True with `auto:`: the nth of these gets the nth CPU.
    pub auto: bool,
    /// CPU numbers, ascending.
    pub cpus: Vec<u32>,
}

/// `tune.lua.*`; `None` for settings that are not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TuneLua {
    /// Scripts are loaded.
    pub loads: bool,
    /// `tune.lua.forced-yield`: instructions of a slice.
    pub forced_yield: Option<u32>,
    /// `tune.lua.maxmem`: megabytes of each state; 0 without limit.
    pub max_memory: Option<u32>,
    /// `tune.lua.burst-timeout`: milliseconds of one turn; 0 without end.
    pub burst_timeout: Option<u64>,
    /// `tune.lua.session-timeout`: milliseconds of an action.
    pub session_timeout: Option<u64>,
    /// `tune.lua.service-timeout`: milliseconds of a service.
    pub service_timeout: Option<u64>,
    /// `tune.lua.task-timeout`: milliseconds of a task; without end by default.
    pub task_timeout: Option<u64>,
}

/// `tune.*`; `None` means the built-in default.
#[derive(Debug, Default)]
pub struct Tune {
    /// `tune.h2.max-frame-size`, 16384 to 16777215 bytes; that of a buffer when not set.
    pub h2_max_frame_size: Option<u32>,
    /// `tune.http.cookielen`: bytes of a captured cookie; 0 for the default of 63.
    pub cookie_len: u32,
    /// `tune.peers.max-updates-at-once`; 200 by default.
    pub peers_max_updates: Option<u32>,
    /// `tune.memory.limit`: bytes of memory; 0 for no limit.
    pub memory_limit: Option<u64>,
    /// `tune.buffers.limit`: buffers of the process; 0 for no limit.
    pub buffer_limit: u32,
    /// `tune.buffers.reserve`: buffers that are reserved for finishing transactions; 2 by default.
    pub buffer_reserve: Option<u32>,
    /// `tune.pipesize`, bytes; 0 for the system's choice.
    pub pipe_size: u32,
    /// `tune.pool-low-fd-ratio`, percent; 20 by default.
    pub pool_low: Option<u32>,
    /// `tune.pool-high-fd-ratio`, percent; 25 by default.
    pub pool_high: Option<u32>,
    /// `tune.maxaccept`: connections accepted in a row; -1 for no limit.
    pub maxaccept: Option<i32>,
    /// `tune.maxpollevents`: events handled per call of the poller.
    pub maxpollevents: Option<u32>,
    /// `tune.runqueue-depth`: tasks run between two polls.
    pub runqueue_depth: Option<u32>,
    /// `tune.sched.low-latency`.
    pub low_latency: bool,
    /// `busy-polling`: never sleep.
    pub busy_polling: bool,
    /// `profiling.tasks`.
    pub profiling: Profiling,
    /// `tune.rcvbuf.client`, bytes; 0 for the system's.
    pub rcvbuf_client: u32,
    /// `tune.rcvbuf.server`
    pub rcvbuf_server: u32,
    /// `tune.notsent-lowat.client`, bytes; 0 for no bound, 256 KiB by default.
    pub unsent_client: Option<u32>,
    /// `tune.notsent-lowat.server`; 0 for no bound, which is the default.
    pub unsent_server: u32,
    /// `tune.sndbuf.client`
    pub sndbuf_client: u32,
    /// `tune.sndbuf.server`
    pub sndbuf_server: u32,
    /// `tune.why`: whether the outcomes of transactions are recorded.
    pub why: Option<bool>,
}

/// `stats socket`, `stats timeout`, `stats maxconn`.
#[derive(Debug)]
pub struct StatsSettings {
    /// Runtime sockets.
    pub sockets: Vec<Bind>,
    /// Idle time of a runtime connection, ms.
    pub timeout: u64,
    /// Concurrent runtime connections.
    pub maxconn: u32,
}

impl Default for StatsSettings {
    fn default() -> Self {
        Self { sockets: Vec::new(), timeout: 10_000, maxconn: 10 }
    }
}

/// Whether tasks are profiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profiling {
    /// Disabled.
    Off,
    /// While turns of the loop take long.
    #[default]
    Auto,
    /// Always.
    On,
}

/// The host name in the syslog header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SendHostname {
    /// None.
    #[default]
    No,
    /// The host name of the system.
    System,
    /// A configured host name.
    Name(String),
}
