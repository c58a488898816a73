//! The golden cases of a new converter: the sample, with what the source of the project makes of it, and a
//! body that is refused.

use leadhost_golden::{Call, Case, case_files};

use crate::cli::plugin::body::{BodyFormat, without_mark};
use crate::cli::plugin::component_file::read_bytes;
use crate::cli::prelude::*;
use crate::cli::recipe::{self, Recipe};
use leadhost_domain::delivery::DeliveryBody;
use leadhost_domain::exchange::{Place, ValueLocation};
use leadhost_egress::seal::Secrets;
use leadhost_http::golden_export::without_persons;
use leadhost_pipeline::mask::Mask;
use leadhost_sdk::USUAL_SECRETS;

/// The body of a project that is made without a sample.
const EXAMPLE: &[u8] = include_bytes!("../../../../templates/lead.json");

/// What a converter and its golden cases are made of.
#[derive(Debug)]
pub struct Sample {
    pub recipe: Recipe,
    /// The golden cases, by their files.
    pub files: Vec<(String, Vec<u8>)>,
    /// The file of the sample's body.
    pub body: String,
}

impl Sample {
    /// Reads the sample, or the example. `is_raw`: persons and credentials in it stay as they are.
    pub fn read(file: Option<&Path>, is_raw: bool) -> CommandResult<Self> {
        let Some(file) = file else {
            return Self::of(Path::new("the example"), EXAMPLE, false, BodyFormat::Json);
        };
        let body = without_mark(&read_bytes(file)?).to_vec();
        let refused = |what: String| failed!("{} cannot be the sample: {what}", file.display());
        if body.len() > leadhost_golden::MAX_PACKED_BYTES {
            return Err(refused(format!(
                "it has {}, and the golden cases of a plugin have at most {} together",
                size::exact(body.len() as u64),
                size::readable(leadhost_golden::MAX_PACKED_BYTES as u64)
            ))
            .hint("shorten it to one lead or a few"));
        }
        let format = BodyFormat::detect(&body).map_err(|why| {
            refused(why).hint("save the body alone, as the source sends it, without headers")
        })?;
        let is_masked = !is_raw;
        if is_masked && std::str::from_utf8(&body).is_err() {
            return Err(refused(
                "it is not UTF-8, so the persons in it cannot be masked".to_owned(),
            )
            .hint("with --raw it is taken as it is, with all personal data"));
        }
        Self::of(file, &body, is_masked, format)
    }

    fn of(file: &Path, body: &[u8], is_masked: bool, format: BodyFormat) -> CommandResult<Self> {
        let mut lead = case(
            "lead",
            "The sample that the project began with",
            body,
            &format,
        );
        let recipe = recipe::find(&lead, &json!({}))
            .map_err(|why| failed!("{} cannot be the sample: {why}", file.display()))?;
        if is_masked {
            let text = String::from_utf8_lossy(body);
            let masked = without_persons(&text, format == BodyFormat::Form, recipe.labels());
            lead.body = without_credentials(masked.into_bytes());
        }
        // An author who has to write the places first looks at what they give.
        let is_whole = recipe.no_lead.is_none() && !recipe.lacks_a_contact();
        lead.expect = is_whole.then(|| recipe::answer(&recipe, &lead));
        let mut refused = case(
            "refused",
            "A body that is not the source's",
            b"hello\n",
            &format,
        );
        refused.delivery.headers = vec![(CONTENT_TYPE.to_owned(), "text/plain".to_owned())];
        refused.expect = Some(recipe::answer(&recipe, &refused));
        let mut files = Vec::new();
        for (case, body) in [(&lead, format.file_name()), (&refused, "body.txt")] {
            let of_case = case_files(case, body)
                .map_err(|error| failed!("the golden case cannot be written: {error}"))?;
            let named = |(file, content)| (format!("golden/{}/{file}", case.name), content);
            files.extend(of_case.into_iter().map(named));
        }
        Ok(Self {
            recipe,
            files,
            body: format!("golden/lead/{}", format.file_name()),
        })
    }
}

const CONTENT_TYPE: &str = "content-type";

fn case(name: &str, about: &str, body: &[u8], format: &BodyFormat) -> Case {
    let mut case = Case::new(name, Call::Convert);
    case.about = about.to_owned();
    case.body = body.to_vec();
    case.delivery.headers = vec![(CONTENT_TYPE.to_owned(), format.content_type())];
    case
}

