//! Turns the requests of {{name}} into leads. The host calls these functions and does all
//! input and output itself.

const leadhost = @import("leadhost/leadhost.zig");

/// A panic is a crash of the converter, whose log has the message.
pub const panic = leadhost.panic;

comptime {
    leadhost.exportConverter(@This());
}

/// Says who the converter is. Raise the version with every change.
pub fn describe() !leadhost.types.Description {
    return leadhost.description("{{name}}", "1.0.0", "Leads of {{name}}");
}

/// Says how senders prove themselves: here they need not. The host masks the usual secrets in a
/// body.
pub fn senderChecks(_: []const u8) !leadhost.SenderPolicyResult {
    return leadhost.checks(&.{});
}

/// Answers a GET that verifies the address: this source has none.
pub fn handshake(_: *const leadhost.types.Delivery) !leadhost.HandshakeResult {
    return .ok(.{});
}

/// Returns the leads of a delivery.
pub fn convert(delivery: *const leadhost.types.Delivery) !leadhost.ConvertResult {
    const body = leadhost.parseBody(delivery) catch |err| return leadhost.unreadable(err);
    const forms = try leadhost.forms(body);
    const items = try leadhost.allocator.alloc(leadhost.types.Item, forms.len);
    for (items, forms) |*item, form| item.* = try read(form.value, form.path);
    return leadhost.converted(items);
}

/// Reads the answer to a fetch. This converter asks for none.
pub fn complete(_: *const leadhost.types.Completion) !leadhost.CompleteResult {
    return leadhost.givenUp("this converter fetches nothing");
}

/// Returns the lead of a form. A value under a usual name (`nome`, `first_name`,
/// `telefone`, `e-mail`, ...) fills its field; everything else but other people is kept as an attribute.
/// fields.take(&.{ "deal.ref", "refs[0]" }) reads a name that is not usual, by its path.
fn read(form: *leadhost.Value, path: []const u8) !leadhost.types.Item {
    if (!form.isObject()) return leadhost.invalid("a lead must be an object", path);
    var fields = try leadhost.Fields.init(form);
    var lead: leadhost.types.Lead = .{
        .action = .from("create"),
        .external_id = leadhost.optional(fields.externalId()),
        .is_test = try fields.isTest(),
        .name = leadhost.optional(try fields.name()),
        .phones = try leadhost.list(try fields.phones()),
        .emails = try leadhost.list(try fields.emails()),
        .listings = try fields.listings(),
        .message = leadhost.optional(fields.message()),
        .occurred_at = leadhost.optional(try fields.occurredAt()),
        .source = leadhost.optional(fields.source()),
        .campaign = try fields.campaign(),
    };
    if (!fields.isLead(&lead)) {
        return leadhost.invalid("the lead has no phone, no e-mail address and no name with an id or a message", path);
    }
    lead.attributes = try fields.rest(); // Last: what nothing above has read.
    return leadhost.leadItem(lead);
}
