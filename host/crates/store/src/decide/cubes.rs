//! Decides which time zones get a cube of local days in which builds: pure, for every store.

use crate::decide::prelude::*;
use crate::{Build, Cube, ZoneUse};
use leadhost_domain::analytics::TimeSlot;
use leadhost_domain::zone;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CubeRow {
    pub zone: String,
    /// The version of the zone's rules by which its days were formed.
    pub tzdata: String,
    /// The cube contains the slots before this one.
    pub filled: TimeSlot,
}

impl CubeRow {
    pub fn is_whole(&self) -> bool {
        self.filled == TimeSlot::END
    }
}

/// The work that gives each build the cubes that its workspace needs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DueCubes {
    /// Cubes that are not needed, or that follow other rules.
    pub gone: Vec<Cube>,
    /// Cubes to begin. Some of them must be removed first.
    pub new: Vec<Cube>,
    /// Incomplete cubes, including the new ones.
    pub making: Vec<Cube>,
}

/// Returns what is due. `builds`: all builds that are not retired, with their cubes.
/// `uses`: all noted uses of time zones.
pub fn due(
    builds: &[(Build, Vec<CubeRow>)],
    uses: &[ZoneUse],
    tzdata: &str,
    now: Micros,
) -> DueCubes {
    let mut due = DueCubes::default();
    let mut wanted: BTreeMap<WorkspaceId, BTreeSet<&str>> = BTreeMap::new();
    for (build, _) in builds {
        wanted
            .entry(build.workspace)
            .or_insert_with(|| zones_of(build.workspace, builds, uses, now));
    }
    for (build, cubes) in builds {
        let zones = &wanted[&build.workspace];
        let cube = |zone: &str| Cube {
            build: *build,
            zone: zone.to_owned(),
        };
        let mut has: BTreeSet<&str> = BTreeSet::new();
        for there in cubes {
            if there.tzdata != tzdata || !zones.contains(there.zone.as_str()) {
                due.gone.push(cube(&there.zone));
                continue;
            }
            has.insert(&there.zone);
            if !there.is_whole() {
                due.making.push(cube(&there.zone));
            }
        }
        for zone in zones.difference(&has) {
            due.new.push(cube(zone));
            due.making.push(cube(zone));
        }
    }
    due
}

/// Returns the default zone, and as many more as there is room for. Zones that already
/// have a cube come first, so that zones do not keep replacing each other.
fn zones_of<'a>(
    workspace: WorkspaceId,
    builds: &'a [(Build, Vec<CubeRow>)],
    uses: &'a [ZoneUse],
    now: Micros,
) -> BTreeSet<&'a str> {
    let of_workspace = builds
        .iter()
        .filter(|(build, _)| build.workspace == workspace);
    let has: BTreeSet<&str> = of_workspace
        .flat_map(|(_, cubes)| cubes.iter().map(|cube| cube.zone.as_str()))
        .collect();
    let mut asked: Vec<&ZoneUse> = uses
        .iter()
        .filter(|used| used.workspace == workspace)
        .filter(|used| used.requests >= limits::ZONE_REQUESTS && !is_unused(used, now))
        .filter(|used| used.zone != zone::DEFAULT)
        .collect();
    asked.sort_by_key(|used| {
        let is_new = !has.contains(used.zone.as_str());
        (is_new, std::cmp::Reverse(used.requests), &used.zone)
    });
    let asked = asked.into_iter().map(|used| used.zone.as_str());
    [zone::DEFAULT]
        .into_iter()
        .chain(asked)
        .take(limits::ZONES_PER_WORKSPACE)
        .collect()
}

/// Returns whether the zone has not been used for so long that it is forgotten.
pub fn is_unused(used: &ZoneUse, now: Micros) -> bool {
    used.used_at.plus(limits::ZONE_UNUSED) <= now
}

/// Returns whether the build has every complete cube of the serving build, so that no
/// request becomes slower when it takes over.
pub fn may_take_over(making: &[CubeRow], serving: &[CubeRow]) -> bool {
    let mut whole = serving.iter().filter(|cube| cube.is_whole());
    whole.all(|cube| making.contains(cube))
}

#[cfg(test)]
mod tests {

    use super::*;
    use leadhost_domain::analytics::MetricSet;

    const NOW: Micros = Micros(1_750_000_000_000_000);

    fn build(number: i64) -> Build {
        Build {
            workspace: WorkspaceId(Uuid::from_u128(1)),
            set: MetricSet::Conversations,
            number,
        }
    }

    fn row(zone: &str, filled: TimeSlot) -> CubeRow {
        CubeRow {
            zone: zone.to_owned(),
            tzdata: "2026b".to_owned(),
            filled,
        }
    }

    fn used(zone: &str, requests: u64) -> ZoneUse {
        ZoneUse {
            workspace: build(1).workspace,
            zone: zone.to_owned(),
            requests,
            used_at: NOW,
        }
    }

    fn zones(cubes: &[Cube]) -> Vec<&str> {
        cubes.iter().map(|cube| cube.zone.as_str()).collect()
    }

    #[test]
    fn the_default_zone_and_those_asked_for_often_get_a_cube_in_every_build() {
        let builds = [(build(1), Vec::new()), (build(2), Vec::new())];
        let uses = [used("Asia/Tokyo", 3), used("Asia/Kolkata", 2)];
        let due = due(&builds, &uses, "2026b", NOW);
        let each = ["America/Sao_Paulo", "Asia/Tokyo"];
        assert_eq!(zones(&due.new), [each, each].concat());
        assert_eq!(due.new, due.making);
        assert!(due.gone.is_empty());
    }

    #[test]
    fn a_ninth_zone_waits_until_another_is_not_asked_for() {
        let names: Vec<String> = (0..8).map(|number| format!("Zone/{number}")).collect();
        let mut uses: Vec<ZoneUse> = names.iter().map(|name| used(name, 5)).collect();
        // The first seven have cubes; the eighth is requested more often.
        uses[7].requests = 50;
        let mut cubes: Vec<CubeRow> = names[..7]
            .iter()
            .map(|name| row(name, TimeSlot::END))
            .collect();
        cubes.push(row(zone::DEFAULT, TimeSlot::END));
        let builds = [(build(1), cubes)];
        assert_eq!(due(&builds, &uses, "2026b", NOW), DueCubes::default());
        uses[3].used_at = NOW.minus(limits::ZONE_UNUSED);
        let due = due(&builds, &uses, "2026b", NOW);
        assert_eq!(zones(&due.gone), ["Zone/3"]);
        assert_eq!(zones(&due.new), ["Zone/7"]);
    }

    #[test]
    fn cubes_of_other_zone_rules_are_rebuilt() {
        let builds = [(build(1), vec![row(zone::DEFAULT, TimeSlot::END)])];
        let due = due(&builds, &[], "2027a", NOW);
        assert_eq!(zones(&due.gone), [zone::DEFAULT]);
        assert_eq!(zones(&due.new), [zone::DEFAULT]);
    }

    #[test]
    fn a_build_takes_over_with_the_cubes_of_the_one_before() {
        let whole = row(zone::DEFAULT, TimeSlot::END);
        let part = row(zone::DEFAULT, TimeSlot(7));
        let serving = [whole.clone(), row("Asia/Tokyo", TimeSlot(3))];
        assert!(!may_take_over(&[part], &serving));
        assert!(may_take_over(&[whole], &serving));
        assert!(may_take_over(&[], &serving[1..]));
    }
}
