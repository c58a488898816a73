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

    /// Replaces the words of the other request in a text with this one's.
    pub fn in_the_words_of(&self, other: &Self, said: &str) -> String {
        let pairs = self.words.iter().zip(&other.words);
        pairs.fold(said.to_owned(), |said, (mine, theirs)| {
            said.replace(mine.as_str(), theirs)
        })
    }
}

/// Whether the answer shows something of the workspace, whose key, and the request. Those at the end
/// name nothing: they return everything of one's own workspace.
const REQUESTS: &str = r#"
shows partner GET /deal?phoneNumber=%2B{phone}
shows partner GET /deal?email={email}
shows partner GET /deal?dealId={deal}
shows partner GET /deal?externalId={external}
shows partner GET /deal?email={email}&externalId={external}
shows token GET /tickets/{ticket}
shows token GET /api/v1/deals/{deal}/log
shows partner GET /products-by-name?name={lower}
quiet data GET /v1/reports/message_errors?updated_since=2030-01-15T00:00:00Z&deal_id={deal}
quiet data GET /v1/reports/message_errors?updated_since=2030-01-15T00:00:00Z&conversation_id={conversation}
shows data GET /v1/reports/message_errors?updated_since=2030-01-15T00:00:00Z&agent_id={instance}
quiet data GET /v1/reports/message_errors?updated_since=2030-01-15T00:00:00Z&external_id={channel}
shows data GET /v1/reports/message_errors?updated_since=2030-01-15T00:00:00Z&error_code={error}
shows data GET /v1/analytics/conversations/day?group_by=source&agent_id={instance}
shows data GET /v1/analytics/conversations/day?group_by=source&source={word}%20site
shows data GET /v1/analytics/conversations/day?group_by=source&agent_type=ai&sources={word}%20site&agent_ids={instance}
quiet data GET /v1/analytics/tickets/day?group_by=source&agent_id={instance}
quiet data GET /v1/analytics/tickets/day?group_by=source&source={word}%20site
quiet data GET /v1/analytics/tickets/day?group_by=source&agent_type=ai&sources={word}%20site&agent_ids={instance}
quiet partner POST /send-notification {"name":"Ana","phoneNumber":"+5511987540002","instanceId":{instance},"source":"site","messageTemplate":"{template}","replacements":["Ana"]}
quiet partner POST /send-notification {"name":"Ana","phoneNumber":"+5511987540002","instanceId":{own-instance},"source":"site","messageTemplate":"{template}","replacements":["Ana"]}
quiet partner POST /deal {"name":"Ana","phoneNumber":"+5511987540003","productExternalId":"{product}"}
quiet partner POST /deal {"name":"Ana","phoneNumber":"+5511987540003","productId":"{product-id}"}
quiet partner POST /deal {"name":"Ana","phoneNumber":"+5511987540003","instanceId":{instance}}
quiet partner POST /deal {"name":"Ana","phoneNumber":"+5511987540003","instanceId":{own-instance},"messageTemplate":"{template}","replacements":["Ana"]}
quiet partner PATCH /deal/{deal} {"stageCode":"negotiating"}
quiet partner PATCH /deal/{own-deal} {"ownerEmail":"{owner}"}
quiet partner PATCH /deal/{own-deal} {"propertyExternalId":"{product}"}
quiet token POST /api/v1/deals/{deal}/log {"type":"success","subject":"Vendido"}
quiet token PATCH /tickets/{ticket} {"status":"answered"}
quiet token PATCH /tickets/{own-ticket} {"ownerEmail":"{owner}"}
shows data GET /v1/export/conversations?limit=1000
quiet data GET /v1/export/conversations/ids?limit=1000
shows data GET /v1/export/messages?limit=1000
quiet data GET /v1/export/messages/ids?limit=1000
shows data GET /v1/export/contacts?limit=1000
quiet data GET /v1/export/contacts/ids?limit=1000
shows data GET /v1/export/deals?limit=1000
quiet data GET /v1/export/deals/ids?limit=1000
shows data GET /v1/analytics/conversations/month?group_by=agent_type,agent_id,source
quiet data GET /v1/analytics/freshness
shows data GET /v1/reports/message_errors?updated_since=2030-01-15T00:00:00Z
quiet data GET /v1/reports/message_errors/ids?limit=1000
shows data GET /v1/whoami
shows token GET /tickets
shows token GET /tickets?status=open
"#;

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
        let lower = workspace.word.to_lowercase();
        let (instance, own_instance) = (workspace.instance.to_string(), self.instance.to_string());
        let named = [
            ("{phone}", workspace.phone.trim_start_matches('+')),
            ("{email}", &workspace.email),
            ("{deal}", &workspace.deal),
            ("{external}", &workspace.external_id),
            ("{ticket}", &workspace.ticket),
            ("{word}", &workspace.word),
            ("{lower}", &lower),
            ("{conversation}", &workspace.conversation),
            ("{instance}", &instance),
            ("{channel}", &workspace.channel_id),
            ("{error}", &workspace.error_code),
            ("{product}", &workspace.product),
            ("{product-id}", &workspace.product_id),
            ("{owner}", &workspace.owner_email),
            ("{template}", &workspace.template),
            ("{own-deal}", &self.deal),
            ("{own-ticket}", &self.ticket),
            ("{own-instance}", &own_instance),
        ];
        let name = |text: &str| {
            let each = named.iter();
            each.fold(text.to_owned(), |text, (of, name)| text.replace(of, name))
        };
        let mut keys = ["crawl", "template"].into_iter();
        let mut requests = Vec::new();
        for row in REQUESTS.trim().lines() {
            let mut words = row.splitn(5, ' ');
            let mut word = || words.next().unwrap_or_default();
            let shows = word() == "shows";
            let key = match word() {
                "partner" => Key::Partner,
                "token" => Key::Token,
                _ => Key::Workspace,
            };
            let method = word();
            let mut request = self.with(key, method, name(word()), workspace);
            request.shows = shows;
            let body = name(word());
            if !body.is_empty() {
                request.body = serde_json::from_str(&body).expect("JSON");
            }
            if request.target == "/send-notification" {
                // So that repeats of it are one message.
                let key = keys.next().expect("two of them");
                let key = format!("{}-{key}", workspace.idempotency_key);
                request.more.push(("idempotency-key", key));
            }
            requests.push(request);
        }
        requests
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
