//! The work of one host on the open repair, which the replay and the undo share: the lease on the job,
//! the pauses for live traffic, and the end.

use crate::fleet::FleetJob;
use crate::live_traffic::LiveTraffic;
use crate::prelude::*;
use leadhost_domain::audit::{Act, AuditActor, OperatorAct, SERVICE};
use leadhost_domain::repair::{Repair, RepairOutcome, RepairReceipt, RepairState, RepairUndone};
use leadhost_store::RepairChanged;

/// The longest pause after a piece of work.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

pub(super) struct RepairPass<'a> {
    pub pipeline: &'a Arc<Pipeline>,
    shutdown: &'a Shutdown,
    job: &'a mut FleetJob,
    pub repair: Repair,
    /// The number of the last moved deal in the receipt whose former contact was looked at.
    pub merged: i64,
    held: Instant,
    traffic: LiveTraffic,
}

impl<'a> RepairPass<'a> {
    pub fn new(
        pipeline: &'a Arc<Pipeline>,
        shutdown: &'a Shutdown,
        job: &'a mut FleetJob,
        repair: Repair,
    ) -> Self {
        Self {
            pipeline,
            shutdown,
            job,
            repair,
            merged: 0,
            held: Instant::now(),
            traffic: LiveTraffic::new(&pipeline.plugins),
        }
    }

    /// Returns whether this host goes on: the service does not stop, and the job is this host's.
    pub async fn goes_on(&mut self) -> Result<bool, StoreError> {
        if self.shutdown.has_begun() {
            return Ok(false);
        }
        if self.held.elapsed() < FleetJob::period() {
            return Ok(true);
        }
        self.held = Instant::now();
        Ok(self.job.hold(self.pipeline).await?.is_some())
    }

    pub async fn wait(&self, span: Duration) {
        tokio::select! {
            () = tokio::time::sleep(span) => {}
            () = self.shutdown.begun() => {}
        }
    }

    /// Returns whether others use this host now.
    pub fn is_live(&mut self) -> bool {
        let plugins = &self.pipeline.plugins;
        self.traffic.is_live(plugins, tokio::time::Instant::now())
            || self.pipeline.writer.is_waited_for()
    }

    /// Gives way to live traffic for some times as long as a piece of work took. Without live traffic the next
    /// piece follows at once.
    pub async fn give_way(&mut self, began: Instant) {
        if self.is_live() {
            let pause = began.elapsed() * limits::REPAIR_PAUSE;
            self.wait(pause.min(LONGEST_PAUSE)).await;
        }
    }

    pub async fn stands(&self) -> Result<bool, StoreError> {
        let now = self.pipeline.store.repair(self.repair.id).await?;
        let own = (self.repair.state, self.repair.generation);
        Ok(now.is_some_and(|now| (now.state, now.generation) == own))
    }

    pub async fn end(&self, state: RepairState, why: Option<String>) -> Result<(), StoreError> {
        let now = self.pipeline.clock.now();
        let ended = self.repair.in_state(state, now, why);
        match self.pipeline.store.change_repair(&ended).await? {
            RepairChanged::Done(repair) => {
                let receipt = log_end(self.pipeline, &repair).await?;
                let undo = match self.repair.state {
                    RepairState::Undoing => undo_detail(&receipt),
                    _ => Value::Null,
                };
                record_end(self.pipeline, &repair, &receipt, undo).await
            }
            RepairChanged::Open(_) | RepairChanged::Stale => Ok(()),
        }
    }
}

/// Adds the end of a repair, or of its undo, to the audit with what it has done. The row of its start has
/// only the plan. `undo`: what became of the changes, if an undo ends.
async fn record_end(
    pipeline: &Pipeline,
    repair: &Repair,
    receipt: &RepairReceipt,
    undo: Value,
) -> Result<(), StoreError> {
    let by = AuditActor::service(SERVICE);
    let detail = json!({
        "repair": repair.id,
        "state": repair.state,
        "convertedBy": repair.plan.converted_by,
        "deliveries": repair.counts.dealt(),
        "deals": receipt.deals,
        "contacts": receipt.contacts,
        "undo": undo,
        "why": repair.why,
    });
    let now = pipeline.clock.now();
    let row = Act::done(
        by,
        now,
        (OperatorAct::EndRepair, &repair.plan.plugin),
        &detail,
    );
    pipeline.store.add_audit(row).await.map(|_row| ())
}

fn undo_detail(receipt: &RepairReceipt) -> Value {
    json!({
        "undone": receipt.changes(Some(RepairUndone::Undone)),
        "changedSince": receipt.changes(Some(RepairUndone::ChangedSince)),
        "stays": receipt.changes(Some(RepairUndone::Stays)),
        "inUse": receipt.changes(Some(RepairUndone::InUse)),
        "left": receipt.changes(None),
    })
}

/// Logs the end of a repair or of its undo. Returns its receipt in numbers.
pub(super) async fn log_end(
    pipeline: &Pipeline,
    repair: &Repair,
) -> Result<RepairReceipt, StoreError> {
    let receipt = pipeline.store.repair_receipt(repair.id).await?;
    let count = |outcome| repair.counts.deliveries.get(&outcome).copied();
    tracing::info!(
        repair = %repair.id,
        plugin = %repair.plan.plugin,
        converted_by = repair.plan.converted_by.short(),
        state = repair.state.as_str(),
        why = repair.why.as_deref().unwrap_or_default(),
        deliveries = repair.counts.dealt(),
        replayed = count(RepairOutcome::Replayed).unwrap_or_default(),
        failed = count(RepairOutcome::Failed).unwrap_or_default(),
        deals = receipt.deals,
        contacts = receipt.contacts,
        "repair ended"
    );
    Ok(receipt)
}
