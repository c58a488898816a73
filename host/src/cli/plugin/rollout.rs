use super::answers::{explain, texts};
use super::candidate::Candidate;
use super::pack::PackFlags;
use super::{comparison, verifying};
use crate::cli::prelude::*;
use crate::cli::table::list;
use leadhost_admin_api::plugins::DeployedPlugin;
use leadhost_admin_api::rollouts::{
    RolledBack, RolloutChangeRequest, RolloutConnection, RolloutRequest, RolloutView,
};
use leadhost_domain::accept::AcceptWord;
use leadhost_domain::rollout::{RolloutChange, RolloutMode, RolloutStage};
use leadhost_domain::time;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Rollout {
    #[command(subcommand)]
    verb: Option<RolloutVerb>,
    /// The plugin whose last rollout is shown
    #[arg(required = true)]
    name: Option<String>,
    #[command(flatten)]
    service: ServiceAddress,
}

#[derive(Subcommand)]
enum RolloutVerb {
    /// Give a version a growing part of the live deliveries, and activate it at the end
    Start(Start),
    /// Stay in the current step; the guards stay on
    Pause(ChangeRollout),
    /// Continue after a pause
    Resume(ChangeRollout),
    /// Activate the version now
    Promote(ChangeRollout),
    /// End the rollout; the stable version stays or becomes active again
    Abort(ChangeRollout),
}

impl Rollout {
    pub async fn run(self) -> CommandResult {
        match self.verb {
            None => {
                let client = self.service.client()?;
                let path = path(self.name.as_deref().unwrap_or_default());
                let rollout = client.get(&path).await?;
                client.print(&rollout, |rollout| show(rollout, client.flags()));
                Ok(())
            }
            Some(RolloutVerb::Start(command)) => command.run().await,
            Some(RolloutVerb::Pause(command)) => command.run(RolloutChange::Pause).await,
            Some(RolloutVerb::Resume(command)) => command.run(RolloutChange::Resume).await,
            Some(RolloutVerb::Promote(command)) => command.run(RolloutChange::Promote).await,
            Some(RolloutVerb::Abort(command)) => command.run(RolloutChange::Abort).await,
        }
    }
}

#[derive(Args)]
struct Start {
    /// A component file or oci://REGISTRY/NAME:TAG of a registry, which the service then stores; or NAME@DIGEST of a stored version, with at least the first 8 characters of the digest
    what: String,
    /// Only compare it with the active version on live deliveries, without effect: on the percentage of --steps [default: 100], for the time of --every [default: 1h]
    #[arg(long, conflicts_with_all = ["probation", "comparisons", "no_guards", "accept"])]
    shadow: bool,
    /// The part of the deliveries that it gets in each step, in percent [default: 1,10,50,100]
    #[arg(
        long,
        value_name = "PERCENT,…",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u8).range(1..=100)
    )]
    steps: Vec<u8>,
    /// How long each step lasts, such as 90s, 5m or 1h [default: 5m]
    #[arg(long, value_name = "TIME", value_parser = span)]
    every: Option<Duration>,
    /// How long the guards stay on after the activation; 0s: not at all [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = span)]
    probation: Option<Duration>,
    /// Comparisons that each step needs, in addition to its time, before the next one begins [default: 10]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(0..=limits::ROLLOUT_STEP_COMPARISONS_MOST))]
    comparisons: Option<u64>,
    /// Never roll back automatically; the stable version remains the fallback if this one fails
    #[arg(long)]
    no_guards: bool,
    /// A concern to accept, as `plugin publish` does; may be repeated
    #[arg(long, value_name = "WHAT", value_parser = AcceptWord::parse)]
    accept: Vec<AcceptWord>,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Start {
    async fn run(self) -> CommandResult {
        let client = self.service.client()?;
        let plan = RolloutRequest {
            mode: if self.shadow {
                RolloutMode::Shadow
            } else {
                RolloutMode::Canary
            },
            steps: (!self.steps.is_empty()).then_some(self.steps),
            every_seconds: self.every.map(|every| every.as_secs()),
            probation_seconds: self.probation.map(|probation| probation.as_secs()),
            guards: self.no_guards.then_some(false),
            step_comparisons: self.comparisons,
            ..canary(&self.accept)
        };
        // A plan that cannot be followed is refused before a file is read.
        if let Some(fault) = plan.fault() {
            return Err(CommandFailure::usage(in_flags(&fault)));
        }
        let candidate = Candidate::read(&self.what, &PackFlags::default(), &client).await?;
        begin(&client, &self.what, candidate, plan).await
    }
}

