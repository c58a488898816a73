//! The calls that the service makes into its plugins. `lane` is the connection's id; lanes
//! share the processor. A call to a function that a plugin of this kind does not have
//! returns [`CallError::Lacks`].

use std::sync::Arc;

use wasmtime::Store;

use super::abi::Guest;
use super::error::CallError;
use super::imports::Wasi;
use super::instance::InstanceState;
use super::load::Loaded;
use super::{Asked, Budget, CallAccount, Plugins};
use crate::domain::channel::{
    Refused, SendAnswer, SendStep, TemplatePage, TemplateSend, TemplateStep, Webhook,
};
use crate::domain::exchange::{HandshakeAnswer, HttpResponse, Pairs, Problem, SenderChecks};
use crate::domain::plugin::{
    CircuitFunction, Conversion, Failure, Item, PluginCompletion, PluginDelivery,
};

impl Plugins {
    // ---- of every plugin

    /// Returns the sender checks for a configuration, which is JSON text.
    ///
    /// # Errors
    /// Every call into a plugin returns a [`CallError`] if it gave no answer. The inner
    /// result is the plugin's own.
    pub async fn sender_checks(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        config: &str,
        budget: Budget,
    ) -> Result<Result<SenderChecks, Problem>, CallError> {
        let config = config.to_owned();
        let about = About::the_plugin(plugin).counted_as(CircuitFunction::Checks);
        self.ask(plugin, lane, budget, about, move |guest, store| {
            Box::pin(async move { guest.plugin().sender_checks(store, &config).await })
        })
        .await
    }

    /// Returns the answer to a GET with which a source or provider verifies the address.
    ///
    /// # Errors
    /// As for [`Plugins::sender_checks`].
    pub async fn handshake(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        delivery: PluginDelivery,
        budget: Budget,
    ) -> Result<Result<Option<HandshakeAnswer>, Problem>, CallError> {
        let about = About::delivery(plugin, &delivery).counted_as(CircuitFunction::Handshake);
        self.ask(plugin, lane, budget, about, move |guest, store| {
            guest.plugin().handshake(store, delivery)
        })
        .await
    }

    // ---- of a converter

    /// Converts a delivery into items. The guest's standard output and error are added to
    /// the notes.
    ///
    /// # Errors
    /// As for [`Plugins::sender_checks`].
    pub async fn convert(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        delivery: PluginDelivery,
        budget: Budget,
    ) -> Result<Result<Conversion, Problem>, CallError> {
        let about = About::delivery(plugin, &delivery).counted_as(CircuitFunction::Delivery);
        let (answer, log) = self
            .ask_and_listen(plugin, lane, budget, about, move |guest, store| {
                Box::pin(async move { guest.converter("convert")?.convert(store, delivery).await })
            })
            .await?;
        Ok(answer.map(|mut conversion| {
            conversion.notes.extend(log);
            conversion
        }))
    }

