//! What `leadhost mapping try` used, as the entry of a connection in a workspace file: where each field was
//! found, and the sender checks that the headers suggest.

use leadhost_golden::Case;
use serde_json::{Map, Value, json};

use crate::cli::recipe::{self, Expression, Field, Line, Place, Recipe};

const HEAD: &str = "# An entry for a workspace file: write its name, its partner and, if its leads are answered, an instance.\n";

/// Returns the entry for a delivery. `given`: the configuration that it was tried with, which stays.
pub fn entry(case: &Case, given: &Value) -> Result<String, String> {
    let recipe = recipe::find(case, given)?;
    if let Some(why) = &recipe.no_lead {
        return Err(format!("no lead was found in it: {why}"));
    }
    let mut config = config_of(&recipe);
    merge(&mut config, given);
    let (checks, secrets) = checks(&case.delivery.headers);
    let mut connection = json!({
        "name": "NAME", "partner": "PARTNER", "plugin": "mapping", "config": config,
    });
    if !checks.is_empty() {
        connection["checks"] = checks.into();
        connection["secrets"] = secrets.into();
    }
    let text = toml::to_string(&json!({"connections": [connection]}));
    let text = text.map_err(|error| error.to_string())?;
    let is_given = |field: &Field| given["fields"].get(field.name().0).is_some();
    let unknown = recipe.lines.iter().filter_map(|line| match &line.value {
        Expression::Unknown(_) if !is_given(&line.field) => Some(format!(
            "# {:?} is put together, and is guessed.\n",
            line.field
        )),
        _ => None,
    });
    Ok(format!("{HEAD}{}{text}", unknown.collect::<String>()))
}

/// Adds what was configured, key by key; it counts before what was found.
fn merge(config: &mut Value, given: &Value) {
    for (key, value) in given.as_object().into_iter().flatten() {
        if key == "explain" {
            continue;
        }
        match (config.get_mut(key), value) {
            (Some(Value::Object(own)), Value::Object(fields)) => own.extend(fields.clone()),
            _ => config[key] = value.clone(),
        }
    }
}

/// Returns the configuration that names the places of a recipe. Attributes need none: what no field reads
/// becomes one.
fn config_of(recipe: &Recipe) -> Value {
    let mut fields = Map::new();
    for Line { field, value } in &recipe.lines {
        let Some(source) = source(value) else {
            continue;
        };
        let (name, part) = field.name();
        match (field, part) {
            (Field::Attribute(_), _) => {}
            (Field::Campaign(_), Some(part)) => {
                fields.entry(name).or_insert(json!({}))[part] = source;
            }
            (Field::Listing(kind), _) if kind != "client" => {
                add(&mut fields, name, json!({"path": source, "kind": kind}));
            }
            _ => add(&mut fields, name, source),
        }
    }
    let mut config = json!({"fields": fields});
    if !recipe.leads.is_empty() {
        config["items"] = json!([recipe.leads]);
    }
    config
}

/// Adds a source of a field; the second one makes a list of them.
fn add(fields: &mut Map<String, Value>, name: &str, source: Value) {
    match fields.get_mut(name) {
        None => drop(fields.insert(name.to_owned(), source)),
        Some(Value::Array(sources)) => sources.push(source),
        Some(one) => *one = json!([one.take(), source]),
    }
}

fn source(value: &Expression) -> Option<Value> {
    let path = |place: &Place| {
        if place.in_body {
            format!("$.{}", place.path)
        } else {
            place.path.clone()
        }
    };
    let joined = |places: &[Place]| match places {
        [one] => json!(path(one)),
        many => json!({"join": many.iter().map(path).collect::<Vec<_>>()}),
    };
    Some(match value {
        Expression::Text(place)
        | Expression::Email(place)
        | Expression::Each(place)
        | Expression::Yes(place) => {
            json!(path(place))
        }
        Expression::Join(places) | Expression::Time(places) => joined(places),
        Expression::Phone {
            number,
            area,
            country,
        } => {
            let places = [country, area].into_iter().flatten().chain([number]);
            joined(&places.cloned().collect::<Vec<_>>())
        }
        Expression::Value(_) | Expression::Unknown(_) => return None,
    })
}

