//! The pages, one file for each section with its forms.

mod analytics;
mod audit;
mod change;
mod connections;
mod contacts;
mod conversations;
mod deals;
mod deliveries;
mod edit_connection;
mod faults;
pub mod filters;
mod golden_cases;
mod instances;
mod keys;
mod messages;
mod new_connection;
mod part;
mod plugins;
mod repairs;
mod replays;
mod service;
mod tickets;
mod today;
pub mod words;
pub mod workspace;

use hyper::StatusCode;

use self::connections::Change;
use super::api::ApiRefusal;
use super::form::{Form, encoded};
use super::{
    answer::{FormOutcome, page},
    visit::Visit,
};
use crate::reply::ApiResponse;
use crate::route::ConsoleRoute;

/// Shows a page.
pub async fn show(visit: &Visit<'_>, route: ConsoleRoute<'_>) -> Result<ApiResponse, ApiRefusal> {
    let ok = StatusCode::OK;
    match route {
        ConsoleRoute::Today => today::show(visit).await,
        ConsoleRoute::Deliveries => deliveries::find(visit).await,
        ConsoleRoute::Delivery { id } => page(ok, &deliveries::show(visit, id).await?),
        ConsoleRoute::Analytics => analytics::show(visit).await,
        ConsoleRoute::Plugins => page(ok, &plugins::list(visit).await?),
        ConsoleRoute::Plugin { name } => plugins::find(visit, name).await,
        ConsoleRoute::PluginGolden { name, digest } => {
            page(ok, &golden_cases::show(visit, name, digest).await?)
        }
        ConsoleRoute::Repairs => page(ok, &repairs::list(visit).await?),
        ConsoleRoute::Repair { id } => page(ok, &repairs::show(visit, id).await?),
        ConsoleRoute::Connections => page(ok, &connections::list(visit).await?),
        ConsoleRoute::NewConnection => page(ok, &new_connection::show(visit).await?),
        ConsoleRoute::Connection { which } => page(ok, &connections::show(visit, which).await?),
        ConsoleRoute::ConnectionEntry { which } => {
            page(ok, &edit_connection::show(visit, which).await?)
        }
        ConsoleRoute::Retirement { which } => {
            page(ok, &edit_connection::retirement(visit, which).await?)
        }
        ConsoleRoute::Conversation { id } => page(ok, &conversations::show(visit, id).await?),
        ConsoleRoute::Instances => page(ok, &instances::list(visit).await?),
        ConsoleRoute::Instance { which } => page(ok, &instances::show(visit, which).await?),
        ConsoleRoute::Messages => messages::list(visit).await,
        ConsoleRoute::Deals => deals::find(visit).await,
        ConsoleRoute::Deal { id } => page(ok, &deals::show(visit, id).await?),
        ConsoleRoute::Tickets => tickets::list(visit).await,
        ConsoleRoute::Ticket { id } => page(ok, &tickets::show(visit, id).await?),
        ConsoleRoute::Contacts => contacts::find(visit).await,
        ConsoleRoute::Contact { id } => page(ok, &contacts::show(visit, id).await?),
        ConsoleRoute::Erasure { id } => page(ok, &contacts::receipt(visit, id).await?),
        ConsoleRoute::Keys => page(ok, &keys::list(visit).await?),
        ConsoleRoute::Audit => audit::list(visit).await,
        ConsoleRoute::Service => page(ok, &service::show(visit).await?),
        _ => Err(nothing_here()),
    }
}

