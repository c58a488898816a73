//! The fields of a form of unknown shape, by their usual names: in the form itself, and in
//! the objects in it that usually hold a lead (`data`, `contact`, ...). What is returned is
//! marked as read.

const std = @import("std");
const contract = @import("contract.zig");
const names = @import("names.zig");
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

pub const Fields = struct {
    form: *Value,
    views: std.ArrayList(View) = .empty,

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
        const id = fields.first(&names.ids, true);
        return if (id.len > 0) id else fields.first(&names.plain_ids, false);
    }

    pub fn message(fields: *const Fields) []const u8 {
        return fields.first(&names.messages, true);
    }

    /// Returns the person's name, joined from its parts, or "".
    pub fn name(fields: *const Fields) Error![]const u8 {
        const views = fields.views.items;
        // Beside an object with the contact, `name` is rather a form's.
        const best = &views[0];
        const is_apart = best.hasContact() and !best.is_root and !best.is_person;
        for (views, 0..) |*view, index| {
            const found = try view.name(!is_apart or index == 0 or view.is_person);
            if (found.len > 0) return found;
        }
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
    pub fn phones(fields: *const Fields) Error!Names {
        var out: std.ArrayList([]const u8) = .empty;
        for (fields.views.items) |*view| {
            for (names.phones) |one| try view.phones(&out, one, isPhoneNumber);
        }
        for (fields.views.items) |*view| {
            if (out.items.len > 0) break;
            for (view.fields) |field| {
                if (isPhoneName(field.folded.?)) try view.phones(&out, field.folded.?, looksLikePhone);
            }
            if (view.code("", &.{ "ddd", "areacode" }) == null) continue;
            for (names.numbers) |one| try view.phones(&out, one, looksLikePhone);
        }
        return out.items;
    }

    /// Returns the e-mail addresses, best first.
    pub fn emails(fields: *const Fields) Error!Names {
        var out: std.ArrayList([]const u8) = .empty;
        for (fields.views.items) |*view| {
            for (names.emails) |one| try view.emails(&out, one);
        }
        for (fields.views.items) |*view| {
            if (out.items.len > 0) break;
            for (view.fields) |field| {
                if (isEmailName(field.folded.?)) try view.emails(&out, field.folded.?);
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
                if (!field.isObject() or !isAmong(field.folded.?, &names.listing_objects)) continue;
                const object = try View.init(field);
                try add(&client, object.first(&names.listing_references));
                try add(&portal, object.first(&.{ "id", "listingid" }));
            }
        }
        var out: std.ArrayList(contract.Listing) = .empty;
        for (client.items) |one| try out.append(allocator, .{ .kind = .from("client"), .reference = .from(one) });
        for (portal.items) |one| {
            if (isAmong(one, client.items)) continue;
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
            const text = fields.first(field.usual, true);
            if (text.len > 0) try out.append(allocator, .{ .name = .from(field.name), .value = .from(text) });
        }
        return .from(out.items);
    }

    /// Returns what is not read, as attributes in order of name. An object of which a part
    /// is read keeps the other parts; empty values are left out.
    pub fn rest(fields: *const Fields) Error!contract.List(contract.Pair) {
        var out: std.ArrayList(contract.Pair) = .empty;
        var next = fields.form.first;
        while (next) |field| : (next = field.next) {
            // One more than a host accepts is enough: it refuses the lead and says why.
            if (out.items.len > max_attributes) break;
            const value = try unread(field) orelse continue;
            if (value.isAbsent()) continue;
            try out.append(allocator, .{ .name = .from(field.name), .value = .from(try value.json()) });
        }
        return .from(out.items);
    }

    fn collect(fields: *Fields, value: *Value, folded: []const u8, depth: usize) Error!void {
        if (!value.isObject() or depth > max_view_depth or fields.views.items.len == max_views) return;
        var view = try View.init(value);
        view.is_person = isAmong(folded, &names.persons);
        view.is_root = depth == 0;
        try fields.views.append(allocator, view);
        for (view.fields) |field| {
            if (isAmong(field.folded.?, &names.containers)) {
                try fields.collect(only(field), field.folded.?, depth + 1);
            }
        }
    }

    fn first(fields: *const Fields, wanted: Names, of_persons: bool) []const u8 {
        for (fields.views.items) |*view| {
            if (view.is_person and !of_persons) continue;
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
    is_root: bool = false,

    fn init(object: *const Value) Error!View {
        const fields = try allocator.alloc(*Value, @min(object.count, max_view_fields));
        var next = object.first;
        for (fields) |*field| {
            field.* = next.?;
            next = field.*.next;
            if (field.*.folded == null) field.*.folded = try fold(field.*.name);
        }
        return .{ .fields = fields };
    }

    fn hasContact(view: *const View) bool {
        for (view.fields) |field| {
            const folded = field.folded.?;
            const is_contact = isAmong(folded, &names.phones) or isAmong(folded, &names.emails);
            if (is_contact and !field.isAbsent()) return true;
        }
        return false;
    }

    /// Whether a field has this folded name and a value.
    fn is(field: *const Value, folded: []const u8) bool {
        return eql(field.folded.?, folded) and !field.isAbsent();
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
        if (day != null and hour != null and contains(hour.?.scalar(), ":")) {
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
                const is_parts = field.isObject() and !std.mem.startsWith(u8, one, "cont");
                const text = if (is_parts)
                    try (try View.init(field)).name(true)
                else if (mayBeName(field.scalar())) field.take() else "";
                if (text.len > 0) return text;
            }
        }
        const value = first_name orelse last_name orelse return "";
        return value.take();
    }

    /// Returns the text under a name that says whose it is: `buyer_name`,
    /// `nomeDoComprador`.
    fn nameOfLead(view: *const View, words: Names) []const u8 {
        for (view.fields) |field| {
            if (isOfLead(field.folded.?, words) and mayBeName(field.scalar())) return field.take();
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
                const number = (if (object) |one| one.find(&names.phone_nodes) else node) orelse continue;
                if (!fits(number.scalar()) or out.items.len == max_contacts) continue;
                const phone = try withCodes(
                    number.take(),
                    view.codeOf(object, wanted, &names.area_codes),
                    view.codeOf(object, wanted, &names.country_codes),
                );
                for (out.items) |known| {
                    if (try isSamePhone(known, phone)) break;
                } else try out.append(allocator, phone);
            }
        }
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
                if (countDigits(text) == 0 or text.len > 6 or countLetters(text) > 0) continue;
                const is_number = countDigits(rest) == rest.len and std.mem.endsWith(u8, phone, rest);
                if (rest.len == 0) {
                    if (plain == null) plain = field;
                } else if (eql(stem(rest), phone) or (is_number and !eql(one, "area"))) {
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
                if (looksLikeEmail(address.scalar()) and out.items.len < max_contacts) {
                    try add(out, address.take());
                }
            }
        }
    }
};

