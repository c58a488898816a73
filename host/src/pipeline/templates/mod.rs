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
mod sync;
pub mod wanted;

pub use compose::{Composed, TemplateError};
pub use fit::{Misfit, Mismatch};
pub use job::run;
pub use sync::sync;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use self::wanted::{Parts, Wanted};
use super::connections::Live;
use crate::app::App;
use crate::domain::id::ConnectionId;
use crate::domain::time::Micros;
use crate::limits;
use crate::store::once::Once;
use crate::store::{StoreError, TemplateList};

/// How long what the store said of a list stands.
const FRESH: Duration = Duration::from_secs(1);

/// Lists in memory: past it the cache starts anew.
const ENTRIES: usize = 1_000;

/// The lists as last seen. One per host.
#[derive(Default)]
pub struct Templates {
    lists: Mutex<HashMap<ConnectionId, (Instant, Arc<TemplateList>)>>,
    asked: Once<ConnectionId, Arc<TemplateList>>,
    /// One asking of a provider at a time for each instance.
    syncing: Mutex<HashMap<ConnectionId, Arc<tokio::sync::Mutex<()>>>>,
}

impl Templates {
    /// Somebody changed what instances there are, or their lists.
    pub fn forget(&self) {
        self.asked.forget();
        self.lists().clear();
    }

    fn known(&self, id: &ConnectionId) -> Option<Arc<TemplateList>> {
        let lists = self.lists();
        let (since, list) = lists.get(id)?;
        (since.elapsed() < FRESH).then(|| Arc::clone(list))
    }

    fn keep(&self, id: &ConnectionId, list: &Arc<TemplateList>) {
        let mut lists = self.lists();
        if lists.len() >= ENTRIES {
            lists.clear();
        }
        lists.insert(id.clone(), (Instant::now(), Arc::clone(list)));
    }

    fn turn(&self, id: &ConnectionId) -> Arc<tokio::sync::Mutex<()>> {
        let mut syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        if syncing.len() >= ENTRIES {
            syncing.retain(|_, turn| Arc::strong_count(turn) > 1);
        }
        Arc::clone(syncing.entry(id.clone()).or_default())
    }

    fn lists(&self) -> MutexGuard<'_, HashMap<ConnectionId, (Instant, Arc<TemplateList>)>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The instance's list as it is known, of which nothing is known where its
/// provider was never asked.
pub async fn list(app: &App, live: &Live) -> Result<Arc<TemplateList>, StoreError> {
    let id = &live.connection.id;
    let templates = &app.pipeline.templates;
    if let Some(list) = templates.known(id) {
        return Ok(list);
    }
    let question = async {
        let found = app.store.templates(&live.connection).await?;
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
    app: &Arc<App>,
    live: &Arc<Live>,
    wanted: &Wanted,
) -> Result<Result<Composed, TemplateError>, StoreError> {
    let language = &live.connection.settings.language;
    let known = list(app, live).await?;
    let found = compose::compose(&known, language, wanted);
    let is_first = known.synced_at.is_none();
    let may_be_news = found.is_err() && is_older(app, &known, limits::TEMPLATES_AGAIN_SECONDS);
    if !is_first && !may_be_news {
        return Ok(found);
    }
    // It goes on when nobody waits any more.
    let asking = {
        let (app, live) = (Arc::clone(app), Arc::clone(live));
        super::spawn(&Arc::clone(&app), async move { sync(&app, &live).await })
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
pub fn doubt(app: &Arc<App>, live: &Arc<Live>) {
    let (task_app, live) = (Arc::clone(app), Arc::clone(live));
    drop(super::spawn(app, async move {
        let app = task_app;
        let renewed = async {
            let known = list(&app, &live).await?;
            if !known.is_unlisted && is_older(&app, &known, limits::TEMPLATES_AGAIN_SECONDS) {
                sync(&app, &live).await?;
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
    app: &App,
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
    let known = list(app, live).await?;
    let language = &live.connection.settings.language;
    Ok(compose::compose(&known, language, &wanted))
}

/// Whether a list was not asked for within so many seconds.
fn is_older(app: &App, list: &TemplateList, seconds: i64) -> bool {
    let now = app.clock.now();
    !list
        .synced_at
        .is_some_and(|at| at.is_recent(now, seconds * Micros::SECOND))
}
