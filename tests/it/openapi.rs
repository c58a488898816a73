//! The OpenAPI document is correct: its examples are sent to a host, and the
//! answers and refusals are checked against it.

use leadhost_http::openapi::{self, SchemaValidator};
use leadhost_http::surface::Surface;
use leadhost_tests::{
    Answer, Ask, Declared, Host, Json, On, Options, eventually, guests, has, lacks,
};
use serde_json::{Value, json};

leadhost_tests::on_every_store! {
    each_example_is_answered_as_the_document_says,
    refusals_are_as_the_document_says,
}

/// The things that the examples refer to.
const FILE: &str = r#"
[[instances]]
name = "voice"
adapter = "sandbox"
[[instances.config.templates]]
name = "welcome"
language = "pt_BR"
text = "{{1}}, is this about {{2}}?"

[[connections]]
name = "crm"
partner = "acme"
plugin = "mapping"
[connections.config.fields]
externalId = "id"
name = "name"
phones = "phone"
emails = "email"
message = "message"

[[keys]]
kind = "access-token"
label = "token"
partner = "acme"
"#;

struct Described {
    host: Host,
    declared: Declared,
    document: Value,
    deal: String,
    ticket: String,
}

struct Operation {
    method: String,
    path: String,
    description: Value,
}

impl Described {
    async fn new(on: On) -> Self {
        let host = Host::working(on).await;
        host.converter(guests::sandbox()).await;
        host.converter(guests::rust_component("converter-mapping"))
            .await;
        let declared = host.declare(FILE).await;
        let lead = json!({"id": "L-1", "name": "Ana", "phone": "+5511988880100"});
        let ask = host.post(&declared.address("crm")).json(&lead);
        let answer = ask.send().await.expect(200).json();
        let deal = answer["leads"][0]["dealId"].as_str();
        let deal = deal.expect("a deal").to_owned();
        // Templates are fetched from the channel soon after its declaration.
        eventually("the channel's templates are known", async || {let first = &openapi::document(Surface::Both)["paths"]["/send-notification"]["post"]
                ["requestBody"]["content"]["application/json"]["examples"]["legacy"]["value"];
            let mut body = first.clone();
            body["instanceId"] = json!(declared.instance("voice"));
            let ask = host.post("/send-notification");
            let ask = ask.header("x-service-api-key", &declared.key("partner"));
ask.json(&body).send().await.status == 200 })
        .await;
        // A hand-over opens a ticket.
        let ask = host.ask("PATCH", &format!("/deal/{deal}"));
        let ask = ask.header("x-service-api-key", &declared.key("partner"));
        let change = json!({"stageCode": "transferred"});
        ask.json(&change).send().await.expect(202);
        let ask = host.get("/tickets");
        let given = format!("Bearer {}", declared.key("token"));
        let ask = ask.header("authorization", &given);
        let tickets = ask.send().await.expect(200).json();
        let ticket = text(&tickets["tickets"][0]["id"]);
        Self {
            host,
            declared,
            document: openapi::document(Surface::Both),
            deal,
            ticket,
        }
    }

    fn operations(&self) -> Vec<Operation> {
        let paths = self.document["paths"].as_object().expect("paths");
        let mut all = Vec::new();
        for (path, item) in paths {
            for (method, description) in item.as_object().expect("operations") {
                all.push(Operation {
                    method: method.to_uppercase(),
                    path: path.clone(),
                    description: description.clone(),
                });
            }
        }
        all
    }

    /// Returns the path with ids of this world, once for each word of an
    /// enumeration.
    #[track_caller]
    fn targets(&self, operation: &Operation) -> Vec<String> {
        let webhook = self.declared.webhook("voice");
        let token = webhook.rsplit('/').next().expect("a token").to_owned();
        let mut targets = vec![operation.path.clone()];
        for parameter in operation.description["parameters"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let name = parameter["name"].text();
            let words = parameter["schema"]["enum"].as_array();
            let values = match (parameter["in"].as_str(), name) {
                (Some("path"), "partnerConnectionId") => {
                    vec![self.declared.id("crm").to_string()]
                }
                (Some("path"), "instanceId") => vec![self.declared.instance("voice").to_string()],
                (Some("path"), "token") => vec![token.clone()],
                (Some("path"), "dealId") => vec![self.deal.clone()],
                (Some("path"), "id") => vec![self.ticket.clone()],
                (Some("path"), _) => {
                    let words = words.expect("a place holds an id, or one of some words");
                    words.iter().map(text).collect()
                }
                (Some("query"), _) => {
                    let value = match &parameter["example"] {
                        Value::String(value) => value.replace('+', "%2B"),
                        Value::Array(members) => {
                            let members: Vec<_> = members.iter().map(text).collect();
                            members.join(",")
                        }
                        _ => {
                            let needed = parameter["required"] == true;
                            assert!(!needed, "{name} is required, so it needs an example");
                            continue;
                        }
                    };
                    for target in &mut targets {
                        let sign = if target.contains('?') { '&' } else { '?' };
                        *target = format!("{target}{sign}{name}={value}");
                    }
                    continue;
                }
                _ => continue,
            };
            targets = targets
                .iter()
                .flat_map(|target| {
                    let place = format!("{{{name}}}");
                    values
                        .iter()
                        .map(move |value| target.replace(&place, value))
                })
                .collect();
        }
        targets
    }

