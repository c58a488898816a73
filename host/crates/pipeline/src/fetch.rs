//! Fetches the lead that a pointer names: the host makes the call that the converter
//! described, stores the answer, and passes it to the converter.
//!
//! Just before the first byte is sent, the host checks that it still holds the fetch: a
//! host that slept past its lease does not repeat the call of another host. Only the moment
//! between that check and the kernel's send remains.
//!
//! The answer is stored before the converter reads it, so that a crash between the two
//! costs no second call. It stays with the delivery, so that a replay needs no call. If
//! another version is active by then, that version is asked what it would fetch; the
//! version that made the pointer completes the fetch only if the new one does not recognise
//! the pointer.

use super::lease::{self, LeaseDeadline};
use super::rollout::{self, LiveRollout, observed::Winner};
use super::{
    convert, failure, greeting, mask, normalise, offload, plugin_log, props, source_changes,
};
use crate::prelude::*;
use leadhost_domain::exchange::HttpRequest;
use leadhost_domain::plugin::{
    ConversionOutcome, ConvertedItem, FailureCategory, FetchFailure, FetchRequest,
    PluginCompletion, RanWith,
};
use leadhost_domain::trouble::TroubleKind;
use leadhost_egress::EgressError;
use leadhost_store::{FetchAnswer, FetchOutcome, FetchSettlement, HeldFetch, KeptAnswer};
use leadhost_telemetry::CallSubject;
use leadhost_trace::{self as trace, StepFailure, StepOutcome};

pub async fn run(pipeline: &Arc<Pipeline>, held: HeldFetch, lease: LeaseDeadline) {
    let mut notes = Vec::new();
    let (outcome, called) = attempt(pipeline, &held, lease, &mut notes).await;
    pipeline.metrics.intake.fetch(&outcome);
    let span = trace::current();
    match &outcome {
        FetchOutcome::Items(_) => span.set("leadhost.fetch.outcome", StepOutcome::Completed),
        FetchOutcome::Retry { .. } => span.fail(StepFailure::Retry),
        FetchOutcome::Stop { .. } => span.fail(StepFailure::Stopped),
        FetchOutcome::Failed { .. } => span.fail(StepFailure::Failed),
    }
    let is_settled = matches!(
        outcome,
        FetchOutcome::Items(_) | FetchOutcome::Failed { .. }
    );
    let retried = match &outcome {
        FetchOutcome::Retry { error, .. } => Some(error.clone()),
        _ => None,
    };
    let has_failed = match outcome {
        FetchOutcome::Items(_) => false,
        FetchOutcome::Failed { .. } | FetchOutcome::Stop { .. } => true,
        FetchOutcome::Retry { .. } => held.attempts + 1 >= limits::ROLLOUT_FETCH_ATTEMPTS,
    };
    let ran = called.as_ref().map(CalledPlugin::ran);
    let settlement = FetchSettlement {
        delivery: held.delivery,
        index: held.index,
        lease: held.lease,
        ran,
        notes,
        outcome,
    };
    // A fetch that another host has taken over is counted there.
    if !lease::settle(pipeline, Write::Settle(Box::new(settlement))).await {
        return;
    }
    let (kind, connection) = (TroubleKind::Fetch, &held.connection);
    match retried {
        Some(why) => {
            let now = pipeline.clock.now();
            pipeline.troubles.failed(kind, connection, &why, now);
        }
        // A source that refuses the credentials pauses its connection; and a lead that it does not have is one
        // lead.
        None => pipeline.troubles.works(kind, connection),
    }
    if has_failed {
        blame(pipeline, &held, called.as_ref()).await;
    }
    if is_settled && let Some(called) = called {
        rollout::answered(pipeline, &called.plugin.description.name, held.delivery);
    }
}

