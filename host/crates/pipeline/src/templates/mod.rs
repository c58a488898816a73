//! The templates that an instance's provider has approved: requested when they are first
//! needed, periodically, and on demand. A list is cached in memory for a second.
//!
//! A list that could not be renewed stays, with the time and the reason of the failure. Before a
//! template that is not in the list is reported as unknown, the list is requested again, because
//! the template may be newer.

mod compose;
mod job;
pub(super) mod lists;
mod mismatch;
pub mod requested;
mod sync;

pub use compose::{Composed, TemplateError};
pub use job::run;
pub use mismatch::{Misfit, Mismatch};
pub use sync::sync;

use self::requested::{PlaceholderValues, TemplateUse};
use crate::prelude::*;
use leadhost_store::TemplateList;

/// Returns the instance's list; an empty one if the provider was never asked.
#[leadhost_boxed::boxed]
pub async fn list(pipeline: &Pipeline, live: &Live) -> Result<Arc<TemplateList>, StoreError> {
    let id = &live.connection.id;
    let templates = &pipeline.templates;
    if let Some(list) = templates.known(id) {
        return Ok(list);
    }
    let question = async {
        let found = pipeline.store.templates(&live.connection).await?;
        Ok(Arc::new(found.unwrap_or_default()))
    };
    let answer = templates.asked.ask(id, question).await?;
    if answer.may_be_cached {
        templates.keep(id, &answer.value);
    }
    Ok(answer.value)
}

/// Returns whether the instance's list is known, or its provider has none.
pub async fn are_known(pipeline: &Pipeline, live: &Live) -> Result<bool, StoreError> {
    let list = list(pipeline, live).await?;
    Ok(list.is_unlisted || compose::known(&list).is_some())
}

/// Composes a message from a template, or returns why it cannot be sent. If the list is
/// missing, or too old to rule the template out, it waits a bounded time for the provider.
#[leadhost_boxed::boxed]
pub async fn prepare(
    pipeline: &Arc<Pipeline>,
    live: &Arc<Live>,
    wanted: &TemplateUse,
) -> Result<Result<Composed, TemplateError>, StoreError> {
    let language = &live.connection.settings.language;
    let known = list(pipeline, live).await?;
    let found = compose::compose(&known, language, wanted);
    let is_first = known.synced_at.is_none();
    let may_be_news = found.is_err() && is_older(pipeline, &known, limits::TEMPLATES_AGAIN_AFTER);
    if !is_first && !may_be_news {
        return Ok(found);
    }
    // Continues if the caller stops waiting.
    let asking = {
        let (task_app, live) = (Arc::clone(pipeline), Arc::clone(live));
        pipeline.spawn(async move { sync(&task_app, &live).await })
    };
    let patience = limits::TEMPLATES_PATIENCE;
    match tokio::time::timeout(patience, asking).await {
        Ok(Ok(Ok(news))) => {
            let again = compose::compose(&news, language, wanted);
            // A template that an old list lacks may have been created since.
            let unproven = matches!(again, Err(TemplateError::NotFound { .. }));
            if news.error.is_some() && unproven {
                let nothing = TemplateList::default();
                return Ok(compose::compose(&nothing, language, wanted));
            }
            Ok(again)
        }
        Ok(Ok(Err(error))) => Err(error),
        // No answer yet, or none at all: the known list counts.
        Ok(Err(_)) | Err(_) => Ok(found),
    }
}

/// Requests the list again after the provider contradicted it, so that the next send is
/// checked against a current list. Not for every send that it refuses.
pub fn doubt(pipeline: &Arc<Pipeline>, live: &Arc<Live>) {
    let (task_app, live) = (Arc::clone(pipeline), Arc::clone(live));
    drop(pipeline.spawn(async move {
        let pipeline = task_app;
        let renewed = async {
            let known = list(&pipeline, &live).await?;
            if !known.is_unlisted && is_older(&pipeline, &known, limits::TEMPLATES_AGAIN_AFTER) {
                sync(&pipeline, &live).await?;
            }
            Ok::<_, StoreError>(())
        };
        if let Err(error) = renewed.await {
            tracing::warn!(instance = %live.connection.name, %error, "template list not stored");
        }
    }));
}

/// Composes the template message of a greeting or of the legacy format: texts for the body,
/// in order. `language` is `None` for the only approved one, or the channel's. Only the
/// known list is used; the provider is not asked.
pub async fn compose_texts(
    pipeline: &Pipeline,
    live: &Live,
    name: &str,
    language: Option<&str>,
    texts: Vec<String>,
) -> Result<Result<Composed, TemplateError>, StoreError> {
    let wanted = TemplateUse {
        name: name.to_owned(),
        language: language.map(str::to_owned),
        parts: PlaceholderValues::Body(texts),
    };
    let known = list(pipeline, live).await?;
    let language = &live.connection.settings.language;
    Ok(compose::compose(&known, language, &wanted))
}

/// Returns whether a list was last requested more than this long ago.
fn is_older(pipeline: &Pipeline, list: &TemplateList, most: Duration) -> bool {
    let now = pipeline.clock.now();
    !list.synced_at.is_some_and(|at| at.is_recent(now, most))
}
