//! The body of a new deal. The fields that it shares with a notification (the contact, the
//! template in both formats, the transfer to agents and the special instructions) are read by the
//! same functions. Any other field is refused, so that a misspelled one is not lost.

use crate::endpoints::notifications::body as notification;
use crate::endpoints::prelude::*;
use crate::zod::{Node, TextLength, issue::Issue};
use leadhost_pipeline::templates::requested::TemplateUse;
use leadhost_store::NotificationDetails;

const NAME: TextLength = TextLength::filled(limits::NAME_CHARACTERS);
const EXTERNAL_ID: TextLength = TextLength::filled(limits::EXTERNAL_ID_CHARACTERS);

/// The fields; the last one belongs to the legacy format of a template.
const FIELDS: [&str; 15] = [
    "name",
    "phoneNumber",
    "email",
    "instanceId",
    "productId",
    "productExternalId",
    "bypassProductCheck",
    "source",
    "externalId",
    "conversionIdentifier",
    "ignoreTransferToDeskIfUnanswered",
    "specialInstructions",
    "template",
    "messageTemplate",
    "replacements",
];

/// A body as far as it could be read. The phone number and the instance are checked even if other
/// fields have issues, so that a partner gets all issues at once.
#[derive(Default)]
pub struct PartialDraft {
    pub phone_number: Option<String>,
    pub instance: Option<AgentId>,
    /// `None` if a field has an issue.
    pub deal: Option<Draft>,
}

/// A new deal as the partner describes it. With a template there are a phone number and an
/// instance too; otherwise there is a phone number or an e-mail address.
pub struct Draft {
    /// The fields that a notification has too.
    pub details: NotificationDetails,
    pub product_id: Option<String>,
    pub product_external_id: Option<String>,
    pub bypass_product_check: bool,
    pub external_id: Option<String>,
    pub conversion_identifier: Option<String>,
    pub template: Option<TemplateUse>,
}

