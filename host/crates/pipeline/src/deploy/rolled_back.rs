//! Whether the version that a rollback would activate is one that was itself rolled back: a second
//! rollback would bring a wrong version back. The audit has every rollback, by operators and by guards.
//! No advice names such a version, nor one whose deliveries a repair has converted again.

use super::concern::{AcceptedWords, Concern};
use super::concerns;
use super::error::{DeployCommand, DeployError};
use crate::fleet::FleetError;
use crate::prelude::*;
use leadhost_domain::accept::AcceptWord;
use leadhost_domain::audit::{ActOutcome, AuditRow, OperatorAct};
use leadhost_store::AuditFilter;

/// Refuses a rollback beside an earlier one that has not ended, and one to a version that was rolled back
/// unless that is accepted. `begun`: the row of the audit with which this rollback began.
pub async fn check_rollback(
    pipeline: &Pipeline,
    serves: &Activation,
    accept: &AcceptedWords,
    begun: Option<i64>,
) -> Result<(), DeployError> {
    let name = &serves.name;
    let Some(previous) = serves.previous.clone() else {
        return Ok(());
    };
    if let Some(begun) = begun
        && is_rolled_back_by_another(pipeline, name, begun).await?
    {
        return Err(FleetError::UnderWay(name.to_owned()).into());
    }
    // An activation by a rollout is in the audit as soon as it is in the store.
    let Some(row) = last_left(pipeline, &previous).await? else {
        return Ok(());
    };
    let active = pipeline.store.plugin(&serves.digest).await?;
    let short = serves.digest.short();
    // Two versions may give themselves the same number.
    let active_version = active.map(|active| active.description.version);
    let active = match &active_version {
        Some(version) => format!("{version} ({short})"),
        None => short.to_owned(),
    };
    let what = format!(
        "it was itself rolled back by {} at {}, and {active} is active since then: a rollback would bring it back",
        actor(&row),
        row.at.to_the_second()
    );
    let mut concern = Concern::new(AcceptWord::RolledBack, what);
    if accept.has(&concern) {
        return Ok(());
    }
    if let Some(good) = last_good(pipeline, name, &serves.digest).await? {
        let (version, digest) = (&good.description.version, good.digest.short());
        let is_older = active_version.is_some_and(|active| concerns::is_older(version, &active));
        let accept = if is_older { " --accept older" } else { "" };
        let remedy = format!(
            "; if {active} is wrong too, the last version that was not rolled back is {version}: `leadhost plugin publish {name}@{digest}{accept}`"
        );
        concern.what.push_str(&remedy);
    }
    let record = pipeline.store.plugin(&previous).await?;
    let version = record.map(|record| record.description);
    Err(DeployError::Refused {
        name: name.to_owned(),
        version: version.map_or_else(|| previous.short().to_owned(), |one| one.version),
        command: DeployCommand::Activate,
        concerns: vec![concern],
        verified: None,
    })
}

/// Returns whether another rollback of a plugin has begun before this row of the audit and has not ended: it
/// answers the same incident, and a second one would bring the wrong version back.
async fn is_rolled_back_by_another(
    pipeline: &Pipeline,
    name: &str,
    begun: i64,
) -> Result<bool, StoreError> {
    let filter = AuditFilter {
        act: Some(OperatorAct::RollBackPlugin.as_str().to_owned()),
        since: Some(pipeline.clock.now().minus(limits::ROLLBACK_TIME)),
        limit: limits::ROLLBACK_AUDIT_PAGE,
        ..AuditFilter::default()
    };
    let rows = pipeline.store.audit(&filter).await?;
    let ended: HashSet<i64> = rows.iter().filter_map(|row| row.begun).collect();
    Ok(rows.iter().any(|row| {
        let is_earlier = row.outcome == ActOutcome::Begun && row.number < begun;
        is_earlier && row.target == name && !ended.contains(&row.number)
    }))
}

/// Returns the rollback by which this version ceased to be active, if the last such act was one.
pub(super) async fn last_left(
    pipeline: &Pipeline,
    version: &Digest,
) -> Result<Option<AuditRow>, StoreError> {
    let mut pages = AuditPages::newest();
    while let Some(rows) = pages.next(pipeline).await? {
        if let Some((row, as_wrong)) = newest_left(&rows, version) {
            return Ok(as_wrong.then(|| row.clone()));
        }
    }
    Ok(None)
}

/// Returns the version before the active one. If that was itself rolled back: the last one that was not, if
/// the audit knows one.
pub(super) async fn previous_good(
    pipeline: &Pipeline,
    active: &Activation,
) -> Result<Option<Digest>, StoreError> {
    let Some(previous) = active.previous.clone() else {
        return Ok(None);
    };
    if last_left(pipeline, &previous).await?.is_none() {
        return Ok(Some(previous));
    }
    let good = last_good(pipeline, &active.name, &active.digest).await?;
    Ok(Some(good.map_or(previous, |good| good.digest)))
}

