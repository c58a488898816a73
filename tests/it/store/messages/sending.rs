//! A send: its holder, its outcome, and unknown outcomes.

use std::time::Duration;

use leadhost_domain::connection::ConnectionPause;
use leadhost_domain::delivery::ItemStatus;
use leadhost_domain::id::WorkspaceId;
use leadhost_domain::message::MessageState;
use leadhost_domain::plugin::Digest;
use leadhost_domain::row::Entity;
use leadhost_store::*;
use leadhost_tests::fields;
use serde_json::{Value, json};

use super::super::world::*;
use super::*;

fn unknown() -> SendOutcome {
    SendOutcome::Unknown {
        reason: "no answer in time".to_owned(),
    }
}

fn later(world: &World, seconds: i64) -> SendOutcome {
    SendOutcome::Later {
        at: world.now().plus_seconds(seconds),
        error: error("131000", Category::Transient),
    }
}

async fn resolve(world: &World, message: MessageId, verdict: MessageVerdict) -> WriteOutcome {
    let write = Write::Resolve(Resolution {
        workspace: world.workspace,
        message,
        verdict,
    });
    world.commit(&[write]).await.remove(0)
}

pub async fn due_sends_are_claimed_oldest_first_and_by_the_limit(world: &World) {
    let mut messages = Vec::new();
    for to in ["+5511987650001", "+5511987650002", "+5511987650003"] {
        messages.push(store(world, notification(world, to)).await.message);
        world.advance(1).await;
    }
    let of = |jobs: Vec<Job>| -> Vec<MessageId> {
        let message = |job: &Job| match job {
            Job::Send(held) => held.message,
            other => panic!("{other:?}"),
        };
        jobs.iter().map(message).collect()
    };
    assert_eq!(of(world.claim(2).await), messages[..2]);
    assert_eq!(of(world.claim(10).await), messages[2..]);
    assert!(world.claim(10).await.is_empty());
    world.advance(60).await;
    assert_eq!(world.claim(10).await.len(), 3, "their leases are over");
}

pub async fn only_the_holder_of_a_send_may_begin_and_settle_it(world: &World) {
    let new = store(world, notification(world, PHONE)).await;
    let stale =
        |written: WriteOutcome| assert!(matches!(written, WriteOutcome::Stale), "{written:?}");
    stale(settle_send(world, new.message, 0, unknown()).await);
    let lost = claim_send(world).await;
    world.advance(60).await;
    stale(begin(world, &lost).await);
    let held = claim_send(world).await;
    stale(begin(world, &lost).await);
    stale(settle_send(world, new.message, lost.lease.0, later(world, 1)).await);
    assert_eq!(state_of(&begin(world, &held).await), MessageState::Sending);
    stale(begin(world, &held).await);
    let row = message_row(world, new.message).await;
    assert_eq!(row["metadata"]["status"], "sending");
    let settled = settle_send(world, new.message, held.lease.0, later(world, 1)).await;
    assert_eq!(state_of(&settled), MessageState::Waiting);
    stale(settle_send(world, new.message, held.lease.0, later(world, 1)).await);
    let absent = SendStart {
        workspace: world.workspace,
        message: MessageId::new(world.now()),
        lease: Lease(0),
    };
    stale(world.commit(&[Write::Begin(absent)]).await.remove(0));
}

pub async fn an_accepted_message_begins_its_conversation(world: &World) {
    let new = store(world, urgent(world, PHONE)).await;
    world.advance(2).await;
    let accepted_at = world.now();
    world.advance(1).await;
    let outcome = SendOutcome::Accepted {
        external_ids: vec!["w1".to_owned(), "g1".to_owned()],
        recipient_id: Some("5511987654321".to_owned()),
        progress: at(MessageState::Accepted, accepted_at),
        word: None,
    };
    let written = settle_send(world, new.message, 0, outcome).await;
    assert_eq!(state_of(&written), MessageState::Accepted);
    let metadata = &message_row(world, new.message).await["metadata"];
    let expect = json!({
        "status": "accepted", "acceptedAt": accepted_at, "externalIds": ["g1", "w1"],
        "recipientId": "5511987654321",
        "template": {"name": "welcome", "language": "pt_BR"},
    });
    assert_eq!(*metadata, expect);
    let conversation = conversation_row(world, new.conversation).await;
    assert_eq!(conversation["status"], "open");
    assert_eq!(conversation["first_message_at"], json!(accepted_at));
    assert_eq!(conversation["last_message_at"], json!(accepted_at));
    world.advance(86_400 - 2).await;
    assert_eq!(due(world).await, []);
    world.advance(1).await;
    assert_eq!(due(world).await, [new.conversation]);
    assert!(world.claim(10).await.is_empty());
}

