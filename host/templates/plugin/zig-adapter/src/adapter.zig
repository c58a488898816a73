//! Sends the messages of {{name}}, and reads the provider's answers and webhooks. The host makes the
//! calls itself.
//!
//! The provider is made up: it takes `from`, `to`, `template`, `language` and `values` at
//! `/v1/messages`, answers with an `id`, and posts a list of `events`. Replace its address, names and
//! codes with those of your own, and raise the version with each change.

const std = @import("std");
const leadhost = @import("leadhost/leadhost.zig");
const types = leadhost.types;

/// A panic is a crash of the adapter, whose log has the message.
pub const panic = leadhost.panic;

comptime {
    leadhost.exportAdapter(@This());
}

const host = "api.provider.example";

const schema =
    \\{
    \\  "$schema": "https://json-schema.org/draft/2020-12/schema",
    \\  "type": "object",
    \\  "additionalProperties": false,
    \\  "required": ["number"],
    \\  "properties": {
    \\    "number": {
    \\      "description": "The number that messages are sent from, in E.164.",
    \\      "type": "string",
    \\      "pattern": "^\\+[0-9]{8,15}$"
    \\    }
    \\  }
    \\}
;

/// Says who the adapter is and what it needs.
pub fn describe() !types.Description {
    return .{
        .name = .from("{{name}}"),
        .version = .from("1.0.0"),
        .summary = .from("Messages of {{name}}"),
        .config_schema = .from(schema),
        .secrets = try leadhost.list(types.SecretDeclaration, &.{
            .{ .name = .from("token"), .kind = .from("static"), .summary = .from("The token for calls"), .required = true },
            .{ .name = .from("webhook-key"), .kind = .from("static"), .summary = .from("The key with which the provider signs"), .required = false },
        }),
        .hosts = try leadhost.list(types.String, &.{.from(host)}),
    };
}

/// Says how the provider's webhooks prove themselves.
pub fn senderChecks(_: []const u8) !leadhost.SenderPolicyResult {
    return leadhost.hmacSha256Hex("webhook-key", "x-signature");
}

/// Returns the number of this instance: one address may serve several.
pub fn routes(config: []const u8) !leadhost.RoutesResult {
    return .ok(try leadhost.route("number", try number(config)));
}

/// Answers a GET that verifies the address: this provider has none.
pub fn handshake(_: *const types.Delivery) !leadhost.HandshakeResult {
    return .ok(.{});
}

/// Returns the request of a message, or a refusal.
pub fn send(message: *const types.TemplateSend) !types.SendStep {
    const template = switch (try leadhost.requested(message)) {
        .template => |template| template,
        .why => |why| return leadhost.answer(leadhost.refusal(.{ .category = .from("request"), .text = .from(why) })),
    };
    const body = try leadhost.Value.create(.object, "");
    try leadhost.putText(body, "from", try number(message.config.slice()));
    try leadhost.putText(body, "language", template.language);
    // The provider repeats it in each status.
    try leadhost.putText(body, "reference", message.message_id.slice());
    try leadhost.putText(body, "template", template.name);
    try leadhost.putText(body, "to", message.recipient.slice());
    leadhost.put(body, "values", template.values);
    const token = [_]types.Segment{ leadhost.literal("Bearer "), try leadhost.secret("token") };
    return leadhost.postJson(host, "/v1/messages", body, &.{.{ .name = "authorization", .value = &token }});
}

/// Says what the provider's answer means for the message.
pub fn readAnswer(_: *const types.TemplateSend, response: *const types.HttpResponse) !types.SendAnswer {
    const body = try leadhost.answerBody(response);
    if (response.status == 200) {
        const id = body.text(&.{"id"});
        return if (id.len > 0) leadhost.accepted(id) else leadhost.unknown("the provider answered 200 without an id");
    }
    const code = body.text(&.{"error.code"});
    const category = categoryFrom(response.status, code) orelse {
        // After a 5xx, nothing shows whether the message was sent.
        return leadhost.unknown(try std.fmt.allocPrint(leadhost.allocator, "the provider answered {d}", .{response.status}));
    };
    return leadhost.refusal(.{
        .category = .from(category),
        .code = .from(code),
        .text = .from(body.text(&.{"error.message"})),
        .retry_after_seconds = leadhost.retryAfter(response),
    });
}

fn categoryFrom(status: u16, code: []const u8) ?[]const u8 {
    switch (status) {
        401, 403 => return "connection",
        402 => return "account",
        429 => return "throttled-number",
        else => {},
    }
    if (std.mem.eql(u8, code, "no-such-template")) return "unknown-template";
    if (std.mem.eql(u8, code, "not-reachable")) return "recipient";
    return if (status < 500) "request" else null;
}

/// Returns the events of a webhook.
pub fn readWebhook(delivery: *const types.Delivery) !leadhost.WebhookResult {
    const given = switch (try leadhost.eventsIn(delivery, "events")) {
        .list => |list| list,
        .why => |why| return leadhost.refusedBody(why),
    };
    const events = try leadhost.allocator.alloc(types.Event, given.count);
    var next = given.first;
    for (events, 0..) |*event, index| {
        event.* = try read(next.?, index);
        next = next.?.next;
    }
    return leadhost.webhook(events);
}

fn read(given: *leadhost.Value, index: usize) !types.Event {
    const id = given.text(&.{"id"});
    if (id.len == 0) {
        const path = try std.fmt.allocPrint(leadhost.allocator, "events.{d}.id", .{index});
        return leadhost.invalid("an event needs `id`", path);
    }
    const to = try leadhost.route("number", given.text(&.{"number"}));
    const at = leadhost.optional(try leadhost.timeText(given.text(&.{"at"})));
    const state = given.text(&.{"state"});
    const from = given.text(&.{"from"});
    if (state.len > 0) {
        return leadhost.status(.{
            .external_id = .from(id),
            .message_id = leadhost.optional(given.text(&.{"reference"})),
            .status = .from(state),
            .occurred_at = at,
        }, to);
    }
    if (from.len > 0) {
        return leadhost.inbound(.{
            .external_id = .from(id),
            .sender_id = .from(from),
            .sender_phone = leadhost.optional(from),
            .kind = .from("text"),
            .content = leadhost.optional(given.text(&.{"text"})),
            .occurred_at = at,
        }, to);
    }
    return leadhost.other("neither a status nor a message", to);
}

/// Says how the provider's templates are listed: here they are not.
pub fn listTemplates(_: []const u8) !leadhost.ListTemplatesResult {
    return .ok(.{ .tag = .unlisted });
}

/// Reads a list of templates, which this adapter never requests.
pub fn readTemplates(_: []const u8, _: *const types.HttpResponse) !leadhost.ReadTemplatesResult {
    const why = "this adapter never requests templates and cannot read such a response";
    return .err(.{ .category = .from("request"), .text = .from(why) });
}

fn number(config: []const u8) ![]const u8 {
    const json = @import("leadhost/json.zig");
    return (try json.parse(config)).text(&.{"number"});
}
