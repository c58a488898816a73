//! Charts of counts and of levels over time, as SVG text. Colours are classes of the style sheet, so that they follow
//! light and dark, and the policy of the pages allows them; the same numbers are in a table.

use askama::Template;

/// Series of one chart that have a colour of their own; the others are drawn as one.
const SERIES: usize = 5;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 48.0;
const BOTTOM: f64 = 24.0;
const TOP: f64 = 12.0;
/// Labels below the axis, at most.
const LABELS: usize = 7;
/// About the width of a character of a label.
const CHARACTER: f64 = 7.0;

/// Numbers by slot of time and by series: counts as stacked bars, levels as bars side by side.
#[derive(Template)]
#[template(path = "console/chart.html")]
pub struct Chart {
    /// Unique on its page.
    id: &'static str,
    title: String,
    slots: Vec<String>,
    series: Vec<ChartSeries>,
    /// Whether the numbers of a slot add up.
    is_stacked: bool,
    /// Whether the numbers are still being counted.
    is_pending: bool,
    /// The greatest number of the axis.
    most: u64,
}

struct ChartSeries {
    name: String,
    counts: Vec<u64>,
}

struct ChartPiece {
    class: usize,
    x: String,
    y: String,
    width: String,
    height: String,
    label: String,
}

struct ChartLine {
    y: String,
    text_y: String,
    count: u64,
}

impl Chart {
    /// Draws the counts of each series; series without any are left out, and those past the greatest
    /// few are one.
    pub fn new(
        id: &'static str,
        title: impl Into<String>,
        slots: Vec<String>,
        series: impl IntoIterator<Item = (String, Vec<u64>)>,
    ) -> Self {
        let mut series: Vec<ChartSeries> = series
            .into_iter()
            .map(|(name, counts)| ChartSeries { name, counts })
            .filter(|series| series.sum() > 0)
            .collect();
        series.sort_by(|a, b| b.sum().cmp(&a.sum()).then_with(|| a.name.cmp(&b.name)));
        if series.len() > SERIES {
            let rest = series.split_off(SERIES);
            let mut counts = vec![0; slots.len()];
            for one in &rest {
                for (to, count) in counts.iter_mut().zip(&one.counts) {
                    *to += count;
                }
            }
            let name = format!("{} others", rest.len());
            series.push(ChartSeries { name, counts });
        }
        let sums = (0..slots.len()).map(|slot| series.iter().map(|one| one.at(slot)).sum());
        let most = axis(sums.max().unwrap_or(0));
        Self {
            id,
            title: title.into(),
            slots,
            series,
            is_stacked: true,
            is_pending: false,
            most,
        }
    }

    /// Draws levels, such as a time on average, which do not add up. Only the first few series that have
    /// any are drawn.
    pub fn from_levels(
        id: &'static str,
        title: impl Into<String>,
        slots: Vec<String>,
        series: impl IntoIterator<Item = (String, Vec<u64>)>,
    ) -> Self {
        let series = series.into_iter();
        let series = series.map(|(name, counts)| ChartSeries { name, counts });
        let series: Vec<_> = series
            .filter(|one| one.most() > 0)
            .take(SERIES + 1)
            .collect();
        let most = axis(series.iter().map(ChartSeries::most).max().unwrap_or(0));
        Self {
            id,
            title: title.into(),
            slots,
            series,
            is_stacked: false,
            is_pending: false,
            most,
        }
    }

    /// Says in the place of numbers that they are still being counted, if they are.
    pub fn pending(mut self, is_pending: bool) -> Self {
        self.is_pending = is_pending;
        self
    }

    fn nothing(&self) -> &'static str {
        if self.is_pending {
            "Being counted."
        } else {
            "Nothing in this time."
        }
    }

    fn sum(&self) -> u64 {
        self.series.iter().map(ChartSeries::sum).sum()
    }

    fn description(&self) -> String {
        let parts: Vec<String> = self.series.iter().map(|one| self.in_words(one)).collect();
        match (self.slots.first(), self.slots.last()) {
            (Some(first), Some(last)) if !parts.is_empty() => {
                format!("From {first} to {last}: {}.", parts.join(", "))
            }
            _ => self.nothing().to_owned(),
        }
    }

    /// Returns a series with its sum, or with its greatest level.
    fn in_words(&self, series: &ChartSeries) -> String {
        if self.is_stacked {
            format!("{} {}", series.name, series.sum())
        } else {
            format!("{} up to {}", series.name, series.most())
        }
    }

    fn view(&self) -> String {
        format!("0 0 {WIDTH} {HEIGHT}")
    }

    fn lines(&self) -> Vec<ChartLine> {
        let steps = if self.most.is_multiple_of(2) { 2 } else { 1 };
        let at = |step: u64| {
            let count = self.most * step / steps;
            let y = self.y(count);
            ChartLine {
                y: number(y),
                text_y: number(y + 4.0),
                count,
            }
        };
        (0..=steps).map(at).collect()
    }

    fn y(&self, count: u64) -> f64 {
        let room = HEIGHT - TOP - BOTTOM;
        HEIGHT - BOTTOM - room * (count as f64 / self.most.max(1) as f64)
    }

    fn slot_width(&self) -> f64 {
        (WIDTH - LEFT) / self.slots.len().max(1) as f64
    }

    fn pieces(&self) -> Vec<ChartPiece> {
        let width = self.slot_width();
        let mut pieces = Vec::new();
        for (slot, name) in self.slots.iter().enumerate() {
            let mut below = 0;
            for (class, series) in self.series.iter().enumerate() {
                let count = series.at(slot);
                if count == 0 {
                    continue;
                }
                let (y, bottom) = (self.y(below + count), self.y(below));
                let mut left = LEFT + width * (slot as f64 + 0.1);
                let mut bar = width * 0.8;
                if self.is_stacked {
                    below += count;
                } else {
                    bar /= self.series.len() as f64;
                    left += bar * class as f64;
                }
                pieces.push(ChartPiece {
                    class,
                    x: number(left),
                    y: number(y),
                    width: number(bar),
                    height: number(bottom - y),
                    label: format!("{}, {name}: {count}", series.name),
                });
            }
        }
        pieces
    }

    /// Returns the counts of each slot, for the table.
    fn rows(&self) -> Vec<(&str, Vec<u64>)> {
        let slots = self.slots.iter().enumerate();
        slots
            .map(|(slot, name)| {
                let counts = self.series.iter().map(|one| one.at(slot)).collect();
                (name.as_str(), counts)
            })
            .collect()
    }

    /// Returns the labels below the axis, with their places. One that has no room is left out.
    fn labels(&self) -> Vec<(String, &str)> {
        let every = self.slots.len().div_ceil(LABELS).max(1);
        let width = self.slot_width();
        let named = self.slots.iter().enumerate().step_by(every);
        let placed = named.map(|(slot, name)| (LEFT + width * (slot as f64 + 0.1), name.as_str()));
        placed
            .filter(|(x, name)| x + CHARACTER * name.len() as f64 <= WIDTH)
            .map(|(x, name)| (number(x), name))
            .collect()
    }
}

