//! A template as a partner requests it, read and checked. As JSON it has the interface's
//! shape, which an adapter gets.

use serde::Serialize;

use leadhost_domain::word::words;

/// The `sub_type` of a button that sends its payload back when the contact taps it.
pub const QUICK_REPLY: &str = "quick_reply";

#[derive(Clone, Debug, PartialEq)]
pub struct TemplateUse {
    pub name: String,
    /// `None`: the only approved language, or the channel's.
    pub language: Option<String>,
    pub parts: PlaceholderValues,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PlaceholderValues {
    Components(Vec<Component>),
    /// Texts for the body's placeholders, in their order.
    Body(Vec<String>),
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Component {
    #[serde(rename = "type")]
    pub kind: ComponentKind,
    /// Buttons only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_type: Option<&'static str>,
    /// Buttons only; `None`: its place among the buttons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Vec<TemplateParameter>>,
}

words! {
    ComponentKind: "the component" {
        Header = "header",
        Body = "body",
        Button = "button",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TemplateParameter {
    #[serde(flatten)]
    pub value: ParameterValue,
    /// Set if the provider's placeholders have names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter_name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ParameterValue {
    Text { text: String },
    Document { document: Document },
    Image { image: Media },
    Video { video: Media },
    Payload { payload: String },
}

impl ParameterValue {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text { .. } => "text",
            Self::Document { .. } => "document",
            Self::Image { .. } => "image",
            Self::Video { .. } => "video",
            Self::Payload { .. } => "payload",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Document {
    pub link: String,
    pub filename: String,
}

/// A file: by its URL, or by the id that the provider gave it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Media {
    Link(String),
    Id(String),
}

impl TemplateParameter {
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            value: ParameterValue::Text { text: text.into() },
            parameter_name: None,
        }
    }
}

impl Component {
    pub fn parameters(&self) -> &[TemplateParameter] {
        self.parameters.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_requested_template_is_serialised_in_the_shape_of_the_rest_api() {
        let check = |value: serde_json::Value, expect: serde_json::Value| assert_eq!(value, expect);
        let image = TemplateParameter {
            value: ParameterValue::Image {
                image: Media::Id("77".to_owned()),
            },
            parameter_name: Some("photo".to_owned()),
        };
        check(
            json!(image),
            json!({"type": "image", "image": {"id": "77"}, "parameter_name": "photo"}),
        );
        let button = Component {
            kind: ComponentKind::Button,
            sub_type: Some("url"),
            index: Some(0),
            parameters: Some(vec![TemplateParameter::text("x")]),
        };
        check(
            json!(button),
            json!({"type": "button", "sub_type": "url", "index": 0,
                "parameters": [{"type": "text", "text": "x"}]}),
        );
        let bare = Component {
            kind: ComponentKind::Body,
            sub_type: None,
            index: None,
            parameters: None,
        };
        check(json!(bare), json!({"type": "body"}));
    }
}
