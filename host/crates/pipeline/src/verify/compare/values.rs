//! How the values of one field differ between two versions, and how the difference is shown.

use std::collections::BTreeSet;

use crate::verify::outcome::FieldValue;
use leadhost_domain::difference::DifferenceKind;
use leadhost_domain::text::counted;

/// Returns the change of a field, and the values that are gone and new. If a field has several
/// values, one that is gone without a new one is lost, even if others are left. A new value that is shown
/// like the one that is gone has the places at which they differ after it.
pub(super) fn difference(
    before: Option<&FieldValue>,
    after: Option<&FieldValue>,
    show: fn(&str) -> String,
) -> Option<(DifferenceKind, Option<String>, Option<String>)> {
    let (before, after) = (values(before), values(after));
    let gone: Vec<&str> = before.difference(&after).copied().collect();
    let new: Vec<&str> = after.difference(&before).copied().collect();
    let change = match (gone.is_empty(), new.is_empty()) {
        (true, true) => return None,
        (false, true) => DifferenceKind::Lost,
        (true, false) => DifferenceKind::Gained,
        (false, false) => DifferenceKind::Changed,
    };
    let shown_gone: Vec<String> = gone.iter().map(|one| show(one)).collect();
    let mut shown_new: Vec<String> = new.iter().map(|one| show(one)).collect();
    let pairs = gone
        .iter()
        .zip(&new)
        .zip(shown_gone.iter().zip(&mut shown_new));
    for ((before, after), (shown_before, shown_after)) in pairs {
        if shown_before == shown_after {
            shown_after.push_str(&differing_places(before, after));
        }
    }
    let joined = |shown: Vec<String>| (!shown.is_empty()).then(|| shown.join(", "));
    Some((change, joined(shown_gone), joined(shown_new)))
}

/// Returns the places at which two values differ, without a character of them: their masks do not show it.
fn differing_places(before: &str, after: &str) -> String {
    let (before, after): (Vec<char>, Vec<char>) =
        (before.chars().collect(), after.chars().collect());
    let differs = |(one, other): (&char, &char)| one != other;
    let shorter = before.len().min(after.len());
    let first = before.iter().zip(&after).position(differs);
    let first = first.unwrap_or(shorter) + 1;
    if before.len() != after.len() {
        return format!(
            " ({} instead of {}, another from character {first} on)",
            counted(after.len() as u64, "character", "characters"),
            before.len(),
        );
    }
    let mut from_end = before.iter().rev().zip(after.iter().rev());
    let last = shorter - from_end.position(differs).unwrap_or_default();
    if first == last {
        format!(" (character {first} differs)")
    } else {
        format!(" (characters {first} to {last} differ)")
    }
}

pub(super) fn values(field: Option<&FieldValue>) -> BTreeSet<&str> {
    match field {
        None => BTreeSet::new(),
        Some(FieldValue::One(value)) => BTreeSet::from([value.as_str()]),
        Some(FieldValue::Many(values)) => values.iter().map(String::as_str).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::masks::masked;
    use super::*;
    use leadhost_domain::limits;

    #[test]
    fn values_that_are_masked_alike_are_shown_with_the_places_at_which_they_differ() {
        let one = |value: &str| FieldValue::One(value.to_owned());
        let check = |before: &str, after: &str, expect: (&str, &str)| {
            let found = difference(Some(&one(before)), Some(&one(after)), masked);
            let (change, shown_before, shown_after) = found.expect("a difference");
            assert_eq!(change, DifferenceKind::Changed);
            let shown = (shown_before.as_deref(), shown_after.as_deref());
            assert_eq!(shown, (Some(expect.0), Some(expect.1)));
        };
        let phone = "+*********21";
        check(
            "+49170000021",
            "+49170900021",
            (phone, "+*********21 (character 7 differs)"),
        );
        check(
            "+49170000021",
            "+49151234521",
            (phone, "+*********21 (characters 5 to 10 differ)"),
        );
        check("ANA", "Ana", ("A**", "A** (characters 2 to 3 differ)"));
        check("12", "34", ("**", "** (characters 1 to 2 differ)"));
        // White space, and words and characters beyond those that are shown.
        check(
            "Ana Lima",
            "Ana  Lima",
            (
                "A** L***",
                "A** L*** (9 characters instead of 8, another from character 5 on)",
            ),
        );
        let long = "x".repeat(limits::VERIFY_EXAMPLE_CHARACTERS);
        let shown = masked(&long);
        check(
            &long,
            &format!("{long}x"),
            (
                &shown,
                &format!("{shown} (25 characters instead of 24, another from character 25 on)"),
            ),
        );
        // The masks show these.
        check("Ana", "Bia", ("A**", "B**"));
        check("Ana", "Anabela", ("A**", "A******"));
    }

    #[test]
    fn each_of_several_values_that_is_masked_like_its_former_one_names_its_place() {
        let many = |values: [&str; 2]| FieldValue::Many(values.map(str::to_owned).into());
        let (before, after) = (many(["1234500021", "5511"]), many(["1234509021", "5522"]));
        let (_, before, after) =
            difference(Some(&before), Some(&after), masked).expect("it differs");
        assert_eq!(before.as_deref(), Some("********21, ****"));
        assert_eq!(
            after.as_deref(),
            Some("********21 (character 7 differs), **** (characters 3 to 4 differ)")
        );
    }
}
