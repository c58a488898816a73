//! The body of a notification: the modern format with a whole template, and the legacy format
//! with a template's name and texts. Unknown fields are ignored. Bodies of other endpoints that
//! share fields with it are read here too.

use crate::endpoints::prelude::*;
use crate::zod::{
    Node, TextLength,
    issue::{Issue, PathStep},
};
use leadhost_domain::exchange::UrlScheme;
use leadhost_domain::text;
use leadhost_pipeline::templates::requested::{
    Component, ComponentKind, Document, Media, ParameterValue, PlaceholderValues, QUICK_REPLY,
    TemplateParameter, TemplateUse,
};
use leadhost_pipeline::templates::{Misfit, Mismatch};
use leadhost_store::NotificationDetails;

const NAME: TextLength = TextLength::filled(limits::NAME_CHARACTERS);
const PARAMETER: TextLength = TextLength::filled(limits::PARAMETER_CHARACTERS);
const TEMPLATE_NAME: TextLength = TextLength::filled(limits::TEMPLATE_NAME_CHARACTERS);

const LEGACY_FILLS_BODY: &str =
    ": `messageTemplate` fills only the body, so send the message with `template`";

/// A body as far as it could be read. The phone number and the instance are checked even if other
/// fields have issues, so that a partner gets all issues at once.
#[derive(Default)]
pub struct PartialNotification {
    pub phone_number: Option<String>,
    pub instance: Option<AgentId>,
    /// `None` if a field has an issue.
    pub message: Option<RequestedMessage>,
}

pub struct RequestedMessage {
    pub details: NotificationDetails,
    pub template: TemplateUse,
}

/// Returns the issue of a phone number that cannot exist.
pub(super) fn impossible_phone() -> Issue {
    let path = vec![PathStep::Field("phoneNumber".to_owned())];
    Issue::unreadable(path, "Invalid phone number")
}

pub fn banned() -> ApiError {
    ApiError::coded(
        ErrorCode::ContactOptedOut,
        "The contact does not want to receive messages: nothing was sent.",
    )
}

/// Reads a body. Returns `None` if it is not an object.
pub fn read(body: Node<'_>) -> Option<PartialNotification> {
    let body = body.object()?;
    let name = body.field("name").trimmed(NAME);
    let phone_number = phone_number(&body.field("phoneNumber"));
    let email = email(body);
    let instance = body.field("instanceId").integer().map(AgentId);
    let source = body.field("source").text(NAME);
    let transfer = transfer(body);
    let special_instructions = special_instructions(body);
    let template = template(body);
    let message = name.zip(source).zip(template);
    Some(PartialNotification {
        phone_number: phone_number.map(str::to_owned),
        instance,
        message: message.map(|((name, source), template)| RequestedMessage {
            details: NotificationDetails {
                name: name.to_owned(),
                email,
                source: Some(source.trim().to_owned()),
                transfer,
                special_instructions,
            },
            template,
        }),
    })
}

/// Reads a phone number as the client wrote it. Its form is not checked here. Returns `None`,
/// with an issue, if the field is no text or too long.
pub fn phone_number<'a>(phone: &Node<'a>) -> Option<&'a str> {
    phone.text(TextLength::up_to(limits::PHONE_CHARACTERS))
}

/// Reads the e-mail address in lower case. Returns `None` if it is absent, or, with an
/// issue, if it is not valid.
pub fn email(body: &Node<'_>) -> Option<String> {
    body.field("email").optional()?.email()
}

/// Returns whether an unanswered message goes to the desk: yes, unless
/// `ignoreTransferToDeskIfUnanswered` is true.
pub fn transfer(body: &Node<'_>) -> bool {
    let ignores = body.field("ignoreTransferToDeskIfUnanswered").optional();
    !ignores.and_then(|flag| flag.boolean()).unwrap_or(false)
}

/// Reads the special instructions. Returns `None` if they are absent or blank, or, with an
/// issue, if they are no text or too long.
pub fn special_instructions(body: &Node<'_>) -> Option<String> {
    let length = TextLength::up_to(limits::SPECIAL_INSTRUCTIONS_CHARACTERS);
    let text = body.field("specialInstructions").optional()?.text(length)?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}

