use leadhost_admin_api::activity::ActivityPeriod;
use leadhost_domain::time::Micros;

pub fn slot_names(period: ActivityPeriod, slots: &[Micros]) -> Vec<String> {
    // The distinguishing part of `2026-03-02 12:15`.
    let name = |at: &Micros| {
        let text = at.text().replace('T', " ");
        let part = match period {
            ActivityPeriod::Hour | ActivityPeriod::Day => text.get(11..16),
            ActivityPeriod::Week => text.get(5..16),
        };
        part.unwrap_or_default().to_owned()
    };
    slots.iter().map(name).collect()
}
