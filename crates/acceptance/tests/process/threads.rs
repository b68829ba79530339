//! Threads, their settings, and the commands that show them.

use crate::support::{Client, Origin, Running, Setup, eventually, pass, program};
use std::time::Duration;

/// A process with these lines in `global`, these words on its bind line, and one server.
fn start(global: &str, bind: &str) -> (Origin, Running) {
    let origin = Origin::saying("a");
    let weir = Setup::new(&format!(
        "global\n    stats socket <dir>/cli level admin\n{global}\n\
         defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
         timeout server 20s\n\
         frontend web\n    bind <web> {bind}\n    default_backend app\n\
         backend app\n    server a <a>\n"
    ))
    .with("a", origin.address())
    .start();
    (origin, weir)
}

/// The values of a line of `show activity`: the first column, then those of the threads.
fn activity(weir: &Running, name: &str) -> Vec<u64> {
    let text = weir.cli("show activity");
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
    let line = line.unwrap_or_else(|| panic!("no {name} in:\n{text}"));
    line.split(' ').filter_map(|word| word.parse().ok()).collect()
}

pub(crate) fn first(weir: &Running, name: &str) -> u64 {
    activity(weir, name)[0]
}

/// Requests on this many connections that all arrive while the process stands still. Returns by how
/// much a line of `show activity` grew.
fn burst(weir: &Running, connections: usize, name: &str) -> u64 {
    let mut clients: Vec<_> = (0..connections).map(|_| weir.web()).collect();
    for client in &mut clients {
        assert_eq!(client.get("/").text(), "a");
    }
    let before = first(weir, name);
    weir.signal(sys::signal::STOP);
    for client in &mut clients {
        client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    }
    weir.signal(sys::signal::CONT);
    for client in &mut clients {
        assert_eq!(client.response().text(), "a");
    }
    first(weir, name) - before
}

#[test]
fn show_activity_lists_threads() {
    let (_origin, weir) = start("    nbthread 2\n    thread-groups 2", "thread 2/1");
    for _ in 0..3 {
        assert_eq!(weir.web().get("/").text(), "a");
    }
    // The listener is for the second thread only: the first of the second group.
    assert_eq!(activity(&weir, "accepted"), [3, 0, 3]);
    assert_eq!(activity(&weir, "loops").len(), 3);
    let all = weir.cli("show activity");
    let names: Vec<_> = all.lines().map(|line| line.split(':').next().unwrap_or("")).collect();
    let begin = ["thread_id", "date_now", "ctxsw", "tasksw", "empty_rq", "long_rq", "loops"];
    assert_eq!(names[..7], begin);
    assert!(weir.cli("show activity 0").contains("\naccepted: 3\n"));
    assert!(weir.cli("show activity 1").contains("\naccepted: 0\n"));
    assert!(weir.cli("show activity 2").contains("\naccepted: 3\n"));
    assert_eq!(weir.cli("show activity 3"), "Thread number must be between -1 and 2.");
    (0..50).for_each(|_| assert_eq!(weir.web().get("/").text(), "a"));
    let before = first(&weir, "ran_urgent");
    weir.cli("clear counters");
    eventually("cleared counters", || (first(&weir, "ran_urgent") < before).then_some(()));
}

#[test]
fn threads_and_their_groups_are_shown() {
    let (_origin, weir) = start("    nbthread 3\n    thread-groups 2\n    thread-group 2 1", "");
    let text = weir.cli("show threads");
    let heads: Vec<_> = text.lines().filter(|line| line.contains(" Thread ")).collect();
    assert!(heads[0].starts_with("* Thread 1 : id=0x"), "{text}");
    assert!(heads[1].starts_with("  Thread 2 : id=0x"), "{text}");
    let seats: Vec<_> =
        text.lines().filter_map(|line| line.trim_start().split_once("    stuck=")).collect();
    assert_eq!(seats.iter().map(|seat| seat.0).collect::<Vec<_>>(), ["2/1", "1/1", "1/2"]);
    assert!(text.contains("curr_task=admin::"), "{text}");
    let tasks = weir.cli("show tasks");
    assert!(tasks.starts_with("Running tasks: ") && tasks.contains("(3 threads)\n"), "{tasks}");
}

