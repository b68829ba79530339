//! The load index under a model checker, and the shared cache lines that it writes, counted.
//!
//! The sources of the index are built three times over stand-ins for its words and locks: as they
//! are over loom's (`right`), with a bug planted (`planted`), and over words that count their
//! writes (`counting`).

#![allow(clippy::duplicate_mod, reason = "that is the point: one source, several stand-ins")]

mod counting;
mod planted;
mod right;

use std::panic::catch_unwind;

#[test]
fn releases_and_moves_keep_the_index_in_step_with_loads() {
    for index in [right::levels, right::tree, right::few] {
        right::models::release_while_a_pick_lifts(index);
        right::models::release_while_a_claim_moves(index);
    }
}

#[test]
fn requests_side_by_side_lose_no_count_and_no_server() {
    right::models::requests_side_by_side(right::levels);
    right::models::requests_side_by_side(right::tree);
    right::models::requests_side_by_side(right::few);
}

#[test]
fn a_server_with_room_is_found_by_everybody() {
    right::models::one_server_is_never_full(right::levels);
    right::models::one_server_is_never_full(right::tree);
    right::models::one_server_is_never_full(right::few);
}

#[test]
fn a_server_that_leaves_comes_back_and_is_reweighted_keeps_its_count_and_place() {
    right::models::changes_while_others_pick(right::levels);
    right::models::changes_while_others_pick(right::tree);
    right::models::changes_while_others_pick(right::few);
}

#[test]
fn planted_bug_without_the_second_read_the_model_finds_a_lost_server() {
    let levels = || planted::models::release_while_a_pick_lifts(planted::levels);
    assert!(catch_unwind(levels).is_err(), "the model must find the lost server");
    let tree = || planted::models::release_while_a_claim_moves(planted::tree);
    assert!(catch_unwind(tree).is_err(), "the model must find the lost server");
}

#[test]
fn a_pick_of_the_levels_writes_two_shared_lines_and_a_release_no_more() {
    for held in [2, 16, 50, 200, 1_000] {
        let levels = counting::steady(counting::levels, 16, held);
        assert!(levels.pick <= 2.01 && levels.release <= 2.01, "{held} held: {levels:?}");
        let tree = counting::steady(counting::tree, 16, held);
        assert!(tree.pick >= 3.0 && tree.release >= 3.0, "{held} held: {tree:?}");
    }
}
