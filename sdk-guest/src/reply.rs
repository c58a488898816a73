//! Replies of a plugin to a sender.

use crate::{Delivery, HandshakeAnswer, IntoSegments, Problem, Reply, Requirement};

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

    /// Sets the status: 200 to 299, or 400 to 499.
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }
}

impl HandshakeAnswer {
    /// Returns an answer without a condition.
    pub fn new(reply: Reply) -> Self {
        Self {
            require: Vec::new(),
            reply,
        }
    }

    /// The handshake of WebSub, which Meta's products use: returns the bare
    /// `hub.challenge` if the secret equals `hub.verify_token`, and `None` if the
    /// request is no such handshake.
    ///
    /// # Errors
    ///
    /// [`Problem`] if the handshake has no challenge.
    pub fn hub_challenge(delivery: &Delivery, secret: &str) -> Result<Option<Self>, Problem> {
        // Some gateways replace the dots with underscores.
        for [mode, challenge, token] in [
            ["hub.mode", "hub.challenge", "hub.verify_token"],
            ["hub_mode", "hub_challenge", "hub_verify_token"],
        ] {
            if delivery.query_field(mode) != Some("subscribe") {
                continue;
            }
            let Some(challenge) = delivery.query_field(challenge) else {
                return Err(Problem::new("the handshake has no challenge").at(challenge));
            };
            let reply = Reply::text(challenge);
            return Ok(Some(Self::new(reply).require(secret, token)));
        }
        Ok(None)
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
