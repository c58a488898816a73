//! Chooses the next work: connections take turns, so that the backlog of one connection
//! does not delay the others.

use std::collections::{BTreeMap, VecDeque};

use leadhost_domain::id::ConnectionId;
use leadhost_domain::time::Micros;

#[derive(Clone, Debug, Default)]
pub struct ClaimTurns {
    pub limit: u32,
    /// Additional pieces, each for a connection that has no work in hand.
    pub spare: u32,
    /// The maximum number of pieces in hand for one connection, and of conversions among
    /// them.
    pub share: u32,
    pub conversions: u32,
    pub in_hand: BTreeMap<ConnectionId, InHand>,
    pub after: Option<ConnectionId>,
}

/// The work in hand for one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InHand {
    pub pieces: u32,
    pub conversions: u32,
}

impl ClaimTurns {
    /// Takes up to this many pieces in turns, without a limit per connection.
    pub fn new(limit: u32) -> Self {
        Self {
            limit,
            share: u32::MAX,
            conversions: u32::MAX,
            ..Self::default()
        }
    }

    pub(super) fn looked_at(&self, is_conversion: bool) -> u32 {
        let share = if is_conversion {
            self.share.min(self.conversions)
        } else {
            self.share
        };
        share.min(self.limit.saturating_add(self.spare))
    }

    /// Picks the pieces whose turn it is, in order.
    pub(super) fn pick<T>(&self, candidates: Vec<ClaimCandidate<T>>) -> Vec<T> {
        let mut lines: BTreeMap<ConnectionId, Line<T>> = BTreeMap::new();
        for candidate in candidates {
            let in_hand = self.in_hand.get(&candidate.connection);
            let line = lines
                .entry(candidate.connection.clone())
                .or_insert_with(|| Line {
                    conversions: VecDeque::new(),
                    calls: VecDeque::new(),
                    has: in_hand.copied().unwrap_or_default(),
                });
            if candidate.is_conversion {
                line.conversions.push_back(candidate);
            } else {
                line.calls.push_back(candidate);
            }
        }
        for line in lines.values_mut() {
            line.conversions.make_contiguous().sort_by_key(|of| of.due);
            line.calls.make_contiguous().sort_by_key(|of| of.due);
        }
        // Round robin, from the connection after the last turn.
        let (before, past): (Vec<_>, Vec<_>) = lines
            .into_iter()
            .partition(|(id, _)| self.after.as_ref().is_some_and(|after| id <= after));
        let mut lines: Vec<_> = past
            .into_iter()
            .chain(before)
            .map(|(_, line)| line)
            .collect();
        let mut picked = Vec::new();
        while let Some(line) = lines
            .iter_mut()
            .filter(|line| line.next(self).is_some())
            .min_by_key(|line| line.has.pieces)
        {
            let room = if line.has.pieces == 0 {
                self.limit.saturating_add(self.spare)
            } else {
                self.limit
            };
            if u32::try_from(picked.len()).is_ok_and(|taken| taken >= room) {
                // The connection with the least work in hand comes first: there is no
                // room for any.
                break;
            }
            picked.extend(line.take(self));
        }
        picked
    }
}

pub(super) struct ClaimCandidate<T> {
    pub connection: ConnectionId,
    pub is_conversion: bool,
    pub due: Micros,
    pub piece: T,
}

/// The due work of one connection, oldest first.
struct Line<T> {
    conversions: VecDeque<ClaimCandidate<T>>,
    calls: VecDeque<ClaimCandidate<T>>,
    has: InHand,
}

impl<T> Line<T> {
    fn next(&self, turns: &ClaimTurns) -> Option<bool> {
        if self.has.pieces >= turns.share {
            return None;
        }
        let conversion = self
            .conversions
            .front()
            .filter(|_| self.has.conversions < turns.conversions);
        match (conversion, self.calls.front()) {
            (None, None) => None,
            (Some(_), None) => Some(true),
            (None, Some(_)) => Some(false),
            (Some(conversion), Some(call)) => Some(conversion.due <= call.due),
        }
    }

    fn take(&mut self, turns: &ClaimTurns) -> Option<T> {
        let is_conversion = self.next(turns)?;
        self.has.pieces += 1;
        self.has.conversions += u32::from(is_conversion);
        let line = if is_conversion {
            &mut self.conversions
        } else {
            &mut self.calls
        };
        line.pop_front().map(|candidate| candidate.piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(letter: char) -> ConnectionId {
        let text: String = std::iter::repeat_n(letter, 22).collect();
        text.parse().expect("22 characters")
    }

    /// `a3`: connection a, due at 3. A capital letter is a conversion.
    fn candidates(words: &[&'static str]) -> Vec<ClaimCandidate<&'static str>> {
        words
            .iter()
            .map(|word| {
                let letter = word.chars().next().expect("a letter");
                ClaimCandidate {
                    connection: id(letter.to_ascii_lowercase()),
                    is_conversion: letter.is_uppercase(),
                    due: Micros(word[1..].parse().expect("a number")),
                    piece: *word,
                }
            })
            .collect()
    }

    fn in_hand(of: &[(char, u32, u32)]) -> BTreeMap<ConnectionId, InHand> {
        of.iter()
            .map(|(letter, pieces, conversions)| {
                let has = InHand {
                    pieces: *pieces,
                    conversions: *conversions,
                };
                (id(*letter), has)
            })
            .collect()
    }

    #[test]
    fn connections_take_turns_and_each_begins_with_its_oldest() {
        let due = candidates(&["A1", "A2", "A3", "b9", "C8", "c7"]);
        assert_eq!(ClaimTurns::new(5).pick(due), ["A1", "b9", "c7", "A2", "C8"]);
    }

    #[test]
    fn the_round_continues_after_the_last_turn() {
        let due = || candidates(&["A1", "b1", "c1"]);
        let after = |letter| ClaimTurns {
            after: Some(id(letter)),
            ..ClaimTurns::new(2)
        };
        assert_eq!(after('a').pick(due()), ["b1", "c1"]);
        assert_eq!(after('c').pick(due()), ["A1", "b1"]);
    }

    #[test]
    fn the_connection_with_less_in_hand_comes_first() {
        let turns = ClaimTurns {
            in_hand: in_hand(&[('a', 3, 3)]),
            ..ClaimTurns::new(2)
        };
        let due = candidates(&["A1", "A2", "b8", "b9"]);
        assert_eq!(turns.pick(due), ["b8", "b9"]);
    }

    #[test]
    fn no_connection_gets_more_than_its_share() {
        let turns = ClaimTurns {
            share: 3,
            conversions: 1,
            in_hand: in_hand(&[('b', 3, 0)]),
            ..ClaimTurns::new(9)
        };
        let due = candidates(&["A1", "A2", "a3", "a4", "a5", "b1", "C1", "C2"]);
        assert_eq!(turns.pick(due), ["A1", "C1", "a3", "a4"]);
    }

    #[test]
    fn spare_pieces_go_to_connections_with_nothing_in_hand() {
        let turns = ClaimTurns {
            spare: 1,
            in_hand: in_hand(&[('a', 1, 1)]),
            ..ClaimTurns::new(0)
        };
        assert_eq!(turns.pick(candidates(&["A1", "b9", "b9"])), ["b9"]);
        assert!(turns.pick(candidates(&["A1"])).is_empty());
    }
}