    fn bodies(&self, operation: &Operation) -> Vec<Option<Value>> {
        let examples =
            &operation.description["requestBody"]["content"]["application/json"]["examples"];
        let Some(examples) = examples.as_object() else {
            let takes = operation.description.get("requestBody").is_some();
            // The body is the sandbox's, which is the provider here.
            return vec![takes.then(|| json!({"events": []}))];
        };
        let bodies = examples.values().map(|example| {
            let mut body = example["value"].clone();
            if body.get("instanceId").is_some() {
                body["instanceId"] = json!(self.declared.instance("voice"));
            }
            Some(body)
        });
        bodies.collect()
    }

    fn ask(&self, operation: &Operation, target: &str) -> Ask {
        self.host.ask(&operation.method, target)
    }

    /// The same with the key that the operation requires.
    #[track_caller]
    fn ask_with_key(&self, operation: &Operation, target: &str) -> Ask {
        let ask = self.ask(operation, target);
        let way = operation.description["security"][0].as_object();
        match way.and_then(|way| way.keys().next()).map(String::as_str) {
            None => ask,
            Some("partnerKey") => ask.header("x-service-api-key", &self.declared.key("partner")),
            Some(name) => {
                let label = match name {
                    "workspaceKey" => "workspace",
                    "accessToken" => "token",
                    other => panic!("{other} is a scheme that this test does not know"),
                };
                let key = format!("Bearer {}", self.declared.key(label));
                ask.header("authorization", &key)
            }
        }
    }

    /// Resolves a reference to a part of the document.
    fn real<'a>(&'a self, part: &'a Value) -> &'a Value {
        match part["$ref"].as_str() {
            None => part,
            Some(name) => {
                let found = self.document.pointer(name.trim_start_matches('#'));
                self.real(found.expect("it leads somewhere"))
            }
        }
    }

    #[track_caller]
    fn assert_conforms(&self, operation: &Operation, answer: &Answer) {
        let what = format!(
            "{} {}: {} {:?}",
            operation.method, operation.path, answer.status, answer.body
        );
        let declared = &operation.description["responses"][answer.status.to_string()];
        let is_so = declared.is_object();
        assert!(is_so, "the document has no such answer: {what}");
        let declared = self.real(declared);
        let headers = declared["headers"].as_object();
        for (name, header) in headers.into_iter().flatten() {
            let is_there = answer.headers.contains_key(name);
            let needed = self.real(header)["required"] == true;
            assert!(is_there || !needed, "{name} is missing: {what}");
        }
        if answer.body.is_empty() {
            return;
        }
        let kind = answer.header("content-type");
        let kind = kind.split(';').next().unwrap_or_default();
        let media = &declared["content"][kind];
        assert!(media.is_object(), "the document has no `{kind}`: {what}");
        if kind == "application/json" {
            let validator = SchemaValidator::new(&self.document, &media["schema"]);
            assert_eq!(validator.complaint(&answer.json()), None, "{what}");
        }
    }
}

fn text(value: &Value) -> String {
    value.text().to_owned()
}

async fn each_example_is_answered_as_the_document_says(on: On) {
    let world = Described::new(on).await;
    for operation in world.operations() {
        let mut well = 0;
        for target in world.targets(&operation) {
            for body in world.bodies(&operation) {
                let mut ask = world.ask_with_key(&operation, &target);
                if let Some(body) = &body {
                    ask = ask.json(body);
                }
                let answer = ask.send().await;
                world.assert_conforms(&operation, &answer);
                well += usize::from(answer.status < 300);
            }
        }
        // The converter and the adapter here have no handshakes.
        let id = operation.description["operationId"].text();
        let handshake = ["answerSource", "answerChannel"].contains(&id);
        let is_so = well > 0 || handshake;
        assert!(is_so, "{} {}", operation.method, operation.path);
    }
}

