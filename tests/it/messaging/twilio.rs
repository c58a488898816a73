//! The same life through another provider: forms, content templates by their
//! ids, callbacks signed over the address.

use leadhost_tests::provider::{Callback, Inbound, Misbehaviour, Taken};
use leadhost_tests::twilio::Twilio;
use leadhost_tests::{Answer, Declared, Host, Json, On, Options, fields, has, until};
use serde_json::{Value, json};
use xtask::double::proof::hmac_sha1_base64;

use super::fixture::{PHONE, body, ids, refusal};

leadhost_tests::on_every_store! {
    a_notification_goes_out_and_its_statuses_and_answers_are_exported,
    a_callback_for_another_address_is_quarantined,
    a_callback_is_signed_with_or_without_the_port_and_before_its_query_is_sorted,
    a_contact_who_writes_first_begins_a_conversation,
    an_undelivered_message_is_reported,
    a_template_that_is_not_mapped_is_unknown,
    a_recipient_who_opted_out_at_the_provider_is_refused,
    a_limit_is_waited_out,
    a_wrong_token_pauses_the_instance,
    a_send_with_an_unknown_outcome_is_not_repeated,
}

/// The contact in Twilio's format.
const CONTACT: &str = "whatsapp:+5511987650101";

/// The public address of the service, behind a proxy that ends TLS.
const PUBLIC: &str = "https://leads.example";

struct TwilioFixture {
    host: Host,
    declared: Declared,
    twilio: Twilio,
}

impl TwilioFixture {
    async fn new(on: On) -> Self {
        Self::at(on, PUBLIC).await
    }

    async fn at(on: On, public: &str) -> Self {
        let options = Options::patient(on)
            .with("server.public_url", public)
            .with("worker.lease_seconds", 1_000_000);
        let host = Host::working_with(options).await;
        host.activate("adapter-twilio").await;
        let twilio = Twilio::start();
        let declared = host.declare(&instance(&twilio)).await;
        let desk = Self {
            host,
            declared,
            twilio,
        };
        let (gateway, webhook) = (desk.host.addresses.gateway, desk.webhook());
        let reached = Callback::to(&format!("http://{gateway}{webhook}"));
        desk.twilio
            .call_back(reached.signed_as(&format!("{public}{webhook}")));
        desk
    }

    fn webhook(&self) -> String {
        self.declared.report.channels["front"].clone()
    }

    async fn notify(&self, template: Value) -> Answer {
        let request = json!({
            "name": "Ilda Prates",
            "phoneNumber": PHONE,
            "instanceId": self.declared.report.instances["front"].0,
            "source": "site",
            "template": template,
        });
        let ask = self.host.post("/send-notification").json(&request);
        let ask = ask.header("x-service-api-key", &self.declared.key("partner"));
        ask.send().await
    }

    async fn greet(&self) -> Answer {
        self.notify(greeting()).await
    }

    async fn row(&self, entity: &str, id: &str) -> Value {
        let rows = self.host.rows(&self.declared, entity).await;
        let found = rows.into_iter().find(|row| row["id"] == id);
        found.unwrap_or_else(|| panic!("{entity} has no {id}"))
    }

    async fn errors(&self) -> Vec<Value> {
        let target = "/v1/reports/message_errors?updated_since=2030-01-15T00:00:00Z";
        let key = format!("Bearer {}", self.declared.key("workspace"));
        let ask = self.host.get(target).header("authorization", &key);
        let page = ask.send().await.expect(200).json();
        page["data"].list().clone()
    }

    async fn flush(&self) {
        for answer in self.twilio.flush().await {
            assert_eq!(answer.status, 200, "{}", answer.body);
        }
    }
}

fn greeting() -> Value {
    json!({
        "name": "boas_vindas",
        "language": {"code": "pt_BR"},
        "components": [body(&["Ilda", "Casa Verde"])],
    })
}

fn instance(twilio: &Twilio) -> String {
    let (url, options) = (twilio.url(), twilio.options());
    format!(
        r#"
[[instances]]
name = "front"
adapter = "twilio"
channel = "whatsapp"
config = {{ accountSid = "{account}", from = "{from}", apiUrl = "{url}", templates = [
  {{ name = "boas_vindas", language = "pt_BR", contentSid = "{content}", text = "{text}" }},
] }}
allow = [{{ url = "{url}", private = true }}]
secrets = {{ auth-token = "{token}" }}
"#,
        account = options.account_sid,
        from = options.from,
        content = options.contents[0].sid,
        text = options.contents[0].text,
        token = options.auth_token,
    )
}

