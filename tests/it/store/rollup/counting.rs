//! The counted events, their periods, and the effect of changes.

use super::super::deals::lead_of;
use super::super::desk::status_write;
use super::super::messages::{conversation_row, elapse};
use super::*;
use leadhost_domain::analytics::{CountKey, MetricSet};

/// The column at a fixed time before all others.
fn early(world: &World, column: &str) -> String {
    match world.on {
        On::Sqlite => format!("{column} = 1750600000000000"),
        On::Postgres(_) => format!("{column} = to_timestamp(1750600000)"),
    }
}

pub async fn the_first_run_counts_the_existing_rows(world: &World) {
    assert_eq!(state(world, TALKS).await, RollupState::default());
    for person in 0..3 {
        talk(world, &phone(person)).await;
        world.advance(40_000).await;
    }
    // Stored, but not accepted by the channel: it has not begun.
    send(world, &phone(9)).await;
    assert!(table(&cells(world, TALKS, zone::DEFAULT, "none").await).is_empty());
    let as_of = world.now();
    assert_eq!(count(world).await, 4);
    let now = state(world, TALKS).await;
    assert_eq!(now.as_of, Some(as_of));
    assert!(now.version.is_some());
    assert_begun(world, 3).await;
    is_right(world).await;
    // Without changes there is nothing to do, and the next run has a later as-of.
    world.advance(60).await;
    assert_eq!(begin(world, TALKS).await.builds, []);
    assert_eq!(count(world).await, 0);
    let later = state(world, TALKS).await;
    assert_eq!(later.as_of, Some(world.now()));
    assert_eq!(later.version, now.version);
}

pub async fn the_agent_and_the_source_of_a_conversation_may_change(world: &World) {
    let id = talk(world, &phone(1)).await;
    let other = talk(world, &phone(2)).await;
    count(world).await;
    fill_all(world).await;
    let agent = world.second_agent.0;
    let moves = [
        format!("agent_id = {agent}, agent_type = 'human'"),
        "source = 'fair'".to_owned(),
        "source = ''".to_owned(),
        "source = null, agent_id = null, agent_type = null".to_owned(),
    ];
    for set in moves {
        alter(world, id, &set).await;
        assert_eq!(count(world).await, 1);
        assert_begun(world, 2).await;
        is_right(world).await;
    }
    let unknown = table(&cells(world, TALKS, zone::DEFAULT, "none").await);
    assert!(unknown.keys().any(|(_, key)| *key == CountKey::default()));
    // Also its beginning: it moves to another day.
    alter(world, other, &early(world, "first_message_at")).await;
    count(world).await;
    is_right(world).await;
}

pub async fn a_source_of_any_length_is_counted(world: &World) {
    // Letters that no index can compress.
    let mut number: u64 = 7;
    let long: String = (0..9_000)
        .map(|_| {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            char::from(b'a' + u8::try_from((number >> 33) % 26).expect("a letter"))
        })
        .collect();
    let id = talk(world, &phone(1)).await;
    alter(world, id, &format!("source = '{long}'")).await;
    count(world).await;
    fill_all(world).await;
    let counted = table(&cells(world, TALKS, zone::DEFAULT, "none").await);
    let sources: Vec<_> = counted.keys().map(|(_, key)| key.source.clone()).collect();
    assert_eq!(sources, [Some(long[..255].to_owned())]);
    assert_begun(world, 1).await;
}

pub async fn a_test_lead_that_is_removed_is_not_counted_either(world: &World) {
    let mut new = lead_of(world, "L1", &phone(1));
    new.deal_props.insert("test".to_owned(), true.into());
    let test = world.bring(new).await.deal_id.expect("a deal");
    let id = talk(world, &phone(3)).await;
    alter(world, id, &format!("deal_id = {}", world.on.id(test))).await;
    count(world).await;
    assert_begun(world, 0).await;
    let removed = world.remove_deal(world.workspace, test).await;
    assert!(removed.expect("it removes"));
    count(world).await;
    assert_begun(world, 0).await;
    let talk = conversation_row(world, id).await;
    fields!(talk, {"deal_id": null, "props.test": true});
}

pub async fn a_lead_that_turns_out_a_test_is_no_longer_counted(world: &World) {
    let mut new = lead_of(world, "L1", &phone(1));
    let deal = world.bring(new.clone()).await.deal_id;
    let deal = deal.expect("a deal");
    let open = talk(world, &phone(1)).await;
    let closed = talk(world, &phone(2)).await;
    talk(world, &phone(3)).await;
    for id in [open, closed] {
        alter(world, id, &format!("deal_id = {}", world.on.id(deal))).await;
    }
    alter(world, closed, &early(world, "closed_at")).await;
    count(world).await;
    assert_begun(world, 3).await;
    // An update without the field changes nothing, and neither does a repeat of
    // it.
    new.action = Action::Update;
    new.title = Some("Two rooms".to_owned());
    world.bring(new.clone()).await;
    assert_eq!(count(world).await, 0);
    new.deal_props.insert("test".to_owned(), true.into());
    world.bring(new.clone()).await;
    assert_eq!(count(world).await, 2);
    assert_begun(world, 1).await;
    is_right(world).await;
    world.bring(new.clone()).await;
    assert_eq!(count(world).await, 0);
    // It was not a test after all.
    new.deal_props.insert("test".to_owned(), false.into());
    world.bring(new).await;
    count(world).await;
    assert_begun(world, 3).await;
    is_right(world).await;
}

