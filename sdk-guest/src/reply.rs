//! What the sender hears, where the converter says it.

use crate::{HandshakeAnswer, IntoSegments, Reply, Requirement};

impl Reply {
    /// 200 with a plain text.
    pub fn text(body: impl IntoSegments) -> Self {
        Self {
            status: 200,
            content_type: "text/plain".into(),
            body: body.into_segments(),
        }
    }

    /// 200 with a JSON text.
    pub fn json(body: impl IntoSegments) -> Self {
        Self {
            content_type: "application/json".into(),
            ..Self::text(body)
        }
    }

    /// 200 to 299, or 400 to 499.
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }
}

impl HandshakeAnswer {
    pub fn new(reply: Reply) -> Self {
        Self {
            require: Vec::new(),
            reply,
        }
    }

    /// The host compares the secret with the query field, and answers 403
    /// unless they are equal.
    pub fn require(mut self, secret: &str, query_field: &str) -> Self {
        self.require.push(Requirement {
            secret: secret.into(),
            query_field: query_field.into(),
        });
        self
    }
}
