mod analytics;
mod audit;
mod change;
mod connections;
mod contacts;
mod conversations;
mod deals;
mod deliveries;
mod edit_connection;
mod faults;
pub mod filters;
mod golden_cases;
mod instances;
mod keys;
mod messages;
mod new_connection;
mod part;
mod plugins;
mod prelude;
mod repairs;
mod replays;
mod service;
mod tickets;
mod today;
pub mod words;
pub mod workspace;

use super::frame::Section;
use crate::route::Route;

/// Brings the rows of the files together. A file with a label is a section of the navigation, whose page is its
/// first row.
macro_rules! files {
    ($($file:ident $($label:literal)?;)+) => {
        pub static ROUTES: &[&[Route]] = &[$($file::ROUTES),+];
        pub static SECTIONS: &[Section] = &[$($(Section {
            name: stringify!($file),
            path: $file::ROUTES[0].template,
            label: $label,
        },)?)+];
    };
}

// In the order of the navigation. The first row that fits a path counts, so `new_connection` stands before
// the rows with the name of a connection.
files! {
    today "Today";
    deliveries "Deliveries";
    replays;
    analytics "Analytics";
    plugins "Plugins";
    golden_cases;
    repairs "Repairs";
    new_connection;
    connections "Connections";
    edit_connection;
    instances "Instances";
    messages "Messages";
    conversations;
    deals "Deals";
    tickets "Tickets";
    contacts "Contacts";
    keys "Keys";
    audit "Audit";
    service "Service";
}
