//! `leadhost plugin test --on HOST --here`: a component on this machine converts deliveries that a running
//! service has stored, and the result is compared with what the active version makes of them. Nothing is
//! changed in the service.

use std::collections::HashSet;
use std::fmt::Display;
use std::time::Instant;

use super::super::local::{EngineFlags, LocalEngine};
use super::super::{comparison, component_file, project};
use super::{Chosen, digest_as_published};
use crate::cli::captures;
use crate::cli::prelude::*;
use leadhost_admin_api::captures::{
    CaptureView, CapturedConnection, CapturedDeliveries, OutcomeView, ServingVersion,
};
use leadhost_admin_api::deliveries::Deliveries;
use leadhost_admin_api::plugins::{ComparedVersion, VerifiedPlugin};
use leadhost_domain::connection::{Connection, ConnectionKind, ConnectionSettings};
use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::difference::{Coverage, ItemKind, Subject};
use leadhost_domain::exchange::HttpResponse;
use leadhost_domain::id::{ConnectionId, DeliveryId};
use leadhost_pipeline::connections::Live;
use leadhost_pipeline::routing::CapturedLive;
use leadhost_pipeline::verify::compare::{ComparedOutcomes, ComparedSubject, GainedValues};
use leadhost_pipeline::verify::cost::OfBoth;
use leadhost_pipeline::verify::outcome::{FieldValue, OutcomeItem, Reason, VersionOutcome};
use leadhost_pipeline::verify::{CapturedDelivery, Part, Tally, drift, outcome_of};
use leadhost_plugin::Loaded;
use leadhost_store::{KeptAnswer, NewDelivery};

/// Deliveries whose results are shown if there is no other version to compare them with.
const SHOWN_RESULTS: usize = 20;

/// Failures of the component that are shown with its log.
const SHOWN_FAILURES: usize = 3;

/// The component on this machine, and the deliveries of a service.
pub struct Here<'a> {
    pub file: &'a Path,
    pub chosen: &'a Chosen,
    pub flags: &'a EngineFlags,
    pub service: &'a ServiceAddress,
}

