//! The report of failed messages: a row for each message and error code, which is completed as
//! soon as the message is known.

use super::MessageErrorRecord;
use crate::decide::prelude::*;
use crate::message_error_id;
use leadhost_domain::channel::{Category, ChannelError};
use leadhost_domain::message::says_more;

/// The error code of a message that an operator gave up.
pub(super) const GIVEN_UP: &str = "given-up";

/// The instance on which a failure was reported.
pub(super) struct FailureSource<'a> {
    pub workspace: WorkspaceId,
    pub connection: &'a ConnectionId,
    pub agent: Option<AgentId>,
    pub channel: Option<&'a str>,
}

impl<'a> From<&'a Channel> for FailureSource<'a> {
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
pub(super) struct ReportedFailure<'a> {
    /// The channel's id of the message, or its own if there is none.
    pub of: &'a str,
    pub external_id: Option<&'a str>,
    pub error: &'a ChannelError,
    pub at: Option<Micros>,
    /// The failure was reported before, so an existing row keeps its time.
    pub is_reported_again: bool,
    /// The recipient's number in E.164.
    pub phone: Option<&'a str>,
}

/// Adds a failure to the report: there is one row for each message, or channel's id of
/// one, and code. The row is completed as soon as the message is known. Returns whether
/// it was new, and the time since which it is reported.
pub(super) fn add(
    set: &mut WorkingSet,
    source: &FailureSource<'_>,
    message: Option<MessageId>,
    failure: &ReportedFailure<'_>,
) -> (bool, Micros) {
    let new = failure.error;
    let at = failure.at.unwrap_or(set.now);
    let id = message_error_id(source.connection, failure.of, &new.code);
    let place = message.and_then(|id| FailedMessage::find(set, id));
    let Some(row) = set.dialogue.errors.get_mut(&id) else {
        let mut row = first(source, failure, at);
        if let Some(place) = place {
            place.fill(&mut row);
        }
        set.dialogue.add_error(id, row);
        return (true, at);
    };
    let mut news = place.is_some_and(|place| place.fill(row));
    if at < row.occurred_at && !failure.is_reported_again {
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

fn first(
    source: &FailureSource<'_>,
    failure: &ReportedFailure<'_>,
    at: Micros,
) -> MessageErrorRecord {
    let mut row = MessageErrorRecord {
        workspace: source.workspace,
        conversation: None,
        deal: None,
        agent: source.agent,
        message: None,
        external_id: failure.external_id.map(str::to_owned),
        recipient_id: failure.phone.map(str::to_owned),
        code: failure.error.code.clone(),
        title: None,
        description: None,
        details: None,
        template_name: None,
        channel: source.channel.map(str::to_owned),
        occurred_at: at,
        change: RowChange::New,
    };
    set_texts(&mut row, failure.error);
    row
}

fn set_texts(row: &mut MessageErrorRecord, new: &ChannelError) {
    let text = |text: &String| (!text.is_empty()).then(|| text.clone());
    row.title = text(&new.title);
    row.description = text(&new.description);
    row.details = text(&new.details);
}

/// Returns the row's error for a comparison. Rows have no category, so it gets this one.
fn channel_error(row: &MessageErrorRecord, category: Category) -> ChannelError {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    ChannelError {
        code: row.code.clone(),
        title: text(&row.title),
        description: text(&row.description),
        details: text(&row.details),
        category,
    }
}

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
    fn fill(self, row: &mut MessageErrorRecord) -> bool {
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
