//! The state of the service.