#[test]
fn tasks_are_profiled_when_asked() {
    let (_origin, weir) = start("    nbthread 2\n    profiling.tasks off", "");
    let status =
        |weir: &Running| weir.cli("show profiling status").lines().next().map(String::from);
    let line = |word: &str| {
        let name = "Per-task CPU profiling";
        Some(format!("{name:36}: {word:14}# set profiling tasks {{on|auto|off}}"))
    };
    assert_eq!(status(&weir), line("off"));
    assert_eq!(weir.web().get("/").text(), "a");
    assert_eq!(weir.cli("show profiling tasks").lines().count(), 2, "off: nothing is measured");
    assert_eq!(weir.cli("set profiling tasks auto"), "");
    assert_eq!(status(&weir), line("auto-off"));
    assert_eq!(weir.cli("set profiling tasks on"), "");
    assert_eq!(status(&weir), line("on"));
    assert_eq!(weir.web().get("/").text(), "a");
    let text = eventually("a client in the profile", || {
        Some(weir.cli("show profiling"))
            .filter(|text| text.contains("  proxy::frontend::client::run "))
    });
    assert!(text.contains(" <- "), "{text}");
    assert!(!weir.cli("show profiling aggr").contains(" <- "));
    assert_eq!(weir.cli("show profiling tasks 1").lines().count(), 3);
    assert_eq!(weir.cli("set profiling tasks sometimes"), "Expects 'on', 'auto', or 'off'.");
    assert_eq!(weir.cli("set profiling"), "Expects either 'tasks' or 'memory'.");
    assert!(weir.cli("show profiling foo").starts_with("Expects either 'all', 'status', "));
}

#[test]
fn profiling_may_be_on_from_the_start() {
    let (_origin, weir) = start("    nbthread 1\n    profiling.tasks on", "");
    assert!(weir.cli("show profiling").contains(": on            # set profiling tasks"));
    assert!(weir.cli("show profiling").lines().count() > 4);
}

#[test]
fn a_short_round_leaves_work_for_the_next() {
    let (_origin, weir) = start("    nbthread 1\n    tune.runqueue-depth 1", "");
    let long = burst(&weir, 16, "long_rq");
    assert!(long >= 15, "{long} rounds left work");
    let (_origin, calm) = start("    nbthread 1", "");
    let long = burst(&calm, 16, "long_rq");
    assert!(long < 15, "{long} rounds left work");
}

#[test]
fn few_events_per_poll_take_many_polls() {
    let (_origin, weir) = start("    nbthread 1\n    tune.maxpollevents 1", "");
    // Each client asks, and its server answers.
    let polls = burst(&weir, 16, "poll_io");
    assert!(polls >= 32, "{polls} polls");
    let (_origin, calm) = start("    nbthread 1", "");
    let polls = burst(&calm, 16, "poll_io");
    assert!(polls < 32, "{polls} polls");
}

#[test]
fn niced_connections_run_as_ordinary_work() {
    let turns = |bind: &str| {
        let (_origin, weir) = start("    nbthread 1", bind);
        let before = first(&weir, "ran_urgent");
        let mut client = weir.web();
        for _ in 0..30 {
            assert_eq!(client.get("/").text(), "a");
        }
        first(&weir, "ran_urgent") - before
    };
    // Only the turns of the runtime socket remain urgent.
    assert!(turns("") >= 60);
    assert!(turns("nice -100") < 30);
}

#[test]
fn a_busy_poller_never_sleeps() {
    let (_origin, weir) = start("    nbthread 1\n    busy-polling", "");
    assert_eq!(weir.web().get("/").text(), "a");
    eventually("CPU spent without work", || (weir.cpu_seconds() >= 0.2).then_some(()));
    let (_origin, calm) = start("    nbthread 1\n    busy-polling\n    no busy-polling", "");
    assert_eq!(calm.web().get("/").text(), "a");
    let loops = first(&calm, "loops");
    assert!(loops < 1_000, "{loops} turns with nothing to do");
}

#[test]
fn a_silent_server_behind_the_inspection_delay_wakes_no_thread() {
    let origin = Origin::new(|mut peer| while peer.request().is_some() {});
    let text = "global\n    stats socket <dir>/cli level admin\n\
                defaults\n    timeout client 20s\n    timeout server 20s\n    timeout connect 5s\n\
                listen web\n    mode tcp\n    bind <web>\n    stick-table type string len 8 size 10\n    \
                stick store-response res.payload(0,3)\n    tcp-response inspect-delay 10ms\n    \
                tcp-response content accept if { res.payload(0,3) -m str abc }\n    server a <a>\n";
    let weir = Setup::new(text).with("a", origin.address()).start();
    let mut client = Client::connect(weir.address("web"));
    client.send("hello");
    eventually("the server is reached", || (origin.connections() == 1).then_some(()));
    pass(Duration::from_millis(50));
    let before = first(&weir, "loops");
    pass(Duration::from_millis(500));
    let loops = first(&weir, "loops") - before;
    assert!(loops < 100, "{loops} turns with nothing to do");
}

