//! A client of the admin API of a running service. The data folder has the address and the key,
//! so a command needs no arguments on the service's own machine. The API is plain HTTP and meant
//! for loopback.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Bytes};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};
use serde::de::DeserializeOwned;
use serde::{Deserialize as _, Serialize};
use serde_json::Value;
use tokio::net::TcpStream;

use super::command::{ServiceFlags, is_from_environment};
use super::failure::Failure;
use super::output::say_json;
use super::table::safe;
use crate::admin_api::error::AdminError;
use crate::config::Config;
use crate::domain::key::{KeyKind, PlainKey};

/// File in the data folder to which `serve` writes the first admin key.
pub const KEY_FILE: &str = "admin.key";
/// File in the data folder to which `serve` writes its addresses.
pub const ADDRESSES_FILE: &str = "service.json";

/// Timeout of a request. Compiling, trying and verifying a plugin takes longest.
const PATIENCE: Duration = Duration::from_secs(600);

/// The message of a 404 for a path that no API has.
const NOTHING: &str = "There is nothing at this address.";

/// Environment variable with an admin key, which replaces that of the data folder.
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
    /// An admin key, instead of that of the data folder
    #[arg(
        long,
        value_name = "KEY",
        env = KEY_VARIABLE,
        hide_env_values = true,
        global = true
    )]
    admin_key: Option<String>,
    /// Print JSON instead of a table
    #[arg(long, global = true)]
    json: bool,
}

pub struct Client {
    address: String,
    key: PlainKey,
    json: bool,
    flags: ServiceFlags,
}

/// Runs an asynchronous command on the current thread.
///
/// # Errors
///
/// [`Failure`] if the runtime cannot start, and that of the command.
pub fn block_on<T>(command: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start: {error}")))?
        .block_on(command)
}

impl ServiceAddress {
    /// Returns a client for the service that the arguments or the data folder name. It does not
    /// connect yet.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the configuration cannot be read, the address is not a plain HTTP
    /// address, no service runs on the data folder, or no admin key is found.
    pub fn client(&self) -> Result<Client, Failure> {
        let config = Config::load(self.config.as_deref(), &[])?;
        let folder = self
            .data_dir
            .clone()
            .unwrap_or_else(|| config.store.data_dir.clone());
        // Wrong usage comes first, whether a service runs or not.
        let given = self.admin_key.as_deref().map(given_key).transpose()?;
        let address = match &self.admin {
            Some(address) => plain_address(address)?,
            None => self
                .said_address(&folder)?
                .unwrap_or_else(|| config.server.admin_listen.clone()),
        };
        Ok(Client {
            address,
            key: match given {
                Some(key) => key,
                None => key_in(&folder, &self.flags())?,
            },
            json: self.json,
            flags: self.flags(),
        })
    }

    /// Returns the address that the service of this folder has written, or `None` if nobody named
    /// a folder and the default one is not on this machine. The key of a folder without a service
    /// is sent nowhere: at the default address may be another service.
    fn said_address(&self, folder: &Path) -> Result<Option<String>, Failure> {
        let path = folder.join(ADDRESSES_FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Failure::new(format!(
                    "cannot read {}: {error}",
                    path.display()
                )));
            }
            Err(_) if self.data_dir.is_none() && !folder.exists() => return Ok(None),
            Err(_) => {
                return Err(
                    Failure::new(format!("no service runs on {}", folder.display())).hint(format!(
                        "start it with `{}`, or pass its address with --admin",
                        self.flags().command("serve")
                    )),
                );
            }
        };
        let said: Option<Value> = serde_json::from_str(&text).ok();
        let address = said.as_ref().and_then(|said| said.get("admin")?.as_str());
        match address {
            Some(address) => Ok(Some(address.to_owned())),
            None => Err(Failure::new(format!(
                "{} names no address of the admin API",
                path.display()
            ))),
        }
    }

    /// Returns the flags with which a command reaches the same service.
    pub fn flags(&self) -> ServiceFlags {
        ServiceFlags::new(
            self.data_dir.as_deref(),
            self.config.as_deref(),
            self.admin.as_deref(),
        )
    }
}

fn plain_address(text: &str) -> Result<String, Failure> {
    let address = text
        .strip_prefix("http://")
        .unwrap_or(text)
        .trim_end_matches('/');
    if address.is_empty() || address.contains('/') {
        return Err(Failure::usage(format!(
            "`{text}` is not an address: expected host and port, such as 127.0.0.1:8081"
        )));
    }
    Ok(address.to_owned())
}

