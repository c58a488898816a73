//! Inputs that libFuzzer makes: bytes, which stand for the chance that inputs are made
//! of. It keeps those that reach code which none before them did, and goes on from them.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use bolero::{RunPhase, TargetLocation};
use proptest::strategy::{Strategy, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Ends the process, when its time is over or an input fails.
pub fn holds<S: Strategy<Value: Debug>, P: Fn(&S::Value)>(_: usize, any: S, property: P) {
    let location = TargetLocation {
        package_name: env!("CARGO_PKG_NAME"),
        manifest_dir: env!("CARGO_MANIFEST_DIR"),
        module_path: module_path!(),
        file: file!(),
        line: line!(),
        item_path: std::any::type_name::<P>(),
        test_name: None,
    };
    let each = AssertUnwindSafe(|bytes: &[u8]| {
        let config = Config {
            failure_persistence: None,
            ..Config::default()
        };
        let chance = TestRng::from_seed(RngAlgorithm::PassThrough, bytes);
        let mut runner = TestRunner::new_with_rng(config, chance);
        let Ok(input) = any.new_tree(&mut runner) else {
            return;
        };
        let input = input.current();
        let outcome = catch_unwind(AssertUnwindSafe(|| property(&input)));
        if let Err(why) = outcome {
            tell(&input);
            resume_unwind(why);
        }
    });
    bolero::test(location).for_each(move |bytes: &[u8]| (*each)(bytes));
}

/// Once, when it is as small as it gets.
#[allow(clippy::print_stderr, reason = "what a test says to its runner")]
fn tell(input: &dyn Debug) {
    if bolero::with_context(|context| context.run_phase == RunPhase::Failure) == Some(true) {
        eprintln!("made small: {input:#?}");
    }
}
