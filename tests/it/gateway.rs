//! The gateway API for a partner's system: deals are found, changed and made,
//! and notes are added, over HTTP.

mod access;
mod bad_input;
mod create;
mod errors;
mod find;
mod log;
mod patch;

use std::fmt::Display;

use leadhost_domain::id::{DealId, WorkspaceId};
use leadhost_domain::key::{KeyKind, PlainKey};
use leadhost_store::{DealPast, PlannedOwner};
use leadhost_tests::{Answer, Ask, Host, Json, On, Seeded};
use serde_json::{Value, json};

/// An id that no deal has.
const NOBODY: &str = "00000000-0000-7000-8000-000000000000";

struct Seat {
    host: Host,
    seeded: Seeded,
}

impl Seat {
    async fn new(on: On) -> Self {
        Self::at(Host::new(on).await).await
    }

    /// The workspace "demo" of this host, with the owners and products that the
    /// tests use.
    async fn at(host: Host) -> Self {
        let seeded = host
            .workspace_with("demo", |plan| {
                plan.partners.push("other".to_owned());
                // The tests read exports often.
                plan.rate_limit = 100_000;
                plan.owners = [("Rui Reis", "rui@example.com"), ("Eva", "eva@example.com")]
                    .map(|(name, email)| PlannedOwner {
                        name: name.to_owned(),
                        email: email.to_owned(),
                    })
                    .into();
                plan.products = [("AP-1", "Two rooms"), ("AP-2", "Three rooms")]
                    .map(|(external_id, name)| leadhost_tests::seed::product(external_id, name))
                    .into();
            })
            .await;
        Self { host, seeded }
    }

    async fn ana(&self) -> DealId {
        let lead = self
            .host
            .lead(&self.seeded, "Ana", "11 98765-4321", "ana@example.com");
        lead.await
    }

    /// Makes a key of the workspace's other partner.
    async fn other(&self, kind: KeyKind) -> PlainKey {
        let workspace = self.seeded.workspace;
        let partners = self.host.store().partners(workspace).await.unwrap();
        let other = partners.iter().find(|partner| partner.name == "other");
        let other = Some(other.unwrap().id);
        self.host.key(kind, Some(workspace), other).await.0
    }

    fn patching(&self, deal: impl Display) -> Ask {
        let ask = self.host.ask("PATCH", &format!("/deal/{deal}"));
        ask.partner(&self.seeded.partner_key)
    }

    async fn patch(&self, deal: impl Display, body: Value) -> Answer {
        self.patching(deal).json(&body).send().await
    }

    fn logging(&self, deal: impl Display) -> Ask {
        let ask = self.host.post(&format!("/api/v1/deals/{deal}/log"));
        ask.bearer(&self.seeded.access_token)
    }

    async fn notes(&self, deal: impl Display, query: &str) -> Answer {
        let ask = self.host.get(&format!("/api/v1/deals/{deal}/log{query}"));
        ask.bearer(&self.seeded.access_token).send().await
    }

    async fn log(&self, deal: impl Display, body: Value) -> Answer {
        self.logging(deal).json(&body).send().await
    }

    fn creating(&self) -> Ask {
        self.host.post("/deal").partner(&self.seeded.partner_key)
    }

    async fn create(&self, body: Value) -> Answer {
        self.creating().json(&body).send().await
    }

    /// Returns the results of `GET /deal`.
    async fn find(&self, query: &str) -> Vec<Value> {
        let ask = self.host.get(&format!("/deal?{query}"));
        let found = ask.partner(&self.seeded.partner_key).send().await;
        found.expect(200).json().as_array().expect("a list").clone()
    }

    /// Returns the one deal with this id, as `GET /deal` shows it.
    async fn shown(&self, deal: impl Display) -> Value {
        let found = self.find(&format!("dealId={deal}")).await;
        let [deal] = found.as_slice() else {
            panic!("one deal: {found:?}");
        };
        deal.clone()
    }

    async fn rows(&self, entity: &str) -> Vec<Value> {
        let ask = self.host.get(&format!("/v1/export/{entity}?limit=1000"));
        let page = ask.bearer(&self.seeded.workspace_key).send().await;
        page.expect(200).json()["data"].list().clone()
    }

    /// Returns the exported deal.
    async fn exported(&self, deal: impl Display) -> Value {
        let deal = deal.to_string();
        let mut rows = self.rows("deals").await.into_iter();
        let row = rows.find(|row| row["id"] == deal.as_str());
        row.expect("the deal is exported")
    }

    async fn past(&self, deal: DealId) -> DealPast {
        past(&self.host, self.seeded.workspace, deal).await
    }
}

async fn past(host: &Host, workspace: WorkspaceId, deal: DealId) -> DealPast {
    let past = host.store().deal_past(workspace, deal, 100).await;
    past.expect("a store").expect("the deal is there")
}

fn text(value: &Value) -> String {
    value.text().to_owned()
}

/// Returns the message of a refusal in the gateway's format.
#[track_caller]
fn refusal(answer: &Answer, status: u16) -> String {
    let body = answer.json();
    assert_eq!(answer.status, status, "{body}");
    assert_eq!(body["statusCode"], status, "{body}");
    assert!(body["error"].is_string(), "{body}");
    assert!(body["code"].is_string(), "{body}");
    assert_eq!(body.as_object().expect("an object").len(), 4, "{body}");
    text(&body["message"])
}

/// Returns the issues of a 400.
#[track_caller]
fn issues(answer: &Answer) -> Vec<Value> {
    let message = refusal(answer, 400);
    let issues: Value = serde_json::from_str(&message).unwrap_or_else(|_| panic!("{message}"));
    issues.as_array().expect("a list").clone()
}

/// Returns the issues of a 400, each as its code and its path.
#[track_caller]
fn places(answer: &Answer) -> Vec<(String, String)> {
    let issues = issues(answer);
    let places = issues.iter();
    let places = places.map(|issue| (text(&issue["code"]), path(issue)));
    places.collect()
}

/// The place of an issue of a 400.
pub(crate) fn path(issue: &Value) -> String {
    let steps = issue["path"].list().iter();
    let text = |step: &Value| match step.as_str() {
        Some(name) => name.to_owned(),
        None => step.to_string(),
    };
    steps.map(text).collect::<Vec<_>>().join(".")
}

#[track_caller]
fn check_places(answer: &Answer, expect: &[(&str, &str)], what: impl Display) {
    let found = places(answer);
    let found = found.iter().map(|(code, path)| (&**code, &**path));
    let found: Vec<_> = found.collect();
    assert_eq!(found, expect, "{what}");
}

fn note() -> Value {
    json!({
        "type": "success", "subject": "Success fee", "description": "Sold within a week",
        "metadata": {"salesPrice": "350000.00", "soldAt": "2030-01-10T15:00:00Z"},
    })
}
