//! Canaries: a candidate converts a part of the deliveries beside the stable version, step by step, and
//! guards roll it back. The steps follow the machine's monotonic clock, not the host's: they are seconds long
//! here, and the tests wait for them.

use leadhost_domain::connection::ChangeCause;
use leadhost_domain::key::PlainKey;
use leadhost_domain::plugin::Digest;
use leadhost_golden::{append_section, pack};
use leadhost_tests::guests::{self, Variant};
use leadhost_tests::{
    Answer, Ask, Declared, Host, Json, On, Options, eventually, fields, has, until,
};
use serde_json::{Value, json};

leadhost_tests::on_every_store! {
    a_good_candidate_goes_through_its_steps_and_its_probation_and_costs_no_lead,
    a_candidate_that_drops_phones_is_rolled_back_and_no_stored_lead_has_lost_its_phone,
    without_guards_harm_stays_until_an_abort_and_the_impact_counts_exactly_the_harmed,
    without_guards_the_change_of_the_leads_names_the_candidate,
    a_candidate_that_traps_costs_no_sender_its_answer_and_is_rolled_back,
    a_candidate_that_loops_costs_no_sender_its_answer_and_is_rolled_back,
    a_delivery_on_which_both_versions_of_a_canary_fail_is_converted_by_the_previous_version,
    a_good_candidate_serves_beside_a_stable_version_that_keeps_failing,
    a_candidate_costs_no_phone_that_a_failing_stable_version_reads,
    a_candidate_that_harms_one_connection_is_rolled_back_and_the_reason_names_it,
    a_lead_is_converted_by_the_same_version_however_often_it_comes,
    an_operators_replay_during_a_canary_is_converted_by_the_stable_version,
    about_half_of_the_leads_go_to_a_candidate_at_fifty_per_cent,
}

/// Seconds of a step or a probation that no test sees the end of.
pub(crate) const LONG: u64 = 600;

/// A host whose connections a stable version converts, and an operator's key.
pub(crate) struct Rolling {
    pub(crate) host: Host,
    pub(crate) key: PlainKey,
    pub(crate) declared: Declared,
    pub(crate) stable: Digest,
    plugin: &'static str,
}

impl Rolling {
    /// The stable version reads a phone in each delivery of the connection `odd`.
    pub(crate) async fn new(on: On) -> Self {
        Self::start(Options::patient(on)).await
    }

    pub(crate) async fn start(options: Options) -> Self {
        let host = Host::working_with(options).await;
        Self::on_host(host, &connection("odd", "{ size = 1 }")).await
    }

    /// The same with other connections.
    pub(crate) async fn on_host(host: Host, connections: &str) -> Self {
        Self::with_stable(host, connections, phones("1.0.0")).await
    }

    /// The same with another stable version.
    pub(crate) async fn with_stable(host: Host, connections: &str, stable: Variant<'_>) -> Self {
        let stable = host.converter(stable.component()).await;
        Self {
            declared: host.declare(connections).await,
            key: host.admin_key().await,
            plugin: "misbehave",
            stable,
            host,
        }
    }

    /// With the example form, which reads the ids of leads, and its connection `form`.
    pub(crate) async fn form(host: Host) -> Self {
        let stable = host.converter(guests::example_form()).await;
        Self {
            declared: host.declare(FORM).await,
            key: host.admin_key().await,
            plugin: "example-form",
            stable,
            host,
        }
    }

    /// With a rollout of this candidate that has begun.
    pub(crate) async fn begun(on: On, candidate: Variant<'_>, order: Value) -> (Self, Digest) {
        let rolling = Self::new(on).await;
        let candidate = rolling.keep(candidate).await;
        rolling.begin(&candidate, order).await;
        (rolling, candidate)
    }

    /// With this candidate active, in its probation.
    pub(crate) async fn in_probation(on: On, candidate: Variant<'_>) -> (Self, Digest) {
        let (rolling, candidate) = Self::begun(on, candidate, canary(&[1], LONG)).await;
        rolling.promote().await;
        (rolling, candidate)
    }

