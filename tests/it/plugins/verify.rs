//! Verification: a candidate and the active version convert the same stored deliveries.
//! Differences are reported, and nothing else changes. Before an activation, differences that harm
//! leads refuse it.

use leadhost_domain::audit::{Act, ActOutcome, AuditActor, OperatorAct};
use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::id::DeliveryId;
use leadhost_domain::plugin::Digest;
use leadhost_pipeline::deploy::{self, AcceptedWords, ComponentOrigin, DeployError};
use leadhost_pipeline::fleet::FleetError;
use leadhost_tests::guests::Variant;
use leadhost_tests::{Ask, Host, Json, On, Options, eventually, fields, has, until};
use serde_json::{Value, json};

use super::rollout::{connection, phones, version};

leadhost_tests::on_every_store! {
    equal_versions_differ_in_nothing,
    a_changed_and_a_lost_field_are_counted_with_masked_examples,
    a_verification_detects_a_version_that_traps_refuses_or_needs_more_memory,
    a_verification_detects_a_version_that_loops,
    a_version_that_fixes_a_failure_is_shown_and_failures_take_half_of_the_places,
    deliveries_in_quarantine_take_no_place,
    a_rare_connection_is_covered_beside_a_busy_one,
    a_rare_outcome_is_covered_beside_newer_deliveries_of_its_connection,
    a_verification_leaves_nothing_behind,
    a_verification_names_the_other_concerns_of_an_activation,
    without_a_serving_version_or_deliveries_the_answer_says_so,
    bounds_and_unknown_versions_are_refused,
    an_activation_that_loses_phones_is_refused_with_the_difference_and_drift_accepts_it,
    a_stored_version_is_verified_before_its_activation_and_a_rollback_is_not,
    a_version_that_was_rolled_back_is_restored_only_if_that_is_accepted,
    a_refused_rollback_names_the_last_version_that_was_not_rolled_back,
    a_rollback_waits_for_one_that_has_begun_before_it,
    a_version_that_no_longer_fits_into_a_request_is_refused_with_the_times_of_both,
    comparisons_are_no_live_calls,
    without_deliveries_to_compare_the_policy_refuses_nothing,
    a_file_of_the_inbox_that_harms_leads_is_refused_with_the_command_that_accepts_it,
    a_version_is_not_activated_in_place_of_another_than_it_was_compared_with,
    a_version_that_repairs_one_that_cannot_be_loaded_is_activated,
    a_comparison_of_a_part_says_of_how_many_deliveries,
    an_impact_needs_a_version_to_compare_with,
    a_verification_is_shown_while_it_runs,
    a_caller_whose_comparisons_loop_keeps_no_other_one_from_publishing,
}

struct Verifier {
    host: Host,
    key: leadhost_domain::key::PlainKey,
}

impl Verifier {
    async fn new(on: On) -> Self {
        Self::start(Options::patient(on)).await
    }

    async fn start(options: Options) -> Self {
        let host = Host::start(options).await;
        let key = host.admin_key().await;
        Self { host, key }
    }

    fn ask(&self, path: &str) -> Ask {
        self.host
            .admin("POST", &format!("/admin/v1{path}"))
            .bearer(&self.key)
    }

    async fn activate(&self, version: Variant<'_>, query: &str, status: u16) -> Value {
        let ask = self.ask(&format!("/plugins?activate=true{query}"));
        let answer = ask.body(version.component()).send().await;
        answer.expect(status).json()
    }

    async fn roll_back(&self, accept: &[&str], status: u16) -> Value {
        let ask = self.ask("/plugins/misbehave/rollback");
        let answer = ask.json(&json!({ "accept": accept })).send().await;
        answer.expect(status).json()
    }

    async fn impact(&self, query: &str, body: Value, status: u16) -> Value {
        let ask = self.ask(&format!("/plugins/misbehave/impact{query}"));
        ask.json(&body).send().await.expect(status).json()
    }

    async fn verify(&self, candidate: Variant<'_>, query: &str) -> Value {
        let ask = self.ask(&format!("/plugins/verify{query}"));
        let answer = ask.body(candidate.component()).send().await;
        answer.expect(200).json()
    }
}

