//! Errors of requests, and their form in each family of endpoints.
//!
//! One enum, split by what the client can do about an error. Each error has a code, and the code
//! determines the status; further matches give the message and the shape. The details of a fault are logged once, under the request's
//! id; the client gets a message that it can act on.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use hyper::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};

use super::accept::weight;
use super::request_id::RequestId;
use super::response;
use crate::prelude::*;
use leadhost_admin_api::apply::RefusedFile;
use leadhost_admin_api::error::AdminError;
use leadhost_admin_api::plugins::{RefusedActivation, RefusedComponent};
use leadhost_domain::analytics::MetricSet;
use leadhost_domain::key::KeyKind;
use leadhost_domain::time::whole_seconds;

/// The shape of an endpoint's errors. Every body has the `code` too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `{statusCode, message, error}`
    Gateway,
    /// `{success: false, statusCode, message}`
    Notification,
    /// `{error}`
    Data,
    /// `{error}`, with additional members if an operator needs them.
    Admin,
    /// A sentence as plain text. The console's own refusals are pages.
    Console,
}

/// The authentication that a 401 asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Challenge {
    PartnerKey,
    /// A key of this kind, as a bearer token.
    Bearer(KeyKind),
    /// The sender checks of a connection.
    Sender,
}

#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// 400: what is wrong with the request, and how to correct it.
    #[error("{0}")]
    BadRequest(String),
    /// 401: the same for unknown, revoked, expired and malformed keys.
    #[error("no valid key")]
    Unauthorized(Challenge),
    /// 403: the key is valid, but does not allow this.
    #[error("{0}")]
    Forbidden(String),
    /// 404
    #[error("{0}")]
    NotFound(String),
    /// 405, with the methods of the address.
    #[error("the method is not one of {allow}")]
    MethodNotAllowed { allow: String },
    /// 405: the GET is not a handshake.
    #[error("the GET is not a handshake")]
    NoHandshake,
    /// 408: the body arrived too slowly.
    #[error("the body did not arrive in time")]
    BodyTooSlow,
    /// 409: the request conflicts with the current state.
    #[error("{message}")]
    Conflict {
        message: String,
        details: Option<ConflictDetails>,
    },
    /// 409: an earlier request with the same idempotency key is not answered yet.
    #[error("the key's first request is under way")]
    UnderWay { retry_after: Duration },
    /// A refusal with a code of its own.
    #[error("{message}")]
    Coded { code: ErrorCode, message: String },
    /// 413
    #[error("the body is larger than {limit} bytes")]
    BodyTooLarge { limit: usize },
    /// 414
    #[error("the address is too long")]
    UriTooLong,
    /// 415
    #[error("{0}")]
    UnsupportedMediaType(String),
    /// 422: the request is understood but cannot be carried out.
    #[error("{message}")]
    Unprocessable {
        message: String,
        details: Option<UnprocessableDetails>,
    },
    /// 429
    #[error("rate limit exceeded")]
    TooManyRequests { shed: Shed, retry_after: Duration },
    /// 429: too many requests from this address had no valid key.
    #[error("too many failed keys from this address")]
    TooManyFailures { retry_after: Duration },
    /// 431
    #[error("the headers are too large")]
    HeadersTooLarge,
    /// Like nginx's 499: the client disconnected, so this is never read.
    #[error("the client disconnected: {0}")]
    ClientGone(#[source] hyper::Error),
    /// 501
    #[error("the transfer coding is not supported")]
    OddCoding,
    /// 503: too much load; the client should retry.
    #[error("{what}")]
    Overloaded {
        shed: Shed,
        what: &'static str,
        retry_after: Duration,
    },
    /// 507, 503, 422 or 500, depending on the store's error.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// 500: a defect.
    #[error("{0}")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The members that an [`ApiError::Conflict`] has beside its message.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum ConflictDetails {
    /// The concerns about a version that an operator has to accept.
    Activation(Box<RefusedActivation>),
    /// The full names that an ambiguous name may stand for.
    Ambiguous(AmbiguousName),
    /// The partner's deal that has the external id.
    #[serde(rename_all = "camelCase")]
    ExternalId { deal_id: DealId },
}

/// The items of several workspaces that have the same name, each as `WORKSPACE/NAME`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum AmbiguousName {
    Connections(Vec<String>),
    Instances(Vec<String>),
}