/// Returns a canary with the default plan, of a version that is still to be named.
fn canary(accept: &[AcceptWord]) -> RolloutRequest {
    RolloutRequest {
        digest: String::new(),
        mode: RolloutMode::Canary,
        steps: None,
        every_seconds: None,
        probation_seconds: None,
        guards: None,
        step_comparisons: None,
        accept: texts(accept),
    }
}

pub async fn begin_canary(
    client: &AdminClient,
    what: &str,
    candidate: Candidate,
    accept: &[AcceptWord],
) -> CommandResult {
    begin(client, what, candidate, canary(accept)).await
}

/// Begins a rollout of a version. A component is stored first, without being activated.
async fn begin(
    client: &AdminClient,
    what: &str,
    candidate: Candidate,
    plan: RolloutRequest,
) -> CommandResult {
    let progress = ProgressLine::start(match plan.mode {
        RolloutMode::Shadow => "loading the version on every host",
        RolloutMode::Canary => "comparing with the active version, and loading it on every host",
    });
    let (name, digest, is_new) = match candidate {
        Candidate::Stored { name, digest } => (name, digest, false),
        Candidate::Unstored { wasm, source } => {
            let path = format!("/admin/v1/plugins{}", query(&[("source", source)]));
            let kept = client.post_wasm(&path, wasm).await?;
            let kept: DeployedPlugin = kept.map_err(|refusal| refusal.about(what))?.content;
            (kept.name, kept.digest.0, true)
        }
    };
    let request = RolloutRequest {
        digest: digest.clone(),
        ..plan
    };
    let path = path(&name);
    let asked = client.try_post(&path, &request);
    let answer = verifying::shown(client, &progress, &digest, asked).await?;
    drop(progress);
    let rollout = answer.map_err(|refusal| {
        let failure = explain(refusal, client.json());
        if is_new {
            failure.also(&format!(
                "the version is stored as {name}@{}",
                digest.get(..12).unwrap_or(&digest)
            ))
        } else {
            failure
        }
    })?;
    client.print(&rollout, |rollout: &RolloutView| {
        if let Some(verification) = &rollout.verification {
            comparison::show(verification);
            say("");
        }
        show(rollout, client.flags());
    });
    Ok(())
}

/// Returns the fault of a plan with the names of flags in place of JSON's.
fn in_flags(fault: &str) -> String {
    fault
        .replace("`steps`", "--steps")
        .replace("`everySeconds`", "--every")
        .replace("`probationSeconds`", "--probation")
        .replace("`stepComparisons`", "--comparisons")
}

#[derive(Args)]
struct ChangeRollout {
    /// The plugin's name
    name: String,
    #[command(flatten)]
    service: ServiceAddress,
}

impl ChangeRollout {
    async fn run(self, change: RolloutChange) -> CommandResult {
        let client = self.service.client()?;
        let progress = ProgressLine::start("waiting for every host");
        let changed = client
            .patch(&path(&self.name), &RolloutChangeRequest { change })
            .await;
        drop(progress);
        client.print(&changed?, |rollout| show(rollout, client.flags()));
        Ok(())
    }
}

fn path(plugin: &str) -> String {
    format!("/admin/v1/plugins/{}/rollout", encoded(plugin))
}

fn span(text: &str) -> Result<Duration, String> {
    time::parse_span(text).ok_or_else(|| "expected a time such as 90s, 5m, 1h or 2d".to_owned())
}

