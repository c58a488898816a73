//! The events of a provider's webhook. Setters take a text or an optional one, and
//! leave out empty values, so that an adapter can pass on whatever it read.

use serde_json::Value;

use crate::text::present;
use crate::{
    ChannelError, ContactChange, Event, EventBody, InboundMessage, Problem, Reply, StatusUpdate,
    TemplateChange, Webhook,
};

impl Event {
    /// An event that the host does not act on; `why` is for people.
    pub fn other(why: impl Into<String>) -> Self {
        EventBody::Other(why.into()).into()
    }

    /// This event cannot be read. The others of the webhook are not affected.
    pub fn invalid(message: impl Into<String>, path: impl Into<String>) -> Self {
        EventBody::Invalid(Problem::new(message).at(path)).into()
    }

    /// Selects the instance of the event, by a name and value that its `routes`
    /// returns. Call it once for each name.
    pub fn route(mut self, name: &str, value: impl Into<String>) -> Self {
        self.route.push((name.into(), value.into()));
        self
    }

    /// Adds a value for which the body has no place. A host reads `user-id` and
    /// `parent-user-id`: further ids of the person that the event is about.
    pub fn attribute(mut self, name: impl Into<String>, value: &Value) -> Self {
        self.attributes.push((name.into(), value.to_string()));
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
    /// Sets the reply to the provider. Default: an empty 200.
    pub fn reply(mut self, reply: Reply) -> Self {
        self.reply = Some(reply);
        self
    }

    /// Adds a line for people, shown with the delivery.
    pub fn note(mut self, line: impl Into<String>) -> Self {
        self.notes.push(line.into());
        self
    }
}

impl StatusUpdate {
    /// Takes the provider's id of the message, and `sent`, `delivered`, `read` or
    /// `failed`, or else the provider's own word.
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

    /// Sets the host's own id of the message, if the provider repeated it.
    pub fn message_id(mut self, id: impl Into<Option<String>>) -> Self {
        self.message_id = present(id);
        self
    }

    /// Sets the time, in RFC 3339; see [`time_text`](crate::time_text).
    pub fn occurred_at(mut self, time: impl Into<Option<String>>) -> Self {
        self.occurred_at = present(time);
        self
    }

    /// Sets the recipient as the provider names it.
    pub fn recipient_id(mut self, id: impl Into<Option<String>>) -> Self {
        self.recipient_id = present(id);
        self
    }

    /// Adds an error that the provider reports for the message.
    pub fn error(mut self, error: ChannelError) -> Self {
        self.errors.push(error);
        self
    }
}

impl ChannelError {
    /// Takes the provider's code and the class that it would have as a refusal, or
    /// `opt-out` if the contact wants no more messages.
    pub fn new(code: impl Into<String>, category: &str) -> Self {
        Self {
            code: code.into(),
            title: String::new(),
            description: String::new(),
            details: String::new(),
            category: category.into(),
        }
    }

    /// Sets the provider's short name of the error.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Sets the provider's sentence.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets the provider's further explanation.
    pub fn details(mut self, details: impl Into<String>) -> Self {
        self.details = details.into();
        self
    }
}

impl InboundMessage {
    /// Takes the provider's id of the message, the sender as the provider names it,
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

    /// Sets the sender's phone as the provider writes it.
    pub fn sender_phone(mut self, phone: impl Into<Option<String>>) -> Self {
        self.sender_phone = present(phone);
        self
    }

    /// Sets the sender's name.
    pub fn sender_name(mut self, name: impl Into<Option<String>>) -> Self {
        self.sender_name = present(name);
        self
    }

    /// Sets the readable content: the text, the caption, the label of the button.
    pub fn content(mut self, content: impl Into<Option<String>>) -> Self {
        self.content = present(content);
        self
    }

    /// Sets the time, in RFC 3339; see [`time_text`](crate::time_text).
    pub fn occurred_at(mut self, time: impl Into<Option<String>>) -> Self {
        self.occurred_at = present(time);
        self
    }

    /// Sets the provider's id of the message that this one replies to.
    pub fn reply_to(mut self, external_id: impl Into<Option<String>>) -> Self {
        self.reply_to = present(external_id);
        self
    }

    /// Adds any other value from the provider. It keeps its JSON type and digits.
    pub fn attribute(mut self, name: impl Into<String>, value: &Value) -> Self {
        self.attributes.push((name.into(), value.to_string()));
        self
    }
}

impl TemplateChange {
    /// Takes the new status, as of a template. If it is empty, something else has
    /// changed, and the host requests the list again.
    pub fn new(name: impl Into<String>, language: impl Into<String>, status: &str) -> Self {
        Self {
            name: name.into(),
            language: language.into(),
            status: status.into(),
            reason: String::new(),
        }
    }

    /// Sets the reason for the new status.
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }
}

impl ContactChange {
    /// The sender has a new id.
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

    /// A change of another kind, without a value.
    pub fn new(sender_id: impl Into<String>, kind: &str) -> Self {
        Self {
            sender_id: sender_id.into(),
            sender_phone: None,
            kind: kind.into(),
            value: String::new(),
            occurred_at: None,
        }
    }

    /// Sets the sender's phone as the provider writes it.
    pub fn sender_phone(mut self, phone: impl Into<Option<String>>) -> Self {
        self.sender_phone = present(phone);
        self
    }

    /// Sets the time, in RFC 3339; see [`time_text`](crate::time_text).
    pub fn occurred_at(mut self, time: impl Into<Option<String>>) -> Self {
        self.occurred_at = present(time);
        self
    }
}
