//! Group commit, on a real store.

use std::sync::Mutex;

use leadhost_store::writer::Writer;
use tokio::task::JoinSet;

use super::world::*;

leadhost_tests::on_every_store! {
    each_of_many_writers_gets_its_own_answer,
    a_flood_of_one_connection_does_not_keep_another_waiting,
    a_wrong_write_fails_alone,
    background_writes_are_committed_too,
    a_shutdown_commits_waiting_writes_and_accepts_no_more,
    past_its_bound_the_queue_reports_that_it_is_busy,
}

/// Submits all writes at once. Returns the results in their order.
async fn submit_all(writer: &Writer, writes: Vec<Write>) -> Vec<Result<WriteOutcome, StoreError>> {
    let mut tasks = JoinSet::new();
    for (at, write) in writes.into_iter().enumerate() {
        let writer = writer.clone();
        tasks.spawn(async move { (at, writer.submit(write).await) });
    }
    let mut answers = tasks.join_all().await;
    answers.sort_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

async fn each_of_many_writers_gets_its_own_answer(on: On) {
    let world = World::start(on).await;
    for (round, max_batch) in (1..).zip([limits::WRITES_PER_COMMIT, 7, 1]) {
        let writer = Writer::with_max_batch(Arc::clone(&world.store), max_batch);
        let writes = (0..100)
            .map(|n| world.accept(vec![lead(world.known_as(&format!("L{round}-{n}")))]))
            .collect();
        for (n, answer) in submit_all(&writer, writes).await.into_iter().enumerate() {
            let outcome = done(answer.expect("it commits"));
            assert_eq!(outcome.items[0].external_id, Some(format!("L{round}-{n}")));
        }
        assert_eq!(world.all(Entity::Deals).await.len(), round * 100);
        writer.shutdown().await;
    }
}

async fn a_flood_of_one_connection_does_not_keep_another_waiting(on: On) {
    let world = World::start(on).await;
    let writer = Writer::start(Arc::clone(&world.store));
    let answered = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = JoinSet::new();
    for number in 0..=2 * limits::WRITES_OF_ONE {
        let mut delivery = world.delivery();
        // The last one belongs to another connection.
        let is_others = number == 2 * limits::WRITES_OF_ONE;
        if is_others {
            delivery.connection = world.portal.clone();
        }
        let write = world.accept_as(delivery, Vec::new());
        let (writer, answered) = (writer.clone(), Arc::clone(&answered));
        tasks.spawn(async move {
            done(writer.submit(write).await.expect("it commits"));
            answered.lock().expect("no panic").push(is_others);
        });
    }
    tasks.join_all().await;
    let answered = answered.lock().expect("no panic");
    let place = answered.iter().position(|is_others| *is_others);
    let place = place.expect("it was answered");
    assert!(place <= limits::WRITES_OF_ONE, "it was number {place}");
}

async fn a_wrong_write_fails_alone(on: On) {
    let world = World::start(on).await;
    let writer = Writer::start(Arc::clone(&world.store));
    let known = world.delivery();
    let write = world.accept_as(known.clone(), Vec::new());
    world.write(write).await;
    let writes = (0..20)
        .map(|n| match n {
            // A delivery that is already stored: a defect of the caller.
            7 | 13 => world.accept_as(known.clone(), vec![lead(world.lead())]),
            _ => world.accept(vec![lead(world.lead())]),
        })
        .collect();
    let answers = submit_all(&writer, writes).await;
    let failed: Vec<_> = (0..20).filter(|n| answers[*n].is_err()).collect();
    assert_eq!(failed, [7, 13]);
    assert!(matches!(answers[7], Err(StoreError::Query(_))));
    assert_eq!(world.all(Entity::Deals).await.len(), 18);
}

async fn background_writes_are_committed_too(on: On) {
    let world = World::start(on).await;
    let writer = Writer::start(Arc::clone(&world.store));
    let background = writer.submit_background(world.accept(vec![lead(world.lead())]));
    let interactive = writer.submit(world.accept(vec![lead(world.lead())]));
    let (background, interactive) = tokio::join!(background, interactive);
    done(background.expect("it commits"));
    done(interactive.expect("it commits"));
    assert_eq!(world.all(Entity::Deals).await.len(), 2);
}

async fn a_shutdown_commits_waiting_writes_and_accepts_no_more(on: On) {
    let world = World::start(on).await;
    let writer = Writer::with_max_batch(Arc::clone(&world.store), 3);
    let mut tasks = JoinSet::new();
    for _ in 0..50 {
        let (writer, write) = (writer.clone(), world.accept(vec![lead(world.lead())]));
        tasks.spawn(async move { writer.submit(write).await });
    }
    // Each has its place in the queue before the shutdown is requested.
    tokio::task::yield_now().await;
    writer.shutdown().await;
    for answer in tasks.join_all().await {
        done(answer.expect("it waited, so it is committed"));
    }
    assert_eq!(world.all(Entity::Deals).await.len(), 50);
    let late = writer.submit(world.accept(Vec::new())).await;
    assert!(matches!(late, Err(StoreError::Unavailable(_))));
    writer.shutdown().await;
}

async fn past_its_bound_the_queue_reports_that_it_is_busy(on: On) {
    let world = World::start(on).await;
    let writer = Writer::start(Arc::clone(&world.store));
    let past = 10;
    // One connection may use half of the places; the rest is for others.
    let places = limits::WRITES_WAITING / 2;
    let writes = (0..places + past)
        .map(|_| world.accept(Vec::new()))
        .collect();
    let answers = submit_all(&writer, writes).await;
    let is_busy = |answer: &&_| matches!(answer, Err(StoreError::Busy));
    let busy = answers.iter().filter(is_busy).count();
    let done = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(busy, past);
    assert_eq!(done, places);
}
