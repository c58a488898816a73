//! The deadlines of a conversation: without an answer it is handed to people, and after a while
//! without messages it is closed.

use super::{conversation, ticket};
use crate::Elapse;
use crate::decide::prelude::*;

pub(super) fn elapse(set: &mut WorkingSet, elapse: &Elapse) -> WriteOutcome {
    let now = set.now;
    let id = elapse.conversation;
    let Some(conversation) = set
        .dialogue
        .conversations
        .get_mut(&id)
        .filter(|conversation| conversation.workspace == elapse.workspace)
    else {
        return WriteOutcome::Elapsed(false);
    };
    let is_over = |by: Option<Micros>| by.is_some_and(|by| now >= by);
    let unanswered = is_over(conversation.respond_by);
    let idle = is_over(conversation.close_by);
    if unanswered {
        conversation.respond_by = None;
        conversation.no_response_at = Some(now);
        let transfers = conversation.transfer;
        set.dialogue.touch_conversation(id);
        if transfers {
            ticket::hand_over(set, id, None);
        }
    }
    if idle {
        conversation::close(set, id);
    }
    WriteOutcome::Elapsed(unanswered || idle)
}

#[cfg(test)]
mod tests {
    use super::super::sample::{
        accepted, channel, conversation, message, notification, notify, settle, time, working_set,
    };
    use super::*;
    use leadhost_domain::conversation::ConversationStatus;

    #[test]
    fn a_closed_conversation_never_has_anything_due() {
        let set = &mut working_set();
        let id = notify(set, notification());
        let (workspace, at) = (channel().workspace, message(set, id).conversation);
        set.now = time(31 * 86_400);
        let ended = elapse(
            set,
            &Elapse {
                workspace,
                conversation: at,
            },
        );
        assert!(matches!(ended, WriteOutcome::Elapsed(true)));
        settle(set, id, 0, accepted("w1", 31 * 86_400));
        let closed = conversation(set, id);
        assert_eq!(closed.due_at(), None);
        assert_eq!(closed.status(), ConversationStatus::Closed);
        assert!(set.dialogue.open.is_empty());
    }
}
