//! One operation of the document, as it is described beside its handler. What follows from its row in the
//! table of routes, and what all operations of a family have in common, refusals above all, is added here, so that
//! no endpoint forgets it.

use super::schemas::Schemas;
use crate::error::{Challenge, Family};
use crate::lines::NDJSON;
use crate::prelude::*;
use crate::surface::Access;
use crate::terms::{self, one_of, pattern, word};
use leadhost_admin_api::activity::ActivityPeriod;
use leadhost_domain::analytics::{Granularity, MetricSet};
use leadhost_domain::key::KeyKind;
use leadhost_domain::row::Entity;

/// The description of a handler, which stands beside it under the handler's own name.
pub trait Described {
    fn describe(operation: Operation<'_>) -> Option<Operation<'_>>;
}

/// Describes the handler that follows: `describe!(list, |operation| operation.summary("Lists keys"));`.
/// Without a description the document leaves it out. The type has the handler's name, so that a row of the
/// table that names the handler names both.
macro_rules! describe {
    ($handler:ident) => {
        #[allow(non_camel_case_types, reason = "it has the name of a function")]
        pub enum $handler {}
        impl $crate::openapi::operation::Described for $handler {
            fn describe(
                _: $crate::openapi::operation::Operation<'_>,
            ) -> Option<$crate::openapi::operation::Operation<'_>> {
                None
            }
        }
    };
    ($handler:ident, $describe:expr) => {
        #[allow(non_camel_case_types, reason = "it has the name of a function")]
        pub enum $handler {}
        impl $crate::openapi::operation::Described for $handler {
            fn describe(
                operation: $crate::openapi::operation::Operation<'_>,
            ) -> Option<$crate::openapi::operation::Operation<'_>> {
                let describe: for<'s> fn(
                    $crate::openapi::operation::Operation<'s>,
                ) -> $crate::openapi::operation::Operation<'s> = $describe;
                Some(describe(operation))
            }
        }
    };
}

pub(crate) use describe;

/// Examples: each name, summary and value.
pub type Examples<'a> = &'a [(&'a str, &'a str, Value)];

/// An operation under construction.
pub struct Operation<'s> {
    family: Family,
    access: Access,
    schemas: &'s mut Schemas,
    whole: Value,
    /// The status of the answer that was added last.
    last: String,
    /// The second names of its parameters, which the document leaves out.
    aliases: Vec<String>,
}

impl<'s> Operation<'s> {
    /// Returns the operation of a row with what follows from that: its id, its section, the parameters
    /// of its path, its security, and the refusals that follow from its security.
    pub fn new(
        (name, tag, template): (&str, &str, &str),
        (access, family): (Access, Family),
        schemas: &'s mut Schemas,
    ) -> Self {
        let security = match access {
            Access::Anyone => json!([]),
            Access::AdminKey => json!([{"adminKey": []}]),
            Access::PartnerKey => json!([{"partnerKey": []}]),
            Access::AccessToken => json!([{"accessToken": []}]),
            Access::WorkspaceKey => json!([{"workspaceKey": []}]),
        };
        let mut own = Self {
            family,
            access,
            schemas,
            whole: json!({
                "operationId": camel_case(name),
                "tags": [tag],
                "security": security,
                "responses": {},
            }),
            last: String::new(),
            aliases: Vec::new(),
        };
        for name in template.split(['{', '}']).skip(1).step_by(2) {
            let (schema, description) = place(name);
            own = own.parameter("path", name, schema, description).required();
        }
        own.refuses(&[405, 414, 431, 500, 501, 503])
            .refuses(match access {
                Access::Anyone => &[],
                Access::AdminKey => &[401, 403, 429],
                Access::PartnerKey | Access::AccessToken | Access::WorkspaceKey => &[401, 429],
            })
    }

    pub fn id(mut self, id: &str) -> Self {
        self.whole["operationId"] = json!(id);
        self
    }

