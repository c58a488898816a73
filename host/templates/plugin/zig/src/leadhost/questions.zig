//! Lists of questions and answers, and objects of them by a key, as form builders send them:
//! each question is read as the name of a field, and its answer as the field's value.

const std = @import("std");
const looks = @import("looks.zig");
const names = @import("names.zig");
const allocator = @import("heap.zig").allocator;
const Value = @import("json.zig").Value;
const Error = std.mem.Allocator.Error;

// A longer list is no form: the host takes as many attributes of a lead.
const max_questions = 200;
// Objects and lists around one answer.
const max_wrapped = 5;

/// Returns the answers by their questions, in order of these, of a list or an object with this
/// folded name, or null if it is something else: a question with its answer is all that each of
/// its elements has, and its own name is a usual one, or one of the answers is a phone or an
/// e-mail address. The key of an object's member is its question, if it has none itself.
pub fn read(name: []const u8, list: *const Value, beside: *const Value) Error!?*Value {
    const is_form = looks.isAmong(name, &names.question_lists);
    if (!list.isObject() and list.kind != .array) return null;
    if (list.count > max_questions or isUsualContact(name)) return null;
    if (looks.isOthers(name) and !is_form) return null;
    const out = try Value.create(.object, "");
    var has_contact = false;
    var next = list.first;
    while (next) |item| : (next = item.next) {
        if (item.isAbsent()) continue;
        const pair = switch (try pairOf(item, if (list.isObject()) item.name else "", beside)) {
            .pair => |pair| pair,
            .unanswered => continue,
            .other => return null,
        };
        try out.appendCopy(pair.answer, try free(pair.question, out));
        has_contact = has_contact or isContact(try looks.fold(pair.question), pair.answer);
    }
    try out.order();
    return if (out.count > 0 and (is_form or has_contact)) out else null;
}

/// Returns a name, with a number if a member has it already: `Phone 2`.
pub fn free(name: []const u8, taken: *const Value) Error![]const u8 {
    var out = name;
    var number: usize = 2;
    while (taken.get(out) != null) : (number += 1) {
        out = try std.fmt.allocPrint(allocator, "{s} {d}", .{ name, number });
    }
    return out;
}

/// Whether an object is a question with its answer.
pub fn isQuestion(item: *const Value) Error!bool {
    return try pairOf(item, "", &.{ .kind = .object }) == .pair;
}

/// Whether a folded question asks for a phone or an e-mail address, and the answer is one.
pub fn isContact(name: []const u8, answer: *const Value) bool {
    const text = answer.scalar();
    return (looks.asksForPhone(name) and looks.looksLikePhone(text)) or
        (looks.asksForEmail(name) and looks.looksLikeEmail(text));
}

fn isUsualContact(name: []const u8) bool {
    return looks.isAmong(name, &names.phones) or looks.isAmong(name, &names.emails);
}

/// Whether a name is a usual one of what a question asks for.
fn isUsual(name: []const u8) bool {
    const lists = [_][]const []const u8{
        &names.full_names, &names.first_names, &names.last_names, &names.plain_names, &names.messages,
    };
    for (lists) |list| {
        if (looks.isAmong(name, list)) return true;
    }
    return looks.isNameQuestion(name);
}

const Pair = struct { question: []const u8, answer: *Value };
const Read = union(enum) { pair: Pair, unanswered, other };

/// Returns a question with its answer.
fn pairOf(item: *const Value, key: []const u8, beside: *const Value) Error!Read {
    if (!item.isObject()) return .other;
    var next = item.first;
    while (next) |field| : (next = field.next) {
        if (field.folded == null) field.folded = try looks.fold(field.name);
    }
    // Some answers are under the name of their type.
    const kind = try looks.fold(if (find(item, "type")) |value| value.scalar() else "");
    const own = if (looks.isAmong(kind, &names.question_names)) "" else kind;
    // A person is no question.
    next = item.first;
    while (next) |field| : (next = field.next) {
        if (isUsualContact(field.folded.?) and !std.mem.eql(u8, field.folded.?, own)) return .other;
    }
    var has_answer = false;
    var at: []const u8 = "";
    for (names.answers ++ .{own}) |name| {
        const value = find(item, name) orelse continue;
        has_answer = true;
        if (at.len == 0 and !value.isAbsent()) at = name;
    }
    const answer = unwrapped(find(item, at) orelse return if (has_answer) .unanswered else .other);
    if (answer.isAbsent()) return .unanswered;
    const question = try questionOf(item, key, at, answer, beside);
    if (question.len == 0 or try isRecord(question, answer)) return .other;
    return .{ .pair = .{ .question = question, .answer = answer } };
}

