//! JSON whose numbers keep every digit.
//!
//! Written by hand because the standard library copies every text and every list that
//! grows, which a body of millions of values does not have the memory for.

const std = @import("std");
const allocator = @import("heap.zig").allocator;
const Error = std.mem.Allocator.Error;

pub const Kind = enum { null, boolean, number, string, array, object };

pub const Value = struct {
    kind: Kind = .null,
    /// The text of a string, a number as it was written, or a boolean's word.
    raw: []const u8 = "",
    /// The items of an array, or the members of an object in order of name.
    first: ?*Value = null,
    last: ?*Value = null,
    next: ?*Value = null,
    count: usize = 0,
    /// In an object: the member's name, and what `fold` makes of it.
    name: []const u8 = "",
    folded: ?[]const u8 = null,
    /// Whether the lead has this value; set by whatever takes a text from it.
    is_read: bool = false,

    pub fn create(kind: Kind, raw: []const u8) Error!*Value {
        const value = try allocator.create(Value);
        value.* = .{ .kind = kind, .raw = raw };
        return value;
    }

    pub fn append(parent: *Value, child: *Value) void {
        if (parent.last) |last| last.next = child else parent.first = child;
        parent.last = child;
        child.next = null;
        parent.count += 1;
    }

    /// Appends a value under another name; what is in it is shared.
    pub fn appendCopy(parent: *Value, child: *const Value, name: []const u8) Error!void {
        const copy = try allocator.create(Value);
        copy.* = child.*;
        copy.name = name;
        copy.folded = null;
        parent.append(copy);
    }

    pub fn clear(parent: *Value) void {
        parent.first = null;
        parent.last = null;
        parent.count = 0;
    }

    /// Puts the members of an object in order of name; of two with one name the last stays.
    pub fn order(object: *Value) Error!void {
        if (object.kind != .object) return;
        const members = try allocator.alloc(*Value, object.count);
        defer allocator.free(members);
        var next = object.first;
        for (members) |*member| {
            member.* = next.?;
            next = member.*.next;
        }
        std.mem.sort(*Value, members, {}, hasLesserName);
        object.clear();
        for (members, 1..) |member, following| {
            if (following < members.len and std.mem.eql(u8, members[following].name, member.name)) continue;
            object.append(member);
        }
    }

    fn hasLesserName(_: void, a: *Value, b: *Value) bool {
        return std.mem.lessThan(u8, a.name, b.name);
    }

    pub fn isObject(value: *const Value) bool {
        return value.kind == .object;
    }

    /// Whether the value is null, a blank string, {} or [].
    pub fn isAbsent(value: *const Value) bool {
        return switch (value.kind) {
            .null => true,
            .boolean, .number => false,
            .string => value.scalar().len == 0,
            .array, .object => value.count == 0,
        };
    }

    /// Returns a string without the blanks around it, a number as it was written, or a
    /// boolean's word; "" for anything else.
    pub fn scalar(value: *const Value) []const u8 {
        return std.mem.trim(u8, value.raw, &std.ascii.whitespace);
    }

    /// Returns the scalar. A whole number with a fraction or an exponent, as programs write
    /// large numbers, is its digits: 1.1987654321e+10 is 11987654321.
    pub fn whole(value: *const Value) Error![]const u8 {
        const text_of = value.scalar();
        if (value.kind != .number) return text_of;
        const end = std.mem.findAny(u8, text_of, "eE") orelse text_of.len;
        const exponent = if (end < text_of.len) text_of[end + 1 ..] else "0";
        const dot = std.mem.findScalar(u8, text_of[0..end], '.') orelse end;
        const point = dot + (std.fmt.parseInt(u8, std.mem.trimStart(u8, exponent, "+"), 10) catch return text_of);
        if (point > 20 or text_of[0] == '-') return text_of;
        const after = text_of[@min(dot + 1, end)..end];
        const zeros: [20]u8 = @splat('0');
        const out = try std.mem.concat(allocator, u8, &.{ text_of[0..dot], after, &zeros });
        const is_whole = std.mem.findNone(u8, out[point..], "0") == null;
        return if (is_whole) std.mem.trimStart(u8, out[0..point], "0") else text_of;
    }

    /// Returns the scalar and marks it as read.
    pub fn take(value: *Value) []const u8 {
        value.is_read = true;
        return value.scalar();
    }

    /// Returns the first text at one of the paths and marks it as read; "" if there is none.
    pub fn text(value: *Value, paths: []const []const u8) []const u8 {
        for (paths) |path| {
            const found = value.at(path) orelse continue;
            if (found.scalar().len > 0) return found.take();
        }
        return "";
    }

    /// Returns the value at a path. A path is keys joined by dots, with indexes in
    /// brackets: `contact.phones[0]`. A key with a dot or a bracket in it is quoted:
    /// `"utm.source".first`.
    pub fn at(value: *Value, path: []const u8) ?*Value {
        var found = value;
        var rest = path;
        while (rest.len > 0) {
            if (rest[0] == '.') rest = rest[1..];
            const in_brackets = std.mem.startsWith(u8, rest, "[");
            if (in_brackets) rest = rest[1..];
            const is_quoted = std.mem.startsWith(u8, rest, "\"");
            if (is_quoted) rest = rest[1..];
            const ends = if (is_quoted) "\"" else if (in_brackets) "]" else ".[";
            const end = std.mem.findAny(u8, rest, ends) orelse rest.len;
            found = found.get(rest[0..end]) orelse return null;
            rest = rest[end..];
            if (is_quoted and rest.len > 0) rest = rest[1..];
            if (in_brackets and rest.len > 0) rest = rest[1..];
        }
        return found;
    }

    pub fn get(value: *const Value, step: []const u8) ?*Value {
        const index = if (value.kind == .array) std.fmt.parseInt(usize, step, 10) catch return null else 0;
        var position: usize = 0;
        var next = value.first;
        while (next) |one| : (next = one.next) {
            if (value.kind == .array and position == index) return one;
            if (value.kind == .object and std.mem.eql(u8, one.name, step)) return one;
            position += 1;
        }
        return null;
    }

    /// Returns the value as JSON text; numbers keep their digits.
    pub fn json(value: *const Value) Error![]const u8 {
        var out: std.ArrayList(u8) = .empty;
        try value.write(&out);
        return out.items;
    }

    fn write(value: *const Value, out: *std.ArrayList(u8)) Error!void {
        const is_object = value.kind == .object;
        switch (value.kind) {
            .null => try out.appendSlice(allocator, "null"),
            .boolean, .number => try out.appendSlice(allocator, value.raw),
            .string => try quote(out, value.raw),
            .array, .object => {
                try out.append(allocator, if (is_object) '{' else '[');
                var next = value.first;
                while (next) |one| : (next = one.next) {
                    if (one != value.first) try out.append(allocator, ',');
                    if (is_object) {
                        try quote(out, one.name);
                        try out.append(allocator, ':');
                    }
                    try one.write(out);
                }
                try out.append(allocator, if (is_object) '}' else ']');
            },
        }
    }
};

