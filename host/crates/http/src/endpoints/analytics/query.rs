//! The parameters of a question. It is read as a whole, or refused with a message about what to
//! send. A list is separated by commas, or repeats its name for each member; a repeated member
//! counts once. Unknown names are ignored.

use crate::endpoints::prelude::*;
use crate::query;
use crate::terms::{self, one_of};
use leadhost_domain::analytics::{CountKey, Granularity, MetricSet, TimeSlot, source};
use leadhost_domain::time::{self, TimeError};
use leadhost_domain::word::words;
use leadhost_domain::workspace::AgentKind;
use leadhost_domain::zone::{self, Day, Zone};

/// The default range: this many local days back from today.
const DAYS_BACK: i32 = 30;

/// The last quarter of an hour whose times can be written.
const LAST: TimeSlot = TimeSlot(281_558_111);

pub fn described(operation: Operation<'_>) -> Operation<'_> {
    operation
        .query(
            "from",
            terms::time(""),
            "The lower bound, inclusive: a local day of `tz`, or a time with its offset, rounded down to a quarter \
             of an hour. Default: the local day 30 days ago. Not before 1980.",
        )
        .example("2026-03-01")
        .query("to", terms::time(""), "The upper bound, exclusive, rounded up to a quarter of an hour. Default: now.")
        .example("2031-03-31T12:15:30Z")
        .query("tz", terms::word(), format!("The time zone of the days, by its IANA name. Default: {}.", zone::DEFAULT))
        .example("Europe/Lisbon")
        .query(
            "group_by",
            listed(&one_of(&Dimension::ALL.map(Dimension::as_str), "")),
            "The dimensions to group by, besides the period. Each becomes a member of the rows.",
        )
        .listed(&["agent_type", "source"])
        .query(
            "agent_type",
            listed(&one_of(&AgentKind::ALL.map(AgentKind::as_str), "")),
            "Only agents of these types, including internal ones. `agent_types` is an alias.",
        )
        .listed(&[])
        .alias("agent_types")
        .query(
            "agent_id",
            listed(&json!({"type": "integer", "format": "int64"})),
            "Only these agents, including internal ones. `agent_ids` is an alias.",
        )
        .listed(&[])
        .alias("agent_ids")
        .query("source", listed(&terms::word()), "Only these sources. `sources` is an alias.")
        .listed(&[])
        .alias("sources")
}

fn listed(member: &Value) -> Value {
    json!({"type": "array", "items": member})
}

words! {
    /// A dimension by which an answer groups counts.
    Dimension: "the dimension" {
        AgentType = "agent_type",
        AgentId = "agent_id",
        Source = "source",
    }
}

#[derive(Clone, Debug)]
pub struct AnalyticsQuery {
    pub set: MetricSet,
    pub granularity: Granularity,
    pub zone: Zone,
    /// Included.
    pub from: TimeSlot,
    /// Not included.
    pub to: TimeSlot,
    /// Each once, in the order of the request.
    pub group_by: Vec<Dimension>,
    pub filter: Filter,
}

/// Selects counts. The lists are sorted, each member once; `None` selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Filter {
    agent_types: Option<Vec<&'static str>>,
    agents: Option<Vec<AgentId>>,
    sources: Option<Vec<String>>,
}

impl AnalyticsQuery {
    pub fn read(
        query: &Query<'_>,
        set: MetricSet,
        granularity: Granularity,
        now: Micros,
    ) -> ApiResult<Self> {
        let zone = zone(query)?;
        let (from, to) = range(query, &zone, now)?;
        Ok(Self {
            set,
            granularity,
            from,
            to,
            group_by: dimensions(query)?,
            filter: Filter::read(query)?,
            zone,
        })
    }

    pub fn words(&self) -> impl Serialize {
        let names: Vec<_> = self.group_by.iter().map(|one| one.as_str()).collect();
        (
            self.set.as_str(),
            self.granularity.as_str(),
            self.zone.name(),
            (self.from.0, self.to.0),
            names,
            &self.filter,
        )
    }
}

impl Filter {
    fn read(query: &Query<'_>) -> ApiResult<Self> {
        let kinds = AgentKind::ALL.map(AgentKind::as_str);
        let agent_types = list(
            query,
            ["agent_type", "agent_types"],
            &kinds.join(" or "),
            ALL_BUT_INTERNAL,
            |text| AgentKind::from_text(text).map(AgentKind::as_str),
        )?;
        let agents = list(
            query,
            ["agent_id", "agent_ids"],
            "numbers of agents",
            ALL_BUT_INTERNAL,
            |text| query::whole(text).map(AgentId),
        )?;
        let sources = list(
            query,
            ["source", "sources"],
            "names of sources",
            "all",
            |text| Some(source(text.to_owned())),
        )?;
        Ok(Self {
            agent_types: agent_types.map(in_order),
            agents: agents.map(in_order),
            sources: sources.map(in_order),
        })
    }