/// Serves version 1 and sends this many deliveries to a connection with this configuration.
async fn served(on: On, config: &str, deliveries: usize) -> Verifier {
    served_with(Options::patient(on), config, deliveries).await
}

async fn served_with(options: Options, config: &str, deliveries: usize) -> Verifier {
    let verifier = Verifier::start(options).await;
    verifier.host.converter(version("1.0.0").component()).await;
    let declared = verifier.host.declare(&connection("odd", config)).await;
    send(&verifier.host, &declared.address("odd"), deliveries).await;
    verifier
}

async fn send(host: &Host, address: &str, deliveries: usize) {
    for _ in 0..deliveries {
        host.post(address).body("{}").send().await.expect(200);
    }
}

#[track_caller]
fn field<'a>(verified: &'a Value, name: &str, change: &str) -> &'a Value {
    let fields = verified["fields"].list();
    let found = fields
        .iter()
        .find(|one| one["field"] == name && one["change"] == change);
    found.unwrap_or_else(|| panic!("{name} {change}: {verified:#}"))
}

async fn equal_versions_differ_in_nothing(on: On) {
    let verifier = served(on, "{}", 3).await;
    let verified = verifier.verify(version("1.1.0"), "").await;
    fields!(verified, {"against.version": "1.0.0", "version": "1.1.0"});
    for (name, count) in [
        ("chosen", 3),
        ("compared", 3),
        ("same", 3),
        ("leads", 3),
        ("candidateLeads", 3),
        ("connections", 1),
        ("notReached", 0),
    ] {
        assert_eq!(verified[name], count, "{name}: {verified:#}");
    }
    assert_eq!(verified["fields"], json!([]));
}

async fn a_changed_and_a_lost_field_are_counted_with_masked_examples(on: On) {
    // Version 1 reads a phone, and the candidate reads none.
    let verifier = Verifier::new(on).await;
    let serving = version("1.0.0").always("phones");
    verifier.host.converter(serving.component()).await;
    let declared = verifier
        .host
        .declare(&connection("odd", "{ size = 1 }"))
        .await;
    send(&verifier.host, &declared.address("odd"), 4).await;
    let verified = verifier.verify(version("1.1.0"), "").await;
    assert_eq!(verified["same"], 0);
    let lost = field(&verified, "phone", "lost");
    assert_eq!(lost["count"], 4);
    let examples = lost["examples"].list();
    assert_eq!(examples.len(), 3);
    let before = examples[0]["before"].text();
    let is_so = before.starts_with("+*") && !before.contains("119");
    assert!(is_so, "{before}");
    assert!(examples[0]["after"].is_null());

    let prefixed = version("1.2.0").prefix("new ");
    verifier.host.converter(version("1.1.0").component()).await;
    let verified = verifier.verify(prefixed, "").await;
    let changed = field(&verified, "message", "changed");
    assert_eq!(changed["count"], 4);
    assert_eq!(verified["newlyFailing"]["count"], 0);
}

async fn a_verification_detects_a_version_that_traps_refuses_or_needs_more_memory(on: On) {
    let verifier = served(on, "{}", 2).await;
    for word in ["trap", "refuse", "grow"] {
        let candidate = version("2.0.0").always(word);
        let verified = verifier.verify(candidate, "").await;
        let failing = &verified["newlyFailing"];
        assert_eq!(failing["count"], 2, "{word}: {verified:#}");
        assert_eq!(verified["compared"], 2);
        assert!(failing["examples"][0]["after"].is_string(), "{word}");
    }
    // The serving version is not harmed by it.
    let verified = verifier.verify(version("1.1.0"), "").await;
    assert_eq!(verified["same"], 2);
}

async fn a_verification_detects_a_version_that_loops(on: On) {
    let options = Options::on(on).with("plugins.deadline_ms", "1000");
    let verifier = served_with(options, "{}", 2).await;
    let candidate = version("2.0.0").always("loop");
    let verified = verifier.verify(candidate, "").await;
    assert_eq!(verified["newlyFailing"]["count"], 2, "{verified:#}");
}

