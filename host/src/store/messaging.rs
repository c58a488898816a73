//! Messages as they are committed: a notification, what came of its sending,
//! what a channel says of messages, and the reads around them. Times are
//! microseconds.

use serde::Serialize;
use serde_json::{Map, Value};

use super::Lease;
use crate::domain::channel::{ChannelError, Template};
use crate::domain::connection::Pause;
use crate::domain::id::{
    AgentId, ConnectionId, ContactId, ConversationId, DealId, MessageErrorId, MessageId, PartnerId,
    WorkspaceId,
};
use crate::domain::message::{Progress, State, TemplateName};
use crate::domain::phone::Phone;
use crate::domain::time::Micros;
use crate::domain::workspace::AgentKind;

/// The instance that messages go through, as far as a decision needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    pub workspace: WorkspaceId,
    pub connection: ConnectionId,
    pub agent: AgentId,
    pub agent_kind: AgentKind,
    /// `whatsapp`: what contacts' keys and exported rows name.
    pub channel: String,
    /// Without an answer for this long a conversation is `no_response`.
    pub unanswered_after: i64,
    /// Without a message for this long a conversation closes.
    pub idle_after: i64,
}

/// A template message that is to go out.
#[derive(Clone, Debug)]
pub struct NewMessage {
    pub id: MessageId,
    pub template: TemplateName,
    /// For the adapter: JSON text in the interface's shape.
    pub payload: String,
    /// What people read, where the template's text is known.
    pub content: Option<String>,
    /// Past this it is given up.
    pub until: Micros,
}

/// `POST /send-notification`, checked and normalised.
#[derive(Clone, Debug)]
pub struct Notification {
    pub channel: Channel,
    pub message: NewMessage,
    pub name: String,
    pub phone: Phone,
    pub email: Option<String>,
    /// See `domain::contact::keys`; the phone's first.
    pub contact_keys: Vec<String>,
    pub source: String,
    /// Transferred to people when it is not answered in time.
    pub transfer: bool,
    pub special_instructions: Option<String>,
    /// None: the contact's newest open deal, if there is one.
    pub deal: Option<DealId>,
    pub idempotency: Option<IdempotencyClaim>,
    /// Until when the caller holds it to send it at once; `None`: the worker sends it.
    pub lease_until: Option<Micros>,
}

/// A greeting that a new lead's commit stores too.
#[derive(Clone, Debug)]
pub struct NewGreeting {
    pub channel: Channel,
    pub message: NewMessage,
    pub transfer: bool,
}

/// Names one request of a partner.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdempotencyKey {
    pub workspace: WorkspaceId,
    pub partner: PartnerId,
    /// The route's name.
    pub route: String,
    pub key: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyClaim {
    pub key: IdempotencyKey,
    /// Of the request's body: hex.
    pub fingerprint: String,
    /// Microseconds that it is remembered.
    pub kept: i64,
}

/// An answer that a repeat hears again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct StoredAnswer {
    pub status: u16,
    /// Those of the endpoint's own, such as `x-message-id`.
    pub headers: Vec<(String, String)>,
    /// JSON text.
    pub body: String,
}

/// What a notification became.
#[derive(Clone, Debug, PartialEq)]
pub enum Notified {
    /// Stored. `state` is `Sending`: the caller makes the call now, under lease 0;
    /// or `Waiting`: the worker will.
    Stored {
        conversation: ConversationId,
        contact: ContactId,
        message: MessageId,
        /// Whom the adapter is to send to.
        recipient: String,
        state: State,
    },
    /// The contact wants no messages, or was banned; nothing was stored.
    Banned,
    /// The key was answered before.
    Replayed(StoredAnswer),
    /// The key's first request is not answered yet. `alive`: whoever runs it may
    /// still answer; else its message's state is all there is to tell.
    Running {
        conversation: Option<ConversationId>,
        message: Option<MessageId>,
        state: State,
        alive: bool,
    },
    /// The key came with another body before.
    KeyReused,
}

/// An answer without a message, kept under its key.
#[derive(Clone, Debug)]
pub struct Remembered {
    pub claim: IdempotencyClaim,
    /// None: nothing is kept; it is only asked what is known under the key.
    pub answer: Option<StoredAnswer>,
}

/// The worker is about to make a call: from here on nobody makes another.
#[derive(Clone, Debug)]
pub struct SendStart {
    pub workspace: WorkspaceId,
    pub message: MessageId,
    pub lease: Lease,
}

/// What came of a send.
#[derive(Clone, Debug)]
pub struct SendSettlement {
    pub channel: Channel,
    pub message: MessageId,
    pub lease: Lease,
    pub outcome: SendOutcome,
    /// What others have to wait for now.
    pub holds: Vec<Hold>,
    /// The instance stops sending.
    pub pause: Option<Pause>,
    /// The answer of the request that sent it at once.
    pub answer: Option<(IdempotencyKey, StoredAnswer)>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SendOutcome {
    Accepted {
        external_ids: Vec<String>,
        recipient_id: Option<String>,
        /// With the time of acceptance, and what the answer says beyond it.
        progress: Progress,
        /// The answer's word for how far it is, where no [`State`] says as much.
        word: Option<String>,
    },
    /// Final: the message is failed, with a row in the report.
    Refused(ChannelError),
    /// Kept, and tried again.
    Later {
        at: Micros,
        error: ChannelError,
    },
    /// Not tried: it may not go out before this time.
    Held {
        at: Micros,
    },
    Unknown {
        reason: String,
    },
}

/// Sends that have to wait, by what the provider limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    pub connection: ConnectionId,
    /// None: the instance's whole number.
    pub contact: Option<ContactId>,
    pub until: Micros,
}

