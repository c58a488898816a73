//! A workspace with its own word in every field.

use leadhost_tests::{Answer, Host, Json};
use serde_json::{Value, json};

/// The endings of its phones: two people's, an unreachable person's, and its own
/// number.
pub const PHONES: [&str; 4] = ["0001", "0002", "0009", "8888"];

/// The things that requests can name.
#[derive(Clone)]
pub struct FilledWorkspace {
    pub word: String,
    pub partner_key: String,
    pub workspace_key: String,
    pub token: String,
    pub phone: String,
    pub email: String,
    pub instance: i64,
    pub deal: String,
    pub external_id: String,
    pub conversation: String,
    pub ticket: String,
    pub owner_email: String,
    pub product: String,
    pub product_id: String,
    /// The channel's id of the failed message, and its error code.
    pub channel_id: String,
    pub error_code: String,
    pub template: String,
    pub idempotency_key: String,
}

impl FilledWorkspace {
    /// Declares the workspace, and creates one of everything in it.
    pub async fn build(host: &Host, (word, phone): (&str, &str)) -> Self {
        let lower = word.to_lowercase();
        let file = file(word, &lower, phone);
        let admin = host.admin_key().await;
        let applied = host.admin("POST", "/admin/v1/apply").bearer(&admin);
        let report = applied.json(&file).send().await.expect(200).json();
        let key = |kind: &str| {
            let keys = report["keys"].list();
            let made = keys.iter().find(|key| key["kind"] == kind);
            made.expect("the key was made")["key"].text().to_owned()
        };
        let mut workspace = Self {
            word: word.to_owned(),
            partner_key: key("partner"),
            workspace_key: key("workspace"),
            token: key("access-token"),
            phone: format!("{phone}0001"),
            email: format!("0001ana@{lower}.example"),
            instance: report["instances"][format!("{lower}-voice")]
                .as_i64()
                .expect("an instance"),
            external_id: format!("{lower}-L1"),
            owner_email: format!("owner@{lower}.example"),
            product: format!("{lower}-P1"),
            error_code: format!("{lower}-131"),
            template: format!("{lower}_welcome"),
            idempotency_key: format!("{lower}-once"),
            deal: String::new(),
            conversation: String::new(),
            ticket: String::new(),
            product_id: String::new(),
            channel_id: String::new(),
        };
        let form = report["connections"][format!("{lower}-form")].as_str();
        let voice = report["channels"][format!("{lower}-voice")].as_str();
        workspace
            .live(host, form.expect("a form"), voice.expect("a channel"))
            .await;
        workspace
    }

    /// A lead, a message, an answer, a failure, a note, and a hand-over.
    async fn live(&mut self, host: &Host, form: &str, voice: &str) {
        let (word, lower) = (self.word.clone(), self.word.to_lowercase());
        self.deal = self.lead(host, form, &self.external_id, "0001").await;

        let notified = self.notify(host, &self.phone, &self.idempotency_key).await;
        self.conversation = text(&notified.expect(200).json()["conversationId"]);
        let said = json!({"inbound": {"from": self.phone, "name": format!("Ana {word}"),
            "text": format!("{word} responde"), "id": format!("{lower}-in-1")}});
        let events = json!({"events": [said]});
        host.post(voice).json(&events).send().await.expect(200);

        // The next message fails at the provider.
        let other = format!("{}9", &self.phone[..self.phone.len() - 1]);
        self.notify(host, &other, &format!("{lower}-fails")).await;

        // Two tickets, so that a list of one has another page.
        let other = self.lead(host, form, &format!("{lower}-L2"), "0002").await;
        self.patch(host, &other, &json!({"stageCode": "transferred"}))
            .await;
        host.advance(1).await;
        let patch = json!({"ownerEmail": self.owner_email, "propertyExternalId": self.product,
            "stageCode": "transferred"});
        self.patch(host, &self.deal, &patch).await;
        let log = json!({"type": "success", "subject": format!("{word} vendeu"),
            "description": format!("{word} assinou"), "metadata": {"salesPrice": format!("{word} 1")}});
        let logged = host.post(&format!("/api/v1/deals/{}/log", self.deal));
        let logged = logged.json(&log);
        self.bearer(logged).send().await.expect(201);

        let tickets = self.bearer(host.get("/tickets")).send().await;
        self.ticket = text(&tickets.expect(200).json()["tickets"][0]["id"]);
        let deals = self.rows(host, "deals").await;
        let deal = deals.iter().find(|row| row["id"] == self.deal.as_str());
        self.product_id = text(&deal.expect("the deal is exported")["product_id"]);
        let messages = self.rows(host, "messages").await;
        let ids = messages
            .iter()
            .find_map(|row| row["metadata"]["externalIds"][0].as_str());
        self.channel_id = ids.expect("a message went out").to_owned();
    }

