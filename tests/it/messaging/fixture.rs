//! A host with an instance on the WhatsApp double, and a partner that notifies.

use leadhost_domain::id::ConnectionId;
use leadhost_store::{OutboxFilter, OutboxMessage};
use leadhost_tests::provider::{Callback, CallbackAnswer, Key, Misbehaviour, Taken, WhatsApp};
use leadhost_tests::{Answer, Ask, Declared, Host, Json, On, Options, eventually, fields};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

pub const JSON: &str = "application/json";

pub const FRONT: &str = "front";

/// A lead's phone, as a partner writes it and as WhatsApp names it.
pub const PHONE: &str = "(11) 98765-0101";
pub const WA_ID: &str = "5511987650101";

/// Another contact's.
pub const OTHER_PHONE: &str = "+55 21 99876-0202";

pub const VERIFY_TOKEN: &str = "double-verify-token";

pub struct WhatsAppFixture {
    pub host: Host,
    pub declared: Declared,
    pub whatsapp: WhatsApp,
}

pub struct SentMessage {
    pub conversation: String,
    pub message: String,
    pub wamid: String,
}

impl WhatsAppFixture {
    /// With a known list of templates.
    pub async fn new(on: On) -> Self {
        Self::with(Options::patient(on), WhatsApp::start()).await
    }

    pub async fn with(options: Options, whatsapp: WhatsApp) -> Self {
        let desk = Self::declared(options, &instance(FRONT, &whatsapp), whatsapp).await;
        desk.lists().await;
        desk
    }

    pub async fn declared(options: Options, file: &str, whatsapp: WhatsApp) -> Self {
        let host = Host::working_with(options).await;
        host.activate("adapter-whatsapp-cloud").await;
        let declared = host.declare(file).await;
        let desk = Self {
            host,
            declared,
            whatsapp,
        };
        desk.whatsapp.call_back(desk.callback());
        desk
    }

    pub async fn lists(&self) {
        eventually("the templates are listed", async || {
            let list = self.host.list_templates(&self.channel(FRONT)).await;
            list.error.is_none()
        })
        .await;
    }

    pub fn channel(&self, instance: &str) -> ConnectionId {
        self.declared.channel(instance)
    }

    pub fn instance(&self) -> i64 {
        self.declared.instance(FRONT)
    }

    pub fn webhook(&self, instance: &str) -> String {
        self.declared.webhook(instance)
    }

    /// The address that the provider posts to.
    pub fn callback(&self) -> Callback {
        let gateway = self.host.addresses.gateway;
        Callback::to(&format!("http://{gateway}{}", self.webhook(FRONT)))
    }

    // ---- requests of a partner

    pub fn notify(&self, body: &Value) -> Ask {
        let ask = self.host.post("/send-notification").json(body);
        ask.header("x-service-api-key", &self.declared.key("partner"))
    }

    /// A notification in the modern format.
    pub fn notification(&self, phone: &str, template: Value) -> Value {
        json!({
            "name": "Ilda Prates", "phoneNumber": phone, "instanceId": self.instance(),
            "source": "site", "template": template,
        })
    }

    /// A notification that the provider accepts.
    pub fn greeting(&self, phone: &str) -> Value {
        self.notification(phone, template("boas_vindas", &["Ilda", "Casa Verde"]))
    }

    pub async fn greets(&self, phone: &str) -> SentMessage {
        let answer = self.notify(&self.greeting(phone)).send().await.expect(200);
        // A partner is answered in time; the provider may be later.
        let (_, message) = ids(&answer);
        eventually("the provider takes the greeting", async || {
            self.whatsapp.accepted_as(&message) > 0
        })
        .await;
        self.sent(&answer)
    }

    /// Sends the greeting. The provider accepts it but does not answer until it
    /// is released. Returns the pending answer and the provider's id of the
    /// message.
    pub async fn hanging(&self, phone: &str) -> (JoinHandle<Answer>, String) {
        self.whatsapp.next_sends(1, Misbehaviour::Hang(Taken::Yes));
        let sending = tokio::spawn(self.notify(&self.greeting(phone)).send());
        self.whatsapp.hangs(1).await;
        let taken = self.whatsapp.accepted().pop();
        (sending, taken.expect("it was taken").id)
    }

    /// Returns the ids of a notification that the provider has accepted.
    #[track_caller]
    pub fn sent(&self, answer: &Answer) -> SentMessage {
        let (conversation, message) = ids(answer);
        let accepted = self.whatsapp.accepted();
        let taken = accepted
            .iter()
            .find(|taken| taken.send.opaque.as_deref() == Some(&message));
        let wamid = taken.unwrap_or_else(|| panic!("{message} was not taken"));
        let wamid = wamid.id.clone();
        SentMessage {
            conversation,
            message,
            wamid,
        }
    }

