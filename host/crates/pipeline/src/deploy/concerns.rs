//! The concerns about an activation that no operator has accepted yet, and the words that accept
//! them.

use super::concern::{Concern, UPLOAD, with_label};
use super::error::DeployError;
use crate::prelude::*;
use crate::versions::{activation, loaded, serving};
use leadhost_domain::accept::AcceptWord;
use leadhost_domain::exchange::SenderChecks;
use leadhost_domain::plugin::ReplySlot;
use leadhost_domain::publisher::Publisher;
use leadhost_plugin::{LoadError, TRIAL_LANE};

/// Returns the concerns about activating this version. `origin` is the file or upload that it has
/// just come from.
pub(super) async fn find(
    pipeline: &Pipeline,
    prepared: &PreparedVersion,
    publisher: &Publisher,
    origin: Option<&str>,
) -> Result<Vec<Concern>, DeployError> {
    let new = &prepared.loaded;
    let mut concerns = configurations(pipeline, new).await?;
    let name = &new.description.name;
    let Some(active) = activation(pipeline, name).await? else {
        // Even the first version of a name needs consent to reveal a secret.
        let revealing = new.reply_slots.iter().filter(|slot| slot.reveals());
        concerns.extend(in_replies(revealing));
        return Ok(concerns);
    };
    let Some(old) = pipeline.store.plugin(&active.digest).await? else {
        return Ok(concerns);
    };
    if old.digest == new.digest {
        return Ok(concerns);
    }
    let known = loaded(pipeline, &active.digest).await.ok().flatten();
    let known = known.map_or_else(Vec::new, |old| old.reply_slots.clone());
    let slots = new.reply_slots.iter().filter(|slot| !known.contains(slot));
    concerns.extend(in_replies(slots));
    let is_used = is_used(pipeline, name).await?;
    if !publisher.is(&old.publisher) {
        let owner = with_label(pipeline, &old.publisher).await?;
        let other = with_label(pipeline, publisher).await?;
        let what = format!("`{name}` belongs to {owner}, but this version comes from {other}");
        concerns.push(Concern::new(AcceptWord::NewPublisher, what));
    }
    if prepared.golden < old.golden {
        concerns.push(Concern::new(
            AcceptWord::FewerCases,
            format!(
                "it has fewer golden cases than the active version: {} instead of {}",
                prepared.golden, old.golden
            ),
        ));
    }
    if let Some(kind) = old.kind()
        && kind != new.kind
    {
        concerns.push(another_kind(name, kind, new.kind, is_used));
    }
    match compare_versions(&new.description.version, &old.description.version) {
        std::cmp::Ordering::Less => {
            concerns.push(Concern::new(
                AcceptWord::Older,
                format!(
                    "version {} is older than {}, the active one",
                    new.description.version, old.description.version
                ),
            ));
        }
        // Editing the same file again is the author's work in progress; any other source is
        // a mix-up.
        std::cmp::Ordering::Equal if origin.is_some_and(|origin| origin != old.origin) => {
            concerns.push(Concern::new(
                AcceptWord::SameVersion,
                format!(
                    "version {} differs from the active version of that number, which came from {}",
                    new.description.version, old.origin
                ),
            ));
        }
        _ => {}
    }
    let hosts = added(new.description.hosts.iter(), old.description.hosts.iter());
    if !hosts.is_empty() {
        let what = format!("it asks to call {hosts}");
        concerns.push(Concern::new(AcceptWord::NewHosts, what));
    }
    let secrets = added(
        new.description.secrets.iter().map(|secret| &secret.name),
        old.description.secrets.iter().map(|secret| &secret.name),
    );
    if !secrets.is_empty() {
        let what = format!("it asks for the secrets {secrets}");
        concerns.push(Concern::new(AcceptWord::NewSecrets, what));
    }
    let of_connections = weaker_for_connections(pipeline, new, &active.digest).await?;
    let named: BTreeSet<&String> = of_connections.values().flatten().collect();
    // Said once if it names its connections.
    let declared = weaker_checks(&prepared.checks, &old.checks)
        .into_iter()
        .filter(|what| !named.contains(what));
    for weaker in declared.chain(of_connections.keys().cloned()) {
        concerns.push(Concern::new(AcceptWord::WeakerChecks, weaker));
    }
    Ok(concerns)
}