impl Here<'_> {
    pub async fn run(&self, client: &AdminClient) -> CommandResult {
        let policy = Config::load(self.service.config_file(), &[])?.verify;
        let (time, longest) = (limits::REPLAY_TIME, limits::REPLAY_LONGEST);
        let seconds = bounded(
            "--seconds",
            self.chosen.seconds,
            time.as_secs(),
            longest.as_secs(),
        )?;
        let budget = Duration::from_secs(seconds);
        let read = component_file::read(self.file)?;
        // Cases that fail do not keep the deliveries from being compared.
        let component = read.without_cases()?;
        let digest = digest_as_published(read);
        let engine = self.flags.start(self.service.config_file())?;
        let progress = ProgressLine::start("compiling");
        let loaded = engine.load(component).await;
        let loaded = loaded.map_err(|failure| failure.about(self.file))?.loaded;
        project::check_built(self.file, &loaded)?;
        progress.update("finding deliveries");
        let ids = self.find(client).await?;
        let mut replayed = ReplayedHere::new(&engine, Arc::clone(&loaded), ids.len());
        replayed.digest = digest.unwrap_or_else(|| loaded.digest.clone());
        replayed.all(client, ids, &progress, budget).await?;
        drop(progress);
        self.flags.show(&engine);
        replayed.remark();
        let drift = drift(Part::Deliveries, &replayed.tally, &policy);
        let compared = replayed.tally.differences.compared;
        let results = std::mem::take(&mut replayed.results);
        let failures = std::mem::take(&mut replayed.failures);
        let verified = replayed.report(drift);
        let is_active = verified
            .against
            .as_ref()
            .is_some_and(|other| other.digest == verified.digest);
        match self.service.json() {
            true => say_json(&serde_json::to_value(&verified).unwrap_or_default()),
            false if is_active => show_active(&verified, &results, client.flags()),
            false if compared > 0 => comparison::show(&verified),
            false => {}
        }
        failures.iter().for_each(LocalFailure::show);
        if compared == 0 {
            return Err(failed!(
                "nothing was compared: no such delivery of the plugin {} can be converted, or no version of it is active",
                safe(&verified.name)
            )
            .hint(format!(
                "`{}` shows which deliveries there are",
                client.flags().command("delivery list")
            )));
        }
        if verified.drift.is_empty() {
            return Ok(());
        }
        let drift = verified.drift.join("; ");
        Err(failed_line!("an activation would be refused: {drift}"))
    }

    async fn find(&self, client: &AdminClient) -> CommandResult<Vec<DeliveryId>> {
        if !self.chosen.deliveries.is_empty() {
            let ids = self.chosen.deliveries.iter().map(|text| {
                text.parse::<DeliveryId>().map_err(|_| {
                    CommandFailure::usage(format!("`{}` is not the id of a delivery", safe(text)))
                })
            });
            return ids.collect();
        }
        let states: &[Option<DeliveryStatus>] = if self.chosen.failed {
            &[Some(DeliveryStatus::Failed), Some(DeliveryStatus::Parked)]
        } else {
            &[None]
        };
        let last = bounded(
            "--last",
            self.chosen.last,
            limits::REPLAYED,
            limits::REPLAYED_MOST,
        )?;
        let most = last as usize;
        let mut ids = Vec::new();
        for status in states {
            let mut found = self.newest(client, *status, last).await?;
            ids.append(&mut found);
        }
        // Ids sort by the time of receipt.
        ids.sort_unstable_by(|one, other| other.cmp(one));
        ids.truncate(most);
        Ok(ids)
    }

    /// Returns the newest deliveries in this state, or in any but quarantine: their senders proved
    /// nothing.
    async fn newest(
        &self,
        client: &AdminClient,
        status: Option<DeliveryStatus>,
        last: u32,
    ) -> CommandResult<Vec<DeliveryId>> {
        let most = last as usize;
        let mut ids = Vec::new();
        let mut before = None;
        loop {
            let page = last.min(limits::DELIVERIES_PER_PAGE);
            let query = query(&[
                ("status", status.map(|one| one.as_str().to_owned())),
                ("connection", self.chosen.connection.clone()),
                ("before", before),
                ("limit", Some(page.to_string())),
            ]);
            let path = format!("/admin/v1/deliveries{query}");
            let page = client.get::<Deliveries>(&path).await?;
            let facts = page.deliveries.iter().map(|one| &one.facts);
            let proven = facts.filter(|facts| facts.status != DeliveryStatus::Quarantined);
            ids.extend(proven.map(|facts| facts.id));
            before = page.next.map(|id| id.to_string());
            if ids.len() >= most || before.is_none() {
                ids.truncate(most);
                return Ok(ids);
            }
        }
    }
}

/// Returns the value of an option, or its default, and refuses more than the bound.
fn bounded<T: Copy + Display + PartialOrd + From<u8>>(
    option: &str,
    given: Option<T>,
    default: T,
    most: T,
) -> CommandResult<T> {
    let value = given.unwrap_or(default);
    if value >= T::from(1) && value <= most {
        Ok(value)
    } else {
        Err(CommandFailure::usage(format!(
            "`{option} {value}`: with --here, 1 to {most} are possible"
        )))
    }
}

/// The deliveries that were converted here, and those that were not.
struct ReplayedHere<'a> {
    engine: &'a LocalEngine,
    loaded: Arc<Loaded>,
    /// That of the component as `plugin publish` sends it.
    digest: Digest,
    chosen: usize,
    tally: Tally,
    gained: GainedValues,
    /// The versions that served, by the number of deliveries.
    serving: BTreeMap<String, (ServingVersion, u64)>,
    connections: HashSet<ConnectionId>,
    emptied: u64,
    not_tried: u64,
    not_reached: u64,
    unknown: u64,
    of_another_plugin: u64,
    /// Deliveries of a source for an adapter, or the other way round.
    of_another_kind: u64,
    /// Deliveries with more answers than the service gives.
    cut: u64,
    /// The results of the component for the first ones, without values of people.
    results: Vec<(DeliveryId, String)>,
    /// The first failures of the component, each for another reason.
    failures: Vec<LocalFailure>,
    took: Duration,
}

/// A delivery that the component fails on.
struct LocalFailure {
    id: DeliveryId,
    reason: String,
    log: Vec<String>,
}

impl LocalFailure {
    fn show(&self) {
        let reason = safe(&self.reason);
        complain!("\nThe component fails on delivery {}: {reason}", self.id);
        for line in &self.log {
            complain!("plugin: {}", safe(line));
        }
    }
}

