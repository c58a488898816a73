//! Statuses of messages. They are idempotent and independent of their order: a status
//! without news changes no row.

use super::MessageError;
use super::dialogue::{ReferenceKey, SendState};
use super::working_set::{Change, Item, WorkingSet};
use super::{people, references, sent};
use crate::domain::channel::{Category, ChannelError};
use crate::domain::contact;
use crate::domain::delivery::ItemStatus;
use crate::domain::id::{
    AgentId, ConnectionId, ContactId, ConversationId, DealId, MessageId, WorkspaceId,
};
use crate::domain::message::{Actor, Progress, says_more};
use crate::domain::time::Micros;
use crate::store::{Channel, message_error_id};

/// A status from a webhook.
pub(super) struct Status<'a> {
    pub external_id: &'a str,
    /// The host's own id, if the provider returned it.
    pub message: Option<MessageId>,
    pub progress: &'a Progress,
    pub word: &'a str,
    pub recipient_id: Option<&'a str>,
    pub at: Micros,
}

/// Applies a status to the message that it names, or keeps it until the message is known, and
/// returns its item. A status without news is a duplicate. One that reports no progress or
/// names a received message is ignored.
pub(super) fn decide(set: &mut WorkingSet, channel: &Channel, new: &Status<'_>) -> Item {
    let external_id = Some(new.external_id.to_owned());
    if new.progress.is_empty() {
        let words = format!(
            "the status `{}` says nothing about the progress of a message",
            new.word
        );
        return Item::with_message(ItemStatus::Ignored, external_id, &words);
    }
    let key = (channel.connection.clone(), new.external_id.to_owned());
    let own = new.message.filter(|id| is_ours(set, channel, *id));
    let referred = || set.dialogue.references.get(&key)?.message;
    let (news, contact) = match own.or_else(referred) {
        Some(id) => {
            let Some(message) = set.dialogue.messages.get(&id) else {
                return Item::new(ItemStatus::Duplicate, external_id);
            };
            if message.actor == Actor::Contact {
                let words = "the status is of a message that came in";
                return Item::with_message(ItemStatus::Ignored, external_id, words);
            }
            let contact = message.contact;
            let mut news = references::bind(set, channel, new.external_id, id);
            if let Some(recipient_id) = new.recipient_id {
                news |= references::name_recipient(set, id, recipient_id);
            }
            let of = Some(new.external_id);
            news |= tell(set, channel, id, of, new.progress, Some(new.at));
            (news, Some(contact))
        }
        None => (unknown(set, channel, key, new), None),
    };
    let status = if news {
        ItemStatus::Updated
    } else {
        ItemStatus::Duplicate
    };
    Item {
        contact,
        ..Item::new(status, external_id)
    }
}

/// Returns whether the message belongs to this instance. A provider may mix up an id, and
/// a sender may guess one.
fn is_ours(set: &WorkingSet, channel: &Channel, id: MessageId) -> bool {
    set.dialogue.messages.get(&id).is_some_and(|message| {
        message.workspace == channel.workspace && message.agent == Some(channel.agent)
    })
}

/// Adds a status to a message, under the channel's id or its own. Returns whether it was
/// new. The message is out from then on. Without a time, the status was reported before,
/// and the report has its own times.
pub(super) fn tell(
    set: &mut WorkingSet,
    channel: &Channel,
    id: MessageId,
    external_id: Option<&str>,
    said: &Progress,
    at: Option<Micros>,
) -> bool {
    let Some(message) = set.dialogue.messages.get_mut(&id) else {
        return false;
    };
    let contact = message.contact;
    let before = message.metadata.errors.clone();
    let mut news = message.absorb(said);
    if news {
        set.dialogue.touch_message(id);
    }
    let of = external_id.map_or_else(|| id.to_string(), str::to_owned);
    for error in &said.errors {
        let failure = Failure {
            of: &of,
            external_id,
            error,
            at: at.or(said.failed_at),
            is_told_again: at.is_none(),
            phone: None,
        };
        let (is_news, since) = report(set, &Line::from(channel), Some(id), &failure);
        news |= is_news;
        let is_first = !before.iter().any(|set| set.code == error.code);
        // A repeat does not ban a contact again who has opted in since. For a contact who
        // is still banned, an earlier time of the same error counts.
        if error.category == Category::OptOut
            && (is_first || (is_news && people::is_banned(set, contact)))
        {
            people::ban(set, contact, since);
        }
    }
    // A send whose call is under way is settled by its holder, which has the answer.
    let send = set.dialogue.live_send(id);
    if send.is_some_and(|send| send.state != SendState::Sending) {
        sent::over(set, channel, id);
        news = true;
    }
    news
}

