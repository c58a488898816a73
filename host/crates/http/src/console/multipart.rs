//! Forms with a file, as browsers send them: `multipart/form-data` (RFC 7578).

use hyper::body::Bytes;
use memchr::memmem;

const PARTS: usize = 64;

const HEAD_BYTES: usize = 8 << 10;

/// A field of a form, or its file.
pub struct FormPart {
    pub name: String,
    pub is_file: bool,
    pub content: Bytes,
}

/// Returns the boundary between the parts. `None`: the body is another kind of form.
pub fn boundary(content_type: &str) -> Option<&str> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let mut parameters = parameters.split(';');
    let (_, boundary) = parameters.find_map(|one| {
        let (name, value) = one.trim().split_once('=')?;
        name.eq_ignore_ascii_case("boundary")
            .then_some((name, value))
    })?;
    Some(boundary.trim_matches('"')).filter(|boundary| !boundary.is_empty())
}

/// Returns the parts. `None` if the body is not such a form.
pub fn parts(body: &Bytes, boundary: &str) -> Option<Vec<FormPart>> {
    let end = format!("\r\n--{boundary}");
    let end = memmem::Finder::new(&end);
    let mut rest = body.slice_ref(body.strip_prefix(format!("--{boundary}").as_bytes())?);
    let mut parts = Vec::new();
    while !rest.starts_with(b"--") {
        if parts.len() == PARTS {
            return None;
        }
        let inner = rest.slice_ref(rest.strip_prefix(b"\r\n")?);
        let head_end = memmem::find(&inner[..inner.len().min(HEAD_BYTES)], b"\r\n\r\n")?;
        let head = std::str::from_utf8(&inner[..head_end]).ok()?;
        let content = inner.slice(head_end + 4..);
        let length = end.find(&content)?;
        let (name, is_file) = disposition(head)?;
        parts.push(FormPart {
            name,
            is_file,
            content: content.slice(..length),
        });
        rest = content.slice(length + end.needle().len()..);
    }
    Some(parts)
}

fn disposition(head: &str) -> Option<(String, bool)> {
    let mut lines = head.split("\r\n").filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(name, _)| name.eq_ignore_ascii_case("content-disposition"))?;
    let quoted = |name: &str| {
        let (_, rest) = value.split_once(&format!("; {name}=\""))?;
        Some(rest.split_once('"')?.0)
    };
    // Browsers write a quote within a name as %22.
    let name = quoted("name")?.replace("%22", "\"");
    Some((name, quoted("filename").is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = "--xyz\r\nContent-Disposition: form-data; name=\"form-token\"\r\n\r\nabc\r\n--xyz\r\n\
        Content-Disposition: form-data; name=\"component\"; filename=\"a.wasm\"\r\nContent-Type: application/wasm\r\n\r\n\
        \0asm\r\n--xy\r\n--xyz--\r\n";

    #[test]
    fn the_boundary_is_that_of_a_form_with_a_file() {
        let check = |text: &str, expect: Option<&str>| assert_eq!(boundary(text), expect, "{text}");
        check("multipart/form-data; boundary=xyz", Some("xyz"));
        check(
            "Multipart/Form-Data; charset=utf-8; Boundary=\"xyz\"",
            Some("xyz"),
        );
        check("application/x-www-form-urlencoded", None);
        check("multipart/mixed; boundary=xyz", None);
        check("multipart/form-data; boundary=", None);
        check("multipart/form-data", None);
    }

    #[test]
    fn fields_and_the_file_are_distinguished() {
        let parts = parts(&Bytes::from(FORM), "xyz").expect("a form");
        let shown: Vec<(&str, bool, &[u8])> = parts
            .iter()
            .map(|part| (part.name.as_str(), part.is_file, &part.content[..]))
            .collect();
        let file: &[u8] = b"\0asm\r\n--xy";
        assert_eq!(
            shown,
            [
                ("form-token", false, b"abc".as_slice()),
                ("component", true, file)
            ]
        );
    }

    #[test]
    fn a_form_that_is_cut_or_has_too_many_parts_is_refused() {
        for end in 0..FORM.len() - 4 {
            assert!(parts(&Bytes::from(&FORM[..end]), "xyz").is_none(), "{end}");
        }
        let part = "\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--xyz";
        let many = |count: usize| Bytes::from(format!("--xyz{}--", part.repeat(count)));
        assert_eq!(parts(&many(PARTS), "xyz").map(|all| all.len()), Some(PARTS));
        assert!(parts(&many(PARTS + 1), "xyz").is_none());
        assert!(parts(&Bytes::from("a=b"), "xyz").is_none());
    }
}
