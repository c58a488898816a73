//! The text format of Prometheus 0.0.4, for clients that do not ask for OpenMetrics: older scrapers,
//! `promtool check metrics`, and people with `curl`.

use std::collections::HashSet;

/// Rewrites a text of OpenMetrics: the descriptions of counters name what their lines are called, and
/// units, exemplars and the end mark are left out.
pub fn text(open: &str) -> String {
    let counters: HashSet<&str> = open.lines().filter_map(counter).collect();
    let mut text = String::with_capacity(open.len());
    for line in open.lines() {
        if line == "# EOF" || line.starts_with("# UNIT ") {
            continue;
        }
        match description(line) {
            Some((keyword, name, rest)) if counters.contains(name) => {
                text.extend(["# ", keyword, " ", name, "_total ", rest]);
            }
            Some(_) => text.push_str(line),
            // A label's value is quoted, and in it this mark cannot follow a brace and a number.
            None => text.push_str(line.split_once(" # {").map_or(line, |(value, _)| value)),
        }
        text.push('\n');
    }
    text
}

/// Splits `# HELP name text` and `# TYPE name type`.
fn description(line: &str) -> Option<(&str, &str, &str)> {
    let (keyword, rest) = line.strip_prefix("# ")?.split_once(' ')?;
    let (name, rest) = rest.split_once(' ')?;
    matches!(keyword, "HELP" | "TYPE").then_some((keyword, name, rest))
}

fn counter(line: &str) -> Option<&str> {
    match description(line)? {
        ("TYPE", name, "counter") => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_described_by_the_name_of_their_lines() {
        let open = "# HELP a_seconds Time.\n# TYPE a_seconds histogram\n# UNIT a_seconds seconds\n\
                    a_seconds_bucket{le=\"1.0\"} 1 # {delivery_id=\"d\"} 0.5 1.0\n\
                    # HELP b Things.\n# TYPE b counter\nb_total{x=\"y\"} 2\n# EOF\n";
        let expected = "# HELP a_seconds Time.\n# TYPE a_seconds histogram\n\
                        a_seconds_bucket{le=\"1.0\"} 1\n\
                        # HELP b_total Things.\n# TYPE b_total counter\nb_total{x=\"y\"} 2\n";
        assert_eq!(text(open), expected);
    }
}
