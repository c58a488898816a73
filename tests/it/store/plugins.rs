//! Components, activations, refusals.

use leadhost_domain::exchange::SenderChecks;
use leadhost_domain::plugin::Description;
use leadhost_domain::publisher::Publisher;

use super::world::*;

/// Stores a component of these bytes.
pub async fn put(store: &Store, bytes: &[u8]) -> Digest {
    let new = plugin(bytes);
    store.put_plugin(&new, bytes).await.expect("it is kept");
    new.digest
}

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
    world.put_plugin(&new, &bytes).await.unwrap();
    let found = world.plugin(&new.digest).await.unwrap().unwrap();
    assert_eq!(json!(found), json!(new));
    let wasm = world.plugin_wasm(&new.digest).await.unwrap();
    assert_eq!(wasm.as_deref(), Some(&bytes[..]));
    let unknown = Digest::compute(b"other");
    assert!(world.plugin(&unknown).await.unwrap().is_none());
    assert!(world.plugin_wasm(&unknown).await.unwrap().is_none());
}

pub async fn a_known_component_is_left_as_it_is(world: &World) {
    let new = plugin(b"a");
    world.put_plugin(&new, b"a").await.unwrap();
    let mut again = new.clone();
    again.origin = "inbox/form.wasm".to_owned();
    world.put_plugin(&again, b"a").await.unwrap();
    let all = world.plugins().await.unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].origin, "upload");
}

pub async fn an_activation_keeps_the_previous_version(world: &World) {
    let (one, two) = (put(world, b"1").await, put(world, b"2").await);
    let activate = async |digest: &Digest| {
        let at = world.now();
        world.activate("form", digest, at).await.unwrap()
    };
    let first = activate(&one).await;
    assert_eq!((first.generation, &first.previous), (1, &None));
    assert_eq!(first.activated_at, START);
    world.advance(1).await;
    let again = activate(&one).await;
    assert_eq!(again, first, "the active version is unchanged");
    let second = activate(&two).await;
    assert_eq!((second.generation, second.previous), (2, Some(one.clone())));
    let back = activate(&one).await;
    assert_eq!((back.generation, &back.previous), (3, &Some(two)));
    assert_eq!(world.activations().await.unwrap(), [back]);
}

pub async fn only_a_version_that_nothing_names_is_removed(world: &World) {
    let one = put(world, b"1").await;
    let two = put(world, b"2").await;
    let three = put(world, b"3").await;
    for digest in [&one, &two] {
        world.activate("form", digest, START).await.unwrap();
    }
    let remove = async |digest: &Digest, from_inbox: bool| {
        let store = &world.store;
        let removal = store.remove_plugin("form", digest, from_inbox, START).await;
        removal.unwrap()
    };
    let named = |by| PluginRemoval::Named(vec![by]);
    assert_eq!(remove(&one, false).await, named(PluginUse::Previous));
    assert_eq!(remove(&two, false).await, named(PluginUse::Active));
    assert_eq!(world.plugins().await.unwrap().len(), 3);
    assert_eq!(remove(&three, false).await, PluginRemoval::Removed);
    assert_eq!(remove(&three, false).await, PluginRemoval::Unknown);
    assert!(world.plugin(&three).await.unwrap().is_none());
    assert!(world.refusals().await.unwrap().is_empty());

    // A file of the inbox is not taken in again, and the list of refusals does not show it.
    let from_file = put(world, b"4").await;
    assert_eq!(remove(&from_file, true).await, PluginRemoval::Removed);
    let refusals = world.refusals().await.unwrap();
    assert_eq!(refusals[0].digest, Some(from_file));
    assert!(refusals[0].overtaken_at.is_some());
}

pub async fn a_component_that_is_not_stored_cannot_serve(world: &World) {
    let unknown = Digest::compute(b"other");
    let refused = world.activate("form", &unknown, START).await;
    let refused = refused.unwrap_err();
    assert!(matches!(refused, StoreError::Refused(_)), "{refused}");
    assert!(world.activations().await.unwrap().is_empty());
}

fn refusal(origin: &str, plugin: Option<&str>, wasm: &[u8]) -> PluginRefusal {
    PluginRefusal {
        origin: origin.to_owned(),
        digest: Some(Digest::compute(wasm)),
        plugin: plugin.map(str::to_owned),
        reason: "no component".to_owned(),
        at: START,
        overtaken_at: None,
    }
}

pub async fn refusals_are_overtaken_by_file_and_by_bytes(world: &World) {
    for one in [
        refusal("form.wasm", Some("form"), b"1"),
        refusal("copy.wasm", None, b"2"),
        refusal("text.wasm", None, b"3"),
        refusal("other.wasm", Some("other"), b"4"),
    ] {
        world.note_refusal(&one).await.unwrap();
    }
    let shown = async || {
        let refusals = world.refusals().await.unwrap();
        assert_eq!(refusals.len(), 4, "the digests are still known");
        let shown = refusals
            .into_iter()
            .filter(|one| one.overtaken_at.is_none());
        let names: Vec<_> = shown.map(|one| one.origin).collect();
        names.join(" ")
    };
    let of_file = async |origin: &str, digest: Option<&Digest>| {
        let store = &world.store;
        let overtaken = store.overtake_refusals_of_file(origin, digest, world.now());
        overtaken.await.unwrap();
    };
    let text = Digest::compute(b"3");
    of_file("text.wasm", Some(&text)).await;
    assert_eq!(shown().await, "other.wasm text.wasm copy.wasm form.wasm");
    of_file("text.wasm", Some(&Digest::compute(b"5"))).await;
    assert_eq!(shown().await, "other.wasm copy.wasm form.wasm");
    of_file("other.wasm", None).await;
    assert_eq!(shown().await, "copy.wasm form.wasm");
    let copied = Digest::compute(b"2");
    let overtaken = world.overtake_refusals_of_bytes(&copied, world.now());
    overtaken.await.unwrap();
    assert_eq!(shown().await, "form.wasm");
}

pub async fn the_newest_hundred_refusals_are_kept(world: &World) {
    for number in 0..103 {
        let refusal = refusal(&format!("{number}.wasm"), None, b"x");
        world.note_refusal(&refusal).await.unwrap();
    }
    let refusals = world.refusals().await.unwrap();
    assert_eq!(refusals.len(), 100);
    assert_eq!(refusals[0].origin, "102.wasm");
    assert_eq!(refusals[99].origin, "3.wasm");
}