    pub(crate) async fn restart(self) -> Self {
        Self {
            host: self.host.restart().await,
            ..self
        }
    }

    pub(crate) fn ask(&self, method: &str, path: &str) -> Ask {
        let path = format!("/admin/v1{path}");
        self.host.admin(method, &path).bearer(&self.key)
    }

    pub(crate) fn about(&self, method: &str) -> Ask {
        self.ask(method, &format!("/plugins/{}/rollout", self.plugin))
    }

    pub(crate) async fn keep(&self, version: Variant<'_>) -> Digest {
        self.host.keep_version(version.component()).await
    }

    /// Asks for a rollout of this version.
    pub(crate) async fn order(&self, candidate: &Digest, mut order: Value) -> Answer {
        order["digest"] = json!(candidate.0);
        self.about("POST").json(&order).send().await
    }

    pub(crate) async fn begin(&self, candidate: &Digest, order: Value) -> Value {
        self.order(candidate, order).await.expect(201).json()
    }

    pub(crate) async fn change(&self, change: &str) -> Answer {
        let change = json!({ "change": change });
        self.about("PATCH").json(&change).send().await
    }

    pub(crate) async fn promote(&self) -> Value {
        let promoted = self.change("promote").await.expect(200).json();
        assert_eq!(promoted["stage"], "probation", "{promoted:#}");
        promoted
    }

    pub(crate) async fn abort(&self) -> Value {
        let aborted = self.change("abort").await.expect(200).json();
        assert_eq!(aborted["stage"], "aborted", "{aborted:#}");
        aborted
    }

    pub(crate) async fn activate(&self, version: &Digest) {
        let ask = self.ask("POST", "/plugins/misbehave/activate");
        let order = json!({ "digest": version.0 });
        ask.json(&order).send().await.expect(200);
    }

    pub(crate) async fn roll_back(&self, status: u16) -> Value {
        let ask = self.ask("POST", "/plugins/misbehave/rollback");
        ask.send().await.expect(status).json()
    }

    /// Sends leads to the connection `odd` until the rollout is rolled back. Returns the versions whose
    /// results were stored.
    pub(crate) async fn send_until_rolled_back(&self) -> Vec<Digest> {
        let mut versions = Vec::new();
        eventually("it is rolled back", async || {
            versions.extend(self.send("odd", 1).await);
            self.shown().await["stage"] == "rolled-back"
        })
        .await;
        versions
    }

    /// Pauses it. If its next step begins at this moment, the change is refused and tried again.
    pub(crate) async fn pause(&self) -> Value {
        until("it is paused", async || {
            let answer = self.change("pause").await;
            (answer.status == 200).then(|| answer.json())
        })
        .await
    }

    pub(crate) async fn shown(&self) -> Value {
        self.about("GET").send().await.expect(200).json()
    }

    /// Waits until the rollout is shown like this, before it has ended.
    pub(crate) async fn until(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        until(what, async || {
            let shown = self.shown().await;
            if is_so(&shown) {
                return Some(shown);
            }
            let has_ended = !shown["why"].is_null() && follow_all(&shown);
            assert!(!has_ended, "still waiting: {what}: {shown:#}");
            None
        })
        .await
    }

    /// Waits until the rollout has ended, and every host has left it with its last report.
    pub(crate) async fn ended(&self) -> Value {
        until("the rollout has ended", async || {
            let shown = self.shown().await;
            (!shown["why"].is_null() && follow_all(&shown)).then_some(shown)
        })
        .await
    }

    /// Waits until the audit has this act on the plugin as done. Returns how often.
    pub(crate) async fn audited(&self, act: &str) -> usize {
        until(&format!("{act} is in the audit"), async || {
            let ask = self.ask("GET", &format!("/audit?act={act}"));
            let audit = ask.send().await.expect(200).json();
            let rows = audit["rows"].list().iter();
            let done = rows.filter(|row| row["outcome"] == "done" && row["target"] == self.plugin);
            Some(done.count()).filter(|count| *count > 0)
        })
        .await
    }

