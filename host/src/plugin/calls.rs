//! The calls that the service makes of its plugins. `lane` is the connection's
//! id: lanes are served in turn. Calling what a plugin of that kind does not
//! have is a [`CallError::Lacks`].

use std::sync::Arc;

use wasmtime::Store;

use super::abi::Guest;
use super::breaker::Function;
use super::error::CallError;
use super::imports::Wasi;
use super::instance::State;
use super::load::Loaded;
use super::{Asked, Budget, Plugins, Whose};
use crate::domain::channel::{
    Refused, SendAnswer, SendStep, TemplatePage, TemplateSend, TemplateStep, Webhook,
};
use crate::domain::exchange::{HandshakeAnswer, HttpResponse, Pairs, Problem, SenderChecks};
use crate::domain::plugin::{Conversion, Failure, Item, PluginCompletion, PluginDelivery};

impl Plugins {
    // ---- of every plugin

    /// How senders prove themselves under a configuration, which is JSON text.
    pub async fn sender_checks(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        config: &str,
        budget: Budget,
    ) -> Result<Result<SenderChecks, Problem>, CallError> {
        let config = config.to_owned();
        let about = About::the_plugin(plugin).counted_as(Function::Checks);
        self.ask(plugin, lane, budget, about, move |guest, store| {
            Box::pin(async move { guest.sender_checks(store, &config).await })
        })
        .await
    }

    /// The answer to a GET by which a source or provider makes sure of the address.
    pub async fn handshake(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        delivery: PluginDelivery,
        budget: Budget,
    ) -> Result<Result<Option<HandshakeAnswer>, Problem>, CallError> {
        let about = About::delivery(plugin, &delivery).counted_as(Function::Handshake);
        self.ask(plugin, lane, budget, about, move |guest, store| {
            Box::pin(guest.handshake(store, delivery))
        })
        .await
    }

    // ---- of a converter

    /// Items of a delivery. What the guest wrote to its standard output is among
    /// the notes.
    pub async fn convert(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        delivery: PluginDelivery,
        budget: Budget,
    ) -> Result<Result<Conversion, Problem>, CallError> {
        let about = About::delivery(plugin, &delivery).counted_as(Function::Delivery);
        let (answer, log) = self
            .ask_and_listen(plugin, lane, budget, about, move |guest, store| {
                Box::pin(guest.convert(store, delivery))
            })
            .await?;
        Ok(answer.map(|mut conversion| {
            conversion.notes.extend(log);
            conversion
        }))
    }

    /// Items that the answer to a fetch gives.
    pub async fn complete(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        completion: PluginCompletion,
        budget: Budget,
    ) -> Result<Result<Vec<Item>, Failure>, CallError> {
        let about = About::new(plugin, &completion.delivery_id, &completion.received_at)
            .counted_as(Function::Fetch);
        self.ask(plugin, lane, budget, about, move |guest, store| {
            Box::pin(guest.complete(store, completion))
        })
        .await
    }

    // ---- of an adapter

    /// Names and values by which events lead to an instance with this configuration.
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
            Box::pin(async move { guest.routes(store, &config).await })
        })
        .await
    }

    /// The call that sends a message, or what became of it without one.
    pub async fn send(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        message: TemplateSend,
        budget: Budget,
    ) -> Result<SendStep, CallError> {
        let about = About::new(plugin, &message.message_id, "").counted_as(Function::Send);
        self.ask(plugin, lane, budget, about, move |guest, store| {
            Box::pin(guest.send(store, message))
        })
        .await
    }

    /// What the provider's answer says of the message. An error leaves open
    /// whether it was taken.
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
            Box::pin(guest.read_answer(store, message, response))
        })
        .await
    }

    /// Events of a provider's webhook. What the guest wrote to its standard
    /// output is among the notes.
    pub async fn read_webhook(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        delivery: PluginDelivery,
        budget: Budget,
    ) -> Result<Result<Webhook, Problem>, CallError> {
        let about = About::delivery(plugin, &delivery).counted_as(Function::Delivery);
        let (answer, log) = self
            .ask_and_listen(plugin, lane, budget, about, move |guest, store| {
                Box::pin(guest.read_webhook(store, delivery))
            })
            .await?;
        Ok(answer.map(|mut webhook| {
            webhook.notes.extend(log);
            webhook
        }))
    }

    /// The call that lists the templates, or all of them without one.
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
            Box::pin(async move { guest.list_templates(store, &config).await })
        })
        .await
    }

    /// A page of templates from the provider's answer.
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
            Box::pin(async move { guest.read_templates(store, &config, response).await })
        })
        .await
    }

    async fn ask<T: Send + 'static>(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        budget: Budget,
        about: About,
        call: impl for<'a> FnOnce(&'a Guest, &'a mut Store<State>) -> Asked<'a, T> + Send + 'static,
    ) -> Result<T, CallError> {
        self.ask_and_listen(plugin, lane, budget, about, call)
            .await
            .map(|(answer, _)| answer)
    }

    /// The second part is what the guest wrote to its standard output and error.
    async fn ask_and_listen<T: Send + 'static>(
        &self,
        plugin: &Arc<Loaded>,
        lane: &str,
        budget: Budget,
        about: About,
        call: impl for<'a> FnOnce(&'a Guest, &'a mut Store<State>) -> Asked<'a, T> + Send + 'static,
    ) -> Result<(T, Vec<String>), CallError> {
        let breakers = &self.0.breakers;
        let pass = match about.function {
            Some(function) => Some(breakers.admit(&plugin.digest, lane, function, budget)?),
            None => None,
        };
        let called = Arc::clone(plugin);
        let whose = Whose {
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

/// What a guest's clock and chance follow from, nothing for those without them;
/// and what its failures count as.
struct About {
    id: String,
    received_at: String,
    /// Whose failures count together.
    function: Option<Function>,
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

    fn counted_as(self, function: Function) -> Self {
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
