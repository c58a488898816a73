//! JSON without a tree: a value is the piece of the body in which it is written, so numbers keep
//! every digit, and a value is at the same time its own JSON text. An empty piece stands for an
//! absent value.

const std = @import("std");
const allocator = std.heap.c_allocator;
const Scanner = std.json.Scanner;

pub const Error = Scanner.AllocIntoArrayListError;

/// Returns the value that a body is; null if it is not JSON. Half of a surrogate pair becomes U+FFFD
/// in the body itself.
pub fn from(body: []u8) ?[]const u8 {
    replaceHalves(body);
    const value = std.mem.cutPrefix(u8, body, "\u{FEFF}") orelse body;
    const is_json = std.json.validate(allocator, value) catch @panic("out of memory");
    return if (is_json) std.mem.trim(u8, value, " \t\r\n") else null;
}

/// Returns the value at a path of names joined by dots, such as `contact.phone`; of two members with
/// one name the last. Absent if there is none, or it is null, a blank string, {} or [].
pub fn at(value: []const u8, path: []const u8) Error![]const u8 {
    var found = value;
    var names = std.mem.splitScalar(u8, path, '.');
    while (names.next()) |name| found = try member(found, name);
    const has_text = (try text(found)).len > 0;
    return if (has_text or try hasMembers(found)) found else "";
}

/// Returns a string without the blanks around it, a number with its digits, or a boolean's word;
/// absent for anything else.
pub fn text(value: []const u8) Error![]const u8 {
    if (value.len == 0) return "";
    var scanner: Scanner = .initCompleteInput(allocator, value);
    const whole: []const u8 = switch (try scanner.nextAllocMax(allocator, .alloc_if_needed, value.len)) {
        .number, .string, .allocated_number, .allocated_string => |scalar| scalar,
        .true => "true",
        .false => "false",
        else => "",
    };
    return std.mem.trim(u8, whole, &std.ascii.whitespace);
}

/// The items of a list.
pub const Items = struct {
    scanner: Scanner,

    /// Returns null for a value that is not a list.
    pub fn of(value: []const u8) Error!?Items {
        if (!std.mem.startsWith(u8, value, "[")) return null;
        var scanner: Scanner = .initCompleteInput(allocator, value);
        _ = try scanner.next();
        return .{ .scanner = scanner };
    }

    pub fn next(items: *Items) Error!?[]const u8 {
        return if (try items.scanner.peekNextTokenType() == .array_end) null else try skipped(&items.scanner);
    }
};

fn member(object: []const u8, name: []const u8) Error![]const u8 {
    var found: []const u8 = "";
    if (!std.mem.startsWith(u8, object, "{")) return found;
    var scanner: Scanner = .initCompleteInput(allocator, object);
    _ = try scanner.next();
    while (try scanner.peekNextTokenType() == .string) {
        const is_named = switch (try scanner.nextAllocMax(allocator, .alloc_if_needed, object.len)) {
            .string, .allocated_string => |key| std.mem.eql(u8, key, name),
            else => unreachable,
        };
        const value = try skipped(&scanner);
        if (is_named) found = value;
    }
    return found;
}

/// Skips a value and returns its piece.
fn skipped(scanner: *Scanner) Error![]const u8 {
    _ = try scanner.peekNextTokenType(); // Skips what is before it.
    const start = scanner.cursor;
    try scanner.skipValue();
    return scanner.input[start..scanner.cursor];
}

/// Returns whether there is something between the brackets of an object or a list.
fn hasMembers(value: []const u8) Error!bool {
    if (value.len == 0 or (value[0] != '{' and value[0] != '[')) return false;
    return std.mem.trimStart(u8, value[1..], " \t\r\n").len > 1;
}

/// No text can leave the component with half of a surrogate pair in it.
fn replaceHalves(body: []u8) void {
    var next: usize = 0;
    while (std.mem.findScalarPos(u8, body, next, '\\')) |start| {
        const first = unitAt(body, start) orelse {
            next = start + 2;
            continue;
        };
        next = start + 6;
        const second = unitAt(body, next) orelse 0;
        if (std.unicode.utf16IsHighSurrogate(first) and std.unicode.utf16IsLowSurrogate(second)) {
            next += 6;
        } else if (std.unicode.utf16IsHighSurrogate(first) or std.unicode.utf16IsLowSurrogate(first)) {
            @memcpy(body[start + 2 ..][0..4], "fffd");
        }
    }
}

/// Returns the number of an escape such as `\u00e1`.
fn unitAt(body: []const u8, start: usize) ?u16 {
    const digits = std.mem.cutPrefix(u8, body[@min(start, body.len)..], "\\u") orelse return null;
    return if (digits.len < 4) null else std.fmt.parseInt(u16, digits[0..4], 16) catch null;
}