/// Reads the template in one of the two formats; both together are an issue.
pub fn template(body: &Node<'_>) -> Option<TemplateUse> {
    let (modern, legacy) = (body.field("template"), body.field("messageTemplate"));
    let fields = [("template", "object"), ("messageTemplate", "string")];
    if !body.one_of_fields(&fields) || !body.not_both("template", "messageTemplate") {
        return None;
    }
    if modern.is_there() {
        modern_format(&modern)
    } else {
        legacy_format(&legacy, body.field("replacements"))
    }
}

fn legacy_format(name: &Node<'_>, replacements: Node<'_>) -> Option<TemplateUse> {
    let name = name.text(TEMPLATE_NAME);
    let texts = match replacements.optional() {
        None => Some(Vec::new()),
        Some(list) => list.list(limits::TEMPLATE_PARAMETERS).and_then(|texts| {
            let read: Vec<_> = texts
                .iter()
                .map(|text| text.seen(PARAMETER).map(text::folded))
                .collect();
            read.into_iter().collect::<Option<Vec<_>>>()
        }),
    };
    Some(TemplateUse {
        name: name?.to_owned(),
        language: None,
        parts: PlaceholderValues::Body(texts?),
    })
}

fn modern_format(template: &Node<'_>) -> Option<TemplateUse> {
    let template = template.object()?;
    let name = template.field("name").text(TEMPLATE_NAME);
    let language = template.field("language");
    let language = language.object().and_then(|language| {
        let length = TextLength::filled(limits::LANGUAGE_CHARACTERS);
        language.field("code").text(length)
    });
    let components = match template.field("components").optional() {
        None => Some(Vec::new()),
        Some(list) => list.list(limits::TEMPLATE_COMPONENTS).and_then(|list| {
            let read: Vec<_> = list.iter().map(component).collect();
            read.into_iter().collect::<Option<Vec<_>>>()
        }),
    };
    Some(TemplateUse {
        name: name?.to_owned(),
        language: Some(language?.to_owned()),
        parts: PlaceholderValues::Components(components?),
    })
}

/// The fields of a component that only buttons have.
pub(super) const OF_BUTTONS: [&str; 2] = ["sub_type", "index"];