/// Returns the value that has the text: of a list of one, and of `{"value": "..."}`.
fn inner(field: *Value) ?*Value {
    const value = only(field);
    return if (value.isObject()) value.get("value") else value;
}

/// Returns the only item of a list, and any other value as it is.
fn only(value: *Value) *Value {
    return if (value.kind == .array and value.count == 1) value.first.? else value;
}

/// Returns a value without what is read of it, null if nothing is left; the value itself if
/// nothing is read.
fn unread(value: *Value) Error!?*Value {
    if (value.is_read) return null;
    if (!hasRead(value)) return value;
    const left = try Value.create(value.kind, "");
    left.name = value.name;
    var next = value.first;
    while (next) |child| : (next = child.next) {
        const rest = try unread(child) orelse continue;
        if (rest.isAbsent()) continue;
        const copy = try allocator.create(Value);
        copy.* = rest.*;
        copy.next = null;
        left.append(copy);
    }
    return left;
}

fn hasRead(value: *const Value) bool {
    var next = value.first;
    while (next) |child| : (next = child.next) {
        if (hasRead(child)) return true;
    }
    return value.is_read;
}

fn add(out: *std.ArrayList([]const u8), text: []const u8) Error!void {
    if (text.len > 0 and !isAmong(text, out.items)) try out.append(allocator, text);
}

/// Returns a name's letters and digits in lower case, without accents and without the
/// number that form builders put in front: `Full Name` and `q3_fullName` are one name.
pub fn fold(given: []const u8) Error![]const u8 {
    // The letters U+00E0 to U+00FF without their accents; `?` stays as it is.
    const plain = "aaaaa??ceeeeiiii?nooooo??uuuu??y";
    var text = given;
    if (std.mem.cutPrefix(u8, text, "q")) |rest| {
        const after = std.mem.trimStart(u8, rest, "0123456789");
        if (after.len < rest.len and after.len > 1 and after[0] == '_') text = after[1..];
    }
    var out: std.ArrayList(u8) = try .initCapacity(allocator, text.len);
    var at: usize = 0;
    while (at < text.len) : (at += 1) {
        switch (text[at]) {
            'A'...'Z', 'a'...'z', '0'...'9' => out.appendAssumeCapacity(std.ascii.toLower(text[at])),
            0xC3 => if (at + 1 < text.len) {
                at += 1;
                const second = text[at] | 0x20;
                const letter = plain[second & 0x1F];
                if (letter != '?') {
                    out.appendAssumeCapacity(letter);
                } else if (second != 0xB7) { // Neither of the signs of U+00D7 and U+00F7.
                    out.appendSliceAssumeCapacity(&.{ 0xC3, second });
                }
            },
            // Signs, accents on their own, and pictures.
            0xC2, 0xCC, 0xCD, 0xE2, 0xF0 => while (at + 1 < text.len and text[at + 1] & 0xC0 == 0x80) {
                at += 1;
            },
            0x00...0x2F, 0x3A...0x40, 0x5B...0x60, 0x7B...0x7F => {},
            else => |byte| out.appendAssumeCapacity(byte),
        }
    }
    return out.items;
}

// What a name asks for, and what a text looks like.

fn eql(a: []const u8, b: []const u8) bool {
    return std.mem.eql(u8, a, b);
}

