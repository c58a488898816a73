//! The hosts that share a database, and the plugin versions that they serve.

use std::collections::BTreeMap;

use super::register::{Family, Gauge, PluginLabel, metrics, set};
use leadhost_store::Serves;

metrics! {
    FleetMetrics {
        generations: Family<PluginLabel, Gauge> =
            add("plugin_generation", "Generation of the activation in effect on this host, by plugin; 0 for none");
        hosts: Gauge = add("hosts", "Live hosts on this database");
        hosts_behind: Gauge =
            add("hosts_behind", "Plugins whose active version at least one live host does not run yet");
    }
}

impl FleetMetrics {
    /// Sets which activation of each plugin this host serves.
    pub fn serves(&self, serves: &BTreeMap<String, Serves>) {
        for (plugin, serves) in serves {
            let plugin = plugin.clone();
            let serving = serves.digest.as_ref().map_or(0, |_| serves.generation);
            self.generations
                .get_or_create(&PluginLabel { plugin })
                .set(serving);
        }
    }

    /// Sets the number of live hosts, and the number of plugins that a live host does not
    /// serve in the activated version.
    pub fn hosts(&self, alive: usize, behind: usize) {
        set(&self.hosts, alive);
        set(&self.hosts_behind, behind);
    }
}
