//! Helpers for converters: bodies as a tree whose numbers keep every digit, the fields of a
//! form by their usual names, and leads as the contract has them.

const std = @import("std");
const contract = @import("contract.zig");
const form = @import("form.zig");
const json = @import("json.zig");
const looks = @import("looks.zig");
const multipart = @import("multipart.zig");
const names = @import("names.zig");
const notes = @import("notes.zig");

/// Memory that the host drops after the call; never free it.
pub const allocator = @import("heap.zig").allocator;
/// Writes a line to the standard error: `leadhost.log("{d} forms", .{forms.len})`.
pub const log = @import("log.zig").log;
pub const panic = @import("log.zig").panic;
pub const exportConverter = contract.exportConverter;
pub const types = contract;
pub const Value = json.Value;
pub const Fields = @import("fields.zig").Fields;

const Error = std.mem.Allocator.Error;
const Handshake = contract.Option(contract.HandshakeAnswer);

pub const SenderPolicyResult = contract.Result(contract.SenderPolicy, contract.Problem);
pub const HandshakeResult = contract.Result(Handshake, contract.Problem);
pub const ConvertResult = contract.Result(contract.Conversion, contract.Problem);
pub const CompleteResult = contract.Result(contract.List(contract.Item), contract.Failure);

/// The places of the usual secrets (`google_key`, `password`, ...) in a body, whose values the host
/// masks.
pub const usual_secrets: contract.List(contract.Location) = .from(&usual_places);

const usual_places = places: {
    var places: [names.usual_secrets.len]contract.Location = undefined;
    for (&places, names.usual_secrets) |*place, name| place.* = .{ .place = .from("json"), .name = .from(name) };
    break :places places;
};

/// Returns the ways in which senders prove themselves. The host masks the usual secrets in a body.
pub fn checks(given: []const contract.SenderCheck) Error!SenderPolicyResult {
    // A copy: the list may be on the caller's stack.
    const copy = try allocator.dupe(contract.SenderCheck, given);
    return .ok(.{ .checks = .from(copy), .carried_secrets = usual_secrets });
}

pub fn description(name: []const u8, version: []const u8, summary: []const u8) contract.Description {
    return .{ .name = .from(name), .version = .from(version), .summary = .from(summary) };
}

/// The leads of a body, with the notes of `Fields.rest`.
pub fn converted(items: []const contract.Item) ConvertResult {
    return .ok(.{ .items = .from(items), .notes = notes.taken() });
}

/// Refuses the body as a whole: the sender gets 400.
pub fn refused(message: []const u8) ConvertResult {
    return .err(.{ .message = .from(message) });
}

pub const BodyError = json.ParseError || multipart.Error;

/// Refuses a body that `parseBody` cannot read.
pub fn unreadable(err: BodyError) Error!ConvertResult {
    return refused(switch (err) {
        error.NotJson => "the body is not valid JSON",
        error.NoBoundary => "the multipart body's boundary is missing or too long",
        error.NoDelimiter => "the multipart body has no delimiter in it",
        error.TooManyParts => "the multipart body has more than 1000 parts",
        error.TooLongHeaders => "a part of the multipart body has too long headers",
        error.OutOfMemory => return error.OutOfMemory,
    });
}

/// The answer to a fetch that the converter never asked for.
pub fn givenUp(message: []const u8) CompleteResult {
    return .err(.{ .category = .from("give-up"), .message = .from(message) });
}

pub fn leadItem(lead: contract.Lead) contract.Item {
    return .{ .outcome = .{ .tag = .lead, .value = .{ .lead = lead } } };
}

/// An item that cannot be read; the others of the body are not affected.
pub fn invalid(message: []const u8, path: []const u8) contract.Item {
    const problem: contract.Problem = .{ .message = .from(message), .path = .from(path) };
    return .{ .outcome = .{ .tag = .invalid, .value = .{ .invalid = problem } } };
}

/// Returns a text, absent if it is blank.
pub fn optional(text: []const u8) contract.Option(contract.String) {
    const trimmed = std.mem.trim(u8, text, &std.ascii.whitespace);
    return .{ .is_some = trimmed.len > 0, .value = .from(trimmed) };
}

pub fn list(texts: []const []const u8) Error!contract.List(contract.String) {
    const out = try allocator.alloc(contract.String, texts.len);
    for (out, texts) |*string, text| string.* = .from(text);
    return .from(out);
}

