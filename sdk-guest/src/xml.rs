//! XML as a tree of JSON values, for sources that still send it (ADF).
//!
//! An element that contains only text is that text; any other is an object with its
//! attributes as `@name`, its text as `#text`, and its children by name; repeated
//! children are an array. The name of an element is without its prefix, which each
//! sender chooses. Senders' XML is read, not validated: processing
//! instructions of any name, comments and document types are skipped. An
//! entity is one of XML or of HTML, or a character number; any other stays
//! unchanged, so nothing is expanded and nothing is fetched. Depth and the number
//! of elements are bounded.

use serde_json::{Map, Value};

use crate::Problem;
use crate::html::add_unescaped;

/// Maximum depth; deeper nesting is not a lead.
const MAX_DEPTH: usize = 64;
/// Maximum elements; a batch of a thousand leads has a hundred thousand elements.
const MAX_ELEMENTS: usize = 200_000;

/// Returns a document as an object with its root element under the element's name.
///
/// # Errors
///
/// [`Problem`] with line and column if the document is malformed, nested too deep, or has too
/// many elements.
pub fn parse(text: &str) -> Result<Value, Problem> {
    let mut reader = Reader {
        text,
        at: 0,
        elements: 0,
    };
    let root = reader.document().map_err(|what| reader.problem(what))?;
    Ok(root)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    elements: usize,
}

/// An element without its end tag so far.
struct Open<'a> {
    name: &'a str,
    fields: Map<String, Value>,
    text: String,
}

impl<'a> Reader<'a> {
    fn problem(&self, what: &str) -> Problem {
        let before = &self.text[..self.at.min(self.text.len())];
        let line = before.matches('\n').count() + 1;
        let column = before
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .chars()
            .count()
            + 1;
        Problem::new(format!(
            "the body is not valid XML: {what} at line {line} column {column}"
        ))
    }

    /// Reads with a stack of its own, so that depth costs no call stack.
    fn document(&mut self) -> Result<Value, &'static str> {
        let mut open: Vec<Open<'a>> = Vec::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(markup) = rest.find('<') else {
                return Err(if open.is_empty() {
                    "there is no element"
                } else {
                    "an element is not closed"
                });
            };
            if let Some(element) = open.last_mut() {
                add_unescaped(&rest[..markup], &mut element.text);
            }
            self.at += markup;
            let rest = &self.text[self.at..];
            if rest.starts_with("<?") {
                self.pass("?>", "a processing instruction is not closed")?;
            } else if rest.starts_with("<!--") {
                self.pass("-->", "a comment is not closed")?;
            } else if let Some(data) = rest.strip_prefix("<![CDATA[") {
                let end = data.find("]]>").ok_or("a CDATA section is not closed")?;
                if let Some(element) = open.last_mut() {
                    element.text.push_str(&data[..end]);
                }
                self.at += "<![CDATA[".len() + end + "]]>".len();
            } else if rest.starts_with("<!") {
                self.document_type()?;
            } else if rest.starts_with("</") {
                let end = rest.find('>').ok_or("a tag is not closed")?;
                let name = rest[2..end].trim();
                let element = open
                    .pop_if(|element| element.name == name)
                    .ok_or("a closing tag has no opening one")?;
                self.at += end + 1;
                if let Some(root) = close(&mut open, element) {
                    return Ok(root);
                }
            } else {
                let (element, empty) = self.tag()?;
                if !empty {
                    if open.len() == MAX_DEPTH {
                        return Err("elements are nested too deep");
                    }
                    open.push(element);
                } else if let Some(root) = close(&mut open, element) {
                    return Ok(root);
                }
            }
        }
    }

    fn pass(&mut self, end: &str, open: &'static str) -> Result<(), &'static str> {
        let length = self.text[self.at..].find(end).ok_or(open)?;
        self.at += length + end.len();
        Ok(())
    }

    /// Skips a document type with its declarations; none of them is used.
    fn document_type(&mut self) -> Result<(), &'static str> {
        let rest = &self.text[self.at..];
        let end = rest.find('>').ok_or("a document type is not closed")?;
        match rest[..end].find('[') {
            None => self.at += end + 1,
            Some(subset) => {
                let close = rest[subset..]
                    .find(']')
                    .ok_or("a document type is not closed")?;
                self.at += subset + close;
                self.pass(">", "a document type is not closed")?;
            }
        }
        Ok(())
    }

    /// Reads an opening tag; returns whether it closes itself.
    fn tag(&mut self) -> Result<(Open<'a>, bool), &'static str> {
        self.elements += 1;
        if self.elements > MAX_ELEMENTS {
            return Err("there are too many elements");
        }
        let text = self.text;
        self.at += 1;
        let name = self.name()?;
        let mut fields = Map::new();
        loop {
            self.spaces();
            let rest = &text[self.at..];
            if rest.starts_with("/>") {
                self.at += 2;
                return Ok((
                    Open {
                        name,
                        fields,
                        text: String::new(),
                    },
                    true,
                ));
            }
            if rest.starts_with('>') {
                self.at += 1;
                return Ok((
                    Open {
                        name,
                        fields,
                        text: String::new(),
                    },
                    false,
                ));
            }
            let attribute = self.name()?;
            self.spaces();
            if !text[self.at..].starts_with('=') {
                return Err("an attribute has no value");
            }
            self.at += 1;
            self.spaces();
            let quote = match text.as_bytes().get(self.at) {
                Some(b'"') => '"',
                Some(b'\'') => '\'',
                _ => return Err("an attribute's value is not quoted"),
            };
            self.at += 1;
            let length = text[self.at..]
                .find(quote)
                .ok_or("an attribute's value is not closed")?;
            let mut value = String::new();
            add_unescaped(&text[self.at..self.at + length], &mut value);
            self.at += length + 1;
            fields.insert(format!("@{attribute}"), Value::String(value));
        }
    }

    fn name(&mut self) -> Result<&'a str, &'static str> {
        let rest = &self.text[self.at..];
        let end = rest
            .find(|c: char| {
                c.is_whitespace() || matches!(c, '/' | '>' | '=' | '<' | '"' | '\'' | '&')
            })
            .unwrap_or(rest.len());
        if end == 0 {
            return Err("a name is missing");
        }
        self.at += end;
        Ok(&rest[..end])
    }

    fn spaces(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }
}