async fn a_version_that_fixes_a_failure_is_shown_and_failures_take_half_of_the_places(on: On) {
    let verifier = Verifier::new(on).await;
    verifier.host.converter(version("1.0.0").component()).await;
    let both = connection("good", "{}") + &connection("bad", "{ do = \"trap\" }");
    let declared = verifier.host.declare(&both).await;
    send(&verifier.host, &declared.address("good"), 5).await;
    send(&verifier.host, &declared.address("bad"), 2).await;
    let mended = version("1.1.0").mended("trap");
    let verified = verifier.verify(mended, "?last=2").await;
    assert_eq!(verified["compared"], 2);
    let mends = &verified["noLongerFailing"];
    assert_eq!(mends["count"], 1, "{verified:#}");
    // A reason is for operators, and not masked.
    has!(mends["examples"][0]["before"], "the plugin");
    let mended = version("1.1.0").mended("trap");
    let verified = verifier.verify(mended, "?failed=true").await;
    assert_eq!(verified["chosen"], 2);
}

async fn a_rare_connection_is_covered_beside_a_busy_one(on: On) {
    let verifier = Verifier::new(on).await;
    verifier.host.converter(version("1.0.0").component()).await;
    let both = connection("busy", "{}") + &connection("rare", "{ do = \"leads\", size = 2 }");
    let declared = verifier.host.declare(&both).await;
    send(&verifier.host, &declared.address("rare"), 1).await;
    send(&verifier.host, &declared.address("busy"), 9).await;
    let candidate = version("1.1.0").mended("leads");
    let verified = verifier.verify(candidate, "?last=4").await;
    fields!(verified, {"compared": 4, "connections": 2});
    // The rare connection's two leads become one.
    fields!(verified, {"leads": 5, "candidateLeads": 4, "vanished.count": 1});
}

async fn a_rare_outcome_is_covered_beside_newer_deliveries_of_its_connection(on: On) {
    let verifier = Verifier::new(on).await;
    let host = &verifier.host;
    host.converter(version("1.0.0").component()).await;
    let refusing = connection("odd", "{ do = \"refuse\" }");
    let address = host.declare(&refusing).await.address("odd");
    for _ in 0..2 {
        host.post(&address).body("{}").send().await.expect(400);
    }
    let mut rejected = host.with_status(DeliveryStatus::Rejected).await;
    rejected.sort();
    assert_eq!(rejected.len(), 2);
    // Ids of the same millisecond have no order.
    host.advance(1).await;
    let address = host.declare(&connection("odd", "{}")).await.address("odd");
    send(host, &address, 6).await;
    // It changes each delivery, so that the examples name those that were chosen.
    let candidate = || version("1.1.0").prefix("new ");
    let verified = verifier.verify(candidate(), "?last=3").await;
    fields!(verified, {"compared": 3, "total": 8});
    let examples = &field(&verified, "message", "changed")["examples"];
    let examples = examples.as_array().expect("a list");
    let named = |id: &DeliveryId| examples.iter().any(|one| one["deliveryId"] == json!(id));
    // In turn: the newest converted one, the newest rejected one, and the next converted one.
    assert!(named(&rejected[1]), "{verified:#}");
    assert!(!named(&rejected[0]), "{verified:#}");
    let verified = verifier.verify(candidate(), "?last=4").await;
    assert_eq!(verified["compared"], 4, "{verified:#}");
    let verified = verifier.verify(candidate(), "?last=3&failed=true").await;
    assert_eq!(verified["chosen"], 0, "{verified:#}");
}

async fn a_verification_names_the_other_concerns_of_an_activation(on: On) {
    let verifier = served(on, "{}", 1).await;
    let verified = verifier.verify(version("0.9.0"), "").await;
    assert_eq!(verified["concerns"][0]["accept"], "older", "{verified:#}");
    let verified = verifier.verify(version("1.1.0"), "").await;
    assert_eq!(verified["concerns"], json!([]), "{verified:#}");
}

