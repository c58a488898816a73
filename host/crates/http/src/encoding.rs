//! Compresses answers: bodies above one kilobyte with zstd or gzip, by the weights of
//! `Accept-Encoding`. Answers are bounded, so each is compressed before it is sent, a large one
//! off the serving threads.

use std::io::Write as _;

use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY};

use super::accept::weight;
use crate::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResponseCoding {
    Zstd,
    Gzip,
}

impl ResponseCoding {
    fn name(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }
}

/// A constant text, compressed once for all clients.
pub struct PrecompressedText {
    plain: Bytes,
    zstd: Option<Bytes>,
    gzip: Option<Bytes>,
}

impl PrecompressedText {
    /// Compresses the text once with each coding, unless it is too short to be worth it.
    pub fn new(plain: &'static [u8]) -> Self {
        let is_worth_it = plain.len() > limits::COMPRESS_FROM_BYTES;
        // If there is no memory to compress it, the plain text is served.
        let compressed = |coding| {
            let plain = Payload::whole(Bytes::from_static(plain));
            encode(coding, plain).ok().filter(|_| is_worth_it)
        };
        Self {
            plain: Bytes::from_static(plain),
            zstd: compressed(ResponseCoding::Zstd).map(Bytes::from),
            gzip: compressed(ResponseCoding::Gzip).map(Bytes::from),
        }
    }

    /// Sets the body in the coding that the request prefers, and the headers that name it.
    pub fn fill(&self, request: &HeaderMap, reply: &mut ApiResponse) {
        let coding = choose(request);
        let small = match coding {
            Some(ResponseCoding::Zstd) => self.zstd.clone(),
            Some(ResponseCoding::Gzip) => self.gzip.clone(),
            None => None,
        };
        let (Some(coding), Some(small)) = (coding, small) else {
            *reply.body_mut() = Payload::whole(self.plain.clone());
            return;
        };
        *reply.body_mut() = Payload::whole(small);
        let headers = reply.headers_mut();
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    }
}

pub async fn compress(request: &HeaderMap, reply: ApiResponse) -> Result<ApiResponse, ApiError> {
    if !is_plain_text(&reply) {
        return Ok(reply);
    }
    let (mut head, payload) = reply.into_parts();
    // On a small answer too: the next one from this address may be large.
    vary(&mut head.headers);
    if payload.bytes() <= limits::COMPRESS_FROM_BYTES {
        return Ok(ApiResponse::from_parts(head, payload));
    }
    let Some(coding) = choose(request) else {
        return Ok(ApiResponse::from_parts(head, payload));
    };
    let small = if payload.bytes() <= limits::COMPRESS_INLINE_BYTES {
        encode(coding, payload)
    } else {
        tokio::task::spawn_blocking(move || encode(coding, payload))
            .await
            .map_err(ApiError::internal)?
    };
    let small = small.map_err(ApiError::internal)?;
    head.headers
        .insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    head.headers.remove(CONTENT_LENGTH);
    Ok(ApiResponse::from_parts(head, Payload::whole(small)))
}

fn vary(headers: &mut HeaderMap) {
    let said = headers.get_all(VARY).iter();
    let mut names = said
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    if !names.any(|name| name.trim() == ACCEPT_ENCODING) {
        headers.append(VARY, HeaderValue::from_static("accept-encoding"));
    }
}

/// Returns whether a reply may be compressed. Pages are not: a page of the console has a secret of its
/// session next to texts of senders, and its compressed length would tell about the secret.
fn is_plain_text(reply: &ApiResponse) -> bool {
    let plain = !reply.headers().contains_key(CONTENT_ENCODING);
    let textual = reply
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|text| {
            let is_text = text.starts_with("text/") && !text.starts_with("text/html");
            is_text || text.contains("json")
        });
    plain && textual
}

fn choose(request: &HeaderMap) -> Option<ResponseCoding> {
    let of = |name| weight(request, &ACCEPT_ENCODING, name);
    let any = of("*").unwrap_or(0);
    let zstd = of("zstd").unwrap_or(0);
    let gzip = of("gzip").or(of("x-gzip")).unwrap_or(any);
    // The plain form is good enough unless a coding is at least as welcome.
    let plain = of("identity").unwrap_or(1);
    let best = zstd.max(gzip);
    if best == 0 || best < plain {
        None
    } else if zstd == best {
        Some(ResponseCoding::Zstd)
    } else {
        Some(ResponseCoding::Gzip)
    }
}

fn encode(coding: ResponseCoding, payload: Payload) -> std::io::Result<Vec<u8>> {
    let room = Vec::with_capacity(payload.bytes() / 4);
    match coding {
        ResponseCoding::Zstd => {
            let mut zstd = zstd::stream::write::Encoder::new(room, 3)?;
            zstd.set_pledged_src_size(Some(payload.bytes() as u64))?;
            for piece in payload {
                zstd.write_all(&piece)?;
            }
            zstd.finish()
        }
        ResponseCoding::Gzip => {
            let mut gzip = flate2::write::GzEncoder::new(room, flate2::Compression::new(4));
            for piece in payload {
                gzip.write_all(&piece)?;
            }
            gzip.finish()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_coding_is_chosen() {
        let check = |text: &'static str, expect: Option<ResponseCoding>| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(text));
            assert_eq!(choose(&headers), expect, "{text}");
        };
        check("gzip, deflate", Some(ResponseCoding::Gzip));
        check("gzip, deflate, br, zstd", Some(ResponseCoding::Zstd));
        check("zstd;q=0.5, gzip", Some(ResponseCoding::Gzip));
        check("gzip;q=0, zstd;q=0", None);
        check("identity", None);
        check("identity;q=0.9, gzip;q=0.5", None);
        check("*", Some(ResponseCoding::Gzip));
        check("*, gzip;q=0", None);
        check("deflate, br", None);
    }

    #[test]
    fn a_compressed_body_can_be_decompressed() {
        let text = "a lead after a lead ".repeat(500);
        let pieces: Vec<_> = text
            .as_bytes()
            .chunks(1_000)
            .map(Bytes::copy_from_slice)
            .collect();
        let payload = || Payload::pieces(text.len(), pieces.clone().into_iter());
        let zstd = encode(ResponseCoding::Zstd, payload()).expect("fits");
        let plain = zstd::bulk::decompress(&zstd, text.len()).expect("reads");
        assert_eq!(plain, text.as_bytes());
        assert!(zstd.len() < text.len() / 10);
        let gzip = encode(ResponseCoding::Gzip, payload()).expect("fits");
        let mut plain = String::new();
        let mut reader = flate2::read::GzDecoder::new(gzip.as_slice());
        std::io::Read::read_to_string(&mut reader, &mut plain).expect("reads");
        assert_eq!(plain, text);
    }
}