/// Counts a fetch that has failed, or was tried several times, as harm of the candidate that made its
/// request, if the stable version makes another request for the same lead.
async fn blame(pipeline: &Arc<Pipeline>, held: &HeldFetch, called: Option<&CalledPlugin>) {
    let (made_by, request) = match called {
        Some(called) => (&called.plugin.digest, &called.request),
        None => (&held.ran.digest, &held.request),
    };
    let rollouts = pipeline.rollouts.all();
    let mut rollouts = rollouts.iter();
    let Some(rollout) = rollouts.find(|one| one.candidate.digest == *made_by) else {
        return;
    };
    if rollout.observed.is_stopped() {
        return;
    }
    let Ok(Some(live)) = pipeline.connections.get(&held.connection).await else {
        return;
    };
    let completing = Completing {
        pipeline,
        live: &live,
        held,
    };
    let is_another = match completing.asked_at_this_hop(&rollout.stable).await {
        AskedFetch::Here(stable) => stable.request != *request,
        AskedFetch::Elsewhere => true,
        AskedFetch::Unknown => false,
    };
    if is_another {
        rollout::observed::fetch_failed(pipeline, rollout, held.delivery, &held.received_by);
    }
}

struct CalledPlugin {
    plugin: Arc<Loaded>,
    live: Arc<Live>,
    request: HttpRequest,
}

impl CalledPlugin {
    fn ran(&self) -> RanWith {
        self.plugin.ran_with(self.live.connection.config_version)
    }
}

async fn attempt(
    pipeline: &Arc<Pipeline>,
    held: &HeldFetch,
    lease: LeaseDeadline,
    notes: &mut Vec<String>,
) -> (FetchOutcome, Option<CalledPlugin>) {
    let now = pipeline.clock.now();
    if now >= held.until || held.attempts >= limits::FETCH_ATTEMPTS {
        return (
            FetchOutcome::Failed {
                error: format!("given up after {} attempts", held.attempts),
            },
            None,
        );
    }
    let finding = pipeline.connections.get(&held.connection);
    let live = match trace::step("find connection", finding).await {
        Ok(Some(live)) => live,
        Ok(None) => {
            return (
                retry(pipeline, held, "its connection no longer exists", None),
                None,
            );
        }
        Err(error) => return (retry(pipeline, held, &error.to_string(), None), None),
    };
    let canary = canary(pipeline, &live, held);
    let (plugin, fetch, kept) = match choose(pipeline, &live, held, canary.as_deref()).await {
        Ok(chosen) => chosen,
        Err(reason) => return (retry(pipeline, held, &reason, None), None),
    };
    let called = |plugin: &Arc<Loaded>| CalledPlugin {
        plugin: Arc::clone(plugin),
        live: Arc::clone(&live),
        request: fetch.request.clone(),
    };
    let mut ran = Some(called(&plugin));

    let answered = match kept {
        Some(response) => Ok(response),
        None => ask(pipeline, held, (&live, &plugin), &fetch, lease).await,
    };
    let response = match answered {
        Ok(response) => response,
        Err(outcome) => return (outcome, ran),
    };

    let own = Completing {
        pipeline,
        live: &live,
        held,
    };
    let rollout = canary.or_else(|| probation(pipeline, &plugin));
    let again = rollout.map(|rollout| (rollout, response.clone()));
    let is_short = response.body.len() <= limits::SKETCH_BODY_BYTES;
    let answer = is_short.then(|| KeptAnswer {
        number: 0,
        index: held.index,
        hop: held.hop,
        external_id: held.external_id.clone(),
        request: fetch.request.clone(),
        response: response.clone(),
    });
    let mut completed = own.with(&plugin, fetch.state, response).await;
    if let Some((rollout, response)) = again
        && (rollout.is_canary() || !matches!(completed, Ok(Ok(_))))
    {
        let better = own.better(&rollout, &fetch.request, response, completed);
        let (chosen, winner) = Box::pin(better).await;
        completed = chosen;
        if winner == Winner::Stable {
            ran = Some(called(&rollout.stable));
        }
    }
    if let Some(CalledPlugin { plugin, .. }) = &ran {
        source_changes::completed(pipeline, plugin, held, answer, &completed).await;
    }
    let outcome = match completed {
        Ok(Ok(mut found)) => {
            if let Err(error) = greeting::add(pipeline, found.iter_mut(), notes).await {
                return (retry(pipeline, held, &error.to_string(), None), ran);
            }
            props::note_properties(found.iter(), notes);
            live.content(&pipeline.metrics).leads(&found);
            FetchOutcome::Items(found)
        }
        Ok(Err(failure)) => after_failure(pipeline, held, &live, failure),
        Err(error) => {
            notes.extend(plugin_log::notes(&error, &live.secrets));
            retry(pipeline, held, &error.to_string(), None)
        }
    };
    (outcome, ran)
}