pub async fn a_contact_is_also_found_by_the_channels_name_for_it(world: &World) {
    // A landline of another contact, and a mobile number that got a ninth digit.
    let line_of_another = "+551134567890";
    let another = world.bring(with_phone(world.lead(), line_of_another)).await;
    let new = store(world, urgent(world, "+5511934567890")).await;
    assert_ne!(Some(new.contact), another.contact_id);
    let outcome = SendOutcome::Accepted {
        external_ids: vec!["w1".to_owned()],
        recipient_id: Some("551134567890".to_owned()),
        progress: at(MessageState::Accepted, world.now()),
        word: None,
    };
    settle_send(world, new.message, 0, outcome).await;
    // A message from the channel's id is from this contact; a notification to the landline
    // is not to this contact.
    let mut answer = inbound(world, "w2");
    answer.sender_id = "551134567890".to_owned();
    answer.phone = Some(number(line_of_another));
    answer.contact_keys = leadhost_domain::contact::channel_keys("whatsapp", "551134567890");
    let item = receive(world, answer).await;
    assert_eq!(item.contact_id, Some(new.contact));
    let called = store(world, notification(world, line_of_another)).await;
    assert_eq!(Some(called.contact), another.contact_id);
    // A number without a contact becomes another key of this contact.
    let new = store(world, urgent(world, "+5511935550001")).await;
    let outcome = SendOutcome::Accepted {
        external_ids: vec!["w3".to_owned()],
        recipient_id: Some("551135550001".to_owned()),
        progress: at(MessageState::Accepted, world.now()),
        word: None,
    };
    settle_send(world, new.message, 0, outcome).await;
    let same = store(world, notification(world, "+551135550001")).await;
    assert_eq!(same.contact, new.contact);
}

pub async fn the_providers_own_word_is_kept_next_to_the_state(world: &World) {
    let new = store(world, urgent(world, PHONE)).await;
    let outcome = SendOutcome::Accepted {
        external_ids: vec!["w1".to_owned()],
        recipient_id: None,
        progress: at(MessageState::Accepted, world.now()),
        word: Some("held".to_owned()),
    };
    settle_send(world, new.message, 0, outcome).await;
    let metadata = message_row(world, new.message).await["metadata"].clone();
    fields!(metadata, {"status": "accepted", "channelStatus": "held"});
    world
        .item(status(world, "w1", at(MessageState::Read, world.now())))
        .await;
    let metadata = message_row(world, new.message).await["metadata"].clone();
    fields!(metadata, {"status": "read", "channelStatus": "held"});
    // The channel's word is not stored if it equals the state.
    let plain = out(world, "w2").await;
    let metadata = message_row(world, plain.message).await["metadata"].clone();
    assert_eq!(metadata["channelStatus"], json!(null));
}

