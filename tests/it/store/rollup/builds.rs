//! Builds: one serves, another is made next to it, old ones are removed; and the
//! effects of runs that fail or overlap.

use super::*;

pub async fn two_steps_at_once_count_once(world: &World) {
    talks(world, 0..12).await;
    let run = begin(world, TALKS).await;
    let build = &run.builds[0];
    loop {
        let step = || world.rollup_step(build, 2);
        let (one, other, third) = tokio::join!(step(), step(), step());
        let all = [one, other, third].map(|step| step.expect("a step"));
        if all.contains(&Stepped::Done(0)) {
            break;
        }
    }
    end(world, TALKS, &run, &[]).await;
    assert_begun(world, 12).await;
    is_right(world).await;
}

pub async fn a_rebuild_serves_when_it_is_whole_and_the_old_rows_go(world: &World) {
    for person in 0..5 {
        talk(world, &phone(person)).await;
        world.advance(50_000).await;
    }
    count(world).await;
    fill_all(world).await;
    let before = state(world, TALKS).await.version;
    let again = world.rollup_rebuild(TALKS, Some(world.workspace)).await;
    assert_eq!(again.expect("it begins"), 1);
    let again = world.rollup_rebuild(TALKS, None).await;
    assert_eq!(again.expect("it is asked"), 0, "one is being made");
    let run = begin(world, TALKS).await;
    assert_eq!(run.builds.len(), 1);
    let stepped = world.rollup_step(&run.builds[0], 2).await;
    assert_eq!(stepped.expect("a step"), Stepped::More(2));
    // Changes during the rebuild go into both builds.
    answer(world, &phone(1)).await;
    count(world).await;
    is_right(world).await;
    let of_cube = async || cells(world, TALKS, ZONES[0], zone::tzdata()).await.of_cube;
    assert!(of_cube().await);
    let now = state(world, TALKS).await.version.expect("it serves");
    let before = before.expect("it served");
    assert_eq!(now.0, before.0, "it has no cube yet");
    let status = world.rollup_status().await.unwrap();
    assert_eq!(status[0].making.len(), 1);
    fill_all(world).await;
    count(world).await;
    let after = state(world, TALKS).await.version.expect("it serves");
    assert_ne!(after.0, now.0);
    assert!(of_cube().await);
    is_right(world).await;
    // The old build is removed in small steps.
    count_by(world, TALKS, 1).await;
    assert_eq!(begin(world, TALKS).await.builds, []);
    for (rows, count) in [
        ("select count(*) from rollup_builds", 1),
        ("select count(*) from rollup_facts", 5),
        ("select count(*) from rollup_cubes", 1),
    ] {
        assert_eq!(world.rows(rows).await, count, "{rows}");
    }
    is_right(world).await;
}

pub async fn counts_that_were_not_read_keep_their_as_of(world: &World) {
    let as_of = async || state(world, TALKS).await.as_of;
    talk(world, &phone(1)).await;
    let first = world.now();
    count(world).await;
    assert_eq!(as_of().await, Some(first));
    for _ in 0..2 {
        world.advance(60).await;
        talk(world, &phone(2)).await;
        let run = begin(world, TALKS).await;
        end(world, TALKS, &run, &run.builds).await;
        assert_eq!(as_of().await, Some(first));
        let status = world.rollup_status().await.unwrap();
        assert_eq!(status[0].as_of, Some(world.now()));
        assert_eq!(status[0].behind, [(world.workspace, Some(first))]);
    }
    world.advance(60).await;
    count(world).await;
    assert_eq!(as_of().await, Some(world.now()));
    let status = world.rollup_status().await.unwrap();
    assert_eq!(status[0].behind, []);
}

pub async fn a_run_that_ends_late_takes_nothing_back(world: &World) {
    let as_of = async || state(world, TALKS).await.as_of;
    talk(world, &phone(1)).await;
    count(world).await;
    world.advance(60).await;
    let slow = begin(world, TALKS).await;
    world.advance(60).await;
    count(world).await;
    let newest = world.now();
    end(world, TALKS, &slow, &[]).await;
    assert_eq!(as_of().await, Some(newest));
    // Counts that the later run could not read keep the as-of of the run that
    // did.
    world.advance(60).await;
    talk(world, &phone(2)).await;
    let slow = begin(world, TALKS).await;
    read(world, &slow, 1_000).await;
    world.advance(60).await;
    talk(world, &phone(3)).await;
    let quick = begin(world, TALKS).await;
    end(world, TALKS, &quick, &quick.builds).await;
    assert_eq!(as_of().await, Some(newest));
    end(world, TALKS, &slow, &[]).await;
    assert_eq!(as_of().await, Some(slow.as_of));
    count(world).await;
    assert_eq!(as_of().await, Some(world.now()));
}