    pub fn summary(mut self, summary: &str) -> Self {
        self.whole["summary"] = json!(summary);
        self
    }

    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.whole["description"] = json!(description.into());
        self
    }

    pub fn query(self, name: &str, schema: Value, description: impl Into<String>) -> Self {
        self.parameter("query", name, schema, description)
    }

    pub fn flag(self, name: &str, description: &str) -> Self {
        let schema = json!({"type": "boolean", "default": false});
        self.query(name, schema, description)
    }

    fn parameter(
        mut self,
        place: &str,
        name: &str,
        schema: Value,
        description: impl Into<String>,
    ) -> Self {
        let parameter = json!({
            "in": place,
            "name": name,
            "schema": schema,
            "description": description.into(),
        });
        match self.whole["parameters"].as_array_mut() {
            Some(parameters) => parameters.push(parameter),
            None => self.whole["parameters"] = json!([parameter]),
        }
        self
    }

    pub fn required(self) -> Self {
        self.with_last("required", json!(true))
    }

    pub fn example(self, example: &str) -> Self {
        self.with_last("example", json!(example))
    }

    /// Has the list before it separated by commas, with these members as an example.
    pub fn listed(self, example: &[&str]) -> Self {
        let own = self.with_last("style", json!("form"));
        let own = own.with_last("explode", json!(false));
        match example {
            [] => own,
            members => own.with_last("example", json!(members)),
        }
    }

    fn with_last(mut self, key: &str, value: Value) -> Self {
        let parameters = self.whole["parameters"].as_array_mut();
        let last = parameters.and_then(|parameters| parameters.last_mut());
        last.expect("a parameter comes before it")[key] = value;
        self
    }

    /// Names a parameter that is read too, and that the document leaves out.
    pub fn alias(mut self, name: &str) -> Self {
        self.aliases.push(name.to_owned());
        self
    }

    pub fn page_limit(self) -> Self {
        self.query(
            "limit",
            terms::page_limit(limits::DELIVERIES_PER_PAGE, limits::ROWS_PER_PAGE),
            "Rows per page. A value out of range is adjusted, not refused.",
        )
    }

    /// Adds `before` and `limit` of a paged list of the admin API.
    pub fn paged(self, what: &str) -> Self {
        let before = format!("The `next` of the previous page: only {what} older than this one.");
        self.query("before", word(), before).page_limit()
    }

    pub fn period(self) -> Self {
        let mut schema = one_of(&ActivityPeriod::ALL.map(ActivityPeriod::as_str), "");
        schema["default"] = json!(ActivityPeriod::Day.as_str());
        self.query(
            "period",
            schema,
            "How far back: an hour in slots of five minutes, a day in hours, or a week in slots of six hours.",
        )
    }

    pub fn workspace(self) -> Self {
        let text = "The workspace's slug or id. Without it, all workspaces are searched.";
        self.query("workspace", word(), text)
    }

    pub fn idempotency_key(self) -> Self {
        let most = limits::IDEMPOTENCY_KEY_CHARACTERS;
        self.parameter(
            "header",
            "Idempotency-Key",
            pattern(&format!("^[!-~]{{1,{most}}}$"), ""),
            "Identifies the request. A repeat with the same body within 72 hours gets the first answer and has no second effect.",
        )
    }

    pub fn written(&mut self, name: &str, schema: Value) -> Value {
        self.schemas.written(name, schema)
    }

    pub fn schema<T: ToSchema>(&mut self) -> Value {
        self.schemas.answer::<T>()
    }

    pub fn request<T: ToSchema>(&mut self) -> Value {
        self.schemas.request::<T>()
    }

    pub fn takes<T: ToSchema>(mut self, examples: Examples<'_>) -> Self {
        let schema = self.request::<T>();
        self.takes_schema(&schema, examples)
    }

    pub fn may_take<T: ToSchema>(mut self, examples: Examples<'_>) -> Self {
        self = self.takes::<T>(examples);
        self.whole["requestBody"]["required"] = json!(false);
        self
    }

    pub fn takes_written(mut self, name: &str, schema: Value, examples: Examples<'_>) -> Self {
        let schema = self.written(name, schema);
        self.takes_schema(&schema, examples)
    }

    pub fn takes_schema(self, schema: &Value, examples: Examples<'_>) -> Self {
        let mut content = json!({"schema": schema});
        add_examples(&mut content, examples);
        self.takes_content(&json!({"application/json": content}))
            .refuses(&[415])
    }

    /// Adds a required body by its media types, and the refusals of bodies.
    pub fn takes_content(mut self, content: &Value) -> Self {
        self.whole["requestBody"] = json!({"required": true, "content": content});
        self.refuses(&[400, 408, 413, 507])
    }

    pub fn answers<T: ToSchema>(mut self, status: u16, description: &str) -> Self {
        let schema = self.schema::<T>();
        self.answers_schema(status, description, &schema)
    }

    pub fn answers_schema(self, status: u16, description: &str, schema: &Value) -> Self {
        let content = json!({"application/json": {"schema": schema}});
        self.answers_content(status, description, content)
    }

    pub fn shows(mut self, name: &str, summary: &str, value: Value) -> Self {
        self.whole["responses"][&self.last]["content"]["application/json"]["examples"][name] =
            json!({"summary": summary, "value": value});
        self
    }

    /// Adds an answer as JSON, or as lines of JSON. Lines have the same schema, so that clients that
    /// are generated from both have one type: its list is spread over the lines.
    pub fn answers_lines(self, status: u16, description: &str, schema: &Value) -> Self {
        let description = format!(
            "{description} With `{NDJSON}` in `Accept`: one row per line, then a line with the other members."
        );
        let media = json!({"schema": schema});
        let content = json!({"application/json": media, NDJSON: media});
        self.answers_content(status, &description, content)
    }

    /// Adds an answer by its media types, with the headers that such an answer carries.
    pub fn answers_content(mut self, status: u16, description: &str, content: Value) -> Self {
        let mut headers = headers(self.access);
        if self.access == Access::WorkspaceKey {
            add_rate(&mut headers);
        }
        self.last = status.to_string();
        self.whole["responses"][&self.last] = json!({
            "description": description,
            "headers": headers,
            "content": content,
        });
        self
    }

    pub fn answers_nothing(mut self, status: u16, description: &str) -> Self {
        self = self.answers_content(status, description, Value::Null);
        if let Some(answer) = self.whole["responses"][status.to_string()].as_object_mut() {
            answer.remove("content");
        }
        self
    }

    /// Adds the tag of the answer, and the answer to a client whose copy is current.
    pub fn answers_unchanged(self) -> Self {
        self.header(200, "ETag", "ETag")
            .answers_nothing(304, "The copy that `If-None-Match` names is current.")
            .header(304, "ETag", "ETag")
    }

    pub fn header(mut self, status: u16, name: &str, component: &str) -> Self {
        self.whole["responses"][status.to_string()]["headers"][name] = header(component);
        self
    }

    pub fn refuses(mut self, statuses: &[u16]) -> Self {
        for status in statuses {
            let name = component(self.family, self.access, *status);
            self.whole["responses"][status.to_string()] =
                json!({"$ref": format!("#/components/responses/{name}")});
        }
        self
    }

    pub fn refuses_with(mut self, status: u16, description: &str, examples: Examples<'_>) -> Self {
        let mut refusal = refusal(self.family, self.access, status, description);
        let content = &mut refusal["content"]["application/json"];
        if let Some(content) = content.as_object_mut() {
            content.remove("example");
        }
        add_examples(content, examples);
        self.whole["responses"][status.to_string()] = refusal;
        self
    }

    pub fn parameters(self) -> Vec<String> {
        let parameters = self.whole["parameters"].as_array();
        let own = parameters.into_iter().flatten();
        let own = own.filter(|parameter| parameter["in"] == "query");
        let own = own.filter_map(|parameter| parameter["name"].as_str().map(str::to_owned));
        own.chain(self.aliases).collect()
    }

    pub fn into_value(self) -> Value {
        self.whole
    }
}

