//! The size of a lead: too many phones refuse that lead and no other, with the actual
//! size and the limit in the message, and golden cases show the same. Of other values, the
//! lead keeps what fits.

use leadhost_domain::plugin::ConversionOutcome;
use leadhost_golden::{Call, Case, Delivery, append_section, pack};
use leadhost_tests::guests;
use serde_json::{Value, json};

use super::Bench;

const KEPT: &str = "and the raw delivery is kept";

#[tokio::test]
async fn a_lead_at_its_limits_is_whole_and_one_more_value_is_left_out_or_refused_with_a_reason() {
    let bench = Bench::new(&[]);
    let loaded = bench.misbehave().await;
    let outcome = async |word: &str, size: usize| {
        let config = json!({"do": word, "size": size}).to_string();
        let conversion = bench.convert(&loaded, &config).await.unwrap().unwrap();
        conversion.items.into_iter().next().unwrap().outcome
    };
    for (word, most, given, field) in [
        ("phones", 20, "21 phones; at most 20 are taken", "phones"),
        ("emails", 20, "21 e-mails; at most 20 are taken", "emails"),
    ] {
        assert!(
            matches!(outcome(word, most).await, ConversionOutcome::Lead(_)),
            "{word}"
        );
        let ConversionOutcome::Invalid(problem) = outcome(word, most + 1).await else {
            panic!("{word} is refused");
        };
        assert_eq!(
            problem.message,
            format!("the converter gave {given}, {KEPT}")
        );
        assert_eq!(problem.path, format!("items.0.lead.{field}"));
    }
    for (word, most, given) in [
        ("listings", 50, "listings after the first 50 of 51"),
        ("attributes", 200, "attributes after the first 200 of 201"),
        (
            "long-attribute",
            65_534,
            "attributes.long (65537 bytes; at most 65536 are taken)",
        ),
    ] {
        for (size, expected) in [(most, None), (most + 1, Some(given))] {
            let ConversionOutcome::Lead(lead) = outcome(word, size).await else {
                panic!("{word} is taken");
            };
            let cuts: Vec<_> = lead.cuts.iter().map(String::as_str).collect();
            assert_eq!(cuts, Vec::from_iter(expected), "{word}");
        }
    }
    let ConversionOutcome::Invalid(problem) = outcome("phones", 10_000).await else {
        panic!("ten thousand phones are refused");
    };
    assert!(problem.message.contains("10000 phones"), "{problem}");
}

#[tokio::test]
async fn a_golden_case_sees_that_a_lead_is_too_large() {
    let case = |message: &str| Case {
        delivery: Delivery {
            config: json!({"do": "phones", "size": 21}),
            ..Delivery::default()
        },
        expect: Some(expected(message)),
        ..Case::new("phones", Call::Convert)
    };
    let prepare = async |case: Case| {
        let section = pack(&[case]).unwrap();
        let component = append_section(&guests::misbehave(), &section).unwrap();
        Bench::new(&[]).plugins.prepare(component).await
    };
    let message = format!("the converter gave 21 phones; at most 20 are taken, {KEPT}");
    assert_eq!(prepare(case(&message)).await.unwrap().golden, 1);
    let error = prepare(case("twenty-one")).await.unwrap_err().to_string();
    assert!(error.contains("21 phones; at most 20 are taken"), "{error}");
}

fn expected(message: &str) -> Value {
    let problem = json!({"message": message, "path": "items.0.lead.phones"});
    json!({"ok": {
        "items": [{"route": [], "outcome": {"invalid": problem}}],
        "reply": null, "notes": [],
    }})
}
