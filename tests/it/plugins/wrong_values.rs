//! Versions that read each lead, and write wrong values into it: a verification and an activation refuse them,
//! and a rollout takes them back.

use leadhost_tests::guests::Variant;
use leadhost_tests::{Answer, Host, Json, On, eventually, fields, has};
use serde_json::{Value, json};

use super::rollout::{LONG, Rolling, canary, connection, version, why};

leadhost_tests::on_every_store! {
    wrong_values_refuse_an_activation_and_drift_accepts_them,
    a_version_that_changes_no_more_leads_than_the_policy_allows_is_activated,
    a_value_that_two_people_gain_is_no_harm_and_one_that_three_gain_is,
    a_canary_that_changes_a_digit_is_rolled_back_and_stores_no_wrong_phone,
    a_canary_that_adds_one_phone_to_all_leads_is_rolled_back,
}

const CHANGED: &str = "leads change a phone, for example in delivery ";
const GAINED: &str = "leads gain a phone that others gain too, for example in delivery ";

/// A version that reads people wrong in this way.
pub(crate) fn reading<'a>(number: &'a str, wrong: &'a str) -> Variant<'a> {
    version(number).always("person").prefix(wrong)
}

/// A host whose stable version reads people right.
pub(crate) async fn people(on: On) -> Rolling {
    let stable = reading("1.0.0", "");
    Rolling::with_stable(Host::working(on).await, &connection("odd", "{}"), stable).await
}

/// Sends the lead of a person with a phone that ends in this number.
pub(crate) async fn person(host: &Host, address: &str, number: usize) {
    let lead = json!({
        "id": format!("lead-{number}"),
        "name": format!("Person {number}"),
        "phone": format!("1198765{number:04}"),
    });
    host.post(address).json(&lead).send().await.expect(200);
}

async fn persons(rolling: &Rolling, numbers: impl IntoIterator<Item = usize>) {
    let address = rolling.declared.address("odd");
    for number in numbers {
        person(&rolling.host, &address, number).await;
    }
}

/// Returns the differences for which an activation would be refused.
async fn drift(rolling: &Rolling, candidate: Variant<'_>) -> Vec<String> {
    let ask = rolling.ask("POST", "/plugins/verify");
    let answer = ask.body(candidate.component()).send().await;
    let verified = answer.expect(200).json();
    let drift = verified["drift"].list().iter();
    drift
        .map(|one| one.as_str().expect("a text").to_owned())
        .collect()
}

async fn activate(rolling: &Rolling, candidate: Variant<'_>, accept: &str) -> Answer {
    let ask = rolling.ask("POST", &format!("/plugins?activate=true{accept}"));
    ask.body(candidate.component()).send().await
}

async fn wrong_values_refuse_an_activation_and_drift_accepts_them(on: On) {
    let rolling = people(on).await;
    persons(&rolling, 1..=9).await;
    assert_eq!(drift(&rolling, reading("1.1.0", "")).await, [""; 0]);
    for (wrong, many, what) in [
        ("broker", 9, CHANGED),
        ("digit", 9, CHANGED),
        // The first two might be of one person.
        ("beside", 7, GAINED),
    ] {
        let candidate = || reading("1.1.0", wrong);
        let expect = format!("{many} of 9 {what}");
        let found = drift(&rolling, candidate()).await;
        let is_so = found.len() == 1 && found[0].starts_with(&expect);
        assert!(is_so, "{wrong}: {found:?}");
        let refused = activate(&rolling, candidate(), "").await.expect(409).json();
        fields!(refused, {"accept": ["drift"], "verification.altered": many});
        has!(refused["error"], &expect; "{wrong}");
        assert_eq!(rolling.serves(), rolling.stable);
    }
    let accepted = activate(&rolling, reading("1.1.0", "broker"), "&accept=drift").await;
    assert_eq!(accepted.expect(201).json()["active"], true);
}

async fn a_version_that_changes_no_more_leads_than_the_policy_allows_is_activated(on: On) {
    let rolling = people(on).await;
    // One of a hundred phones ends in 0.
    persons(&rolling, (0..99).map(|ten| ten * 10 + 1)).await;
    persons(&rolling, [1000]).await;
    let candidate = || reading("1.1.0", "digit-0");
    assert_eq!(drift(&rolling, candidate()).await, [""; 0]);
    persons(&rolling, [1010]).await;
    let found = drift(&rolling, candidate()).await;
    let expect = format!("2 of 101 {CHANGED}");
    let is_so = found.len() == 1 && found[0].starts_with(&expect);
    assert!(is_so, "{found:?}");
    persons(&rolling, (0..99).map(|ten| ten * 10 + 2)).await;
    let activated = activate(&rolling, candidate(), "").await.expect(201).json();
    assert_eq!(activated["verification"]["altered"], 2, "{activated:#}");
}

async fn a_value_that_two_people_gain_is_no_harm_and_one_that_three_gain_is(on: On) {
    let rolling = people(on).await;
    persons(&rolling, [10, 20, 31, 41]).await;
    let candidate = || reading("1.1.0", "beside-0");
    assert_eq!(drift(&rolling, candidate()).await, [""; 0]);
    persons(&rolling, [30]).await;
    let found = drift(&rolling, candidate()).await;
    let expect = format!("1 of 5 {GAINED}");
    let is_so = found.len() == 1 && found[0].starts_with(&expect);
    assert!(is_so, "{found:?}");
}

/// Sends people until the rollout is rolled back. Returns how many, and how it ended.
async fn until_rolled_back(rolling: &Rolling) -> (usize, Value) {
    let mut sent = 0;
    eventually("it is rolled back", async || {
        sent += 1;
        persons(rolling, [sent]).await;
        rolling.shown().await["stage"] == "rolled-back"
    })
    .await;
    assert_eq!(rolling.serves(), rolling.stable);
    (sent, rolling.ended().await)
}

/// Returns how many contacts have the phone that the source sent.
async fn right_phones(rolling: &Rolling, sent: usize) -> usize {
    let contacts = rolling.host.rows(&rolling.declared, "contacts").await;
    let has = |number: usize| {
        let phone = json!(format!("+551198765{number:04}"));
        contacts.iter().any(|one| one["phone_number"] == phone)
    };
    (1..=sent).filter(|number| has(*number)).count()
}

async fn a_canary_that_changes_a_digit_is_rolled_back_and_stores_no_wrong_phone(on: On) {
    let rolling = people(on).await;
    let candidate = rolling.keep(reading("1.1.0", "digit")).await;
    rolling.begin(&candidate, canary(&[100], LONG)).await;
    let (sent, ended) = until_rolled_back(&rolling).await;
    has!(why(&ended), "leads change a phone");
    let altered = ended["connections"][0]["altered"].as_u64();
    assert!(altered >= Some(3), "{ended:#}");
    assert_eq!(right_phones(&rolling, sent).await, sent);
}

async fn a_canary_that_adds_one_phone_to_all_leads_is_rolled_back(on: On) {
    let rolling = people(on).await;
    let candidate = rolling.keep(reading("1.1.0", "beside")).await;
    rolling.begin(&candidate, canary(&[100], LONG)).await;
    let (_, ended) = until_rolled_back(&rolling).await;
    has!(why(&ended), "gain a phone that others gain too");
    // Until a third person gains it, nothing shows that it is wrong.
    assert_eq!(ended["served"], 2, "{ended:#}");
}
