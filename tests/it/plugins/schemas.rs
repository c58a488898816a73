//! Configuration schemas that are too expensive to evaluate: refused with a
//! reason before any evaluation.

use leadhost_plugin::LoadError;
use leadhost_tests::guests::Variant;
use leadhost_tests::has;

use super::Bench;

const HARMS: [(&str, &str); 6] = [
    ("schema-steps", "through each other"),
    ("schema-pattern", "regular expression"),
    ("schema-patterns", "bytes"),
    ("schema-chain", "bytes"),
    ("schema-self", "never end"),
    ("schema-size", "bytes"),
];

#[tokio::test]
async fn schemas_that_take_too_many_steps_are_refused() {
    let bench = Bench::new(&[]);
    for (harm, says) in HARMS {
        let bomb = Variant::default().describe(harm);
        let error = bench.refused(bomb.component()).await;
        let LoadError::Schema(why) = &error else {
            panic!("{harm}: {error}");
        };
        has!(why, says; "{harm}");
    }
    let loaded = bench.misbehave().await;
    bench.works(&loaded).await;
}
