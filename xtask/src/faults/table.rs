//! The faults: the tests of each, their time limit, and the promise. A row here is a
//! row of `docs/reliability.md`.

/// The tests that measure a fault.
pub enum Tries {
    /// Tests against the program, by their full names.
    Tests(&'static [&'static str]),
    /// `cargo xtask fuzz`, which reports a line for each of its tests.
    Fuzz,
}

/// One fault.
pub struct Row {
    /// The key for figures of tests, and for the command line.
    pub key: &'static str,
    pub fault: &'static str,
    pub promise: &'static str,
    pub tries: Tries,
    /// The variables for the sizes of the tests, and their values in the long form.
    pub sizes: &'static [(&'static str, &'static str)],
    /// The time limit in seconds. After it the tests are killed and the row has failed.
    pub seconds: u64,
}

/// The seconds for each fuzz test in its row.
pub const FUZZ_SECONDS: &str = "15";

/// The time limit for all rows together, in seconds.
pub const SECONDS: u64 = 40 * 60;

pub const ROWS: &[Row] = &[
    Row {
        key: "kills",
        fault: "the program is killed under load",
        promise: "every acknowledged lead is stored, once",
        tries: Tries::Tests(&[
            "crash::on_sqlite::every_acknowledged_lead_survives_repeated_kills_exactly_once",
            "crash::on_postgres::every_acknowledged_lead_survives_repeated_kills_exactly_once",
        ]),
        sizes: &[("LEADHOST_KILLS", "500")],
        seconds: 600,
    },
    Row {
        key: "sync",
        fault: "an answer before the sync",
        promise: "no 2xx before its commit is synced",
        tries: Tries::Tests(&[
            "faults::sync::nothing_is_acknowledged_before_its_commit_is_synced",
            "faults::sync::a_disk_that_never_syncs_is_detected",
        ]),
        sizes: &[("LEADHOST_SYNCED", "10000")],
        seconds: 180,
    },
    Row {
        key: "full",
        fault: "the disk is full",
        promise: "writes are refused with a reason, reads continue, and leads are accepted again once there is room",
        tries: Tries::Tests(&[
            "disk::a_full_disk_refuses_only_writes_and_leads_are_accepted_again_once_there_is_room",
            "store::one_file::on_a_full_disk_writes_fail_and_reads_continue_until_there_is_room",
        ]),
        sizes: &[],
        seconds: 60,
    },
    Row {
        key: "eio",
        fault: "the disk fails (EIO)",
        promise: "leads are refused, the host reports that it is not ready, and it recovers by itself",
        tries: Tries::Tests(&[
            "admission::readiness::a_host_whose_disk_fails_is_not_ready_until_a_commit_succeeds",
        ]),
        sizes: &[],
        seconds: 60,
    },
    Row {
        key: "restarted",
        fault: "PostgreSQL restarts",
        promise: "no acknowledged lead is lost, and the hosts recover by themselves",
        tries: Tries::Tests(&[
            "bad_days::restarts::repeated_restarts_of_the_server_lose_no_lead_and_leak_no_connection",
        ]),
        sizes: &[],
        seconds: 60,
    },
    Row {
        key: "stopped",
        fault: "PostgreSQL stands still",
        promise: "requests end at their deadline, memory stays bounded, and the hosts recover afterwards",
        tries: Tries::Tests(&[
            "bad_days::standstill::while_the_whole_server_stands_still_requests_end_in_time",
            "bad_days::standstill::connections_that_stand_still_are_given_up_for_new_ones",
        ]),
        sizes: &[],
        seconds: 90,
    },
    Row {
        key: "cut",
        fault: "PostgreSQL is cut off",
        promise: "no acknowledged lead is lost or duplicated, and requests end at their deadline",
        tries: Tries::Tests(&[
            "bad_days::network::resets_silence_and_refused_connections_lose_no_acknowledged_lead",
        ]),
        sizes: &[],
        seconds: 60,
    },
    Row {
        key: "clock",
        fault: "clocks that step by an hour",
        promise: "no stamp goes backwards, so clients of the export miss no row",
        tries: Tries::Tests(&[
            "faults::clock::on_sqlite::clocks_that_step_by_an_hour_lose_no_lead_and_no_row",
            "faults::clock::on_postgres::clocks_that_step_by_an_hour_lose_no_lead_and_no_row",
        ]),
        sizes: &[("LEADHOST_CLOCK_STEPS", "24")],
        seconds: 120,
    },
    Row {
        key: "idle",
        fault: "10 000 idle connections",
        promise: "they fit in little memory, and new clients are served",
        tries: Tries::Tests(&[
            "admission::idle_connections::thousands_of_idle_connections_fit_in_a_small_memory",
        ]),
        sizes: &[("LEADHOST_TEST_SIZE", "full")],
        seconds: 90,
    },
    Row {
        key: "slow",
        fault: "slow headers, bodies and readers",
        promise: "they are closed at their deadlines and take no room from others",
        tries: Tries::Tests(&[
            "server::on_sqlite::headers_that_trickle_in_are_cut_off_and_others_are_served_meanwhile",
            "server::on_postgres::headers_that_trickle_in_are_cut_off_and_others_are_served_meanwhile",
            "server::on_sqlite::a_body_that_does_not_arrive_is_given_up",
            "server::on_postgres::a_body_that_does_not_arrive_is_given_up",
            "admission::answers::on_sqlite::a_client_that_does_not_read_large_answers_gets_no_more_of_them",
            "admission::answers::on_postgres::a_client_that_does_not_read_large_answers_gets_no_more_of_them",
        ]),
        sizes: &[],
        seconds: 60,
    },
    Row {
        key: "overload",
        fault: "three times the capacity",
        promise: "most of the capacity goes to accepted leads (the aim is 90 %), the others are asked to retry or get no connection, and answers are normal again within 5 s",
        tries: Tries::Tests(&[
            "faults::overload::on_sqlite::a_host_withstands_three_times_its_capacity",
            "faults::overload::on_postgres::a_host_withstands_three_times_its_capacity",
        ]),
        sizes: &[("LEADHOST_OVERLOAD_SECONDS", "120")],
        seconds: 540,
    },
    Row {
        key: "stops",
        fault: "SIGTERM under load",
        promise: "no request in flight is cut off",
        tries: Tries::Tests(&["admission::drain::a_stop_under_load_cuts_no_request_off"]),
        sizes: &[("LEADHOST_STOPS", "200")],
        seconds: 360,
    },
    Row {
        key: "files",
        fault: "256 file descriptors",
        promise: "idle connections are closed to make room, and leads are still accepted",
        tries: Tries::Tests(&[
            "faults::scarce::on_sqlite::with_256_files_idle_connections_make_room_and_leads_are_still_accepted",
            "faults::scarce::on_postgres::with_256_files_idle_connections_make_room_and_leads_are_still_accepted",
        ]),
        sizes: &[],
        seconds: 60,
    },
    Row {
        key: "memory",
        fault: "256 MB of memory",
        promise: "requests that do not fit wait or are asked to retry; the process is not killed",
        tries: Tries::Tests(&[
            "faults::scarce::on_sqlite::in_256_megabytes_plugins_bodies_and_pages_fit_together",
            "faults::scarce::on_postgres::in_256_megabytes_plugins_bodies_and_pages_fit_together",
            "admission::bodies::many_large_deliveries_at_once_are_shed_within_the_memory_of_a_small_host",
        ]),
        sizes: &[],
        seconds: 120,
    },
    Row {
        key: "bombs",
        fault: "JSON bombs",
        promise: "each is accepted or refused with a reason, quickly and within bounded memory",
        tries: Tries::Tests(&[
            "faults::bombs::on_sqlite::hostile_json_harms_neither_the_host_nor_other_senders",
            "faults::bombs::on_postgres::hostile_json_harms_neither_the_host_nor_other_senders",
        ]),
        sizes: &[],
        seconds: 90,
    },
    Row {
        key: "second",
        fault: "a second process opens the file",
        promise: "it is refused, and the first one keeps running",
        tries: Tries::Tests(&[
            "cli::a_folder_is_served_by_one_process_and_with_its_own_sealing_key",
        ]),
        sizes: &[],
        seconds: 30,
    },
    Row {
        key: "backup",
        fault: "backup and restore under load",
        promise: "a copy holds every lead acknowledged before it, without a gap, and a service starts from it",
        tries: Tries::Tests(&[
            "backup::copies_under_load_hold_every_acknowledged_lead_and_nothing_after_a_gap",
        ]),
        sizes: &[("LEADHOST_COPIES", "12")],
        seconds: 150,
    },
    Row {
        key: "migration",
        fault: "a migration that is killed",
        promise: "the next start continues from there and nothing is missing",
        tries: Tries::Tests(&[
            "moving::a_repeatedly_interrupted_move_copies_everything_and_clients_continue",
            "faults::schema::on_sqlite::a_schema_creation_that_is_killed_is_completed_by_the_next_start",
            "faults::schema::on_postgres::a_schema_creation_that_is_killed_is_completed_by_the_next_start",
        ]),
        sizes: &[
            ("LEADHOST_MOVE_KILLS", "100"),
            ("LEADHOST_SCHEMA_KILLS", "100"),
        ],
        seconds: 360,
    },
    Row {
        key: "hostile",
        fault: "hostile components",
        promise: "each call ends with its own fault, and other connections are not affected",
        tries: Tries::Tests(&[
            "plugins::hostile::a_guest_that_uses_memory_for_ever_runs_out_of_time",
            "plugins::hostile::a_guest_that_asks_the_host_for_ever_runs_out_of_time",
            "plugins::hostile::a_lead_whose_name_has_many_megabytes_ends_the_call",
            "plugins::hostile::sender_checks_and_handshakes_that_loop_run_out_of_time",
            "plugins::hostile::a_component_whose_describe_loops_is_refused",
            "plugins::lanes::one_slow_connection_does_not_hold_up_the_others",
        ]),
        sizes: &[],
        seconds: 120,
    },
    Row {
        key: "upgrade",
        fault: "a rolling upgrade",
        promise: "two hosts are replaced one by one without clients noticing",
        tries: Tries::Tests(&["faults::upgrade::hosts_that_are_replaced_one_by_one_lose_no_lead"]),
        sizes: &[],
        seconds: 90,
    },
    Row {
        key: "soak",
        fault: "a soak of one to two minutes",
        promise: "no error, and memory does not grow over time",
        tries: Tries::Tests(&[
            "faults::soak::on_sqlite::under_load_for_long_nothing_fails_and_memory_does_not_grow",
            "faults::soak::on_postgres::under_load_for_long_nothing_fails_and_memory_does_not_grow",
        ]),
        sizes: &[("LEADHOST_SOAK_SECONDS", "120")],
        seconds: 300,
    },
    Row {
        key: "power cut",
        fault: "the power is cut",
        promise: "every acknowledged lead is stored, and the file is intact",
        tries: Tries::Tests(&["power_cut::every_acknowledged_lead_is_there_after_a_power_cut"]),
        sizes: &[("LEADHOST_POWER_CUTS", "2000")],
        seconds: 480,
    },
    Row {
        key: "fuzz",
        fault: "random inputs",
        promise: "each is accepted or refused; none stops the program",
        tries: Tries::Fuzz,
        sizes: &[],
        seconds: 900,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_faults_name_one_row_each() {
        for (at, row) in ROWS.iter().enumerate() {
            let others = ROWS.iter().skip(at + 1);
            let same = others.filter(|other| other.key == row.key || other.fault == row.fault);
            assert_eq!(same.count(), 0, "{}", row.key);
        }
    }
}
