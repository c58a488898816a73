//! The words by which programs tell the errors of the API apart. A word keeps its meaning for good;
//! what a reader needs is in the message beside it.

use super::word::words;

words! {
    /// The cause of an error.
    ErrorCode: "the code of an error" {
        InvalidRequest = "invalid_request",
        InvalidJson = "invalid_json",
        /// The message is the list of issues.
        ValidationFailed = "validation_failed",
        InvalidParameter = "invalid_parameter",
        InvalidCursor = "invalid_cursor",
        DataRestored = "data_restored",
        InstanceNotFound = "instance_not_found",
        ContactOptedOut = "contact_opted_out",
        PersonErased = "person_erased",
        ProviderRefused = "provider_refused",
        DeliveryRejected = "delivery_rejected",
        Unauthorized = "unauthorized",
        Forbidden = "forbidden",
        NotFound = "not_found",
        ConnectionNotFound = "connection_not_found",
        DealNotFound = "deal_not_found",
        PropertyNotFound = "property_not_found",
        OwnerNotFound = "owner_not_found",
        TicketNotFound = "ticket_not_found",
        MethodNotAllowed = "method_not_allowed",
        RequestTimeout = "request_timeout",
        Conflict = "conflict",
        IdempotencyInProgress = "idempotency_in_progress",
        AcceptanceNeeded = "acceptance_needed",
        AmbiguousName = "ambiguous_name",
        /// The body has the `dealId` of the deal that has the external id.
        ExternalIdTaken = "external_id_taken",
        BodyTooLarge = "body_too_large",
        UriTooLong = "uri_too_long",
        UnsupportedMediaType = "unsupported_media_type",
        Unprocessable = "unprocessable",
        IdempotencyKeyReused = "idempotency_key_reused",
        ComponentRefused = "component_refused",
        FileRefused = "file_refused",
        RateLimited = "rate_limited",
        TooManyFailedKeys = "too_many_failed_keys",
        HeadersTooLarge = "headers_too_large",
        InternalError = "internal_error",
        TemplateNotFound = "template_not_found",
        TemplateUnusable = "template_unusable",
        UnsupportedTransferCoding = "unsupported_transfer_coding",
        Overloaded = "overloaded",
        StoreUnavailable = "store_unavailable",
        StoreFull = "store_full",
    }
}
