//! An adapter at work: the result of each function, and the faults that end a
//! call.

use std::sync::Arc;
use std::time::Duration;

use leadhost_domain::channel::{
    Category, EventBody, RefusedSend, SendAnswer, SendStep, TemplatePage, TemplateSend,
    TemplateStep, Webhook,
};
use leadhost_domain::exchange::{HttpResponse, InputProblem, Pairs, SenderChecks, TextSegment};
use leadhost_domain::plugin::{PluginDelivery, PluginKind};
use leadhost_plugin::{CallBudget, CallError, Loaded};
use leadhost_tests::has;
use serde_json::json;

use super::{Bench, delivery, out_of_memory, out_of_time, too_much_output, without_place};

/// An adapter in its own bench, each of whose functions is asked for a word.
pub struct Adapters {
    bench: Bench,
    loaded: Arc<Loaded>,
}

type Answered<T> = Result<Result<T, InputProblem>, CallError>;

impl Adapters {
    pub async fn new(overrides: &[(&str, &str)]) -> Self {
        let bench = Bench::new(overrides);
        let loaded = bench.misbehave_adapter().await;
        Self { bench, loaded }
    }

    pub async fn send(&self, word: &str, size: usize) -> Result<SendStep, CallError> {
        let message = message(&behaving("send", word, size));
        let plugins = &self.bench.plugins;
        let sent = plugins.send(&self.loaded, "lane", message, CallBudget::Worker);
        sent.await
    }

    pub async fn read_answer(&self, word: &str, size: usize) -> Result<SendAnswer, CallError> {
        let message = message(&behaving("read-answer", word, size));
        let answer = response(201, "their-id");
        let (plugins, loaded) = (&self.bench.plugins, &self.loaded);
        let read = plugins.read_answer(loaded, "lane", message, answer, CallBudget::Worker);
        read.await
    }

    pub async fn read_webhook(&self, word: &str, size: usize) -> Answered<Webhook> {
        let given = PluginDelivery {
            body: b"their-id".to_vec().into(),
            ..delivery(&behaving("read-webhook", word, size))
        };
        let plugins = &self.bench.plugins;
        let read = plugins.read_webhook(&self.loaded, "lane", given, CallBudget::Worker);
        read.await
    }

    pub async fn list_templates(&self, word: &str, size: usize) -> Answered<TemplateStep> {
        let config = behaving("list-templates", word, size);
        let (plugins, loaded) = (&self.bench.plugins, &self.loaded);
        let listed = plugins.list_templates(loaded, "lane", &config, CallBudget::Worker);
        listed.await
    }

    pub async fn read_templates(
        &self,
        word: &str,
        size: usize,
    ) -> Result<Result<TemplatePage, RefusedSend>, CallError> {
        self.read_templates_of(200, word, size).await
    }

    /// The same for an answer with this status.
    async fn read_templates_of(
        &self,
        status: u16,
        word: &str,
        size: usize,
    ) -> Result<Result<TemplatePage, RefusedSend>, CallError> {
        let config = behaving("read-templates", word, size);
        let answer = response(status, "[]");
        let (plugins, loaded) = (&self.bench.plugins, &self.loaded);
        let read = plugins.read_templates(loaded, "lane", &config, answer, CallBudget::Worker);
        read.await
    }

    pub async fn routes(&self, word: &str, size: usize) -> Answered<Pairs> {
        let config = behaving("routes", word, size);
        let plugins = &self.bench.plugins;
        let routes = plugins.routes(&self.loaded, "lane", &config, CallBudget::Worker);
        routes.await
    }

    pub async fn sender_checks(&self, word: &str) -> Answered<SenderChecks> {
        let config = behaving("sender-checks", word, 0);
        let plugins = &self.bench.plugins;
        let checks = plugins.sender_checks(&self.loaded, "lane", &config, CallBudget::Worker);
        checks.await
    }

