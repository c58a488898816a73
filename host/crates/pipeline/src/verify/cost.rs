//! The time and memory that two versions need for the same deliveries.

use std::time::Duration;

use leadhost_domain::difference::Needed;
use leadhost_domain::time;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfBoth<T> {
    pub stable: T,
    pub candidate: T,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// The time that passed.
    pub took: Option<OfBoth<Duration>>,
    pub processor: Option<OfBoth<Duration>>,
    /// In bytes.
    pub memory: Option<OfBoth<u64>>,
}

/// The processor time and the memory of both versions for the deliveries that both converted.
#[derive(Clone, Debug, Default)]
pub struct Costs(Vec<OfBoth<(Duration, u64)>>);

impl Costs {
    pub fn add(&mut self, cost: Cost) {
        if let (Some(processor), Some(memory)) = (cost.processor, cost.memory) {
            self.0.push(OfBoth {
                stable: (processor.stable, memory.stable),
                candidate: (processor.candidate, memory.candidate),
            });
        }
    }

    pub fn conversions(&self) -> u64 {
        self.0.len() as u64
    }

    pub fn summaries(&self) -> Option<OfBoth<Needed>> {
        Some(OfBoth {
            stable: summary(self.0.iter().map(|one| one.stable))?,
            candidate: summary(self.0.iter().map(|one| one.candidate))?,
        })
    }

    /// Returns how many conversions of the stable version needed at most this time, and for how many of
    /// them the candidate needed more.
    pub fn exceeding(&self, time: Duration) -> (u64, u64) {
        let fitting = self.0.iter().filter(|one| one.stable.0 <= time);
        fitting.fold((0, 0), |(all, more), one| {
            (all + 1, more + u64::from(one.candidate.0 > time))
        })
    }
}

fn summary(costs: impl Iterator<Item = (Duration, u64)> + Clone) -> Option<Needed> {
    let mut times: Vec<Duration> = costs.clone().map(|one| one.0).collect();
    let number = u32::try_from(times.len()).ok().filter(|many| *many > 0)?;
    times.sort_unstable();
    let rank = (times.len() * 95).div_ceil(100);
    let micros = |span| time::micros(span).unsigned_abs();
    Some(Needed {
        mean_us: micros(times.iter().sum::<Duration>() / number),
        p95_us: micros(times[rank.max(1) - 1]),
        memory_bytes: costs.map(|one| one.1).sum::<u64>() / u64::from(number),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_summarised_by_mean_95th_percentile_and_count_over_a_limit() {
        let millis = Duration::from_millis;
        let mut costs = Costs::default();
        assert!(costs.summaries().is_none());
        for number in 1..=100 {
            let cost = Cost {
                took: None,
                processor: Some(OfBoth {
                    stable: millis(number),
                    candidate: millis(2 * number),
                }),
                memory: Some(OfBoth {
                    stable: 10,
                    candidate: number,
                }),
            };
            costs.add(cost);
            costs.add(Cost {
                processor: None,
                ..cost
            });
        }
        let OfBoth { stable, candidate } = costs.summaries().expect("some were converted");
        assert_eq!((stable.p95_us, stable.memory_bytes), (95_000, 10));
        assert_eq!(candidate.mean_us, 2 * stable.mean_us);
        assert_eq!(candidate.memory_bytes, 50);
        assert_eq!(costs.exceeding(millis(50)), (50, 25));
    }
}
