//! Reads the body of a request within bounds: of its own size, of time, and of the bytes that
//! all requests hold together.
//!
//! A body whose announced length is too large is refused before it is read. A body that is
//! refused while it is still arriving is read and dropped for a moment, since a client that
//! writes into a closed connection does not get to see the reason.

use std::io;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_LENGTH, EXPECT};
use hyper::http::request::Parts;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

use super::budget::{BudgetShare, Short};
use super::io::BusyGuard;
use crate::prelude::*;

/// A whole body. Its bytes count against the budget until it is dropped.
pub struct RequestBody {
    pub bytes: Bytes,
    held: BudgetShare,
}

impl RequestBody {
    pub fn into_parts(self) -> (Bytes, BudgetShare) {
        (self.bytes, self.held)
    }
}

/// A body that has not been read yet.
pub struct UnreadBody {
    incoming: Option<IncomingBody>,
    share: Option<BudgetShare>,
    /// Dropped when the body is read or given up.
    reading: watch::Sender<()>,
    announced: Option<u64>,
    /// The client waits for an interim answer before it sends.
    waits: bool,
    /// The whole body, if it comes from within the process.
    given: Bytes,
}

/// A body in transit. It keeps its connection busy.
struct IncomingBody {
    body: Incoming,
    _busy: Option<BusyGuard>,
}

impl UnreadBody {
    /// `busy` keeps the connection from counting as idle while the body arrives.
    pub fn new(
        head: &Parts,
        incoming: Incoming,
        share: BudgetShare,
        busy: Option<BusyGuard>,
    ) -> Self {
        let announced = head
            .headers
            .get(CONTENT_LENGTH)
            .and_then(|value| value.to_str().ok()?.parse().ok());
        Self {
            reading: watch::Sender::new(()),
            incoming: (!incoming.is_end_stream()).then_some(IncomingBody {
                body: incoming,
                _busy: busy,
            }),
            share: Some(share),
            announced,
            waits: head.headers.contains_key(EXPECT),
            given: Bytes::new(),
        }
    }

    pub fn whole(bytes: impl Into<Bytes>, share: BudgetShare) -> Self {
        let given = bytes.into();
        Self {
            reading: watch::Sender::new(()),
            incoming: None,
            share: Some(share),
            announced: Some(given.len() as u64),
            waits: false,
            given,
        }
    }

    /// Returns when the body is read or given up; at once if there is none.
    pub fn is_done(&self) -> impl Future<Output = ()> + Send + use<> {
        let is_empty = self.incoming.is_none();
        let mut reading = self.reading.subscribe();
        async move {
            if !is_empty {
                // The value never changes: this returns when the sender is dropped.
                let _ = reading.changed().await;
            }
        }
    }

    pub fn going_to(mut self, connection: &ConnectionId) -> Self {
        if let Some(share) = self.share.as_mut() {
            share.goes_to(connection);
        }
        self
    }

    pub async fn read(self, http: &Http, limit: usize) -> Result<RequestBody, ApiError> {
        let time = http.core.config.server.body_time();
        self.read_within(limit, time)
            .await
            .map_err(|error| match error {
                ReadError::Short(short) => refusal(short),
                ReadError::Refused(error) => error,
            })
    }

    /// Returns the next piece of a body that is not held as a whole, or `None` at its end.
    pub async fn next(&mut self, time: Duration) -> Result<Option<Bytes>, ApiError> {
        while let Some(incoming) = self.incoming.as_mut() {
            match timeout(time, incoming.body.frame()).await {
                Err(_) => return Err(ApiError::BodyTooSlow),
                Ok(None) => self.incoming = None,
                Ok(Some(Err(error))) => return Err(broken(error)),
                Ok(Some(Ok(frame))) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
            }
        }
        let given = std::mem::take(&mut self.given);
        Ok((!given.is_empty()).then_some(given))
    }

