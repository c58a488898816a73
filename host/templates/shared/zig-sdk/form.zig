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

/// Returns the text without `+` and `%41`; a `%` without two digits stays. What is not
/// UTF-8 is read as Latin-1, which old senders still use.
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

/// Returns bytes of UTF-8 as they are, and others as those of Latin-1.
pub fn fromBytes(bytes: []const u8) Error![]const u8 {
    return if (std.unicode.utf8ValidateSlice(bytes)) bytes else fromLatin1(bytes);
}

/// Returns bytes of Latin-1, in which every byte is a character, as UTF-8.
pub fn fromLatin1(bytes: []const u8) Error![]const u8 {
    var out: std.ArrayList(u8) = try .initCapacity(allocator, 2 * bytes.len);
    for (bytes) |byte| {
        if (byte >= 0x80) out.appendAssumeCapacity(0xC0 | byte >> 6);
        out.appendAssumeCapacity(if (byte < 0x80) byte else 0x80 | (byte & 0x3F));
    }
    return out.items;
}