/// Returns, by plugin, the version that a rollback would activate, if it may be advised: it was not itself
/// rolled back, and no repair has converted its deliveries again.
#[leadhost_boxed::boxed]
pub async fn ways_back(
    pipeline: &Pipeline,
    active: &[Activation],
) -> Result<HashMap<String, Digest>, StoreError> {
    let before = |one: &Activation| Some((one.name.clone(), one.previous.clone()?));
    let mut ways: HashMap<String, Digest> = active.iter().filter_map(before).collect();
    let repaired = if ways.is_empty() {
        HashSet::new()
    } else {
        repaired(pipeline).await?
    };
    ways.retain(|_, version| !repaired.contains(version));
    let mut unseen: HashSet<Digest> = ways.values().cloned().collect();
    let mut pages = AuditPages::newest();
    while !unseen.is_empty()
        && let Some(rows) = pages.next(pipeline).await?
    {
        for (version, as_wrong) in rows.iter().filter_map(left) {
            if unseen.remove(&version) && as_wrong {
                ways.retain(|_, way| *way != version);
            }
        }
    }
    Ok(ways)
}

pub async fn is_discarded(pipeline: &Pipeline, version: &Digest) -> Result<bool, StoreError> {
    Ok(
        repaired(pipeline).await?.contains(version)
            || last_left(pipeline, version).await?.is_some(),
    )
}

async fn repaired(pipeline: &Pipeline) -> Result<HashSet<Digest>, StoreError> {
    let repairs = pipeline
        .store
        .repairs(None, limits::ROLLBACK_AUDIT_PAGE)
        .await?;
    let applied = repairs
        .into_iter()
        .filter(|repair| repair.plan.apply && repair.state.has_replayed());
    Ok(applied.map(|repair| repair.plan.converted_by).collect())
}

/// Returns the version of a plugin that last gave way to another one, was not rolled back and not repaired
/// away, beside the active one.
async fn last_good(
    pipeline: &Pipeline,
    name: &str,
    active: &Digest,
) -> Result<Option<PluginRecord>, StoreError> {
    let mut seen = repaired(pipeline).await?;
    seen.insert(active.clone());
    let mut pages = AuditPages::newest();
    while let Some(rows) = pages.next(pipeline).await? {
        for (version, as_wrong) in rows.iter().filter_map(left) {
            if !seen.insert(version.clone()) || as_wrong {
                continue;
            }
            let record = pipeline.store.plugin(&version).await?;
            let record = record.filter(|record| record.description.name == name);
            if record.is_some() {
                return Ok(record);
            }
        }
    }
    Ok(None)
}

struct AuditPages {
    filter: AuditFilter,
    left: usize,
}

impl AuditPages {
    fn newest() -> Self {
        Self {
            filter: AuditFilter {
                limit: limits::ROLLBACK_AUDIT_PAGE,
                ..AuditFilter::default()
            },
            left: limits::ROLLBACK_AUDIT_PAGES,
        }
    }

    async fn next(&mut self, pipeline: &Pipeline) -> Result<Option<Vec<AuditRow>>, StoreError> {
        if self.left == 0 {
            return Ok(None);
        }
        let rows = pipeline.store.audit(&self.filter).await?;
        self.filter.before = rows.last().map(|row| row.number);
        let is_last = rows.len() < limits::ROLLBACK_AUDIT_PAGE as usize;
        self.left = if is_last { 0 } else { self.left - 1 };
        Ok(Some(rows))
    }
}

/// Returns the rollback by which this version ceased to be active, if the last such act among these rows
/// was one. The rows begin with the newest.
pub fn rollback_of<'a>(rows: &'a [AuditRow], version: &Digest) -> Option<&'a AuditRow> {
    let (row, as_wrong) = newest_left(rows, version)?;
    as_wrong.then_some(row)
}

fn newest_left<'a>(rows: &'a [AuditRow], version: &Digest) -> Option<(&'a AuditRow, bool)> {
    rows.iter().find_map(|row| {
        let (_, as_wrong) = left(row).filter(|(left, _)| left == version)?;
        Some((row, as_wrong))
    })
}

/// Returns the version that the act of this row made inactive, and whether it was taken out of service as
/// wrong. The way back from one that was restored on purpose does not count.
fn left(row: &AuditRow) -> Option<(Digest, bool)> {
    let left = row.left_version()?;
    let as_wrong = match left.act {
        OperatorAct::RollBackPlugin | OperatorAct::RollBackRollout => true,
        // One that the service ended gave way to another version.
        OperatorAct::EndRollout if left.by_service => return None,
        OperatorAct::EndRollout => true,
        _ => false,
    };
    Some((left.digest, as_wrong && !left.was_restored))
}

fn actor(row: &AuditRow) -> String {
    match row.key_id {
        Some(_) => format!("`{}`", row.label),
        None => "the service".to_owned(),
    }
}
