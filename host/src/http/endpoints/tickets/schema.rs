//! What the reader of a ticket's body takes, as the document tells it. The tests
//! give examples, and what becomes of them when they are broken, to both.

use serde_json::{Value, json};

use crate::domain::ticket::Status;
use crate::http::terms::{email, one_of};

/// Of `PATCH /tickets/{id}`.
pub fn patch() -> Value {
    let mut owner = email("The e-mail address of who takes it; null: nobody has it any more.");
    owner["type"] = json!(["string", "null"]);
    json!({
        "type": "object",
        "description": "What is to change, at least one thing. What is not given stays.",
        "additionalProperties": false,
        "minProperties": 1,
        "properties": {
            "status": one_of(&Status::ALL.map(Status::as_str), "How far it is; resolving it ends the conversation."),
            "ownerEmail": owner,
        },
    })
}

pub fn patch_examples() -> [(&'static str, &'static str, Value); 2] {
    [
        ("answered", "It is answered", json!({"status": "answered"})),
        ("free", "Nobody has it", json!({"ownerEmail": null})),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::patch;
    use super::{Value, json};
    use crate::http::openapi::mutations;
    use crate::http::zod;

    #[test]
    fn a_change_is_read_as_the_schema_says() {
        let mut bodies = super::patch_examples().map(|(_, _, body)| body).to_vec();
        bodies.push(json!({"status": "open", "ownerEmail": "rui@example.com"}));
        bodies.push(json!({"status": "open", "owner": "rui@example.com"}));
        mutations::agree(&super::patch(), &bodies, |body: &Value| {
            let (found, issues) = zod::read(body, patch::read);
            found.is_some() && issues.is_empty()
        });
    }
}
