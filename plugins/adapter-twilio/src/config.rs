//! The configuration of an instance: an account, a sender, and the content of
//! each template of the interface.

use leadhost_sdk::{
    HttpRequest, Problem, Segment, Slot, literal_argument, placeholders_in, secret_argument,
};
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    pub account_sid: String,
    pub channel: Channel,
    pub from: Option<String>,
    pub messaging_service_sid: Option<String>,
    /// Calls use this key instead of the account's token.
    pub api_key_sid: Option<String>,
    /// The address of the API; relays and tests use another one.
    pub api_url: String,
    pub templates: Vec<Content>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    #[default]
    Whatsapp,
    Sms,
}

/// A Twilio content, and the template that it stands for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    pub name: String,
    pub language: String,
    pub content_sid: String,
    #[serde(default = "approved")]
    pub status: String,
    #[serde(default)]
    pub category: String,
    #[serde(default)]
    pub text: String,
    /// `None`: the variables of the text.
    variables: Option<Vec<Variable>>,
}

/// A variable of a content, and the parameter that fills it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "VariableForm")]
pub struct Variable {
    /// The name in Twilio.
    pub name: String,
    pub component: Component,
    /// The index of a button.
    pub index: u32,
    pub kind: Kind,
    /// The text before it in the content: removed from a value that begins with it.
    pub prefix: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Component {
    Header,
    #[default]
    Body,
    Button,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    #[default]
    Text,
    Document,
    Image,
    Video,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            account_sid: String::new(),
            channel: Channel::Whatsapp,
            from: None,
            messaging_service_sid: None,
            api_key_sid: None,
            api_url: "https://api.twilio.com".into(),
            templates: Vec::new(),
        }
    }
}

impl Config {
    /// Checks what the schema requires, in case the host did not, and that the
    /// configuration has a sender.
    ///
    /// # Errors
    ///
    /// [`Problem`] with the place of the first wrong value.
    pub fn check(&self) -> Result<(), Problem> {
        if self.account_sid.trim().is_empty() {
            return Err(Problem::new("the configuration has no `accountSid`").at("accountSid"));
        }
        if self.from.is_none() && self.messaging_service_sid.is_none() {
            return Err(Problem::new(
                "the configuration has neither `from` nor `messagingServiceSid`: set one of them as the sender of messages",
            )
            .at("from"));
        }
        HttpRequest::get(&self.api_url).map(|_| ())
    }

    /// Returns the credentials of calls.
    pub fn credentials(&self) -> Segment {
        let (user, password) = match &self.api_key_sid {
            Some(key) => (key, API_KEY_SECRET),
            None => (&self.account_sid, AUTH_TOKEN),
        };
        Segment::Slot(Slot {
            function: "basic".into(),
            args: vec![literal_argument(user.as_str()), secret_argument(password)],
        })
    }

    /// Returns the content of a template, if there is one. Twilio writes `pt-BR` and
    /// Meta `pt_BR`; both are the same language here.
    pub fn content(&self, name: &str, language: &str) -> Option<&Content> {
        self.templates
            .iter()
            .find(|content| content.name == name && same_language(&content.language, language))
    }
}

impl Content {
    /// Returns the variables to fill, in the order of the parameters.
    pub fn variables(&self) -> Vec<Variable> {
        match &self.variables {
            Some(variables) => variables.clone(),
            None => placeholders_in(&self.text)
                .into_iter()
                .map(Variable::in_body)
                .collect(),
        }
    }
}

impl Variable {
    fn in_body(name: &str) -> Self {
        Self {
            name: name.into(),
            component: Component::Body,
            index: 0,
            kind: Kind::Text,
            prefix: String::new(),
        }
    }
}

impl Component {
    /// Returns the word of the contract.
    pub fn word(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Body => "body",
            Self::Button => "button",
        }
    }
}

impl Kind {
    /// Returns the word of the contract.
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Document => "document",
            Self::Image => "image",
            Self::Video => "video",
        }
    }
}

/// A configured variable: a name alone, or an object.
#[derive(Deserialize)]
#[serde(untagged)]
enum VariableForm {
    Name(String),
    Whole {
        name: String,
        #[serde(default)]
        component: Component,
        #[serde(default)]
        index: u32,
        #[serde(default)]
        kind: Kind,
        #[serde(default)]
        prefix: String,
    },
}

impl From<VariableForm> for Variable {
    fn from(form: VariableForm) -> Self {
        match form {
            VariableForm::Name(name) => Self::in_body(&name),
            VariableForm::Whole {
                name,
                component,
                index,
                kind,
                prefix,
            } => Self {
                name,
                component,
                index,
                kind,
                prefix,
            },
        }
    }
}

fn approved() -> String {
    "approved".into()
}

fn same_language(one: &str, other: &str) -> bool {
    let letters = |text: &str| text.replace('-', "_").to_ascii_lowercase();
    letters(one) == letters(other)
}

/// The account's token, which authenticates calls and signs webhooks.
pub const AUTH_TOKEN: &str = "auth-token";
/// The secret of an API key.
pub const API_KEY_SECRET: &str = "api-key-secret";

pub const SCHEMA: &str = include_str!("config.schema.json");
