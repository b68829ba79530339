//! The program as a child process, with sockets and files of its own.

use super::h3_client::free_address;
use super::{Client, Directory, Identity, LogReceiver, Origin, eventually, h3_bridge};
use openssl::x509::X509;
use std::collections::BTreeMap;
use std::io::{Read, Write as _};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};

/// Held while a child is started: only then are listening sockets inherited, so that no other child
/// of this process gets them.
static STARTING: Mutex<()> = Mutex::new(());

/// The program under test.
pub(crate) fn program() -> PathBuf {
    let other = std::env::var_os("WEIR_TEST_PROGRAM");
    other.map_or_else(|| env!("CARGO_BIN_EXE_weir-under-test").into(), PathBuf::from)
}

/// Whether the program under test was built on this TLS library.
pub(crate) fn is_built_on(library: &str) -> bool {
    let told = run(&["-vv"]).stdout;
    let told = String::from_utf8_lossy(&told);
    let line = told.lines().find_map(|line| line.strip_prefix("Built with OpenSSL version : "));
    line.is_some_and(|line| line.contains(library))
}

/// Runs the program to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(program());
    command.args(arguments).stdin(Stdio::null());
    let child = {
        let _alone = STARTING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    };
    child.and_then(Child::wait_with_output).expect("the program runs")
}

/// A configuration with names instead of addresses.
///
/// `bind <web>` makes a listener that the test holds a port for, `<web>` elsewhere is that address;
/// other names are given with [`Setup::with`]. `<dir>` is the test's directory.
pub(crate) struct Setup {
    text: String,
    names: BTreeMap<String, String>,
    arguments: Vec<String>,
    directory: Directory,
    program: PathBuf,
    inherited: Vec<OwnedFd>,
    /// The frontend `web` may have a listener of HTTP/3 too.
    may_bridge: bool,
}

impl Setup {
    pub(crate) fn new(text: &str) -> Self {
        let directory = Directory::new();
        let place = directory.as_path().display().to_string();
        Self {
            text: text.to_owned(),
            names: [("dir".to_owned(), place)].into(),
            arguments: vec!["-db".into()],
            directory,
            program: program(),
            inherited: Vec::new(),
            may_bridge: false,
        }
    }

    /// Has the program inherit a descriptor, which has a name in its configuration.
    pub(crate) fn inherit(mut self, name: &str, descriptor: OwnedFd) -> Self {
        self.names.insert(name.to_owned(), descriptor.as_raw_fd().to_string());
        self.inherited.push(descriptor);
        self
    }

    /// A frontend `web` in front of a backend `app` with the server lines given, in HTTP mode and
    /// with a log: what most tests need.
    pub(crate) fn http(front: &str, back: &str) -> Self {
        let setup = Self::new(&format!(
            "global\n    nbthread 1\n    stats socket <dir>/cli level admin\n\
             defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
             timeout server 20s\n    log <log> format raw local0\n    option httplog\n\
             frontend web\n    bind <web>\n    default_backend app\n{front}\n\
             backend app\n{back}\n"
        ));
        Self { may_bridge: true, ..setup }
    }

    /// Adds lines to the section `global`.
    pub(crate) fn global(mut self, lines: &str) -> Self {
        self.text = self.text.replacen("global\n", &format!("global\n    {lines}\n"), 1);
        self
    }

    /// Adds sections at the end.
    pub(crate) fn append(mut self, text: &str) -> Self {
        self.text.push_str(text);
        self
    }

