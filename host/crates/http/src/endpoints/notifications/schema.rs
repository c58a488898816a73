//! The body as the OpenAPI document describes it, with the bounds of its reader. The tests give
//! examples and mutated examples to both the reader and the schema, so that the two always agree.

use super::body::OF_BUTTONS;
use crate::endpoints::prelude::*;
use crate::terms::{email, filled, link, list, named, one_of, seen, text, trimmed};
use leadhost_pipeline::templates::requested::{ComponentKind, QUICK_REPLY};

pub fn formats() -> [(&'static str, Value); 2] {
    let mut modern = common("A notification with a whole template.", "template");
    modern["properties"]["template"] = named("Template");
    modern["not"] = json!({"required": ["messageTemplate"]});

    let mut legacy = common(
        "A notification with a template's name and the texts of its body.",
        "messageTemplate",
    );
    let [template, replacements] = legacy_template();
    legacy["properties"]["messageTemplate"] = template;
    legacy["properties"]["replacements"] = replacements;
    legacy["not"] = json!({"required": ["template"]});

    [
        ("ModernNotification", modern),
        ("LegacyNotification", legacy),
    ]
}

/// Returns the schemas of `messageTemplate` and `replacements`, for every body with the legacy
/// format.
pub fn legacy_template() -> [Value; 2] {
    let value = seen(limits::PARAMETER_CHARACTERS, "");
    [
        filled(
            limits::TEMPLATE_NAME_CHARACTERS,
            "The template's name. It is sent in the only language in which it is approved, otherwise in the channel's language.",
        ),
        list(
            &value,
            limits::TEMPLATE_PARAMETERS,
            "The values of its body's placeholders, in order. White space in them is folded, as in the parameters of a template.",
        ),
    ]
}

fn common(description: &str, template: &str) -> Value {
    let mut own = json!({
        "type": "object",
        "description": description,
        "required": ["name", "phoneNumber", "instanceId", "source", template],
        "properties": person(),
    });
    let source = filled(limits::NAME_CHARACTERS, "The source of the notification.");
    own["properties"]["source"] = source;
    own
}

/// Returns the schemas of the fields about the contact, the instance and the conversation, for
/// every body that has them.
pub fn person() -> Value {
    json!({
        "name": trimmed(limits::NAME_CHARACTERS, "The contact's name."),
        "phoneNumber": text(
            limits::PHONE_CHARACTERS,
            "The contact's phone number in any format; without a country code it is read in the instance's region. An impossible number is refused.",
        ),
        "email": email("The contact's e-mail address."),
        "instanceId": {
            "type": "integer",
            "format": "int64",
            "description": "The messaging-bot instance that writes.",
        },
        "ignoreTransferToDeskIfUnanswered": {
            "type": "boolean",
            "description": "True: the lead is not handed to people if it does not answer. Default: false.",
        },
        "specialInstructions": text(
            limits::SPECIAL_INSTRUCTIONS_CHARACTERS,
            "Instructions that the assistant follows when the lead answers.",
        ),
    })
}

pub fn template() -> [(&'static str, Value); 10] {
    let name = limits::NAME_CHARACTERS;
    let file = "The address from which the provider gets the file, with http or https.";
    let parameter = |kind: &str, value: &Value| {
        json!({
            "type": "object",
            "required": ["type", kind],
            "properties": {
                "type": {"type": "string", "const": kind},
                kind: value,
                "parameter_name": filled(name, "The placeholder's name, where the provider names its placeholders."),
            },
        })
    };
    let kinds = ["Text", "Document", "Image", "Video", "Payload"];
    let kinds = kinds.map(|kind| named(&format!("{kind}Parameter")));
    let index = json!({
        "description": "The button's position, as a number or as a string of digits. Default: its position among the buttons.",
        "oneOf": [
            {"type": "integer", "minimum": 0, "maximum": limits::BUTTON_INDEX},
            {"type": "string", "pattern": r"^\+?0*[0-9]{1,2}$"},
        ],
    });
    [
        (
            "Template",
            json!({
                "type": "object",
                "required": ["name", "language"],
                "properties": {
                    "name": filled(limits::TEMPLATE_NAME_CHARACTERS, "The name of a template that the channel's provider has approved."),
                    "language": {
                        "type": "object",
                        "title": "TemplateLanguage",
                        "required": ["code"],
                        "properties": {"code": filled(limits::LANGUAGE_CHARACTERS, "The code of the language, such as `pt_BR`.")},
                    },
                    "components": list(&named("TemplateComponent"), limits::TEMPLATE_COMPONENTS, "Header, body and buttons, as far as they have placeholders."),
                },
            }),
        ),
        (
            "TemplateComponent",
            json!({
                "type": "object",
                "required": ["type"],
                "not": {
                    "properties": {"type": {"enum": ["header", "body"]}},
                    "anyOf": OF_BUTTONS.map(|name| json!({"required": [name]})),
                },
                "if": {
                    "required": ["type", "sub_type"],
                    "properties": {"type": {"const": "button"}, "sub_type": {"const": QUICK_REPLY}},
                },
                "then": {"properties": {"parameters": {"maxItems": 1, "items": {
                    "properties": {"type": {"enum": ["payload", "text"]}},
                }}}},
                "else": {"properties": {"parameters": {"items": {
                    "properties": {"type": {"not": {"const": "payload"}}},
                }}}},
                "properties": {
                    "type": one_of(&ComponentKind::ALL.map(ComponentKind::as_str), "The part of the template."),
                    "sub_type": one_of(&["url", QUICK_REPLY], "The kind of button, if the component is a button."),
                    "index": index,
                    "parameters": list(&named("TemplateParameter"), limits::TEMPLATE_PARAMETERS, "The values of its placeholders. A quick_reply needs none and takes at most one, its payload: what the provider reports when the contact taps the button. There, a `text` is the same as a `payload`."),
                },
            }),
        ),
        ("TemplateParameter", json!({"oneOf": kinds})),
        (
            "TextParameter",
            parameter(
                "text",
                &seen(
                    limits::PARAMETER_CHARACTERS,
                    "The value. Something of it must be visible. Channels refuse line breaks, tabs and rows of spaces in a parameter: each run of white space and control characters is sent as one space, and none at the ends.",
                ),
            ),
        ),
        (
            "PayloadParameter",
            parameter(
                "payload",
                &seen(
                    limits::PARAMETER_CHARACTERS,
                    "The payload of a quick reply, which is sent as it is.",
                ),
            ),
        ),
        (
            "DocumentParameter",
            parameter("document", &named("TemplateDocument")),
        ),
        (
            "ImageParameter",
            parameter("image", &named("TemplateMedia")),
        ),
        (
            "VideoParameter",
            parameter("video", &named("TemplateMedia")),
        ),
        (
            "TemplateDocument",
            json!({
                "type": "object",
                "required": ["link", "filename"],
                "properties": {"link": link(file), "filename": filled(name, "The file's name, as the lead sees it.")},
            }),
        ),
        (
            "TemplateMedia",
            json!({
                "oneOf": [
                    {
                        "type": "object",
                        "title": "MediaByLink",
                        "required": ["link"],
                        "properties": {"link": link(file)},
                    },
                    {
                        "type": "object",
                        "title": "MediaById",
                        "required": ["id"],
                        "properties": {"id": filled(name, "The id of a file that the provider has.")},
                        "not": {"required": ["link"]},
                    },
                ],
            }),
        ),
    ]
}

/// Returns an example of each format: its key, summary and body.
pub fn examples() -> [(&'static str, &'static str, Value); 2] {
    [
        (
            "modern",
            "A whole template",
            json!({
                "name": "Helena Duarte",
                "phoneNumber": "+55 11 98888-0101",
                "email": "helena.duarte@example.com",
                "instanceId": 1,
                "source": "landing-page",
                "ignoreTransferToDeskIfUnanswered": true,
                "specialInstructions": "She prefers to be called in the morning.",
                "template": {
                    "name": "welcome",
                    "language": {"code": "pt_BR"},
                    "components": [
                        {"type": "body", "parameters": [
                            {"type": "text", "text": "Helena"},
                            {"type": "text", "text": "AP-0042"},
                        ]},
                    ],
                },
            }),
        ),
        (
            "legacy",
            "A template's name and its texts",
            json!({
                "name": "Helena Duarte",
                "phoneNumber": "11988880101",
                "instanceId": 1,
                "source": "landing-page",
                "messageTemplate": "welcome",
                "replacements": ["Helena", "AP-0042"],
            }),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoints::notifications::body;
    use crate::openapi::{self, mutations};
    use crate::zod;

    fn all_kinds() -> Value {
        let (_, _, mut body) = examples()[0].clone();
        body["template"]["components"] = json!([
            {"type": "header", "parameters": [{"type": "document", "document":
                {"link": "https://files-2.Example.com:8443/plan.pdf?v=1", "filename": "plan.pdf"}}]},
            {"type": "header", "parameters": [
                {"type": "image", "image": {"link": "https://files.example.com/a.png"}},
                {"type": "video", "video": {"id": "media-17"}}]},
            {"type": "body", "parameters": [{"type": "text", "text": "a\n", "parameter_name": "first"}]},
            {"type": "button", "sub_type": "url", "index": 0, "parameters": []},
            {"type": "button", "sub_type": "quick_reply", "index": 2, "parameters": [{"type": "payload", "payload": "visit"}]},
            {"type": "button", "sub_type": "quick_reply", "index": 3, "parameters": [{"type": "text", "text": "visit"}]},
            {"type": "button", "sub_type": "quick_reply", "index": "1"},
        ]);
        body
    }

    #[test]
    fn a_notification_is_read_as_the_schema_says() {
        let document = openapi::document(Surface::Gateway);
        let body = &document["paths"]["/send-notification"]["post"]["requestBody"];
        let schema = &body["content"]["application/json"]["schema"];
        let mut bodies = examples().map(|(_, _, body)| body).to_vec();
        bodies.push(all_kinds());
        // Only buttons have these two.
        for field in [json!({"sub_type": "url"}), json!({"index": 0})] {
            let mut body = all_kinds();
            let component = body["template"]["components"][2].as_object_mut();
            component
                .expect("the body")
                .extend(field.as_object().cloned().expect("a field"));
            zod::assert_issues(&body, body::read, &[("unrecognized_keys", "template")]);
            bodies.push(body);
        }
        mutations::agree(schema, &bodies, |body| {
            let (found, issues) = zod::read(body, body::read);
            found.is_some() && issues.is_empty()
        });
    }
}
