//! Flags and exit statuses: what operators and service files rely on.

use crate::support::{Directory, Setup, eventually, program, run};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

const GOOD: &str = "frontend f\n    mode http\n    timeout client 1s\n    bind 127.0.0.1:0\n";
const NO_LISTENER: &str =
    "backend b\n    mode http\n    timeout server 1s\n    timeout connect 1s\n";

fn code(output: &Output) -> i32 {
    output.status.code().expect("it exits by itself")
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A directory with one configuration file, and that file's path.
fn written(text: &str) -> (Directory, String) {
    let directory = Directory::new();
    // A port of the system's choice: only checked, never opened.
    let path = directory.write("a.cfg", &text.replace("127.0.0.1:0", "127.0.0.1:9999"));
    (directory, path.display().to_string())
}

#[test]
fn exit_statuses_of_a_check_differ_for_valid_invalid_and_useless_files() {
    let (_kept, good) = written(GOOD);
    let output = run(&["-c", "-f", &good]);
    assert_eq!((code(&output), words(&output).as_str()), (0, "Configuration file is valid\n"));

    let (_kept, bad) = written("frontend f\n    bidn :80\n");
    assert_eq!(code(&run(&["-c", "-f", &bad])), 1);

    let (_kept, useless) = written(NO_LISTENER);
    assert_eq!(code(&run(&["-c", "-f", &useless])), 2);
}

#[test]
fn every_error_of_a_file_is_listed_with_its_place() {
    let (_kept, bad) = written(
        "global\n    maxcon 10\ndefaults\n    mode htpp\n    timeout client abc\n\
         frontend f\n    bind 127.0.0.1:0\n    default_backend nowhere\n    use_backend b if {\n",
    );
    let output = run(&["-c", "-f", &bad]);
    assert_eq!(code(&output), 1);
    let text = errors(&output);
    for line in [2, 4, 5, 9] {
        assert!(text.contains(&format!("a.cfg:{line}]")), "line {line} is missing in:\n{text}");
    }
    assert!(text.contains("nowhere"), "{text}");
    assert!(text.contains("maxconn"), "the right word is proposed:\n{text}");
}

#[test]
fn a_quiet_configuration_is_checked_without_output() {
    let (_kept, quiet) = written(&format!("global\n    quiet\n    maxconn 10k\n{GOOD}"));
    let output = run(&["-c", "-f", &quiet]);
    assert_eq!((code(&output), words(&output), errors(&output)), (0, String::new(), String::new()));
}

#[test]
fn a_quiet_configuration_mutes_errors_behind_it_unless_verbose() {
    let (_kept, bad) =
        written("early\nglobal\n    quiet\n    quiet\nfrontend f\n    bidn 127.0.0.1:80\n");
    let told = |arguments: &[&str]| {
        let output = run(&[arguments, &["-f", &bad]].concat());
        assert_eq!((code(&output), words(&output)), (1, String::new()), "{arguments:?}");
        ["early", "bidn", "Fatal errors"].map(|word| errors(&output).contains(word))
    };
    assert_eq!(told(&["-c"]), [true, false, false]);
    assert_eq!(told(&[]), [true, false, false]);
    assert_eq!(told(&["-c", "-q"]), [false; 3]);
    assert_eq!(told(&["-c", "-V"]), [true; 3]);
    assert_eq!(told(&["-c", "-q", "-V"]), [true; 3]);
    let (_kept, good) = written(&format!("global\n    quiet\n{GOOD}mailers m\n"));
    let output = run(&["-c", "-V", "-f", &good]);
    assert_eq!(words(&output), "Warnings were found.\nConfiguration file is valid\n");
    assert!(errors(&output).contains("Removing incomplete section 'mailers m'."));
}

#[test]
fn warnings_fail_a_check_on_demand() {
    let (_kept, file) = written("frontend f\n    mode http\n    bind 127.0.0.1:0\n");
    let output = run(&["-c", "-f", &file]);
    assert_eq!(code(&output), 0, "{}", errors(&output));
    assert!(errors(&output).contains("[WARNING]"), "a missing timeout is a warning");
    assert_eq!(words(&output), "Warnings were found.\nConfiguration file is valid\n");
    assert_eq!(code(&run(&["-c", "-dW", "-f", &file])), 1);
}

#[test]
fn certificates_of_servers_are_trusted_on_demand() {
    let servers = "backend b\n    server s 127.0.0.1:1 ssl\n";
    let (_kept, file) = written(&format!("{GOOD}{servers}"));
    assert_eq!(
        [run(&["-c", "-f", &file]), run(&["-c", "-dV", "-f", &file])].map(|it| code(&it)),
        [1, 0]
    );
    let (_kept, strict) =
        written(&format!("global\n    ssl-server-verify required\n{GOOD}{servers}"));
    assert_eq!(code(&run(&["-c", "-dV", "-f", &strict])), 1, "the configuration has the last word");
}

#[test]
fn a_process_that_cannot_start_exits_with_status_1() {
    let directory = Directory::new();
    let empty = directory.as_path().display().to_string();
    let output = run(&["-c", "-f", &empty]);
    assert_eq!(code(&output), 1, "a directory without a file");
    let line = errors(&output);
    assert!(line.contains(&format!("No configuration file found in {empty} : ")), "{line}");
    assert!(line.starts_with("[ALERT]") && line.contains("whose names end with .cfg"), "{line}");
    let (_kept, mute) = written("defaults\n    mode http\n");
    assert_eq!([run(&["-c", "-f", &mute]), run(&["-f", &mute])].map(|it| code(&it)), [2, 1]);
    let output = run(&["-C", "/nope", "-c", "-f", &empty]);
    assert!(errors(&output).ends_with("directory /nope : No such file or directory\n"));
}

#[test]
fn quiet_and_verbose_flags_change_the_output() {
    let (_kept, file) = written("frontend f\n    mode http\n    bind 127.0.0.1:0\n");
    let quiet = run(&["-q", "-c", "-f", &file]);
    assert_eq!((words(&quiet), errors(&quiet)), (String::new(), String::new()));
    let verbose = run(&["-q", "-V", "-c", "-f", &file]);
    assert!(words(&verbose).contains("Configuration file is valid"));
    assert!(errors(&verbose).contains("[WARNING]"));
}

#[test]
fn conditions_are_evaluated() {
    assert_eq!(code(&run(&["-cc", "version_atleast(2.6)"])), 0);
    assert_eq!(code(&run(&["-cc", "version_atleast(9.9)"])), 1);
    assert_eq!(code(&run(&["-cc", "!streq(a,b) && enabled(EPOLL)"])), 0);
    let bad = run(&["-cc", "nonsense("]);
    assert_eq!(code(&bad), 2);
    assert!(errors(&bad).starts_with("[ALERT]"), "{}", errors(&bad));
}

#[test]
fn the_version_is_printed() {
    let short = run(&["-v"]);
    assert_eq!(code(&short), 0);
    assert!(words(&short).contains("ersion "), "{}", words(&short));
    let long = run(&["-vv"]);
    assert_eq!(code(&long), 0);
    assert!(words(&long).len() > words(&short).len());
    assert!(words(&long).contains("Feature list"), "{}", words(&long));
}

#[test]
fn the_configuration_is_listed_as_it_is_understood() {
    let (_kept, file) = written(&format!("# first\n{GOOD}.if 0\n    maxconn 1\n.endif\n"));
    let listed = run(&["-c", "-q", "-dC", "-f", &file]);
    assert_eq!(code(&listed), 0, "{}", errors(&listed));
    let expected = "frontend f\n\tmode http\n\ttimeout client 1s\n\tbind 127.0.0.1:9999\n";
    assert_eq!(words(&listed), expected);
    let hidden = words(&run(&["-c", "-q", "-dC5", "-f", &file]));
    assert!(hidden.contains("\tmode http\n") && !hidden.contains("127.0.0.1"), "{hidden}");
}

#[test]
fn editors_get_advice_and_tools_do_not() {
    let (_kept, file) = written(&format!("{GOOD}    acl idle path /\n"));
    let checked = run(&["-c", "-f", &file]);
    assert_eq!(errors(&checked), "");
    let document = run(&["-c", "--output", "json", "-f", &file]);
    assert_eq!(code(&document), 0);
    let text = words(&document);
    assert!(
        text.contains("acl 'idle' is used by nobody.") && text.contains("\"line\": 5"),
        "{text}"
    );
}

#[test]
fn loaded_files_are_listed() {
    let (_kept, file) = written(GOOD);
    let listed = words(&run(&["-c", "-q", "-dL", "-f", &file]));
    let own = std::fs::canonicalize(program()).expect("the program");
    let mut lines = listed.lines();
    assert_eq!(lines.next(), own.to_str(), "-dL begins with the program");
    assert!(lines.any(|line| line.contains("/libc")), "{listed}");
}

#[test]
fn without_anything_to_do_it_explains_itself() {
    let output = run(&[]);
    assert_eq!(code(&output), 1);
    let text = errors(&output);
    assert!(text.starts_with("weir: no configuration is given"), "{text}");
    assert!(text.contains("-f <cfgfile|cfgdir>") && text.contains("weir --help"), "{text}");
}

#[test]
fn help_and_versions_are_answers_on_the_standard_output() {
    for words_of in [["-h"], ["--help"]] {
        let output = run(&words_of);
        assert_eq!((code(&output), errors(&output)), (0, String::new()));
        assert!(words(&output).contains("  -c, --check "), "{}", words(&output));
    }
    let output = run(&["--version"]);
    assert_eq!(code(&output), 0);
    assert!(words(&output).starts_with(concat!("weir ", env!("CARGO_PKG_VERSION"), "\n")));
}

#[test]
fn an_unknown_option_or_a_file_without_one_is_explained() {
    let output = run(&["--chekc", "-f", "x"]);
    assert_eq!(code(&output), 1);
    assert!(errors(&output).starts_with("weir: unknown option '--chekc'; did you mean '--check'"));
    let (_kept, file) = written(GOOD);
    let output = run(&["-c", &file]);
    assert_eq!(code(&output), 1);
    assert!(errors(&output).contains(&format!("follows -f: -f {file}\n")), "{}", errors(&output));
}

#[test]
fn gnu_spellings_check_a_configuration() {
    let (_kept, file) = written(GOOD);
    let output = run(&["--check", &format!("--config={file}")]);
    assert_eq!(code(&output), 0, "{}", errors(&output));
    assert_eq!(words(&output), "Configuration file is valid\n");
}

/// The words of a failure that should be one line.
fn one_line(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(code(&output), 1, "{}", errors(&output));
    let text = errors(&output);
    let alerts: Vec<&str> = text.lines().filter(|line| line.starts_with("[ALERT]")).collect();
    assert_eq!(alerts.len(), 1, "one line is expected:\n{text}");
    alerts[0].to_owned()
}

#[test]
fn a_missing_file_is_one_clear_line() {
    let line = one_line(&["-db", "-f", "/nowhere/at/all.cfg"]);
    assert!(line.contains("/nowhere/at/all.cfg") && line.contains("No such file"), "{line}");
}

#[test]
fn an_unreadable_directory_is_one_clear_line() {
    let directory = Directory::new();
    let closed = directory.path("closed");
    std::fs::create_dir(&closed).expect("a directory");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).expect("its owner's");
    let privileged = std::fs::read_dir(&closed).is_ok();
    if !privileged {
        let line = one_line(&["-db", "-f", &closed.display().to_string()]);
        assert!(line.contains("closed") && line.contains("Permission denied"), "{line}");
    }
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).expect("its owner's");
}