fn show(rollout: &RolloutView, flags: &ServiceFlags) {
    let (candidate, stable) = names(rollout);
    say_line!(
        "{}: candidate {} ({}), stable {} ({}); {}.",
        rollout.name,
        optional(rollout.candidate.version.as_ref()),
        rollout.candidate.digest.short(),
        optional(rollout.stable.version.as_ref()),
        rollout.stable.digest.short(),
        stage(rollout),
    );
    say_line!(
        "Started by {} at {}.",
        rollout.started_by,
        seconds(rollout.started_at)
    );
    if let Some(why) = &rollout.why {
        let at = seconds(rollout.stage_at);
        say_line!("Ended at {at}: {why}.");
    }
    if let Some(last) = &rollout.rolled_back {
        say(&safe(&rolled_back(last)));
    }
    if let Some(warning) = &rollout.warning {
        say(&safe(warning));
    }
    say_line!(
        "Compared on {}: {} the same; {} with {stable}, {} with {candidate}.",
        count(rollout.deliveries.compared, "delivery", "deliveries"),
        rollout.deliveries.same,
        count(rollout.deliveries.leads, "lead", "leads"),
        rollout.deliveries.candidate_leads,
    );
    if rollout.stage == RolloutStage::Canary {
        say!("In this step: {}.", rollout.in_step());
    }
    say_line!(
        "Served by {candidate}: {}. Saved by {stable} or the version before it: {}. Waiting to be compared: {}. Dropped, not compared: {}.",
        rollout.served,
        rollout.saved,
        rollout.waiting,
        rollout.dropped,
    );
    if let (Some(before), Some(after)) = (rollout.stable_us, rollout.candidate_us) {
        say_line!(
            "Mean time of a conversion: {before} µs with {stable}, {after} µs with {candidate}."
        );
    }
    if let (Some(before), Some(after)) = (rollout.stable_bytes, rollout.candidate_bytes) {
        say_line!(
            "Mean memory of a conversion: {} with {stable}, {} with {candidate}.",
            size::readable(before),
            size::readable(after)
        );
    }
    comparison::show_differences(&rollout.deliveries, (stable, candidate));
    show_failures(rollout, candidate);
    show_harmed(&rollout.harmed());
    if let Some(sends) = &rollout.sends {
        say("");
        say(&safe(&comparison::agreement(sends)));
        comparison::show_send_differences(sends, stable, candidate);
    }
    if let Some(checks) = &rollout.checks {
        say("");
        say_line!(
            "Other sender checks, compared on {}: {candidate} would refuse {}.",
            count(checks.compared, "delivery", "deliveries"),
            checks.refused.count,
        );
        let groups = [("sender check: passed → refused", &checks.refused)];
        comparison::print(&groups, &[], (stable, candidate), "DELIVERY");
    }
    if !rollout.drift.is_empty() {
        say("");
        let drift = rollout.drift.join("; ");
        say_line!("More than the policy allows: {drift}.");
    }
    if rollout.stage.is_open() {
        say("");
        let hosts = list(&rollout.hosts);
        say_line!("Hosts that follow: {hosts}");
        for behind in &rollout.behind {
            // A panic of a plugin has further lines, which are in the log.
            let reason = behind.reason.lines().next().unwrap_or_default();
            let host = &behind.host;
            say_line!("Not yet on {host}: {reason}");
        }
    }
    let commands = next(rollout);
    if !commands.is_empty() {
        say("");
    }
    for (what, command) in commands {
        say_line!("{what}: `{}`", flags.command(&command));
    }
}

/// Returns the names of candidate and stable version: the versions that they give themselves, or
/// their digests if these are equal or unknown.
fn names(rollout: &RolloutView) -> (&str, &str) {
    let (candidate, stable) = (&rollout.candidate, &rollout.stable);
    match (&candidate.version, &stable.version) {
        (Some(new), Some(old)) if new != old => (new, old),
        _ => (candidate.digest.short(), stable.digest.short()),
    }
}

fn rolled_back(last: &RolledBack) -> String {
    let at = seconds(last.at);
    let why = last.why.as_ref().map(|why| format!(": {why}"));
    format!(
        "A guard rolled this version back at {at}{}.",
        why.unwrap_or_default()
    )
}

fn stage(rollout: &RolloutView) -> String {
    let stage = if rollout.paused {
        format!("{} (paused)", rollout.stage)
    } else {
        rollout.stage.to_string()
    };
    [vec![stage], rollout.progress()].concat().join(", ")
}

