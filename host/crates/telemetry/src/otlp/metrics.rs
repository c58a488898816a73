//! The export of metrics: the text that `/metrics` answers, as messages of OTLP. So both have the same
//! names and values, and a metric is described in one place.

use std::time::Duration;

use bytes::Bytes;
use prost::Message as _;

use super::encode;
use super::messages::{
    AggregationTemporality, ExportMetricsServiceRequest, Gauge, Histogram, HistogramDataPoint,
    KeyValue, Metric, NumberDataPoint, OtlpSum, Resource, ResourceMetrics, ScopeMetrics, metric,
    number_data_point,
};
use super::sender::OtlpSender;
use leadhost_config::TelemetrySection;
use leadhost_domain::id::HostId;
use leadhost_domain::limits;
use leadhost_domain::time::Micros;
use leadhost_egress::Egress;

/// The path of metrics at the endpoint, by the specification of OTLP.
const PATH: &str = "/v1/metrics";

/// The export of metrics.
pub struct MetricExport {
    sender: OtlpSender,
    resource: Resource,
    /// When counting began.
    since: Micros,
    every: Duration,
}

impl MetricExport {
    /// Returns the export. `None` if it is not requested. `since`: when counting began.
    pub fn new(config: &TelemetrySection, host: HostId, since: Micros) -> Option<Self> {
        let egress = Egress::new(limits::EXPORT_DEADLINE);
        let sender = OtlpSender::new(config, egress, "metrics", PATH);
        Some(Self {
            sender: sender.filter(|_| config.otlp_metrics)?,
            resource: encode::resource(config, host),
            since,
            every: config.metrics_every(),
        })
    }

    /// Returns the time between two exports.
    pub fn every(&self) -> Duration {
        self.every
    }

    /// Exports metrics, given as OpenMetrics text. The next export has what this one may lose.
    pub async fn export(&mut self, text: &str, now: Micros) {
        let request = request(&self.resource, text, self.since, now);
        let body = Bytes::from(request.encode_to_vec());
        let _ = self.sender.deliver(body).await;
    }
}

fn request(
    resource: &Resource,
    text: &str,
    since: Micros,
    now: Micros,
) -> ExportMetricsServiceRequest {
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(resource.clone()),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(encode::scope()),
                metrics: metrics(text, TimeOfValues { since, now }),
            }],
            schema_url: encode::SCHEMA.to_owned(),
        }],
    }
}

/// The time that the values are of.
#[derive(Clone, Copy)]
struct TimeOfValues {
    since: Micros,
    now: Micros,
}

/// Reads OpenMetrics text as this program writes it: the description of a metric, then its samples.
fn metrics(text: &str, span: TimeOfValues) -> Vec<Metric> {
    let mut metrics: Vec<Metric> = Vec::new();
    for line in text.lines() {
        if let Some(description) = line.strip_prefix("# ") {
            describe(&mut metrics, description);
            continue;
        }
        if let (Some(metric), Some(sample)) = (metrics.last_mut(), MetricSample::read(line)) {
            add(metric, sample, span);
        }
    }
    metrics.retain(|metric| metric.data.is_some());
    metrics
}

/// Takes `HELP name text`, `TYPE name type` or `UNIT name unit`.
fn describe(metrics: &mut Vec<Metric>, description: &str) {
    let mut words = description.splitn(3, ' ');
    let (Some(keyword), Some(name), Some(rest)) = (words.next(), words.next(), words.next()) else {
        return;
    };
    if metrics.last().is_none_or(|metric| metric.name != name) {
        metrics.push(Metric {
            name: name.to_owned(),
            ..Metric::default()
        });
    }
    let metric = metrics.last_mut().expect("it was pushed");
    match (keyword, rest) {
        ("HELP", help) => metric.description = help.trim_end_matches('.').to_owned(),
        // The names are those of UCUM.
        ("UNIT", "seconds") => metric.unit = "s".to_owned(),
        ("UNIT", "bytes") => metric.unit = "By".to_owned(),
        ("TYPE", "counter") => {
            metric.data = Some(metric::Data::Sum(OtlpSum {
                aggregation_temporality: AggregationTemporality::Cumulative.into(),
                is_monotonic: true,
                ..OtlpSum::default()
            }));
        }
        ("TYPE", "gauge") => metric.data = Some(metric::Data::Gauge(Gauge::default())),
        ("TYPE", "histogram") => {
            metric.data = Some(metric::Data::Histogram(Histogram {
                aggregation_temporality: AggregationTemporality::Cumulative.into(),
                ..Histogram::default()
            }));
        }
        _ => {}
    }
}

/// A line with a value.
struct MetricSample<'t> {
    name: &'t str,
    labels: Vec<KeyValue>,
    /// The upper bound of a bucket.
    bound: Option<f64>,
    value: f64,
}

