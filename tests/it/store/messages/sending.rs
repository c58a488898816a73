//! A send: its holder, its outcome, and unknown outcomes.

use super::*;

const OTHER: &str = "+5511987650001";

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

fn resolution(world: &World, message: MessageId, verdict: MessageVerdict) -> Write {
    let workspace = world.workspace;
    Write::Resolve(Resolution {
        workspace,
        message,
        verdict,
    })
}

async fn resolve(world: &World, message: MessageId, verdict: MessageVerdict) -> MessageState {
    state_of(&world.write(resolution(world, message, verdict)).await)
}

/// Sends a message whose outcome is unknown.
async fn unclear(world: &World, to: &str) -> Stored {
    let new = send(world, to).await;
    let written = settle_send(world, new.message, 0, unknown()).await;
    assert_eq!(state_of(&written), MessageState::Unknown);
    new
}

pub async fn due_sends_are_claimed_oldest_first_and_by_the_limit(world: &World) {
    let mut messages = Vec::new();
    for to in [OTHER, "+5511987650002", "+5511987650003"] {
        messages.push(post(world, to).await.message);
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
    let new = post(world, PHONE).await.message;
    let settled = |lease: i64| sent(line(world), new, lease, later(world, 1));
    let unclear = sent(line(world), new, 0, unknown());
    world.assert_stale(unclear).await;
    let lost = claim_send(world).await;
    world.advance(60).await;
    world.assert_stale(begin_write(world, &lost)).await;
    let held = claim_send(world).await;
    world.assert_stale(begin_write(world, &lost)).await;
    world.assert_stale(settled(lost.lease.0)).await;
    assert_eq!(state_of(&begin(world, &held).await), MessageState::Sending);
    world.assert_stale(begin_write(world, &held)).await;
    fields!(metadata(world, new).await, {"status": "sending"});
    let written = world.write(settled(held.lease.0)).await;
    assert_eq!(state_of(&written), MessageState::Waiting);
    world.assert_stale(settled(held.lease.0)).await;
    let absent = Write::Begin(SendStart {
        workspace: world.workspace,
        message: MessageId::new(world.now()),
        lease: Lease(0),
    });
    world.assert_stale(absent).await;
}

pub async fn an_accepted_message_begins_its_conversation(world: &World) {
    let new = send(world, PHONE).await;
    world.advance(2).await;
    let time = world.now();
    world.advance(1).await;
    let outcome = accepted_at(&["w1", "g1"], Some(&PHONE[1..]), time);
    let written = settle_send(world, new.message, 0, outcome).await;
    assert_eq!(state_of(&written), MessageState::Accepted);
    let expect = json!({
        "status": "accepted", "acceptedAt": time, "externalIds": ["g1", "w1"],
        "recipientId": "5511987654321",
        "template": {"name": "welcome", "language": "pt_BR"},
    });
    assert_eq!(metadata(world, new.message).await, expect);
    let conversation = conversation_row(world, new.conversation).await;
    fields!(conversation, {"status": "open", "first_message_at": time, "last_message_at": time});
    world.advance(DAY - 2).await;
    assert_eq!(due(world).await, []);
    world.advance(1).await;
    assert_eq!(due(world).await, [new.conversation]);
    assert!(world.claim(10).await.is_empty());
}

pub async fn a_contact_is_also_found_by_the_channels_name_for_it(world: &World) {
    let accepts = async |new: &Stored, id: &str, name: &str| {
        let outcome = accepted_at(&[id], Some(name), world.now());
        settle_send(world, new.message, 0, outcome).await;
    };
    // A landline of another contact, and a mobile number that got a ninth digit.
    let line_of_another = "+551134567890";
    let another = world.bring(with_phone(world.lead(), line_of_another)).await;
    let new = send(world, "+5511934567890").await;
    assert_ne!(Some(new.contact), another.contact_id);
    accepts(&new, "w1", &line_of_another[1..]).await;
    // A message from the channel's id is from this contact; a notification to the landline
    // is not to this contact.
    let item = receive(world, inbound_from(world, "w2", line_of_another)).await;
    assert_eq!(item.contact_id, Some(new.contact));
    let called = post(world, line_of_another).await;
    assert_eq!(Some(called.contact), another.contact_id);
    // A number without a contact becomes another key of this contact.
    let new = send(world, "+5511935550001").await;
    accepts(&new, "w3", "551135550001").await;
    let same = post(world, "+551135550001").await;
    assert_eq!(same.contact, new.contact);
}

pub async fn the_providers_own_word_is_kept_next_to_the_state(world: &World) {
    let new = send(world, PHONE).await.message;
    let mut outcome = accepted(world, "w1");
    if let SendOutcome::Accepted { word, .. } = &mut outcome {
        *word = Some("held".to_owned());
    }
    settle_send(world, new, 0, outcome).await;
    fields!(metadata(world, new).await, {"status": "accepted", "channelStatus": "held"});
    said(world, "w1", MessageState::Read).await;
    fields!(metadata(world, new).await, {"status": "read", "channelStatus": "held"});
    // The channel's word is not stored if it equals the state.
    let plain = out(world, "w2").await.message;
    fields!(metadata(world, plain).await, {"channelStatus": null});
}

/// The report's row of a message to [`PHONE`] that failed now.
fn failure(world: &World, of: &Stored, deal: Option<DealId>, said: [&str; 3]) -> Value {
    let [code, title, description] = said;
    json!({
        "workspace_id": world.workspace, "recipient_id": "+551187654321", "deal_id": deal,
        "conversation_id": of.conversation, "agent_id": world.first_agent,
        "message_id": of.message, "external_id": null, "error_code": code,
        "error_title": title, "error_description": description, "error_details": null,
        "template_name": "welcome", "channel": "whatsapp", "occurred_at": world.now(),
    })
}

fn bare(row: &Value) -> Value {
    without(row.clone(), &["id", "cursor_at", "updated_at"])
}

pub async fn a_refused_message_failed_and_is_in_the_report(world: &World) {
    let item = world.bring(with_phone(world.lead(), "+551187654321")).await;
    let new = send(world, PHONE).await;
    let refused = SendOutcome::Refused(error("131026", Category::Recipient));
    let written = settle_send(world, new.message, 0, refused).await;
    assert_eq!(state_of(&written), MessageState::Failed);
    fields!(metadata(world, new.message).await, {
        "failedAt": world.now(), "errors.0.code": "131026", "errors.0.category": "recipient",
    });
    let [row] = errors(world).await.try_into().expect("one row");
    assert!(row["id"].is_string());
    let said = ["131026", "title of 131026", "description of 131026"];
    assert_eq!(bare(&row), failure(world, &new, item.deal_id, said));
    // Nothing was sent: the conversation has not begun, and an incoming message answers
    // nothing.
    let conversation = async || conversation_row(world, new.conversation).await;
    fields!(conversation().await, {"status": "pending"});
    receive(world, inbound(world, "in1")).await;
    fields!(conversation().await, {"status": "open", "answered_at": null});
    assert!(world.claim(10).await.is_empty());
}

pub async fn an_opt_out_bans_the_contact(world: &World) {
    let new = send(world, PHONE).await;
    let refused = SendOutcome::Refused(error("131050", Category::OptOut));
    settle_send(world, new.message, 0, refused).await;
    let contact = world.contact(new.contact).await;
    assert_eq!(contact["banned_at"], json!(world.now()));
    assert_eq!(notify(world, urgent(world, PHONE)).await, Notified::Banned);
}

pub async fn a_kept_message_is_tried_again_at_its_time(world: &World) {
    let new = send(world, PHONE).await.message;
    settle_send(world, new, 0, later(world, 10)).await;
    let reason = "131000: title of 131000: description of 131000";
    fields!(metadata(world, new).await, {"status": "waiting", "reason": reason});
    world.advance(9).await;
    assert!(world.claim(10).await.is_empty());
    world.advance(1).await;
    let held = claim_send(world).await;
    assert_eq!(held.attempts, 1);
    // A held message counts no attempt.
    let at = world.now().plus_seconds(5);
    settle_send(world, new, held.lease.0, SendOutcome::Held { at }).await;
    world.advance(4).await;
    assert!(world.claim(10).await.is_empty());
    world.advance(1).await;
    let held = claim_send(world).await;
    assert_eq!(held.attempts, 1);
    begin(world, &held).await;
    settle_send(world, new, held.lease.0, accepted(world, "w1")).await;
    fields!(metadata(world, new).await, {"status": "accepted", "reason": null});
}

pub async fn a_message_with_an_unknown_outcome_is_not_sent_again_until_an_operator_decides(
    world: &World,
) {
    let new = unclear(world, PHONE).await.message;
    world.advance(7 * DAY).await;
    assert!(world.claim(10).await.is_empty());
    let backlog = world.backlog().await.unwrap();
    assert_eq!((backlog.sends, backlog.unknown), (0, 1));
    let until = world.now().plus_seconds(DAY);
    let again = MessageVerdict::SendAgain { until };
    assert_eq!(resolve(world, new, again).await, MessageState::Waiting);
    let held = claim_send(world).await;
    assert_eq!(held.until, until);
    begin(world, &held).await;
    // While it is under way, and when it is over.
    world.assert_stale(resolution(world, new, again)).await;
    settle_send(world, new, held.lease.0, unknown()).await;
    let given_up = resolve(world, new, MessageVerdict::GiveUp).await;
    assert_eq!(given_up, MessageState::Failed);
    world.assert_stale(resolution(world, new, again)).await;
}

pub async fn a_message_that_is_given_up_failed_and_is_in_the_report(world: &World) {
    let item = world.bring(with_phone(world.lead(), "+551187654321")).await;
    let unclear = unclear(world, PHONE).await;
    // Also for a message that only waits.
    let waiting = post(world, PHONE).await;
    world.advance(5).await;
    for new in [&unclear, &waiting] {
        let state = resolve(world, new.message, MessageVerdict::GiveUp).await;
        assert_eq!(state, MessageState::Failed);
        let metadata = metadata(world, new.message).await;
        fields!(metadata, {"failedAt": world.now(), "errors.0.code": "given-up"});
        let again = resolution(world, new.message, MessageVerdict::GiveUp);
        world.assert_stale(again).await;
    }
    let rows = errors(world).await;
    assert_eq!(rows.len(), 2);
    let of = |row: &&Value| row["message_id"] == json!(unclear.message);
    let row = rows.iter().find(of).expect("it is reported");
    let said = ["given-up", "Given up", "An operator gave it up"];
    assert_eq!(bare(row), failure(world, &unclear, item.deal_id, said));
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
        let new = unclear(world, &to).await;
        let said_at = world.now();
        world.advance(1).await;
        let external = format!("w-{}", state.as_str());
        let reported = status_of(world, &external, Some(new.message), at(state, said_at));
        assert_eq!(world.item(reported).await.status, ItemStatus::Updated);
        let row = metadata(world, new.message).await;
        fields!(row, {"status": state.as_str(), "reason": null});
        let conversation = conversation_row(world, new.conversation).await;
        assert_eq!(conversation["first_message_at"], json!(said_at));
    }
    assert_eq!(world.backlog().await.unwrap().unknown, 0);
    // A status may also say that it failed; then the conversation has not begun.
    let new = unclear(world, PHONE).await;
    let wrong = failed(world, "131026", Category::Recipient);
    let reported = status_of(world, "w-failed", Some(new.message), wrong);
    world.item(reported).await;
    assert_eq!(world.backlog().await.unwrap().unknown, 0);
    let conversation = conversation_row(world, new.conversation).await;
    assert_eq!(conversation["status"], "pending");
}

