//! A body that a converter reads for a trial: what it found, where, and what it left unread. The
//! service answers with it, and `leadhost mapping try` shows the same of an engine on its machine.

use crate::prelude::*;
use leadhost_domain::phone::{self, written};

/// A body to try a converter and a configuration on.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TryRequest {
    /// The name of the converter.
    pub plugin: String,
    /// Its configuration. It need not belong to a connection.
    #[serde(default = "no_config")]
    pub config: Value,
    pub body: String,
    /// The content type of the delivery. Left out: JSON or a form, if the body looks like one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The fields of the query.
    #[serde(default)]
    pub query: BTreeMap<String, String>,
}

fn no_config() -> Value {
    Value::Object(serde_json::Map::new())
}

/// A converter's reading of a body. Nothing is stored.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct TriedBody {
    pub plugin: String,
    pub version: String,
    /// Why the converter refuses the body as a whole, so that its sender gets 400.
    pub problem: Option<String>,
    pub items: Vec<TriedItem>,
    /// The notes of the converter about the delivery.
    pub notes: Vec<String>,
    /// The output of the converter during the call.
    pub log: Vec<String>,
}

/// A converter's result for one item.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriedItem {
    /// Whether it is a lead. Otherwise `outcome` says what it is.
    pub is_lead: bool,
    // The item as a golden case has it, such as `{"fetch": {…}}`. It stays JSON, because the version of
    // the contract decides its shape.
    pub outcome: Value,
    pub fields: Vec<TriedField>,
    /// The names of the values that are kept as attributes.
    pub attributes: Vec<String>,
    /// The places whose values look like a phone or an e-mail address, and are not used by any
    /// field. Only the mapping converter lists them.
    pub unread_contacts: Vec<String>,
    /// The other places that are not used by any field.
    pub unread: Vec<String>,
}

impl TriedItem {
    /// Returns what is fetched from the source, and where, if the item only points to a lead: `the lead 7 is
    /// fetched from its source: GET graph.facebook.com/v24.0/7`. The query is left out.
    pub fn fetched(&self) -> Option<String> {
        let fetch = self.outcome.get("fetch")?;
        let request = &fetch["request"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let id = match text(&fetch["externalId"]) {
            id if id.is_empty() => id,
            id => format!(" {id}"),
        };
        let parts = request["path"].as_array().into_iter().flatten();
        let path: String = parts
            .map(|part| match part["literal"].as_str() {
                Some(literal) => literal,
                None => SECRET,
            })
            .collect();
        Some(format!(
            "the lead{id} is fetched from its source: {} {}{path}",
            text(&request["method"]),
            text(&request["authority"])
        ))
    }
}

/// A field of a lead, and where its value comes from.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TriedField {
    pub field: String,
    pub value: String,
    /// The places that it was read from. Null if the converter does not say.
    pub from: Option<String>,
    pub how: ReadHow,
}

words! {
    /// How a converter came to the value of a field.
    ReadHow: "how a value is read" {
        Guessed = "guessed",
        Configured = "configured",
        /// It does not come from the body.
        NotFromTheBody = "not from the body",
        /// The converter does not explain itself.
        Unexplained = "by the converter",
    }
}

/// The prefix of the notes of an explanation.
const EXPLANATION: &str = "explain: ";

/// The fields of a lead, in the order in which they are shown.
const FIELDS: [&str; 13] = [
    "externalId",
    "name",
    "phones",
    "emails",
    "listings",
    "message",
    "occurredAt",
    "source",
    "isTest",
    "region",
    "action",
    "campaign",
    "consents",
];

/// The text that stands for a secret in an address.
const SECRET: &str = "***";

const VALUE_CHARACTERS: usize = 60;

/// Characters of the places of a value that are shown: all that the mapping converter names.
const PLACES_CHARACTERS: usize = 1_000;

pub fn explained(output: &Value) -> (Vec<Value>, Vec<&str>) {
    let (mut explanations, mut others) = (Vec::new(), Vec::new());
    for note in output["notes"].as_array().into_iter().flatten() {
        let note = note.as_str().unwrap_or_default();
        let explanation = note.strip_prefix(EXPLANATION).map(serde_json::from_str);
        match explanation {
            Some(Ok(explanation)) => explanations.push(explanation),
            _ => others.push(note),
        }
    }
    (explanations, others)
}

/// Returns why the plugin refuses the body, if it does.
pub fn refusal(output: &Value) -> Option<String> {
    let problem = output.get("err")?;
    let text = |name: &str| problem[name].as_str().unwrap_or_default();
    let place = match text("path") {
        "" => String::new(),
        path => format!(" ({path})"),
    };
    Some(format!("{}{place}", text("message")))
}

pub fn items(answer: &Value, explanations: &[Value]) -> Vec<TriedItem> {
    let items = answer["items"].as_array().into_iter().flatten();
    items
        .enumerate()
        .map(|(index, item)| {
            let of_item = explanations.iter().filter(|one| one["item"] == index);
            let of_item: Vec<&Value> = of_item.collect();
            let how = if explanations.is_empty() {
                ReadHow::Unexplained
            } else {
                ReadHow::NotFromTheBody
            };
            tried(&item["outcome"], &of_item, how)
        })
        .collect()
}

fn tried(outcome: &Value, explanations: &[&Value], unexplained: ReadHow) -> TriedItem {
    let lead = &outcome["lead"];
    let places = |kind: &str| {
        let lists = explanations.iter().filter_map(|one| one[kind].as_array());
        let places = lists.flatten().filter_map(Value::as_str);
        places.map(str::to_owned).collect()
    };
    let attributes = lead["attributes"].as_array().into_iter().flatten();
    let names = attributes.filter_map(|one| one[0].as_str().map(str::to_owned));
    TriedItem {
        is_lead: !lead.is_null(),
        outcome: outcome.clone(),
        fields: fields(lead, explanations, unexplained),
        attributes: names.collect(),
        unread_contacts: places("unreadContacts"),
        unread: places("unread"),
    }
}

