//! The numbers by which a candidate is judged, as guards of rollouts and activations read them.

use serde::{Deserialize, Serialize};

/// The numbers by which a candidate is judged. Each delivery or send counts once for a kind of
/// harm, however many leads and fields it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ComparisonCounts {
    /// Deliveries that both versions converted, refused or failed on.
    pub compared: u64,
    /// Deliveries that only the candidate refuses or fails on.
    pub failing: u64,
    /// Deliveries in which a lead or an event loses a guarded field, or a field that identifies it
    /// changes; sends for which the versions read different results in the answer, or the candidate
    /// misses an id of the provider.
    pub lost: u64,
    /// Deliveries in which an identifying field of a lead changes, or gains a value that leads of other people
    /// have gained too.
    pub altered: u64,
    /// Deliveries in which a lead, a pointer or an event vanishes; sends whose request vanishes.
    pub vanished: u64,
    /// Deliveries in which one appears.
    pub appeared: u64,
    /// Sends whose request differs; deliveries with a fetched lead that the candidate fetches by another
    /// request.
    pub changed: u64,
}

impl ComparisonCounts {
    /// Returns whether the candidate does harm: it fails, a lead or an event loses a guarded field,
    /// vanishes or appears, a lead is altered, or the result of a send differs. A different request is no harm in itself.
    pub fn is_harmful(self) -> bool {
        self.failing + self.lost + self.altered + self.vanished + self.appeared > 0
    }

    /// Returns what came after an earlier moment.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            compared: self.compared.saturating_sub(earlier.compared),
            failing: self.failing.saturating_sub(earlier.failing),
            lost: self.lost.saturating_sub(earlier.lost),
            altered: self.altered.saturating_sub(earlier.altered),
            vanished: self.vanished.saturating_sub(earlier.vanished),
            appeared: self.appeared.saturating_sub(earlier.appeared),
            changed: self.changed.saturating_sub(earlier.changed),
        }
    }

    /// Adds the numbers of another comparison.
    pub(super) fn add(&mut self, other: Self) {
        self.compared += other.compared;
        self.failing += other.failing;
        self.lost += other.lost;
        self.altered += other.altered;
        self.vanished += other.vanished;
        self.appeared += other.appeared;
        self.changed += other.changed;
    }
}
