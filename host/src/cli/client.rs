//! A client of the admin API of a running service. The data folder has the address and the key,
//! so a command needs no arguments on the service's own machine. The API is plain HTTP and meant
//! for loopback; a proxy in front of it may offer HTTPS.
//!
//! Before a key goes to an address of the data folder, or the key of the folder to any address over plain HTTP, the
//! listener there has to prove that it is the service of that folder (`leadhost_admin_api::identity`).

mod target;
mod tls_fault;

use std::net::SocketAddr;
use std::ops::Deref;
use std::pin::Pin;

use http_body_util::{BodyExt as _, Either, Full, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use self::target::AdminTarget;
use super::command::is_from_environment;
use crate::cli::prelude::*;
use leadhost_admin_api::error::AdminError;
use leadhost_admin_api::identity::{self, CHALLENGE, PROOF, ServiceSecret};
/// File in the data folder to which `serve` writes the first admin key.
pub use leadhost_domain::key::FIRST_KEY as KEY_FILE;
use leadhost_domain::key::{KeyKind, PlainKey};

/// File in the data folder to which `serve` writes its addresses.
pub const ADDRESSES_FILE: &str = "service.json";

/// The content of the file of addresses. A command needs only the one of the admin API.
#[derive(Debug, Serialize, Deserialize)]
pub struct ServiceFile {
    pub admin: String,
    /// By which the service proves that it wrote this file.
    pub secret: ServiceSecret,
    #[serde(default)]
    pub data: String,
    #[serde(default)]
    pub gateway: String,
    /// Whether the gateway and the data API speak TLS.
    #[serde(default)]
    pub tls: bool,
    #[serde(default)]
    pub process: u32,
}

/// Timeout of a request. Compiling, trying and verifying a plugin takes longest.
const PATIENCE: Duration = Duration::from_secs(600);

/// The message of a 404 for a path that no API has.
const NOTHING: &str = "There is nothing at this address.";

/// Environment variable with an admin key, which replaces the data folder's.
const KEY_VARIABLE: &str = "LEADHOST_ADMIN_KEY";

// How to reach the service.
#[derive(Args, Clone)]
pub struct ServiceAddress {
    /// The service's data folder, which has its admin key and its address
    #[arg(long, value_name = "DIR", env = "LEADHOST_DATA_DIR", global = true)]
    data_dir: Option<PathBuf>,
    /// Address of the admin API [default: from the data folder, or from the configuration]
    #[arg(long, value_name = "ADDRESS", env = "LEADHOST_ADMIN", global = true)]
    admin: Option<String>,
    /// The service's configuration file
    #[arg(long, value_name = "FILE", env = "LEADHOST_CONFIG", global = true)]
    config: Option<PathBuf>,
    /// An admin key, instead of the data folder's
    #[arg(
        long,
        value_name = "KEY",
        env = KEY_VARIABLE,
        hide_env_values = true,
        global = true
    )]
    admin_key: Option<String>,
    /// Trust the certificates in this PEM file too, if the address begins with https://
    #[arg(long, value_name = "FILE", env = "LEADHOST_CA", global = true)]
    ca: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long, global = true)]
    json: bool,
}

// How to reach a service on another machine.
#[derive(Args, Clone)]
pub struct RemoteFlags {
    /// Send the key over plain HTTP to another machine, where others may read it
    #[arg(long)]
    plain_http: bool,
}

/// A client of the admin API of one service, with the key and the output format of the command.
pub struct AdminClient {
    target: AdminTarget,
    tls: Option<TlsConnector>,
    /// The service has to prove that it knows this before it gets the key.
    secret: Option<ServiceSecret>,
    key: PlainKey,
    json: bool,
    flags: ServiceFlags,
    component_bytes: usize,
}

pub fn block_on<T>(command: impl Future<Output = CommandResult<T>>) -> CommandResult<T> {
    // The runtime is compiled for each type of future.
    let command: Pin<Box<dyn Future<Output = _> + '_>> = Box::pin(command);
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| failed!("cannot start: {error}"))?
        .block_on(command)
}

