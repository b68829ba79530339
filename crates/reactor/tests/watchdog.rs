//! A whole process with a thread that does not come back to its loop: it must say so and abort.
//! Never waits for luck: a watchdog that fails lets the process end by itself, in another way.
#![allow(clippy::unwrap_used, reason = "a test")]

use reactor::os::Os;
use reactor::{Class, Settings, Thread, Timekeeper, Watchdog};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, abort};
use std::rc::Rc;
use std::sync::Arc;

/// Set for the process that is to be given up.
const ROLE: &str = "WEIR_TEST_OF_THE_WATCHDOG";
/// CPU nanoseconds after which the stuck task gives up on the watchdog.
const PATIENCE: u64 = 30_000_000_000;
const ABRT: i32 = 6;

async fn never_comes_back(thread: Rc<Thread>) {
    while thread.pulse().cpu_nanos() < PATIENCE {
        std::hint::spin_loop();
    }
    thread.stop();
}

fn thread(index: usize, timekeeper: &Arc<Timekeeper>) -> Rc<Thread> {
    Thread::of_process(index, Box::new(Os::new(8).unwrap()), Settings::default(), timekeeper)
}

/// The process that is to be given up: one thread sleeps, one works, the third is stuck.
fn be_stuck() {
    let timekeeper = Timekeeper::new(3);
    let (asleep, busy) = (timekeeper.clone(), timekeeper.clone());
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
    let report = |stuck| {
        eprintln!("{stuck}");
        abort();
    };
    Watchdog::new(timekeeper.pulses().to_vec()).run(report).unwrap();
    let thread = thread(2, &timekeeper);
    thread.scheduler().spawn(Class::Normal, never_comes_back(thread.clone()));
    thread.run().unwrap();
}

#[test]
fn a_thread_that_does_not_come_back_is_reported_with_what_it_runs_and_the_process_aborts() {
    if std::env::var_os(ROLE).is_some() {
        return be_stuck();
    }
    let own = std::env::current_exe().unwrap();
    let ended = Command::new(own).env(ROLE, "1").arg("--nocapture").output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.signal(), Some(ABRT), "{:?}: {said}", ended.status);
    let line = said.lines().find(|line| line.contains("has not come back to its loop")).unwrap();
    assert!(line.starts_with("Thread 3 ") && line.ends_with("never_comes_back"), "{line}");
    let spent = line.split(' ').find_map(|word| word.parse::<u64>().ok().filter(|ms| *ms > 3));
    assert!(spent.unwrap() >= 2_000, "{line}");
}