async fn a_verification_leaves_nothing_behind(on: On) {
    let verifier = served(on, "{}", 3).await;
    let host = &verifier.host;
    let state = async || {
        (
            host.count("select count(*) from deals").await,
            host.count("select count(*) from contacts").await,
            host.count("select count(*) from deliveries where attempts > 0")
                .await,
            host.count("select count(*) from plugins").await,
        )
    };
    let before = state().await;
    let candidate = version("2.0.0").always("trap");
    verifier.verify(candidate, "").await;
    assert_eq!(state().await, before);
    let serves = host
        .app
        .core
        .plugins
        .active("misbehave")
        .expect("it serves");
    assert_eq!(serves.description.version, "1.0.0");
    // The connection's circuit is closed: live deliveries are converted.
    let list = host.admin("GET", "/admin/v1/plugins").bearer(&verifier.key);
    let list = list.send().await.expect(200).json();
    assert_eq!(list["plugins"][0]["circuits"], json!([]));
}

async fn without_a_serving_version_or_deliveries_the_answer_says_so(on: On) {
    let verifier = Verifier::new(on).await;
    fields!(verifier.verify(version("1.0.0"), "").await, {"against": null, "chosen": 0});
    let digest = verifier.host.converter(version("1.0.0").component()).await;
    let stored = json!({ "digest": digest.0 });
    let ask = verifier.ask("/plugins/misbehave/verify").json(&stored);
    fields!(ask.send().await.expect(200).json(), {"against.digest": digest.0, "chosen": 0});
}

async fn bounds_and_unknown_versions_are_refused(on: On) {
    let verifier = served(on, "{}", 1).await;
    for query in "last=0 last=10001 seconds=x since=yesterday failed=maybe".split(' ') {
        let ask = verifier.ask(&format!("/plugins/verify?{query}"));
        let refused = ask.body(version("2.0.0").component()).send().await;
        let refused = refused.expect(400).json();
        let name = query.split('=').next().expect("a name");
        has!(refused["error"], name);
    }
    let ask = verifier.ask("/plugins/verify").body("no component");
    ask.send().await.expect(422);
    let unknown = json!({ "digest": "0123456789abcdef" });
    let ask = verifier.ask("/plugins/misbehave/verify").json(&unknown);
    ask.send().await.expect(404);
    let short = json!({ "digest": "01" });
    let ask = verifier.ask("/plugins/misbehave/verify").json(&short);
    ask.send().await.expect(400);
}

/// Serves a version that reads phones, and sends four deliveries.
async fn serving_phones(options: Options) -> Verifier {
    let verifier = Verifier::start(options).await;
    verifier.host.converter(phones("1.0.0").component()).await;
    let declared = verifier
        .host
        .declare(&connection("odd", "{ size = 1 }"))
        .await;
    send(&verifier.host, &declared.address("odd"), 4).await;
    verifier
}

fn serves(host: &Host) -> String {
    let active = host.app.core.plugins.active("misbehave");
    active.expect("it serves").description.version.clone()
}

async fn an_activation_that_loses_phones_is_refused_with_the_difference_and_drift_accepts_it(
    on: On,
) {
    let verifier = serving_phones(Options::patient(on)).await;
    // Accepting another concern does not accept this one.
    for query in ["", "&accept=older"] {
        let refused = verifier.activate(version("1.1.0"), query, 409).await;
        assert_eq!(refused["accept"], json!(["drift"]), "{refused:#}");
        has!(refused["error"], "4 of 4 leads lose a phone");
        let lost = field(&refused["verification"], "phone", "lost");
        assert_eq!(lost["count"], 4);
        assert_eq!(serves(&verifier.host), "1.0.0");
    }
    assert_eq!(verifier.host.count("select count(*) from plugins").await, 1);

    let activated = verifier.activate(version("1.1.0"), "&accept=drift", 201);
    let activated = activated.await;
    assert_eq!(activated["active"], true);
    let ask = verifier
        .host
        .admin("GET", "/admin/v1/audit?act=activate-plugin&limit=1");
    let audit = ask.bearer(&verifier.key).send().await.expect(200).json();
    let detail = audit["rows"][0]["detail"].text();
    let detail: Value = serde_json::from_str(detail).expect("JSON");
    let accepted = &detail["accepted"][0];
    assert_eq!(accepted["accept"], "drift", "{detail:#}");
    has!(accepted["what"], "4 of 4 leads lose a phone");
    assert_eq!(
        field(&activated["verification"], "phone", "lost")["count"],
        4
    );
    assert_eq!(serves(&verifier.host), "1.1.0");
}

