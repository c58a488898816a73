//! The choice of the version that sends a message while a rollout of its adapter is open, and the
//! comparison of both.
//!
//! In the canary stage the stable version makes the request of every send first, as the fallback. The contact
//! decides whether the candidate makes the request too, and then its request is sent. A request is sent once:
//! the stable version's takes the place of the candidate's only if the candidate makes none, if its request
//! could not be sent, or if the provider has refused it for good and both versions read the refusal. With
//! guards, the stable version reads the answer to the candidate's request too, and its result counts where
//! the two differ, so that a wrong reading neither repeats nor loses a message.
//!
//! While a request waits for the send, the candidate has the short time of a call within a request:
//! it may loop, and the stable version needs the rest of the time.
//!
//! Afterwards both versions are asked about the same send and the same answer once more, in the lane
//! of trials and without effect: so sends that only the stable version made are compared too.

use super::observed::{CONTROL, Winner, observe};
use super::state::{LiveRollout, SentSend};
use crate::offload;
use crate::prelude::*;
use crate::verify::compare::{ComparedOutcomes, ComparedSubject};
use crate::verify::conversion::{Both, Compared};
use crate::verify::cost::Cost;
use crate::verify::outcome::{Reason, VersionOutcome};
use crate::verify::{Part, composed};
use leadhost_domain::channel::{Category, SendAnswer, SendStep, TemplateSend};
use leadhost_domain::difference::Subject;
use leadhost_domain::exchange::HttpRequest;
use leadhost_plugin::TRIAL_LANE;
use leadhost_telemetry::CallSubject;

pub struct ChosenStep {
    pub plugin: Arc<Loaded>,
    pub step: Result<SendStep, CallError>,
}

impl ChosenStep {
    /// Returns whether the message can go out by it: by a request, or because the version has sent
    /// it in its own way.
    fn sends(&self) -> bool {
        matches!(
            self.step,
            Ok(SendStep::Call(_) | SendStep::Answer(SendAnswer::Accepted(_)))
        )
    }

    fn is_call(&self) -> bool {
        matches!(self.step, Ok(SendStep::Call(_)))
    }
}

/// Asks the version that the rollout of the adapter chooses, or the active one, for the step by which a
/// message is sent. If the candidate makes no request, it is the step of the stable version. `budget`: the
/// candidate's.
pub async fn compose(
    pipeline: &Pipeline,
    live: &Live,
    active: &Arc<Loaded>,
    send: &TemplateSend,
    (contact, budget): (ContactId, CallBudget),
) -> ChosenStep {
    let sending = Sending::new(pipeline, live, send);
    let Some(rollout) = pipeline.rollouts.get(&live.connection.plugin) else {
        return sending.with(active).await;
    };
    match rollout.rollout.stage {
        RolloutStage::Canary if active.digest == rollout.stable.digest => {
            Box::pin(sending.canary(&rollout, contact, budget)).await
        }
        // The activation may be a moment ahead of the stage.
        RolloutStage::Verified | RolloutStage::Canary | RolloutStage::Probation
            if active.digest == rollout.candidate.digest =>
        {
            Box::pin(sending.probation(&rollout, budget)).await
        }
        _ => sending.with(active).await,
    }
}

struct Sending<'a> {
    pipeline: &'a Pipeline,
    connection: &'a ConnectionId,
    lane: &'a str,
    send: &'a TemplateSend,
}

impl<'a> Sending<'a> {
    fn new(pipeline: &'a Pipeline, live: &'a Live, send: &'a TemplateSend) -> Self {
        let connection = &live.connection.id;
        Self {
            pipeline,
            connection,
            lane: connection.as_str(),
            send,
        }
    }

    async fn with(&self, plugin: &Arc<Loaded>) -> ChosenStep {
        self.within(plugin, CallBudget::Worker).await
    }