    /// Sends leads. Returns the versions whose results were stored.
    pub(crate) async fn send(&self, connection: &str, leads: usize) -> Vec<Digest> {
        let mut versions = Vec::new();
        for _ in 0..leads {
            versions.push(self.send_to(&self.host, connection).await);
        }
        versions
    }

    /// Sends a lead to this host, which must convert it while the sender waits.
    pub(crate) async fn send_to(&self, host: &Host, connection: &str) -> Digest {
        let ask = host.post(&self.declared.address(connection)).body("{}");
        let answer = ask.send().await.expect(200);
        assert_eq!(answer.json()["status"], "converted", "{}", answer.text());
        ran(host, &answer).await
    }

    /// Sends the form's lead with this id to this host, each time in other words. Returns the
    /// version that converted it.
    pub(crate) async fn send_lead(&self, host: &Host, id: usize, words: &str) -> Digest {
        let lead = json!({
            "id": format!("lead-{id}"), "nome": "Rita", "telefone": "11 98765-4321",
            "mensagem": words,
        });
        let ask = host.post(&self.declared.address("form")).json(&lead);
        ran(host, &ask.send().await.expect(200)).await
    }

    /// Returns how many leads are stored, and how many of them have no phone.
    pub(crate) async fn leads(&self) -> (usize, usize) {
        let contacts = self.host.rows(&self.declared, "contacts").await;
        let deals = self.host.rows(&self.declared, "deals").await;
        let has_none = |deal: &&Value| {
            let person = contacts.iter().find(|one| one["id"] == deal["person_id"]);
            person.expect("an exported contact")["phone_number"].is_null()
        };
        (deals.len(), deals.iter().filter(has_none).count())
    }

    pub(crate) fn serves(&self) -> Digest {
        let active = self.host.app.core.plugins.active(self.plugin);
        active.expect("it serves").digest.clone()
    }
}

async fn ran(host: &Host, answer: &Answer) -> Digest {
    let ran = host.delivery(answer).await.summary.ran;
    ran.expect("it ran").digest
}

/// A version without a sender check, which reads no phone.
pub(crate) fn version(version: &str) -> Variant<'_> {
    Variant::version(version).check("")
}

/// The same, which reads a phone.
pub(crate) fn phones(number: &str) -> Variant<'_> {
    version(number).always("phones")
}

/// The example form in another file: another version that does the same.
pub(crate) fn another_form() -> Vec<u8> {
    append_section(&guests::example_form(), &pack(&[]).unwrap()).unwrap()
}

pub(crate) fn connection(name: &str, config: &str) -> String {
    format!(
        "\n[[connections]]\nname = \"{name}\"\npartner = \"acme\"\nplugin = \"misbehave\"\nconfig = {config}\n"
    )
}

/// A canary with these steps, which end with their time, and a probation that does not end.
pub(crate) fn canary(steps: &[u8], every: u64) -> Value {
    json!({
        "mode": "canary", "steps": steps, "everySeconds": every, "probationSeconds": LONG,
        "stepComparisons": 0, "accept": ["drift"],
    })
}

/// A canary of one long step that no guard ends.
pub(crate) fn unguarded(steps: &[u8]) -> Value {
    let mut order = canary(steps, LONG);
    order["guards"] = json!(false);
    order
}

pub(crate) fn shadow() -> Value {
    json!({ "mode": "shadow", "everySeconds": LONG })
}

const FORM: &str = r#"
[[connections]]
name = "form"
partner = "acme"
plugin = "example-form"
"#;

/// Whether every live host acts on the rollout as it is shown.
pub(crate) fn follow_all(shown: &Value) -> bool {
    shown["behind"] == json!([])
}

/// Returns how many leads lose this field.
pub(crate) fn lost(shown: &Value, name: &str) -> usize {
    let fields = shown["fields"].list();
    let found = fields
        .iter()
        .find(|one| one["field"] == name && one["change"] == "lost");
    let count = found.map_or(0, |one| one["count"].as_u64().expect("a count"));
    usize::try_from(count).expect("few")
}