fn component(component: &Node<'_>) -> Option<Component> {
    let component = component.object()?;
    let kind = component
        .field("type")
        .one_of(&ComponentKind::ALL.map(ComponentKind::as_str))
        .and_then(ComponentKind::from_text);
    let sub_type = match component.field("sub_type").optional() {
        None => Some(None),
        Some(sub_type) => sub_type.one_of(&["url", QUICK_REPLY]).map(Some),
    };
    let index = match component.field("index").optional() {
        None => Some(None),
        Some(index) => index.index(limits::BUTTON_INDEX).map(Some),
    };
    let is_reply = kind == Some(ComponentKind::Button) && sub_type == Some(Some(QUICK_REPLY));
    let (most, read_one): (_, fn(&Node<'_>) -> _) = if is_reply {
        (1, payload)
    } else {
        (limits::TEMPLATE_PARAMETERS, parameter)
    };
    let parameters = match component.field("parameters").optional() {
        None => Some(None),
        Some(list) => list.list(most).and_then(|list| {
            let read: Vec<_> = list.iter().map(read_one).collect();
            read.into_iter().collect::<Option<Vec<_>>>().map(Some)
        }),
    };
    let kind = kind?;
    let is_given = |name: &&str| component.field(name).is_there();
    let given: Vec<&str> = OF_BUTTONS.into_iter().filter(is_given).collect();
    if kind != ComponentKind::Button && !given.is_empty() {
        component.wrong(|path| Issue {
            message: format!("Only a button has {}", given.join(" and ")),
            ..Issue::unrecognized(given.iter().map(|&name| name.to_owned()).collect(), path)
        });
    }
    Some(Component {
        kind,
        sub_type: sub_type?,
        index: index?,
        parameters: parameters?,
    })
}

/// Reads the parameter of a quick reply: its payload, which may be called a text.
fn payload(parameter: &Node<'_>) -> Option<TemplateParameter> {
    let parameter = parameter.object()?;
    let kind = parameter.field("type").one_of(&["payload", "text"]);
    let name = parameter_name(parameter);
    let payload = parameter.field(kind?).seen(PARAMETER)?.to_owned();
    Some(TemplateParameter {
        parameter_name: name?,
        value: ParameterValue::Payload { payload },
    })
}

fn parameter_name(parameter: &Node<'_>) -> Option<Option<String>> {
    match parameter.field("parameter_name").optional() {
        None => Some(None),
        Some(name) => name.text(NAME).map(|name| Some(name.to_owned())),
    }
}

/// Reads a parameter. White space in a text is folded, since channels refuse the whole message
/// for a line break or a row of spaces in it.
fn parameter(parameter: &Node<'_>) -> Option<TemplateParameter> {
    let parameter = parameter.object()?;
    let kind = parameter
        .field("type")
        .one_of(&["text", "document", "image", "video"]);
    let name = parameter_name(parameter);
    let value = match kind? {
        "text" => parameter
            .field("text")
            .seen(PARAMETER)
            .map(|text| ParameterValue::Text {
                text: text::folded(text),
            }),
        "document" => document(&parameter.field("document")),
        "image" => media(&parameter.field("image")).map(|image| ParameterValue::Image { image }),
        _ => media(&parameter.field("video")).map(|video| ParameterValue::Video { video }),
    };
    Some(TemplateParameter {
        parameter_name: name?,
        value: value?,
    })
}

fn document(document: &Node<'_>) -> Option<ParameterValue> {
    let document = document.object()?;
    let link = link(&document.field("link"));
    let filename = document.field("filename").text(NAME).map(str::to_owned);
    Some(ParameterValue::Document {
        document: Document {
            link: link?,
            filename: filename?,
        },
    })
}

fn media(media: &Node<'_>) -> Option<Media> {
    let media = media.object()?;
    let (address, id) = (media.field("link"), media.field("id"));
    if address.is_there() {
        return link(&address).map(Media::Link);
    }
    if id.is_there() {
        return id.text(NAME).map(|id| Media::Id(id.to_owned()));
    }
    let forms = vec![
        vec![Issue::required("string", address.path())],
        vec![Issue::required("string", id.path())],
    ];
    media.wrong(|path| Issue::no_form(forms, path));
    None
}

fn link(link: &Node<'_>) -> Option<String> {
    let length = TextLength::up_to(limits::LINK_CHARACTERS);
    link.text_as("url", length, |text| {
        let url = url::Url::parse(text).ok()?;
        // Schemes that a provider can fetch and a phone may open.
        url.scheme()
            .parse::<UrlScheme>()
            .is_ok()
            .then(|| text.to_owned())
    })
}

pub fn misfits(body: &Value, misfits: &[Misfit]) -> Vec<Issue> {
    let is_legacy = body.get("messageTemplate").is_some();
    misfits
        .iter()
        .map(|misfit| issue(is_legacy, misfit))
        .collect()
}

fn issue(is_legacy: bool, misfit: &Misfit) -> Issue {
    let field = |name: &str| PathStep::Field(name.to_owned());
    let mut path = if is_legacy {
        vec![field("replacements")]
    } else {
        vec![field("template"), field("components")]
    };
    if let Some(place) = misfit.component.filter(|_| !is_legacy) {
        let member = match misfit.what {
            Mismatch::Button { .. } => "sub_type",
            Mismatch::Count { .. } | Mismatch::Kind { .. } | Mismatch::Name { .. } => "parameters",
        };
        path.extend([PathStep::Index(place), field(member)]);
    }
    let mut message = misfit.message.clone();
    if is_legacy && misfit.kind != ComponentKind::Body {
        message.push_str(LEGACY_FILLS_BODY);
    }
    match &misfit.what {
        Mismatch::Count { wanted, given } => Issue::wrong_count(*wanted, *given, path, message),
        Mismatch::Button { wanted } => Issue {
            message,
            ..Issue::not_one_of(QUICK_REPLY, wanted.clone(), path)
        },
        Mismatch::Kind {
            parameter,
            wanted,
            given,
        } => {
            path.extend([PathStep::Index(*parameter), field("type")]);
            let mut issue = Issue::not_one_of(given, vec![wanted.clone()], path);
            issue.message = message;
            issue
        }
        Mismatch::Name {
            parameter,
            wanted,
            given,
        } => {
            path.extend([PathStep::Index(*parameter), field("parameter_name")]);
            let mut issue = match given {
                None => Issue::required("string", path),
                Some(given) => Issue::not_one_of(given, wanted.clone(), path),
            };
            issue.message = message;
            issue
        }
    }
}