/// Adds a finished element to its parent; returns the document if it has none.
fn close(open: &mut [Open<'_>], element: Open<'_>) -> Option<Value> {
    let Open {
        name,
        mut fields,
        text,
    } = element;
    let name = match name.rsplit_once(':') {
        Some((_, local)) if !local.is_empty() => local,
        _ => name,
    };
    let text = text.trim();
    let value = if fields.is_empty() {
        Value::String(text.to_owned())
    } else {
        if !text.is_empty() {
            fields.insert("#text".into(), Value::String(text.to_owned()));
        }
        Value::Object(fields)
    };
    let Some(parent) = open.last_mut() else {
        let mut document = Map::new();
        document.insert(name.to_owned(), value);
        return Some(Value::Object(document));
    };
    match parent.fields.get_mut(name) {
        None => {
            parent.fields.insert(name.to_owned(), value);
        }
        // An element's own value is never an array, so an array means that this element repeats.
        Some(Value::Array(items)) => items.push(value),
        Some(once) => {
            let first = once.take();
            *once = Value::Array(vec![first, value]);
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn elements_attributes_text_and_repeats_become_values() {
        let text = "\u{feff}<?ADF VERSION=\"1.0\"?><?XML x?>\n<!DOCTYPE a [<!ENTITY e \"x\">]>\
            <!-- <b> --><a k='1 &lt; 2' ><b>x &amp; &#233;&#xe9; &eacute;&e; &</b><b/>\
            <x:c y:t=\"u\"> text <![CDATA[<raw> & ]]></x:c><d></d></a>trailing";
        assert_eq!(
            parse(text).unwrap(),
            json!({"a": {
                "@k": "1 < 2", "b": ["x & éé é&e; &", ""],
                "c": {"@y:t": "u", "#text": "text <raw> &"}, "d": "",
            }})
        );
    }

    #[test]
    fn malformed_xml_is_refused_with_line_and_column() {
        let message = parse("<a>\n <b></c></a>").unwrap_err().message;
        assert!(message.ends_with("at line 2 column 5"), "{message}");
        for text in [
            "",
            "x",
            "<",
            "<a",
            "<a>",
            "</a>",
            "<a></b>",
            "<a b></a>",
            "<a b=c></a>",
            "<a b=\"></a>",
            "<!--",
            "<?x",
            "<![CDATA[",
            "<!DOCTYPE [",
            "<a><![CDATA[</a>",
            "< a></a>",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"<a>".repeat(100_000)).is_err());
        assert!(parse(&format!("<a>{}</a>", "<b/>".repeat(MAX_ELEMENTS))).is_err());
    }

    #[test]
    fn damaged_xml_never_panics() {
        let good = "<?xml?><!DOCTYPE a [x]><a é=\"&amp;\"><b>é&#233;</b><!-- --><![CDATA[é]]></a>";
        for (at, _) in good.char_indices() {
            let _ = parse(&good[..at]);
            for put in ["<", ">", "&", "é", "\"", "/", "!", "]", " "] {
                let _ = parse(&format!("{}{put}{}", &good[..at], &good[at..]));
            }
        }
    }
}
