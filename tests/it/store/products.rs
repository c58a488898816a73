//! Products: the result of an import, and the feed for the index.

use leadhost_tests::seed::product;

use super::two_hosts::two_hosts;
use super::world::*;

fn named(number: usize, name: &str) -> PlannedProduct {
    product(&format!("H-{number}"), name)
}

fn houses(numbers: std::ops::Range<usize>) -> Vec<PlannedProduct> {
    numbers.map(|n| named(n, &format!("House {n}"))).collect()
}

/// The world already has one product.
async fn import(world: &World, products: &[PlannedProduct]) -> Imported {
    world.advance(1).await;
    let id = ImportId(world.now());
    let done = world.import_products(world.workspace, id, products).await;
    done.expect("it imports")
}

fn counts(created: u64, changed: u64, kept: u64) -> Imported {
    Imported {
        created,
        changed,
        kept,
        repeated: Vec::new(),
    }
}

async fn remove_unseen(world: &World, import: ImportId, limit: u32) -> u64 {
    let (mut after, mut removed) = (0, 0);
    loop {
        let step = world.remove_unseen_products(world.workspace, import, after, limit);
        let step = step.await.expect("it removes");
        removed += step.removed;
        match step.next {
            Some(next) => after = next,
            None => return removed,
        }
    }
}

async fn changes(world: &World, after: i64, limit: u32) -> ProductChanges {
    let changes = world.product_changes(world.workspace, after, limit).await;
    changes.expect("it tells")
}

/// A follower of the feed: the existing products by id, and its place.
#[derive(Default)]
struct Followed {
    there: BTreeMap<ProductId, String>,
    after: i64,
}

impl Followed {
    /// Reads a page. Returns its length and the feed's clock.
    async fn page(&mut self, world: &World, limit: u32) -> (usize, i64) {
        let page = changes(world, self.after, limit).await;
        for change in &page.changes {
            assert!(change.stamp > self.after, "stamps are unique and in order");
            self.after = change.stamp;
            match &change.name {
                Some(name) => self.there.insert(change.id, name.clone()),
                None => self.there.remove(&change.id),
            };
        }
        (page.changes.len(), page.clock)
    }
}

/// Follows the feed to its end. Returns the existing products by id, and its clock.
async fn follow(world: &World, limit: u32) -> (BTreeMap<ProductId, String>, i64) {
    let mut follower = Followed::default();
    loop {
        let (length, clock) = follower.page(world, limit).await;
        if length < limit as usize {
            assert!(follower.after <= clock);
            return (follower.there, clock);
        }
    }
}

pub async fn an_import_creates_changes_and_keeps_products(world: &World) {
    assert_eq!(import(world, &houses(0..3)).await, counts(3, 0, 0));
    let (before, clock) = follow(world, 10).await;
    assert_eq!(before.len(), 4, "with the one that is declared");
    let mut again = houses(0..4);
    again[1].name = "Château é 🏠 \"quoted\"".to_owned();
    again[2].description = Some("By the sea".to_owned());
    assert_eq!(import(world, &again).await, counts(1, 2, 1));
    // The feed has only new and changed products, in its order.
    let news = changes(world, clock, 10).await;
    let names: Vec<_> = news.changes.iter().map(|c| c.name.as_deref()).collect();
    let expect = ["Château é 🏠 \"quoted\"", "House 2", "House 3"];
    assert_eq!(names, expect.map(Some));
    assert_eq!(news.clock, news.changes[2].stamp);
    let ids: Vec<_> = news.changes.iter().map(|c| c.id).collect();
    let is_same = before.contains_key(&ids[0]);
    assert!(is_same, "a changed product is the same");
    let mut found = world.products(&world.scope, &ids).await.unwrap();
    found.sort_by(|a, b| a.external_id.cmp(&b.external_id));
    assert_eq!(found[0].external_id, "H-1");
    assert_eq!(found[0].name, "Château é 🏠 \"quoted\"");
    assert_eq!(found[0].description, None);
    assert_eq!(found[1].description.as_deref(), Some("By the sea"));
    again[2].description = None;
    assert_eq!(import(world, &again).await, counts(0, 1, 3));
    assert_eq!(import(world, &again).await, counts(0, 0, 4));
    assert_eq!(import(world, &[]).await, counts(0, 0, 0));
}

pub async fn the_last_of_two_products_with_one_id_counts(world: &World) {
    let twice = [named(1, "First"), named(2, "Other"), named(1, "Last")];
    assert_eq!(import(world, &twice).await, counts(2, 0, 0));
    let (there, _) = follow(world, 10).await;
    let names: Vec<_> = there.values().map(String::as_str).collect();
    assert!(names.contains(&"Last") && !names.contains(&"First"));
}

