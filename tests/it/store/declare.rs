//! Declarations of operators.

use leadhost_domain::connection::{AllowedHost, Connection};

use super::world::*;

async fn apply(world: &World, plan: &Plan) -> Vec<String> {
    let applied = world.apply(plan, world.now(), false).await;
    words(&applied.expect("the plan holds"))
}

fn words(applied: &Applied) -> Vec<String> {
    let changes = applied.changes.iter();
    let words = changes.map(|change| format!("{} {} {}", change.kind, change.name, change.what));
    words.collect()
}

pub async fn a_plan_creates_the_named_objects_and_reports_them(world: &World) {
    let applied = world.elsewhere("new").await;
    let expect = [
        "workspace new created",
        "partner Acme created",
        "agent Ana created",
        "agent Bruno created",
        "owner olga@example.com created",
        "product P-1 created",
        "connection site created",
        "connection portal created",
    ];
    assert_eq!(words(&applied), expect);
    let connection = world.declared(&applied.connections["site"]).await;
    assert_eq!(connection.workspace, applied.workspace_id);
    assert_eq!(connection.partner, Some(applied.partners["Acme"]));
    assert_eq!((&*connection.name, &*connection.plugin), ("site", "form"));
    assert_eq!(connection.config, "{\"a\":1}");
    assert_eq!((connection.config_version, connection.agent), (1, None));
    assert_eq!(connection.secrets, ["token"]);
    assert_eq!(connection.secrets_at.get("token"), Some(&START));
    assert_eq!(connection.sealed, [1, 2, 3]);
    assert_eq!(connection.region, "BR");
    assert_eq!(connection.time_zone, "America/Sao_Paulo");
    assert!(connection.dedupe_by_content && connection.paused.is_none());
    let workspaces = world.workspaces().await.unwrap();
    let slugs: Vec<_> = workspaces.iter().map(|w| w.slug.as_str()).collect();
    assert_eq!(slugs, ["demo", "new"]);
}

pub async fn the_same_plan_again_changes_nothing(world: &World) {
    let before = world.declared(&world.site).await;
    assert_eq!(apply(world, &plan("demo")).await, [""; 0]);
    assert_eq!(world.declared(&world.site).await, before);
}

pub async fn only_changes_are_listed_and_nothing_is_removed(world: &World) {
    let mut changed = plan("demo");
    changed.rate_limit = 60;
    changed.agents.remove(1);
    changed.agents[0].internal = true;
    changed.owners[0].name = "Olga Reis".to_owned();
    changed.products[0].description = Some("with a garden".to_owned());
    let loft = leadhost_tests::seed::product("P-2", "Loft");
    changed.products.push(loft);
    changed.connections.remove(1);
    changed.connections[0].allow.push(AllowedHost {
        scheme: UrlScheme::Https,
        authority: "graph.example.com".to_owned(),
        private: false,
    });
    let expect = [
        "workspace demo changed",
        "agent Ana changed",
        "owner olga@example.com changed",
        "product P-1 changed",
        "product P-2 created",
        "connection site changed",
    ];
    assert_eq!(apply(world, &changed).await, expect);
    assert_eq!(world.workspaces().await.unwrap()[0].rate_limit, 60);
    let agents = world.agents(world.workspace).await.unwrap();
    assert_eq!(agents.len(), 2);
    assert!(agents[0].internal);
    let connections = world.connections(Some(world.workspace)).await;
    assert_eq!(connections.unwrap().len(), 2);
}

pub async fn configuration_and_secrets_follow_the_fingerprint(world: &World) {
    let site = async || world.declared(&world.site).await;
    let mut changed = plan("demo");
    // The same secrets sealed again are other bytes: the fingerprint shows that they are the
    // same.
    changed.connections[0].sealed = vec![9, 9];
    assert_eq!(apply(world, &changed).await, [""; 0]);
    let before = site().await;
    assert_eq!((before.sealed, before.config_version), (vec![1, 2, 3], 1));
    changed.connections[0].fingerprint = "f2".to_owned();
    changed.connections[0].config = "{\"a\":2}".to_owned();
    assert_eq!(apply(world, &changed).await, ["connection site changed"]);
    let after = site().await;
    assert_eq!((after.sealed, after.config_version), (vec![9, 9], 2));
    assert_eq!(after.config, "{\"a\":2}");
    // Fields other than configuration and secrets do not change the version.
    changed.connections[0].agent = Some("Bruno".to_owned());
    assert_eq!(apply(world, &changed).await, ["connection site changed"]);
    let after = site().await;
    assert_eq!(after.agent, Some(world.second_agent));
    assert_eq!(after.config_version, 2);
}

pub async fn a_dry_run_lists_the_changes_and_makes_none(world: &World) {
    let mut changed = plan("demo");
    changed.name = "Other".to_owned();
    changed.partners.push("Beta".to_owned());
    let applied = world.apply(&changed, START, true).await.unwrap();
    let expect = ["workspace demo changed", "partner Beta created"];
    assert_eq!(words(&applied), expect);
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
    let agents = (world.first_agent, world.second_agent);
    assert_eq!(agents, (AgentId(1), AgentId(2)));
    let other = world.elsewhere("other").await;
    assert_eq!(other.instances["Ana"], AgentId(3));
}

pub async fn a_connection_is_paused_and_resumed(world: &World) {
    let paused = async || world.declared(&world.site).await.paused;
    let pause = ConnectionPause {
        since: START,
        reason: "asked for".to_owned(),
    };
    let set = world.pause_connection(&world.site, Some(&pause));
    set.await.unwrap();
    assert_eq!(paused().await.as_ref(), Some(&pause));
    // Declaring it again does not resume it.
    apply(world, &plan("demo")).await;
    assert_eq!(paused().await, Some(pause));
    let resume = world.pause_connection(&world.site, None);
    resume.await.unwrap();
    assert_eq!(paused().await, None);
}

pub async fn connections_come_by_name_and_unknown_ones_are_none(world: &World) {
    world.elsewhere("other").await;
    let names = |connections: Vec<Connection>| {
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
