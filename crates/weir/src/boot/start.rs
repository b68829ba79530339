//! Starting and ending the process. Never touches a connection.

use super::listeners::{Opener, Pool};
use super::old_processes::{self, Predecessors};
use super::runtime_sockets::{self, Console};
use super::socket_files::SocketFiles;
use super::{greeting, limits, logs, memory, peers, proxies, scripts, takeover};
use crate::cli::Options;
use crate::master::watch;
use crate::start_error::StartError;
use crate::{complain, fail, signals};
use config::Model;
use config::data_plane::{Builder, Machine};
use engine::state::os_handles::OsHandles;
use engine::state::runtime::Shared;
use reactor::os::Os;
use reactor::watchdog::Hold;
use reactor::{ClockCorrection, Handle, Heartbeat, Thread, Threads, Watchdog};
use settings::Process;
use settings::memory::Budget;
use settings::memory::BufferLimit;
use std::io;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier};
use std::time::Duration;
use sys::sd_notify::ServiceManager;

/// Events per poll: enough for all clients that are active at the same moment, so that the last one
/// is seen too and may go first.
const MAX_EVENTS: usize = 4_096;

/// The longest wait at the end of the process for files that helper threads are writing.
const SETTLE: Duration = Duration::from_secs(1);

/// Serves until a signal ends it. `said` holds the messages about the configuration.
pub(crate) fn run(model: Model, options: &Options, said: &str) -> ExitCode {
    let pool = match options.takes_over.as_deref().map(takeover::at) {
        None => Pool::default(),
        Some(Ok(pool)) => pool,
        Some(Err(error)) => {
            let text = "Failed to get the sockets from the old process!";
            return fail(&format!("[haproxy.main()] {text} ({error})"));
        }
    };
    let mut prepared = match Prepared::new(model, options, said, (pool, Predecessors::of(options)))
    {
        Ok(prepared) => prepared,
        Err(alerts) => {
            alerts.iter().for_each(|text| watch::print("ALERT", text));
            return ExitCode::from(1);
        }
    };
    let told = prepared.warn_of_what_needs_a_master(options);
    told.iter().for_each(|text| complain(text));
    let place = Place { manager: manager(), ..Place::default() };
    let started = background(&prepared.model, options).and_then(|()| {
        if let Some(path) = foreground_pid_file(&prepared.model, options) {
            write_pid(&path, std::process::id())?;
        }
        let files = prepared.opener.files();
        files.adopt();
        files.publish()
    });
    if let Err(error) = started {
        prepared.opener.give_up();
        return fail(&format!("[haproxy.main()] {error}"));
    }
    old_processes::dismiss(options);
    prepared.serve(options, place)
}

/// Everything that is opened and built before any task runs.
pub(super) struct Prepared {
    pub(super) model: Model,
    maxconn: u32,
    memory: Option<Budget>,
    settings: Process,
    proxies: Vec<settings::ProxySection>,
    pub(super) runtime: admin::Settings,
    console: Vec<Console>,
    opener: Opener,
    handles: OsHandles,
}

/// Relation of a serving process to its service manager and its master.
#[derive(Default)]
pub(super) struct Place {
    /// Service manager to notify once the process serves.
    pub(super) manager: Option<ServiceManager>,
    /// The descriptor of the master's connections to this process, and the pipe to notify the
    /// master.
    pub(super) master: Option<(i32, i32)>,
    /// Whether the addresses of the listeners are not printed.
    pub(super) silent: bool,
}

