//! What a route of the console does: a page or a form for an operator who is signed in, or what needs no
//! session.

use std::pin::Pin;

use super::answer::FormOutcome;
use super::api::ApiRefusal;
use super::form::Form;
use super::visit::Visit;
use crate::reply::ApiResponse;
use crate::route::Parameters;

pub type Visited<'a, T> = Pin<Box<dyn Future<Output = Result<T, ApiRefusal>> + Send + 'a>>;

pub enum ConsoleHandler {
    Style,
    Script,
    Live,
    SignInPage,
    SignIn,
    SignOut,
    Page(for<'a> fn(&'a Visit<'a>, Parameters<'a>) -> Visited<'a, ApiResponse>),
    /// May change something.
    Form(
        for<'a> fn(&'a Visit<'a>, Parameters<'a>, &'a Form) -> Visited<'a, FormOutcome>,
        FormOrigin,
    ),
    /// An address without a page.
    Nothing,
}

/// The page, below `/console`, from which a form is sent: it shows why the form was refused.
#[derive(Clone, Copy)]
pub enum FormOrigin {
    /// With `{}` in place of the first parameter.
    Page(&'static str),
    OfForm(fn(&Form) -> String),
}

impl FormOrigin {
    pub fn path(self, parameters: Parameters<'_>, form: &Form) -> String {
        match self {
            Self::Page(template) => template.replace("{}", parameters.raw(0)),
            Self::OfForm(path) => path(form),
        }
    }
}

impl ConsoleHandler {
    pub fn is_form(&self) -> bool {
        matches!(self, Self::SignOut | Self::Form(..))
    }
}

/// Makes the rows of a table: `METHOD "path" => page handler(arguments);`. A handler gets the visit, then
/// what the row lists: the parameters of the path by their names, as the path has them, `form`, and values in
/// parentheses. A `page` returns a template, an `answer` the whole answer. A `form` names the page from which it
/// is sent.
macro_rules! pages {
    ($($method:ident $path:literal => $kind:ident $($origin:literal)? $(($from:path))?
        $handler:ident $(($($argument:tt),*))? $([$mark:ident])?;)+) => {
        &[$(
            $crate::route::Route {
                method: stringify!($method),
                template: concat!("/console", $path),
                fixed: $crate::route::before_parameter(concat!("/console", $path)),
                name: "console",
                tag: "",
                handler: $crate::route::Handler::Console(pages!(
                    @$kind concat!("/console", $path), $($origin)? $(($from))?, $handler $(($($argument)*))?
                )),
                marks: &[$($crate::route::Mark::$mark)?],
                describe: |_| None,
            },
        )+]
    };
    (@special $path:expr, , $handler:ident) => { $crate::console::handler::ConsoleHandler::$handler };
    (@answer $path:expr, , $handler:ident ($($argument:tt)*)) => {
        $crate::console::handler::ConsoleHandler::Page(|visit, parameters| Box::pin(async move {
            let _ = parameters;
            $handler(visit $(, pages!(@argument $path, parameters parameters $argument))*).await
        }))
    };
    (@page $path:expr, , $handler:ident ($($argument:tt)*)) => {
        $crate::console::handler::ConsoleHandler::Page(|visit, parameters| Box::pin(async move {
            let _ = parameters;
            let shown = $handler(visit $(, pages!(@argument $path, parameters parameters $argument))*).await?;
            $crate::console::answer::page(hyper::StatusCode::OK, &shown)
        }))
    };
    (@form $path:expr, $origin:tt, $handler:ident ($($argument:tt)*)) => {
        $crate::console::handler::ConsoleHandler::Form(
            |visit, parameters, form| Box::pin(async move {
                let _ = (parameters, form);
                $handler(visit $(, pages!(@argument $path, parameters form $argument))*).await
            }),
            pages!(@origin $origin),
        )
    };
    (@origin ($from:path)) => { $crate::console::handler::FormOrigin::OfForm($from) };
    (@origin $page:literal) => { $crate::console::handler::FormOrigin::Page($page) };
    (@argument $path:expr, $parameters:ident $form:ident form) => { $form };
    (@argument $path:expr, $parameters:ident $form:ident ($value:expr)) => { $value };
    (@argument $path:expr, $parameters:ident $form:ident $name:ident) => {
        $parameters.raw(const { $crate::route::place($path, stringify!($name)) })
    };
}

pub(crate) use pages;
