use super::super::shown::ShownBody;
use crate::console::pages::prelude::*;
use leadhost_admin_api::plugin_calls::CarriedCases;
use leadhost_domain::size;

pub static ROUTES: &[Route] =
    pages! { GET "/plugins/{plugin}/golden/{digest}" => page show(plugin, digest); };

#[derive(Template)]
#[template(path = "console/golden_cases.html")]
pub struct GoldenCasesPage {
    frame: Frame,
    plugin: String,
    carried: CarriedCases,
    is_one: bool,
}

/// Returns the page: all cases, or the one that its address names.
async fn show(visit: &Visit<'_>, name: &str, digest: &str) -> PageResult<GoldenCasesPage> {
    let filters = Filters::read(visit, &["case"]);
    let path = format!(
        "/plugins/{}/versions/{}/golden{}",
        encoded(name),
        encoded(digest),
        filters.query()
    );
    let carried: CarriedCases = visit.api().get(&path).await?;
    let title = format!("Golden cases of {name} {}", carried.version);
    Ok(GoldenCasesPage {
        frame: visit.frame("plugins", title),
        plugin: name.to_owned(),
        carried,
        is_one: !filters.get("case").is_empty(),
    })
}

impl GoldenCasesPage {
    fn shown(&self, body: &str) -> String {
        let mut shown = ShownBody::new(body, "");
        if shown.is_cut {
            shown.text += "\n[...]";
        }
        shown.text
    }
}
