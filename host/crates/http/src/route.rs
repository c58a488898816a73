//! A route: a row of a table with its method and path, its name, its handler, and who may call it. A row
//! says all of it or does not compile. `routes.rs` has the table.

use std::pin::Pin;

use percent_encoding::percent_decode_str;

use super::auth::{AdminCaller, PartnerCaller, WorkspaceCaller};
use super::console::handler::ConsoleHandler;
use super::error::Family;
use super::openapi::operation::Operation;
use super::openapi::schemas::Schemas;
use super::surface::Access;
use crate::prelude::*;
use leadhost_domain::key::Role;

/// An operation of the interface, or a page.
pub struct Route {
    /// HEAD is routed as GET.
    pub method: &'static str,
    /// The path with names in place of what it names, such as `/deal/{dealId}`: the path of the OpenAPI
    /// document. It quotes nothing of a request, so that traces may have it.
    pub template: &'static str,
    /// The bytes of the template before its first parameter.
    pub fixed: usize,
    /// The label of its metrics and of its log lines. Idempotency keys are stored under it.
    pub name: &'static str,
    /// The section of the document.
    pub tag: &'static str,
    pub handler: Handler,
    pub marks: &'static [Mark],
    /// Returns the operation of the document, unless it has none.
    pub describe: for<'s> fn(Operation<'s>) -> Option<Operation<'s>>,
}

/// What is special about a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It is asked for all the time, and for no client.
    Probe,
    /// It is answered without the serving threads.
    Liveness,
    /// It is answered without the store.
    Storeless,
    /// It takes a delivery of the connection that its first parameter names.
    Delivery,
    /// It lasts as long as its body keeps arriving.
    Unbounded,
    /// It is a form with a component.
    Component,
    /// The audit names all its parameters: the first one names only what it belongs to.
    WholeTarget,
    /// Its requests name persons or have secrets. Refusals may repeat these, so that the audit has only
    /// their status.
    Confidential,
}

/// What a handler returns.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Result<ApiResponse, ApiError>> + Send + 'a>>;

/// Runs a handler for a caller who has proved to be one.
pub type Run<C> = for<'a> fn(&'a Call<'a>, &'a C, Parameters<'a>, UnreadBody) -> Answering<'a>;

/// The handler, by what a caller needs. So that it cannot be reached without it, the handler takes
/// the proof as an argument.
pub enum Handler {
    /// Without a key. Senders of leads authenticate to their connection.
    Open(Run<()>),
    /// With a partner key.
    Partner(Run<PartnerCaller>),
    /// With a partner's access token, as bearer.
    Token(Run<PartnerCaller>),
    /// With a workspace key, at the workspace's rate.
    Workspace(Run<WorkspaceCaller>),
    /// With an admin key of this role, on the admin surface. The audit records what viewers may not do: it
    /// changes something, or hands out what senders sent.
    Admin(Role, Run<AdminCaller>),
    /// With a session of the console, on the admin surface.
    Console(ConsoleHandler),
}

/// What the path of a request names, in the order of the template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameters<'p>([&'p str; 3]);

/// A route with what the path of the request names.
#[derive(Clone, Copy)]
pub struct Found<'p> {
    pub route: &'static Route,
    pub parameters: Parameters<'p>,
}

impl<'p> Parameters<'p> {
    /// Returns a parameter without its percent-encoding.
    pub fn text(&self, place: usize) -> Cow<'p, str> {
        percent_decode_str(self.0[place]).decode_utf8_lossy()
    }

    pub fn raw(&self, place: usize) -> &'p str {
        self.0[place]
    }
}

impl Route {
    pub fn access(&self) -> Access {
        match self.handler {
            Handler::Open(_) => Access::Anyone,
            Handler::Partner(_) => Access::PartnerKey,
            Handler::Token(_) => Access::AccessToken,
            Handler::Workspace(_) => Access::WorkspaceKey,
            // A session of the console begins with one.
            Handler::Admin(..) | Handler::Console(_) => Access::AdminKey,
        }
    }

    pub fn is(&self, mark: Mark) -> bool {
        self.marks.contains(&mark)
    }

