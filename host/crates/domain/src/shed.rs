use crate::words;

words! {
    /// Why a request is refused with 429, 503 or 507: to protect the service, or because it cannot work.
    Shed: "the reason of a refusal" {
        /// Bodies in flight fill their room.
        Bodies = "bodies",
        BodiesOfOneAddress = "bodies of one address",
        BodiesToOneConnection = "bodies to one connection",
        /// Answers that clients have not read yet fill their room.
        Answers = "answers",
        ConnectionsOfOneAddress = "connections of one address",
        RateOfOneConnection = "rate of one connection",
        RateOfOnePartner = "rate of one partner",
        RateOfOneWorkspace = "rate of one workspace",
        RateOfOneAdminKey = "rate of one admin key",
        /// Too many requests of the address had no valid key.
        FailedKeys = "failed keys of one address",
        /// More writes wait for the store than it takes.
        Writes = "writes",
        /// Too many deliveries of the connection wait for their conversion.
        WaitingDeliveries = "waiting deliveries",
        Deadline = "deadline",
        /// The threads of plugins, or the plugin of the address, are not available.
        Plugins = "plugins",
        /// Products are not loaded for a search.
        Search = "search",
        /// The store cannot be reached.
        Store = "store",
        /// The store has no room to write.
        Full = "full",
        /// This host was cut off from the fleet, or another host does the job.
        Fleet = "fleet",
        Stopping = "stopping",
        /// A page of the console, which says why.
        Console = "console",
    }
}