fn show_failures(rollout: &RolloutView, candidate: &str) {
    let lines = failures(rollout);
    if !lines.is_empty() {
        say("");
        say_line!("Failures with {candidate}, for example:");
    }
    for line in lines {
        say_line!("  {line}");
    }
}

fn failures(rollout: &RolloutView) -> Vec<String> {
    let sends = rollout.sends.iter().map(|sends| &sends.newly_failing);
    let checks = rollout.checks.iter().map(|checks| &checks.refused);
    let groups = std::iter::once(&rollout.deliveries.newly_failing)
        .chain(sends)
        .chain(checks);
    let examples = groups.flat_map(|group| &group.examples);
    let lines = examples.filter_map(|one| Some(format!("{one}: {}", one.after.as_deref()?)));
    lines.collect()
}

fn show_harmed(connections: &[&RolloutConnection]) {
    let rows: Vec<Vec<String>> = connections
        .iter()
        .take(HARMED_SHOWN)
        .map(|one| {
            let name = one.name.as_deref().map(safe);
            vec![
                name.unwrap_or_else(|| one.connection_id.to_string()),
                one.counts.compared.to_string(),
                one.counts.failing.to_string(),
                one.counts.lost.to_string(),
                one.counts.altered.to_string(),
                one.counts.vanished.to_string(),
                one.counts.appeared.to_string(),
            ]
        })
        .collect();
    if !rows.is_empty() {
        say("");
        say(&table(
            &[
                "CONNECTION",
                "COMPARED",
                "FAILING",
                "FIELDS LOST",
                "FIELDS CHANGED",
                "LEADS VANISHED",
                "LEADS APPEARED",
            ],
            &rows,
        ));
    }
    let more = connections.len().saturating_sub(HARMED_SHOWN);
    if more > 0 {
        let more = count(more, "connection", "connections");
        say!("And {more} more with harm (all: --json).");
    }
}

/// Connections with harm that the table has.
const HARMED_SHOWN: usize = 20;