impl<'t> MetricSample<'t> {
    /// Reads `name{label="value",…} value`, with an exemplar behind it or without.
    fn read(line: &'t str) -> Option<Self> {
        let end = line.find(['{', ' '])?;
        let (name, mut rest) = line.split_at(end);
        let (mut labels, mut bound) = (Vec::new(), None);
        if let Some(inside) = rest.strip_prefix('{') {
            rest = inside;
            while !rest.starts_with('}') {
                let (key, after) = rest.split_once("=\"")?;
                let (value, after) = quoted(after)?;
                match key {
                    "le" => bound = Some(value.parse().unwrap_or(f64::INFINITY)),
                    key => labels.push(encode::text(key, &value)),
                }
                rest = after.strip_prefix(',').unwrap_or(after);
            }
            rest = &rest[1..];
        }
        let value = rest.trim_start().split(' ').next()?.parse().ok()?;
        Some(Self {
            name,
            labels,
            bound,
            value,
        })
    }
}

/// Reads a label's value to its closing quote. Returns the rest behind it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

fn add(metric: &mut Metric, sample: MetricSample<'_>, span: TimeOfValues) {
    let (since, now) = (encode::nanos(span.since), encode::nanos(span.now));
    match &mut metric.data {
        None => {}
        Some(metric::Data::Gauge(gauge)) => gauge.data_points.push(NumberDataPoint {
            start_time_unix_nano: 0,
            time_unix_nano: now,
            attributes: sample.labels,
            value: Some(number_data_point::NumberValue::AsDouble(sample.value)),
        }),
        Some(metric::Data::Sum(sum)) => sum.data_points.push(NumberDataPoint {
            start_time_unix_nano: since,
            time_unix_nano: now,
            attributes: sample.labels,
            value: Some(number_data_point::NumberValue::AsDouble(sample.value)),
        }),
        Some(metric::Data::Histogram(histogram)) => {
            let points = &mut histogram.data_points;
            // The lines of one series stand together.
            if points
                .last()
                .is_none_or(|last| last.attributes != sample.labels)
            {
                points.push(HistogramDataPoint {
                    start_time_unix_nano: since,
                    time_unix_nano: now,
                    attributes: sample.labels,
                    ..HistogramDataPoint::default()
                });
            }
            let point = points.last_mut().expect("it was pushed");
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "counts are whole and not negative"
            )]
            let count = sample.value as u64;
            if sample.name.ends_with("_sum") {
                point.sum = Some(sample.value);
            } else if sample.name.ends_with("_count") {
                point.count = count;
            } else if let Some(bound) = sample.bound {
                // The text counts all values up to a bound, OTLP those between two bounds.
                let below: u64 = point.bucket_counts.iter().sum();
                point.bucket_counts.push(count.saturating_sub(below));
                if bound.is_finite() {
                    point.explicit_bounds.push(bound);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_sums_gauges_and_histograms() {
        let text = "# HELP a_seconds Time.\n# TYPE a_seconds histogram\n# UNIT a_seconds seconds\n\
                    a_seconds_sum{p=\"x\"} 1.5\na_seconds_count{p=\"x\"} 3\n\
                    a_seconds_bucket{le=\"1.0\",p=\"x\"} 2 # {delivery_id=\"d\"} 0.5 1.0\n\
                    a_seconds_bucket{le=\"+Inf\",p=\"x\"} 3\n\
                    a_seconds_sum{p=\"y\"} 0.0\na_seconds_count{p=\"y\"} 0\n\
                    # HELP b Things.\n# TYPE b counter\nb_total{x=\"a\\\"b,c\"} 2\n\
                    # HELP c Room.\n# TYPE c gauge\nc 7\n# EOF\n";
        let span = TimeOfValues {
            since: Micros(1),
            now: Micros(2),
        };
        let read = metrics(text, span);
        let names: Vec<_> = read.iter().map(|one| (&*one.name, &*one.unit)).collect();
        assert_eq!(names, [("a_seconds", "s"), ("b", ""), ("c", "")]);
        let Some(metric::Data::Histogram(a)) = &read[0].data else {
            panic!("{:?}", read[0]);
        };
        assert_eq!(a.data_points.len(), 2);
        let first = &a.data_points[0];
        assert_eq!(first.bucket_counts, [2, 1]);
        assert_eq!(first.explicit_bounds, [1.0]);
        assert_eq!((first.count, first.sum), (3, Some(1.5)));
        assert_eq!(first.start_time_unix_nano, 1_000);
        let Some(metric::Data::Sum(b)) = &read[1].data else {
            panic!("{:?}", read[1]);
        };
        assert!(b.is_monotonic);
        assert_eq!(b.data_points[0].attributes, [encode::text("x", "a\"b,c")]);
        let Some(metric::Data::Gauge(c)) = &read[2].data else {
            panic!("{:?}", read[2]);
        };
        let seven = number_data_point::NumberValue::AsDouble(7.0);
        assert_eq!(c.data_points[0].value, Some(seven));
        assert_eq!(c.data_points[0].time_unix_nano, 2_000);
    }
}
