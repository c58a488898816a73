//! Messages and failures for readers.

use leadhost_domain::message::Actor;

use super::*;

/// Reports the failures of three messages, each about a deal. Returns the messages with their deals.
async fn failures(world: &World) -> Vec<(Stored, Option<DealId>)> {
    let mut sent = Vec::new();
    for (number, code) in ["131026", "131000", "131026"].into_iter().enumerate() {
        let to = format!("+55119876500{number:02}");
        let lead = world.bring(with_phone(world.lead(), &to)).await;
        let channel = match number {
            2 => other_line(world),
            _ => line(world),
        };
        let new = Notification {
            channel: channel.clone(),
            contact_keys: vec![contact::phone_key(&to)],
            deal: lead.deal_id,
            ..urgent(world, &to)
        };
        let new = store(world, new).await;
        let reported = Event::Status {
            external_id: format!("w{number}"),
            message: Some(new.message),
            progress: failed(world, code, Category::Recipient),
            word: "failed".to_owned(),
            recipient_id: None,
            at: world.now(),
        };
        world.item(event(channel, reported)).await;
        sent.push((new, lead.deal_id));
        world.advance(1).await;
    }
    sent
}

pub async fn failures_are_found_by_each_filter_in_the_order_of_their_stamps(world: &World) {
    let sent = failures(world).await;
    let all = errors(world).await;
    let check = async |change: &dyn Fn(&mut MessageErrorFilter), expect: &[usize]| {
        let mut filter = MessageErrorFilter::default();
        change(&mut filter);
        let found = errors_with(world, filter.clone()).await;
        let expect: Vec<_> = expect.iter().map(|at| all[*at].clone()).collect();
        assert_eq!(found, expect, "{filter:?}");
    };
    let conversation = Some(sent[0].0.conversation);
    let agent = Some(world.second_agent);
    let code = || Some("131026".to_owned());
    check(&|_| (), &[0, 1, 2]).await;
    check(&|one| one.deal = sent[1].1, &[1]).await;
    check(&|one| one.conversation = conversation, &[0]).await;
    check(&|one| one.agent = agent, &[2]).await;
    check(&|one| one.external_id = Some("w1".to_owned()), &[1]).await;
    check(&|one| one.error_code = code(), &[0, 2]).await;
    let all_at_once = |one: &mut MessageErrorFilter| {
        (one.error_code, one.agent, one.conversation) = (code(), agent, conversation);
    };
    check(&all_at_once, &[]).await;
    // Page by page, up to the bound of the first page.
    let page = async |after, upper, limit| {
        let none = MessageErrorFilter::default();
        let page = world.message_errors(&world.scope, &none, after, upper, limit);
        page.await.expect("it reports")
    };
    let first = page(0, None, 2).await;
    assert_eq!((first.rows.len(), first.more), (2, true));
    let rest = page(first.rows[1].stamp, Some(first.upper), 2).await;
    assert_eq!((rest.rows.len(), rest.more), (1, false));
    let before = page(0, Some(first.rows[0].stamp), 10).await;
    assert_eq!(before.rows.len(), 1);
    assert_eq!(json_of(&rest), [all[2].clone()]);
}

pub async fn a_failure_has_to_match_its_deal_and_its_conversation(world: &World) {
    let sent = failures(world).await;
    for (deal, expect) in [(sent[0].1, 1), (sent[1].1, 0)] {
        let filter = MessageErrorFilter {
            conversation: Some(sent[0].0.conversation),
            deal,
            ..MessageErrorFilter::default()
        };
        assert_eq!(errors_with(world, filter).await.len(), expect);
    }
}

pub async fn a_message_is_found_by_its_state_behind_newer_ones_of_another(world: &World) {
    let accepted = out(world, "w1").await;
    for to in ["+5511987650001", "+5511987650002"] {
        world.advance(1).await;
        post(world, to).await;
    }
    let filter = OutboxFilter {
        state: Some(MessageState::Accepted),
        limit: 1,
        ..OutboxFilter::default()
    };
    let found = world.outbox(&filter).await.expect("it lists");
    let found: Vec<_> = found.iter().map(|message| message.id).collect();
    assert_eq!(found, [accepted.message]);
}

pub async fn operators_see_messages_newest_first_by_each_filter(world: &World) {
    let answered = out(world, "w1").await;
    world.advance(1).await;
    receive(world, inbound(world, "in1")).await;
    world.advance(1).await;
    let other = Notification {
        channel: other_line(world),
        ..notification(world, "+5511987650001")
    };
    let waiting = store(world, other).await;
    let list = async |filter: OutboxFilter| world.outbox(&filter).await.expect("it lists");
    let all = || OutboxFilter {
        limit: 10,
        ..Default::default()
    };
    let messages = list(all()).await;
    let actors: Vec<_> = messages.iter().map(|message| message.actor).collect();
    assert_eq!(actors, [Actor::Agent, Actor::Contact, Actor::Agent]);
    assert_eq!(messages[0].id, waiting.message);
    assert_eq!(messages[0].next_attempt_at, Some(world.now()));
    assert_eq!(messages[0].instance_id, Some(world.second_agent));
    assert_eq!(messages[1].content.as_deref(), Some("yes, please"));
    let oldest = &messages[2];
    assert_eq!(oldest.id, answered.message);
    assert_eq!(oldest.conversation_id, answered.conversation);
    assert_eq!(oldest.contact_id, answered.contact);
    assert_eq!(oldest.contact_name.as_deref(), Some("Rita"));
    assert_eq!(oldest.phone_number.as_deref(), Some(PHONE));
    assert_eq!(oldest.kind.as_str(), "template");
    assert_eq!(oldest.created_at, START);
    assert_eq!(oldest.metadata.status, "accepted");
    assert_eq!(oldest.next_attempt_at, None);
    let check = async |change: &dyn Fn(&mut OutboxFilter), expect: &[usize]| {
        let mut filter = all();
        change(&mut filter);
        let found: Vec<_> = list(filter.clone()).await.iter().map(|m| m.id).collect();
        let expect: Vec<_> = expect.iter().map(|at| messages[*at].id).collect();
        assert_eq!(found, expect, "{filter:?}");
    };
    check(&|one| one.limit = 1, &[0]).await;
    check(&|one| one.before = Some(messages[0].id), &[1, 2]).await;
    let [newest, older] = [0, 1].map(|at| messages[at].contact_id);
    for (contacts, expect) in [
        (vec![older], [1, 2].as_slice()),
        (vec![newest], &[0]),
        (vec![newest, older], &[0, 1, 2]),
        (Vec::new(), &[]),
    ] {
        check(&|one| one.contacts = Some(contacts.clone()), expect).await;
    }
    let (agent, workspace) = (world.first_agent, world.workspace);
    check(&|one| one.agent = Some(agent), &[1, 2]).await;
    for (state, expect) in [
        (MessageState::Waiting, &[0][..]),
        (MessageState::Accepted, &[2]),
        (MessageState::Unknown, &[]),
    ] {
        check(&|one| one.state = Some(state), expect).await;
    }
    check(&|one| one.workspace = Some(workspace), &[0, 1, 2]).await;
    let nowhere = WorkspaceId::new(world.now());
    check(&|one| one.workspace = Some(nowhere), &[]).await;
}
