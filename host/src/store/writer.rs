//! Group commit: what concurrent requests bring is committed together.
//!
//! One task owns the store's writes of the lead's way. It takes all that waits
//! when the previous commit returns: no timer, so a lone request waits for
//! nothing and a crowd shares one fsync. A batch that fails is split until the
//! culprit is alone; the others commit.