pub async fn a_message_that_has_a_status_is_never_sent_again(world: &World) {
    let is_sent = async |id: &str, message| {
        let progress = at(MessageState::Sent, world.now());
        let reported = status_of(world, id, Some(message), progress);
        world.item(reported).await;
    };
    // The provider answered "later" although it had accepted the message.
    let new = send(world, PHONE).await;
    settle_send(world, new.message, 0, later(world, 1)).await;
    is_sent("w1", new.message).await;
    world.advance(10).await;
    assert!(world.claim(10).await.is_empty());
    // The same while the call is in flight.
    let new = send(world, OTHER).await;
    is_sent("w2", new.message).await;
    let written = settle_send(world, new.message, 0, later(world, 1)).await;
    assert_eq!(state_of(&written), MessageState::Sent);
    world.advance(10).await;
    assert!(world.claim(10).await.is_empty());
    let conversation = conversation_row(world, new.conversation).await;
    assert_eq!(conversation["status"], "open");
}

pub async fn a_host_that_stops_in_the_middle_of_a_send_leaves_an_unknown_outcome(world: &World) {
    let new = send(world, PHONE).await.message;
    assert!(world.claim(10).await.is_empty());
    world.advance(60).await;
    let held = claim_send(world).await;
    assert!(held.was_sending);
    world.assert_stale(begin_write(world, &held)).await;
    let written = settle_send(world, new, held.lease.0, unknown()).await;
    assert_eq!(state_of(&written), MessageState::Unknown);
    // Its holder was only slow: an acceptance by the channel counts, even if it is reported late.
    let late = settle_send(world, new, 0, accepted(world, "w1")).await;
    assert_eq!(state_of(&late), MessageState::Accepted);
    assert_eq!(world.backlog().await.unwrap().unknown, 0);
    // The same for a message that a worker had begun and whose claim was then taken over.
    post(world, OTHER).await;
    let held = claim_send(world).await;
    begin(world, &held).await;
    world.advance(60).await;
    assert!(claim_send(world).await.was_sending);
}