pub async fn a_refused_message_failed_and_is_in_the_report(world: &World) {
    let item = world.bring(with_phone(world.lead(), "+551187654321")).await;
    let new = store(world, urgent(world, PHONE)).await;
    let refused = SendOutcome::Refused(error("131026", Category::Recipient));
    let written = settle_send(world, new.message, 0, refused).await;
    assert_eq!(state_of(&written), MessageState::Failed);
    let metadata = message_row(world, new.message).await["metadata"].clone();
    assert_eq!(metadata["failedAt"], json!(world.now()));
    assert_eq!(metadata["errors"][0]["code"], "131026");
    assert_eq!(metadata["errors"][0]["category"], "recipient");
    let rows = errors(world).await;
    let expect = json!([{
        "id": rows[0]["id"], "workspace_id": world.workspace,
        "recipient_id": "+551187654321", "deal_id": item.deal_id,
        "conversation_id": new.conversation, "agent_id": world.first_agent,
        "message_id": new.message, "external_id": null, "error_code": "131026",
        "error_title": "title of 131026", "error_description": "description of 131026",
        "error_details": null, "template_name": "welcome", "channel": "whatsapp",
        "occurred_at": world.now(),
    }]);
    let rows: Vec<_> = rows.into_iter().map(without_stamp).collect();
    assert_eq!(json!(rows), expect);
    // Nothing was sent: the conversation has not begun, and an incoming message answers
    // nothing.
    let conversation = conversation_row(world, new.conversation).await;
    assert_eq!(conversation["status"], "pending");
    receive(world, inbound(world, "in1")).await;
    let conversation = conversation_row(world, new.conversation).await;
    fields!(conversation, {"status": "open", "answered_at": null});
    assert!(world.claim(10).await.is_empty());
}

pub async fn an_opt_out_bans_the_contact(world: &World) {
    let new = store(world, urgent(world, PHONE)).await;
    let refused = SendOutcome::Refused(error("131050", Category::OptOut));
    settle_send(world, new.message, 0, refused).await;
    let contact = row(world, Entity::Contacts, new.contact).await;
    assert_eq!(contact["banned_at"], json!(world.now()));
    assert_eq!(notify(world, urgent(world, PHONE)).await, Notified::Banned);
}

pub async fn a_kept_message_is_tried_again_at_its_time(world: &World) {
    let new = store(world, urgent(world, PHONE)).await;
    settle_send(world, new.message, 0, later(world, 10)).await;
    let metadata = message_row(world, new.message).await["metadata"].clone();
    assert_eq!(metadata["status"], "waiting");
    let reason = "131000: title of 131000: description of 131000";
    assert_eq!(metadata["reason"], reason);
    assert!(world.claim(10).await.is_empty());
    world.advance(10).await;
    let held = claim_send(world).await;
    assert_eq!(held.attempts, 1);
    // A held message counts no attempt.
    let at = world.now().plus(Duration::from_secs(5));
    settle_send(world, new.message, held.lease.0, SendOutcome::Held { at }).await;
    world.advance(5).await;
    let held = claim_send(world).await;
    assert_eq!(held.attempts, 1);
    begin(world, &held).await;
    settle_send(world, new.message, held.lease.0, accepted(world, "w1")).await;
    let metadata = message_row(world, new.message).await["metadata"].clone();
    fields!(metadata, {"status": "accepted", "reason": null});
}

pub async fn a_message_with_an_unknown_outcome_is_not_sent_again_until_an_operator_decides(
    world: &World,
) {
    let new = store(world, urgent(world, PHONE)).await;
    let written = settle_send(world, new.message, 0, unknown()).await;
    assert_eq!(state_of(&written), MessageState::Unknown);
    world.advance(7 * 86_400).await;
    assert!(world.claim(10).await.is_empty());
    let backlog = world.backlog().await.unwrap();
    assert_eq!((backlog.sends, backlog.unknown), (0, 1));
    let until = world.now().plus(Duration::from_hours(24));
    let again = MessageVerdict::SendAgain { until };
    assert_eq!(
        state_of(&resolve(world, new.message, again).await),
        MessageState::Waiting
    );
    let held = claim_send(world).await;
    assert_eq!(held.until, until);
    begin(world, &held).await;
    let stale = resolve(world, new.message, again).await;
    assert!(matches!(stale, WriteOutcome::Stale), "it is under way");
    settle_send(world, new.message, held.lease.0, unknown()).await;
    let given_up = resolve(world, new.message, MessageVerdict::GiveUp).await;
    assert_eq!(state_of(&given_up), MessageState::Failed);
    let stale = resolve(world, new.message, again).await;
    assert!(matches!(stale, WriteOutcome::Stale), "it is over");
}