fn given_key(text: &str) -> Result<PlainKey, Failure> {
    let origin = match is_from_environment(KEY_VARIABLE, text) {
        true => KEY_VARIABLE,
        false => "--admin-key",
    };
    PlainKey::parse_as(KeyKind::Admin, text.trim())
        .map_err(|why| Failure::usage(format!("the value of {origin} is not an admin key: {why}")))
}

fn key_in(folder: &Path, flags: &ServiceFlags) -> Result<PlainKey, Failure> {
    let path = folder.join(KEY_FILE);
    let text = std::fs::read_to_string(&path).map_err(|error| {
        Failure::new(format!(
            "no admin key: cannot read {}: {error}",
            path.display()
        ))
        .hint(format!(
            "pass the service's data folder with --data-dir, or set LEADHOST_ADMIN_KEY; if the key is lost, or the folder was restored without it, start the service once with `{}`",
            flags.command("serve --new-admin-key")
        ))
    })?;
    PlainKey::parse_as(KeyKind::Admin, text.trim()).map_err(|why| {
        Failure::new(format!(
            "the value of {} is not an admin key: {why}",
            path.display()
        ))
    })
}

/// A successful answer of the service.
#[derive(Debug)]
pub struct Answer<T> {
    pub content: T,
    /// The same as it was sent, with keys that this program does not know.
    pub json: Value,
}

impl Answer<Value> {
    /// What a command composes from several answers.
    pub fn composed(json: Value) -> Self {
        let content = json.clone();
        Self { content, json }
    }
}

impl<T> Deref for Answer<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.content
    }
}

fn written(body: &impl Serialize) -> Result<Bytes, Failure> {
    serde_json::to_vec(body)
        .map(Bytes::from)
        .map_err(|error| Failure::new(format!("cannot write the request: {error}")))
}

