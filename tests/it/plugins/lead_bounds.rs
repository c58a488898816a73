//! The size of a lead: too many phones refuse it, with the actual size and the limit in the
//! message, and golden cases show it.

use leadhost_golden::{Call, Case, Delivery, append_section, pack};
use leadhost_tests::{guests, has};
use serde_json::{Value, json};

use super::Bench;

const KEPT: &str = "and the raw delivery is kept";

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
    has!(error, "21 phones; at most 20 are taken");
}

fn expected(message: &str) -> Value {
    let problem = json!({"message": message, "path": "items.0.lead.phones"});
    json!({"ok": {
        "items": [{"route": [], "outcome": {"invalid": problem}}],
        "reply": null, "notes": [],
    }})
}
