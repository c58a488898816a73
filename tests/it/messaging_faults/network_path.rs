//! The network path to a remote server, which a test opens and closes: while it is closed, a
//! connection is neither refused nor made, so that a caller has not sent a byte.

use std::net::SocketAddr;
use std::time::Duration;

use leadhost_tests::until;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;

/// Far more than a connection on the loopback interface takes.
const NO_CONNECTION: Duration = Duration::from_millis(300);

/// No listener yet: connections are refused.
pub struct NetworkPath {
    address: SocketAddr,
    socket: TcpSocket,
}

impl NetworkPath {
    pub fn reserve() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket
            .bind("127.0.0.1:0".parse().expect("an address"))
            .expect("a free port");
        Self {
            address: socket.local_addr().expect("it is bound"),
            socket,
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on connections hang before they are made: the listener's queue is full.
    pub async fn close(self) -> Closed {
        let listener = self.socket.listen(0).expect("it was bound");
        let mut fill = Vec::new();
        until("the queue is full", async || {
            let connected = TcpStream::connect(self.address);
            match tokio::time::timeout(NO_CONNECTION, connected).await {
                Ok(stream) => {
                    fill.push(stream.expect("it listens"));
                    None
                }
                Err(_) => Some(()),
            }
        })
        .await;
        Closed { listener, fill }
    }
}

pub struct Closed {
    listener: TcpListener,
    fill: Vec<TcpStream>,
}

impl Closed {
    /// From now on connections lead to the remote server, until this is dropped.
    pub fn open(self, remote_server: SocketAddr) -> Open {
        let Self { listener, fill } = self;
        let own: Vec<_> = fill
            .iter()
            .map(|stream| stream.local_addr().expect("it is connected"))
            .collect();
        Open(tokio::spawn(async move {
            while let Ok((mut visitor, from)) = listener.accept().await {
                if own.contains(&from) {
                    continue;
                }
                tokio::spawn(async move {
                    if let Ok(mut inside) = TcpStream::connect(remote_server).await {
                        // However the copy ends, the connection is over.
                        let _ = tokio::io::copy_bidirectional(&mut visitor, &mut inside).await;
                    }
                });
            }
        }))
    }
}

pub struct Open(JoinHandle<()>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.abort();
    }
}