    /// Returns the items in the answer to a fetch.
    ///
    /// # Errors
    /// As for [`Plugins::sender_checks`].
    pub async fn complete(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        completion: PluginCompletion,
        budget: Budget,
    ) -> Result<Result<Vec<Item>, Failure>, CallError> {
        let about = About::new(plugin, &completion.delivery_id, &completion.received_at)
            .counted_as(CircuitFunction::Fetch);
        self.ask(plugin, lane, budget, about, move |guest, store| {
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

    /// Returns the names and values by which events are routed to an instance with this
    /// configuration.
    ///
    /// # Errors
    /// As for [`Plugins::sender_checks`].
    pub async fn routes(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        config: &str,
        budget: Budget,
    ) -> Result<Result<Pairs, Problem>, CallError> {
        let config = config.to_owned();
        let about = About::the_plugin(plugin);
        self.ask(plugin, lane, budget, about, move |guest, store| {
            Box::pin(async move { guest.adapter("routes")?.routes(store, &config).await })
        })
        .await
    }

    /// Returns the provider's call that sends a message, or the outcome if no call is
    /// needed.
    ///
    /// # Errors
    /// As for [`Plugins::sender_checks`].
    pub async fn send(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        message: TemplateSend,
        budget: Budget,
    ) -> Result<SendStep, CallError> {
        let about = About::new(plugin, &message.message_id, "").counted_as(CircuitFunction::Send);
        self.ask(plugin, lane, budget, about, move |guest, store| {
            Box::pin(async move { guest.adapter("send")?.send(store, message).await })
        })
        .await
    }

    /// Returns what the provider's answer says about the message.
    ///
    /// # Errors
    /// As for [`Plugins::sender_checks`]. An error leaves open whether the provider
    /// accepted the message.
    pub async fn read_answer(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        message: TemplateSend,
        response: HttpResponse,
        budget: Budget,
    ) -> Result<SendAnswer, CallError> {
        let about = About::new(plugin, &message.message_id, "");
        self.ask(plugin, lane, budget, about, move |guest, store| {
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
    ///
    /// # Errors
    /// As for [`Plugins::sender_checks`].
    pub async fn read_webhook(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        delivery: PluginDelivery,
        budget: Budget,
    ) -> Result<Result<Webhook, Problem>, CallError> {
        let about = About::delivery(plugin, &delivery).counted_as(CircuitFunction::Delivery);
        let (answer, log) = self
            .ask_and_listen(plugin, lane, budget, about, move |guest, store| {
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
            webhook
        }))
    }

    /// Returns the provider's call that lists the templates, or the whole list if no call
    /// is needed.
    ///
    /// # Errors
    /// As for [`Plugins::sender_checks`].
    pub async fn list_templates(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        config: &str,
        budget: Budget,
    ) -> Result<Result<TemplateStep, Problem>, CallError> {
        let config = config.to_owned();
        let about = About::the_plugin(plugin);
        self.ask(plugin, lane, budget, about, move |guest, store| {
            Box::pin(async move {
                guest
                    .adapter("list-templates")?
                    .list_templates(store, &config)
                    .await
            })
        })
        .await
    }

    /// Returns the page of templates in the provider's answer.
    ///
    /// # Errors
    /// As for [`Plugins::sender_checks`].
    pub async fn read_templates(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        config: &str,
        response: HttpResponse,
        budget: Budget,
    ) -> Result<Result<TemplatePage, Refused>, CallError> {
        let config = config.to_owned();
        let about = About::the_plugin(plugin);
        self.ask(plugin, lane, budget, about, move |guest, store| {
            Box::pin(async move {
                guest
                    .adapter("read-templates")?
                    .read_templates(store, &config, response)
                    .await
            })
        })
        .await
    }

    async fn ask<T: Send + 'static>(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        budget: Budget,
        about: About,
        call: impl for<'a> FnOnce(&'a Guest, &'a mut Store<InstanceState>) -> Asked<'a, T>
        + Send
        + 'static,
    ) -> Result<T, CallError> {
        self.ask_and_listen(plugin, lane, budget, about, call)
            .await
            .map(|(answer, _)| answer)
    }

    /// Calls the plugin. The second part of the answer is the guest's standard output and
    /// error.
    async fn ask_and_listen<T: Send + 'static>(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        budget: Budget,
        about: About,
        call: impl for<'a> FnOnce(&'a Guest, &'a mut Store<InstanceState>) -> Asked<'a, T>
        + Send
        + 'static,
    ) -> Result<(T, Vec<String>), CallError> {
        let breakers = &self.0.breakers;
        let pass = match about.function {
            Some(function) => Some(breakers.admit(&plugin.digest, lane, function, budget)?),
            None => None,
        };
        let called = Arc::clone(plugin);
        let whose = CallAccount {
            lane,
            digest: &plugin.digest,
            budget,
        };
        let wasi = plugin
            .imports_wasi
            .then(|| Wasi::new(&about.id, &about.received_at));
        let answer = self
            .0
            .call(whose, wasi, move |store| {
                Box::pin(async move { call(&called.guest, store).await })
            })
            .await;
        if let Some(pass) = pass {
            pass.report(&answer);
        }
        answer
    }
}

/// The values from which a guest's clock and random numbers derive, empty for guests
/// without them; and the function that its failures count for.
struct About {
    id: String,
    received_at: String,
    /// Failures of the same function are counted together.
    function: Option<CircuitFunction>,
}

impl About {
    fn new(plugin: &Loaded, id: &str, received_at: &str) -> Self {
        let only = |text: &str| {
            if plugin.imports_wasi {
                text.to_owned()
            } else {
                String::new()
            }
        };
        Self {
            id: only(id),
            received_at: only(received_at),
            function: None,
        }
    }

    fn counted_as(self, function: CircuitFunction) -> Self {
        Self {
            function: Some(function),
            ..self
        }
    }

    fn delivery(plugin: &Loaded, delivery: &PluginDelivery) -> Self {
        Self::new(plugin, &delivery.id, &delivery.received_at)
    }

    fn the_plugin(plugin: &Loaded) -> Self {
        Self::new(plugin, &plugin.digest.0, "")
    }
}
