//! The types that both contracts share, in the memory layout of their canonical ABI: a record is an
//! extern struct, so what the host passes is read where it is. Made from the package `leadhost:types`
//! in `wit/`; its comments say what the fields are for.

const std = @import("std");
const heap = @import("heap.zig");

pub fn List(comptime T: type) type {
    return extern struct {
        ptr: ?[*]const T = null,
        len: usize = 0,

        pub fn from(items: []const T) @This() {
            // The host checks the address of an empty list as well.
            return if (items.len == 0) .{} else .{ .ptr = items.ptr, .len = items.len };
        }

        pub fn slice(list: @This()) []const T {
            return if (list.len == 0) &.{} else list.ptr.?[0..list.len];
        }
    };
}

pub fn Option(comptime T: type) type {
    return extern struct { is_some: bool = false, value: T = std.mem.zeroes(T) };
}

pub fn Result(comptime T: type, comptime E: type) type {
    return extern struct {
        is_error: bool,
        value: extern union { ok: T, err: E },

        pub fn ok(value: T) @This() {
            return .{ .is_error = false, .value = .{ .ok = value } };
        }

        pub fn err(value: E) @This() {
            return .{ .is_error = true, .value = .{ .err = value } };
        }
    };
}

pub const String = List(u8);
pub const Pair = extern struct { name: String, value: String };

pub const Content = extern struct {
    tag: enum(u8) { text, bytes },
    value: String,
};

pub const Delivery = extern struct {
    id: String = .{},
    received_at: String = .{},
    method: String = .{},
    path: String = .{},
    query: List(Pair) = .{},
    headers: List(Pair) = .{},
    body: Content,
    config: String = .{},
    context: List(Pair) = .{},
};

pub const SlotArgument = extern struct {
    tag: enum(u8) { secret, literal },
    value: String,
};

pub const Slot = extern struct { function: String, args: List(SlotArgument) };

pub const Segment = extern struct {
    tag: enum(u8) { literal, bytes, slot },
    value: extern union { text: String, slot: Slot },
};

pub const PairOfSegments = extern struct { name: String, value: List(Segment) };

pub const HttpRequest = extern struct {
    method: String,
    scheme: String,
    authority: String,
    path: List(Segment),
    query: List(PairOfSegments),
    headers: List(PairOfSegments),
    body: List(Segment),
};

pub const HttpResponse = extern struct { status: u16, headers: List(Pair), body: Content };

pub const Reply = extern struct { status: u16, content_type: String, body: List(Segment) };

pub const Requirement = extern struct { secret: String, query_field: String };

pub const HandshakeAnswer = extern struct { require: List(Requirement), reply: Reply };

pub const Location = extern struct { place: String, name: String };

pub const SignedPart = extern struct { kind: String, value: String };

pub const SenderCheck = extern struct {
    secret: String,
    scheme: String,
    proof: Location,
    encoding: String,
    prefix: String = .{},
    timestamp_header: String = .{},
    tolerance_seconds: u32 = 0,
    signed: List(SignedPart) = .{},
};

pub const SenderPolicy = extern struct {
    checks: List(SenderCheck) = .{},
    carried_secrets: List(Location) = .{},
};

pub const SecretDeclaration = extern struct {
    name: String,
    kind: String,
    summary: String,
    required: bool,
};

pub const Description = extern struct {
    name: String,
    version: String,
    summary: String,
    config_schema: String = .{},
    secrets: List(SecretDeclaration) = .{},
    hosts: List(String) = .{},
};

pub const Problem = extern struct { message: String, path: String = .{} };

/// An error that an exported function returns is a crash of the plugin.
pub fn crash(err: anyerror) noreturn {
    @panic(@errorName(err));
}

/// Returns the address of a result, which the host reads after the call.
pub fn kept(comptime T: type, value: T) *const T {
    const place = heap.allocator.create(T) catch |err| crash(err);
    place.* = value;
    return place;
}

comptime {
    // The layout of the canonical ABI, in words of four bytes.
    if (@sizeOf(usize) == 4) {
        std.debug.assert(@sizeOf(Delivery) == 19 * 4);
        std.debug.assert(@sizeOf(SenderCheck) == 17 * 4);
        std.debug.assert(@sizeOf(Segment) == 5 * 4);
    }
}
