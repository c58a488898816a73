//! Runs with `cargo test`. `GOLDEN_WRITE=1` writes the output into cases that have none yet,
//! `GOLDEN_WRITE=renew` also into those that differ.

use leadhost_sdk::testing;

use crate::Channel;

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden");

#[test]
fn golden_cases_hold() {
    testing::run_golden_adapter::<Channel>(CASES);
}

#[test]
fn damaged_deliveries_templates_and_answers_do_not_panic() {
    testing::run_damaged_adapter::<Channel>(CASES);
}