/// Returns the name of a route as generated clients have it: `list-keys` as `listKeys`.
fn camel_case(name: &str) -> String {
    let mut words = name.split('-');
    let mut text = words.next().unwrap_or_default().to_owned();
    for word in words {
        text.push_str(&word[..1].to_uppercase());
        text.push_str(&word[1..]);
    }
    text
}

fn place(name: &str) -> (Value, &'static str) {
    let uuid = || json!({"type": "string", "format": "uuid"});
    let words = |words: &[&str]| one_of(words, "");
    match name {
        "connection" => (
            word(),
            "The connection: its id, its name, or `workspace/name` if several workspaces use the name.",
        ),
        "contact" => (uuid(), "The contact's id."),
        "deal" => (uuid(), "The deal's id."),
        "dealId" => (uuid(), "The deal's id, as `GET /deal` returns it."),
        "delivery" => (uuid(), "The delivery's id."),
        "digest" => (
            word(),
            "The digest of the version, or its first 8 or more characters.",
        ),
        "entity" => (
            words(&Entity::EXPORTED.map(Entity::as_str)),
            "The kind of rows.",
        ),
        "erasure" => (uuid(), "The erasure's id."),
        "externalId" => (word(), "The product's id in the workspace's own catalogue."),
        "granularity" => (
            words(&Granularity::ALL.map(Granularity::as_str)),
            "The length of a period. Weeks begin on Monday.",
        ),
        "id" | "ticket" => (uuid(), "The ticket's id."),
        "instance" => (
            word(),
            "The instance: its number, its name, or `workspace/name` if several workspaces use the name.",
        ),
        "instanceId" => (
            json!({"type": "integer", "format": "int64"}),
            "The messaging-bot instance.",
        ),
        "key" => (uuid(), "The key's id."),
        "message" => (uuid(), "The message's id."),
        "metricSet" => (
            words(&MetricSet::ALL.map(MetricSet::as_str)),
            "The measures, by workspace.",
        ),
        "partnerConnectionId" => (
            pattern("^[0-9A-Za-z]{22}$", ""),
            "The partner connection's id, which cannot be guessed.",
        ),
        "plugin" => (word(), "The plugin's name."),
        "repair" => (uuid(), "The repair's id."),
        "report" => (
            words(&[Entity::MessageErrors.as_str()]),
            "The name of the report.",
        ),
        "token" => (
            pattern("^[0-9A-Za-z]{22}$", ""),
            "The part of the address that cannot be guessed.",
        ),
        "workspace" => (word(), "The workspace's slug or id."),
        other => panic!("`{other}` is not described"),
    }
}