fn paused(world: &World, reason: &str) -> Option<ConnectionPause> {
    let (since, reason) = (world.now(), reason.to_owned());
    Some(ConnectionPause { since, reason })
}

pub async fn a_paused_instance_sends_nothing_until_it_is_resumed(world: &World) {
    let messages = [send(world, PHONE).await, send(world, OTHER).await];
    for (new, reason) in messages.iter().zip(["the token is wrong", "it is locked"]) {
        let (id, pause) = (new.message, paused(world, reason));
        settle_with(world, id, 0, later(world, 0), |sent| sent.pause = pause).await;
    }
    assert!(world.claim(10).await.is_empty());
    let paused = world.declared(&world.site).await.paused;
    let reason = paused.expect("it is paused").reason;
    assert_eq!(reason, "the token is wrong", "what came first");
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
    let waiting = post(world, PHONE).await;
    let carrier = send(world, OTHER).await.message;
    settle_with(world, carrier, 0, later(world, 7 * DAY), |sent| {
        sent.pause = paused(world, "the token is wrong");
        sent.holds = vec![hold(world, None, world.now().plus_seconds(2 * DAY))];
    })
    .await;
    world.advance(DAY - 1).await;
    assert!(world.claim(10).await.is_empty());
    world.advance(1).await;
    let held = claim_send(world).await;
    assert_eq!((held.message, held.until), (waiting.message, world.now()));
}

pub async fn a_held_number_is_not_claimed_and_a_held_contact_is_reported(world: &World) {
    let waiting = post(world, PHONE).await;
    let carrier = send(world, OTHER).await.message;
    let at = world.now().plus_seconds(30);
    let of_contact = hold(world, Some(waiting.contact), at);
    settle_with(world, carrier, 0, later(world, 3_600), |sent| {
        sent.holds = vec![of_contact]
    })
    .await;
    let held = claim_send(world).await;
    assert_eq!(held.held_until, Some(at));
    let of_all = hold(world, None, at.plus_seconds(30));
    let outcome = SendOutcome::Held { at };
    settle_with(world, held.message, held.lease.0, outcome, |sent| {
        sent.holds = vec![of_all]
    })
    .await;
    world.advance(59).await;
    assert!(world.claim(10).await.is_empty(), "the whole number waits");
    world.advance(1).await;
    assert_eq!(claim_send(world).await.held_until, None);
}
