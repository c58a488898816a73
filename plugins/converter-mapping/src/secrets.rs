//! Credentials that sources include: they never become attributes of a lead. The host masks those
//! under the usual names (`leadhost_sdk::USUAL_SECRETS`) in the request. `token` is not one of
//! them, since a form's token may be the id of its answers; it is no attribute either.

use leadhost_sdk::{serde_json::Value, text_of};

use crate::fold::fold;

/// Words, or pairs of adjacent words, that make a name a credential's.
const WORDS: [&str; 30] = [
    "token",
    "tokens",
    "secret",
    "secrets",
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "pwd",
    "senha",
    "senhas",
    "contrasena",
    "segredo",
    "jwt",
    "bearer",
    "auth",
    "credential",
    "credentials",
    "credencial",
    "credenciais",
    "credenciales",
    "apikey",
    "privatekey",
    "secretkey",
    "accesskey",
    "googlekey",
    "signingkey",
    "chaveapi",
    "setcookie",
    "sessioncookie",
];

/// Names that are credentials as a whole: `cookies_accepted` is an answer.
const WHOLE: [&str; 5] = [
    "authorization",
    "proxyauthorization",
    "xauthorization",
    "cookie",
    "cookies",
];

/// Endings of credentials' names that are written without separators. Not `senha`,
/// since `resenha` is a review.
const ENDS: [&str; 5] = ["token", "secret", "password", "passwd", "apikey"];

/// Maximum length. A longer name is a question.
const MAX_NAME: usize = 60;

/// Whether a value with this name is a credential.
pub fn is_secret(name: &str) -> bool {
    if !(3..=MAX_NAME).contains(&name.len()) {
        return false;
    }
    let folded = fold(name);
    let folded = folded.as_str();
    if WHOLE.contains(&folded) || ENDS.iter().any(|end| folded.ends_with(end)) {
        return true;
    }
    let words = words(name);
    let is_word = |word: &str| WORDS.contains(&word);
    words.iter().any(|word| is_word(word)) || words.windows(2).any(|two| is_word(&two.concat()))
}

/// Returns the folded words of `csrf_token`, `X-Auth-Token`, `idToken` and `APIKey`.
fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        let follows_lower = at > 0 && letters[at - 1].is_lowercase();
        let before_lower = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        if !letter.is_alphabetic() || letter.is_uppercase() && (follows_lower || before_lower) {
            words.push(String::new());
        }
        if letter.is_alphabetic()
            && let Some(word) = words.last_mut()
        {
            word.push(*letter);
        }
    }
    let words = words.iter().map(|word| fold(word));
    words.filter(|word| !word.is_empty()).collect()
}

/// Whether the value is an element of a list of names and values, with a credential's
/// name.
pub fn is_named_secret(value: &Value) -> bool {
    const NAMES: [&str; 11] = [
        "name", "key", "nome", "chave", "campo", "nombre", "field", "header", "label", "id",
        "title",
    ];
    value.as_object().is_some_and(|fields| {
        fields.len() > 1
            && fields.iter().any(|(key, value)| {
                NAMES.contains(&fold(key).as_str())
                    && text_of(value).is_some_and(|name| is_secret(&name))
            })
    })
}

/// Returns a text with credentials in addresses masked; `None` if there are none.
pub fn masked(text: &str) -> Option<String> {
    const MASK: &str = "***";
    // The value of an `Authorization`.
    if let Some((scheme, secret)) = text.split_once(' ')
        && ["basic", "bearer"]
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known))
        && secret.len() >= 8
        && !secret.contains(char::is_whitespace)
    {
        return Some(format!("{scheme} {MASK}"));
    }
    let mut masked = String::new();
    let mut kept = 0;
    // A field of an address follows one of these and ends at the next one or a space.
    let ends = |c: char| c.is_whitespace() || matches!(c, '&' | '#' | ';' | '"' | '<' | '>');
    for (at, _) in text.match_indices(['?', '&', '#', ';']) {
        let field = &text[at + 1..];
        let field = &field[..field.find(|c| ends(c) || c == '?').unwrap_or(field.len())];
        let Some((name, value)) = field.split_once('=') else {
            continue;
        };
        if !value.is_empty() && is_secret(name) {
            let begin = at + 1 + name.len() + 1;
            masked.push_str(&text[kept..begin]);
            masked.push_str(MASK);
            kept = begin + value.len();
        }
    }
    (kept > 0).then(|| masked + &text[kept..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_sdk::serde_json::json;

    #[test]
    fn names_of_credentials_are_recognised_in_every_spelling() {
        for name in [
            "token",
            "refresh_token",
            "session_token",
            "id_token",
            "idToken",
            "csrf_token",
            "csrfToken",
            "X-Auth-Token",
            "x-api-key",
            "APIKey",
            "api key",
            "apiKeyV2",
            "app_secret",
            "passwd",
            "pwd",
            "user_pwd",
            "jwt",
            "credentials",
            "auth",
            "Authorization",
            "bearer",
            "Bearer_1",
            "cookie",
            "Set-Cookie",
            "private_key",
            "privateKey",
            "refreshtoken",
            "sessiontoken",
            "webhooksecret",
            "userpassword",
            "passwordHash",
            "Senha do site",
            "token2",
            "user.password",
            "contraseña",
        ] {
            assert!(is_secret(name), "{name}");
        }
    }

    #[test]
    fn ordinary_names_are_not_credentials() {
        for name in [
            "authorized_by",
            "autor",
            "author",
            "autorizacao",
            "autorização de contato",
            "authorization_marketing",
            "cookies_accepted",
            "aceita_cookies",
            "cookie_consent",
            "secretaria",
            "secretary",
            "resenha",
            "desenhado",
            "key",
            "keywords",
            "chave",
            "chaves na mão",
            "monkey",
            "tokenizado",
            "session_id",
            "bear",
            "Qual a senha da fila que recebeu ao entrar na loja na visita de ontem?",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn names_beside_their_values_are_recognised() {
        assert!(is_named_secret(&json!({"name": "token", "value": "x"})));
        assert!(is_named_secret(&json!({"Chave": "API key", "valor": [1]})));
        assert!(!is_named_secret(&json!({"name": "cor", "value": "token"})));
        assert!(!is_named_secret(&json!({"name": "token"})));
        assert!(!is_named_secret(&json!("token")));
    }

    #[test]
    fn credentials_in_addresses_are_masked() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(masked(text).as_deref(), expect, "{text}");
        };
        check(
            "https://example.com/a?x=1&token=abc&y=2",
            Some("https://example.com/a?x=1&token=***&y=2"),
        );
        check(
            "veja https://example.com/?access_token=a%20b e https://example.com/#id_token=c.",
            Some("veja https://example.com/?access_token=*** e https://example.com/#id_token=***"),
        );
        check("https://example.com/?token=&autor=Ana", None);
        check("Qual o token? Não sei", None);
        check("Basic dXNlcjpzZWdyZWRv", Some("Basic ***"));
        check("bearer abcdefgh1234", Some("bearer ***"));
        check("Basic plano de dois quartos", None);
    }
}
