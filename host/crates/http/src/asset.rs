//! Constant files that a page loads. Each is compressed once and kept until the service ends. A
//! reader checks each time whether its copy is current, which costs no body.

use hyper::header::{CACHE_CONTROL, ETAG};

use super::conditional;
use super::encoding::PrecompressedText;
use crate::prelude::*;

pub struct Asset {
    content_type: &'static str,
    tag: HeaderValue,
    content: PrecompressedText,
}

impl Asset {
    pub fn new(content_type: &'static str, text: &'static str) -> Self {
        Self {
            content_type,
            tag: conditional::tag(text.as_bytes()),
            content: PrecompressedText::new(text.as_bytes()),
        }
    }

    /// Returns the file, or 304 if the client's copy is current.
    pub fn answer(&self, call: &Call<'_>) -> ApiResponse {
        let request = &call.head.headers;
        let mut reply = if conditional::is_known(request, &self.tag) {
            reply::empty(StatusCode::NOT_MODIFIED)
        } else {
            let mut reply = reply::bytes_of(StatusCode::OK, self.content_type, "");
            self.content.fill(request, &mut reply);
            reply
        };
        let headers = reply.headers_mut();
        headers.insert(ETAG, self.tag.clone());
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        reply
    }
}