pub async fn tickets_count_in_the_period_in_which_they_opened(world: &World) {
    let tickets = MetricSet::Tickets;
    for person in [1, 2] {
        let id = talk(world, &phone(person)).await;
        world.advance(86_400).await;
        assert!(elapse(world, id).await);
    }
    count_by(world, tickets, 1_000).await;
    assert_eq!(sums(world, tickets).await, [2, 0, 0, 0, 0]);
    let filter = TicketFilter {
        limit: 100,
        ..TicketFilter::default()
    };
    let found = world.tickets(&world.scope, &filter).await;
    let found = found.expect("it reads");
    world.advance(3 * DAY).await;
    let answered = status_write(world, found[0].id, TicketStatus::Answered);
    let resolved = status_write(world, found[1].id, TicketStatus::Resolved);
    world.commit(&[answered, resolved]).await;
    assert_eq!(count_by(world, tickets, 1_000).await, 2);
    assert_eq!(sums(world, tickets).await, [2, 1, 1, 0, 0]);
    let cells = cells(world, tickets, "Asia/Kathmandu", "none").await;
    let rules = Zone::named("Asia/Kathmandu").expect("a zone");
    let opened = found.iter().map(|one| rules.day_of(one.opened_at));
    let mut days: Vec<Day> = opened.collect();
    days.sort_unstable();
    let table = table(&cells);
    assert_eq!(table.keys().map(|(day, _)| *day).collect::<Vec<_>>(), days);
    let key = CountKey {
        agent_type: Some("ai".to_owned()),
        agent: Some(world.first_agent),
        source: Some("crm".to_owned()),
    };
    assert!(table.keys().all(|(_, of)| *of == key), "{table:?}");
}

pub async fn a_ticket_of_a_test_lead_that_is_removed_is_not_counted_either(world: &World) {
    let mut new = lead_of(world, "L1", &phone(1));
    new.deal_props.insert("test".to_owned(), true.into());
    let test = world.bring(new).await.deal_id.expect("a deal");
    let id = talk(world, &phone(3)).await;
    alter(world, id, &format!("deal_id = {}", world.on.id(test))).await;
    world.advance(86_400).await;
    assert!(elapse(world, id).await);
    let removed = world.remove_deal(world.workspace, test).await;
    assert!(removed.expect("it removes"));
    count_by(world, MetricSet::Tickets, 1_000).await;
    assert_eq!(sums(world, MetricSet::Tickets).await, [0; 5]);
}

pub async fn keys_and_counts_are_a_workspaces_own(world: &World) {
    talk(world, &phone(1)).await;
    let mut other = plan("other");
    other.agents[1].internal = true;
    let applied = world.apply(&other, world.now(), false).await.unwrap();
    let theirs = scope(&world.store, applied.workspace_id).await;
    let run = begin(world, TALKS).await;
    assert_eq!(run.builds.len(), 2);
    // A build that claims another workspace is not found.
    let is_ours = |one: &&Build| one.workspace == world.workspace;
    let ours = run.builds.iter().find(is_ours);
    let stolen = Build {
        workspace: applied.workspace_id,
        ..*ours.expect("each has one")
    };
    let stepped = world.rollup_step(&stolen, 10).await;
    assert_eq!(stepped.expect("a step"), Stepped::Done(0));
    count(world).await;
    let query = CellQuery {
        set: TALKS,
        zone: zone::DEFAULT,
        tzdata: "none",
        days: (Day(0), Day(0)),
        edges: Vec::new(),
        // All times: they contain few slots.
        buckets: vec![(
            Day(0),
            Slots {
                from: TimeSlot(0),
                to: TimeSlot::containing(world.now().plus(Duration::from_hours(24))),
            },
        )],
    };
    let ours = asked(world, &world.scope, &query).await;
    assert_eq!((ours.keys.len(), ours.cells.len()), (1, 1));
    assert_eq!(ours.state.internal, Vec::<AgentId>::new());
    let found = asked(world, &theirs, &query).await;
    assert_eq!((found.keys.len(), found.cells.len()), (0, 0));
    assert_eq!(found.state.internal, [applied.instances["Bruno"]]);
    assert_ne!(found.state.version, ours.state.version);
    // An operator names the workspace, and reads the same.
    for (workspace, cells) in [
        (world.scope.workspace(), ours),
        (applied.workspace_id, found),
    ] {
        let named = world.rollup_cells_of(workspace, &query).await.unwrap();
        assert_eq!(named.state, cells.state);
        assert_eq!((named.keys, named.cells), (cells.keys, cells.cells));
    }
}