    async fn within(&self, plugin: &Arc<Loaded>, budget: CallBudget) -> ChosenStep {
        let (plugins, send) = (&self.pipeline.plugins, self.send.clone());
        let call = plugins.send(plugin, self.lane, send, budget);
        ChosenStep {
            plugin: Arc::clone(plugin),
            step: self.counted(plugin, budget, call).await,
        }
    }

    async fn reading(
        &self,
        plugin: &Arc<Loaded>,
        response: &HttpResponse,
        budget: CallBudget,
    ) -> Result<SendAnswer, CallError> {
        let (plugins, send) = (&self.pipeline.plugins, self.send.clone());
        let call = plugins.read_answer(plugin, self.lane, send, response.clone(), budget);
        self.counted(plugin, budget, call).await
    }

    async fn counted<T>(
        &self,
        plugin: &Loaded,
        budget: CallBudget,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let metrics = &self.pipeline.metrics.plugins;
        let subject = CallSubject::Message(&self.send.message_id);
        metrics.calling_for(budget, plugin, subject, call).await
    }

    async fn canary(
        &self,
        rollout: &LiveRollout,
        contact: ContactId,
        budget: CallBudget,
    ) -> ChosenStep {
        let began = Instant::now();
        let stable = self.with(&rollout.stable).await;
        let stable_took = began.elapsed();
        let key = format!("{} {contact}", self.lane);
        if !stable.is_call() || !rollout.takes(&key) {
            return stable;
        }
        let candidate = self.within(&rollout.candidate, budget).await;
        if candidate.is_call() {
            // It is counted when the answer was read.
            return candidate;
        }
        self.no_request(rollout, &candidate, stable_took);
        rollout.observed.chosen(false);
        stable
    }

    /// Counts a candidate whose call for a request fails, where the stable version took so long to make one.
    fn no_request(&self, rollout: &LiveRollout, candidate: &ChosenStep, stable_took: Duration) {
        let Err(error) = &candidate.step else {
            return;
        };
        let has_failed = match error {
            // A shortage of processor time is not the fault of the candidate.
            CallError::OutOfTime {
                inline: true,
                budget,
                ..
            } => stable_took * CONTROL <= *budget,
            error => error.is_fault(),
        };
        let Ok(message) = self.send.message_id.parse() else {
            return;
        };
        if has_failed && rollout.observed.counts_at_once(Subject::Message(message)) {
            self.failed(rollout, Reason::from(error));
        }
    }

    /// The candidate is active; the version before it is the fallback.
    async fn probation(&self, rollout: &LiveRollout, budget: CallBudget) -> ChosenStep {
        // A guard has tripped here, and the rollback is under way.
        if rollout.observed.is_stopped() {
            return self.with(&rollout.stable).await;
        }
        let candidate = self.within(&rollout.candidate, budget).await;
        if candidate.sends() {
            // A request is counted when the answer was read.
            if !candidate.is_call() {
                rollout.observed.chosen(true);
            }
            return candidate;
        }
        let began = Instant::now();
        let stable = self.with(&rollout.stable).await;
        if stable.sends() {
            self.no_request(rollout, &candidate, began.elapsed());
            rollout.observed.chosen(false);
            return stable;
        }
        candidate
    }

    fn failed(&self, rollout: &LiveRollout, why: Reason) {
        if let Ok(message) = self.send.message_id.parse() {
            let of = (Subject::Message(message), self.connection);
            let failed = VersionOutcome::Failed(why);
            observe(self.pipeline, rollout, Part::Sends, of, &failed);
        }
    }

