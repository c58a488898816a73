//! One operation of the document, as the file of its resource describes it. The parts that all
//! operations of a family have in common, refusals above all, are added here, so that no
//! endpoint forgets them.

use std::time::Duration;

use hyper::StatusCode;
use serde_json::{Map, Value, json};

use crate::error::{ApiError, Challenge, Family};
use crate::route::Access;
use leadhost_domain::key::KeyKind;
use leadhost_domain::limits;
use leadhost_store::StoreError;

/// A parameter in the path, the query or the headers.
pub struct Parameter(Value);

impl Parameter {
    /// Returns a parameter of the path, which is always required.
    pub fn path(name: &str, schema: Value, description: &str) -> Self {
        let mut own = Self::new("path", name, schema, description);
        own.0["required"] = json!(true);
        own
    }

    /// Returns an optional parameter of the query.
    pub fn query(name: &str, schema: Value, description: &str) -> Self {
        Self::new("query", name, schema, description)
    }

    /// Returns an optional header.
    pub fn header(name: &str, schema: Value, description: &str) -> Self {
        Self::new("header", name, schema, description)
    }

    fn new(place: &str, name: &str, schema: Value, description: &str) -> Self {
        Self(json!({
            "in": place,
            "name": name,
            "schema": schema,
            "description": description,
        }))
    }

    /// Marks the parameter as required.
    pub fn required(mut self) -> Self {
        self.0["required"] = json!(true);
        self
    }

    /// Adds an example value.
    pub fn example(mut self, example: impl Into<Value>) -> Self {
        self.0["example"] = example.into();
        self
    }
}

/// An operation under construction.
pub struct Operation {
    pub method: &'static str,
    pub path: &'static str,
    pub family: Family,
    pub access: Access,
    whole: Value,
}

impl Operation {
    /// Returns an operation with its security and with the refusals that follow from it.
    /// `method` is in lower case.
    pub fn new(method: &'static str, path: &'static str, family: Family, access: Access) -> Self {
        let mut own = Self {
            method,
            path,
            family,
            access,
            whole: json!({"responses": {}}),
        };
        own.whole["security"] = match access {
            Access::Anyone => json!([]),
            Access::AdminKey => json!([{"adminKey": []}]),
            Access::PartnerKey => json!([{"partnerKey": []}]),
            Access::AccessToken => json!([{"accessToken": []}]),
            Access::WorkspaceKey => json!([{"workspaceKey": []}]),
        };
        own.refuses(&[414, 431, 500, 503]).refuses(match access {
            Access::Anyone => &[],
            Access::AdminKey => &[401, 403, 429],
            Access::PartnerKey | Access::AccessToken => &[401, 429],
            Access::WorkspaceKey => &[401, 429],
        })
    }

    /// Sets the operation id, the tag and the summary.
    pub fn named(mut self, id: &str, tag: &str, summary: &str) -> Self {
        self.whole["operationId"] = json!(id);
        self.whole["tags"] = json!([tag]);
        self.whole["summary"] = json!(summary);
        self
    }

    /// Sets the description, which may be Markdown.
    pub fn describe(mut self, description: &str) -> Self {
        self.whole["description"] = json!(description);
        self
    }

    /// Adds a parameter.
    pub fn parameter(mut self, parameter: Parameter) -> Self {
        match self.whole["parameters"].as_array_mut() {
            Some(parameters) => parameters.push(parameter.0),
            None => self.whole["parameters"] = json!([parameter.0]),
        }
        self
    }

    /// Adds a JSON body, with examples by their names.
    pub fn takes(self, schema: &Value, examples: &[(&str, &str, Value)]) -> Self {
        let content = json!({"schema": schema, "examples": named(examples)});
        self.takes_content(&json!({"application/json": content}))
            .refuses(&[415])
    }

    /// Adds a JSON body that may be omitted, with examples by their names.
    pub fn may_take(mut self, schema: &Value, examples: &[(&str, &str, Value)]) -> Self {
        self = self.takes(schema, examples);
        self.whole["requestBody"]["required"] = json!(false);
        self
    }

    /// Adds a required body by its media types, and the refusals of bodies.
    pub fn takes_content(mut self, content: &Value) -> Self {
        self.whole["requestBody"] = json!({"required": true, "content": content});
        self.refuses(&[400, 408, 413, 507])
    }