    /// Gives a name its text.
    pub(crate) fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.names.insert(name.to_owned(), value.to_string());
        self
    }

    /// Arguments instead of `-db`.
    pub(crate) fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        self
    }

    /// Runs another program than the one under test.
    pub(crate) fn program(mut self, program: &std::path::Path) -> Self {
        self.program = program.to_owned();
        self
    }

    /// Writes a file that the configuration can name as `<dir>/name`.
    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        self.directory.write(name, text);
        self
    }

    /// The path of such a file.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path(name)
    }

    /// Starts the program with `<origin>` behind it and its lines sent to `<log>`.
    pub(crate) fn between(self, origin: &Origin, log: &LogReceiver) -> Running {
        self.with("origin", origin.address()).with("log", log.address()).start()
    }

    /// Starts the program.
    pub(crate) fn start(mut self) -> Running {
        self.names.entry("log".into()).or_insert_with(|| "127.0.0.1:9".into());
        let bridge = (self.may_bridge && h3_bridge::is_wanted()).then(|| self.add_h3());
        let mut listeners = BTreeMap::new();
        while let Some((name, datagrams)) = next_bind(&self.text) {
            let listener = Listening::open(datagrams);
            let inherited = format!("bind fd@{}", listener.socket.as_raw_fd());
            self.text = self.text.replace(&format!("bind <{name}>"), &inherited);
            self.names.insert(name.clone(), listener.address.to_string());
            listeners.insert(name, listener);
        }
        for (name, value) in &self.names {
            self.text = self.text.replace(&format!("<{name}>"), value);
        }
        let file = self.directory.write("weir.cfg", &self.text);
        let sockets = listeners.values().map(|it| &it.socket).chain(&self.inherited);
        let mut child = spawn(&self.command(&file), &sockets.collect::<Vec<_>>());
        let ports = listeners.iter().map(|(name, it)| (name.clone(), it.address));
        Running {
            ports: ports.collect(),
            errors: collect(child.stderr.take()),
            output: collect(child.stdout.take()),
            child,
            directory: self.directory,
            bridge,
        }
    }

    /// Adds a listener of HTTP/3 to the frontend `web`: its address, and a client's trust in it.
    fn add_h3(&mut self) -> (SocketAddr, Vec<u8>) {
        let address = free_address();
        let authority = Identity::new("authority", None);
        let identity = Identity::new("a.test", Some(&authority));
        let file = self.directory.write("h3.pem", &identity.pem());
        let line =
            format!("bind <web>\n    bind quic4@{address} ssl crt {} alpn h3", file.display());
        self.text = self.text.replacen("bind <web>", &line, 1);
        let trust = X509::from_pem(authority.certificate().as_bytes()).expect("a certificate");
        (address, trust.to_der().expect("a certificate"))
    }

    fn command(&self, file: &std::path::Path) -> Vec<String> {
        let mut words = vec![self.program.display().to_string()];
        words.extend(
            self.arguments
                .iter()
                .map(|word| word.replace("<dir>", &self.directory.as_path().display().to_string())),
        );
        words.extend(["-f".into(), file.display().to_string()]);
        words
    }
}

/// A socket that the program inherits.
struct Listening {
    socket: OwnedFd,
    address: SocketAddr,
}

impl Listening {
    fn open(datagrams: bool) -> Self {
        let (socket, address) = if datagrams {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
            let address = socket.local_addr();
            (socket.into(), address)
        } else {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let address = listener.local_addr();
            (listener.into(), address)
        };
        Self { socket, address: address.expect("a bound socket") }
    }
}

/// The name of the next `bind <name>`, and whether it is a `dgram-bind`.
fn next_bind(text: &str) -> Option<(String, bool)> {
    let (before, rest) = text.split_once("bind <")?;
    rest.split_once('>').map(|(name, _)| (name.to_owned(), before.ends_with("dgram-")))
}

fn spawn(words: &[String], inherited: &[&OwnedFd]) -> Child {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let _alone = STARTING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let inherit = |keep| {
        for socket in inherited {
            sys::process::keep_across_exec(socket.as_raw_fd(), keep).expect("an open socket");
        }
    };
    inherit(true);
    let child = command.spawn();
    inherit(false);
    child.expect("the program starts")
}