    pub fn act(&self) -> &'static str {
        self.name.strip_prefix("admin-").unwrap_or(self.name)
    }

    pub fn operation<'s>(&self, family: Family, schemas: &'s mut Schemas) -> Option<Operation<'s>> {
        let words = (self.act(), self.tag, self.template);
        let operation = Operation::new(words, (self.access(), family), schemas);
        (self.describe)(operation)
    }

    /// Returns what the operation is about, for the audit: a name or an id, or nothing.
    pub fn target(&self, parameters: Parameters<'_>) -> String {
        if self.is(Mark::WholeTarget) {
            format!("{}/{}", parameters.text(0), parameters.text(1))
        } else {
            parameters.text(0).into_owned()
        }
    }

    fn parameters<'p>(&self, path: &'p str) -> Option<Parameters<'p>> {
        let (fixed, mut template) = self.template.split_at(self.fixed);
        let mut rest = path.strip_prefix(fixed)?;
        let mut found = Parameters::default();
        let mut places = found.0.iter_mut();
        while let Some((_, after)) = template.split_once('}') {
            let end = rest.find('/').unwrap_or(rest.len());
            let (value, others) = rest.split_at(end);
            // Nothing has an empty name.
            if value.is_empty() {
                return None;
            }
            *places.next()? = value;
            let fixed;
            (fixed, template) = after.split_at(before_parameter(after));
            rest = others.strip_prefix(fixed)?;
        }
        rest.is_empty().then_some(found)
    }
}

/// Finds a route. The first one counts.
pub fn find<'p>(
    routes: impl IntoIterator<Item = &'static Route>,
    method: &str,
    path: &'p str,
) -> Option<Found<'p>> {
    routes.into_iter().find_map(|route| {
        let parameters = route.parameters(path)?;
        (route.method == method).then_some(Found { route, parameters })
    })
}

pub const fn before_parameter(template: &str) -> usize {
    let bytes = template.as_bytes();
    let mut at = 0;
    while at < bytes.len() && bytes[at] != b'{' {
        at += 1;
    }
    at
}

/// Returns the place of a parameter in a template. A row that names another one does not compile.
pub const fn place(template: &str, name: &str) -> usize {
    let (template, name) = (template.as_bytes(), name.as_bytes());
    let (mut at, mut place) = (0, 0);
    while at < template.len() {
        if template[at] == b'{' {
            let mut same = 0;
            while same < name.len() && template[at + 1 + same] == name[same] {
                same += 1;
            }
            if same == name.len() && template[at + 1 + same] == b'}' {
                return place;
            }
            place += 1;
        }
        at += 1;
    }
    panic!("the path has no such parameter")
}

/// Makes the rows of a table: `METHOD "path" "name" => handler(arguments) [marks];`, below the sections of
/// the document. In the admin API's table, the role stands before the arrow. Handlers get the call, then
/// what the row lists: `caller`, the parameters of the path by their names, `body`.
macro_rules! routes {
    ($access:ident $prefix:literal $label:literal; $($tag:literal {
        $($method:ident $path:literal $name:literal $($role:ident)?
            => $($handler:ident)::+($($argument:ident),*) $([$($mark:ident),+])?;)+
    })+) => {
        &[$($(
            $crate::route::Route {
                method: stringify!($method),
                template: concat!($prefix, $path),
                fixed: $crate::route::before_parameter(concat!($prefix, $path)),
                name: concat!($label, $name),
                tag: $tag,
                handler: $crate::route::Handler::$access(
                    $(leadhost_domain::key::Role::$role,)?
                    |call, caller, parameters, body| Box::pin(async move {
                        let _ = (caller, &parameters, &body);
                        $($handler)::+(
                            call,
                            $(routes!(@argument concat!($prefix, $path), caller parameters body $argument)),*
                        ).await
                    })
                ),
                marks: &[$($($crate::route::Mark::$mark),+)?],
                describe: <$($handler)::+ as $crate::openapi::operation::Described>::describe,
            },
        )+)+]
    };
    (@argument $template:expr, $caller:ident $parameters:ident $body:ident caller) => { $caller };
    (@argument $template:expr, $caller:ident $parameters:ident $body:ident body) => { $body };
    (@argument $template:expr, $caller:ident $parameters:ident $body:ident $name:ident) => {
        &$parameters.text(const { $crate::route::place($template, stringify!($name)) })
    };
}

pub(crate) use routes;