pub fn read(body: Node<'_>) -> Option<PartialDraft> {
    let body = body.object()?;
    let is_modern = body.field("template").is_there();
    body.no_other_than(&FIELDS[..FIELDS.len() - usize::from(is_modern)]);
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
    let text = |name: &str, length: TextLength| {
        let field = body.field(name).optional();
        let text = field.and_then(|field| field.trimmed(length));
        text.map(str::to_owned)
    };
    let name = body.field("name").trimmed(NAME);
    let phone = for_template("phoneNumber");
    let phone_number = phone.and_then(|phone| notification::phone_number(&phone));
    let bypass = body.field("bypassProductCheck").optional();
    let instance = for_template("instanceId").and_then(|instance| instance.integer());
    // All fields are read even if the name is missing, so that their issues are noted.
    let email = notification::email(body);
    let product_id = text("productId", EXTERNAL_ID);
    let product_external_id = text("productExternalId", EXTERNAL_ID);
    let bypass_product_check = bypass.and_then(|flag| flag.boolean()).unwrap_or(false);
    let source = text("source", NAME);
    let external_id = text("externalId", EXTERNAL_ID);
    let conversion_identifier = text("conversionIdentifier", NAME);
    let transfer = notification::transfer(body);
    let special_instructions = notification::special_instructions(body);
    let template = is_written_to
        .then(|| notification::template(body))
        .flatten();
    Some(PartialDraft {
        phone_number: phone_number.map(str::to_owned),
        instance: instance.map(AgentId),
        deal: name.map(|name| Draft {
            details: NotificationDetails {
                name: name.to_owned(),
                email,
                source,
                transfer,
                special_instructions,
            },
            product_id,
            product_external_id,
            bypass_product_check,
            external_id,
            conversion_identifier,
            template,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zod;

    fn check(body: Value, expect: &[(&str, &str)]) {
        zod::assert_issues(&body, read, expect);
    }

    #[test]
    fn a_name_with_a_phone_or_an_email_is_enough() {
        check(json!({"name": "Ana", "phoneNumber": "11 98765-4321"}), &[]);
        check(json!({"name": "Ana", "email": "ana@example.com"}), &[]);
        check(
            json!({"name": "Ana", "email": "ana@example.com", "status": "won", "ownerEmail": null}),
            &[("unrecognized_keys", "")],
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
    fn a_deal_has_the_details_that_a_notification_has() {
        let body = json!({"name": "Ana", "email": "ana@example.com", "source": "fair",
            "ignoreTransferToDeskIfUnanswered": true, "specialInstructions": "be brief"});
        let (read, issues) = zod::read(&body, read);
        assert!(issues.is_empty(), "{issues:?}");
        let deal = read.and_then(|read| read.deal).expect("a deal");
        let details = deal.details;
        assert_eq!(details.name, "Ana");
        assert_eq!(details.email.as_deref(), Some("ana@example.com"));
        assert_eq!(details.source.as_deref(), Some("fair"));
        assert!(!details.transfer);
        assert_eq!(details.special_instructions.as_deref(), Some("be brief"));
    }

    #[test]
    fn replacements_need_a_template() {
        check(
            json!({"name": "Ana", "phoneNumber": "1", "replacements": ["Ana"]}),
            &[("invalid_type", "messageTemplate")],
        );
    }

    #[test]
    fn the_issues_of_all_fields_are_reported() {
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

#[cfg(test)]
mod fuzz {
    use leadhost_fuzz::{changed, holds, json};
    use serde_json::json;

    use super::*;
    use crate::zod;

    const MEMBERS: [&str; 20] = [
        "name",
        "phoneNumber",
        "email",
        "productId",
        "productExternalId",
        "bypassProductCheck",
        "instanceId",
        "source",
        "externalId",
        "conversionIdentifier",
        "ignoreTransferToDeskIfUnanswered",
        "specialInstructions",
        "template",
        "messageTemplate",
        "replacements",
        "language",
        "components",
        "parameters",
        "type",
        "text",
    ];
    const TEXTS: [&str; 6] = [
        "Ana",
        "11 98765-4321",
        "ana@example.com",
        "welcome",
        "body",
        "text",
    ];

    /// Asserts that each issue's path leads to a part of the body, or to a member that is missing
    /// in a part of it.
    fn lead_somewhere(body: &serde_json::Value, issues: &[Issue]) {
        for issue in issues {
            assert!(!issue.message.is_empty(), "{issue:?}");
            let mut at = Some(body);
            for (number, step) in issue.path.iter().enumerate() {
                let next = at.and_then(|at| match step {
                    zod::issue::PathStep::Field(name) => at.get(name),
                    zod::issue::PathStep::Index(index) => at.get(index),
                });
                let is_last = number + 1 == issue.path.len();
                assert!(next.is_some() || is_last, "{issue:?}");
                at = next;
            }
        }
        let message = zod::issue::message(issues);
        assert!(serde_json::from_str::<serde_json::Value>(&message).is_ok());
    }

    #[test]
    fn fuzz_every_body_of_the_gateway_is_read_or_refused_with_reasons() {
        let seeds = vec![
            json!({"name": "Ana", "phoneNumber": "11 98765-4321", "email": "ana@example.com",
                "productExternalId": "AP-7", "bypassProductCheck": true, "source": "fair",
                "externalId": "7", "conversionIdentifier": "c", "specialInstructions": "Hi"}),
            json!({"name": "Ana", "phoneNumber": "1", "instanceId": 1,
                "messageTemplate": "welcome", "replacements": ["Ana", "AP-7"]}),
            json!({"name": "Ana", "phoneNumber": "1", "instanceId": 1, "template": {
                "name": "welcome", "language": {"code": "pt_BR"}, "components": [
                    {"type": "header", "parameters": [
                        {"type": "image", "image": {"link": "https://example.com/a.png"}}]},
                    {"type": "body", "parameters": [{"type": "text", "text": "Ana"}]},
                    {"type": "button", "sub_type": "url", "index": 0, "parameters": [
                        {"type": "text", "text": "x", "parameter_name": "y"}]}]}}),
            json!({"status": "open", "ownerEmail": "ana@example.com"}),
            json!([]),
        ];
        holds(4_500, changed(seeds, json(&MEMBERS, &TEXTS)), |body| {
            let (draft, issues) = zod::read(body, read);
            lead_somewhere(body, &issues);
            if issues.is_empty() {
                let read = draft.expect("nothing is wrong");
                let deal = read.deal.expect("nothing is wrong");
                let details = &deal.details;
                assert!(!details.name.is_empty());
                assert!(read.phone_number.is_some() || details.email.is_some());
                let is_written_to = deal.template.is_some();
                assert!(!is_written_to || read.phone_number.is_some() && read.instance.is_some());
                let template = deal.template.as_ref().map(|template| &template.name);
                let instructions = details.special_instructions.as_ref();
                for (text, most) in [
                    (Some(&details.name), limits::NAME_CHARACTERS),
                    (read.phone_number.as_ref(), limits::PHONE_CHARACTERS),
                    (details.email.as_ref(), limits::EMAIL_CHARACTERS),
                    (details.source.as_ref(), limits::NAME_CHARACTERS),
                    (instructions, limits::SPECIAL_INSTRUCTIONS_CHARACTERS),
                    (deal.product_id.as_ref(), limits::EXTERNAL_ID_CHARACTERS),
                    (
                        deal.product_external_id.as_ref(),
                        limits::EXTERNAL_ID_CHARACTERS,
                    ),
                    (deal.external_id.as_ref(), limits::EXTERNAL_ID_CHARACTERS),
                    (template, limits::TEMPLATE_NAME_CHARACTERS),
                ] {
                    let fits = |text: &String| text.chars().count() <= most && !text.contains('\0');
                    assert!(text.is_none_or(fits), "{text:?}");
                }
            }
            let (draft, issues) = zod::read(body, notification::read);
            lead_somewhere(body, &issues);
            if issues.is_empty() {
                let read = draft.expect("nothing is wrong");
                assert!(read.message.is_some() && read.instance.is_some());
                assert!(read.phone_number.is_some());
            }
            let (_, issues) = zod::read(body, super::super::super::patch::read);
            lead_somewhere(body, &issues);
        });
    }
}
