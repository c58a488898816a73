//! Every operation of the surfaces. The match in [`Route::parse`] is the table of contents. A
//! route's group determines its authentication and the shape of its errors, so that no new
//! route can omit that choice.

mod admin;
mod console;

use std::borrow::Cow;

use hyper::Method;

pub use admin::AdminRoute;
pub use console::ConsoleRoute;

use super::error::Family;
use leadhost_domain::analytics::MetricSet;

/// The operation of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    Gateway,
    Data,
    /// Gateway and data API on one address.
    Both,
    Admin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<'a> {
    /// Without a key. Senders of leads authenticate to their connection.
    Open(OpenRoute<'a>),
    /// With a partner key.
    Partner(PartnerRoute<'a>),
    /// With a partner's access token, as bearer.
    Token(TokenRoute<'a>),
    /// With a workspace key, at the workspace's rate.
    Workspace(WorkspaceRoute<'a>),
    /// With an admin key, on the admin surface.
    Admin(AdminRoute<'a>),
    /// With a session of the console, on the admin surface.
    Console(ConsoleRoute<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenRoute<'a> {
    IngestLead {
        connection: &'a str,
    },
    Handshake {
        connection: &'a str,
    },
    /// A browser asks whether a page may post (CORS preflight).
    Preflight {
        connection: &'a str,
    },
    ChannelWebhook {
        instance: &'a str,
        token: &'a str,
    },
    ChannelHandshake {
        instance: &'a str,
        token: &'a str,
    },
    Live,
    Ready,
    Metrics,
    /// The OpenAPI document of the surface.
    OpenApi,
    /// The page that shows it, and what the page loads.
    Docs {
        file: DocsFile,
    },
}

/// A file of the documentation page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocsFile {
    Text,
    Script,
    Style,
}

impl DocsFile {
    /// Returns the file of this name below `/docs/`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "page.js" => Some(Self::Script),
            "page.css" => Some(Self::Style),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartnerRoute<'a> {
    FindDeals,
    CreateDeal,
    ShowDeal { deal: &'a str },
    PatchDeal { deal: &'a str },
    SearchProducts,
    SendNotification,
}

impl PartnerRoute<'_> {
    /// Returns the label of its metrics. Idempotency keys are stored under it.
    pub fn name(self) -> &'static str {
        match self {
            Self::FindDeals => "find-deals",
            Self::CreateDeal => "create-deal",
            Self::ShowDeal { .. } => "show-deal",
            Self::PatchDeal { .. } => "patch-deal",
            Self::SearchProducts => "products-by-name",
            Self::SendNotification => "send-notification",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenRoute<'a> {
    LogDeal { deal: &'a str },
    ListDealLogs { deal: &'a str },
    ListTickets,
    ShowTicket { ticket: &'a str },
    PatchTicket { ticket: &'a str },
}

impl TokenRoute<'_> {
    /// Returns the label, as [`PartnerRoute::name`] does.
    pub fn name(self) -> &'static str {
        match self {
            Self::LogDeal { .. } => "log-deal",
            Self::ListDealLogs { .. } => "list-deal-logs",
            Self::ListTickets => "list-tickets",
            Self::ShowTicket { .. } => "show-ticket",
            Self::PatchTicket { .. } => "patch-ticket",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceRoute<'a> {
    Whoami,
    /// The entity is checked after the key, so that no name is revealed without one.
    Export {
        entity: &'a str,
    },
    /// Checked like the entity of an export.
    ExportIds {
        entity: &'a str,
    },
    /// Checked like the entity of an export.
    Report {
        report: &'a str,
    },
    /// The granularity too is checked after the key.
    Analytics {
        set: MetricSet,
        granularity: &'a str,
    },
    Freshness,
}

/// The authentication that a route requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Anyone,
    PartnerKey,
    AccessToken,
    WorkspaceKey,
    AdminKey,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoRoute {
    /// There is nothing at this address.
    Nothing,
    /// The address is that of analytics, but there is no such metric set.
    NoMetricSet,
    /// The address supports only these methods.
    OtherMethods(String),
}

/// The methods of all routes, in the order in which `Allow` lists them.
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// Below it, answers are pages.
const CONSOLE: &str = "console";

/// Its errors have a shape of their own.
pub(super) const NOTIFICATION: &str = "send-notification";

/// More segments than any path of the service has.
const SEGMENTS: usize = 8;

impl<'a> Route<'a> {
    /// Returns the route of a request. HEAD is routed as GET.
    pub fn find(surface: Surface, method: &Method, path: &'a str) -> Result<Self, NoRoute> {
        let mut segments = [""; SEGMENTS];
        let Some(count) = split(path, &mut segments) else {
            return Err(if method == Method::CONNECT || path == "*" {
                NoRoute::OtherMethods(list(&METHODS))
            } else {
                NoRoute::Nothing
            });
        };
        let segments = &segments[..count];
        let wanted = if method == Method::HEAD {
            "GET"
        } else {
            method.as_str()
        };
        if let Some(route) = Self::parse(surface, wanted, segments) {
            return Ok(route);
        }
        // An address of the console always answers with a page, also where there is none.
        if surface == Surface::Admin && wanted == "GET" && segments.first() == Some(&CONSOLE) {
            return Ok(Self::Console(ConsoleRoute::Nothing));
        }
        let there: Vec<_> = METHODS
            .into_iter()
            .filter(|method| Self::parse(surface, method, segments).is_some())
            .collect();
        let is_analytics = matches!(segments, ["v1", "analytics", _, _]);
        Err(match there.as_slice() {
            [] if surface.has_data() && is_analytics => NoRoute::NoMetricSet,
            [] => NoRoute::Nothing,
            there => NoRoute::OtherMethods(list(there)),
        })
    }

    fn parse(surface: Surface, method: &str, segments: &[&'a str]) -> Option<Self> {
        let gateway = matches!(surface, Surface::Gateway | Surface::Both);
        let data = surface.has_data();
        let admin = surface == Surface::Admin;
        let route = match (method, segments) {
            ("GET", ["health", "live"]) => Self::Open(OpenRoute::Live),
            ("GET", ["health", "ready"]) => Self::Open(OpenRoute::Ready),

            ("GET", ["openapi.json"]) => Self::Open(OpenRoute::OpenApi),
            ("GET", ["docs"]) => Self::Open(OpenRoute::Docs {
                file: DocsFile::Text,
            }),
            ("GET", ["docs", file]) => {
                let file = DocsFile::from_name(file)?;
                Self::Open(OpenRoute::Docs { file })
            }

            ("POST", ["ingest-lead", connection]) if gateway => {
                Self::Open(OpenRoute::IngestLead { connection })
            }
            ("GET", ["ingest-lead", connection]) if gateway => {
                Self::Open(OpenRoute::Handshake { connection })
            }
            ("OPTIONS", ["ingest-lead", connection]) if gateway => {
                Self::Open(OpenRoute::Preflight { connection })
            }
            ("POST", ["channel-webhook", instance, token]) if gateway => {
                Self::Open(OpenRoute::ChannelWebhook { instance, token })
            }
            ("GET", ["channel-webhook", instance, token]) if gateway => {
                Self::Open(OpenRoute::ChannelHandshake { instance, token })
            }
            ("GET", ["deal"]) if gateway => Self::Partner(PartnerRoute::FindDeals),
            ("POST", ["deal"]) if gateway => Self::Partner(PartnerRoute::CreateDeal),
            ("GET", ["deal", deal]) if gateway && !deal.is_empty() => {
                Self::Partner(PartnerRoute::ShowDeal { deal })
            }
            ("PATCH", ["deal", deal]) if gateway && !deal.is_empty() => {
                Self::Partner(PartnerRoute::PatchDeal { deal })
            }
            ("GET", ["products-by-name"]) if gateway => Self::Partner(PartnerRoute::SearchProducts),
            ("POST", [NOTIFICATION]) if gateway => Self::Partner(PartnerRoute::SendNotification),

            ("POST", ["api", "v1", "deals", deal, "log"]) if gateway && !deal.is_empty() => {
                Self::Token(TokenRoute::LogDeal { deal })
            }
            ("GET", ["api", "v1", "deals", deal, "log"]) if gateway && !deal.is_empty() => {
                Self::Token(TokenRoute::ListDealLogs { deal })
            }
            ("GET", ["tickets"]) if gateway => Self::Token(TokenRoute::ListTickets),
            ("GET", ["tickets", ticket]) if gateway && !ticket.is_empty() => {
                Self::Token(TokenRoute::ShowTicket { ticket })
            }
            ("PATCH", ["tickets", ticket]) if gateway && !ticket.is_empty() => {
                Self::Token(TokenRoute::PatchTicket { ticket })
            }

            ("GET", ["v1", "whoami"]) if data => Self::Workspace(WorkspaceRoute::Whoami),
            ("GET", ["v1", "export", entity]) if data => {
                Self::Workspace(WorkspaceRoute::Export { entity })
            }
            ("GET", ["v1", "export", entity, "ids"]) if data => {
                Self::Workspace(WorkspaceRoute::ExportIds { entity })
            }

            ("GET", ["v1", "reports", report]) if data => {
                Self::Workspace(WorkspaceRoute::Report { report })
            }

            ("GET", ["v1", "analytics", "freshness"]) if data => {
                Self::Workspace(WorkspaceRoute::Freshness)
            }
            ("GET", ["v1", "analytics", "conversations", granularity]) if data => {
                let set = MetricSet::Conversations;
                Self::Workspace(WorkspaceRoute::Analytics { set, granularity })
            }
            ("GET", ["v1", "analytics", "tickets", granularity]) if data => {
                let set = MetricSet::Tickets;
                Self::Workspace(WorkspaceRoute::Analytics { set, granularity })
            }

            ("GET", ["metrics"]) if admin => Self::Open(OpenRoute::Metrics),
            (_, ["admin", "v1", rest @ ..]) if admin => {
                Self::Admin(AdminRoute::parse(method, rest)?)
            }
            (_, [CONSOLE, rest @ ..]) if admin => Self::Console(ConsoleRoute::parse(method, rest)?),
            _ => return None,
        };
        Some(route)
    }

    /// Returns the authentication that the route's group requires.
    pub fn access(&self) -> Access {
        match self {
            Self::Open(_) => Access::Anyone,
            Self::Partner(_) => Access::PartnerKey,
            Self::Token(_) => Access::AccessToken,
            Self::Workspace(_) => Access::WorkspaceKey,
            // A session of the console begins with one.
            Self::Admin(_) | Self::Console(_) => Access::AdminKey,
        }
    }

    /// Returns the label of its metrics and of its log lines.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Open(route) => match route {
                OpenRoute::IngestLead { .. } => "ingest-lead",
                OpenRoute::Handshake { .. } => "ingest-handshake",
                OpenRoute::Preflight { .. } => "ingest-preflight",
                OpenRoute::ChannelWebhook { .. } => "channel-webhook",
                OpenRoute::ChannelHandshake { .. } => "channel-handshake",
                OpenRoute::Live => "health-live",
                OpenRoute::Ready => "health-ready",
                OpenRoute::Metrics => "metrics",
                OpenRoute::OpenApi => "openapi",
                OpenRoute::Docs { .. } => "docs",
            },
            Self::Partner(route) => route.name(),
            Self::Token(route) => route.name(),
            Self::Workspace(route) => match route {
                WorkspaceRoute::Whoami => "whoami",
                WorkspaceRoute::Export { .. } => "export",
                WorkspaceRoute::ExportIds { .. } => "export-ids",
                WorkspaceRoute::Report { .. } => "report",
                WorkspaceRoute::Analytics { .. } => "analytics",
                WorkspaceRoute::Freshness => "freshness",
            },
            Self::Admin(route) => route.name(),
            Self::Console(_) => "console",
        }
    }

    /// Returns the path with names in place of what it names, such as `/deal/{dealId}`: the path of the
    /// OpenAPI document. It quotes nothing of a request, so that traces may have it.
    pub fn template(&self) -> &'static str {
        match self {
            Self::Open(route) => match route {
                OpenRoute::IngestLead { .. }
                | OpenRoute::Handshake { .. }
                | OpenRoute::Preflight { .. } => "/ingest-lead/{partnerConnectionId}",
                OpenRoute::ChannelWebhook { .. } | OpenRoute::ChannelHandshake { .. } => {
                    "/channel-webhook/{instanceId}/{token}"
                }
                OpenRoute::Live => "/health/live",
                OpenRoute::Ready => "/health/ready",
                OpenRoute::Metrics => "/metrics",
                OpenRoute::OpenApi => "/openapi.json",
                OpenRoute::Docs { file } => match file {
                    DocsFile::Text => "/docs",
                    DocsFile::Script | DocsFile::Style => "/docs/{file}",
                },
            },
            Self::Partner(route) => match route {
                PartnerRoute::FindDeals | PartnerRoute::CreateDeal => "/deal",
                PartnerRoute::ShowDeal { .. } | PartnerRoute::PatchDeal { .. } => "/deal/{dealId}",
                PartnerRoute::SearchProducts => "/products-by-name",
                PartnerRoute::SendNotification => "/send-notification",
            },
            Self::Token(route) => match route {
                TokenRoute::LogDeal { .. } | TokenRoute::ListDealLogs { .. } => {
                    "/api/v1/deals/{dealId}/log"
                }
                TokenRoute::ListTickets => "/tickets",
                TokenRoute::ShowTicket { .. } | TokenRoute::PatchTicket { .. } => "/tickets/{id}",
            },
            Self::Workspace(route) => match route {
                WorkspaceRoute::Whoami => "/v1/whoami",
                WorkspaceRoute::Export { .. } => "/v1/export/{entity}",
                WorkspaceRoute::ExportIds { .. } => "/v1/export/{entity}/ids",
                WorkspaceRoute::Report { .. } => "/v1/reports/{report}",
                WorkspaceRoute::Analytics { set, .. } => match set {
                    MetricSet::Conversations => "/v1/analytics/conversations/{granularity}",
                    MetricSet::Tickets => "/v1/analytics/tickets/{granularity}",
                },
                WorkspaceRoute::Freshness => "/v1/analytics/freshness",
            },
            Self::Admin(route) => route.template(),
            Self::Console(route) => route.template(),
        }
    }
}

impl Surface {
    pub const ALL: [Self; 4] = [Self::Gateway, Self::Data, Self::Both, Self::Admin];

    /// Returns whether it serves the data API.
    fn has_data(self) -> bool {
        matches!(self, Self::Data | Self::Both)
    }

    /// Returns its index in [`Self::ALL`].
    pub fn place(self) -> usize {
        self as usize
    }

    /// Returns the shape of errors at a path of this surface, even if there is nothing.
    pub fn family(self, path: &str) -> Family {
        let first = path.trim_start_matches('/').split('/').next();
        match self {
            Self::Gateway | Self::Both if first == Some(NOTIFICATION) => Family::Notification,
            Self::Gateway => Family::Gateway,
            Self::Data => Family::Data,
            Self::Both if path == "/v1" || path.starts_with("/v1/") => Family::Data,
            Self::Both => Family::Gateway,
            Self::Admin if first == Some(CONSOLE) => Family::Console,
            Self::Admin => Family::Admin,
        }
    }
}

/// Decodes the characters of a path that need no encoding. By RFC 3986 `%41` means `A`
/// everywhere, while what stays encoded means something else.
pub fn plain(path: &str) -> Cow<'_, str> {
    let Some(first) = path.find('%') else {
        return Cow::Borrowed(path);
    };
    let mut plain = path[..first].to_owned();
    let mut rest = &path[first..];
    while let Some(at) = rest.find('%') {
        plain.push_str(&rest[..at]);
        let digits = rest.get(at + 1..at + 3);
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte.map(char::from).filter(|c| is_unreserved(*c)) {
            Some(character) => {
                plain.push(character);
                rest = &rest[at + 3..];
            }
            None => {
                plain.push('%');
                rest = &rest[at + 1..];
            }
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

fn is_unreserved(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '_' | '~')
}

fn split<'a>(path: &'a str, into: &mut [&'a str; SEGMENTS]) -> Option<usize> {
    let mut count = 0;
    for segment in path.strip_prefix('/')?.split('/') {
        *into.get_mut(count)? = segment;
        count += 1;
    }
    Some(count)
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

    #[test]
    fn needlessly_encoded_characters_are_decoded() {
        let check = |path: &str, expect: &str| assert_eq!(plain(path), expect, "{path}");
        check("/deal", "/deal");
        check("/%64eal/%7Ea%2db", "/deal/~a-b");
        check("/a%2Fb%20%C3%A9", "/a%2Fb%20%C3%A9");
        check("/%", "/%");
        check("/%4", "/%4");
        check("/%+1%zz%é", "/%+1%zz%é");
        check("/%2541", "/%2541");
    }

    fn find(surface: Surface, method: &str, path: &'static str) -> Result<Route<'static>, NoRoute> {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        Route::find(surface, &method, path)
    }

    #[test]
    fn a_route_is_found_where_it_belongs_and_nowhere_else() {
        use Surface::{Admin, Both, Data, Gateway};
        let check = |path: &'static str, name: &str, there: &[Surface]| {
            for surface in Surface::ALL {
                let found = find(surface, "GET", path);
                match found {
                    Ok(route) => {
                        assert!(there.contains(&surface), "{path} is on {surface:?}");
                        assert_eq!(route.name(), name);
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
            "/deal/",
            "/tickets/",
            "/api/v1/deals//log",
            "/api/v1/deals/abc/log/",
            "//deal",
            "/Deal",
            "/v1/export",
            "/v1/export/deals/",
            "/v1/analytics",
            "/v1/analytics/conversations",
            "/v1/analytics/freshness/day/x",
            "/v1/export/deals/ids/",
            "/v1/export/deals/rows",
            "/a/b/c/d/e/f/g/h/i/j/k",
        ] {
            let expect = if path == "*" {
                NoRoute::OtherMethods("GET, HEAD, POST, PUT, PATCH, DELETE".to_owned())
            } else {
                NoRoute::Nothing
            };
            assert_eq!(find(Surface::Both, "GET", path), Err(expect), "{path}");
        }
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
    fn errors_have_their_familys_shape_even_at_unknown_paths() {
        assert_eq!(Surface::Both.family("/v1/nothing"), Family::Data);
        assert_eq!(Surface::Both.family("/v10/nothing"), Family::Gateway);
        for path in ["/send-notification", "/send-notification/"] {
            assert_eq!(Surface::Both.family(path), Family::Notification);
            assert_eq!(Surface::Gateway.family(path), Family::Notification);
            assert_eq!(Surface::Data.family(path), Family::Data);
        }
        assert_eq!(
            Surface::Both.family("/api/v1/deals/abc/log"),
            Family::Gateway
        );
        assert_eq!(Surface::Data.family("/nothing"), Family::Data);
        assert_eq!(Surface::Gateway.family("/v1/whoami"), Family::Gateway);
    }
}
