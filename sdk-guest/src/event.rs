//! What a provider's webhook tells. Setters take a text or an optional one, and
//! leave out what is empty, so that an adapter can pass on whatever it read.

use serde_json::Value;

use crate::text::present;
use crate::{
    ChannelError, ContactChange, Event, EventBody, InboundMessage, Problem, Reply, StatusUpdate,
    TemplateChange, Webhook,
};

impl Event {
    /// Read, and nothing that the host acts on; why, for people.
    pub fn other(why: impl Into<String>) -> Self {
        EventBody::Other(why.into()).into()
    }

    /// This event cannot be read; the others of the webhook count.
    pub fn invalid(message: impl Into<String>, path: impl Into<String>) -> Self {
        EventBody::Invalid(Problem::new(message).at(path)).into()
    }

    /// Says to which instance the event belongs, by a name and value that
    /// `routes` gives for it. Call it once for each name.
    pub fn route(mut self, name: &str, value: impl Into<String>) -> Self {
        self.route.push((name.into(), value.into()));
        self
    }
}

impl From<EventBody> for Event {
    fn from(body: EventBody) -> Self {
        Self {
            route: Vec::new(),
            body,
            attributes: Vec::new(),
        }
    }
}

impl From<StatusUpdate> for Event {
    fn from(status: StatusUpdate) -> Self {
        EventBody::Status(status).into()
    }
}

impl From<InboundMessage> for Event {
    fn from(message: InboundMessage) -> Self {
        EventBody::Inbound(message).into()
    }
}

impl From<TemplateChange> for Event {
    fn from(change: TemplateChange) -> Self {
        EventBody::Template(change).into()
    }
}

impl From<ContactChange> for Event {
    fn from(change: ContactChange) -> Self {
        EventBody::Contact(change).into()
    }
}

impl From<Vec<Event>> for Webhook {
    fn from(events: Vec<Event>) -> Self {
        Self {
            events,
            reply: None,
            notes: Vec::new(),
        }
    }
}

impl Webhook {
    /// What the provider hears; else an empty 200.
    pub fn reply(mut self, reply: Reply) -> Self {
        self.reply = Some(reply);
        self
    }

    /// A line for people, shown with the delivery.
    pub fn note(mut self, line: impl Into<String>) -> Self {
        self.notes.push(line.into());
        self
    }
}

impl StatusUpdate {
    /// The provider's id of the message, and `sent`, `delivered`, `read` or
    /// `failed`; the provider's own word where it is none of these.
    pub fn new(external_id: impl Into<String>, status: &str) -> Self {
        Self {
            external_id: external_id.into(),
            message_id: None,
            status: status.into(),
            occurred_at: None,
            recipient_id: None,
            errors: Vec::new(),
        }
    }

    /// The host's own id, where the provider gave it back.
    pub fn message_id(mut self, id: impl Into<Option<String>>) -> Self {
        self.message_id = present(id);
        self
    }

    /// RFC 3339; see [`time_text`](crate::time_text).
    pub fn occurred_at(mut self, time: impl Into<Option<String>>) -> Self {
        self.occurred_at = present(time);
        self
    }

    /// The recipient as the provider names it.
    pub fn recipient_id(mut self, id: impl Into<Option<String>>) -> Self {
        self.recipient_id = present(id);
        self
    }

    /// One more error that the provider reports of it.
    pub fn error(mut self, error: ChannelError) -> Self {
        self.errors.push(error);
        self
    }
}

impl ChannelError {
    /// The provider's code, and the class that it has as a refusal; `opt-out`
    /// where the contact wants no more messages.
    pub fn new(code: impl Into<String>, category: &str) -> Self {
        Self {
            code: code.into(),
            title: String::new(),
            description: String::new(),
            details: String::new(),
            category: category.into(),
        }
    }

    /// The provider's short name of it.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// The provider's sentence.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// The provider's further words.
    pub fn details(mut self, details: impl Into<String>) -> Self {
        self.details = details.into();
        self
    }
}

impl InboundMessage {
    /// The provider's id of the message, the sender as the provider names it,
    /// and the kind: `text`, `image`, `button` and so on.
    pub fn new(
        external_id: impl Into<String>,
        sender_id: impl Into<String>,
        kind: impl Into<String>,
    ) -> Self {
        Self {
            external_id: external_id.into(),
            sender_id: sender_id.into(),
            sender_phone: None,
            sender_name: None,
            kind: kind.into(),
            content: None,
            occurred_at: None,
            reply_to: None,
            attributes: Vec::new(),
        }
    }

    /// The sender's phone as the provider writes it.
    pub fn sender_phone(mut self, phone: impl Into<Option<String>>) -> Self {
        self.sender_phone = present(phone);
        self
    }

    pub fn sender_name(mut self, name: impl Into<Option<String>>) -> Self {
        self.sender_name = present(name);
        self
    }

    /// What people read: the text, the caption, the button's words.
    pub fn content(mut self, content: impl Into<Option<String>>) -> Self {
        self.content = present(content);
        self
    }

    /// RFC 3339; see [`time_text`](crate::time_text).
    pub fn occurred_at(mut self, time: impl Into<Option<String>>) -> Self {
        self.occurred_at = present(time);
        self
    }

    /// The provider's id of the message that this one answers.
    pub fn reply_to(mut self, external_id: impl Into<Option<String>>) -> Self {
        self.reply_to = present(external_id);
        self
    }

    /// Whatever else the provider says of it. The value keeps its JSON type and
    /// digits.
    pub fn attribute(mut self, name: impl Into<String>, value: &Value) -> Self {
        self.attributes.push((name.into(), value.to_string()));
        self
    }
}

impl TemplateChange {
    /// The new status, as of a template; empty where something else changed,
    /// and the host asks for the list again.
    pub fn new(name: impl Into<String>, language: impl Into<String>, status: &str) -> Self {
        Self {
            name: name.into(),
            language: language.into(),
            status: status.into(),
            reason: String::new(),
        }
    }

    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }
}

impl ContactChange {
    /// The sender has another id now.
    pub fn number(sender_id: impl Into<String>, new_id: impl Into<String>) -> Self {
        Self {
            value: new_id.into(),
            ..Self::new(sender_id, "number")
        }
    }

    /// The contact wants no more messages.
    pub fn opt_out(sender_id: impl Into<String>) -> Self {
        Self::new(sender_id, "opt-out")
    }

    /// The contact wants messages again.
    pub fn opt_in(sender_id: impl Into<String>) -> Self {
        Self::new(sender_id, "opt-in")
    }

    /// A change of that kind, without a value.
    pub fn new(sender_id: impl Into<String>, kind: &str) -> Self {
        Self {
            sender_id: sender_id.into(),
            sender_phone: None,
            kind: kind.into(),
            value: String::new(),
            occurred_at: None,
        }
    }

    /// The sender's phone as the provider writes it.
    pub fn sender_phone(mut self, phone: impl Into<Option<String>>) -> Self {
        self.sender_phone = present(phone);
        self
    }

    /// RFC 3339; see [`time_text`](crate::time_text).
    pub fn occurred_at(mut self, time: impl Into<Option<String>>) -> Self {
        self.occurred_at = present(time);
        self
    }
}
