//! The contract's types for converters, in the memory layout of its canonical ABI. Made from
//! `wit/leadhost-converter-1.0.0.wit`; its comments say what the fields are for.

const std = @import("std");
const core = @import("core.zig");
const heap = @import("heap.zig");

pub const List = core.List;
pub const Option = core.Option;
pub const Result = core.Result;
pub const String = core.String;
pub const Pair = core.Pair;
pub const Content = core.Content;
pub const Delivery = core.Delivery;
pub const HttpRequest = core.HttpRequest;
pub const HttpResponse = core.HttpResponse;
pub const Reply = core.Reply;
pub const HandshakeAnswer = core.HandshakeAnswer;
pub const Location = core.Location;
pub const SignedPart = core.SignedPart;
pub const SenderCheck = core.SenderCheck;
pub const SenderPolicy = core.SenderPolicy;
pub const SecretDeclaration = core.SecretDeclaration;
pub const Description = core.Description;
pub const Problem = core.Problem;
const crash = core.crash;
const kept = core.kept;

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
            return kept(Description, converter.describe() catch |err| crash(err));
        }

        fn senderChecks(ptr: ?[*]const u8, len: usize) callconv(.c) *const Result(SenderPolicy, Problem) {
            const config: String = .{ .ptr = ptr, .len = len };
            return kept(Result(SenderPolicy, Problem), converter.senderChecks(config.slice()) catch |err| crash(err));
        }

        fn handshake(delivery: *const Delivery) callconv(.c) *const Result(Option(HandshakeAnswer), Problem) {
            return kept(Result(Option(HandshakeAnswer), Problem), converter.handshake(delivery) catch |err| crash(err));
        }

        fn convert(delivery: *const Delivery) callconv(.c) *const Result(Conversion, Problem) {
            return kept(Result(Conversion, Problem), converter.convert(delivery) catch |err| crash(err));
        }

        fn complete(completion: *const Completion) callconv(.c) *const Result(List(Item), Failure) {
            return kept(Result(List(Item), Failure), converter.complete(completion) catch |err| crash(err));
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

comptime {
    // The layout of the canonical ABI, in words of four bytes.
    if (@sizeOf(usize) == 4) {
        std.debug.assert(@sizeOf(Item) == 36 * 4);
    }
}