pub async fn products_that_the_import_has_named_before_are_left_alone(world: &World) {
    import(world, &houses(0..1)).await;
    world.advance(1).await;
    let new = ImportId(world.now());
    let part = async |products: &[PlannedProduct]| {
        let part = world.import_products(world.workspace, new, products);
        part.await.expect("it imports")
    };
    assert_eq!(part(&houses(0..3)).await, counts(2, 0, 1));
    let again = [
        named(0, "Changed"),
        named(3, "House 3"),
        named(2, "Changed"),
    ];
    let again = part(&again).await;
    assert_eq!((again.created, again.changed, again.kept), (1, 0, 0));
    assert_eq!(again.repeated, ["H-0", "H-2"]);
    let (there, _) = follow(world, 10).await;
    assert!(!there.values().any(|name| name == "Changed"), "{there:?}");
}

pub async fn the_feed_has_declared_products_too(world: &World) {
    let (there, clock) = follow(world, 10).await;
    assert_eq!(there.into_values().collect::<Vec<_>>(), ["Garden flat"]);
    assert!(clock > 0);
    let mut changed = plan("demo");
    changed.products[0].name = "Garden house".to_owned();
    changed.products.extend(houses(0..2));
    world.apply(&changed, world.now(), true).await.unwrap();
    let dry = changes(world, clock, 10).await.changes;
    assert_eq!(dry, [], "not when it is dry");
    let applied = world.apply(&changed, world.now(), false).await;
    assert_eq!(applied.unwrap().changes.len(), 3);
    assert_eq!(changes(world, clock, 10).await.changes.len(), 3);
}

pub async fn a_replaced_catalogue_loses_the_products_that_were_not_named(world: &World) {
    import(world, &houses(0..25)).await;
    let (before, clock) = follow(world, 7).await;
    world.advance(1).await;
    let new = ImportId(world.now());
    let kept = houses(20..30);
    let kept = world.import_products(world.workspace, new, &kept);
    assert_eq!(kept.await.unwrap(), counts(5, 0, 5));
    // A product that is declared during an import is not removed by it.
    world.advance(1).await;
    let mut declared = plan("demo");
    declared.products.push(named(99, "Declared meanwhile"));
    world.apply(&declared, world.now(), false).await.unwrap();
    assert_eq!(remove_unseen(world, new, 6).await, 20);
    assert_eq!(remove_unseen(world, new, 6).await, 0);
    let (there, _) = follow(world, 7).await;
    assert_eq!(there.len(), 12, "{there:?}");
    // An earlier follower gets each removal once.
    let news = changes(world, clock, 100).await.changes;
    let gone: Vec<_> = news.iter().filter(|c| c.name.is_none()).collect();
    assert_eq!(gone.len(), 20);
    for change in &gone {
        assert!(before.contains_key(&change.id));
        let found = world.products(&world.scope, &[change.id]).await;
        assert_eq!(found.unwrap(), []);
    }
    // A product that returns is a new one, and the old one stays removed.
    assert_eq!(import(world, &houses(0..1)).await, counts(1, 0, 0));
    let (again, _) = follow(world, 7).await;
    assert_eq!(again.len(), 13);
    assert!(gone.iter().all(|change| !again.contains_key(&change.id)));
}

pub async fn a_product_that_an_earlier_import_changes_later_is_kept_by_the_import_that_named_it(
    world: &World,
) {
    let earlier = ImportId(world.now());
    world.advance(1).await;
    let new = ImportId(world.now());
    for (import, name) in [(new, "House 0"), (earlier, "House by the sea")] {
        let products = [named(0, name)];
        let part = world.import_products(world.workspace, import, &products);
        part.await.expect("it imports");
    }
    assert_eq!(remove_unseen(world, new, 10).await, 1, "the declared one");
    let (there, _) = follow(world, 10).await;
    let names: Vec<_> = there.into_values().collect();
    assert_eq!(names, ["House by the sea"]);
}

pub async fn a_deal_of_a_removed_product_shows_none(world: &World) {
    let mut lead = world.known_as("1");
    lead.products = vec!["P-1".to_owned()];
    world.item(super::world::lead(lead)).await;
    let shown = async || {
        let filter = DealFilter::default();
        let mut deals = world.deals(&world.scope, &filter, 10).await.unwrap();
        serde_json::to_value(deals.deals.remove(0)).expect("a deal")
    };
    assert_eq!(shown().await["property"]["externalId"], "P-1");
    world.advance(1).await;
    assert_eq!(remove_unseen(world, ImportId(world.now()), 10).await, 1);
    let deal = shown().await;
    let property = deal["property"].as_object().expect("four objects");
    assert!(property.values().all(serde_json::Value::is_null), "{deal}");
    assert!(deal["deal"]["id"].is_string(), "{deal}");
}

