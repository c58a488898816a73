use crate::prelude::*;

/// Counts of deliveries, leads, messages and failures in a period.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Activity {
    /// When it was counted. Null: this host has just started and is still counting.
    pub counted_at: Option<Micros>,
    pub period: ActivityPeriod,
    /// When each slot begins, the oldest first. The last one has not ended.
    pub slots: Vec<Micros>,
    /// One for each connection and instance that took something.
    pub series: Vec<ActivityRow>,
}

impl Activity {
    /// Returns the name of a row: `workspace/name` if the rows are of several workspaces.
    pub fn name_of(&self, row: &ActivityRow) -> String {
        let mut rows = self.series.iter();
        if rows.any(|other| other.workspace != row.workspace) {
            name_in_workspace(&row.workspace, &row.name)
        } else {
            row.name.clone()
        }
    }
}

/// How far back activity is shown: an hour in slots of five minutes, a day in hours, or a week in slots
/// of six hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ActivityPeriod {
    Hour,
    #[default]
    Day,
    Week,
}

impl ActivityPeriod {
    pub const ALL: [Self; 3] = [Self::Hour, Self::Day, Self::Week];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
        }
    }
}

/// The counts of one connection or instance, slot by slot.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActivityRow {
    /// The workspace's slug.
    pub workspace: String,
    pub name: String,
    /// Deliveries, for a connection.
    pub deliveries: Vec<u64>,
    /// Leads that the deliveries gave.
    pub leads: Vec<u64>,
    /// Messages, for an instance.
    pub messages: Vec<u64>,
    /// Deliveries or messages that failed, as they stood when their hour was counted. Messages that an
    /// operator gave up are left out.
    pub failures: Vec<u64>,
    /// Deliveries that their converter refused as a whole: their senders got 400.
    #[serde(default)]
    pub rejected: Vec<u64>,
}

impl ActivityRow {
    /// Returns how many of the deliveries were refused, if at least `least` came in and most of them
    /// were.
    pub fn mostly_rejected(&self, least: u64) -> Option<(u64, u64)> {
        let rejected = self.rejected.iter().sum::<u64>();
        let deliveries = self.deliveries.iter().sum::<u64>();
        let is_most = deliveries >= least && rejected * 10 >= deliveries * 8;
        is_most.then_some((rejected, deliveries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_its_workspace_in_its_name_if_there_are_several() {
        let check = |rows: &[(&str, &str)], expect: &[&str]| {
            let row = |(workspace, name): &(&str, &str)| ActivityRow {
                workspace: (*workspace).to_owned(),
                name: (*name).to_owned(),
                deliveries: Vec::new(),
                leads: Vec::new(),
                messages: Vec::new(),
                failures: Vec::new(),
                rejected: Vec::new(),
            };
            let activity = Activity {
                counted_at: None,
                period: ActivityPeriod::Day,
                slots: Vec::new(),
                series: rows.iter().map(row).collect(),
            };
            let names: Vec<String> = activity
                .series
                .iter()
                .map(|row| activity.name_of(row))
                .collect();
            assert_eq!(names, expect);
        };
        check(&[("acme", "portal"), ("acme", "form")], &["portal", "form"]);
        check(
            &[("acme", "portal"), ("demo", "portal")],
            &["acme/portal", "demo/portal"],
        );
        check(&[], &[]);
    }
}