/// The members that an [`ApiError::Unprocessable`] has beside `error` in an admin answer.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum UnprocessableDetails {
    /// Why a component cannot be used.
    Component(RefusedComponent),
    /// The problems of a declaration.
    File(RefusedFile),
}

impl ApiError {
    pub fn internal(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Internal(source.into())
    }

    pub fn coded(code: ErrorCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Coded { code, message }
    }

    pub fn parameter(message: impl Into<String>) -> Self {
        Self::coded(ErrorCode::InvalidParameter, message)
    }

    pub fn no_metric_set() -> Self {
        let known = MetricSet::ALL.map(MetricSet::as_str).join(", ");
        Self::NotFound(format!("There is no such metric set; use one of {known}."))
    }

    pub fn conflict(message: impl Into<String>) -> Self {
        Self::Conflict {
            message: message.into(),
            details: None,
        }
    }

    pub fn unprocessable(message: impl Into<String>) -> Self {
        Self::Unprocessable {
            message: message.into(),
            details: None,
        }
    }

    pub fn outside(&self) -> (StatusCode, Cow<'_, str>) {
        (status_of(self.code()), self.message())
    }

    pub fn code(&self) -> ErrorCode {
        use ErrorCode as C;
        match self {
            Self::BadRequest(_) | Self::ClientGone(_) => C::InvalidRequest,
            Self::Unauthorized(_) => C::Unauthorized,
            Self::Forbidden(_) => C::Forbidden,
            Self::NotFound(_) => C::NotFound,
            Self::MethodNotAllowed { .. } | Self::NoHandshake => C::MethodNotAllowed,
            Self::BodyTooSlow => C::RequestTimeout,
            Self::Conflict { details, .. } => match details {
                None => C::Conflict,
                Some(ConflictDetails::Activation(_)) => C::AcceptanceNeeded,
                Some(ConflictDetails::Ambiguous(_)) => C::AmbiguousName,
                Some(ConflictDetails::ExternalId { .. }) => C::ExternalIdTaken,
            },
            Self::UnderWay { .. } => C::IdempotencyInProgress,
            Self::Coded { code, .. } => *code,
            Self::BodyTooLarge { .. } => C::BodyTooLarge,
            Self::UriTooLong => C::UriTooLong,
            Self::UnsupportedMediaType(_) => C::UnsupportedMediaType,
            Self::Unprocessable { details, .. } => match details {
                None => C::Unprocessable,
                Some(UnprocessableDetails::Component(_)) => C::ComponentRefused,
                Some(UnprocessableDetails::File(_)) => C::FileRefused,
            },
            Self::TooManyRequests { .. } => C::RateLimited,
            Self::TooManyFailures { .. } => C::TooManyFailedKeys,
            Self::HeadersTooLarge => C::HeadersTooLarge,
            Self::OddCoding => C::UnsupportedTransferCoding,
            Self::Overloaded { .. } | Self::Store(StoreError::Busy) => C::Overloaded,
            Self::Store(StoreError::Full) => C::StoreFull,
            Self::Store(StoreError::Refused(_)) => C::Unprocessable,
            Self::Store(StoreError::Outdated) => C::Conflict,
            Self::Store(
                StoreError::Unavailable(_) | StoreError::Lost(_) | StoreError::Contended,
            ) => C::StoreUnavailable,
            Self::Store(
                StoreError::Inconsistent { .. } | StoreError::Query(_) | StoreError::Open(_),
            )
            | Self::Internal(_) => C::InternalError,
        }
    }

