//! The answer to a sender, and the stored delivery, for each outcome of a
//! delivery.

use leadhost_domain::delivery::DeliveryStatus;
use leadhost_pipeline::deploy;
use leadhost_tests::guests::{self, Variant};
use leadhost_tests::{Host, Json, On, Options, eventually, fields, has};
use serde_json::json;

use super::{form, harm, lead, misbehaving};

leadhost_tests::on_every_store! {
    a_lead_is_converted_and_the_answer_names_deal_and_contact,
    a_bad_item_harms_no_other_and_the_answer_says_which_is_which,
    a_lead_that_is_too_large_is_invalid_and_its_delivery_is_kept,
    a_lead_with_a_text_above_its_limit_is_stored_and_a_note_names_both_lengths,
    fields_that_do_not_fit_a_deal_stay_in_the_delivery_and_a_note_names_them,
    a_delivery_with_nothing_in_it_is_ignored,
    a_body_that_cannot_be_read_is_refused_and_kept,
    a_conversion_past_the_inline_budget_continues_after_the_answer,
    a_failing_converter_loses_no_delivery_and_the_sender_gets_queued,
    a_converter_that_never_ends_fails_at_the_workers_deadline,
    three_failures_on_one_version_park_a_delivery_until_another_serves,
    a_delivery_whose_converter_does_not_serve_waits_for_it,
    a_delivery_is_kept_for_its_days_and_its_deal_and_key_for_longer,
    deliveries_beyond_the_converters_queue_wait_and_none_fails,
}

async fn a_lead_is_converted_and_the_answer_names_deal_and_contact(on: On) {
    let (host, declared) = form(on).await;
    let body = lead("f-1", "Lia Prado", "11 98888-0001");
    let answer = host.deliver_json(&declared, "form", &body).await;
    let deals = host.deals(&declared, "externalId=f-1").await;
    let id = answer.json()["deliveryId"].clone();
    let expect = json!({
        "success": true,
        "deliveryId": id,
        "status": "converted",
        "leads": [{
            "item": 0,
            "status": "converted",
            "externalId": "f-1",
            "dealId": deals[0]["deal"]["id"],
            "contactId": deals[0]["person"]["id"],
            "duplicate": false,
            "message": null,
        }],
        "problems": [],
    });
    assert_eq!(answer.json(), expect);
    let stored = host.delivery(&answer).await;
    assert_eq!(stored.summary.status, DeliveryStatus::Converted);
    assert_eq!(stored.request.body, body.to_string().as_bytes());
}

async fn a_bad_item_harms_no_other_and_the_answer_says_which_is_which(on: On) {
    let (host, declared) = form(on).await;
    let body = json!([
        lead("f-1", "Lia Prado", "11 98888-0001"), {"nome": "Sem contato"},
        lead("f-1", "Lia Prado", "11 98888-0001"),
    ]);
    let answer = host.deliver_json(&declared, "form", &body).await.json();
    assert_eq!(answer["status"], "converted");
    let leads = answer["leads"].list();
    assert_eq!(leads.len(), 2);
    fields!(leads, {
        "0.item": 0, "1.item": 2, "1.status": "duplicate", "1.duplicate": true,
        "0.dealId": leads[1]["dealId"],
    });
    let problem = json!([{
        "item": 1,
        "status": "invalid",
        "message": "1: the lead has neither `telefone` nor `email`",
    }]);
    assert_eq!(answer["problems"], problem);
}

async fn a_lead_that_is_too_large_is_invalid_and_its_delivery_is_kept(on: On) {
    let (host, declared) = misbehaving(on, "many", "phones", 10_000).await;
    let ask = host.post(&declared.address("many")).body("as it came");
    let answer = ask.send().await.expect(200);
    assert_eq!(answer.json()["status"], "rejected");
    assert_eq!(
        answer.json()["problems"],
        json!([{
            "item": 0,
            "status": "invalid",
            "message": "items.0.lead.phones: the converter gave 10000 phones; at most 20 are taken, and the raw delivery is kept",
        }])
    );
    let stored = host.delivery(&answer).await;
    assert_eq!(stored.summary.status, DeliveryStatus::Rejected);
    assert_eq!(stored.request.body, b"as it came");
}

async fn a_lead_with_a_text_above_its_limit_is_stored_and_a_note_names_both_lengths(on: On) {
    let host = Host::working(on).await;
    host.converter(guests::misbehave()).await;
    let cases = [
        (
            "message",
            70_000,
            "the end of message (cut from 70000 to 32760 bytes)",
        ),
        ("name", 300, "the end of name (cut from 300 to 255 bytes)"),
        (
            "name",
            70_000,
            "the end of name (cut from 70000 to 255 bytes)",
        ),
        (
            "long-attribute",
            70_000,
            "attributes.long (70002 bytes; at most 65536 are taken)",
        ),
    ];
    let files = cases.map(|(word, size, _)| harm(&format!("{word}-{size}"), word, size));
    let declared = host.declare(&files.concat()).await;
    for (word, size, note) in cases {
        let slug = format!("{word}-{size}");
        let ask = host.post(&declared.address(&slug)).body("as it came");
        let answer = ask.send().await.expect(200);
        assert_eq!(answer.json()["status"], "converted", "{slug}");
        let stored = host.delivery(&answer).await;
        let named = stored.notes.iter().any(|one| one.ends_with(note));
        assert!(named, "{slug}: {:?}", stored.notes);
        let id = answer.json()["leads"][0]["dealId"].text().to_owned();
        let deals = host.deals(&declared, &format!("dealId={id}")).await;
        fields!(deals, {"0.person.phoneNumber": "+5511987654321"});
        if word == "name" {
            assert_eq!(deals[0]["person"]["name"], "n".repeat(255));
        }
    }
}

