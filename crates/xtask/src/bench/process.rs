//! A started process: pinned, measured through /proc, and stopped when dropped.

use std::fs::File;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::clock;
use crate::failure::{self, Outcome};
use crate::tools;

/// How long a process may take to end by itself before it is killed.
const GRACE: Duration = Duration::from_secs(5);

/// A running process.
pub(crate) struct Process {
    child: Child,
}

impl From<Child> for Process {
    fn from(child: Child) -> Self {
        Self { child }
    }
}

/// A command that runs only on one processor.
pub(crate) fn pinned(processor: usize, program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.arg("-c").arg(processor.to_string()).arg(program);
    command
}

/// The same command, which ends with the thread that starts it, also when that is killed and drops
/// nothing. Without `setpriv`, the command is unchanged.
fn bound(command: &Command) -> Command {
    let mut bound = match tools::find("setpriv") {
        Some(tool) => {
            let mut bound = Command::new(tool);
            bound.args(["--pdeathsig", "TERM", "--"]).arg(command.get_program());
            bound
        }
        None => Command::new(command.get_program()),
    };
    bound.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => bound.env(name, value),
            None => bound.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        bound.current_dir(directory);
    }
    bound
}

/// Runs a command to its end, with its output thrown away.
pub(crate) fn run(command: &Command) -> Outcome<ExitStatus> {
    bound(command)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| failure::machine(format!("cannot start {command:?}: {error}")))
}

impl Process {
    /// Starts a command with its output in a file, or thrown away.
    pub(crate) fn start(command: &Command, output: Option<&Path>) -> Outcome<Self> {
        let mut bound = bound(command);
        if let Some(path) = output {
            let file = File::create(path)
                .and_then(|file| Ok((file.try_clone()?, file)))
                .map_err(|error| failure::machine(format!("{}: {error}", path.display())))?;
            bound.stdout(file.0).stderr(file.1);
        } else {
            bound.stdout(Stdio::null()).stderr(Stdio::null());
        }
        let child = bound
            .stdin(Stdio::null())
            .spawn()
            .map_err(|error| failure::machine(format!("cannot start {command:?}: {error}")))?;
        Ok(Self { child })
    }

    /// Has its first thread wait for no others on its processor, as if it had a machine of its own.
    pub(crate) fn urgent(self) -> Self {
        schedule(&self.child.id().to_string(), &["--fifo", "-p", "1"]);
        self
    }

    /// User and system time of all threads, in seconds.
    pub(crate) fn cpu(&self) -> Outcome<f64> {
        let text = self.proc_file("stat")?;
        let ticks = cpu_ticks(&text)
            .ok_or_else(|| failure::machine("cannot read the CPU time of a process"))?;
        Ok(ticks as f64 / ticks_per_second())
    }

    /// Voluntary context switches of its threads so far.
    pub(crate) fn voluntary_switches(&self) -> Outcome<u64> {
        let path = format!("/proc/{}/task", self.child.id());
        let tasks = std::fs::read_dir(&path)
            .map_err(|error| failure::machine(format!("{path}: {error}")))?;
        let of = |task: std::fs::DirEntry| {
            // A thread may end while this reads.
            let text = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
            field(&text, "voluntary_ctxt_switches:").unwrap_or(0)
        };
        Ok(tasks.flatten().map(of).sum())
    }

    /// CPU time of all its threads so far, exact where none of them runs at this moment.
    pub(crate) fn worked(&self) -> Outcome<Duration> {
        let path = format!("/proc/{}/task", self.child.id());
        let tasks = std::fs::read_dir(&path)
            .map_err(|error| failure::machine(format!("{path}: {error}")))?;
        Ok(tasks.flatten().map(|task| schedstat(&task.path(), 0)).sum())
    }

    /// How long its first thread has waited so far to be run, ready to continue.
    pub(crate) fn kept_waiting(&self) -> Duration {
        let id = self.child.id();
        schedstat(Path::new(&format!("/proc/{id}/task/{id}")), 1)
    }

    /// Resident memory, in KiB.
    pub(crate) fn resident(&self) -> Outcome<u64> {
        resident_kib(&self.proc_file("status")?)
            .ok_or_else(|| failure::machine("cannot read the memory of a process"))
    }

    /// Descriptors that it has open.
    pub(crate) fn descriptors(&self) -> Outcome<u64> {
        let path = format!("/proc/{}/fd", self.child.id());
        let open = std::fs::read_dir(&path)
            .map_err(|error| failure::machine(format!("{path}: {error}")))?;
        Ok(open.count() as u64)
    }

    /// Whether the process has not ended.
    pub(crate) fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends the process at once, without asking it.
    pub(crate) fn kill(&mut self) {
        // Fails only for a process that has ended already, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Sends a signal, named without `SIG`, and waits for the end.
    pub(crate) fn finish(mut self, signal: &str, patience: Duration) -> Outcome {
        self.signal(signal);
        match clock::wait_until(patience, Duration::from_millis(20), || !self.runs()) {
            true => Ok(()),
            false => Err(failure::check(format!("still runs after SIG{signal}"))),
        }
    }

    /// Sends a signal, named without `SIG`.
    pub(crate) fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        // The process may have ended already; then there is nothing to ask.
        let _ = Command::new("sh").args(["-c", &kill]).stderr(Stdio::null()).status();
    }

