//! Components, activations, refusals.

use leadhost::domain::exchange::SenderChecks;
use leadhost::domain::plugin::{Description, Digest};
use leadhost::domain::publisher::Publisher;
use leadhost::store::{PluginRecord, Refusal};

use super::world::*;

pub fn plugin(bytes: &[u8]) -> PluginRecord {
    PluginRecord {
        digest: Digest::compute(bytes),
        description: Description {
            name: "form".to_owned(),
            version: "1.0.0".to_owned(),
            summary: "Forms".to_owned(),
            config_schema: "{}".to_owned(),
            secrets: Vec::new(),
            hosts: vec!["graph.example.com".to_owned()],
        },
        contract: "leadhost:converter@1.0.0".to_owned(),
        bytes: u64::try_from(bytes.len()).unwrap(),
        checks: SenderChecks::default(),
        golden: 3,
        origin: "upload".to_owned(),
        publisher: Publisher::Inbox,
        stored_at: START,
    }
}

pub async fn a_component_comes_back_by_its_digest(world: &World) {
    let bytes = [0, 97, 115, 109, 255];
    let new = plugin(&bytes);
    world.store.put_plugin(&new, &bytes).await.unwrap();
    let found = world.store.plugin(&new.digest).await.unwrap().unwrap();
    assert_eq!(
        serde_json::to_value(&found).unwrap(),
        serde_json::to_value(&new).unwrap()
    );
    let wasm = world.store.plugin_wasm(&new.digest).await.unwrap();
    assert_eq!(wasm.as_deref(), Some(&bytes[..]));
    let unknown = Digest::compute(b"other");
    assert!(world.store.plugin(&unknown).await.unwrap().is_none());
    assert!(world.store.plugin_wasm(&unknown).await.unwrap().is_none());
}

pub async fn a_known_component_is_left_as_it_is(world: &World) {
    let new = plugin(b"a");
    world.store.put_plugin(&new, b"a").await.unwrap();
    let mut again = new.clone();
    again.origin = "inbox/form.wasm".to_owned();
    world.store.put_plugin(&again, b"a").await.unwrap();
    let all = world.store.plugins().await.unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].origin, "upload");
}

pub async fn an_activation_keeps_what_served_before(world: &World) {
    let (one, two) = (plugin(b"1"), plugin(b"2"));
    world.store.put_plugin(&one, b"1").await.unwrap();
    world.store.put_plugin(&two, b"2").await.unwrap();
    let activate = async |digest: &Digest| {
        let at = world.now();
        world.store.activate("form", digest, at).await.unwrap()
    };
    let first = activate(&one.digest).await;
    assert_eq!((first.generation, &first.previous), (1, &None));
    assert_eq!(first.activated_at, START);
    world.advance(1).await;
    assert_eq!(
        activate(&one.digest).await,
        first,
        "the active version is unchanged"
    );
    let second = activate(&two.digest).await;
    assert_eq!(second.generation, 2);
    assert_eq!(second.previous, Some(one.digest.clone()));
    let back = activate(&one.digest).await;
    assert_eq!(back.generation, 3);
    assert_eq!(back.previous, Some(two.digest));
    assert_eq!(world.store.activations().await.unwrap(), [back]);
}

pub async fn a_component_that_is_not_stored_cannot_serve(world: &World) {
    let unknown = Digest::compute(b"other");
    assert!(world.store.activate("form", &unknown, START).await.is_err());
    assert!(world.store.activations().await.unwrap().is_empty());
}

pub async fn the_newest_hundred_refusals_are_kept(world: &World) {
    for number in 0..103 {
        let refusal = Refusal {
            origin: format!("{number}.wasm"),
            digest: Some(Digest::compute(b"x")),
            reason: "no component".to_owned(),
            at: START,
        };
        world.store.note_refusal(&refusal).await.unwrap();
    }
    let refusals = world.store.refusals().await.unwrap();
    assert_eq!(refusals.len(), 100);
    assert_eq!(refusals[0].origin, "102.wasm");
    assert_eq!(refusals[99].origin, "3.wasm");
}