impl ChartSeries {
    fn sum(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn most(&self) -> u64 {
        self.counts.iter().copied().max().unwrap_or_default()
    }

    fn at(&self, slot: usize) -> u64 {
        self.counts.get(slot).copied().unwrap_or(0)
    }
}

/// Returns the least round number that is not less.
fn axis(most: u64) -> u64 {
    let mut power = 1_u64;
    loop {
        for factor in [1, 2, 4, 5, 8] {
            let round = factor * power;
            if round >= most {
                return round;
            }
        }
        match power.checked_mul(10) {
            Some(next) if next <= u64::MAX / 10 => power = next,
            _ => return most,
        }
    }
}

fn number(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(series: Vec<(String, Vec<u64>)>) -> Chart {
        let slots = vec!["10:00".to_owned(), "11:00".to_owned()];
        Chart::new("leads", "Leads", slots, series)
    }

    #[test]
    fn the_axis_ends_at_a_round_number() {
        for (most, expect) in [
            (0, 1),
            (1, 1),
            (3, 4),
            (6, 8),
            (9, 10),
            (11, 20),
            (4_001, 5_000),
        ] {
            assert_eq!(axis(most), expect, "{most}");
        }
        assert!(axis(u64::MAX) >= u64::MAX / 10);
    }

    #[test]
    fn a_chart_without_numbers_says_whether_they_are_still_being_counted() {
        let check = |is_pending: bool, said: &str, other: &str| {
            let chart = chart(Vec::new()).pending(is_pending);
            let text = chart.render().expect("it renders");
            assert!(text.contains(said) && !text.contains(other), "{text}");
        };
        let (pending, none) = ("Being counted.", "Nothing in this time.");
        check(true, pending, none);
        check(false, none, pending);
    }

    #[test]
    fn a_chart_has_its_bars_a_title_and_the_same_numbers_in_a_table() {
        let text = chart(vec![
            ("a<b>".to_owned(), vec![1, 3]),
            ("idle".to_owned(), vec![0, 0]),
        ])
        .render()
        .expect("it renders");
        // And one in the legend.
        assert_eq!(text.matches("<rect class=\"bar").count(), 3, "{text}");
        for part in [
            "role=\"img\"",
            "<title id=",
            "<desc id=",
            "<details",
            "From 10:00 to 11:00",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("a<b>") && !text.contains("style="), "{text}");
        assert!(!text.contains("idle"));
    }

    #[test]
    fn past_the_greatest_few_series_are_one() {
        let many = (0..8)
            .map(|one| (format!("c{one}"), vec![one + 1, 0]))
            .collect();
        let chart = chart(many);
        assert_eq!(chart.series.len(), SERIES + 1);
        assert_eq!(chart.series[0].name, "c7");
        assert_eq!(
            (
                chart.series[SERIES].name.as_str(),
                chart.series[SERIES].sum()
            ),
            ("3 others", 6)
        );
        assert_eq!(chart.sum(), 36);
    }

    #[test]
    fn levels_stand_side_by_side_and_are_not_added() {
        let slots = vec!["10:00".to_owned(), "11:00".to_owned()];
        let series = [("1.4.0", vec![3, 9]), ("1.3.0", vec![4, 0])];
        let series = series.map(|(name, counts)| (name.to_owned(), counts));
        let chart = Chart::from_levels("time", "Time", slots, series);
        assert_eq!(chart.most, 10);
        let pieces = chart.pieces();
        assert_eq!(pieces.len(), 3);
        assert_ne!(pieces[0].x, pieces[1].x);
        let text = chart.render().expect("it renders");
        assert!(text.contains("1.4.0 up to 9"), "{text}");
        assert!(!text.contains("<strong>"), "{text}");
    }

    #[test]
    fn a_label_without_room_is_left_out() {
        let slots: Vec<String> = (1..=31).map(|day| format!("2030-01-{day:02}")).collect();
        let chart = Chart::new("days", "Days", slots, Vec::new());
        let labels: Vec<&str> = chart.labels().into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels.first(), Some(&"2030-01-01"));
        assert_eq!(labels.last(), Some(&"2030-01-26"), "{labels:?}");
    }
}
