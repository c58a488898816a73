//! The promises of every store about analytics. The counts of a store are
//! compared with a plain recount of its rows, zone by zone: by the days of a cube
//! if there is one, and by slots.

pub mod builds;
pub mod counting;
pub mod cubes;
pub mod removals;

use std::collections::BTreeMap;

use leadhost_domain::analytics::{CountKey, MeasureBits, MeasureCounts, MetricSet, TimeSlot, add};
use leadhost_domain::contact;
use leadhost_domain::id::ConversationId;
use leadhost_domain::message::MessageState;
use leadhost_domain::row::Entity;
use leadhost_domain::time::{self, Micros};
use leadhost_domain::zone::{self, Day, Zone};
use leadhost_store::*;
use serde_json::Value;

use super::messages::{at, inbound, number, receive, settle_send, store, urgent};
use super::world::*;

/// The default zone, one with days of 23.5 hours, and one with an odd offset.
pub const ZONES: [&str; 3] = [zone::DEFAULT, "Australia/Lord_Howe", "Asia/Kathmandu"];

pub const TALKS: MetricSet = MetricSet::Conversations;

pub type Table = BTreeMap<(Day, CountKey), MeasureCounts>;

/// Begins a conversation with a message to this number.
pub async fn talk(world: &World, to: &str) -> ConversationId {
    let new = store(world, urgent(world, to)).await;
    let taken = SendOutcome::Accepted {
        external_ids: vec![format!("to-{}", new.message)],
        recipient_id: Some(to.trim_start_matches('+').to_owned()),
        progress: at(MessageState::Accepted, world.now()),
        word: None,
    };
    settle_send(world, new.message, 0, taken).await;
    new.conversation
}

/// The numbers of people, in sequence.
pub fn phone(person: u32) -> String {
    format!("+55119{:08}", 87_000_000 + person)
}

/// The person writes.
pub async fn answer(world: &World, to: &str) {
    let digits = to.trim_start_matches('+');
    let new = NewInboundMessage {
        sender_id: digits.to_owned(),
        phone: Some(number(to)),
        contact_keys: contact::channel_keys("whatsapp", digits),
        ..inbound(world, &format!("from-{digits}-{}", world.now().0))
    };
    receive(world, new).await;
}

/// Changes a conversation directly in the store: `set` names columns that both
/// stores have.
pub async fn alter(world: &World, conversation: ConversationId, set: &str) {
    world
        .change(&format!(
            "update feed_clock set last_us = last_us + 1 where entity = 1
             and workspace_id = {0};
             update conversations set {set}, cursor_us = (
               select last_us from feed_clock where entity = 1 and workspace_id = {0})
             where id = {1}",
            world.on.id(world.workspace),
            world.on.id(conversation),
        ))
        .await;
}

/// Removes a conversation, with a tombstone in its feed.
pub async fn remove(world: &World, conversation: ConversationId) {
    world
        .change(&format!(
            "update feed_clock set last_us = last_us + 1 where entity = 1
             and workspace_id = {0};
             insert into tombstones (workspace_id, entity, cursor_us, id)
             select workspace_id, 1, last_us, {1} from feed_clock
             where entity = 1 and workspace_id = {0};
             delete from conversations where id = {1}",
            world.on.id(world.workspace),
            world.on.id(conversation),
        ))
        .await;
}

/// Removes all tombstones from the feed.
pub async fn forget_removals(world: &World) {
    world
        .change(
            "update feed_clock set forgotten_us = last_us where entity = 1;
             delete from tombstones where entity = 1",
        )
        .await;
}

pub async fn begin(world: &World, set: MetricSet) -> AnalyticsRun {
    world.rollup_begin(set).await.expect("it begins")
}

/// Reads the builds of a run to their end, this many changes at a time. Returns
/// the number of changes.
pub async fn read(world: &World, run: &AnalyticsRun, limit: u32) -> u64 {
    let mut changes = 0;
    for build in &run.builds {
        loop {
            match world.rollup_step(build, limit).await.expect("a step") {
                Stepped::More(read) => changes += read,
                Stepped::Done(read) => {
                    changes += read;
                    break;
                }
                Stepped::Passed => {}
            }
        }
    }
    changes
}

pub async fn end(world: &World, set: MetricSet, run: &AnalyticsRun, unread: &[Build]) {
    let ended = world.rollup_end(set, run, unread, 0).await;
    ended.expect("it ends");
}

/// Counts as the job does.
pub async fn count_by(world: &World, set: MetricSet, limit: u32) -> u64 {
    let run = begin(world, set).await;
    let changes = read(world, &run, limit).await;
    end(world, set, &run, &[]).await;
    changes
}

pub async fn count(world: &World) -> u64 {
    count_by(world, TALKS, 1_000).await
}

