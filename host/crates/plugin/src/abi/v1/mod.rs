//! Version 1 of the contracts. Answers are converted to the domain's types here.

/// A plugin of a contract, with the functions that every plugin has. Each call of a function takes the
/// instance that `warm_up` left in the given store, or starts a fresh one in it. The inner error of a call is
/// the plugin's own.
macro_rules! plugin {
    ($name:ident, $world:ident of $pre:ident) => {
        pub struct $name {
            pre: $pre<InstanceState>,
        }

        impl $name {
            pub fn new(pre: InstancePre<InstanceState>) -> wasmtime::Result<Self> {
                let pre = $pre::new(pre)?;
                Ok(Self { pre })
            }

            async fn start(&self, store: &mut Store<InstanceState>) -> wasmtime::Result<$world> {
                if let Some(started) = store.data_mut().take_started() {
                    return Ok(started);
                }
                self.pre.instantiate_async(store).await
            }

            pub async fn describe(
                &self,
                store: &mut Store<InstanceState>,
            ) -> Result<Description, Fault> {
                let guest = self.start(store).await?;
                Ok(exported(&guest).call_describe(store).await?.into())
            }

            pub async fn sender_checks(
                &self,
                store: &mut Store<InstanceState>,
                config: &str,
            ) -> Result<Result<SenderChecks, InputProblem>, Fault> {
                let guest = self.start(store).await?;
                types::sender_checks(exported(&guest).call_sender_checks(store, config).await?)
            }

            pub async fn handshake(
                &self,
                store: &mut Store<InstanceState>,
                delivery: PluginDelivery,
            ) -> Result<Result<Option<HandshakeAnswer>, InputProblem>, Fault> {
                let guest = self.start(store).await?;
                let delivery = delivery.into();
                types::handshake(exported(&guest).call_handshake(store, &delivery).await?)
            }

            /// Returns the raw answer to a golden case, as the contract's types serialise.
            pub async fn golden(
                &self,
                store: &mut Store<InstanceState>,
                case: &Case,
            ) -> Result<Value, Fault> {
                let guest = self.start(store).await?;
                answer(&guest, store, case).await
            }

            /// Has a fresh instance answer a golden case, and leaves it in the store for one call.
            pub async fn warm_up(
                &self,
                store: &mut Store<InstanceState>,
                case: &Case,
            ) -> Result<(), Fault> {
                let guest = self.start(store).await?;
                answer(&guest, store, case).await?;
                store.data_mut().started = Some(Box::new(guest));
                Ok(())
            }
        }
    };
}

pub mod adapter;
pub mod converter;
mod types;
