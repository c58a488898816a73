//! Forms, with the bracket paths that form builders send.

const std = @import("std");
const json = @import("json.zig");
const allocator = @import("heap.zig").allocator;
const Value = json.Value;
const Error = std.mem.Allocator.Error;

/// Returns an urlencoded text as an object of strings: `a[b][0]=x` as {"a":{"b":["x"]}},
/// `a[]=x&a[]=y` and `a=x&a=y` as {"a":["x","y"]}. A name that has texts and children has its
/// texts under the empty name.
pub fn parse(text: []const u8) Error!*Value {
    var tree: Tree = try .init();
    var pairs = std.mem.tokenizeScalar(u8, text, '&');
    while (pairs.next()) |pair| {
        const name, const value = std.mem.cutScalar(u8, pair, '=') orelse .{ pair, "" };
        try tree.add(try decode(name), try decode(value));
    }
    return tree.value();
}

/// Brackets deeper than this stay part of the last key.
const max_steps = 16;

/// A form of which each name and text is added.
pub const Tree = struct {
    root: *Value,
    /// The children of all objects: a body may have many fields.
    children: std.HashMapUnmanaged(Key, Child, Key.Context, 80) = .empty,
    /// As in a child, for the form itself.
    appended: usize = 0,

    const Child = struct {
        value: *Value,
        /// The indexes below this one are not free for `a[]`.
        appended: usize = 0,
    };

    const Key = struct {
        parent: *const Value,
        name: []const u8,

        const Context = struct {
            pub fn hash(_: Context, key: Key) u64 {
                return std.hash.Wyhash.hash(@intFromPtr(key.parent), key.name);
            }

            pub fn eql(_: Context, a: Key, b: Key) bool {
                return a.parent == b.parent and std.mem.eql(u8, a.name, b.name);
            }
        };
    };

    pub fn init() Error!Tree {
        return .{ .root = try .create(.object, "") };
    }

    /// Returns what `parse` returns; call it last.
    pub fn value(tree: *Tree) Error!*Value {
        var next = tree.root.first;
        while (next) |child| : (next = child.next) try tree.settle(child);
        try tree.root.order();
        return tree.root;
    }

    /// Adds a text under its name. Until `settle`, the texts of a name are children without a
    /// name.
    pub fn add(tree: *Tree, name: []const u8, text: []const u8) Error!void {
        var buffer: [max_steps + 1][]const u8 = undefined;
        var place = tree.root;
        var appended = &tree.appended;
        for (split(name, &buffer)) |given| {
            var step = given;
            // `a[]`: the first index that is free.
            while (step.len == 0) {
                const number = try numberText(appended.*);
                appended.* += 1;
                if (tree.get(place, number) == null) step = number;
            }
            const entry = try tree.children.getOrPut(allocator, .{ .parent = place, .name = step });
            if (!entry.found_existing) {
                entry.value_ptr.* = .{ .value = try .create(.object, "") };
                entry.value_ptr.value.name = step;
                place.append(entry.value_ptr.value);
            }
            place = entry.value_ptr.value;
            appended = &entry.value_ptr.appended;
        }
        place.append(try .create(.string, text));
    }

    fn get(tree: *const Tree, parent: *const Value, name: []const u8) ?*Value {
        const child = tree.children.get(.{ .parent = parent, .name = name }) orelse return null;
        return child.value;
    }

    /// Gives a name its value: a text, a list, or an object, in which texts of its own are
    /// under the empty name.
    fn settle(tree: *const Tree, named: *Value) Error!void {
        var own: *Value = try .create(.array, "");
        var next = named.first;
        named.clear();
        while (next) |child| {
            next = child.next;
            if (child.kind == .object) try tree.settle(child);
            if (child.name.len == 0) own.append(child) else named.append(child);
        }
        const has_own = own.count > 0;
        if (own.count == 1) own = own.first.?;
        own.name = "";
        if (named.count == 0) {
            own.name = named.name;
            own.next = named.next;
            named.* = own.*;
        } else if (has_own) {
            named.append(own);
        } else {
            try tree.makeList(named);
        }
        try named.order();
    }

    /// Makes the children of an object the items of a list, if their names count from 0
    /// without a gap.
    fn makeList(tree: *const Tree, object: *Value) Error!void {
        const items = try allocator.alloc(*Value, object.count);
        for (items, 0..) |*item, index| {
            item.* = tree.get(object, try numberText(index)) orelse return;
        }
        object.clear();
        object.kind = .array;
        for (items) |item| object.append(item);
    }
};