    async fn lead(&self, host: &Host, form: &str, id: &str, last: &str) -> String {
        let word = &self.word;
        let phone = format!("{}{last}", &self.phone[..self.phone.len() - 4]);
        let lead = json!({
            "id": id, "nome": format!("Ana {word}"), "telefone": phone,
            "email": self.email.replace("0001", last), "imovel": self.product,
            "mensagem": format!("{word} pergunta"), "cor": format!("{word} azul"),
        });
        let sent = host.post(&format!("/ingest-lead/{form}")).json(&lead);
        let answer = sent.send().await.expect(200).json();
        text(&answer["leads"][0]["dealId"])
    }

    async fn patch(&self, host: &Host, deal: &str, body: &Value) {
        let ask = host.ask("PATCH", &format!("/deal/{deal}")).json(body);
        let ask = ask.header("x-service-api-key", &self.partner_key);
        ask.send().await.expect(202);
    }

    fn bearer(&self, ask: leadhost_tests::Ask) -> leadhost_tests::Ask {
        ask.header("authorization", &format!("Bearer {}", self.token))
    }

    async fn notify(&self, host: &Host, phone: &str, key: &str) -> Answer {
        super::Request::notify(self, phone, key).send(host).await
    }

    pub async fn rows(&self, host: &Host, entity: &str) -> Vec<Value> {
        let key = format!("Bearer {}", self.workspace_key);
        let ask = host.get(&format!("/v1/export/{entity}?limit=1000"));
        let page = ask.header("authorization", &key).send().await;
        let page = page.expect(200).json();
        page["data"].list().clone()
    }

    /// The same workspace with unknown ids and words of the same length.
    pub fn unknown_workspace(&self) -> Self {
        let id = |last: u8| format!("019cae2b-3f61-7a52-8a10-5c3e2d1f0a{last:02x}");
        Self {
            word: "Nobodysx".to_owned(),
            phone: "+5511987530001".to_owned(),
            email: "0001ana@nobodysx.example".to_owned(),
            instance: 99_999,
            deal: id(1),
            external_id: "nobodysx-L1".to_owned(),
            conversation: id(2),
            ticket: id(4),
            owner_email: "owner@nobodysx.example".to_owned(),
            product: "nobodysx-P1".to_owned(),
            product_id: id(5),
            channel_id: format!("sandbox:{}", id(6)),
            error_code: "nobodysx-131".to_owned(),
            template: "nobodysx_welcome".to_owned(),
            idempotency_key: "nobodysx-once".to_owned(),
            ..self.clone()
        }
    }
}

#[track_caller]
pub fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("a text: {value}"))
        .to_owned()
}

fn file(word: &str, lower: &str, phone: &str) -> Value {
    json!({
        "workspace": {"slug": format!("{lower}-house"), "name": format!("{word} Homes")},
        "partners": [{"name": format!("{lower}-crm")}],
        "instances": [{
            "name": format!("{lower}-voice"), "number": format!("{phone}8888"), "adapter": "sandbox",
            "config": {
                "templates": [{"name": format!("{lower}_welcome"), "language": "pt_BR",
                    "text": format!("{word} diz: olá {{{{1}}}}")}],
                "outcomes": [{"recipient": format!("{phone}0009"), "category": "recipient",
                    "code": format!("{lower}-131"), "text": format!("{word} não alcança")}],
            },
        }],
        "connections": [{
            "name": format!("{lower}-form"), "partner": format!("{lower}-crm"),
            "instance": format!("{lower}-voice"), "plugin": "example-form",
        }],
        "owners": [{"name": format!("{word} Owner"), "email": format!("owner@{lower}.example")}],
        "products": [{"external_id": format!("{lower}-P1"), "name": format!("{word} Tower"),
            "description": format!("{word} by the sea")}],
        "keys": [
            {"kind": "partner", "label": format!("{lower} crm"), "partner": format!("{lower}-crm")},
            {"kind": "access-token", "label": format!("{lower} desk"), "partner": format!("{lower}-crm")},
            {"kind": "workspace", "label": format!("{lower} export")},
        ],
    })
}
