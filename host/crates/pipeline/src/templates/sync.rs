//! Requests an instance's templates from its provider, page by page, and stores them. Pages
//! and templates are bounded: a list that cannot be read as a whole is discarded, and the
//! old one stays. The provider's reasons are stored with the list and never logged.

use crate::mask;
use crate::prelude::*;
use leadhost_domain::channel::{RefusedSend, Template, TemplateStep};
use leadhost_domain::exchange::HttpRequest;
use leadhost_egress::EgressError;
use leadhost_store::TemplateList;
use leadhost_telemetry::CallSubject;
use leadhost_telemetry::TemplateListOutcome;

/// Renews the list of an instance and returns it, with an error in it if the provider could
/// not be asked. Calls during a request get its result (single-flight).
pub async fn sync(pipeline: &Arc<Pipeline>, live: &Live) -> Result<Arc<TemplateList>, StoreError> {
    let templates = &pipeline.templates;
    let id = &live.connection.id;
    let came = pipeline.clock.now();
    let before = pipeline.store.templates(&live.connection).await?;
    let turn = templates.turn(id);
    let mut before = match turn.try_lock() {
        Ok(mine) => {
            let list = renew(pipeline, live, before.unwrap_or_default()).await?;
            drop(mine);
            return Ok(list);
        }
        // Another call is in progress.
        Err(_) => before,
    };
    let mine = turn.lock().await;
    if let Some(now) = pipeline.store.templates(&live.connection).await? {
        if now.synced_at.is_some_and(|at| at >= came) || Some(&now) != before.as_ref() {
            return Ok(Arc::new(now));
        }
        before = Some(now);
    }
    let list = renew(pipeline, live, before.unwrap_or_default()).await?;
    drop(mine);
    Ok(list)
}

async fn renew(
    pipeline: &Pipeline,
    live: &Live,
    before: TemplateList,
) -> Result<Arc<TemplateList>, StoreError> {
    let asked = ask(pipeline, live).await;
    let now = pipeline.clock.now();
    let list = match asked {
        Ok(Some(templates)) => listed(templates, now),
        Ok(None) => TemplateList {
            synced_at: Some(now),
            is_unlisted: true,
            ..TemplateList::default()
        },
        Err(error) => {
            let logged = mask::text(&error.logged(), &live.secrets).into_owned();
            let error = mask::text(&error.to_string(), &live.secrets).into_owned();
            if before.error.as_ref() != Some(&error) {
                let effect = if before.templates.is_empty() {
                    "templates are sent unchecked"
                } else {
                    "the old list stays in use"
                };
                let connection = &live.connection;
                tracing::warn!(instance = %connection.name, adapter = %connection.plugin, error = logged, effect, "template list not read; `leadhost instance show` has the details");
            }
            TemplateList {
                synced_at: Some(now),
                error: Some(error),
                ..before
            }
        }
    };
    pipeline
        .metrics
        .messaging
        .templates(if list.error.is_some() {
            TemplateListOutcome::Failed
        } else if list.is_unlisted {
            TemplateListOutcome::Unlisted
        } else {
            TemplateListOutcome::Done
        });
    pipeline
        .store
        .put_templates(&live.connection, &list)
        .await?;
    let list = Arc::new(list);
    // A query in progress may return the old list.
    pipeline.templates.forget();
    pipeline.templates.keep(&live.connection.id, &list);
    Ok(list)
}

/// Keeps each name and language once, an approved one before others.
fn listed(mut templates: Vec<Template>, now: Micros) -> TemplateList {
    templates.retain(|template| !template.name.is_empty() && !template.language.is_empty());
    templates.sort_by(|a, b| {
        let key = |t: &Template| (t.name.clone(), t.language.clone(), !t.is_approved());
        key(a).cmp(&key(b))
    });
    templates.dedup_by(|b, a| a.name == b.name && a.language == b.language);
    TemplateList {
        synced_at: Some(now),
        error: None,
        is_unlisted: false,
        templates,
    }
}

#[derive(Debug, thiserror::Error)]
enum SyncError {
    #[error("no version of `{0}` is active")]
    NoAdapter(String),
    #[error(transparent)]
    Adapter(#[from] CallError),
    #[error("the adapter cannot request the list: {0}")]
    Problem(InputProblem),
    #[error(transparent)]
    Egress(#[from] EgressError),
    #[error("the provider refuses to list them ({category}, code `{code}`): {text}", category = .0.category.as_str(), code = .0.code, text = .0.text)]
    Refused(RefusedSend),
    #[error(
        "the provider lists more than {} templates, {} pages or {} bytes",
        limits::TEMPLATES_PER_INSTANCE,
        limits::TEMPLATE_PAGES,
        limits::TEMPLATE_LIST_BYTES
    )]
    TooMany,
}

