//! Cubes of local days: which zone gets one, how it is filled, and when it is
//! removed.

use super::*;

async fn uses_cube(world: &World, zone: &str) -> bool {
    cells(world, TALKS, zone, zone::tzdata()).await.of_cube
}

pub async fn a_cube_that_is_being_filled_follows_changes(world: &World) {
    for zone in &ZONES[1..] {
        ask_for(world, zone, limits::ZONE_REQUESTS).await;
    }
    let mut ids = Vec::new();
    for person in 0..10 {
        ids.push(talk(world, &phone(person)).await);
        world.advance(2 * 86_400 + 5_000).await;
    }
    count(world).await;
    let cubes = due(world).await;
    assert_eq!(cubes.len(), ZONES.len());
    for round in 0..3 {
        for cube in &cubes {
            assert!(world.cube_step(cube).await.expect("a step"));
        }
        // In the filled part, and in the other part.
        alter(world, ids[round], "source = 'fair'").await;
        alter(world, ids[9 - round], "source = 'fair'").await;
        remove(world, ids[4 + round]).await;
        talk(world, &phone(20 + u32::try_from(round).expect("few"))).await;
        count(world).await;
        for zone in ZONES {
            assert!(!uses_cube(world, zone).await);
        }
    }
    for cube in &cubes {
        fill(world, cube).await;
    }
    for zone in ZONES {
        assert!(uses_cube(world, zone).await);
    }
    is_right(world).await;
    talk(world, &phone(30)).await;
    count(world).await;
    is_right(world).await;
}

pub async fn steps_of_counting_and_of_a_cube_may_cross(world: &World) {
    for person in 0..10 {
        talk(world, &phone(person)).await;
        world.advance(86_400).await;
    }
    count(world).await;
    let cubes = due(world).await;
    talks(world, 20..30).await;
    let run = begin(world, TALKS).await;
    loop {
        let (stepped, filled) = tokio::join!(
            world.rollup_step(&run.builds[0], 1),
            world.cube_step(&cubes[0]),
        );
        if stepped.expect("a step") == Stepped::Done(0) && !filled.expect("a step") {
            break;
        }
    }
    assert!(uses_cube(world, zone::DEFAULT).await);
    is_right(world).await;
}

pub async fn an_unused_zone_loses_its_cube(world: &World) {
    talk(world, &phone(1)).await;
    ask_for(world, ZONES[1], limits::ZONE_REQUESTS).await;
    count(world).await;
    fill_all(world).await;
    assert!(uses_cube(world, ZONES[1]).await);
    world.advance(seconds(limits::ZONE_UNUSED)).await;
    assert_eq!(due(world).await, []);
    assert!(!uses_cube(world, ZONES[1]).await);
    assert!(uses_cube(world, zone::DEFAULT).await);
    // Its past use is forgotten: it starts like an unknown zone.
    ask_for(world, ZONES[1], 1).await;
    assert_eq!(due(world).await, []);
    is_right(world).await;
}
