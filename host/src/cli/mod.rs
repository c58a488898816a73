//! The command line. `leadhost serve` runs the service; the other commands call a running
//! service over its admin API, except those that work on the store's own files. This module
//! parses the arguments; each command has a file. A failure says what happened and what to do.
//!
//! Exit codes: 0 success, 1 failure, 2 wrong usage. Usage is what the command line says; a mistake in
//! a file, also in the configuration, is a failure.

mod apply;
mod audit;
mod backup;
mod captures;
mod client;
mod command;
mod compile;
mod componentize;
mod config;
mod confirm;
mod connection;
mod contact;
mod deal;
mod delivery;
mod doctor;
mod early_options;
mod etl;
mod failure;
mod former;
mod instance;
mod key;
mod lines;
mod mapping;
mod migrate;
#[cfg(test)]
mod named_commands;
mod open_rollouts;
mod openapi;
mod outbox;
mod output;
mod overview;
mod owner;
mod page;
mod pausing;
mod plugin;
mod prelude;
mod products;
mod progress;
mod recipe;
mod repair;
mod secret;
mod serve;
mod status;
mod table;
mod tail;
mod verbs;
mod workspace;
mod workspace_file;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use prelude::CommandResult;

/// Receives leads from any source. You can replace its plugins while it runs
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
    /// Create or change a workspace as its file declares it
    Apply(apply::Apply),
    /// Create, list and revoke keys of partners, workspaces and operators
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// Write, test, publish and roll back converters and adapters
    #[command(subcommand)]
    Plugin(plugin::Plugin),
    /// Try configurations of the mapping converter
    #[command(subcommand)]
    Mapping(mapping::MappingCommand),
    /// List, show, export and replay deliveries
    #[command(subcommand)]
    Delivery(delivery::DeliveryCommand),
    /// List, show, cancel and undo repairs
    #[command(subcommand)]
    Repair(repair::RepairCommand),
    /// Show the history of a deal, or remove a deal
    #[command(subcommand)]
    Deal(deal::DealCommand),
    /// Erase a person, or list erasures
    #[command(subcommand)]
    Contact(contact::ContactCommand),
    /// List, pause and resume connections
    #[command(subcommand)]
    Connection(connection::ConnectionCommand),
    /// List, show, pause and resume messaging bots, and sync their templates
    #[command(subcommand)]
    Instance(instance::InstanceCommand),
    /// List and add people who own deals and answer tickets
    #[command(subcommand)]
    Owner(owner::OwnerCommand),
    /// List workspaces
    #[command(subcommand)]
    Workspace(workspace::WorkspaceCommand),
    /// Import and remove products of a workspace
    #[command(subcommand)]
    Products(products::ProductsCommand),
    /// Show, run or rebuild the analytics counts
    #[command(subcommand)]
    Etl(etl::EtlCommand),
    /// List messages, resolve one, or simulate a contact of the sandbox
    Outbox(outbox::OutboxCommand),
    /// Show the state of the running service, and what is wrong
    Status(verbs::Asked<status::ShowStatus>),
    /// Follow deliveries as they come in
    Tail(tail::Tail),
    /// Check a deployment, and show how to fix problems
    Doctor(doctor::Doctor),
    /// Show the audit, or export it and check its chain
    Audit(verbs::Asked<audit::ShowAudit>),
    /// Copy a SQLite store into a new file, whether the service runs or not
    Backup(backup::Backup),
    /// Move a store from a SQLite file into a PostgreSQL database
    Migrate(migrate::Migrate),
    /// Print every key of the configuration with its default
    Config,
    /// Print the OpenAPI 3.1 document of the gateway and the data API, or of the admin API
    Openapi(openapi::Openapi),
    /// Compile a component; the service starts this for each new plugin
    #[command(hide = true)]
    Compile(compile::Compile),
    /// Turn a core module into a component; the tools of integrators start this
    #[command(hide = true)]
    Componentize(componentize::Componentize),
}

pub fn main() -> ExitCode {
    let program = Arguments::command();
    let arguments = early_options::behind_command(&program, std::env::args_os());
    let parsed = match Arguments::try_parse_from(&arguments) {
        Ok(parsed) => parsed,
        Err(error) => match former::say(&program, &arguments) {
            Some(said) => {
                output::complain(&said);
                return ExitCode::from(2);
            }
            None => error.exit(),
        },
    };
    match run(parsed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(&failure.to_string());
            ExitCode::from(failure.code())
        }
    }
}

fn run(arguments: Arguments) -> CommandResult {
    match arguments.command {
        Command::Serve(command) => command.run(),
        Command::Apply(command) => client::block_on(command.run()),
        Command::Key(command) => client::block_on(command.run()),
        Command::Plugin(command) => command.run(),
        Command::Mapping(command) => client::block_on(command.run()),
        Command::Delivery(command) => client::block_on(command.run()),
        Command::Repair(command) => client::block_on(command.run()),
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
        Command::Tail(command) => client::block_on(command.run()),
        Command::Doctor(command) => client::block_on(command.run()),
        Command::Audit(command) => client::block_on(command.run()),
        Command::Backup(command) => client::block_on(command.run()),
        Command::Migrate(command) => client::block_on(command.run()),
        Command::Config => config::run(),
        Command::Openapi(command) => command.run(),
        Command::Compile(command) => command.run(),
        Command::Componentize(command) => command.run(),
    }
}