fn added<'a>(
    new: impl Iterator<Item = &'a String>,
    old: impl Iterator<Item = &'a String>,
) -> String {
    let old: Vec<_> = old.collect();
    let added = new.filter(|name| !old.contains(name));
    added.cloned().collect::<Vec<_>>().join(", ")
}

/// Returns whether an upload of this version, with other bytes than the active one, would raise the
/// concern [`AcceptWord::SameVersion`].
pub(super) async fn is_same_version_as_upload(
    pipeline: &Pipeline,
    name: &str,
    version: &str,
) -> Result<bool, StoreError> {
    let Some(active) = serving(pipeline, name).await? else {
        return Ok(false);
    };
    let old = pipeline.store.plugin(&active).await?;
    Ok(old.is_some_and(|old| {
        compare_versions(version, &old.description.version).is_eq() && old.origin != UPLOAD
    }))
}

fn in_replies<'a>(slots: impl Iterator<Item = &'a ReplySlot>) -> Option<Concern> {
    let slots: Vec<String> = slots.map(ToString::to_string).collect();
    (!slots.is_empty()).then(|| {
        let slots = slots.join(", ");
        let what = format!("its replies, which every caller can read, contain {slots}");
        Concern::new(AcceptWord::NewReplySlots, what)
    })
}

/// Returns the concern about a change of kind: users of the name would no longer find the
/// plugin that they call.
fn another_kind(name: &str, was: PluginKind, is: PluginKind, is_used: bool) -> Concern {
    let (accept, advice) = if is_used {
        (None, ": give it another name")
    } else {
        (Some(AcceptWord::NewKind), "")
    };
    let (was, is) = (was.with_article(), is.with_article());
    Concern {
        accept,
        what: format!("`{name}` is {was}, and this version is {is}{advice}"),
    }
}

pub async fn about_kind(
    pipeline: &Pipeline,
    name: &str,
    was: PluginKind,
    is: PluginKind,
) -> Result<Option<Concern>, DeployError> {
    if was == is || !is_used(pipeline, name).await? {
        return Ok(None);
    }
    Ok(Some(another_kind(name, was, is, true)))
}

async fn is_used(pipeline: &Pipeline, name: &str) -> Result<bool, DeployError> {
    Ok(!pipeline.connections_using(name).await?.is_empty())
}

fn named(connection: &Connection) -> String {
    match connection.kind {
        ConnectionKind::Source => format!("connection `{}`", connection.name),
        ConnectionKind::Channel => format!("instance `{}`", connection.name),
    }
}

async fn configurations(pipeline: &Pipeline, new: &Loaded) -> Result<Vec<Concern>, DeployError> {
    let connections = pipeline.connections_using(&new.description.name).await?;
    let configs: Vec<_> = connections
        .iter()
        .map(|connection| serde_json::from_str(&connection.config).unwrap_or_default())
        .collect();
    let faults = pipeline.plugins.config_faults(new, configs).await?;
    let unfit = connections
        .iter()
        .zip(faults)
        .filter(|(_, faults)| !faults.is_empty());
    let concerns = unfit.map(|(connection, faults)| Concern {
        accept: None,
        what: format!(
            "it does not accept the configuration of {}: {}",
            named(connection),
            faults
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        ),
    });
    Ok(concerns.collect())
}

/// Returns in sentences the connections whose sender checks would become weaker, each with the check that
/// it says to be weaker, if the version could be asked.
async fn weaker_for_connections(
    pipeline: &Pipeline,
    new: &Arc<Loaded>,
    active: &Digest,
) -> Result<BTreeMap<String, Option<String>>, DeployError> {
    let mut weaker = BTreeMap::new();
    let Some(old) = pipeline.plugins.by_digest(active) else {
        return Ok(weaker);
    };
    for connection in pipeline.connections_using(&new.description.name).await? {
        let lane = TRIAL_LANE;
        let (before, after) = (
            pipeline
                .plugins
                .sender_checks(&old, lane, &connection.config, CallBudget::Trial)
                .await,
            pipeline
                .plugins
                .sender_checks(new, lane, &connection.config, CallBudget::Trial)
                .await,
        );
        match (before, after) {
            (Ok(Ok(before)), Ok(Ok(after))) => {
                let found = weaker_checks(&after, &before).into_iter();
                weaker.extend(
                    found.map(|what| (format!("{what} ({})", named(&connection)), Some(what))),
                );
            }
            (_, Ok(Err(problem))) => {
                let what = format!(
                    "it cannot declare the sender checks of {}: {}",
                    named(&connection),
                    problem.message
                );
                weaker.insert(what, None);
            }
            (_, Err(error)) if error.is_not_made() => {
                return Err(DeployError::Load(LoadError::Host(error.to_string())));
            }
            (_, Err(error)) => {
                let what = format!(
                    "it fails to declare the sender checks of {}: {error}",
                    named(&connection)
                );
                weaker.insert(what, None);
            }
            (Err(_) | Ok(Err(_)), Ok(Ok(_))) => {}
        }
    }
    Ok(weaker)
}