/// Collects what a child writes, from now on.
fn collect(stream: Option<impl Read + Send + 'static>) -> Arc<Mutex<String>> {
    let text = Arc::new(Mutex::new(String::new()));
    let shared = text.clone();
    let mut stream = stream.expect("the child's output is piped");
    std::thread::spawn(move || {
        let mut bytes = [0; 4_096];
        while let Ok(count @ 1..) = stream.read(&mut bytes) {
            let more = String::from_utf8_lossy(&bytes[..count]);
            shared.lock().expect("nothing panics with it").push_str(&more);
        }
    });
    text
}

/// A program that runs; killed when dropped.
pub(crate) struct Running {
    child: Child,
    ports: BTreeMap<String, SocketAddr>,
    errors: Arc<Mutex<String>>,
    output: Arc<Mutex<String>>,
    directory: Directory,
    /// The listener of HTTP/3 that clients of `web` use.
    bridge: Option<(SocketAddr, Vec<u8>)>,
}

impl Running {
    /// The address of a listener.
    pub(crate) fn address(&self, name: &str) -> SocketAddr {
        self.ports[name]
    }

    /// A new connection to a listener.
    pub(crate) fn connect(&self, name: &str) -> Client {
        match self.bridge.as_ref().filter(|_| name == "web") {
            Some((server, trust)) => h3_bridge::connect(*server, trust),
            None => Client::connect(self.address(name)),
        }
    }

    /// A new connection to the frontend of [`Setup::http`].
    pub(crate) fn web(&self) -> Client {
        self.connect("web")
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path(name)
    }

    /// The text on its standard error so far.
    pub(crate) fn errors(&self) -> String {
        self.errors.lock().expect("nothing panics with it").clone()
    }

    /// The text on its standard output so far.
    pub(crate) fn output(&self) -> String {
        self.output.lock().expect("nothing panics with it").clone()
    }

    /// Waits until its standard error contains a text.
    pub(crate) fn expect_error(&self, text: &str) {
        eventually(&format!("`{text}` on the standard error"), || {
            self.errors().contains(text).then_some(())
        });
    }

    pub(crate) fn signal(&self, number: i32) {
        sys::signal::send(self.pid() as i32, number).expect("the program runs");
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        eventually("the end of the program", || self.child.try_wait().expect("a child"))
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_none()
    }

    /// The answer of the runtime socket, without the empty line at its end.
    pub(crate) fn cli(&self, command: &str) -> String {
        let path = self.path("cli");
        let mut stream = eventually("the runtime socket", || UnixStream::connect(&path).ok());
        stream.set_read_timeout(Some(super::PATIENCE)).expect("a unix socket");
        stream.write_all(format!("{command}\n").as_bytes()).expect("the socket takes commands");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer.trim_end().to_owned()
    }

    /// A field of `show stat`, for a proxy and a service of it.
    pub(crate) fn stat(&self, proxy: &str, service: &str, field: &str) -> String {
        stat_of(&self.cli("show stat"), proxy, service, field)
    }

    /// Processor time used so far, in seconds.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.pid()));
        let text = text.expect("the program runs");
        let (_, fields) = text.rsplit_once(") ").expect("a process name in brackets");
        let fields: Vec<f64> = fields.split(' ').map(|it| it.parse().unwrap_or(0.0)).collect();
        // utime and stime, fields 14 and 15 of proc(5), in ticks of 1/100 s.
        (fields[11] + fields[12]) / 100.0
    }
}

/// A field of the statistics as CSV.
pub(crate) fn stat_of(csv: &str, proxy: &str, service: &str, field: &str) -> String {
    let mut lines = csv.lines();
    let names = lines.next().expect("a first line").trim_start_matches("# ");
    let place = names.split(',').position(|name| name == field).expect("a field of that name");
    let begin = format!("{proxy},{service},");
    let line = lines.find(|line| line.starts_with(&begin));
    let line = line.unwrap_or_else(|| panic!("no {proxy}/{service} in:\n{csv}"));
    line.split(',').nth(place).unwrap_or_default().to_owned()
}

impl Drop for Running {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let (errors, output) = (self.errors(), self.output());
            let _ = writeln!(std::io::stderr(), "the program's words:\n{errors}\n{output}");
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
