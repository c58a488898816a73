//! A double of the Graph API's lead node, on the loopback interface: a lead
//! webhook carries only an id, and this is where the lead itself is fetched.
//!
//! The lead of an id is always the same one. The double insists on the access
//! token and on its proof, as the real one does when it is set to, and ids
//! with certain endings misbehave ([`BEHAVIOUR`] lists them). It counts in
//! memory only, so a new double has forgotten everything.

use std::collections::HashMap;
use std::io::{self, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

mod http;
mod lead;

use http::{Answer, Request};

/// How ids behave, for the help text of whoever starts the double.
pub const BEHAVIOUR: &str = "\
    GET /{version}/{lead id}?fields=..&access_token=..&appsecret_proof=..

    id ending in   answer
    001            400 with error 100/33 the first two times, then the lead
    002            401 with error 190: the access token has expired
    003            429 with Retry-After: 1 the first time, then the lead
    004            closes the connection without an answer
    005            500 with an HTML page
    any other      200 with a lead made up from the id, always the same
";

/// What the double expects of its callers.
#[derive(Clone, Debug)]
pub struct GraphOptions {
    /// Port 0 takes a free one.
    pub listen: SocketAddr,
    /// The key of the proof: HMAC-SHA256 over the access token, in hex.
    pub app_secret: String,
    /// The access tokens that are valid.
    pub tokens: Vec<String>,
}

impl Default for GraphOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            app_secret: "double-app-secret".to_owned(),
            tokens: vec!["double-page-token".to_owned()],
        }
    }
}

/// A running double. It stops when it is dropped.
pub struct GraphDouble {
    address: SocketAddr,
    state: Arc<State>,
    acceptor: Option<JoinHandle<()>>,
}

