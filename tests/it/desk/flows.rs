//! From the hand-over to the end of the conversation.

use leadhost_tests::{On, eventually, fields};
use serde_json::{Value, json};

use super::{Desk, E164, text};

leadhost_tests::on_every_store! {
    an_unanswered_notification_is_handed_over_with_all_that_is_known,
    a_ticket_is_taken_answered_and_resolved_and_ends_its_conversation,
    a_resolved_ticket_is_not_reopened_beside_a_newer_one,
    a_notification_that_excludes_the_hand_over_gets_no_ticket,
}

async fn an_unanswered_notification_is_handed_over_with_all_that_is_known(on: On) {
    let desk = Desk::new(on).await;
    let deal = desk.lead("L-1", E164).await;
    let words = "Fala só português; visita no sábado.";
    let conversation = desk.notify(json!({"specialInstructions": words})).await;
    assert_eq!(desk.tickets("").await, Vec::<Value>::new());
    desk.host.advance(7_201).await;
    let ticket = desk.ticket().await;
    fields!(ticket, {
        "status": "open", "conversationId": conversation, "dealId": deal,
        "agentId": desk.declared.instance("voice"), "specialInstructions": words,
    });
    let person = &ticket["person"];
    fields!(person, {"name": "Ilda Prates", "phoneNumber": E164});
    assert!(person["id"].is_string());
    let now = desk.host.now().text();
    fields!(ticket, {"openedAt": now, "updatedAt": now});
    for nothing in ["owner", "answeredAt", "resolvedAt"] {
        assert!(ticket[nothing].is_null(), "{nothing}");
    }
    fields!(desk.conversation(&conversation).await, {"transferred_at": now, "no_response_at": now});
}

async fn a_ticket_is_taken_answered_and_resolved_and_ends_its_conversation(on: On) {
    let desk = Desk::new(on).await;
    let conversation = desk.notify(json!({})).await;
    desk.host.advance(7_201).await;
    let ticket = desk.ticket().await;

    desk.host.advance(60).await;
    let taken = desk
        .changed(&ticket, &json!({"ownerEmail": "Nilda@Example.com"}))
        .await;
    assert_eq!(taken["owner"]["name"], "Nilda Prado");
    assert_eq!(taken["owner"]["email"], "nilda@example.com");
    assert_eq!(taken["status"], "open");
    assert_eq!(taken["updatedAt"], desk.host.now().text());

    desk.host.advance(60).await;
    let answered = desk.changed(&ticket, &json!({"status": "answered"})).await;
    fields!(answered, {"answeredAt": desk.host.now().text(), "owner": taken["owner"]});
    // A change to the current state is a no-op.
    desk.host.advance(60).await;
    let again = desk.changed(&ticket, &json!({"status": "answered"})).await;
    assert_eq!(again, answered);

    let row = desk.conversation(&conversation).await;
    assert!(row["closed_at"].is_null());
    let resolved = desk.changed(&ticket, &json!({"status": "resolved"})).await;
    let now = desk.host.now().text();
    fields!(resolved, {"resolvedAt": now, "answeredAt": answered["answeredAt"]});
    fields!(desk.conversation(&conversation).await, {"status": "closed", "closed_at": now});

    desk.host.advance(60).await;
    desk.contact_writes("Oi, ainda está disponível?").await;
    let rows = desk.conversations().await;
    assert_eq!(rows.len(), 2);
    assert_ne!(rows[1]["id"], conversation);
    fields!(rows, {"1.status": "open", "0.closed_at": now});
}

async fn a_resolved_ticket_is_not_reopened_beside_a_newer_one(on: On) {
    let desk = Desk::new(on).await;
    let deal = desk.lead("L-1", E164).await;
    desk.transfer(&deal).await;
    let first = desk.ticket().await;
    desk.changed(&first, &json!({"status": "resolved"})).await;
    desk.host.advance(60).await;
    desk.stage(&deal, "negotiating").await;
    desk.transfer(&deal).await;
    let open = desk.tickets("status=open").await;
    assert_eq!(open.len(), 1);
    assert_ne!(open[0]["id"], first["id"]);
    let refused = desk.patch(&first, &json!({"status": "open"})).await;
    let refused = refused.expect(409).json();
    assert_eq!(refused["statusCode"], 409);
    assert!(text(&refused["message"]).contains("work on that one"));
    let stays = desk.get(&format!("/tickets/{}", text(&first["id"]))).await;
    assert_eq!(stays["status"], "resolved");
}

async fn a_notification_that_excludes_the_hand_over_gets_no_ticket(on: On) {
    let desk = Desk::new(on).await;
    let more = json!({"ignoreTransferToDeskIfUnanswered": true});
    let conversation = desk.notify(more).await;
    desk.host.advance(7_201).await;
    eventually("the conversation is unanswered", async || {
        let now = desk.host.now();
        let due = desk.host.store().conversations_due(now, 10).await;
        due.expect("a store").is_empty()
    })
    .await;
    let row = desk.conversation(&conversation).await;
    assert!(row["no_response_at"].is_string());
    assert!(row["transferred_at"].is_null());
    assert_eq!(desk.tickets("").await, Vec::<Value>::new());
}
