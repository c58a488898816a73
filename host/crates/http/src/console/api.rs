//! The console as a client of the admin API, within the process: each page and each form asks an
//! operation of the API as its operator. So roles, checks, the audit and the words of refusals are the
//! same as for a command.

use hyper::header::{CONTENT_TYPE, HOST};
use hyper::http::request::Parts;
use hyper::{Method, Request};
use serde::Deserialize as _;
use serde::de::DeserializeOwned;

use crate::auth::AdminCaller;
use crate::endpoints::admin;
use crate::error::Family;
use crate::prelude::*;
use crate::route;
use leadhost_admin_api::error::AdminError;

/// The admin API, asked as this operator.
pub struct AdminApi<'a> {
    pub call: &'a Call<'a>,
    pub caller: &'a AdminCaller,
}

/// A refusal or a failure of the API. Its status says whose turn it is: 4xx the user's, 5xx the
/// service's, as [`ApiError`] has them (507, 503 or 500 for the store).
#[derive(Debug)]
pub struct ApiRefusal {
    pub status: StatusCode,
    /// The reason, for a person.
    pub message: String,
    /// The whole body: some refusals have more members.
    pub body: Value,
}

impl ApiRefusal {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            body: Value::Null,
        }
    }
}

impl From<ApiError> for ApiRefusal {
    fn from(error: ApiError) -> Self {
        let (status, message) = error.outside();
        let message = message.into_owned();
        error.log();
        Self {
            status,
            message,
            body: Value::Null,
        }
    }
}

impl AdminApi<'_> {
    /// Asks `GET path`. `path` is that below `/admin/v1`, with its query.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ApiRefusal> {
        self.ask(Method::GET, path, Vec::new()).await
    }

    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ApiRefusal> {
        self.ask(Method::POST, path, json(body)?).await
    }

    pub async fn post_bytes<T: DeserializeOwned>(
        &self,
        path: &str,
        body: Bytes,
    ) -> Result<T, ApiRefusal> {
        self.ask(Method::POST, path, body).await
    }

    pub async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ApiRefusal> {
        self.ask(Method::PATCH, path, json(body)?).await
    }

    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, ApiRefusal> {
        self.ask(Method::DELETE, path, Vec::new()).await
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Result<T, ApiRefusal> {
        let answer = Box::pin(self.bytes(method, path, body.into())).await?;
        serde_json::from_slice(&answer).map_err(|error| ApiError::internal(error).into())
    }

    async fn bytes(&self, method: Method, path: &str, body: Bytes) -> Result<Vec<u8>, ApiRefusal> {
        let head = self.head(method, path)?;
        let reply = self.answer(&head, body).await?;
        let status = reply.status();
        let bytes: Vec<u8> = reply.into_body().flatten().collect();
        if status.is_success() {
            return Ok(bytes);
        }
        let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let message = AdminError::deserialize(&body)
            .map_or_else(|_| "It failed.".to_owned(), |refusal| refusal.error);
        Err(ApiRefusal {
            status,
            message,
            body,
        })
    }

    fn head(&self, method: Method, path: &str) -> Result<Parts, ApiError> {
        let (mut head, ()) = Request::builder()
            .method(method)
            .uri(format!("/admin/v1{path}"))
            .body(())
            .map_err(|_| {
                ApiError::BadRequest(
                    "This address has characters that a URL cannot have.".to_owned(),
                )
            })?
            .into_parts();
        let mut headers = HeaderMap::new();
        if let Some(host) = self.call.head.headers.get(HOST) {
            headers.insert(HOST, host.clone());
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(reply::JSON));
        head.headers = headers;
        Ok(head)
    }

    async fn answer(&self, head: &Parts, body: Bytes) -> Result<ApiResponse, ApiRefusal> {
        let outer = self.call;
        let found = route::find(admin::ROUTES, head.method.as_str(), head.uri.path());
        let Some(found) = found else {
            return Err(ApiError::NotFound("There is nothing at this address.".to_owned()).into());
        };
        let call = Call {
            http: outer.http,
            head,
            id: outer.id,
            surface: Surface::Admin,
            family: Family::Admin,
            peer: outer.peer,
            client: outer.client.clone(),
            name: found.route.name,
            audited: std::sync::Mutex::default(),
        };
        let share = outer.http.admin_bodies.share(outer.peer);
        let body = UnreadBody::whole(body, share);
        let answer = admin::run(&call, self.caller, found, body).await;
        // Details of a refusal are in its body.
        Ok(answer.unwrap_or_else(|error| call.refuse(&error)))
    }
}

fn json(body: &impl Serialize) -> Result<Vec<u8>, ApiError> {
    serde_json::to_vec(body).map_err(ApiError::internal)
}
