//! Sketches of connections' deliveries.

use leadhost_domain::connection::{
    ChangeCause, ConnectionSketch, LeadFields, SourceChange, SourceChangePart, SourceShape,
};

use super::world::*;

pub async fn a_sketch_replaces_only_the_generation_that_was_read(world: &World) {
    let (store, id) = (&world.store, &world.site);
    assert_eq!(store.connection_sketch(id).await.unwrap(), None);
    let first = ConnectionSketch {
        connection: id.clone(),
        generation: 0,
        sketch: json!({"paths": {"a": [1, 2]}}),
        change: None,
        fields: None,
        at: START,
    };
    assert!(store.write_connection_sketch(&first).await.unwrap());
    assert!(!store.write_connection_sketch(&first).await.unwrap());
    let shapes = store.source_shapes().await.unwrap();
    assert_eq!(shapes.get(id), Some(&SourceShape::default()));
    let change = SourceChange {
        what: "path a: the source changed".to_owned(),
        before: "98 %".to_owned(),
        after: "0 %".to_owned(),
        since: START,
        parts: vec![SourceChangePart {
            since: START,
            differences: vec!["leads with a phone: 98 % -> 0 %".to_owned()],
        }],
        failing: false,
        cause: ChangeCause::Source,
        digest: Some(Digest::compute(b"tried")),
    };
    let fields = LeadFields {
        leads: 400,
        name: 100,
        phone: 98,
        email: 71,
        external_id: 100,
        listing: 0,
    };
    let second = ConnectionSketch {
        generation: 1,
        change: Some(change.clone()),
        fields: Some(fields.clone()),
        ..first
    };
    assert!(store.write_connection_sketch(&second).await.unwrap());
    let stored = store.connection_sketch(id).await.unwrap();
    let expected = ConnectionSketch {
        generation: 2,
        ..second
    };
    assert_eq!(stored, Some(expected));
    let shapes = store.source_shapes().await.unwrap();
    let shape = SourceShape {
        change: Some(change),
        fields: Some(fields),
        ended: Vec::new(),
    };
    assert_eq!(shapes.len(), 1);
    assert_eq!(shapes.get(id), Some(&shape));
}