    /// Returns the error of a call of this function that must fail.
    async fn fault(&self, function: &str, word: &str, size: usize) -> CallError {
        let error = match function {
            "sender-checks" => self.sender_checks(word).await.err(),
            "handshake" => {
                let asked = delivery(&behaving(function, word, size));
                let plugins = &self.bench.plugins;
                let answer = plugins.handshake(&self.loaded, "lane", asked, CallBudget::Worker);
                answer.await.err()
            }
            "routes" => self.routes(word, size).await.err(),
            "send" => self.send(word, size).await.err(),
            "read-answer" => self.read_answer(word, size).await.err(),
            "read-webhook" => self.read_webhook(word, size).await.err(),
            "list-templates" => self.list_templates(word, size).await.err(),
            "read-templates" => self.read_templates(word, size).await.err(),
            other => panic!("there is no `{other}`"),
        };
        error.unwrap_or_else(|| panic!("`{function}` gave an answer to {word}"))
    }
}

/// A configuration that asks the adapter for this in one of its functions.
fn behaving(function: &str, word: &str, size: usize) -> String {
    json!({"in": function, "do": word, "size": size}).to_string()
}

fn message(config: &str) -> TemplateSend {
    TemplateSend {
        message_id: "018f0000-0000-7000-8000-000000000002".to_owned(),
        recipient: "+5511900000001".to_owned(),
        template: r#"{"name":"welcome"}"#.to_owned(),
        config: config.to_owned(),
        context: vec![("instance-id".to_owned(), "1".to_owned())],
    }
}

fn response(status: u16, body: &str) -> HttpResponse {
    HttpResponse {
        status,
        headers: Vec::new(),
        body: body.as_bytes().to_vec(),
    }
}

const FUNCTIONS: [&str; 8] = [
    "sender-checks",
    "handshake",
    "routes",
    "send",
    "read-answer",
    "read-webhook",
    "list-templates",
    "read-templates",
];

#[tokio::test]
async fn an_adapter_is_loaded_with_its_kind_and_its_contract() {
    let Adapters { bench, loaded } = Adapters::new(&[]).await;
    assert_eq!(loaded.kind, PluginKind::Adapter);
    assert_eq!(loaded.contract, "leadhost:adapter@1.0.0");
    assert_eq!(loaded.ran_with(1).contract, "leadhost:adapter@1.0.0");
    assert_eq!(bench.misbehave().await.kind, PluginKind::Converter);
}

