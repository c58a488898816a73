//! Analytics: the measures of a workspace over time, by dimension and in any zone. The page's address
//! contains the selection.

use super::super::chart::Chart;
use crate::console::pages::prelude::*;
use crate::endpoints::analytics::query::Dimension;
use leadhost_admin_api::analytics::{AnalyticsSeries, WorkspaceAnalytics};
use leadhost_admin_api::workspaces::Agents;
use leadhost_domain::analytics::{Granularity, MetricSet};
use leadhost_domain::zone;

pub static ROUTES: &[Route] = pages! { GET "/analytics" => answer show(); };

#[derive(Template)]
#[template(path = "console/analytics.html")]
pub struct AnalyticsPage {
    frame: Frame,
    filters: Filters,
    workspaces: Vec<Workspace>,
    sets: Vec<SetChoice>,
    by: &'static str,
    dimensions: Vec<(&'static str, String)>,
    granularity: Granularity,
    granularities: [Granularity; Granularity::ALL.len()],
    zones: Vec<String>,
    /// The workspace that is shown. `None`: there is none.
    workspace: Option<String>,
    set: MetricSet,
    /// `None`: there is no workspace, or something in the form is wrong.
    shown: Option<AnalyticsView>,
    /// The fault of the form.
    problem: Option<String>,
}

/// A metric set and its measures, each with the words of the page.
struct SetChoice {
    set: MetricSet,
    measures: Vec<(&'static str, String)>,
    chosen: Option<&'static str>,
}

struct AnalyticsView {
    counts: WorkspaceAnalytics,
    charts: Vec<Chart>,
}

/// Returns the page. A time or a zone that is wrong is shown on it, with the form.
async fn show(visit: &Visit<'_>) -> PageResult {
    let shown = found(visit).await?;
    let status = match shown.problem {
        Some(_) => StatusCode::BAD_REQUEST,
        None => StatusCode::OK,
    };
    page(status, &shown)
}

async fn found(visit: &Visit<'_>) -> PageResult<AnalyticsPage> {
    let names = ["workspace", "measure", "by", "interval", "tz", "from", "to"];
    let mut filters = Filters::read(visit, &names);
    let (set, chosen) = measures(filters.get("measure"))?;
    let by = dimension(filters.get("by"))?;
    let granularity = interval(filters.get("interval"))?;
    let Workspaces { workspaces } = visit.api().get("/workspaces").await?;
    // The form and the address of the page name what is shown, even if the request left it out.
    let named = filters.get("workspace");
    let first = workspaces.first().map(|one| one.slug.clone());
    let workspace = match named {
        "" => first,
        named => Some(named.to_owned()),
    };
    let mut problem = None;
    let shown = match &workspace {
        None => None,
        Some(workspace) => {
            filters.default("workspace", workspace);
            let mut all = workspaces.iter();
            let own = all.find(|one| one.slug == *workspace || one.id.to_string() == *workspace);
            let zone = own.map_or(zone::DEFAULT, |one| &one.time_zone);
            filters.default("tz", zone);
            match view(visit, &filters, set, &chosen, by, granularity).await {
                Ok(view) => Some(view),
                Err(refusal) if refusal.status == StatusCode::BAD_REQUEST => {
                    problem = Some(refusal.message);
                    None
                }
                Err(refusal) => return Err(refusal),
            }
        }
    };
    let sets = MetricSet::ALL.map(|one| SetChoice {
        set: one,
        measures: one
            .measures()
            .iter()
            .map(|name| (*name, words(name)))
            .collect(),
        chosen: chosen
            .first()
            .copied()
            .filter(|_| one == set && chosen.len() == 1),
    });
    Ok(AnalyticsPage {
        frame: visit.frame("analytics", "Analytics"),
        filters,
        workspaces,
        sets: sets.into(),
        by: by.map_or("", Dimension::as_str),
        dimensions: Dimension::ALL
            .map(|one| (one.as_str(), words(one.as_str())))
            .into(),
        granularity,
        granularities: Granularity::ALL,
        zones: zone::names(),
        workspace,
        set,
        shown,
        problem,
    })
}

async fn view(
    visit: &Visit<'_>,
    filters: &Filters,
    set: MetricSet,
    chosen: &[&'static str],
    by: Option<Dimension>,
    granularity: Granularity,
) -> PageResult<AnalyticsView> {
    let tz = filters.get("tz");
    // A plus of the address may arrive as a space.
    if !zone::is_zone(tz) && !zone::is_zone(&tz.replace(' ', "+")) {
        let message = format!(
            "Time zone: `{tz}` is unknown. Choose one from the list, such as {} or Europe/Lisbon.",
            zone::DEFAULT
        );
        return Err(ApiRefusal::new(StatusCode::BAD_REQUEST, message));
    }
    let workspace = encoded(filters.get("workspace"));
    let mut query = vec![format!("tz={}", encoded(filters.get("tz")))];
    if let Some(by) = by {
        query.push(format!("group_by={}", by.as_str()));
    }
    for name in ["from", "to"] {
        match filters.get(name) {
            "" => {}
            value => query.push(format!("{name}={}", encoded(value))),
        }
    }
    let path = format!(
        "/workspaces/{workspace}/analytics/{}/{}?{}",
        set.as_str(),
        granularity.as_str(),
        query.join("&")
    );
    let counts: WorkspaceAnalytics = visit.api().get(&path).await?;
    if counts.periods.len() > limits::ANALYTICS_CHART_PERIODS {
        let message = format!(
            "This time has {} periods, and a chart shows at most {}: choose a shorter time, or longer periods.",
            counts.periods.len(),
            limits::ANALYTICS_CHART_PERIODS
        );
        return Err(ApiRefusal::new(StatusCode::BAD_REQUEST, message));
    }
    let mut agents = BTreeMap::new();
    if by == Some(Dimension::AgentId) {
        let all: Agents = visit
            .api()
            .get(&format!("/workspaces/{workspace}/agents"))
            .await?;
        agents.extend(all.agents.into_iter().map(|one| (one.id.0, one.name)));
    }
    let charts = chosen.iter().map(|measure| {
        let series = counts.series.iter().map(|series| {
            let numbers = series.counts.get(*measure).into_iter().flatten();
            let numbers = numbers.map(|count| u64::try_from(*count).unwrap_or_default());
            (name(series, by, &agents), numbers.collect())
        });
        Chart::new(measure, words(measure), slots(&counts), series).pending(counts.as_of.is_none())
    });
    Ok(AnalyticsView {
        charts: charts.collect(),
        counts,
    })
}

/// Reads what to draw: one measure, or all of a metric set.
fn measures(text: &str) -> PageResult<(MetricSet, Vec<&'static str>)> {
    if text.is_empty() {
        let set = MetricSet::Conversations;
        return Ok((set, set.measures().to_vec()));
    }
    for set in MetricSet::ALL {
        if set.as_str() == text {
            return Ok((set, set.measures().to_vec()));
        }
        if let Some(measure) = set.measures().iter().find(|one| **one == text) {
            return Ok((set, vec![measure]));
        }
    }
    let known: Vec<&str> = MetricSet::ALL
        .iter()
        .flat_map(|set| std::iter::once(set.as_str()).chain(set.measures().iter().copied()))
        .collect();
    Err(unknown("measure", text, "a measure", &known))
}

fn dimension(text: &str) -> PageResult<Option<Dimension>> {
    if text.is_empty() {
        return Ok(None);
    }
    let known = Dimension::ALL.map(Dimension::as_str);
    Dimension::from_text(text)
        .map(Some)
        .ok_or_else(|| unknown("by", text, "a dimension", &known))
}

fn interval(text: &str) -> PageResult<Granularity> {
    if text.is_empty() {
        return Ok(Granularity::Day);
    }
    let known = Granularity::ALL.map(Granularity::as_str);
    Granularity::from_text(text).ok_or_else(|| unknown("interval", text, "an interval", &known))
}

fn unknown(name: &str, text: &str, what: &str, known: &[&str]) -> ApiRefusal {
    let known = known.join(", ");
    let message = format!("`{name}={text}` is not {what}; there are {known}.");
    ApiRefusal::new(StatusCode::BAD_REQUEST, message)
}

/// Returns the names of the periods: a month is its year and month.
fn slots(counts: &WorkspaceAnalytics) -> Vec<String> {
    let name = |period: &String| match counts.granularity {
        Granularity::Day | Granularity::Week => period.clone(),
        Granularity::Month => period.get(..7).unwrap_or(period).to_owned(),
    };
    counts.periods.iter().map(name).collect()
}

/// Returns the name of a series. Names of agents need not be unique, so the number distinguishes them.
fn name(series: &AnalyticsSeries, by: Option<Dimension>, agents: &BTreeMap<i64, String>) -> String {
    let text = match by {
        None => Some("all".to_owned()),
        Some(Dimension::AgentType) => series.agent_type.clone(),
        Some(Dimension::Source) => series.source.clone(),
        Some(Dimension::AgentId) => series.agent_id.map(|id| match agents.get(&id) {
            Some(name) => format!("{name} ({id})"),
            None => id.to_string(),
        }),
    };
    text.unwrap_or_else(|| "none".to_owned())
}

/// Returns a name of the interface as words: `agent_type` as `Agent type`.
fn words(name: &str) -> String {
    let name = name.strip_suffix("_id").unwrap_or(name).replace('_', " ");
    let name = name.replace(" no ", " without ");
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words() {
        let check = |name: &str, expect: &str| assert_eq!(words(name), expect);
        check("agent_id", "Agent");
        check("conversations_started", "Conversations started");
        check(
            "conversations_no_response",
            "Conversations without response",
        );
        check("", "");
    }

    #[test]
    fn a_measure_is_known_in_its_set_alone() {
        let mut all: Vec<&str> = Vec::new();
        for set in MetricSet::ALL {
            let (found, measures) = measures(set.as_str()).expect("a set");
            assert_eq!((found, measures.as_slice()), (set, set.measures()));
            all.extend(measures);
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        let (set, one) = measures("tickets_opened").expect("a measure");
        assert_eq!((set, one), (MetricSet::Tickets, vec!["tickets_opened"]));
        let refused = measures("leads").expect_err("it is not one");
        assert!(
            refused.message.contains("tickets_resolved"),
            "{}",
            refused.message
        );
    }
}