impl ServiceAddress {
    /// Returns a client for the service that the arguments or the data folder name. It does not
    /// connect yet.
    pub fn client(&self) -> CommandResult<AdminClient> {
        let config = Config::load(self.config.as_deref(), &[])?;
        let folder = self
            .data_dir
            .clone()
            .unwrap_or_else(|| config.store.data_dir.clone());
        // Wrong usage comes first, whether a service runs or not.
        let given = self.admin_key.as_deref().map(given_key).transpose()?;
        let (target, secret) = match &self.admin {
            Some(address) => {
                let target = AdminTarget::parse(address)?;
                // A certificate proves who listens, and a key that was given is sent where it was asked for.
                let is_proven = target.tls.is_some() || given.is_some();
                let secret = (!is_proven).then(|| {
                    let file = self.service_file(&folder).ok().flatten();
                    // Without a service of the folder, nobody can prove to be it.
                    file.map_or_else(ServiceSecret::random, |file| file.secret)
                });
                (target, secret)
            }
            None => {
                let file = self.service_file(&folder)?;
                let (authority, secret) = match file {
                    Some(file) => (file.admin, Some(file.secret)),
                    None => (config.server.admin_listen.clone(), None),
                };
                (
                    AdminTarget {
                        authority,
                        tls: None,
                    },
                    secret,
                )
            }
        };
        Ok(AdminClient {
            tls: tls_to(&target, self.ca.as_deref())?,
            key: match given {
                Some(key) => key,
                None if self.admin.is_some() && !target.is_private() => {
                    return Err(CommandFailure::usage(
                        "the key of a data folder is not sent over plain HTTP to another machine: anyone on the network path could read it",
                    )
                    .hint(format!(
                        "write https://HOST, use a tunnel to this machine (ssh -L), or give the key with {KEY_VARIABLE} in a network that you trust"
                    )));
                }
                None => key_in(&folder, &self.flags())?,
            },
            target,
            secret,
            json: self.json,
            flags: self.flags(),
            component_bytes: config.plugins.component_mib << 20,
        })
    }

    /// Returns a client for the service at this address, or else for the same service as
    /// [`client`](Self::client). The key of a data folder is not sent to another service, and no key is sent
    /// over plain HTTP to another machine unless that is asked for. It does not connect yet.
    pub fn client_at(
        &self,
        address: Option<&str>,
        remote: &RemoteFlags,
    ) -> CommandResult<AdminClient> {
        let Some(address) = address else {
            return self.client();
        };
        let target = AdminTarget::parse(address)?;
        if !target.is_private() && !remote.plain_http {
            return Err(CommandFailure::usage(format!(
                "`{address}` is plain HTTP to another machine: anyone on the network path could read the admin key and the leads"
            ))
            .hint("write https://HOST, use a tunnel to this machine (ssh -L), or pass --plain-http in a network that you trust"));
        }
        let key = self.admin_key.as_deref().ok_or_else(|| {
            CommandFailure::usage(format!("no admin key for {address}"))
                .hint("pass it with --admin-key, or set LEADHOST_ADMIN_KEY; the key of a data folder is only for the service of that folder")
        })?;
        Ok(AdminClient {
            tls: tls_to(&target, self.ca.as_deref())?,
            target,
            secret: None,
            key: given_key(key)?,
            json: self.json,
            flags: ServiceFlags::new(None, None, Some(address)).with_ca(self.ca.as_deref()),
            component_bytes: Config::load(self.config.as_deref(), &[])?
                .plugins
                .component_mib
                << 20,
        })
    }

    /// Returns the file that the service of this folder has written, or `None` if no
    /// folder is given and the default one is not on this machine. The key of a folder without a service
    /// is sent nowhere: at the default address may be another service.
    fn service_file(&self, folder: &Path) -> CommandResult<Option<ServiceFile>> {
        let path = folder.join(ADDRESSES_FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed!("cannot read {}: {error}", path.display()));
            }
            Err(_) if self.data_dir.is_none() && !folder.exists() => return Ok(None),
            Err(_) => {
                return Err(failed!(
                    "no service runs on {}",
                    folder.display()
                )
                .hint(format!(
                    "start it with `{}`; if it is starting, wait for `ready` in its log; if it has another data folder, pass its address with --admin",
                    self.flags().command("serve")
                )));
            }
        };
        serde_json::from_str(&text).map(Some).map_err(|_| {
            failed!("{} does not name the service that wrote it", path.display()).hint(format!(
                "start the service again with `{}`",
                self.flags().command("serve")
            ))
        })
    }

    pub fn data_dir(&self) -> Option<&Path> {
        self.data_dir.as_deref()
    }

    pub fn config_file(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    pub fn json(&self) -> bool {
        self.json
    }

    pub fn flags(&self) -> ServiceFlags {
        ServiceFlags::new(
            self.data_dir.as_deref(),
            self.config.as_deref(),
            self.admin.as_deref(),
        )
        .with_ca(self.ca.as_deref())
    }
}