/// What an operator decides about a message whose outcome nobody knows.
#[derive(Clone, Debug)]
pub struct Resolution {
    pub workspace: WorkspaceId,
    pub message: MessageId,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It did not go out: it is sent again, until this time.
    SendAgain { until: Micros },
    /// It is given up: failed.
    GiveUp,
}

/// A message after a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageOutcome {
    pub message: MessageId,
    pub conversation: ConversationId,
    pub state: State,
}

/// Time has passed for a conversation: unanswered, or idle.
#[derive(Clone, Debug)]
pub struct Elapse {
    pub workspace: WorkspaceId,
    pub conversation: ConversationId,
}

/// What a channel says, read and addressed to its instance.
#[derive(Clone, Debug)]
pub struct NewEvent {
    pub channel: Channel,
    pub event: Event,
}

#[derive(Clone, Debug)]
pub enum Event {
    Status {
        external_id: String,
        /// The host's own id, as the provider gave it back.
        message: Option<MessageId>,
        /// Empty when the word means nothing to the host.
        progress: Progress,
        /// The provider's word.
        word: String,
        recipient_id: Option<String>,
        at: Micros,
    },
    Inbound(Box<Inbound>),
    Template {
        name: String,
        language: String,
        status: String,
        reason: String,
    },
    /// No more messages to this contact, or again.
    Consent {
        contact_keys: Vec<String>,
        opt_out: bool,
        at: Micros,
    },
    /// The contact has another number: further keys of it.
    Number {
        contact_keys: Vec<String>,
        new_keys: Vec<String>,
        phone: Option<Phone>,
    },
}

#[derive(Clone, Debug)]
pub struct Inbound {
    pub external_id: String,
    pub sender_id: String,
    pub name: Option<String>,
    pub phone: Option<Phone>,
    /// The phone's key if it is one, then the channel's.
    pub contact_keys: Vec<String>,
    /// One of `domain::message::KINDS`.
    pub kind: &'static str,
    /// The provider's word, where `kind` is `unsupported`.
    pub channel_type: Option<String>,
    pub content: Option<String>,
    pub at: Micros,
    pub reply_to: Option<String>,
    pub attributes: Map<String, Value>,
}

/// A send in somebody's hands.
#[derive(Clone, Debug)]
pub struct HeldSend {
    pub lease: Lease,
    pub workspace: WorkspaceId,
    pub message: MessageId,
    pub conversation: ConversationId,
    pub contact: ContactId,
    pub connection: ConnectionId,
    pub recipient: String,
    pub payload: String,
    pub attempts: u32,
    pub until: Micros,
    /// Its holder was gone in the middle of a call: nobody knows the outcome.
    pub was_sending: bool,
    /// The contact or the number has to wait until then.
    pub held_until: Option<Micros>,
    /// The contact wants no messages by now.
    pub is_banned: bool,
}

/// An instance's templates as its provider listed them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateList {
    /// When the provider was last asked.
    pub synced_at: Option<Micros>,
    /// Why the last asking failed; the templates are older then.
    pub error: Option<String>,
    /// The provider has no list: templates are not checked before they are sent.
    pub is_unlisted: bool,
    pub templates: Vec<Template>,
}

/// For operators: messages that went out, newest first.
#[derive(Clone, Debug, Default)]
pub struct OutboxFilter {
    pub workspace: Option<WorkspaceId>,
    pub agent: Option<AgentId>,
    pub state: Option<State>,
    pub before: Option<MessageId>,
    pub limit: u32,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutboxMessage {
    pub id: MessageId,
    pub workspace_id: WorkspaceId,
    pub conversation_id: ConversationId,
    pub contact_id: ContactId,
    pub contact_name: Option<String>,
    pub phone_number: Option<String>,
    pub instance_id: Option<AgentId>,
    pub created_at: Micros,
    /// `contact`, `agent`, …
    pub actor: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub content: Option<String>,
    pub metadata: Value,
    pub delivered_at: Option<Micros>,
    pub read_at: Option<Micros>,
    /// Of one that waits.
    pub next_attempt_at: Option<Micros>,
}

/// What `message_errors` may be narrowed to; all that is given holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageErrorFilter {
    pub deal: Option<DealId>,
    pub conversation: Option<ConversationId>,
    pub agent: Option<AgentId>,
    pub external_id: Option<String>,
    pub error_code: Option<String>,
}

/// The row of the report for an error `of` a channel's id of a message, or of our
/// own where it has none: the same however often it comes.
pub fn message_error_id(connection: &ConnectionId, of: &str, code: &str) -> MessageErrorId {
    use sha2::{Digest as _, Sha256};
    let mut hash = Sha256::new();
    for part in [connection.as_str(), of, code] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let bytes: [u8; 16] = hash.finalize()[..16]
        .try_into()
        .expect("sixteen of thirty-two bytes");
    MessageErrorId(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}