impl SyncError {
    /// Returns the text for the log: without words of a provider or a plugin, which may
    /// name people. The whole error stays with the list.
    fn logged(&self) -> String {
        match self {
            Self::NoAdapter(_) | Self::Egress(_) | Self::TooMany => self.to_string(),
            Self::Adapter(error) => format!("the adapter failed ({})", error.kind()),
            Self::Problem(_) => "the adapter cannot request the list".to_owned(),
            Self::Refused(RefusedSend { category, code, .. }) => {
                let category = category.as_str();
                format!("the provider refuses to list them ({category}, code `{code}`)")
            }
        }
    }
}

/// Returns `None` if this provider has no list.
async fn ask(pipeline: &Pipeline, live: &Live) -> Result<Option<Vec<Template>>, SyncError> {
    let name = &live.connection.plugin;
    let plugin = pipeline
        .plugins
        .active(name)
        .ok_or_else(|| SyncError::NoAdapter(name.clone()))?;
    let config = live.connection.config.as_str();
    let lane = live.connection.id.as_str();
    let call = pipeline
        .plugins
        .list_templates(&plugin, lane, config, CallBudget::Worker);
    let step = pipeline
        .metrics
        .plugins
        .calling(&plugin, CallSubject::Connection, call)
        .await?;
    let mut templates = Vec::new();
    let mut next = match step.map_err(SyncError::Problem)? {
        TemplateStep::Unlisted => return Ok(None),
        TemplateStep::Call(request) => Some(request),
        TemplateStep::Page(page) => {
            templates = page.templates;
            page.next
        }
    };
    let mut pages = 0;
    let mut bytes = size(&templates);
    while let Some(request) = next {
        pages += 1;
        if pages > limits::TEMPLATE_PAGES {
            return Err(SyncError::TooMany);
        }
        let page = page(pipeline, live, &plugin, &request).await?;
        bytes += size(&page.templates);
        templates.extend(page.templates);
        if templates.len() > limits::TEMPLATES_PER_INSTANCE || bytes > limits::TEMPLATE_LIST_BYTES {
            return Err(SyncError::TooMany);
        }
        next = page.next;
    }
    Ok(Some(templates))
}

fn size(templates: &[Template]) -> usize {
    let texts = templates
        .iter()
        .map(|template| template.text.len() + template.components.len());
    texts.sum()
}

async fn page(
    pipeline: &Pipeline,
    live: &Live,
    plugin: &Arc<Loaded>,
    request: &HttpRequest,
) -> Result<leadhost_domain::channel::TemplatePage, SyncError> {
    let call = pipeline
        .egress
        .call(request, &live.secrets, &live.connection.allow, || true);
    let response = pipeline.metrics.egress.sending(call).await?;
    let config = live.connection.config.as_str();
    let lane = live.connection.id.as_str();
    let read = pipeline
        .plugins
        .read_templates(plugin, lane, config, response, CallBudget::Worker);
    let page = pipeline
        .metrics
        .plugins
        .calling(plugin, CallSubject::Connection, read)
        .await?;
    page.map_err(SyncError::Refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_has_no_words_of_a_provider() {
        let refused = SyncError::Refused(RefusedSend {
            category: leadhost_domain::channel::Category::Connection,
            code: "190".to_owned(),
            title: "Ilda's token".to_owned(),
            text: "the token of ilda@example.com has ended".to_owned(),
            details: "+5511900000001".to_owned(),
            retry_after: None,
        });
        let expect = "the provider refuses to list them (connection, code `190`)";
        assert_eq!(refused.logged(), expect);
        assert!(refused.to_string().contains("ilda@example.com"));
    }

    #[test]
    fn a_template_is_listed_once_and_an_approved_one_wins() {
        let template = |name: &str, status: &str| Template {
            name: name.to_owned(),
            language: "en".to_owned(),
            status: status.to_owned(),
            category: String::new(),
            reason: String::new(),
            text: String::new(),
            placeholders: Vec::new(),
            components: "[]".to_owned(),
        };
        let list = listed(
            vec![
                template("b", "approved"),
                template("a", "rejected"),
                template("a", "approved"),
                template("", "approved"),
            ],
            Micros(7),
        );
        let found: Vec<_> = list
            .templates
            .iter()
            .map(|one| (one.name.as_str(), one.status.as_str()))
            .collect();
        assert_eq!(found, [("a", "approved"), ("b", "approved")]);
    }
}