fn quote(out: *std.ArrayList(u8), text: []const u8) Error!void {
    try out.append(allocator, '"');
    for (text) |character| {
        if (character < ' ') {
            const digits = "0123456789abcdef";
            try out.appendSlice(allocator, "\\u00");
            try out.append(allocator, digits[character >> 4]);
            try out.append(allocator, digits[character & 15]);
        } else {
            if (character == '"' or character == '\\') try out.append(allocator, '\\');
            try out.append(allocator, character);
        }
    }
    try out.append(allocator, '"');
}

pub const ParseError = Error || error{NotJson};

/// Returns the JSON value of a text. A byte order mark is skipped. Of two members with one
/// name the last counts.
pub fn parse(text: []const u8) ParseError!*Value {
    var parser: Parser = .{ .rest = std.mem.cutPrefix(u8, text, "\xEF\xBB\xBF") orelse text };
    const value = try parser.value(0);
    parser.skipBlanks();
    return if (parser.rest.len == 0) value else error.NotJson;
}

/// Deeper nesting is no lead, and as an attribute is refused by the host.
pub const max_depth = 127;

const Parser = struct {
    rest: []const u8,

    fn value(parser: *Parser, depth: usize) ParseError!*Value {
        parser.skipBlanks();
        return switch (parser.peek()) {
            '"' => .create(.string, try parser.string()),
            '[' => parser.list(.array, depth),
            '{' => parser.list(.object, depth),
            'n' => parser.word("null", .null),
            't' => parser.word("true", .boolean),
            'f' => parser.word("false", .boolean),
            else => parser.number(),
        };
    }

    fn word(parser: *Parser, text: []const u8, kind: Kind) ParseError!*Value {
        if (!parser.skip(text)) return error.NotJson;
        return .create(kind, if (kind == .null) "" else text);
    }

    fn list(parser: *Parser, kind: Kind, depth: usize) ParseError!*Value {
        const end = if (kind == .array) "]" else "}";
        if (depth == max_depth) return error.NotJson;
        const parent = try Value.create(kind, "");
        parser.rest = parser.rest[1..];
        parser.skipBlanks();
        if (parser.skip(end)) return parent;
        while (true) {
            var name: []const u8 = "";
            if (kind == .object) {
                parser.skipBlanks();
                name = try parser.string();
                parser.skipBlanks();
                if (!parser.skip(":")) return error.NotJson;
            }
            const child = try parser.value(depth + 1);
            child.name = name;
            parent.append(child);
            parser.skipBlanks();
            if (parser.skip(end)) {
                try parent.order();
                return parent;
            }
            if (!parser.skip(",")) return error.NotJson;
        }
    }

    fn number(parser: *Parser) ParseError!*Value {
        const start = parser.rest;
        _ = parser.skip("-");
        if (!parser.skip("0") and !parser.skipDigits()) return error.NotJson;
        if (parser.skip(".") and !parser.skipDigits()) return error.NotJson;
        if (parser.skip("e") or parser.skip("E")) {
            if (!parser.skip("+")) _ = parser.skip("-");
            if (!parser.skipDigits()) return error.NotJson;
        }
        return .create(.number, start[0 .. start.len - parser.rest.len]);
    }

    fn string(parser: *Parser) ParseError![]const u8 {
        const escapes = "\"\\/bfnrt";
        const meanings = "\"\\/\x08\x0c\n\r\t";
        var out: std.ArrayList(u8) = .empty;
        if (!parser.skip("\"")) return error.NotJson;
        while (true) {
            const start = parser.rest;
            while (parser.peek() >= ' ' and parser.peek() != '"' and parser.peek() != '\\') {
                parser.rest = parser.rest[1..];
            }
            const plain = start[0 .. start.len - parser.rest.len];
            if (parser.skip("\"")) {
                // A text without escapes stays where it is.
                if (out.items.len == 0) return plain;
                try out.appendSlice(allocator, plain);
                return out.items;
            }
            try out.appendSlice(allocator, plain);
            if (!parser.skip("\\")) return error.NotJson;
            if (std.mem.findScalar(u8, escapes, parser.peek())) |index| {
                parser.rest = parser.rest[1..];
                try out.append(allocator, meanings[index]);
            } else if (parser.skip("u")) {
                try parser.unicode(&out);
            } else {
                return error.NotJson;
            }
        }
    }

    /// Reads what follows `\u`. Half of a surrogate pair, which cannot leave the component, is
    /// U+FFFD.
    fn unicode(parser: *Parser, out: *std.ArrayList(u8)) ParseError!void {
        var units = [2]u16{ try parser.hex(), 0 };
        var character: u21 = units[0];
        if (std.unicode.utf16IsHighSurrogate(units[0])) {
            var next = parser.*;
            units[1] = if (next.skip("\\u")) next.hex() catch 0 else 0;
            if (std.unicode.utf16DecodeSurrogatePair(&units)) |whole| {
                character = whole;
                parser.* = next;
            } else |_| {}
        }
        var bytes: [4]u8 = undefined;
        const length = std.unicode.utf8Encode(character, &bytes) catch
            return out.appendSlice(allocator, "\u{FFFD}");
        try out.appendSlice(allocator, bytes[0..length]);
    }

    fn hex(parser: *Parser) ParseError!u16 {
        if (parser.rest.len < 4) return error.NotJson;
        var unit: u16 = 0;
        for (parser.rest[0..4]) |digit| {
            unit = unit << 4 | (std.fmt.charToDigit(digit, 16) catch return error.NotJson);
        }
        parser.rest = parser.rest[4..];
        return unit;
    }

    fn skipBlanks(parser: *Parser) void {
        parser.rest = std.mem.trimStart(u8, parser.rest, " \t\r\n");
    }

    fn skipDigits(parser: *Parser) bool {
        const start = parser.rest.len;
        parser.rest = std.mem.trimStart(u8, parser.rest, "0123456789");
        return parser.rest.len < start;
    }

    /// Returns the next byte; 0, which no JSON has, at the end.
    fn peek(parser: *const Parser) u8 {
        return if (parser.rest.len > 0) parser.rest[0] else 0;
    }

    fn skip(parser: *Parser, text: []const u8) bool {
        parser.rest = std.mem.cutPrefix(u8, parser.rest, text) orelse return false;
        return true;
    }
};
