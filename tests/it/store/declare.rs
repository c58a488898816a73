//! Declarations of operators.

use leadhost_domain::connection::{AllowedHost, ConnectionPause};
use leadhost_domain::exchange::UrlScheme;
use leadhost_domain::id::{AgentId, ConnectionId};
use leadhost_store::{Plan, StoreError};
use leadhost_tests::has;

use super::world::*;

async fn apply(world: &World, plan: &Plan) -> Vec<String> {
    let applied = world
        .apply(plan, world.now(), false)
        .await
        .expect("the plan holds");
    words(&applied)
}

fn words(applied: &leadhost_store::Applied) -> Vec<String> {
    applied
        .changes
        .iter()
        .map(|change| format!("{} {} {}", change.kind, change.name, change.what))
        .collect()
}

pub async fn a_plan_creates_the_named_objects_and_reports_them(world: &World) {
    let applied = world.apply(&plan("new"), START, false).await.unwrap();
    assert_eq!(
        words(&applied),
        [
            "workspace new created",
            "partner Acme created",
            "agent Ana created",
            "agent Bruno created",
            "owner olga@example.com created",
            "product P-1 created",
            "connection site created",
            "connection portal created"
        ]
    );
    let connection = world
        .connection(&applied.connections["site"])
        .await
        .unwrap()
        .unwrap();
    assert_eq!(connection.workspace, applied.workspace_id);
    assert_eq!(connection.partner, Some(applied.partners["Acme"]));
    assert_eq!(
        (connection.name.as_str(), connection.plugin.as_str()),
        ("site", "form")
    );
    assert_eq!(connection.config, "{\"a\":1}");
    assert_eq!(connection.config_version, 1);
    assert_eq!(connection.agent, None);
    assert_eq!(connection.secrets, ["token"]);
    assert_eq!(connection.secrets_at.get("token"), Some(&START));
    assert_eq!(connection.sealed, [1, 2, 3]);
    assert_eq!(
        (connection.region.as_str(), connection.time_zone.as_str()),
        ("BR", "America/Sao_Paulo")
    );
    assert!(connection.dedupe_by_content && connection.paused.is_none());
    let workspaces = world.workspaces().await.unwrap();
    let slugs: Vec<_> = workspaces.iter().map(|w| w.slug.as_str()).collect();
    assert_eq!(slugs, ["demo", "new"]);
}

pub async fn the_same_plan_again_changes_nothing(world: &World) {
    let before = world.connection(&world.site).await.unwrap();
    assert_eq!(apply(world, &plan("demo")).await, Vec::<String>::new());
    assert_eq!(world.connection(&world.site).await.unwrap(), before);
}

pub async fn only_changes_are_listed_and_nothing_is_removed(world: &World) {
    let mut changed = plan("demo");
    changed.rate_limit = 60;
    changed.agents.remove(1);
    changed.agents[0].internal = true;
    changed.owners[0].name = "Olga Reis".to_owned();
    changed.products[0].description = Some("with a garden".to_owned());
    changed
        .products
        .push(leadhost_tests::seed::product("P-2", "Loft"));
    changed.connections.remove(1);
    changed.connections[0].allow.push(AllowedHost {
        scheme: UrlScheme::Https,
        authority: "graph.example.com".to_owned(),
        private: false,
    });
    assert_eq!(
        apply(world, &changed).await,
        [
            "workspace demo changed",
            "agent Ana changed",
            "owner olga@example.com changed",
            "product P-1 changed",
            "product P-2 created",
            "connection site changed"
        ]
    );
    assert_eq!(world.workspaces().await.unwrap()[0].rate_limit, 60);
    let agents = world.agents(world.workspace).await.unwrap();
    assert_eq!(agents.len(), 2);
    assert!(agents[0].internal);
    assert_eq!(
        world
            .connections(Some(world.workspace))
            .await
            .unwrap()
            .len(),
        2
    );
}