/// Masks the values under the usual names of credentials, as the service masks those that a converter
/// declares.
fn without_credentials(body: Vec<u8>) -> Vec<u8> {
    let places = USUAL_SECRETS.map(|name| ValueLocation {
        place: Place::Json,
        name: name.to_owned(),
    });
    let body = DeliveryBody::from(body);
    let masked = Mask::new(&Secrets::default()).body(&body, &places);
    masked.unwrap_or_else(|| body.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(body: &[u8]) -> Result<Sample, String> {
        sampled_as(body, false)
    }

    fn sampled_as(body: &[u8], is_raw: bool) -> Result<Sample, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("sample");
        std::fs::write(&file, body).expect("a file");
        Sample::read(Some(&file), is_raw).map_err(|failure| failure.to_string())
    }

    fn file<'a>(sample: &'a Sample, name: &str) -> &'a [u8] {
        let found = sample.files.iter().find(|(file, _)| file == name);
        &found.unwrap_or_else(|| panic!("no {name}")).1
    }

    fn text(sample: &Sample, name: &str) -> String {
        String::from_utf8_lossy(file(sample, name)).into_owned()
    }

    #[test]
    fn a_sample_becomes_a_golden_case_with_its_lead_and_another_body_is_refused() {
        let body = br#"{"id":9007199254740993,"nome":"Lia"}"#;
        let sample = sampled_as(body, true).expect("it is JSON");
        assert_eq!(file(&sample, "golden/lead/body.json"), body);
        let case: Value =
            serde_json::from_slice(file(&sample, "golden/lead/case.json")).expect("JSON");
        let lead = &case["expect"]["ok"]["items"][0]["outcome"]["lead"];
        assert_eq!(lead["externalId"], "9007199254740993");
        assert_eq!(lead["name"], "Lia");
        let case: Value =
            serde_json::from_slice(file(&sample, "golden/refused/case.json")).expect("JSON");
        assert!(case["expect"]["err"]["message"].is_string(), "{case}");
    }

    #[test]
    fn the_example_is_a_lead() {
        let sample = Sample::read(None, false).expect("the example");
        assert_eq!(sample.recipe.no_lead, None);
        assert_eq!(file(&sample, "golden/lead/body.json"), EXAMPLE);
    }

    #[test]
    fn the_persons_of_a_sample_are_masked_unless_it_is_raw() {
        let body = br#"{"nome": "Rita Prado", "telefone": "11900000001", "email": "rita@site.com.br", "obs": "Rita, sim", "ref": "AP-0042"}"#;
        let masked = sampled(body).expect("it is JSON");
        for name in ["body", "case"] {
            let text = text(&masked, &format!("golden/lead/{name}.json"));
            for personal in ["Rita", "Prado", "11900000001", "rita@site.com.br"] {
                assert!(!text.contains(personal), "{personal}: {text}");
            }
            assert!(text.contains("AP-0042"), "{text}");
        }
        let raw = sampled_as(body, true).expect("it is JSON");
        assert_eq!(file(&raw, "golden/lead/body.json"), body);
        let form = sampled(b"nome=Rita+Prado&id=7").expect("it is a form");
        let written = text(&form, "golden/lead/body.txt");
        assert!(
            !written.contains("Rita") && written.ends_with("&id=7"),
            "{written}"
        );
        let xml = sampled(b"<lead><nome>Rita Prado</nome><email>rita@site.com.br</email><ref>AP-0042</ref></lead>");
        let written = text(&xml.expect("it is XML"), "golden/lead/body.xml");
        assert!(
            !written.contains("Rita") && !written.contains("rita@"),
            "{written}"
        );
        assert!(written.contains("AP-0042"), "{written}");
    }

    #[test]
    fn the_credentials_of_a_sample_are_masked_unless_it_is_raw() {
        let body =
            br#"{"id": "k1", "nome": "Ana", "google_key": "made-up-key", "a": [{"senha": "made-up-word"}]}"#;
        let masked = sampled(body).expect("it is JSON");
        let written = text(&masked, "golden/lead/body.json");
        assert!(!written.contains("made-up-"), "{written}");
        assert!(written.contains(r#""google_key": "***""#), "{written}");
        let raw = sampled_as(body, true).expect("it is JSON");
        assert_eq!(file(&raw, "golden/lead/body.json"), body);
        let form = sampled(b"id=7&api_key=made-up-key").expect("it is a form");
        assert_eq!(text(&form, "golden/lead/body.txt"), "id=7&api_key=***");
    }

    #[test]
    fn a_sample_that_is_not_utf_8_is_taken_only_raw() {
        let body = b"{\"nome\": \"Jo\xe3o\"}";
        let said = sampled(body).expect_err("persons in it cannot be masked");
        assert!(
            said.contains("UTF-8") || said.contains("neither JSON"),
            "{said}"
        );
    }

    #[test]
    fn a_byte_order_mark_in_front_of_a_sample_is_removed() {
        let sample = sampled(b"\xef\xbb\xbf{\"id\":1}").expect("it is JSON");
        assert_eq!(file(&sample, "golden/lead/body.json"), b"{\"id\":1}");
    }

    #[test]
    fn a_form_and_its_parts_are_samples_with_their_content_types() {
        let form = sampled(b"name=Ana&phone=11900000001").expect("it is a form");
        assert_eq!(form.body, "golden/lead/body.txt");
        let case = text(&form, "golden/lead/case.json");
        assert!(case.contains("x-www-form-urlencoded"), "{case}");
        let parts = b"--x-1\r\nContent-Disposition: form-data; name=\"phone\"\r\n\r\n11900000001\r\n--x-1--\r\n";
        let case = text(
            &sampled(parts).expect("it is a form"),
            "golden/lead/case.json",
        );
        assert!(case.contains("boundary=\\\"x-1\\\""), "{case}");
        assert!(case.contains("\"phones\""), "{case}");
    }

    #[test]
    fn a_sample_of_another_format_is_refused_with_the_reason() {
        let refused = |body: &[u8]| sampled(body).expect_err("it is refused");
        let said = refused(b"{\"id\": 1");
        assert!(said.contains("neither JSON (EOF"), "{said}");
        let said = refused(b"<a><b></a>");
        assert!(said.contains("not valid XML"), "{said}");
        let said = refused(&vec![b' '; leadhost_golden::MAX_PACKED_BYTES + 1]);
        assert!(said.contains("1048577 bytes"), "{said}");
    }

    #[test]
    fn the_questions_by_which_answers_are_found_are_not_masked() {
        let body = br#"{"id": 1, "name": "Ana Lima", "email": "ana@example.com",
            "fields": [{"name": "Unit type", "value": "loft"}, {"name": "City", "value": "Santos"}]}"#;
        let sample = sampled(body).expect("it is read");
        let shown = text(&sample, &sample.body);
        assert!(
            shown.contains("Unit type") && !shown.contains("Lima"),
            "{shown}"
        );
        let case = text(&sample, "golden/lead/case.json");
        assert!(case.contains("loft"), "{case}");
    }
}