impl Prepared {
    /// Opens all sockets; those handed over by a previous process are used, and other processes
    /// make room.
    ///
    /// # Errors
    /// Alerts, one text each.
    pub(super) fn new(
        mut model: Model,
        options: &Options,
        said: &str,
        (pool, before): (Pool, Predecessors),
    ) -> Result<Self, Vec<String>> {
        scripts::initialize().map_err(|error| vec![error.to_string()])?;
        let main = |error: &dyn std::fmt::Display| vec![format!("[haproxy.main()] {error}")];
        if let Some(mib) = options.memory_mib {
            sys::process::limit_memory(memory::most_address_space(u64::from(mib) << 20))
                .map_err(|error| main(&format_args!("Cannot limit memory to {mib} MB: {error}")))?;
        }
        let replaces = !pool.is_empty() || !options.old_pids.is_empty();
        let mut opener = Opener::with(pool, before);
        namespaces(&model, &mut opener).map_err(|error| main(&error))?;
        let maxconn = limits::connections(&model, options, proxies::listeners(&model))
            .map_err(|error| main(&error))?;
        let mut errors = Vec::new();
        limits::proxies(&mut model, options);
        if options.no_reuse_port && !model.global.process.noreuseport {
            forbid_shards(&mut model);
        }
        warn_of_slow_expressions();
        let known = (runtime_sockets::certificates(&model), runtime_sockets::bases(&model));
        let mut handles = OsHandles::default();
        let mut from = std::mem::take(&mut model.proxies);
        let mut builder = Builder::new(&model.global, machine());
        let open = (&mut opener, &mut handles);
        let shown = from.len();
        from.append(&mut model.hidden);
        let mut proxies = proxies::all(&mut from, &mut builder, &model.global, open, &mut errors);
        proxies[shown..].iter_mut().for_each(|proxy| proxy.hidden = true);
        logs::backing_files(&model, &mut handles, &mut errors);
        logs::forwards(&model, (&mut opener, &mut handles), &mut errors);
        let open = (&mut opener, &mut handles);
        let peers = peers::sections(&model, &mut builder, replaces, open, &mut errors);
        let settings = Process { peers, ..builder.process(&model) };
        let (mut runtime, console) =
            runtime_sockets::open(&model, (options, said), known, &mut opener, &mut errors);
        let text = std::mem::take(&mut model.text);
        runtime.configuration = runtime_sockets::configuration(text, &proxies);
        let limit = model.global.tune.memory_limit;
        let threads = model.global.process.threads.count();
        let mut found = Ok(None);
        if errors.is_empty() {
            found = rehearse(&model).and_then(|()| memory::budget(options, limit, threads));
        }
        if let Err(error) = found {
            opener.give_up();
            return Err(main(&error));
        }
        if errors.is_empty() {
            opener.close_rest();
            return Ok(Self {
                model,
                maxconn,
                memory: found.ok().flatten(),
                settings,
                proxies,
                runtime,
                console,
                opener,
                handles,
            });
        }
        opener.give_up();
        errors.push(main(&"Some protocols failed to start their listeners! Exiting.").concat());
        Err(errors)
    }

    /// Closes the opened sockets, as another process has them; the caller publishes the socket
    /// files.
    pub(super) fn leave(self) -> SocketFiles {
        self.opener.close()
    }

    /// Takes the socket files over from the process that this one is a copy of.
    pub(super) fn adopt_files(&mut self) {
        self.opener.files().adopt();
    }

    /// Addresses of the runtime sockets.
    pub(super) fn addresses(&self) -> Vec<String> {
        self.runtime.sockets.iter().map(|socket| socket.address.clone()).collect()
    }

    fn warn_of_what_needs_a_master(&self, options: &Options) -> Vec<String> {
        let pid = std::process::id();
        let programs = (!self.model.programs.is_empty()).then_some("'program' sections have");
        let sockets = (!options.master_sockets.is_empty()).then_some("-S has");
        let line = |what| format!("[WARNING]  ({pid}) : {what} no effect without a master (-W)\n");
        programs.into_iter().chain(sockets).map(line).collect()
    }