fn tls_to(target: &AdminTarget, ca: Option<&Path>) -> CommandResult<Option<TlsConnector>> {
    target
        .tls
        .as_ref()
        .map(|_| target::connector(ca))
        .transpose()
}

fn given_key(text: &str) -> CommandResult<PlainKey> {
    let origin = if is_from_environment(KEY_VARIABLE, text) {
        KEY_VARIABLE
    } else {
        "--admin-key"
    };
    PlainKey::parse_as(KeyKind::Admin, text.trim()).map_err(|why| {
        CommandFailure::usage(format!("the value of {origin} is not an admin key: {why}"))
            .hint("pass the key itself, not the name of its file")
    })
}

fn key_in(folder: &Path, flags: &ServiceFlags) -> CommandResult<PlainKey> {
    let path = folder.join(KEY_FILE);
    let text = std::fs::read_to_string(&path).map_err(|error| {
        failed!(
            "no admin key: cannot read {}: {error}",
            path.display()
        )
        .hint(format!(
            "pass the service's data folder with --data-dir, or set LEADHOST_ADMIN_KEY; if the key is lost, or the folder was restored without it, start the service once with `{}`",
            flags.command("serve --new-admin-key")
        ))
    })?;
    PlainKey::parse_as(KeyKind::Admin, text.trim())
        .map_err(|why| failed!("the value of {} is not an admin key: {why}", path.display()))
}

/// A successful answer of the service.
#[derive(Debug)]
pub struct AdminAnswer<T> {
    pub content: T,
    /// The same as it was sent, with keys that this program does not know.
    pub json: Value,
}

impl<T: Serialize> AdminAnswer<T> {
    /// Returns an answer that a command composes from several answers.
    pub fn composed(content: T) -> Self {
        let json = json!(content);
        Self { content, json }
    }
}

impl<T> Deref for AdminAnswer<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.content
    }
}

fn written(body: &impl Serialize) -> CommandResult<Bytes> {
    serde_json::to_vec(body)
        .map(Bytes::from)
        .map_err(|error| failed!("cannot write the request: {error}"))
}

pub type Answered<T> = Result<AdminAnswer<T>, ServiceRefusal>;

/// An answer of the service with an error status.
#[derive(Debug)]
pub struct ServiceRefusal {
    pub status: StatusCode,
    pub message: String,
    pub body: Value,
    /// For the commands that the service names.
    pub flags: ServiceFlags,
}

impl ServiceRefusal {
    /// Puts what was sent in front of the message, if that is what the service refuses.
    #[must_use]
    pub fn about(mut self, sent: &str) -> Self {
        if self.status == StatusCode::UNPROCESSABLE_ENTITY {
            self.message = format!("{sent}: {}", self.message);
        }
        self
    }
}

impl From<ServiceRefusal> for CommandFailure {
    fn from(refusal: ServiceRefusal) -> Self {
        // A 404 of the admin API names what it did not find; a generic one comes from elsewhere.
        let is_elsewhere = refusal.status == StatusCode::NOT_FOUND
            && [NOTHING, "Not Found"].contains(&refusal.message.as_str());
        // It refuses a value that the person typed: commands compose the rest of a request.
        let is_usage =
            refusal.status == StatusCode::BAD_REQUEST && refusal.body.get("error").is_some();
        let failure = if is_usage {
            Self::usage(safe(&refusal.flags.complete(&as_typed(&refusal.message))))
        } else {
            Self::new(safe(&refusal.flags.complete(&refusal.message)))
        };
        if is_elsewhere {
            return failure.hint(
                "this may not be the address of the admin API: use the address that `leadhost serve` logs as admin, not the gateway's",
            );
        }
        match refusal.status {
            StatusCode::UNAUTHORIZED => failure.hint(format!(
                "the key is not valid at this service: use the {KEY_FILE} of its data folder (--data-dir), or set LEADHOST_ADMIN_KEY"
            )),
            _ => failure,
        }
    }
}

