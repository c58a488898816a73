//! Which item of one conversion is compared with which item of the other.

use std::collections::BTreeMap;

use crate::verify::outcome::OutcomeItem;

pub(super) type Pair<'a> = (Option<&'a OutcomeItem>, Option<&'a OutcomeItem>);

/// Pairs the items of two conversions: by what identifies them, the others by their order.
pub(super) fn pairs<'a>(before: &'a [OutcomeItem], after: &'a [OutcomeItem]) -> Vec<Pair<'a>> {
    let mut by_key: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, item) in after.iter().enumerate().rev() {
        if let Some(key) = &item.key {
            by_key.entry(key).or_default().push(place);
        }
    }
    let mut left: Vec<Option<&OutcomeItem>> = after.iter().map(Some).collect();
    let mut pairs = Vec::with_capacity(before.len().max(after.len()));
    let mut unpaired = Vec::new();
    for item in before {
        let same = item
            .key
            .as_deref()
            .and_then(|key| by_key.get_mut(key)?.pop());
        match same {
            Some(place) => pairs.push((Some(item), left[place].take())),
            None => unpaired.push(item),
        }
    }
    // A version that loses the key leaves items of the same order.
    let mut left = left.into_iter().flatten();
    for item in unpaired {
        pairs.push((Some(item), left.next()));
    }
    pairs.extend(left.map(|item| (None, Some(item))));
    pairs
}
