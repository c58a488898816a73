//! Times as sources write them, without a configured format: epochs, ISO 8601, and day
//! before month. The result is RFC 3339, or local time if the source names no zone: the
//! host knows the connection's.

const std = @import("std");
const allocator = @import("heap.zig").allocator;
const Error = std.mem.Allocator.Error;

/// Returns a time, "" for a text that is none.
pub fn timeOf(given: []const u8) Error![]const u8 {
    const text = std.mem.trim(u8, given, &std.ascii.whitespace);
    if (isEpoch(text)) return epoch(text);
    var rest = text;
    const first = number(&rest, 4);
    if (first.len == 0 or rest.len == 0) return "";
    const sign = rest[0..1];
    if (std.mem.indexOfScalar(u8, "-/.", sign[0]) == null) return "";
    rest = rest[1..];
    const second = number(&rest, 2);
    if (second.len == 0 or !skip(&rest, sign)) return "";
    const third = number(&rest, 4);
    const is_year_first = first.len == 4 and sign[0] != '.';
    if (third.len == 0) return "";
    if (is_year_first and third.len > 2) return "";
    if (!is_year_first and (third.len != 4 or first.len > 2)) return "";
    const year = value(if (is_year_first) first else third);
    var month = value(second);
    var day = value(if (is_year_first) third else first);
    // The month comes first where the second number can only be a day.
    if (month > 12 and !is_year_first) std.mem.swap(u32, &month, &day);
    if (year < 1 or month < 1 or month > 12 or day < 1 or day > daysIn(year, month)) return "";
    const clock = try clockOf(rest);
    if (clock.len == 0) return "";
    return std.fmt.allocPrint(allocator, "{d:0>4}-{d:0>2}-{d:0>2}T{s}", .{ year, month, day, clock });
}

fn isEpoch(text: []const u8) bool {
    var rest = text;
    const whole = number(&rest, text.len);
    if (skip(&rest, ".")) _ = number(&rest, text.len);
    return rest.len == 0 and whole.len >= 9 and whole.len <= 16 and whole.len != 15;
}

/// Reads seconds, milliseconds or microseconds: nine digits or more are after 1973.
fn epoch(text: []const u8) Error![]const u8 {
    var rest = text;
    const whole = number(&rest, text.len);
    var count = std.fmt.parseInt(u64, whole, 10) catch return "";
    if (whole.len == 16) {
        count /= 1000;
    } else if (count <= 100_000_000_000) {
        count *= 1000;
    }
    const seconds = count / 1000;
    const millis = count % 1000;
    // The days since 1970, in years that begin in March.
    const day = seconds / 86_400 + 719_468;
    const of_era = day % 146_097;
    const year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    const of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const shifted = (5 * of_year + 2) / 153;
    const month = if (shifted < 10) shifted + 3 else shifted - 9;
    const year = year_of_era + day / 146_097 * 400 + @intFromBool(month <= 2);
    const fraction = if (millis > 0) try std.fmt.allocPrint(allocator, ".{d:0>3}", .{millis}) else "";
    return std.fmt.allocPrint(allocator, "{d:0>4}-{d:0>2}-{d:0>2}T{d:0>2}:{d:0>2}:{d:0>2}{s}Z", .{
        year,                month,             of_year - (153 * shifted + 2) / 5 + 1,
        seconds / 3600 % 24, seconds / 60 % 60, seconds % 60,
        fraction,
    });
}

/// Reads the time of day and the zone after a date. Without them it is midnight.
fn clockOf(given: []const u8) Error![]const u8 {
    if (std.mem.trim(u8, given, &std.ascii.whitespace).len == 0) return "00:00:00";
    var rest = std.mem.trimStart(u8, given, " ,");
    _ = skip(&rest, "às ");
    if (rest.len == given.len and !skip(&rest, "T") and !skip(&rest, "t")) return "";
    const hour = number(&rest, 2);
    if (hour.len == 0 or !skip(&rest, ":")) return "";
    const minute = number(&rest, 2);
    if (minute.len == 0) return "";
    var second: []const u8 = "0";
    var fraction: []const u8 = "";
    if (skip(&rest, ":")) {
        second = number(&rest, 2);
        if (second.len == 0) return "";
        const start = rest;
        if (skip(&rest, ".")) {
            const length = number(&rest, rest.len).len;
            if (length == 0) return "";
            fraction = start[0..@min(length + 1, 10)];
        }
    }
    const zone = try zoneOf(std.mem.trim(u8, rest, &std.ascii.whitespace)) orelse return "";
    if (value(hour) > 23 or value(minute) > 59 or value(second) > 60) return "";
    return std.fmt.allocPrint(allocator, "{d:0>2}:{d:0>2}:{d:0>2}{s}{s}", .{
        value(hour), value(minute), @min(value(second), 59), fraction, zone,
    });
}

/// Reads `Z`, `UTC`, `+00:00`, `-0300`, `-03`, or nothing. Returns null for other texts.
fn zoneOf(text: []const u8) Error!?[]const u8 {
    if (text.len == 0) return "";
    for ([_][]const u8{ "Z", "z", "UTC", "GMT" }) |utc| {
        if (std.mem.eql(u8, text, utc)) return "Z";
    }
    if (text[0] != '+' and text[0] != '-') return null;
    var rest = text[1..];
    const hours = number(&rest, 2);
    const has_minutes = rest.len > 0;
    _ = skip(&rest, ":");
    const minutes = if (has_minutes) number(&rest, 2) else "00";
    if (hours.len != 2 or minutes.len != 2 or rest.len > 0) return null;
    if (value(hours) > 14 or value(minutes) > 59) return null;
    return try std.fmt.allocPrint(allocator, "{s}{s}:{s}", .{ text[0..1], hours, minutes });
}

/// Returns the first digits, at most so many, and leaves what follows them.
fn number(rest: *[]const u8, most: usize) []const u8 {
    var length: usize = 0;
    while (length < @min(most, rest.len) and std.ascii.isDigit(rest.*[length])) length += 1;
    defer rest.* = rest.*[length..];
    return rest.*[0..length];
}

fn skip(rest: *[]const u8, start: []const u8) bool {
    rest.* = std.mem.cutPrefix(u8, rest.*, start) orelse return false;
    return true;
}

fn value(digits: []const u8) u32 {
    return std.fmt.parseInt(u32, digits, 10) catch 0;
}

fn daysIn(year: u32, month: u32) u32 {
    const is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0);
    return switch (month) {
        2 => if (is_leap) 29 else 28,
        4, 6, 9, 11 => 30,
        else => 31,
    };
}
