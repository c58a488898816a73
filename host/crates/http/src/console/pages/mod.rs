mod analytics;
mod audit;
mod change;
mod connections;
mod contacts;
mod conversations;
mod deals;
mod deliveries;
mod edit_connection;
mod faults;
pub mod filters;
mod golden_cases;
mod instances;
mod keys;
mod messages;
mod new_connection;
mod part;
mod plugins;
mod prelude;
mod repairs;
mod replays;
mod service;
mod tickets;
mod today;
pub mod words;
pub mod workspace;

use self::connections::Change;
use super::answer::page;
use super::handler::{ConsoleHandler, FormOrigin};
use crate::prelude::*;
use crate::route::{Handler, Mark, Route};

/// Makes the rows of the table: `METHOD "path" => page handler(arguments);`. A handler gets the visit, then
/// what the row lists: the parameters of the path by their names, as the path has them, `form`, and values in
/// parentheses. A `page` returns a template, an `answer` the whole answer. A `form` names the page from which it
/// is sent.
macro_rules! pages {
    ($($method:ident $path:literal => $kind:ident $($origin:literal)? $(($from:path))?
        $($handler:ident)::+ $(($($argument:tt),*))? $([$mark:ident])?;)+) => {
        &[$(
            Route {
                method: stringify!($method),
                template: concat!("/console", $path),
                fixed: crate::route::before_parameter(concat!("/console", $path)),
                name: "console",
                tag: "",
                handler: Handler::Console(pages!(
                    @$kind concat!("/console", $path), $($origin)? $(($from))?,
                    $($handler)::+ $(($($argument)*))?
                )),
                marks: &[$(Mark::$mark)?],
                describe: |_| None,
            },
        )+]
    };
    (@special $path:expr, , $handler:ident) => { ConsoleHandler::$handler };
    (@answer $path:expr, , $($handler:ident)::+ ($($argument:tt)*)) => {
        ConsoleHandler::Page(|visit, parameters| Box::pin(async move {
            let _ = parameters;
            $($handler)::+(visit $(, pages!(@argument $path, parameters parameters $argument))*).await
        }))
    };
    (@page $path:expr, , $($handler:ident)::+ ($($argument:tt)*)) => {
        ConsoleHandler::Page(|visit, parameters| Box::pin(async move {
            let _ = parameters;
            let shown = $($handler)::+(visit $(, pages!(@argument $path, parameters parameters $argument))*).await?;
            page(StatusCode::OK, &shown)
        }))
    };
    (@form $path:expr, $origin:tt, $($handler:ident)::+ ($($argument:tt)*)) => {
        ConsoleHandler::Form(
            |visit, parameters, form| Box::pin(async move {
                let _ = (parameters, form);
                $($handler)::+(visit $(, pages!(@argument $path, parameters form $argument))*).await
            }),
            pages!(@origin $origin),
        )
    };
    (@origin ($from:path)) => { FormOrigin::OfForm($from) };
    (@origin $page:literal) => { FormOrigin::Page($page) };
    (@argument $path:expr, $parameters:ident $form:ident form) => { $form };
    (@argument $path:expr, $parameters:ident $form:ident ($value:expr)) => { $value };
    (@argument $path:expr, $parameters:ident $form:ident $name:ident) => {
        $parameters.raw(const { crate::route::place($path, stringify!($name)) })
    };
}

