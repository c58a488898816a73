//! Messages to contacts: answers to partners, attempts to send, lists of templates.

use std::time::Duration;

use super::register::{Counter, Family, Histogram, OutcomeLabel, count, metrics};
use leadhost_domain::channel::{AttemptOutcome, Category};
use leadhost_domain::word::words;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotificationOutcome {
    Accepted,
    /// The worker sends it.
    Waiting,
    /// The provider had not answered when the partner was answered.
    Late,
    Unknown,
    Failed,
    Refused(Category),
    /// The body has issues.
    Invalid,
    /// No instance of the workspace can send it.
    NoInstance,
    /// The template takes other parameters.
    Misfit,
    /// There is no such template.
    Template,
    Banned,
    KeyReused,
    /// The first request with its key is still in progress.
    Running,
    /// The answer of an earlier request with its key.
    Replayed,
}

impl NotificationOutcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Waiting => "waiting",
            Self::Late => "late",
            Self::Unknown => "unknown",
            Self::Failed => "failed",
            Self::Refused(category) => category.as_str(),
            Self::Invalid => "invalid",
            Self::NoInstance => "no_instance",
            Self::Misfit => "misfit",
            Self::Template => "template",
            Self::Banned => "banned",
            Self::KeyReused => "key_reused",
            Self::Running => "running",
            Self::Replayed => "replayed",
        }
    }
}

words! {
    TemplateListOutcome: "the outcome of a request for templates" {
        Done = "listed",
        Failed = "failed",
        /// The provider has no list.
        Unlisted = "unlisted",
    }
}

metrics! {
    MessagingMetrics {
        notifications: Family<OutcomeLabel, Counter> =
            add("notifications", "Requests to send a message, by the answer that the partner got");
        notification_host_seconds: Histogram =
            seconds("notification_host_duration", "Time of a request to send a message, without the provider's share");
        sends: Family<OutcomeLabel, Counter> =
            add("sends", "Attempts to send a message: accepted, unknown, or the class of the refusal");
        provider_seconds: Histogram =
            seconds("provider_duration", "Duration of one call to a provider that sends a message");
        template_lists: Family<OutcomeLabel, Counter> =
            add("template_lists", "Requests for an instance's list of templates, by outcome");
    }
}

impl MessagingMetrics {
    /// Counts a notification by the answer that the partner got.
    pub fn notification(&self, outcome: NotificationOutcome) {
        count(&self.notifications, outcome.as_str());
    }

    /// Records the host's share of a notification's time.
    pub fn notified(&self, took: Duration) {
        self.notification_host_seconds.observe(took.as_secs_f64());
    }

    pub fn send(&self, outcome: AttemptOutcome) {
        count(&self.sends, outcome.as_str());
    }

    /// Records the provider's share of a send's time.
    pub fn provider(&self, took: Duration) {
        self.provider_seconds.observe(took.as_secs_f64());
    }

    /// Counts a request to an instance's provider for its templates.
    pub fn templates(&self, outcome: TemplateListOutcome) {
        count(&self.template_lists, outcome.as_str());
    }
}
