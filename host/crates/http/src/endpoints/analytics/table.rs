//! Adds counts by day and key up to the rows of an answer, by period and by the requested
//! dimensions.
//!
//! Each key is mapped once to the number of its group, in the order of the answer. Counts are
//! then added by number, period after period, so that a count costs one addition and no
//! allocation.

use super::query::{AnalyticsQuery, Dimension};
use leadhost_domain::analytics::{CountKey, MeasureCounts, add};
use leadhost_domain::id::AgentId;
use leadhost_domain::zone::Day;
use leadhost_store::{RollupCell, RollupCells};

/// The rows of an answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct AnalyticsTable {
    /// The groups that distinguish rows besides their period, in the order of the answer.
    pub groups: Vec<AnalyticsGroup>,
    /// By period, then by group. Rows without counts are left out.
    pub rows: Vec<AnalyticsRow>,
}

/// The values of the dimensions, in the order of the request.
pub type AnalyticsGroup = Vec<DimensionValue>;

/// Ordered as rows are: no value first, numbers numerically.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DimensionValue {
    None,
    Agent(AgentId),
    Text(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnalyticsRow {
    pub period: Day,
    pub group: u32,
    pub counts: MeasureCounts,
}

/// The answer has more rows than allowed.
#[derive(Debug, PartialEq, Eq)]
pub struct TooMany;

pub fn rows(
    question: &AnalyticsQuery,
    cells: RollupCells,
    most: usize,
) -> Result<AnalyticsTable, TooMany> {
    let (groups, of_key) = groups(question, &cells);
    let mut cells = cells.cells;
    // Each list is sorted already, so several of them in sequence cost only a merge.
    cells.sort_by_key(|cell| cell.day);
    let mut rows = Vec::new();
    let mut open = Period::new(groups.len());
    for of_day in cells.chunk_by(|one, other| one.day == other.day) {
        let period = question.granularity.period(of_day[0].day);
        if open.day != Some(period) {
            open.end(&mut rows);
            open.day = Some(period);
        }
        for RollupCell { key, counts, .. } in of_day {
            if let Some(group) = of_key.find(*key) {
                open.add(group, counts);
            }
        }
        if rows.len() > most {
            return Err(TooMany);
        }
    }
    open.end(&mut rows);
    if rows.len() > most {
        return Err(TooMany);
    }
    Ok(AnalyticsTable { groups, rows })
}

/// Returns the groups that occur, and the group of each key that the filter accepts.
fn groups(question: &AnalyticsQuery, cells: &RollupCells) -> (Vec<AnalyticsGroup>, OfKey) {
    let wanted = cells
        .keys
        .iter()
        .filter(|(_, key)| question.filter.takes(key, &cells.state.internal));
    let mut by_group: Vec<(AnalyticsGroup, i64)> = wanted
        .map(|(number, key)| (group(&question.group_by, key), *number))
        .collect();
    by_group.sort_unstable();
    let mut groups: Vec<AnalyticsGroup> = Vec::new();
    let mut of_key = Vec::with_capacity(by_group.len());
    for (group, key) in by_group {
        if groups.last() != Some(&group) {
            groups.push(group);
        }
        let place = u32::try_from(groups.len() - 1).expect("fewer groups than memory");
        of_key.push((key, place));
    }
    (groups, OfKey::new(of_key))
}

fn group(group_by: &[Dimension], key: &CountKey) -> AnalyticsGroup {
    let text = |text: &Option<String>| {
        text.clone()
            .map_or(DimensionValue::None, DimensionValue::Text)
    };
    let value = |dimension: &Dimension| match dimension {
        Dimension::AgentType => text(&key.agent_type),
        Dimension::AgentId => key
            .agent
            .map_or(DimensionValue::None, DimensionValue::Agent),
        Dimension::Source => text(&key.source),
    };
    group_by.iter().map(value).collect()
}

/// The group of each key, by the key's number. The keys of a workspace are mostly numbered
/// consecutively, so a list usually has a place for each.
enum OfKey {
    Dense { first: i64, groups: Vec<u32> },
    Sparse(Vec<(i64, u32)>),
}

impl OfKey {
    const NONE: u32 = u32::MAX;

    fn new(mut pairs: Vec<(i64, u32)>) -> Self {
        pairs.sort_unstable();
        pairs.dedup_by_key(|(key, _)| *key);
        let (Some((first, _)), Some((last, _))) = (pairs.first(), pairs.last()) else {
            return Self::Sparse(pairs);
        };
        let (first, span) = (*first, last.saturating_sub(*first));
        match usize::try_from(span) {
            Ok(span) if span < pairs.len().saturating_mul(8).max(4_096) => {
                let mut groups = vec![Self::NONE; span + 1];
                for (key, group) in pairs {
                    let place = usize::try_from(key - first).expect("the first is the least");
                    groups[place] = group;
                }
                Self::Dense { first, groups }
            }
            _ => Self::Sparse(pairs),
        }
    }

    fn find(&self, key: i64) -> Option<u32> {
        match self {
            Self::Dense { first, groups } => {
                let place = usize::try_from(key.checked_sub(*first)?).ok()?;
                groups
                    .get(place)
                    .copied()
                    .filter(|group| *group != Self::NONE)
            }
            Self::Sparse(pairs) => {
                let found = pairs.binary_search_by_key(&key, |(own, _)| *own);
                found.ok().map(|place| pairs[place].1)
            }
        }
    }
}

/// The counts of one period, by group.
struct Period {
    day: Option<Day>,
    counts: Vec<MeasureCounts>,
    /// The groups with counts, in no order.
    met: Vec<u32>,
}

impl Period {
    fn new(groups: usize) -> Self {
        Self {
            day: None,
            counts: vec![MeasureCounts::default(); groups],
            met: Vec::with_capacity(groups),
        }
    }

    fn add(&mut self, group: u32, counts: &MeasureCounts) {
        let to = &mut self.counts[group as usize];
        // A group whose counts are still zero may be listed again. It becomes one row all the
        // same.
        if *to == MeasureCounts::default() {
            self.met.push(group);
        }
        add(to, counts, 1);
    }

    fn end(&mut self, rows: &mut Vec<AnalyticsRow>) {
        let Some(period) = self.day.take() else {
            return;
        };
        self.met.sort_unstable();
        for group in self.met.drain(..) {
            let counts = std::mem::take(&mut self.counts[group as usize]);
            if counts != MeasureCounts::default() {
                rows.push(AnalyticsRow {
                    period,
                    group,
                    counts,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::query::tests::read;
    use super::*;
    use leadhost_domain::analytics::Granularity;
    use leadhost_store::RollupState;

    fn key(kind: &str, agent: i64, source: &str) -> CountKey {
        CountKey {
            agent_type: (!kind.is_empty()).then(|| kind.to_owned()),
            agent: (agent != 0).then_some(AgentId(agent)),
            source: (!source.is_empty()).then(|| source.to_owned()),
        }
    }

    fn cells(counts: &[(&str, i64, i64)]) -> RollupCells {
        let cells = counts.iter().map(|(day, key, count)| RollupCell {
            day: Day::parse(day).expect("a day"),
            key: *key,
            counts: [*count, 0, 0, 0, 0],
        });
        RollupCells {
            state: RollupState {
                internal: vec![AgentId(9)],
                ..RollupState::default()
            },
            keys: vec![
                (40, key("human", 10, "site")),
                (41, key("ai", 2, "site")),
                (42, key("ai", 2, "portal")),
                (43, key("", 0, "")),
                (44, key("human", 9, "site")),
                (7_000_000, key("ai", 2, "")),
            ],
            cells: cells.collect(),
            of_cube: true,
            too_many: false,
        }
    }

    fn formatted(granularity: Granularity, text: &str, cells: RollupCells) -> Vec<String> {
        let question = read(granularity, text).expect("a question");
        let table = rows(&question, cells, 100).expect("few rows");
        let line = |row: &AnalyticsRow| {
            let group = table.groups[row.group as usize].iter();
            let group = group.map(|value| match value {
                DimensionValue::None => "-".to_owned(),
                DimensionValue::Agent(agent) => agent.0.to_string(),
                DimensionValue::Text(text) => text.clone(),
            });
            let group: Vec<_> = group.collect();
            format!("{} {}: {}", row.period, group.join(","), row.counts[0])
        };
        table.rows.iter().map(line).collect()
    }

    #[test]
    fn counts_of_a_period_and_a_group_are_one_row() {
        let cells = || {
            cells(&[
                ("2030-01-01", 41, 1),
                ("2030-01-02", 41, 2),
                ("2030-01-02", 42, 4),
                // The end of the range comes last, as edges do.
                ("2029-12-31", 43, 8),
                ("2030-01-01", 44, 16),
                ("2030-02-01", 40, 32),
                ("2030-01-02", 7_000_000, 64),
            ])
        };
        let day = Granularity::Day;
        assert_eq!(
            formatted(day, "", cells()),
            [
                "2029-12-31 : 8",
                "2030-01-01 : 1",
                "2030-01-02 : 70",
                "2030-02-01 : 32"
            ]
        );
        assert_eq!(
            formatted(Granularity::Week, "", cells()),
            ["2029-12-31 : 79", "2030-01-28 : 32"]
        );
        assert_eq!(
            formatted(Granularity::Month, "group_by=agent_id", cells()),
            ["2029-12-01 -: 8", "2030-01-01 2: 71", "2030-02-01 10: 32"]
        );
        assert_eq!(
            formatted(Granularity::Week, "group_by=source,agent_type", cells()),
            [
                "2029-12-31 -,-: 8",
                "2029-12-31 -,ai: 64",
                "2029-12-31 portal,ai: 4",
                "2029-12-31 site,ai: 3",
                "2030-01-28 site,human: 32",
            ]
        );
        assert_eq!(
            formatted(
                Granularity::Month,
                "agent_type=human&group_by=agent_id",
                cells()
            ),
            ["2030-01-01 9: 16", "2030-02-01 10: 32"]
        );
    }

    #[test]
    fn counts_of_zero_make_no_row() {
        let cells = cells(&[
            ("2030-01-01", 41, 0),
            ("2030-01-01", 42, 0),
            ("2030-01-02", 41, 1),
        ]);
        assert_eq!(formatted(Granularity::Day, "", cells), ["2030-01-02 : 1"]);
        assert_eq!(
            formatted(Granularity::Day, "", RollupCells::default()),
            [""; 0]
        );
    }

    #[test]
    fn too_many_rows_are_an_error() {
        let check = |most: usize, expect: bool| {
            let question = read(Granularity::Day, "group_by=source").expect("a question");
            let cells = cells(&[
                ("2030-01-01", 41, 1),
                ("2030-01-01", 42, 1),
                ("2030-01-02", 42, 1),
            ]);
            assert_eq!(rows(&question, cells, most).is_ok(), expect, "{most}");
        };
        check(3, true);
        check(2, false);
        check(0, false);
    }
}