/// Gives up a message that is not out: it has failed, even if its instance has no adapter
/// any more.
pub(super) fn give_up(set: &mut WorkingSet, id: MessageId) {
    let now = set.now;
    let dialogue = &mut set.dialogue;
    let connection = dialogue.live_send(id).map(|send| send.connection.clone());
    let (Some(connection), Some(message)) = (connection, dialogue.messages.get_mut(&id)) else {
        return;
    };
    let error = ChannelError {
        code: GIVEN_UP.to_owned(),
        title: "Given up".to_owned(),
        description: "An operator gave it up".to_owned(),
        details: String::new(),
        category: Category::GivenUp,
    };
    message.absorb(&Progress::failed(now, error.clone()));
    let conversation = dialogue.conversations.get(&message.conversation);
    let channel = conversation.and_then(|conversation| conversation.channel.clone());
    let line = Line {
        workspace: message.workspace,
        connection: &connection,
        agent: message.agent,
        channel: channel.as_deref(),
    };
    dialogue.touch_message(id);
    let failure = Failure {
        of: &id.to_string(),
        external_id: None,
        error: &error,
        at: Some(now),
        is_told_again: false,
        phone: None,
    };
    report(set, &line, Some(id), &failure);
}

/// The error code of a message that an operator gave up.
pub(super) const GIVEN_UP: &str = "given-up";

/// Keeps a status of a message that is unknown, or not known yet.
fn unknown(set: &mut WorkingSet, channel: &Channel, key: ReferenceKey, new: &Status<'_>) -> bool {
    let mut news = references::wait(set, channel, key, new.progress, new.recipient_id);
    let phone = new.recipient_id.and_then(contact::channel_phone);
    let phone = phone.and_then(|phone| phone.e164);
    for error in &new.progress.errors {
        let failure = Failure {
            of: new.external_id,
            external_id: Some(new.external_id),
            error,
            at: Some(new.at),
            is_told_again: false,
            phone: phone.as_deref(),
        };
        news |= report(set, &Line::from(channel), None, &failure).0;
    }
    news
}

/// Where a failure was reported.
struct Line<'a> {
    workspace: WorkspaceId,
    connection: &'a ConnectionId,
    agent: Option<AgentId>,
    channel: Option<&'a str>,
}

impl<'a> From<&'a Channel> for Line<'a> {
    fn from(channel: &'a Channel) -> Self {
        Self {
            workspace: channel.workspace,
            connection: &channel.connection,
            agent: Some(channel.agent),
            channel: Some(&channel.channel),
        }
    }
}

/// One error of one message, for the report.
struct Failure<'a> {
    /// The channel's id of the message, or its own if there is none.
    of: &'a str,
    external_id: Option<&'a str>,
    error: &'a ChannelError,
    at: Option<Micros>,
    /// The failure was reported before, so an existing row keeps its time.
    is_told_again: bool,
    /// The recipient's number in E.164.
    phone: Option<&'a str>,
}

/// Adds a failure to the report: there is one row for each message, or channel's id of
/// one, and code. The row is completed as soon as the message is known. Returns whether
/// it was new, and the time since which it is reported.
fn report(
    set: &mut WorkingSet,
    line: &Line<'_>,
    message: Option<MessageId>,
    failure: &Failure<'_>,
) -> (bool, Micros) {
    let new = failure.error;
    let at = failure.at.unwrap_or(set.now);
    let id = message_error_id(line.connection, failure.of, &new.code);
    let place = message.and_then(|id| FailedMessage::find(set, id));
    let Some(row) = set.dialogue.errors.get_mut(&id) else {
        let mut row = first(line, failure, at);
        if let Some(place) = place {
            place.fill(&mut row);
        }
        set.dialogue.add_error(id, row);
        return (true, at);
    };
    let mut news = place.is_some_and(|place| place.fill(row));
    if at < row.occurred_at && !failure.is_told_again {
        row.occurred_at = at;
        news = true;
    }
    if says_more(new, &channel_error(row, new.category)) {
        set_texts(row, new);
        news = true;
    }
    let since = row.occurred_at;
    if news {
        set.dialogue.touch_error(id);
    }
    (news, since)
}

