//! The contract's types for adapters, in the memory layout of its canonical ABI. Made from
//! `wit/leadhost-adapter-1.0.0.wit`; its comments say what the fields are for.

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
pub const Segment = core.Segment;
pub const SlotArgument = core.SlotArgument;
pub const PairOfSegments = core.PairOfSegments;
pub const HttpRequest = core.HttpRequest;
pub const HttpResponse = core.HttpResponse;
pub const Reply = core.Reply;
pub const HandshakeAnswer = core.HandshakeAnswer;
pub const SenderCheck = core.SenderCheck;
pub const SenderPolicy = core.SenderPolicy;
pub const SecretDeclaration = core.SecretDeclaration;
pub const Description = core.Description;
pub const Problem = core.Problem;
const crash = core.crash;
const kept = core.kept;

pub const TemplateSend = extern struct {
    message_id: String,
    recipient: String,
    template: String,
    config: String,
    context: List(Pair) = .{},
};

pub const Accepted = extern struct {
    external_ids: List(String),
    recipient_id: Option(String) = .{},
    status: String,
    attributes: List(Pair) = .{},
};

pub const Refused = extern struct {
    category: String,
    code: String = .{},
    title: String = .{},
    text: String = .{},
    details: String = .{},
    retry_after_seconds: Option(u32) = .{},
};

pub const SendAnswer = extern struct {
    tag: enum(u8) { accepted, refused, unknown },
    value: extern union { accepted: Accepted, refused: Refused, unknown: String },
};

pub const SendStep = extern struct {
    tag: enum(u8) { call, answer },
    value: extern union { call: HttpRequest, answer: SendAnswer },
};

pub const ChannelError = extern struct {
    code: String,
    title: String,
    description: String,
    details: String,
    category: String,
};

pub const StatusUpdate = extern struct {
    external_id: String,
    message_id: Option(String) = .{},
    status: String,
    occurred_at: Option(String) = .{},
    recipient_id: Option(String) = .{},
    errors: List(ChannelError) = .{},
};

pub const InboundMessage = extern struct {
    external_id: String,
    sender_id: String,
    sender_phone: Option(String) = .{},
    sender_name: Option(String) = .{},
    kind: String,
    content: Option(String) = .{},
    occurred_at: Option(String) = .{},
    reply_to: Option(String) = .{},
    attributes: List(Pair) = .{},
};

pub const TemplateChange = extern struct { name: String, language: String, status: String, reason: String };

pub const ContactChange = extern struct {
    sender_id: String,
    sender_phone: Option(String),
    kind: String,
    value: String,
    occurred_at: Option(String),
};

pub const EventBody = extern struct {
    tag: enum(u8) { status, inbound, template, contact, other, invalid },
    value: extern union {
        status: StatusUpdate,
        inbound: InboundMessage,
        template: TemplateChange,
        contact: ContactChange,
        other: String,
        invalid: Problem,
    },
};

pub const Event = extern struct {
    route: List(Pair) = .{},
    body: EventBody,
    attributes: List(Pair) = .{},
};

pub const Webhook = extern struct {
    events: List(Event) = .{},
    reply: Option(Reply) = .{},
    notes: List(String) = .{},
};

pub const Placeholder = extern struct { component: String, index: u32, kind: String, name: String };

pub const Template = extern struct {
    name: String,
    language: String,
    status: String,
    category: String,
    reason: String,
    text: String,
    placeholders: List(Placeholder),
    components: String,
};

pub const TemplatePage = extern struct { templates: List(Template), next: Option(HttpRequest) = .{} };

const TemplateStepValue = extern union { call: HttpRequest, page: TemplatePage };

pub const TemplateStep = extern struct {
    tag: enum(u8) { call, page, unlisted },
    value: TemplateStepValue = std.mem.zeroes(TemplateStepValue),
};

