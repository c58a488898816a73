//! The messages between hosts on one store.

use super::plugins::put;
use super::world::*;

const MINUTE: Duration = Duration::from_mins(1);

fn beat(host: HostId, name: &str) -> Beat {
    Beat {
        host,
        name: name.to_owned(),
        version: "1.0.0".to_owned(),
        report: HostReport::default(),
    }
}

async fn beats(store: &Store, host: HostId, name: &str) {
    store.beat(&beat(host, name)).await.unwrap();
}

async fn propose(store: &Store, host: HostId, name: &str, digest: &Digest) -> Option<Proposal> {
    store.propose(host, name, digest, MINUTE).await.unwrap()
}

async fn flip(store: &Store, proposal: &Proposal) -> Option<Activation> {
    store.flip(proposal, START).await.unwrap()
}

pub async fn a_host_is_listed_with_its_last_report_until_it_leaves(world: &World) {
    let store = &world.store;
    let (one, two) = (HostId::new(START), HostId::new(START));
    beats(store, two, "b").await;
    beats(store, one, "a").await;
    let mut again = beat(one, "a");
    let digest = Digest::compute(b"1");
    let serves = Serves {
        digest: Some(digest.clone()),
        generation: 7,
        error: None,
    };
    again.report.serves.insert("form".to_owned(), serves);
    let failed = Preparation {
        digest,
        failure: Some("it has \0 in it".to_owned()),
    };
    again.report.prepared.insert(3, failed);
    store.beat(&again).await.unwrap();
    let seen = store.hosts().await.unwrap();
    let names: Vec<_> = seen.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(seen.iter().all(|host| host.alive));
    assert_eq!(seen[0].report.serves, again.report.serves);
    assert!(seen[0].report.prepared[&3].failure.is_some());
    store.leave(one).await.unwrap();
    let seen = store.hosts().await.unwrap();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].id, two);
}

pub async fn one_proposal_of_a_plugin_is_open_at_a_time_and_is_activated_once(world: &World) {
    let store = &world.store;
    let (one, two) = (put(world, b"1").await, put(world, b"2").await);
    let (host, rival) = (HostId::new(START), HostId::new(START));
    beats(store, host, "a").await;
    beats(store, rival, "b").await;
    let given_up = propose(store, host, "form", &two).await;
    let given_up = given_up.expect("no other stands");
    let proposal = propose(store, host, "form", &one).await;
    let proposal = proposal.expect("the host's own gives way");
    assert!(flip(store, &given_up).await.is_none());
    assert_eq!(propose(store, rival, "form", &two).await, None);
    let other = propose(store, host, "other", &two).await;
    let other = other.expect("plugins are independent");
    let standing = store.proposals().await.unwrap();
    assert_eq!(standing, [proposal.clone(), other]);

    let first = flip(store, &proposal).await.unwrap();
    assert_eq!((first.digest, first.previous), (one.clone(), None));
    assert!(flip(store, &proposal).await.is_none());

    let next = propose(store, rival, "form", &two).await;
    let next = next.expect("the one before is over");
    assert!(next.number > proposal.number);
    let second = flip(store, &next).await.unwrap();
    assert_eq!((second.digest, second.previous), (two, Some(one)));
    assert!(second.generation > first.generation);
    let active = store.activations().await.unwrap();
    assert_eq!(active[0].generation, second.generation);
}

pub async fn a_proposal_that_is_withdrawn_never_serves(world: &World) {
    let store = &world.store;
    let one = put(world, b"1").await;
    let host = HostId::new(START);
    beats(store, host, "a").await;
    let proposal = propose(store, host, "form", &one).await;
    let proposal = proposal.expect("no other stands");
    store.withdraw(&proposal).await.unwrap();
    assert!(flip(store, &proposal).await.is_none());
    assert!(store.activations().await.unwrap().is_empty());
    let again = propose(store, host, "form", &one).await;
    // Withdrawing an old proposal leaves the new one.
    store.withdraw(&proposal).await.unwrap();
    let standing = store.proposals().await.unwrap();
    assert_eq!(standing, [again.expect("none stands")]);
}