/// Parameters of the API that a refusal may name, and what a person types for them.
const TYPED: [(&str, &str); 21] = [
    ("act", "--what"),
    ("before", "--before"),
    ("convertedBy", "--converted-by"),
    ("email", "--email"),
    ("everySeconds", "--every"),
    ("id", "ID"),
    ("instance", "--instance"),
    ("label", "--label"),
    ("last", "--last"),
    ("phone", "--phone"),
    ("probationSeconds", "--probation"),
    ("seconds", "--seconds"),
    ("since", "--since"),
    ("state", "--state"),
    ("status", "--status"),
    ("stepComparisons", "--comparisons"),
    ("steps", "--steps"),
    ("text", "TEXT"),
    ("until", "--until"),
    ("version", "--version"),
    ("workspace", "--workspace"),
];

/// Replaces the API's parameters by what a person types: `since=yesterday` by `--since yesterday`.
fn as_typed(message: &str) -> String {
    let mut typed = message.to_owned();
    for (name, word) in TYPED {
        typed = typed
            .replace(&format!("`{name}`"), &format!("`{word}`"))
            .replace(&format!("`{name}="), &format!("`{word} "));
    }
    typed
}

impl AdminClient {
    pub fn json(&self) -> bool {
        self.json
    }

    pub fn flags(&self) -> &ServiceFlags {
        &self.flags
    }

    /// Returns the greatest size of a component, by the configuration that the command has.
    pub fn component_bytes(&self) -> usize {
        self.component_bytes
    }

    pub fn print<T>(&self, answer: &AdminAnswer<T>, show: impl FnOnce(&T)) {
        if self.json {
            say_json(&answer.json);
        } else {
            show(&answer.content);
        }
    }

    pub async fn show<T: DeserializeOwned>(
        &self,
        path: &str,
        show: impl FnOnce(&T),
    ) -> CommandResult {
        self.print(&self.get(path).await?, show);
        Ok(())
    }