fn weaker_checks(new: &SenderChecks, old: &SenderChecks) -> Vec<String> {
    let mut weaker = Vec::new();
    for before in &old.checks {
        let same_secret = new
            .checks
            .iter()
            .find(|after| after.secret == before.secret);
        let what = match same_secret {
            None => format!("senders no longer prove that they know `{}`", before.secret),
            Some(after) if after == before => continue,
            Some(after) => {
                let longer = before.tolerance_seconds > 0
                    && (after.tolerance_seconds == 0
                        || after.tolerance_seconds > before.tolerance_seconds);
                let mut alike = after.clone();
                alike.tolerance_seconds = before.tolerance_seconds;
                if alike == *before && !longer {
                    continue;
                }
                format!("the check of `{}` changed", before.secret)
            }
        };
        weaker.push(what);
    }
    for carried in &old.carried_secrets {
        if !new.carried_secrets.contains(carried) {
            weaker.push(format!(
                "the secret in {} `{}` is no longer masked",
                carried.place, carried.name
            ));
        }
    }
    weaker
}

pub fn is_older(version: &str, than: &str) -> bool {
    compare_versions(version, than).is_lt()
}

/// Compares by semantic versioning: numbers first; a pre-release is below its release.
fn compare_versions(left: &str, right: &str) -> std::cmp::Ordering {
    match (semver::Version::parse(left), semver::Version::parse(right)) {
        (Ok(left), Ok(right)) => left.cmp_precedence(&right),
        _ => left.cmp(right),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::exchange::{Encoding, Place, Scheme, SenderCheck, ValueLocation};

    fn check(secret: &str, tolerance_seconds: u32) -> SenderCheck {
        SenderCheck {
            secret: secret.into(),
            scheme: Scheme::HmacSha256,
            proof: ValueLocation {
                place: Place::Header,
                name: "x".into(),
            },
            encoding: Encoding::Hex,
            prefix: String::new(),
            timestamp_header: String::new(),
            tolerance_seconds,
            signed: vec![],
        }
    }

    #[test]
    fn a_removed_or_looser_check_is_weaker_and_a_stricter_one_is_not() {
        let checks = |checks: &[SenderCheck]| SenderChecks {
            checks: checks.to_vec(),
            carried_secrets: vec![],
        };
        let weaker = |new: &[SenderCheck], old: &[SenderCheck]| {
            weaker_checks(&checks(new), &checks(old)).len()
        };
        assert_eq!(weaker(&[], &[check("s", 0)]), 1);
        assert_eq!(weaker(&[check("s", 600)], &[check("s", 300)]), 1);
        assert_eq!(weaker(&[check("s", 0)], &[check("s", 300)]), 1);
        assert_eq!(weaker(&[check("s", 300)], &[check("s", 600)]), 0);
        assert_eq!(weaker(&[check("s", 300)], &[check("s", 0)]), 0);
        assert_eq!(weaker(&[check("s", 0), check("t", 0)], &[check("s", 0)]), 0);
        let mut masked = checks(&[]);
        masked.carried_secrets = vec![check("s", 0).proof];
        assert_eq!(weaker_checks(&checks(&[]), &masked).len(), 1);
        assert_eq!(weaker_checks(&masked, &masked).len(), 0);
        assert_eq!(weaker_checks(&masked, &checks(&[])).len(), 0);
    }

    #[test]
    fn versions_compare_as_semantic_ones() {
        assert!(compare_versions("1.10.0", "1.9.0").is_gt());
        assert!(compare_versions("1.0.0-rc.1", "1.0.0").is_lt());
        assert!(compare_versions("1.0.0+b", "1.0.0").is_eq());
    }
}