    fn message(&self) -> Cow<'_, str> {
        match self {
            Self::BadRequest(message) => message.into(),
            Self::Unauthorized(Challenge::PartnerKey) => "Send a valid partner key in the header x-service-api-key.".into(),
            Self::Unauthorized(Challenge::Bearer(kind)) => format!(
                    "Send a valid {} ({}...) as Authorization: Bearer <key>.",
                    name_of(*kind),
                    kind.prefix()
                )
                .into(),
            Self::Unauthorized(Challenge::Sender) => "The request does not prove that it comes from the sender that this address is for: check the secret on both sides."
                    .into(),
            Self::Forbidden(message) => message.into(),
            Self::NotFound(message) => message.into(),
            Self::MethodNotAllowed { allow } => format!("This address takes {allow}.").into(),
            Self::NoHandshake => "This address takes POST. It takes GET only for its sender's handshake, with the handshake's query parameters: for Meta hub.mode, hub.challenge and hub.verify_token."
                    .into(),
            Self::BodyTooSlow => "The body did not arrive in time; send it again.".into(),
            Self::Conflict { message, .. } => message.into(),
            Self::UnderWay { .. } => "The first request with this Idempotency-Key is still under way; repeat the request to get its answer.".into(),
            Self::Coded { message, .. } => message.into(),
            Self::BodyTooLarge { limit } => format!("The body is larger than the {limit} bytes that this address takes.").into(),
            Self::UriTooLong => format!(
                    "The address is longer than {} KiB; leave out what is not needed.",
                    limits::URI_BYTES >> 10
                )
                .into(),
            Self::UnsupportedMediaType(message) => message.into(),
            Self::Unprocessable { message, .. } => message.into(),
            Self::TooManyRequests { retry_after, .. } => format!(
                    "Too many requests; try again in {} s.",
                    whole_seconds(*retry_after)
                )
                .into(),
            Self::TooManyFailures { retry_after } => format!(
                    "Too many requests from your address had no valid key; check the key, and try again in {} s.",
                    whole_seconds(*retry_after)
                )
                .into(),
            Self::OddCoding => "The body has a transfer coding that is not supported; send it with Content-Length, or chunked and nothing else."
                    .into(),
            Self::HeadersTooLarge => format!(
                    "The headers are larger than {} KiB, or have more than {HEADER_LINES} lines; leave out what is not needed.",
                    limits::HEADER_BYTES >> 10
                )
                .into(),
            Self::ClientGone(_) => "The body ended before it was complete.".into(),
            Self::Overloaded { what, .. } => (*what).into(),
            Self::Store(StoreError::Full) => "The service has no room left to write; reading still works.".into(),
            Self::Store(StoreError::Refused(message)) => message.into(),
            Self::Store(StoreError::Outdated) => "It was changed after you read it. Read it again, then repeat your change.".into(),
            Self::Store(StoreError::Busy) => "More requests arrive than can be served at the moment; try again.".into(),
            Self::Store(
                StoreError::Unavailable(_) | StoreError::Lost(_) | StoreError::Contended,
            ) => "The store does not answer at the moment; try again.".into(),
            Self::Store(
                StoreError::Inconsistent { .. } | StoreError::Query(_) | StoreError::Open(_),
            )
            | Self::Internal(_) => "The service failed on this request; its log has more under this request's id."
                    .into(),
        }
    }

    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TooManyRequests { retry_after, .. }
            | Self::TooManyFailures { retry_after }
            | Self::Overloaded { retry_after, .. }
            | Self::UnderWay { retry_after } => Some(*retry_after),
            Self::Store(StoreError::Unavailable(_) | StoreError::Busy | StoreError::Contended) => {
                Some(Duration::from_secs(1))
            }
            // Gives another host, or the database, time to start.
            Self::Store(StoreError::Lost(_)) => Some(Duration::from_secs(2)),
            Self::Store(StoreError::Full) => Some(Duration::from_mins(1)),
            _ => None,
        }
    }

    /// Returns the reason if this refuses a request to protect the service, or because it cannot work: with 429,
    /// 503 or 507.
    pub fn shed(&self) -> Option<Shed> {
        match self {
            Self::TooManyRequests { shed, .. } | Self::Overloaded { shed, .. } => Some(*shed),
            Self::TooManyFailures { .. } => Some(Shed::FailedKeys),
            Self::Store(StoreError::Busy) => Some(Shed::Writes),
            Self::Store(StoreError::Full) => Some(Shed::Full),
            Self::Store(
                StoreError::Unavailable(_) | StoreError::Lost(_) | StoreError::Contended,
            ) => Some(Shed::Store),
            _ => None,
        }
    }

    fn details(&self) -> Option<Value> {
        let details = match self {
            Self::Conflict { details, .. } => details.as_ref().map(serde_json::to_value),
            Self::Unprocessable { details, .. } => details.as_ref().map(serde_json::to_value),
            _ => None,
        };
        details.map(|details| details.expect("texts and numbers are JSON"))
    }

    /// Logs the details of a fault of the service or its store. Errors of the client are only in
    /// the access log, and other refusals are counted ([`Self::shed`]).
    pub fn log(&self) {
        match self {
            Self::Internal(_)
            | Self::Store(
                StoreError::Inconsistent { .. } | StoreError::Query(_) | StoreError::Open(_),
            ) => tracing::error!(error = %Chain(self), "request failed"),
            Self::Store(StoreError::Unavailable(_) | StoreError::Contended) => {
                STORE.log(|more| {
                    tracing::warn!(error = %Chain(self), refused_since_last_line = more, "request refused by the store");
                });
            }
            _ => {}
        }
    }

    pub fn body(&self, family: Family) -> Value {
        let (status, message) = self.outside();
        let (message, code) = (&*message, self.code());
        let body = match family {
            Family::Gateway => serde_json::to_value(GatewayError {
                status_code: status.as_u16(),
                message,
                error: reason(status),
                code,
            }),
            Family::Notification => serde_json::to_value(NotificationError {
                success: false,
                status_code: status.as_u16(),
                message,
                code,
            }),
            Family::Data => serde_json::to_value(DataError {
                error: message,
                code,
            }),
            Family::Admin | Family::Console => serde_json::to_value(AdminError {
                error: message.to_owned(),
                code: code.to_string(),
            }),
        };
        body.expect("texts and numbers are JSON")
    }

    fn problem(&self, id: &RequestId) -> Value {
        let (status, message) = self.outside();
        let problem = ProblemDetails {
            kind: "about:blank",
            title: reason(status),
            status: status.as_u16(),
            detail: &message,
            code: self.code(),
            request_id: id.as_str(),
        };
        serde_json::to_value(problem).expect("texts and numbers are JSON")
    }

    /// Returns the answer in the family's shape, or in the format of RFC 9457 if the client accepts
    /// that.
    pub fn reply(&self, family: Family, request: &HeaderMap, id: &RequestId) -> ApiResponse {
        let (status, _) = self.outside();
        let wants_problem =
            weight(request, &hyper::header::ACCEPT, PROBLEM).is_some_and(|weight| weight > 0);
        let (content_type, mut body) = if wants_problem {
            (PROBLEM, self.problem(id))
        } else {
            (response::JSON, self.body(family))
        };
        if let (Family::Admin | Family::Gateway, Some(Value::Object(details)), Some(body)) =
            (family, self.details(), body.as_object_mut())
        {
            body.extend(details);
        }
        let mut reply = if family == Family::Console {
            response::text(status, self.outside().1.into_owned())
        } else {
            let mut reply = response::bytes_of(status, response::JSON, body.to_string());
            let content_type = HeaderValue::from_static(content_type);
            reply.headers_mut().insert(CONTENT_TYPE, content_type);
            reply
        };
        if let Some(shed) = self.shed() {
            reply.extensions_mut().insert(shed);
        }
        let headers = reply.headers_mut();
        if let Some(wait) = self.retry_after() {
            headers.insert(RETRY_AFTER, HeaderValue::from(whole_seconds(wait)));
        }
        match self {
            Self::MethodNotAllowed { allow } => {
                insert_text(headers, ALLOW, allow);
            }
            Self::NoHandshake => insert_text(headers, ALLOW, "POST"),
            Self::Unauthorized(Challenge::Bearer(_)) => {
                insert_text(headers, WWW_AUTHENTICATE, "Bearer");
            }
            Self::Unauthorized(Challenge::Sender) => {
                insert_text(headers, WWW_AUTHENTICATE, "Sender");
            }
            Self::Unauthorized(Challenge::PartnerKey) => {
                insert_text(
                    headers,
                    WWW_AUTHENTICATE,
                    "ApiKey header=\"x-service-api-key\"",
                );
            }
            _ => {}
        }
        reply
    }
}

