//! What adapters need: templates, requests, answers and events as the contract has them, and JSON as
//! a tree whose numbers keep every digit.

const std = @import("std");
const contract = @import("contract.zig");
const core = @import("core.zig");
const form = @import("form.zig");
const json = @import("json.zig");

/// Memory that the host drops after the call; never free it.
pub const allocator = @import("heap.zig").allocator;
/// Writes a line to the standard error: `leadhost.log("{d} events", .{events.len})`.
pub const log = @import("log.zig").log;
pub const panic = @import("log.zig").panic;
pub const exportAdapter = contract.exportAdapter;
pub const types = contract;
pub const Value = json.Value;

const Error = std.mem.Allocator.Error;
const Handshake = contract.Option(contract.HandshakeAnswer);

pub const SenderPolicyResult = contract.Result(contract.SenderPolicy, contract.Problem);
pub const RoutesResult = contract.Result(contract.List(contract.Pair), contract.Problem);
pub const HandshakeResult = contract.Result(Handshake, contract.Problem);
pub const WebhookResult = contract.Result(contract.Webhook, contract.Problem);
pub const ListTemplatesResult = contract.Result(contract.TemplateStep, contract.Problem);
pub const ReadTemplatesResult = contract.Result(contract.TemplatePage, contract.Refused);

/// Returns a list of its own, which outlives the call.
pub fn list(comptime T: type, items: []const T) Error!contract.List(T) {
    return .from(try allocator.dupe(T, items));
}

/// Returns the way in which webhooks prove themselves: a hex HMAC-SHA256 of the raw body in a header.
pub fn hmacSha256Hex(key: []const u8, in_header: []const u8) Error!SenderPolicyResult {
    return .ok(.{ .checks = try list(contract.SenderCheck, &.{.{
        .secret = .from(key),
        .scheme = .from("hmac-sha256"),
        .proof = .{ .place = .from("header"), .name = .from(in_header) },
        .encoding = .from("hex"),
    }}) });
}

/// Returns one name with its value; none for an empty value.
pub fn route(name: []const u8, value: []const u8) Error!contract.List(contract.Pair) {
    if (value.len == 0) return .{};
    return list(contract.Pair, &.{.{ .name = .from(name), .value = .from(value) }});
}

/// The template of a send, and the texts for the placeholders of its body as a JSON list.
pub const Requested = struct { name: []const u8, language: []const u8, values: *Value };

/// Returns the template of a send, or why it has no meaning.
pub fn requested(message: *const contract.TemplateSend) Error!union(enum) { template: Requested, why: []const u8 } {
    const given = json.parse(message.template.slice()) catch |err| switch (err) {
        error.NotJson => return .{ .why = "the template is not valid JSON" },
        else => |failure| return failure,
    };
    const name = given.text(&.{"name"});
    if (name.len == 0) return .{ .why = "the template has no `name`" };
    const language = given.text(&.{ "language.code", "language" });
    if (language.len == 0) return .{ .why = "the template has no `language.code`" };
    const values = try Value.create(.array, "");
    const template: Requested = .{ .name = name, .language = language, .values = values };
    var component = firstItem(given.at("components"));
    while (component) |one| : (component = one.next) {
        if (!std.ascii.eqlIgnoreCase(one.text(&.{"type"}), "body")) continue;
        var parameter = firstItem(one.at("parameters"));
        while (parameter) |value| : (parameter = value.next) {
            const text = value.text(&.{"text"});
            if (text.len > 0) values.append(try Value.create(.string, text));
        }
        break;
    }
    return .{ .template = template };
}

fn firstItem(value: ?*Value) ?*Value {
    const found = value orelse return null;
    return if (found.kind == .array) found.first else null;
}

/// Appends a member to a JSON object.
pub fn put(object: *Value, name: []const u8, value: *Value) void {
    value.name = name;
    object.append(value);
}

/// Appends a text to a JSON object.
pub fn putText(object: *Value, name: []const u8, text: []const u8) Error!void {
    put(object, name, try Value.create(.string, text));
}

/// Returns a segment of plain text.
pub fn literal(text: []const u8) contract.Segment {
    return .{ .tag = .literal, .value = .{ .text = .from(text) } };
}

