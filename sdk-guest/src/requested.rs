//! The template of a send as a type: the JSON of the REST interface, read once.
//!
//! The host has checked the request before, so the reader tolerates known variants
//! (an index as text, a word in upper case, a number as the value of a text) and
//! refuses only input without a meaning. It keeps what it does not know.

use serde_json::Value;

use crate::{Problem, TemplateSend, text_of};

/// A template to send, and the values for its placeholders.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestedTemplate {
    pub name: String,
    /// The language's code: `pt_BR`.
    pub language: String,
    /// In the order of the request.
    pub components: Vec<Component>,
}

/// A part of the message and its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    pub part: Part,
    pub parameters: Vec<Parameter>,
}

/// The part of the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Header,
    Body,
    Button {
        /// `url`, `quick_reply`; lower case, empty if the request has none.
        sub_type: String,
        /// The index in the request, else the position among the buttons.
        index: u32,
    },
}

/// The value for one placeholder.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// The placeholder's name, for providers that use names.
    pub name: Option<String>,
    pub value: ParameterValue,
}

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum ParameterValue {
    Text(String),
    Document(Media),
    Image(Media),
    Video(Media),
    /// Another type, such as the `payload` of a quick reply, and the parameter as it came.
    Other(String, Value),
}

/// A file, by its address or by the id that the provider assigned.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Media {
    pub link: Option<String>,
    pub id: Option<String>,
    pub filename: Option<String>,
}

impl TemplateSend {
    /// Returns the template as a type.
    ///
    /// # Errors
    ///
    /// [`Problem`] with the path of the part, if a part of the template has no meaning. As a refusal it
    /// is one of the request.
    pub fn requested(&self) -> Result<RequestedTemplate, Problem> {
        let template = serde_json::from_str(&self.template)
            .map_err(|_| Problem::new("the template is not valid JSON"))?;
        RequestedTemplate::read(&template)
    }

    /// Returns a value of the context: `callback-url`, `conversation-id`,
    /// `instance-id`, `time-zone`, `region`.
    pub fn context_value(&self, name: &str) -> Option<&str> {
        crate::delivery::first_pair(&self.context, name)
    }
}

impl RequestedTemplate {
    /// Reads a template in the shape of the REST interface.
    ///
    /// # Errors
    ///
    /// [`Problem`] with the path of the part, if a part of the template has no meaning.
    pub fn read(template: &Value) -> Result<Self, Problem> {
        let name =
            text_of(&template["name"]).ok_or_else(|| Problem::new("the template has no `name`"))?;
        let language = text_of(&template["language"]["code"])
            .or_else(|| text_of(&template["language"]))
            .ok_or_else(|| Problem::new("the template has no `language.code`"))?;
        let mut buttons = 0;
        let components = list(&template["components"], "components")?
            .iter()
            .enumerate()
            .map(|(number, value)| component(value, &format!("components.{number}"), &mut buttons))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            name,
            language,
            components,
        })
    }

    /// Returns the parameters of the header; empty if there is none.
    pub fn header(&self) -> &[Parameter] {
        self.parameters_of(&Part::Header)
    }

    /// Returns the parameters of the body; empty if there is none.
    pub fn body(&self) -> &[Parameter] {
        self.parameters_of(&Part::Body)
    }

    /// Returns the sub-type, index and parameters of each button.
    pub fn buttons(&self) -> impl Iterator<Item = (&str, u32, &[Parameter])> {
        self.components
            .iter()
            .filter_map(|component| match &component.part {
                Part::Button { sub_type, index } => {
                    Some((sub_type.as_str(), *index, component.parameters.as_slice()))
                }
                Part::Header | Part::Body => None,
            })
    }

    fn parameters_of(&self, part: &Part) -> &[Parameter] {
        self.components
            .iter()
            .find(|component| component.part == *part)
            .map_or(&[], |component| &component.parameters)
    }
}

impl Parameter {
    /// Returns the text of the parameter; `None` if it is a file.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            ParameterValue::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl ParameterValue {
    /// Returns the interface's word for the type.
    pub fn kind(&self) -> &str {
        match self {
            Self::Text(_) => "text",
            Self::Document(_) => "document",
            Self::Image(_) => "image",
            Self::Video(_) => "video",
            Self::Other(kind, _) => kind,
        }
    }
}

fn component(value: &Value, path: &str, buttons: &mut u32) -> Result<Component, Problem> {
    let part = match word(&value["type"]).as_str() {
        "header" => Part::Header,
        "body" => Part::Body,
        "button" => {
            let place = *buttons;
            *buttons += 1;
            Part::Button {
                sub_type: word(&value["sub_type"]),
                index: match &value["index"] {
                    Value::Null => place,
                    index => text_of(index)
                        .and_then(|text| text.parse().ok())
                        .ok_or_else(|| wrong(path, "index", "is no number"))?,
                },
            }
        }
        _ => return Err(wrong(path, "type", "is not header, body or button")),
    };
    let list_path = format!("{path}.parameters");
    let parameters = list(&value["parameters"], &list_path)?
        .iter()
        .enumerate()
        .map(|(number, value)| parameter(value, &format!("{list_path}.{number}")))
        .collect::<Result<_, _>>()?;
    Ok(Component { part, parameters })
}

