//! The final check: compares what partners, the provider, the phones and the
//! store have of the same messages.

use std::collections::{BTreeMap, BTreeSet};

use leadhost_tests::Service;
use leadhost_tests::load::{LoadResult, Notifications, exported};
use leadhost_tests::phones::Story;
use serde_json::Value;

use super::Messaging;

/// The exported messages.
pub struct StoredMessages {
    /// Outgoing messages by id, sent or not.
    out: BTreeMap<String, Value>,
    /// How often each message of a contact is stored, by the provider's id.
    answers: BTreeMap<String, usize>,
}

impl StoredMessages {
    pub async fn read(world: &Messaging, host: &Service) -> Self {
        let key = world.hosts.workspace_key();
        let rows = exported(host.address("data"), key, "messages").await;
        let mut stored = Self {
            out: BTreeMap::new(),
            answers: BTreeMap::new(),
        };
        for row in rows {
            if row["actor"] == "contact" {
                *stored.answers.entry(external_id(&row)).or_insert(0) += 1;
            } else {
                let id = row["id"].as_str().expect("an id").to_owned();
                assert_eq!(row["type"], "template");
                assert!(stored.out.insert(id, row).is_none(), "an id is there twice");
            }
        }
        stored
    }

    #[track_caller]
    pub fn state(&self, message: &str) -> &str {
        let row = self.out.get(message);
        let row = row.unwrap_or_else(|| panic!("{message} is not there"));
        row["metadata"]["status"].as_str().expect("a state")
    }

    pub fn row(&self, message: &str) -> &Value {
        &self.out[message]
    }

    /// Returns the messages in this state.
    pub fn in_state(&self, state: &str) -> BTreeSet<String> {
        let ids = self.out.keys();
        ids.filter(|id| self.state(id) == state).cloned().collect()
    }

    /// Checks that every acknowledged notification has its message, and none
    /// has two.
    #[track_caller]
    pub fn assert_hold(&self, sent: &LoadResult) {
        sent.assert_well_formed();
        let mut of: BTreeMap<&str, &str> = BTreeMap::new();
        for (message, row) in &self.out {
            let content = row["content"].as_str().expect("the template is known");
            let id = Notifications::id_in(content).expect("a notification's");
            if let Some(before) = of.insert(id, message) {
                panic!("{id} is two messages: {before} and {message}");
            }
        }
        assert_eq!(sent.messages.len(), sent.acknowledged.len());
        for (id, message) in &sent.messages {
            let found = of.get(id.as_str());
            assert_eq!(found, Some(&message.as_str()), "{id} was acknowledged");
        }
    }

    /// Checks that the provider accepted no message twice, and only known ones.
    #[track_caller]
    pub fn assert_once(&self, world: &Messaging) {
        let mut taken = BTreeSet::new();
        for accepted in world.whatsapp.accepted() {
            let message = accepted.send.opaque.expect("the adapter names it");
            assert!(self.out.contains_key(&message), "{message} is unknown");
            assert!(taken.insert(message.clone()), "{message} went out twice");
        }
        let states = ["accepted", "sent", "delivered", "read"];
        let claimed = self
            .out
            .keys()
            .filter(|id| states.contains(&self.state(id)));
        for message in claimed {
            assert!(taken.contains(message), "{message} never went out");
        }
    }

    /// Checks that exactly the statuses and answers of the phones are stored.
    #[track_caller]
    pub fn assert_events(&self, story: &Story) {
        for accepted in &story.read {
            let message = accepted.send.opaque.as_deref().expect("it is ours");
            let row = self.row(message);
            assert_eq!(self.state(message), "read", "{row}");
            assert_eq!(row["metadata"]["externalIds"][0], accepted.id, "{row}");
            for time in [
                &row["delivered_at"],
                &row["read_at"],
                &row["metadata"]["sentAt"],
            ] {
                assert!(time.is_string(), "{row}");
            }
        }
        for accepted in &story.silent {
            let message = accepted.send.opaque.as_deref().expect("it is ours");
            let state = self.state(message);
            let is_open = ["accepted", "unknown"].contains(&state);
            assert!(is_open, "{message}: {state}");
        }
        let expected: BTreeMap<_, _> = story.answers.iter().map(|id| (id.clone(), 1)).collect();
        assert_eq!(self.answers, expected, "each answer is a message, once");
    }
}

fn external_id(row: &Value) -> String {
    let id = row["metadata"]["externalIds"][0].as_str();
    id.expect("the provider's id").to_owned()
}

/// Returns how often the provider was asked to send each message.
pub fn asked(world: &Messaging) -> BTreeMap<String, usize> {
    let mut asked = BTreeMap::new();
    for request in world.whatsapp.sends() {
        let body = request.json().expect("JSON");
        let message = body["biz_opaque_callback_data"].as_str();
        *asked.entry(message.expect("ours").to_owned()).or_insert(0) += 1;
    }
    asked
}
