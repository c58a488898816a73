//! Messages as they are committed: notifications, the outcomes of sends, events of
//! channels, and the reads around them.

use super::lease::Lease;
use crate::prelude::*;
use leadhost_domain::channel::{ChannelError, Template};
use leadhost_domain::connection::ConnectionPause;
use leadhost_domain::message::{Actor, MessageProgress, MessageState, Metadata, TemplateName};
use leadhost_domain::phone::Phone;
use leadhost_domain::workspace::AgentKind;

/// The instance that messages go through, with the fields that a decision needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    pub workspace: WorkspaceId,
    pub connection: ConnectionId,
    pub agent: AgentId,
    pub agent_kind: AgentKind,
    /// The channel's name as contact keys and exported rows have it, such as `whatsapp`.
    pub channel: String,
    /// After this time without an answer a conversation is `no_response`.
    pub unanswered_after: Duration,
    /// After this time without a message a conversation closes.
    pub idle_after: Duration,
}

#[derive(Clone, Debug)]
pub struct NewMessage {
    pub id: MessageId,
    pub template: TemplateName,
    /// JSON text for the adapter, in the shape of the interface.
    pub payload: String,
    /// The text that people read, if the template's text is known.
    pub content: Option<String>,
    /// After this time the message is given up.
    pub until: Micros,
}

/// The details that a partner gives with a notification or a new deal, besides the instance,
/// the template and the phone.
#[derive(Clone, Debug)]
pub struct NotificationDetails {
    pub name: String,
    /// Normalised.
    pub email: Option<String>,
    /// A notification always has one.
    pub source: Option<String>,
    /// Whether to hand the conversation to people if it is not answered in time.
    pub transfer: bool,
    pub special_instructions: Option<String>,
}

/// `POST /send-notification`, checked and normalised.
#[derive(Clone, Debug)]
pub struct Notification {
    pub by: PartnerId,
    pub channel: Channel,
    pub message: NewMessage,
    pub details: NotificationDetails,
    pub phone: Phone,
    /// See `domain::contact::keys`. The phone's key comes first.
    pub contact_keys: Vec<String>,
    /// None: the contact's newest open deal, if there is one.
    pub deal: Option<DealId>,
    pub idempotency: Option<IdempotencyClaim>,
    /// The end of the caller's lease, if the caller sends the message at once. `None`:
    /// the worker sends it.
    pub lease_until: Option<Micros>,
}

#[derive(Clone, Debug)]
pub struct NewGreeting {
    pub channel: Channel,
    pub message: NewMessage,
    pub transfer: bool,
    /// The name of its template, for a note that it is left out.
    pub template: String,
    /// The names of the adapter and of the instance, for the trace.
    pub adapter: String,
    pub instance: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeted {
    pub message: MessageId,
    pub adapter: String,
    pub instance: String,
}

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
    pub fingerprint: String,
    pub retention: Duration,
}

/// An answer that a repeat of the request receives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct StoredAnswer {
    pub status: u16,
    /// Headers that the endpoint itself sets, such as `x-message-id`.
    pub headers: Vec<(String, String)>,
    /// JSON text.
    pub body: String,
}

