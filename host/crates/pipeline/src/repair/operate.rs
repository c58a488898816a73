//! The operations on a repair: begin, cancel and undo.

use super::pass::log_end;
use super::{parting, replaying};
use crate::prelude::*;
use crate::versions::serving;
use leadhost_domain::repair::{Repair, RepairCounts, RepairPlan, RepairState};
use leadhost_store::{DeliveryFilter, RepairChanged};

/// Attempts of a change, if a host takes the repair at the same moment.
const ATTEMPTS: u32 = 5;

#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    #[error(
        "no version of `{0}` is active, so there is none to convert with: activate one with `leadhost plugin publish`"
    )]
    NothingActive(String),
    #[error(
        "{} is the active version of `{name}`: activate another version first, with `leadhost plugin publish {name}@DIGEST`",
        digest.short()
    )]
    Active { name: String, digest: Digest },
    #[error(
        "`{0}` is an adapter, and a repair is about leads: replay its webhooks with `leadhost delivery replay`"
    )]
    Adapter(String),
    #[error(
        "repair {id} is {state}, and there is one at a time: see `leadhost repair show {id}`, and `leadhost repair cancel {id}` ends a running one"
    )]
    Open { id: RepairId, state: RepairState },
    #[error("there is no repair `{0}`; `leadhost repair list` shows those that exist")]
    Unknown(String),
    #[error("repair {id} is {state}: only a repair or an undo that is under way can be cancelled")]
    NotOpen { id: RepairId, state: RepairState },
    #[error(
        "repair {0} is running: wait for its end, or cancel it with `leadhost repair cancel {0}`, and then undo it"
    )]
    Running(RepairId),
    #[error("repair {id} is {state}: a repair can be undone only once")]
    Undone { id: RepairId, state: RepairState },
    #[error(
        "repair {0} ended longer ago than receipts are kept (`retention.deliveries_days`), and a part of its receipt is removed: it can no longer be undone"
    )]
    Expired(RepairId),
    #[error("repair {0} ran without --apply: it wrote nothing that could be undone")]
    WroteNothing(RepairId),
    #[error("repair {0} was changed meanwhile: look at it and try again")]
    Changed(RepairId),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Clone, Debug)]
pub struct RepairOrder {
    pub plan: RepairPlan,
    pub started_by: String,
}

/// Begins a repair of the deliveries that this version converted. If there are none, it has ended at
/// once.
#[leadhost_boxed::boxed]
pub async fn begin(
    pipeline: &Arc<Pipeline>,
    version: &PluginRecord,
    order: RepairOrder,
) -> Result<Repair, RepairError> {
    let RepairOrder { plan, started_by } = order;
    let name = &version.description.name;
    if version.kind() == Some(PluginKind::Adapter) {
        return Err(RepairError::Adapter(name.clone()));
    }
    let store = &pipeline.store;
    let active = serving(pipeline, name).await?;
    let digest = active.ok_or_else(|| RepairError::NothingActive(name.clone()))?;
    if digest == plan.converted_by {
        return Err(RepairError::Active {
            name: name.clone(),
            digest,
        });
    }
    let any = DeliveryFilter {
        limit: 1,
        ..replaying::filter(&plan)
    };
    let is_any = !store.deliveries(&any).await?.is_empty()
        || plan.apply
            && !parting::cancelled(pipeline, &plan.converted_by)
                .await?
                .is_empty();
    let now = pipeline.clock.now();
    let new = Repair {
        id: RepairId::new(now),
        plan,
        state: RepairState::Running,
        generation: 0,
        cursor: None,
        counts: RepairCounts::default(),
        started_by,
        started_at: now,
        ended_at: None,
        why: None,
    };
    let new = if is_any {
        new
    } else {
        Repair {
            counts: RepairCounts {
                found: Some(0),
                ..RepairCounts::default()
            },
            ..new.in_state(RepairState::Done, now, None)
        }
    };
    let (repair, is_new) = store.begin_repair(&new).await?;
    if !is_new {
        return Err(RepairError::Open {
            id: repair.id,
            state: repair.state,
        });
    }
    tracing::info!(
        repair = %repair.id,
        plugin = %name,
        converted_by = repair.plan.converted_by.short(),
        apply = repair.plan.apply,
        started_by = %repair.started_by,
        "repair started"
    );
    match repair.state {
        RepairState::Running => pipeline.repairs.begun.notify_one(),
        _ => {
            log_end(pipeline, &repair).await?;
        }
    }
    Ok(repair)
}

/// Ends a running repair, or an undo: nothing further is changed or undone. The changes that
/// stand stay, and can be undone afterwards.
#[leadhost_boxed::boxed]
pub async fn cancel(pipeline: &Arc<Pipeline>, id: RepairId) -> Result<Repair, RepairError> {
    let cancelled = |repair: &Repair| {
        let why = match repair.state {
            RepairState::Running => "an operator cancelled it",
            RepairState::Undoing => "an operator cancelled its undo",
            state => return Err(RepairError::NotOpen { id, state }),
        };
        let now = pipeline.clock.now();
        Ok(repair.in_state(RepairState::Cancelled, now, Some(why.to_owned())))
    };
    let repair = change(pipeline, id, cancelled).await?;
    log_end(pipeline, &repair).await?;
    Ok(repair)
}

#[leadhost_boxed::boxed]
pub async fn undo(pipeline: &Arc<Pipeline>, id: RepairId) -> Result<Repair, RepairError> {
    let undoing = |repair: &Repair| {
        let state = repair.state;
        match state {
            RepairState::Running => return Err(RepairError::Running(id)),
            RepairState::Undoing | RepairState::Undone => {
                return Err(RepairError::Undone { id, state });
            }
            RepairState::Expired => return Err(RepairError::Expired(id)),
            RepairState::Done | RepairState::Incomplete | RepairState::Cancelled => {}
        }
        if !repair.plan.apply {
            return Err(RepairError::WroteNothing(id));
        }
        let now = pipeline.clock.now();
        Ok(repair.in_state(RepairState::Undoing, now, None))
    };
    let repair = change(pipeline, id, undoing).await?;
    tracing::info!(repair = %id, plugin = %repair.plan.plugin, "repair is being undone");
    pipeline.repairs.begun.notify_one();
    Ok(repair)
}

/// Changes a repair as `next` decides. The host that works on it may take it at the same moment:
/// then it is read again.
async fn change(
    pipeline: &Pipeline,
    id: RepairId,
    next: impl Fn(&Repair) -> Result<Repair, RepairError>,
) -> Result<Repair, RepairError> {
    let store = &pipeline.store;
    for _ in 0..ATTEMPTS {
        let repair = store.repair(id).await?;
        let repair = repair.ok_or_else(|| RepairError::Unknown(id.to_string()))?;
        match store.change_repair(&next(&repair)?).await? {
            RepairChanged::Done(changed) => return Ok(changed),
            RepairChanged::Open(other) => {
                return Err(RepairError::Open {
                    id: other.id,
                    state: other.state,
                });
            }
            RepairChanged::Stale => {}
        }
    }
    Err(RepairError::Changed(id))
}