async fn ask(
    pipeline: &Pipeline,
    held: &HeldFetch,
    (live, plugin): (&Arc<Live>, &Loaded),
    fetch: &FetchRequest,
    lease: LeaseDeadline,
) -> Result<HttpResponse, FetchOutcome> {
    let allow = &live.connection.allow;
    let is_held = || !lease.has_ended();
    let call = pipeline
        .egress
        .call(&fetch.request, &live.secrets, allow, is_held);
    let response = pipeline.metrics.egress.sending(call).await;
    let response = response.map_err(|error| after_egress(pipeline, held, live, &error))?;
    let owned = Arc::clone(live);
    let is_long = offload::is_long(&response.body);
    let response = offload::run(is_long, move || mask::response(response, &owned.secrets)).await;
    let answer = FetchAnswer {
        delivery: held.delivery,
        index: held.index,
        lease: held.lease,
        request: fetch.request.clone(),
        state: fetch.state.clone(),
        ran: plugin.ran_with(live.connection.config_version),
        response: response.clone(),
    };
    let answer = Write::Answer(Box::new(answer));
    match pipeline.writer.submit_background(answer).await {
        Ok(WriteOutcome::Done(_)) => Ok(response),
        // The lease was lost or the answer was not stored: the next holder calls again.
        Ok(_) => Err(retry(
            pipeline,
            held,
            "another host took over the fetch",
            None,
        )),
        Err(error) => Err(retry(pipeline, held, &error.to_string(), None)),
    }
}

struct Completing<'a> {
    pipeline: &'a Arc<Pipeline>,
    live: &'a Arc<Live>,
    held: &'a HeldFetch,
}

impl Completing<'_> {
    async fn with(
        &self,
        plugin: &Arc<Loaded>,
        state: Vec<u8>,
        response: HttpResponse,
    ) -> rollout::Completed {
        let (pipeline, live, held) = (self.pipeline, self.live, self.held);
        let completed = self.items(plugin, state, held.hop, response).await?;
        let now = pipeline.clock.now();
        Ok(completed.map(|items| results(live, items, held.hop, now, held.until)))
    }

    async fn items(
        &self,
        plugin: &Arc<Loaded>,
        state: Vec<u8>,
        hop: u32,
        response: HttpResponse,
    ) -> Result<Result<Vec<ConvertedItem>, FetchFailure>, CallError> {
        let (pipeline, live, held) = (self.pipeline, self.live, self.held);
        let completion = PluginCompletion {
            delivery_id: held.delivery.to_string(),
            received_at: held.received_at.text(),
            config: live.connection.config.clone(),
            context: live.context(),
            external_id: held.external_id.clone(),
            state,
            hop,
            response,
        };
        let lane = live.connection.id.as_str();
        let plugins = &pipeline.plugins;
        let complete = plugins.complete(plugin, lane, completion, CallBudget::Worker);
        let metrics = &pipeline.metrics.plugins;
        metrics
            .calling(plugin, CallSubject::Delivery(held.delivery), complete)
            .await
    }

    /// Has the stable version complete the same answer too. Returns the result that is to be used.
    async fn better(
        &self,
        rollout: &LiveRollout,
        request: &HttpRequest,
        response: HttpResponse,
        candidate: rollout::Completed,
    ) -> (rollout::Completed, Winner) {
        // The answer belongs to the candidate's request, so the stable version reads it only if it
        // made the same request.
        let stable = match self.asked_at_this_hop(&rollout.stable).await {
            AskedFetch::Here(stable) if stable.request == *request => stable,
            _ => return (candidate, Winner::Candidate),
        };
        let stable = self.with(&rollout.stable, stable.state, response).await;
        let delivery = (self.held.delivery, &self.held.received_by);
        rollout::better(self.pipeline, rollout, delivery, stable, candidate).await
    }

    /// Returns the fetch that another version would make for the same lead at this hop. Later hops
    /// follow from the stored answers to the earlier ones, as long as it would have made the same
    /// requests.
    async fn asked_at_this_hop(&self, plugin: &Arc<Loaded>) -> AskedFetch {
        let Some(mut fetch) = asked_first(self.pipeline, plugin, self.held).await else {
            return AskedFetch::Unknown;
        };
        for hop in 1..self.held.hop {
            let response = match self.answer_to(&fetch, hop).await {
                Ok(Some(response)) => response,
                Ok(None) => return AskedFetch::Elsewhere,
                Err(_) => return AskedFetch::Unknown,
            };
            let completed = self.items(plugin, fetch.state, hop, response).await;
            let Ok(Ok(items)) = completed else {
                return AskedFetch::Unknown;
            };
            match fetch_of(items, fetch.external_id.as_deref()) {
                Some(next) => fetch = next,
                None => return AskedFetch::Unknown,
            }
        }
        AskedFetch::Here(Box::new(fetch))
    }

    async fn answer_to(
        &self,
        fetch: &FetchRequest,
        hop: u32,
    ) -> Result<Option<HttpResponse>, StoreError> {
        let store = &self.pipeline.store;
        let mut after = 0;
        loop {
            let page = store.answers(self.held.delivery, after, ANSWERS).await?;
            let Some(last) = page.last() else {
                return Ok(None);
            };
            after = last.number;
            let mut found = page.into_iter().filter(|answer| {
                answer.hop == hop
                    && answer.external_id == fetch.external_id
                    && answer.request == fetch.request
            });
            if let Some(answer) = found.next() {
                return Ok(Some(answer.response));
            }
        }
    }
}

