//! The fields of a form of unknown shape, by their usual names: in the form itself, and in
//! the objects in it that usually hold a lead (`data`, `contact`, ...), and in its lists of
//! questions and answers. What is returned is marked as read.

const std = @import("std");
const contract = @import("contract.zig");
const looks = @import("looks.zig");
const names = @import("names.zig");
const notes = @import("notes.zig");
const people = @import("people.zig");
const questions = @import("questions.zig");
const timeOf = @import("time.zig").timeOf;
const allocator = @import("heap.zig").allocator;
const Value = @import("json.zig").Value;
const Error = std.mem.Allocator.Error;
const Names = []const []const u8;

// Bounds of the search: real leads are three levels deep, with dozens of fields.
const max_view_depth = 5;
const max_views = 16;
const max_view_fields = 1000;

// The most of each that a host accepts.
const max_contacts = 20;
const max_attributes = 200;

// A longer text is not the name of a source.
const max_source = 200;

// What Meta sends as the values of a test lead begins with this.
const test_mark = "<test lead";

pub const fold = looks.fold;

pub const Fields = struct {
    form: *Value,
    views: std.ArrayList(View) = .empty,
    /// Whether the name may be an event's, or says nothing without a phone or an e-mail address.
    is_name_unsure: bool = false,
    /// What is kept of the rest; it knows the contacts of the lead.
    left: people.Rest = .{},

    pub fn init(form: *Value) Error!Fields {
        var fields: Fields = .{ .form = form };
        try fields.collect(form, "", 0);
        // The object with a phone or an e-mail address comes first.
        for (fields.views.items, 0..) |view, index| {
            if (view.hasContact()) {
                try fields.views.insert(allocator, 0, fields.views.orderedRemove(index));
                break;
            }
        }
        return fields;
    }

    /// Returns the text at the first of the paths that has one, or "".
    pub fn take(fields: *const Fields, paths: Names) []const u8 {
        return fields.form.text(paths);
    }

    pub fn externalId(fields: *const Fields) []const u8 {
        const id = fields.firstIn(&names.ids, View.isNotAbout);
        if (id.len > 0) return id;
        const token = fields.firstIn(&.{"token"}, View.isResponse);
        return if (token.len > 0) token else fields.firstIn(&names.plain_ids, View.isLead);
    }

    /// Returns whether the lead is a test: a field says so, or a value is Meta's for a test lead.
    pub fn isTest(fields: *const Fields) Error!bool {
        if (looks.isAmong(try looks.fold(fields.first(&names.tests)), &names.yes)) return true;
        for (fields.views.items) |view| {
            for (view.fields) |field| {
                const value = inner(field) orelse continue;
                if (std.mem.startsWith(u8, value.scalar(), test_mark)) return true;
            }
        }
        return false;
    }

    /// Whether what was read is a lead, which the mapping converter asks in the same way: it has a
    /// phone or an e-mail address, or an id and a form's answers, or a name with an id, a message
    /// or a listing.
    pub fn isLead(fields: *const Fields, lead: *const contract.Lead) bool {
        const has_id = lead.external_id.is_some;
        var is_answered = false;
        for (fields.views.items) |view| is_answered = is_answered or has_id and view.hasAnswers();
        const is_named = lead.name.is_some and !fields.is_name_unsure;
        const has_more = has_id or lead.message.is_some or lead.listings.len > 0;
        return lead.phones.len > 0 or lead.emails.len > 0 or is_answered or (is_named and has_more);
    }

    pub fn message(fields: *const Fields) []const u8 {
        return fields.first(&names.messages);
    }

    /// Returns the person's name, joined from its parts, or "".
    pub fn name(fields: *Fields) Error![]const u8 {
        const views = fields.views.items;
        // Beside an object with the contact, or the answers of a form, `name` is rather a form's.
        const best = &views[0];
        const is_other = best.has_questions or !best.is_person;
        const is_apart = best.hasContact() and !best.is_root and is_other;
        for (views, 0..) |*view, index| {
            const found = try view.name(!is_apart or index == 0 or view.is_person or view.has_questions);
            fields.is_name_unsure = view.is_root and view.isEvent();
            if (found.len > 0) return found;
        }
        fields.is_name_unsure = true;
        for (views) |*view| {
            const whole = view.nameOfLead(&names.name_words);
            if (whole.len > 0) return whole;
            const parts = try join(
                view.nameOfLead(&names.first_name_words),
                view.nameOfLead(&names.last_name_words),
            );
            if (parts.len > 0) return parts;
        }
        return "";
    }

    /// Returns the phones as they were written, best first, with the codes beside them.
    pub fn phones(fields: *Fields) Error!Names {
        fields.left.phones = try fields.findPhones();
        return fields.left.phones;
    }

    fn findPhones(fields: *const Fields) Error!Names {
        var out: std.ArrayList([]const u8) = .empty;
        for (fields.views.items) |*view| {
            for (names.phones) |one| try view.phones(&out, one, looks.isPhoneNumber);
        }
        if (out.items.len > 0) return out.items;
        for (fields.views.items) |*view| {
            for (view.fields) |field| {
                if (looks.isPhoneName(field.folded.?)) try view.phones(&out, field.folded.?, looks.looksLikePhone);
            }
            if (view.code("", &.{ "ddd", "areacode" }) == null) continue;
            for (names.numbers) |one| try view.phones(&out, one, looks.looksLikePhone);
        }
        if (out.items.len > 0) return out.items;
        for (fields.views.items) |*view| {
            for (view.fields) |field| {
                if (view.mayAnswer(field)) try view.phones(&out, field.folded.?, looks.isFullPhone);
            }
        }
        return out.items;
    }

    /// Returns the e-mail addresses, best first.
    pub fn emails(fields: *Fields) Error!Names {
        fields.left.emails = try fields.findEmails();
        return fields.left.emails;
    }

    fn findEmails(fields: *const Fields) Error!Names {
        var out: std.ArrayList([]const u8) = .empty;
        for (fields.views.items) |*view| {
            for (names.emails) |one| try view.emails(&out, one);
        }
        if (out.items.len > 0) return out.items;
        for (fields.views.items) |*view| {
            for (view.fields) |field| {
                if (looks.isEmailName(field.folded.?)) try view.emails(&out, field.folded.?);
            }
        }
        if (out.items.len > 0) return out.items;
        for (fields.views.items) |*view| {
            for (view.fields) |field| {
                if (view.mayAnswer(field)) try view.emails(&out, field.folded.?);
            }
        }
        return out.items;
    }

    /// Returns the listings: the workspace's own references first, then the portal's
    /// others.
    pub fn listings(fields: *const Fields) Error!contract.List(contract.Listing) {
        var client: std.ArrayList([]const u8) = .empty;
        var portal: std.ArrayList([]const u8) = .empty;
        for (fields.views.items) |*view| {
            for (names.client_listings) |one| try add(&client, view.first(&.{one}));
            for (names.portal_listings) |one| try add(&portal, view.first(&.{one}));
            for (view.fields) |field| {
                if (!field.isObject() or !looks.isAmong(field.folded.?, &names.listing_objects)) continue;
                const object = try View.init(field);
                try add(&client, object.first(&names.listing_references));
                try add(&portal, object.first(&.{ "id", "listingid" }));
            }
        }
        var out: std.ArrayList(contract.Listing) = .empty;
        for (client.items) |one| try out.append(allocator, .{ .kind = .from("client"), .reference = .from(one) });
        for (portal.items) |one| {
            if (looks.isAmong(one, client.items)) continue;
            try out.append(allocator, .{ .kind = .from("portal"), .reference = .from(one) });
        }
        return .from(out.items);
    }

    /// Returns the time of the lead, of one field or of a date and a time of day, or "".
    pub fn occurredAt(fields: *const Fields) Error![]const u8 {
        for (fields.views.items) |*view| {
            const text = try view.time();
            if (text.len > 0) return text;
        }
        return "";
    }

    /// Returns where the lead came from, or "".
    pub fn source(fields: *const Fields) []const u8 {
        for (fields.views.items) |*view| {
            const value = view.find(&names.sources) orelse continue;
            const length = std.unicode.utf8CountCodepoints(value.scalar()) catch max_source + 1;
            return if (length <= max_source) value.take() else "";
        }
        return "";
    }

    /// Returns the fields of the campaign, by the names that the host knows.
    pub fn campaign(fields: *const Fields) Error!contract.List(contract.Pair) {
        var out: std.ArrayList(contract.Pair) = .empty;
        for (names.campaign) |field| {
            const text = fields.first(field.usual);
            if (text.len > 0) try out.append(allocator, .{ .name = .from(field.name), .value = .from(text) });
        }
        return .from(out.items);
    }

    /// Returns what is not read, as attributes in order of name. An object of which a part
    /// is read keeps the other parts; empty values are left out. Other people are left out, and a
    /// note says where they are: an erasure would not find them in an attribute.
    pub fn rest(fields: *Fields) Error!contract.List(contract.Pair) {
        const left = try Value.create(.object, "");
        var next = fields.form.first;
        while (next) |field| : (next = field.next) try fields.addRest(left, field, false);
        for (fields.views.items) |*view| {
            next = if (view.asked) |asked| asked.first else null;
            while (next) |answer| : (next = answer.next) try fields.addRest(left, answer, true);
        }
        const places = fields.left.left_out.items;
        std.mem.sort([]const u8, places, {}, isBefore);
        for (places) |path| {
            const text = "the people under `{s}` are not kept with the lead; the raw delivery has them";
            notes.addOnce(try std.fmt.allocPrint(allocator, text, .{path}));
        }
        try left.order();
        var out: std.ArrayList(contract.Pair) = .empty;
        next = left.first;
        while (next) |field| : (next = field.next) {
            try out.append(allocator, .{ .name = .from(field.name), .value = .from(try field.json()) });
        }
        return .from(out.items);
    }

    fn isBefore(_: void, a: []const u8, b: []const u8) bool {
        return std.mem.lessThan(u8, a, b);
    }

    fn addRest(fields: *Fields, left: *Value, field: *Value, is_asked: bool) Error!void {
        // One more than a host accepts is enough: it refuses the lead and says why.
        if (left.count > max_attributes) return;
        const value = try fields.left.ofMember(field) orelse return;
        if (value.isAbsent()) return;
        try left.appendCopy(value, if (is_asked) try questions.free(field.name, left) else field.name);
    }

    fn collect(fields: *Fields, value: *Value, folded: []const u8, depth: usize) Error!void {
        if (!value.isObject() or depth > max_view_depth or fields.views.items.len == max_views) return;
        var view = try View.init(value);
        view.is_person = looks.isAmong(folded, &names.persons);
        view.is_of_fields = looks.isAmong(folded, &names.field_groups);
        view.is_about = looks.eql(folded, "summary");
        view.has_questions = looks.isAmong(folded, &names.question_groups);
        for (view.fields) |field| view.has_questions = view.has_questions or looks.contains(field.name, "?");
        view.is_root = depth == 0;
        try fields.views.append(allocator, view);
        for (view.fields) |field| {
            const asked = try questions.read(field.folded.?, field, value);
            if (asked != null and fields.views.items.len < max_views) {
                var answers = try View.init(asked.?);
                answers.is_person = true;
                answers.has_questions = true;
                answers.asked = asked;
                try fields.views.append(allocator, answers);
                field.is_read = true; // The answers take the place of the list or the object.
            } else if (looks.isAmong(field.folded.?, &names.containers)) {
                try fields.collect(only(field), field.folded.?, depth + 1);
            }
        }
    }

    /// Returns the first text under one of the names, or "".
    fn first(fields: *const Fields, wanted: Names) []const u8 {
        return fields.firstIn(wanted, View.isAny);
    }

    /// Returns such a text in an object that is right.
    fn firstIn(fields: *const Fields, wanted: Names, is_right: *const fn (*const View) bool) []const u8 {
        for (fields.views.items) |*view| {
            if (!is_right(view)) continue;
            const text = view.first(wanted);
            if (text.len > 0) return text;
        }
        return "";
    }
};

