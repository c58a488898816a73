//! From a partner's request to the message for an adapter: the language, the components,
//! and the text for people. If the provider's list is known, it determines which templates
//! exist and how each must be filled. Without a list nothing is checked, and the provider
//! decides.
//!
//! Texts that fill a placeholder are not searched for placeholders.

use serde::Serialize;

use super::mismatch::{Misfit, misfits, placeholders};
use super::requested::{
    Component, ComponentKind, ParameterValue, PlaceholderValues, TemplateParameter, TemplateUse,
};
use crate::prelude::*;
use leadhost_domain::channel::Template;
use leadhost_domain::connection::ConnectionSettings;
use leadhost_domain::error_code::ErrorCode;
use leadhost_domain::message::TemplateName;
use leadhost_store::{NewMessage, TemplateList};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Composed {
    pub template: TemplateName,
    /// JSON text in the interface's shape.
    pub payload: String,
    /// The text for people, if the template's text is known.
    pub content: Option<String>,
}

impl Composed {
    pub fn into_message(self, settings: &ConnectionSettings, now: Micros) -> NewMessage {
        NewMessage {
            id: MessageId::new(now),
            template: self.template,
            payload: self.payload,
            content: self.content,
            until: now.plus(settings.kept_for),
        }
    }
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TemplateError {
    /// With the languages in which the name is known.
    #[error("Template '{name}' not found{}", elsewhere(.language, .languages))]
    NotFound {
        name: String,
        language: String,
        languages: Vec<String>,
    },
    #[error("Template '{name}' is {status}{}", because(.reason))]
    NotApproved {
        name: String,
        /// `paused`, `rejected`, `pending` or `disabled`.
        status: String,
        reason: String,
    },
    #[error("{}", described(.0))]
    Misfit(Vec<Misfit>),
}

impl TemplateError {
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound { .. } => ErrorCode::TemplateNotFound,
            Self::NotApproved { .. } => ErrorCode::TemplateUnusable,
            Self::Misfit(_) => ErrorCode::ValidationFailed,
        }
    }
}

fn elsewhere(language: &str, languages: &[String]) -> String {
    match languages {
        [] => String::new(),
        known => format!(" in the language {language}: it has {}", known.join(", ")),
    }
}

fn because(reason: &str) -> String {
    if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    }
}

fn described(misfits: &[Misfit]) -> String {
    let messages: Vec<_> = misfits
        .iter()
        .map(|misfit| misfit.message.as_str())
        .collect();
    messages.join("; ")
}

/// Returns the templates if the list is known, so that a missing template does not exist.
pub(super) fn known(list: &TemplateList) -> Option<&[Template]> {
    // A list that was never read successfully is not known.
    let is_known = list.synced_at.is_some()
        && !list.is_unlisted
        && (list.error.is_none() || !list.templates.is_empty());
    is_known.then_some(list.templates.as_slice())
}

pub fn compose(
    list: &TemplateList,
    language: &str,
    wanted: &TemplateUse,
) -> Result<Composed, TemplateError> {
    let Some(templates) = known(list) else {
        let language = wanted.language.as_deref().unwrap_or(language);
        return Ok(filled(wanted, language, None));
    };
    let template = find(templates, language, wanted)?;
    let misfits = match &wanted.parts {
        PlaceholderValues::Components(components) => misfits(template, components),
        PlaceholderValues::Body(texts) => misfits_of_body(template, texts),
    };
    if misfits.is_empty() {
        Ok(filled(wanted, &template.language, Some(template)))
    } else {
        Err(TemplateError::Misfit(misfits))
    }
}

fn find<'a>(
    templates: &'a [Template],
    language: &str,
    wanted: &TemplateUse,
) -> Result<&'a Template, TemplateError> {
    let named = || {
        templates
            .iter()
            .filter(|template| template.name == wanted.name)
    };
    let mut approved = named().filter(|template| template.is_approved());
    let found = match (&wanted.language, approved.next(), approved.next()) {
        (Some(language), ..) => in_language(named(), language),
        (None, Some(only), None) => Some(only),
        (None, ..) => in_language(named(), language)
            .or_else(|| named().next().filter(|_| named().count() == 1)),
    };
    let template = found.ok_or_else(|| TemplateError::NotFound {
        name: wanted.name.clone(),
        language: wanted.language.as_deref().unwrap_or(language).to_owned(),
        languages: named().map(|template| template.language.clone()).collect(),
    })?;
    if template.is_approved() {
        Ok(template)
    } else {
        Err(TemplateError::NotApproved {
            name: template.name.clone(),
            status: template.status.clone(),
            reason: template.reason.clone(),
        })
    }
}

