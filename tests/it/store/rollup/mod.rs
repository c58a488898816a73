//! The promises of every store about analytics. The counts of a store are
//! compared with a plain recount of its rows, zone by zone: by the days of a cube
//! if there is one, and by slots.

pub mod builds;
pub mod counting;
pub mod cubes;
pub mod removals;

use leadhost_domain::analytics::{CountKey, MeasureBits, MeasureCounts, MetricSet, TimeSlot, add};
use leadhost_domain::time;
use leadhost_domain::zone::{self, Day, Zone};

use super::messages::{accepted_at, inbound_from, receive, send, settle_send};
use super::world::*;

/// The default zone, one with days of 23.5 hours, and one with an odd offset.
pub const ZONES: [&str; 3] = [zone::DEFAULT, "Australia/Lord_Howe", "Asia/Kathmandu"];

pub const TALKS: MetricSet = MetricSet::Conversations;

pub type Table = BTreeMap<(Day, CountKey), MeasureCounts>;

/// Begins a conversation with a message to this number.
pub async fn talk(world: &World, to: &str) -> ConversationId {
    let new = send(world, to).await;
    let id = format!("to-{}", new.message);
    let taken = accepted_at(&[&id], Some(&to[1..]), world.now());
    settle_send(world, new.message, 0, taken).await;
    new.conversation
}

/// Begins conversations with this many people, from the first number on.
pub async fn talks(world: &World, people: std::ops::Range<u32>) -> Vec<ConversationId> {
    let mut talks = Vec::new();
    for person in people {
        talks.push(talk(world, &phone(person)).await);
    }
    talks
}

/// The numbers of people, in sequence.
pub fn phone(person: u32) -> String {
    format!("+55119{:08}", 87_000_000 + person)
}

/// The person writes.
pub async fn answer(world: &World, to: &str) {
    let id = format!("from-{to}-{}", world.now().0);
    receive(world, inbound_from(world, &id, to)).await;
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
async fn try_read(store: &Store, run: &AnalyticsRun, limit: u32) -> Result<u64, StoreError> {
    let mut changes = 0;
    for build in &run.builds {
        loop {
            match store.rollup_step(build, limit).await? {
                Stepped::More(read) => changes += read,
                Stepped::Done(read) => {
                    changes += read;
                    break;
                }
                Stepped::Passed => {}
            }
        }
    }
    Ok(changes)
}

pub async fn read(world: &World, run: &AnalyticsRun, limit: u32) -> u64 {
    try_read(world, run, limit).await.expect("steps")
}

/// Steps once over this many changes, and not to the end.
pub async fn assert_step(world: &World, build: &Build, changes: u32) {
    let stepped = world.rollup_step(build, changes).await;
    assert_eq!(stepped.expect("a step"), Stepped::More(changes.into()));
}

pub async fn end(world: &World, set: MetricSet, run: &AnalyticsRun, unread: &[Build]) {
    let ended = world.rollup_end(set, run, unread, 0).await;
    ended.expect("it ends");
}

/// Counts as the job does.
pub async fn try_count(store: &Store, set: MetricSet, limit: u32) -> Result<u64, StoreError> {
    let run = store.rollup_begin(set).await?;
    let changes = try_read(store, &run, limit).await?;
    store.rollup_end(set, &run, &[], changes).await?;
    Ok(changes)
}

pub async fn count_by(world: &World, set: MetricSet, limit: u32) -> u64 {
    try_count(world, set, limit).await.expect("it counts")
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
fn days(world: &World) -> (Day, Day) {
    let zone = Zone::named(zone::DEFAULT).expect("a zone");
    let began = zone.day_of(world.began);
    (began.plus(-5), began.plus(95))
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
    let (first, last) = days(world);
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

#[track_caller]
pub fn table(cells: &RollupCells) -> Table {
    let keys: BTreeMap<_, _> = cells
        .keys
        .iter()
        .map(|(number, key)| (number, key))
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
    let mut tests = world.all(Entity::Deals).await;
    tests.retain(|deal| deal["props"]["test"] == true);
    let tests: Vec<_> = tests.iter().map(|deal| &deal["id"]).collect();
    let mut table = Table::new();
    for row in world.all(Entity::Conversations).await {
        let Some(began) = time_of(&row, "first_message_at") else {
            continue;
        };
        if tests.contains(&&row["deal_id"]) {
            continue;
        }
        let text = |name: &str| row[name].as_str().map(str::to_owned);
        let key = CountKey::new(text("agent_type"), row["agent_id"].as_i64(), text("source"));
        let times = [
            "answered_at",
            "no_response_at",
            "appointment_at",
            "transferred_at",
        ];
        let [answered, silent, appointment, transferred] =
            times.map(|name| time_of(&row, name).is_some());
        let met = [true, answered, silent, appointment, transferred];
        let counts = table.entry((rules.day_of(began), key)).or_default();
        add(counts, &MeasureBits::from_flags(&met).counts(), 1);
    }
    table
}

/// Checks the sum of begun conversations.
pub async fn assert_begun(world: &World, talks: i64) {
    assert_eq!(sums(world, TALKS).await, [talks, 0, 0, 0, 0]);
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