#[test]
fn a_wrong_working_directory_is_one_clear_line() {
    let line = one_line(&["-C", "/nowhere/at/all", "-db", "-f", "x.cfg"]);
    assert!(line.contains("/nowhere/at/all"), "{line}");
}

#[test]
fn a_port_in_use_is_one_clear_line_each() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("a port");
    let (_kept, file) = written(&GOOD.replace("127.0.0.1:0", &address.to_string()));
    let output = run(&["-db", "-f", &file]);
    assert_eq!(code(&output), 1);
    let text = errors(&output);
    let wanted =
        format!(":5] for frontend f: cannot bind socket (Address already in use) for [{address}]");
    let line = text.lines().find(|line| line.ends_with(&wanted)).unwrap_or(&text);
    assert!(line.contains(" : Binding ["), "{text}");
}

#[test]
fn a_directory_is_read_in_order_and_only_its_cfg_files() {
    let directory = Directory::new();
    directory.write("20-b.cfg", "frontend b\n    bind 127.0.0.1:9998\n");
    directory.write("10-a.cfg", "defaults\n    mode http\n    timeout client 1s\n");
    directory.write("30-broken.cfg.off", "broken\n");
    directory.write(".hidden.cfg", "broken\n");
    std::fs::create_dir(directory.path("15-below.cfg")).expect("an own directory");
    let place = directory.as_path().display().to_string();
    let output = run(&["-c", "-dW", "-f", &place]);
    assert_eq!(code(&output), 0, "{}", errors(&output));
    directory.write("40-c.cfg", "    brokn\n");
    let output = run(&["-c", "-f", &place]);
    assert_eq!(code(&output), 1);
    assert!(errors(&output).contains("40-c.cfg:1]"), "{}", errors(&output));
}

