use utoipa::openapi::schema::{ObjectBuilder, Type};

use super::instances::Instances;
use crate::prelude::*;
use leadhost_domain::delivery::ItemOutcome;
use leadhost_domain::id::{ConversationId, MessageId};
use leadhost_domain::message::{Actor, MessageState, Metadata};
use leadhost_domain::plugin::RanWith;

/// A page of messages, newest first.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Messages {
    pub messages: Vec<MessageView>,
    /// The `before` of the next page. Null on the last page.
    pub next: Option<MessageId>,
}

/// A message as its operator sees it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageView {
    pub id: MessageId,
    pub workspace_id: WorkspaceId,
    pub conversation_id: ConversationId,
    pub contact_id: ContactId,
    pub contact_name: Option<String>,
    /// The contact's number in E.164, with its plus sign.
    pub phone_number: Option<String>,
    pub instance_id: Option<AgentId>,
    pub created_at: Micros,
    pub actor: Actor,
    /// Its type, as exported: `text`, `template`, `image`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its text. Null if it has none, or if the text of its template is not known.
    pub content: Option<String>,
    /// As exported. Keys without a value are absent.
    #[schema(inline)]
    pub metadata: Metadata,
    pub delivered_at: Option<Micros>,
    pub read_at: Option<Micros>,
    /// The version of the adapter that sent it last, or that read it. Null if none was called.
    pub ran: Option<RanWith>,
    /// When a waiting message is sent next. Null if it does not wait.
    pub next_attempt_at: Option<Micros>,
}

impl MessageView {
    /// Returns whether the host does not know if the provider accepted the message.
    pub fn is_unknown(&self) -> bool {
        self.metadata.status == MessageState::Unknown.as_str()
    }

    pub fn waits_for_instance(&self) -> bool {
        let metadata = &self.metadata;
        metadata.status == MessageState::Waiting.as_str()
            && metadata.reason.is_none()
            && metadata.errors.is_empty()
    }

    /// Returns why the message waits or failed, for people. `instances` may be left out if no message
    /// waits for one.
    pub fn why(&self, instances: Option<&Instances>) -> Option<String> {
        if self.waits_for_instance() {
            let mut all = instances.iter().flat_map(|all| &all.instances);
            let own = all.find(|instance| Some(instance.id) == self.instance_id);
            return Some(match own.and_then(|instance| instance.paused.as_ref()) {
                Some(pause) => format!("its instance is paused: {}", pause.reason),
                None => "waits for earlier messages of its instance".to_owned(),
            });
        }
        let metadata = &self.metadata;
        if let Some(reason) = &metadata.reason {
            return Some(reason.clone());
        }
        if let Some(error) = metadata.errors.last() {
            let words = [error.code.to_string(), error.description.clone()];
            let words = words.into_iter().filter(|word| !word.is_empty());
            return Some(words.collect::<Vec<_>>().join(" "));
        }
        // The provider's own word for the accepted message, until a status follows.
        let word = metadata.channel_status.as_ref()?;
        (metadata.status == MessageState::Accepted.as_str())
            .then(|| format!("accepted by its provider as {word}"))
    }
}

/// A message that a contact of the sandbox writes.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplyRequest {
    /// A message of the conversation, by its id, or the contact's phone number.
    pub to: String,
    pub text: String,
    /// The instance that a phone writes to: its number, its name, or `workspace/name`. Without
    /// it, the only sandbox, or the one that wrote to the phone last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
}

/// A status that the sandbox reports for one of its messages.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusRequest {
    #[schema(schema_with = reported)]
    pub status: String,
}

impl StatusRequest {
    /// The statuses that can be reported.
    pub const WORDS: [&str; 4] = ["sent", "delivered", "read", "failed"];
}

fn reported() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(StatusRequest::WORDS))
}

/// A simulated event: the delivery as which it is stored, and its outcome.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Played)]
pub struct SimulatedEvent {
    pub delivery: DeliveryId,
    pub status: DeliveryStatus,
    pub items: Vec<ItemOutcome>,
}

/// The decision about a message that waits or whose outcome is unknown.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveRequest {
    pub verdict: Verdict,
}

/// `send-again`: the message was not sent, so it is sent once more. `give-up`: it counts as
/// failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    SendAgain,
    GiveUp,
}

/// A message after its outcome was decided.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Resolved {
    pub id: MessageId,
    pub state: MessageState,
}

