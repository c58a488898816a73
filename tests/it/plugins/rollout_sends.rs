//! The sends of an adapter during a rollout: the version whose request is sent, the version
//! that reads the answer, and the comparisons.

use std::sync::Mutex;

use leadhost_tests::graph::{GraphDouble, GraphOptions};
use leadhost_tests::guests::AdapterVariant;
use leadhost_tests::{On, Options, eventually, fields, has};
use serde_json::Value;
use xtask::double::http::{Answer, Request};
use xtask::double::server::{DoubleServer, Endpoint, Reaction};

use super::mailer::{Mailer, field};
use super::rollout::{LONG, canary, follow_all, shadow, unguarded, why};

leadhost_tests::on_every_store! {
    in_a_shadow_sends_are_compared_and_the_stable_version_sends,
    in_a_canary_the_request_of_the_candidate_is_sent_to_its_share_of_the_contacts,
    a_candidate_that_makes_no_request_costs_no_message_and_is_rolled_back,
    a_candidate_that_reads_answers_otherwise_costs_no_message_and_is_rolled_back,
    a_candidate_whose_request_may_not_be_sent_costs_no_message,
    a_candidate_whose_request_the_provider_refuses_costs_no_message,
    a_request_that_the_provider_refuses_to_both_versions_is_no_failure_of_the_candidate,
    in_a_probation_the_previous_version_sends_what_the_candidate_cannot,
    a_candidate_that_loops_leaves_the_stable_version_the_time_of_the_request,
    a_candidate_that_loops_is_rolled_back_without_later_comparisons,
    a_candidate_that_loops_over_the_answer_leaves_the_stable_version_the_time_to_read_it,
    a_send_whose_answer_only_the_stable_version_reads_is_saved,
}

/// The requests of `send:other` among all of the remote server.
fn others(mailer: &Mailer) -> usize {
    let requests = mailer.double.requests().into_iter();
    requests.filter(|target| target.contains("other=1")).count()
}

fn compared(shown: &Value) -> u64 {
    shown["sends"]["compared"].as_u64().unwrap_or(0)
}

async fn in_a_shadow_sends_are_compared_and_the_stable_version_sends(on: On) {
    let mailer = Mailer::new(on).await;
    let candidate = mailer.keep("1.1.0", "send:other").await;
    let order = shadow();
    mailer.begin(&candidate, order).await;
    mailer.deliver(0, 5).await;
    let all = |shown: &Value| compared(shown) == 5;
    let shown = mailer.until("all are compared", all).await;
    assert_eq!(shown["sends"]["changed"], 5, "{shown:#}");
    assert_eq!(field(&shown["sends"], "body.name")["count"], 5);
    assert_eq!(mailer.double.requests().len(), 5);
    assert_eq!(others(&mailer), 0);
}

async fn in_a_canary_the_request_of_the_candidate_is_sent_to_its_share_of_the_contacts(on: On) {
    const MESSAGES: usize = 40;
    let mailer = Mailer::begun(on, "send:other", canary(&[50], LONG)).await;
    mailer.deliver(0, MESSAGES).await;
    assert_eq!(mailer.double.requests().len(), MESSAGES, "each once");
    let by_candidate = others(&mailer);
    assert!((1..MESSAGES).contains(&by_candidate), "{by_candidate}");
    // All of them are compared, and another request is no harm.
    let all = |shown: &Value| compared(shown) == MESSAGES as u64;
    let shown = mailer.until("all are compared", all).await;
    fields!(shown, {"sends.changed": MESSAGES, "served": by_candidate, "stage": "canary"});
    // A contact keeps its version.
    mailer.deliver(0, MESSAGES).await;
    assert_eq!(others(&mailer), 2 * by_candidate);
}

