//! The whole path from events of people to counts.

use leadhost_tests::{Host, On, until};
use serde_json::{Value, json};

use super::Board;

leadhost_tests::on_every_store! {
    events_of_a_conversation_count_on_the_day_on_which_it_began,
    work_on_tickets_counts_on_the_day_on_which_they_opened,
}

const TODAY: &str = "from=2030-01-15&to=2030-01-16&group_by=source";

impl Board {
    /// A notified person answers.
    async fn contact_writes(&self, phone: &str) {
        let event = json!({"inbound": {"from": phone, "text": "Quero visitar"}});
        self.events("voice", &[event]).await;
    }

    async fn desk(&self, method: &str, target: &str, body: &Value) -> Value {
        let token = format!("Bearer {}", self.declared.key("token"));
        let ask = self.host.ask(method, target);
        let ask = ask.header("authorization", &token);
        let ask = if body.is_null() { ask } else { ask.json(body) };
        ask.send().await.expect(200).json()
    }

    /// Returns the only ticket, as soon as it exists.
    async fn ticket(&self) -> String {
        until("a ticket is open", async || {
            let page = self.desk("GET", "/tickets", &Value::Null).await;
            page["tickets"][0]["id"].as_str().map(str::to_owned)
        })
        .await
    }

    async fn stage(&self, deal: &str, stage: &str) {
        let ask = self.host.ask("PATCH", &format!("/deal/{deal}"));
        let ask = ask.header("x-service-api-key", &self.declared.key("partner"));
        let ask = ask.json(&json!({"stageCode": stage}));
        ask.send().await.expect(202);
    }

    async fn is(&self, target: &str, expect: &[&str]) {
        self.count().await;
        assert_eq!(self.rows(&format!("{target}?{TODAY}")).await, expect);
    }
}

async fn events_of_a_conversation_count_on_the_day_on_which_it_began(on: On) {
    let board = Board::on(Host::working(on).await).await;
    let (answers, silent) = ("+5511987650101", "+5511987650202");
    let deal = board.lead(answers).await;

    board.notify(answers, "site").await;
    board.notify(silent, "portal").await;
    let counts = async |portal: &str, site: &str| {
        let rows = [("portal", portal), ("site", site)];
        let rows = rows.map(|(source, counts)| format!("2030-01-15 {source}: {counts}"));
        board
            .is("conversations/day", &rows.each_ref().map(String::as_str))
            .await;
    };
    counts("1 0 0 0 0", "1 0 0 0 0").await;
    board.host.advance(60).await;
    board.contact_writes(answers).await;
    counts("1 0 0 0 0", "1 1 0 0 0").await;
    board.stage(&deal, "visit_scheduled").await;
    counts("1 0 0 0 0", "1 1 0 1 0").await;
    // Without an answer for two hours, people take over.
    board.host.pass(7_201).await;
    board.ticket().await;
    counts("1 0 1 0 1", "1 1 0 1 0").await;
    // A late answer is an answer.
    board.contact_writes(silent).await;
    counts("1 1 0 0 1", "1 1 0 1 0").await;
    // Later events count where the conversation began.
    let morning = "conversations/day?from=2030-01-15T12:00:00Z&to=2030-01-15T12:15:00Z";
    assert_eq!(board.rows(morning).await, ["2030-01-15: 2 2 0 1 1"]);
}

async fn work_on_tickets_counts_on_the_day_on_which_they_opened(on: On) {
    let board = Board::on(Host::working(on).await).await;
    board.notify("+5511987650303", "site").await;
    board.is("tickets/day", &[]).await;
    board.host.pass(7_201).await;
    let ticket = board.ticket().await;
    let day = "tickets/day";
    board.is(day, &["2030-01-15 site: 1 0 0"]).await;
    let target = format!("/tickets/{ticket}");
    let becomes = async |status: &str| {
        board
            .desk("PATCH", &target, &json!({"status": status}))
            .await
    };
    becomes("answered").await;
    board.is(day, &["2030-01-15 site: 1 1 0"]).await;
    becomes("resolved").await;
    board.is(day, &["2030-01-15 site: 1 1 1"]).await;
    becomes("open").await;
    let voice = board.declared.instance("voice");
    let by = "tickets/month?group_by=agent_type,agent_id";
    let rows = board.rows(by).await;
    assert_eq!(rows.len(), 1);
    let counted = rows[0].starts_with(&format!("2030-01-01 ai {voice}: 1 "));
    assert!(counted, "{rows:?}");
    assert_eq!(board.rows("tickets/day?agent_type=human").await, [""; 0]);
}