    pub async fn act<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        show: impl FnOnce(&T),
    ) -> CommandResult {
        self.print(&self.post(path, body).await?, show);
        Ok(())
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> CommandResult<AdminAnswer<T>> {
        self.try_get(path).await?.map_err(CommandFailure::from)
    }

    pub async fn try_get<T: DeserializeOwned>(&self, path: &str) -> CommandResult<Answered<T>> {
        self.ask(Method::GET, path, "application/json", Bytes::new())
            .await
    }

    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> CommandResult<AdminAnswer<T>> {
        self.try_post(path, body)
            .await?
            .map_err(CommandFailure::from)
    }

    pub async fn try_post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> CommandResult<Answered<T>> {
        self.ask(Method::POST, path, "application/json", written(body)?)
            .await
    }

    pub async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> CommandResult<AdminAnswer<T>> {
        self.ask(Method::PATCH, path, "application/json", written(body)?)
            .await?
            .map_err(CommandFailure::from)
    }

    /// Replaces a resource with a JSON body. Returns the service's refusal to the caller.
    pub async fn try_put<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> CommandResult<Answered<T>> {
        self.ask(Method::PUT, path, "application/json", written(body)?)
            .await
    }

    pub async fn post_wasm<T: DeserializeOwned>(
        &self,
        path: &str,
        wasm: Vec<u8>,
    ) -> CommandResult<Answered<T>> {
        self.ask(Method::POST, path, "application/wasm", Bytes::from(wasm))
            .await
    }

    /// Streams a body of any length, without a timeout.
    pub async fn put_stream<T, B>(
        &self,
        path: &str,
        content_type: &str,
        body: B,
    ) -> CommandResult<Answered<T>>
    where
        T: DeserializeOwned,
        B: Body<Data = Bytes, Error = std::io::Error> + Send + Unpin + 'static,
    {
        let answer = Box::pin(self.exchange(Method::PUT, path, content_type, body));
        self.read(answer.await?)
    }

    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> CommandResult<AdminAnswer<T>> {
        self.try_delete(path).await?.map_err(CommandFailure::from)
    }

    pub async fn try_delete<T: DeserializeOwned>(&self, path: &str) -> CommandResult<Answered<T>> {
        self.ask(Method::DELETE, path, "application/json", Bytes::new())
            .await
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> CommandResult<Answered<T>> {
        // The exchange holds the state of a TLS connection.
        let answer = Box::pin(self.ask_in_time(method, path, content_type, body));
        self.read(answer.await?)
    }

    async fn ask_in_time(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> CommandResult<Result<Value, ServiceRefusal>> {
        let exchange = self.exchange(method, path, content_type, Full::new(body));
        tokio::time::timeout(PATIENCE, exchange)
            .await
            .map_err(|_| {
                failed!(
                    "the service at {} did not answer within {} s",
                    self.target.authority,
                    PATIENCE.as_secs()
                )
                .hint(format!(
                    "its log shows what it is doing; `{}` shows its backlog",
                    self.flags.command("status")
                ))
            })?
    }

    fn is_another(&self) -> CommandFailure {
        failed!(
            "no key was sent: the program at {} did not prove within {} s that it is the service of the data folder. The service may have been killed, and another program listens at its address",
            self.target.authority,
            limits::DOCTOR_DEADLINE.as_secs()
        )
        .hint(format!(
            "start the service again with `{}`; `ss -ltnp` shows which program listens. If you trust the one at this address, such as a forwarded port of the service, pass the address with --admin and the key with {KEY_VARIABLE}",
            self.flags.command("serve")
        ))
    }

    fn read<T: DeserializeOwned>(
        &self,
        answer: Result<Value, ServiceRefusal>,
    ) -> CommandResult<Answered<T>> {
        let json = match answer {
            Ok(json) => json,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let content = T::deserialize(&json).map_err(|error| {
            failed!(
                "the service at {} sent an answer that this command cannot read: {error}",
                self.target.authority
            )
            .hint("use the `leadhost` program of the service's version")
        })?;
        Ok(Ok(AdminAnswer { content, json }))
    }

    async fn exchange<B>(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: B,
    ) -> CommandResult<Result<Value, ServiceRefusal>>
    where
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let unreachable = |error: std::io::Error| {
            let serve = self.flags.command("serve");
            let hint = if self.flags.has_address() {
                format!("start it with `{serve}`, or correct the address")
            } else {
                format!(
                    "start it with `{serve}`; if it runs elsewhere, pass its data folder with --data-dir or its address with --admin"
                )
            };
            failed!("no service at {}: {error}", self.target.authority).hint(hint)
        };
        let lost = |error: &dyn std::fmt::Display| {
            failed!(
                "the service at {} closed the connection: {error}",
                self.target.authority
            )
            .hint("it may be restarting: retry, or look at its log")
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, &self.target.authority)
            .header(AUTHORIZATION, format!("Bearer {}", self.key.reveal()))
            .header(CONTENT_TYPE, content_type)
            .body(body)
            .map_err(|error| {
                CommandFailure::usage(format!("`{path}` is not a valid request path: {error}"))
            })?;
        let stream = TcpStream::connect(self.target.address())
            .await
            .map_err(unreachable)?;
        let response = match (&self.tls, &self.target.tls) {
            (Some(tls), Some(name)) => {
                let stream = tls.connect(name.clone(), stream).await;
                let stream = stream.map_err(|error| tls_fault::failure(&self.target, &error))?;
                send(stream, request).await
            }
            _ => match &self.secret {
                Some(secret) => {
                    let address = stream.peer_addr().map_err(unreachable)?;
                    match send_if_proven(stream, secret, address, request).await {
                        Some(response) => response,
                        None => return Err(self.is_another()),
                    }
                }
                None => send(stream, request).await,
            },
        };
        let response = response.map_err(|error| {
            let failure = lost(&error);
            if self.target.tls.is_none() && self.flags.has_address() {
                failure.also(&format!(
                    "if that is a port of HTTPS, write https://{}",
                    self.target.authority
                ))
            } else {
                failure
            }
        })?;
        let status = response.status();
        let body = Limited::new(response.into_body(), limits::ADMIN_ANSWER_BYTES);
        let bytes = body.collect().await.map_err(|error| lost(&error))?;
        let bytes = bytes.to_bytes();
        let body: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        if status.is_success() {
            return Ok(Ok(body));
        }
        let message = AdminError::deserialize(&body).map_or_else(
            |_| format!("the service at {} answered {status}", self.target.authority),
            |refusal| refusal.error,
        );
        Ok(Err(ServiceRefusal {
            status,
            message,
            body,
            flags: self.flags.clone(),
        }))
    }
}

/// Sends the request, with its key, if the service proves on the same connection that it knows the secret. Returns
/// `None` if it does not.
async fn send_if_proven<B>(
    stream: TcpStream,
    secret: &ServiceSecret,
    address: SocketAddr,
    request: Request<B>,
) -> Option<Result<Response<Incoming>, hyper::Error>>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let challenge = identity::challenge();
    let probe = Request::get("/health/live")
        .header(HOST, address.to_string())
        .header(CHALLENGE, &challenge)
        .body(Either::Left(Full::default()))
        .expect("the head is valid");
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .ok()?;
    tokio::spawn(connection);
    let probed = async {
        let (head, body) = sender.send_request(probe).await.ok()?.into_parts();
        let body = Limited::new(body, limits::ADMIN_ANSWER_BYTES);
        body.collect().await.ok()?;
        sender.ready().await.ok()?;
        head.headers.get(PROOF).cloned()
    };
    let proof = tokio::time::timeout(limits::DOCTOR_DEADLINE, probed).await;
    let expected = secret.proof(challenge.as_bytes(), address);
    if proof.ok().flatten()?.as_bytes() != expected.as_bytes() {
        return None;
    }
    Some(sender.send_request(request.map(Either::Right)).await)
}

async fn send<S, B>(stream: S, request: Request<B>) -> Result<Response<Incoming>, hyper::Error>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // The task ends with the exchange. Its errors also fail the request.
    tokio::spawn(connection);
    sender.send_request(request).await
}