/// Rolls a version out to all sends, and sends messages until it is rolled back. Each must be
/// accepted, by one request.
async fn is_rolled_back(mailer: &Mailer, word: &str) -> Value {
    let candidate = mailer.keep("1.1.0", word).await;
    mailer.begin(&candidate, canary(&[100], LONG)).await;
    let mut sent = 0;
    eventually("it is rolled back", async || {
        mailer.deliver(sent, 1).await;
        sent += 1;
        mailer.shown().await["stage"] == "rolled-back"
    })
    .await;
    assert_eq!(mailer.double.requests().len(), sent);
    let ended = |shown: &Value| !shown["why"].is_null() && follow_all(shown);
    mailer.until("every host has left it", ended).await
}

async fn a_candidate_that_makes_no_request_costs_no_message_and_is_rolled_back(on: On) {
    let mailer = Mailer::new(on).await;
    let ended = is_rolled_back(&mailer, "send:trap").await;
    has!(why(&ended), "sends fail only with it");
    assert_eq!(ended["served"], 0, "{ended:#}");
}

async fn a_candidate_that_reads_answers_otherwise_costs_no_message_and_is_rolled_back(on: On) {
    let mailer = Mailer::new(on).await;
    let ended = is_rolled_back(&mailer, "read-answer:unknown").await;
    has!(why(&ended), "read differently");
    let read = &field(&ended["sends"], "answer.result")["examples"][0];
    assert_eq!(read["after"], "unknown", "{ended:#}");
}

async fn a_candidate_whose_request_may_not_be_sent_costs_no_message(on: On) {
    let mailer = Mailer::new(on).await;
    let elsewhere = AdapterVariant::version("1.1.0").check("");
    let candidate = mailer.host.keep_version(elsewhere.component()).await;
    mailer.begin(&candidate, unguarded(&[100])).await;
    // Its host is not on the allow-list, which would pause the instance.
    mailer.deliver(0, 3).await;
    assert_eq!(mailer.double.requests().len(), 3);
    let failing = |shown: &Value| shown["sends"]["newlyFailing"]["count"] == 3;
    mailer.until("each is reported", failing).await;
}

/// A remote server that refuses the requests of `send:other`, or all of them.
struct Strict {
    refuses_all: bool,
    targets: Mutex<Vec<String>>,
}

impl Endpoint for Strict {
    const NAME: &'static str = "strict";

    fn react(&self, request: Request) -> Reaction {
        let mut targets = self.targets.lock().expect("no test panics with it");
        targets.push(request.target.clone());
        let is_other = request.query("other").is_some();
        Reaction::Answer(if is_other || self.refuses_all {
            Answer::text(400, "refused template")
        } else {
            Answer::text(200, &format!("message-{}", targets.len()))
        })
    }
}

fn strict(refuses_all: bool) -> DoubleServer<Strict> {
    let endpoint = Strict {
        refuses_all,
        targets: Mutex::default(),
    };
    let any = "127.0.0.1:0".parse().expect("an address");
    DoubleServer::start(any, endpoint).expect("a free port")
}

/// A canary of `send:other` to all contacts, which is not rolled back.
async fn refused_canary(on: On, strict: &DoubleServer<Strict>) -> Mailer {
    let double = GraphDouble::start(GraphOptions::default()).expect("a free port");
    let options = Options::patient(on);
    let mailer = Mailer::sending_to(options, double, strict.address()).await;
    let candidate = mailer.keep("1.1.0", "send:other").await;
    mailer.begin(&candidate, unguarded(&[100])).await;
    mailer
}

/// Which requests were by `send:other`, in order.
fn order_of(strict: &DoubleServer<Strict>) -> Vec<bool> {
    let targets = strict.endpoint().targets.lock();
    let targets = targets.expect("no test panics with it");
    targets
        .iter()
        .map(|target| target.contains("other=1"))
        .collect()
}

async fn a_candidate_whose_request_the_provider_refuses_costs_no_message(on: On) {
    let strict = strict(false);
    let mailer = refused_canary(on, &strict).await;
    mailer.deliver(0, 3).await;
    // Each is refused once, and then sent once.
    assert_eq!(order_of(&strict), [true, false].repeat(3));
    let failing = |shown: &Value| shown["sends"]["newlyFailing"]["count"] == 3;
    mailer.until("each is reported", failing).await;
}

