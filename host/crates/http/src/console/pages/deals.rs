use crate::console::pages::prelude::*;
use leadhost_admin_api::columns::plain;
use leadhost_admin_api::deals::{DealDetail, DealSummary, Deals};

pub static ROUTES: &[Route] = pages! {
    GET "/deals" => answer find();
    GET "/deals/{deal}" => page show(deal);
};

#[derive(Template)]
#[template(path = "console/deals.html")]
pub struct DealsPage {
    frame: Frame,
    filters: Filters,
    workspaces: Vec<Workspace>,
    deals: Vec<DealSummary>,
    next: Option<String>,
    /// The time back to which the page has looked, if older ones may match too.
    searched_until: Option<Micros>,
    problem: Option<ApiRefusal>,
}

/// Shows the list, or the one deal whose id was typed.
async fn find(visit: &Visit<'_>) -> PageResult {
    // The address of one deal in earlier versions.
    if let Some(id) = visit.call.query().filled(&["id"]) {
        return page(StatusCode::OK, &show(visit, id.trim()).await?);
    }
    let filters = Filters::read(visit, &["q", "workspace", "before"]);
    let path = format!("/deals{}", filters.query());
    let Filtered { found, problem } = Filtered::<Deals>::list(visit, &path).await?;
    if let [only] = found.deals.as_slice()
        && only.id.to_string() == filters.get("q")
    {
        return Ok(see_other(&format!("/console/deals/{}", only.id)));
    }
    let workspaces: Workspaces = visit.api().get("/workspaces").await?;
    let shown = DealsPage {
        frame: visit.frame("deals", "Deals"),
        next: filters.next_page("/deals", found.next),
        filters,
        workspaces: workspaces.workspaces,
        deals: found.deals,
        searched_until: found.searched_until,
        problem,
    };
    page(status_of(shown.problem.as_ref()), &shown)
}

#[derive(Template)]
#[template(path = "console/deal.html")]
pub struct OneDealPage {
    frame: Frame,
    deal: DealDetail,
    /// The names and values of its properties.
    props: Vec<(String, String)>,
}

async fn show(visit: &Visit<'_>, id: &str) -> PageResult<OneDealPage> {
    let path = format!("/deals/{}", encoded(id));
    let deal: DealDetail = visit.api().get(&path).await?;
    let title = deal.facts.title.as_deref().filter(|text| !text.is_empty());
    let title = title.unwrap_or_else(|| deal.facts.contact.shown());
    Ok(OneDealPage {
        frame: visit.frame("deals", format!("Deal: {title}")),
        props: named_values(&deal.props),
        deal,
    })
}

/// Returns properties with their values for people. The properties of an object are listed one by one:
/// `campaign.name`.
fn named_values(props: &Map<String, Value>) -> Vec<(String, String)> {
    let mut named = Vec::new();
    for (name, value) in props {
        match value {
            Value::Object(inner) => {
                let inner = inner.iter();
                named.extend(inner.map(|(key, value)| (format!("{name}.{key}"), plain(value))));
            }
            other => named.push((name.clone(), plain(other))),
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_named_one_by_one() {
        let props = json!({"source": "form", "campaign": {"name": "May"}, "phones": ["+1", "+2"], "x": null});
        let props = props.as_object().cloned().unwrap_or_default();
        let named = named_values(&props);
        let named: Vec<String> = named
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            named,
            ["campaign.name=May", "phones=+1, +2", "source=form", "x=-"]
        );
    }
}
