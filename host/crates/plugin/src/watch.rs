//! Shows the calls of this process to a watcher: what each used, and what the plugin made. Only
//! `leadhost plugin dev` watches, for the author of the plugin; a service has no watcher, and counts only
//! the time and memory of its calls (`history.rs`).

use tokio::sync::mpsc;

use super::usage::CallUsage;
use crate::prelude::*;
use leadhost_domain::channel::{
    RefusedSend, SendAnswer, SendStep, TemplatePage, TemplateStep, Webhook,
};

#[derive(Debug)]
pub enum Watched {
    Call(WatchedCall),
    Send(WatchedSend),
}

/// An attempt to send a message that has ended, by a call to the provider or without one.
#[derive(Debug)]
pub struct WatchedSend {
    pub plugin: String,
    pub took: Duration,
    /// The answer of the provider, without secrets. `None` if there was none, or it is long.
    pub response: Option<HttpResponse>,
    pub answer: SendAnswer,
    /// The time until the next attempt, if there will be one.
    pub next: Option<Duration>,
    /// Whether the messages of the instance wait until it is resumed.
    pub is_paused: bool,
}

#[derive(Debug)]
pub struct WatchedCall {
    pub digest: Digest,
    pub plugin: String,
    /// The name of the function, as the contract has it.
    pub function: &'static str,
    /// The id of the delivery or of the message; the version's digest if the call is for neither.
    pub id: String,
    /// The time from the request for the call to its answer, with the wait for a thread.
    pub elapsed: Duration,
    pub usage: CallUsage,
    /// The output, or why there is none.
    pub output: Result<WatchedOutput, String>,
}

#[derive(Debug)]
pub enum WatchedOutput {
    Conversion(ConverterOutput),
    Webhook(Webhook),
    /// The first step of reading the provider's list of templates.
    TemplateStep(TemplateStep),
    Templates(TemplatePage),
    /// The request that sends a message, or its outcome without one.
    SendStep(SendStep),
    /// The plugin refused the body, or the configuration.
    Refused(InputProblem),
    Other,
}

impl WatchedOutput {
    pub(super) fn from_conversion(answer: &Result<ConverterOutput, InputProblem>) -> Self {
        Self::of(answer, Self::Conversion)
    }

    pub(super) fn from_webhook(answer: &Result<Webhook, InputProblem>) -> Self {
        Self::of(answer, Self::Webhook)
    }

    pub(super) fn from_template_step(answer: &Result<TemplateStep, InputProblem>) -> Self {
        Self::of(answer, Self::TemplateStep)
    }

    fn of<T: Clone>(answer: &Result<T, InputProblem>, shown: fn(T) -> Self) -> Self {
        match answer {
            Ok(output) => shown(output.clone()),
            Err(problem) => Self::Refused(problem.clone()),
        }
    }

    /// Copies the output of `read-templates`. A refusal of the provider is shown by the service.
    pub(super) fn from_templates(answer: &Result<TemplatePage, RefusedSend>) -> Self {
        match answer {
            Ok(page) => Self::Templates(page.clone()),
            Err(_) => Self::Other,
        }
    }

    pub(super) fn from_send(step: &SendStep) -> Self {
        Self::SendStep(step.clone())
    }

    pub(super) fn from_other<T>(_: &T) -> Self {
        Self::Other
    }
}

#[derive(Default)]
pub(super) struct CallWatch(OnceLock<mpsc::Sender<Watched>>);

impl CallWatch {
    /// Returns the calls and the sends that end from now on. The first watcher is the only one: later ones get
    /// nothing. Those that it does not take in time are left out.
    pub(super) fn begin(&self) -> mpsc::Receiver<Watched> {
        let (sender, receiver) = mpsc::channel(limits::WATCHED_CALLS);
        // The receiver of a second watcher ends at once.
        let _ = self.0.set(sender);
        receiver
    }

    pub(super) fn handle(&self) -> Arc<CallHandle> {
        match self.0.get() {
            Some(_) => Arc::new(CallHandle::measured()),
            None => Arc::default(),
        }
    }

    pub(super) fn tell(&self, ended: impl FnOnce() -> Watched) {
        if let Some(watcher) = self.0.get() {
            let _ = watcher.try_send(ended());
        }
    }
}
