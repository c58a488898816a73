//! The tables of routes on each surface.

use hyper::Method;

use super::console;
use super::endpoints::admin;
use super::endpoints::{METRICS, PARTNERS, SENDERS, SERVICE, TOKENS, WORKSPACES};
use super::route::{Found, Route, find};
use super::surface::{CONSOLE, Surface, without_end};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoRoute {
    Nothing,
    /// The address belongs to analytics, but there is no such metric set.
    NoMetricSet,
    /// The address supports only these methods.
    OtherMethods(String),
}

/// The methods of all routes, in the order in which `Allow` lists them.
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

pub fn of(surface: Surface) -> impl Iterator<Item = &'static Route> {
    static TABLES: [&[&[&[Route]]]; Surface::ALL.len()] = [
        &[&[SENDERS, PARTNERS, TOKENS, SERVICE]],
        &[&[WORKSPACES, SERVICE]],
        &[&[SENDERS, PARTNERS, TOKENS, WORKSPACES, SERVICE]],
        &[
            &[SERVICE, METRICS, admin::ROUTES, console::ROUTES],
            console::PAGES,
        ],
    ];
    let tables = TABLES[surface.place()].iter().copied().flatten();
    tables.copied().flatten()
}

pub fn of_request<'p>(
    surface: Surface,
    method: &Method,
    path: &'p str,
) -> Result<Found<'p>, NoRoute> {
    let path = without_end(path);
    if !path.starts_with('/') {
        // `*` is the target of OPTIONS alone.
        return Err(
            if method == Method::CONNECT || (path == "*" && method == Method::OPTIONS) {
                NoRoute::OtherMethods(list(&METHODS))
            } else {
                NoRoute::Nothing
            },
        );
    }
    let wanted = if method == Method::HEAD {
        "GET"
    } else {
        method.as_str()
    };
    if let Some(found) = find(of(surface), wanted, path) {
        return Ok(found);
    }
    // An address of the console always answers with a page, also where there is none.
    if surface == Surface::Admin && wanted == "GET" && path[1..].split('/').next() == Some(CONSOLE)
    {
        return Ok(console::nothing());
    }
    let there: Vec<_> = METHODS
        .into_iter()
        .filter(|method| find(of(surface), method, path).is_some())
        .collect();
    let counts = path.strip_prefix("/v1/analytics/");
    let is_analytics = counts.is_some_and(|counts| counts.matches('/').count() == 1);
    Err(match there.as_slice() {
        [] if surface.has_data() && is_analytics => NoRoute::NoMetricSet,
        [] => NoRoute::Nothing,
        there => NoRoute::OtherMethods(list(there)),
    })
}

