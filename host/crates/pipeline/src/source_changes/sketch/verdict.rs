//! The answer of a trial of two versions on the same deliveries, and the report that deliveries keep
//! failing: both name the version or the source as the cause.

use serde::{Deserialize, Serialize};

use leadhost_domain::connection::{ChangeCause, SourceChange};
use leadhost_domain::plugin::Digest;
use leadhost_domain::time::Micros;

/// The result of converting some deliveries with the version that serves and with the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialVerdict {
    /// The version that serves, for people.
    pub version: String,
    pub digest: Digest,
    /// The one before it. `None` if there is none.
    pub previous: Option<String>,
    /// The deliveries that both versions were called for, and on which the serving version still
    /// fails, if it is about failures.
    pub tried: u32,
    /// Those of them that the serving version did not just refuse.
    pub faults: u32,
    /// Those of them on which the previous version does better.
    pub better: u32,
}

impl TrialVerdict {
    /// Returns the cause that the trial names.
    pub(super) fn cause(&self) -> ChangeCause {
        match (&self.previous, self.better) {
            (None, _) => ChangeCause::Unknown,
            (Some(_), 0) => ChangeCause::Source,
            (Some(_), _) => ChangeCause::Version,
        }
    }

    /// Returns the cause in words. `better`: what the previous version does; `same`: what both do.
    pub(super) fn by(&self, better: &str, same: &str) -> String {
        let Self {
            version,
            previous,
            tried,
            better: number,
            ..
        } = self;
        match previous {
            None => format!("there is no version before {version} to try"),
            Some(_) if *number == 0 => format!("{same}: the source changed"),
            Some(previous) => format!(
                "new in {version}: the previous version {previous} {better} {number} of {tried} of them"
            ),
        }
    }

    /// Returns the report that deliveries keep failing: so many of the last ones. `None` if there is
    /// nothing to report: a sender may well send what every version refuses.
    pub fn failing_deliveries(
        &self,
        failed: usize,
        of: usize,
        at: Micros,
    ) -> Option<FailingDeliveries> {
        if self.better == 0 && self.faults == 0 {
            return None;
        }
        let by = self.by("converts", "both versions fail");
        Some(FailingDeliveries {
            version: self.version.clone(),
            change: SourceChange {
                what: format!("failing deliveries: {by}"),
                before: "converted".to_owned(),
                after: format!("{failed} of the last {of} fail"),
                since: at,
                parts: Vec::new(),
                failing: true,
                cause: self.cause(),
                digest: Some(self.digest.clone()),
            },
        })
    }
}

/// The report that deliveries keep failing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailingDeliveries {
    /// The version that fails, for people.
    pub version: String,
    pub change: SourceChange,
}
