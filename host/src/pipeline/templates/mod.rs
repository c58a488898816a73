//! The templates that an instance's provider has approved: asked for when they
//! are first needed, from time to time, and when somebody says so. What is kept
//! is believed for a second in memory.
//!
//! A list that could not be renewed stays, and says since when and why. A
//! template that is not in the list is asked for once more before it is called
//! unknown, since it may be newer than the list.

mod compose;
mod fit;
mod job;
pub(super) mod lists;
mod sync;
pub mod wanted;

pub use compose::{Composed, TemplateError};
pub use fit::{Misfit, Mismatch};
pub use job::run;
pub use sync::sync;

use std::sync::Arc;
use std::time::Duration;

use self::wanted::{Parts, Wanted};
use super::connections::Live;
use crate::domain::time::Micros;
use crate::limits;
use crate::pipeline::state::Pipeline;
use crate::store::{StoreError, TemplateList};

/// The instance's list as it is known, of which nothing is known where its
/// provider was never asked.
pub async fn list(pipeline: &Pipeline, live: &Live) -> Result<Arc<TemplateList>, StoreError> {
    let id = &live.connection.id;
    let templates = &pipeline.templates;
    if let Some(list) = templates.known(id) {
        return Ok(list);
    }
    let question = async {
        let found = pipeline.core.store.templates(&live.connection).await?;
        Ok(Arc::new(found.unwrap_or_default()))
    };
    let answer = templates.asked.ask(id, question).await?;
    if answer.may_be_kept {
        templates.keep(id, &answer.value);
    }
    Ok(answer.value)
}

/// A message from a template, or why there is none. It waits a moment for the
/// provider where the list is missing or too old to say that there is none.
pub async fn prepare(
    pipeline: &Arc<Pipeline>,
    live: &Arc<Live>,
    wanted: &Wanted,
) -> Result<Result<Composed, TemplateError>, StoreError> {
    let language = &live.connection.settings.language;
    let known = list(pipeline, live).await?;
    let found = compose::compose(&known, language, wanted);
    let is_first = known.synced_at.is_none();
    let may_be_news = found.is_err() && is_older(pipeline, &known, limits::TEMPLATES_AGAIN_SECONDS);
    if !is_first && !may_be_news {
        return Ok(found);
    }
    // It goes on when nobody waits any more.
    let asking = {
        let (pipeline, live) = (Arc::clone(pipeline), Arc::clone(live));
        pipeline
            .core
            .clone()
            .spawn(async move { sync(&pipeline, &live).await })
    };
    let patience = Duration::from_secs(limits::TEMPLATES_WAIT_SECONDS);
    match tokio::time::timeout(patience, asking).await {
        Ok(Ok(Ok(news))) => {
            let again = compose::compose(&news, language, wanted);
            // What an old list does not have may be there by now.
            let unproven = matches!(again, Err(TemplateError::NotFound { .. }));
            if news.error.is_some() && unproven {
                let nothing = TemplateList::default();
                return Ok(compose::compose(&nothing, language, wanted));
            }
            Ok(again)
        }
        Ok(Ok(Err(error))) => Err(error),
        // No answer yet, or none at all: what was known holds.
        Ok(Err(_)) | Err(_) => Ok(found),
    }
}

/// The provider says other than the list: it is asked for again, so that the
/// next send is told from the list, but not for every send that it refuses.
pub fn doubt(pipeline: &Arc<Pipeline>, live: &Arc<Live>) {
    let (task_app, live) = (Arc::clone(pipeline), Arc::clone(live));
    drop(pipeline.core.spawn(async move {
        let pipeline = task_app;
        let renewed = async {
            let known = list(&pipeline, &live).await?;
            if !known.is_unlisted && is_older(&pipeline, &known, limits::TEMPLATES_AGAIN_SECONDS) {
                sync(&pipeline, &live).await?;
            }
            Ok::<_, StoreError>(())
        };
        if let Err(error) = renewed.await {
            tracing::warn!(instance = %live.connection.name, %error, "the list of templates cannot be kept");
        }
    }));
}

/// The template message of a greeting or of the legacy format: texts for the
/// body, in order. `None` for the language: the only one that is approved, or
/// the channel's. What is known decides; nobody is asked.
pub async fn of_texts(
    pipeline: &Pipeline,
    live: &Live,
    name: &str,
    language: Option<&str>,
    texts: Vec<String>,
) -> Result<Result<Composed, TemplateError>, StoreError> {
    let wanted = Wanted {
        name: name.to_owned(),
        language: language.map(str::to_owned),
        parts: Parts::Body(texts),
    };
    let known = list(pipeline, live).await?;
    let language = &live.connection.settings.language;
    Ok(compose::compose(&known, language, &wanted))
}

/// Whether a list was not asked for within so many seconds.
fn is_older(pipeline: &Pipeline, list: &TemplateList, seconds: i64) -> bool {
    let now = pipeline.core.clock.now();
    !list
        .synced_at
        .is_some_and(|at| at.is_recent(now, seconds * Micros::SECOND))
}