pub async fn a_message_that_is_given_up_failed_and_is_in_the_report(world: &World) {
    let item = world.bring(with_phone(world.lead(), "+551187654321")).await;
    let unclear = store(world, urgent(world, PHONE)).await;
    settle_send(world, unclear.message, 0, unknown()).await;
    // Also for a message that only waits.
    let waiting = store(world, notification(world, PHONE)).await;
    world.advance(5).await;
    for new in [&unclear, &waiting] {
        let written = resolve(world, new.message, MessageVerdict::GiveUp).await;
        assert_eq!(state_of(&written), MessageState::Failed);
        let metadata = message_row(world, new.message).await["metadata"].clone();
        fields!(metadata, {"failedAt": world.now(), "errors.0.code": "given-up"});
        let stale = resolve(world, new.message, MessageVerdict::GiveUp).await;
        assert!(matches!(stale, WriteOutcome::Stale), "it is over");
    }
    let rows = errors(world).await;
    assert_eq!(rows.len(), 2);
    let of = |row: &&Value| row["message_id"] == json!(unclear.message);
    let row = rows.iter().find(of).expect("it is reported");
    let expect = json!({
        "id": row["id"], "workspace_id": world.workspace,
        "recipient_id": "+551187654321", "deal_id": item.deal_id,
        "conversation_id": unclear.conversation, "agent_id": world.first_agent,
        "message_id": unclear.message, "external_id": null, "error_code": "given-up",
        "error_title": "Given up", "error_description": "An operator gave it up",
        "error_details": null, "template_name": "welcome", "channel": "whatsapp",
        "occurred_at": world.now(),
    });
    assert_eq!(without_stamp(row.clone()), expect);
    assert!(world.claim(10).await.is_empty());
}

pub async fn a_status_settles_an_unknown_outcome(world: &World) {
    for state in [
        MessageState::Accepted,
        MessageState::Sent,
        MessageState::Delivered,
        MessageState::Read,
    ] {
        let to = format!("+551198765{:04}", 1_000 + state as usize);
        let new = store(world, urgent(world, &to)).await;
        settle_send(world, new.message, 0, unknown()).await;
        let said_at = world.now();
        world.advance(1).await;
        let external = format!("w-{}", state.as_str());
        let reported = status_of(world, &external, Some(new.message), at(state, said_at));
        assert_eq!(world.item(reported).await.status, ItemStatus::Updated);
        let row = message_row(world, new.message).await;
        fields!(row, {"metadata.status": state.as_str(), "metadata.reason": null});
        let conversation = conversation_row(world, new.conversation).await;
        assert_eq!(conversation["first_message_at"], json!(said_at));
    }
    assert_eq!(world.backlog().await.unwrap().unknown, 0);
    // A status may also say that it failed; then the conversation has not begun.
    let new = store(world, urgent(world, PHONE)).await;
    settle_send(world, new.message, 0, unknown()).await;
    let failed = MessageProgress::failed(world.now(), error("131026", Category::Recipient));
    world
        .item(status_of(world, "w-failed", Some(new.message), failed))
        .await;
    assert_eq!(world.backlog().await.unwrap().unknown, 0);
    let conversation = conversation_row(world, new.conversation).await;
    assert_eq!(conversation["status"], "pending");
}

pub async fn a_message_that_has_a_status_is_never_sent_again(world: &World) {
    // The provider answered "later" although it had accepted the message.
    let new = store(world, urgent(world, PHONE)).await;
    settle_send(world, new.message, 0, later(world, 1)).await;
    world
        .item(status_of(
            world,
            "w1",
            Some(new.message),
            at(MessageState::Sent, world.now()),
        ))
        .await;
    world.advance(10).await;
    assert!(world.claim(10).await.is_empty());
    // The same while the call is in flight.
    let new = store(world, urgent(world, "+5511987650001")).await;
    world
        .item(status_of(
            world,
            "w2",
            Some(new.message),
            at(MessageState::Sent, world.now()),
        ))
        .await;
    let written = settle_send(world, new.message, 0, later(world, 1)).await;
    assert_eq!(state_of(&written), MessageState::Sent);
    world.advance(10).await;
    assert!(world.claim(10).await.is_empty());
    let conversation = conversation_row(world, new.conversation).await;
    assert_eq!(conversation["status"], "open");
}

