//! Validation of a product. A refusal says what was expected and what was found.

use leadhost_domain::limits;
use leadhost_store::PlannedProduct;

pub fn product(
    external_id: Option<&str>,
    name: Option<&str>,
    description: Option<&str>,
) -> Result<PlannedProduct, String> {
    let external_id = required(
        "externalId",
        external_id,
        limits::PRODUCT_EXTERNAL_ID_CHARACTERS,
    )?;
    let name = required("name", name, limits::NAME_CHARACTERS)?;
    let description = description.map(str::trim).filter(|text| !text.is_empty());
    if let Some(text) = description {
        bounded(
            "description",
            text,
            limits::PRODUCT_DESCRIPTION_CHARACTERS,
            |c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'),
        )?;
    }
    Ok(PlannedProduct {
        external_id: external_id.to_owned(),
        name: name.to_owned(),
        description: description.map(str::to_owned),
    })
}

fn required<'a>(field: &str, text: Option<&'a str>, most: usize) -> Result<&'a str, String> {
    let text = text
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .ok_or_else(|| format!("{field} is missing or empty"))?;
    bounded(field, text, most, char::is_control)?;
    Ok(text)
}

fn bounded(
    field: &str,
    text: &str,
    most: usize,
    is_odd: impl Fn(char) -> bool,
) -> Result<(), String> {
    // Bytes first: a text with few bytes has few characters.
    if text.len() > most {
        let characters = text.chars().count();
        if characters > most {
            return Err(format!(
                "{field} has {characters} characters: at most {most} are allowed"
            ));
        }
    }
    match text.chars().find(|c| is_odd(*c)) {
        None => Ok(()),
        Some(odd) => Err(format!(
            "{field} contains the control character U+{:04X}",
            u32::from(odd)
        )),
    }
}

pub fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|error| {
        let place = error.valid_up_to();
        let before = String::from_utf8_lossy(&bytes[..place]).chars().count();
        format!(
            "character {} is not UTF-8 (byte 0x{:02X}): the file looks like Latin-1 or Windows-1252, save it as UTF-8",
            before + 1,
            bytes[place]
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_has_an_external_id_and_a_name() {
        let check = |id, name, description, expect: Result<&str, &str>| {
            let product = product(id, name, description);
            let said = product.as_ref().map(|p| p.name.as_str());
            match expect {
                Ok(name) => assert_eq!(said, Ok(name)),
                Err(part) => {
                    let message = said.expect_err(part);
                    assert!(message.contains(part), "{message}");
                }
            }
        };
        check(Some(" A-1 "), Some("  House "), None, Ok("House"));
        check(
            Some("A"),
            Some("Casa à beira-mar 🏖"),
            Some("a\nb\tc"),
            Ok("Casa à beira-mar 🏖"),
        );
        check(None, Some("House"), None, Err("externalId is missing"));
        check(Some("A"), Some(" "), None, Err("name is missing"));
        check(Some("A\0"), Some("House"), None, Err("U+0000"));
        check(Some("A"), Some("a\u{1b}[2J"), None, Err("U+001B"));
        check(
            Some("A"),
            Some("House"),
            Some("\u{7}"),
            Err("description contains"),
        );
        let long = "é".repeat(limits::NAME_CHARACTERS);
        check(Some("A"), Some(&long), None, Ok(&long));
        let longer = "é".repeat(limits::NAME_CHARACTERS + 1);
        check(Some("A"), Some(&longer), None, Err("256 characters"));
    }

    #[test]
    fn a_text_that_is_not_utf8_is_refused_with_its_position() {
        assert_eq!(text("São".as_bytes()), Ok("São"));
        let message = text(b"S\xe3o").expect_err("no UTF-8");
        assert!(
            message.contains("character 2") && message.contains("Latin-1"),
            "{message}"
        );
    }
}