#[tokio::test]
async fn a_message_becomes_a_request_and_its_answer_an_outcome() {
    let adapters = Adapters::new(&[]).await;
    let SendStep::Call(request) = adapters.send("", 0).await.unwrap() else {
        panic!("a call");
    };
    assert_eq!(request.method, "POST");
    assert_eq!(request.authority, "api.example.com");
    let literal = |text: &str| vec![TextSegment::Literal(text.to_owned())];
    let query = [("to".to_owned(), literal("+5511900000001"))];
    assert_eq!(request.query, query);
    assert_eq!(request.body, literal(r#"{"name":"welcome"}"#));

    let SendAnswer::Accepted(accepted) = adapters.read_answer("", 0).await.unwrap() else {
        panic!("accepted");
    };
    assert_eq!(accepted.external_ids, ["their-id"]);
    assert_eq!(accepted.recipient_id.as_deref(), Some("+5511900000001"));
    assert_eq!(accepted.status, "201");
}

#[tokio::test]
async fn a_webhook_becomes_events_with_the_notes_of_the_adapter() {
    let adapters = Adapters::new(&[]).await;
    let webhook = adapters.read_webhook("", 0).await.unwrap().unwrap();
    let EventBody::Status(status) = &webhook.events[0].body else {
        panic!("{webhook:?}");
    };
    assert_eq!(status.external_id, "their-id");
    assert_eq!(status.status, "delivered");
    let received = EventBody::Other("2026-03-02T12:00:00.250000Z".to_owned());
    assert_eq!(webhook.events[1].body, received);
    assert_eq!(webhook.notes, ["read"]);
    let refused = adapters.read_webhook("refuse", 0).await.unwrap();
    assert_eq!(refused.unwrap_err().path, "here");
}

#[tokio::test]
async fn templates_are_listed_by_a_call_or_at_once_or_not_at_all() {
    let adapters = Adapters::new(&[]).await;
    let listed = async |word: &str| adapters.list_templates(word, 0).await.unwrap().unwrap();
    let TemplateStep::Page(page) = listed("").await else {
        panic!("a page");
    };
    assert!(page.templates[0].is_approved());
    assert_eq!(page.templates[0].text, "Olá {{1}}");
    assert!(matches!(listed("call").await, TemplateStep::Call(_)));
    assert_eq!(listed("unlisted").await, TemplateStep::Unlisted);

    let page = adapters.read_templates("", 0).await.unwrap().unwrap();
    assert_eq!((page.templates.len(), page.next), (1, None));
    let next = adapters.read_templates("next", 0).await.unwrap();
    assert!(next.unwrap().next.is_some());
    let refused = adapters.read_templates_of(503, "", 0).await.unwrap();
    assert_eq!(refused.unwrap_err().category, Category::Transient);
}

#[tokio::test]
async fn routes_handshake_and_sender_checks_work_as_in_any_plugin() {
    let adapters = Adapters::new(&[]).await;
    let routes = adapters.routes("", 0).await.unwrap().unwrap();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(routes, [pair("number", "1"), pair("account", "2")]);
    let refused = adapters.routes("refuse", 0).await.unwrap();
    assert_eq!(refused.unwrap_err().message, "as asked");

    let checks = adapters.sender_checks("").await.unwrap().unwrap();
    assert_eq!(checks.checks[0].secret, "key");
    let (plugins, loaded) = (&adapters.bench.plugins, &adapters.loaded);
    let answer = plugins.handshake(loaded, "lane", delivery("{}"), CallBudget::Inline);
    let answer = answer.await.unwrap().unwrap();
    assert_eq!(answer.unwrap().reply.status, 200);
}

#[tokio::test]
async fn functions_that_a_kind_of_plugin_lacks_are_reported() {
    let Adapters { bench, loaded } = Adapters::new(&[]).await;
    let error = bench.convert(&loaded, "{}").await.unwrap_err();
    has!(error.to_string(), "an adapter, which has no `convert`");
    assert!(error.is_fault());
    let (plugins, converter) = (&bench.plugins, bench.misbehave().await);
    let sent = plugins.send(&converter, "lane", message("{}"), CallBudget::Worker);
    let error = sent.await.unwrap_err().to_string();
    has!(error, "a converter, which has no `send`");
    let read = plugins.read_webhook(&converter, "lane", delivery("{}"), CallBudget::Worker);
    let lacks = CallError::Lacks {
        kind: PluginKind::Converter,
        function: "read-webhook",
    };
    assert_eq!(read.await.unwrap_err(), lacks);
}

#[tokio::test]
async fn a_trap_in_any_function_is_a_fault_and_the_next_call_succeeds() {
    let adapters = Adapters::new(&[]).await;
    for function in FUNCTIONS {
        let error = adapters.fault(function, "trap", 0).await;
        let is_trap = matches!(error, CallError::Trapped { .. });
        assert!(is_trap && error.is_fault(), "{function}: {error}");
    }
    adapters.send("", 0).await.unwrap();
}

#[tokio::test]
async fn an_endless_loop_in_any_function_ends_with_the_deadline() {
    let adapters = Adapters::new(&[("deadline_ms", "60")]).await;
    for function in FUNCTIONS {
        let error = adapters.fault(function, "loop", 0).await;
        let expected = out_of_time(Duration::from_millis(60), false);
        assert_eq!(without_place(error), expected, "{function}");
    }
}

#[tokio::test]
async fn memory_past_the_limit_ends_a_call_of_any_function() {
    let adapters = Adapters::new(&[("memory_mib", "16")]).await;
    for function in FUNCTIONS {
        let error = adapters.fault(function, "grow", 0).await;
        assert_eq!(without_place(error), out_of_memory(16), "{function}");
    }
}

#[tokio::test]
async fn an_answer_past_the_limit_ends_the_call() {
    let adapters = Adapters::new(&[("output_mib", "1")]).await;
    for (function, word) in [
        ("send", "output"),
        ("read-answer", "refuse"),
        ("read-webhook", "long"),
        ("list-templates", "large"),
    ] {
        let error = adapters.fault(function, word, 2_000_000).await;
        assert_eq!(error, too_much_output(1), "{function}");
    }
}
