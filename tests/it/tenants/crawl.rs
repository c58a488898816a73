//! Every request that a partner or a data client can make, about the things of any
//! workspace.

use std::fmt;

use leadhost_tests::{Answer, Ask, Host};
use serde_json::{Value, json};

use super::filled_workspace::{FilledWorkspace, text};

/// One request, with the keys of one workspace, about the things of a workspace.
pub struct Request {
    method: &'static str,
    target: String,
    /// Name and value.
    key: (&'static str, String),
    body: Value,
    more: Vec<(&'static str, String)>,
    /// The words that it contains of the workspace that it is about.
    words: Vec<String>,
    /// Whether its answer contains something of that workspace.
    pub shows: bool,
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.method, self.target, self.body)
    }
}

impl Request {
    pub async fn send(&self, host: &Host) -> Answer {
        let mut ask: Ask = host.ask(self.method, &self.target);
        ask = ask.header(self.key.0, &self.key.1);
        for (name, value) in &self.more {
            ask = ask.header(name, value);
        }
        if !self.body.is_null() {
            ask = ask.json(&self.body);
        }
        ask.send().await
    }

    /// A notification to this phone under this idempotency key.
    pub fn notify(workspace: &FilledWorkspace, phone: &str, key: &str) -> Self {
        let word = &workspace.word;
        Self {
            method: "POST",
            target: "/send-notification".to_owned(),
            key: ("x-service-api-key", workspace.partner_key.clone()),
            body: json!({
                "name": format!("Ana {word}"), "phoneNumber": phone, "instanceId": workspace.instance,
                "source": format!("{word} site"), "specialInstructions": format!("{word} devagar"),
                "template": {"name": workspace.template, "language": {"code": "pt_BR"}, "components": [
                    {"type": "body", "parameters": [{"type": "text", "text": word}]}]},
            }),
            more: vec![("idempotency-key", key.to_owned())],
            words: Vec::new(),
            shows: false,
        }
    }

    /// Replaces the words of the other request in a text by those of this one.
    pub fn in_the_words_of(&self, other: &Self, said: &str) -> String {
        let pairs = self.words.iter().zip(&other.words);
        pairs.fold(said.to_owned(), |said, (mine, theirs)| {
            said.replace(mine.as_str(), theirs)
        })
    }
}

/// The requests of one workspace.
pub struct Requests {
    partner_key: String,
    workspace_key: String,
    token: String,
    /// The things that it changes itself when a request names things of another
    /// workspace.
    deal: String,
    ticket: String,
    instance: i64,
}

impl Requests {
    pub fn new(workspace: &FilledWorkspace) -> Self {
        Self {
            partner_key: workspace.partner_key.clone(),
            workspace_key: workspace.workspace_key.clone(),
            token: workspace.token.clone(),
            deal: workspace.deal.clone(),
            ticket: workspace.ticket.clone(),
            instance: workspace.instance,
        }
    }

    fn with(
        &self,
        key: Key,
        method: &'static str,
        target: String,
        about: &FilledWorkspace,
    ) -> Request {
        let key = match key {
            Key::Partner => ("x-service-api-key", self.partner_key.clone()),
            Key::Token => ("authorization", format!("Bearer {}", self.token)),
            Key::Workspace => ("authorization", format!("Bearer {}", self.workspace_key)),
        };
        Request {
            method,
            target,
            key,
            body: Value::Null,
            more: Vec::new(),
            words: about.words(),
            shows: true,
        }
    }

    /// All requests about the things of this workspace, in a fixed order.
    pub fn about(&self, workspace: &FilledWorkspace) -> Vec<Request> {
        let get = |key, target: String| self.with(key, "GET", target, workspace);
        let deal = |query: &str| get(Key::Partner, format!("/deal?{query}"));
        let report = |query: &str| {
            let since = "2030-01-15T00:00:00Z";
            let target = format!("/v1/reports/message_errors?updated_since={since}{query}");
            get(Key::Workspace, target)
        };
        let phone = workspace.phone.trim_start_matches('+');
        let mut requests = vec![
            deal(&format!("phoneNumber=%2B{phone}")),
            deal(&format!("email={}", workspace.email)),
            deal(&format!("dealId={}", workspace.deal)),
            deal(&format!("externalId={}", workspace.external_id)),
            deal(&format!(
                "email={}&externalId={}",
                workspace.email, workspace.external_id
            )),
            get(Key::Token, format!("/tickets/{}", workspace.ticket)),
            get(Key::Token, format!("/api/v1/deals/{}/log", workspace.deal)),
            get(
                Key::Partner,
                format!("/products-by-name?name={}", workspace.word.to_lowercase()),
            ),
            report(&format!("&deal_id={}", workspace.deal)).quiet(),
            report(&format!("&conversation_id={}", workspace.conversation)).quiet(),
            report(&format!("&agent_id={}", workspace.instance)),
            report(&format!("&external_id={}", workspace.channel_id)).quiet(),
            report(&format!("&error_code={}", workspace.error_code)),
        ];
        let site = format!("{}%20site", workspace.word);
        for set in ["conversations", "tickets"] {
            for filter in [
                format!("agent_id={}", workspace.instance),
                format!("source={site}"),
                format!(
                    "agent_type=ai&sources={site}&agent_ids={}",
                    workspace.instance
                ),
            ] {
                let target = format!("/v1/analytics/{set}/day?group_by=source&{filter}");
                let request = get(Key::Workspace, target);
                let shows = set == "conversations";
                requests.push(if shows { request } else { request.quiet() });
            }
        }
        requests.extend(self.changes(workspace));
        // Requests that name nothing: they return everything of one's own workspace.
        for entity in ["conversations", "messages", "contacts", "deals"] {
            requests.push(get(
                Key::Workspace,
                format!("/v1/export/{entity}?limit=1000"),
            ));
            let ids = format!("/v1/export/{entity}/ids?limit=1000");
            requests.push(get(Key::Workspace, ids).quiet());
        }
        let all = "conversations/month?group_by=agent_type,agent_id,source";
        requests.push(get(Key::Workspace, format!("/v1/analytics/{all}")));
        let fresh = get(Key::Workspace, "/v1/analytics/freshness".to_owned());
        requests.push(fresh.quiet());
        requests.push(report(""));
        requests.push(get(Key::Workspace, "/v1/whoami".to_owned()));
        requests.push(get(Key::Token, "/tickets".to_owned()));
        requests.push(get(Key::Token, "/tickets?status=open".to_owned()));
        requests
    }