fn parameter(value: &Value, path: &str) -> Result<Parameter, Problem> {
    let kind = word(&value["type"]);
    let value_of = match kind.as_str() {
        "" => return Err(wrong(path, "type", "is missing")),
        "text" => ParameterValue::Text(match &value["text"] {
            // Unchanged, including spaces.
            Value::String(text) => text.clone(),
            other => text_of(other).ok_or_else(|| wrong(path, "text", "is no text"))?,
        }),
        "document" => ParameterValue::Document(media(value, &kind, path)?),
        "image" => ParameterValue::Image(media(value, &kind, path)?),
        "video" => ParameterValue::Video(media(value, &kind, path)?),
        _ => ParameterValue::Other(kind, value.clone()),
    };
    Ok(Parameter {
        name: text_of(&value["parameter_name"]),
        value: value_of,
    })
}

fn media(parameter: &Value, kind: &str, path: &str) -> Result<Media, Problem> {
    let value = &parameter[kind];
    let media = Media {
        link: text_of(&value["link"]),
        id: text_of(&value["id"]),
        filename: text_of(&value["filename"]),
    };
    if media.link.is_none() && media.id.is_none() {
        return Err(wrong(path, kind, "has neither `link` nor `id`"));
    }
    Ok(media)
}

/// Returns the values of a list; empty if it is absent.
fn list<'a>(value: &'a Value, path: &str) -> Result<&'a [Value], Problem> {
    match value {
        Value::Null => Ok(&[]),
        Value::Array(values) => Ok(values),
        _ => Err(Problem::new(format!("`{path}` of the template is no list"))),
    }
}

fn word(value: &Value) -> String {
    text_of(value).unwrap_or_default().to_ascii_lowercase()
}

fn wrong(path: &str, field: &str, what: &str) -> Problem {
    let path = format!("{path}.{field}");
    Problem::new(format!("`{path}` of the template {what}")).at(path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(template: &Value) -> String {
        RequestedTemplate::read(template).unwrap_err().message
    }

    #[test]
    fn a_template_is_read_with_all_its_parts() {
        let template = RequestedTemplate::read(&json!({
            "name": "visita", "language": {"code": "pt_BR"},
            "components": [
                {"type": "HEADER", "parameters": [
                    {"type": "document", "document": {"link": "https://files.example/a.pdf", "filename": "a.pdf"}}
                ]},
                {"type": "body", "parameters": [
                    {"type": "text", "text": " Ana "},
                    {"type": "text", "text": 12, "parameter_name": "andar"},
                    {"type": "currency", "currency": {}}
                ]},
                {"type": "button", "sub_type": "quick_reply", "index": "1"},
                {"type": "button", "sub_type": "URL", "parameters": [{"type": "text", "text": "x"}]},
                {"type": "button", "index": 0}
            ]
        }))
        .unwrap();
        assert_eq!(template.name, "visita");
        assert_eq!(template.language, "pt_BR");
        let ParameterValue::Document(document) = &template.header()[0].value else {
            panic!("a document");
        };
        assert_eq!(document.filename.as_deref(), Some("a.pdf"));
        let body = template.body();
        assert_eq!(body[0].text(), Some(" Ana "));
        assert_eq!(body[1].text(), Some("12"));
        assert_eq!(body[1].name.as_deref(), Some("andar"));
        assert_eq!(body[2].value.kind(), "currency");
        let buttons: Vec<_> = template
            .buttons()
            .map(|(sub_type, index, parameters)| (sub_type, index, parameters.len()))
            .collect();
        assert_eq!(buttons, [("quick_reply", 1, 0), ("url", 1, 1), ("", 0, 0)]);
    }

    #[test]
    fn a_name_and_a_language_are_enough() {
        let template = RequestedTemplate::read(&json!({"name": "t", "language": "en"})).unwrap();
        assert_eq!(template.language, "en");
        assert!(template.components.is_empty());
        assert!(template.header().is_empty() && template.body().is_empty());
    }

    #[test]
    fn input_without_meaning_is_refused_with_its_place() {
        let with = |components: Value| json!({"name": "t", "language": {"code": "en"}, "components": components});
        let check = |template: &Value, expect: &str| assert_eq!(refusal(template), expect);
        check(&json!([]), "the template has no `name`");
        check(&json!({"name": "t"}), "the template has no `language.code`");
        check(&with(json!({})), "`components` of the template is no list");
        check(
            &with(json!([{"type": "footer"}])),
            "`components.0.type` of the template is not header, body or button",
        );
        check(
            &with(json!([{"type": "button", "index": "first"}])),
            "`components.0.index` of the template is no number",
        );
        check(
            &with(json!([{"type": "body", "parameters": [{"text": "x"}]}])),
            "`components.0.parameters.0.type` of the template is missing",
        );
        check(
            &with(json!([{"type": "body", "parameters": [{"type": "text"}]}])),
            "`components.0.parameters.0.text` of the template is no text",
        );
        check(
            &with(json!([{"type": "header", "parameters": [{"type": "image", "image": {}}]}])),
            "`components.0.parameters.0.image` of the template has neither `link` nor `id`",
        );
    }
}
