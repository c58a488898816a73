//! A remote server that treats each connection as a test wants: it counts connections,
//! and speaks HTTP by hand, so that it can also violate it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leadhost_domain::connection::AllowedHost;
use leadhost_domain::exchange::{HttpRequest, HttpResponse, TextSegment, UrlScheme};
use leadhost_egress::seal::Secrets;
use leadhost_egress::{Egress, EgressError, EgressSettings};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub struct RemoteServer {
    pub address: SocketAddr,
    seen: Arc<RemoteServerLog>,
    task: JoinHandle<()>,
}

/// The connections and requests that the remote server received.
#[derive(Default)]
pub struct RemoteServerLog {
    accepted: AtomicUsize,
    requests: Mutex<Vec<String>>,
}

impl Drop for RemoteServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl RemoteServer {
    /// Passes every connection to `serve`, with its number from 0.
    pub async fn start<F>(
        serve: impl Fn(usize, TcpStream, Arc<RemoteServerLog>) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(RemoteServerLog::default());
        let task = tokio::spawn({
            let seen = Arc::clone(&seen);
            async move {
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    let number = seen.accepted.fetch_add(1, Ordering::SeqCst);
                    tokio::spawn(serve(number, stream, Arc::clone(&seen)));
                }
            }
        });
        Self {
            address,
            seen,
            task,
        }
    }

    /// Answers every request with these bytes, until the client closes the
    /// connection.
    pub async fn answering(answer: &'static str) -> Self {
        Self::start(move |_, mut stream, seen| async move {
            while seen.request(&mut stream).await {
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        })
        .await
    }

    /// Answers the first request of every connection with these bytes, and
    /// closes it.
    pub async fn answering_once(answer: &'static str) -> Self {
        Self::start(move |_, mut stream, seen| async move {
            if seen.request(&mut stream).await {
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        })
        .await
    }

    pub fn accepted(&self) -> usize {
        self.seen.accepted.load(Ordering::SeqCst)
    }

    /// The bodies of the requests that arrived whole.
    pub fn requests(&self) -> Vec<String> {
        self.seen.requests.lock().unwrap().clone()
    }

    pub fn allowed(&self, scheme: UrlScheme, private: bool) -> [AllowedHost; 1] {
        [AllowedHost {
            scheme,
            authority: self.authority(),
            private,
        }]
    }

    pub fn authority(&self) -> String {
        format!("localhost:{}", self.address.port())
    }

    pub fn request(&self, method: &str, scheme: UrlScheme, body: &str) -> HttpRequest {
        HttpRequest {
            method: method.to_owned(),
            scheme,
            authority: self.authority(),
            path: vec![TextSegment::Literal("/".to_owned())],
            query: vec![],
            headers: vec![],
            body: vec![TextSegment::Literal(body.to_owned())],
        }
    }

    pub async fn post(&self, egress: &Egress, body: &str) -> Result<HttpResponse, EgressError> {
        self.call(egress, "POST", UrlScheme::Http, body).await
    }

    pub async fn call(
        &self,
        egress: &Egress,
        method: &str,
        scheme: UrlScheme,
        body: &str,
    ) -> Result<HttpResponse, EgressError> {
        let request = self.request(method, scheme, body);
        let allow = self.allowed(scheme, true);
        egress
            .call(&request, &Secrets::default(), &allow, || true)
            .await
    }
}

impl RemoteServerLog {
    /// Reads one whole request. Returns false at the end of the connection.
    pub async fn request(&self, stream: &mut (impl AsyncRead + Unpin)) -> bool {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return false,
            }
        }
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        if stream.read_exact(&mut body).await.is_err() {
            return false;
        }
        let body = String::from_utf8(body).unwrap();
        self.requests.lock().unwrap().push(body);
        true
    }
}

pub async fn until_closed(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) {
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
}

pub fn reset(stream: TcpStream) {
    stream.set_zero_linger().unwrap();
    drop(stream);
}

/// With deadlines for a busy machine; connections are kept as long.
pub fn egress() -> Egress {
    kept_for(PATIENCE)
}

pub fn kept_for(idle_timeout: Duration) -> Egress {
    Egress::with(EgressSettings {
        idle_timeout,
        ..EgressSettings::new(PATIENCE)
    })
}

/// With a deadline that is meant to expire.
pub fn hasty() -> Egress {
    Egress::new(Duration::from_millis(150))
}

pub const PATIENCE: Duration = Duration::from_secs(30);