    /// Gives up privileges and serves until a signal ends it.
    pub(super) fn serve(mut self, options: &Options, place: Place) -> ExitCode {
        let model = &self.model;
        let quiet = options.quiet || model.global.process.quiet || place.silent;
        if let Some(text) = unsafe_identity(model).filter(|_| !quiet) {
            complain(&format!("[WARNING]  ({}) : {text}.\n", std::process::id()));
        }
        // These steps need `/proc`, files of the system, or the rights of the start.
        sys::output::prepare(&logs::descriptors(model));
        let threads = Threads::open().ok();
        memory::prepare();
        sys::clock::local_offset(0);
        if let Err(error) = confine(model) {
            return fail(&format!("[haproxy.main()] {error}"));
        }
        if let Some((channel, _)) = place.master {
            // A worker without its master is out of reach, and the next worker could share its
            // ports. Where the system lacks this signal, the worker continues.
            let _ = sys::process::die_with_parent();
            let console = runtime_sockets::to_master(channel);
            self.runtime.sockets.push(console.socket.clone());
            self.console.push(console);
            // The master has set its own address and that of this process.
            for name in ["HAPROXY_CLI", "HAPROXY_MASTER_CLI"] {
                let Ok(value) = std::env::var(name) else { continue };
                self.runtime.environment.retain(|(own, _)| own != name);
                self.runtime.environment.push((name.to_owned(), value));
            }
        }
        let mut handles = self.handles;
        handles.namespaces = self.opener.namespaces();
        let settings = process(self.settings, model, options, self.maxconn);
        let (memory, buffer_limit) = (self.memory, buffers(&settings, self.memory));
        let settings = Process { memory, buffer_limit, ..settings };
        let shared = proxy::build(settings, self.proxies, handles, sys::clock::monotonic());
        sample::vars::references::complete();
        if let Some(scripts) = scripts::runtime() {
            let _ = shared.scripts.set(scripts);
            match scripts::encryption(model) {
                Ok(encryption) => drop(shared.script_encryption.set(encryption)),
                Err(error) => return fail(&format!("[haproxy.main()] {error}")),
            }
        }
        if !model.global.tls.updates_nothing && self.runtime.tls.fetches_responses() {
            let _ = shared.stapled.set(self.runtime.tls.clone());
        }
        shared.records.store(model.global.tune.why.unwrap_or(true), Ordering::Relaxed);
        for text in shared.restored.get().into_iter().flatten().filter(|_| !shared.settings.quiet) {
            complain(&format!("[WARNING]  ({}) : config : {text}\n", shared.settings.pid));
        }
        let runtime = Arc::new(self.runtime);
        if !shared.settings.quiet && !is_daemon(model, options) && !place.silent {
            complain(&greeting::text(&shared.proxies, &runtime, shared.settings.pid));
        }
        crate::never_wait_to_complain();
        report_panics();
        let result = serve(model, options, &shared, (runtime, self.console, place, threads));
        shared.rings.iter().for_each(|ring| ring.await_file(SETTLE));
        sys::output::flush(SETTLE);
        match result {
            Ok(()) => exit_code(),
            Err(error) => fail(&format!("[haproxy.main()] Cannot start: {error}")),
        }
    }
}

/// The machine and the program, as settings name them.
fn machine() -> Machine {
    let software = format!("HAProxy {}", crate::version::VERSION);
    Machine { hostname: sys::hostname(), software }
}

/// The service manager to notify, if one started the process.
pub(super) fn manager() -> Option<ServiceManager> {
    let address = std::env::var_os("NOTIFY_SOCKET")?;
    match ServiceManager::at(&address) {
        Ok(manager) => Some(manager),
        Err(error) => {
            let (pid, address) = (std::process::id(), address.display());
            complain(&format!(
                "[WARNING]  ({pid}) : Cannot reach NOTIFY_SOCKET {address}: {error}\n"
            ));
            None
        }
    }
}

/// Leaves listeners without `shards`, with a warning; the parser has already reported the lines of
/// a configuration with `noreuseport`.
fn forbid_shards(model: &mut Model) {
    for bind in model.proxies.iter().flat_map(|proxy| proxy.sharded()) {
        let (pid, line) = (std::process::id(), &bind.written);
        complain(&format!(
            "[WARNING]  ({pid}) : 'bind {line}' : 'shards' has no effect with '-dR'\n"
        ));
    }
    model.global.process.noreuseport = true;
}

/// Warns of a system that has no just-in-time compiler for regular expressions.
fn warn_of_slow_expressions() {
    if sample::regex::jit_is_forbidden() {
        let text = "The system forbids executable memory: regular expressions are matched \
                    without the just-in-time compiler, several times slower \
                    (MemoryDenyWriteExecute of systemd, SELinux execmem).";
        complain(&format!("[WARNING]  ({}) : {text}\n", std::process::id()));
    }
}

/// Opens the namespaces of `namespace_list`, so that a missing one is found now.
fn namespaces(model: &Model, opener: &mut Opener) -> io::Result<()> {
    model.global.process.namespaces.iter().try_for_each(|name| opener.namespace(name).map(drop))
}

fn exit_code() -> ExitCode {
    let number = signals::STOPPED_BY.load(Ordering::Relaxed);
    if number == sys::signal::INT || number == sys::signal::TERM {
        // As HAProxy: a waiting parent sees that the signal has ended the process.
        let _ = sys::signal::restore(number);
        let _ = sys::signal::send(std::process::id() as i32, number);
    }
    // The first process of a container outlives that: the shell's convention says the same.
    match number {
        number if number == sys::signal::INT => ExitCode::from(130),
        number if number == sys::signal::TERM => ExitCode::from(143),
        _ => ExitCode::SUCCESS,
    }
}