    /// Returns whether the counts of a key are selected. Internal agents are left out unless
    /// agents or their types are named.
    pub fn takes(&self, key: &CountKey, internal: &[AgentId]) -> bool {
        let names_agents = self.agent_types.is_some() || self.agents.is_some();
        let is_internal = key.agent.is_some_and(|agent| internal.contains(&agent));
        let of_kind = |wanted: &Vec<&'static str>| {
            let own = key.agent_type.as_deref();
            own.is_some_and(|own| wanted.contains(&own))
        };
        let of_agent = |wanted: &Vec<AgentId>| {
            let own = key.agent.as_ref();
            own.is_some_and(|own| wanted.binary_search(own).is_ok())
        };
        let of_source = |wanted: &Vec<String>| {
            let own = key.source.as_ref();
            own.is_some_and(|own| wanted.binary_search(own).is_ok())
        };
        (names_agents || !is_internal)
            && self.agent_types.as_ref().is_none_or(of_kind)
            && self.agents.as_ref().is_none_or(of_agent)
            && self.sources.as_ref().is_none_or(of_source)
    }
}

/// What is counted without a filter by agents.
const ALL_BUT_INTERNAL: &str = "all agents that are not internal";

fn zone(query: &Query<'_>) -> ApiResult<Zone> {
    let name = query.filled(&["tz"]).map_or(zone::DEFAULT, str::trim);
    // A plus that was not percent-encoded arrives as a space; no name has one.
    Zone::named(name)
        .or_else(|| Zone::named(&name.replace(' ', "+")))
        .ok_or_else(|| {
            ApiError::parameter(format!(
                "`tz` is a zone of the IANA database, spelled exactly as in the database, such as {} or Europe/Lisbon; leave it out for {}.",
                zone::DEFAULT,
                zone::DEFAULT
            ))
        })
}

/// Returns the range in whole quarters of an hour: a row that began in one belongs to all of
/// it.
fn range(query: &Query<'_>, zone: &Zone, now: Micros) -> ApiResult<(TimeSlot, TimeSlot)> {
    let given = bound(query, "from", zone, "30 days ago")?;
    let to = bound(query, "to", zone, "now")?;
    let from = given.unwrap_or_else(|| {
        let first = zone.day_of(now).plus(-DAYS_BACK);
        zone.start_of(first)
    });
    let end = to.unwrap_or(now);
    if from >= end {
        let said = match (given, to) {
            (Some(_), Some(_)) => "`from` must be before `to`.",
            (Some(_), None) => "`from` must be before now; give `to` for a time in the future.",
            (None, _) => "`to` must be after `from`, which is 30 days ago; give `from` too.",
        };
        return Err(ApiError::parameter(said));
    }
    if zone.day_of(from) < first_day() {
        return Err(ApiError::parameter(format!(
            "`from` lies before {} in {}; ask for that local day or a later one.",
            first_day(),
            zone.name()
        )));
    }
    Ok((
        TimeSlot::containing(from).min(LAST),
        TimeSlot::from(end).min(LAST),
    ))
}

fn first_day() -> Day {
    let text = format!("{}-01-01", limits::ANALYTICS_FIRST_YEAR);
    Day::parse(&text).expect("a day")
}

fn bound(query: &Query<'_>, name: &str, zone: &Zone, default: &str) -> ApiResult<Option<Micros>> {
    let Some(text) = query.get(name) else {
        return Ok(None);
    };
    let text = text.trim();
    let instant = match Day::parse(text) {
        Some(day) => Ok(zone.start_of(day)),
        // A date alone would mean UTC's midnight elsewhere.
        None if text.len() <= "2030-01-31".len() => Err(TimeError::NotTime),
        None => time::read(text),
    };
    let instant = instant.map_err(|error| {
        let lacks = error.lacks();
        ApiError::parameter(format!(
            "`{name}`{lacks} must be a day such as 2030-01-31, which begins as in `tz`, or an RFC 3339 time with its \
             offset such as 2030-01-31T12:00:00Z; leave it out for {default}."
        ))
    })?;
    Ok(Some(instant))
}

fn dimensions(query: &Query<'_>) -> ApiResult<Vec<Dimension>> {
    let known = Dimension::ALL.map(Dimension::as_str).join(", ");
    let given = list(
        query,
        ["group_by", "group_by"],
        &format!("any of {known}"),
        "no grouping",
        Dimension::from_text,
    )?;
    let mut dimensions = Vec::new();
    for one in given.unwrap_or_default() {
        if !dimensions.contains(&one) {
            dimensions.push(one);
        }
    }
    Ok(dimensions)
}