pub async fn a_host_that_stops_in_the_middle_of_a_send_leaves_an_unknown_outcome(world: &World) {
    let new = store(world, urgent(world, PHONE)).await;
    assert!(world.claim(10).await.is_empty());
    world.advance(60).await;
    let held = claim_send(world).await;
    assert!(held.was_sending);
    assert!(matches!(begin(world, &held).await, WriteOutcome::Stale));
    let written = settle_send(world, new.message, held.lease.0, unknown()).await;
    assert_eq!(state_of(&written), MessageState::Unknown);
    // Its holder was only slow: an acceptance by the channel counts, even if it is reported late.
    let late = settle_send(world, new.message, 0, accepted(world, "w1")).await;
    assert_eq!(state_of(&late), MessageState::Accepted);
    assert_eq!(world.backlog().await.unwrap().unknown, 0);
    // The same for a message that a worker had begun and whose claim was then taken over.
    store(world, notification(world, "+5511987650001")).await;
    let held = claim_send(world).await;
    begin(world, &held).await;
    world.advance(60).await;
    assert!(claim_send(world).await.was_sending);
}

pub async fn a_paused_instance_sends_nothing_until_it_is_resumed(world: &World) {
    let first = store(world, urgent(world, PHONE)).await;
    let pause = |reason: &str| ConnectionPause {
        since: world.now(),
        reason: reason.to_owned(),
    };
    let mut write = sent(line(world), first.message, 0, later(world, 0));
    if let Write::Sent(settlement) = &mut write {
        settlement.pause = Some(pause("the token is wrong"));
    }
    let second = store(world, urgent(world, "+5511987650001")).await;
    let mut other = sent(line(world), second.message, 0, later(world, 0));
    if let Write::Sent(settlement) = &mut other {
        settlement.pause = Some(pause("the account is locked"));
    }
    world.commit(&[write]).await;
    world.commit(&[other]).await;
    assert!(world.claim(10).await.is_empty());
    let connection = world.connection(&world.site).await.unwrap().unwrap();
    let paused = connection.paused.expect("it is paused");
    assert_eq!(paused.reason, "the token is wrong", "what came first");
    let elsewhere = Notification {
        channel: other_line(world),
        ..notification(world, PHONE)
    };
    let elsewhere = store(world, elsewhere).await;
    assert_eq!(claim_send(world).await.message, elsewhere.message);
    assert_eq!(world.backlog().await.unwrap().sends, 3);
    world.pause_connection(&world.site, None).await.unwrap();
    assert_eq!(world.claim(10).await.len(), 2);
}

pub async fn a_message_that_may_not_go_out_is_still_given_up_at_its_time(world: &World) {
    let waiting = store(world, notification(world, PHONE)).await;
    let carrier = store(world, urgent(world, "+5511987650001")).await;
    let mut write = sent(line(world), carrier.message, 0, later(world, 7 * 86_400));
    if let Write::Sent(settlement) = &mut write {
        settlement.pause = Some(ConnectionPause {
            since: world.now(),
            reason: "the token is wrong".to_owned(),
        });
        settlement.holds = vec![SendHold {
            connection: world.site.clone(),
            contact: None,
            until: world.now().plus(Duration::from_hours(2 * 24)),
        }];
    }
    world.commit(&[write]).await;
    world.advance(86_399).await;
    assert!(world.claim(10).await.is_empty());
    world.advance(1).await;
    let held = claim_send(world).await;
    assert_eq!((held.message, held.until), (waiting.message, world.now()));
}

pub async fn a_held_number_is_not_claimed_and_a_held_contact_is_reported(world: &World) {
    let waiting = store(world, notification(world, PHONE)).await;
    let carrier = store(world, urgent(world, "+5511987650001")).await;
    let until = world.now().plus(Duration::from_secs(30));
    let mut write = sent(line(world), carrier.message, 0, later(world, 3_600));
    if let Write::Sent(settlement) = &mut write {
        settlement.holds = vec![SendHold {
            connection: world.site.clone(),
            contact: Some(waiting.contact),
            until,
        }];
    }
    world.commit(&[write]).await;
    let held = claim_send(world).await;
    assert_eq!(held.held_until, Some(until));
    let mut write = sent(
        line(world),
        waiting.message,
        held.lease.0,
        SendOutcome::Held { at: until },
    );
    if let Write::Sent(settlement) = &mut write {
        settlement.holds = vec![SendHold {
            connection: world.site.clone(),
            contact: None,
            until: until.plus(Duration::from_secs(30)),
        }];
    }
    world.commit(&[write]).await;
    world.advance(59).await;
    assert!(world.claim(10).await.is_empty(), "the whole number waits");
    world.advance(1).await;
    assert_eq!(claim_send(world).await.held_until, None);
}