    async fn read_by_candidate(
        &self,
        rollout: &LiveRollout,
        response: &HttpResponse,
        budget: CallBudget,
    ) -> (Result<SendAnswer, CallError>, Winner) {
        let own = self.reading(&rollout.candidate, response, budget).await;
        let compares = rollout.rollout.plan.guards && rollout.rollout.stage == RolloutStage::Canary;
        if own.is_ok() && !compares {
            return (own, Winner::Candidate);
        }
        let stable = self
            .reading(&rollout.stable, response, CallBudget::Worker)
            .await;
        match (&own, &stable) {
            // The outcome of the message depends on it: it gets all the time that there is.
            (Err(_), Err(_)) if budget != CallBudget::Worker => {
                let own = self
                    .reading(&rollout.candidate, response, CallBudget::Worker)
                    .await;
                (own, Winner::Candidate)
            }
            (_, Err(_)) => (own, Winner::Candidate),
            (Ok(own_read), Ok(stable_read)) if composed::is_harmless(stable_read, own_read) => {
                (own, Winner::Candidate)
            }
            _ => (stable, Winner::Stable),
        }
    }

    /// Returns what a version makes of the send, without effect. `None`: the host could not call it.
    async fn outcome(
        &self,
        plugin: &Arc<Loaded>,
        response: Option<&HttpResponse>,
    ) -> Option<VersionOutcome> {
        let chosen = self.within(plugin, CallBudget::Trial).await;
        // There is an answer only if the step is a request.
        let read = match response.filter(|_| chosen.is_call()) {
            Some(response) => Some(self.reading(plugin, response, CallBudget::Trial).await),
            None => None,
        };
        composed::outcome(&chosen.step, read.as_ref())
    }
}

/// Returns the rollout in which this version is the candidate and has an effect.
fn rollout_of(pipeline: &Pipeline, plugin: &Loaded) -> Option<Arc<LiveRollout>> {
    let rollout = pipeline.rollouts.get(&plugin.description.name)?;
    (rollout.candidate.digest == plugin.digest).then_some(rollout)
}

/// Returns the request of the stable version for a send whose request by the candidate could not
/// be sent, for this reason. `None` if the version is no candidate, or the stable version makes no
/// request either.
pub async fn instead(
    pipeline: &Pipeline,
    live: &Live,
    plugin: &Loaded,
    send: &TemplateSend,
    why: Reason,
) -> Option<(Arc<Loaded>, Box<HttpRequest>)> {
    let rollout = rollout_of(pipeline, plugin)?;
    let sending = Sending::new(pipeline, live, send);
    let stable = sending.with(&rollout.stable).await;
    let Ok(SendStep::Call(request)) = stable.step else {
        return None;
    };
    sending.failed(&rollout, why);
    rollout.observed.chosen(false);
    Some((stable.plugin, request))
}

/// Counts a send whose request was the candidate's, if this version is the candidate: whether its result
/// is stored.
pub fn counted(pipeline: &Pipeline, plugin: &Loaded, served: bool) {
    if let Some(rollout) = rollout_of(pipeline, plugin) {
        rollout.observed.chosen(served);
    }
}

/// Returns the request of the stable version for a send whose request by the candidate the provider has
/// refused, and the reason. `budget`: the candidate's. `None` if the version is no candidate; if one of
/// the versions does not read a refusal of the request, because then the message may have been sent; or if
/// the stable version makes no other request.
pub async fn after_refusal(
    pipeline: &Pipeline,
    live: &Live,
    (plugin, send, request): (&Arc<Loaded>, &TemplateSend, &HttpRequest),
    response: &HttpResponse,
    budget: CallBudget,
) -> Option<(Arc<Loaded>, Box<HttpRequest>, Reason)> {
    let rollout = rollout_of(pipeline, plugin)?;
    let sending = Sending::new(pipeline, live, send);
    let mut category = None;
    let versions = [(&rollout.stable, CallBudget::Worker), (plugin, budget)];
    for (version, budget) in versions {
        let read = sending.reading(version, response, budget).await;
        category = Some(refused_request(&read.ok()?)?);
    }
    let why = Reason::Service(format!(
        "the provider refused its request ({}), and not the stable version's",
        category?.as_str()
    ));
    let stable = sending.with(&rollout.stable).await;
    match stable.step {
        Ok(SendStep::Call(other)) if *other != *request => Some((stable.plugin, other, why)),
        _ => None,
    }
}

