//! Converts a captured delivery with a version outside the service, in an engine that has neither a
//! store nor connections. The items are brought into the same form as in the service, so that both
//! outcomes can be compared.

use super::outcome::{Reason, VersionOutcome};
use crate::convert::{input, too_deep};
use crate::failure::ConvertError;
use crate::prelude::*;
use crate::replay_answers::{self, CompletionError, ReplayAnswerError};
use crate::routing::{CapturedLive, Reachable, Routing};
use crate::{events, fetch, normalise};
use leadhost_plugin::{Plugins, TRIAL_LANE};
use leadhost_store::KeptAnswer;

pub struct CapturedDelivery {
    pub request: NewDelivery,
    pub received_by: Arc<Live>,
    pub answers: Vec<KeptAnswer>,
}

pub struct LocalOutcome {
    pub outcome: VersionOutcome,
    /// The log of the plugin in the call that failed; empty if none did.
    pub log: Vec<String>,
}

/// Returns what the version makes of the delivery. `connections`: its workspace's, with the one that received
/// it; other workspaces' are not reached. Every failure is an outcome too.
#[leadhost_boxed::boxed]
pub async fn outcome_of(
    plugins: &Plugins,
    plugin: &Arc<Loaded>,
    delivery: &CapturedDelivery,
    connections: &[CapturedLive],
) -> LocalOutcome {
    let failed = |reason, log: &[String]| LocalOutcome {
        outcome: VersionOutcome::Failed(reason),
        log: log.to_vec(),
    };
    let outcome = match converted(plugins, plugin, delivery, connections).await {
        Ok(Ok(mut items)) => {
            let completed = complete(plugins, plugin, delivery, connections, &mut items).await;
            if let Err(error) = completed {
                return failed(Reason::from(&error), error.log());
            }
            VersionOutcome::from_items(items.iter().map(|item| &item.result))
        }
        Ok(Err(problem)) => VersionOutcome::Refused(Reason::Plugin(problem.to_string())),
        Err(error) => return failed(Reason::from(&error), error.log()),
    };
    let log = Vec::new();
    LocalOutcome { outcome, log }
}

async fn converted(
    plugins: &Plugins,
    plugin: &Arc<Loaded>,
    delivery: &CapturedDelivery,
    connections: &[CapturedLive],
) -> Result<Result<Vec<NewItem>, InputProblem>, ConvertError> {
    const BUDGET: CallBudget = CallBudget::Trial;
    let (live, request) = (&delivery.received_by, &delivery.request);
    if let Some(problem) = too_deep(request) {
        return Ok(Err(problem));
    }
    let routing = Routing {
        received_by: live,
        among: Reachable::Captured(connections),
    };
    let given = input(live, request);
    // Times of fetches are not compared.
    let at = request.received_at;
    Ok(match live.connection.kind {
        ConnectionKind::Source => match plugins.convert(plugin, TRIAL_LANE, given, BUDGET).await? {
            Ok(output) => Ok(normalise::items(&routing, output.items, at, at).await?),
            Err(problem) => Err(problem),
        },
        ConnectionKind::Channel => {
            let webhook = plugins.read_webhook(plugin, TRIAL_LANE, given, BUDGET);
            match webhook.await? {
                Ok(webhook) => Ok(events::read(&routing, webhook.events, at).await?.items),
                Err(problem) => Err(problem),
            }
        }
    })
}

/// Completes the pointers from the answers, as a replay in the service does.
async fn complete(
    plugins: &Plugins,
    plugin: &Arc<Loaded>,
    delivery: &CapturedDelivery,
    connections: &[CapturedLive],
    items: &mut Vec<NewItem>,
) -> Result<(), ReplayAnswerError> {
    for answer in &delivery.answers {
        let Some(at) = replay_answers::asked_for(items, answer) else {
            continue;
        };
        let ItemResult::Fetch(asked) = &items[at].result else {
            continue;
        };
        let item = items[at].index;
        let failed = |source| ReplayAnswerError::Completion { item, source };
        let live = connections
            .iter()
            .map(|one| &one.live)
            .find(|live| live.connection.id == asked.connection)
            .ok_or_else(|| failed(CompletionError::NoConnection))?;
        let response = answer.response.clone();
        let given = replay_answers::input(live, &delivery.request, asked, response);
        let found = plugins
            .complete(plugin, TRIAL_LANE, given, CallBudget::Trial)
            .await
            .map_err(|error| failed(error.into()))?
            .map_err(|failure| failed(CompletionError::Failed(failure.message)))?;
        let found = fetch::results(live, found, asked.hop, asked.due_at, asked.until);
        replay_answers::replace(items, at, found);
    }
    Ok(())
}
