//! The contract `leadhost:adapter@1.0.0`, and the only place that names its bindings.
//! Answers are converted to the domain's types, and violations of the host's rules are
//! refused here: a bad event becomes an invalid event, and any other violation refuses the
//! answer. Texts for people are cut to their bounds; ids are not, since a cut id would be
//! another id.

mod bindings;
mod events;
pub mod words;

use wasmtime::component::InstancePre;

use self::bindings::exports::leadhost::adapter::adapter as wit;
use self::bindings::{ChannelAdapter, ChannelAdapterPre};
use self::words::{category, further_ids, text, word};
use super::types::{self, golden_delivery, golden_response};
use crate::abi::fault::missing_function;
use crate::abi::golden::shown;
use crate::abi::texts::{notes, storable_list, storable_pairs};
use crate::prelude::*;
use crate::rules;
use leadhost_domain::channel::{
    AcceptedSend, Placeholder, RefusedSend, SendAnswer, SendStep, Template, TemplatePage,
    TemplateSend, TemplateStep, Webhook,
};
use leadhost_domain::json;
use leadhost_domain::text::{storable, storable_json};

plugin!(Adapter, ChannelAdapter of ChannelAdapterPre);

impl Adapter {
    pub async fn routes(
        &self,
        store: &mut Store<InstanceState>,
        config: &str,
    ) -> Result<Result<Pairs, InputProblem>, Fault> {
        let guest = self.start(store).await?;
        match exported(&guest).call_routes(store, config).await? {
            Ok(routes) => {
                let routes = storable_pairs(routes);
                rules::channel::route(&routes).map_err(Fault::Rule)?;
                Ok(Ok(routes))
            }
            Err(problem) => Ok(Err(problem.into())),
        }
    }

    pub async fn send(
        &self,
        store: &mut Store<InstanceState>,
        message: TemplateSend,
    ) -> Result<SendStep, Fault> {
        let guest = self.start(store).await?;
        match exported(&guest).call_send(store, &message.into()).await? {
            wit::SendStep::Call(call) => Ok(SendStep::Call(request(call)?)),
            wit::SendStep::Answer(answer) => send_answer(answer).map(SendStep::Answer),
        }
    }

    pub async fn read_answer(
        &self,
        store: &mut Store<InstanceState>,
        message: TemplateSend,
        response: HttpResponse,
    ) -> Result<SendAnswer, Fault> {
        let guest = self.start(store).await?;
        let (message, response) = (message.into(), response.into());
        send_answer(
            exported(&guest)
                .call_read_answer(store, &message, &response)
                .await?,
        )
    }

    pub async fn read_webhook(
        &self,
        store: &mut Store<InstanceState>,
        delivery: PluginDelivery,
    ) -> Result<Result<Webhook, InputProblem>, Fault> {
        let guest = self.start(store).await?;
        let answer = exported(&guest)
            .call_read_webhook(&mut *store, &delivery.into())
            .await?;
        match answer {
            Ok(webhook) => Ok(Ok(Webhook {
                reply: types::reply(webhook.reply)?,
                events: events::read(webhook.events)?,
                notes: notes(webhook.notes),
                memory: store.data().limiter.needed(),
                // The caller knows it.
                processor: Duration::ZERO,
            })),
            Err(problem) => Ok(Err(problem.into())),
        }
    }

    pub async fn list_templates(
        &self,
        store: &mut Store<InstanceState>,
        config: &str,
    ) -> Result<Result<TemplateStep, InputProblem>, Fault> {
        let guest = self.start(store).await?;
        Ok(
            match exported(&guest).call_list_templates(store, config).await? {
                Ok(wit::TemplateStep::Call(call)) => Ok(TemplateStep::Call(request(call)?)),
                Ok(wit::TemplateStep::Page(page)) => Ok(TemplateStep::Page(template_page(page)?)),
                Ok(wit::TemplateStep::Unlisted) => Ok(TemplateStep::Unlisted),
                Err(problem) => Err(problem.into()),
            },
        )
    }

    pub async fn read_templates(
        &self,
        store: &mut Store<InstanceState>,
        config: &str,
        response: HttpResponse,
    ) -> Result<Result<TemplatePage, RefusedSend>, Fault> {
        let guest = self.start(store).await?;
        match exported(&guest)
            .call_read_templates(store, config, &response.into())
            .await?
        {
            Ok(page) => Ok(Ok(template_page(page)?)),
            Err(refused) => Ok(Err(refused.into())),
        }
    }
}

async fn answer(
    guest: &ChannelAdapter,
    store: &mut Store<InstanceState>,
    case: &Case,
) -> Result<Value, Fault> {
    let guest = exported(guest);
    let config = case.delivery.config_text();
    let response = golden_response(case, &case.response);
    match case.call {
        Call::Describe => shown(Ok::<_, ()>(guest.call_describe(&mut *store).await?)),
        Call::SenderChecks => shown(guest.call_sender_checks(store, &config).await?),
        Call::Handshake => shown(guest.call_handshake(store, &golden_delivery(case)).await?),
        Call::Routes => shown(guest.call_routes(store, &config).await?),
        Call::Send => {
            let step = guest.call_send(store, &golden_message(case)).await?;
            shown(Ok::<_, ()>(step))
        }
        Call::ReadAnswer => {
            let answer = guest
                .call_read_answer(store, &golden_message(case), &response)
                .await?;
            shown(Ok::<_, ()>(answer))
        }
        Call::ReadWebhook => shown(
            guest
                .call_read_webhook(store, &golden_delivery(case))
                .await?,
        ),
        Call::ListTemplates => shown(guest.call_list_templates(store, &config).await?),
        Call::ReadTemplates => shown(guest.call_read_templates(store, &config, &response).await?),
        Call::Convert | Call::Complete => Err(missing_function(case, PluginKind::Adapter)),
    }
}

