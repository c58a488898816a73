//! The standard error of a call, by WASI preview 1: the host shows what is written there after
//! a crash, and keeps it among the notes of the delivery.

const std = @import("std");
const builtin = @import("builtin");

const Part = extern struct { at: [*]const u8, len: usize };

const wasi = struct {
    extern "wasi_snapshot_preview1" fn fd_write(file: i32, part: *const Part, count: usize, written: *usize) i32;
};

/// Writes a line, of which a kilobyte is kept.
pub fn log(comptime format: []const u8, values: anytype) void {
    var line: [1024]u8 = undefined;
    var writer: std.Io.Writer = .fixed(line[0 .. line.len - 1]);
    writer.print(format, values) catch {};
    const length = writer.buffered().len;
    line[length] = '\n';
    const text = line[0 .. length + 1];
    if (builtin.cpu.arch != .wasm32) return std.debug.print("{s}", .{text});
    var written: usize = 0;
    _ = wasi.fd_write(2, &.{ .at = text.ptr, .len = text.len }, 1, &written);
}

/// The handler of panics and of failed checks: `pub const panic = leadhost.panic;`.
pub const panic = std.debug.FullPanic(crash);

fn crash(message: []const u8, _: ?usize) noreturn {
    @branchHint(.cold);
    // The host finds the message of a crash by its first word.
    log("panic: {s}", .{message});
    @trap();
}