fn isAmong(text: []const u8, list: Names) bool {
    for (list) |one| {
        if (eql(text, one)) return true;
    }
    return false;
}

fn contains(text: []const u8, part: []const u8) bool {
    return std.mem.find(u8, text, part) != null;
}

fn containsAny(text: []const u8, parts: Names) bool {
    for (parts) |part| {
        if (contains(text, part)) return true;
    }
    return false;
}

fn digits(text: []const u8) Error![]const u8 {
    var out: std.ArrayList(u8) = try .initCapacity(allocator, text.len);
    for (text) |character| {
        if (std.ascii.isDigit(character)) out.appendAssumeCapacity(character);
    }
    return out.items;
}

fn countDigits(text: []const u8) usize {
    var count: usize = 0;
    for (text) |character| count += @intFromBool(std.ascii.isDigit(character));
    return count;
}

/// Counts letters; a character that is not ASCII counts as one.
fn countLetters(text: []const u8) usize {
    var count: usize = 0;
    for (text) |character| count += @intFromBool(std.ascii.isAlphabetic(character) or character >= 0xC3);
    return count;
}

/// Joins the parts of a name, unless the first one is the whole name.
fn join(first: []const u8, last: []const u8) Error![]const u8 {
    if (std.mem.endsWith(u8, try fold(first), try fold(last))) return first;
    const both = try std.mem.concat(allocator, u8, &.{ first, " ", last });
    return std.mem.trim(u8, both, " ");
}

/// Whether a name says whose it is.
fn isOfLead(name: []const u8, words: Names) bool {
    for (words) |word| {
        if (std.mem.cutSuffix(u8, name, word)) |lead| {
            if (isAmong(lead, &names.lead_words)) return true;
        }
        const rest = std.mem.cutPrefix(u8, name, word) orelse continue;
        for ([_][]const u8{ "", "do", "da", "de", "del" }) |link| {
            const lead = std.mem.cutPrefix(u8, rest, link) orelse continue;
            if (isAmong(lead, &names.lead_words)) return true;
        }
    }
    return false;
}

fn mayBeName(text: []const u8) bool {
    return countLetters(text) > 0 and !looksLikeEmail(text);
}

fn looksLikeEmail(text: []const u8) bool {
    const local, const domain = std.mem.cutScalar(u8, text, '@') orelse return false;
    for (text) |character| {
        if (character <= ' ') return false;
    }
    return local.len > 0 and contains(domain, ".") and !contains(domain, "@") and text.len <= 254;
}

/// A switch such as `whatsapp: 1` is no phone.
fn isPhoneNumber(text: []const u8) bool {
    return countDigits(text) > 3;
}

fn looksLikePhone(text: []const u8) bool {
    const count = countDigits(text);
    const is_date = text.len >= 10 and
        ((text[4] == '-' and text[7] == '-') or (text[2] == '/' and text[5] == '/'));
    return count >= 8 and count <= 20 and countLetters(text) <= 5 and !is_date and !contains(text, "//");
}

fn isPhoneName(name: []const u8) bool {
    return containsAny(name, &names.phone_parts) and !std.mem.endsWith(u8, name, "id") and !isOthers(name);
}

fn isEmailName(name: []const u8) bool {
    return containsAny(name, &.{ "email", "correo" }) and !isOthers(name);
}

/// Whether a name is for another person's contact. `client` is the advertiser's word for
/// itself, `cliente` the lead.
fn isOthers(name: []const u8) bool {
    const is_client = contains(name, "client") and !contains(name, "cliente");
    return is_client or contains(name, "clientemail") or containsAny(name, &names.others);
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
            if (eql(usual, name)) return true;
        }
    }
    return false;
}

/// Adds the codes beside a phone, if it has none itself. A code that is not used stays an
/// attribute.
fn withCodes(phone: []const u8, area: ?*Value, country: ?*Value) Error![]const u8 {
    const number = try digits(phone);
    if (phone[0] == '+' or number.len > 11) return phone;
    const area_code = if (area) |code| std.mem.trimStart(u8, try digits(code.scalar()), "0") else "";
    const country_code = if (country) |code| try digits(code.scalar()) else "";
    var out = phone;
    if (area_code.len > 0 and area_code.len <= 4 and number.len < 10) {
        _ = area.?.take();
        out = try std.mem.concat(allocator, u8, &.{ "(", area_code, ") ", out });
    }
    if (country_code.len > 0 and country_code.len <= 3) {
        _ = country.?.take();
        // A number of North America may have its country code already.
        const has_code = eql(country_code, "1") and number.len == 11 and number[0] == '1';
        const parts: []const []const u8 = if (has_code) &.{ "+", out } else &.{ "+", country_code, " ", out };
        out = try std.mem.concat(allocator, u8, parts);
    }
    return out;
}

/// Whether two spellings are one number: it may come whole and without its codes.
fn isSamePhone(a: []const u8, b: []const u8) Error!bool {
    const x = try digits(a);
    const y = try digits(b);
    const has_end = std.mem.endsWith(u8, x, y) or std.mem.endsWith(u8, y, x);
    return eql(a, b) or (has_end and @min(x.len, y.len) >= 8);
}