async fn fields_that_do_not_fit_a_deal_stay_in_the_delivery_and_a_note_names_them(on: On) {
    let (host, declared) = form(on).await;
    let mut body = lead("f-1", "Lia Prado", "11 98888-0001");
    body["mensagem"] = "a\u{1}".repeat(30_000).into();
    let answer = host.deliver_json(&declared, "form", &body).await;
    assert_eq!(answer.json()["status"], "converted");
    let deals = host.deals(&declared, "externalId=f-1").await;
    let props = &deals[0]["deal"]["props"];
    let message = props["message"].text();
    assert!(message.ends_with(" […]"), "{message:?}");
    assert!(props.to_string().len() < 40_000);
    assert_eq!(props["contact"]["name"], "Lia Prado");
    let stored = host.delivery(&answer).await;
    let kept = message.len() - " […]".len();
    let note = format!(
        "lead f-1: some values are longer than a lead keeps (a deal's properties 65536 bytes, and its message 32768 of them), so these are only in the raw delivery: the end of message (cut from 60000 to {kept} bytes)"
    );
    assert_eq!(stored.notes, [note]);
    assert_eq!(stored.request.body, body.to_string().as_bytes());
}

async fn a_delivery_with_nothing_in_it_is_ignored(on: On) {
    let (host, declared) = form(on).await;
    let ask = host.post(&declared.address("form"));
    let answer = ask.json(&json!([])).send().await.expect(200).json();
    fields!(answer, {"status": "ignored", "leads": [], "problems": []});
}

async fn a_body_that_cannot_be_read_is_refused_and_kept(on: On) {
    let (host, declared) = form(on).await;
    let ask = host.post(&declared.address("form")).body("{nothing");
    let answer = ask.send().await.expect(400).json();
    let [kept] = host.with_status(DeliveryStatus::Rejected).await[..] else {
        panic!("one delivery is kept");
    };
    let message = format!(
        "The body cannot be read: the body is not valid JSON. It is kept as delivery {kept}."
    );
    let expect = json!({"statusCode": 400, "message": message, "error": "Bad Request",
        "code": "delivery_rejected"});
    assert_eq!(answer, expect);
    assert_eq!(host.stored(kept).await.request.body, b"{nothing");
}

async fn a_conversion_past_the_inline_budget_continues_after_the_answer(on: On) {
    let options = Options::patient(on).with("plugins.inline_ms", 1);
    let host = Host::working_with(options).await;
    host.converter(guests::misbehave()).await;
    let declared = host.declare(&harm("slow", "burn", 300_000_000)).await;
    let answer = host.deliver(&declared, "slow").await;
    assert_eq!(answer.json()["status"], "queued");
    assert_eq!(answer.json()["leads"], json!([]));
    let id = host.delivery(&answer).await.summary.id;
    let stored = host.becomes(id, DeliveryStatus::Ignored).await;
    assert_eq!(stored.summary.attempts, 0, "it counts no failed attempt");
    assert_eq!(stored.notes.len(), 1);
}

async fn a_failing_converter_loses_no_delivery_and_the_sender_gets_queued(on: On) {
    let options = Options::patient(on).with("plugins.output_mib", 8);
    let options = options.with("plugins.memory_mib", 32);
    let host = Host::start(options).await;
    host.converter(guests::misbehave()).await;
    let cases = [
        ("trap", 0),
        ("grow", 0),
        ("recurse", 0),
        ("output", 10 << 20),
        ("status", 0),
    ];
    let file = cases.iter().map(|(word, size)| harm(word, word, *size));
    let file: String = file.collect();
    let declared = host.declare(&file).await;
    for (word, _) in cases {
        let ask = host.post(&declared.address(word)).body("kept");
        let answer = ask.send().await.expect(200);
        fields!(answer.json(), {"success": true, "status": "queued"}; "{word}");
        let stored = host.delivery(&answer).await;
        assert_eq!(stored.summary.status, DeliveryStatus::Failed, "{word}");
        assert_eq!(stored.summary.attempts, 1, "{word}");
        assert!(stored.summary.error.is_some(), "{word}");
        assert_eq!(stored.request.body, b"kept", "{word}");
        assert!(stored.next_attempt_at.is_some(), "{word}");
    }
}

