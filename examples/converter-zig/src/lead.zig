//! The records of the contract, from JSON. Nothing is freed: the host makes a fresh instance for each
//! call and drops it after. The generated code frees the records, so texts in them are copies.

const std = @import("std");
const contract = @import("contract");
const json = @import("json.zig");
const allocator = std.heap.c_allocator;

pub const Completion = contract.exports_leadhost_converter_converter_completion_t;
pub const Conversion = contract.exports_leadhost_converter_converter_conversion_t;
pub const Delivery = contract.exports_leadhost_converter_converter_delivery_t;
pub const Description = contract.exports_leadhost_converter_converter_description_t;
pub const Failure = contract.exports_leadhost_converter_converter_failure_t;
pub const HandshakeAnswer = contract.exports_leadhost_converter_converter_option_handshake_answer_t;
pub const Item = contract.exports_leadhost_converter_converter_item_t;
pub const ItemList = contract.exports_leadhost_converter_converter_list_item_t;
pub const Lead = contract.exports_leadhost_converter_converter_lead_t;
pub const Problem = contract.exports_leadhost_converter_converter_problem_t;
pub const SenderPolicy = contract.exports_leadhost_converter_converter_sender_policy_t;
pub const String = contract.lead_converter_string_t;
const OptionalText = contract.lead_converter_option_string_t;
const Texts = contract.lead_converter_list_string_t;
const Pairs = contract.lead_converter_list_tuple2_string_string_t;

pub const Error = json.Error;

/// The body of a delivery; null if it is not JSON.
pub fn bodyOf(delivery: *const Delivery) ?[]const u8 {
    if (delivery.body.tag != contract.LEADHOST_TYPES_CORE_CONTENT_TEXT) return null;
    const text = delivery.body.val.text;
    return if (text.len == 0) null else json.from(text.ptr[0..text.len]);
}

pub fn string(text: []const u8) String {
    var out: String = .{};
    contract.lead_converter_string_dup_n(&out, text.ptr, text.len);
    return out;
}

/// Returns the text at a path.
pub fn textAt(form: []const u8, path: []const u8) Error!OptionalText {
    const text = try json.text(try json.at(form, path));
    return .{ .is_some = text.len > 0, .val = string(text) };
}

/// Returns the texts at these paths, without absent ones.
pub fn textsAt(form: []const u8, paths: []const []const u8) Error!Texts {
    const list = try allocator.alloc(String, paths.len);
    var texts: Texts = .{ .ptr = list.ptr };
    for (paths) |path| {
        const text = try textAt(form, path);
        if (!text.is_some) continue;
        list[texts.len] = text.val;
        texts.len += 1;
    }
    return texts;
}

/// Returns the values at these paths, each under its path, without absent ones. They may be of any
/// type.
pub fn attributesAt(form: []const u8, paths: []const []const u8) Error!Pairs {
    const list = try allocator.alloc(contract.lead_converter_tuple2_string_string_t, paths.len);
    var attributes: Pairs = .{ .ptr = list.ptr };
    for (paths) |path| {
        const value = try json.at(form, path);
        if (value.len == 0) continue;
        list[attributes.len] = .{ .f0 = string(path), .f1 = string(value) };
        attributes.len += 1;
    }
    return attributes;
}

/// Reads a body that is one form, or each form of a list; `path` is the index in the list.
pub fn itemsFrom(body: []const u8, read: fn (form: []const u8, path: []const u8) Error!Item) Error!ItemList {
    var items: std.ArrayList(Item) = .empty;
    var forms = try json.Items.of(body) orelse {
        try items.append(allocator, try read(body, ""));
        return .{ .ptr = items.items.ptr, .len = 1 };
    };
    while (try forms.next()) |form| {
        const path = try std.fmt.allocPrint(allocator, "{d}", .{items.items.len});
        try items.append(allocator, try read(form, path));
    }
    // The host checks the address of an empty list as well.
    return if (items.items.len == 0) .{} else .{ .ptr = items.items.ptr, .len = items.items.len };
}

pub fn leadItem(lead: Lead) Item {
    return .{ .outcome = .{
        .tag = contract.EXPORTS_LEADHOST_CONVERTER_CONVERTER_OUTCOME_LEAD,
        .val = .{ .lead = lead },
    } };
}

/// An item that cannot be read; the others of the body are not affected.
pub fn invalidItem(message: []const u8, path: []const u8) Item {
    return .{ .outcome = .{
        .tag = contract.EXPORTS_LEADHOST_CONVERTER_CONVERTER_OUTCOME_INVALID,
        .val = .{ .invalid = .{ .message = string(message), .path = string(path) } },
    } };
}
