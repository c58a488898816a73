//! Statuses of messages. They are idempotent and independent of their order: a status
//! without news changes no row.

use super::dialogue::ReferenceKey;
use super::failure_report::{self, FailureSource, GIVEN_UP, ReportedFailure};
use super::{progress, references};
use crate::decide::prelude::*;
use leadhost_domain::channel::{Category, ChannelError};

/// A status from a webhook.
pub(super) struct MessageStatusUpdate<'a> {
    pub external_id: &'a str,
    /// The host's own id, if the provider returned it.
    pub message: Option<MessageId>,
    pub progress: &'a MessageProgress,
    pub word: &'a str,
    pub recipient_id: Option<&'a str>,
    pub at: Micros,
}

/// Applies a status to the message that it names, or keeps it until the message is known, and
/// returns its item. A status without news is a duplicate. One that reports no progress or
/// names a received message is ignored.
pub(super) fn decide(
    set: &mut WorkingSet,
    channel: &Channel,
    new: &MessageStatusUpdate<'_>,
) -> ItemRecord {
    let external_id = Some(new.external_id.to_owned());
    if new.progress.is_empty() {
        let words = format!(
            "the status `{}` says nothing about the progress of a message",
            new.word
        );
        return ItemRecord::with_message(ItemStatus::Ignored, external_id, &words);
    }
    let key = (channel.connection.clone(), new.external_id.to_owned());
    let own = new.message.filter(|id| is_ours(set, channel, *id));
    let referred = || set.dialogue.references.get(&key)?.message;
    let (news, contact) = match own.or_else(referred) {
        Some(id) => {
            let Some(message) = set.dialogue.messages.get(&id) else {
                return ItemRecord::new(ItemStatus::Duplicate, external_id);
            };
            if message.is_incoming() {
                let words = "the status is of a message that came in";
                return ItemRecord::with_message(ItemStatus::Ignored, external_id, words);
            }
            let contact = message.contact;
            let mut news = references::bind(set, channel, new.external_id, id);
            if let Some(recipient_id) = new.recipient_id {
                news |= references::name_recipient(set, id, recipient_id);
            }
            let of = Some(new.external_id);
            news |= progress::apply(set, channel, id, of, new.progress, Some(new.at));
            (news, Some(contact))
        }
        None => (unknown(set, channel, key, new), None),
    };
    let status = if news {
        ItemStatus::Updated
    } else {
        ItemStatus::Duplicate
    };
    ItemRecord {
        contact,
        ..ItemRecord::new(status, external_id)
    }
}

/// Returns whether the message belongs to this instance. A provider may mix up an id, and
/// a sender may guess one.
fn is_ours(set: &WorkingSet, channel: &Channel, id: MessageId) -> bool {
    set.dialogue.messages.get(&id).is_some_and(|message| {
        message.workspace == channel.workspace && message.agent == Some(channel.agent)
    })
}

/// Gives up a message that is not out: it has failed, even if its instance no longer has an adapter.
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
    message.absorb(&MessageProgress::failed(now, error.clone()));
    let conversation = dialogue.conversations.get(&message.conversation);
    let channel = conversation.and_then(|conversation| conversation.channel.clone());
    let source = FailureSource {
        workspace: message.workspace,
        connection: &connection,
        agent: message.agent,
        channel: channel.as_deref(),
    };
    dialogue.touch_message(id);
    let failure = ReportedFailure {
        of: &id.to_string(),
        external_id: None,
        error: &error,
        at: Some(now),
        is_reported_again: false,
        phone: None,
    };
    failure_report::add(set, &source, Some(id), &failure);
}

/// Keeps a status of a message that is unknown, or not known yet.
fn unknown(
    set: &mut WorkingSet,
    channel: &Channel,
    key: ReferenceKey,
    new: &MessageStatusUpdate<'_>,
) -> bool {
    let mut news = references::wait(set, channel, key, new.progress, new.recipient_id);
    let phone = new.recipient_id.and_then(contact::channel_phone);
    let phone = phone.and_then(|phone| phone.e164);
    for error in &new.progress.errors {
        let failure = ReportedFailure {
            of: new.external_id,
            external_id: Some(new.external_id),
            error,
            at: Some(new.at),
            is_reported_again: false,
            phone: phone.as_deref(),
        };
        news |= failure_report::add(set, &FailureSource::from(channel), None, &failure).0;
    }
    news
}

#[cfg(test)]
mod tests {
    use super::super::event;
    use super::super::sample::{
        self, accepted, channel, error, notification, notify, time, working_set,
    };
    use super::*;
    use crate::SendOutcome;

    enum Step {
        Answer(Box<SendOutcome>),
        Said(MessageProgress, i64, bool),
    }

    fn steps() -> Vec<Step> {
        let failed = |seconds, details| {
            let mut error = error("131050", details);
            error.category = Category::OptOut;
            MessageProgress::failed(time(seconds), error)
        };
        let sent = MessageProgress {
            sent_at: Some(time(1)),
            ..MessageProgress::default()
        };
        let read = MessageProgress {
            read_at: Some(time(9)),
            ..MessageProgress::default()
        };
        vec![
            Step::Answer(Box::new(accepted("w1", 2))),
            Step::Said(sent, 1, false),
            Step::Said(read, 9, true),
            Step::Said(failed(5, ""), 5, false),
            Step::Said(failed(6, "in full"), 6, false),
            Step::Said(
                MessageProgress::failed(time(3), error("131026", "")),
                3,
                false,
            ),
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
                    event::decide(set, &said, None);
                    let again = event::decide(set, &said, None);
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
        let read = MessageProgress {
            read_at: Some(time(2)),
            ..MessageProgress::default()
        };
        event::decide(set, &sample::status("w1", None, read, 2), None);
        assert!(sample::message(set, one).read_at.is_some());
        assert!(sample::message(set, other).read_at.is_none());
        assert_eq!(sample::message(set, other).metadata.external_ids.len(), 0);
    }

    #[test]
    fn a_message_keeps_a_bounded_number_of_provider_ids() {
        let set = &mut working_set();
        let id = notify(set, notification());
        for number in 0..2 * limits::EXTERNAL_IDS_PER_MESSAGE {
            let sent = MessageProgress {
                sent_at: Some(time(1)),
                ..MessageProgress::default()
            };
            event::decide(
                set,
                &sample::status(&format!("w{number}"), Some(id), sent, 1),
                None,
            );
        }
        let ids = &sample::message(set, id).metadata.external_ids;
        assert_eq!(ids.len(), limits::EXTERNAL_IDS_PER_MESSAGE);
        assert_eq!(set.dialogue.references.len(), ids.len());
    }

    #[test]
    fn statuses_of_incoming_messages_are_ignored() {
        let set = &mut working_set();
        let inbound = crate::NewInboundMessage {
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
        let new = crate::NewEvent {
            channel: channel(),
            event: crate::Event::Inbound(Box::new(inbound)),
            further_keys: Vec::new(),
        };
        assert_eq!(event::decide(set, &new, None).status, ItemStatus::Converted);
        let read = MessageProgress {
            read_at: Some(time(2)),
            ..MessageProgress::default()
        };
        let item = event::decide(set, &sample::status("in1", None, read, 2), None);
        assert_eq!(item.status, ItemStatus::Ignored);
    }
}