pub const PROBLEM: &str = "application/problem+json";

fn status_of(code: ErrorCode) -> StatusCode {
    use ErrorCode as C;
    use StatusCode as S;
    match code {
        C::InvalidRequest
        | C::InvalidJson
        | C::ValidationFailed
        | C::InvalidParameter
        | C::InvalidCursor
        | C::DataRestored
        | C::InstanceNotFound
        | C::ContactOptedOut
        | C::PersonErased
        | C::ProviderRefused
        | C::DeliveryRejected => S::BAD_REQUEST,
        C::Unauthorized => S::UNAUTHORIZED,
        C::Forbidden => S::FORBIDDEN,
        C::NotFound
        | C::ConnectionNotFound
        | C::DealNotFound
        | C::PropertyNotFound
        | C::OwnerNotFound
        | C::TicketNotFound => S::NOT_FOUND,
        C::MethodNotAllowed => S::METHOD_NOT_ALLOWED,
        C::RequestTimeout => S::REQUEST_TIMEOUT,
        C::Conflict
        | C::IdempotencyInProgress
        | C::AcceptanceNeeded
        | C::AmbiguousName
        | C::ExternalIdTaken => S::CONFLICT,
        C::BodyTooLarge => S::PAYLOAD_TOO_LARGE,
        C::UriTooLong => S::URI_TOO_LONG,
        C::UnsupportedMediaType => S::UNSUPPORTED_MEDIA_TYPE,
        C::Unprocessable | C::IdempotencyKeyReused | C::ComponentRefused | C::FileRefused => {
            S::UNPROCESSABLE_ENTITY
        }
        C::RateLimited | C::TooManyFailedKeys => S::TOO_MANY_REQUESTS,
        C::HeadersTooLarge => S::REQUEST_HEADER_FIELDS_TOO_LARGE,
        C::InternalError | C::TemplateNotFound | C::TemplateUnusable => S::INTERNAL_SERVER_ERROR,
        C::UnsupportedTransferCoding => S::NOT_IMPLEMENTED,
        C::Overloaded | C::StoreUnavailable => S::SERVICE_UNAVAILABLE,
        C::StoreFull => S::INSUFFICIENT_STORAGE,
    }
}