async fn a_stored_version_is_verified_before_its_activation_and_a_rollback_is_not(on: On) {
    let verifier = serving_phones(Options::patient(on)).await;
    let wasm = version("1.1.0").component();
    let stored = verifier.ask("/plugins").body(wasm).send().await;
    let stored = stored.expect(201).json();
    assert!(stored["verification"].is_null(), "{stored:#}");
    let activate = async |accept: Value| {
        let ask = verifier.ask("/plugins/misbehave/activate");
        let body = json!({ "digest": stored["digest"], "accept": accept });
        ask.json(&body).send().await
    };
    let refused = activate(json!([])).await.expect(409).json();
    assert_eq!(refused["accept"], json!(["drift"]));
    activate(json!(["drift"])).await.expect(200);
    let answer = verifier.roll_back(&[], 200).await;
    assert!(answer["verification"].is_null());
    assert_eq!(serves(&verifier.host), "1.0.0");
}

async fn a_version_that_was_rolled_back_is_restored_only_if_that_is_accepted(on: On) {
    let verifier = serving_phones(Options::patient(on)).await;
    verifier
        .activate(version("1.1.0"), "&accept=drift", 201)
        .await;
    let back = async |accept: &[&str], status: u16| verifier.roll_back(accept, status).await;
    // The version that an advised rollback would activate.
    let way_back = async || {
        let listed = verifier.host.admin("GET", "/admin/v1/plugins");
        let listed = listed.bearer(&verifier.key).send().await.expect(200).json();
        let plugin = &listed["plugins"][0];
        assert!(plugin["previous"].is_string(), "{plugin:#}");
        plugin["wayBack"].clone()
    };
    assert!(way_back().await.is_string());
    back(&[], 200).await;
    assert_eq!(serves(&verifier.host), "1.0.0");
    assert!(way_back().await.is_null());

    let refused = back(&[], 409).await;
    assert_eq!(refused["accept"], json!(["rolled-back"]));
    let what = refused["concerns"][0]["what"].text();
    assert!(
        what.starts_with("it was itself rolled back by `test` at 20"),
        "{what}"
    );
    back(&["drift"], 409).await;
    back(&["nosuch"], 400).await;
    assert_eq!(serves(&verifier.host), "1.0.0");
    // During a canary nothing that is accepted lets it pass, and the refusal says what does.
    let canary = verifier.host.keep_version(version("1.2.0").component());
    let order = json!({ "mode": "canary", "digest": canary.await.0, "accept": ["drift"] });
    let rollout = "/plugins/misbehave/rollout";
    verifier.ask(rollout).json(&order).send().await.expect(201);
    let refused = back(&[], 409).await;
    let error = refused["error"].text();
    assert!(error.ends_with("rollout abort misbehave`"), "{error}");
    let abort = json!({ "change": "abort" });
    let ask = verifier.host.admin("PATCH", &format!("/admin/v1{rollout}"));
    let ask = ask.bearer(&verifier.key).json(&abort);
    ask.send().await.expect(200);
    back(&["rolled-back"], 200).await;
    assert_eq!(serves(&verifier.host), "1.1.0");
    assert!(way_back().await.is_string());
    // The next rollback needs no `accept`, because the version that it activates was not rolled
    // back.
    back(&[], 200).await;
    assert_eq!(serves(&verifier.host), "1.0.0");
    back(&[], 409).await;
}

