//! Requests with idempotency keys: the first one is answered, and its repeats receive the
//! same answer. A key is stored in the commit that stores its message, so a repeat never
//! sends again, whatever happened to the first request.

use super::IdempotencyRecord;
use super::dialogue::SendState;
use crate::decide::prelude::*;
use crate::{IdempotencyClaim, IdempotencyKey, NewStoredAnswer, Notified, StoredAnswer};

pub(super) fn found(set: &WorkingSet, claim: &IdempotencyClaim) -> Option<Notified> {
    let remembered = set.dialogue.idempotency.get(&claim.key);
    let remembered = remembered.filter(|remembered| set.now < remembered.until)?;
    if remembered.fingerprint != claim.fingerprint {
        return Some(Notified::KeyReused);
    }
    if let Some(answer) = &remembered.answer {
        return Some(Notified::Replayed(answer.clone()));
    }
    let message = remembered.message;
    let of_it = message.and_then(|id| set.dialogue.messages.get(&id));
    let send = message.and_then(|id| set.dialogue.live_send(id));
    Some(Notified::Running {
        conversation: of_it.map(|message| message.conversation),
        message,
        state: of_it.map_or(MessageState::Unknown, MessageRecord::state),
        // If another host claimed the send, its lease is not the request's.
        alive: send.is_some_and(|send| {
            send.state == SendState::Sending
                && send.lease == 0
                && send.lease_until.is_some_and(|until| set.now < until)
        }),
    })
}

/// Stores a key for the duration of its claim, with the message and the answer of its
/// request. Replaces what the key had. Without an answer, a repeat finds the request running.
pub(super) fn keep(
    set: &mut WorkingSet,
    claim: &IdempotencyClaim,
    message: Option<MessageId>,
    answer: Option<StoredAnswer>,
) {
    let until = set.now.plus(claim.retention);
    let rows = &mut set.dialogue.idempotency;
    let change = match rows.get(&claim.key) {
        Some(before) if before.change != RowChange::New => RowChange::Changed,
        _ => RowChange::New,
    };
    rows.insert(
        claim.key.clone(),
        IdempotencyRecord {
            fingerprint: claim.fingerprint.clone(),
            message,
            answer,
            until,
            change,
        },
    );
}

pub(super) fn answer(set: &mut WorkingSet, key: &IdempotencyKey, answer: &StoredAnswer) {
    if let Some(remembered) = set.dialogue.idempotency.get_mut(key) {
        remembered.answer = Some(answer.clone());
        remembered.change.touch();
    }
}

/// Stores an answer without a message, or only returns what is stored.
pub(super) fn remember(set: &mut WorkingSet, new: &NewStoredAnswer) -> WriteOutcome {
    let found = found(set, &new.claim);
    if found.is_none() && new.answer.is_some() {
        keep(set, &new.claim, None, new.answer.clone());
    }
    WriteOutcome::Remembered(found)
}
