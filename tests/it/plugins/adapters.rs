//! An adapter at work: the result of each function, and the faults that end a
//! call.

use std::sync::Arc;
use std::time::Duration;

use leadhost_domain::channel::{
    Category, EventBody, SendAnswer, SendStep, TemplateSend, TemplateStep,
};
use leadhost_domain::exchange::{HttpResponse, InputProblem, TextSegment};
use leadhost_domain::plugin::{PluginDelivery, PluginKind};
use leadhost_plugin::{CallBudget, CallError, Loaded};
use serde_json::json;

use super::{Bench, delivery, without_place};

/// An adapter in its own bench, called with different configurations.
pub struct Adapters {
    pub bench: Bench,
    pub loaded: Arc<Loaded>,
}

impl Adapters {
    pub async fn new(overrides: &[(&str, &str)]) -> Self {
        let bench = Bench::new(overrides);
        let loaded = bench.misbehave_adapter().await;
        Self { bench, loaded }
    }

    pub async fn send(&self, config: &str) -> Result<SendStep, CallError> {
        let plugins = &self.bench.plugins;
        plugins
            .send(&self.loaded, "lane", message(config), CallBudget::Worker)
            .await
    }

    pub async fn read_answer(&self, config: &str) -> Result<SendAnswer, CallError> {
        let answer = response(201, "their-id");
        let plugins = &self.bench.plugins;
        plugins
            .read_answer(
                &self.loaded,
                "lane",
                message(config),
                answer,
                CallBudget::Worker,
            )
            .await
    }

    pub async fn read_webhook(
        &self,
        config: &str,
    ) -> Result<Result<leadhost_domain::channel::Webhook, InputProblem>, CallError> {
        let given = PluginDelivery {
            body: b"their-id".to_vec().into(),
            ..delivery(config)
        };
        let plugins = &self.bench.plugins;
        plugins
            .read_webhook(&self.loaded, "lane", given, CallBudget::Worker)
            .await
    }

    pub async fn list_templates(
        &self,
        config: &str,
    ) -> Result<Result<TemplateStep, InputProblem>, CallError> {
        let plugins = &self.bench.plugins;
        plugins
            .list_templates(&self.loaded, "lane", config, CallBudget::Worker)
            .await
    }

    pub async fn read_templates(
        &self,
        config: &str,
        status: u16,
    ) -> Result<
        Result<leadhost_domain::channel::TemplatePage, leadhost_domain::channel::RefusedSend>,
        CallError,
    > {
        let answer = response(status, "[]");
        let plugins = &self.bench.plugins;
        plugins
            .read_templates(&self.loaded, "lane", config, answer, CallBudget::Worker)
            .await
    }

    pub async fn routes(
        &self,
        config: &str,
    ) -> Result<Result<leadhost_domain::exchange::Pairs, InputProblem>, CallError> {
        let plugins = &self.bench.plugins;
        plugins
            .routes(&self.loaded, "lane", config, CallBudget::Worker)
            .await
    }

    /// Returns the error of a call of this function that must fail.
    async fn fault(&self, function: &str, config: &str) -> CallError {
        let (plugins, loaded) = (&self.bench.plugins, &self.loaded);
        let error = match function {
            "sender-checks" => plugins
                .sender_checks(loaded, "lane", config, CallBudget::Worker)
                .await
                .err(),
            "handshake" => plugins
                .handshake(loaded, "lane", delivery(config), CallBudget::Worker)
                .await
                .err(),
            "routes" => self.routes(config).await.err(),
            "send" => self.send(config).await.err(),
            "read-answer" => self.read_answer(config).await.err(),
            "read-webhook" => self.read_webhook(config).await.err(),
            "list-templates" => self.list_templates(config).await.err(),
            "read-templates" => self.read_templates(config, 200).await.err(),
            other => panic!("there is no `{other}`"),
        };
        error.unwrap_or_else(|| panic!("`{function}` gave an answer under {config}"))
    }
}

/// A configuration that asks the adapter for this in one of its functions.
pub fn behaving(function: &str, word: &str, size: usize) -> String {
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
    let adapters = Adapters::new(&[]).await;
    assert_eq!(adapters.loaded.kind, PluginKind::Adapter);
    assert_eq!(adapters.loaded.contract, "leadhost:adapter@1.0.0");
    assert_eq!(
        adapters.loaded.ran_with(1).contract,
        "leadhost:adapter@1.0.0"
    );
    let converter = adapters.bench.misbehave().await;
    assert_eq!(converter.kind, PluginKind::Converter);
}

