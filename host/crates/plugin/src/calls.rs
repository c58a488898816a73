//! The calls that the service makes into its plugins. `lane` is the connection's id; lanes
//! share the processor. A call to a function that a plugin of this kind does not have
//! returns [`CallError::Lacks`].

use super::abi::{Guest, of_either};
use super::error::CallOutcome;
use super::watch::{Watched, WatchedCall, WatchedOutput};
use super::{
    CallBudget,
    runtime::{CallAccount, CallStart, GuestFuture},
};
use crate::prelude::*;
use leadhost_domain::channel::{
    RefusedSend, SendAnswer, SendStep, TemplatePage, TemplateSend, TemplateStep, Webhook,
};
use leadhost_domain::plugin::{CircuitFunction, ConvertedItem, FetchFailure, PluginCompletion};

#[leadhost_boxed::boxed]
impl Plugins {
    // ---- of every plugin

    pub async fn sender_checks(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        config: &str,
        budget: CallBudget,
    ) -> Result<Result<SenderChecks, InputProblem>, CallError> {
        let config = config.to_owned();
        let context =
            CallContext::for_plugin("sender-checks", plugin).counted_as(CircuitFunction::Checks);
        self.call_guest(plugin, lane, budget, context, move |guest, store| {
            Box::pin(async move { of_either!(guest, sender_checks(store, &config)) })
        })
        .await
    }

    pub async fn handshake(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        delivery: PluginDelivery,
        budget: CallBudget,
    ) -> Result<Result<Option<HandshakeAnswer>, InputProblem>, CallError> {
        let context = CallContext::for_delivery("handshake", plugin, &delivery)
            .counted_as(CircuitFunction::Handshake);
        self.call_guest(plugin, lane, budget, context, move |guest, store| {
            Box::pin(async move { of_either!(guest, handshake(store, delivery)) })
        })
        .await
    }

    // ---- of a converter

    /// Converts a delivery into items. The guest's standard output and error are added to
    /// the notes.
    pub async fn convert(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        delivery: PluginDelivery,
        budget: CallBudget,
    ) -> Result<Result<ConverterOutput, InputProblem>, CallError> {
        let context = CallContext::for_delivery("convert", plugin, &delivery)
            .counted_as(CircuitFunction::Delivery);
        let shown = WatchedOutput::from_conversion;
        let (answer, log, processor) = self
            .call_guest_with_log(plugin, lane, budget, context, shown, move |guest, store| {
                Box::pin(async move { guest.converter("convert")?.convert(store, delivery).await })
            })
            .await?;
        Ok(answer.map(|mut conversion| {
            conversion.notes.extend(log);
            conversion.processor = processor;
            conversion
        }))
    }

    pub async fn complete(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        completion: PluginCompletion,
        budget: CallBudget,
    ) -> Result<Result<Vec<ConvertedItem>, FetchFailure>, CallError> {
        let (id, received_at) = (&completion.delivery_id, &completion.received_at);
        let context = CallContext::new("complete", plugin, id, received_at)
            .counted_as(CircuitFunction::Fetch);
        self.call_guest(plugin, lane, budget, context, move |guest, store| {
            Box::pin(async move {
                guest
                    .converter("complete")?
                    .complete(store, completion)
                    .await
            })
        })
        .await
    }

    // ---- of an adapter

    pub async fn routes(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        config: &str,
        budget: CallBudget,
    ) -> Result<Result<Pairs, InputProblem>, CallError> {
        let config = config.to_owned();
        let context = CallContext::for_plugin("routes", plugin);
        self.call_guest(plugin, lane, budget, context, move |guest, store| {
            Box::pin(async move { guest.adapter("routes")?.routes(store, &config).await })
        })
        .await
    }

    pub async fn send(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        message: TemplateSend,
        budget: CallBudget,
    ) -> Result<SendStep, CallError> {
        let context = CallContext::new("send", plugin, &message.message_id, "")
            .counted_as(CircuitFunction::Send);
        let shown = WatchedOutput::from_send;
        self.call_guest_with_log(plugin, lane, budget, context, shown, move |guest, store| {
            Box::pin(async move { guest.adapter("send")?.send(store, message).await })
        })
        .await
        .map(|(step, ..)| step)
    }

    pub async fn read_answer(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        message: TemplateSend,
        response: HttpResponse,
        budget: CallBudget,
    ) -> Result<SendAnswer, CallError> {
        let context = CallContext::new("read-answer", plugin, &message.message_id, "");
        self.call_guest(plugin, lane, budget, context, move |guest, store| {
            Box::pin(async move {
                guest
                    .adapter("read-answer")?
                    .read_answer(store, message, response)
                    .await
            })
        })
        .await
    }

    /// Returns the events of a provider's webhook. The guest's standard output and error
    /// are added to the notes.
    pub async fn read_webhook(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        delivery: PluginDelivery,
        budget: CallBudget,
    ) -> Result<Result<Webhook, InputProblem>, CallError> {
        let context = CallContext::for_delivery("read-webhook", plugin, &delivery)
            .counted_as(CircuitFunction::Delivery);
        let shown = WatchedOutput::from_webhook;
        let (answer, log, processor) = self
            .call_guest_with_log(plugin, lane, budget, context, shown, move |guest, store| {
                Box::pin(async move {
                    guest
                        .adapter("read-webhook")?
                        .read_webhook(store, delivery)
                        .await
                })
            })
            .await?;
        Ok(answer.map(|mut webhook| {
            webhook.notes.extend(log);
            webhook.processor = processor;
            webhook
        }))
    }