/// The fetch that another version would make for the same lead at a hop.
enum AskedFetch {
    Here(Box<FetchRequest>),
    /// It would have made another request at an earlier hop.
    Elsewhere,
    /// The version does not recognise the pointer, or failed.
    Unknown,
}

/// Answers per read: each may be as large as the bound of a fetch's answer.
const ANSWERS: u32 = 8;

fn fetch_of(items: Vec<ConvertedItem>, external_id: Option<&str>) -> Option<FetchRequest> {
    items.into_iter().find_map(|item| match item.outcome {
        ConversionOutcome::Fetch(fetch) if fetch.external_id.as_deref() == external_id => {
            Some(*fetch)
        }
        _ => None,
    })
}

fn canary(pipeline: &Pipeline, live: &Live, held: &HeldFetch) -> Option<Arc<LiveRollout>> {
    let rollout = pipeline.rollouts.get(&live.connection.plugin)?;
    (rollout.is_canary() && rollout.candidate.digest == held.ran.digest).then_some(rollout)
}

fn probation(pipeline: &Pipeline, plugin: &Loaded) -> Option<Arc<LiveRollout>> {
    let rollout = pipeline.rollouts.get(&plugin.description.name)?;
    let is_probation = rollout.rollout.stage == RolloutStage::Probation;
    (is_probation && rollout.candidate.digest == plugin.digest).then_some(rollout)
}

/// Returns the version that completes the fetch, with its request and state, and the stored
/// answer if it still matches.
async fn choose(
    pipeline: &Arc<Pipeline>,
    live: &Arc<Live>,
    held: &HeldFetch,
    canary: Option<&LiveRollout>,
) -> Result<(Arc<Loaded>, FetchRequest, Option<HttpResponse>), String> {
    let own = FetchRequest {
        external_id: held.external_id.clone(),
        request: held.request.clone(),
        state: held.state.clone(),
    };
    if let Some(rollout) = canary {
        return Ok((Arc::clone(&rollout.candidate), own, held.response.clone()));
    }
    let active = pipeline.plugins.active(&live.connection.plugin);
    if let Some(active) = active {
        if active.digest == held.ran.digest {
            return Ok((active, own, held.response.clone()));
        }
        if held.hop == 1
            && let Some(fetch) = asked_first(pipeline, &active, held).await
        {
            let kept = held
                .response
                .clone()
                .filter(|_| fetch.request == held.request);
            return Ok((active, fetch, kept));
        }
    }
    let old = super::versions::loaded(pipeline, &held.ran.digest)
        .await
        .map_err(|error| format!("the version that made the pointer cannot be loaded: {error}"))?
        .ok_or_else(|| {
            "the version that made the pointer is not in the store, and the active version does not recognise the pointer"
                .to_owned()
        })?;
    Ok((old, own, held.response.clone()))
}