/// Returns a segment that the host fills with a secret; the adapter never sees it.
pub fn secret(name: []const u8) Error!contract.Segment {
    const argument: contract.SlotArgument = .{ .tag = .secret, .value = .from(name) };
    const slot: core.Slot = .{ .function = .from("secret"), .args = try list(contract.SlotArgument, &.{argument}) };
    return .{ .tag = .slot, .value = .{ .slot = slot } };
}

/// A header of a request, with its segments.
pub const Header = struct { name: []const u8, value: []const contract.Segment };

/// Returns the step of a POST with a JSON body.
pub fn postJson(authority: []const u8, path: []const u8, body: *const Value, headers: []const Header) Error!contract.SendStep {
    const all = try allocator.alloc(contract.PairOfSegments, headers.len + 1);
    for (all[0..headers.len], headers) |*pair, given| {
        pair.* = .{ .name = .from(given.name), .value = try list(contract.Segment, given.value) };
    }
    const json_type = try list(contract.Segment, &.{literal("application/json")});
    all[headers.len] = .{ .name = .from("content-type"), .value = json_type };
    return .{ .tag = .call, .value = .{ .call = .{
        .method = .from("POST"),
        .scheme = .from("https"),
        .authority = .from(authority),
        .path = try list(contract.Segment, &.{literal(path)}),
        .query = .{},
        .headers = .from(all),
        .body = try list(contract.Segment, &.{literal(try body.json())}),
    } } };
}

/// Returns the step of a message that needs no request.
pub fn answer(given: contract.SendAnswer) contract.SendStep {
    return .{ .tag = .answer, .value = .{ .answer = given } };
}

/// The provider has taken the message, under this id.
pub fn accepted(external_id: []const u8) Error!contract.SendAnswer {
    return .{ .tag = .accepted, .value = .{ .accepted = .{
        .external_ids = try list(contract.String, &.{.from(external_id)}),
        .status = .from("accepted"),
    } } };
}

/// Nothing shows whether the provider has the message, so the host does not send it again.
pub fn unknown(why: []const u8) contract.SendAnswer {
    return .{ .tag = .unknown, .value = .{ .unknown = .from(why) } };
}

/// Returns a refusal; its category decides what the host does.
pub fn refusal(refused: contract.Refused) contract.SendAnswer {
    return .{ .tag = .refused, .value = .{ .refused = refused } };
}

/// Returns the seconds of a `retry-after` header.
pub fn retryAfter(response: *const contract.HttpResponse) contract.Option(u32) {
    for (response.headers.slice()) |pair| {
        if (!std.mem.eql(u8, pair.name.slice(), "retry-after")) continue;
        const seconds = std.fmt.parseInt(u32, trim(pair.value.slice()), 10) catch break;
        return .{ .is_some = true, .value = seconds };
    }
    return .{};
}

/// Returns the JSON of an answer; null if it is not JSON.
pub fn answerBody(response: *const contract.HttpResponse) Error!*Value {
    return json.parse(try contentText(&response.body)) catch |err| switch (err) {
        error.NotJson => Value.create(.null, ""),
        else => |failure| failure,
    };
}

/// The first event of a webhook, or why its body has none.
pub const Events = union(enum) { list: *Value, why: []const u8 };

/// Returns the list of events under a key of a webhook's JSON body.
pub fn eventsIn(delivery: *const contract.Delivery, key: []const u8) Error!Events {
    const body = json.parse(try contentText(&delivery.body)) catch |err| switch (err) {
        error.NotJson => return .{ .why = "the body is not valid JSON" },
        else => |failure| return failure,
    };
    const events = if (body.isObject()) body.get(key) else null;
    if (events) |found| if (found.kind == .array) return .{ .list = found };
    return .{ .why = try std.fmt.allocPrint(allocator, "the body has no list `{s}`", .{key}) };
}

/// Returns the fields of an urlencoded webhook.
pub fn formIn(delivery: *const contract.Delivery) json.ParseError!*Value {
    return form.parse(delivery.body.value.slice());
}

