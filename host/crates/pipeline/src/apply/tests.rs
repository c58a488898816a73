//! From a file to its problems or its plan.

use super::binding::{AvailablePlugin, AvailablePlugins, DeclaredSecret};
use super::changed::{ChangedConnection, ChangedValue, changed_connections};
use super::declaration::{self, Declaration};
use super::outcome::ApplyError;
use super::plan::{Planned, plan};
use crate::prelude::*;
use leadhost_domain::connection::ConnectionSettings;
use leadhost_domain::plugin::{Description, SecretDeclaration};
use leadhost_domain::workspace::{Agent, AgentKind, PartKind};
use leadhost_egress::seal::Sealer;
use leadhost_input::{Issue, Schema};
use leadhost_store::{Applied, Plan, PlannedConnection};

fn plugins() -> AvailablePlugins {
    let secret = |name: &str, required| SecretDeclaration {
        name: name.to_owned(),
        kind: "static".to_owned(),
        summary: format!("what {name} is for"),
        required,
    };
    let forms = Description {
        name: "forms".to_owned(),
        version: "1.0.0".to_owned(),
        summary: "Forms.".to_owned(),
        config_schema: json!({
            "type": "object",
            "properties": {"form": {"type": "string"}, "depth": {"type": "integer", "minimum": 1}},
            "required": ["form"],
            "additionalProperties": false
        })
        .to_string(),
        secrets: vec![
            secret("app-secret", true),
            secret("verify-token", false),
            secret("page-token/*", true),
        ],
        hosts: vec!["Graph.example".to_owned()],
    };
    let bird = Description {
        name: "bird".to_owned(),
        version: "1.0.0".to_owned(),
        summary: "Carries messages.".to_owned(),
        config_schema: json!({
            "type": "object",
            "properties": {"nest": {"type": "string"}},
            "required": ["nest"]
        })
        .to_string(),
        secrets: vec![secret("token", true)],
        hosts: vec!["bird.example".to_owned()],
    };
    let active = |description: Description, kind| {
        let name = description.name.clone();
        (name, AvailablePlugin { description, kind })
    };
    BTreeMap::from([
        active(forms, PluginKind::Converter),
        active(bird, PluginKind::Adapter),
    ])
}

fn stored_instance() -> Agent {
    Agent {
        id: AgentId(9),
        workspace: WorkspaceId::new(Micros(0)),
        name: "earlier".to_owned(),
        number: None,
        kind: AgentKind::Ai,
        channel: Some("bird".to_owned()),
        adapter: Some("bird".to_owned()),
        internal: false,
    }
}

fn read(file: &Value, plugins: &AvailablePlugins) -> Result<Declaration, Vec<InputProblem>> {
    let reading = declaration::read(file, plugins, &[stored_instance()]);
    let checked = reading.unchecked.iter().map(|one| {
        let schema = Schema::read(&plugins[&one.plugin].description.config_schema)?;
        let issues = schema.issues(&one.config);
        Ok(issues.iter().flat_map(Issue::told).collect())
    });
    let checked = checked.collect();
    reading.checked(checked)
}

fn file() -> Value {
    json!({
        "workspace": {"slug": "acme", "name": "Acme"},
        "partners": [{"name": "crm"}],
        "instances": [{"name": "bot", "number": "+5511900000000", "kind": "ai"}],
        "owners": [{"name": "Nilda Prado", "email": "Nilda@Acme.example"}],
        "connections": [{
            "name": "site", "partner": "crm", "instance": "bot", "plugin": "forms",
            "config": {"form": "contact"},
            "secrets": {
                "app-secret": "hush-app",
                "verify-token": {"generate": "v-"},
                "page-token/77": "hush-page"
            },
            "routes": {"page-id": "77", "form-id": ["1", "2"]}
        }],
        "products": [{"external_id": "AP-1", "name": "Flat with a view"}],
        "keys": [{"kind": "partner", "label": "crm", "partner": "crm"}]
    })
}

fn with(change: impl FnOnce(&mut Value)) -> Value {
    let mut file = file();
    change(&mut file);
    file
}

