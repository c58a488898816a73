//! A workspace of a host to which analytics questions are sent, and everything
//! that its export and its desk contain.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use leadhost_domain::id::{AgentId, DealId};
use leadhost_domain::key::{KeyKind, PlainKey};
use leadhost_domain::time::{self, Micros};
use leadhost_tests::{Answer, Host, Json};
use serde_json::{Value, json};

use super::question::{Expected, Fact, Facts, Question, Set, recompute};
use crate::store::deals::acme;
use crate::store::world::{World, plan};

pub struct Asker<'a> {
    pub host: &'a Host,
    pub world: World,
    pub internal: AgentId,
    /// The deals of contacts who were leads before they wrote, in their order.
    pub deals: Vec<DealId>,
    key: PlainKey,
    token: PlainKey,
}

impl<'a> Asker<'a> {
    pub async fn new(host: &'a Host) -> Self {
        let store = Arc::clone(&host.app.core.store);
        let mut world = World::with_store(store, Arc::clone(&host.clock), Box::new(())).await;
        world.on = host.on.clone();
        let mut plan = plan("demo");
        plan.workspace = world.workspace;
        plan.rate_limit = 1_000_000;
        let mut internal = plan.agents[0].clone();
        internal.name = "Eva".to_owned();
        internal.internal = true;
        plan.agents.push(internal);
        let applied = world.store.apply(&plan, world.now(), false).await.unwrap();
        let workspace = Some(world.workspace);
        let partner = acme(&world).await.partner;
        let key = host.key(KeyKind::Workspace, workspace, None).await.0;
        let token = host.key(KeyKind::AccessToken, workspace, Some(partner));
        Self {
            host,
            internal: applied.instances["Eva"],
            deals: Vec::new(),
            key,
            token: token.await.0,
            world,
        }
    }

    /// Requests an answer of analytics.
    pub async fn get(&self, path: &str) -> Answer {
        let target = format!("/v1/analytics/{path}");
        let answer = self.host.get(&target).bearer(&self.key).send().await;
        assert_eq!(answer.status, 200, "{target}: {}", answer.text());
        answer
    }

    /// Sends the question and checks the answer. Returns both.
    pub async fn check(&self, facts: &Facts, question: &Question) -> (String, String) {
        let path = question.path();
        let answer = self.get(&path).await;
        let said = answer.json();
        let Expected { from, to, rows } = recompute(facts, question, self.internal.0);
        assert_eq!(said["from"], json!(Micros(from)), "{path}");
        assert_eq!(said["to"], json!(Micros(to)), "{path}");
        assert_eq!(said["tz"], question.zone, "{path}");
        let data = said["data"].list();
        for (one, other) in data.iter().zip(&rows) {
            assert_eq!(one, other, "{path}");
        }
        assert_eq!(data.len(), rows.len(), "{path}");
        assert_eq!(said["count"], rows.len(), "{path}");
        (path, answer.text().to_owned())
    }

    /// Reads all facts from the export and the desk.
    pub async fn raw(&self) -> Facts {
        let mut tests = BTreeSet::new();
        for deal in self.rows("deals").await.values() {
            if deal["props"]["test"] == true {
                tests.insert(text(deal, "id").expect("an id"));
            }
        }
        let conversations = self.rows("conversations").await;
        let counted = conversations.values().filter_map(|row| {
            let is_test = text(row, "deal_id").is_some_and(|deal| tests.contains(&deal));
            let started = instant(row, "first_message_at").filter(|_| !is_test)?;
            Some(Fact {
                started,
                agent: row["agent_id"].as_i64(),
                agent_type: text(row, "agent_type"),
                source: text(row, "source"),
                met: met(
                    row,
                    &[
                        "answered_at",
                        "no_response_at",
                        "appointment_at",
                        "transferred_at",
                    ],
                ),
            })
        });
        let tickets = self.tickets().await;
        let tickets = tickets.iter().filter_map(|ticket| {
            let is_test = text(ticket, "dealId").is_some_and(|deal| tests.contains(&deal));
            if is_test {
                return None;
            }
            let talk = text(ticket, "conversationId").map(|id| &conversations[&id]);
            Some(Fact {
                started: instant(ticket, "openedAt").expect("it has opened"),
                agent: ticket["agentId"].as_i64(),
                agent_type: talk.and_then(|talk| text(talk, "agent_type")),
                source: talk.and_then(|talk| text(talk, "source")),
                met: met(ticket, &["answeredAt", "resolvedAt"]),
            })
        });
        Facts::from([
            (Set::Conversations, counted.collect()),
            (Set::Tickets, tickets.collect()),
        ])
    }

    /// Returns everything on the pages from this target on: the names are of its list and of the field with
    /// the next page.
    async fn pages(&self, key: &PlainKey, target: &str, [list, next]: [&str; 2]) -> Vec<Value> {
        let (mut all, mut cursor) = (Vec::new(), String::new());
        loop {
            let ask = self.host.get(&format!("{target}{cursor}")).bearer(key);
            let page = ask.send().await.expect(200).json();
            all.extend(page[list].list().clone());
            match page[next].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return all,
            }
        }
    }

    /// Returns all rows of an entity by id.
    async fn rows(&self, entity: &str) -> HashMap<String, Value> {
        let target = format!("/v1/export/{entity}?limit=1000");
        let rows = self
            .pages(&self.key, &target, ["data", "next_cursor"])
            .await;
        let by_id = rows
            .into_iter()
            .map(|row| (row["id"].text().to_owned(), row));
        by_id.collect()
    }

    /// Returns all tickets of the desk.
    pub async fn tickets(&self) -> Vec<Value> {
        let names = ["tickets", "nextCursor"];
        self.pages(&self.token, "/tickets?limit=100", names).await
    }
}

/// Whether each of these times is there.
fn met(row: &Value, times: &[&str]) -> Vec<bool> {
    let met = times.iter().map(|name| !row[*name].is_null());
    std::iter::once(true).chain(met).collect()
}

/// Also `None` for an empty text: no dimension has such a value.
fn text(row: &Value, name: &str) -> Option<String> {
    let text = row[name].as_str()?;
    (!text.is_empty()).then(|| text.to_owned())
}

fn instant(row: &Value, name: &str) -> Option<i64> {
    let text = row[name].as_str()?;
    Some(time::parse(text).expect("a time").0)
}
