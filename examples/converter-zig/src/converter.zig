//! Turns the requests of a form into leads. The host calls the five functions of the contract and
//! does all input and output itself; each returns true for its result and false for its error.

const std = @import("std");
const lead = @import("lead.zig");

/// A panic is a crash, whose reason is in the log.
pub const panic = std.debug.FullPanic(crash);

/// Says who the converter is. Raise the version with every change.
export fn exports_leadhost_converter_converter_describe(ret: *lead.Description) void {
    ret.* = .{
        .name = lead.string("form-zig"),
        .version = lead.string("1.0.0"),
        .summary = lead.string("Leads of a form, read in Zig"),
    };
}

/// Says how senders prove themselves: here they need not.
export fn exports_leadhost_converter_converter_sender_checks(_: *lead.String, ret: *lead.SenderPolicy, _: *lead.Problem) bool {
    ret.* = .{};
    return true;
}

/// Answers a GET that verifies the address: this source has none.
export fn exports_leadhost_converter_converter_handshake(_: *lead.Delivery, ret: *lead.HandshakeAnswer, _: *lead.Problem) bool {
    ret.* = .{};
    return true;
}

/// Reads one lead. A path is names joined by dots; what is absent or blank there is absent.
fn read(form: []const u8, path: []const u8) lead.Error!lead.Item {
    const found: lead.Lead = .{
        .action = lead.string("create"),
        .external_id = try lead.textAt(form, "id"),
        .name = try lead.textAt(form, "contact.name"),
        .phones = try lead.textsAt(form, &.{ "contact.phone", "contact.mobile" }),
        .emails = try lead.textsAt(form, &.{"contact.email"}),
        .message = try lead.textAt(form, "message"),
        .attributes = try lead.attributesAt(form, &.{"budget"}),
    };
    const says_something = found.external_id.is_some or found.name.is_some or found.message.is_some;
    if (!says_something and found.phones.len + found.emails.len == 0) {
        return lead.invalidItem("the lead has no id, name, phone, e-mail address or message", path);
    }
    return lead.leadItem(found);
}

/// Returns the leads of a delivery. A body that is not JSON is refused as a whole: the sender gets
/// the status 400.
export fn exports_leadhost_converter_converter_convert(delivery: *lead.Delivery, ret: *lead.Conversion, err: *lead.Problem) bool {
    const body = lead.bodyOf(delivery) orelse {
        err.* = .{ .message = lead.string("the body is not JSON") };
        return false;
    };
    ret.* = .{ .items = lead.itemsFrom(body, read) catch |failure| @panic(@errorName(failure)) };
    return true;
}

/// Reads the answer to a fetch: this converter asks for none.
export fn exports_leadhost_converter_converter_complete(_: *lead.Completion, _: *lead.ItemList, err: *lead.Failure) bool {
    err.* = .{
        .category = lead.string("give-up"),
        .message = lead.string("this converter fetches nothing"),
    };
    return false;
}

/// Writes to the standard error, which the host keeps with the delivery.
fn crash(message: []const u8, _: ?usize) noreturn {
    for ([_][]const u8{ "panic: ", message, "\n" }) |part| _ = std.c.write(2, part.ptr, part.len);
    @trap();
}