async fn a_refused_rollback_names_the_last_version_that_was_not_rolled_back(on: On) {
    let verifier = serving_phones(Options::patient(on)).await;
    let first = verifier.host.app.core.plugins.active("misbehave");
    let first = first.expect("it serves").digest.clone();
    for number in ["1.1.0", "1.2.0"] {
        verifier
            .activate(version(number), "&accept=drift", 201)
            .await;
    }
    verifier.roll_back(&[], 200).await;
    assert_eq!(serves(&verifier.host), "1.1.0");
    let refused = verifier.roll_back(&[], 409).await;
    let what = refused["concerns"][0]["what"].text();
    let remedy = format!(
        "the last version that was not rolled back is 1.0.0: `leadhost plugin publish misbehave@{} --accept older`",
        first.short()
    );
    assert!(what.ends_with(&remedy), "{what}");

    // What the active version did is compared with that one too, and not with one that is wrong itself.
    let active = verifier.host.app.core.plugins.active("misbehave");
    let order = json!({ "digest": active.expect("it serves").digest.0 });
    let impact = verifier.impact("", order.clone(), 200).await;
    let against = &impact["against"];
    assert_eq!(against["digest"], first.0, "{impact:#}");
    // A rollback would activate another one.
    fields!(against, {"previous": false, "discarded": false});
    let wrong = verifier.host.keep_version(version("1.2.0").component());
    let wrong = wrong.await;
    let order = json!({ "digest": order["digest"], "against": wrong.0 });
    let impact = verifier.impact("", order, 200).await;
    fields!(&impact["against"], {"previous": true, "discarded": true});
}

async fn a_rollback_waits_for_one_that_has_begun_before_it(on: On) {
    let verifier = serving_phones(Options::patient(on)).await;
    verifier
        .activate(version("1.1.0"), "&accept=drift", 201)
        .await;
    // As another host does for an operator who answers the same incident.
    let core = &verifier.host.app.core;
    let act = |outcome, begun| Act {
        outcome,
        begun,
        ..Act::done(
            AuditActor::service("test"),
            core.clock.now(),
            (OperatorAct::RollBackPlugin, "misbehave"),
            &json!({}),
        )
    };
    let begun = core.store.add_audit(act(ActOutcome::Begun, None)).await;
    let begun = begun.expect("a store").number;
    let refused = verifier.roll_back(&[], 409).await.to_string();
    has!(refused, "is under way");
    assert_eq!(serves(&verifier.host), "1.1.0");
    let ended = core.store.add_audit(act(ActOutcome::Refused, Some(begun)));
    ended.await.expect("a store");
    verifier.roll_back(&[], 200).await;
    assert_eq!(serves(&verifier.host), "1.0.0");
}

async fn a_version_that_no_longer_fits_into_a_request_is_refused_with_the_times_of_both(on: On) {
    let options = Options::patient(on).with("plugins.inline_ms", 50);
    let verifier = Verifier::start(options).await;
    let host = &verifier.host;
    host.converter(version("1.0.0").component()).await;
    let config = "{ size = 100000000 }";
    let declared = host.declare(&connection("odd", config)).await;
    send(host, &declared.address("odd"), 4).await;
    let slow = || version("1.1.0").always("burn");
    let verified = verifier.verify(slow(), "").await;
    let cost = &verified["cost"];
    assert_eq!(cost["conversions"], 4, "{verified:#}");
    let micros = |whose: &str, what: &str| cost[whose][what].as_u64().expect("a number");
    assert!(micros("other", "meanUs") < 50_000, "{cost:#}");
    assert!(micros("candidate", "meanUs") > 50_000, "{cost:#}");
    assert!(micros("candidate", "p95Us") > 50_000, "{cost:#}");
    assert!(micros("candidate", "memoryBytes") > 0, "{cost:#}");
    let exceeds =
        "4 of 4 conversions exceed the 50 ms of a request (plugins.inline_ms) only with it";
    has!(verified["drift"].to_string(), exceeds);

    let refused = verifier.activate(slow(), "", 409).await;
    assert_eq!(refused["accept"], json!(["drift"]), "{refused:#}");
    has!(refused["error"].to_string(), exceeds);
    verifier.activate(slow(), "&accept=drift", 201).await;
    assert_eq!(serves(host), "1.1.0");
}

async fn comparisons_are_no_live_calls(on: On) {
    let verifier = served(on, "{}", 3).await;
    let trapping = version("1.1.0").always("trap");
    let verified = verifier.verify(trapping, "").await;
    assert_eq!(verified["newlyFailing"]["count"], 3);
    let metrics = verifier.host.admin("GET", "/metrics").send().await;
    let metrics = metrics.expect(200);
    let trapped: Vec<&str> = metrics
        .text()
        .lines()
        .filter(|line| line.starts_with("leadhost_plugin_calls_total{"))
        .filter(|line| line.contains("outcome=\"trapped\""))
        .collect();
    assert_eq!(trapped.len(), 1, "{trapped:?}");
    let is_so = trapped[0].contains("purpose=\"comparison\"") && trapped[0].ends_with(" 3");
    assert!(is_so, "{trapped:?}");
}