async fn a_notification_goes_out_and_its_statuses_and_answers_are_exported(on: On) {
    let desk = TwilioFixture::new(on).await;
    let answer = desk.greet().await.expect(200);
    assert_eq!(answer.header("x-message-status"), "accepted");
    let (conversation, message) = ids(&answer);
    let send = &desk.twilio.sends()[0];
    let form = send.form();
    let field = |name: &str| {
        let found = form.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value.as_str())
    };
    assert_eq!(field("To"), CONTACT);
    assert_eq!(field("From"), "whatsapp:+551130000042");
    let variables: Value = serde_json::from_str(field("ContentVariables")).expect("JSON");
    assert_eq!(variables, json!({"1": "Ilda", "2": "Casa Verde"}));
    assert!(
        field("StatusCallback").starts_with(PUBLIC),
        "{}",
        field("StatusCallback")
    );

    let sid = desk.twilio.accepted()[0].id.clone();
    for (after, word) in [(2, "delivered"), (1, "sent"), (60, "read")] {
        desk.host.advance(after).await;
        desk.twilio.status(&sid, word);
        desk.flush().await;
    }
    desk.twilio
        .inbound(Inbound::button(CONTACT, "Quero visitar", "visita").answering(&sid));
    desk.flush().await;
    let row = desk.row("messages", &message).await;
    fields!(row, {"metadata.status": "read", "metadata.externalIds": [sid]});
    // A callback has no time of its own: the time of receipt counts.
    assert_eq!(row["delivered_at"], "2030-01-15T12:00:02.000000Z");
    assert_eq!(row["read_at"], "2030-01-15T12:01:03.000000Z");
    let row = desk.row("conversations", &conversation).await;
    fields!(row, {"status": "answered", "channel": "whatsapp"});
    let messages = desk.host.rows(&desk.declared, "messages").await;
    assert_eq!(messages.len(), 2);
    let contacts = desk.host.rows(&desk.declared, "contacts").await;
    assert_eq!(contacts.len(), 1);
    assert!(!desk.host.keeps(&desk.twilio.options().auth_token).await);
}

async fn a_callback_for_another_address_is_quarantined(on: On) {
    let desk = TwilioFixture::new(on).await;
    let (_, message) = ids(&desk.greet().await.expect(200));
    let sid = desk.twilio.accepted()[0].id.clone();
    let (gateway, webhook) = (desk.host.addresses.gateway, desk.webhook());
    // The address that the host would derive without its public one.
    let guessed = format!("http://{gateway}{webhook}");
    desk.twilio.call_back(Callback::to(&guessed));
    let mut status = desk.twilio.status_of(&sid, "read");
    status.callback = None;
    desk.twilio.queue(status);
    assert_eq!(desk.twilio.flush().await[0].status, 401);
    let row = desk.row("messages", &message).await;
    assert_eq!(row["metadata"]["status"], "accepted");
}

/// Some programs and proxies leave the port out or add it, and Twilio sorts a query after it has signed it.
async fn a_callback_is_signed_with_or_without_the_port_and_before_its_query_is_sorted(on: On) {
    for (public, signed, others) in [
        (
            "https://leads.example:8443",
            ["https://leads.example:8443", "https://leads.example"],
            ["https://leads.example:443", "https://other.example"],
        ),
        (
            "https://leads.example",
            ["https://leads.example", "https://leads.example:443"],
            ["https://leads.example:8443", "http://leads.example"],
        ),
    ] {
        let desk = TwilioFixture::at(on.clone(), public).await;
        let webhook = desk.webhook();
        let send = async |query: &str, signed: &str| {
            let text = format!(
                "{signed}MessageSidSM00000000000000000000000000000001MessageStatusdeliveredTowhatsapp:+5511900000001"
            );
            let signature = hmac_sha1_base64(&desk.twilio.options().auth_token, text.as_bytes());
            let ask = desk.host.post(&format!("{webhook}{query}"));
            let ask = ask.header("x-twilio-signature", &signature);
            let ask = ask.header("content-type", "application/x-www-form-urlencoded");
            let body = "MessageSid=SM00000000000000000000000000000001&MessageStatus=delivered&To=whatsapp%3A%2B5511900000001";
            ask.body(body).send().await.status
        };
        let sorted = "?message-id=M&z=1";
        for address in signed {
            let signed = |query: &str| format!("{address}{webhook}{query}");
            assert_eq!(
                send("?message-id=M", &signed("?message-id=M")).await,
                200,
                "{address}"
            );
            assert_eq!(send(sorted, &signed(sorted)).await, 200, "{address}");
            assert_eq!(
                send(sorted, &signed("?z=1&message-id=M")).await,
                200,
                "{address}"
            );
            for wrong in [
                signed(""),
                signed("?z=1"),
                signed("?z=2&message-id=M"),
                signed("/x?message-id=M&z=1"),
                // A field that the body does not have.
                format!("{}Bodyx", signed(sorted)),
            ] {
                assert_eq!(send(sorted, &wrong).await, 401, "{wrong}");
            }
        }
        for other in others {
            let wrong = format!("{other}{webhook}{sorted}");
            assert_eq!(send(sorted, &wrong).await, 401, "{wrong}");
        }
    }
}