/// Returns what an operator may want to do next, with the words of the command.
fn next(rollout: &RolloutView) -> Vec<(&'static str, String)> {
    let name = &rollout.name;
    let change = |what, verb: &str| (what, format!("plugin rollout {verb} {name}"));
    let version = format!("{name}@{}", rollout.candidate.digest.short());
    // A shadow times no conversion and chooses no version.
    let was_shadow = rollout.plan.mode == RolloutMode::Shadow;
    match rollout.stage {
        RolloutStage::Verified => vec![
            change("To activate the candidate now", "promote"),
            change("To end it", "abort"),
        ],
        RolloutStage::Shadow => vec![change("To end it", "abort")],
        RolloutStage::Canary if rollout.paused => vec![
            change("To resume", "resume"),
            change("To activate the candidate now", "promote"),
            change("To roll it back", "abort"),
        ],
        RolloutStage::Canary => vec![
            change("To stay in this step", "pause"),
            change("To activate the candidate now", "promote"),
            change("To roll it back", "abort"),
        ],
        RolloutStage::Probation => vec![change("To activate the stable version again", "abort")],
        // One that differs more than the policy allows has to be fixed first.
        RolloutStage::Done if was_shadow && !rollout.drift.is_empty() => Vec::new(),
        RolloutStage::Done if was_shadow => vec![(
            "To give it a part of the live deliveries",
            format!("plugin rollout start {version}"),
        )],
        RolloutStage::Done | RolloutStage::RolledBack | RolloutStage::Aborted
            if rollout.served > 0 =>
        {
            let since = seconds(rollout.started_at);
            vec![(
                "To see what it did to the leads that it converted",
                format!("plugin impact {version} --since {since}"),
            )]
        }
        RolloutStage::Done | RolloutStage::RolledBack | RolloutStage::Aborted => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn rollout(changes: Value) -> RolloutView {
        let example = include_str!("../../../crates/admin-api/src/rollout.example.json");
        let mut rollout: Value = serde_json::from_str(example).expect("JSON");
        for (key, value) in changes.as_object().expect("keys") {
            rollout[key] = value.clone();
        }
        serde_json::from_value(rollout).expect("a rollout")
    }

    #[test]
    fn a_stage_is_printed_with_its_step_and_the_time_that_is_left() {
        let check = |changes: Value, expect: &str| assert_eq!(stage(&rollout(changes)), expect);
        check(json!({}), "canary, 10 %, step 2 of 4, 4 min left");
        check(
            json!({"spentSeconds": 301}),
            "canary, 10 %, step 2 of 4, its time is over, the change follows within seconds",
        );
        check(
            json!({"spentSeconds": 301, "waitsFor": "7 more comparisons: 3 of 10 in this step"}),
            "canary, 10 %, step 2 of 4, waits for 7 more comparisons: 3 of 10 in this step",
        );
        check(
            json!({"paused": true}),
            "canary (paused), 10 %, step 2 of 4",
        );
        check(json!({"stage": "shadow"}), "shadow, 10 %, 4 min left");
        check(json!({"stage": "probation"}), "probation, 59 min left");
        check(json!({"stage": "rolled-back"}), "rolled-back");
        let plan = json!({"mode": "canary", "steps": [50], "everySeconds": 400_000, "probationSeconds": 0, "guards": false, "stepComparisons": 0});
        check(
            json!({"percent": 50, "plan": plan}),
            "canary, 50 %, step 1 of 1, 5 d left, without guards",
        );
    }

    #[test]
    fn a_failure_is_shown_with_its_delivery_and_its_error() {
        let delivery = "019cae2b-3f65-7d43-9b21-7e5f4a3b2c03";
        let example = |after: Value| {
            json!({
                "deliveryId": delivery,
                "messageId": null,
                "connectionId": "4kJ0sPz7Qm2XwYtB9nLdRa",
                "before": null,
                "after": after,
            })
        };
        let examples = json!([example(json!("wasm trap")), example(json!(null))]);
        let failing = json!({"newlyFailing": {"count": 2, "examples": examples}});
        let lines = failures(&rollout(failing));
        assert_eq!(lines, [format!("delivery {delivery}: wasm trap")]);
        assert_eq!(failures(&rollout(json!({}))), [""; 0]);
    }

    #[test]
    fn a_step_says_how_many_comparisons_it_has_and_needs() {
        let check = |changes: Value, expect: &str| assert_eq!(rollout(changes).in_step(), expect);
        check(json!({"stepCompared": 3}), "3 comparisons; it needs 10");
        let plan = json!({"mode": "canary", "steps": [50], "everySeconds": 60, "probationSeconds": 0, "guards": true, "stepComparisons": 0});
        check(json!({"stepCompared": 1, "plan": plan}), "1 comparison");
    }

    #[test]
    fn versions_with_the_same_number_are_distinguished_by_their_digests() {
        assert_eq!(names(&rollout(json!({}))), ("1.4.0", "1.3.0"));
        let digests = ("9b0f7a3c5d2e", "1c2d3e4f5a6b");
        for version in [json!("1.3.0"), json!(null)] {
            let candidate = json!({"version": version, "digest": "9b0f7a3c5d2e4f61"});
            let rollout = rollout(json!({"candidate": candidate}));
            assert_eq!(names(&rollout), digests);
        }
    }

    #[test]
    fn the_next_command_fits_the_stage() {
        let check = |changes: Value, expect: &[&str]| {
            let commands = next(&rollout(changes));
            let commands: Vec<&str> = commands.iter().map(|(_, one)| one.as_str()).collect();
            assert_eq!(commands, expect);
        };
        let promote = "plugin rollout promote portal";
        let abort = "plugin rollout abort portal";
        check(json!({}), &["plugin rollout pause portal", promote, abort]);
        check(
            json!({"paused": true}),
            &["plugin rollout resume portal", promote, abort],
        );
        check(json!({"stage": "shadow"}), &[abort]);
        check(json!({"stage": "probation"}), &[abort]);
        check(
            json!({"stage": "rolled-back", "served": 3}),
            &["plugin impact portal@9b0f7a3c5d2e --since 2026-03-02T12:15:30Z"],
        );
        check(json!({"stage": "rolled-back"}), &[]);
        check(json!({"stage": "done"}), &[]);
        let plan = json!({"mode": "shadow", "steps": [100], "everySeconds": 60, "probationSeconds": 0, "guards": true, "stepComparisons": 0});
        check(
            json!({"stage": "done", "plan": plan}),
            &["plugin rollout start portal@9b0f7a3c5d2e"],
        );
        let drift = json!(["3 of 10 leads lose a phone, the policy allows 0 per mille"]);
        check(json!({"stage": "done", "plan": plan, "drift": drift}), &[]);
    }

    #[test]
    fn connections_with_the_most_harm_come_first() {
        let connection = |name: &str, compared: u64, lost: u64| {
            json!({
                "connectionId": "4kJ0sPz7Qm2XwYtB9nLdRa",
                "name": name,
                "compared": compared,
                "failing": 0,
                "lost": lost,
                "altered": 0,
                "vanished": 0,
                "appeared": 0,
                "changed": 0,
            })
        };
        let connections = json!([
            connection("few", 9, 1),
            connection("none", 500, 0),
            connection("busy", 90, 1),
            connection("most", 5, 4),
        ]);
        let rollout = rollout(json!({ "connections": connections }));
        let harmed = rollout.harmed();
        let names: Vec<_> = harmed
            .iter()
            .filter_map(|one| one.name.as_deref())
            .collect();
        assert_eq!(names, ["most", "busy", "few"]);
    }

    #[test]
    fn a_fault_of_the_plan_names_the_flags() {
        let check = |changes: Value, expect: &str| {
            let mut request = json!({"digest": "", "mode": "canary"});
            for (key, value) in changes.as_object().expect("keys") {
                request[key] = value.clone();
            }
            let request: RolloutRequest = serde_json::from_value(request).expect("a request");
            let fault = request.fault().map(|fault| in_flags(&fault));
            assert_eq!(fault.as_deref().unwrap_or_default(), expect);
        };
        check(json!({"steps": [1, 10], "everySeconds": 1}), "");
        check(
            json!({"steps": [10, 5]}),
            "--steps: expected 1 to 20 percentages from 1 to 100, each greater than the one before",
        );
        check(
            json!({"everySeconds": 0}),
            "--every: expected a time from 1 second to 30 days (`1s` to `30d`)",
        );
        check(
            json!({"mode": "shadow", "everySeconds": 2_592_001}),
            "--every: expected a time from 1 second to 30 days (`1s` to `30d`)",
        );
        check(
            json!({"probationSeconds": 2_592_001}),
            "--probation: expected a time of at most 30 days (`0s` to `30d`)",
        );
    }

    #[derive(Parser)]
    struct TestLine {
        #[command(flatten)]
        rollout: Rollout,
    }

    #[test]
    fn a_name_alone_shows_and_a_verb_has_arguments_of_its_own() {
        let parse = |words: &[&str]| {
            let line = [&["rollout"][..], words].concat();
            TestLine::try_parse_from(line).map(|line| line.rollout)
        };
        let shown = parse(&["portal", "--json"]).expect("a name");
        assert!(shown.verb.is_none() && shown.name.as_deref() == Some("portal"));
        let words = "start portal@9b0f7a3c --steps 5,100 --every 90s --probation 0s --comparisons 0 --no-guards";
        let words: Vec<&str> = words.split(' ').collect();
        let Some(RolloutVerb::Start(start)) = parse(&words).expect("a start").verb else {
            panic!("another verb");
        };
        assert_eq!(start.steps, [5, 100]);
        assert_eq!(start.every, Some(Duration::from_secs(90)));
        assert_eq!(start.probation, Some(Duration::ZERO));
        assert_eq!(start.comparisons, Some(0));
        assert!(start.no_guards);
        assert!(matches!(
            parse(&["abort", "portal"]).expect("a verb").verb,
            Some(RolloutVerb::Abort(_))
        ));
        for wrong in [
            &[] as &[&str],
            &["start"],
            &["start", "portal@9b0f7a3c", "--steps", "0"],
            &["start", "portal@9b0f7a3c", "--every", "5"],
            &["start", "portal@9b0f7a3c", "--comparisons", "100001"],
            &["pause", "portal", "now"],
        ] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