    fn changes(&self, workspace: &FilledWorkspace) -> Vec<Request> {
        let send = |key, method, target: String, body: Value| {
            let request = self.with(key, method, target, workspace);
            Request { body, ..request }.quiet()
        };
        let create = |more: Value| {
            let mut body = json!({"name": "Ana", "phoneNumber": "+5511987540003"});
            let fields = body.as_object_mut().expect("an object");
            fields.extend(more.as_object().expect("an object").clone());
            send(Key::Partner, "POST", "/deal".to_owned(), body)
        };
        let patch_deal =
            |deal: &str, body: Value| send(Key::Partner, "PATCH", format!("/deal/{deal}"), body);
        let patch_ticket = |ticket: &str, body: Value| {
            send(Key::Token, "PATCH", format!("/tickets/{ticket}"), body)
        };
        let log = json!({"type": "success", "subject": "Vendido"});
        let mut notify = send(
            Key::Partner,
            "POST",
            "/send-notification".to_owned(),
            json!({
                "name": "Ana", "phoneNumber": "+5511987540002", "instanceId": workspace.instance,
                "source": "site", "messageTemplate": workspace.template, "replacements": ["Ana"],
            }),
        );
        // So that repeats of it are one message.
        notify.more.push((
            "idempotency-key",
            format!("{}-crawl", workspace.idempotency_key),
        ));
        let mut foreign_template = send(
            Key::Partner,
            "POST",
            "/send-notification".to_owned(),
            json!({
                "name": "Ana", "phoneNumber": "+5511987540002", "instanceId": self.instance,
                "source": "site", "messageTemplate": workspace.template, "replacements": ["Ana"],
            }),
        );
        foreign_template.more.push((
            "idempotency-key",
            format!("{}-template", workspace.idempotency_key),
        ));
        vec![
            notify,
            foreign_template,
            create(json!({"productExternalId": workspace.product})),
            create(json!({"productId": workspace.product_id})),
            create(json!({"instanceId": workspace.instance})),
            create(
                json!({"instanceId": self.instance, "messageTemplate": workspace.template, "replacements": ["Ana"]}),
            ),
            patch_deal(&workspace.deal, json!({"stageCode": "negotiating"})),
            patch_deal(&self.deal, json!({"ownerEmail": workspace.owner_email})),
            patch_deal(&self.deal, json!({"propertyExternalId": workspace.product})),
            send(
                Key::Token,
                "POST",
                format!("/api/v1/deals/{}/log", workspace.deal),
                log,
            ),
            patch_ticket(&workspace.ticket, json!({"status": "answered"})),
            patch_ticket(&self.ticket, json!({"ownerEmail": workspace.owner_email})),
        ]
    }

    /// The requests with the cursors that the other workspace got, each with its cursor.
    pub async fn with_cursors_of(
        &self,
        host: &Host,
        other: &FilledWorkspace,
    ) -> Vec<(Request, String)> {
        let theirs = Self::new(other);
        let mut found = Vec::new();
        for (key, target, field) in [
            (Key::Workspace, "/v1/export/messages?limit=1", "next_cursor"),
            (
                Key::Workspace,
                "/v1/export/messages/ids?limit=1",
                "next_cursor",
            ),
            (Key::Token, "/tickets?limit=1", "nextCursor"),
        ] {
            let page = theirs.with(key, "GET", target.to_owned(), other);
            let page = page.send(host).await.expect(200).json();
            let cursor = text(&page[field]);
            let target = format!("{target}&cursor={cursor}");
            found.push((self.with(key, "GET", target, other), cursor));
        }
        found
    }
}

impl Request {
    /// Its answer need not name anything.
    fn quiet(mut self) -> Self {
        self.shows = false;
        self
    }
}

impl FilledWorkspace {
    /// The words that an answer may repeat because they were in the request, longest
    /// first.
    fn words(&self) -> Vec<String> {
        let lower = self.word.to_lowercase();
        vec![
            self.deal.clone(),
            self.conversation.clone(),
            self.ticket.clone(),
            self.product_id.clone(),
            self.phone.clone(),
            lower,
        ]
    }
}

#[derive(Clone, Copy)]
enum Key {
    Partner,
    Token,
    Workspace,
}
