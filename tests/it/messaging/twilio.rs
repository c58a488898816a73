//! The same life through another provider: forms, content templates by their
//! ids, callbacks signed over the address.

use leadhost_tests::provider::{Callback, Inbound, Twilio};
use leadhost_tests::{Answer, Declared, Host, On, Options, fields};
use serde_json::{Value, json};

use super::fixture::{PHONE, body, ids};

leadhost_tests::on_every_store! {
    a_notification_goes_out_and_its_statuses_and_answers_are_exported,
    a_callback_for_another_address_is_quarantined,
}

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
        let options = Options::patient(on).with("server.public_url", public);
        let options = options.with("worker.lease_seconds", 1_000_000);
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
            "name": "Ilda Prates", "phoneNumber": PHONE,
            "instanceId": self.declared.report.instances["front"].0, "source": "site",
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
        self.host.row(&self.declared, entity, id).await
    }

    async fn flush(&self) {
        for answer in self.twilio.flush().await {
            assert_eq!(answer.status, 200, "{}", answer.body);
        }
    }
}

fn greeting() -> Value {
    json!({
        "name": "boas_vindas", "language": {"code": "pt_BR"},
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
    let is_so = field("StatusCallback").starts_with(PUBLIC);
    assert!(is_so, "{}", field("StatusCallback"));

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
