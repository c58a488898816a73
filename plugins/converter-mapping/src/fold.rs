//! Folds names of fields for comparison with the usual names: `Full Name`,
//! `FULL_NAME`, `fullName` and `q3_fullName` are one name; accents do not count.

/// Returns letters and digits in lower case without accents, and without the number
/// that form builders put in front (`q3_`, `your-`).
pub fn fold(name: &str) -> String {
    let name = numbered(name).unwrap_or(name);
    let mut out = String::with_capacity(name.len());
    for character in name.chars().take(MAX_CHARACTERS) {
        if character.is_ascii() {
            if character.is_ascii_alphanumeric() {
                out.push(character.to_ascii_lowercase());
            }
        } else {
            out.extend(
                character
                    .to_lowercase()
                    .filter(|c| c.is_alphanumeric())
                    .map(plain),
            );
        }
    }
    out
}

/// Maximum length. A longer name is a sentence, and its beginning is enough.
const MAX_CHARACTERS: usize = 100;

/// Returns `q3_fullName` without its number.
fn numbered(name: &str) -> Option<&str> {
    let rest = name.strip_prefix('q')?;
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    if after.len() == rest.len() {
        return None;
    }
    after.strip_prefix('_').filter(|after| !after.is_empty())
}

fn plain(character: char) -> char {
    match character {
        'á' | 'à' | 'â' | 'ã' | 'ä' => 'a',
        'é' | 'è' | 'ê' | 'ë' => 'e',
        'í' | 'ì' | 'î' | 'ï' => 'i',
        'ó' | 'ò' | 'ô' | 'õ' | 'ö' => 'o',
        'ú' | 'ù' | 'û' | 'ü' => 'u',
        'ç' => 'c',
        'ñ' => 'n',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_name_are_folded_to_one() {
        for name in [
            "Full Name",
            "FULL_NAME",
            "fullName",
            "q3_fullName",
            "full-name:",
        ] {
            assert_eq!(fold(name), "fullname", "{name}");
        }
        assert_eq!(fold("Código do Imóvel"), "codigodoimovel");
        assert_eq!(fold("quarto_1"), "quarto1");
        assert_eq!(fold("q_1"), "q1");
        assert_eq!(fold("q3_"), "q3");
        assert_eq!(fold("שם"), "שם");
    }
}