/// Header lines that hyper's HTTP/1.1 parser accepts by default.
const HEADER_LINES: usize = 100;

fn name_of(kind: KeyKind) -> &'static str {
    match kind {
        KeyKind::Partner => "partner key",
        KeyKind::Workspace => "workspace key",
        KeyKind::AccessToken => "access token",
        KeyKind::Admin => "admin key",
    }
}

fn reason(status: StatusCode) -> &'static str {
    status.canonical_reason().unwrap_or("Error")
}

/// An error of the gateway.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewayError<'a> {
    status_code: u16,
    /// The error, and how to correct it.
    message: &'a str,
    /// The reason phrase of the status.
    error: &'a str,
    code: ErrorCode,
}

/// An error of `POST /send-notification`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotificationError<'a> {
    /// Always false.
    success: bool,
    status_code: u16,
    /// The error. For a body with mistakes, the JSON text of a list of all of them, each
    /// with `code`, `path`, `message` and the fields of its code.
    message: &'a str,
    code: ErrorCode,
}

/// An error of the data API.
#[derive(Serialize, ToSchema)]
pub struct DataError<'a> {
    /// The error, and how to correct it.
    error: &'a str,
    code: ErrorCode,
}

/// An error in the format of RFC 9457, for requests that accept it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProblemDetails<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    title: &'a str,
    status: u16,
    /// The error, and how to correct it.
    detail: &'a str,
    code: ErrorCode,
    /// The name of the request in the service's log.
    request_id: &'a str,
}

fn insert_text(headers: &mut HeaderMap, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        headers.insert(name, value);
    }
}

/// Displays an error and its causes in one line.
pub struct Chain<'a>(pub &'a dyn std::error::Error);

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut said = self.0.to_string();
        f.write_str(&said)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            let text = error.to_string();
            // Many messages contain their cause already.
            if !said.contains(&text) {
                write!(f, ": {text}")?;
            }
            said = text;
            cause = error.source();
        }
        Ok(())
    }
}

/// Rate-limits a log line that many requests would write at once, and counts the omitted lines.
pub struct LogRateLimit {
    every: Duration,
    last: Mutex<Option<(Instant, u64)>>,
}

/// A store that does not answer refuses every request.
static STORE: LogRateLimit = LogRateLimit::every(Duration::from_secs(1));

/// A sender with a wrong secret sends all its deliveries again and again.
pub static UNAUTHORIZED: LogRateLimit = LogRateLimit::every(Duration::from_secs(1));

impl LogRateLimit {
    const fn every(every: Duration) -> Self {
        Self {
            every,
            last: Mutex::new(None),
        }
    }