pub async fn removals_are_in_the_feed_for_their_time_and_no_longer(world: &World) {
    import(world, &houses(0..5)).await;
    let (_, clock) = follow(world, 10).await;
    world.advance(1).await;
    let new = ImportId(world.now());
    let kept = houses(0..2);
    let kept = world.import_products(world.workspace, new, &kept);
    kept.await.unwrap();
    let removed = remove_unseen(world, new, 100).await;
    assert_eq!(removed, 4, "and the declared one");
    let retention = kept_for(Duration::from_hours(24));
    let sweep = async |limit| world.sweep(&retention, world.now(), limit).await.unwrap();
    assert_eq!(sweep(100).await, 0);
    let news = changes(world, clock, 10).await;
    assert_eq!((news.changes.len(), news.forgotten), (4, 0));
    assert!(!news.misses_removals(clock));
    let kept_until = seconds(limits::TOMBSTONE_RETENTION);
    world.advance(kept_until - 1).await;
    assert_eq!(sweep(100).await, 0);
    world.advance(2).await;
    assert_eq!(sweep(3).await, 3);
    let news = changes(world, clock, 10).await;
    assert_eq!(news.changes.len(), 1, "the oldest go first");
    assert_eq!(news.forgotten + 1, news.changes[0].stamp);
    assert!(news.misses_removals(clock), "an older follower starts over");
    assert!(!news.misses_removals(news.clock));
    assert!(!news.misses_removals(news.forgotten));
    assert_eq!(sweep(3).await, 1);
    let news = changes(world, 0, 10).await;
    assert_eq!((news.changes.len(), news.forgotten), (2, news.clock));
}

pub async fn products_of_two_workspaces_are_separate(world: &World) {
    import(world, &houses(0..3)).await;
    let other = world.elsewhere("other").await.workspace_id;
    let theirs = scope(&world.store, other).await;
    let (there, _) = follow(world, 10).await;
    let ids: Vec<_> = there.keys().copied().collect();
    assert_eq!(ids.len(), 4);
    assert_eq!(world.products(&theirs, &ids).await.unwrap(), []);
    let news = world.product_changes(other, 0, 10).await.unwrap();
    assert_eq!(news.changes.len(), 1, "their own declared one");
    assert!(!there.contains_key(&news.changes[0].id));
    // The same external ids are other products there.
    world.advance(1).await;
    let new = ImportId(world.now());
    let made = world.import_products(other, new, &houses(0..2)).await;
    assert_eq!(made.unwrap(), counts(2, 0, 0));
    let gone = world.remove_unseen_products(other, new, 0, 100).await;
    assert_eq!(gone.unwrap().removed, 1);
    assert_eq!(follow(world, 10).await.0, there);
}

const ROUNDS: usize = 30;

/// Imports on two hosts, and a follower of the feed: it ends with exactly the
/// products that exist.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_missed_while_two_hosts_import() {
    let (world, hosts) = available!(two_hosts());
    let writers: Vec<_> = (0..2)
        .map(|writer| {
            let (host, workspace) = (Arc::clone(&hosts[writer]), world.workspace);
            tokio::spawn(async move {
                for round in 0..ROUNDS {
                    let import = ImportId(Micros(START.0 + i64::try_from(round).unwrap()));
                    let mut products: Vec<_> = (round..round + 40)
                        .map(|n| named(n, &format!("House {n} of {}", round / 3)))
                        .collect();
                    if writer == 1 {
                        products.reverse();
                    }
                    let imported = host.import_products(workspace, import, &products);
                    imported.await.expect("no import ends badly");
                    let removed = host.remove_unseen_products(workspace, import, 0, 1_000);
                    removed.await.expect("no removal ends badly");
                }
            })
        })
        .collect();
    let mut follower = Followed::default();
    loop {
        let ended = writers.iter().all(tokio::task::JoinHandle::is_finished);
        let (length, _) = follower.page(&world, 7).await;
        if ended && length == 0 {
            break;
        }
    }
    for writer in writers {
        writer.await.expect("a writer finishes");
    }
    let held = follower.there;
    assert_eq!(held, follow(&world, 1_000).await.0);
    assert!(held.len() >= 40, "{}", held.len());
}
