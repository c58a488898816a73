use std::net::IpAddr;
use std::sync::Mutex;

use hyper::http::request::Parts;

use super::error::Family;
use super::request_id::RequestId;
use crate::prelude::*;
use leadhost_plugin::{current_caller, on_behalf_of};

/// A request as its endpoint receives it, without its body and the proof of its caller.
pub struct Call<'a> {
    pub http: &'a Arc<Http>,
    pub head: &'a Parts,
    pub id: &'a RequestId,
    pub surface: Surface,
    pub family: Family,
    /// The name of the route, or `none`.
    pub name: &'static str,
    /// The client's address: the peer address, or the one that a trusted proxy names.
    pub peer: IpAddr,
    /// Whether the client still waits for the answer. Known only on the admin surface.
    pub client: ClientPresence,
    /// The details of the operation for the audit, besides its name and its target.
    pub audited: Mutex<Audited>,
}

/// The details of an operation for the audit.
#[derive(Clone, Debug, Default)]
pub struct Audited {
    pub detail: Map<String, Value>,
    /// The operation stopped on the way, and the part that was done by then stays.
    pub is_partly_done: bool,
    /// The number of the row with which the operation began.
    pub begun: Option<i64>,
}

impl Call<'_> {
    pub fn query(&self) -> Query<'_> {
        Query::from_head(self.head)
    }

    /// Adds details of the operation to the audit. They are kept for long, so they contain no
    /// secrets and no names or numbers of persons.
    pub fn audit(&self, detail: Value) {
        if let Value::Object(detail) = detail {
            let mut audited = self.audited.lock().expect("the lock is not poisoned");
            audited.detail.extend(detail);
        }
    }

    pub fn audit_begun(&self, row: i64) {
        let mut audited = self.audited.lock().expect("the lock is not poisoned");
        audited.begun = Some(row);
    }

    /// Notes for the audit that a part is done, although the operation is refused.
    pub fn audit_partly_done(&self) {
        let mut audited = self.audited.lock().expect("the lock is not poisoned");
        audited.is_partly_done = true;
    }

    pub fn audited(&self) -> Audited {
        self.audited
            .lock()
            .expect("the lock is not poisoned")
            .clone()
    }

    /// Runs work to its end even if the client hangs up.
    pub async fn to_end<F>(&self, work: impl FnOnce(Arc<Http>) -> F) -> Result<F::Output, ApiError>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let work = on_behalf_of(current_caller(), work(Arc::clone(self.http)));
        let work = self.http.core.spawn(work);
        work.await.map_err(ApiError::internal)
    }

    pub fn refuse(&self, error: &ApiError) -> ApiResponse {
        error.log();
        error.reply(self.family, &self.head.headers, self.id)
    }
}
