//! Unit tests: sh build.sh test. The golden cases run in the host's engine: leadhost plugin
//! test.

const std = @import("std");
const leadhost = @import("leadhost/leadhost.zig");
const adapter = @import("adapter.zig");
const types = leadhost.types;
const testing = std.testing;

fn expectText(expected: []const u8, found: types.String) !void {
    try testing.expectEqualStrings(expected, found.slice());
}

fn message(template: []const u8) types.TemplateSend {
    return .{
        .message_id = .from("m-1"),
        .recipient = .from("+5511900000001"),
        .template = .from(template),
        .config = .from("{\"number\": \"+551130000001\"}"),
    };
}

test "the values of the template's body are sent in order" {
    const given = message(
        \\{"name":"welcome","language":{"code":"pt_BR"},"components":[{"type":"BODY","parameters":[
        \\{"type":"text","text":"Ana"},{"type":"text","text":7}]}]}
    );
    const step = try adapter.send(&given);
    const body = step.value.call.body.slice()[0].value.text;
    try expectText("{\"from\":\"+551130000001\",\"language\":\"pt_BR\",\"reference\":\"m-1\"," ++
        "\"template\":\"welcome\",\"to\":\"+5511900000001\",\"values\":[\"Ana\",\"7\"]}", body);
}

test "a template without a meaning is refused" {
    for ([_][]const u8{ "{}", "{\"name\":\"x\"}", "null", "{", "[]" }) |template| {
        const given = message(template);
        const step = try adapter.send(&given);
        try expectText("request", step.value.answer.value.refused.category);
    }
}

fn answered(status: u16, body: []const u8) !types.SendAnswer {
    const given = message("{}");
    const response: types.HttpResponse = .{
        .status = status,
        .headers = .{},
        .body = .{ .tag = .text, .value = .from(body) },
    };
    return adapter.readAnswer(&given, &response);
}

test "the provider's answer decides what the host does" {
    try expectText("p-1", (try answered(200, "{\"id\": \"p-1\"}")).value.accepted.external_ids.slice()[0]);
    try expectText("request", (try answered(400, "{}")).value.refused.category);
    try expectText("connection", (try answered(401, "")).value.refused.category);
    try expectText("throttled-number", (try answered(429, "{}")).value.refused.category);
    const unknown_template = try answered(404, "{\"error\": {\"code\": \"no-such-template\"}}");
    try expectText("unknown-template", unknown_template.value.refused.category);
    try testing.expectEqual(.unknown, (try answered(502, "<html>")).tag);
    try testing.expectEqual(.unknown, (try answered(200, "{}")).tag);
}

test "a bad event does not affect the others" {
    var delivery: types.Delivery = .{ .body = .{
        .tag = .text,
        .value = .from("{\"events\": [1, {\"id\": \"m-1\", \"state\": \"read\", \"at\": 1767268800}]}"),
    } };
    const events = (try adapter.readWebhook(&delivery)).value.ok.events.slice();
    try testing.expectEqual(.invalid, events[0].body.tag);
    try expectText("2026-01-01T12:00:00Z", events[1].body.value.status.occurred_at.value);
    delivery.body.value = .from("{}");
    try expectText("the body has no list `events`", (try adapter.readWebhook(&delivery)).value.err.message);
}

test "times of providers are read" {
    for ([_][2][]const u8{
        .{ "1767268800", "2026-01-01T12:00:00Z" },
        .{ "1767268800250", "2026-01-01T12:00:00.250Z" },
        .{ "2026-01-01T12:00:00+0000", "2026-01-01T12:00:00+00:00" },
        .{ "2026-01-01T12:00:00Z", "2026-01-01T12:00:00Z" },
        .{ "", "" },
    }) |case| try testing.expectEqualStrings(case[1], try leadhost.timeText(case[0]));
}
