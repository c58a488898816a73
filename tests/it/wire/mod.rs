//! HTTP/2 and TLS on the outer addresses, from the client's side.

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;

mod http2;
mod tls;

struct Http2Client {
    sender: SendRequest<Full<Bytes>>,
    /// Ends with the connection.
    connection: JoinHandle<Result<(), hyper::Error>>,
}

impl Http2Client {
    async fn over<S>(stream: S) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let made = handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
        let (sender, connection) = made.expect("a connection of HTTP/2");
        Self {
            sender,
            connection: tokio::spawn(connection),
        }
    }

    /// Sends a request, and returns a future of its answer.
    async fn ask(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> impl Future<Output = Result<Response<Bytes>, hyper::Error>> + use<> {
        self.sender.ready().await.expect("the connection is open");
        let asked = self.sender.send_request(request);
        async {
            let (head, body) = asked.await?.into_parts();
            Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
        }
    }
}

fn get(target: &str) -> Request<Full<Bytes>> {
    request("GET", target, "")
}

fn request(method: &str, target: &str, body: &str) -> Request<Full<Bytes>> {
    Request::builder()
        .method(method)
        .uri(format!("http://leadhost.test{target}"))
        .body(Full::new(Bytes::copy_from_slice(body.as_bytes())))
        .expect("a request")
}

fn json(answer: &Response<Bytes>) -> Value {
    serde_json::from_slice(answer.body()).expect("JSON")
}