/// One object in which fields of the lead may be.
const View = struct {
    fields: []const *Value,
    is_person: bool = false,
    /// Whether its id is a single field's.
    is_of_fields: bool = false,
    /// Whether it describes where the lead comes from.
    is_about: bool = false,
    /// Whether the names are the questions of a form.
    has_questions: bool = false,
    is_root: bool = false,
    /// The answers by their questions, if the fields are made of them.
    asked: ?*Value = null,

    fn init(object: *const Value) Error!View {
        const fields = try allocator.alloc(*Value, @min(object.count, max_view_fields));
        var next = object.first;
        for (fields) |*field| {
            field.* = next.?;
            next = field.*.next;
            if (field.*.folded == null) field.*.folded = try looks.fold(field.*.name);
        }
        return .{ .fields = fields };
    }

    fn hasContact(view: *const View) bool {
        for (view.fields) |field| {
            const folded = field.folded.?;
            const is_contact = looks.isAmong(folded, &names.phones) or looks.isAmong(folded, &names.emails);
            if (is_contact and !field.isAbsent()) return true;
            if (view.asked != null and questions.isContact(folded, field)) return true;
            const value = if (view.mayAnswer(field)) inner(field) else null;
            if (value != null and looks.looksLikeEmail(value.?.scalar())) return true;
        }
        return false;
    }

    fn hasAnswers(view: *const View) bool {
        var next = if (view.asked) |asked| asked.first else null;
        while (next) |answer| : (next = answer.next) {
            if (!answer.isObject()) return true;
        }
        return false;
    }

    fn isEvent(view: *const View) bool {
        for (view.fields) |field| {
            if (looks.isAmong(field.folded.?, &names.events)) return true;
        }
        return false;
    }

    fn isAny(_: *const View) bool {
        return true;
    }

    fn isNotAbout(view: *const View) bool {
        return !view.is_about;
    }

    /// Whether a plain id is the lead's.
    fn isLead(view: *const View) bool {
        return !view.is_person and !view.is_of_fields;
    }

    /// Whether an object is a response as Typeform sends it.
    fn isResponse(view: *const View) bool {
        var has_form = false;
        var has_answers = false;
        for (view.fields) |field| {
            has_form = has_form or is(field, "formid");
            has_answers = has_answers or is(field, "answers");
        }
        return has_form and has_answers;
    }

    /// Whether a field is an answer that is not about other people.
    fn mayAnswer(view: *const View, field: *const Value) bool {
        return view.has_questions and !looks.isOthers(field.folded.?);
    }

    /// Whether a field has this folded name and a value.
    fn is(field: *const Value, folded: []const u8) bool {
        return looks.eql(field.folded.?, folded) and !field.isAbsent();
    }

    /// Returns the value under the first of the names that has a text.
    fn find(view: *const View, wanted: Names) ?*Value {
        for (wanted) |one| {
            for (view.fields) |field| {
                if (!is(field, one)) continue;
                const value = inner(field) orelse continue;
                if (value.scalar().len > 0) return value;
            }
        }
        return null;
    }

    /// Returns the time in this object, or "".
    fn time(view: *const View) Error![]const u8 {
        const day = view.find(&names.dates);
        const hour = view.find(&names.hours);
        if (day != null and hour != null and looks.contains(hour.?.scalar(), ":")) {
            const both = try std.mem.concat(allocator, u8, &.{ day.?.scalar(), " ", hour.?.scalar() });
            const text = try timeOf(both);
            if (text.len > 0) {
                _ = day.?.take();
                _ = hour.?.take();
                return text;
            }
        }
        for (names.times) |one| {
            for (view.fields) |field| {
                if (!is(field, one)) continue;
                const value = inner(field) orelse continue;
                const text = try timeOf(value.scalar());
                if (text.len == 0) continue;
                _ = value.take();
                return text;
            }
        }
        return "";
    }

    fn first(view: *const View, wanted: Names) []const u8 {
        return if (view.find(wanted)) |value| value.take() else "";
    }

    /// Returns the name in this object; `is_plain` says whether `name` is a person's.
    fn name(view: *const View, is_plain: bool) Error![]const u8 {
        const full = view.first(&names.full_names);
        if (full.len > 0) return full;
        const first_name = view.find(&names.first_names);
        const last_name = view.find(&names.last_names);
        if (first_name != null and last_name != null) return join(first_name.?.take(), last_name.?.take());
        if (!is_plain) return "";
        for (names.plain_names) |one| {
            for (view.fields) |field| {
                if (!is(field, one)) continue;
                // A name in its parts; an object named `contact` is a person instead.
                const is_parts = only(field).isObject() and !std.mem.startsWith(u8, one, "cont");
                const text = if (is_parts) try (try View.init(only(field))).name(true) else "";
                if (text.len > 0) return text;
                const value = inner(field) orelse continue;
                if (looks.mayBeName(value.scalar())) return value.take();
            }
        }
        for (view.fields) |field| {
            if (!view.has_questions or !looks.isNameQuestion(field.folded.?)) continue;
            const value = inner(field) orelse continue;
            if (looks.mayBeName(value.scalar())) return value.take();
        }
        const value = first_name orelse last_name orelse return "";
        return value.take();
    }

    /// Returns the text under a name that says whose it is: `buyer_name`,
    /// `nomeDoComprador`.
    fn nameOfLead(view: *const View, words: Names) []const u8 {
        for (view.fields) |field| {
            const value = inner(field) orelse continue;
            if (isOfLead(field.folded.?, words) and looks.mayBeName(value.scalar())) return value.take();
        }
        return "";
    }

    /// Adds the phones under a name, with the codes that are beside them.
    fn phones(
        view: *const View,
        out: *std.ArrayList([]const u8),
        wanted: []const u8,
        fits: *const fn ([]const u8) bool,
    ) Error!void {
        for (view.fields) |field| {
            if (!is(field, wanted)) continue;
            var next: ?*Value = if (field.kind == .array) field.first else field;
            while (next) |node| : (next = if (field.kind == .array) node.next else null) {
                const object = if (node.isObject()) try View.init(node) else null;
                const number = (if (object) |one| one.find(&names.phone_nodes) else inner(node)) orelse continue;
                const text = try number.whole();
                if (!fits(text) or out.items.len == max_contacts) continue;
                _ = number.take();
                const is_phone_only = object != null and object.?.isPhoneOnly();
                const area = if (is_phone_only) object.?.find(&names.phone_areas) else null;
                const phone = try withCodes(
                    text,
                    area orelse view.codeOf(object, wanted, &names.area_codes),
                    view.codeOf(object, wanted, &names.country_codes),
                );
                for (out.items) |known| {
                    if (try looks.isSamePhone(known, phone)) break;
                } else try out.append(allocator, phone);
            }
        }
    }

    /// Whether an object has nothing but the parts of a phone.
    fn isPhoneOnly(view: *const View) bool {
        const parts = [_]Names{
            &names.phones,      &names.phone_nodes,   &names.area_codes,
            &names.phone_areas, &names.country_codes, &names.phone_details,
        };
        for (view.fields) |field| {
            for (parts) |list| {
                if (looks.isAmong(field.folded.?, list)) break;
            } else return false;
        }
        return true;
    }

    /// Returns the code in the object that is a phone, or beside it.
    fn codeOf(view: *const View, object: ?View, phone: []const u8, codes: Names) ?*Value {
        const own = if (object) |one| one.find(codes) else null;
        return own orelse view.code(phone, codes);
    }

    /// Returns the code that belongs to a phone's name: `ddd_celular` or `celular_ddd` of
    /// `celular`, `ddd2` of `telefone2`, else `contactDDD` of `contactPhone`, or one without
    /// the name of a phone.
    fn code(view: *const View, named: []const u8, codes: Names) ?*Value {
        const phone = stem(named);
        var plain: ?*Value = null;
        var of_owner: ?*Value = null;
        for (codes) |one| {
            for (view.fields) |field| {
                const folded = field.folded.?;
                const rest = std.mem.cutPrefix(u8, folded, one) orelse
                    std.mem.cutSuffix(u8, folded, one) orelse continue;
                const text = field.scalar();
                if (looks.countDigits(text) == 0 or text.len > 6 or looks.countLetters(text) > 0) continue;
                const is_number = looks.countDigits(rest) == rest.len and std.mem.endsWith(u8, phone, rest);
                if (rest.len == 0) {
                    if (plain == null) plain = field;
                } else if (looks.eql(stem(rest), phone) or is_number) {
                    return field;
                } else if (of_owner == null and isOfOwner(phone, rest)) {
                    of_owner = field;
                }
            }
        }
        return of_owner orelse plain;
    }

    fn emails(view: *const View, out: *std.ArrayList([]const u8), wanted: []const u8) Error!void {
        for (view.fields) |field| {
            if (!is(field, wanted)) continue;
            var next: ?*Value = if (field.kind == .array) field.first else field;
            while (next) |node| : (next = if (field.kind == .array) node.next else null) {
                const object = if (node.isObject()) try View.init(node) else null;
                const found = if (object) |one| one.find(&names.emails) orelse one.find(&.{ "value", "address" }) else node;
                const address = found orelse continue;
                if (looks.looksLikeEmail(address.scalar()) and out.items.len < max_contacts) {
                    try add(out, address.take());
                }
            }
        }
    }
};