impl StoredAnswer {
    /// Returns whether an erasure has replaced the answer, because it may have named a person.
    /// Only then it has no body; `http` words what a repeat gets.
    pub fn is_erased(&self) -> bool {
        self.body.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Notified {
    /// Stored. If `state` is `Sending`, the caller makes the call now, under lease 0. If
    /// it is `Waiting`, the worker makes it.
    Stored {
        conversation: ConversationId,
        contact: ContactId,
        message: MessageId,
        /// The address that the adapter sends to.
        recipient: String,
        state: MessageState,
    },
    /// The contact has opted out or was banned. Nothing was stored.
    Banned,
    /// The idempotency key has a stored answer already.
    Replayed(StoredAnswer),
    /// The first request with this key is not answered yet. If `alive` is set, its host
    /// may still answer it; otherwise only the state of its message is known.
    Running {
        conversation: Option<ConversationId>,
        message: Option<MessageId>,
        state: MessageState,
        alive: bool,
    },
    /// The idempotency key was used with another body.
    KeyReused,
}

#[derive(Clone, Debug)]
pub struct NewStoredAnswer {
    pub claim: IdempotencyClaim,
    /// None: nothing is stored; only what is stored under the key is returned.
    pub answer: Option<StoredAnswer>,
}

/// The worker is about to make the call. From here on no other host makes it.
#[derive(Clone, Debug)]
pub struct SendStart {
    pub workspace: WorkspaceId,
    pub message: MessageId,
    pub lease: Lease,
}

#[derive(Clone, Debug)]
pub struct SendSettlement {
    pub channel: Channel,
    pub message: MessageId,
    pub lease: Lease,
    pub outcome: SendOutcome,
    /// As of an event: keys of further ids of the recipient.
    pub further_keys: Vec<String>,
    /// The version that made the request. `None` if none was called.
    pub ran: Option<RanWith>,
    /// Holds that other sends must respect from now on.
    pub holds: Vec<SendHold>,
    /// The pause of the instance, if it is to stop sending.
    pub pause: Option<ConnectionPause>,
    /// The answer to the request that sent the message at once.
    pub answer: Option<(IdempotencyKey, StoredAnswer)>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SendOutcome {
    Accepted {
        external_ids: Vec<String>,
        recipient_id: Option<String>,
        /// Includes the time of acceptance, and whatever else the answer reports.
        progress: MessageProgress,
        /// The answer's own word for the progress, if no [`MessageState`] corresponds to it.
        word: Option<String>,
    },
    /// Final: the message failed and gets a row in the report.
    Refused(ChannelError),
    /// Kept for another attempt.
    Later {
        at: Micros,
        error: ChannelError,
    },
    /// Not attempted: the message may not go out before this time.
    Held {
        at: Micros,
    },
    Unknown {
        reason: String,
    },
}

/// Delays sends to what the provider limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendHold {
    pub connection: ConnectionId,
    /// None: the whole number of the instance.
    pub contact: Option<ContactId>,
    pub until: Micros,
}

/// An operator's decision about a message whose outcome is unknown.
#[derive(Clone, Debug)]
pub struct Resolution {
    pub workspace: WorkspaceId,
    pub message: MessageId,
    pub verdict: MessageVerdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageVerdict {
    /// It did not go out. It is sent again, until this time.
    SendAgain { until: Micros },
    /// It is given up and failed.
    GiveUp,
}

/// The state of a message after a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageOutcome {
    pub message: MessageId,
    pub conversation: ConversationId,
    pub state: MessageState,
}

/// A deadline of a conversation has passed: it is unanswered or idle.
#[derive(Clone, Debug)]
pub struct Elapse {
    pub workspace: WorkspaceId,
    pub conversation: ConversationId,
}

/// An event of a channel, parsed and addressed to its instance.
#[derive(Clone, Debug)]
pub struct NewEvent {
    pub channel: Channel,
    pub event: Event,
    /// Keys of the channel's further ids of the person that the event is about. Its contact gets
    /// them, even if they are another's.
    pub further_keys: Vec<String>,
}

#[derive(Clone, Debug)]
pub enum Event {
    Status {
        external_id: String,
        /// The host's own id, if the provider returned it.
        message: Option<MessageId>,
        /// Empty if the provider's word has no meaning for the host.
        progress: MessageProgress,
        /// The provider's word.
        word: String,
        recipient_id: Option<String>,
        at: Micros,
    },
    Inbound(Box<NewInboundMessage>),
    Template {
        name: String,
        language: String,
        status: String,
        reason: String,
    },
    /// The contact opts out of messages, or opts in again.
    Consent {
        contact_keys: Vec<String>,
        opt_out: bool,
        at: Micros,
    },
    /// The contact has another number, and therefore further keys.
    Number {
        contact_keys: Vec<String>,
        new_keys: Vec<String>,
        phone: Option<Phone>,
    },
}

#[derive(Clone, Debug)]
pub struct NewInboundMessage {
    pub external_id: String,
    pub sender_id: String,
    pub name: Option<String>,
    pub phone: Option<Phone>,
    /// The phone's key, if the sender id is a phone number, then the channel's.
    pub contact_keys: Vec<String>,
    /// One of `domain::message::KINDS`.
    pub kind: &'static str,
    /// The provider's word, if `kind` is `unsupported`.
    pub channel_type: Option<String>,
    pub content: Option<String>,
    pub at: Micros,
    pub reply_to: Option<String>,
    pub attributes: Map<String, Value>,
}

/// A send under a lease.
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
    /// Its previous holder disappeared during the call, so the outcome is unknown.
    pub was_sending: bool,
    /// A hold on the contact or the number lasts until this time.
    pub held_until: Option<Micros>,
    /// The contact has opted out since.
    pub is_banned: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateList {
    /// When the provider was last asked.
    pub synced_at: Option<Micros>,
    /// Why the last request for the list failed. The templates are then older.
    pub error: Option<String>,
    /// The provider has no list. Templates are not checked before they are sent.
    pub is_unlisted: bool,
    pub templates: Vec<Template>,
}

#[derive(Clone, Debug, Default)]
pub struct OutboxFilter {
    pub workspace: Option<WorkspaceId>,
    pub agent: Option<AgentId>,
    pub state: Option<MessageState>,
    pub conversation: Option<ConversationId>,
    /// Only messages to and from these contacts. Empty: none at all.
    pub contacts: Option<Vec<ContactId>>,
    pub before: Option<MessageId>,
    pub limit: u32,
}

#[derive(Clone, Debug)]
pub struct OutboxMessage {
    pub id: MessageId,
    pub workspace_id: WorkspaceId,
    pub conversation_id: ConversationId,
    pub contact_id: ContactId,
    pub contact_name: Option<String>,
    pub phone_number: Option<String>,
    pub instance_id: Option<AgentId>,
    pub created_at: Micros,
    pub actor: Actor,
    pub kind: String,
    pub content: Option<String>,
    pub metadata: Metadata,
    pub delivered_at: Option<Micros>,
    pub read_at: Option<Micros>,
    /// The version that sent it last, or that read it. `None` if none was called.
    pub ran: Option<RanWith>,
    /// Set for a waiting message.
    pub next_attempt_at: Option<Micros>,
}

/// The filter of `message_errors`. All given fields must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageErrorFilter {
    pub deal: Option<DealId>,
    pub conversation: Option<ConversationId>,
    pub agent: Option<AgentId>,
    pub external_id: Option<String>,
    pub error_code: Option<String>,
}

/// Returns the id of the row in the report for an error of a message. `of` is the
/// channel's id of the message, or the host's own id if there is none. The same arguments
/// always give the same id.
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