/// The settings of the process, with what the system and the command line decide.
fn process(settings: Process, model: &Model, options: &Options, maxconn: u32) -> Process {
    Process {
        maxconn,
        pid: std::process::id(),
        quiet: options.quiet || model.global.process.quiet,
        idle_descriptors: Some(limits::idle(&model.global.tune)),
        splice: limits::pipes(model, options, maxconn),
        ..settings
    }
}

pub(super) fn is_daemon(model: &Model, options: &Options) -> bool {
    let in_file = model.global.process.daemon && !options.ignores_daemon;
    (options.daemon || in_file) && !options.foreground
}

/// Goes to the background if it is to; the parent writes the pid file then, so that a
/// caller that waits for its end finds the file.
pub(super) fn background(model: &Model, options: &Options) -> Result<(), StartError> {
    if is_daemon(model, options) {
        let note = |child| pid_file(model, options).map_or(Ok(()), |path| write_pid(path, child));
        let parent = |child| match note(child) {
            Ok(()) => 0,
            Err(error) => {
                // The process has served nothing yet: the child ends with it.
                let _ = sys::signal::send(child as i32, sys::signal::TERM);
                fail(&format!("[haproxy.main()] {error}"));
                1
            }
        };
        sys::process::daemonize(parent).map_err(StartError::Fork)?;
        sys::process::detach_standard_streams().map_err(StartError::Detach)?;
    }
    Ok(())
}

/// Writes the pid file of a process that stays in the foreground.
pub(super) fn foreground_pid_file(model: &Model, options: &Options) -> Option<PathBuf> {
    pid_file(model, options).filter(|_| !is_daemon(model, options)).cloned()
}

fn pid_file<'a>(model: &'a Model, options: &'a Options) -> Option<&'a PathBuf> {
    options.pid_file.as_ref().or(model.global.process.pidfile.as_ref())
}

/// Gives up privileges in a copy of this process, so that a start that fails at this step has
/// changed nothing yet: no socket file, no pid file, no process before it.
fn rehearse(model: &Model) -> Result<(), StartError> {
    let process = &model.global.process;
    if process.chroot.is_none() && process.uid.is_none() && process.gid.is_none() {
        return Ok(());
    }
    let message = || confine(model).err().map(|error| error.to_string()).unwrap_or_default();
    match sys::fork::run_in_fork(message).map_err(StartError::Fork)? {
        text if text.is_empty() => Ok(()),
        text => Err(StartError::Rehearsal(text)),
    }
}

/// A warning about the future user and group of the process, if they are unsafe.
fn unsafe_identity(model: &Model) -> Option<&'static str> {
    let (process, (user, group)) = (&model.global.process, sys::process::is_privileged());
    let keeps_user = user && process.uid.is_none_or(|uid| uid == 0);
    let keeps_group = group && process.gid.is_none_or(|gid| gid == 0);
    match (keeps_user, keeps_group, process.chroot.is_some()) {
        (true, _, false) => Some("The process runs as root, with neither 'user' nor 'chroot'"),
        (true, _, true) => {
            Some("The process runs as root: it can leave its 'chroot' without 'user'")
        }
        (false, true, _) => {
            Some("'user' is set without 'group': the process stays in the group root")
        }
        _ => None,
    }
}

/// Gives up privileges.
fn confine(model: &Model) -> Result<(), StartError> {
    let process = &model.global.process;
    if let Some(path) = &process.chroot {
        sys::process::chroot(path)
            .map_err(|error| StartError::Chroot { path: path.clone(), error })?;
    }
    if !process.insecure_setuid {
        // Systems without this call have no privileges to lock.
        let _ = sys::process::set_no_new_privileges();
    }
    sys::process::drop_privileges(process.uid, process.gid).map_err(StartError::User)?;
    if process.dumpable
        && let Err(error) = sys::process::allow_core_dumps()
    {
        complain(&format!(
            "[WARNING]  ({}) : Cannot set the process dumpable: {error}\n",
            std::process::id()
        ));
    }
    Ok(())
}

/// Writes a pid file.
pub(super) fn write_pid(path: &Path, pid: u32) -> Result<(), StartError> {
    std::fs::write(path, format!("{pid}\n"))
        .map_err(|error| StartError::PidFile { path: path.to_owned(), error })
}

