//! Golden cases, damaged deliveries, and the recipes of the README.

use super::Mapping;

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden");

#[test]
fn golden_cases_hold() {
    leadhost_sdk::testing::run_golden::<Mapping>(CASES);
}

#[test]
fn damaged_deliveries_do_not_panic() {
    leadhost_sdk::testing::run_damaged::<Mapping>(CASES);
}
