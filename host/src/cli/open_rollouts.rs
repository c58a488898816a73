use super::table::rounded;
use crate::cli::prelude::*;
use leadhost_admin_api::open_rollouts::OpenRollout;

pub fn show<'a>(open: impl Iterator<Item = (&'a str, &'a OpenRollout)>) {
    let rows: Vec<Vec<String>> = open.map(|(plugin, rollout)| row(plugin, rollout)).collect();
    if !rows.is_empty() {
        say("");
        say(&table(
            &[
                "ROLLOUT",
                "CANDIDATE",
                "DIGEST",
                "STAGE",
                "PERCENT",
                "TIME LEFT",
            ],
            &rows,
        ));
    }
}

fn row(plugin: &str, rollout: &OpenRollout) -> Vec<String> {
    let stage = if rollout.paused {
        format!("{} (paused)", rollout.stage)
    } else {
        rollout.stage.to_string()
    };
    vec![
        plugin.to_owned(),
        optional(rollout.candidate.version.as_ref()),
        rollout.candidate.digest.short().to_owned(),
        stage,
        optional(rollout.percent),
        match &rollout.waits_for {
            Some(waits_for) => format!("waits for {waits_for}"),
            None => rounded(rollout.seconds_left),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollout_is_a_row_with_its_stage_and_the_time_that_is_left() {
        let check = |changes: Value, expect: [&str; 3]| {
            let mut rollout = json!({
                "candidate": {"version": "1.5.0", "digest": "3f9c01ab42de8d07"},
                "stage": "canary",
                "paused": false,
                "percent": 10,
                "secondsLeft": 190,
                "waitsFor": null,
            });
            for (key, value) in changes.as_object().expect("keys") {
                rollout[key] = value.clone();
            }
            let rollout = serde_json::from_value(rollout).expect("a rollout");
            let row = row("grupo-olx", &rollout);
            assert_eq!(row[..3], ["grupo-olx", "1.5.0", "3f9c01ab42de"]);
            assert_eq!(row[3..], expect);
        };
        check(json!({}), ["canary", "10", "4 min"]);
        check(json!({"paused": true}), ["canary (paused)", "10", "4 min"]);
        let probation = json!({"stage": "probation", "percent": null, "secondsLeft": 59});
        check(probation, ["probation", "-", "59 s"]);
        let waits =
            json!({"secondsLeft": 0, "waitsFor": "7 more comparisons: 3 of 10 in this step"});
        let words = "waits for 7 more comparisons: 3 of 10 in this step";
        check(waits, ["canary", "10", words]);
    }
}