/// Returns the checks that headers suggest, and the references of their secrets.
fn checks(headers: &[(String, String)]) -> (Vec<Value>, Map<String, Value>) {
    let mut secrets = Map::new();
    let checks = headers.iter().filter_map(|(name, value)| {
        let (secret, mut check) = check(name, value)?;
        check["secret"] = secret.into();
        check["proof"] = json!({"place": "header", "name": name});
        let variable = format!("env:{}", secret.to_ascii_uppercase().replace('-', "_"));
        secrets.insert(secret.to_owned(), variable.into());
        Some(check)
    });
    (checks.collect(), secrets)
}

/// Returns the name of a secret, and the scheme of the check that a header looks like the proof of.
fn check(name: &str, value: &str) -> Option<(&'static str, Value)> {
    let name = name.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if name == "authorization" {
        return match value.split_once(' ')?.0.to_ascii_lowercase().as_str() {
            "basic" => Some(("user-password", json!({"scheme": "basic"}))),
            "bearer" => Some(("token", json!({"scheme": "bearer"}))),
            _ => None,
        };
    }
    if has(&["signature", "hmac"]) {
        let (prefix, proof) = match value.split_once('=') {
            Some((prefix, proof)) if !proof.is_empty() => (Some(format!("{prefix}=")), proof),
            _ => (None, value),
        };
        let is_hex = proof.bytes().all(|byte| byte.is_ascii_hexdigit());
        let (scheme, encoding) = match (proof.len(), is_hex) {
            (64, true) => ("hmac-sha256", "hex"),
            (40, true) => ("hmac-sha1", "hex"),
            (43 | 44, false) => ("hmac-sha256", "base64"),
            (27 | 28, false) => ("hmac-sha1", "base64"),
            _ => return None,
        };
        let mut check = json!({"scheme": scheme, "encoding": encoding});
        if let Some(prefix) = prefix {
            check["prefix"] = prefix.into();
        }
        return Some(("app-secret", check));
    }
    has(&["token", "api-key", "apikey", "secret"]).then(|| ("token", json!({"scheme": "equals"})))
}

#[cfg(test)]
mod tests {
    use converter_mapping::Mapping;
    use leadhost_golden::Call;
    use leadhost_sdk::testing;

    use super::*;

    fn entry_of(body: &str, headers: &[(&str, &str)], given: Value) -> toml::Table {
        let mut case = Case::new("tried", Call::Convert);
        case.body = body.as_bytes().to_vec();
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        case.delivery.headers = headers.iter().map(pair).collect();
        let text = entry(&case, &given).expect("it is read");
        text.parse().expect("it is TOML")
    }

    #[test]
    fn what_was_found_and_what_was_configured_is_the_entry_of_a_connection() {
        let body = r#"{"form": "f", "leads": [{"id": 7, "nome": "Ana", "sobrenome": "Prado", "ddd": "11", "fone": "90000-0001", "utm_source": "search"}]}"#;
        let given = json!({"explain": true, "fields": {"source": "$.form"}});
        let entry = entry_of(body, &[("content-type", "application/json")], given);
        let connection = &entry["connections"][0];
        let config = &connection["config"];
        assert_eq!(connection["plugin"].as_str(), Some("mapping"));
        assert!(connection.get("checks").is_none() && config.get("explain").is_none());
        assert_eq!(config["items"][0].as_str(), Some("leads"));
        let fields = &config["fields"];
        assert_eq!(fields["externalId"].as_str(), Some("id"));
        assert_eq!(fields["source"].as_str(), Some("$.form"));
        assert_eq!(fields["name"]["join"][1].as_str(), Some("sobrenome"));
        assert_eq!(fields["phones"]["join"][0].as_str(), Some("ddd"));
        assert_eq!(
            fields["campaign"]["utm-source"].as_str(),
            Some("utm_source")
        );
    }

    #[test]
    fn the_paths_of_one_lead_in_a_list_hold_for_the_next_one() {
        let body = r#"{"batch": [{"person": {"core": {"firstname": {"value": "Ana"}, "mobile": {"value": "+55 11 90000-0701"}}}}]}"#;
        let entry = entry_of(body, &[], json!({}));
        let config = &entry["connections"][0]["config"];
        assert_eq!(config["items"][0].as_str(), Some("batch"));
        let phones = config["fields"]["phones"].as_str();
        assert_eq!(phones, Some("person.core.mobile.value"));
    }

