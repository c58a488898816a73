//! Removed rows are no longer counted, however late the removal is read.

use super::*;

pub async fn removed_rows_are_subtracted(world: &World) {
    let first = talk(world, &phone(1)).await;
    let second = talk(world, &phone(2)).await;
    // A conversation that is added and removed between two runs was never
    // counted.
    let never = talk(world, &phone(3)).await;
    remove(world, never).await;
    count(world).await;
    fill_all(world).await;
    remove(world, first).await;
    count(world).await;
    assert_begun(world, 1).await;
    is_right(world).await;
    remove(world, second).await;
    count(world).await;
    assert!(cells(world, TALKS, ZONES[0], "none").await.cells.is_empty());
    let of_cube = cells(world, TALKS, ZONES[0], zone::tzdata()).await;
    assert!(of_cube.cells.is_empty());
    for rows in [
        "select count(*) from rollup_facts",
        "select count(*) from rollup_slots",
        "select count(*) from rollup_days",
    ] {
        assert_eq!(world.rows(rows).await, 0, "{rows}");
    }
}

pub async fn a_build_that_missed_removals_is_counted_again(world: &World) {
    let gone = talk(world, &phone(1)).await;
    talk(world, &phone(2)).await;
    count(world).await;
    let before = state(world, TALKS).await.version;
    remove(world, gone).await;
    forget_removals(world).await;
    talk(world, &phone(3)).await;
    count(world).await;
    // The serving build continues, and another one is made next to it.
    assert_begun(world, 3).await;
    assert_eq!(begin(world, TALKS).await.builds.len(), 1);
    count(world).await;
    assert_begun(world, 2).await;
    assert_ne!(state(world, TALKS).await.version, before);
    is_right(world).await;
    count(world).await;
    assert_eq!(begin(world, TALKS).await.builds, []);
}

pub async fn a_new_build_needs_no_earlier_removals(world: &World) {
    let gone = talk(world, &phone(1)).await;
    talks(world, 2..5).await;
    remove(world, gone).await;
    forget_removals(world).await;
    // Its place in the feed is long before the forgotten removals.
    let run = begin(world, TALKS).await;
    assert_step(world, &run.builds[0], 1).await;
    read(world, &run, 1).await;
    end(world, TALKS, &run, &[]).await;
    is_right(world).await;
    assert_eq!(begin(world, TALKS).await.builds, []);
}

pub async fn a_build_that_missed_removals_while_it_was_made_is_given_up(world: &World) {
    let gone = talk(world, &phone(1)).await;
    talk(world, &phone(2)).await;
    talk(world, &phone(3)).await;
    let run = begin(world, TALKS).await;
    assert_step(world, &run.builds[0], 1).await;
    remove(world, gone).await;
    forget_removals(world).await;
    read(world, &run, 1).await;
    end(world, TALKS, &run, &[]).await;
    assert_eq!(state(world, TALKS).await.version, None);
    let run = begin(world, TALKS).await;
    assert_eq!(run.builds.len(), 2, "the abandoned build is cleared away");
    read(world, &run, 1).await;
    end(world, TALKS, &run, &[]).await;
    is_right(world).await;
    assert_eq!(begin(world, TALKS).await.builds, []);
    assert_eq!(world.rows("select count(*) from rollup_facts").await, 2);
}