    pub async fn list_templates(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        config: &str,
        budget: CallBudget,
    ) -> Result<Result<TemplateStep, InputProblem>, CallError> {
        let config = config.to_owned();
        let context = CallContext::for_plugin("list-templates", plugin);
        let shown = WatchedOutput::from_template_step;
        self.call_guest_with_log(plugin, lane, budget, context, shown, move |guest, store| {
            Box::pin(async move {
                guest
                    .adapter("list-templates")?
                    .list_templates(store, &config)
                    .await
            })
        })
        .await
        .map(|(answer, ..)| answer)
    }

    pub async fn read_templates(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        config: &str,
        response: HttpResponse,
        budget: CallBudget,
    ) -> Result<Result<TemplatePage, RefusedSend>, CallError> {
        let config = config.to_owned();
        let context = CallContext::for_plugin("read-templates", plugin);
        let shown = WatchedOutput::from_templates;
        self.call_guest_with_log(plugin, lane, budget, context, shown, move |guest, store| {
            Box::pin(async move {
                guest
                    .adapter("read-templates")?
                    .read_templates(store, &config, response)
                    .await
            })
        })
        .await
        .map(|(answer, ..)| answer)
    }

    async fn call_guest<T: Send + 'static>(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        budget: CallBudget,
        context: CallContext,
        call: impl for<'a> FnOnce(&'a Guest, &'a mut Store<InstanceState>) -> GuestFuture<'a, T>
        + Send
        + 'static,
    ) -> Result<T, CallError> {
        let shown = WatchedOutput::from_other;
        self.call_guest_with_log(plugin, lane, budget, context, shown, call)
            .await
            .map(|(answer, ..)| answer)
    }

    /// Calls the plugin. The other parts of the answer are the guest's standard output and
    /// error, and the processor time of the call. `shown`: the part of the answer that a watcher sees.
    async fn call_guest_with_log<T: Send + 'static>(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        budget: CallBudget,
        context: CallContext,
        shown: impl FnOnce(&T) -> WatchedOutput,
        call: impl for<'a> FnOnce(&'a Guest, &'a mut Store<InstanceState>) -> GuestFuture<'a, T>
        + Send
        + 'static,
    ) -> Result<(T, Vec<String>, Duration), CallError> {
        let breakers = &self.0.breakers;
        let admitted = context
            .function
            .map(|function| breakers.admit(&plugin.digest, lane, function, budget))
            .transpose();
        let pass = match admitted {
            Ok(pass) => pass,
            Err(skipped) => {
                if budget.has_effects() {
                    let now = self.0.clock.now();
                    plugin.count(now, skipped.kind(), &CallHandle::default());
                }
                return Err(skipped);
            }
        };
        let called = Arc::clone(plugin);
        let whose = CallAccount {
            lane,
            digest: &plugin.digest,
            budget,
        };
        let environment = plugin
            .imports_wasi
            .then(|| CallEnvironment::new(&context.id, &context.received_at));
        let start = CallStart {
            environment,
            warm: plugin.warm.get().cloned(),
        };
        if budget.is_live() {
            self.0.live_calls.fetch_add(1, Ordering::Relaxed);
        }
        let handle = self.0.watch.handle();
        let begun = Instant::now();
        let answer = self
            .0
            .call_with(Arc::clone(&handle), whose, start, move |store| {
                Box::pin(async move { call(&called.guest, store).await })
            })
            .await;
        self.0.keep_warm(plugin);
        if let Some(pass) = pass {
            pass.report(&answer);
        }
        if budget.has_effects() {
            let outcome = CallOutcome::from_result(&answer);
            plugin.count(self.0.clock.now(), outcome, &handle);
            self.0.watch.tell(|| {
                Watched::Call(WatchedCall {
                    digest: plugin.digest.clone(),
                    plugin: plugin.description.name.clone(),
                    function: context.name,
                    id: context.id,
                    elapsed: begun.elapsed(),
                    usage: handle.usage(),
                    output: match &answer {
                        Ok((answer, _)) => Ok(shown(answer)),
                        Err(error) => Err(error.to_string()),
                    },
                })
            });
        }
        answer.map(|(answer, log)| (answer, log, handle.processor()))
    }
}

/// The function, the values from which a guest's clock and random numbers derive, and the function
/// that its failures count for.
struct CallContext {
    name: &'static str,
    id: String,
    /// Empty for guests without a clock.
    received_at: String,
    /// Failures of the same function are counted together.
    function: Option<CircuitFunction>,
}

impl CallContext {
    fn new(name: &'static str, plugin: &Loaded, id: &str, received_at: &str) -> Self {
        Self {
            name,
            id: id.to_owned(),
            received_at: if plugin.imports_wasi {
                received_at.to_owned()
            } else {
                String::new()
            },
            function: None,
        }
    }

    fn counted_as(self, function: CircuitFunction) -> Self {
        Self {
            function: Some(function),
            ..self
        }
    }

    fn for_delivery(name: &'static str, plugin: &Loaded, delivery: &PluginDelivery) -> Self {
        Self::new(name, plugin, &delivery.id, &delivery.received_at)
    }

    fn for_plugin(name: &'static str, plugin: &Loaded) -> Self {
        Self::new(name, plugin, &plugin.digest.0, "")
    }
}