/// Reads the members of a list by the parameter's name, or by its alias.
fn list<T>(
    query: &Query<'_>,
    [name, other]: [&str; 2],
    what: &str,
    default: &str,
    read: impl Fn(&str) -> Option<T>,
) -> ApiResult<Option<Vec<T>>> {
    let mut named = [name, other].into_iter();
    let Some(name) = named.find(|name| members(query, name).next().is_some()) else {
        return Ok(None);
    };
    let members: Option<Vec<T>> = members(query, name).map(read).collect();
    members.map(Some).ok_or_else(|| {
        ApiError::parameter(format!(
            "`{name}` takes {what}; separate them by commas or repeat the parameter. Leave it out for {default}."
        ))
    })
}

/// Returns the members of a list. Some clients send it as one text, others repeat its name. A blank member
/// counts as not given.
fn members<'q>(query: &'q Query<'_>, name: &'q str) -> impl Iterator<Item = &'q str> {
    let members = query.all(name).flat_map(|text| text.split(','));
    members.map(str::trim).filter(|member| !member.is_empty())
}

fn in_order<T: Ord>(mut members: Vec<T>) -> Vec<T> {
    members.sort_unstable();
    members.dedup();
    members
}

#[cfg(test)]
pub(super) mod tests {
    use crate::endpoints::analytics::query::*;

    fn at(text: &str) -> Micros {
        time::parse(text).expect("a time")
    }

    /// Reads a question at noon of a summer's day in São Paulo.
    pub fn read(granularity: Granularity, text: &str) -> Result<AnalyticsQuery, ApiError> {
        let now = at("2030-01-15T15:07:00Z");
        AnalyticsQuery::read(
            &Query::parse(text),
            MetricSet::Conversations,
            granularity,
            now,
        )
    }

    fn refusal(text: &str) -> String {
        match read(Granularity::Day, text) {
            Ok(question) => panic!("{text} was read as {question:?}"),
            Err(error) => error.outside().1.into_owned(),
        }
    }

    #[test]
    fn a_range_is_in_whole_quarters_of_an_hour() {
        let check = |text: &str, from: &str, to: &str| {
            let question = read(Granularity::Day, text).expect("a question");
            let range = (question.from.start().text(), question.to.start().text());
            assert_eq!(range, (at(from).text(), at(to).text()), "{text}");
        };
        check("", "2029-12-16T03:00:00Z", "2030-01-15T15:15:00Z");
        check(
            "tz=Asia/Kathmandu",
            "2029-12-15T18:15:00Z",
            "2030-01-15T15:15:00Z",
        );
        check(
            "from=2030-01-01&to=2030-01-02",
            "2030-01-01T03:00:00Z",
            "2030-01-02T03:00:00Z",
        );
        check(
            "from=2030-01-01&to=2030-01-02&tz=UTC",
            "2030-01-01T00:00:00Z",
            "2030-01-02T00:00:00Z",
        );
        check(
            "from=2018-11-04&to=2018-11-05&tz=Brazil/East",
            "2018-11-04T03:00:00Z",
            "2018-11-05T02:00:00Z",
        );
        check(
            "from=2030-01-01T10:14:59.999Z&to=2030-01-01T10:15:00.000001Z",
            "2030-01-01T10:00:00Z",
            "2030-01-01T10:30:00Z",
        );
        check(
            "from=2030-01-01T10:15:00-03:00&to=2030-01-01T13:30:00+00:00",
            "2030-01-01T13:15:00Z",
            "2030-01-01T13:30:00Z",
        );
        check(
            "from=1980-01-01&tz=UTC",
            "1980-01-01T00:00:00Z",
            "2030-01-15T15:15:00Z",
        );
        // As the export reads times.
        for from in [
            "2030-01-01 10:00:00Z",
            "2030-01-01 07:00:00-03:00",
            "2030-01-01 11:00:00+01:00",
            "2030-01-01T11:00:00.0000000000+01:00",
            "2030-01-01T10:00:00%2B0000",
            "2030-01-01T10:00:00+0000",
            "2030-01-01T07:00:00-0300",
            "2030-01-01T10:00:00.000000%2B00",
            "20300101T100000Z",
        ] {
            let text = format!("from={from}&to=2030-01-02&tz=UTC");
            check(&text, "2030-01-01T10:00:00Z", "2030-01-02T00:00:00Z");
        }
        check(
            "to=9999-12-31",
            "2029-12-16T03:00:00Z",
            "9999-12-31T03:00:00Z",
        );
        check(
            "to=9999-12-31&tz=Asia/Kathmandu",
            "2029-12-15T18:15:00Z",
            "9999-12-30T18:15:00Z",
        );
        check(
            "to=9999-12-31T23:59:59Z",
            "2029-12-16T03:00:00Z",
            "9999-12-31T23:45:00Z",
        );
        assert_eq!(LAST.start(), at("9999-12-31T23:45:00Z"));
    }

