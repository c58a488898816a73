//! Failed conversions: the cause, and the result for the delivery.

use super::connections::ConnectionError;
use super::verify::outcome::Reason;
use super::{backoff, plugin_log};
use crate::prelude::*;
use leadhost_domain::content_coding::DECODED;
use leadhost_domain::plugin::RanWith;
use leadhost_store::ConversionResult;

#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// The plugin cannot declare the sender checks of this connection.
    #[error("the plugin refuses the configuration: {}", .0.message)]
    Configuration(InputProblem),
    /// The body is compressed in a way that the service cannot read: the coding that its sender names.
    #[error(
        "the body is compressed as `{0}`, which the service cannot read: let its sender use one of {DECODED}, or none"
    )]
    Undecoded(String),
}

impl ConvertError {
    /// Returns what the plugin wrote before it failed, line by line. It is not masked.
    pub fn log(&self) -> &[String] {
        match self {
            Self::Call(error) => error.log(),
            Self::Connection(_) | Self::Configuration(_) | Self::Undecoded(_) => &[],
        }
    }
}

impl From<&ConvertError> for Reason {
    fn from(error: &ConvertError) -> Self {
        match error {
            ConvertError::Call(error) => error.into(),
            ConvertError::Connection(_) | ConvertError::Undecoded(_) => {
                Self::Service(error.to_string())
            }
            ConvertError::Configuration(_) => Self::Plugin(error.to_string()),
        }
    }
}

pub fn empty(status: DeliveryStatus) -> ConversionResult {
    ConversionResult {
        status: Some(status),
        items: vec![],
        ran: None,
        error: None,
        notes: vec![],
        attempts: 0,
        next_attempt_at: None,
        presented: None,
    }
}

pub fn waits(reason: &str, attempts: u32, at: Micros) -> ConversionResult {
    ConversionResult {
        error: Some(reason.to_owned()),
        attempts,
        next_attempt_at: Some(at),
        ..empty(DeliveryStatus::Queued)
    }
}

/// Leaves a large conversion to the worker, which repeats it and commits it in parts, so
/// that other writes do not wait for it.
pub fn or_waits(pipeline: &Pipeline, result: ConversionResult) -> ConversionResult {
    if !result.is_large() {
        return result;
    }
    let reason = format!(
        "it has {} items, which the worker commits in parts",
        result.items.len()
    );
    waits(&reason, 0, pipeline.clock.now())
}

/// Returns the result of a failed conversion: queued if the plugin was not at fault,
/// otherwise failed with a later retry, and parked after the third failure on one digest. Its notes
/// are what the plugin wrote before it failed.
pub fn after_failure(
    pipeline: &Pipeline,
    live: &Live,
    error: &ConvertError,
    ran: Option<RanWith>,
    failures_before: u32,
) -> ConversionResult {
    let now = pipeline.clock.now();
    match error {
        ConvertError::Call(
            CallError::Busy | CallError::ShuttingDown | CallError::OutOfTime { inline: true, .. },
        ) => waits(&error.to_string(), failures_before, now),
        // Failed, so that another version retries it at once. No version has run.
        ConvertError::Call(CallError::CircuitOpen { until, .. }) => ConversionResult {
            error: Some(error.to_string()),
            attempts: failures_before,
            next_attempt_at: Some(*until),
            ..empty(DeliveryStatus::Failed)
        },
        ConvertError::Connection(_) => waits(
            &error.to_string(),
            failures_before,
            now.plus(pipeline.config.worker.backoff_first()),
        ),
        // No retry helps. Another version or a newer service tries it again.
        ConvertError::Undecoded(_) => ConversionResult {
            ran,
            error: Some(error.to_string()),
            attempts: failures_before,
            ..empty(DeliveryStatus::Failed)
        },
        ConvertError::Call(_) | ConvertError::Configuration(_) => {
            let attempts = failures_before + 1;
            let parked = attempts >= limits::ATTEMPTS_PER_DIGEST;
            let mut result = empty(if parked {
                DeliveryStatus::Parked
            } else {
                DeliveryStatus::Failed
            });
            result.ran = ran;
            result.error = Some(match error {
                ConvertError::Call(error) => plugin_log::with_exception(error, &live.secrets),
                _ => error.to_string(),
            });
            if let ConvertError::Call(error) = error {
                result.notes = plugin_log::notes(error, &live.secrets);
            }
            result.attempts = attempts;
            result.next_attempt_at = (!parked).then(|| now.plus(backoff(pipeline, attempts)));
            result
        }
    }
}

pub fn backoff(pipeline: &Pipeline, attempts: u32) -> Duration {
    let worker = &pipeline.config.worker;
    backoff::doubled(worker.backoff_first(), worker.backoff_longest(), attempts)
}
