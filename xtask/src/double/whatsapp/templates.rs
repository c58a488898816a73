//! The templates of the business account, and their list.

use serde_json::{Value, json};

use crate::double::http::{Answer, Request};
use crate::double::selected;

/// In the form of the provider's list; a template of the file is approved and positional unless it says
/// otherwise.
pub fn made_up() -> Vec<Value> {
    const USUAL: [(&str, &str); 3] = [
        ("parameter_format", "POSITIONAL"),
        ("status", "APPROVED"),
        ("category", "MARKETING"),
    ];
    let file = include_str!("templates.json");
    let mut templates: Vec<Value> = serde_json::from_str(file).expect("JSON");
    for (number, template) in templates.iter_mut().enumerate() {
        template["id"] = json!(format!("4000{number:012}"));
        for (name, word) in USUAL {
            if template[name].is_null() {
                template[name] = json!(word);
            }
        }
    }
    templates
}

pub fn find<'a>(templates: &'a mut [Value], name: &str, language: &str) -> Option<&'a mut Value> {
    templates
        .iter_mut()
        .find(|template| template["name"] == name && template["language"] == language)
}

/// `GET /{version}/{account}/message_templates`: all of them are on the first page.
pub fn list(templates: &[Value], request: &Request) -> Answer {
    let all = templates
        .iter()
        .map(|template| match request.query("fields") {
            Some(fields) => selected(template, fields),
            None => template.clone(),
        });
    let cursors = json!({"before": "MA", "after": "MTE"});
    Answer::json(
        200,
        &json!({"data": all.collect::<Vec<_>>(), "paging": {"cursors": cursors}}),
    )
}

pub fn lines(templates: &[Value]) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let lines: Vec<String> = templates
        .iter()
        .map(|template| {
            format!(
                "{:<14} {:<6} {}",
                word(&template["name"]),
                word(&template["language"]),
                word(&template["status"]),
            )
        })
        .collect();
    lines.join("\n")
}