pub(crate) fn why(ended: &Value) -> &str {
    ended["why"].text()
}

pub(crate) fn count(versions: &[Digest], version: &Digest) -> usize {
    versions.iter().filter(|one| *one == version).count()
}

/// So few leads that the time of their conversions is not judged.
const FEW: usize = 10;

async fn a_good_candidate_goes_through_its_steps_and_its_probation_and_costs_no_lead(on: On) {
    let rolling = Rolling::new(on).await;
    let candidate = rolling.keep(phones("1.1.0")).await;
    let mut order = canary(&[50, 100], 1);
    order["probationSeconds"] = json!(1);
    fields!(rolling.begin(&candidate, order).await, {"stage": "canary", "percent": 50});
    rolling.send("odd", FEW).await;
    let last = |shown: &Value| shown["percent"] == 100 && follow_all(shown);
    rolling.until("the last step", last).await;
    let all = rolling.send("odd", FEW).await;
    assert_eq!(count(&all, &candidate), FEW);
    let is_active = |shown: &Value| shown["stage"] != "canary";
    rolling.until("the activation", is_active).await;
    rolling.send("odd", FEW).await;

    let ended = rolling.ended().await;
    assert_eq!(ended["stage"], "done", "{ended:#}");
    assert_eq!(rolling.serves(), candidate);
    assert_eq!(rolling.leads().await, (3 * FEW, 0));
    for (act, rows) in [
        ("start-rollout", 1),
        // The two steps.
        ("next-rollout-step", 2),
        ("promote-rollout", 1),
        ("end-rollout", 1),
    ] {
        assert_eq!(rolling.audited(act).await, rows, "{act}");
    }
}

/// Rolls a harmful version out to all deliveries of `odd`, and sends leads until it is rolled
/// back. The result of the stable version must be stored for each of them.
async fn is_rolled_back(rolling: &Rolling, harmful: Variant<'_>) -> Value {
    let candidate = rolling.keep(harmful).await;
    rolling.begin(&candidate, canary(&[100], LONG)).await;
    let versions = rolling.send_until_rolled_back().await;
    assert_eq!(count(&versions, &rolling.stable), versions.len());
    assert_eq!(rolling.leads().await, (versions.len(), 0));
    assert_eq!(rolling.serves(), rolling.stable);
    rolling.ended().await
}

async fn a_candidate_that_drops_phones_is_rolled_back_and_no_stored_lead_has_lost_its_phone(
    on: On,
) {
    let rolling = Rolling::new(on).await;
    let ended = is_rolled_back(&rolling, version("1.1.0")).await;
    has!(why(&ended), "lose a phone");
    assert!(lost(&ended, "phone") > 1, "{ended:#}");
    fields!(ended, {"saved": lost(&ended, "phone"), "served": 0});
    assert_eq!(rolling.audited("roll-back-rollout").await, 1);

    // The next operator is told.
    let candidate = Digest(ended["candidate"]["digest"].text().to_owned());
    let mut order = canary(&[1], LONG);
    order["accept"] = json!(["all"]);
    let again = rolling.begin(&candidate, order).await;
    assert_eq!(again["rolledBack"]["why"], ended["why"], "{again:#}");
    assert_eq!(rolling.shown().await["rolledBack"], Value::Null);
}

async fn without_guards_the_change_of_the_leads_names_the_candidate(on: On) {
    let rolling = Rolling::new(on).await;
    // Enough for a baseline.
    rolling.send("odd", 225).await;
    let candidate = rolling.keep(version("1.1.0")).await;
    rolling.begin(&candidate, unguarded(&[90])).await;
    rolling.send("odd", 60).await;
    let id = rolling.declared.id("odd");
    let change = until("the change is reported", async || {
        let mut shapes = rolling.host.store().source_shapes().await.unwrap();
        shapes.remove(&id)?.change
    })
    .await;
    assert_eq!(change.cause, ChangeCause::Version, "{change:?}");
    let named = format!("new in 1.1.0 ({})", candidate.short());
    has!(change.what, &named);
}

