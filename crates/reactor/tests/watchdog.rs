//! A whole process with a thread that does not come back to its loop: it must say so, and abort if
//! the thread computes forever. A watchdog that fails lets the process end in another way.
#![allow(clippy::unwrap_used, reason = "a test")]

use reactor::os::Os;
use reactor::watchdog::{Hold, StuckThread};
use reactor::{Class, ClockCorrection, Settings, Thread, Threads, Watchdog};
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, abort};
use std::rc::Rc;
use std::sync::Arc;

/// Set for the process that is to be given up.
const ROLE: &str = "WEIR_TEST_OF_THE_WATCHDOG";
/// CPU nanoseconds after which the stuck task gives up on the watchdog.
const PATIENCE: u64 = 30_000_000_000;
const ABRT: i32 = 6;

async fn waits_for_a_pipe(thread: Rc<Thread>, mut pipe: std::io::PipeReader) {
    pipe.read_exact(&mut [0]).unwrap();
    thread.stop();
}

async fn never_comes_back(thread: Rc<Thread>) {
    while thread.heartbeat().cpu_nanos() < PATIENCE {
        std::hint::spin_loop();
    }
    thread.stop();
}

fn thread(index: usize, clock_correction: &Arc<ClockCorrection>) -> Rc<Thread> {
    Thread::of_process(index, Box::new(Os::new(8).unwrap()), Settings::default(), clock_correction)
}

/// A process with a thread that waits for a pipe, until it has been reported.
fn be_blocked() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let clock_correction = ClockCorrection::new(1);
    let threads = Some(Threads::open().unwrap());
    // The watchdog's thread has no descriptors of its own.
    let (told, hear) = std::sync::mpsc::channel();
    std::thread::spawn(move || hear.iter().for_each(|()| writer.write_all(b"x").unwrap()));
    let report = move |finding: &StuckThread| {
        eprintln!("{finding}");
        match finding.hold {
            Hold::Blocked(..) => told.send(()).unwrap(),
            _ => sys::fork::exit_now(7),
        }
    };
    let dog = Watchdog::new(clock_correction.heartbeats().to_vec()).with_patience(1_000_000_000);
    dog.run(threads, report).unwrap();
    let thread = thread(0, &clock_correction);
    thread.scheduler().spawn(Class::Normal, waits_for_a_pipe(thread.clone(), reader));
    thread.run().unwrap();
    // Its return is reported by the next look.
    std::thread::park_timeout(std::time::Duration::from_secs(15));
}

/// The process that is to be given up: one thread sleeps, one works, the third is stuck.
fn be_stuck() {
    let clock_correction = ClockCorrection::new(3);
    let (asleep, busy) = (clock_correction.clone(), clock_correction.clone());
    std::thread::spawn(move || thread(0, &asleep).run().unwrap());
    std::thread::spawn(move || {
        let thread = thread(1, &busy);
        let own = thread.clone();
        thread.scheduler().spawn(Class::Bulk, async move {
            loop {
                own.scheduler().yield_as(Class::Bulk).await;
            }
        });
        thread.run().unwrap();
    });
    let report = |finding: &StuckThread| {
        eprintln!("{finding}");
        abort();
    };
    Watchdog::new(clock_correction.heartbeats().to_vec()).run(None, report).unwrap();
    let thread = thread(2, &clock_correction);
    thread.scheduler().spawn(Class::Normal, never_comes_back(thread.clone()));
    thread.run().unwrap();
}

/// This program once more, for one of its tests.
fn again(test: &str) -> Output {
    let own = std::env::current_exe().unwrap();
    Command::new(own).env(ROLE, "1").args(["--nocapture", test]).output().unwrap()
}

#[test]
fn a_stuck_thread_is_reported_with_its_task_and_the_process_aborts() {
    if std::env::var_os(ROLE).is_some() {
        return be_stuck();
    }
    let ended = again("a_stuck_thread_is_reported_with_its_task_and_the_process_aborts");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.signal(), Some(ABRT), "{:?}: {said}", ended.status);
    let line = said.lines().find(|line| line.contains("has not come back to its loop")).unwrap();
    assert!(line.starts_with("Thread 3 ") && line.ends_with("never_comes_back"), "{line}");
    let spent = line.split(' ').find_map(|word| word.parse::<u64>().ok().filter(|ms| *ms > 3));
    assert!(spent.unwrap() >= 2_000, "{line}");
}

#[test]
fn a_thread_that_is_blocked_in_the_kernel_is_reported_with_its_call_and_its_task() {
    if std::env::var_os(ROLE).is_some() {
        return be_blocked();
    }
    let ended = again("a_thread_that_is_blocked_in_the_kernel_is_reported");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(7), "{:?}: {said}", ended.status);
    let line = said.lines().find(|line| line.contains("has been blocked in the kernel")).unwrap();
    assert!(line.starts_with("Thread 1 ") && line.ends_with("waits_for_a_pipe"), "{line}");
    assert!(line.contains("(read on descriptor ") && line.contains("(pipe:["), "{line}");
    assert!(said.contains("Thread 1 has come back from the kernel after "), "{said}");
}