impl GraphDouble {
    pub fn start(options: GraphOptions) -> io::Result<Self> {
        let listener = TcpListener::bind(options.listen)?;
        let address = listener.local_addr()?;
        let state = Arc::new(State {
            options,
            requests: Mutex::new(Vec::new()),
            attempts: Mutex::new(HashMap::new()),
            stopping: AtomicBool::new(false),
        });
        let shared = Arc::clone(&state);
        let acceptor = std::thread::Builder::new()
            .name("graph-double".to_owned())
            .spawn(move || accept(&listener, &shared))?;
        Ok(Self {
            address,
            state,
            acceptor: Some(acceptor),
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn options(&self) -> &GraphOptions {
        &self.state.options
    }

    /// The targets (path and query) that were asked for so far, in order.
    pub fn requests(&self) -> Vec<String> {
        locked(&self.state.requests).clone()
    }

    /// Waits for the double's end, which without a drop is never.
    pub fn wait(mut self) {
        if let Some(acceptor) = self.acceptor.take() {
            // A panic there has been printed already.
            let _ = acceptor.join();
        }
    }
}

impl Drop for GraphDouble {
    fn drop(&mut self) {
        self.state.stopping.store(true, Ordering::Release);
        // The acceptor sees the flag when the next connection arrives.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

/// The proof that goes with an access token.
pub fn proof(app_secret: &str, token: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(app_secret.as_bytes())
        .expect("a key of any length makes an HMAC");
    mac.update(token.as_bytes());
    mac.finalize()
        .into_bytes()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

struct State {
    options: GraphOptions,
    requests: Mutex<Vec<String>>,
    attempts: Mutex<HashMap<String, u32>>,
    stopping: AtomicBool,
}

fn accept(listener: &TcpListener, state: &Arc<State>) {
    for connection in listener.incoming() {
        if state.stopping.load(Ordering::Acquire) {
            return;
        }
        let Ok(connection) = connection else { continue };
        let state = Arc::clone(state);
        // A thread each: a double has a handful of callers.
        let _ = std::thread::Builder::new()
            .name("graph-double-connection".to_owned())
            .spawn(move || serve(connection, &state));
    }
}

/// Answers the requests of one connection, until either side is done. Errors
/// of the connection are its caller's to notice.
fn serve(connection: TcpStream, state: &State) {
    // An idle connection ends by itself, so that no thread stays for good.
    let _ = connection.set_read_timeout(Some(Duration::from_secs(30)));
    let Ok(mut writer) = connection.try_clone() else {
        return;
    };
    let mut reader = BufReader::new(connection);
    while let Ok(Some(request)) = http::read(&mut reader) {
        locked(&state.requests).push(request.target.clone());
        let Some(answer) = answer(&request, state) else {
            return;
        };
        if writer.write_all(&answer.bytes()).is_err() || request.close {
            return;
        }
    }
}

/// The answer, or none: the connection is closed.
fn answer(request: &Request, state: &State) -> Option<Answer> {
    if request.method != "GET" {
        return Some(error(400, 100, None, "Unsupported request method"));
    }
    if let Err(refusal) = authorised(request, &state.options) {
        return Some(refusal);
    }
    let id = request.path.rsplit('/').next().unwrap_or_default();
    let is_lead = request.path.matches('/').count() == 2
        && !id.is_empty()
        && id.bytes().all(|byte| byte.is_ascii_digit());
    if !is_lead {
        return Some(error(
            404,
            803,
            None,
            "Some of the aliases you requested do not exist",
        ));
    }
    let attempt = {
        let mut attempts = locked(&state.attempts);
        let attempt = attempts.entry(id.to_owned()).or_default();
        *attempt += 1;
        *attempt
    };
    match &id[id.len().saturating_sub(3)..] {
        "001" if attempt <= 2 => Some(error(
            400,
            100,
            Some(33),
            &format!(
                "Unsupported get request. Object with ID '{id}' does not exist, cannot be loaded due to missing permissions, or does not support this operation"
            ),
        )),
        "002" => Some(error(
            401,
            190,
            Some(463),
            "Error validating access token: Session has expired",
        )),
        "003" if attempt == 1 => Some(
            error(
                429,
                613,
                None,
                "Calls to this api have exceeded the rate limit",
            )
            .header("Retry-After", "1"),
        ),
        "004" => None,
        "005" => Some(Answer::html(
            500,
            "<!DOCTYPE html><title>Error</title><p>Sorry, something went wrong.",
        )),
        _ => Some(Answer::json(200, &lead::lead(id, request.query("fields")))),
    }
}

fn authorised(request: &Request, options: &GraphOptions) -> Result<(), Answer> {
    let token = request.query("access_token").or_else(|| {
        request
            .authorization
            .as_deref()
            .and_then(|value| value.strip_prefix("Bearer "))
    });
    let Some(token) = token else {
        return Err(error(
            400,
            104,
            None,
            "An access token is required to request this resource.",
        ));
    };
    if !options.tokens.iter().any(|valid| valid == token) {
        return Err(error(
            401,
            190,
            None,
            "Invalid OAuth access token - Cannot parse access token",
        ));
    }
    match request.query("appsecret_proof") {
        None => Err(error(
            400,
            100,
            None,
            "API calls from the server require an appsecret_proof argument",
        )),
        Some(given) if given == proof(&options.app_secret, token) => Ok(()),
        Some(_) => Err(error(
            400,
            100,
            None,
            "Invalid appsecret_proof provided in the API argument",
        )),
    }
}

fn error(status: u16, code: u32, subcode: Option<u32>, message: &str) -> Answer {
    let kind = if matches!(code, 104 | 190) {
        "OAuthException"
    } else {
        "GraphMethodException"
    };
    let mut error = json!({
        "message": message,
        "type": kind,
        "code": code,
        "fbtrace_id": "double",
    });
    if let Some(subcode) = subcode {
        error["error_subcode"] = Value::from(subcode);
    }
    Answer::json(status, &json!({ "error": error }))
}

/// A panic elsewhere leaves lists and counters usable.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