pub async fn a_proposal_of_a_host_that_left_blocks_no_other(world: &World) {
    let store = &world.store;
    let (one, two) = (put(world, b"1").await, put(world, b"2").await);
    let (gone, here) = (HostId::new(START), HostId::new(START));
    beats(store, gone, "a").await;
    let first = propose(store, gone, "form", &one).await;
    store.leave(gone).await.unwrap();
    assert!(propose(store, here, "form", &two).await.is_some());
    let first = first.expect("none stood");
    assert!(flip(store, &first).await.is_none());
}

pub async fn a_proposal_of_a_dead_host_blocks_no_other(world: &World) {
    let store = &world.store;
    let (one, two) = (put(world, b"1").await, put(world, b"2").await);
    let (dead, here) = (HostId::new(START), HostId::new(START));
    beats(store, dead, "a").await;
    let first = propose(store, dead, "form", &one).await;
    let first = first.expect("none stood");
    assert_eq!(propose(store, here, "form", &two).await, None);
    let silence = seconds(limits::HOST_DEAD);
    match world.on {
        On::Sqlite => world.advance(silence).await,
        // There the time of heartbeats is the database's own.
        On::Postgres(_) => {
            let aged = format!("update hosts set seen_at = seen_at - interval '{silence} s'");
            world.change(&aged).await;
        }
    }
    assert!(propose(store, here, "form", &two).await.is_some());
    assert!(flip(store, &first).await.is_none());
}

pub async fn accepted_requests_count_against_the_rate_and_refused_ones_do_not(world: &World) {
    let price = Price {
        each: Duration::from_secs(20),
        full: Duration::from_secs(60),
    };
    let pay = async |workspace: WorkspaceId| {
        let now = world.now();
        world.pay(workspace, price, now).await.unwrap()
    };
    let debt = |seconds, refused| Debt {
        owed: Duration::from_secs(seconds),
        refused,
    };
    for owed in [20, 40, 60] {
        assert_eq!(pay(world.workspace).await, debt(owed, false));
    }
    for _ in 0..3 {
        assert_eq!(pay(world.workspace).await, debt(60, true));
    }
    assert!(!pay(WorkspaceId::new(START)).await.refused, "another one");
    world.advance(19).await;
    assert_eq!(pay(world.workspace).await, debt(41, true));
    world.advance(1).await;
    assert_eq!(pay(world.workspace).await, debt(60, false));
    world.advance(3_600).await;
    assert_eq!(pay(world.workspace).await, debt(20, false));
    // If the clock is set back, the debt is at most the whole allowance.
    world.advance(-7_200).await;
    assert_eq!(pay(world.workspace).await, debt(60, true));
    world.advance(20).await;
    assert!(!pay(world.workspace).await.refused);
}

pub async fn announcements_arrive(world: &World) {
    let mut announcements = world.announcements();
    until("the announcement arrives", async || {
        world.announce(Announcement::Keys).await.unwrap();
        while let Ok(what) = announcements.try_recv() {
            if what == Announcement::Keys {
                return Some(());
            }
        }
        None
    })
    .await;
}

pub async fn the_first_sealing_key_counts_until_its_owner_replaces_it(world: &World) {
    let store = &world.store;
    assert_eq!(store.sealing_key().await.unwrap(), None);
    assert_eq!(store.seal_with("a", &[]).await.unwrap(), "a");
    assert_eq!(store.seal_with("b", &[]).await.unwrap(), "a");
    assert_eq!(store.sealing_key().await.unwrap().as_deref(), Some("a"));
    let older = ["x".to_owned(), "a".to_owned()];
    assert_eq!(store.seal_with("b", &older).await.unwrap(), "b");
    assert_eq!(store.seal_with("a", &[]).await.unwrap(), "b");
}
