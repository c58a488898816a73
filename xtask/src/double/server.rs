//! The server of every double: one thread for each connection on the loopback
//! interface, requests read whole, and reactions that a real server shows only
//! when it fails. It stops when it is dropped, and cuts the open connections.

use std::collections::HashMap;
use std::io::{self, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::net::sockopt;

use super::http::{self, Answer, Request};

/// Handles the requests of a double. It may block: each connection has its own
/// thread.
pub trait Endpoint: Send + Sync + 'static {
    const NAME: &'static str;

    /// Handles a request, and returns the answer or the end of the connection.
    fn react(&self, request: Request) -> Reaction;

    /// Whether to reset a connection that starts like this, before anything of
    /// its request is read.
    fn rejects(&self, _start: &[u8]) -> bool {
        false
    }

    fn stop(&self) {}
}

pub enum Reaction {
    Answer(Answer),
    Close,
    Reset,
}

pub struct DoubleServer<E: Endpoint> {
    address: SocketAddr,
    endpoint: Arc<E>,
    shared: Arc<ServerState>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct ServerState {
    stopping: AtomicBool,
    /// The connections to cut at the end, by number.
    connections: Mutex<HashMap<u64, TcpStream>>,
}

impl<E: Endpoint> DoubleServer<E> {
    /// Port 0 selects a free port.
    pub fn start(listen: SocketAddr, endpoint: E) -> io::Result<Self> {
        let listener = TcpListener::bind(listen)?;
        let address = listener.local_addr()?;
        let (endpoint, shared) = (Arc::new(endpoint), Arc::<ServerState>::default());
        let (with, also) = (Arc::clone(&endpoint), Arc::clone(&shared));
        let acceptor = std::thread::Builder::new()
            .name(format!("{}-double", E::NAME))
            .spawn(move || accept(&listener, &with, &also))?;
        Ok(Self {
            address,
            endpoint,
            shared,
            acceptor: Some(acceptor),
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn endpoint(&self) -> &Arc<E> {
        &self.endpoint
    }

    pub fn wait(mut self) {
        if let Some(acceptor) = self.acceptor.take() {
            // A panic there has been printed already.
            let _ = acceptor.join();
        }
    }
}

impl<E: Endpoint> Drop for DoubleServer<E> {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Release);
        self.endpoint.stop();
        // The acceptor sees the flag when the next connection arrives.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        for connection in locked(&self.shared.connections).values() {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

fn accept<E: Endpoint>(listener: &TcpListener, endpoint: &Arc<E>, shared: &Arc<ServerState>) {
    for (number, connection) in (0..).zip(listener.incoming()) {
        if shared.stopping.load(Ordering::Acquire) {
            return;
        }
        let Ok(connection) = connection else { continue };
        let Ok(again) = connection.try_clone() else {
            continue;
        };
        locked(&shared.connections).insert(number, again);
        let (endpoint, shared) = (Arc::clone(endpoint), Arc::clone(shared));
        // A double has few callers.
        let _ = std::thread::Builder::new()
            .name(format!("{}-double-connection", E::NAME))
            .spawn(move || {
                // An error of the connection is the caller's to handle.
                let _ = serve(connection, &*endpoint, &shared);
                locked(&shared.connections).remove(&number);
            });
    }
}

/// Answers the requests of one connection until either side closes it.
fn serve<E: Endpoint>(
    mut connection: TcpStream,
    endpoint: &E,
    shared: &ServerState,
) -> io::Result<()> {
    // An idle connection times out, so that no thread stays for ever.
    connection.set_read_timeout(Some(Duration::from_secs(30)))?;
    connection.set_nodelay(true)?;
    let mut reader = BufReader::new(connection.try_clone()?);
    loop {
        if reader.buffer().is_empty() {
            let mut start = [0; 16];
            let length = connection.peek(&mut start)?;
            if endpoint.rejects(&start[..length]) {
                return reset(&connection);
            }
        }
        let Some(request) = http::read(&mut reader)? else {
            return Ok(());
        };
        let close = request.close;
        match endpoint.react(request) {
            Reaction::Answer(answer) => connection.write_all(&answer.bytes())?,
            Reaction::Close => return connection.shutdown(Shutdown::Both),
            Reaction::Reset => return reset(&connection),
        }
        if close || shared.stopping.load(Ordering::Acquire) {
            return connection.shutdown(Shutdown::Both);
        }
    }
}

/// Without lingering, closing the last handle resets the connection.
fn reset(connection: &TcpStream) -> io::Result<()> {
    Ok(sockopt::set_socket_linger(
        connection,
        Some(Duration::ZERO),
    )?)
}

/// A panic elsewhere leaves the memory of a double usable.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