#[test]
fn several_files_are_one_configuration() {
    let (_first, defaults) = written("defaults\n    mode http\n    timeout client 1s\n");
    let (_second, front) = written("frontend f\n    bind 127.0.0.1:0\n");
    let output = run(&["-c", "-dW", "-f", &defaults, "-f", &front]);
    assert_eq!(code(&output), 0, "{}", errors(&output));
    assert_eq!(code(&run(&["-c", "-dW", "--", &defaults, &front])), 0);
}

#[test]
fn a_daemon_leaves_its_number_and_stops_on_demand() {
    let mut weir = Setup::http("", "").arguments(&["-D", "-p", "<dir>/pid"]).start();
    assert!(weir.wait().success(), "{}", weir.errors());
    let pid = std::fs::read_to_string(weir.path("pid")).expect("a pid file once it has returned");
    let pid: i32 = pid.trim().parse().expect("a number");
    assert_ne!(pid, weir.pid() as i32);
    let daemon = Daemon(pid);
    assert_eq!(weir.web().get("/").status(), 503);
    let name = std::fs::read_link(format!("/proc/{pid}/exe")).expect("the daemon runs");
    assert_eq!(name, std::fs::canonicalize(program()).expect("the program"));
    sys::signal::send(pid, sys::signal::TERM).expect("the daemon runs");
    eventually("the end of the daemon", || daemon.is_gone().then_some(()));
}

