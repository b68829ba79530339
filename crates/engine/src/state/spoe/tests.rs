//! Tests of figures.

use super::figures::{Rate, SpoeFigures, SpoeSums};

#[test]
fn figures_of_threads_add_up() {
    let figures = SpoeFigures::new(2);
    figures.of(0).set_state([1, 2, 3, 4]);
    figures.of(1).set_state([10, 20, 30, 40]);
    figures.of(0).count(true);
    figures.of(1).count(false);
    let expected = SpoeSums { state: [11, 22, 33, 44], errors: 1, processed: 2 };
    assert_eq!(figures.sums(), expected);
}

#[test]
fn rates_count_one_second_at_a_time() {
    let rate = Rate::default();
    assert!(rate.admits(7, 2) && rate.admits(7, 2) && !rate.admits(7, 2));
    assert_eq!((rate.count(7), rate.count(8)), (2, 0));
    assert!(rate.admits(8, 1));
}