#[test]
fn threads_are_bound_to_processors() {
    let bound = |weir: &Running, thread: &str| {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", weir.pid())).expect("it runs");
        let tasks: Vec<_> = tasks.map(|task| task.expect("it runs").path()).collect();
        let read = |path: &std::path::Path, name: &str| {
            std::fs::read_to_string(path.join(name)).unwrap_or_default()
        };
        let task = tasks.iter().find(|path| read(path, "comm").trim() == thread);
        let status = read(task.expect("a thread of that name"), "status");
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        line.expect("a line about processors").trim().to_owned()
    };
    let cpu = *sys::cpu::available().first().expect("a processor");
    let map = format!("    nbthread 3\n    thread-groups 2\n    cpu-map auto:2/1 {cpu}");
    let (_origin, weir) = start(&map, "");
    assert_eq!(weir.web().get("/").text(), "a");
    // Threads 1 and 2 are the first group, thread 3 the second.
    assert_eq!(bound(&weir, "worker-2"), cpu.to_string());
    if sys::cpu::available().len() > 1 {
        assert_ne!(bound(&weir, "worker-1"), cpu.to_string());
    }
}

#[test]
fn a_thread_that_cannot_start_ends_the_process() {
    // Each needs descriptors of its own, and there are not enough for all.
    let script = format!("ulimit -n 48; exec {} -db -f \"$1\"", program().display());
    let text = "global
 nbthread 40
 maxconn 1
 no strict-limits
                listen l
 mode tcp
 timeout client 1s
 timeout server 1s
                 timeout connect 1s
 bind unix@<dir>/socket
";
    let setup = Setup::new(text).program("/bin/sh".as_ref()).arguments(&["-c", &script]);
    let mut weir = setup.start();
    assert_eq!(weir.wait().code(), Some(1));
    weir.expect_error("cannot work: Too many open files");
}

#[test]
fn more_than_a_group_of_threads() {
    let (_origin, weir) = start("    nbthread 70\n    thread-groups 2", "thread 70");
    assert_eq!(weir.web().get("/").text(), "a");
    let accepted = activity(&weir, "accepted");
    assert_eq!((accepted.len(), accepted[70]), (71, 1));
}

#[test]
fn few_buffers_make_requests_wait_and_none_fails() {
    let origin = Origin::saying("a");
    let text = "global\n    stats socket <dir>/cli level admin\n    nbthread 1\n    \
                tune.buffers.limit 3\n    tune.buffers.reserve 1\ndefaults\n    mode http\n    \
                timeout client 20s\n    timeout server 20s\n    timeout connect 5s\n\
                frontend web\n    bind <web>\n    default_backend app\n\
                backend app\n    server a <a>\n";
    let weir = Setup::new(text).with("a", origin.address()).start();
    // A part of a head keeps the buffer that it is in: there are two for requests.
    let mut clients: Vec<_> = (0..5).map(|_| weir.web()).collect();
    clients.iter_mut().for_each(|client| client.send("GET / HTTP/1.1\r\n"));
    eventually("three wait", || {
        let activity = weir.cli("show activity");
        let waits = activity.lines().find_map(|line| line.strip_prefix("buf_wait: "))?;
        (waits.split_whitespace().next() == Some("3")).then_some(())
    });
    for client in &mut clients {
        client.send("Host: test\r\n\r\n");
    }
    for client in &mut clients {
        assert_eq!(client.response().text(), "a");
    }
}

#[test]
fn fetches_show_the_cost_of_a_request() {
    let origin = Origin::saying("hello");
    let front = "    http-response set-header x-cost \
                 \"%[cpu_calls] %[cpu_ns_tot] %[cpu_ns_avg] %[lat_ns_tot] %[lat_ns_avg]\"";
    let weir = Setup::http(front, "    server s <origin>")
        .with("origin", origin.address())
        .global("profiling.tasks on")
        .start();
    let mut client = weir.web();
    for _ in 0..3 {
        let answer = client.get("/");
        let cost = answer.header("x-cost").expect("a cost").to_owned();
        let numbers: Vec<u64> = cost.split(' ').map(|n| n.parse().expect("a number")).collect();
        let [calls, cpu, cpu_average, latency, latency_average] = numbers[..] else {
            panic!("five numbers: {cost}")
        };
        assert!((2..10).contains(&calls), "a turn for the request, one for the answer: {cost}");
        assert!(cpu > 0 && latency > 0, "{cost}");
        assert_eq!((cpu_average, latency_average), (cpu / calls, latency / calls), "{cost}");
    }
}
