//! Workspaces over the admin API, and their owners and agents without the whole
//! file.

use leadhost_tests::{Json, On, fields, has};
use serde_json::{Value, json};

use super::{Operator, workspace};

leadhost_tests::on_every_store! {
    workspaces_are_listed_and_found_by_id_and_slug,
    an_owner_is_known_by_the_address_however_it_is_written,
    owners_of_a_file_and_of_a_list_are_the_same_people,
    a_list_with_problems_is_refused_whole_with_all_of_them,
    a_part_changes_nothing_else_of_its_workspace,
    an_agent_is_made_and_changed_and_keeps_its_channel,
}

async fn put(operator: &Operator, path: &str, list: &Value) -> Value {
    let ask = operator.ask("PUT", path).json(list);
    ask.send().await.expect(200).json()["changes"].clone()
}

async fn workspaces_are_listed_and_found_by_id_and_slug(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    operator.host.workspace("beta").await;
    let listed = operator.get("/workspaces").await;
    let slugs = listed["workspaces"].list().iter();
    let slugs: Vec<_> = slugs.map(|one| &one["slug"]).collect();
    assert_eq!(slugs, ["acme", "beta"]);
    let acme = &listed["workspaces"][0];
    fields!(acme, {"name": "Acme", "timeZone": "America/Sao_Paulo"});
    for which in ["acme", acme["id"].text()] {
        let owners = operator.get(&format!("/workspaces/{which}/owners")).await;
        assert_eq!(owners, json!({"workspace": "acme", "owners": []}));
    }
    for which in ["nope", "17", "00000000-0000-7000-8000-000000000000"] {
        let path = format!("/workspaces/{which}/owners");
        let missing = operator.ask("GET", &path).send().await.expect(404);
        has!(missing, "leadhost workspace list");
        let missing = operator.ask("PUT", &path).json(&json!([])).send().await;
        missing.expect(404);
    }
}

async fn an_owner_is_known_by_the_address_however_it_is_written(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let path = "/workspaces/acme/owners";
    let change = |what: &str| json!([{"kind": "owner", "name": "nilda@example.com", "what": what}]);
    let nilda = json!([{"name": "Nilda", "email": " Nilda@Example.COM "}]);
    assert_eq!(
        put(&operator, &format!("{path}?dryRun=true"), &nilda).await,
        change("created")
    );
    assert_eq!(operator.get(path).await["owners"], json!([]));
    assert_eq!(put(&operator, path, &nilda).await, change("created"));
    assert_eq!(put(&operator, path, &nilda).await, json!([]));
    let renamed = json!([{"name": "Nilda Prado", "email": "nilda@example.com"}]);
    assert_eq!(put(&operator, path, &renamed).await, change("changed"));
    let other = json!([{"name": "Olavo", "email": "olavo@example.com"}]);
    put(&operator, path, &other).await;
    let owners = operator.get(path).await["owners"].clone();
    let shown = owners.as_array().unwrap().iter();
    let mut emails: Vec<_> = shown
        .map(|owner| (owner["email"].clone(), owner["name"].clone()))
        .collect();
    emails.sort_by_key(|(email, _)| email.to_string());
    assert_eq!(
        emails,
        [
            (json!("nilda@example.com"), json!("Nilda Prado")),
            (json!("olavo@example.com"), json!("Olavo")),
        ]
    );
}

async fn owners_of_a_file_and_of_a_list_are_the_same_people(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let mut file = workspace();
    file["owners"] = json!([{"name": "Nilda", "email": "<Nilda@Example.com>"}]);
    let applied = operator.apply(&file).await.expect(200).json();
    assert_eq!(applied["changes"][0]["name"], "nilda@example.com");
    let list = json!([{"name": "Nilda", "email": "nilda@example.com"}]);
    let changes = put(&operator, "/workspaces/acme/owners", &list).await;
    assert_eq!(changes, json!([]));
}

async fn a_list_with_problems_is_refused_whole_with_all_of_them(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let check = async |part: &str, list: Value, parts: &[&str]| {
        let path = format!("/workspaces/acme/{part}");
        let answer = operator.ask("PUT", &path).json(&list).send().await;
        let problems = answer.expect(422).json()["problems"].to_string();
        for expected in parts {
            has!(problems, expected; "{expected}");
        }
    };
    let good = json!({"name": "Nilda", "email": "nilda@example.com"});
    check("owners", json!({}), &["expected a list, found a table"]).await;
    check("owners", Value::Null, &["expected a list"]).await;
    check(
        "owners",
        json!([good, good, {"email": "nobody"}, {"name": "a\u{0}", "email": "a@b.co", "age": 7}]),
        &[
            "owners[1].email",
            "is declared twice",
            "`nobody`: expected an e-mail address",
            "owners[2].name",
            "U+0000",
            "owners[3].age",
        ],
    )
    .await;
    check(
        "agents",
        json!([{"name": "Rui", "kind": "robot"}, {"adapter": "sandbox"}, {"name": "Sá", "number": "12"}]),
        &[
            "expected ai or human",
            "agents[1].name",
            "agents[1].adapter",
            "agents[2].number",
        ],
    )
    .await;
    assert_eq!(
        operator.get("/workspaces/acme/owners").await["owners"],
        json!([])
    );
}

async fn a_part_changes_nothing_else_of_its_workspace(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let list = json!([{"name": "Nilda", "email": "nilda@example.com"}]);
    put(&operator, "/workspaces/acme/owners", &list).await;
    put(&operator, "/workspaces/acme/agents", &json!([])).await;
    let again = operator.apply(&workspace()).await.expect(200).json();
    assert_eq!(again["changes"], json!([]));
}

async fn an_agent_is_made_and_changed_and_keeps_its_channel(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    operator.activate("adapter-sandbox").await;
    let mut file = workspace();
    file["instances"] = json!([{"name": "bot", "adapter": "sandbox"}]);
    operator.apply(&file).await.expect(200);

    let path = "/workspaces/acme/agents";
    let change = |name: &str, what: &str| json!({"kind": "agent", "name": name, "what": what});
    let list = json!([
        {"name": "bot", "number": "+5511912345678"},
        {"name": "Rui", "kind": "human", "internal": true},
    ]);
    let changes = put(&operator, path, &list).await;
    let expect = json!([change("bot", "changed"), change("Rui", "created")]);
    assert_eq!(changes, expect);
    assert_eq!(put(&operator, path, &list).await, json!([]));
    let agents = operator.get(path).await["agents"].clone();
    let of = |name: &str| {
        let mut agents = agents.as_array().unwrap().iter();
        agents.find(|agent| agent["name"] == name).unwrap().clone()
    };
    let bot = of("bot");
    fields!(bot, {"adapter": "sandbox", "channel": "sandbox", "number": "+5511912345678"});
    assert_eq!(of("Rui")["kind"], "human");
    assert_eq!(of("Rui")["internal"], true);

    let human = json!([{"name": "bot", "kind": "human"}]);
    let refused = operator.ask("PUT", path).json(&human).send().await;
    has!(refused.expect(422), "agents[0].kind");
}
