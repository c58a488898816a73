//! The templates that a provider lists.

use serde_json::Value;

use crate::{HttpRequest, Placeholder, Template, TemplatePage, TemplateStep};

impl Template {
    /// A template in that language; its status is `approved`, `pending`,
    /// `paused`, `rejected` or `disabled`.
    pub fn new(name: impl Into<String>, language: impl Into<String>, status: &str) -> Self {
        Self {
            name: name.into(),
            language: language.into(),
            status: status.into(),
            category: String::new(),
            reason: String::new(),
            text: String::new(),
            placeholders: Vec::new(),
            components: "[]".into(),
        }
    }

    /// Sets the provider's category, such as `MARKETING`.
    pub fn category(mut self, category: impl Into<String>) -> Self {
        self.category = category.into();
        self
    }

    /// Sets the reason why the template is not approved.
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    /// Sets the body with its placeholders. Does not add the placeholders.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// Adds a placeholder that a send must fill.
    pub fn placeholder(mut self, placeholder: Placeholder) -> Self {
        self.placeholders.push(placeholder);
        self
    }

    /// Adds the placeholders in the text of a component; see [`placeholders_in`].
    pub fn placeholders_of(mut self, component: &str, index: u32, text: &str) -> Self {
        let found = placeholders_in(text).into_iter().map(|name| Placeholder {
            component: component.into(),
            index,
            kind: "text".into(),
            name: if is_number(name) { "" } else { name }.into(),
        });
        self.placeholders.extend(found);
        self
    }

    /// Sets the components as the provider writes them.
    pub fn components(mut self, components: &Value) -> Self {
        self.components = components.to_string();
        self
    }
}

impl Placeholder {
    /// A file in the header of the message: `document`, `image` or `video`.
    pub fn header_media(kind: &str) -> Self {
        Self {
            component: "header".into(),
            index: 0,
            kind: kind.into(),
            name: String::new(),
        }
    }
}

impl From<Vec<Template>> for TemplatePage {
    fn from(templates: Vec<Template>) -> Self {
        Self {
            templates,
            next: None,
        }
    }
}

impl TemplatePage {
    /// Sets the request for the next page, if there is one.
    pub fn next(mut self, request: impl Into<Option<HttpRequest>>) -> Self {
        self.next = request.into();
        self
    }
}

impl From<HttpRequest> for TemplateStep {
    fn from(request: HttpRequest) -> Self {
        Self::Call(request)
    }
}

impl From<Vec<Template>> for TemplateStep {
    fn from(templates: Vec<Template>) -> Self {
        Self::Page(templates.into())
    }
}

/// Returns the contents of `{{1}}` or `{{name}}` in a text: each once, first numbers
/// in ascending order, then names in their order in the text.
pub fn placeholders_in(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("{{") {
        let Some((name, _)) = after.split_once("}}") else {
            break;
        };
        let trimmed = name.trim();
        if is_name(trimmed) {
            if !found.contains(&trimmed) {
                found.push(trimmed);
            }
            rest = &after[name.len() + 2..];
        } else {
            rest = after;
        }
    }
    // Stable, so that names keep their order.
    found.sort_by_key(|name| name.parse::<u32>().unwrap_or(u32::MAX));
    found
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_number(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_found_once_and_in_order() {
        let check = |text: &str, expect: &[&str]| {
            assert_eq!(placeholders_in(text), expect, "{text}");
        };
        check("", &[]);
        check("Olá {{1}}, visita {{ 2 }} de {{1}}", &["1", "2"]);
        check("{{10}} {{2}} {{1}}", &["1", "2", "10"]);
        check("{{nome}} e {{imovel}} de {{nome}}", &["nome", "imovel"]);
        check("{{}} {{a b}} {1} {{c", &[]);
        check("{{{{1}}}}", &["1"]);
        check("{{a{{1}}", &["1"]);
        check("é{{", &[]);
    }

    #[test]
    fn numbered_placeholders_have_no_name() {
        let template = Template::new("t", "pt_BR", "approved")
            .placeholders_of("body", 0, "{{1}}")
            .placeholders_of("button", 1, "{{code}}");
        assert_eq!(template.placeholders[0].name, "");
        assert_eq!(template.placeholders[1].name, "code");
        assert_eq!(template.placeholders[1].index, 1);
    }
}
