use super::comparison::GivenOptions;
use super::{comparison, named::stored_only, verifying};
use crate::cli::prelude::*;
use leadhost_admin_api::plugins::{ImpactRequest, VerifiedPlugin};
use leadhost_admin_api::repairs::RepairFacts;
use leadhost_domain::clock::Clock as _;
use leadhost_domain::time;

#[derive(Args)]
pub struct Impact {
    /// NAME@DIGEST of a stored version, with at least the first 8 characters of the digest
    what: String,
    /// The version to compare it with: its digest or the start of it, or NAME@DIGEST [default: the active version, or the previous one]
    #[arg(long, value_name = "DIGEST")]
    against: Option<String>,
    /// Compare at most this many of the deliveries that it converted
    #[arg(long, value_name = "COUNT")]
    last: Option<u32>,
    /// Only deliveries received since a date, a time such as 2026-01-31T12:00:00Z, or how long ago, such as 24h
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Stop after this many seconds, and report the comparisons made by then
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Impact {
    pub async fn run(self) -> CommandResult {
        let (name, digest) = stored_only(&self.what, &self.service.flags())?;
        let against = match &self.against {
            Some(against) => Some(parse_against(against, name)?.to_owned()),
            None => None,
        };
        let client = self.service.client()?;
        let since = self.since.as_deref().map(absolute);
        let query = query(&[
            ("last", self.last.map(|last| last.to_string())),
            ("since", since.clone()),
            ("seconds", self.seconds.map(|seconds| seconds.to_string())),
        ]);
        let path = format!("/admin/v1/plugins/{}/impact{query}", encoded(name));
        let request = ImpactRequest {
            digest: digest.to_owned(),
            against,
        };
        let answer =
            verifying::ask(&client, comparison::COMPARING, (&path, digest), &request).await?;
        let answer = answer.map_err(CommandFailure::from)?;
        let since = since.as_deref();
        client.print(&answer, |impact| show(impact, since, client.flags()));
        Ok(())
    }
}

/// Returns the time that a span such as `24h` names now: the commands that are shown are run later, and must
/// mean the same deliveries. Any other text stays.
fn absolute(since: &str) -> String {
    let ago = time::parse_span(since).map(|span| SystemClock.now().minus(span));
    ago.map_or_else(|| since.to_owned(), Micros::to_the_second)
}

/// Returns the digest of another version of the plugin, which is given alone or as `NAME@DIGEST`.
fn parse_against<'a>(against: &'a str, name: &str) -> CommandResult<&'a str> {
    match against.rsplit_once('@') {
        None => Ok(against),
        Some((own, digest)) if own == name => Ok(digest),
        Some((other, _)) => Err(CommandFailure::usage(format!(
            "`--against {against}` names a version of `{other}`: a version of `{name}` can only be compared with another one of `{name}`"
        ))),
    }
}

fn show(impact: &VerifiedPlugin, since: Option<&str>, flags: &ServiceFlags) {
    match impact.coverage.chosen {
        0 => say_line!(
            "No stored delivery{} was converted last by {} {} ({}): there is nothing to repair. Deliveries past their retention are no longer stored.",
            since
                .map(|since| format!(" since {since}"))
                .unwrap_or_default(),
            impact.name,
            impact.version,
            impact.digest.short()
        ),
        _ => {
            let asked = GivenOptions {
                since,
                more: true,
                ..GivenOptions::default()
            };
            comparison::show_part(impact, "deliveries that it converted", &asked);
        }
    }
    for repair in &impact.repairs {
        say(&safe(&repaired(repair, flags)));
    }
    let Some(other) = &impact.against else {
        return;
    };
    if !impact.is_harmful() || impact.open_repair().is_some() {
        return;
    }
    if !other.active && !other.discarded {
        let name = &impact.name;
        let command = if other.previous {
            format!("plugin rollback {name}")
        } else {
            format!("plugin publish {name}@{}", other.digest.short())
        };
        say!(
            "\n{} converts with the active version. To activate the other one first:\n  {}",
            match impact.kind {
                Some(PluginKind::Adapter) => "A replay",
                _ => "A repair",
            },
            flags.command(&command)
        );
    }
    let since = since.map(|since| format!(" --since {since}"));
    if impact.kind == Some(PluginKind::Adapter) {
        return say(&again(impact.digest.short(), since.as_deref(), flags));
    }
    let repair = format!(
        "delivery replay --converted-by {}{} --apply",
        impact.digest.short(),
        since.unwrap_or_default(),
    );
    say!(
        "\nTo convert these deliveries again, without changing what people have edited:\n  {}\nWithout --apply, the changes are only counted. Its receipt can be undone.",
        flags.command(&repair),
    );
}

/// Returns what can be done about the webhooks that a version of an adapter converted: a repair is about
/// leads.
fn again(digest: &str, since: Option<&str>, flags: &ServiceFlags) -> String {
    // A replay needs a beginning.
    let since = since.unwrap_or(" --since TIME");
    let replay = format!("delivery replay --version {digest}{since} --apply");
    format!(
        "\nA repair is about leads, and this is an adapter. To convert these webhooks again, which stores the messages that were lost:\n  {}\nMessages that are stored already stay as they are. Without --apply, the command only shows what would change.",
        flags.command(&replay)
    )
}

fn repaired(repair: &RepairFacts, flags: &ServiceFlags) -> String {
    let (id, progress) = (repair.id, repair.progress());
    let show = flags.command(&format!("repair show {id}"));
    if repair.state.is_open() {
        let cancel = flags.command(&format!("repair cancel {id}"));
        return format!(
            "Repair {id} {progress}: `{show}`. Another repair can begin when it has ended, or after `{cancel}`."
        );
    }
    format!("Repair {id} {progress}: `{show}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_becomes_a_time_and_a_time_stays() {
        let time = absolute("90s");
        let time = time::parse(&time).expect("a time");
        assert!(time.is_recent(SystemClock.now(), std::time::Duration::from_secs(95)));
        for text in ["2026-01-31", "2026-01-31T12:00:00Z", "tomorrow"] {
            assert_eq!(absolute(text), text);
        }
    }

    #[test]
    fn an_adapter_is_offered_a_replay_and_no_repair() {
        let check = |since, command: &str| {
            let said = again("8d07c33e91a4", since, &ServiceFlags::default());
            assert!(said.contains(command), "{said}");
            assert!(!said.contains("--converted-by"), "{said}");
        };
        check(
            Some(" --since 24h"),
            "delivery replay --version 8d07c33e91a4 --since 24h --apply",
        );
        check(None, "--since TIME");
    }

    #[test]
    fn the_other_version_may_have_the_name_of_the_plugin() {
        for against in ["c08048fd338b", "acme-form@c08048fd338b"] {
            let digest = parse_against(against, "acme-form").expect("the same plugin");
            assert_eq!(digest, "c08048fd338b");
        }
        let refused = parse_against("other-form@c08048fd338b", "acme-form");
        let refused = refused.expect_err("another plugin");
        let said = refused.to_string();
        assert!(said.contains("names a version of `other-form`"), "{said}");
    }
}
