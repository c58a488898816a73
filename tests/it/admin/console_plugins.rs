//! Plugins in the console: their calls, acceptance of a version, uploads, impact and repairs.

use leadhost_golden::append_custom;
use leadhost_tests::components::component;
use leadhost_tests::guests::{Variant, rust_component};
use leadhost_tests::{Answer, Json, On, eventually, has, lacks};
use serde_json::json;

use super::console::{Browser, origin};
use super::roles::with_role;
use super::{Operator, TOKEN};
use crate::plugins::rollout::{LONG, Rolling, canary, phones};
use crate::plugins::wrong_values::{people, person, reading};

leadhost_tests::on_every_store! {
    the_calls_and_golden_cases_of_a_plugin_are_shown,
    a_version_with_concerns_asks_for_acceptance_and_is_activated_with_it,
    an_operator_is_not_offered_a_concern_that_an_admin_has_to_accept,
    wrong_values_are_shown_as_harm_before_and_after_an_activation,
    a_version_that_keeps_failing_is_named_first_with_its_remedy,
    a_version_that_a_canary_ended_is_named_also_after_the_next_rollout,
    a_plugin_that_was_never_active_is_neither_fine_nor_compared,
    the_page_of_a_plugin_follows_an_open_rollout_and_names_its_candidate,
    the_way_back_comes_first_and_a_step_says_what_it_waits_for,
    a_version_is_repaired_from_its_impact_and_the_repair_is_undone,
    a_repair_that_cannot_be_is_refused_with_the_reason,
    a_component_is_uploaded_and_serves_nothing,
    an_upload_is_refused_without_its_token_its_role_or_a_file_that_fits,
}

async fn the_calls_and_golden_cases_of_a_plugin_are_shown(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    operator.lead(&report, TOKEN, "1").await.expect(200);
    let browser = Browser::signed_in(&operator).await;
    for period in ["hour", "day", "week"] {
        let page = browser
            .page(&format!("/plugins/mapping?period={period}"))
            .await;
        has!(page, "Numbers of Calls by outcome");
        has!(page, "Numbers of Processor time of a call");
        has!(page, "Numbers of Most memory of a call");
        has!(page, "ms within a request", "of 128 MiB");
        has!(page, "never more than the 16 MiB allowed");
        has!(page, "alone, in memory, since it started");
    }
    assert_eq!(
        browser.get("/plugins/mapping?period=year").await.status,
        400
    );

    let page = browser.page("/plugins/mapping").await;
    let (_, link) = page
        .split_once("href=\"/console/plugins/mapping/golden/")
        .expect("a link to the golden cases");
    let path = format!(
        "/plugins/mapping/golden/{}",
        link.split_once('"').expect("its end").0
    );
    let page = browser.page(&path).await;
    has!(page, "<h1>Golden cases of mapping");
    let (_, link) = page.split_once("?case=").expect("a case");
    let case = link.split_once('"').expect("its end").0;
    let page = browser.page(&format!("{path}?case={case}")).await;
    has!(page, "<h3>Expected answer</h3>");
    assert_eq!(
        browser.get(&format!("{path}?case=nothing")).await.status,
        404
    );
    assert_eq!(browser.get("/plugins/mapping/golden/x").await.status, 400);
}