/// Joins methods for `Allow`. HEAD goes with GET.
fn list(methods: &[&'static str]) -> String {
    let mut text = methods.join(", ");
    if methods.contains(&"GET") {
        text = text.replacen("GET", "GET, HEAD", 1);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(surface: Surface, method: &str, path: &'static str) -> Result<&'static str, NoRoute> {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        of_request(surface, &method, path).map(|found| found.route.name)
    }

    #[test]
    fn a_route_is_found_where_it_belongs_and_nowhere_else() {
        use Surface::{Admin, Both, Data, Gateway};
        let check = |path: &'static str, name: &str, there: &[Surface]| {
            for surface in Surface::ALL {
                let found = find(surface, "GET", path);
                match found {
                    Ok(found) => {
                        assert!(there.contains(&surface), "{path} is on {surface:?}");
                        assert_eq!(found, name);
                    }
                    Err(_) => assert!(!there.contains(&surface), "{path} is not on {surface:?}"),
                }
            }
        };
        check("/deal", "find-deals", &[Gateway, Both]);
        check("/deal/abc", "show-deal", &[Gateway, Both]);
        check("/tickets", "list-tickets", &[Gateway, Both]);
        check("/tickets/abc", "show-ticket", &[Gateway, Both]);
        check("/products-by-name", "products-by-name", &[Gateway, Both]);
        check("/v1/whoami", "whoami", &[Data, Both]);
        check("/v1/export/deals", "export", &[Data, Both]);
        check("/v1/export/deals/ids", "export-ids", &[Data, Both]);
        check("/v1/reports/message_errors", "report", &[Data, Both]);
        check("/v1/analytics/freshness", "freshness", &[Data, Both]);
        check("/v1/analytics/tickets/day", "analytics", &[Data, Both]);
        check("/v1/analytics/conversations/x", "analytics", &[Data, Both]);
        check("/metrics", "metrics", &[Admin]);
        check("/openapi.json", "openapi", &[Gateway, Data, Both, Admin]);
        check("/docs", "docs", &[Gateway, Data, Both, Admin]);
        check("/docs/page.js", "docs", &[Gateway, Data, Both, Admin]);
        check("/health/live", "health-live", &[Gateway, Data, Both, Admin]);
        check("/ingest-lead/abc", "ingest-handshake", &[Gateway, Both]);
        check(
            "/channel-webhook/1/abc",
            "channel-handshake",
            &[Gateway, Both],
        );
    }

    #[test]
    fn paths_that_nearly_match_a_route_are_not_found() {
        for path in [
            "/",
            "",
            "*",
            "/api/v1/deals//log",
            "/v1/export//ids",
            "//deal",
            "/Deal",
            "/v1/export",
            "/v1/export/",
            "/v1/analytics",
            "/v1/analytics/conversations",
            "/v1/analytics/freshness/day/x",
            "/v1/export/deals/rows",
            "/a/b/c/d/e/f/g/h/i/j/k",
        ] {
            assert_eq!(
                find(Surface::Both, "GET", path),
                Err(NoRoute::Nothing),
                "{path}"
            );
        }
        for (path, name) in [
            ("/deal/", "find-deals"),
            ("/deal/abc//", "show-deal"),
            ("/tickets/", "list-tickets"),
            ("/tickets%20", "list-tickets"),
            ("/api/v1/deals/abc/log/", "list-deal-logs"),
            ("/v1/export/deals/", "export"),
            ("/v1/export/deals/ids/%20", "export-ids"),
            ("/docs/", "docs"),
        ] {
            assert_eq!(find(Surface::Both, "GET", path), Ok(name), "{path}");
        }
        assert_eq!(
            find(Surface::Both, "OPTIONS", "*"),
            Err(NoRoute::OtherMethods(
                "GET, HEAD, POST, PUT, PATCH, DELETE".to_owned()
            ))
        );
        for path in ["/v1/analytics/deals/day", "/v1/analytics/freshness/day"] {
            for surface in [Surface::Data, Surface::Both] {
                let found = find(surface, "GET", path);
                assert_eq!(found, Err(NoRoute::NoMetricSet), "{path}");
            }
            let found = find(Surface::Gateway, "GET", path);
            assert_eq!(found, Err(NoRoute::Nothing), "{path}");
        }
    }

    #[test]
    fn any_other_method_gets_the_supported_ones() {
        for method in ["PUT", "DELETE", "TRACE", "CONNECT", "BREW"] {
            assert_eq!(
                find(Surface::Both, method, "/ingest-lead/abc"),
                Err(NoRoute::OtherMethods("GET, HEAD, POST".to_owned())),
                "{method}"
            );
        }
        for (path, there) in [
            ("/deal/abc", "GET, HEAD, PATCH"),
            ("/api/v1/deals/abc/log", "GET, HEAD, POST"),
        ] {
            assert_eq!(
                find(Surface::Both, "OPTIONS", path),
                Err(NoRoute::OtherMethods(there.to_owned())),
                "{path}"
            );
            assert_eq!(find(Surface::Data, "POST", path), Err(NoRoute::Nothing));
        }
        assert!(find(Surface::Both, "HEAD", "/deal").is_ok());
        assert!(find(Surface::Both, "HEAD", "/nothing").is_err());
    }

    #[test]
    fn each_row_is_found_by_its_own_path() {
        for surface in Surface::ALL {
            for route in of(surface) {
                let path = route.template.replace(['{', '}'], "");
                let found = super::find(of(surface), route.method, &path).expect("a route");
                assert!(std::ptr::eq(found.route, route), "{}", route.template);
                for (at, part) in route
                    .template
                    .split(['{', '}'])
                    .skip(1)
                    .step_by(2)
                    .enumerate()
                {
                    assert_eq!(found.parameters.text(at), part, "{}", route.template);
                }
            }
        }
    }

    #[test]
    fn a_parameter_is_decoded_once() {
        let path = "/admin/v1/workspaces/acme/products/a%2Fb%2541";
        let found = super::find(of(Surface::Admin), "DELETE", path).expect("a route");
        assert_eq!(found.parameters.text(1), "a/b%41");
        assert_eq!(found.route.target(found.parameters), "acme/a/b%41");
    }
}