#[tokio::test]
async fn a_message_becomes_a_request_and_its_answer_an_outcome() {
    let adapters = Adapters::new(&[]).await;
    let SendStep::Call(request) = adapters.send("{}").await.unwrap() else {
        panic!("a call");
    };
    assert_eq!(
        (&*request.method, &*request.authority),
        ("POST", "api.example.com")
    );
    let literal = |text: &str| vec![TextSegment::Literal(text.to_owned())];
    assert_eq!(
        request.query,
        [("to".to_owned(), literal("+5511900000001"))]
    );
    assert_eq!(request.body, literal(r#"{"name":"welcome"}"#));

    let SendAnswer::Accepted(accepted) = adapters.read_answer("{}").await.unwrap() else {
        panic!("accepted");
    };
    assert_eq!(accepted.external_ids, ["their-id"]);
    assert_eq!(accepted.recipient_id.as_deref(), Some("+5511900000001"));
    assert_eq!(accepted.status, "201");
}

#[tokio::test]
async fn a_webhook_becomes_events_with_the_notes_of_the_adapter() {
    let adapters = Adapters::new(&[]).await;
    let webhook = adapters.read_webhook("{}").await.unwrap().unwrap();
    let EventBody::Status(status) = &webhook.events[0].body else {
        panic!("{webhook:?}");
    };
    assert_eq!(
        (&*status.external_id, &*status.status),
        ("their-id", "delivered")
    );
    let received = EventBody::Other("2026-03-02T12:00:00.250000Z".to_owned());
    assert_eq!(webhook.events[1].body, received);
    assert_eq!(webhook.notes, ["read"]);
    let refused = adapters
        .read_webhook(&behaving("read-webhook", "refuse", 0))
        .await;
    assert_eq!(refused.unwrap().unwrap_err().path, "here");
}

#[tokio::test]
async fn templates_are_listed_by_a_call_or_at_once_or_not_at_all() {
    let adapters = Adapters::new(&[]).await;
    let listed = async |word: &str| {
        let config = behaving("list-templates", word, 0);
        adapters.list_templates(&config).await.unwrap().unwrap()
    };
    let TemplateStep::Page(page) = listed("").await else {
        panic!("a page");
    };
    assert!(page.templates[0].is_approved());
    assert_eq!(page.templates[0].text, "Olá {{1}}");
    assert!(matches!(listed("call").await, TemplateStep::Call(_)));
    assert_eq!(listed("unlisted").await, TemplateStep::Unlisted);

    let page = adapters.read_templates("{}", 200).await.unwrap().unwrap();
    assert_eq!((page.templates.len(), page.next), (1, None));
    let next = adapters
        .read_templates(&behaving("read-templates", "next", 0), 200)
        .await;
    assert!(next.unwrap().unwrap().next.is_some());
    let refused = adapters
        .read_templates("{}", 503)
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(refused.category, Category::Transient);
}

#[tokio::test]
async fn routes_handshake_and_sender_checks_work_as_in_any_plugin() {
    let adapters = Adapters::new(&[]).await;
    let routes = adapters.routes("{}").await.unwrap().unwrap();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(routes, [pair("number", "1"), pair("account", "2")]);
    let refused = adapters
        .routes(&behaving("routes", "refuse", 0))
        .await
        .unwrap();
    assert_eq!(refused.unwrap_err().message, "as asked");

    let (plugins, loaded) = (&adapters.bench.plugins, &adapters.loaded);
    let checks = plugins.sender_checks(loaded, "lane", "{}", CallBudget::Inline);
    assert_eq!(checks.await.unwrap().unwrap().checks[0].secret, "key");
    let answer = plugins
        .handshake(loaded, "lane", delivery("{}"), CallBudget::Inline)
        .await;
    assert_eq!(answer.unwrap().unwrap().unwrap().reply.status, 200);
}

#[tokio::test]
async fn functions_that_a_kind_of_plugin_lacks_are_reported() {
    let adapters = Adapters::new(&[]).await;
    let converter = adapters.bench.misbehave().await;
    let plugins = &adapters.bench.plugins;
    let error = adapters
        .bench
        .convert(&adapters.loaded, "{}")
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("an adapter, which has no `convert`"),
        "{error}"
    );
    assert!(error.is_fault());
    let error = plugins
        .send(&converter, "lane", message("{}"), CallBudget::Worker)
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("a converter, which has no `send`"),
        "{error}"
    );
    let error = plugins
        .read_webhook(&converter, "lane", delivery("{}"), CallBudget::Worker)
        .await
        .unwrap_err();
    assert_eq!(
        error,
        CallError::Lacks {
            kind: PluginKind::Converter,
            function: "read-webhook",
        }
    );
}

#[tokio::test]
async fn a_trap_in_any_function_is_a_fault_and_the_next_call_succeeds() {
    let adapters = Adapters::new(&[]).await;
    for function in FUNCTIONS {
        let error = adapters
            .fault(function, &behaving(function, "trap", 0))
            .await;
        assert!(
            matches!(error, CallError::Trapped { .. }),
            "{function}: {error}"
        );
        assert!(error.is_fault());
    }
    adapters.send("{}").await.unwrap();
}

#[tokio::test]
async fn an_endless_loop_in_any_function_ends_with_the_deadline() {
    let adapters = Adapters::new(&[("deadline_ms", "60")]).await;
    for function in FUNCTIONS {
        let error = adapters
            .fault(function, &behaving(function, "loop", 0))
            .await;
        let expected = CallError::OutOfTime {
            budget: Duration::from_millis(60),
            place: String::new(),
            inline: false,
            log: Vec::new(),
        };
        assert_eq!(without_place(error), expected, "{function}");
    }
}

#[tokio::test]
async fn memory_past_the_limit_ends_a_call_of_any_function() {
    let adapters = Adapters::new(&[("memory_mib", "16")]).await;
    for function in FUNCTIONS {
        let error = adapters
            .fault(function, &behaving(function, "grow", 0))
            .await;
        assert_eq!(
            without_place(error),
            CallError::OutOfMemory {
                limit: 16 << 20,
                place: String::new(),
                log: Vec::new()
            },
            "{function}"
        );
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
        let error = adapters
            .fault(function, &behaving(function, word, 2_000_000))
            .await;
        assert_eq!(
            error,
            CallError::TooMuchOutput {
                limit: 1 << 20,
                log: Vec::new()
            },
            "{function}"
        );
    }
}
