//! The configured templates as a provider lists them.

use leadhost_sdk::serde_json::{Value, json};
use leadhost_sdk::{Placeholder, Template as Listed};

use crate::config::Template;

/// Returns the configured templates as a list for the host.
pub fn listed(templates: &[Template]) -> Vec<Listed> {
    templates.iter().map(one).collect()
}

/// Returns the placeholders that a send of the template must fill.
pub fn placeholders(template: &Template) -> Vec<Placeholder> {
    one(template).placeholders
}

fn one(template: &Template) -> Listed {
    let mut listed = Listed::new(&template.name, &template.language, template.status.word())
        .text(&template.text);
    let mut components: Vec<Value> = Vec::new();
    if let Some(header) = &template.header {
        listed = match header.as_str() {
            "document" | "image" | "video" => {
                components.push(json!({"type": "header", "format": header}));
                listed.placeholder(Placeholder::header_media(header))
            }
            text => {
                components.push(json!({"type": "header", "format": "text", "text": text}));
                listed.placeholders_of("header", 0, text)
            }
        };
    }
    components.push(json!({"type": "body", "text": template.text}));
    listed = listed.placeholders_of("body", 0, &template.text);
    for (index, button) in (0..).zip(&template.buttons) {
        components.push(json!({"type": "button", "index": index, "text": button}));
        listed = listed.placeholders_of("button", index, button);
    }
    listed.components(&Value::Array(components))
}
