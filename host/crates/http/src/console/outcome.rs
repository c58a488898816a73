use std::fmt;

use leadhost_domain::delivery::DeliveryStatus;

/// How good a result is: the class of its notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tone {
    Good,
    Warn,
    Bad,
}

impl Tone {
    pub fn of(status: DeliveryStatus) -> Self {
        match status {
            DeliveryStatus::Converted | DeliveryStatus::Duplicate => Self::Good,
            DeliveryStatus::Queued
            | DeliveryStatus::Rejected
            | DeliveryStatus::Ignored
            | DeliveryStatus::Unrouted
            | DeliveryStatus::Quarantined => Self::Warn,
            DeliveryStatus::Failed | DeliveryStatus::Parked => Self::Bad,
        }
    }

    /// Returns the tone of an act that was done with so many things, and not with so many others.
    pub fn of_counts(done: u64, others: u64) -> Self {
        match (done, others) {
            (_, 0) => Self::Good,
            (0, _) => Self::Bad,
            _ => Self::Warn,
        }
    }
}

impl fmt::Display for Tone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Good => "good",
            Self::Warn => "warn",
            Self::Bad => "bad",
        })
    }
}

/// Returns the first of each kind, with how many there are of it. Those without a kind stay alone.
pub fn alike<T, K: PartialEq>(
    all: impl IntoIterator<Item = T>,
    kind: impl Fn(&T) -> Option<K>,
) -> Vec<(T, u64)> {
    let mut kinds: Vec<Option<K>> = Vec::new();
    let mut found: Vec<(T, u64)> = Vec::new();
    for one in all {
        let of = kind(&one);
        match kinds.iter().position(|known| of.is_some() && *known == of) {
            Some(place) => found[place].1 += 1,
            None => {
                kinds.push(of);
                found.push((one, 1));
            }
        }
    }
    found
}

/// A sentence about the last action, which a page shows once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub tone: Tone,
    pub text: String,
}

impl<T: Into<String>> From<T> for Notice {
    fn from(text: T) -> Self {
        Self {
            tone: Tone::Good,
            text: text.into(),
        }
    }
}

impl Notice {
    /// Says with how many things an act was done: `9 of 12 released`. `parts` are all of them by what came of
    /// them, each with its number, its words and its tone; the worst one gives the tone.
    pub fn of_many((noun, act): (&str, &str), done: u64, parts: &[(u64, &str, Tone)]) -> Self {
        let parts: Vec<_> = parts.iter().filter(|(count, _, _)| *count > 0).collect();
        let total: u64 = parts.iter().map(|(count, _, _)| count).sum();
        let tone = parts.iter().map(|(_, _, tone)| *tone).max();
        let tone = tone.unwrap_or(Tone::Warn);
        let undone = act.trim_end_matches(" again");
        let mut text = match (done, total) {
            (_, 0) => format!("Nothing was {undone}"),
            (0, 1) => format!("The {noun} was not {undone}"),
            (_, 1) => format!("The {noun} was {act}"),
            (0, _) => format!("None of {total} was {undone}"),
            _ if done == total => format!("All {total} {act}"),
            _ => format!("{done} of {total} {act}"),
        };
        let words = parts.iter().map(|(count, what, _)| match total {
            1 => (*what).to_owned(),
            _ => format!("{count} {what}"),
        });
        let words = words.collect::<Vec<_>>().join(", ");
        if !words.is_empty() && words != act && (total == 1 || tone > Tone::Good) {
            text += &format!(": {words}");
        }
        Self { tone, text }
    }

    /// Says what became of a delivery. A release is done also if the delivery is not converted afterwards.
    pub fn of_delivery(act: &str, status: DeliveryStatus, is_released: bool) -> Self {
        let tone = Tone::of(status);
        let done = u64::from(is_released || tone == Tone::Good);
        let mut notice = Self::of_many(("delivery", act), done, &[(1, status.as_str(), tone)]);
        notice.text.push('.');
        notice
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_and_its_tone_follow_the_counts() {
        use Tone::{Bad, Good, Warn};
        let check = |act, done, parts: &[_], tone, text: &str| {
            let notice = Notice::of_many(("delivery", act), done, parts);
            assert_eq!((notice.tone, notice.text.as_str()), (tone, text));
        };
        let stay = "stay as they are";
        check("released", 0, &[], Warn, "Nothing was released");
        check(
            "released",
            0,
            &[(12, stay, Bad)],
            Bad,
            "None of 12 was released: 12 stay as they are",
        );
        check(
            "released",
            9,
            &[(9, "converted", Good), (3, stay, Warn)],
            Warn,
            "9 of 12 released: 9 converted, 3 stay as they are",
        );
        check(
            "released",
            2,
            &[(2, "failed", Bad)],
            Bad,
            "All 2 released: 2 failed",
        );
        let again = "converted again";
        let both = [(2, "converted", Good), (1, "duplicate", Good)];
        check(again, 3, &both, Good, "All 3 converted again");
        check(
            again,
            0,
            &[(12, "rejected", Warn), (0, "gone", Bad)],
            Warn,
            "None of 12 was converted: 12 rejected",
        );
    }

    #[test]
    fn a_delivery_is_good_only_if_it_is_converted() {
        let check = |(act, is_released), status, tone, text: &str| {
            let notice = Notice::of_delivery(act, status, is_released);
            assert_eq!((notice.tone, notice.text.as_str()), (tone, text));
        };
        let again = ("converted again", false);
        let text = "The delivery was converted again: converted.";
        check(again, DeliveryStatus::Converted, Tone::Good, text);
        for (status, tone) in [
            (DeliveryStatus::Failed, Tone::Bad),
            (DeliveryStatus::Parked, Tone::Bad),
            (DeliveryStatus::Rejected, Tone::Warn),
            (DeliveryStatus::Queued, Tone::Warn),
        ] {
            let text = format!("The delivery was not converted: {}.", status.as_str());
            check(again, status, tone, &text);
        }
        let text = "The delivery was released: failed.";
        check(("released", true), DeliveryStatus::Failed, Tone::Bad, text);
        let text = "The delivery was converted.";
        check(
            ("converted", false),
            DeliveryStatus::Converted,
            Tone::Good,
            text,
        );
    }
}