impl<'a> ReplayedHere<'a> {
    fn new(engine: &'a LocalEngine, loaded: Arc<Loaded>, chosen: usize) -> Self {
        Self {
            engine,
            digest: loaded.digest.clone(),
            loaded,
            chosen,
            tally: Tally::default(),
            gained: GainedValues::default(),
            serving: BTreeMap::new(),
            connections: HashSet::new(),
            emptied: 0,
            not_tried: 0,
            not_reached: 0,
            unknown: 0,
            of_another_plugin: 0,
            of_another_kind: 0,
            cut: 0,
            results: Vec::new(),
            failures: Vec::new(),
            took: Duration::ZERO,
        }
    }

    /// Gets the deliveries in turn, as long as there is time, and converts each.
    async fn all(
        &mut self,
        client: &AdminClient,
        mut ids: Vec<DeliveryId>,
        progress: &ProgressLine,
        budget: Duration,
    ) -> CommandResult {
        let began = Instant::now();
        let name = self.loaded.description.name.clone();
        let mut bytes = 0;
        while !ids.is_empty() {
            progress.update(&format!(
                "converted {} of {}",
                self.chosen - ids.len(),
                self.chosen
            ));
            if began.elapsed() > budget || bytes > limits::REPLAYED_BYTES {
                break;
            }
            let captured = captures::fetch(client, &ids, Some(&name)).await?;
            let asked = ids.len().min(limits::CAPTURES);
            let rest = ids.split_off(asked);
            let left = captured.not_reached.len();
            ids = captured.not_reached.iter().copied().chain(rest).collect();
            bytes += captured.deliveries.iter().map(captures::bytes).sum::<u64>();
            self.some(captured, began + budget).await?;
            if left == asked {
                break;
            }
        }
        self.not_reached += ids.len() as u64;
        self.took = began.elapsed();
        Ok(())
    }

    async fn some(&mut self, captured: CapturedDeliveries, until: Instant) -> CommandResult {
        self.emptied += captured.emptied.len() as u64;
        self.unknown += captured.unknown.len() as u64;
        self.of_another_plugin += captured.of_another_plugin.len() as u64;
        let connections: Vec<CapturedLive> = captured
            .connections
            .into_iter()
            .map(captured_live)
            .collect();
        for capture in captured.deliveries {
            if Instant::now() > until {
                self.not_reached += 1;
                continue;
            }
            self.one(capture, &connections).await?;
        }
        Ok(())
    }

    async fn one(&mut self, capture: CaptureView, connections: &[CapturedLive]) -> CommandResult {
        let kind = match capture.facts.instance_id {
            None => PluginKind::Converter,
            Some(_) => PluginKind::Adapter,
        };
        if kind != self.loaded.kind {
            self.of_another_kind += 1;
            return Ok(());
        }
        if capture.answers_left_out {
            self.cut += 1;
            self.not_tried += 1;
            return Ok(());
        }
        let id = &capture.facts.connection_id;
        let mut received_by = connections.iter().map(|one| &one.live);
        let received_by = received_by.find(|live| live.connection.id == *id);
        let (Some(served_by), Some(received_by)) = (capture.served_by.clone(), received_by) else {
            self.not_tried += 1;
            return Ok(());
        };
        let Some(before) = capture.outcome.as_ref().and_then(outcome) else {
            self.not_tried += 1;
            return Ok(());
        };
        let delivery = delivery(&capture, received_by)?;
        let plugins = &self.engine.plugins;
        let local = outcome_of(plugins, &self.loaded, &delivery, connections).await;
        if let VersionOutcome::Failed(reason) = &local.outcome {
            self.failed(capture.facts.id, reason.as_str(), local.log);
        }
        let after = local.outcome;
        if self.results.len() < SHOWN_RESULTS {
            self.results.push((capture.facts.id, summary(&after)));
        }
        let compared = ComparedSubject {
            subject: Subject::Delivery(capture.facts.id),
            connection: id,
            answered: OfBoth {
                stable: !capture.answers.is_empty(),
                candidate: false,
            },
        };
        let comparison = ComparedOutcomes::compare(&compared, &before, &after);
        self.tally.merge(comparison.into_shown(&mut self.gained));
        self.connections.insert(id.clone());
        let served = self.serving.entry(served_by.digest.0.clone());
        served.or_insert((served_by, 0)).1 += 1;
        Ok(())
    }