    /// Calls `log` with the number of events since the last call, unless that was less than
    /// `every` ago.
    pub fn log(&self, log: impl FnOnce(u64)) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match last.as_mut() {
            Some((since, more)) if since.elapsed() < self.every => *more += 1,
            before => {
                let more = before.map_or(0, |(_, more)| *more);
                *last = Some((Instant::now(), 0));
                drop(last);
                log(more);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(error: &ApiError, family: Family, accept: &'static str) -> Value {
        let mut request = HeaderMap::new();
        request.insert("accept", HeaderValue::from_static(accept));
        let reply = error.reply(family, &request, &RequestId::new(Micros(0)));
        let bytes: Vec<u8> = reply.into_body().flatten().collect();
        serde_json::from_slice(&bytes).expect("JSON")
    }

    #[test]
    fn each_family_has_its_shape() {
        let error = ApiError::NotFound("No such thing.".to_owned());
        assert_eq!(
            body(&error, Family::Gateway, "*/*"),
            json!({"statusCode": 404, "message": "No such thing.", "error": "Not Found", "code": "not_found"})
        );
        assert_eq!(
            body(&error, Family::Notification, "*/*"),
            json!({"success": false, "statusCode": 404, "message": "No such thing.", "code": "not_found"})
        );
        assert_eq!(
            body(&error, Family::Data, "application/json"),
            json!({"error": "No such thing.", "code": "not_found"})
        );
    }

    #[test]
    fn every_code_is_in_the_guide_with_its_status() {
        let guide = include_str!("../../../../docs/partners.md");
        for code in ErrorCode::ALL {
            let word = format!("`{code}`");
            let status = status_of(code).as_u16().to_string();
            let mut lines = guide.lines().filter(|line| line.contains(&word));
            let is_told = lines.any(|line| line.contains(&status)) || is_of_operators(code);
            assert!(is_told, "{word} with {status}");
        }
    }

    fn is_of_operators(code: ErrorCode) -> bool {
        let guide = include_str!("../../../../docs/partners.md");
        let told = guide.split("The admin API also has").nth(1);
        let told = told.and_then(|rest| rest.split("\n\n").next());
        told.is_some_and(|told| told.contains(&format!("`{code}`")))
    }

    #[test]
    fn a_problem_document_is_sent_only_if_accepted() {
        let error = ApiError::BadRequest("Say more.".to_owned());
        let problem = body(&error, Family::Data, "application/problem+json");
        assert_eq!(problem["status"], 400);
        assert_eq!(problem["detail"], "Say more.");
        assert_eq!(problem["code"], "invalid_request");
    }

    #[test]
    fn each_refusal_with_429_503_or_507_has_a_reason() {
        let (shed, retry_after) = (Shed::Deadline, Duration::from_secs(1));
        let of = |reason: &str| StoreError::Lost(reason.to_owned());
        for (error, status, expect) in [
            (ApiError::TooManyRequests { shed, retry_after }, 429, shed),
            (
                ApiError::TooManyFailures { retry_after },
                429,
                Shed::FailedKeys,
            ),
            (
                ApiError::Overloaded {
                    shed,
                    what: "",
                    retry_after,
                },
                503,
                shed,
            ),
            (ApiError::Store(StoreError::Busy), 503, Shed::Writes),
            (ApiError::Store(StoreError::Contended), 503, Shed::Store),
            (ApiError::Store(of("it stopped")), 503, Shed::Store),
            (ApiError::Store(StoreError::Full), 507, Shed::Full),
        ] {
            let id = RequestId::new(Micros(0));
            let reply = error.reply(Family::Gateway, &HeaderMap::new(), &id);
            assert_eq!(reply.status(), status);
            assert_eq!(reply.extensions().get(), Some(&expect), "{error:?}");
        }
        let wrong = ApiError::BadRequest("no".to_owned());
        assert_eq!(wrong.shed(), None);
    }

    #[test]
    fn an_internal_error_reveals_no_details() {
        let error = ApiError::internal("table leads has 3 columns");
        let text = body(&error, Family::Gateway, "*/*").to_string();
        assert!(!text.contains("column"), "{text}");
    }

    #[test]
    fn only_an_operator_gets_the_details() {
        let error = ApiError::Conflict {
            message: "Which one?".to_owned(),
            details: Some(ConflictDetails::Ambiguous(AmbiguousName::Connections(
                vec!["a/form".to_owned(), "b/form".to_owned()],
            ))),
        };
        assert_eq!(
            body(&error, Family::Admin, "*/*"),
            json!({"error": "Which one?", "code": "ambiguous_name", "connections": ["a/form", "b/form"]})
        );
        assert_eq!(
            body(&error, Family::Data, "*/*"),
            json!({"error": "Which one?", "code": "ambiguous_name"})
        );
    }
}