/// A process that is not our child; killed when dropped.
struct Daemon(i32);

impl Daemon {
    /// Whether it has ended, perhaps as a zombie.
    fn is_gone(&self) -> bool {
        let state = std::fs::read_to_string(format!("/proc/{}/stat", self.0));
        state.map_or(true, |text| text.rsplit_once(") ").is_some_and(|(_, it)| it.starts_with('Z')))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if !self.is_gone() {
            let _ = sys::signal::send(self.0, 9);
        }
    }
}

#[test]
fn a_foreground_process_writes_its_number_too() {
    let weir = Setup::http("", "").arguments(&["-db", "-p", "<dir>/pid"]).start();
    let text = eventually("the pid file", || {
        std::fs::read_to_string(weir.path("pid")).ok().filter(|text| text.ends_with('\n'))
    });
    assert_eq!(text.trim(), weir.pid().to_string());
}

#[test]
fn limits_of_connections_come_from_the_command_line() {
    let weir = Setup::http("", "").arguments(&["-db", "-n", "123", "-N", "45"]).start();
    let info = weir.cli("show info");
    assert!(info.contains("\nMaxconn: 123\n"), "{info}");
    assert_eq!(weir.stat("web", "FRONTEND", "slim"), "45");
}

#[test]
fn a_quiet_process_prints_nothing() {
    let weir = Setup::http("", "").arguments(&["-db", "-q"]).start();
    assert_eq!(weir.web().get("/").status(), 503);
    assert_eq!(weir.errors(), "");
}

/// A configuration whose port may be written in a file.
fn valid() -> String {
    GOOD.replace("127.0.0.1:0", "127.0.0.1:9999")
}

/// A file with these bytes, checked.
fn checked(bytes: &[u8]) -> Output {
    let directory = Directory::new();
    let file = directory.path("weir.cfg");
    std::fs::write(&file, bytes).expect("an own file");
    run(&["-c", "-f", &file.display().to_string()])
}

#[test]
fn traps_of_editors_are_named() {
    let output = checked(&[b"\xef\xbb\xbf", valid().as_bytes()].concat());
    assert_eq!(code(&output), 1, "HAProxy refuses the mark, too");
    let text = errors(&output);
    let alerts = text.lines().filter(|line| line.contains(":1] : ")).count();
    assert!(text.contains("begins with a byte-order mark") && alerts == 1, "{text}");
    assert_eq!(code(&checked(valid().replace('\n', "\r\n").as_bytes())), 0);
    let wide: Vec<u8> = valid().encode_utf16().flat_map(u16::to_le_bytes).collect();
    let output = checked(&[b"\xff\xfe", &*wide].concat());
    assert_eq!(code(&output), 1);
    assert!(errors(&output).contains("it is text in UTF-16: convert it"), "{}", errors(&output));
}

#[test]
fn a_check_sorts_what_keeps_a_configuration_from_starting() {
    let text =
        format!("global\n    noepoll\n    tune.memory.hot-size 1\n    maxcon 5\n{}", valid());
    let output = checked(text.as_bytes());
    assert_eq!(code(&output), 1);
    let text = errors(&output);
    for part in [
        "2 errors keep this configuration from starting:",
        "\n  words of later versions of HAProxy (1):\n",
        "3 'tune.memory.hot-size' (HAProxy 3.5); instead: nothing: the line can be dropped",
        "\n  errors of the configuration itself (1):\n",
        "\n  without effect here, can be dropped (1):\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let output = checked(format!("global\n    maxcon 5\n{}", valid()).as_bytes());
    assert!(!errors(&output).contains("keep this configuration"), "{}", errors(&output));
}