async fn without_deliveries_to_compare_the_policy_refuses_nothing(on: On) {
    let options = Options::patient(on).with("verify.deliveries", "0");
    let verifier = serving_phones(options).await;
    let activated = verifier.activate(version("1.1.0"), "", 201).await;
    assert_eq!(activated["verification"]["compared"], 0);
}

async fn a_file_of_the_inbox_that_harms_leads_is_refused_with_the_command_that_accepts_it(on: On) {
    let verifier = serving_phones(Options::patient(on)).await;
    let pipeline = &verifier.host.app.pipeline;
    deploy::take_in(pipeline, version("1.1.0").component(), "odd.wasm").await;
    assert_eq!(serves(&verifier.host), "1.0.0");
    let refusals = pipeline.core.store.refusals().await.expect("a list");
    let reason = &refusals[0].reason;
    has!(reason, "lose a phone", "odd.wasm --accept drift");
}

async fn a_version_is_not_activated_in_place_of_another_than_it_was_compared_with(on: On) {
    let verifier = serving_phones(Options::patient(on)).await;
    let pipeline = &verifier.host.app.pipeline;
    let wasm = phones("1.1.0").component();
    let tried = deploy::try_out(pipeline, wasm.clone(), true).await;
    let tried = tried.expect("it passes its trial");
    verifier.host.converter(phones("1.2.0").component()).await;
    let origin = ComponentOrigin::from("test");
    let refused = deploy::admit(pipeline, tried, wasm, origin, &AcceptedWords::default()).await;
    let expected = matches!(refused, Err(DeployError::Fleet(FleetError::Changed(_))));
    assert!(expected, "{refused:?}");
    assert_eq!(serves(&verifier.host), "1.2.0");
}

async fn a_version_that_repairs_one_that_cannot_be_loaded_is_activated(on: On) {
    let verifier = serving_phones(Options::patient(on)).await;
    let store = &verifier.host.app.core.store;
    let active = verifier.host.app.core.plugins.active("misbehave");
    let active = active.expect("it serves").digest.clone();
    let record = store.plugin(&active).await.expect("it answers");
    let mut record = record.expect("it is stored");
    let bytes = b"no component";
    record.digest = Digest::compute(bytes);
    store.put_plugin(&record, bytes).await.expect("stored");
    let now = verifier.host.now();
    let activated = store.activate("misbehave", &record.digest, now).await;
    activated.expect("activated");

    let activated = verifier.activate(version("1.1.0"), "", 201).await;
    assert!(activated["verification"]["against"].is_null());
    assert_eq!(serves(&verifier.host), "1.1.0");
}

async fn a_comparison_of_a_part_says_of_how_many_deliveries(on: On) {
    let verifier = served(on, "{}", 2).await;
    let host = &verifier.host;
    let address = host.declare(&connection("odd", "{}")).await.address("odd");
    let harmful = host.converter(version("1.1.0").component()).await;
    send(host, &address, 3).await;
    verifier.roll_back(&[], 200).await;
    let check = |compared: &Value, chosen: u64, total: u64| {
        fields!(compared, {"chosen": chosen, "total": total, "totalIsLeast": false});
    };
    for (query, chosen) in [("", 3), ("?last=2", 2)] {
        let body = json!({ "digest": harmful.0 });
        check(&verifier.impact(query, body, 200).await, chosen, 3);
    }
    let candidate = || version("1.2.0");
    check(&verifier.verify(candidate(), "").await, 5, 5);
    check(&verifier.verify(candidate(), "?last=2").await, 2, 5);
    check(
        &verifier.verify(candidate(), "?last=2&failed=true").await,
        0,
        0,
    );
}