/// An answer of the service with an error status.
#[derive(Debug)]
pub struct Refusal {
    pub status: StatusCode,
    pub message: String,
    pub body: Value,
    /// For the commands that the service names.
    pub flags: ServiceFlags,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        // A 404 of the admin API names what it did not find; a generic one comes from elsewhere.
        let is_elsewhere = refusal.status == StatusCode::NOT_FOUND
            && [NOTHING, "Not Found"].contains(&refusal.message.as_str());
        // It refuses a value that the person typed: commands compose the rest of a request.
        let is_usage =
            refusal.status == StatusCode::BAD_REQUEST && refusal.body.get("error").is_some();
        let failure = match is_usage {
            true => Self::usage(safe(&refusal.flags.complete(&as_typed(&refusal.message)))),
            false => Self::new(safe(&refusal.flags.complete(&refusal.message))),
        };
        if is_elsewhere {
            return failure.hint(
                "this may not be the address of the admin API: pass --admin the address that `leadhost serve` logs as admin, not that of the gateway",
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
const TYPED: [(&str, &str); 18] = [
    ("act", "--what"),
    ("before", "--before"),
    ("email", "--email"),
    ("everySeconds", "--every"),
    ("id", "ID"),
    ("instance", "--instance"),
    ("last", "--last"),
    ("phone", "--phone"),
    ("probationSeconds", "--probation"),
    ("seconds", "--seconds"),
    ("since", "--since"),
    ("state", "--state"),
    ("status", "--status"),
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

impl Client {
    /// Returns whether the command prints JSON.
    pub fn json(&self) -> bool {
        self.json
    }

    /// Returns the flags with which a command reaches the same service.
    pub fn flags(&self) -> &ServiceFlags {
        &self.flags
    }

    /// Prints the answer as JSON with `--json`, otherwise through `show`.
    pub fn print<T>(&self, answer: &Answer<T>, show: impl FnOnce(&T)) {
        if self.json {
            say_json(&answer.json);
        } else {
            show(&answer.content);
        }
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the service cannot be reached, does not answer in time, or refuses the
    /// request.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<Answer<T>, Failure> {
        self.ask(Method::GET, path, "application/json", Bytes::new())
            .await?
            .map_err(Failure::from)
    }

    /// Sends a JSON body.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the service cannot be reached, does not answer in time, or refuses the
    /// request.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Answer<T>, Failure> {
        self.try_post(path, body).await?.map_err(Failure::from)
    }

    /// Like `post`, but returns the service's refusal to the caller.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the service cannot be reached or does not answer in time. The inner
    /// result has the service's refusal.
    pub async fn try_post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Result<Answer<T>, Refusal>, Failure> {
        self.ask(Method::POST, path, "application/json", written(body)?)
            .await
    }

    /// Changes a resource with a JSON body.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the service cannot be reached, does not answer in time, or refuses the
    /// request.
    pub async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Answer<T>, Failure> {
        self.ask(Method::PATCH, path, "application/json", written(body)?)
            .await?
            .map_err(Failure::from)
    }

    /// Replaces a resource with a JSON body. Returns the service's refusal to the caller.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the service cannot be reached or does not answer in time. The inner
    /// result has the service's refusal.
    pub async fn try_put<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Result<Answer<T>, Refusal>, Failure> {
        self.ask(Method::PUT, path, "application/json", written(body)?)
            .await
    }

    /// Sends a component file.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the service cannot be reached or does not answer in time. The inner
    /// result has the service's refusal.
    pub async fn post_wasm<T: DeserializeOwned>(
        &self,
        path: &str,
        wasm: Vec<u8>,
    ) -> Result<Result<Answer<T>, Refusal>, Failure> {
        self.ask(Method::POST, path, "application/wasm", Bytes::from(wasm))
            .await
    }

    /// Streams a body of any length, without a timeout.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the service cannot be reached or the exchange breaks off. The inner
    /// result has the service's refusal.
    pub async fn put_stream<T, B>(
        &self,
        path: &str,
        content_type: &str,
        body: B,
    ) -> Result<Result<Answer<T>, Refusal>, Failure>
    where
        T: DeserializeOwned,
        B: Body<Data = Bytes, Error = std::io::Error> + Send + Unpin + 'static,
    {
        self.exchange(Method::PUT, path, content_type, body).await
    }

    /// Removes a resource.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the service cannot be reached, does not answer in time, or refuses the
    /// request.
    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<Answer<T>, Failure> {
        self.try_delete(path).await?.map_err(Failure::from)
    }

    /// Like `delete`, but returns the service's refusal to the caller.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the service cannot be reached or does not answer in time. The inner
    /// result has the service's refusal.
    pub async fn try_delete<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<Result<Answer<T>, Refusal>, Failure> {
        self.ask(Method::DELETE, path, "application/json", Bytes::new())
            .await
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> Result<Result<Answer<T>, Refusal>, Failure> {
        let body = Full::new(body);
        tokio::time::timeout(PATIENCE, self.exchange(method, path, content_type, body))
            .await
            .map_err(|_| {
                Failure::new(format!(
                    "the service at {} did not answer within {} s",
                    self.address,
                    PATIENCE.as_secs()
                ))
                .hint(format!(
                    "its log shows what it is doing; `{}` shows its backlog",
                    self.flags.command("status")
                ))
            })?
    }

    async fn exchange<T, B>(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: B,
    ) -> Result<Result<Answer<T>, Refusal>, Failure>
    where
        T: DeserializeOwned,
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let lost = |error: hyper::Error| {
            Failure::new(format!(
                "the service at {} closed the connection: {error}",
                self.address
            ))
            .hint("it may be restarting: retry, or look at its log")
        };
        let stream = TcpStream::connect(&self.address).await.map_err(|error| {
            Failure::new(format!("no service at {}: {error}", self.address)).hint(format!(
                "start it with `{}`; if it runs elsewhere, pass its data folder with --data-dir or its address with --admin",
                self.flags.command("serve")
            ))
        })?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(lost)?;
        // The task ends with the exchange. Its errors also fail the request below.
        tokio::spawn(connection);
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, &self.address)
            .header(AUTHORIZATION, format!("Bearer {}", self.key.reveal()))
            .header(CONTENT_TYPE, content_type)
            .body(body)
            .map_err(|error| {
                Failure::usage(format!("`{path}` is not a valid request path: {error}"))
            })?;
        let response = sender.send_request(request).await.map_err(lost)?;
        let status = response.status();
        let bytes = response
            .into_body()
            .collect()
            .await
            .map_err(lost)?
            .to_bytes();
        let body: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        if status.is_success() {
            let content = T::deserialize(&body).map_err(|error| {
                Failure::new(format!(
                    "the service at {} sent an answer that this command cannot read: {error}",
                    self.address
                ))
                .hint("use the `leadhost` program of the service's version")
            })?;
            return Ok(Ok(Answer {
                content,
                json: body,
            }));
        }
        let message = AdminError::deserialize(&body).map_or_else(
            |_| format!("the service at {} answered {status}", self.address),
            |refusal| refusal.error,
        );
        Ok(Err(Refusal {
            status,
            message,
            body,
            flags: self.flags.clone(),
        }))
    }
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
    fn an_address_may_be_written_as_a_url() {
        assert_eq!(
            plain_address("http://127.0.0.1:1/").expect("an address"),
            "127.0.0.1:1"
        );
        assert!(plain_address("127.0.0.1:1/admin").is_err());
    }

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
            let refusal = Refusal {
                status,
                message: "refused".to_owned(),
                body,
                flags: ServiceFlags::default(),
            };
            Failure::from(refusal).code()
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