async fn a_version_with_concerns_asks_for_acceptance_and_is_activated_with_it(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    operator.lead(&report, TOKEN, "1").await.expect(200);
    // The same converter without its golden cases is another version.
    let wasm = rust_component("converter-mapping");
    let ask = operator.ask("POST", "/plugins").body(wasm);
    let stored = ask.send().await.expect(201).json();
    let digest = stored["digest"].text();
    let browser = Browser::signed_in(&operator).await;
    let fields = [("digest", digest)];
    // A comparison names them too.
    let compared = browser.submit("/plugins/mapping/verify", &fields).await;
    let compared = compared.expect(200);
    has!(
        compared,
        "Apart from this comparison, an activation would raise:",
        "accepted by the word fewer-cases"
    );
    let asked = browser.submit("/plugins/mapping/activate", &fields).await;
    let asked = asked.expect(200);
    has!(asked, "value=\"fewer-cases\"");
    let said = "The version is not activated yet. Read this, and accept it if it is intended:";
    has!(asked, said);
    // The list of what was done with it has the words of the audit.
    let done = asked.text().find("Recent actions");
    lacks!(&asked.text()[..done.expect("the list")], "--accept");
    let (_, done) = asked.text().split_once("Recent actions").expect("a list");
    has!(done, " UTC</time> ");
    has!(done, " tried to activate the plugin mapping");
    lacks!(done, "&#34;", "&quot;");

    let accepted: Vec<&str> = ["fewer-cases", "same-version"]
        .into_iter()
        .filter(|word| asked.text().contains(&format!("value=\"{word}\"")))
        .collect();
    let mut fields = vec![("digest", digest)];
    fields.extend(accepted.iter().map(|word| ("accept", *word)));
    let page = browser.follow("/plugins/mapping/activate", &fields).await;
    has!(page, "is active.", "Roll back to this version");
    operator.lead(&report, TOKEN, "2").await.expect(200);
    let page = browser.follow("/plugins/mapping/rollback", &[]).await;
    has!(page, "is rolled back to", "leadhost plugin impact mapping@");
    let audit = browser.page("/audit").await;
    let said = "rolled back the plugin mapping to 1";
    has!(audit, said);
    // A version that was rolled back is marked, and the page offers no rollback to it.
    has!(
        page,
        "<span class=\"tag rolled-back\">was rolled back</span>",
        "<button data-busy>Activate</button>"
    );
    lacks!(page, "Roll back to");
    has!(browser.page("").await, "was rolled back; see what it did");
    // Another version has converted its delivery since: nothing is left of it.
    let of_version = format!("/deliveries?version={digest}&limit=1");
    let list = operator.get(&of_version).await;
    let id = list["deliveries"][0]["id"].text();
    let replay = format!("/deliveries/{id}/replay");
    browser.follow(&replay, &[("apply", "1")]).await;
    lacks!(browser.page("").await, "was rolled back; see what it did");

    // A second rollback would activate the other version again, so the page asks for confirmation.
    let asked = browser.submit("/plugins/mapping/rollback", &[]).await;
    has!(asked.expect(200), "value=\"rolled-back\"");
    let accepted = [("accept", "rolled-back")];
    let page = browser.follow("/plugins/mapping/rollback", &accepted).await;
    has!(page, "is rolled back to", "Roll back to this version");
}

async fn an_operator_is_not_offered_a_concern_that_an_admin_has_to_accept(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let second = with_role(&operator, "operator").await;
    let ask = operator.host.admin("POST", "/admin/v1/plugins");
    let stored = ask.bearer(&second);
    let stored = stored.body(rust_component("converter-mapping"));
    let stored = stored.send().await.expect(201).json();
    let digest = stored["digest"].text();
    let browser = Browser::signed_in_with(&operator, second.reveal()).await;
    for (form, fields, button) in [
        ("activate", vec![("digest", digest)], "Activate"),
        (
            "rollout",
            vec![("digest", digest), ("mode", "canary")],
            "Start a canary",
        ),
    ] {
        let path = format!("/plugins/mapping/{form}");
        let asked = browser.submit(&path, &fields).await.expect(200);
        let page = asked.text();
        has!(
            page,
            "An admin has to accept this (new-publisher); your key has the role operator.",
            &format!("presses &#34;{button}&#34; of ")
        );
        lacks!(page, "I accept this");
    }
    // The admin is asked as before.
    let admin = Browser::signed_in(&operator).await;
    let asked = admin
        .submit("/plugins/mapping/activate", &[("digest", digest)])
        .await;
    let page = asked.expect(200).text().to_owned();
    has!(page, "I accept this");
    lacks!(page, "An admin has to accept");
}