/// Returns the first fetch that another version would make for the same lead. Its later fetches
/// depend on the answers.
async fn asked_first(
    pipeline: &Arc<Pipeline>,
    plugin: &Arc<Loaded>,
    held: &HeldFetch,
) -> Option<FetchRequest> {
    let wanted = held.external_id.as_deref()?;
    let received_by = pipeline.connections.get(&held.received_by).await.ok()??;
    let delivery = pipeline.store.delivery(held.delivery).await.ok()??;
    let input = convert::input(&received_by, &delivery.request);
    let lane = received_by.connection.id.as_str();
    let convert = pipeline
        .plugins
        .convert(plugin, lane, input, CallBudget::Worker);
    let conversion = pipeline
        .metrics
        .plugins
        .calling(plugin, CallSubject::Delivery(delivery.request.id), convert)
        .await
        .ok()?
        .ok()?;
    fetch_of(conversion.items, Some(wanted))
}

/// Returns the items that the answer to this hop gave, in the form for the store.
pub(super) fn results(
    live: &Live,
    items: Vec<ConvertedItem>,
    hop: u32,
    now: Micros,
    until: Micros,
) -> Vec<ItemResult> {
    let hop = hop + 1;
    items
        .into_iter()
        .map(|item| match item.outcome {
            ConversionOutcome::Fetch(_) if hop > limits::FETCH_HOPS => {
                ItemResult::Invalid(leadhost_domain::exchange::InputProblem {
                    message: format!(
                        "the converter asked for more than {} fetches in a row",
                        limits::FETCH_HOPS
                    ),
                    path: String::new(),
                })
            }
            outcome => normalise::result(live, outcome, hop, now, until),
        })
        .collect()
}

fn after_failure(
    pipeline: &Pipeline,
    held: &HeldFetch,
    live: &Live,
    failure: FetchFailure,
) -> FetchOutcome {
    match failure.category {
        FailureCategory::Retry => retry(pipeline, held, &failure.message, failure.retry_after),
        FailureCategory::Stop => stop(pipeline, held, live, failure.message),
        FailureCategory::GiveUp => FetchOutcome::Failed {
            error: failure.message,
        },
    }
}

fn after_egress(
    pipeline: &Pipeline,
    held: &HeldFetch,
    live: &Live,
    error: &EgressError,
) -> FetchOutcome {
    if error.is_transient() {
        return retry(pipeline, held, &error.to_string(), None);
    }
    match error {
        // The fault is in the plugin and concerns only this item: others of the connection
        // may be right.
        EgressError::Malformed(_) | EgressError::NotAllowed { .. } => FetchOutcome::Failed {
            error: error.to_string(),
        },
        _ => stop(pipeline, held, live, error.to_string()),
    }
}

fn stop(pipeline: &Pipeline, held: &HeldFetch, live: &Live, reason: String) -> FetchOutcome {
    // Not logged: the reason may quote the source, and name people.
    let connection = &live.connection;
    tracing::error!(connection = %connection.name, plugin = %connection.plugin, "connection fetches paused; `leadhost connection list` shows why");
    FetchOutcome::Stop {
        at: next(pipeline, held, None),
        reason,
    }
}

fn retry(
    pipeline: &Pipeline,
    held: &HeldFetch,
    error: &str,
    retry_after: Option<Duration>,
) -> FetchOutcome {
    tracing::debug!(delivery = %held.delivery, item = held.index, "fetch failed, retrying");
    FetchOutcome::Retry {
        at: next(pipeline, held, retry_after),
        error: error.to_owned(),
    }
}

fn next(pipeline: &Pipeline, held: &HeldFetch, retry_after: Option<Duration>) -> Micros {
    let backoff = failure::backoff(pipeline, held.attempts + 1);
    let asked = retry_after.unwrap_or_default();
    pipeline.clock.now().plus(backoff.max(asked))
}