fn exported(guest: &ChannelAdapter) -> &wit::Guest {
    guest.leadhost_adapter_adapter()
}

// ---- in

impl From<TemplateSend> for wit::TemplateSend {
    fn from(message: TemplateSend) -> Self {
        Self {
            message_id: message.message_id,
            recipient: message.recipient,
            template: message.template,
            config: message.config,
            context: message.context,
        }
    }
}

fn golden_message(case: &Case) -> wit::TemplateSend {
    let given = &case.message;
    wit::TemplateSend {
        message_id: given.message_id.clone(),
        recipient: given.recipient.clone(),
        template: given.template_text(),
        config: case.delivery.config_text(),
        context: given.context.clone(),
    }
}

// ---- out: results of a send

fn request(request: types::core::HttpRequest) -> Result<Box<HttpRequest>, Fault> {
    let request = HttpRequest::try_from(request)?;
    rules::request(&request).map_err(Fault::Rule)?;
    Ok(Box::new(request))
}

fn send_answer(answer: wit::SendAnswer) -> Result<SendAnswer, Fault> {
    Ok(match answer {
        wit::SendAnswer::Accepted(accepted) => {
            let accepted = AcceptedSend {
                external_ids: storable_list(accepted.external_ids),
                recipient_id: accepted.recipient_id.map(storable),
                further_ids: further_ids(&accepted.attributes),
                status: word(accepted.status),
            };
            rules::channel::accepted(&accepted).map_err(Fault::Rule)?;
            SendAnswer::Accepted(accepted)
        }
        wit::SendAnswer::Refused(refused) => SendAnswer::Refused(refused.into()),
        wit::SendAnswer::Unknown(why) => SendAnswer::Unknown(text(why)),
    })
}

impl From<wit::Refused> for RefusedSend {
    fn from(refused: wit::Refused) -> Self {
        Self {
            category: category(&refused.category),
            code: word(refused.code),
            title: text(refused.title),
            text: text(refused.text),
            details: text(refused.details),
            retry_after: refused
                .retry_after_seconds
                .map(|seconds| Duration::from_secs(u64::from(seconds))),
        }
    }
}

// ---- out: templates

fn template_page(page: wit::TemplatePage) -> Result<TemplatePage, Fault> {
    if page.templates.len() > limits::TEMPLATES_PER_PAGE {
        return Err(Fault::Rule(format!(
            "{} templates; at most {} are taken from one page",
            page.templates.len(),
            limits::TEMPLATES_PER_PAGE
        )));
    }
    let templates = page
        .templates
        .into_iter()
        .map(template)
        .collect::<Result<_, _>>()
        .map_err(Fault::Rule)?;
    let next = page.next.map(request).transpose()?;
    Ok(TemplatePage { templates, next })
}

fn template(template: wit::Template) -> Result<Template, String> {
    rules::channel::template_size(&template.name, &template.text, &template.components)?;
    let components = components(template.components).map_err(|error| {
        format!(
            "the template `{}` with components that are not JSON: {error}",
            template.name
        )
    })?;
    let template = Template {
        name: storable(template.name),
        language: word(template.language),
        status: word(template.status),
        category: word(template.category),
        reason: text(template.reason),
        text: storable(template.text),
        placeholders: template
            .placeholders
            .into_iter()
            .map(|placeholder| Placeholder {
                component: word(placeholder.component),
                index: placeholder.index,
                kind: word(placeholder.kind),
                name: storable(placeholder.name),
            })
            .collect(),
        components,
    };
    rules::channel::template(&template)?;
    Ok(template)
}

/// Returns the JSON text unchanged, unless it contains U+0000, which cannot be stored, or half of a
/// surrogate pair, which some readers refuse. An empty text is an empty list.
fn components(text: String) -> Result<String, serde_json::Error> {
    if text.is_empty() {
        return Ok("[]".to_owned());
    }
    if text.contains("\\u0000") {
        return Ok(storable_json(json::parse(&text)?).to_string());
    }
    serde_json::from_str::<serde::de::IgnoredAny>(&text)?;
    Ok(json::without_halves(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_template(name: &str, components: String) -> wit::Template {
        wit::Template {
            name: name.to_owned(),
            language: "en".to_owned(),
            status: "approved".to_owned(),
            category: String::new(),
            reason: String::new(),
            text: String::new(),
            placeholders: Vec::new(),
            components,
        }
    }

    #[test]
    fn a_template_is_measured_before_its_components_are_read() {
        let long = "x".repeat(1_000_000);
        let error = template(a_template(&long, "{".to_owned())).expect_err("a long name");
        assert!(error.contains("1000000 bytes"), "{}", error.len());
        let list = format!("[{}\"\\u0000\"]", "0,".repeat(limits::TEMPLATE_BYTES / 2));
        let error = template(a_template("welcome", list)).expect_err("long components");
        assert!(error.contains("at most 262144 are kept"), "{error}");
        let error = template(a_template("welcome", "{".to_owned())).expect_err("no JSON");
        assert!(error.contains("not JSON"), "{error}");
        let taken = template(a_template("welcome", String::new())).expect("a template");
        assert_eq!(taken.components, "[]");
        let half = r#"[{"text":"Oi \ud83d","n":1.50}]"#.to_owned();
        let taken = template(a_template("welcome", half)).expect("a template");
        assert_eq!(taken.components, r#"[{"text":"Oi \ufffd","n":1.50}]"#);
    }
}