    fn proc_file(&self, name: &str) -> Outcome<String> {
        let path = format!("/proc/{}/{name}", self.child.id());
        std::fs::read_to_string(&path).map_err(|error| failure::machine(format!("{path}: {error}")))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.runs() {
            return;
        }
        self.signal("TERM");
        if !clock::wait_until(GRACE, Duration::from_millis(20), || !self.runs()) {
            self.kill();
        }
    }
}

/// Whether a process accepts on a local port within ten seconds.
pub(crate) fn wait_for_port(port: u16) -> bool {
    clock::wait_until(Duration::from_secs(10), Duration::from_millis(50), || {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    })
}

/// A field of a thread's `schedstat`: the time that it ran (0), or waited to (1). Zero if it has
/// just ended.
fn schedstat(task: &Path, field: usize) -> Duration {
    let text = std::fs::read_to_string(task.join("schedstat")).unwrap_or_default();
    let field = text.split_whitespace().nth(field);
    Duration::from_nanos(field.and_then(|it| it.parse().ok()).unwrap_or(0))
}

/// `utime + stime` of `/proc/PID/stat`: fields 14 and 15, counted behind the name in parentheses.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let field = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(field(11)? + field(12)?)
}

fn resident_kib(status: &str) -> Option<u64> {
    field(status, "VmRSS:")
}

/// The number behind a name of `/proc/PID/status`.
pub(crate) fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Ticks per second of the CPU times in /proc; 100 on every Linux unless the kernel was changed.
fn ticks_per_second() -> f64 {
    let output = Command::new("getconf").arg("CLK_TCK").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.ok().and_then(|text| text.parse().ok()).unwrap_or(100.0)
}

/// Has this process, from now on, run only on one processor.
pub(crate) fn pin_self(processor: usize) {
    let (processor, pid) = (processor.to_string(), std::process::id().to_string());
    // Where that is not allowed, figures are less steady.
    let _ = Command::new("taskset").args(["-cp", &processor, &pid]).output();
}

/// Has this thread, from now on, work only when no other wants to.
pub(crate) fn give_way() {
    // Where that is not allowed, figures are less steady.
    let _ = Command::new("renice").args(["-n", "19", "-p", &own_thread()]).output();
}

/// Runs a function in this thread without waiting for other tasks on its processor. `run` must not
/// start programs: they would be as urgent.
pub(crate) fn urgently<T>(run: impl FnOnce() -> T) -> T {
    let thread = own_thread();
    schedule(&thread, &["--fifo", "-p", "1"]);
    let result = run();
    schedule(&thread, &["--other", "-p", "0"]);
    result
}

/// Gives a thread another policy of scheduling. Where that is not allowed, figures are less steady.
fn schedule(thread: &str, policy: &[&str]) {
    let _ = Command::new("chrt").args(policy).arg(thread).output();
}

/// The number of this thread.
fn own_thread() -> String {
    let own = std::fs::read_link("/proc/thread-self").unwrap_or_default();
    own.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Lets this process open as many descriptors as its hard limit allows.
pub(crate) fn raise_descriptor_limit() {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let hard = line.and_then(|line| line.split_whitespace().nth(1)).unwrap_or("4096");
    let pid = std::process::id().to_string();
    let limit = format!("--nofile={hard}:{hard}");
    // Without prlimit the soft limit stays; a benchmark that needs more then says so itself.
    let _ = Command::new("prlimit").args(["--pid", &pid, &limit]).status();
}

#[cfg(test)]
mod tests {
    //! Reading /proc.
    use super::*;

    #[test]
    fn reads_cpu_time_behind_odd_names() {
        let stat = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 150 25 0 0 20";
        assert_eq!(cpu_ticks(stat), Some(175));
        assert_eq!(cpu_ticks("7 (a) S 1"), None);
    }

    #[test]
    fn reads_memory() {
        assert_eq!(resident_kib("VmPeak:\t  9 kB\nVmRSS:\t    1234 kB\n"), Some(1234));
        assert_eq!(resident_kib("VmPeak:\t  9 kB\n"), None);
        let status = "voluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t7\n";
        assert_eq!(field(status, "voluntary_ctxt_switches:"), Some(12));
    }

    #[test]
    fn no_process_outlives_its_parent() {
        if tools::find("setpriv").is_none() {
            return eprintln!("skipped: there is no setpriv");
        }
        let mut process = std::thread::spawn(|| {
            let process = Process::start(Command::new("sleep").arg("600"), None).unwrap();
            // The child runs `setpriv`, and is bound to its parent, before it becomes `sleep`.
            let begun = || process.proc_file("comm").is_ok_and(|name| name == "sleep\n");
            assert!(clock::wait_until(GRACE, Duration::from_millis(1), begun));
            process
        })
        .join()
        .unwrap();
        let ended = || !process.runs();
        assert!(clock::wait_until(Duration::from_secs(20), Duration::from_millis(1), ended));
    }

    #[test]
    fn measures_a_real_process() {
        let mut process = Process::start(Command::new("sleep").arg("60"), None).unwrap();
        assert!(process.runs());
        assert!(process.cpu().unwrap() < 1.0);
        assert!(process.worked().unwrap() < Duration::from_secs(1));
        assert!(process.resident().unwrap() > 0);
        process.kill();
        assert!(!process.runs());
    }
}
