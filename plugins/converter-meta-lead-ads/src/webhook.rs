//! A delivery of Meta: entries of pages, each with changes.
//!
//! Every change is a separate item, so that a bad one does not affect the others. A
//! body that contains the answers, as relays and manual tests send, yields leads at
//! once.

use leadhost_sdk::{
    HttpRequest, Item, MAX_ITEMS, Problem, hmac_hex, secret, secret_argument,
    serde_json::{Map, Value},
    text_at, text_of, time_text,
};

use crate::{Config, PageToken, answers};

/// Returns the items of a delivery.
///
/// # Errors
///
/// [`Problem`] if the body is no webhook, or has more changes than a host accepts.
pub fn items(config: &Config, body: &Value) -> Result<Vec<Item>, Problem> {
    let Value::Object(fields) = body else {
        return Err(Problem::new("the body must be a JSON object with `entry`"));
    };
    // Webhooks of other objects have entries and changes of the same shape.
    if let Some(object) = fields.get("object").and_then(text_of)
        && object != PAGE
    {
        let why = format!("a webhook of `{object}`, not of `{PAGE}`");
        return Ok(vec![Item::ignored(why)]);
    }
    match fields.get("entry") {
        Some(Value::Array(entries)) if count(entries) > MAX_ITEMS => Err(Problem::new(format!(
            "the body has more than {MAX_ITEMS} changes, Meta sends at most 1000"
        ))
        .at("entry")),
        Some(Value::Array(entries)) => Ok(entries
            .iter()
            .enumerate()
            .flat_map(|(index, entry)| entry_items(config, entry, &format!("entry.{index}")))
            .collect()),
        Some(_) => Err(Problem::new("`entry` must be a list").at("entry")),
        None if body["data"]
            .as_array()
            .is_some_and(|leads| leads.len() > MAX_ITEMS) =>
        {
            Err(Problem::new(format!("the body has more than {MAX_ITEMS} leads")).at("data"))
        }
        None => relayed(config, body)
            .ok_or_else(|| Problem::new("the body has no `entry`: it is no webhook of Meta")),
    }
}

fn count(entries: &[Value]) -> usize {
    let changes = |entry: &Value| entry.get("changes").and_then(Value::as_array).map(Vec::len);
    entries
        .iter()
        .map(|entry| changes(entry).unwrap_or(1))
        .sum()
}

/// A webhook as relays reduce it: one change, its value alone, or the leads.
fn relayed(config: &Config, body: &Value) -> Option<Vec<Item>> {
    if let Some(value) = body.get("value").filter(|value| value.is_object()) {
        let field = body.get("field").and_then(text_of);
        return Some(vec![change_item(config, field, value, None, "value")]);
    }
    if body.get("leadgen_id").is_some() || body.get("field_data").is_some() {
        return Some(vec![change_item(config, leadgen(), body, None, "")]);
    }
    let leads = body.get("data")?.as_array()?;
    Some(
        leads
            .iter()
            .enumerate()
            .map(|(index, lead)| {
                change_item(config, leadgen(), lead, None, &format!("data.{index}"))
            })
            .collect(),
    )
}

fn entry_items(config: &Config, entry: &Value, path: &str) -> Vec<Item> {
    let page = text_at(entry, &["id"]);
    match entry.get("changes") {
        Some(Value::Array(changes)) => changes
            .iter()
            .enumerate()
            .map(|(index, change)| {
                let path = format!("{path}.changes.{index}");
                let field = change.get("field").and_then(text_of);
                match change.get("value") {
                    Some(value) => change_item(
                        config,
                        field,
                        value,
                        page.as_deref(),
                        &format!("{path}.value"),
                    ),
                    None => routed(
                        Item::invalid("the change has no `value`", path),
                        page.as_deref(),
                    ),
                }
            })
            .collect(),
        Some(_) => vec![Item::invalid(
            "`changes` must be a list",
            format!("{path}.changes"),
        )],
        None if entry.is_object() => vec![routed(
            Item::ignored("the entry has no `changes`: it is not about leads"),
            page.as_deref(),
        )],
        None => vec![Item::invalid("an entry must be an object", path)],
    }
}

