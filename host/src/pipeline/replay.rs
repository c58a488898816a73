//! An operator asks for a delivery to be converted again: with the version that
//! serves now, showing what would change in what is finished, and changing it
//! only with `apply`. One replay of a delivery at a time.

use std::sync::Arc;

use super::worker;
use crate::app::App;
use crate::domain::delivery::DeliveryStatus;
use crate::domain::id::DeliveryId;
use crate::store::{DeliveryOutcome, Mode, Reconversion, StoreError, Write, Written};

#[derive(Clone, Copy, Debug, Default)]
pub struct ReplayOptions {
    /// Write the differences, save what a person edited since.
    pub apply: bool,
    /// Let a quarantined delivery go on, if its sender's proof holds by now.
    pub release: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error(
        "there is no delivery {0}, or it is being worked on right now: look with `leadhost delivery show {0}`"
    )]
    NotFound(DeliveryId),
    #[error(
        "delivery {0} is quarantined: put its connection's secret right, then replay with --release"
    )]
    Quarantined(DeliveryId),
    #[error("delivery {delivery} stays in quarantine: {why}")]
    StillUnproven { delivery: DeliveryId, why: String },
    #[error("delivery {0} was taken over by another host meanwhile; try again")]
    TakenOver(DeliveryId),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Replays one delivery.
pub async fn one(
    app: &Arc<App>,
    id: DeliveryId,
    options: ReplayOptions,
) -> Result<DeliveryOutcome, ReplayError> {
    let now = app.clock.now();
    let until = now.plus_seconds(app.config.worker.lease_seconds);
    let held = app
        .store
        .claim_delivery(id, now, until)
        .await?
        .ok_or(ReplayError::NotFound(id))?;
    let quarantined = held.status == DeliveryStatus::Quarantined;
    // What was never proven is checked again by the conversion itself; without
    // leave it goes back as it is.
    let result = if quarantined && !options.release {
        let mut same = super::convert::empty(DeliveryStatus::Quarantined);
        same.presented.clone_from(&held.presented);
        same.error = Some("the sender could not prove itself".to_owned());
        same
    } else {
        worker::reconvert(app, &held).await
    };
    let why = result.error.clone().unwrap_or_default();
    let still = result.status == Some(DeliveryStatus::Quarantined);
    let mode = Mode::Replay {
        apply: options.apply,
    };
    let write = Write::Convert(Box::new(Reconversion {
        delivery: id,
        lease: held.lease,
        mode,
        result,
    }));
    match app.writer.submit(write).await? {
        Written::Done(_) if still && !options.release => Err(ReplayError::Quarantined(id)),
        Written::Done(_) if still => Err(ReplayError::StillUnproven { delivery: id, why }),
        Written::Done(outcome) => {
            app.pipeline.wake();
            Ok(outcome)
        }
        Written::Stale | Written::NotKept => Err(ReplayError::TakenOver(id)),
    }
}
