//! Configuration schemas that are too expensive to evaluate: refused with a
//! reason before any evaluation.

use leadhost_plugin::LoadError;
use leadhost_tests::guests::Variant;

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
        let bomb = Variant {
            describe: harm,
            ..Variant::default()
        };
        let error = bench.plugins.prepare(bomb.component()).await.unwrap_err();
        let LoadError::Schema(why) = &error else {
            panic!("{harm}: {error}");
        };
        assert!(why.contains(says), "{harm}: {why}");
    }
    let loaded = bench.misbehave().await;
    bench.convert(&loaded, "{}").await.unwrap().unwrap();
}
