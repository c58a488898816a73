//! The body of a new deal. What it has in common with a notification (the person,
//! the template in both formats, what people and the assistant are told) is read
//! as there. Unknown fields are ignored.

use crate::domain::id::AgentId;
use crate::http::endpoints::notifications::body as notification;
use crate::http::zod::{Issue, Length, Node};
use crate::limits;
use crate::pipeline::templates::wanted::Wanted;

const NAME: Length = Length::filled(limits::NAME_CHARACTERS);
const EXTERNAL_ID: Length = Length::filled(limits::EXTERNAL_ID_CHARACTERS);

/// What could be read. With no issue everything that is required is there: with a
/// template the phone and the instance too, else the phone or the address.
pub struct Draft {
    pub name: Option<String>,
    pub phone_number: Option<String>,
    pub email: Option<String>,
    pub product_id: Option<String>,
    pub product_external_id: Option<String>,
    pub bypass_product_check: bool,
    pub instance: Option<AgentId>,
    pub source: Option<String>,
    pub external_id: Option<String>,
    pub conversion_identifier: Option<String>,
    /// False: not transferred to people when it is not answered.
    pub transfer: bool,
    pub special_instructions: Option<String>,
    pub template: Option<Wanted>,
}

pub fn read(body: Node<'_>) -> Option<Draft> {
    let body = body.object()?;
    let is_written_to = ["template", "messageTemplate"]
        .iter()
        .any(|name| body.field(name).is_there());
    if body.field("replacements").is_there() && !is_written_to {
        body.field("messageTemplate")
            .wrong(|path| Issue::required("string", path));
    }
    if !is_written_to {
        body.one_of_fields(&[("phoneNumber", "string"), ("email", "string")]);
    }
    let for_template = |name: &str| {
        let field = body.field(name);
        if is_written_to {
            Some(field)
        } else {
            field.optional()
        }
    };
    let text = |name: &str, length: Length| {
        let field = body.field(name).optional();
        let text = field.and_then(|field| field.trimmed(length));
        text.map(str::to_owned)
    };
    let name = body.field("name").trimmed(NAME);
    let phone = for_template("phoneNumber");
    let phone_number = phone.and_then(|phone| notification::phone_number(&phone));
    let bypass = body.field("bypassProductCheck").optional();
    let instance = for_template("instanceId").and_then(|instance| instance.integer());
    Some(Draft {
        name: name.map(str::to_owned),
        phone_number: phone_number.map(str::to_owned),
        email: notification::email(body),
        product_id: text("productId", EXTERNAL_ID),
        product_external_id: text("productExternalId", EXTERNAL_ID),
        bypass_product_check: bypass.and_then(|flag| flag.boolean()).unwrap_or(false),
        instance: instance.map(AgentId),
        source: text("source", NAME),
        external_id: text("externalId", EXTERNAL_ID),
        conversion_identifier: text("conversionIdentifier", NAME),
        transfer: notification::transfer(body),
        special_instructions: notification::special_instructions(body),
        template: is_written_to
            .then(|| notification::template(body))
            .flatten(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::http::zod;

    fn check(body: Value, expect: &[(&str, &str)]) {
        zod::assert_issues(&body, read, expect);
    }

    #[test]
    fn a_name_and_a_way_to_reach_somebody_are_enough() {
        check(json!({"name": "Ana", "phoneNumber": "11 98765-4321"}), &[]);
        check(
            json!({"name": "Ana", "email": "ana@example.com", "unknown": null}),
            &[],
        );
        check(json!({"name": "Ana"}), &[("invalid_union", "")]);
        check(
            json!({}),
            &[("invalid_union", ""), ("invalid_type", "name")],
        );
    }

    #[test]
    fn a_template_needs_a_phone_and_an_instance() {
        let whole = json!({"name": "Ana", "phoneNumber": "11 98765-4321", "instanceId": 1,
            "messageTemplate": "welcome", "replacements": ["Ana"]});
        check(whole, &[]);
        check(
            json!({"name": "Ana", "email": "ana@example.com", "messageTemplate": "welcome"}),
            &[
                ("invalid_type", "phoneNumber"),
                ("invalid_type", "instanceId"),
            ],
        );
        check(
            json!({"name": "Ana", "phoneNumber": "1", "instanceId": 1, "template": {},
                "messageTemplate": "welcome"}),
            &[("invalid_union", "")],
        );
    }

    #[test]
    fn replacements_are_of_a_template() {
        check(
            json!({"name": "Ana", "phoneNumber": "1", "replacements": ["Ana"]}),
            &[("invalid_type", "messageTemplate")],
        );
    }

    #[test]
    fn every_field_is_read_and_all_that_is_wrong_is_told() {
        check(
            json!({"name": " ", "phoneNumber": null, "email": "ana", "productId": 7,
                "productExternalId": "", "bypassProductCheck": "yes", "instanceId": 1.5,
                "source": "x".repeat(256), "externalId": [], "conversionIdentifier": "a\0",
                "ignoreTransferToDeskIfUnanswered": 1, "specialInstructions": {}}),
            &[
                ("too_small", "name"),
                ("invalid_type", "phoneNumber"),
                ("invalid_type", "instanceId"),
                ("invalid_string", "email"),
                ("invalid_type", "productId"),
                ("too_small", "productExternalId"),
                ("invalid_type", "bypassProductCheck"),
                ("too_big", "source"),
                ("invalid_type", "externalId"),
                ("invalid_string", "conversionIdentifier"),
                ("invalid_type", "ignoreTransferToDeskIfUnanswered"),
                ("invalid_type", "specialInstructions"),
            ],
        );
    }
}
