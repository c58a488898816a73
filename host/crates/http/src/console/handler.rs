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