async fn without_guards_harm_stays_until_an_abort_and_the_impact_counts_exactly_the_harmed(on: On) {
    let (rolling, candidate) = Rolling::begun(on, version("1.1.0"), unguarded(&[50])).await;
    let mut harmed = count(&rolling.send("odd", 40).await, &candidate);
    assert!((1..40).contains(&harmed), "{harmed}");
    let all = |shown: &Value| lost(shown, "phone") == harmed;
    rolling.until("all harm is reported", all).await;
    // A host reports before it judges: a further report shows that this one was judged.
    let reported = harmed;
    eventually("a further report", async || {
        harmed += count(&rolling.send("odd", 1).await, &candidate);
        lost(&rolling.shown().await, "phone") > reported
    })
    .await;

    rolling.abort().await;
    let next = rolling.send("odd", 5).await;
    assert_eq!(count(&next, &rolling.stable), 5);
    assert_eq!(rolling.leads().await.1, harmed);
    let ask = rolling.ask("POST", "/plugins/misbehave/impact");
    let body = json!({ "digest": candidate.0 });
    let impact = ask.json(&body).send().await.expect(200).json();
    assert_eq!(impact["chosen"], harmed, "{impact:#}");
    assert_eq!(lost(&impact, "phone"), harmed, "{impact:#}");
}

async fn a_candidate_that_traps_costs_no_sender_its_answer_and_is_rolled_back(on: On) {
    fails(&Rolling::new(on).await, "trap").await;
}

async fn a_candidate_that_loops_costs_no_sender_its_answer_and_is_rolled_back(on: On) {
    let options = Options::patient(on).with("plugins.inline_ms", 1_000);
    fails(&Rolling::start(options).await, "loop").await;
}

async fn fails(rolling: &Rolling, word: &str) {
    let failing = version("2.0.0").always(word);
    let ended = is_rolled_back(rolling, failing).await;
    has!(why(&ended), "fail");
    fields!(ended, {"newlyFailing.count": ended["saved"], "served": 0});
    let example = &ended["newlyFailing"]["examples"][0];
    assert!(example["deliveryId"].is_string(), "{ended:#}");
    let error = example["after"].text();
    assert!(!error.is_empty(), "{ended:#}");
}

fn trapping(version: &str) -> Variant<'_> {
    Variant::version(version).check("").always("trap")
}

async fn a_delivery_on_which_both_versions_of_a_canary_fail_is_converted_by_the_previous_version(
    on: On,
) {
    let rolling = Rolling::new(on).await;
    let stable = rolling.host.converter(trapping("1.1.0").component()).await;
    let candidate = rolling.keep(trapping("1.2.0")).await;
    rolling.begin(&candidate, unguarded(&[100])).await;
    // More than open the circuit of the stable version.
    let versions = rolling.send("odd", 6).await;
    assert_eq!(count(&versions, &rolling.stable), 6, "{versions:?}");
    assert_ne!(rolling.stable, stable);
    assert_eq!(rolling.leads().await, (6, 0));
}

async fn a_good_candidate_serves_beside_a_stable_version_that_keeps_failing(on: On) {
    let rolling = Rolling::new(on).await;
    rolling.host.converter(trapping("1.1.0").component()).await;
    let candidate = rolling.keep(phones("1.2.0")).await;
    rolling.begin(&candidate, canary(&[100], LONG)).await;
    let versions = rolling.send("odd", 6).await;
    assert_eq!(count(&versions, &candidate), 6, "{versions:?}");
    assert_eq!(rolling.leads().await, (6, 0));
}

async fn a_candidate_costs_no_phone_that_a_failing_stable_version_reads(on: On) {
    let rolling = Rolling::new(on).await;
    let failing = version("1.1.0").always("phones-or-trap");
    let failing = rolling.host.converter(failing.component()).await;
    let candidate = rolling.keep(version("1.2.0")).await;
    rolling.begin(&candidate, canary(&[100], LONG)).await;
    let address = rolling.declared.address("odd");
    eventually("its circuit is open", async || {
        let ask = rolling.host.post(&format!("{address}?trap=1"));
        ask.send().await.expect(200);
        let open = rolling.host.app.core.plugins.open_breakers();
        open.iter().any(|one| one.digest == failing)
    })
    .await;
    // Two: the third one trips a guard, which stops the comparisons.
    let versions = rolling.send("odd", 2).await;
    assert_eq!(versions, [failing.clone(), failing]);
    // Deliveries on which both versions fail may be compared before them.
    let shown = rolling.until("both are compared", |shown| lost(shown, "phone") > 1);
    assert_eq!(lost(&shown.await, "phone"), 2);
}

