//! Lists of tickets, in pages and by status.

use std::collections::BTreeSet;

use leadhost_tests::{Json, On};
use serde_json::Value;

use super::{Desk, text};

leadhost_tests::on_every_store! {
    every_ticket_is_on_one_page_while_others_open,
    a_cursor_belongs_to_its_workspace_and_its_status,
    limits_are_adjusted_or_refused,
}

impl Desk {
    /// Hands over this many deals. Returns their tickets, oldest first.
    async fn handed_over(&self, count: usize) -> Vec<String> {
        let mut ids = Vec::new();
        for number in 0..count {
            self.host.advance(1).await;
            let phone = format!("+55119876{number:05}");
            let deal = self.lead(&format!("L-{number}"), &phone).await;
            self.transfer(&deal).await;
            let newest = self.tickets("limit=1").await;
            assert_eq!(newest[0]["dealId"], deal);
            ids.push(text(&newest[0]["id"]));
        }
        ids
    }
}

fn ids(tickets: &[Value]) -> Vec<String> {
    tickets.iter().map(|ticket| text(&ticket["id"])).collect()
}

async fn every_ticket_is_on_one_page_while_others_open(on: On) {
    let desk = Desk::new(on).await;
    let opened = desk.handed_over(12).await;
    let mut seen = Vec::new();
    let mut cursor = String::new();
    let mut later = 100;
    loop {
        let page = desk.get(&format!("/tickets?limit=5{cursor}")).await;
        let tickets = page["tickets"].list();
        seen.extend(ids(tickets));
        // One more opens between two pages, and two at once.
        for number in [later, later + 1] {
            desk.host.advance(1).await;
            let phone = format!("+55119876{number:05}");
            let deal = desk.lead(&format!("L-{number}"), &phone).await;
            desk.transfer(&deal).await;
        }
        later += 2;
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
        assert_eq!(tickets.len(), 5);
    }
    let once: BTreeSet<_> = seen.iter().collect();
    assert_eq!(once.len(), seen.len(), "no ticket is listed twice");
    let mut newest_first = opened;
    newest_first.reverse();
    assert_eq!(seen, newest_first);
}

async fn a_cursor_belongs_to_its_workspace_and_its_status(on: On) {
    let desk = Desk::new(on).await;
    desk.handed_over(3).await;
    let cursor = async |query: &str| {
        let page = desk.get(&format!("/tickets?limit=1{query}")).await;
        text(&page["nextCursor"])
    };
    let (all, open) = (cursor("").await, cursor("&status=open").await);
    assert_eq!(desk.tickets(&format!("cursor={all}")).await.len(), 2);
    assert_eq!(desk.tickets(&format!("cursor={open}")).await.len(), 2);
    let other = desk.host.workspace("other").await;
    let of_an_export = desk.host.get("/v1/export/deals?limit=1");
    let key = format!("Bearer {}", desk.declared.key("workspace"));
    let of_an_export = of_an_export.header("authorization", &key).send().await;
    let of_an_export = text(&of_an_export.expect(200).json()["next_cursor"]);
    for wrong in [
        format!("cursor={open}&status=answered"),
        format!("cursor={all}&status=open"),
        format!("cursor={of_an_export}"),
        format!("cursor={}", &all[1..]),
        format!("cursor={all}x"),
        "cursor=null".to_owned(),
    ] {
        let refused = desk.ask("GET", &format!("/tickets?{wrong}")).send().await;
        assert_eq!(refused.expect(400).json()["statusCode"], 400, "{wrong}");
    }
    let foreign = desk.host.get(&format!("/tickets?cursor={all}"));
    let foreign = foreign.bearer(&other.access_token).send().await;
    foreign.expect(400);
}

async fn limits_are_adjusted_or_refused(on: On) {
    let desk = Desk::new(on).await;
    desk.handed_over(2).await;
    for (query, expect) in [("limit=0", 1), ("limit=-3", 1), ("limit=1000", 2)] {
        assert_eq!(desk.tickets(query).await.len(), expect, "{query}");
    }
    assert_eq!(desk.tickets("limit=&cursor=").await.len(), 2);
    for wrong in "limit=null limit=ten limit=1.5 status=lost".split(' ') {
        let refused = desk.ask("GET", &format!("/tickets?{wrong}")).send().await;
        refused.expect(400);
    }
}
