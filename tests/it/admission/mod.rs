//! Admission: unknown senders, idle connections and clients past their rate take no
//! capacity from others.

mod answers;
mod bodies;
mod drain;
mod idle_connections;
mod rates;
mod readiness;