async fn a_request_that_the_provider_refuses_to_both_versions_is_no_failure_of_the_candidate(
    on: On,
) {
    let strict = strict(true);
    let mailer = refused_canary(on, &strict).await;
    // A template that the provider does not have is the caller's fault.
    for answer in mailer.send_any(0, 2).await {
        assert!(answer.status >= 400, "{}", answer.text());
    }
    assert_eq!(order_of(&strict), [true, false].repeat(2));
    let all = |shown: &Value| compared(shown) == 2;
    let shown = mailer.until("all are compared", all).await;
    assert_eq!(shown["sends"]["newlyFailing"]["count"], 0, "{shown:#}");
}

async fn in_a_probation_the_previous_version_sends_what_the_candidate_cannot(on: On) {
    // Otherwise it would be rolled back, and the previous version would be active.
    let mailer = Mailer::begun(on, "send:trap", unguarded(&[1])).await;
    let promoted = mailer.change("promote").await;
    assert_eq!(promoted["stage"], "probation", "{promoted:#}");
    mailer.deliver(0, 4).await;
    assert_eq!(mailer.double.requests().len(), 4);
    let all = |shown: &Value| shown["saved"] == 4 && compared(shown) == 4;
    let shown = mailer.until("all of them are reported", all).await;
    assert_eq!(shown["sends"]["newlyFailing"]["count"], 4, "{shown:#}");
}

/// A canary of this harm for all sends, which is not rolled back.
async fn harmful_canary(options: Options, word: &str) -> Mailer {
    let mailer = Mailer::start(options).await;
    let candidate = mailer.keep("1.1.0", word).await;
    mailer.begin(&candidate, unguarded(&[100])).await;
    mailer
}

/// A message reaches the provider in time although the candidate loops in this function.
async fn is_sent_in_time(on: On, word: &str) {
    let options = Options::patient(on)
        .with("plugins.inline_ms", 200)
        .with("plugins.deadline_ms", 40_000)
        .with("messages.answer_seconds", 30);
    let mailer = harmful_canary(options, word).await;
    mailer.deliver(0, 1).await;
    assert_eq!(mailer.double.requests().len(), 1);
    let saved = |shown: &Value| shown["saved"] == 1;
    let shown = mailer.until("it is saved", saved).await;
    assert_eq!(shown["served"], 0, "{shown:#}");
}

async fn a_candidate_that_loops_leaves_the_stable_version_the_time_of_the_request(on: On) {
    is_sent_in_time(on, "send:loop").await;
}

async fn a_candidate_that_loops_is_rolled_back_without_later_comparisons(on: On) {
    // A later comparison would take longer than this test waits.
    let options = Options::patient(on)
        // The stable version has a quarter of it, also on a busy machine.
        .with("plugins.inline_ms", 6_000)
        .with("plugins.deadline_ms", 400_000)
        .with("messages.answer_seconds", 60);
    let mailer = Mailer::start(options).await;
    let candidate = mailer.keep("1.1.0", "send:loop").await;
    mailer.begin(&candidate, canary(&[100], LONG)).await;
    mailer.deliver(0, 3).await;
    let rolled_back = |shown: &Value| shown["stage"] == "rolled-back";
    let shown = mailer.until("it is rolled back", rolled_back).await;
    assert_eq!(compared(&shown), 3, "{shown:#}");
    assert_eq!(shown["sends"]["newlyFailing"]["count"], 3, "{shown:#}");
    assert_eq!(mailer.double.requests().len(), 3);
}

async fn a_candidate_that_loops_over_the_answer_leaves_the_stable_version_the_time_to_read_it(
    on: On,
) {
    is_sent_in_time(on, "read-answer:loop").await;
}

async fn a_send_whose_answer_only_the_stable_version_reads_is_saved(on: On) {
    let mailer = harmful_canary(Options::patient(on), "read-answer:trap").await;
    mailer.deliver(0, 3).await;
    let counted = |shown: &Value| shown["saved"] == 3;
    let shown = mailer.until("each is saved", counted).await;
    assert_eq!(shown["served"], 0, "{shown:#}");
}