/// Exports the functions of an adapter under the names of the contract. An error that one returns
/// is a crash of the adapter. The host passes records of up to sixteen words as their words.
pub fn exportAdapter(comptime adapter: type) void {
    const functions = struct {
        fn describe() callconv(.c) *const Description {
            return kept(Description, adapter.describe() catch |err| crash(err));
        }

        fn senderChecks(ptr: ?[*]const u8, len: usize) callconv(.c) *const Result(SenderPolicy, Problem) {
            return kept(Result(SenderPolicy, Problem), adapter.senderChecks(string(ptr, len).slice()) catch |err| crash(err));
        }

        fn routes(ptr: ?[*]const u8, len: usize) callconv(.c) *const Result(List(Pair), Problem) {
            return kept(Result(List(Pair), Problem), adapter.routes(string(ptr, len).slice()) catch |err| crash(err));
        }

        fn handshake(delivery: *const Delivery) callconv(.c) *const Result(Option(HandshakeAnswer), Problem) {
            return kept(Result(Option(HandshakeAnswer), Problem), adapter.handshake(delivery) catch |err| crash(err));
        }

        fn send(
            id: ?[*]const u8,
            id_len: usize,
            to: ?[*]const u8,
            to_len: usize,
            template: ?[*]const u8,
            template_len: usize,
            config: ?[*]const u8,
            config_len: usize,
            context: ?[*]const Pair,
            context_len: usize,
        ) callconv(.c) *const SendStep {
            const message = templateSend(id, id_len, to, to_len, template, template_len, config, config_len, context, context_len);
            return kept(SendStep, adapter.send(&message) catch |err| crash(err));
        }

        fn readAnswer(
            id: ?[*]const u8,
            id_len: usize,
            to: ?[*]const u8,
            to_len: usize,
            template: ?[*]const u8,
            template_len: usize,
            config: ?[*]const u8,
            config_len: usize,
            context: ?[*]const Pair,
            context_len: usize,
            status: u32,
            headers: ?[*]const Pair,
            headers_len: usize,
            body_tag: u32,
            body: ?[*]const u8,
            body_len: usize,
        ) callconv(.c) *const SendAnswer {
            const message = templateSend(id, id_len, to, to_len, template, template_len, config, config_len, context, context_len);
            const answer = response(status, headers, headers_len, body_tag, body, body_len);
            return kept(SendAnswer, adapter.readAnswer(&message, &answer) catch |err| crash(err));
        }

        fn readWebhook(delivery: *const Delivery) callconv(.c) *const Result(Webhook, Problem) {
            return kept(Result(Webhook, Problem), adapter.readWebhook(delivery) catch |err| crash(err));
        }

        fn listTemplates(ptr: ?[*]const u8, len: usize) callconv(.c) *const Result(TemplateStep, Problem) {
            return kept(Result(TemplateStep, Problem), adapter.listTemplates(string(ptr, len).slice()) catch |err| crash(err));
        }

        fn readTemplates(
            config: ?[*]const u8,
            config_len: usize,
            status: u32,
            headers: ?[*]const Pair,
            headers_len: usize,
            body_tag: u32,
            body: ?[*]const u8,
            body_len: usize,
        ) callconv(.c) *const Result(TemplatePage, Refused) {
            const answer = response(status, headers, headers_len, body_tag, body, body_len);
            const read = adapter.readTemplates(string(config, config_len).slice(), &answer);
            return kept(Result(TemplatePage, Refused), read catch |err| crash(err));
        }
    };
    const interface = "leadhost:adapter/adapter@1.0.0#";
    @export(&functions.describe, .{ .name = interface ++ "describe" });
    @export(&functions.senderChecks, .{ .name = interface ++ "sender-checks" });
    @export(&functions.routes, .{ .name = interface ++ "routes" });
    @export(&functions.handshake, .{ .name = interface ++ "handshake" });
    @export(&functions.send, .{ .name = interface ++ "send" });
    @export(&functions.readAnswer, .{ .name = interface ++ "read-answer" });
    @export(&functions.readWebhook, .{ .name = interface ++ "read-webhook" });
    @export(&functions.listTemplates, .{ .name = interface ++ "list-templates" });
    @export(&functions.readTemplates, .{ .name = interface ++ "read-templates" });
    @export(&heap.reallocate, .{ .name = "cabi_realloc" });
}

fn string(ptr: ?[*]const u8, len: usize) String {
    return .{ .ptr = ptr, .len = len };
}

fn templateSend(
    id: ?[*]const u8,
    id_len: usize,
    to: ?[*]const u8,
    to_len: usize,
    template: ?[*]const u8,
    template_len: usize,
    config: ?[*]const u8,
    config_len: usize,
    context: ?[*]const Pair,
    context_len: usize,
) TemplateSend {
    return .{
        .message_id = string(id, id_len),
        .recipient = string(to, to_len),
        .template = string(template, template_len),
        .config = string(config, config_len),
        .context = .{ .ptr = context, .len = context_len },
    };
}

fn response(
    status: u32,
    headers: ?[*]const Pair,
    headers_len: usize,
    body_tag: u32,
    body: ?[*]const u8,
    body_len: usize,
) HttpResponse {
    return .{
        .status = @intCast(status),
        .headers = .{ .ptr = headers, .len = headers_len },
        .body = .{ .tag = if (body_tag == 0) .text else .bytes, .value = string(body, body_len) },
    };
}

comptime {
    // The layout of the canonical ABI, in words of four bytes.
    if (@sizeOf(usize) == 4) {
        std.debug.assert(@sizeOf(SendAnswer) == 13 * 4);
        std.debug.assert(@sizeOf(SendStep) == 15 * 4);
        std.debug.assert(@sizeOf(InboundMessage) == 23 * 4);
        std.debug.assert(@sizeOf(Event) == 28 * 4);
        std.debug.assert(@sizeOf(TemplateStep) == 18 * 4);
    }
}