async fn a_version_that_keeps_failing_is_named_first_with_its_remedy(on: On) {
    let operator = Operator::working(on).await;
    let mended = |version| Variant::version(version).mended("trap");
    operator.host.converter(mended("1.0.0").component()).await;
    let stored = operator.ask("POST", "/plugins");
    let stored = stored.body(mended("1.1.0").component());
    let stored = stored.send().await.expect(201).json();
    let candidate = stored["digest"].text();
    let browser = Browser::signed_in(&operator).await;
    let fields = [("digest", candidate), ("mode", "shadow")];
    browser.follow("/plugins/misbehave/rollout", &fields).await;
    let abort = [("change", "abort")];
    browser
        .follow("/plugins/misbehave/rollout/change", &abort)
        .await;
    let mut file = super::workspace();
    file["connections"] = json!([{
        "name": "portal", "partner": "crm", "instance": "bot", "plugin": "misbehave",
        "config": {"do": "trap", "size": 0},
    }]);
    let report = operator.apply(&file).await.expect(200).json();
    let id = report["connections"]["portal"].text();
    let failing = Variant::version("1.2.0");
    operator.host.converter(failing.component()).await;
    for _ in 0..3 {
        let ask = operator.host.post(&format!("/ingest-lead/{id}"));
        ask.send().await.expect(200);
    }
    has!(browser.page("/plugins").await, "1 connection fails");
    let page = browser.page("/plugins/misbehave").await;
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part}: {page}"));
    assert!(
        at("acme/portal keeps failing with 1.2.0") < at("aria-label=\"Rollout\""),
        "{page}"
    );
    at("The remedy is to roll back to 1.0.0");
    at(">Roll back to 1.0.0</button>");
    let page = browser.follow("/plugins/misbehave/rollback", &[]).await;
    has!(page, "is rolled back to 1.0.0");
    lacks!(page, "Roll back to");
}

async fn a_version_that_a_canary_ended_is_named_also_after_the_next_rollout(on: On) {
    let rolling = Rolling::new(on).await;
    let candidate = rolling.keep(phones("1.1.0")).await;
    let other = rolling.keep(phones("1.2.0")).await;
    rolling.begin(&candidate, canary(&[100], LONG)).await;
    eventually("the candidate converts", async || {
        let converted_by = rolling.send("odd", 1).await;
        converted_by == [candidate.clone()]
    })
    .await;
    rolling.change("abort").await.expect(200);
    let order = json!({ "mode": "shadow", "everySeconds": LONG });
    rolling.begin(&other, order).await;
    let Rolling { host, key, .. } = rolling;
    let operator = Operator { host, key };
    let browser = Browser::signed_in(&operator).await;
    let today = browser.page("").await;
    let named = format!("version 1.1.0 ({}) of misbehave", candidate.short());
    has!(today, &named; "{named}");
}

async fn wrong_values_are_shown_as_harm_before_and_after_an_activation(on: On) {
    let rolling = people(on).await;
    let address = rolling.declared.address("odd");
    for number in 1..=9 {
        person(&rolling.host, &address, number).await;
    }
    let candidate = rolling.keep(reading("1.1.0", "beside")).await;
    let order = json!({ "digest": candidate.0, "accept": ["drift"] });
    let Rolling { host, key, .. } = rolling;
    let operator = Operator { host, key };
    let browser = Browser::signed_in(&operator).await;
    let fields = [("digest", candidate.0.as_str())];
    let page = browser.answer("/plugins/misbehave/verify", &fields, 200);
    let page = page.await;
    let harm = "<p class=\"notice bad\">7 of 9 leads gain a phone that others gain too";
    has!(
        page,
        harm,
        "An activation would be refused because of this comparison"
    );
    lacks!(page, "class=\"notice good\"");
    let activate = operator.ask("POST", "/plugins/misbehave/activate");
    activate.json(&order).send().await.expect(200);
    for number in 11..=14 {
        person(&operator.host, &address, number).await;
    }
    let page = browser.answer("/plugins/misbehave/impact", &fields, 200);
    let page = page.await;
    has!(page, "phone gained: 4");
    lacks!(page, "no lead is worse with it");
}

async fn a_plugin_that_was_never_active_is_neither_fine_nor_compared(on: On) {
    let operator = Operator::new(on).await;
    let browser = Browser::signed_in(&operator).await;
    let wasm = rust_component("converter-mapping");
    upload(&browser, &browser.token, &wasm).await.expect(303);
    let page = browser.page("/plugins/mapping").await;
    has!(page, "No version of it is active: activate it.");
    has!(page, "<button data-busy>Activate</button>");
    lacks!(page, "Compare with the active version", "Start a canary");
    let page = browser.page("/plugins").await;
    has!(page, "not active yet");
    lacks!(page, ">fine<");
}

