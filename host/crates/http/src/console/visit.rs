use super::api::AdminApi;
use super::frame::Frame;
use super::sessions::Session;

use crate::auth::AdminCaller;
use crate::call::Call;

/// A request of an operator who is signed in.
pub struct Visit<'a> {
    pub call: &'a Call<'a>,
    pub caller: &'a AdminCaller,
    pub session: &'a Session,
}

impl<'a> Visit<'a> {
    pub fn api(&self) -> AdminApi<'a> {
        AdminApi {
            call: self.call,
            caller: self.caller,
        }
    }

    /// Returns the frame of a page. `section` is the name of its section's file.
    pub fn frame(&self, section: &'static str, title: impl Into<String>) -> Frame {
        Frame {
            section,
            title: title.into(),
            who: self.caller.label(),
            role: self.caller.role(),
            form_token: self.session.form_token.clone(),
            notice: self.call.http.sessions.take_notice(self.session),
            host: self.call.http.pipeline.fleet.name().to_owned(),
            public_url: self
                .call
                .http
                .core
                .config
                .server
                .public("")
                .unwrap_or_default(),
            now: self.call.http.core.clock.now(),
        }
    }
}
