//! Bodies of the type multipart/form-data. A delimiter counts only at the beginning of a line, so
//! the time grows with the length of the body and no faster. The last delimiter may be missing.

const std = @import("std");
const form = @import("form.zig");
const json = @import("json.zig");
const allocator = @import("heap.zig").allocator;
const OutOfMemory = std.mem.Allocator.Error;

pub const Error = error{ NoBoundary, NoDelimiter, TooManyParts, TooLongHeaders } || OutOfMemory;

/// RFC 2046 allows 70 characters; some senders use a few more.
const max_boundary = 200;
/// A form has some dozen fields.
const max_parts = 1000;
/// Bytes of the headers of one part.
const max_headers = 8 * 1024;

/// Returns the fields of a body as `form.parse` does: of a file, its name.
pub fn parse(content_type: []const u8, body: []const u8) Error!*json.Value {
    const boundary = try parameter(content_type, "boundary") orelse "";
    if (boundary.len == 0 or boundary.len > max_boundary) return error.NoBoundary;
    var parts: Parts = .{ .tree = try .init() };
    var begin: ?usize = null;
    var line: usize = 0;
    while (true) {
        const end = std.mem.findScalarPos(u8, body, line, '\n');
        if (closes(body[line .. end orelse body.len], boundary)) |is_last| {
            if (begin) |at| try parts.add(body[at..line]);
            if (is_last) return parts.tree.value();
            begin = if (end) |at| at + 1 else body.len;
        }
        line = (end orelse break) + 1;
    }
    const last = begin orelse return error.NoDelimiter;
    if (last < body.len) try parts.add(body[last..]);
    return parts.tree.value();
}

/// Whether a line is the last delimiter; null if it is none.
fn closes(line: []const u8, boundary: []const u8) ?bool {
    const dashed = std.mem.cutPrefix(u8, line, "--") orelse return null;
    const after = std.mem.cutPrefix(u8, dashed, boundary) orelse return null;
    const rest = std.mem.cutPrefix(u8, after, "--");
    return if (std.mem.trim(u8, rest orelse after, " \t\r").len > 0) null else rest != null;
}

const Parts = struct {
    tree: form.Tree,
    count: usize = 0,

    fn add(parts: *Parts, given: []const u8) Error!void {
        if (parts.count == max_parts) return error.TooManyParts;
        parts.count += 1;
        const line = std.mem.cutSuffix(u8, given, "\n") orelse given;
        const headers, const text = cutHeaders(std.mem.cutSuffix(u8, line, "\r") orelse line);
        if (headers.len > max_headers) return error.TooLongHeaders;
        var name: []const u8 = "";
        var file: ?[]const u8 = null;
        var lines = std.mem.splitScalar(u8, try form.fromBytes(headers), '\n');
        while (lines.next()) |header| {
            const key, const value = std.mem.cutScalar(u8, header, ':') orelse continue;
            if (!isSame(key, "content-disposition")) continue;
            name = try parameter(value, "name") orelse "";
            file = try parameter(value, "filename");
        }
        try parts.tree.add(name, file orelse try form.fromBytes(text));
    }
};

/// Returns what is before and after the first empty line.
fn cutHeaders(part: []const u8) struct { []const u8, []const u8 } {
    var line: usize = 0;
    while (true) {
        const rest = part[line..];
        if (std.mem.cutPrefix(u8, rest, "\n") orelse std.mem.cutPrefix(u8, rest, "\r\n")) |text| {
            return .{ part[0 .. line -| 1], text };
        }
        const end = std.mem.findScalar(u8, rest, '\n') orelse return .{ part, "" };
        line += end + 1;
    }
}

/// Returns a parameter of a header: `name=value` or `name="value"`.
fn parameter(header: []const u8, wanted: []const u8) OutOfMemory!?[]const u8 {
    const blank = std.ascii.whitespace;
    _, var rest = std.mem.cutScalar(u8, header, ';') orelse return null;
    while (true) {
        rest = std.mem.trimStart(u8, rest, ";" ++ blank);
        const end = std.mem.findAny(u8, rest, "=;") orelse return null;
        const name = rest[0..end];
        const is_alone = rest[end] == ';';
        rest = rest[end + 1 ..];
        if (is_alone) continue;
        var value: []const u8 = undefined;
        if (std.mem.startsWith(u8, rest, "\"")) {
            value, rest = try unquoted(rest[1..]);
        } else {
            const plain, rest = std.mem.cutScalar(u8, rest, ';') orelse .{ rest, "" };
            value = std.mem.trimEnd(u8, plain, &blank);
        }
        if (isSame(name, wanted)) return value;
    }
}

/// Returns a value up to its quote, and what is after that.
fn unquoted(text: []const u8) OutOfMemory!struct { []const u8, []const u8 } {
    var out: std.ArrayList(u8) = .empty;
    var at: usize = 0;
    while (at < text.len) : (at += 1) {
        if (text[at] == '"') return .{ out.items, text[at + 1 ..] };
        // Other backslashes are those of a Windows path, as old browsers sent it.
        const is_escape = text[at] == '\\' and at + 1 < text.len and (text[at + 1] == '"' or text[at + 1] == '\\');
        if (is_escape) at += 1;
        try out.append(allocator, text[at]);
    }
    return .{ out.items, "" };
}

fn isSame(name: []const u8, lower: []const u8) bool {
    return std.ascii.eqlIgnoreCase(std.mem.trim(u8, name, &std.ascii.whitespace), lower);
}