fn first(line: &Line<'_>, failure: &Failure<'_>, at: Micros) -> MessageError {
    let mut row = MessageError {
        workspace: line.workspace,
        conversation: None,
        deal: None,
        agent: line.agent,
        message: None,
        external_id: failure.external_id.map(str::to_owned),
        recipient_id: failure.phone.map(str::to_owned),
        code: failure.error.code.clone(),
        title: None,
        description: None,
        details: None,
        template_name: None,
        channel: line.channel.map(str::to_owned),
        occurred_at: at,
        change: Change::New,
    };
    set_texts(&mut row, failure.error);
    row
}

fn set_texts(row: &mut MessageError, new: &ChannelError) {
    let text = |text: &String| (!text.is_empty()).then(|| text.clone());
    row.title = text(&new.title);
    row.description = text(&new.description);
    row.details = text(&new.details);
}

/// Returns the row's error for a comparison. Rows have no category, so it gets this one.
fn channel_error(row: &MessageError, category: Category) -> ChannelError {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    ChannelError {
        code: row.code.clone(),
        title: text(&row.title),
        description: text(&row.description),
        details: text(&row.details),
        category,
    }
}

/// The conversation, deal and contact of a failed message.
struct FailedMessage {
    message: MessageId,
    conversation: ConversationId,
    deal: Option<DealId>,
    agent: Option<AgentId>,
    template_name: Option<String>,
    phone: Option<String>,
}

impl FailedMessage {
    fn find(set: &WorkingSet, id: MessageId) -> Option<Self> {
        let message = set.dialogue.messages.get(&id)?;
        let conversation = set.dialogue.conversations.get(&message.conversation);
        let template = message.metadata.template.as_ref();
        Some(Self {
            message: id,
            conversation: message.conversation,
            deal: conversation.and_then(|conversation| conversation.deal),
            agent: message.agent,
            template_name: template.map(|template| template.name.clone()),
            phone: phone_of(set, message.contact),
        })
    }

    /// Fills the row unless its message is already known: later changes of a deal do not
    /// change the report.
    fn fill(self, row: &mut MessageError) -> bool {
        if row.message.is_some() {
            return false;
        }
        row.message = Some(self.message);
        row.conversation = Some(self.conversation);
        row.deal = self.deal;
        row.agent = self.agent;
        row.template_name = self.template_name;
        row.recipient_id = self.phone.or(row.recipient_id.take());
        true
    }
}

fn phone_of(set: &WorkingSet, id: ContactId) -> Option<String> {
    set.contacts.get(&id)?.phone_number.clone()
}

#[cfg(test)]
mod tests {
    use super::super::event;
    use super::super::sample::{
        self, accepted, channel, error, notification, notify, time, working_set,
    };
    use super::*;
    use crate::limits;
    use crate::store::SendOutcome;

    enum Step {
        Answer(Box<SendOutcome>),
        Said(Progress, i64, bool),
    }

    fn steps() -> Vec<Step> {
        let failed = |seconds, details| {
            let mut error = error("131050", details);
            error.category = Category::OptOut;
            Progress::failed(time(seconds), error)
        };
        let sent = Progress {
            sent_at: Some(time(1)),
            ..Progress::default()
        };
        let read = Progress {
            read_at: Some(time(9)),
            ..Progress::default()
        };
        vec![
            Step::Answer(Box::new(accepted("w1", 2))),
            Step::Said(sent, 1, false),
            Step::Said(read, 9, true),
            Step::Said(failed(5, ""), 5, false),
            Step::Said(failed(6, "in full"), 6, false),
            Step::Said(Progress::failed(time(3), error("131026", "")), 3, false),
        ]
    }

