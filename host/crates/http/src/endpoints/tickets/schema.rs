use crate::endpoints::prelude::*;
use crate::terms::{email, one_of};
use leadhost_domain::ticket::TicketStatus;

pub fn patch() -> Value {
    let mut owner =
        email("The e-mail address of the person who takes the ticket. Null releases it.");
    owner["type"] = json!(["string", "null"]);
    json!({
        "type": "object",
        "description": "The changes, at least one. A field that is left out keeps its value.",
        "additionalProperties": false,
        "minProperties": 1,
        "properties": {
            "status": one_of(&TicketStatus::ALL.map(TicketStatus::as_str), "The status of the ticket. Resolving it ends the conversation."),
            "ownerEmail": owner,
        },
    })
}

/// Returns examples of a change to a ticket, each with its name and summary.
pub fn patch_examples() -> [(&'static str, &'static str, Value); 2] {
    [
        (
            "answered",
            "The ticket is answered",
            json!({"status": "answered"}),
        ),
        (
            "free",
            "The ticket is released",
            json!({"ownerEmail": null}),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::patch;
    use super::{Value, json};
    use crate::openapi::mutations;
    use crate::zod;

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
