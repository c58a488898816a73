//! What a new output of a golden case lacks that the expected one has. Such a change is rather a mistake
//! than a new expectation.

use serde_json::Value;

/// Returns what is lost: leads or events that became something else, and fields without their values. A
/// refusal that became an output, or the other way round, is a loss too.
pub fn losses(expected: &Value, came: &Value) -> Vec<String> {
    let (before, after) = match (expected.get("ok"), came.get("ok")) {
        (Some(before), Some(after)) => (before, after),
        (None, None) => return Vec::new(),
        (Some(_), None) => return vec!["the body was taken, and is refused".to_owned()],
        (None, Some(_)) => return vec!["the body was refused, and is taken".to_owned()],
    };
    let mut lost = Vec::new();
    for list in ["items", "events"] {
        let [Some(before), Some(after)] =
            [before, after].map(|output| output.get(list).and_then(Value::as_array))
        else {
            continue;
        };
        if after.len() < before.len() {
            lost.push(format!(
                "{list}: {} of {} are left",
                after.len(),
                before.len()
            ));
        }
        for (index, (before, after)) in before.iter().zip(after).enumerate() {
            lost.extend(losses_of_item(&format!("{list}[{index}]"), before, after));
        }
    }
    lost
}

/// Compares items, whose outcome (or body, of an event) is a variant.
fn losses_of_item(place: &str, before: &Value, after: &Value) -> Vec<String> {
    let (Some((was, fields)), Some((is, left))) = (variant(before), variant(after)) else {
        return Vec::new();
    };
    if was != is {
        return vec![format!("{place} was `{was}`, and is `{is}`")];
    }
    losses_of_field(place, fields, left)
}

fn variant(item: &Value) -> Option<(&str, &Value)> {
    let outcome = item.get("outcome").or_else(|| item.get("body"))?;
    match outcome {
        Value::String(name) => Some((name, outcome)),
        outcome => outcome
            .as_object()?
            .iter()
            .next()
            .map(|(name, fields)| (name.as_str(), fields)),
    }
}

/// Compares values: members of objects and named values by name, other lists by length.
fn losses_of_field(place: &str, before: &Value, after: &Value) -> Vec<String> {
    match (before, after) {
        (Value::Null, _) => Vec::new(),
        (Value::Array(before), _) if before.is_empty() => Vec::new(),
        (_, Value::Null) => vec![format!("{place} is lost")],
        (Value::Object(before), after) => before
            .iter()
            .flat_map(|(name, before)| {
                let after = after.get(name).unwrap_or(&Value::Null);
                losses_of_field(&format!("{place}.{name}"), before, after)
            })
            .collect(),
        (Value::Array(before), Value::Array(after)) => match named(before) {
            Some(before) => losses_of_field(place, &before, &named(after).unwrap_or_default()),
            None if after.len() < before.len() => {
                let (left, all) = (after.len(), before.len());
                vec![format!("{place}: {left} of {all} are left")]
            }
            None => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Returns pairs of a name and a value as an object, as attributes are; `None` of any other list.
fn named(list: &[Value]) -> Option<Value> {
    let pairs = list.iter().map(|pair| match pair.as_array()?.as_slice() {
        [Value::String(name), value] => Some((name.clone(), value.clone())),
        _ => None,
    });
    pairs.collect::<Option<_>>().map(Value::Object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lead(fields: Value) -> Value {
        json!({"ok": {"items": [{"route": [], "outcome": {"lead": fields}}], "notes": []}})
    }

    #[test]
    fn a_lead_that_is_refused_or_lacks_a_field_is_a_loss() {
        let before = lead(json!({
            "name": "Ana", "phones": ["1", "2"], "message": null,
            "attributes": [["unit", "A"], ["floor", "7"], ["size", {"rooms": 3, "area": 70}]],
            "listings": [], "campaign": [],
        }));
        let check = |came: Value, expect: Option<&str>| {
            let lost = losses(&before, &came);
            assert_eq!(lost.first().map(String::as_str), expect, "{came}");
        };
        let with = |name: &str, value: Value| {
            let mut fields = before["ok"]["items"][0]["outcome"]["lead"].clone();
            fields[name] = value;
            lead(fields)
        };
        check(before.clone(), None);
        check(with("name", json!("Bia")), None);
        check(with("message", json!("Olá")), None);
        let listing = json!([{"kind": "client", "reference": "AP-1"}]);
        check(with("listings", listing), None);
        check(with("campaign", json!([["ad-id", "7"]])), None);
        check(
            with(
                "attributes",
                json!([
                    ["floor", "8"],
                    ["unit", "1"],
                    ["new", "1"],
                    ["size", {"rooms": 2, "area": 1}]
                ]),
            ),
            None,
        );
        check(with("name", Value::Null), Some("items[0].name is lost"));
        check(
            with("phones", json!(["1"])),
            Some("items[0].phones: 1 of 2 are left"),
        );
        check(
            with(
                "attributes",
                json!([
                    ["floor", "7"],
                    ["size", {"rooms": 3, "area": 70}],
                    ["other", "1"]
                ]),
            ),
            Some("items[0].attributes.unit is lost"),
        );
        check(
            with(
                "attributes",
                json!([
                    ["unit", "A"],
                    ["floor", "7"],
                    ["size", {"rooms": 2}]
                ]),
            ),
            Some("items[0].attributes.size.area is lost"),
        );
        let invalid = json!({"ok": {"items": [{"outcome": {"invalid": {"message": "x"}}}]}});
        let emptied = lead(json!({"attributes": [["unit", "A"]]}));
        let lost = losses(&before, &emptied);
        assert_eq!(lost.len(), 4, "every loss is told: {lost:?}");
        check(
            invalid.clone(),
            Some("items[0] was `lead`, and is `invalid`"),
        );
        assert!(
            !losses(&invalid, &before).is_empty(),
            "the other way round too"
        );
        check(json!({"ok": {"items": []}}), Some("items: 0 of 1 are left"));
        let refused = json!({"err": {"message": "x"}});
        check(refused.clone(), Some("the body was taken, and is refused"));
        assert!(!losses(&refused, &before).is_empty());
        assert!(losses(&refused, &json!({"err": {"message": "y"}})).is_empty());
    }
}