async fn the_page_of_a_plugin_follows_an_open_rollout_and_names_its_candidate(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let wasm = rust_component("converter-mapping");
    let stored = operator.ask("POST", "/plugins").body(wasm).send().await;
    let stored = stored.expect(201).json();
    let digest = stored["digest"].text();
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page("/plugins/mapping").await;
    lacks!(page, "data-live");
    has!(page, "Start a canary");
    // A form with a wrong field keeps what was typed.
    let wrong = [
        ("digest", digest),
        ("mode", "canary"),
        ("steps", "1;10"),
        ("every-minutes", "7"),
    ];
    let refused = browser.submit("/plugins/mapping/rollout", &wrong).await;
    let refused = refused.expect(400);
    has!(refused, "write percentages as", "value=\"1;10\"");
    has!(refused, "value=\"7\"");
    let fields = [("digest", digest), ("mode", "shadow")];
    let page = browser.follow("/plugins/mapping/rollout", &fields).await;
    has!(page, "data-live");
    let candidate = "<span class=\"tag candidate\">candidate</span>";
    has!(page, candidate);
    lacks!(page, "Start a canary");
    // The answer to a form is not read again.
    let page = browser
        .answer("/plugins/mapping/verify", &[("digest", digest)], 200)
        .await;
    lacks!(page, "data-live");
    let abort = [("change", "abort")];
    let page = browser.follow("/plugins/mapping/rollout/change", &abort);
    let page = page.await;
    lacks!(page, "data-live");
    has!(page, "Start a canary");
    has!(page, "The rollout of mapping is rolled back: ");
    has!(page, "Last rollout (ended): shadow");
}

fn rollout_of(page: &str) -> &str {
    let (_, rest) = page
        .split_once("aria-label=\"Rollout\"")
        .expect("a rollout");
    rest.split_once("</section>").expect("its end").0
}

async fn the_way_back_comes_first_and_a_step_says_what_it_waits_for(on: On) {
    let rolling = Rolling::new(on).await;
    let candidate = rolling.keep(phones("1.1.0")).await;
    let mut order = canary(&[100], LONG);
    order["stepComparisons"] = json!(40);
    rolling.begin(&candidate, order.clone()).await;
    rolling.send("odd", 5).await;
    let compared = |shown: &serde_json::Value| shown["stepCompared"] == 5;
    rolling.until("five are compared", compared).await;
    let Rolling { host, key, .. } = rolling;
    let operator = Operator { host, key };
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page("/plugins/misbehave").await;
    let part = rollout_of(&page);
    let at = |text: &str| part.find(text).unwrap_or_else(|| panic!("{text}: {part}"));
    for text in [
        "canary</span> 100 %, step 1 of 1, ",
        " min left",
        "<dt>In this step</dt><dd>5 comparisons; it needs 40</dd>",
        "<dt>Time of a conversion</dt><dd>stable ",
        " ms, candidate ",
    ] {
        at(text);
    }
    let buttons = [
        "value=\"abort\" class=\"risky\">Roll back<",
        ">Pause<",
        ">Promote now<",
        "<dt>Stage</dt>",
    ];
    assert!(buttons.map(at).is_sorted(), "{part}");
    lacks!(part, "class=\"strong\"");
    let change = "/plugins/misbehave/rollout/change";
    let page = browser.follow(change, &[("change", "abort")]).await;
    let text = "The rollout of misbehave is rolled back: 1.0.0 serves alone.";
    has!(page, text);

    // In the probation, too.
    order["digest"] = json!(candidate.0);
    let start = operator.ask("POST", "/plugins/misbehave/rollout");
    start.json(&order).send().await.expect(201);
    browser.follow(change, &[("change", "promote")]).await;
    let page = browser.page("/plugins/misbehave").await;
    let part = rollout_of(&page);
    let at = |text: &str| part.find(text).unwrap_or_else(|| panic!("{text}: {part}"));
    let order = [">Roll back<", "<dt>Stage</dt>", "probation", " min left"];
    assert!(order.map(at).is_sorted(), "{part}");
    lacks!(part, "Promote now");
    has!(browser.follow(change, &[("change", "abort")]).await, text);
    let plugins = operator.get("/plugins").await;
    assert_ne!(plugins["plugins"][0]["digest"], json!(candidate.0));
}

