//! The contract's types, in the memory layout of its canonical ABI: a record is an extern
//! struct, so what the host passes is read where it is. Made from
//! `wit/leadhost-converter-1.0.0.wit`; its comments say what the fields are for.

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

pub const Listing = extern struct { kind: String, reference: String };

pub const Consent = extern struct { purpose: String, granted: bool, text: String };

pub const Lead = extern struct {
    external_id: Option(String) = .{},
    action: String,
    is_test: bool = false,
    name: Option(String) = .{},
    phones: List(String) = .{},
    emails: List(String) = .{},
    region: Option(String) = .{},
    listings: List(Listing) = .{},
    message: Option(String) = .{},
    occurred_at: Option(String) = .{},
    source: Option(String) = .{},
    consents: List(Consent) = .{},
    campaign: List(Pair) = .{},
    attributes: List(Pair) = .{},
};

pub const Fetch = extern struct {
    external_id: Option(String),
    request: HttpRequest,
    state: String,
};

pub const Outcome = extern struct {
    tag: enum(u8) { lead, fetch, ignored, invalid },
    value: extern union { lead: Lead, fetch: Fetch, ignored: String, invalid: Problem },
};

pub const Item = extern struct { route: List(Pair) = .{}, outcome: Outcome };

pub const Conversion = extern struct {
    items: List(Item) = .{},
    reply: Option(Reply) = .{},
    notes: List(String) = .{},
};

pub const Completion = extern struct {
    delivery_id: String,
    received_at: String,
    config: String,
    context: List(Pair),
    external_id: Option(String),
    state: String,
    hop: u32,
    response: HttpResponse,
};

pub const Failure = extern struct {
    category: String,
    message: String,
    retry_after_seconds: Option(u32) = .{},
};

/// Exports the functions of a converter under the names of the contract. An error that one
/// returns is a crash of the converter.
pub fn exportConverter(comptime converter: type) void {
    const functions = struct {
        fn describe() callconv(.c) *const Description {
            return kept(Description, converter.describe() catch @trap());
        }

        fn senderChecks(ptr: ?[*]const u8, len: usize) callconv(.c) *const Result(SenderPolicy, Problem) {
            const config: String = .{ .ptr = ptr, .len = len };
            return kept(Result(SenderPolicy, Problem), converter.senderChecks(config.slice()) catch @trap());
        }

        fn handshake(delivery: *const Delivery) callconv(.c) *const Result(Option(HandshakeAnswer), Problem) {
            return kept(Result(Option(HandshakeAnswer), Problem), converter.handshake(delivery) catch @trap());
        }

        fn convert(delivery: *const Delivery) callconv(.c) *const Result(Conversion, Problem) {
            return kept(Result(Conversion, Problem), converter.convert(delivery) catch @trap());
        }

        fn complete(completion: *const Completion) callconv(.c) *const Result(List(Item), Failure) {
            return kept(Result(List(Item), Failure), converter.complete(completion) catch @trap());
        }
    };
    const interface = "leadhost:converter/converter@1.0.0#";
    @export(&functions.describe, .{ .name = interface ++ "describe" });
    @export(&functions.senderChecks, .{ .name = interface ++ "sender-checks" });
    @export(&functions.handshake, .{ .name = interface ++ "handshake" });
    @export(&functions.convert, .{ .name = interface ++ "convert" });
    @export(&functions.complete, .{ .name = interface ++ "complete" });
    @export(&heap.reallocate, .{ .name = "cabi_realloc" });
}

fn kept(comptime T: type, value: T) *const T {
    const place = heap.allocator.create(T) catch @trap();
    place.* = value;
    return place;
}

comptime {
    // The layout of the canonical ABI, in words of four bytes.
    if (@sizeOf(usize) == 4) {
        std.debug.assert(@sizeOf(Delivery) == 19 * 4);
        std.debug.assert(@sizeOf(SenderCheck) == 17 * 4);
        std.debug.assert(@sizeOf(Segment) == 5 * 4);
        std.debug.assert(@sizeOf(Item) == 36 * 4);
    }
}