/// Returns the value that has the text: of a list of one, and of `{"value": "..."}`. Null for a
/// text that is JSON.
fn inner(field: *Value) ?*Value {
    const one = only(field);
    const value = (if (one.isObject()) one.get("value") else one) orelse return null;
    return if (looks.isJson(value.scalar())) null else value;
}

/// Returns the only item of a list, and any other value as it is.
fn only(value: *Value) *Value {
    return if (value.kind == .array and value.count == 1) value.first.? else value;
}

fn add(out: *std.ArrayList([]const u8), text: []const u8) Error!void {
    if (text.len > 0 and !looks.isAmong(text, out.items)) try out.append(allocator, text);
}

/// Joins the parts of a name, unless the first one is the whole name.
fn join(first: []const u8, last: []const u8) Error![]const u8 {
    if (std.mem.endsWith(u8, try looks.fold(first), try looks.fold(last))) return first;
    const both = try std.mem.concat(allocator, u8, &.{ first, " ", last });
    return std.mem.trim(u8, both, " ");
}

/// Whether a name says whose it is.
fn isOfLead(name: []const u8, words: Names) bool {
    for (words) |word| {
        if (std.mem.cutSuffix(u8, name, word)) |lead| {
            if (looks.isAmong(lead, &names.lead_words)) return true;
        }
        const rest = std.mem.cutPrefix(u8, name, word) orelse continue;
        for ([_][]const u8{ "", "do", "da", "de", "del" }) |link| {
            const lead = std.mem.cutPrefix(u8, rest, link) orelse continue;
            if (looks.isAmong(lead, &names.lead_words)) return true;
        }
    }
    return false;
}

