//! The Graph API's response to a fetch: a lead, a list of leads, or an error.

use leadhost_sdk::{
    Completion, Failure, Item, is_absent,
    serde_json::{Map, Value},
};

use crate::{answers, faults};

/// Returns the items of the Graph API's answer to a fetch.
///
/// # Errors
///
/// [`Failure`] if the answer is an error or no lead; it says whether a retry may help.
pub fn items(completion: &Completion) -> Result<Vec<Item>, Failure> {
    let response = &completion.response;
    let body = response.json().ok();
    let error = body.as_ref().and_then(|body| body.get("error"));
    if let Some(error) = error.filter(|error| !is_absent(error)) {
        return Err(faults::from_error(error, response));
    }
    let body = match body {
        Some(Value::Object(fields)) if response.status == 200 => fields,
        _ => return Err(faults::from_status(response)),
    };

    let state = match completion.state_json() {
        Value::Object(state) => state,
        _ => Map::new(),
    };
    let items: Vec<Item> = match body.get("data") {
        Some(Value::Array(leads)) if leads.is_empty() => {
            vec![Item::ignored("the Graph API's list of leads is empty")]
        }
        Some(Value::Array(leads)) => leads
            .iter()
            .enumerate()
            .map(|(index, lead)| listed(lead, &state, index))
            .collect(),
        _ => {
            // A form may ask only for consents; then there are no answers.
            let is_lead = ["field_data", "custom_disclaimer_responses", "id"]
                .iter()
                .any(|name| body.get(*name).is_some_and(|value| !is_absent(value)));
            if !is_lead {
                return Err(Failure::retry(
                    "the Graph API's answer has no lead in it",
                    Some(faults::NOT_READY_SECONDS),
                ));
            }
            let claimed = completion.external_id.clone();
            vec![Item::lead(answers::lead(
                &Value::Object(body),
                &state,
                claimed,
            ))]
        }
    };
    let page = state.get("page_id").and_then(Value::as_str);
    Ok(items
        .into_iter()
        .map(|item| match page {
            Some(page) => item.route("page-id", page),
            None => item,
        })
        .collect())
}

fn listed(lead: &Value, state: &Map<String, Value>, index: usize) -> Item {
    let has = |name: &str| lead.get(name).is_some_and(|value| !is_absent(value));
    if !has("field_data") && !has("id") {
        return Item::invalid(
            "the lead has neither an `id` nor `field_data`",
            format!("data.{index}"),
        );
    }
    Item::lead(answers::lead(lead, state, None))
}