    /// Adds a successful answer.
    pub fn answers(
        self,
        status: u16,
        description: &str,
        schema: &Value,
        examples: &[(&str, &str, Value)],
    ) -> Self {
        let content = json!({"schema": schema, "examples": named(examples)});
        let content = json!({"application/json": content});
        self.answers_content(status, description, content)
    }

    /// Adds an answer by its media types, with the headers that such an answer carries.
    pub fn answers_content(mut self, status: u16, description: &str, content: Value) -> Self {
        let mut headers = json!({"X-Request-Id": header("RequestId")});
        if self.access == Access::WorkspaceKey {
            add_rate(&mut headers);
        }
        self.whole["responses"][status.to_string()] = json!({
            "description": description,
            "headers": headers,
            "content": content,
        });
        self
    }

    /// Adds an answer without a body.
    pub fn answers_nothing(mut self, status: u16, description: &str) -> Self {
        self = self.answers_content(status, description, Value::Null);
        if let Some(answer) = self.whole["responses"][status.to_string()].as_object_mut() {
            answer.remove("content");
        }
        self
    }

    /// Adds a header to an answer that was added before.
    pub fn header(mut self, status: u16, name: &str, component: &str) -> Self {
        self.whole["responses"][status.to_string()]["headers"][name] = header(component);
        self
    }

    /// Adds refusals that the family shares.
    pub fn refuses(mut self, statuses: &[u16]) -> Self {
        for status in statuses {
            let name = component(self.family, self.access, *status);
            self.whole["responses"][status.to_string()] =
                json!({"$ref": format!("#/components/responses/{name}")});
        }
        self
    }

    /// Adds a refusal of this operation's own, with its example messages.
    pub fn refuses_with(
        mut self,
        status: u16,
        description: &str,
        examples: &[(&str, &str, Value)],
    ) -> Self {
        let mut refusal = refusal(self.family, self.access, status, description);
        refusal["content"]["application/json"]["examples"] = named(examples);
        if let Some(content) = refusal["content"]["application/json"].as_object_mut() {
            content.remove("example");
        }
        self.whole["responses"][status.to_string()] = refusal;
        self
    }

    /// Returns the operation as the document has it.
    pub fn into_value(self) -> Value {
        self.whole
    }
}

fn named(examples: &[(&str, &str, Value)]) -> Value {
    let examples = examples.iter().map(|(name, summary, value)| {
        let example = json!({"summary": summary, "value": value});
        ((*name).to_owned(), example)
    });
    Value::Object(examples.collect())
}

fn header(component: &str) -> Value {
    json!({"$ref": format!("#/components/headers/{component}")})
}

const RATE: [(&str, &str); 5] = [
    ("RateLimit", "RateLimit"),
    ("RateLimit-Policy", "RateLimitPolicy"),
    ("RateLimit-Limit", "RateLimitLimit"),
    ("RateLimit-Remaining", "RateLimitRemaining"),
    ("RateLimit-Reset", "RateLimitReset"),
];

fn add_rate(headers: &mut Value) {
    for (name, component) in RATE {
        headers[name] = header(component);
    }
}

/// Returns the component name of a family's refusal.
fn component(family: Family, access: Access, status: u16) -> String {
    let code = StatusCode::from_u16(status).expect("a status");
    let words: String = code
        .canonical_reason()
        .expect("a status that is known")
        .chars()
        .filter(char::is_ascii_alphabetic)
        .collect();
    // With a workspace key, refusals have the rate headers too.
    match (family, access) {
        (Family::Data, Access::Anyone) => format!("Open{words}"),
        (Family::Data, _) => format!("Data{words}"),
        // Senders and tokens authenticate in other ways, so their refusals have other messages.
        (Family::Gateway, Access::Anyone) => format!("Sender{words}"),
        (Family::Gateway, Access::AccessToken) => format!("Token{words}"),
        (Family::Notification, _) => format!("Notification{words}"),
        (Family::Admin | Family::Console, _) => format!("Admin{words}"),
        (Family::Gateway, _) => format!("Gateway{words}"),
    }
}