    #[test]
    fn an_invalid_range_is_refused_with_a_hint() {
        for (text, said) in [
            ("from=", "`from` must be a day"),
            ("to=", "`to` must be a day"),
            ("from=soon", "leave it out for 30 days ago"),
            ("to=2030-02-30", "leave it out for now"),
            ("from=2030-01-01T10:00:00", "`from` has no offset"),
            ("to=2030-01-01 10:00", "`to` has no offset"),
            ("from=20300101", "`from` must be a day"),
            ("from=2030-1-1", "`from` must be a day"),
            ("from=1700000000", "`from` must be a day"),
            ("from=2030-01-02&to=2030-01-02", "must be before `to`"),
            ("from=2030-01-03&to=2030-01-02", "must be before `to`"),
            ("from=2030-02-01", "before now"),
            ("to=2029-01-01", "give `from` too"),
            ("from=1979-12-31", "before 1980-01-01"),
            ("from=0001-01-01", "before 1980-01-01"),
            ("from=1980-01-01T02:59:59Z", "before 1980-01-01"),
            ("tz=america/sao_paulo", "spelled exactly as in the database"),
            ("tz=Mars/Olympus", "such as America/Sao_Paulo"),
            ("tz=-03:00", "`tz` is a zone"),
        ] {
            let refused = refusal(text);
            assert!(refused.contains(said), "{text}: {refused}");
        }
    }

    #[test]
    fn lists_are_read_in_their_order_and_each_member_once() {
        let check = |text: &str, expect: &[Dimension]| {
            let question = read(Granularity::Day, text).expect("a question");
            assert_eq!(question.group_by, expect, "{text}");
        };
        use Dimension::{AgentId, AgentType, Source};
        check("", &[]);
        check("group_by=source", &[Source]);
        check(
            "group_by=source,agent_type,source,agent_id",
            &[Source, AgentType, AgentId],
        );
        check("group_by=%20agent_id%20,%20source", &[AgentId, Source]);
        check("group_by=agent_id&group_by=source", &[AgentId, Source]);
        for blank in ["group_by=", "agent_type=&agent_id=,&source=%20&tz="] {
            check(blank, &[]);
            let question = read(Granularity::Day, blank).expect("a question");
            assert_eq!(question.filter, Filter::default(), "{blank}");
        }
        check("group_by=,agent_id,&group_by=", &[AgentId]);
        for (text, said) in [
            ("group_by=day", "takes any of agent_type, agent_id, source"),
            ("group_by=agent_id,day", "Leave it out for no grouping."),
            ("group_by=Source", "`group_by`"),
            ("agent_type=robot", "ai or human"),
            (
                "agent_type=robot",
                "Leave it out for all agents that are not internal.",
            ),
            ("agent_types=robot", "`agent_types`"),
            ("agent_id=1,x", "numbers of agents"),
            ("agent_id=1.5", "`agent_id`"),
        ] {
            let refused = refusal(text);
            assert!(refused.contains(said), "{text}: {refused}");
        }
    }

    #[test]
    fn a_filter_selects_the_counts_that_it_names() {
        let key = |kind: &str, agent: i64, source: &str| CountKey {
            agent_type: (!kind.is_empty()).then(|| kind.to_owned()),
            agent: (agent != 0).then_some(AgentId(agent)),
            source: (!source.is_empty()).then(|| source.to_owned()),
        };
        let check = |text: &str, key: &CountKey, expect: bool| {
            let question = read(Granularity::Day, text).expect("a question");
            let takes = question.filter.takes(key, &[AgentId(9)]);
            assert_eq!(takes, expect, "{text} {key:?}");
        };
        let (plain, internal, none) = (
            key("ai", 1, "site"),
            key("human", 9, "site"),
            key("", 0, ""),
        );
        check("", &plain, true);
        check("", &none, true);
        check("", &internal, false);
        check("source=site", &internal, false);
        check("agent_id=9", &internal, true);
        check("agent_ids=2,9", &internal, true);
        check("agent_type=human", &internal, true);
        check("agent_type=ai", &internal, false);
        check("agent_types=human,ai", &plain, true);
        check("agent_type=ai,human", &none, false);
        check("agent_id=1", &none, false);
        check("source=site", &none, false);
        check("sources=portal,site", &plain, true);
        check("source=Site", &plain, false);
        check("agent_type=ai&agent_id=2", &plain, false);
        // The main name takes precedence over its alias.
        check("agent_ids=2&agent_id=1", &plain, true);
    }
}