/// Returns the events of a webhook.
pub fn webhook(events: []const contract.Event) WebhookResult {
    return .ok(.{ .events = .from(events) });
}

/// Refuses the body of a webhook as a whole.
pub fn refusedBody(message: []const u8) WebhookResult {
    return .err(.{ .message = .from(message) });
}

/// An event that cannot be read; the others of the body are not affected.
pub fn invalid(message: []const u8, path: []const u8) contract.Event {
    const problem: contract.Problem = .{ .message = .from(message), .path = .from(path) };
    return .{ .body = .{ .tag = .invalid, .value = .{ .invalid = problem } } };
}

/// An event about which nothing is to be done, in words.
pub fn other(what: []const u8, to: contract.List(contract.Pair)) contract.Event {
    return .{ .route = to, .body = .{ .tag = .other, .value = .{ .other = .from(what) } } };
}

pub fn status(update: contract.StatusUpdate, to: contract.List(contract.Pair)) contract.Event {
    return .{ .route = to, .body = .{ .tag = .status, .value = .{ .status = update } } };
}

pub fn inbound(message: contract.InboundMessage, to: contract.List(contract.Pair)) contract.Event {
    return .{ .route = to, .body = .{ .tag = .inbound, .value = .{ .inbound = message } } };
}

/// Returns a text, absent if it is empty.
pub fn optional(text: []const u8) contract.Option(contract.String) {
    return .{ .is_some = text.len > 0, .value = .from(text) };
}

/// Returns a body as text; `form.fromBytes` reads bytes, which are not UTF-8.
pub fn contentText(body: *const contract.Content) Error![]const u8 {
    const bytes = body.value.slice();
    return if (body.tag == .text) bytes else form.fromBytes(bytes);
}

/// Returns an epoch as RFC 3339, and an ISO text unchanged except that an offset like `+0000` gets its
/// colon; "" for an epoch that is no time.
pub fn timeText(text: []const u8) Error![]const u8 {
    const whole, _ = std.mem.cutScalar(u8, text, '.') orelse .{ text, "" };
    if (epoch(whole)) |milliseconds| return fromEpoch(milliseconds);
    if (text.len < 6 or std.mem.findScalar(u8, text, ':') == null) return text;
    const offset = text[text.len - 5 ..];
    if (offset[0] != '+' and offset[0] != '-') return text;
    for (offset[1..]) |digit| if (!std.ascii.isDigit(digit)) return text;
    return std.fmt.allocPrint(allocator, "{s}:{s}", .{ text[0 .. text.len - 2], offset[3..] });
}

/// Returns the milliseconds of an epoch of seconds or milliseconds.
fn epoch(text: []const u8) ?u64 {
    const number = std.fmt.parseInt(u64, text, 10) catch return null;
    if (number < 10_000) return null;
    // 1e11 seconds are the year 5138; 1e11 milliseconds are 1973.
    return if (number > 100_000_000_000) number else number * 1000;
}

fn fromEpoch(milliseconds: u64) Error![]const u8 {
    // The last millisecond of the year 9999.
    if (milliseconds > 253_402_300_799_999) return "";
    const seconds: std.time.epoch.EpochSeconds = .{ .secs = milliseconds / 1000 };
    const year_day = seconds.getEpochDay().calculateYearDay();
    const day = year_day.calculateMonthDay();
    const clock = seconds.getDaySeconds();
    const fraction = milliseconds % 1000;
    const date = try std.fmt.allocPrint(allocator, "{d:0>4}-{d:0>2}-{d:0>2}T{d:0>2}:{d:0>2}:{d:0>2}", .{
        year_day.year,           day.month.numeric(),        @as(u8, day.day_index) + 1,
        clock.getHoursIntoDay(), clock.getMinutesIntoHour(), clock.getSecondsIntoMinute(),
    });
    if (fraction == 0) return std.fmt.allocPrint(allocator, "{s}Z", .{date});
    return std.fmt.allocPrint(allocator, "{s}.{d:0>3}Z", .{ date, fraction });
}

fn trim(text: []const u8) []const u8 {
    return std.mem.trim(u8, text, &std.ascii.whitespace);
}
