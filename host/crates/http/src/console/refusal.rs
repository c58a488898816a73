use askama::Template;

use super::api::ApiRefusal;
use super::frame::Frame;
use super::handler::ConsoleHandler;
use super::sessions::Session;
use super::visit::Visit;
use crate::prelude::*;

#[derive(Template)]
#[template(path = "console/refusal.html")]
pub struct RefusalPage {
    frame: Frame,
    status: StatusCode,
    message: String,
}

impl RefusalPage {
    pub fn new(visit: &Visit<'_>, refusal: &ApiRefusal) -> Self {
        let title = match refusal.status {
            StatusCode::NOT_FOUND => "Not found",
            _ => "Not possible",
        };
        Self {
            frame: visit.frame("none", title),
            status: refusal.status,
            message: refusal.message.clone(),
        }
    }
}

/// A page that says that the store does not answer, without the frame: whose session it is, the store
/// knows.
#[derive(Template)]
#[template(path = "console/unavailable.html")]
pub struct UnavailablePage {
    host: String,
    message: String,
    /// Why, as far as the browser of a session may know it.
    cause: Option<String>,
    /// The address that was asked, or the first page in place of a form.
    again: String,
}

impl UnavailablePage {
    pub fn new(
        call: &Call<'_>,
        handler: &ConsoleHandler,
        session: Option<&Session>,
        refusal: &ApiRefusal,
    ) -> Self {
        let asked = call.head.uri.path_and_query();
        let asked = asked.filter(|_| !handler.is_form());
        let outage = session.and_then(|_| call.http.core.store.outage());
        Self {
            host: call.http.pipeline.fleet.name().to_owned(),
            message: refusal.message.clone(),
            cause: outage.map(|outage| outage.reason),
            again: asked.map_or_else(|| "/console".to_owned(), ToString::to_string),
        }
    }
}