/// Returns the body of a delivery: a form, urlencoded or in parts, if its content type says so and
/// it does not begin like JSON, else JSON. A text in it that is itself JSON, under a name such as `rawRequest` or
/// `payload`, is what it contains.
pub fn parseBody(delivery: *const contract.Delivery) BodyError!*Value {
    const body = try parse(delivery);
    // Form builders send the whole answer as JSON in one field, where no path leads into a
    // text. A text that is not JSON stays.
    var next = if (body.isObject()) body.first else null;
    while (next) |child| : (next = child.next) {
        const text = child.scalar();
        const is_json = child.kind == .string and text.len > 0 and (text[0] == '{' or text[0] == '[');
        if (!is_json or !looks.isAmong(try looks.fold(child.name), &names.json_texts)) continue;
        const value = json.parse(child.raw) catch |err| switch (err) {
            error.NotJson => continue,
            else => return err,
        };
        value.name = child.name;
        value.next = child.next;
        child.* = value.*;
    }
    return body;
}

fn parse(delivery: *const contract.Delivery) BodyError!*Value {
    const kind, _ = std.mem.cutScalar(u8, header(delivery, "content-type"), ';') orelse
        .{ header(delivery, "content-type"), "" };
    if (std.ascii.eqlIgnoreCase(trim(kind), "multipart/form-data")) {
        return multipart.parse(header(delivery, "content-type"), delivery.body.value.slice());
    }
    if (std.ascii.eqlIgnoreCase(trim(kind), "application/x-www-form-urlencoded")) {
        // Each name and value of a form has an encoding of its own.
        const text = withoutMark(delivery.body.value.slice());
        const is_json = text.len > 0 and (text[0] == '{' or text[0] == '[');
        if (!is_json) return form.parse(text);
    }
    return json.parse(withoutMark(try bodyText(delivery)));
}

fn withoutMark(text: []const u8) []const u8 {
    return trim(std.mem.cutPrefix(u8, text, "\u{FEFF}") orelse text);
}

/// Returns the body as text; `form.fromBytes` reads bytes, which are not UTF-8.
pub fn bodyText(delivery: *const contract.Delivery) Error![]const u8 {
    const bytes = delivery.body.value.slice();
    return if (delivery.body.tag == .text) bytes else form.fromBytes(bytes);
}

/// Returns the first header of that name, in lower case; "" if there is none.
pub fn header(delivery: *const contract.Delivery, name: []const u8) []const u8 {
    for (delivery.headers.slice()) |pair| {
        if (std.mem.eql(u8, pair.name.slice(), name)) return pair.value.slice();
    }
    return "";
}

pub const Form = struct { value: *Value, path: []const u8 };

/// Returns the forms of a body and their paths: those of a list, of a list under `leads`, of the
/// changes that Meta sends, or the body itself.
pub fn forms(body: *Value) Error![]const Form {
    const changes = try changesIn(body);
    if (changes.len > 0) return changes;
    const leads = listed(body, "leads");
    const inside = leads != null;
    const source = leads orelse body;
    const out = try allocator.alloc(Form, if (source.kind == .array) source.count else 1);
    if (source.kind != .array) {
        out[0] = .{ .value = body, .path = "" };
        return out;
    }
    var next = source.first;
    for (out, 0..) |*one, index| {
        const path = try std.fmt.allocPrint(allocator, "{s}{d}", .{ if (inside) "leads." else "", index });
        one.* = .{ .value = next.?, .path = path };
        next = next.?.next;
    }
    return out;
}

/// Returns the values of `entry[].changes[]`.
fn changesIn(body: *Value) Error![]const Form {
    var out: std.ArrayList(Form) = .empty;
    var entry = if (listed(body, "entry")) |entries| entries.first else null;
    var of: usize = 0;
    while (entry) |one| : (entry = one.next) {
        var change = if (listed(one, "changes")) |changes| changes.first else null;
        var index: usize = 0;
        while (change) |value| : (change = value.next) {
            const path = try std.fmt.allocPrint(allocator, "entry.{d}.changes.{d}.value", .{ of, index });
            const inner = if (value.isObject()) value.get("value") else value;
            try out.append(allocator, .{ .value = inner orelse try Value.create(.null, ""), .path = path });
            index += 1;
        }
        of += 1;
    }
    return out.items;
}

/// Returns the list of this name in an object.
fn listed(object: *Value, name: []const u8) ?*Value {
    const value = if (object.isObject()) object.get(name) else null;
    return if (value != null and value.?.kind == .array) value else null;
}

fn trim(text: []const u8) []const u8 {
    return std.mem.trim(u8, text, &std.ascii.whitespace);
}