/// The pages and forms, and the files that pages load.
pub static ROUTES: &[Route] = pages! {
    GET "/style.css" => special Style;
    GET "/script.js" => special Script;
    GET "/live" => special Live;
    GET "/sign-in" => special SignInPage;
    POST "/sign-in" => special SignIn;
    POST "/sign-out" => special SignOut;
    GET "" => answer today::show();
    GET "/" => answer today::show();
    GET "/deliveries" => answer deliveries::find();
    GET "/deliveries/{delivery}" => page deliveries::show(delivery);
    POST "/deliveries/replay" => form "/deliveries" replays::submit(form);
    POST "/deliveries/{delivery}/replay" => form "/deliveries/{}" deliveries::replay(delivery, form);
    POST "/deliveries/{delivery}/golden" => form "/deliveries/{}" deliveries::export(delivery);
    GET "/analytics" => answer analytics::show();
    GET "/plugins" => page plugins::list();
    GET "/plugins/{plugin}" => answer plugins::find(plugin);
    GET "/plugins/{plugin}/golden/{digest}" => page golden_cases::show(plugin, digest);
    POST "/plugins/{plugin}/activate" => form "/plugins/{}" plugins::activate(plugin, form);
    POST "/plugins/{plugin}/verify" => form "/plugins/{}" plugins::verify(plugin, form);
    POST "/plugins/{plugin}/impact" => form "/plugins/{}" plugins::impact(plugin, form);
    POST "/plugins/{plugin}/rollback" => form "/plugins/{}" plugins::roll_back(plugin, form);
    POST "/plugins/{plugin}/rollout" => form "/plugins/{}" plugins::start_rollout(plugin, form);
    POST "/plugins/{plugin}/rollout/change" => form "/plugins/{}" plugins::change_rollout(plugin, form);
    POST "/plugins" => form "/plugins" plugins::upload(form) [Component];
    GET "/repairs" => page repairs::list();
    POST "/repairs" => form (repairs::origin) repairs::start(form);
    GET "/repairs/{repair}" => page repairs::show(repair);
    POST "/repairs/{repair}/cancel" => form "/repairs/{}" repairs::cancel(repair);
    POST "/repairs/{repair}/undo" => form "/repairs/{}" repairs::undo(repair, form);
    GET "/connections" => page connections::list();
    GET "/connections/new" => page new_connection::show();
    POST "/connections/new/try" => form "/connections/new" new_connection::try_body(form);
    POST "/connections/new" => form "/connections/new" new_connection::make(form);
    GET "/connections/{connection}" => page connections::show(connection);
    POST "/connections/{connection}/secret" => form "/connections/{}" connections::change(connection, form, (Change::Secret));
    POST "/connections/{connection}/config" => form "/connections/{}" connections::change(connection, form, (Change::Config));
    POST "/connections/{connection}/try" => form "/connections/{}" connections::change(connection, form, (Change::Try));
    POST "/connections/{connection}/test" => form "/connections" connections::test(connection, form);
    GET "/connections/{connection}/entry" => page edit_connection::show(connection);
    POST "/connections/{connection}/entry" => form "/connections/{}/entry" edit_connection::save(connection, form);
    GET "/connections/{connection}/retire" => page edit_connection::retirement(connection);
    POST "/connections/{connection}/retire" => form "/connections/{}/retire" edit_connection::retire(connection, form);
    POST "/connections/{connection}/pause" => form "/connections" connections::pause(connection, form);
    POST "/connections/{connection}/resume" => form "/connections" connections::resume(connection);
    GET "/instances" => page instances::list();
    GET "/instances/{instance}" => page instances::show(instance);
    POST "/instances/{instance}/secret" => form "/instances/{}" instances::change(instance, form, (true));
    POST "/instances/{instance}/config" => form "/instances/{}" instances::change(instance, form, (false));
    POST "/instances/{instance}/pause" => form "/instances" instances::pause(instance, form);
    POST "/instances/{instance}/resume" => form "/instances" instances::resume(instance);
    POST "/instances/{instance}/sync-templates" => form "/instances" instances::sync_templates(instance);
    GET "/messages" => answer messages::list();
    GET "/conversations/{conversation}" => page conversations::show(conversation);
    POST "/messages/reply" => form (messages::origin_of_reply) messages::reply(form);
    POST "/messages/resolve" => form "/messages" messages::resolve_many(form);
    POST "/messages/{message}/resolve" => form "/messages" messages::resolve(message, form);
    GET "/deals" => answer deals::find();
    GET "/deals/{deal}" => page deals::show(deal);
    GET "/tickets" => answer tickets::list();
    GET "/tickets/{ticket}" => page tickets::show(ticket);
    GET "/contacts" => answer contacts::find();
    GET "/contacts/{contact}" => page contacts::show(contact);
    GET "/contacts/erasures/{erasure}" => page contacts::receipt(erasure);
    POST "/contacts/erase" => form "/contacts" contacts::erase(form);
    GET "/keys" => page keys::list();
    POST "/keys" => form "/keys" keys::create(form);
    POST "/partners" => form "/keys" keys::make_partner(form);
    POST "/keys/{key}/revoke" => form "/keys" keys::revoke(key);
    GET "/audit" => answer audit::list();
    GET "/service" => page service::show();
};