async fn refusals_are_as_the_document_says(on: On) {
    let world = Described::new(on).await;
    for operation in world.operations() {
        let target = &world.targets(&operation)[0];
        if operation.description["security"][0].is_object() {
            let answer = world.ask(&operation, target).send().await.expect(401);
            world.assert_conforms(&operation, &answer);
        }
        if operation.path.contains('{') {
            // Ids that nothing has, and invalid words.
            let mut unknown = operation.path.clone();
            for name in operation.path.split(['{', '}']).skip(1).step_by(2) {
                unknown = unknown.replace(&format!("{{{name}}}"), "0000000000000000000000");
            }
            let mut ask = world.ask_with_key(&operation, &unknown);
            if let Some(Some(body)) = world.bodies(&operation).first() {
                ask = ask.json(body);
            }
            let answer = ask.send().await.expect(404);
            world.assert_conforms(&operation, &answer);
        }
        if operation.description.get("requestBody").is_some() {
            for body in ["{", "[]", "{}", ""] {
                let ask = world.ask_with_key(&operation, target);
                let ask = ask.header("content-type", "application/json");
                let answer = ask.body(body.to_owned()).send().await;
                world.assert_conforms(&operation, &answer);
            }
        }
        let other = world.host.ask("BREW", target).send().await.expect(405);
        world.assert_conforms(&operation, &other);
        let content = &operation.description["responses"]["200"]["content"];
        if content["application/x-ndjson"].is_object() {
            let ask = world.ask_with_key(&operation, target);
            let lines = ask.header("accept", "application/x-ndjson").send().await;
            assert_eq!(lines.header("content-type"), "application/x-ndjson");
            world.assert_conforms(&operation, &lines);
        }
        for query in ["limit=ten", "cursor=x", "email=x", "updated_since=", "x=1"] {
            if operation.method == "GET" {
                let path = target.split('?').next().unwrap_or_default();
                let ask = world.ask_with_key(&operation, &format!("{path}?{query}"));
                world.assert_conforms(&operation, &ask.send().await);
            }
        }
    }
}

#[tokio::test]
async fn each_surface_describes_exactly_its_own_operations() {
    let options = Options::on(On::Sqlite).with("server.data_listen", "127.0.0.1:0");
    let host = Host::start(options).await;
    let surfaces = [
        (host.addresses.gateway, Surface::Gateway),
        (host.addresses.data, Surface::Data),
        (host.addresses.admin, Surface::Admin),
    ];
    for (address, surface) in surfaces {
        let get = |path: &str| Ask::new(address, hyper::Method::GET, path);
        let answer = get("/openapi.json").send().await.expect(200);
        assert_eq!(answer.text(), openapi::text(surface));
        let tag = answer.header("etag").to_owned();
        let again = get("/openapi.json").header("if-none-match", &tag);
        let again = again.send().await.expect(304);
        assert!(again.body.is_empty());
        assert_eq!(again.header("etag"), tag);
        let small = get("/openapi.json").header("accept-encoding", "gzip");
        let small = small.send().await.expect(200);
        assert_eq!(small.header("content-encoding"), "gzip");
        assert!(small.body.len() * 4 < answer.body.len());
        let page = get("/docs").send().await.expect(200);
        let title = match surface {
            Surface::Admin => "<title>Leadhost admin API</title>",
            Surface::Gateway | Surface::Data | Surface::Both => "<title>Leadhost API</title>",
        };
        has!(page, title; "{surface:?}");
    }
}

#[tokio::test]
async fn the_page_may_load_nothing_from_elsewhere() {
    let host = Host::new(On::Sqlite).await;
    let files = [
        ("/docs", "text/html; charset=utf-8"),
        ("/docs/page.js", "text/javascript; charset=utf-8"),
        ("/docs/page.css", "text/css; charset=utf-8"),
    ];
    for (path, kind) in files {
        let answer = host.get(path).send().await.expect(200);
        assert_eq!(answer.header("content-type"), kind);
        assert_eq!(answer.header("cache-control"), "no-cache");
        let policy = answer.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'"));
        lacks!(policy, '*', "unsafe", "http");
        let again = host.get(path);
        let again = again.header("if-none-match", answer.header("etag"));
        again.send().await.expect(304);
    }
    host.get("/docs/other.js").send().await.expect(404);
}

#[test]
fn the_committed_digest_is_that_of_the_documents() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/openapi.digest");
    let committed = std::fs::read_to_string(path).expect("docs/openapi.digest");
    assert_eq!(
        committed,
        openapi::digest(),
        "the interface has changed: run `cargo xtask openapi`"
    );
}