    async fn read_within(mut self, limit: usize, time: Duration) -> Result<RequestBody, ReadError> {
        if self.announced.is_some_and(|bytes| bytes > limit as u64) {
            return Err(ApiError::BodyTooLarge { limit }.into());
        }
        let mut share = self.share.take().expect("a body is read once");
        let Some(incoming) = self.incoming.as_mut() else {
            return Ok(RequestBody {
                bytes: std::mem::take(&mut self.given),
                held: share,
            });
        };
        // Take room for the whole body at once. If many bodies arrive together, some are then read
        // completely and the others are refused at once. Otherwise all of them might run out of
        // room half-way.
        let announced = self
            .announced
            .and_then(|bytes| usize::try_from(bytes).ok())
            .unwrap_or(0);
        share.take(announced)?;
        let deadline = Instant::now() + time;
        let mut gathered = Gathered::default();
        loop {
            let frame = match timeout_at(deadline, incoming.body.frame()).await {
                Err(_) => return Err(ApiError::BodyTooSlow.into()),
                Ok(None) => break,
                Ok(Some(Err(error))) => return Err(broken(error).into()),
                Ok(Some(Ok(frame))) => frame,
            };
            let Ok(chunk) = frame.into_data() else {
                continue;
            };
            let length = gathered.length + chunk.len();
            if length > limit {
                return Err(ApiError::BodyTooLarge { limit }.into());
            }
            share.take(length.saturating_sub(share.bytes()))?;
            gathered.push(chunk, self.announced);
        }
        self.incoming = None;
        Ok(RequestBody {
            bytes: gathered.whole(),
            held: share,
        })
    }
}

/// Returns the error of a body that breaks off: its chunks are malformed, or its client is
/// gone.
fn broken(error: hyper::Error) -> ApiError {
    let cause = std::error::Error::source(&error);
    let kind = cause.and_then(|cause| Some(cause.downcast_ref::<io::Error>()?.kind()));
    match kind {
        Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) => ApiError::BadRequest(
            "The body is not in chunks of HTTP/1.1: each begins with its length in hexadecimal digits, and every line ends with a carriage return and a line feed."
                .to_owned(),
        ),
        _ => ApiError::ClientGone(error),
    }
}

enum ReadError {
    Short(Short),
    Refused(ApiError),
}

impl From<Short> for ReadError {
    fn from(short: Short) -> Self {
        Self::Short(short)
    }
}

impl From<ApiError> for ReadError {
    fn from(error: ApiError) -> Self {
        Self::Refused(error)
    }
}

pub fn refusal(short: Short) -> ApiError {
    ApiError::Overloaded {
        shed: match short {
            Short::All => Shed::Bodies,
            Short::Peer => Shed::BodiesOfOneAddress,
            Short::Connection => Shed::BodiesToOneConnection,
        },
        what: match short {
            Short::All => "Too many bodies are being received at once; send this one again.",
            Short::Peer => {
                "Your address sends too much at once; send this again when the rest is answered."
            }
            Short::Connection => {
                "Too much is sent to this connection at once; send this again when the rest is answered."
            }
        },
        retry_after: Duration::from_secs(1),
    }
}

/// Joins chunks. A large body of a single chunk is not copied. A small one is, so that the
/// connection gets its buffer back and the body holds no more memory than its bytes.
#[derive(Default)]
struct Gathered {
    length: usize,
    first: Bytes,
    all: Vec<u8>,
}

impl Gathered {
    fn push(&mut self, chunk: Bytes, announced: Option<u64>) {
        if self.length == 0 {
            self.length = chunk.len();
            self.first = chunk;
            return;
        }
        if self.all.is_empty() {
            // The announced length is within the limit, and room for it is taken already.
            let announced = announced.and_then(|bytes| usize::try_from(bytes).ok());
            self.all.reserve_exact(announced.unwrap_or(0));
            self.all.extend_from_slice(&self.first);
            self.first = Bytes::new();
        }
        self.length += chunk.len();
        self.all.extend_from_slice(&chunk);
    }

    fn whole(self) -> Bytes {
        if self.all.is_empty() {
            if self.length <= limits::BODY_COPIED_BYTES {
                return Bytes::copy_from_slice(&self.first);
            }
            self.first
        } else {
            self.all.into()
        }
    }
}

impl Drop for UnreadBody {
    fn drop(&mut self) {
        let Some(incoming) = self.incoming.take() else {
            return;
        };
        let hopeless = self
            .announced
            .is_some_and(|bytes| bytes > limits::DRAINED_BYTES as u64);
        if self.waits || hopeless {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(drain(incoming));
        }
    }
}

