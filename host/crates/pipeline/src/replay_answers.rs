//! Completes the pointers of a replay from the answers that are stored with their delivery:
//! the source is not called again.
//!
//! An answer matches only the same request at the same hop for the same lead. Completed
//! items take the pointer's place, and further items come last, as when fetches are
//! settled, in that order; so an item without a key is found by its place. A pointer
//! without a stored answer stays a pointer.

use super::connections::ConnectionError;
use super::verify::outcome::Reason;
use super::versions::{self, VersionError};
use super::{fetch, greeting, props};
use crate::prelude::*;
use leadhost_domain::plugin::PluginCompletion;
use leadhost_store::{ConversionResult, KeptAnswer, NewFetch};
use leadhost_telemetry::CallSubject;

/// The stored answers in one read: each may be as large as the bound of a fetch's answer.
pub const ANSWERS_PER_READ: u32 = 8;

#[derive(Debug, thiserror::Error)]
pub enum CompletionError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("the converter reports: {0}")]
    Failed(String),
    #[error("its connection no longer exists")]
    NoConnection,
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    #[error("the version that converted it is not in the store")]
    NoPlugin,
    #[error("the version that converted it cannot be loaded: {0}")]
    Plugin(#[from] VersionError),
}

#[derive(Debug, thiserror::Error)]
pub enum ReplayAnswerError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("item {item} cannot be completed: {source}")]
    Completion {
        item: u32,
        #[source]
        source: CompletionError,
    },
}

impl ReplayAnswerError {
    /// Returns whether the host could not make the call, so that it says nothing about the version.
    pub fn is_of_the_host(&self) -> bool {
        match self {
            Self::Store(_) => true,
            Self::Completion { source, .. } => match source {
                CompletionError::Call(error) => error.is_not_made(),
                CompletionError::NoConnection | CompletionError::Connection(_) => true,
                CompletionError::Failed(_)
                | CompletionError::NoPlugin
                | CompletionError::Plugin(_) => false,
            },
        }
    }

    /// Returns what the plugin wrote before it failed, line by line. It is not masked.
    pub fn log(&self) -> &[String] {
        match self {
            Self::Completion {
                source: CompletionError::Call(error),
                ..
            } => error.log(),
            Self::Store(_) | Self::Completion { .. } => &[],
        }
    }

    pub fn is_refusal(&self) -> bool {
        let Self::Completion { source, .. } = self else {
            return false;
        };
        matches!(source, CompletionError::Failed(_))
    }
}

impl From<&ReplayAnswerError> for Reason {
    fn from(error: &ReplayAnswerError) -> Self {
        let ReplayAnswerError::Completion { item, source } = error else {
            return Self::Service(error.to_string());
        };
        let reason = match source {
            CompletionError::Call(error) => Self::from(error),
            CompletionError::Failed(_) => Self::Plugin(source.to_string()),
            CompletionError::NoConnection
            | CompletionError::Connection(_)
            | CompletionError::NoPlugin
            | CompletionError::Plugin(_) => Self::Service(source.to_string()),
        };
        reason.after(&format!("item {item} cannot be completed: "))
    }
}

#[leadhost_boxed::boxed]
pub async fn complete(
    pipeline: &Pipeline,
    delivery: &NewDelivery,
    result: &mut ConversionResult,
) -> Result<(), ReplayAnswerError> {
    let Some(digest) = result.ran.as_ref().map(|ran| ran.digest.clone()) else {
        return Ok(());
    };
    let Some(first) = result.items.iter().find(|item| pointer(item).is_some()) else {
        return Ok(());
    };
    let item = first.index;
    let failed = |source| ReplayAnswerError::Completion { item, source };
    let plugin = versions::loaded(pipeline, &digest)
        .await
        .map_err(|error| failed(error.into()))?
        .ok_or_else(|| failed(CompletionError::NoPlugin))?;
    let budget = CallBudget::Operator;
    complete_with(pipeline, &plugin, delivery, result, Vec::new(), budget).await?;
    Ok(())
}

#[derive(Debug)]
pub struct UsedAnswer {
    pub number: i64,
    pub state: Vec<u8>,
}