/// Returns the name of a phone without the words around it, as its code has it.
fn stem(name: []const u8) []const u8 {
    var out = name;
    for ([_][]const u8{ "numerode", "numerodo", "numero", "number" }) |word| {
        out = std.mem.cutPrefix(u8, out, word) orelse out;
    }
    for ([_][]const u8{ "numero", "number" }) |word| {
        out = std.mem.cutSuffix(u8, out, word) orelse out;
    }
    return out;
}

/// Whether a phone's name is that of its owner with a usual name of a phone.
fn isOfOwner(phone: []const u8, owner: []const u8) bool {
    const rests = [_]?[]const u8{ std.mem.cutPrefix(u8, phone, owner), std.mem.cutSuffix(u8, phone, owner) };
    for (rests) |rest| {
        const usual = stem(rest orelse continue);
        for (names.phones) |name| {
            if (looks.eql(usual, name)) return true;
        }
    }
    return false;
}

/// Adds the codes beside a phone, if it has none itself. A code that is not used stays an
/// attribute.
fn withCodes(phone: []const u8, area: ?*Value, country: ?*Value) Error![]const u8 {
    const number = try looks.digits(phone);
    if (phone[0] == '+' or number.len > 11) return phone;
    const area_code = if (area) |code| std.mem.trimStart(u8, try looks.digits(code.scalar()), "0") else "";
    const country_code = if (country) |code| try looks.digits(code.scalar()) else "";
    var out = phone;
    if (area_code.len > 0 and area_code.len <= 4 and number.len < 10) {
        _ = area.?.take();
        out = try std.mem.concat(allocator, u8, &.{ "(", area_code, ") ", out });
    }
    if (country_code.len > 0 and country_code.len <= 3) {
        _ = country.?.take();
        // A number of North America may have its country code already.
        const has_code = looks.eql(country_code, "1") and number.len == 11 and number[0] == '1';
        const parts: []const []const u8 = if (has_code) &.{ "+", out } else &.{ "+", country_code, " ", out };
        out = try std.mem.concat(allocator, u8, parts);
    }
    return out;
}
