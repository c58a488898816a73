use super::change::{self, ChangeForms, Kind, pause, resume};
use super::workspace::has_workspace;
use crate::console::pages::prelude::*;
use leadhost_admin_api::instances::{InstanceView, Templates};

pub static ROUTES: &[Route] = pages! {
    GET "/instances" => page list();
    GET "/instances/{instance}" => page show(instance);
    POST "/instances/{instance}/secret" => form "/instances/{}" secret(instance, form);
    POST "/instances/{instance}/config" => form "/instances/{}" config(instance, form);
    POST "/instances/{instance}/pause" => form "/instances" pause(instance, form, (Kind::Instance));
    POST "/instances/{instance}/resume" => form "/instances" resume(instance, (Kind::Instance));
    POST "/instances/{instance}/sync-templates" => form "/instances" sync_templates(instance);
};

#[derive(Template)]
#[template(path = "console/instances.html")]
pub struct InstancesPage {
    frame: Frame,
    instances: Vec<InstanceView>,
    has_workspace: bool,
}

async fn list(visit: &Visit<'_>) -> PageResult<InstancesPage> {
    let list: Instances = visit.api().get("/instances").await?;
    Ok(InstancesPage {
        frame: visit.frame("instances", "Instances"),
        instances: list.instances,
        has_workspace: has_workspace(visit).await?,
    })
}

#[derive(Template)]
#[template(path = "console/instance.html")]
pub struct InstancePage {
    frame: Frame,
    instance: InstanceView,
    templates: Option<Templates>,
    /// Present if it has an adapter.
    change: Option<ChangeForms>,
}

async fn show(visit: &Visit<'_>, which: &str) -> PageResult<InstancePage> {
    let path = format!("/instances/{}", encoded(which));
    let mut instance: InstanceView = visit.api().get(&path).await?;
    let settings = instance.settings.as_mut();
    let templates = settings.and_then(|settings| settings.templates.take());
    let change = match (&instance.settings, &instance.adapter) {
        (Some(settings), Some(adapter)) => {
            let page = format!("/instances/{}", instance.id);
            let is_paused = instance.paused.is_some();
            let of = (adapter.as_str(), &settings.bound, is_paused);
            Some(ChangeForms::new(visit, page, of).await?)
        }
        _ => None,
    };
    Ok(InstancePage {
        change,
        frame: visit.frame("instances", format!("Instance {}", instance.name)),
        instance,
        templates,
    })
}

async fn sync_templates(visit: &Visit<'_>, which: &str) -> PageResult<FormOutcome> {
    let path = format!("/instances/{}/sync-templates", encoded(which));
    let _: serde_json::Value = visit.api().post(&path, &serde_json::json!({})).await?;
    Ok(FormOutcome::done(
        "/instances",
        "The templates were read from the provider.",
    ))
}

async fn secret(visit: &Visit<'_>, which: &str, form: &Form) -> PageResult<FormOutcome> {
    let done = change::secret(visit, Kind::Instance, which, form).await;
    or_refusal(visit, which, form, done).await
}

async fn config(visit: &Visit<'_>, which: &str, form: &Form) -> PageResult<FormOutcome> {
    let done = change::config(visit, Kind::Instance, which, form).await;
    or_refusal(visit, which, form, done).await
}

/// Shows the refusal of a change on its page.
async fn or_refusal(
    visit: &Visit<'_>,
    which: &str,
    form: &Form,
    done: PageResult<FormOutcome>,
) -> PageResult<FormOutcome> {
    let refusal = match done {
        Ok(done) => return Ok(done),
        Err(refusal) => refusal,
    };
    let status = refusal.status;
    let mut shown = show(visit, which).await?;
    match &mut shown.change {
        Some(change) => change.refused(form, refusal),
        None => return Err(refusal),
    }
    Ok(FormOutcome::Page(page(status, &shown)?))
}