    #[test]
    fn the_entry_of_one_lead_converts_two() {
        let person = |name: &str, number: &str| json!({"firstname": {"value": name}, "mobile": {"value": number}});
        let (ana, rui) = (
            person("Ana", "+5511900000701"),
            person("Rui", "+5521900000802"),
        );
        let xml = |people: &[(&str, &str)]| {
            let people = people.iter().map(|(name, phone)| {
                format!("<entry><who><nome>{name}</nome><fone>{phone}</fone></who></entry>")
            });
            format!("<entries>{}</entries>", people.collect::<String>())
        };
        let people = [("Ana", "11900000701"), ("Rui", "21900000802")];
        for (one, two) in [
            (
                json!({"leads": {"k1": ana}}).to_string(),
                json!({"leads": {"k1": ana, "k2": rui}}).to_string(),
            ),
            (
                json!({"leads": ana}).to_string(),
                json!({"leads": [ana, rui]}).to_string(),
            ),
            (
                json!({"leads": [ana]}).to_string(),
                json!({"leads": [ana, rui]}).to_string(),
            ),
            (xml(&people[..1]), xml(&people)),
        ] {
            let entry = entry_of(&one, &[], json!({}));
            let config = &entry["connections"][0]["config"];
            for (body, expect) in [(&one, &["Ana"][..]), (&two, &["Ana", "Rui"])] {
                let mut case = Case::new("read", Call::Convert);
                case.body = body.as_bytes().to_vec();
                case.delivery.config = serde_json::to_value(config).expect("JSON");
                let answer = testing::answer::<Mapping>(&case);
                let items = answer["ok"]["items"].as_array().expect("items").iter();
                let names = items.map(|item| item["outcome"]["lead"]["name"].as_str());
                let expect = expect.iter().map(|name| Some(*name));
                assert!(names.eq(expect), "{body}: {config} {answer}");
            }
        }
    }

    #[test]
    fn a_lead_that_is_found_with_the_configuration_alone_has_an_entry() {
        let body = r#"{"who": "Ana", "reach": "11 90000-0701"}"#;
        let given = json!({"fields": {"name": "who", "phones": "reach"}});
        let entry = entry_of(body, &[], given);
        let fields = &entry["connections"][0]["config"]["fields"];
        assert_eq!(fields["phones"].as_str(), Some("reach"));
    }

    #[test]
    fn the_headers_of_a_sample_suggest_checks() {
        let check = |name: &str,
                     value: &str,
                     scheme: &str,
                     encoding: Option<&str>,
                     prefix: Option<&str>| {
            let entry = entry_of(
                r#"{"nome": "Ana", "fone": "11900000001"}"#,
                &[(name, value)],
                json!({}),
            );
            let check = &entry["connections"][0]["checks"][0];
            assert_eq!(check["scheme"].as_str(), Some(scheme), "{name}");
            let text = |key: &str| check.get(key).and_then(toml::Value::as_str);
            assert_eq!(
                (text("encoding"), text("prefix")),
                (encoding, prefix),
                "{name}"
            );
            assert_eq!(check["proof"]["name"].as_str(), Some(name));
            let secret = text("secret").expect("a secret");
            assert!(
                entry["connections"][0]["secrets"][secret].is_str(),
                "{name}"
            );
        };
        check("authorization", "Basic YTpi", "basic", None, None);
        check("authorization", "Bearer x", "bearer", None, None);
        check("x-api-key", "x", "equals", None, None);
        let hex = "0".repeat(64);
        let signed = format!("sha256={hex}");
        check(
            "x-hub-signature-256",
            &signed,
            "hmac-sha256",
            Some("hex"),
            Some("sha256="),
        );
        check("x-signature", &hex, "hmac-sha256", Some("hex"), None);
        check(
            "x-shop-hmac",
            &format!("{}=", "a+".repeat(21) + "b"),
            "hmac-sha256",
            Some("base64"),
            None,
        );
        check(
            "x-signature",
            &"0".repeat(40),
            "hmac-sha1",
            Some("hex"),
            None,
        );
    }
}