async fn a_contact_who_writes_first_begins_a_conversation(on: On) {
    let desk = TwilioFixture::new(on).await;
    desk.twilio
        .inbound(Inbound::text(CONTACT, "Oi, é às 10?").named("Caio Lemos"));
    desk.flush().await;
    // Not every contact there has a phone.
    desk.twilio
        .inbound(Inbound::text("whatsapp:BR.4411001", "Olá"));
    desk.flush().await;
    let contacts = desk.host.rows(&desk.declared, "contacts").await;
    assert_eq!(contacts.len(), 2);
    assert_eq!(contacts[0]["name"], "Caio Lemos");
    assert_eq!(contacts[0]["phone_number"], "+5511987650101");
    assert!(contacts[1]["phone_number"].is_null());
    let messages = desk.host.rows(&desk.declared, "messages").await;
    assert_eq!(messages[0]["content"], "Oi, é às 10?");
}

async fn an_undelivered_message_is_reported(on: On) {
    let desk = TwilioFixture::new(on).await;
    let (_, message) = ids(&desk.greet().await.expect(200));
    let sid = desk.twilio.accepted()[0].id.clone();
    let status = desk.twilio.status_of(&sid, "undelivered");
    desk.twilio.queue(status.errors(&[63_024]));
    desk.flush().await;
    let row = desk.row("messages", &message).await;
    assert_eq!(row["metadata"]["status"], "failed");
    let errors = desk.errors().await;
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0]["error_code"], "63024");
    assert_eq!(errors[0]["external_id"], sid);
    assert_eq!(errors[0]["recipient_id"], "+5511987650101");
}

async fn a_template_that_is_not_mapped_is_unknown(on: On) {
    let desk = TwilioFixture::new(on).await;
    let template = json!({"name": "nenhum", "language": {"code": "pt_BR"}});
    let message = refusal(desk.notify(template).await, 500);
    assert_eq!(message, "Template 'nenhum' not found");
    assert!(desk.twilio.sends().is_empty());
}

async fn a_recipient_who_opted_out_at_the_provider_is_refused(on: On) {
    let desk = TwilioFixture::new(on).await;
    desk.twilio.opt_out(CONTACT);
    refusal(desk.greet().await, 400);
    assert_eq!(desk.errors().await[0]["error_code"], "21610");
    assert!(desk.twilio.accepted().is_empty());
}

async fn becomes(desk: &TwilioFixture, message: &str, state: &str) {
    use leadhost_store::OutboxFilter;
    until(&format!("{message} becomes {state}"), async || {
        let filter = OutboxFilter {
            limit: 10,
            ..OutboxFilter::default()
        };
        let rows = desk.host.store().outbox(&filter).await.expect("a store");
        let row = rows.iter().find(|row| row.id.to_string() == message)?;
        (row.metadata.status == state).then_some(())
    })
    .await;
}

async fn a_limit_is_waited_out(on: On) {
    let desk = TwilioFixture::new(on).await;
    let limit = Misbehaviour::Throttled {
        code: 20_429,
        retry_after: 9,
    };
    desk.twilio.next_sends(1, limit);
    let answer = desk.greet().await.expect(200);
    assert_eq!(answer.header("x-message-status"), "waiting");
    let (_, message) = ids(&answer);
    desk.host.pass(8).await;
    let now = desk.host.now();
    let early = desk
        .host
        .store()
        .claim(&leadhost_store::ClaimTurns::new(9), now, now)
        .await
        .expect("a store");
    assert!(early.is_empty(), "Retry-After says nine seconds");
    desk.host.pass(1).await;
    becomes(&desk, &message, "accepted").await;
    assert_eq!(desk.twilio.accepted().len(), 1);
}

async fn a_wrong_token_pauses_the_instance(on: On) {
    let desk = TwilioFixture::new(on).await;
    desk.twilio.next_sends(1, Misbehaviour::Code(20_003));
    let answer = desk.greet().await.expect(200);
    assert_eq!(answer.header("x-message-status"), "waiting");
    let webhook = desk.webhook();
    let token = webhook.rsplit('/').next().expect("a token");
    let id = token.parse().expect("an id");
    let reason = until("the instance is paused", async || {
        desk.host
            .connection(&id)
            .await
            .paused
            .map(|pause| pause.reason)
    })
    .await;
    has!(reason, "20003");
}

async fn a_send_with_an_unknown_outcome_is_not_repeated(on: On) {
    let desk = TwilioFixture::new(on).await;
    desk.twilio
        .next_sends(1, Misbehaviour::Html(502, Taken::Yes));
    let (_, message) = ids(&desk.greet().await.expect(200));
    becomes(&desk, &message, "unknown").await;
    desk.host.pass(100 * 3_600).await;
    desk.greet().await.expect(200);
    assert_eq!(desk.twilio.accepted().len(), 2, "the second is another one");
    becomes(&desk, &message, "unknown").await;
}