fn fields(lead: &Value, explanations: &[&Value], unexplained: ReadHow) -> Vec<TriedField> {
    let mut fields = Vec::new();
    for field in FIELDS {
        let of_field = explanations.iter().filter(|one| one["field"] == field);
        let of_field: Vec<&&Value> = of_field.collect();
        let value = match field {
            "phones" => shown(&read_phones(&lead[field])),
            _ => shown(&lead[field]),
        };
        if of_field.is_empty() && (value.is_empty() || is_default(field, &lead[field])) {
            continue;
        }
        fields.push(TriedField {
            field: field.to_owned(),
            value,
            from: (!of_field.is_empty()).then(|| {
                let places: Vec<String> =
                    of_field.iter().map(|one| text_of(&one["from"])).collect();
                bounded(places.join(", "), PLACES_CHARACTERS)
            }),
            how: match of_field.first().map(|one| one["guessed"] == true) {
                Some(true) => ReadHow::Guessed,
                Some(false) => ReadHow::Configured,
                None => unexplained,
            },
        });
    }
    fields
}

fn read_phones(phones: &Value) -> Value {
    let phones = phones.as_array().into_iter().flatten();
    let read = phones.map(|phone| {
        let text = phone
            .as_str()
            .filter(|text| written::context(text).is_some());
        let e164 = text.and_then(|text| phone::normalise(text, "").e164);
        e164.map_or_else(|| phone.clone(), Value::from)
    });
    read.collect()
}

fn is_default(field: &str, value: &Value) -> bool {
    matches!((field, value), ("isTest", Value::Bool(false)))
        || field == "action" && value == "create"
}

fn shown(value: &Value) -> String {
    bounded(text_of(value), VALUE_CHARACTERS)
}

/// Returns a value as text: texts as they are, the elements of a list with commas between.
fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => fields.values().map(text_of).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

fn bounded(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

columns! {
    TriedField as field {
        "Field" => &field.field,
        "Value" => &field.value,
        "Read from" => Cell::id(field.from.as_deref().unwrap_or_default()),
        "How" => field.how.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn explanations_are_distinguished_from_other_notes() {
        let output = json!({"notes": [
            "explain: {\"item\":0,\"field\":\"name\",\"from\":[\"nome\"],\"guessed\":true}",
            "item 0: the message is cut",
            "explain: {cut",
        ]});
        let (explanations, others) = explained(&output);
        assert_eq!(explanations.len(), 1);
        assert_eq!(others, ["item 0: the message is cut", "explain: {cut"]);
    }

    #[test]
    fn a_phone_with_its_country_is_shown_as_it_is_read() {
        let phones = json!([
            "912345678;phone-context=PT",
            "11 90000-0001",
            "1;phone-context=PT"
        ]);
        let expect = json!(["+351912345678", "11 90000-0001", "1;phone-context=PT"]);
        assert_eq!(read_phones(&phones), expect);
    }

    #[test]
    fn values_are_shortened_to_fit_a_table_cell() {
        assert_eq!(shown(&json!(["a", "b"])), "a, b");
        assert_eq!(
            shown(&json!([{"kind": "client", "reference": "7"}])),
            "client 7"
        );
        assert_eq!(shown(&Value::Null), "");
        assert_eq!(shown(&json!("x".repeat(99))).chars().count(), 63);
    }

    #[test]
    fn an_item_that_is_fetched_says_from_where() {
        let fetched = |outcome: Value| {
            let answer = json!({"items": [{"outcome": outcome}]});
            items(&answer, &[])[0].fetched()
        };
        let request = |path: Value| json!({"method": "GET", "scheme": "https", "authority": "graph.example.com", "path": path});
        let path = json!([{"literal": "/v1/"}, {"slot": {"function": "secret"}}]);
        assert_eq!(
            fetched(json!({"fetch": {"externalId": "7", "request": request(path.clone())}})),
            Some("the lead 7 is fetched from its source: GET graph.example.com/v1/***".to_owned())
        );
        assert_eq!(
            fetched(json!({"fetch": {"request": request(path)}})),
            Some("the lead is fetched from its source: GET graph.example.com/v1/***".to_owned())
        );
        assert_eq!(fetched(json!({"ignored": "a page"})), None);
    }

    #[test]
    fn a_field_says_where_its_value_comes_from() {
        let answer = json!({"items": [{"outcome": {"lead": {
            "name": "Rita", "message": "Oi", "isTest": false, "attributes": [["cor", "azul"]],
        }}}]});
        // All places are named, however long their paths are.
        let places = ["nome".to_owned(), "x".repeat(VALUE_CHARACTERS)];
        let explanations = [
            json!({"item": 0, "field": "name", "from": places, "guessed": true}),
            json!({"item": 0, "unread": ["x"], "unreadContacts": ["tel"]}),
        ];
        let items = items(&answer, &explanations);
        let field = |field: &str, value: &str, from: Option<&str>, how| TriedField {
            field: field.to_owned(),
            value: value.to_owned(),
            from: from.map(str::to_owned),
            how,
        };
        let expect = [
            field("name", "Rita", Some(&places.join(", ")), ReadHow::Guessed),
            field("message", "Oi", None, ReadHow::NotFromTheBody),
        ];
        assert_eq!(items[0].fields, expect);
        assert_eq!(items[0].attributes, ["cor"]);
        assert_eq!(items[0].unread, ["x"]);
        assert_eq!(items[0].unread_contacts, ["tel"]);
    }
}