/// A host that has converted a lead with a version that read another name, and now serves another
/// version. Returns the digest of the former.
async fn repairable(on: On) -> (Operator, String) {
    let operator = Operator::working(on).await;
    let right = component("plugins/converter-mapping.wasm");
    let former = append_custom(&right, "variant", b"former").expect("a component");
    let former = operator.host.converter(former).await;
    let mut file = super::workspace();
    file["connections"][0]["config"] = json!({"fields": {"name": "id"}});
    let report = operator.apply(&file).await.expect(200).json();
    operator.lead(&report, TOKEN, "lead-1").await.expect(200);
    file["connections"][0]["config"] = json!({"fields": {"name": "name"}});
    operator.apply(&file).await.expect(200);
    operator.host.converter(right).await;
    (operator, former.0)
}

/// Waits until no host works on the repair to whose page a form led. Returns its address.
async fn ended(operator: &Operator, answer: Answer) -> String {
    let answer = answer.expect(303);
    let to = answer.header("location").to_owned();
    let path = to.strip_prefix("/console").expect("a page of the console");
    assert!(path.starts_with("/repairs/"), "{path}");
    operator.repair_ends(path).await;
    path.to_owned()
}

async fn a_version_is_repaired_from_its_impact_and_the_repair_is_undone(on: On) {
    let (operator, former) = repairable(on).await;
    let browser = Browser::signed_in(&operator).await;
    let fields = [("digest", former.as_str()), ("since", "24h")];
    let page = browser.answer("/plugins/mapping/impact", &fields, 200);
    let page = page.await;
    has!(page, "<h2>Impact of", "name=\"since\" value=\"24h\"");
    has!(page, "Count what it would change", "<option>phone</option>");

    let of = [("converted-by", former.as_str()), ("plugin", "mapping")];
    let counted = ended(&operator, browser.submit("/repairs", &of).await).await;
    let page = browser.page(&counted).await;
    has!(page, "What it would change", "Write these changes");
    has!(page, "name 1");
    lacks!(page, "<h2>Receipt</h2>");

    let order: Vec<_> = of.into_iter().chain([("apply", "1")]).collect();
    let repaired = ended(&operator, browser.submit("/repairs", &order).await).await;
    let page = browser.page(&repaired).await;
    has!(
        page,
        "The repair has begun",
        "1 converted again of 1",
        "<p class=\"notice good\" role=\"status\">The delivery was converted again.</p>",
        "<h2>Receipt</h2>",
        "<td>contact.name</td>",
        "Ada Prado",
        ">Undo</button>"
    );
    lacks!(page, "Undo the changes");
    let listed = browser.page("/repairs").await;
    has!(listed, &format!("href=\"/console{repaired}\""));

    // It asks first, and undoes them when that is confirmed.
    let undo = format!("{repaired}/undo");
    let asked = browser.submit(&undo, &[]).await.expect(200);
    has!(asked, "Undo the changes");
    assert_eq!(operator.get(&repaired).await["undo"], json!(null));
    let confirmed = browser.submit(&undo, &[("confirmed", "1")]).await;
    ended(&operator, confirmed).await;
    let page = browser.page(&repaired).await;
    has!(page, "<span class=\"tag undone\">", "<dt>Undone</dt>");
    has!(page, "undone.</p>");
    lacks!(page, ">Undo</button>");
    let audit = operator.get("/audit?act=undo-repair").await;
    assert_eq!(audit["rows"].list().len(), 2, "{audit:#}");
}