/// Returns every refusal that operations share.
pub fn refusals() -> Map<String, Value> {
    const SHARED: [u16; 16] = [
        400, 401, 403, 404, 405, 408, 409, 413, 414, 415, 422, 429, 431, 500, 503, 507,
    ];
    let kinds = [
        (Family::Gateway, Access::PartnerKey),
        (Family::Notification, Access::PartnerKey),
        (Family::Data, Access::WorkspaceKey),
        (Family::Data, Access::Anyone),
        (Family::Gateway, Access::Anyone),
        (Family::Gateway, Access::AccessToken),
        (Family::Admin, Access::AdminKey),
    ];
    let mut all = Map::new();
    for (family, access) in kinds {
        for status in SHARED {
            let said = sentence(family, status);
            let refusal = refusal(family, access, status, said);
            all.insert(component(family, access, status), refusal);
        }
    }
    all
}

fn refusal(family: Family, access: Access, status: u16, description: &str) -> Value {
    let schema = match family {
        Family::Gateway => "GatewayError",
        Family::Admin | Family::Console => "AdminError",
        Family::Notification => "NotificationError",
        Family::Data => "DataError",
    };
    let named = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let mut headers = json!({"X-Request-Id": header("RequestId")});
    match status {
        401 => headers["WWW-Authenticate"] = header("WwwAuthenticate"),
        405 => headers["Allow"] = header("Allow"),
        429 | 503 | 507 => headers["Retry-After"] = header("RetryAfter"),
        _ => {}
    }
    // The key is checked before the rate.
    let counted = !matches!(status, 401 | 414 | 431 | 500 | 503);
    if access == Access::WorkspaceKey && counted {
        add_rate(&mut headers);
    }
    let mut json = json!({"schema": named(schema)});
    if let Some(error) = example(access, status) {
        json["example"] = error.body(family);
    }
    json!({
        "description": description,
        "headers": headers,
        // Only JSON is listed: from two content types, generated clients make a union of errors.
        "content": {"application/json": json},
    })
}

fn sentence(family: Family, status: u16) -> &'static str {
    if family == Family::Admin {
        match status {
            403 => return "The Host header is not one that the admin API answers to.",
            404 => return "There is nothing with this name or id.",
            409 => {
                return "The state does not allow it, or the name matches several. `error` says what to do.";
            }
            422 => return "The request is understood and cannot be carried out. `error` says why.",
            _ => {}
        }
    }
    match status {
        400 => "The request is invalid. The message says how to correct it.",
        401 => {
            "The key is not valid. Unknown, revoked, expired and malformed keys get the same answer."
        }
        403 => "The credentials are not valid.",
        404 => "Not found, or not visible to this key.",
        405 => "This address does not support the method.",
        408 => "The body did not arrive in time.",
        413 => "The body is larger than this address accepts.",
        414 => "The address is too long.",
        415 => "The body is not JSON, or it is compressed.",
        422 => "The Idempotency-Key was used with another body before.",
        429 => {
            "A rate limit was exceeded, or too many keys from this address failed. Retry-After says when to retry."
        }
        431 => "The headers are too large.",
        503 => "The service is temporarily unavailable. Retry-After says when to retry.",
        507 => "The service has no room left to write. Reading still works.",
        _ => "The service failed on this request.",
    }
}

/// Returns the service's own error, if its message is always the same.
fn example(access: Access, status: u16) -> Option<ApiError> {
    Some(match status {
        401 => ApiError::Unauthorized(match access {
            Access::PartnerKey => Challenge::PartnerKey,
            Access::AccessToken => Challenge::Bearer(KeyKind::AccessToken),
            Access::WorkspaceKey => Challenge::Bearer(KeyKind::Workspace),
            Access::AdminKey => Challenge::Bearer(KeyKind::Admin),
            Access::Anyone => Challenge::Sender,
        }),
        408 => ApiError::BodyTooSlow,
        413 => ApiError::BodyTooLarge {
            limit: match access {
                Access::Anyone => limits::DELIVERY_BYTES,
                Access::PartnerKey
                | Access::AccessToken
                | Access::WorkspaceKey
                | Access::AdminKey => limits::BODY_BYTES,
            },
        },
        414 => ApiError::UriTooLong,
        429 => ApiError::TooManyRequests {
            retry_after: Duration::from_secs(1),
        },
        431 => ApiError::HeadersTooLarge,
        500 => ApiError::internal("an example"),
        503 => ApiError::Store(StoreError::Busy),
        507 => ApiError::Store(StoreError::Full),
        _ => return None,
    })
}