async fn drain(mut incoming: IncomingBody) {
    let read = async {
        let mut left = limits::DRAINED_BYTES;
        while let Some(Ok(frame)) = incoming.body.frame().await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            let Some(rest) = left.checked_sub(length) else {
                return;
            };
            left = rest;
        }
    };
    let _ = timeout(limits::DRAINED_FOR, read).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::ByteBudget;

    #[test]
    fn chunks_become_one_body() {
        let mut gathered = Gathered::default();
        for chunk in ["one", "two", "three"] {
            gathered.push(Bytes::from(chunk), Some(11));
        }
        assert_eq!(gathered.length, 11);
        assert_eq!(gathered.whole(), Bytes::from("onetwothree"));
        let mut single = Gathered::default();
        single.push(Bytes::from("one"), None);
        assert_eq!(single.whole(), Bytes::from("one"));
        assert_eq!(Gathered::default().whole(), Bytes::new());
    }

    /// Sends these bytes, one text after the other, to a server that reads at most `limit`
    /// bytes and has room for `budget` in all. Returns its answer.
    async fn read(limit: usize, budget: usize, sent: &[&str]) -> String {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let (mut client, server) = tokio::io::duplex(1 << 20);
        let budget = Arc::new(ByteBudget::whole(budget));
        let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
            let budget = budget.clone();
            async move {
                let (head, incoming) = request.into_parts();
                let share = budget.share(std::net::Ipv4Addr::LOCALHOST.into());
                let body = UnreadBody::new(&head, incoming, share, None);
                let text = match body.read_within(limit, Duration::from_millis(500)).await {
                    Ok(body) => format!("{:?}", body.bytes),
                    Err(ReadError::Short(short)) => refusal(short).to_string(),
                    Err(ReadError::Refused(error)) => error.to_string(),
                };
                Ok::<_, std::convert::Infallible>(hyper::Response::new(text))
            }
        });
        let io = hyper_util::rt::TokioIo::new(server);
        let served = hyper::server::conn::http1::Builder::new().serve_connection(io, service);
        tokio::spawn(served);
        for text in sent {
            client.write_all(text.as_bytes()).await.expect("open");
            tokio::task::yield_now().await;
        }
        let mut text = vec![0; 4096];
        let count = client.read(&mut text).await.expect("an answer");
        let text = String::from_utf8_lossy(&text[..count]).into_owned();
        let (_, body) = text.split_once("\r\n\r\n").expect("a head");
        body.to_owned()
    }

    const HEAD: &str = "POST / HTTP/1.1\r\nHost: a\r\n";

    #[tokio::test]
    async fn a_body_is_read_whole_from_any_pieces() {
        let head = format!("{HEAD}Content-Length: 6\r\n\r\n");
        assert_eq!(read(6, 6, &[&head, "ab", "cd", "ef"]).await, "b\"abcdef\"");
        let head = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n");
        let pieces = [&head, "3\r\nabc\r\n", "3\r\ndef\r\n", "0\r\n\r\n"];
        assert_eq!(read(6, 6, &pieces).await, "b\"abcdef\"");
        assert_eq!(read(6, 6, &[&format!("{HEAD}\r\n")]).await, "b\"\"");
    }

    #[tokio::test]
    async fn a_body_announced_as_too_large_is_refused_before_it_arrives() {
        let head = format!("{HEAD}Content-Length: 7\r\n\r\n");
        assert!(read(6, 6, &[&head]).await.contains("larger than 6 bytes"));
    }

    #[tokio::test]
    async fn a_body_that_grows_too_large_is_refused() {
        let head = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n");
        let pieces = [&head, "3\r\nabc\r\n", "4\r\ndefg\r\n"];
        assert!(read(6, 60, &pieces).await.contains("larger than 6 bytes"));
    }

    #[tokio::test]
    async fn a_body_past_the_common_budget_is_shed() {
        // Refused before it arrives, or as soon as it is too much.
        let head = format!("{HEAD}Content-Length: 6\r\n\r\n");
        let said = read(60, 5, &[&head]).await;
        assert!(
            said.contains("too much at once") || said.contains("Too many bodies"),
            "{said}"
        );
        let head = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n");
        let said = read(60, 5, &[&head, "3\r\nabc\r\n", "3\r\ndef\r\n"]).await;
        assert!(
            said.contains("too much at once") || said.contains("Too many bodies"),
            "{said}"
        );
    }

    #[tokio::test]
    async fn a_late_body_is_given_up() {
        let head = format!("{HEAD}Content-Length: 6\r\n\r\n");
        let said = read(6, 6, &[&head, "abc"]).await;
        assert!(said.contains("did not arrive in time"), "{said}");
    }
}