/// Runs all workers; returns when the last has ended.
fn serve(
    model: &Model,
    options: &Options,
    shared: &Arc<Shared>,
    (runtime, console, place, watched): (
        Arc<admin::Settings>,
        Vec<Console>,
        Place,
        Option<Threads>,
    ),
) -> io::Result<()> {
    let bell = signals::prepare(options.debug)?;
    sys::signal::block(&crate::master::SIGNALS, false)?;
    let threads = shared.settings.threads;
    let plan = Plan {
        settings: thread_settings(model),
        events: model.global.tune.maxpollevents.map_or(MAX_EVENTS, |events| events as usize),
        maps: model.global.process.cpu_map.clone(),
        seats: model.global.process.threads.clone(),
        stop: signals::Stop {
            grace: u32::try_from(model.global.grace).unwrap_or(u32::MAX),
            hard_after: model
                .global
                .hard_stop_after
                .map(|span| u32::try_from(span).unwrap_or(u32::MAX)),
        },
        bell,
        runtime,
        console,
        manager: place.manager.map(Arc::new),
        master: place.master.map(|(_, told)| told),
        ready: Barrier::new(threads),
    };
    let clock_correction = &ClockCorrection::new(threads);
    watch(clock_correction.heartbeats().to_vec(), watched)?;
    sample::pattern::set_background_priority(sys::process::lower_priority);
    std::thread::scope(|scope| {
        let plan = &plan;
        for index in 1..threads {
            let builder = std::thread::Builder::new().name(format!("worker-{index}"));
            let run = move || employ(index, shared, plan, clock_correction);
            builder.spawn_scoped(scope, run).unwrap_or_else(|error| give_up(index, &error));
        }
        // The first worker is this thread: with `nbthread 1` it shares its descriptors with no
        // other.
        employ(0, shared, plan, clock_correction);
    });
    Ok(())
}

fn thread_settings(model: &Model) -> reactor::thread::Settings {
    let tune = &model.global.tune;
    let mut scheduler = reactor::SchedulerSettings::default();
    if let Some(depth) = tune.runqueue_depth {
        scheduler.depth = depth;
    }
    scheduler.low_latency = tune.low_latency;
    scheduler.profiling = match tune.profiling {
        config::model::Profiling::Off => reactor::Profiling::Off,
        config::model::Profiling::Auto => reactor::Profiling::Auto,
        config::model::Profiling::On => reactor::Profiling::On,
    };
    reactor::thread::Settings { scheduler, busy_polling: tune.busy_polling }
}

/// Settings from which all workers start.
struct Plan {
    settings: reactor::thread::Settings,
    events: usize,
    maps: Vec<config::model::CpuMap>,
    seats: config::model::Threads,
    stop: signals::Stop,
    bell: Handle,
    runtime: Arc<admin::Settings>,
    console: Vec<Console>,
    manager: Option<Arc<ServiceManager>>,
    /// Descriptor that notifies the master once all workers run.
    master: Option<i32>,
    ready: Barrier,
}

/// Runs one worker; the process ends if the worker fails.
fn employ(
    index: usize,
    shared: &Arc<Shared>,
    plan: &Plan,
    clock_correction: &Arc<ClockCorrection>,
) {
    // The scheduler handles a task that panics; a panic outside of tasks ends the thread.
    let run = AssertUnwindSafe(|| work(index, shared, plan, clock_correction));
    let panicked = |_| Err(io::Error::other("it has panicked"));
    let result = std::panic::catch_unwind(run).unwrap_or_else(panicked);
    result.unwrap_or_else(|error| give_up(index, &error));
}

/// Ends the process: the others would wait for a worker that does not start, and clients for one
/// that does not continue.
fn give_up(index: usize, error: &io::Error) -> ! {
    fail(&format!("[haproxy.main()] Thread {} cannot work: {error}", index + 1));
    // Destructors do not run, because other threads still use their objects.
    sys::fork::exit_now(1)
}

/// The work of one worker, from its start to its end.
fn work(
    index: usize,
    shared: &Arc<Shared>,
    plan: &Plan,
    clock_correction: &Arc<ClockCorrection>,
) -> io::Result<()> {
    memory::prepare_thread();
    let seat = plan.seats.seat(index);
    if let Some(cpus) = seat.and_then(|seat| limits::processors(&plan.maps, seat))
        && let Err(error) = sys::cpu::bind_thread(&cpus)
    {
        complain(&format!(
            "[WARNING]  ({}) : Cannot bind thread {}: {error}\n",
            std::process::id(),
            index + 1
        ));
    }
    let kernel = Box::new(Os::new(plan.events)?);
    let thread = Thread::of_process(index, kernel, plan.settings, clock_correction);
    let worker = proxy::start(&thread, shared, Box::new(admin::Pages::new(plan.runtime.clone())));
    if index == 0 {
        let sockets = plan.console.iter().map(|console| (console.handle, &console.socket));
        admin::serve(&worker, sockets, &plan.runtime);
        signals::start(&worker, plan.bell, plan.stop, plan.manager.clone());
    }
    plan.ready.wait();
    if let Some(manager) = plan.manager.as_ref().filter(|_| index == 0) {
        manager.ready(std::process::id());
    }
    if let Some(told) = plan.master.filter(|_| index == 0) {
        // A failure means that the master is gone, and needs no notice.
        let _ = sys::socketpair::send(told, b"1", &[]);
        sys::close(told);
    }
    thread.run()
}