async fn a_converter_that_never_ends_fails_at_the_workers_deadline(on: On) {
    let options = Options::on(on).with("plugins.inline_ms", 20);
    let options = options.with("plugins.deadline_ms", 1_000);
    let host = Host::working_with(options).await;
    host.converter(guests::misbehave()).await;
    let declared = host.declare(&harm("loop", "loop", 0)).await;
    let answer = host.deliver(&declared, "loop").await;
    assert_eq!(answer.json()["status"], "queued");
    let id = host.delivery(&answer).await.summary.id;
    let stored = host.becomes(id, DeliveryStatus::Failed).await;
    assert_eq!(stored.summary.attempts, 1);
}

async fn three_failures_on_one_version_park_a_delivery_until_another_serves(on: On) {
    let (host, declared) = misbehaving(on, "trap", "trap", 0).await;
    let answer = host.deliver(&declared, "trap").await;
    let id = host.delivery(&answer).await.summary.id;
    for attempts in 2..=3 {
        host.pass(3_600).await;
        eventually("the next attempt", async || {
            host.stored(id).await.summary.attempts == attempts
        })
        .await;
    }
    let parked = host.stored(id).await;
    assert_eq!(parked.summary.status, DeliveryStatus::Parked);
    assert_eq!(parked.next_attempt_at, None);
    let last = parked.summary.ran.clone().expect("it ran");

    let mended = Variant::version("1.0.1").mended("trap");
    let digest = host.converter(mended.component()).await;
    let converted = host.becomes(id, DeliveryStatus::Converted).await;
    assert_eq!(converted.summary.ran.expect("it ran").digest, digest);
    assert_eq!(converted.summary.error, None);
    let earlier = format!(
        "failed 3 times, last on {} {}: the plugin call failed",
        last.plugin, last.version
    );
    let [note] = &converted.notes[..] else {
        panic!("{:?}", converted.notes);
    };
    has!(note, &earlier);
    // A replay keeps it.
    let key = host.admin_key().await;
    let replay = host.admin("POST", &format!("/admin/v1/deliveries/{id}/replay"));
    let replay = replay.bearer(&key).json(&json!({"apply": true}));
    replay.send().await.expect(200);
    assert_eq!(host.stored(id).await.notes, converted.notes);
}

async fn a_delivery_whose_converter_does_not_serve_waits_for_it(on: On) {
    let (host, declared) = form(on).await;
    // As after a start at which the stored version failed to load.
    let serving = host.app.core.plugins.active("example-form");
    let serving = serving.expect("it serves");
    host.app.core.plugins.retire(&serving.digest);
    let ask = host.post(&declared.address("form"));
    let body = lead("f-1", "Lia Prado", "11 98888-0001");
    let answer = ask.json(&body).send().await.expect(200);
    assert_eq!(answer.json()["status"], "queued");
    let id = host.delivery(&answer).await.summary.id;
    deploy::load_active(&host.app.pipeline)
        .await
        .expect("it loads");
    host.pass(3_600).await;
    host.becomes(id, DeliveryStatus::Converted).await;
    assert_eq!(host.deals(&declared, "externalId=f-1").await.len(), 1);
}

async fn a_delivery_is_kept_for_its_days_and_its_deal_and_key_for_longer(on: On) {
    let (host, declared) = form(on).await;
    let body = lead("f-1", "Lia Prado", "11 98888-0001");
    let answer = host.deliver_json(&declared, "form", &body).await;
    let id = host.delivery(&answer).await.summary.id;
    host.advance(89 * 24 * 3_600).await;
    // The sweep runs when a host starts.
    let host = host.restart().await;
    host.stored(id).await;
    host.advance(2 * 24 * 3_600).await;
    let host = host.restart().await;
    eventually("the delivery is gone", async || {
        let found = host.store().delivery(id).await.expect("a store");
        found.is_none()
    })
    .await;
    assert_eq!(host.deals(&declared, "externalId=f-1").await.len(), 1);
    let again = host.deliver_json(&declared, "form", &body).await.json();
    fields!(again, {"status": "duplicate", "leads.0.dealId": answer.json()["leads"][0]["dealId"]});
}

async fn deliveries_beyond_the_converters_queue_wait_and_none_fails(on: On) {
    let options = Options::patient(on)
        .with("plugins.threads", 1)
        .with("worker.lease_seconds", 1_000_000)
        .with("plugins.queue", 2);
    let host = Host::working_with(options).await;
    host.converter(guests::misbehave()).await;
    let declared = host.declare(&harm("slow", "burn", 20_000_000)).await;
    let asks: Vec<_> = (0..24)
        .map(|_| tokio::spawn(host.post(&declared.address("slow")).send()))
        .collect();
    let mut queued = Vec::new();
    for ask in asks {
        let answer = ask.await.unwrap().expect(200);
        if answer.json()["status"] == "queued" {
            queued.push(host.delivery(&answer).await.summary.id);
        }
    }
    assert!(!queued.is_empty(), "the queue takes two");
    for id in queued {
        let done = leadhost_tests::until("the worker has done it", async || {
            host.pass(1).await;
            let stored = host.stored(id).await;
            (stored.summary.status == DeliveryStatus::Ignored).then_some(stored)
        })
        .await;
        assert_eq!(done.summary.attempts, 0, "it counts no failed attempt");
    }
}