/// Like [`complete`], with this version, and after the stored answers with these, on which a converter
/// failed and which are not stored. The trial of a version adds no greetings: they are the host's.
/// Returns the answers that were used.
pub async fn complete_with(
    pipeline: &Pipeline,
    plugin: &Arc<Loaded>,
    delivery: &NewDelivery,
    result: &mut ConversionResult,
    failed: Vec<KeptAnswer>,
    budget: CallBudget,
) -> Result<Vec<UsedAnswer>, ReplayAnswerError> {
    let mut pointers = AnsweredPointers {
        pipeline,
        plugin,
        delivery,
        result,
        budget,
        used: Vec::new(),
    };
    let (store, mut after) = (&pipeline.store, 0);
    while pointers.result.has_fetch() {
        let page = store.answers(delivery.id, after, ANSWERS_PER_READ).await?;
        let Some(last) = page.last() else { break };
        after = last.number;
        for answer in page {
            pointers.with(answer).await?;
        }
    }
    for answer in failed {
        pointers.with(answer).await?;
    }
    Ok(pointers.used)
}

struct AnsweredPointers<'a> {
    pipeline: &'a Pipeline,
    plugin: &'a Arc<Loaded>,
    delivery: &'a NewDelivery,
    result: &'a mut ConversionResult,
    budget: CallBudget,
    used: Vec<UsedAnswer>,
}

impl AnsweredPointers<'_> {
    async fn with(&mut self, answer: KeptAnswer) -> Result<(), ReplayAnswerError> {
        let Some(at) = asked_for(&self.result.items, &answer) else {
            return Ok(());
        };
        let ItemResult::Fetch(fetch) = &self.result.items[at].result else {
            return Ok(());
        };
        let item = self.result.items[at].index;
        let failed = |source| ReplayAnswerError::Completion { item, source };
        self.used.push(UsedAnswer {
            number: answer.number,
            state: fetch.state.clone(),
        });
        let (pipeline, response) = (self.pipeline, answer.response);
        let found = call(
            pipeline,
            self.delivery,
            self.plugin,
            fetch,
            response,
            self.budget,
        );
        let mut found = found.await.map_err(failed)?;
        let notes = &mut self.result.notes;
        if self.budget.has_effects() {
            greeting::add(pipeline, found.iter_mut(), notes)
                .await
                .map_err(|error| failed(error.into()))?;
        }
        props::note_properties(found.iter(), notes);
        replace(&mut self.result.items, at, found);
        Ok(())
    }
}

fn pointer(item: &NewItem) -> Option<&NewFetch> {
    match &item.result {
        ItemResult::Fetch(fetch) => Some(fetch),
        _ => None,
    }
}

/// Returns the place of the pointer that this answer completes: the same place, or another
/// one for the same lead.
pub(super) fn asked_for(items: &[NewItem], answer: &KeptAnswer) -> Option<usize> {
    let fits = |item: &NewItem| {
        pointer(item).is_some_and(|fetch| {
            fetch.hop == answer.hop
                && fetch.external_id == answer.external_id
                && fetch.request == answer.request
        })
    };
    // The items of a conversion are numbered in their order.
    let place = usize::try_from(answer.index).ok()?;
    if items.get(place).is_some_and(fits) {
        return Some(place);
    }
    answer.external_id.as_ref()?;
    items.iter().position(fits)
}

async fn call(
    pipeline: &Pipeline,
    delivery: &NewDelivery,
    plugin: &Arc<Loaded>,
    fetch: &NewFetch,
    response: HttpResponse,
    budget: CallBudget,
) -> Result<Vec<ItemResult>, CompletionError> {
    let live = pipeline
        .connections
        .get(&fetch.connection)
        .await?
        .ok_or(CompletionError::NoConnection)?;
    let completion = input(&live, delivery, fetch, response);
    let lane = live.lane(budget);
    let complete = pipeline.plugins.complete(plugin, lane, completion, budget);
    let items = pipeline
        .metrics
        .plugins
        .calling_for(budget, plugin, CallSubject::Delivery(delivery.id), complete)
        .await?
        .map_err(|failure| CompletionError::Failed(failure.message))?;
    let now = pipeline.clock.now();
    Ok(fetch::results(&live, items, fetch.hop, now, fetch.until))
}

