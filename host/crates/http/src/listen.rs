//! Binds the configured addresses of a host and starts the surfaces on them.

use std::io;

use tokio::net::{TcpListener, TcpSocket, lookup_host};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::endpoints::admin::audit::refused;
use super::server::serve;
use super::tls::{Tls, TlsError};
use crate::prelude::*;
use leadhost_pipeline::key_uses;

/// Why a host cannot start to serve.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot listen on `{address}`: {source}")]
    Bind { address: String, source: io::Error },
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Listens on `host:port`. Port 0 takes a free one, which the returned address names.
pub async fn bind(address: &str) -> Result<(TcpListener, SocketAddr), StartError> {
    let bound = async {
        let mut refused = None;
        for found in lookup_host(address).await? {
            match listen(found) {
                Ok(listener) => {
                    let local = listener.local_addr()?;
                    return Ok((listener, local));
                }
                Err(error) => refused = Some(error),
            }
        }
        Err(refused.unwrap_or_else(|| io::Error::other("the name has no address")))
    };
    bound.await.map_err(|source| StartError::Bind {
        address: address.to_owned(),
        source,
    })
}

/// Listens with room in the kernel's queue for a burst of connections. The usual 128 would
/// reset the rest.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(limits::ACCEPT_QUEUE)
}

/// The addresses of the surfaces of a running host.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    pub gateway: SocketAddr,
    /// The gateway's address, unless the data API has its own.
    pub data: SocketAddr,
    pub admin: SocketAddr,
}

/// The listeners of a host. Clients may connect, and nothing is served yet.
pub struct Listeners {
    gateway: TcpListener,
    data: Option<TcpListener>,
    admin: TcpListener,
    tls: Option<Arc<Tls>>,
    pub addresses: Addresses,
}

impl Listeners {
    pub async fn bind(http: &Http) -> Result<Self, StartError> {
        let server = &http.core.config.server;
        let tls = Tls::from_config(server)?;
        let (gateway, gateway_address) = bind(&server.listen).await?;
        let (admin, admin_address) = bind(&server.admin_listen).await?;
        let (data, data_address) = match server.data_listen.as_str() {
            "" => (None, gateway_address),
            address => {
                let (listener, local) = bind(address).await?;
                (Some(listener), local)
            }
        };
        Ok(Self {
            gateway,
            data,
            admin,
            tls,
            addresses: Addresses {
                gateway: gateway_address,
                data: data_address,
                admin: admin_address,
            },
        })
    }

    pub fn serve(self, http: &Arc<Http>) -> Result<(), StartError> {
        let serving = |listener: TcpListener, surface: Surface| {
            let tls = self.tls.clone();
            tokio::spawn(serve(
                http.clone(),
                listener,
                surface,
                tls,
                Handle::current(),
            ));
        };
        let surface = match self.data {
            None => Surface::Both,
            Some(listener) => {
                serving(listener, Surface::Data);
                Surface::Gateway
            }
        };
        serving(self.gateway, surface);
        if let Some(tls) = self.tls {
            tokio::spawn(tls.keep_current(http.clone()));
        }
        serve_operators(http.clone(), self.admin).map_err(|source| StartError::Bind {
            address: http.core.config.server.admin_listen.clone(),
            source,
        })?;
        tokio::spawn(key_uses::run(Arc::clone(&http.pipeline)));
        tokio::spawn(refused::run(Arc::clone(http)));
        Ok(())
    }
}

/// Binds the addresses and serves.
pub async fn start(http: &Arc<Http>) -> Result<Addresses, StartError> {
    let listeners = Listeners::bind(http).await?;
    let addresses = listeners.addresses;
    listeners.serve(http)?;
    Ok(addresses)
}

/// Serves the admin surface on a thread of its own, until the drain has ended or the runtime
/// that serves is gone.
fn serve_operators(http: Arc<Http>, listener: TcpListener) -> io::Result<()> {
    let listener = listener.into_std()?;
    let serving = Handle::current();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    // Dropped with the serving runtime. Without it no request is answered, and this thread
    // would hold everything that the service holds.
    let (serves, gone) = oneshot::channel::<()>();
    serving.spawn(async move {
        let _serves = serves;
        std::future::pending::<()>().await;
    });
    let run = move || {
        runtime.block_on(async move {
            let listener = match TcpListener::from_std(listener) {
                Ok(listener) => listener,
                Err(error) => {
                    return tracing::error!(%error, "admin listener failed");
                }
            };
            tokio::select! {
                () = serve(http, listener, Surface::Admin, None, serving) => {}
                _ = gone => {}
            }
        });
    };
    std::thread::Builder::new()
        .name("admin".to_owned())
        .spawn(run)?;
    Ok(())
}