/// The decision about several messages whose outcome is unknown.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveManyRequest {
    pub verdict: Verdict,
    /// The messages, at most 500. The request resolves no other one.
    pub messages: Vec<MessageId>,
}

/// The results of resolving several messages.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ResolvedMany {
    /// The number of messages that are resolved now, by their state.
    #[schema(inline)]
    pub states: BTreeMap<String, u64>,
    /// The number of messages that stay as they are, because their outcome was not unknown.
    pub refused: u64,
    /// The first of them, each with its reason.
    pub refusals: Vec<RefusedMessage>,
    /// The number of messages that the request did not come to in its time.
    pub left: u64,
}

/// A message that stays as it is.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RefusedMessage {
    pub id: MessageId,
    pub reason: String,
}

impl ResolvedMany {
    pub fn add(&mut self, other: Self) {
        for (state, number) in other.states {
            *self.states.entry(state).or_default() += number;
        }
        self.refused += other.refused;
        self.refusals.extend(other.refusals);
        self.left += other.left;
    }

    pub fn summary(&self) -> String {
        let resolved = self.states.values().sum::<u64>();
        let mut text = match resolved {
            0 => "No message is resolved".to_owned(),
            1 => "1 message is resolved".to_owned(),
            _ => format!("{resolved} messages are resolved"),
        };
        let states: Vec<_> = self
            .states
            .iter()
            .map(|(state, number)| format!("{number} {state}"))
            .collect();
        if !states.is_empty() {
            text.push_str(": ");
            text.push_str(&states.join(", "));
        }
        text.push('.');
        if let Some(first) = self.refusals.first() {
            let stay = counted(self.refused, "stays as it is", "stay as they are");
            text.push_str(&format!(" {stay}: {}", first.reason));
        }
        if self.left > 0 {
            let left = counted(self.left, "is", "are");
            text.push_str(&format!(" {left} left: the time was up."));
        }
        text
    }
}

columns! {
    ListedMessage<'_> as listed {
        "Id" commands => Cell::id(listed.message.id),
        "At" => Cell::from(listed.message.created_at).link(listed.page()),
        "Instance" commands => listed.message.instance_id.map(|id| id.to_string()),
        "From" pages => listed.message.actor.as_str(),
        "Instance" pages => listed.instance(),
        "Contact" commands => listed.direction(),
        "Contact" pages main => Cell::from(listed.message.contact_name.as_deref().unwrap_or("contact"))
            .link(format!("/contacts/{}", listed.message.contact_id))
            .note(listed.message.phone_number.as_ref()),
        "State" => Cell::word(&listed.message.metadata.status).reason(listed.why()),
        "Message" commands => listed.said(),
        "Message" pages => listed.message.content.as_ref().unwrap_or(&listed.message.kind),
        "Note" commands => listed.why().unwrap_or_default(),
        "Id" more pages => Cell::id(listed.message.id)
            .link(listed.page())
            .label(format!("Conversation of {}", listed.message.id)),
    }
}

/// A message in a list, with the instances, which may be left out if no message waits for one.
pub struct ListedMessage<'a> {
    pub message: &'a MessageView,
    pub instances: Option<&'a Instances>,
}

impl ListedMessage<'_> {
    fn page(&self) -> String {
        format!("/conversations/{}", self.message.conversation_id)
    }

    fn why(&self) -> Option<String> {
        self.message.why(self.instances)
    }

    pub fn instance(&self) -> Option<String> {
        let mut all = self.instances.iter().flat_map(|all| &all.instances);
        let own = all.find(|instance| Some(instance.id) == self.message.instance_id)?;
        Some(name_in_workspace(&own.workspace, &own.name))
    }

    fn direction(&self) -> String {
        let MessageView {
            metadata,
            phone_number,
            contact_name,
            ..
        } = self.message;
        // A channel's own message comes in, too.
        let came_in = metadata.status == MessageState::Received.as_str();
        let arrow = if came_in { "from" } else { "to" };
        let who = phone_number.as_ref().or(contact_name.as_ref());
        let who = who.map_or("a contact without a number", String::as_str);
        format!("{arrow} {who}")
    }

    fn said(&self) -> String {
        match (&self.message.content, &self.message.metadata.template) {
            (Some(content), _) => content.chars().take(60).collect(),
            (None, Some(template)) => format!("template {}", template.name),
            (None, None) => self.message.kind.clone(),
        }
    }
}