/// Splits `a[b][]` into `a`, `b` and an empty step. A name with unclosed brackets is one.
fn split(name: []const u8, steps: *[max_steps + 1][]const u8) []const []const u8 {
    steps[0] = name;
    const open = std.mem.findScalar(u8, name, '[') orelse return steps[0..1];
    if (open == 0) return steps[0..1];
    var count: usize = 1;
    var rest = name[open..];
    while (rest.len > 0) {
        const close = std.mem.findScalar(u8, rest, ']') orelse return steps[0..1];
        if (rest[0] != '[') return steps[0..1];
        if (count == max_steps) {
            steps[count] = rest;
            rest = "";
        } else {
            steps[count] = rest[1..close];
            rest = rest[close + 1 ..];
        }
        count += 1;
    }
    steps[0] = name[0..open];
    return steps[0..count];
}

fn numberText(number: usize) Error![]const u8 {
    return std.fmt.allocPrint(allocator, "{d}", .{number});
}

/// Returns the text without `+` and `%41`; a `%` without two digits stays.
fn decode(text: []const u8) Error![]const u8 {
    const bytes = try allocator.alloc(u8, text.len);
    var length: usize = 0;
    var at: usize = 0;
    while (at < text.len) : (at += 1) {
        bytes[length] = if (text[at] == '+') ' ' else text[at];
        if (text[at] == '%' and at + 2 < text.len) {
            const high: u8 = std.fmt.charToDigit(text[at + 1], 16) catch 255;
            const low: u8 = std.fmt.charToDigit(text[at + 2], 16) catch 255;
            if (high < 16 and low < 16) {
                bytes[length] = high << 4 | low;
                at += 2;
            }
        }
        length += 1;
    }
    return fromBytes(bytes[0..length]);
}

/// The characters of 0x80 to 0x9F; those that have none are U+FFFD.
const windows_1252 = [32]u21{
    0x20AC, 0xFFFD, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0xFFFD, 0x017D, 0xFFFD, 0xFFFD, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0xFFFD, 0x017E, 0x0178,
};

/// Returns bytes as UTF-8, with U+FFFD for each bad sequence, if at least as many characters of several
/// bytes are good as bad, or if windows-1252 would read `â€`, `ðŸ`, or `Ã` after a small letter, which
/// nobody writes; else as windows-1252, as old senders mean by Latin-1.
pub fn fromBytes(bytes: []const u8) Error![]const u8 {
    if (std.unicode.utf8ValidateSlice(bytes)) return bytes;
    const replacement = "\u{FFFD}";
    var out: std.ArrayList(u8) = .empty;
    var good: usize = 0;
    var bad: usize = 0;
    var is_cut = false;
    var at: usize = 0;
    while (at < bytes.len) {
        const rest = bytes[at..];
        is_cut = is_cut or std.mem.startsWith(u8, rest, "\xE2\x80") or std.mem.startsWith(u8, rest, "\xF0\x9F") or
            (at > 0 and rest[0] == 0xC3 and std.ascii.isLower(bytes[at - 1]));
        const length, const is_whole = sequence(rest);
        const character = if (is_whole) rest[0..length] else replacement;
        if (std.mem.eql(u8, character, replacement)) bad += 1 else if (length > 1) good += 1;
        try out.appendSlice(allocator, character);
        at += length;
    }
    if (good >= bad or is_cut) return out.items;
    out.clearRetainingCapacity();
    for (bytes) |byte| {
        const character: u21 = if (byte >= 0x80 and byte < 0xA0) windows_1252[byte - 0x80] else byte;
        var encoded: [4]u8 = undefined;
        const length = std.unicode.utf8Encode(character, &encoded) catch unreachable;
        try out.appendSlice(allocator, encoded[0..length]);
    }
    return out.items;
}

/// Returns the length of the character at the beginning, and true; or how many bytes begin a character
/// that they do not complete, at least one, and false.
fn sequence(bytes: []const u8) struct { usize, bool } {
    const length = std.unicode.utf8ByteSequenceLength(bytes[0]) catch return .{ 1, false };
    // Bounds of the second byte: no longer form than needed, no surrogate, nothing above U+10FFFF.
    var low: u8 = switch (bytes[0]) {
        0xC0, 0xC1, 0xF5...0xFF => return .{ 1, false },
        0xE0 => 0xA0,
        0xF0 => 0x90,
        else => 0x80,
    };
    var high: u8 = switch (bytes[0]) {
        0xED => 0x9F,
        0xF4 => 0x8F,
        else => 0xBF,
    };
    for (1..length) |at| {
        if (at == bytes.len or bytes[at] < low or bytes[at] > high) return .{ at, false };
        low = 0x80;
        high = 0xBF;
    }
    return .{ length, true };
}
