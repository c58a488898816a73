//! What a new output of a golden case lacks that the expected one has. Such a change is rather a mistake
//! than a new expectation.

use serde_json::{Map, Value};

/// Returns what is lost first: a lead or an event that became something else, or a field without its value.
/// A refusal that became an output, or the other way round, is a loss too.
pub fn loss(expected: &Value, came: &Value) -> Option<String> {
    let (before, after) = match (expected.get("ok"), came.get("ok")) {
        (Some(before), Some(after)) => (before, after),
        (None, None) => return None,
        (Some(_), None) => return Some("the body was taken, and is refused".to_owned()),
        (None, Some(_)) => return Some("the body was refused, and is taken".to_owned()),
    };
    ["items", "events"].iter().find_map(|list| {
        let [before, after] = [before, after].map(|output| output.get(list)?.as_array());
        let (before, after) = (before?, after?);
        if after.len() < before.len() {
            return Some(format!(
                "{list}: {} of {} are left",
                after.len(),
                before.len()
            ));
        }
        let both = before.iter().zip(after).enumerate();
        let mut both =
            both.map(|(index, (before, after))| (format!("{list}[{index}]"), before, after));
        both.find_map(|(place, before, after)| lost_of_item(&place, before, after))
    })
}

/// Compares items, whose outcome (or body, of an event) is a variant.
fn lost_of_item(place: &str, before: &Value, after: &Value) -> Option<String> {
    let [(was, fields), (is, left)] = [variant(before)?, variant(after)?];
    if was != is {
        return Some(format!("{place} was `{was}`, and is `{is}`"));
    }
    let fields = fields.as_object()?;
    let none = Map::new();
    let left = left.as_object().unwrap_or(&none);
    fields.iter().find_map(|(name, before)| {
        let after = left.get(name).unwrap_or(&Value::Null);
        lost_of_field(&format!("{place}.{name}"), before, after)
    })
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

fn lost_of_field(place: &str, before: &Value, after: &Value) -> Option<String> {
    match (before, after) {
        (Value::Null, _) => None,
        (Value::Array(before), Value::Array(after)) => {
            let name = |pair: &Value| pair.get(0).cloned().filter(Value::is_string);
            let names: Vec<Value> = after.iter().filter_map(name).collect();
            let gone = before
                .iter()
                .filter_map(name)
                .find(|name| !names.contains(name));
            match gone {
                Some(name) => Some(format!("{place}: {name} is lost")),
                None => (after.len() < before.len())
                    .then(|| format!("{place}: {} of {} are left", after.len(), before.len())),
            }
        }
        (_, Value::Null) => Some(format!("{place} is lost")),
        _ => None,
    }
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
            "attributes": [["unit", "\"A\""], ["floor", "7"]],
        }));
        let check = |came: Value, expect: Option<&str>| {
            assert_eq!(loss(&before, &came).as_deref(), expect, "{came}");
        };
        let with = |name: &str, value: Value| {
            let mut fields = before["ok"]["items"][0]["outcome"]["lead"].clone();
            fields[name] = value;
            lead(fields)
        };
        check(before.clone(), None);
        check(with("name", json!("Bia")), None);
        check(with("message", json!("Olá")), None);
        check(
            with(
                "attributes",
                json!([["floor", "8"], ["unit", "1"], ["new", "1"]]),
            ),
            None,
        );
        check(with("name", Value::Null), Some("items[0].name is lost"));
        check(
            with("phones", json!(["1"])),
            Some("items[0].phones: 1 of 2 are left"),
        );
        check(
            with("attributes", json!([["floor", "7"], ["other", "1"]])),
            Some("items[0].attributes: \"unit\" is lost"),
        );
        let invalid = json!({"ok": {"items": [{"outcome": {"invalid": {"message": "x"}}}]}});
        check(
            invalid.clone(),
            Some("items[0] was `lead`, and is `invalid`"),
        );
        assert!(loss(&invalid, &before).is_some(), "the other way round too");
        check(json!({"ok": {"items": []}}), Some("items: 0 of 1 are left"));
        let refused = json!({"err": {"message": "x"}});
        check(refused.clone(), Some("the body was taken, and is refused"));
        assert!(loss(&refused, &before).is_some());
        assert_eq!(loss(&refused, &json!({"err": {"message": "y"}})), None);
    }
}