    fn failed(&mut self, id: DeliveryId, reason: &str, log: Vec<String>) {
        let is_known = self.failures.iter().any(|known| known.reason == reason);
        if !is_known && self.failures.len() < SHOWN_FAILURES {
            let reason = reason.to_owned();
            self.failures.push(LocalFailure { id, reason, log });
        }
    }

    fn remark(&self) {
        let name = &self.loaded.description.name;
        let of_another_plugin = format!("of another plugin than {name}");
        for (many, what) in [
            (
                self.emptied,
                "without a body: emptied by an erasure, or by its age",
            ),
            (self.unknown, "not in the service, or erased"),
            (self.of_another_plugin, of_another_plugin.as_str()),
            (self.of_another_kind, "not for this kind of plugin"),
            (
                self.cut,
                "left out, because the answers to its fetches are too large",
            ),
        ] {
            if many > 0 {
                let many = count(many, "delivery", "deliveries");
                complain_line!("{many}: {what}.");
            }
        }
        if self.serving.len() > 1 {
            complain(
                "Another version became active meanwhile: some deliveries are compared with it.",
            );
        }
    }

    fn report(self, drift: Vec<String>) -> VerifiedPlugin {
        let Self { loaded, tally, .. } = self;
        let served = self.serving.into_values().max_by_key(|(_, many)| *many);
        VerifiedPlugin {
            name: loaded.description.name.clone(),
            version: loaded.description.version.clone(),
            digest: self.digest,
            kind: Some(loaded.kind),
            golden: 0,
            against: served.map(|(served, _)| ComparedVersion {
                version: served.version,
                digest: served.digest,
                active: true,
                previous: false,
                discarded: false,
            }),
            coverage: Coverage {
                chosen: self.chosen as u64,
                total: self.chosen as u64,
                total_is_least: false,
                connections: self.connections.len(),
                connections_not_covered: 0,
                emptied: self.emptied,
                not_tried: self.not_tried,
                not_reached: self.not_reached,
            },
            altered: tally.harm.altered,
            deliveries: tally.differences,
            cost: None,
            drift,
            concerns: Vec::new(),
            repairs: Vec::new(),
            took_ms: u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

fn show_active(verified: &VerifiedPlugin, results: &[(DeliveryId, String)], flags: &ServiceFlags) {
    let name = format!("{} {}", verified.name, verified.version);
    say_line!(
        "{name} ({}) is the active version, so there is no other to compare it with. Converted here: {} with {}; {} the same as in the service.",
        verified.digest.short(),
        count(verified.deliveries.compared, "delivery", "deliveries"),
        count(verified.deliveries.candidate_leads, "lead", "leads"),
        verified.deliveries.same,
    );
    let rows = results.iter();
    let rows = rows.map(|(id, result)| vec![id.to_string(), result.clone()]);
    let rows: Vec<Vec<String>> = rows.collect();
    say!("\n{}", table(&["DELIVERY", "RESULT"], &rows));
    comparison::show_differences(&verified.deliveries, ("the service", "this machine"));
    say!(
        "\n`{}` shows what the service made of a delivery. To compare a change, build it, and make the same test again.",
        flags.command("delivery show ID")
    );
}

/// Returns what a version makes of a delivery, without its values: `2 leads, 1 ignored`.
fn summary(outcome: &VersionOutcome) -> String {
    let items = match outcome {
        VersionOutcome::Converted(items) => items,
        VersionOutcome::Refused(_) => return "refused".to_owned(),
        VersionOutcome::Failed(_) => return "failed".to_owned(),
    };
    let mut kinds: Vec<(ItemKind, u64)> = Vec::new();
    for item in items {
        match kinds.iter_mut().find(|(kind, _)| *kind == item.kind) {
            Some((_, many)) => *many += 1,
            None => kinds.push((item.kind, 1)),
        }
    }
    let kinds = kinds.into_iter().map(|(kind, many)| match kind {
        ItemKind::Lead => count(many, "lead", "leads"),
        ItemKind::Fetch => count(many, "fetch", "fetches"),
        ItemKind::Event => count(many, "event", "events"),
        ItemKind::Send => count(many, "send", "sends"),
        ItemKind::Answer => count(many, "answer", "answers"),
        ItemKind::Ignored | ItemKind::Invalid | ItemKind::Unrouted => {
            format!("{many} {}", kind.as_str())
        }
    });
    if items.is_empty() {
        "no item".to_owned()
    } else {
        kinds.collect::<Vec<_>>().join(", ")
    }
}

fn captured_live(view: CapturedConnection) -> CapturedLive {
    let kind = match view.instance_id {
        None => ConnectionKind::Source,
        Some(_) => ConnectionKind::Channel,
    };
    CapturedLive {
        is_proven: view.is_checked,
        live: Arc::new(Live::without_secrets(Connection {
            id: view.id,
            kind,
            workspace: view.workspace_id,
            partner: None,
            name: view.name,
            plugin: view.plugin,
            config: view.config.to_string(),
            config_version: view.config_version,
            agent: view.instance_id,
            allow: Vec::new(),
            checks: Vec::new(),
            routes: view.routes,
            secrets: Vec::new(),
            secrets_at: BTreeMap::new(),
            sealed: Vec::new(),
            region: view.region,
            time_zone: view.time_zone,
            dedupe_by_content: false,
            settings: ConnectionSettings {
                channel: view.channel,
                ..ConnectionSettings::default()
            },
            paused: None,
        })),
    }
}

fn delivery(capture: &CaptureView, received_by: &Arc<Live>) -> CommandResult<CapturedDelivery> {
    let request = &capture.request;
    let body = captures::body(request.body.as_deref(), request.body_base64.as_deref())?;
    let answers = capture.answers.iter().zip(1..).map(|(answer, number)| {
        Ok(KeptAnswer {
            number,
            index: answer.item,
            hop: answer.hop,
            external_id: answer.external_id.clone(),
            request: answer.request.clone(),
            response: HttpResponse {
                status: answer.status,
                headers: answer.headers.clone(),
                body: captures::body(answer.body.as_deref(), answer.body_base64.as_deref())?,
            },
        })
    });
    Ok(CapturedDelivery {
        request: NewDelivery {
            id: capture.facts.id,
            workspace: received_by.connection.workspace,
            connection: received_by.connection.id.clone(),
            received_at: capture.facts.received_at,
            method: request.method.clone(),
            path: request.path.clone(),
            query: request.query.clone(),
            headers: request.headers.clone(),
            body: body.into(),
        },
        received_by: Arc::clone(received_by),
        answers: answers.collect::<CommandResult<_>>()?,
    })
}

fn outcome(view: &OutcomeView) -> Option<VersionOutcome> {
    if let Some(items) = &view.items {
        let items = items.iter().map(|item| {
            let fields = item.fields.iter().map(|(name, values)| {
                let values = values.iter().cloned().collect();
                (name.clone(), FieldValue::Many(values))
            });
            OutcomeItem {
                kind: item.kind,
                key: item.key.clone(),
                fields: fields.collect(),
            }
        });
        return Some(VersionOutcome::Converted(items.collect()));
    }
    let reason = |words: &String| Reason::Plugin(words.clone());
    let refused = view.refused.as_ref().map(reason);
    let failed = view.failed.as_ref().map(reason);
    (refused.map(VersionOutcome::Refused)).or(failed.map(VersionOutcome::Failed))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use leadhost_pipeline::routing::{Reachable, Routing};

    fn connection(workspace: u128, name: &str) -> CapturedLive {
        let view = json!({
            "id": name,
            "name": name,
            "workspaceId": Uuid::from_u128(workspace),
            "plugin": "portal",
            "instanceId": null,
            "channel": "",
            "config": {},
            "configVersion": 1,
            "routes": {"account": [name]},
            "region": "BR",
            "timeZone": "America/Sao_Paulo",
            "isChecked": true,
        });
        captured_live(serde_json::from_value(view).expect("a connection"))
    }

    #[tokio::test]
    async fn items_reach_only_connections_of_the_workspace_that_received_them() {
        let all = [
            connection(1, "own"),
            connection(2, "theirs"),
            connection(1, "sibling"),
        ];
        let routing = Routing {
            received_by: &all[0].live,
            among: Reachable::Captured(&all),
        };
        for (name, reaches) in [("own", true), ("sibling", true), ("theirs", false)] {
            let route = vec![("account".to_owned(), name.to_owned())];
            let found = routing.find("connection", &route).await;
            let found = found.expect("nothing is read from a store");
            let found = found.ok().map(|live| live.connection.name.clone());
            assert_eq!(found.as_deref(), reaches.then_some(name), "{name}");
        }
    }
}