/// Runs a form.
pub async fn submit(
    visit: &Visit<'_>,
    route: ConsoleRoute<'_>,
    form: &Form,
) -> Result<FormOutcome, ApiRefusal> {
    match route {
        ConsoleRoute::ReplayDeliveries => replays::submit(visit, form).await,
        ConsoleRoute::ReplayDelivery { id } => deliveries::replay(visit, id, form).await,
        ConsoleRoute::ExportDelivery { id } => deliveries::export(visit, id).await,
        ConsoleRoute::ActivatePlugin { name } => plugins::activate(visit, name, form).await,
        ConsoleRoute::VerifyPlugin { name } => plugins::verify(visit, name, form).await,
        ConsoleRoute::PluginImpact { name } => plugins::impact(visit, name, form).await,
        ConsoleRoute::StartRepair => repairs::start(visit, form).await,
        ConsoleRoute::CancelRepair { id } => repairs::cancel(visit, id).await,
        ConsoleRoute::UndoRepair { id } => repairs::undo(visit, id, form).await,
        ConsoleRoute::RollBackPlugin { name } => plugins::roll_back(visit, name, form).await,
        ConsoleRoute::StartRollout { name } => plugins::start_rollout(visit, name, form).await,
        ConsoleRoute::ChangeRollout { name } => plugins::change_rollout(visit, name, form).await,
        ConsoleRoute::UploadPlugin => plugins::upload(visit, form).await,
        ConsoleRoute::TryConnection => new_connection::try_body(visit, form).await,
        ConsoleRoute::MakeConnection => new_connection::make(visit, form).await,
        ConsoleRoute::TestConnection { which } => connections::test(visit, which, form).await,
        ConsoleRoute::SaveConnection { which } => edit_connection::save(visit, which, form).await,
        ConsoleRoute::RetireConnection { which } => {
            edit_connection::retire(visit, which, form).await
        }
        ConsoleRoute::SetConnectionSecret { which } => {
            connections::change(visit, which, form, Change::Secret).await
        }
        ConsoleRoute::ChangeConnection { which } => {
            connections::change(visit, which, form, Change::Config).await
        }
        ConsoleRoute::TryChange { which } => {
            connections::change(visit, which, form, Change::Try).await
        }
        ConsoleRoute::SetInstanceSecret { which } => {
            instances::change(visit, which, form, true).await
        }
        ConsoleRoute::ChangeInstance { which } => {
            instances::change(visit, which, form, false).await
        }
        ConsoleRoute::PauseConnection { which } => connections::pause(visit, which, form).await,
        ConsoleRoute::ResumeConnection { which } => connections::resume(visit, which).await,
        ConsoleRoute::PauseInstance { which } => instances::pause(visit, which, form).await,
        ConsoleRoute::ResumeInstance { which } => instances::resume(visit, which).await,
        ConsoleRoute::SyncTemplates { which } => instances::sync_templates(visit, which).await,
        ConsoleRoute::PlayReply => messages::reply(visit, form).await,
        ConsoleRoute::ResolveMessage { id } => messages::resolve(visit, id, form).await,
        ConsoleRoute::ResolveMessages => messages::resolve_many(visit, form).await,
        ConsoleRoute::EraseContact => contacts::erase(visit, form).await,
        ConsoleRoute::CreateKey => keys::create(visit, form).await,
        ConsoleRoute::MakePartner => keys::make_partner(visit, form).await,
        ConsoleRoute::RevokeKey { id } => keys::revoke(visit, id).await,
        _ => Err(nothing_here()),
    }
}

/// Returns the page, below `/console`, from which a form is sent: it shows why the form was refused.
pub fn origin_of(route: ConsoleRoute<'_>, form: &Form) -> String {
    match route {
        ConsoleRoute::ReplayDelivery { id } | ConsoleRoute::ExportDelivery { id } => {
            format!("/deliveries/{id}")
        }
        ConsoleRoute::ReplayDeliveries => "/deliveries".to_owned(),
        ConsoleRoute::ActivatePlugin { name }
        | ConsoleRoute::VerifyPlugin { name }
        | ConsoleRoute::PluginImpact { name }
        | ConsoleRoute::RollBackPlugin { name }
        | ConsoleRoute::StartRollout { name }
        | ConsoleRoute::ChangeRollout { name } => format!("/plugins/{name}"),
        ConsoleRoute::SaveConnection { which } => format!("/connections/{which}/entry"),
        ConsoleRoute::RetireConnection { which } => format!("/connections/{which}/retire"),
        ConsoleRoute::SetConnectionSecret { which }
        | ConsoleRoute::ChangeConnection { which }
        | ConsoleRoute::TryChange { which } => format!("/connections/{which}"),
        ConsoleRoute::SetInstanceSecret { which } | ConsoleRoute::ChangeInstance { which } => {
            format!("/instances/{which}")
        }
        ConsoleRoute::PauseConnection { .. }
        | ConsoleRoute::ResumeConnection { .. }
        | ConsoleRoute::TestConnection { .. } => "/connections".to_owned(),
        ConsoleRoute::TryConnection | ConsoleRoute::MakeConnection => "/connections/new".to_owned(),
        ConsoleRoute::UploadPlugin => "/plugins".to_owned(),
        // The form is on the page of the plugin.
        ConsoleRoute::StartRepair => match form.filled("plugin") {
            Some(plugin) => format!("/plugins/{}", encoded(&plugin)),
            None => "/repairs".to_owned(),
        },
        ConsoleRoute::CancelRepair { id } | ConsoleRoute::UndoRepair { id } => {
            format!("/repairs/{id}")
        }
        ConsoleRoute::PauseInstance { .. }
        | ConsoleRoute::ResumeInstance { .. }
        | ConsoleRoute::SyncTemplates { .. } => "/instances".to_owned(),
        ConsoleRoute::PlayReply => messages::origin_of_reply(form),
        ConsoleRoute::ResolveMessage { .. } | ConsoleRoute::ResolveMessages => {
            "/messages".to_owned()
        }
        ConsoleRoute::EraseContact => "/contacts".to_owned(),
        ConsoleRoute::CreateKey | ConsoleRoute::MakePartner | ConsoleRoute::RevokeKey { .. } => {
            "/keys".to_owned()
        }
        _ => String::new(),
    }
}

/// Returns the refusal of an address without a page.
pub fn nothing_here() -> ApiRefusal {
    ApiRefusal::new(StatusCode::NOT_FOUND, "There is no such page.")
}