    // ---- results

    pub async fn messages(&self) -> Vec<OutboxMessage> {
        let filter = OutboxFilter {
            limit: 1_000,
            ..OutboxFilter::default()
        };
        self.host.store().outbox(&filter).await.expect("a store")
    }

    pub async fn state(&self, message: &str) -> String {
        let messages = self.messages().await;
        let found = messages.iter().find(|row| row.id.to_string() == message);
        let found = found.expect("the message is there");
        found.metadata.status.clone()
    }

    pub async fn becomes(&self, message: &str, state: &str) {
        eventually(&format!("{message} becomes {state}"), async || {
            self.state(message).await == state
        })
        .await;
    }

    /// Returns the exported row of an entity with this id.
    pub async fn row(&self, entity: &str, id: &str) -> Value {
        self.host.row(&self.declared, entity, id).await
    }

    /// Returns all rows of the report, with more in the query.
    pub async fn errors(&self, query: &str) -> Vec<Value> {
        let target = format!(
            "/v1/reports/message_errors?updated_since=2030-01-15T00:00:00Z&limit=1000{query}"
        );
        let answer = self.data(&target).send().await.expect(200).json();
        answer["data"].list().clone()
    }

    pub fn data(&self, target: &str) -> Ask {
        let key = format!("Bearer {}", self.declared.key("workspace"));
        self.host.get(target).header("authorization", &key)
    }

    pub async fn settled(&self) {
        eventually("every incoming delivery is converted", async || {
            let waiting = self.host.store().waiting().await.expect("a store");
            waiting.is_empty()
        })
        .await;
    }

    /// Sends the waiting events. The host must accept them all. Posts a webhook with this value
    /// in its only change.
    pub async fn posts(&self, value: Value) {
        let body = webhook(value).to_string();
        taken(&[self.whatsapp.send_raw(JSON, body, Key::Right).await]);
    }

    /// Returns the only row of an entity.
    pub async fn only(&self, entity: &str) -> Value {
        let rows = self.host.rows(&self.declared, entity).await;
        let [row] = <[Value; 1]>::try_from(rows).expect("one row");
        row
    }

    pub async fn flush(&self) {
        taken(&self.whatsapp.flush().await);
    }
}

/// A webhook of the double's number with this value in its only change.
pub fn webhook(value: Value) -> Value {
    let mut whole = json!({
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": "551130000042", "phone_number_id": "300000000000001"},
    });
    for (name, part) in value.as_object().expect("an object") {
        whole[name] = part.clone();
    }
    let field = match value.get("user_preferences") {
        Some(_) => "user_preferences",
        None => "messages",
    };
    json!({
        "object": "whatsapp_business_account",
        "entry": [{"id": "200000000000001", "changes": [{"value": whole, "field": field}]}],
    })
}

/// An instance on the double, for a workspace file.
pub fn instance(name: &str, whatsapp: &WhatsApp) -> String {
    let (url, options) = (whatsapp.url(), whatsapp.options());
    format!(
        r#"
[[instances]]
name = "{name}"
number = "+{number}"
adapter = "whatsapp-cloud"
config = {{ phoneNumberId = "{phone}", wabaId = "{waba}", graphUrl = "{url}" }}
allow = [{{ url = "{url}", private = true }}]
secrets = {{ access-token = "{token}", app-secret = "{secret}", verify-token = "{VERIFY_TOKEN}" }}
"#,
        number = options.number,
        phone = options.phone_number_id,
        waba = options.waba_id,
        token = options.tokens[0],
        secret = options.app_secret,
    )
}

/// A template in Portuguese with these texts for its body.
pub fn template(name: &str, texts: &[&str]) -> Value {
    let mut template = json!({"name": name, "language": {"code": "pt_BR"}});
    if !texts.is_empty() {
        template["components"] = json!([body(texts)]);
    }
    template
}

pub fn body(texts: &[&str]) -> Value {
    let parameters: Vec<Value> = texts
        .iter()
        .map(|text| json!({"type": "text", "text": text}))
        .collect();
    json!({"type": "body", "parameters": parameters})
}

/// Returns the conversation and the message of an answer.
#[track_caller]
pub fn ids(answer: &Answer) -> (String, String) {
    let conversation = answer.json()["conversationId"].clone();
    let conversation = conversation.as_str().expect("a conversation").to_owned();
    (conversation, answer.header("x-message-id").to_owned())
}

/// Returns the message of a refused notification, which has this status.
#[track_caller]
pub fn refusal(answer: Answer, status: u16) -> String {
    let body = answer.expect(status).json();
    fields!(body, {"success": false, "statusCode": status});
    body["message"].text().to_owned()
}

/// Checks that the webhooks were accepted.
#[track_caller]
pub fn taken(answers: &[CallbackAnswer]) {
    for answer in answers {
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
}