async fn an_impact_needs_a_version_to_compare_with(on: On) {
    let verifier = Verifier::new(on).await;
    let digest = verifier.host.converter(version("1.0.0").component()).await;
    let alone = json!({ "digest": digest.0 });
    verifier.impact("", alone, 409).await;
    let unknown = json!({ "digest": digest.0, "against": "0123456789abcdef" });
    verifier.impact("", unknown, 404).await;
    // The active version is compared with the one before it.
    let next = verifier.host.converter(version("1.1.0").component()).await;
    let found = verifier.impact("", json!({ "digest": next.0 }), 200).await;
    fields!(found, {"against.version": "1.0.0", "against.active": false});
}

async fn deliveries_in_quarantine_take_no_place(on: On) {
    let verifier = Verifier::new(on).await;
    let host = &verifier.host;
    host.converter(phones("1.0.0").component()).await;
    let checked = connection("odd", "{ size = 1 }")
        + "secrets = { token = \"made-up-word\" }\nchecks = [{ secret = \"token\", scheme = \"equals\", proof = { place = \"header\", name = \"x-token\" } }]\n";
    let declared = host.declare(&checked).await;
    let address = declared.address("odd");
    for _ in 0..2 {
        let ask = host.post(&address).header("x-token", "made-up-word");
        ask.body("{}").send().await.expect(200);
    }
    for _ in 0..3 {
        host.post(&address).body("{}").send().await.expect(401);
    }
    let verified = verifier.verify(version("1.1.0"), "?last=3").await;
    assert_eq!(verified["chosen"], 2, "{verified:#}");
    assert_eq!(field(&verified, "phone", "lost")["count"], 2);
    let drift = verified["drift"].list();
    assert_eq!(drift.len(), 1, "{verified:#}");
}

async fn a_verification_is_shown_while_it_runs(on: On) {
    let operator = served(on, "{}", 2).await;
    let running = async || {
        let path = "/admin/v1/plugins/verify";
        let ask = operator.host.admin("GET", path).bearer(&operator.key);
        let answer = ask.send().await.expect(200).json();
        answer["verifications"].list().clone()
    };
    assert!(running().await.is_empty());
    let candidate = version("2.0.0").always("loop");
    let wasm = candidate.component();
    let digest = Digest::compute(&wasm);
    // Its conversions do not end before the time is up.
    let verification = operator.ask("/plugins/verify?seconds=5").body(wasm).send();
    let shown = until("it is shown", async || {
        let is_it = |one: &Value| one["digest"] == digest.0.as_str() && one["chosen"] == 2;
        running().await.into_iter().find(is_it)
    });
    let (answer, shown) = tokio::join!(verification, shown);
    fields!(shown, {"name": "misbehave", "done": 0});
    let left = shown["secondsLeft"].as_u64().expect("a number");
    assert!(left <= 5, "{shown:#}");
    assert_eq!(answer.expect(200).json()["notReached"], 2);
    assert!(running().await.is_empty());
}

async fn a_caller_whose_comparisons_loop_keeps_no_other_one_from_publishing(on: On) {
    let verifier = served(on, "{}", 2).await;
    let looping = version("2.0.0").always("loop").component();
    let looping = verifier.host.keep_version(looping).await;
    // More than may wait of one caller; the others do not end before the test.
    let comparisons: Vec<_> = (0..6)
        .map(|_| {
            let ask = verifier.ask("/plugins/misbehave/verify?seconds=280");
            let ask = ask.json(&json!({ "digest": looping }));
            tokio::spawn(async move { ask.send().await })
        })
        .collect();
    let ended = || comparisons.iter().filter(|one| one.is_finished()).count();
    eventually("those beyond its room are refused", async || ended() == 2).await;
    eventually("one of the others runs", async || {
        verifier.host.app.core.plugins.load().1 > 0
    })
    .await;
    let another = verifier.host.admin_key().await;
    let path = "/admin/v1/plugins?activate=true&accept=all";
    let publish = verifier.host.admin("POST", path).bearer(&another);
    let publish = publish.body(version("1.1.0").component()).send().await;
    assert_eq!(publish.expect(201).json()["version"], "1.1.0");
    assert_eq!(ended(), 2, "the comparisons still run or wait");
    for one in comparisons {
        if one.is_finished() {
            let refused = one.await.unwrap().expect(503);
            assert_eq!(refused.header("retry-after"), "10");
        } else {
            one.abort();
        }
    }
}