/// Returns the category of a refusal that another request might not get. Others are about the contact
/// or the moment.
fn refused_request(answer: &SendAnswer) -> Option<Category> {
    let SendAnswer::Refused(refused) = answer else {
        return None;
    };
    let is_so = matches!(
        refused.category,
        Category::Request
            | Category::Template
            | Category::UnknownTemplate
            | Category::Recipient
            | Category::Account
            | Category::Connection
    );
    is_so.then_some(refused.category)
}

/// Counts a send as a failure of the candidate that the stable version does not have.
pub fn failed(
    pipeline: &Pipeline,
    live: &Live,
    candidate: &Loaded,
    send: &TemplateSend,
    why: Reason,
) {
    if let Some(rollout) = rollout_of(pipeline, candidate) {
        Sending::new(pipeline, live, send).failed(&rollout, why);
    }
}

/// Has a version read the provider's answer to its request, and counts the send if it is a candidate. If it
/// is one that cannot, or in a canary with guards reads another result than the stable version or misses an
/// id of the provider, the stable version's reading counts. `budget`: the candidate's.
pub async fn read(
    pipeline: &Pipeline,
    live: &Live,
    plugin: &Arc<Loaded>,
    send: &TemplateSend,
    (response, budget): (HttpResponse, CallBudget),
) -> Result<SendAnswer, CallError> {
    let sending = Sending::new(pipeline, live, send);
    let Some(rollout) = rollout_of(pipeline, plugin) else {
        return sending.reading(plugin, &response, CallBudget::Worker).await;
    };
    let read = sending.read_by_candidate(&rollout, &response, budget);
    let (answer, winner) = read.await;
    rollout.observed.chosen(winner == Winner::Candidate);
    answer
}

pub fn answered(pipeline: &Pipeline, adapter: &str, sent: SentSend) {
    if let Some(rollout) = pipeline.rollouts.get(adapter)
        && rollout.samples_send(sent.message)
        && !rollout.observed.has_counted(Subject::Message(sent.message))
    {
        rollout.observed.offer_send(sent);
    }
}

/// Compares both versions on a send that was made, with the provider's answer if there is one.
/// Whether their requests can be sent is not checked: that shows when they are sent.
pub async fn both(pipeline: &Pipeline, rollout: &LiveRollout, sent: SentSend) -> Compared {
    let sending = Sending {
        pipeline,
        connection: &sent.connection,
        lane: TRIAL_LANE,
        send: &sent.send,
    };
    let response = sent.response.as_ref();
    let before = sending.outcome(&rollout.stable, response).await;
    let after = sending.outcome(&rollout.candidate, response).await;
    let (Some(before), Some(after)) = (before, after) else {
        return Compared::NotTried;
    };
    let is_long = sent.send.template.len() > limits::COMPARED_BYTES;
    let comparison = offload::run(is_long, move || {
        let subject = Subject::Message(sent.message);
        let compared = ComparedSubject::new(subject, &sent.connection);
        ComparedOutcomes::compare(&compared, &before, &after)
    });
    Compared::Both(Box::new(Both {
        comparison: comparison.await,
        cost: Cost::default(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::channel::RefusedSend;

    #[test]
    fn a_refusal_about_the_contact_or_the_moment_is_none_of_the_request() {
        let others = [
            Category::Window,
            Category::OptOut,
            Category::ThrottledRecipient,
            Category::ThrottledNumber,
            Category::ThrottledAccount,
            Category::Transient,
            Category::Expired,
            Category::GivenUp,
        ];
        for category in Category::ALL {
            let answer = SendAnswer::Refused(RefusedSend {
                category,
                code: String::new(),
                title: String::new(),
                text: String::new(),
                details: String::new(),
                retry_after: None,
            });
            let expect = (!others.contains(&category)).then_some(category);
            assert_eq!(refused_request(&answer), expect, "{}", category.as_str());
        }
        let unknown = SendAnswer::Unknown(String::new());
        assert_eq!(refused_request(&unknown), None);
    }
}
