//! Other people in a lead's body: objects with a phone or an e-mail address of their own. As an
//! attribute of the lead, an erasure of theirs would not find them.

const std = @import("std");
const json = @import("json.zig");
const looks = @import("looks.zig");
const names = @import("names.zig");
const questions = @import("questions.zig");
const allocator = @import("heap.zig").allocator;
const Value = json.Value;
const Error = std.mem.Allocator.Error;
const Names = []const []const u8;

// Objects in a person that hold a part of it.
const max_person_depth = 8;
// Places that are noted, and the length of a path there.
const max_told = 20;
const max_path = 200;

/// Where a value is: under a folded name, in an object of a business or not, as an item of a list
/// or not, at a depth.
const Spot = struct {
    name: []const u8,
    path: []const u8,
    in_business: bool = false,
    is_item: bool = false,
    depth: usize = 1,
};

/// What is not read of a form, without other people.
pub const Rest = struct {
    /// Of the lead.
    phones: Names = &.{},
    emails: Names = &.{},
    /// The places of other people.
    left_out: std.ArrayList([]const u8) = .empty,

    /// Returns what is left of a member of the form, null if nothing is; the member itself if all
    /// of it is.
    pub fn ofMember(rest: *Rest, member: *Value) Error!?*Value {
        return rest.of(member, .{ .name = try folded(member), .path = try below("", member.name) });
    }

    fn of(rest: *Rest, value: *Value, at: Spot) Error!?*Value {
        if (value.is_read) return null;
        if (value.kind == .string) return rest.ofText(value, at);
        if (at.depth > json.max_depth and (value.isObject() or value.kind == .array)) {
            // Only in a text is anything as deep. It is not read, so there may be people in it.
            return rest.leaveOut(at.path);
        }
        const is_object = value.isObject();
        const in_business = if (is_object) looks.isBusiness(at.name, at.in_business) else at.in_business;
        if (is_object and (at.is_item or !in_business) and try rest.isOtherPerson(at.name, value)) {
            return rest.leaveOut(at.path);
        }
        const rests = try allocator.alloc(?*Value, value.count);
        defer allocator.free(rests);
        var is_whole = true;
        var next = value.first;
        for (rests) |*one| {
            const child = next.?;
            one.* = try rest.of(child, .{
                .name = if (is_object) try folded(child) else at.name,
                .path = if (is_object) try below(at.path, child.name) else at.path,
                .in_business = in_business,
                .is_item = !is_object,
                .depth = at.depth + 1,
            });
            is_whole = is_whole and one.* == child;
            next = child.next;
        }
        if (is_whole) return value;
        const left = try Value.create(value.kind, "");
        left.name = value.name;
        for (rests) |one| {
            const kept = one orelse continue;
            if (!kept.isAbsent()) try left.appendCopy(kept, kept.name);
        }
        return left;
    }

    /// Returns a text, null if it is JSON with other people in it.
    fn ofText(rest: *Rest, value: *Value, at: Spot) Error!?*Value {
        const text = value.scalar();
        if (text.len == 0 or (text[0] != '{' and text[0] != '[')) return value;
        const inside = json.parse(text) catch |err| switch (err) {
            error.NotJson => return value,
            error.OutOfMemory => return error.OutOfMemory,
        };
        const told = rest.left_out.items.len;
        var spot = at;
        spot.is_item = false;
        if (try rest.of(inside, spot) == inside) return value;
        rest.left_out.shrinkRetainingCapacity(told);
        return rest.leaveOut(at.path);
    }

    fn isOtherPerson(rest: *const Rest, name: []const u8, object: *Value) Error!bool {
        var found: Contacts = .{ .of = rest };
        try found.add(object, 0);
        const is_contact = looks.asksForPhone(name) or looks.asksForEmail(name);
        // The phones of one person are objects with a phone as well.
        const is_person = if (is_contact) found.has_phone and found.has_email else found.has_phone or found.has_email;
        return is_person and found.has_other and !hasRead(object) and !try questions.isQuestion(object);
    }

    /// Notes the place of a person.
    fn leaveOut(rest: *Rest, path: []const u8) Error!?*Value {
        const is_told = looks.isAmong(path, rest.left_out.items);
        if (!is_told and rest.left_out.items.len < max_told) try rest.left_out.append(allocator, path);
        return null;
    }
};

/// What there is of phones and e-mail addresses in an object.
const Contacts = struct {
    of: *const Rest,
    has_phone: bool = false,
    has_email: bool = false,
    /// Whether one is not the lead's.
    has_other: bool = false,

    /// Adds the contacts of an object, and of those in it that hold a part of a person.
    fn add(found: *Contacts, object: *Value, depth: usize) Error!void {
        var next = object.first;
        while (next) |field| : (next = field.next) {
            const name = try folded(field);
            const is_contact = looks.asksForPhone(name) or looks.asksForEmail(name);
            if (!is_contact and !looks.isAmong(name, &names.containers)) continue;
            const is_list = is_contact and field.kind == .array;
            var inside: ?*Value = if (is_list) field.first else field;
            while (inside) |node| : (inside = if (is_list) node.next else null) {
                try found.addText(name, node.scalar());
                if (!node.isObject()) continue;
                var part = node.first;
                while (part) |one| : (part = one.next) {
                    const is_value = looks.isAmong(try folded(one), &names.phone_nodes);
                    if (is_value or looks.eql(try folded(one), "address")) try found.addText(name, one.scalar());
                }
                if (depth < max_person_depth) try found.add(node, depth + 1);
            }
        }
    }

    fn addText(found: *Contacts, name: []const u8, text: []const u8) Error!void {
        if (looks.asksForPhone(name) and looks.looksLikePhone(text)) {
            found.has_phone = true;
            for (found.of.phones) |own| {
                if (try looks.isSamePhone(own, text)) return;
            }
            found.has_other = true;
        } else if (looks.asksForEmail(name) and looks.looksLikeEmail(text)) {
            found.has_email = true;
            for (found.of.emails) |own| {
                if (std.ascii.eqlIgnoreCase(own, text)) return;
            }
            found.has_other = true;
        }
    }
};

fn folded(member: *Value) Error![]const u8 {
    if (member.folded == null) member.folded = try looks.fold(member.name);
    return member.folded.?;
}

fn hasRead(value: *const Value) bool {
    var next = value.first;
    while (next) |child| : (next = child.next) {
        if (hasRead(child)) return true;
    }
    return value.is_read;
}

/// Returns the path of a member; a hostile one is cut.
fn below(path: []const u8, name: []const u8) Error![]const u8 {
    if (path.len + name.len >= max_path) return path;
    const dot = if (path.len > 0 and name.len > 0) "." else "";
    return std.mem.concat(allocator, u8, &.{ path, dot, name });
}