/// Finds the template in this language, the exact spelling first: providers write `pt_BR`,
/// and many senders write `pt-BR` or `pt_br`.
fn in_language<'a>(
    templates: impl Iterator<Item = &'a Template>,
    language: &str,
) -> Option<&'a Template> {
    let mut same: Vec<_> = templates
        .filter(|template| is_same_language(&template.language, language))
        .collect();
    same.sort_by_key(|template| (template.language != language, !template.is_approved()));
    same.into_iter().next()
}

fn is_same_language(one: &str, other: &str) -> bool {
    let letter = |byte: u8| match byte {
        b'-' => b'_',
        byte => byte.to_ascii_lowercase(),
    };
    one.bytes().map(letter).eq(other.bytes().map(letter))
}

#[derive(Serialize)]
struct TemplatePayload<'a> {
    name: &'a str,
    language: ChosenLanguage<'a>,
    components: &'a [Component],
}

#[derive(Serialize)]
struct ChosenLanguage<'a> {
    code: &'a str,
}

fn filled(wanted: &TemplateUse, language: &str, template: Option<&Template>) -> Composed {
    let own;
    let components = match &wanted.parts {
        PlaceholderValues::Components(components) => components,
        PlaceholderValues::Body(texts) => {
            own = body_of(texts, template);
            &own
        }
    };
    let payload = TemplatePayload {
        name: &wanted.name,
        language: ChosenLanguage { code: language },
        components,
    };
    let content = template
        .filter(|template| !template.text.is_empty())
        .map(|template| render(&template.text, &body(components).collect::<Vec<_>>()));
    let unseen = components
        .iter()
        .filter(|component| content.is_none() || component.kind != ComponentKind::Body)
        .filter(|one| one.kind == ComponentKind::Button || !one.parameters().is_empty());
    Composed {
        template: TemplateName {
            name: wanted.name.clone(),
            language: language.to_owned(),
            components: unseen.map(|component| json!(component)).collect(),
        },
        payload: serde_json::to_string(&payload).expect("texts and numbers are JSON"),
        content,
    }
}

/// Returns one body component with the texts in order, under the names of the template's
/// placeholders if they have names.
fn body_of(texts: &[String], template: Option<&Template>) -> Vec<Component> {
    if texts.is_empty() {
        return Vec::new();
    }
    let names: Vec<_> = template.map_or_else(Vec::new, |template| {
        let placeholders = placeholders(template, ComponentKind::Body, 0);
        placeholders.map(|one| one.name.clone()).collect()
    });
    let parameters = texts
        .iter()
        .enumerate()
        .map(|(index, text)| TemplateParameter {
            parameter_name: names.get(index).filter(|name| !name.is_empty()).cloned(),
            ..TemplateParameter::text(text.as_str())
        });
    vec![Component {
        kind: ComponentKind::Body,
        sub_type: None,
        index: None,
        parameters: Some(parameters.collect()),
    }]
}

fn body(components: &[Component]) -> impl Iterator<Item = &TemplateParameter> {
    components
        .iter()
        .filter(|component| component.kind == ComponentKind::Body)
        .flat_map(Component::parameters)
}