/// Returns the name that says most: one that asks for a contact and has it, or has it by its
/// type, then one that asks for a name or a message, then the most readable one; "" if there is
/// none.
fn questionOf(
    item: *const Value,
    key: []const u8,
    at: []const u8,
    answer: *const Value,
    beside: *const Value,
) Error![]const u8 {
    var all: std.ArrayList([]const u8) = .empty;
    try all.append(allocator, titleOf(item, beside));
    for (names.question_names) |name| {
        // A key takes the place of the question's id, after all names that say more.
        if (key.len > 0 and std.mem.eql(u8, name, "questionid")) {
            try all.append(allocator, key);
            continue;
        }
        if (std.mem.eql(u8, name, at)) continue;
        if (find(item, name)) |value| try all.append(allocator, questionIn(value));
    }
    const asked = all.items.len;
    for (all.items) |name| {
        if (looks.isOthers(try looks.fold(name))) break;
    } else for (names.kinds) |name| {
        if (find(item, name)) |value| try all.append(allocator, value.scalar());
    }
    for (all.items) |name| {
        if (isContact(try looks.fold(name), answer)) return name;
    }
    for (all.items[0..asked]) |name| {
        if (isUsual(try looks.fold(name))) return name;
    }
    for (all.items) |name| {
        if (name.len > 0) return name;
    }
    return "";
}

/// Returns the text of a question, or of an object that describes it, or "".
fn questionIn(value: *const Value) []const u8 {
    if (!value.isObject()) return value.scalar();
    for ([_][]const u8{ "title", "label", "name", "ref", "id" }) |name| {
        const inside = value.get(name) orelse continue;
        if (inside.scalar().len > 0) return inside.scalar();
    }
    return "";
}

/// Returns the title of a question that a source sends beside the answers, by its id, or "".
fn titleOf(item: *const Value, beside: *const Value) []const u8 {
    const field = find(item, "field");
    const inside = if (field != null and field.?.isObject()) field.?.get("id") else null;
    const id = for ([_]?*Value{ inside, find(item, "questionid"), find(item, "id") }) |value| {
        if (value != null and value.?.scalar().len > 0) break value.?.scalar();
    } else return "";
    const definition = beside.get("definition");
    const is_defined = definition != null and definition.?.isObject();
    const listed = (if (is_defined) definition.?.get("fields") else beside.get("questions")) orelse return "";
    var next = if (listed.kind == .array) listed.first else null;
    for (0..max_questions) |_| {
        const one = next orelse break;
        next = one.next;
        if (!one.isObject()) continue;
        const known = one.get("id") orelse continue;
        const title = one.get("title") orelse continue;
        if (std.mem.eql(u8, known.scalar(), id) and title.scalar().len > 0) return title.scalar();
    }
    return "";
}

/// Returns the member with this folded name.
fn find(item: *const Value, name: []const u8) ?*Value {
    var next = item.first;
    while (next) |field| : (next = field.next) {
        if (std.mem.eql(u8, field.folded.?, name)) return field;
    }
    return null;
}

/// Returns what is in objects and lists that have nothing else, or the label of a choice.
fn unwrapped(value: *Value) *Value {
    var out = value;
    for (0..max_wrapped) |_| {
        const only = if (out.count == 1) out.first else null;
        const label = if (out.isObject()) out.get("label") orelse out.get("labels") orelse out.get("other") else null;
        out = label orelse only orelse break;
    }
    return out;
}

/// Whether an answer has a person or more answers in it, so that the list is one of leads.
fn isRecord(question: []const u8, answer: *const Value) Error!bool {
    const name = try looks.fold(question);
    if (looks.asksForPhone(name) or looks.asksForEmail(name)) return false;
    var next = answer.first;
    while (next) |inside| : (next = inside.next) {
        if (answer.kind == .array and inside.isObject()) return true;
        if (answer.isObject() and isUsualContact(try looks.fold(inside.name))) return true;
    }
    return false;
}
