//! Random inputs and their minimisation.

use std::cell::Cell;
use std::fmt::Debug;
use std::time::{Duration, Instant};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestError, TestRunner};

const SEED: u64 = 0x1ead_f055;

/// The small size of the suite tries this part of the inputs.
const SMALL_PART: usize = 4;

/// Asserts that a property holds for this many inputs, or for the time that the tester
/// sets. The small size of the suite tries a quarter of them.
///
/// # Panics
/// If it does not hold; the message has the smallest failing input that was found.
#[track_caller]
pub fn holds<S: Strategy<Value: Debug>, P: Fn(&S::Value)>(inputs: usize, any: S, property: P) {
    let seed = given("LEADHOST_FUZZ_SEED").unwrap_or(SEED);
    let seconds = given("LEADHOST_FUZZ_SECONDS");
    let is_full = std::env::var_os("LEADHOST_TEST_SIZE").is_some_and(|value| value == "full");
    let inputs = if is_full {
        inputs
    } else {
        inputs.div_ceil(SMALL_PART)
    };
    let began = Instant::now();
    let tried = Cell::new(0_usize);
    let is_enough = || match seconds {
        Some(seconds) => began.elapsed() >= Duration::from_secs(seconds),
        None => tried.get() >= inputs,
    };
    let mut runner = TestRunner::new(Config {
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..Config::default()
    });
    while !is_enough() {
        let input = any.new_tree(&mut runner).expect("no input is left out");
        tried.set(tried.get() + 1);
        let outcome = runner.run_one(input, |input| {
            property(&input);
            Ok(())
        });
        if let Err(TestError::Fail(why, input)) = outcome {
            let number = tried.get();
            panic!("input {number} with seed {seed}: {why}\nminimised: {input:#?}");
        }
    }
    print_summary::<P>(tried.get(), began.elapsed(), seed);
}

/// For a tester who runs one target at a time; otherwise the test harness captures it.
#[allow(clippy::print_stdout, reason = "what a test says to its runner")]
fn print_summary<P>(tried: usize, took: Duration, seed: u64) {
    let path = std::any::type_name::<P>().trim_end_matches("::{{closure}}");
    let name = path.rsplit("::").next().unwrap_or(path);
    let seconds = took.as_secs_f64();
    println!("{name}: {tried} inputs in {seconds:.1} s, seed {seed}");
}

fn given(name: &str) -> Option<u64> {
    let text = std::env::var_os(name)?;
    let number = text.to_str().and_then(|text| text.parse().ok());
    Some(number.unwrap_or_else(|| panic!("{name} is a whole number, not {text:?}")))
}