pub(super) fn input(
    live: &Live,
    delivery: &NewDelivery,
    fetch: &NewFetch,
    response: HttpResponse,
) -> PluginCompletion {
    PluginCompletion {
        delivery_id: delivery.id.to_string(),
        received_at: delivery.received_at.text(),
        config: live.connection.config.clone(),
        context: live.context(),
        external_id: fetch.external_id.clone(),
        state: fetch.state.clone(),
        hop: fetch.hop,
        response,
    }
}

/// Puts the items of an answer into the place of their pointer; further ones come last.
pub(super) fn replace(items: &mut Vec<NewItem>, at: usize, found: Vec<ItemResult>) {
    let mut found = found.into_iter();
    items[at].result = found.next().unwrap_or_else(ItemResult::nothing);
    for result in found {
        let index = u32::try_from(items.len()).expect("items are bounded");
        items.push(NewItem { index, result });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::exchange::{HttpRequest, TextSegment, UrlScheme};

    fn request(path: &str) -> HttpRequest {
        HttpRequest {
            method: "GET".to_owned(),
            scheme: UrlScheme::Https,
            authority: "leads.example.com".to_owned(),
            path: vec![TextSegment::Literal(path.to_owned())],
            query: Vec::new(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    fn pointers(leads: &[(Option<&str>, &str)]) -> Vec<NewItem> {
        (0..)
            .zip(leads)
            .map(|(index, (id, path))| NewItem {
                index,
                result: ItemResult::Fetch(Box::new(NewFetch {
                    connection: ConnectionId::generate(),
                    dedupe: None,
                    external_id: id.map(str::to_owned),
                    request: request(path),
                    state: Vec::new(),
                    hop: 1,
                    due_at: Micros(0),
                    until: Micros(0),
                })),
            })
            .collect()
    }

    fn answer(index: u32, hop: u32, id: Option<&str>, path: &str) -> KeptAnswer {
        KeptAnswer {
            number: 1,
            index,
            hop,
            external_id: id.map(str::to_owned),
            request: request(path),
            response: HttpResponse {
                status: 200,
                headers: Vec::new(),
                body: Vec::new(),
            },
        }
    }

    #[test]
    fn an_answer_matches_only_its_own_request() {
        let items = pointers(&[(Some("L1"), "a"), (Some("L2"), "b"), (None, "c")]);
        let check = |answer: KeptAnswer, expect: Option<usize>| {
            assert_eq!(asked_for(&items, &answer), expect, "{answer:?}");
        };
        check(answer(0, 1, Some("L1"), "a"), Some(0));
        // A lead with an id is found at any place, another one only at its own.
        check(answer(0, 1, Some("L2"), "b"), Some(1));
        check(answer(9, 1, Some("L2"), "b"), Some(1));
        check(answer(2, 1, None, "c"), Some(2));
        check(answer(1, 1, None, "c"), None);
        check(answer(0, 1, Some("L1"), "b"), None);
        check(answer(0, 2, Some("L1"), "a"), None);
        check(answer(0, 1, Some("L3"), "a"), None);
    }

    #[test]
    fn completed_items_take_the_places_that_settling_gave_them() {
        let mut items = pointers(&[(None, "a"), (None, "b")]);
        let note = |text: &str| ItemResult::Ignored(text.to_owned());
        replace(&mut items, 1, vec![note("b"), note("b too")]);
        replace(&mut items, 0, vec![note("a"), note("a too")]);
        let found: Vec<_> = items
            .iter()
            .map(|item| match &item.result {
                ItemResult::Ignored(text) => (item.index, text.as_str()),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(found, [(0, "a"), (1, "b"), (2, "b too"), (3, "a too")]);
        replace(&mut items, 0, Vec::new());
        assert!(matches!(items[0].result, ItemResult::Ignored(_)));
    }
}
