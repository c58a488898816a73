//! What most pages use.

pub use askama::Template;

pub use super::filters::{Filtered, Filters, status_of};
pub use crate::console::answer::{FormOutcome, page, see_other};
pub use crate::console::api::ApiRefusal;
pub use crate::console::form::{Form, encoded};
pub use crate::console::frame::Frame;
pub(crate) use crate::console::handler::pages;
pub use crate::console::outcome::{Notice, Tone};
pub use crate::console::table::{Facts, Table};
pub use crate::console::visit::Visit;
pub(crate) use crate::prelude::*;
pub use crate::route::Route;
pub use leadhost_admin_api::connections::Connections;
pub use leadhost_admin_api::instances::Instances;
pub use leadhost_admin_api::workspaces::Workspaces;
pub use leadhost_domain::text;
pub use leadhost_domain::workspace::name_in_workspace;

pub type PageResult<T = ApiResponse> = Result<T, ApiRefusal>;