/// Percent-encodes a text as one segment of a path, or as a value of a query.
pub fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, SEGMENT).to_string()
}

/// Returns the fields that have a value as a query with its question mark, or an empty text.
pub fn query(fields: &[(&str, Option<String>)]) -> String {
    let given: Vec<String> = fields
        .iter()
        .filter_map(|(name, value)| {
            let value = value.as_ref()?;
            Some(format!("{name}={}", encoded(value)))
        })
        .collect();
    if given.is_empty() {
        String::new()
    } else {
        format!("?{}", given.join("&"))
    }
}

/// Returns the flags of a list that have a value as a query.
pub fn query_of(flags: &impl Serialize) -> String {
    let flags = json!(flags);
    let fields = flags.as_object().into_iter().flatten();
    let fields = fields.map(|(name, value)| {
        let value = match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        (name.as_str(), value)
    });
    query(&fields.collect::<Vec<_>>())
}

/// All characters except the unreserved ones of RFC 3986.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_what_was_typed() {
        let check = |message: &str, expect: &str| assert_eq!(as_typed(message), expect);
        check(
            "`since=2 days ago` is not a time.",
            "`--since 2 days ago` is not a time.",
        );
        check(
            "Name the person by one of `id`, `phone` and `email`.",
            "Name the person by one of `ID`, `--phone` and `--email`.",
        );
        check("`act=x` is not an act.", "`--what x` is not an act.");
        check("`a=b` is too short.", "`a=b` is too short.");
        check("`status.wasm` and status", "`status.wasm` and status");
    }

    #[test]
    fn only_a_refused_value_is_wrong_usage() {
        let code = |status: StatusCode, body: Value| {
            let refusal = ServiceRefusal {
                status,
                message: "refused".to_owned(),
                body,
                flags: ServiceFlags::default(),
            };
            CommandFailure::from(refusal).code()
        };
        let body = serde_json::json!({"error": "refused"});
        assert_eq!(code(StatusCode::BAD_REQUEST, body.clone()), 2);
        for status in [404, 409, 422, 503] {
            let status = StatusCode::from_u16(status).expect("a status");
            assert_eq!(code(status, body.clone()), 1, "{status}");
        }
        // Another program answers at the address.
        assert_eq!(code(StatusCode::BAD_REQUEST, Value::Null), 1);
    }

    #[test]
    fn an_encoded_text_is_one_path_segment() {
        assert_eq!(encoded("a/b?c&d-e"), "a%2Fb%3Fc%26d-e");
    }
}