/// Fills the placeholders of the text; a placeholder without a value stays.
fn render(text: &str, parameters: &[&TemplateParameter]) -> String {
    let value = |placeholder: &str| {
        let by_name = parameters
            .iter()
            .find(|parameter| parameter.parameter_name.as_deref() == Some(placeholder));
        let by_place = || {
            let place: usize = placeholder.parse().ok()?;
            parameters.get(place.checked_sub(1)?)
        };
        match &by_name.or_else(by_place)?.value {
            ParameterValue::Text { text } => Some(text.as_str()),
            ParameterValue::Document { .. }
            | ParameterValue::Image { .. }
            | ParameterValue::Video { .. }
            | ParameterValue::Payload { .. } => None,
        }
    };
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let filled = after
            .split_once("}}")
            .and_then(|(name, after)| Some((value(name.trim())?, after)));
        match filled {
            Some((text, after)) => {
                out.push_str(text);
                rest = after;
            }
            None => {
                out.push_str("{{");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

fn misfits_of_body(template: &Template, texts: &[String]) -> Vec<Misfit> {
    let components = body_of(texts, Some(template));
    let mut misfits = misfits(template, &components);
    for misfit in &mut misfits {
        misfit.component = None;
    }
    misfits
}

#[cfg(test)]
mod tests {
    use super::super::requested::Media;
    use super::*;
    use leadhost_domain::channel::Placeholder;

    fn placeholder(component: &str, index: u32, kind: &str, name: &str) -> Placeholder {
        Placeholder {
            component: component.to_owned(),
            index,
            kind: kind.to_owned(),
            name: name.to_owned(),
        }
    }

    fn template(name: &str, language: &str, text: &str) -> Template {
        Template {
            name: name.to_owned(),
            language: language.to_owned(),
            status: Template::APPROVED.to_owned(),
            category: String::new(),
            reason: String::new(),
            text: text.to_owned(),
            placeholders: Vec::new(),
            components: "[]".to_owned(),
        }
    }

    /// `hello` in two languages, `visit` with a picture, `named`, and a paused one.
    fn list() -> TemplateList {
        let body = |count: usize| vec![placeholder("body", 0, "text", ""); count];
        TemplateList {
            synced_at: Some(Micros(1)),
            error: None,
            is_unlisted: false,
            templates: vec![
                Template {
                    placeholders: body(2),
                    ..template("hello", "pt_BR", "Olá {{1}}, sobre {{2}}: {{1}}")
                },
                Template {
                    placeholders: body(2),
                    ..template("hello", "en", "Hello {{1}}, about {{2}}")
                },
                Template {
                    placeholders: [
                        vec![
                            placeholder("header", 0, "image", ""),
                            placeholder("button", 1, "text", ""),
                        ],
                        body(1),
                    ]
                    .concat(),
                    ..template("visit", "es", "Hola {{1}}")
                },
                Template {
                    placeholders: vec![
                        placeholder("body", 0, "text", "name"),
                        placeholder("body", 0, "text", "listing"),
                    ],
                    ..template("named", "pt_BR", "{{name}} quer ver {{ listing }}")
                },
                Template {
                    status: "paused".to_owned(),
                    reason: "low quality".to_owned(),
                    ..template("tired", "pt_BR", "")
                },
            ],
        }
    }

    fn legacy(name: &str, texts: &[&str]) -> TemplateUse {
        TemplateUse {
            name: name.to_owned(),
            language: None,
            parts: PlaceholderValues::Body(texts.iter().map(|&text| text.to_owned()).collect()),
        }
    }

    fn modern(name: &str, language: &str, components: Vec<Component>) -> TemplateUse {
        TemplateUse {
            name: name.to_owned(),
            language: Some(language.to_owned()),
            parts: PlaceholderValues::Components(components),
        }
    }

    #[test]
    fn a_language_is_found_in_any_spelling_and_sent_in_the_lists_spelling() {
        let mut list = list();
        for template in &mut list.templates {
            template.placeholders.clear();
        }
        for spelled in ["pt_BR", "pt-BR", "pt_br", "PT-BR"] {
            let composed = compose(&list, "en", &modern("hello", spelled, Vec::new()));
            let composed = composed.expect("it is listed");
            assert_eq!(composed.template.language, "pt_BR", "{spelled}");
            assert!(composed.payload.contains(r#""code":"pt_BR""#));
        }
        let other = compose(&list, "en", &modern("hello", "pt", Vec::new()));
        assert!(matches!(other, Err(TemplateError::NotFound { .. })));
    }

    fn component(kind: ComponentKind, parameters: Vec<TemplateParameter>) -> Component {
        Component {
            kind,
            sub_type: None,
            index: None,
            parameters: Some(parameters),
        }
    }

    fn sent(wanted: &TemplateUse) -> (serde_json::Value, Option<String>) {
        let composed = compose(&list(), "pt_BR", wanted).expect("it fits");
        let payload = serde_json::from_str(&composed.payload).expect("JSON");
        (payload, composed.content)
    }

    fn refused(wanted: &TemplateUse) -> String {
        let error = compose(&list(), "pt_BR", wanted).expect_err("it does not fit");
        error.to_string()
    }

    #[test]
    fn the_legacy_format_becomes_one_body_in_the_channels_language() {
        let (payload, content) = sent(&legacy("hello", &["Ana {{2}}", "a casa"]));
        let text = |text: &str| json!({"type": "text", "text": text});
        assert_eq!(
            payload,
            json!({"name": "hello", "language": {"code": "pt_BR"},
                "components": [{"type": "body", "parameters": [text("Ana {{2}}"), text("a casa")]}]})
        );
        // The text that fills a placeholder is not filled itself.
        assert_eq!(
            content.as_deref(),
            Some("Olá Ana {{2}}, sobre a casa: Ana {{2}}")
        );
    }

    #[test]
    fn values_that_the_text_does_not_show_are_kept_with_the_template() {
        let image = TemplateParameter {
            value: ParameterValue::Image {
                image: Media::Link("https://example.com/a.png".to_owned()),
            },
            parameter_name: None,
        };
        let header = component(ComponentKind::Header, vec![image]);
        let button = Component {
            sub_type: Some("url"),
            index: Some(1),
            ..component(ComponentKind::Button, vec![TemplateParameter::text("x")])
        };
        let body = component(ComponentKind::Body, vec![TemplateParameter::text("Ana")]);
        let all = vec![header.clone(), body.clone(), button.clone()];
        let components = |list: &TemplateList, wanted: &TemplateUse| {
            let composed = compose(list, "pt_BR", wanted).expect("it fits");
            composed.template.components
        };
        let visit = modern("visit", "es", all.clone());
        assert_eq!(components(&list(), &visit), [json!(header), json!(button)]);
        let unknown = TemplateList::default();
        let all: Vec<_> = all.iter().map(|one| json!(one)).collect();
        assert_eq!(components(&unknown, &visit), all);
        let hello = legacy("hello", &["Ana", "a casa"]);
        assert!(components(&list(), &hello).is_empty());
    }

    #[test]
    fn the_only_approved_language_is_used_unless_one_is_named() {
        let mut list = list();
        list.templates[0].status = "rejected".to_owned();
        let language =
            |wanted: &TemplateUse| compose(&list, "pt_BR", wanted).map(|c| c.template.language);
        assert_eq!(language(&legacy("hello", &["a", "b"])), Ok("en".to_owned()));
        let body = component(ComponentKind::Body, vec![TemplateParameter::text("a")]);
        let asked = modern("hello", "pt_BR", vec![body]);
        assert!(matches!(
            language(&asked),
            Err(TemplateError::NotApproved { .. })
        ));
    }

    #[test]
    fn named_placeholders_are_filled_in_the_lists_order_or_by_name() {
        let (payload, content) = sent(&legacy("named", &["Ana", "a casa"]));
        assert_eq!(
            payload["components"][0]["parameters"][1],
            json!({"type": "text", "text": "a casa", "parameter_name": "listing"})
        );
        assert_eq!(content.as_deref(), Some("Ana quer ver a casa"));
        let named = |name: &str, text: &str| TemplateParameter {
            parameter_name: Some(name.to_owned()),
            ..TemplateParameter::text(text)
        };
        let both = vec![named("listing", "a casa"), named("name", "Ana")];
        let wanted = modern("named", "pt_BR", vec![component(ComponentKind::Body, both)]);
        assert_eq!(sent(&wanted).1.as_deref(), Some("Ana quer ver a casa"));
        let wrong = vec![named("name", "Ana"), named("name", "Bia")];
        let wanted = modern(
            "named",
            "pt_BR",
            vec![component(ComponentKind::Body, wrong)],
        );
        assert_eq!(
            refused(&wanted),
            "The body of template 'named' (pt_BR) takes parameters with these names, each once: name, listing"
        );
    }

    #[test]
    fn a_missing_template_is_not_found_and_an_unapproved_one_gives_its_status() {
        assert_eq!(
            refused(&legacy("nothing", &[])),
            "Template 'nothing' not found"
        );
        assert_eq!(
            refused(&modern("hello", "fr", vec![])),
            "Template 'hello' not found in the language fr: it has pt_BR, en"
        );
        for wanted in [legacy("tired", &[]), modern("tired", "pt_BR", vec![])] {
            assert_eq!(refused(&wanted), "Template 'tired' is paused: low quality");
        }
    }

    #[test]
    fn counts_and_types_are_compared_component_by_component() {
        assert_eq!(
            refused(&legacy("hello", &["a"])),
            "The body of template 'hello' (pt_BR) takes 2 parameters, but 1 was given"
        );
        assert_eq!(
            refused(&legacy("visit", &["a"])),
            "The header of template 'visit' (es) takes 1 parameter of type image, but 0 were given; \
             Button 1 of template 'visit' (es) takes 1 parameter, but 0 were given"
        );
        let image = TemplateParameter {
            value: ParameterValue::Image {
                image: super::super::requested::Media::Id("7".to_owned()),
            },
            parameter_name: None,
        };
        let button =
            |index: u32, sub_type: &'static str, parameters: Vec<TemplateParameter>| Component {
                index: Some(index),
                sub_type: Some(sub_type),
                ..component(ComponentKind::Button, parameters)
            };
        let parts = |header: TemplateParameter| {
            vec![
                component(ComponentKind::Header, vec![header]),
                component(ComponentKind::Body, vec![TemplateParameter::text("Ana")]),
                button(0, "quick_reply", vec![]),
                button(1, "url", vec![TemplateParameter::text("x")]),
            ]
        };
        assert_eq!(
            sent(&modern("visit", "es", parts(image))).1.as_deref(),
            Some("Hola Ana")
        );
        assert_eq!(
            refused(&modern("visit", "es", parts(TemplateParameter::text("x")))),
            "The header of template 'visit' (es) takes a parameter of type image here"
        );
        let again = component(ComponentKind::Body, vec![TemplateParameter::text("b"); 2]);
        let twice = modern("hello", "en", vec![again.clone(), again]);
        assert_eq!(
            refused(&twice),
            "The body of template 'hello' (en) is repeated: put all its parameters into one component"
        );
    }

    #[test]
    fn a_quick_reply_needs_a_button_of_the_template_as_far_as_its_provider_describes_it() {
        let check = |components: &str, index: u32, expect: Option<&[&str]>| {
            let mut list = list();
            list.templates[3].components = components.to_owned();
            list.templates[3].placeholders.clear();
            let reply = Component {
                sub_type: Some(super::super::requested::QUICK_REPLY),
                index: Some(index),
                ..component(ComponentKind::Button, vec![])
            };
            let wanted = modern("named", "pt_BR", vec![reply]);
            let found = match compose(&list, "pt_BR", &wanted) {
                Ok(_) => None,
                Err(TemplateError::Misfit(misfits)) => Some(misfits),
                Err(error) => panic!("{error}"),
            };
            let expect = expect.map(|wanted| {
                vec![Misfit {
                    component: Some(0),
                    kind: ComponentKind::Button,
                    what: super::super::mismatch::Mismatch::Button {
                        wanted: wanted.iter().map(|&kind| kind.to_owned()).collect(),
                    },
                    message: format!(
                        "Button {index} of template 'named' (pt_BR) is no quick reply"
                    ),
                }]
            });
            assert_eq!(found, expect, "{components} {index}");
        };
        check(r#"[{"type": "BODY", "text": "Oi"}]"#, 0, Some(&[]));
        let meta = r#"[{"type": "BODY"}, {"type": "BUTTONS", "buttons": [
            {"type": "URL", "url": "https://a.example/{{1}}"}, {"type": "QUICK_REPLY"}]}]"#;
        check(meta, 0, Some(&["url"]));
        check(meta, 1, None);
        check(meta, 2, Some(&[]));
        check(
            r#"[{"type": "button", "index": 0, "text": "Sim"}]"#,
            0,
            None,
        );
        // The provider does not describe the buttons.
        for unknown in ["[]", "{}", "x", r#"[{"kind": "body"}]"#] {
            check(unknown, 0, None);
        }
    }

    #[test]
    fn a_button_without_a_type_needs_a_button_of_the_template() {
        let check = |components: &str, misfits: usize| {
            let mut list = list();
            list.templates[3].components = components.to_owned();
            list.templates[3].placeholders.clear();
            let button = Component {
                index: Some(0),
                ..component(ComponentKind::Button, vec![])
            };
            let found = match compose(&list, "pt_BR", &modern("named", "pt_BR", vec![button])) {
                Ok(_) => 0,
                Err(TemplateError::Misfit(misfits)) => misfits.len(),
                Err(error) => panic!("{error}"),
            };
            assert_eq!(found, misfits, "{components}");
        };
        check(r#"[{"type": "BODY", "text": "Oi"}]"#, 1);
        check(
            r#"[{"type": "BUTTONS", "buttons": [{"type": "QUICK_REPLY"}]}]"#,
            0,
        );
        check("[]", 0);
    }

    #[test]
    fn without_a_list_nothing_is_checked() {
        for list in [
            TemplateList::default(),
            TemplateList {
                synced_at: Some(Micros(1)),
                is_unlisted: true,
                ..TemplateList::default()
            },
            TemplateList {
                synced_at: Some(Micros(1)),
                error: Some("no answer".to_owned()),
                ..TemplateList::default()
            },
        ] {
            let composed = compose(&list, "es", &legacy("any", &["a"])).expect("unchecked");
            assert_eq!(composed.template.language, "es");
            assert_eq!(composed.content, None);
            assert!(compose(&list, "es", &modern("any", "fr", vec![])).is_ok());
        }
        // An empty list counts as known.
        let empty = TemplateList {
            synced_at: Some(Micros(1)),
            ..TemplateList::default()
        };
        assert!(compose(&empty, "es", &legacy("any", &[])).is_err());
    }

    #[test]
    fn a_text_with_odd_braces_is_rendered_as_it_is() {
        let check = |text: &str, expect: &str| {
            let parameter = TemplateParameter::text("X");
            assert_eq!(render(text, &[&parameter]), expect, "{text}");
        };
        check("{{1}}{{ 1 }}{{2}}", "XX{{2}}");
        check("{{{{1}}}}", "{{X}}");
        check("{{", "{{");
        check("{{1", "{{1");
        check("{{0}} {{a}} é", "{{0}} {{a}} é");
    }
}

#[cfg(test)]
mod fuzz {

    use leadhost_fuzz::proptest::collection::{btree_set, vec};
    use leadhost_fuzz::proptest::prelude::any;
    use leadhost_fuzz::{damaged_text, holds, text};

    use super::*;
    use leadhost_domain::channel::Placeholder;

    fn template(text: &str, names: &BTreeSet<String>, is_named: bool) -> Template {
        let placeholders = names.iter().map(|name| Placeholder {
            component: "body".to_owned(),
            index: 0,
            kind: "text".to_owned(),
            name: if is_named {
                name.clone()
            } else {
                String::new()
            },
        });
        Template {
            name: "t".to_owned(),
            language: "pt_BR".to_owned(),
            status: Template::APPROVED.to_owned(),
            category: String::new(),
            reason: String::new(),
            text: text.to_owned(),
            placeholders: placeholders.collect(),
            components: "[]".to_owned(),
        }
    }

    /// Texts are accepted if there is one for each placeholder. The sent and the shown
    /// message contain each text unchanged: nothing in them is taken for a placeholder.
    #[test]
    fn fuzz_a_template_is_filled_with_as_many_texts_as_it_has_placeholders() {
        let seeds = [
            "Olá {{1}}, sobre {{2}}: {{1}}",
            "{{name}} {{ name }} {{{{1}}}}",
            "{{",
        ];
        let words = [
            "{{",
            "}}",
            "{{1}}",
            "{{2}}",
            "{{ 1 }}",
            "{{99999999999999999999}}",
            "{",
            "é",
        ];
        let texts = vec(text(&["{{1}}", "{{2}}", "Ana"]), 0..5);
        // An adapter lists each placeholder once.
        let names = btree_set("[a-z_]{1,6}|[12]", 0..4);
        let inputs = (damaged_text(seeds, &words), names, texts, any::<bool>());
        holds(3_000, inputs, |(body, names, texts, is_named)| {
            let list = TemplateList {
                synced_at: Some(Micros(1)),
                error: None,
                is_unlisted: false,
                templates: vec![template(body, names, *is_named)],
            };
            let wanted = TemplateUse {
                name: "t".to_owned(),
                language: None,
                parts: PlaceholderValues::Body(texts.clone()),
            };
            let composed = compose(&list, "en", &wanted);
            assert_eq!(composed.is_ok(), names.len() == texts.len(), "{composed:?}");
            let Ok(composed) = composed else {
                return;
            };
            let payload: serde_json::Value =
                serde_json::from_str(&composed.payload).expect("it is JSON");
            let sent = payload["components"][0]["parameters"].as_array();
            let sent = sent.map_or_else(Vec::new, |sent| {
                sent.iter()
                    .map(|one| one["text"].as_str().expect("a text"))
                    .collect()
            });
            assert_eq!(sent, texts.iter().map(String::as_str).collect::<Vec<_>>());
            let shown = composed.content.unwrap_or_default();
            let places = body.matches("{{").count();
            let longest = texts.iter().map(String::len).max().unwrap_or(0);
            assert!(shown.len() <= body.len() + places * longest);
            assert!(texts.iter().any(|text| !text.is_empty()) || shown.len() <= body.len());
        });
    }
}