pub async fn configuration_and_secrets_follow_the_fingerprint(world: &World) {
    let mut changed = plan("demo");
    // The same secrets sealed again are other bytes: the fingerprint shows that they are the
    // same.
    changed.connections[0].sealed = vec![9, 9];
    assert_eq!(apply(world, &changed).await, Vec::<String>::new());
    let site = world.connection(&world.site).await.unwrap().unwrap();
    assert_eq!((site.sealed, site.config_version), (vec![1, 2, 3], 1));
    changed.connections[0].fingerprint = "f2".to_owned();
    changed.connections[0].config = "{\"a\":2}".to_owned();
    assert_eq!(apply(world, &changed).await, ["connection site changed"]);
    let site = world.connection(&world.site).await.unwrap().unwrap();
    assert_eq!((site.sealed, site.config_version), (vec![9, 9], 2));
    assert_eq!(site.config, "{\"a\":2}");
    // Fields other than configuration and secrets do not change the version.
    changed.connections[0].agent = Some("Bruno".to_owned());
    assert_eq!(apply(world, &changed).await, ["connection site changed"]);
    let site = world.connection(&world.site).await.unwrap().unwrap();
    assert_eq!(
        (site.agent, site.config_version),
        (Some(world.second_agent), 2)
    );
}

pub async fn a_dry_run_lists_the_changes_and_makes_none(world: &World) {
    let mut changed = plan("demo");
    changed.name = "Other".to_owned();
    changed.partners.push("Beta".to_owned());
    let applied = world.apply(&changed, START, true).await.unwrap();
    assert_eq!(
        words(&applied),
        ["workspace demo changed", "partner Beta created"]
    );
    assert_eq!(world.workspaces().await.unwrap()[0].name, "Demo");
    assert_eq!(world.partners(world.workspace).await.unwrap().len(), 1);
    assert_eq!(apply(world, &changed).await.len(), 2);
}

pub async fn a_plan_with_an_unknown_name_changes_nothing(world: &World) {
    let mut wrong = plan("demo");
    wrong.name = "Other".to_owned();
    wrong.connections[1].agent = Some("Nobody".to_owned());
    let error = world.apply(&wrong, START, false).await.unwrap_err();
    let StoreError::Refused(message) = error else {
        panic!("not refused: {error}");
    };
    has!(message, "portal", "Nobody");
    assert_eq!(world.workspaces().await.unwrap()[0].name, "Demo");
}

pub async fn agent_ids_grow_from_one_over_all_workspaces(world: &World) {
    assert_eq!(
        (world.first_agent, world.second_agent),
        (AgentId(1), AgentId(2))
    );
    let other = world.apply(&plan("other"), START, false).await.unwrap();
    assert_eq!(other.instances["Ana"], AgentId(3));
}

pub async fn a_connection_is_paused_and_resumed(world: &World) {
    let pause = ConnectionPause {
        since: START,
        reason: "asked for".to_owned(),
    };
    world
        .pause_connection(&world.site, Some(&pause))
        .await
        .unwrap();
    let site = world.connection(&world.site).await.unwrap().unwrap();
    assert_eq!(site.paused, Some(pause));
    // Declaring it again does not resume it.
    apply(world, &plan("demo")).await;
    assert!(
        world
            .connection(&world.site)
            .await
            .unwrap()
            .unwrap()
            .paused
            .is_some()
    );
    world.pause_connection(&world.site, None).await.unwrap();
    assert!(
        world
            .connection(&world.site)
            .await
            .unwrap()
            .unwrap()
            .paused
            .is_none()
    );
}

pub async fn connections_come_by_name_and_unknown_ones_are_none(world: &World) {
    world.apply(&plan("other"), START, false).await.unwrap();
    let names = |connections: Vec<leadhost_domain::connection::Connection>| {
        let names: Vec<_> = connections.into_iter().map(|c| c.name).collect();
        names.join(" ")
    };
    let of_one = world.connections(Some(world.workspace)).await.unwrap();
    assert_eq!(names(of_one), "portal site");
    let all = world.connections(None).await.unwrap();
    assert_eq!(names(all), "portal portal site site");
    let unknown = ConnectionId::generate();
    assert!(world.connection(&unknown).await.unwrap().is_none());
}