fn change_item(
    config: &Config,
    field: Option<String>,
    value: &Value,
    entry_page: Option<&str>,
    path: &str,
) -> Item {
    let page = text_at(value, &["page_id"]).or_else(|| entry_page.map(str::to_owned));
    let item = if field.as_deref() != Some(LEADGEN) {
        let field = field.unwrap_or_else(|| "(none)".into());
        Item::ignored(format!("a change of `{field}`, not of `{LEADGEN}`"))
    } else if !value.is_object() {
        Item::invalid("the change's value must be an object", path)
    } else if value.get("field_data").is_some() {
        let lead = answers::lead(value, &Map::new(), None);
        if lead.external_id.is_none() && lead.phones.is_empty() && lead.emails.is_empty() {
            Item::invalid("the lead has neither an id nor a phone nor an e-mail", path)
        } else {
            Item::lead(lead)
        }
    } else {
        pointer_item(config, value, page.as_deref())
            .unwrap_or_else(|problem| Item::invalid(problem, path))
    };
    routed(item, page.as_deref())
}

/// Returns a fetch for a lead that is only named, or the reason why there can be none.
fn pointer_item(config: &Config, value: &Value, page: Option<&str>) -> Result<Item, String> {
    let id = text_at(value, &["leadgen_id"])
        .filter(|id| id.len() <= MAX_ID)
        .ok_or("the change names no lead: `leadgen_id` is missing")?;
    let token = match (config.page_token, page) {
        (PageToken::Single, _) => "page-token".to_owned(),
        // The id becomes part of a secret's name, so it must be nothing but an id.
        (PageToken::ByPage, Some(page)) if is_id(page) => format!("page-token/{page}"),
        (PageToken::ByPage, _) => {
            return Err("the change names no page: `page_id` is missing or is no id".into());
        }
    };
    let request = request(config, &id, &token).map_err(|problem| problem.message)?;
    let state = state(value, page).to_string();
    Ok(Item::fetch(Some(id), request, state))
}

fn request(config: &Config, id: &str, token: &str) -> Result<HttpRequest, Problem> {
    let request = HttpRequest::get(&config.graph_url)?
        .step(&config.graph_version)
        .step(id)
        .query("fields", config.fields.join(","))
        .query("access_token", secret(token));
    Ok(if config.appsecret_proof {
        request.query(
            "appsecret_proof",
            hmac_hex("app-secret", [secret_argument(token)]),
        )
    } else {
        request
    })
}

/// Returns values of the webhook that the response may leave out.
fn state(value: &Value, page: Option<&str>) -> Value {
    let mut state = Map::new();
    let known = [
        ("page_id", page.map(str::to_owned)),
        ("form_id", text_at(value, &["form_id"])),
        ("ad_id", text_at(value, &["ad_id", "adgroup_id"])),
        (
            "created_time",
            value.get("created_time").and_then(time_text),
        ),
    ];
    for (name, text) in known {
        if let Some(text) = text {
            state.insert(name.into(), Value::String(text));
        }
    }
    Value::Object(state)
}

fn routed(item: Item, page: Option<&str>) -> Item {
    match page {
        Some(page) => item.route("page-id", page),
        None => item,
    }
}

fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

fn leadgen() -> Option<String> {
    Some(LEADGEN.into())
}

const PAGE: &str = "page";
const LEADGEN: &str = "leadgen";
/// Meta's ids have some 17 digits; relays use longer ones.
const MAX_ID: usize = 128;

#[cfg(test)]
mod tests {
    use leadhost_sdk::serde_json::json;

    use super::*;

    #[test]
    fn a_batch_above_the_item_limit_is_refused() {
        let refused = |body: Value| items(&Config::default(), &body).is_err();
        assert!(refused(json!({"entry": vec![1; MAX_ITEMS + 1]})));
        assert!(refused(json!({"data": vec![1; MAX_ITEMS + 1]})));
        let changes = vec![json!({"field": "feed"}); MAX_ITEMS];
        assert!(!refused(json!({"entry": [{"changes": changes}]})));
        assert!(refused(json!({"entry": [{"changes": changes}, {"id": 1}]})));
    }
}