/// How many buffers there may be: as many as the file says, and no more than fit into their part of
/// the memory budget.
fn buffers(settings: &Process, budget: Option<Budget>) -> Option<BufferLimit> {
    let Some(budget) = budget else { return settings.buffer_limit };
    let most = budget.buffers(settings.buffer_size);
    let said = settings.buffer_limit.map_or(usize::MAX, |limit| limit.buffers);
    let reserve = settings.buffer_limit.map_or(BufferLimit::RESERVE, |limit| limit.reserve);
    Some(BufferLimit { buffers: most.min(said), reserve, sheds: true })
}

/// Watches the workers. A thread that computes forever ends the process; a thread that is blocked
/// in the kernel is reported.
fn watch(heartbeats: Vec<Arc<Heartbeat>>, threads: Option<Threads>) -> io::Result<()> {
    Watchdog::new(heartbeats).run(threads, |finding| {
        let pid = std::process::id();
        match finding.hold {
            Hold::Busy(_) => {
                complain(&format!("[ALERT]    ({pid}) : {finding}. The process is given up.\n"));
                std::process::abort();
            }
            Hold::Blocked(..) => complain(&format!("[ALERT]    ({pid}) : {finding}.\n")),
            Hold::Back(_) => complain(&format!("[WARNING]  ({pid}) : {finding}.\n")),
        }
    })
}

/// Reports a panic as the standard library does, but without waiting for a reader.
fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("<unnamed>");
        let trace = std::backtrace::Backtrace::capture();
        let trace = match trace.status() {
            std::backtrace::BacktraceStatus::Captured => format!("{trace}\n"),
            _ => String::new(),
        };
        complain(&format!("thread '{name}' {panic}\n{trace}"));
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(lines: &str) -> Model {
        let text = format!("global\n{lines}\nlisten l\n bind :1\n timeout client 1s\n");
        let setup = config::Setup::default();
        config::load(&[config::Source::new("a.cfg", &text)], setup).model.expect("a good text")
    }

    #[test]
    fn tuning_reaches_the_process() {
        let settings = |lines: &str| {
            let model = model(lines);
            let made = Builder::new(&model.global, machine()).process(&model);
            process(made, &model, &Options::default(), 40)
        };
        assert!(settings("").spreads_clients);
        assert!(!settings(" tune.listener.multi-queue off\n").spreads_clients);
        assert_eq!((settings("").history, settings(" tune.history 0\n").history), (600, 0));
        let lines = " tune.h2.fe.max-frames-at-once 3\n tune.h2.be.max-frames-at-once 4\n \
                     tune.h2.fe.max-rst-at-once 5\n";
        let bounds = |http: settings::Http2| (http.max_frames_at_once, http.max_rst_at_once);
        assert_eq!(
            (bounds(settings("").h2), bounds(settings(lines).h2)),
            (([0; 2], 0), ([3, 4], 5))
        );
        assert!(settings("").histograms && !settings(" tune.histograms off\n").histograms);
    }

    #[test]
    fn tuning_reaches_the_threads() {
        let settings = thread_settings(&model(""));
        let scheduler = reactor::SchedulerSettings::default();
        assert_eq!((settings.scheduler.depth, settings.busy_polling), (scheduler.depth, false));
        assert_eq!(settings.scheduler.profiling, reactor::Profiling::Auto);
        assert!(!settings.scheduler.low_latency);
        let lines = " tune.runqueue-depth 77\n tune.sched.low-latency on\n busy-polling\n \
                     profiling.tasks on\n";
        let settings = thread_settings(&model(lines));
        assert_eq!((settings.scheduler.depth, settings.busy_polling), (77, true));
        assert_eq!(settings.scheduler.profiling, reactor::Profiling::On);
        assert!(settings.scheduler.low_latency);
    }
}