async fn a_candidate_that_harms_one_connection_is_rolled_back_and_the_reason_names_it(on: On) {
    // The lost phones exceed the allowed share within the connection `odd`, but not among all
    // deliveries.
    let options = Options::patient(on).with("verify.lost_per_mille", 50);
    let host = Host::working_with(options).await;
    let both =
        connection("odd", "{ size = 1 }") + &connection("good", "{ do = \"leads\", size = 1 }");
    let rolling = Rolling::on_host(host, &both).await;
    let candidate = rolling.keep(version("1.1.0")).await;
    rolling.begin(&candidate, canary(&[100], LONG)).await;
    for _ in 0..2 {
        rolling.send("odd", 1).await;
        let good = rolling.send("good", FEW).await;
        assert_eq!(count(&good, &candidate), FEW, "it harms none of them");
    }
    rolling.send("odd", 1).await;
    let ended = rolling.ended().await;
    assert_eq!(ended["stage"], "rolled-back", "{ended:#}");
    let named = |name: &str| why(&ended).contains(&format!("`{name}`"));
    assert!(named("odd") && !named("good"), "{ended:#}");
}

async fn a_lead_is_converted_by_the_same_version_however_often_it_comes(on: On) {
    let rolling = Rolling::form(Host::working(on).await).await;
    let candidate = rolling.host.keep_version(another_form()).await;
    rolling.begin(&candidate, canary(&[50], LONG)).await;
    let mut rounds = Vec::new();
    for words in ["Posso visitar?", "Ainda posso?", "E amanhã?"] {
        let mut versions = Vec::new();
        for id in 0..20 {
            versions.push(rolling.send_lead(&rolling.host, id, words).await);
        }
        rounds.push(versions);
    }
    assert_eq!(rounds[0], rounds[1]);
    assert_eq!(rounds[0], rounds[2]);
    let by_candidate = count(&rounds[0], &candidate);
    assert!((1..20).contains(&by_candidate), "both convert some");
}

async fn an_operators_replay_during_a_canary_is_converted_by_the_stable_version(on: On) {
    let (rolling, candidate) = Rolling::begun(on, phones("1.1.0"), unguarded(&[100])).await;
    let ask = rolling.host.post(&rolling.declared.address("odd"));
    let answer = ask.body("{}").send().await.expect(200);
    assert_eq!(ran(&rolling.host, &answer).await, candidate);
    let path = format!("/deliveries/{}/replay", answer.json()["deliveryId"].text());
    let replay = rolling.ask("POST", &path).json(&json!({ "apply": true }));
    replay.send().await.expect(200);
    assert_eq!(ran(&rolling.host, &answer).await, rolling.stable);
}

async fn about_half_of_the_leads_go_to_a_candidate_at_fifty_per_cent(on: On) {
    const LEADS: usize = 80;
    let rolling = Rolling::form(Host::working(on).await).await;
    let candidate = rolling.host.keep_version(another_form()).await;
    // The guards would also judge the time of so many conversions, which this test is not about.
    rolling.begin(&candidate, unguarded(&[50])).await;
    let mut versions = Vec::new();
    for id in 0..LEADS {
        versions.push(rolling.send_lead(&rolling.host, id, "Posso visitar?").await);
    }
    let by_candidate = count(&versions, &candidate);
    assert_eq!(by_candidate + count(&versions, &rolling.stable), LEADS);
    // The ids of connections differ from run to run: less than one in ten million is outside.
    assert!((16..=64).contains(&by_candidate), "{by_candidate}");
}