/// Stores a message, and settles it as accepted with this kept.
async fn keep(world: &World, change: impl FnOnce(&mut KeptSend)) -> KeptSend {
    let new = store(world, urgent(world, PHONE)).await;
    let mut kept = kept_send(world, &new, "Ana");
    change(&mut kept);
    let outcome = accepted(world, &new.message.to_string());
    let mut write = sent(line(world), new.message, 0, outcome);
    if let Write::Sent(settlement) = &mut write {
        settlement.kept_send = Some(Box::new(kept.clone()));
    }
    world.commit(&[write]).await;
    kept
}

async fn kept(world: &World, message: MessageId) -> Option<KeptSend> {
    world.kept_send(world.workspace, message).await.unwrap()
}

pub async fn a_kept_send_comes_back_as_it_was_until_its_time_has_passed(world: &World) {
    let whole = keep(world, |_| {}).await;
    let unanswered = keep(world, |kept| kept.response = None).await;
    assert_eq!(kept(world, whole.message).await, Some(whole.clone()));
    assert_eq!(kept(world, unanswered.message).await, Some(unanswered));
    let another = world.kept_send(WorkspaceId::new(world.now()), whole.message);
    assert_eq!(another.await.expect("it reads"), None);
    // A settlement that is stale keeps nothing.
    let mut write = sent(line(world), whole.message, 7, unknown());
    if let Write::Sent(settlement) = &mut write {
        let mut other = whole.clone();
        other.outcome = AttemptOutcome::Unknown;
        settlement.kept_send = Some(Box::new(other));
    }
    world.commit(&[write]).await;
    assert_eq!(kept(world, whole.message).await, Some(whole.clone()));
    world.advance(24 * 3_600 + 1).await;
    sweep(world).await;
    assert_eq!(kept(world, whole.message).await, None);
}

async fn sweep(world: &World) {
    let retention = RetentionPeriods {
        deliveries: Duration::from_hours(24 * 30),
        quarantine: Duration::from_hours(24),
    };
    let swept = world.sweep(&retention, world.now(), 100).await;
    swept.expect("it sweeps");
}

pub async fn kept_sends_are_listed_newest_first_by_each_filter(world: &World) {
    let mut all = Vec::new();
    let refused = AttemptOutcome::Refused(Category::Transient);
    for (digest, outcome) in [
        ("d1", AttemptOutcome::Accepted),
        ("d1", refused),
        ("d2", AttemptOutcome::Accepted),
    ] {
        world.advance(1).await;
        let one = keep(world, |kept| {
            kept.digest = Digest(digest.to_owned());
            kept.outcome = outcome;
        });
        all.push(one.await);
    }
    let filter = || KeptSendFilter {
        workspace: world.workspace,
        connection: line(world).connection,
        since: None,
        digest: None,
        failed: false,
        limit: 10,
    };
    let check = async |change: &dyn Fn(&mut KeptSendFilter), expect: &[usize]| {
        let mut filter = filter();
        change(&mut filter);
        let found = world.kept_sends(&filter).await.expect("it lists");
        let expect: Vec<_> = expect
            .iter()
            .map(|place| (all[*place].message, all[*place].outcome))
            .collect();
        assert_eq!(found, expect, "{filter:?}");
    };
    let other = other_line(world).connection;
    check(&|_| (), &[2, 1, 0]).await;
    check(&|one| one.limit = 2, &[2, 1]).await;
    check(&|one| one.since = Some(all[1].sent_at), &[2, 1]).await;
    check(&|one| one.digest = Some(Digest("d1".to_owned())), &[1, 0]).await;
    check(&|one| one.failed = true, &[1]).await;
    check(&|one| one.connection = other.clone(), &[]).await;
}
