//! The schemas of the deals' bodies, for the document. The tests give examples and mutations of
//! them to both the readers and the schemas.

use crate::endpoints::notifications::schema::{legacy_template, person};
use crate::endpoints::prelude::*;
use crate::terms::{email, named, one_of, text, trimmed};
use leadhost_domain::deal::{self, DealStage, DealStatus};

/// Returns the schemas of `POST /deal`: without a message, and with one in either format.
pub fn create() -> [(&'static str, Value); 3] {
    let [template, replacements] = legacy_template();
    let mut plain = new_deal("A deal without a message. A phone or an e-mail address is required.");
    plain["required"] = json!(["name"]);
    // Type generators make unions of `anyOf`, and leave `not` alone.
    let reachable = json!({"anyOf": [{"required": ["phoneNumber"]}, {"required": ["email"]}]});
    plain["not"] = json!({"not": reachable});

    let mut modern = new_deal("A deal with a conversation that begins with a template.");
    modern["required"] = json!(["name", "phoneNumber", "instanceId", "template"]);
    modern["properties"]["template"] = named("Template");

    let mut legacy = new_deal(
        "A deal with a conversation that begins with a template, given by its name and texts.",
    );
    legacy["required"] = json!(["name", "phoneNumber", "instanceId", "messageTemplate"]);
    legacy["properties"]["messageTemplate"] = template;
    legacy["properties"]["replacements"] = replacements;

    [
        ("NewDeal", plain),
        ("NewDealWithTemplate", modern),
        ("NewDealWithLegacyTemplate", legacy),
    ]
}

fn new_deal(description: &str) -> Value {
    let mut properties = person();
    let own = json!({
        "name": trimmed(limits::NAME_CHARACTERS, "The contact's name."),
        "productId": trimmed(limits::EXTERNAL_ID_CHARACTERS, "The property's id."),
        "productExternalId": trimmed(limits::EXTERNAL_ID_CHARACTERS, "The property's id in the system that it came from."),
        "bypassProductCheck": {
            "type": "boolean",
            "description": "True: if the property does not exist, the deal is created without it. Default: false.",
        },
        "source": trimmed(limits::NAME_CHARACTERS, "The source of the deal."),
        "externalId": trimmed(limits::EXTERNAL_ID_CHARACTERS, "The deal's id in the system that it comes from."),
        "conversionIdentifier": trimmed(limits::NAME_CHARACTERS, "The origin of the contact's request, such as a form."),
    });
    if let (Some(all), Value::Object(own)) = (properties.as_object_mut(), own) {
        all.extend(own);
    }
    json!({
        "type": "object",
        "description": description,
        "additionalProperties": false,
        "properties": properties,
    })
}

pub fn patch() -> Value {
    let property = || {
        trimmed(
            limits::EXTERNAL_ID_CHARACTERS,
            "The linked property's id in the system that it came from.",
        )
    };
    let mut wrong = vec![json!({"required": ["propertyExternalId", "productExternalId"]})];
    for status in DealStatus::ALL {
        let stages: Vec<_> = DealStage::ALL
            .into_iter()
            .filter(|stage| deal::contradict(status, *stage))
            .map(DealStage::as_str)
            .collect();
        if !stages.is_empty() {
            wrong.push(json!({
                "required": ["status", "stageCode"],
                "properties": {
                    "status": {"const": status.as_str()},
                    "stageCode": {"enum": stages},
                },
            }));
        }
    }
    let mut owner =
        email("The e-mail address of the new owner. Null leaves the deal without an owner.");
    owner["type"] = json!(["string", "null"]);
    json!({
        "type": "object",
        "description": "The changes, at least one. A field that is left out follows from the others, or keeps its value.",
        "additionalProperties": false,
        "minProperties": 1,
        "properties": {
            "status": one_of(&DealStatus::ALL.map(DealStatus::as_str), "`won` and `lost` set their stages too."),
            "stageCode": one_of(&DealStage::ALL.map(DealStage::as_str), "The closing stages set their status too. A stage that contradicts a given status is refused."),
            "propertyExternalId": property(),
            "productExternalId": property(),
            "ownerEmail": owner,
        },
        "not": {"anyOf": wrong},
    })
}

pub fn log() -> Value {
    let most = limits::LOG_METADATA_BYTES;
    json!({
        "type": "object",
        "description": "Something that happened to the deal, such as its sale.",
        "required": ["type", "subject"],
        "properties": {
            "type": trimmed(limits::LOG_TYPE_CHARACTERS, "The kind of note, such as `success`."),
            "subject": trimmed(limits::NAME_CHARACTERS, "The note in one line."),
            "description": text(limits::LOG_DESCRIPTION_CHARACTERS, "The details of the note."),
            "metadata": {
                "type": "object",
                "description": format!("Such as `salesPrice` (a text) and `soldAt` (a time). At most {most} bytes as JSON."),
            },
        },
    })
}

pub fn create_examples() -> [(&'static str, &'static str, Value); 2] {
    [
        (
            "plain",
            "A deal",
            json!({
                "name": "Lia Montenegro",
                "email": "lia.montenegro@example.com",
                "phoneNumber": "+55 11 94444-0105",
                "source": "fair",
                "conversionIdentifier": "autumn-fair",
            }),
        ),
        (
            "written",
            "A deal and a first message",
            json!({
                "name": "Lia Montenegro",
                "phoneNumber": "+55 11 94444-0105",
                "instanceId": 1,
                "source": "fair",
                "messageTemplate": "welcome",
                "replacements": ["Lia", "AP-0042"],
            }),
        ),
    ]
}

pub fn patch_examples() -> [(&'static str, &'static str, Value); 2] {
    [
        (
            "visit",
            "A visit is arranged",
            json!({"stageCode": "visit_scheduled"}),
        ),
        ("won", "The property is sold", json!({"status": "won"})),
    ]
}

pub fn log_examples() -> [(&'static str, &'static str, Value); 1] {
    [(
        "sale",
        "A sale",
        json!({
            "type": "success",
            "subject": "Sold",
            "description": "Signed at the notary's.",
            "metadata": {"salesPrice": "415000.00", "soldAt": "2026-03-02T12:15:30Z"},
        }),
    )]
}

#[cfg(test)]
mod tests {
    use super::super::{create, log, patch};
    use super::{Value, json};
    use crate::openapi::{self, mutations};
    use crate::surface::Surface;
    use crate::zod;

    fn is_whole<T>((found, issues): (Option<T>, Vec<zod::issue::Issue>)) -> bool {
        found.is_some() && issues.is_empty()
    }

    #[test]
    fn a_new_deal_is_read_as_the_schema_says() {
        let document = openapi::document(Surface::Gateway);
        let body = &document["paths"]["/deal"]["post"]["requestBody"];
        let schema = &body["content"]["application/json"]["schema"];
        let [plain, written] = super::create_examples().map(|(_, _, body)| body);
        let mut whole = plain.clone();
        whole["productId"] = json!("x-1");
        whole["productExternalId"] = json!("AP-1");
        whole["bypassProductCheck"] = json!(true);
        whole["externalId"] = json!("F-1");
        whole["instanceId"] = json!(1);
        whole["specialInstructions"] = json!("");
        whole["ignoreTransferToDeskIfUnanswered"] = json!(true);
        let mut modern = whole.clone();
        modern["template"] = json!({"name": "welcome", "language": {"code": "pt_BR"}});
        let mut both = modern.clone();
        both["messageTemplate"] = json!("welcome");
        let mut nameless = plain.clone();
        nameless["replacements"] = json!(["Lia"]);
        let mut mixed = modern.clone();
        mixed["replacements"] = json!(["Lia"]);
        let mut misspelled = plain.clone();
        misspelled["ownerEmail"] = json!("rui@example.com");
        let bodies = [
            plain, written, whole, modern, both, nameless, mixed, misspelled,
        ];
        mutations::agree(schema, &bodies, |body: &Value| {
            is_whole(zod::read(body, create::body::read))
        });
    }

    #[test]
    fn a_change_is_read_as_the_schema_says() {
        let mut bodies = super::patch_examples().map(|(_, _, body)| body).to_vec();
        bodies.extend([
            json!({"status": "closed", "stageCode": "closed_lost", "propertyExternalId": "AP-1",
                "ownerEmail": "rui@example.com"}),
            json!({"productExternalId": "AP-1", "status": "open"}),
            json!({"propertyExternalId": "AP-1", "productExternalId": "AP-1"}),
            json!({"status": "won", "stageCode": "closed_lost"}),
            json!({"status": "open", "stageCode": "closed_won"}),
            json!({"stage": "won"}),
        ]);
        mutations::agree(&super::patch(), &bodies, |body: &Value| {
            is_whole(zod::read(body, patch::read))
        });
    }

    #[test]
    fn a_note_is_read_as_the_schema_says() {
        let mut bodies = super::log_examples().map(|(_, _, body)| body);
        // No schema can express its bound as JSON text.
        bodies[0]["metadata"] = json!({});
        mutations::agree(&super::log(), &bodies, |body: &Value| {
            is_whole(zod::read(body, log::read))
        });
    }
}
