//! The notes of the delivery.

const std = @import("std");
const contract = @import("contract.zig");

// More lines than a person reads.
const max_notes = 200;

var lines: [max_notes]contract.String = undefined;
var count: usize = 0;

/// Adds a line unless the notes have it: the leads of a list are often alike.
pub fn addOnce(line: []const u8) void {
    for (lines[0..count]) |known| {
        if (std.mem.eql(u8, known.slice(), line)) return;
    }
    if (count == max_notes) return;
    lines[count] = .from(line);
    count += 1;
}

/// Returns the lines so far, and forgets them.
pub fn taken() contract.List(contract.String) {
    defer count = 0;
    return .from(lines[0..count]);
}
