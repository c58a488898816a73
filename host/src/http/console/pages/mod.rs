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

use std::borrow::Cow;

use hyper::StatusCode;
use serde_json::Value;

use self::connections::Change;
use super::api::ApiRefusal;
use super::form::{Form, encoded};
use super::{FormOutcome, Visit, page};
use crate::admin_api::activity::ActivityPeriod;
use crate::domain::time::Micros;
use crate::http::reply::ApiResponse;
use crate::http::route::ConsoleRoute;

/// Shows a page.
///
/// # Errors
///
/// [`ApiRefusal`] if an operation of the admin API that the page asks refuses or fails.
pub async fn show(visit: &Visit<'_>, route: ConsoleRoute<'_>) -> Result<ApiResponse, ApiRefusal> {
    let ok = StatusCode::OK;
    match route {
        ConsoleRoute::Today => page(ok, &today::show(visit).await?),
        ConsoleRoute::Deliveries => deliveries::find(visit).await,
        ConsoleRoute::Delivery { id } => page(ok, &deliveries::show(visit, id).await?),
        ConsoleRoute::Analytics => analytics::show(visit).await,
        ConsoleRoute::Plugins => page(ok, &plugins::list(visit).await?),
        ConsoleRoute::Plugin { name } => page(ok, &plugins::show(visit, name).await?),
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
        ConsoleRoute::Messages => page(ok, &messages::list(visit).await?),
        ConsoleRoute::Deals => deals::find(visit).await,
        ConsoleRoute::Deal { id } => page(ok, &deals::show(visit, id).await?),
        ConsoleRoute::Tickets => page(ok, &tickets::list(visit).await?),
        ConsoleRoute::Ticket { id } => page(ok, &tickets::show(visit, id).await?),
        ConsoleRoute::Contacts => contacts::find(visit).await,
        ConsoleRoute::Contact { id } => page(ok, &contacts::show(visit, id).await?),
        ConsoleRoute::Erasure { id } => page(ok, &contacts::receipt(visit, id).await?),
        ConsoleRoute::Keys => page(ok, &keys::list(visit).await?),
        ConsoleRoute::Audit => page(ok, &audit::list(visit).await?),
        ConsoleRoute::Service => page(ok, &service::show(visit).await?),
        _ => Err(nothing_here()),
    }
}

/// Runs a form.
///
/// # Errors
///
/// [`ApiRefusal`] if the operation of the admin API that the form asks refuses or fails.
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
        ConsoleRoute::StartRepair => "/repairs".to_owned(),
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

fn nothing_here() -> ApiRefusal {
    ApiRefusal::new(StatusCode::NOT_FOUND, "There is no such page.")
}

/// Returns how a chart calls the slots of a period.
fn slot_names(period: ActivityPeriod, slots: &[Micros]) -> Vec<String> {
    // The distinguishing part of `2026-03-02 12:15`.
    let name = |at: &Micros| {
        let text = at.text().replace('T', " ");
        let part = match period {
            ActivityPeriod::Hour | ActivityPeriod::Day => text.get(11..16),
            ActivityPeriod::Week => text.get(5..16),
        };
        part.unwrap_or_default().to_owned()
    };
    slots.iter().map(name).collect()
}

/// Returns a value as a person reads it: a text without its quotes.
fn plain(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed("-"),
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(all) if !all.iter().any(|one| one.is_object() || one.is_array()) => {
            let all: Vec<Cow<'_, str>> = all.iter().map(plain).collect();
            Cow::Owned(all.join(", "))
        }
        other => Cow::Owned(other.to_string()),
    }
}

/// The filters of a list, as the page's address has them.
struct Filters(Vec<(&'static str, String)>);

impl Filters {
    /// Reads the named values of the page's address.
    fn read(visit: &Visit<'_>, names: &[&'static str]) -> Self {
        let query = visit.call.query();
        let value = |name: &&'static str| Some((*name, query.filled(&[name])?.trim().to_owned()));
        Self(names.iter().filter_map(value).collect())
    }

    /// Reads the named values of a form.
    fn from_form(form: &Form, names: &[&'static str]) -> Self {
        let value = |name: &&'static str| Some((*name, form.filled(name)?));
        Self(names.iter().filter_map(value).collect())
    }

    /// Returns the names and values that are set, but for the place in the list.
    fn set(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = self.0.iter();
        let all = all.map(|(name, value)| (*name, value.as_str()));
        all.filter(|(name, _)| *name != "before")
    }

    /// Sets a value, in the place of the one that it has.
    fn put(&mut self, name: &'static str, value: String) {
        self.0.retain(|(key, _)| *key != name);
        self.0.push((name, value));
    }

    /// Returns a value, or an empty text.
    fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(key, _)| *key == name);
        found.map_or("", |(_, value)| value)
    }

    /// Sets a value that the address left out.
    fn default(&mut self, name: &'static str, value: &str) {
        if self.get(name).is_empty() {
            self.0.push((name, value.to_owned()));
        }
    }

    /// Returns the query with these values, with its `?`, or an empty text.
    fn query(&self) -> String {
        self.query_with(&[])
    }

    /// Returns the address of the next page of a list, below `/console`: the rows before this one.
    fn next_page(&self, path: &str, last: Option<impl ToString>) -> Option<String> {
        let before = last?.to_string();
        Some(format!("{path}{}", self.query_with(&[("before", &before)])))
    }

    /// Returns the query with these values and others.
    fn query_with(&self, others: &[(&str, &str)]) -> String {
        let own = self.0.iter().map(|(name, value)| (*name, value.as_str()));
        let others = others.iter().copied();
        let pairs: Vec<String> = own
            .filter(|(name, _)| others.clone().all(|(other, _)| other != *name))
            .chain(others.clone())
            .map(|(name, value)| format!("{name}={}", encoded(value)))
            .collect();
        if pairs.is_empty() {
            return String::new();
        }
        format!("?{}", pairs.join("&"))
    }
}
