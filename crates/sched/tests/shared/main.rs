//! Shared work: stress with real threads, 64 simulated threads, and models of its lock.
//!
//! The models compile the sources over shuttle's locks: unchanged (`unchanged`), and with a bug
//! planted in the delegating lock (`planted`). Shuttle tries random schedules. All shared accesses
//! go through a lock or a single word, so no weaker memory order is left untested.
#![allow(clippy::duplicate_mod, reason = "that is the point: one source, several stand-ins")]

mod machine;
mod planted;
mod stress;
mod unchanged;

use std::panic::catch_unwind;

#[test]
fn jobs_added_while_others_scan_run_exactly_once() {
    unchanged::models::explore(unchanged::models::added_while_others_scan);
}

#[test]
fn a_killed_job_leaves_the_tree_and_never_begins() {
    unchanged::models::explore(unchanged::models::killed_while_others_scan);
}

#[test]
fn a_job_that_runs_again_is_on_one_thread_at_a_time() {
    unchanged::models::explore(unchanged::models::runs_again_on_either_thread);
}

#[test]
fn a_job_postponed_on_its_way_into_the_tree_is_done() {
    unchanged::models::explore(unchanged::models::postponed_while_others_scan);
}

#[test]
fn planted_bug_without_the_last_check_of_messages_is_caught() {
    let model = || planted::models::explore(planted::models::killed_while_others_scan);
    assert!(catch_unwind(model).is_err(), "the model must find the job that stays");
}