fn add_examples(content: &mut Value, examples: Examples<'_>) {
    for (name, summary, value) in examples {
        content["examples"][*name] = json!({"summary": summary, "value": value});
    }
}

/// Returns the headers of every answer.
fn headers(access: Access) -> Value {
    let mut headers = json!({"X-Request-Id": header("RequestId")});
    // As `router::name_ignored` decides.
    if !matches!(access, Access::Anyone | Access::AdminKey) {
        headers["X-Ignored-Parameters"] = header("IgnoredParameters");
    }
    headers
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

pub fn refusals() -> Map<String, Value> {
    const SHARED: [u16; 17] = [
        400, 401, 403, 404, 405, 408, 409, 413, 414, 415, 422, 429, 431, 500, 501, 503, 507,
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
    let mut headers = headers(access);
    match status {
        401 => headers["WWW-Authenticate"] = header("WwwAuthenticate"),
        405 => headers["Allow"] = header("Allow"),
        429 | 503 | 507 => headers["Retry-After"] = header("RetryAfter"),
        _ => {}
    }
    // The key is checked before the rate.
    let counted = !matches!(status, 401 | 405 | 414 | 431 | 500 | 501 | 503);
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
        415 => "The body is not JSON in UTF-8, or it is compressed in a way that is not read.",
        422 => "The Idempotency-Key was used with another body before.",
        429 => {
            "A rate limit was exceeded, or too many keys from this address failed. Retry-After says when to retry."
        }
        431 => "The headers are too large.",
        501 => "The body has another transfer coding than `chunked`.",
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
            shed: Shed::RateOfOneConnection,
            retry_after: Duration::from_secs(1),
        },
        431 => ApiError::HeadersTooLarge,
        500 => ApiError::internal("an example"),
        501 => ApiError::OddCoding,
        503 => ApiError::Store(StoreError::Busy),
        507 => ApiError::Store(StoreError::Full),
        _ => return None,
    })
}
