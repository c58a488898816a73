//! The command line: `leadhost serve` is the service; the other commands ask a
//! running service over its admin API, save those about the store's own files. Arguments are read here and each
//! command is a file; a failure says what happened and what to do.
//!
//! Exit codes: 0 done, 1 failed, 2 wrong usage.

mod apply;
mod backup;
mod client;
mod compile;
mod config;
mod confirm;
mod connection;
mod contact;
mod deal;
mod delivery;
mod etl;
mod examine;
mod failure;
mod instance;
mod key;
mod migrate;
mod openapi;
mod outbox;
mod output;
mod owner;
mod page;
mod plugin;
mod products;
mod progress;
mod serve;
mod status;
mod table;
mod workspace;
mod workspace_file;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::Failure;

/// Takes leads from any source, with converters that can be swapped while it runs.
#[derive(Parser)]
#[command(name = "leadhost", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the service
    Serve(Box<serve::Serve>),
    /// Make a workspace as its file declares it
    Apply(apply::Apply),
    /// Keys of partners, workspaces and operators
    #[command(subcommand)]
    Key(key::Key),
    /// Converters and adapters: which serve, take one in, roll back
    #[command(subcommand)]
    Plugin(plugin::Plugin),
    /// What senders sent and what became of it
    #[command(subcommand)]
    Delivery(delivery::Delivery),
    /// What happened to deals; remove one
    #[command(subcommand)]
    Deal(deal::Deal),
    /// Erase a person, and what was erased
    #[command(subcommand)]
    Contact(contact::Contact),
    /// Where sources post to
    #[command(subcommand)]
    Connection(connection::Connection),
    /// Messaging bots: their channels, templates and pauses
    #[command(subcommand)]
    Instance(instance::Instance),
    /// People who own deals and answer tickets
    #[command(subcommand)]
    Owner(owner::Owner),
    /// The workspaces that there are
    #[command(subcommand)]
    Workspace(workspace::Workspace),
    /// The catalogue of a workspace
    #[command(subcommand)]
    Products(products::Products),
    /// How analytics is kept counted: how far it is, count now, count anew
    #[command(subcommand)]
    Etl(etl::Etl),
    /// Messages: what went out, what waits, what came back
    Outbox(outbox::Outbox),
    /// What the running service does and what waits
    Status(status::Status),
    /// Copy a SQLite store into a new file, while the service runs or not
    Backup(backup::Backup),
    /// Move a store from a SQLite file into a PostgreSQL database
    Migrate(migrate::Migrate),
    /// Print every key of the configuration with its default
    Config,
    /// Print the document of the gateway and the data API, OpenAPI 3.1
    Openapi(openapi::Openapi),
    /// What the service starts for each new plugin
    #[command(hide = true)]
    Compile(compile::Compile),
    /// What the service starts to check configurations
    #[command(hide = true)]
    Examine(examine::Examine),
}

/// Runs the command that the process's arguments name.
pub fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(&failure.to_string());
            ExitCode::from(failure.code())
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Command::Serve(command) => command.run(),
        Command::Apply(command) => client::block_on(command.run()),
        Command::Key(command) => client::block_on(command.run()),
        Command::Plugin(command) => command.run(),
        Command::Delivery(command) => client::block_on(command.run()),
        Command::Connection(command) => client::block_on(command.run()),
        Command::Instance(command) => client::block_on(command.run()),
        Command::Contact(command) => client::block_on(command.run()),
        Command::Deal(command) => client::block_on(command.run()),
        Command::Owner(command) => client::block_on(command.run()),
        Command::Workspace(command) => client::block_on(command.run()),
        Command::Products(command) => client::block_on(command.run()),
        Command::Etl(command) => client::block_on(command.run()),
        Command::Outbox(command) => client::block_on(command.run()),
        Command::Status(command) => client::block_on(command.run()),
        Command::Backup(command) => client::block_on(command.run()),
        Command::Migrate(command) => client::block_on(command.run()),
        Command::Config => config::run(),
        Command::Openapi(command) => command.run(),
        Command::Compile(command) => command.run(),
        Command::Examine(command) => command.run(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_arguments_fit_together() {
        super::Arguments::command().debug_assert();
    }
}
