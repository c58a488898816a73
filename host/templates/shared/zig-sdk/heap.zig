//! The memory of one call. Nothing is freed: the host makes a fresh instance for each call
//! and drops it after.
//!
//! It starts in memory that the component has from the beginning, because growing costs the
//! host two system calls; untouched pages cost nothing.

const std = @import("std");
const builtin = @import("builtin");

const is_wasm = builtin.cpu.arch == .wasm32;

pub const allocator: std.mem.Allocator = if (!is_wasm) std.heap.smp_allocator else .{
    .ptr = undefined,
    .vtable = &.{
        .alloc = alloc,
        .resize = resize,
        .remap = std.mem.Allocator.noRemap,
        .free = std.mem.Allocator.noFree,
    },
};

const page = 64 << 10;

var first: [1 << 20]u8 align(16) = undefined;
/// The free memory, as addresses; 0 before the first allocation.
var next: usize = 0;
var end: usize = 0;

fn alloc(_: *anyopaque, len: usize, alignment: std.mem.Alignment, _: usize) ?[*]u8 {
    if (next == 0) {
        next = @intFromPtr(&first);
        end = next + first.len;
    }
    const at = alignment.forward(next);
    if (len > end -| at) {
        const pages = len / page + 1;
        const before = @wasmMemoryGrow(0, pages);
        if (before < 0) return null;
        const grown = @as(usize, @intCast(before)) * page;
        // What another part of the program grew lies between; then the rest is lost.
        if (grown != end) next = grown;
        end = grown + pages * page;
        return alloc(undefined, len, alignment, 0);
    }
    next = at + len;
    return @ptrFromInt(at);
}

/// The last allocation can grow where it is.
fn resize(_: *anyopaque, memory: []u8, _: std.mem.Alignment, len: usize, _: usize) bool {
    const at = @intFromPtr(memory.ptr);
    if (at + memory.len != next or len > end - at) return len <= memory.len;
    next = at + len;
    return true;
}

/// The contract's `cabi_realloc`, by which the host passes texts and lists.
pub fn reallocate(old: ?[*]u8, old_len: usize, alignment: usize, len: usize) callconv(.c) [*]u8 {
    if (len == 0) return @ptrFromInt(alignment);
    const new = allocator.rawAlloc(len, .fromByteUnits(alignment), 0) orelse @trap();
    if (old) |bytes| @memcpy(new[0..@min(old_len, len)], bytes[0..@min(old_len, len)]);
    return new;
}