async fn a_repair_that_cannot_be_is_refused_with_the_reason(on: On) {
    let (operator, former) = repairable(on).await;
    let browser = Browser::signed_in(&operator).await;
    let plugins = operator.get("/plugins").await;
    let active = plugins["plugins"][0]["digest"].text();
    let check = async |by: &Browser<'_>, path: &str, fields: &[(&str, &str)], part: &str| {
        let page = by.follow(path, fields).await;
        has!(page, "notice bad", part; "{path}");
    };
    check(&browser, "/repairs", &[("converted-by", active)], "active").await;
    check(
        &browser,
        "/repairs",
        &[("converted-by", "9.9.9")],
        "There is no version",
    )
    .await;
    let odd = [("converted-by", former.as_str()), ("field", "odd")];
    check(&browser, "/repairs", &odd, "Choose the field").await;
    let impact = [("digest", "abc")];
    check(&browser, "/plugins/mapping/impact", &impact, "too short").await;

    let order = [("converted-by", former.as_str()), ("apply", "1")];
    let path = ended(&operator, browser.submit("/repairs", &order).await).await;
    check(&browser, &format!("{path}/cancel"), &[], "not").await;

    // A viewer sees everything and changes nothing.
    let viewer = Browser::with_role(&operator, "viewer").await;
    let page = viewer.page(&path).await;
    assert_eq!(page.matches("method=\"post\"").count(), 1, "{page}");
    has!(page, "<td>contact.name</td>");
    let undo = format!("{path}/undo");
    let confirmed = [("confirmed", "1")];
    check(&viewer, "/repairs", &order, "needs the role operator").await;
    check(&viewer, &undo, &confirmed, "needs the role operator").await;
    let asked = viewer.submit(&undo, &[]).await.expect(200);
    lacks!(asked, "Undo the changes");
    assert_eq!(operator.get(&path).await["state"], "done");
}

async fn upload(browser: &Browser<'_>, token: &str, file: &[u8]) -> Answer {
    let part = |disposition: &str, content: &[u8]| {
        let head = format!("--xyz\r\nContent-Disposition: form-data; {disposition}\r\n\r\n");
        [head.as_bytes(), content, b"\r\n"].concat()
    };
    let body = [
        part("name=\"form-token\"", token.as_bytes()),
        part("name=\"component\"; filename=\"a.wasm\"", file),
        b"--xyz--\r\n".to_vec(),
    ];
    browser
        .ask("POST", "/plugins")
        .header("origin", &origin(browser.operator))
        .header("content-type", "multipart/form-data; boundary=xyz")
        .body(body.concat())
        .send()
        .await
}

async fn a_component_is_uploaded_and_serves_nothing(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let browser = Browser::signed_in(&operator).await;
    let before = operator.get("/plugins").await;
    let wasm = rust_component("converter-mapping");
    let answer = upload(&browser, &browser.token, &wasm).await.expect(303);
    assert_eq!(answer.header("location"), "/console/plugins/mapping");
    let page = browser.page("/plugins/mapping").await;
    has!(page, "is stored and not active", ">upload-plugin<");
    let after = operator.get("/plugins").await;
    let plugin = |list: &serde_json::Value| list["plugins"][0].clone();
    assert_eq!(plugin(&after)["digest"], plugin(&before)["digest"]);
    assert_eq!(plugin(&after)["versions"].as_array().map(Vec::len), Some(2));
}

async fn an_upload_is_refused_without_its_token_its_role_or_a_file_that_fits(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let browser = Browser::signed_in(&operator).await;
    let wasm = rust_component("converter-mapping");
    upload(&browser, "wrong", &wasm).await.expect(403);
    upload(&browser, &browser.token, b"no component")
        .await
        .expect(303);
    has!(browser.page("/plugins").await, "notice bad");
    upload(&browser, &browser.token, b"").await.expect(303);
    let page = browser.page("/plugins").await;
    has!(page, "Choose the file of a component.");
    let large = vec![0; 5 << 20];
    let viewer = Browser::with_role(&operator, "viewer").await;
    upload(&viewer, &viewer.token, &large).await.expect(413);
    upload(&viewer, &viewer.token, &wasm[..1_000])
        .await
        .expect(303);
    has!(viewer.page("/plugins").await, "needs the role operator");
    let list = operator.get("/plugins").await;
    assert_eq!(
        list["plugins"][0]["versions"].as_array().map(Vec::len),
        Some(1)
    );
}