pub async fn due(world: &World) -> Vec<Cube> {
    world.cubes_due(zone::tzdata(), world.now()).await.unwrap()
}

pub async fn fill(world: &World, cube: &Cube) {
    while world.cube_step(cube).await.expect("a step") {}
}

/// Fills every cube that is due.
pub async fn fill_all(world: &World) {
    for cube in due(world).await {
        fill(world, &cube).await;
    }
    assert_eq!(due(world).await, []);
}

/// Requests days of the zone this many times.
pub async fn ask_for(world: &World, zone: &str, requests: u64) {
    let used = ZoneUse {
        workspace: world.workspace,
        zone: zone.to_owned(),
        requests,
        used_at: world.now(),
    };
    world.note_zones(&[used]).await.expect("it notes");
}

pub async fn state(world: &World, set: MetricSet) -> RollupState {
    world.rollup_state(&world.scope, set).await.unwrap()
}

/// The days around everything in the tests.
fn days() -> (Day, Day) {
    let first = Day::parse("2025-06-10").expect("a day");
    (first, first.plus(100))
}

fn bucket(rules: &Zone, from: Day, to: Day) -> Slots {
    Slots {
        from: TimeSlot::from(rules.start_of(from)),
        to: TimeSlot::from(rules.start_of(to)),
    }
}

/// Returns every single day of the zone: from a cube, unless there is none or its
/// rules have another version.
pub async fn cells(world: &World, set: MetricSet, zone: &str, tzdata: &str) -> RollupCells {
    let rules = Zone::named(zone).expect("a zone");
    let (first, last) = days();
    let all = (first.0..last.0).map(Day);
    let query = CellQuery {
        set,
        zone,
        tzdata,
        days: (first, last),
        edges: Vec::new(),
        buckets: all
            .map(|day| (day, bucket(&rules, day, day.plus(1))))
            .collect(),
    };
    asked(world, &world.scope, &query).await
}

pub async fn asked(world: &World, scope: &Scope, query: &CellQuery<'_>) -> RollupCells {
    world.rollup_cells(scope, query).await.unwrap()
}

pub fn table(cells: &RollupCells) -> Table {
    let keys: BTreeMap<i64, &CountKey> = cells
        .keys
        .iter()
        .map(|(number, key)| (*number, key))
        .collect();
    let mut table = Table::new();
    for cell in &cells.cells {
        let key = keys[&cell.key].clone();
        let twice = table.insert((cell.day, key), cell.counts);
        assert_eq!(twice, None, "a cell comes once");
        assert_ne!(cell.counts, MeasureCounts::default(), "no cell is empty");
    }
    table
}

fn time_of(row: &Value, name: &str) -> Option<Micros> {
    row[name].as_str().and_then(time::parse)
}

/// Counts the rows by local days.
pub async fn recounted(world: &World, zone: &str) -> Table {
    let rules = Zone::named(zone).expect("a zone");
    let tests: Vec<Value> = world
        .all(Entity::Deals)
        .await
        .into_iter()
        .filter(|deal| deal["props"]["test"] == true)
        .map(|deal| deal["id"].clone())
        .collect();
    let mut table = Table::new();
    for row in world.all(Entity::Conversations).await {
        let Some(began) = time_of(&row, "first_message_at") else {
            continue;
        };
        if tests.contains(&row["deal_id"]) {
            continue;
        }
        let text = |name: &str| row[name].as_str().map(str::to_owned);
        let key = CountKey::new(text("agent_type"), row["agent_id"].as_i64(), text("source"));
        let met = [
            true,
            time_of(&row, "answered_at").is_some(),
            time_of(&row, "no_response_at").is_some(),
            time_of(&row, "appointment_at").is_some(),
            time_of(&row, "transferred_at").is_some(),
        ];
        let counts = table.entry((rules.day_of(began), key)).or_default();
        add(counts, &MeasureBits::from_flags(&met).counts(), 1);
    }
    table
}

/// Checks that the counts equal a recount of the rows, in each zone, by days and
/// by slots.
pub async fn is_right(world: &World) {
    for zone in ZONES {
        let expect = recounted(world, zone).await;
        let by_days = cells(world, TALKS, zone, zone::tzdata()).await;
        assert_eq!(table(&by_days), expect, "{zone}, cube: {}", by_days.of_cube);
        let by_slots = cells(world, TALKS, zone, "none").await;
        assert!(!by_slots.of_cube);
        assert_eq!(table(&by_slots), expect, "{zone}, slots");
    }
}

/// Returns the sums over everything, in the order of the measures.
pub async fn sums(world: &World, set: MetricSet) -> MeasureCounts {
    let mut sums = MeasureCounts::default();
    for cell in cells(world, set, zone::DEFAULT, zone::tzdata()).await.cells {
        add(&mut sums, &cell.counts, 1);
    }
    sums
}