    /// Returns the stored rows, without marks and random values.
    fn play(order: &[usize]) -> String {
        let set = &mut working_set();
        let mut new = notification();
        new.message.id = MessageId(uuid::Uuid::from_u128(7));
        let id = notify(set, new);
        let steps = steps();
        for step in order {
            match &steps[*step] {
                Step::Answer(outcome) => {
                    sample::settle(set, id, 0, (**outcome).clone());
                }
                Step::Said(progress, seconds, by_own_id) => {
                    let own = by_own_id.then_some(id);
                    let said = sample::status("w1", own, progress.clone(), *seconds);
                    event::decide(set, &said);
                    let again = event::decide(set, &said);
                    assert_eq!(again.status, ItemStatus::Duplicate);
                }
            }
        }
        let message = sample::message(set, id);
        let conversation = sample::conversation(set, id);
        let errors = &set.dialogue.errors;
        assert_eq!(errors.len(), 2);
        let error = errors.values().find(|error| error.code == "131050");
        let error = error.expect("it is reported");
        assert_eq!(error.conversation, Some(message.conversation));
        assert!(set.dialogue.live_send(id).is_none());
        let references: Vec<_> = set.dialogue.references.values().collect();
        assert_eq!(references.len(), 1);
        assert!(references[0].progress.is_empty() && references[0].until.is_none());
        format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            message.metadata,
            message.delivered_at,
            message.read_at,
            conversation.first_message_at,
            conversation.last_message_at,
            conversation.respond_by,
            set.contacts[&message.contact].banned_at,
            error.occurred_at,
            error.details,
            error.recipient_id,
            error.message,
        )
    }

    #[test]
    fn an_answer_and_its_statuses_have_the_same_result_in_every_order() {
        let expect = play(&[0, 1, 2, 3, 4, 5]);
        assert!(expect.contains("in full"));
        let mut orders = 0;
        permute(&mut [0, 1, 2, 3, 4, 5], 0, &mut |order| {
            assert_eq!(play(order), expect, "{order:?}");
            orders += 1;
        });
        assert_eq!(orders, 720);
    }

    fn permute(order: &mut [usize; 6], from: usize, check: &mut impl FnMut(&[usize; 6])) {
        if from == order.len() {
            return check(order);
        }
        for next in from..order.len() {
            order.swap(from, next);
            permute(order, from + 1, check);
            order.swap(from, next);
        }
    }

    #[test]
    fn an_id_of_another_message_stays_with_it() {
        let set = &mut working_set();
        let one = notify(set, notification());
        let other = notify(set, notification());
        sample::settle(set, one, 0, accepted("w1", 1));
        sample::settle(set, other, 0, accepted("w1", 1));
        let read = Progress {
            read_at: Some(time(2)),
            ..Progress::default()
        };
        event::decide(set, &sample::status("w1", None, read, 2));
        assert!(sample::message(set, one).read_at.is_some());
        assert!(sample::message(set, other).read_at.is_none());
        assert_eq!(sample::message(set, other).metadata.external_ids.len(), 0);
    }

    #[test]
    fn a_message_keeps_a_bounded_number_of_provider_ids() {
        let set = &mut working_set();
        let id = notify(set, notification());
        for number in 0..2 * limits::EXTERNAL_IDS_PER_MESSAGE {
            let sent = Progress {
                sent_at: Some(time(1)),
                ..Progress::default()
            };
            event::decide(
                set,
                &sample::status(&format!("w{number}"), Some(id), sent, 1),
            );
        }
        let ids = &sample::message(set, id).metadata.external_ids;
        assert_eq!(ids.len(), limits::EXTERNAL_IDS_PER_MESSAGE);
        assert_eq!(set.dialogue.references.len(), ids.len());
    }

    #[test]
    fn statuses_of_incoming_messages_are_ignored() {
        let set = &mut working_set();
        let inbound = crate::store::Inbound {
            external_id: "in1".to_owned(),
            sender_id: "5511987654321".to_owned(),
            name: None,
            phone: None,
            contact_keys: contact::channel_keys("whatsapp", "5511987654321"),
            kind: "text",
            channel_type: None,
            content: None,
            at: time(0),
            reply_to: None,
            attributes: Default::default(),
        };
        let new = crate::store::NewEvent {
            channel: channel(),
            event: crate::store::Event::Inbound(Box::new(inbound)),
        };
        assert_eq!(event::decide(set, &new).status, ItemStatus::Converted);
        let read = Progress {
            read_at: Some(time(2)),
            ..Progress::default()
        };
        let item = event::decide(set, &sample::status("in1", None, read, 2));
        assert_eq!(item.status, ItemStatus::Ignored);
    }
}
