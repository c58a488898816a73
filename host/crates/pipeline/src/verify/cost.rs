//! The processor time and memory that two versions need for the same deliveries.

use std::time::Duration;

use super::compare::Memory;

/// The processor time that both versions needed for one delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorTimes {
    pub serving: Duration,
    pub candidate: Duration,
}

/// The costs of both versions for the deliveries that both converted, one element for each.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    pub serving: Vec<Needed>,
    pub candidate: Vec<Needed>,
}

/// The cost of a version for one delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needed {
    pub processor: Duration,
    /// In bytes.
    pub memory: u64,
}

/// The cost of a version for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeededSummary {
    pub mean: Duration,
    /// The time that 95 of a hundred conversions did not exceed.
    pub p95: Duration,
    /// The mean, in bytes.
    pub memory: u64,
}

impl Costs {
    /// Adds a delivery, if both versions converted it.
    pub fn add(&mut self, processor: Option<ProcessorTimes>, memory: Option<Memory>) {
        let (Some(processor), Some(memory)) = (processor, memory) else {
            return;
        };
        self.serving.push(Needed {
            processor: processor.serving,
            memory: memory.serving,
        });
        self.candidate.push(Needed {
            processor: processor.candidate,
            memory: memory.candidate,
        });
    }

    /// Returns what both versions needed, the serving one first. `None` if no delivery was converted by
    /// both.
    pub fn summaries(&self) -> Option<(NeededSummary, NeededSummary)> {
        Some((summary(&self.serving)?, summary(&self.candidate)?))
    }

    /// Returns how many conversions of the serving version needed at most this time, and for how many of
    /// them the candidate needed more.
    pub fn exceeding(&self, time: Duration) -> (u64, u64) {
        let pairs = self.serving.iter().zip(&self.candidate);
        let fitting = pairs.filter(|(serving, _)| serving.processor <= time);
        fitting.fold((0, 0), |(all, more), (_, candidate)| {
            (all + 1, more + u64::from(candidate.processor > time))
        })
    }
}

fn summary(needed: &[Needed]) -> Option<NeededSummary> {
    let number = u32::try_from(needed.len()).ok().filter(|many| *many > 0)?;
    let mut times: Vec<Duration> = needed.iter().map(|one| one.processor).collect();
    times.sort_unstable();
    let rank = (needed.len() * 95).div_ceil(100);
    let memory: u64 = needed.iter().map(|one| one.memory).sum();
    Some(NeededSummary {
        mean: times.iter().sum::<Duration>() / number,
        p95: times[rank.max(1) - 1],
        memory: memory / u64::from(number),
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
            let processor = ProcessorTimes {
                serving: millis(number),
                candidate: millis(2 * number),
            };
            let memory = Memory {
                serving: 10,
                candidate: number,
            };
            costs.add(Some(processor), Some(memory));
            costs.add(None, Some(memory));
        }
        let (serving, candidate) = costs.summaries().expect("some were converted");
        assert_eq!((serving.p95, serving.memory), (millis(95), 10));
        assert_eq!(candidate.mean, 2 * serving.mean);
        assert_eq!(candidate.memory, 50);
        assert_eq!(costs.exceeding(millis(50)), (50, 25));
    }
}