fn declared(file: &Value) -> Declaration {
    read(file, &plugins()).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// Each expectation is a path and a part of the message; there are no other problems.
fn planned(sealer: &Sealer) -> Planned {
    plan(declared(&file()), WORKSPACE, &[], sealer, START).expect("planned")
}

fn check(file: &Value, expect: &[(&str, &str)]) {
    let problems = read(file, &plugins()).expect_err("it has problems");
    for (path, part) in expect {
        assert!(
            problems
                .iter()
                .any(|problem| problem.path == *path && problem.message.contains(part)),
            "no `{path}: {part}` in {problems:#?}"
        );
    }
    assert_eq!(problems.len(), expect.len(), "{problems:#?}");
}

#[test]
fn a_problem_of_a_connection_or_an_instance_has_its_name() {
    let check = |path: &str, message: &str, expect: &str| {
        let (path, message) = (path.to_owned(), message.to_owned());
        let error = ApplyError::Problems(vec![InputProblem { path, message }]);
        match error.with_names(&file()) {
            ApplyError::Problems(problems) => assert_eq!(problems[0].message, expect),
            other => panic!("{other}"),
        }
    };
    check("connections[0].config.form", "no", "no (connection `site`)");
    check("instances[0].number", "no", "no (instance `bot`)");
    check("connections[0].name", "`site` again", "`site` again");
    for path in [
        "",
        "workspace.slug",
        "keys[0].label",
        "connections",
        "connections[7].name",
    ] {
        check(path, "no", "no");
    }
}

#[test]
fn a_label_is_unique_within_its_kind() {
    let with = |kinds: [&str; 2]| {
        let keys = kinds.map(|kind| json!({"kind": kind, "label": "crm", "partner": "crm"}));
        with(|file| file["keys"] = json!(keys))
    };
    let declaration = declared(&with(["partner", "access-token"]));
    assert_eq!(declaration.keys.len(), 2);
    check(
        &with(["partner", "partner"]),
        &[("keys[1].label", "`crm` is declared twice")],
    );
}

#[test]
fn origins_are_written_as_browsers_send_them() {
    let with = |origins: Value| with(|file| file["connections"][0]["origins"] = origins);
    let named = json!(["https://www.example.com", "http://localhost:3000", "*"]);
    let declaration = declared(&with(named.clone()));
    assert_eq!(json!(declaration.connections[0].settings.origins), named);
    for wrong in [
        json!("https://www.example.com/"),
        json!("https://www.example.com:443"),
        json!("HTTPS://www.example.com"),
        json!("www.example.com"),
        json!("ftp://example.com"),
        json!(""),
        json!(7),
    ] {
        let file = with(json!([wrong]));
        check(
            &file,
            &[("connections[0].origins[0]", "expected an origin")],
        );
    }
}

#[test]
fn a_whole_file_reads_with_its_defaults() {
    let declaration = declared(&file());
    assert_eq!(declaration.region, "BR");
    assert_eq!(declaration.rate_limit, 120);
    assert_eq!(declaration.owners[0].email, "nilda@acme.example");
    let connection = &declaration.connections[0];
    assert!(connection.dedupe_by_content);
    // Without an allow-list, the plugin's hosts apply.
    assert_eq!(connection.binding.allow[0].authority, "graph.example");
    assert_eq!(connection.binding.routes["page-id"], ["77"]);
}

#[test]
fn regions_time_zones_and_numbers_that_do_not_exist_are_refused() {
    let file = with(|file| {
        file["workspace"]["region"] = json!("XX");
        file["workspace"]["time_zone"] = json!("America/Sao_Paolo");
        file["connections"][0]["region"] = json!("UK");
        file["connections"][0]["time_zone"] = json!("Mars/Olympus");
        file["instances"][0]["number"] = json!("the office");
    });
    check(
        &file,
        &[
            ("workspace.region", "`XX`: expected two capital letters"),
            ("workspace.time_zone", "`America/Sao_Paolo`: expected"),
            ("connections[0].region", "`UK`: expected"),
            ("connections[0].time_zone", "IANA"),
            ("instances[0].number", "`the office`: expected a phone"),
        ],
    );
}

#[test]
fn regions_time_zones_and_numbers_that_exist_are_accepted() {
    for (region, zone, number) in [
        ("PT", "Europe/Lisbon", "+351 912 345 678"),
        ("US", "America/Argentina/Buenos_Aires", "+1 206 555 0142"),
        ("BR", "UTC", "+55 (11) 98765-4321"),
    ] {
        let file = with(|file| {
            file["workspace"]["region"] = json!(region);
            file["workspace"]["time_zone"] = json!(zone);
            file["instances"][0]["number"] = json!(number);
        });
        let declaration = declared(&file);
        assert_eq!(declaration.time_zone, zone);
        assert_eq!(declaration.agents[0].number.as_deref(), Some(number));
    }
}

#[test]
fn an_instances_number_needs_a_country_code() {
    let file = with(|file| file["instances"][0]["number"] = json!("98765-4321"));
    check(&file, &[("instances[0].number", "country code")]);
}

#[test]
fn all_problems_are_reported_at_once_each_with_its_path() {
    let file = json!({
        "workspace": {"slug": "Acme Homes", "region": "br", "colour": "red"},
        "partners": [{"name": "crm"}, {"name": "crm"}],
        "instances": [{"name": "bot", "kind": "robot"}],
        "connections": [
            {
                "name": "site", "partner": "erp", "instance": "bot2", "plugin": "forms",
                "config": {"depth": 0}, "allow": ["http://10.0.0.1", "https://ok.example"],
                "secrets": {"app-secret": 7, "other": "x"}
            },
            {"name": "portal", "partner": "crm", "plugin": "portals"}
        ],
        "keys": [{"kind": "admin", "label": "root"}, {"kind": "partner", "label": "crm"}],
        "conections": []
    });
    check(
        &file,
        &[
            ("workspace.slug", "lower-case"),
            ("workspace.name", "missing"),
            ("workspace.region", "capital"),
            ("workspace.colour", "the fields are"),
            ("partners[1].name", "twice"),
            ("instances[0].kind", "ai or human"),
            (
                "connections[0].partner",
                "this file has no partner `erp`; it declares crm",
            ),
            ("connections[0].instance", "it declares bot"),
            ("connections[0].config", "form"),
            ("connections[0].config.depth", "minimum"),
            ("connections[0].allow[0]", "!private"),
            ("connections[0].secrets.app-secret", "expected a text"),
            (
                "connections[0].secrets.page-token/*",
                "what page-token/* is for",
            ),
            ("connections[1].plugin", "active are forms"),
            ("keys[0].kind", "expected partner"),
            ("keys[1].partner", "missing"),
            ("conections", "not a known field"),
        ],
    );
}

#[test]
fn the_character_zero_is_refused_wherever_it_is() {
    let config = with(|file| file["connections"][0]["config"]["form"] = json!("a\0"));
    check(&config, &[("connections[0].config.form", "U+0000")]);
    let name = with(|file| file["owners"][0]["name"] = json!("Nilda\0"));
    check(&name, &[("owners[0].name", "U+0000")]);
}

#[test]
fn an_unresolved_reference_is_reported_as_a_problem() {
    let file = with(|file| {
        file["connections"][0]["secrets"]["app-secret"] =
            json!({"unresolved": "the environment has no APP_SECRET"});
        file["workspace"]["slug"] = json!(7);
    });
    check(
        &file,
        &[
            ("connections[0].secrets.app-secret", "APP_SECRET"),
            ("workspace.slug", "found a number"),
        ],
    );
}

#[test]
fn an_undeclared_secret_is_left_for_the_plugin_to_judge() {
    let file = with(|file| file["connections"][0]["secrets"]["other"] = json!("hush"));
    let binding = &declared(&file).connections[0].binding;
    assert_eq!(binding.undeclared, ["other"]);
}

#[test]
fn a_plugin_without_a_schema_takes_no_configuration() {
    let mut plugins = plugins();
    if let Some(forms) = plugins.get_mut("forms") {
        forms.description.config_schema = String::new();
    }
    let problems = read(&file(), &plugins).expect_err("it has a configuration");
    assert!(
        problems[0].message.contains("takes no configuration"),
        "{problems:?}"
    );
}

#[test]
fn a_connection_may_add_a_check_for_a_secret_of_its_own() {
    let own = |header: &str| {
        with(|file| {
            file["connections"][0]["secrets"]["token"] = json!("hush");
            file["connections"][0]["checks"] = json!([{
                "secret": header, "scheme": "equals", "proof": {"place": "header", "name": "X-Token"}
            }]);
        })
    };
    let binding = &declared(&own("token")).connections[0].binding;
    assert_eq!(binding.checks.len(), 1);
    assert!(binding.undeclared.is_empty());
    check(
        &own("tokne"),
        &[("connections[0].checks[0].secret", "never run")],
    );
    let unknown = with(|file| {
        file["connections"][0]["secrets"]["token"] = json!("hush");
        file["connections"][0]["checks"] = json!([{
            "secret": "token", "scheme": "md5", "encoding": "base32",
            "proof": {"place": "trailer", "name": "X-Token"}, "signed": [{"kind": "cookies"}]
        }]);
    });
    check(
        &unknown,
        &[
            ("connections[0].checks[0].scheme", "md5"),
            ("connections[0].checks[0].encoding", "base32"),
            ("connections[0].checks[0].proof.place", "trailer"),
            ("connections[0].checks[0].signed[0].kind", "cookies"),
        ],
    );
}

#[test]
fn no_secret_is_in_a_problem_or_in_debug_output() {
    let file = with(|file| {
        file["connections"][0]["secrets"]["app-secret"] = json!(["hush-list"]);
        file["connections"][0]["secrets"]["page-token/77"] = json!({"value": "hush-table"});
    });
    let problems = read(&file, &plugins()).expect_err("it has problems");
    assert!(!format!("{problems:?}").contains("hush"));
    let declaration = declared(&self::file());
    assert!(!format!("{declaration:?}").contains("hush"));
}

const START: Micros = Micros(1_800_000_000_000_000);
const WORKSPACE: WorkspaceId = WorkspaceId(uuid::Uuid::nil());

fn stored(planned: &PlannedConnection) -> Connection {
    Connection {
        id: ConnectionId::generate(),
        workspace: WORKSPACE,
        kind: planned.kind,
        partner: Some(PartnerId::new(Micros(0))),
        name: planned.name.clone(),
        plugin: planned.plugin.clone(),
        config: planned.config.clone(),
        config_version: 1,
        agent: None,
        allow: vec![],
        checks: vec![],
        routes: BTreeMap::new(),
        secrets: planned.secrets.clone(),
        secrets_at: planned.secrets_at.clone(),
        sealed: planned.sealed.clone(),
        region: "BR".to_owned(),
        time_zone: "UTC".to_owned(),
        dedupe_by_content: true,
        settings: ConnectionSettings::default(),
        paused: None,
    }
}

#[test]
fn a_generated_secret_is_shown_once_and_kept_by_the_next_apply() {
    let sealer = Sealer::throwaway();
    let first = planned(&sealer);
    let made = &first.generated.connections["site"]["verify-token"];
    assert!(made.starts_with("v-") && made.len() == 34, "{made}");
    let before = stored(&first.plan.connections[0]);
    let again =
        plan(declared(&file()), WORKSPACE, &[before], &sealer, START).expect("planned again");
    assert!(again.generated.connections.is_empty());
    let open = |plan: &Plan| {
        sealer
            .open_secrets(WORKSPACE, "site", &plan.connections[0].sealed)
            .expect("it opens")
    };
    assert_eq!(open(&first.plan), open(&again.plan));
    assert_eq!(open(&again.plan).get("verify-token"), Some(made.as_str()));
}

#[test]
fn the_fingerprint_covers_configuration_secrets_and_sealing_key() {
    let sealer = Sealer::throwaway();
    let fixed = |change: &dyn Fn(&mut Value)| {
        let file = with(|file| {
            file["connections"][0]["secrets"]["verify-token"] = json!("fixed");
            change(file);
        });
        let planned = plan(declared(&file), WORKSPACE, &[], &sealer, START).expect("planned");
        planned.plan.connections[0].fingerprint.clone()
    };
    let base = fixed(&|_| ());
    assert_eq!(base, fixed(&|_| ()));
    assert_eq!(
        base,
        fixed(&|file| file["connections"][0]["routes"] = json!({}))
    );
    assert_ne!(
        base,
        fixed(&|file| file["connections"][0]["config"]["form"] = json!("other"))
    );
    assert_ne!(
        base,
        fixed(&|file| file["connections"][0]["secrets"]["app-secret"] = json!("new"))
    );
    let other = planned(&Sealer::throwaway());
    assert_ne!(base, other.plan.connections[0].fingerprint);
}

#[test]
fn a_generated_secret_that_cannot_be_decrypted_is_an_error() {
    let first = planned(&Sealer::throwaway());
    let before = stored(&first.plan.connections[0]);
    let declaration = declared(&file());
    assert!(matches!(
        declaration.connections[0].binding.secrets["verify-token"],
        DeclaredSecret::Generate(_)
    ));
    assert!(
        plan(
            declaration,
            WORKSPACE,
            &[before],
            &Sealer::throwaway(),
            START
        )
        .is_err()
    );
}

/// A value that is another one now; null for none.
fn value(path: &str, before: Value, after: Value) -> ChangedValue {
    let some = |value: Value| Some(value).filter(|value| !value.is_null());
    ChangedValue {
        path: path.to_owned(),
        before: some(before),
        after: some(after),
    }
}

#[test]
fn a_changed_connection_names_its_fields_its_values_and_the_secrets_that_it_loses() {
    let sealer = Sealer::throwaway();
    let first = plan(declared(&file()), WORKSPACE, &[], &sealer, START)
        .expect("planned")
        .plan;
    let planned = &first.connections[0];
    let partner = PartnerId::new(Micros(0));
    let before = [Connection {
        partner: Some(partner),
        agent: Some(AgentId(7)),
        allow: planned.allow.clone(),
        checks: planned.checks.clone(),
        routes: planned.routes.clone(),
        region: first.region.clone(),
        time_zone: first.time_zone.clone(),
        settings: planned.settings.clone(),
        ..stored(planned)
    }];
    let applied = Applied {
        workspace_id: before[0].workspace,
        changes: vec![],
        connections: BTreeMap::new(),
        channels: BTreeMap::new(),
        instances: BTreeMap::from([("bot".to_owned(), AgentId(7))]),
        partners: BTreeMap::from([("crm".to_owned(), partner)]),
    };
    let changed = |file: &Value| {
        let planned = plan(declared(file), WORKSPACE, &before, &sealer, START).expect("planned");
        changed_connections(&planned.plan, &applied, &before, &sealer)
    };
    let same = changed(&file());
    assert!(same.is_empty(), "{same:?}");
    let other = with(|file| {
        let connection = &mut file["connections"][0];
        connection["config"]["form"] = json!("other");
        connection["origins"] = json!(["*"]);
        let secrets = connection["secrets"].as_object_mut().expect("a table");
        secrets.remove("verify-token");
    });
    let expected = ChangedConnection {
        kind: PartKind::Connection,
        name: "site".to_owned(),
        fields: vec!["config", "secrets", "origins"],
        removed_secrets: vec!["verify-token".to_owned()],
        version: 1,
        new_version: None,
        values: vec![
            value("config.form", json!("contact"), json!("other")),
            value("origins.0", json!(null), json!("*")),
        ],
    };
    assert_eq!(changed(&other), [expected]);
    let renewed = with(|file| {
        file["connections"][0]["secrets"]["app-secret"] = json!("hush-new");
    });
    let renewed = changed(&renewed).remove(0);
    assert_eq!(renewed.fields, ["secrets"]);
    assert!(renewed.values.is_empty(), "{renewed:?}");
    assert!(renewed.removed_secrets.is_empty());
}

/// Returns the file with an instance that has an adapter, and a source that uses it for its
/// greeting.
fn with_channel(change: impl FnOnce(&mut Value)) -> Value {
    with(|file| {
        file["instances"] = json!([
            {"name": "bot"},
            {
                "name": "voice", "adapter": "bird", "kind": "human",
                "config": {"nest": "oak"}, "secrets": {"token": "hush"},
                "unanswered_after": "2h", "idle_after": 3600,
            }
        ]);
        file["connections"][0]["greeting"] = json!({
            "instance": "voice", "template": "welcome", "parameters": ["{firstName}", "of {listing}"]
        });
        change(file);
    })
}

#[test]
fn an_instance_with_an_adapter_is_a_channel_too() {
    let declaration = declared(&with_channel(|file| {
        file["workspace"]["language"] = json!("en");
    }));
    let [site, voice] = declaration.connections.as_slice() else {
        panic!("a source and a channel: {:?}", declaration.connections);
    };
    assert_eq!(voice.kind, ConnectionKind::Channel);
    assert_eq!((voice.name.as_str(), &voice.partner), ("voice", &None));
    assert_eq!(voice.agent.as_deref(), Some("voice"));
    assert_eq!(voice.binding.allow[0].authority, "bird.example");
    let settings = &voice.settings;
    assert_eq!(settings.unanswered_after, Duration::from_hours(2));
    assert_eq!(settings.idle_after, Duration::from_hours(1));
    assert_eq!(settings.kept_for, Duration::from_hours(24));
    assert_eq!(settings.language, "en");
    assert_eq!(settings.channel, "bird");
    assert_eq!(declaration.agents[1].channel.as_deref(), Some("bird"));
    let greeting = site.settings.greeting.as_ref().expect("it greets");
    assert!(greeting.transfer);
    assert_eq!(greeting.parameters.len(), 2);
    // An instance without an adapter is unchanged.
    assert_eq!(declaration.agents[0].channel, None);
}

#[test]
fn a_plugin_of_the_other_kind_is_refused() {
    let file = with_channel(|file| {
        file["instances"][1]["adapter"] = json!("forms");
        file["connections"][0]["plugin"] = json!("bird");
    });
    let problems = read(&file, &plugins()).expect_err("it has problems");
    let has = |path: &str, part: &str| {
        problems
            .iter()
            .any(|problem| problem.path == path && problem.message.contains(part))
    };
    assert!(
        has("instances[1].adapter", "`forms` is a converter"),
        "{problems:#?}"
    );
    assert!(
        has("connections[0].plugin", "`bird` is an adapter"),
        "{problems:#?}"
    );
}

#[test]
fn settings_without_an_adapter_are_refused() {
    let file = with_channel(|file| {
        file["instances"][0]["keep_for"] = json!("1h");
        file["instances"][0]["config"] = json!({});
        file["instances"][1]["unanswered_after"] = json!("soon");
        file["instances"][1]["idle_after"] = json!(0);
        file["instances"][1]["secrets"] = json!({});
        file["instances"][1]["language"] = json!("Brazilian");
    });
    check(
        &file,
        &[
            ("instances[0].keep_for", "without `adapter`"),
            ("instances[0].config", "without `adapter`"),
            ("instances[1].unanswered_after", "24h"),
            ("instances[1].idle_after", "expected seconds"),
            ("instances[1].secrets.token", "is missing"),
            ("instances[1].language", "pt_BR"),
        ],
    );
}

#[test]
fn a_connection_may_name_an_instance_that_the_workspace_has_already() {
    let file = with(|file| {
        file["connections"][0]["instance"] = json!("earlier");
        file["connections"][0]["greeting"] = json!({"instance": "earlier", "template": "welcome"});
    });
    let declaration = declared(&file);
    let names: Vec<_> = declaration.agents.iter().map(|one| &one.name).collect();
    assert_eq!(names, ["bot"], "the instance itself stays as it is");
    let connection = &declaration.connections[0];
    assert_eq!(connection.agent.as_deref(), Some("earlier"));
}

#[test]
fn a_greeting_needs_an_instance_that_can_send() {
    let by = |greeting: Value| with_channel(|file| file["connections"][0]["greeting"] = greeting);
    check(
        &by(json!({"instance": "nobody", "template": "welcome"})),
        &[("connections[0].greeting.instance", "it declares bot, voice")],
    );
    check(
        &by(json!({"instance": "bot", "template": "welcome"})),
        &[("connections[0].greeting.instance", "no `adapter`")],
    );
    check(
        &by(json!({"instance": "voice", "parameters": ["{nmae}", 7], "transfer": "no"})),
        &[
            ("connections[0].greeting.template", "missing"),
            ("connections[0].greeting.parameters[0]", "`{nmae}`"),
            ("connections[0].greeting.parameters[1]", "a number"),
            ("connections[0].greeting.transfer", "true or false"),
        ],
    );
}

#[test]
fn a_source_and_an_instance_of_one_name_keep_their_own_secrets() {
    let file = with_channel(|file| {
        file["connections"][0]["name"] = json!("voice");
        file["instances"][1]["secrets"]["token"] = json!({"generate": "t-"});
    });
    let sealer = Sealer::throwaway();
    let first = plan(declared(&file), WORKSPACE, &[], &sealer, START).expect("planned");
    assert!(first.generated.connections["voice"].contains_key("verify-token"));
    assert!(first.generated.instances["voice"].contains_key("token"));
    let before: Vec<_> = first.plan.connections.iter().map(stored).collect();
    let again = plan(declared(&file), WORKSPACE, &before, &sealer, START).expect("planned again");
    assert!(again.generated.connections.is_empty() && again.generated.instances.is_empty());
}

#[test]
fn a_channel_cannot_be_named_like_the_prefix_of_a_match_key() {
    for name in ["phone", "email", "Whats Pipeline", "a:b"] {
        let file = with_channel(|file| file["instances"][1]["channel"] = json!(name));
        check(
            &file,
            &[("instances[1].channel", "neither phone nor email")],
        );
    }
}
