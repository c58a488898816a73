//! Recognises the names of fields, and the shapes of their values.

const std = @import("std");
const names = @import("names.zig");
const allocator = @import("heap.zig").allocator;
const Error = std.mem.Allocator.Error;
const Names = []const []const u8;

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

pub fn eql(a: []const u8, b: []const u8) bool {
    return std.mem.eql(u8, a, b);
}

pub fn isAmong(text: []const u8, list: Names) bool {
    for (list) |one| {
        if (eql(text, one)) return true;
    }
    return false;
}

pub fn contains(text: []const u8, part: []const u8) bool {
    return std.mem.find(u8, text, part) != null;
}

pub fn containsAny(text: []const u8, parts: Names) bool {
    for (parts) |part| {
        if (contains(text, part)) return true;
    }
    return false;
}

pub fn digits(text: []const u8) Error![]const u8 {
    var out: std.ArrayList(u8) = try .initCapacity(allocator, text.len);
    for (text) |character| {
        if (std.ascii.isDigit(character)) out.appendAssumeCapacity(character);
    }
    return out.items;
}

pub fn countDigits(text: []const u8) usize {
    var count: usize = 0;
    for (text) |character| count += @intFromBool(std.ascii.isDigit(character));
    return count;
}

/// Counts letters; a character that is not ASCII counts as one.
pub fn countLetters(text: []const u8) usize {
    var count: usize = 0;
    for (text) |character| count += @intFromBool(std.ascii.isAlphabetic(character) or character >= 0xC3);
    return count;
}

pub fn mayBeName(text: []const u8) bool {
    return countLetters(text) > 0 and !looksLikeEmail(text);
}

/// Whether a text begins and ends like JSON, which is for programs.
pub fn isJson(text: []const u8) bool {
    if (text.len == 0) return false;
    const last = text[text.len - 1];
    return (text[0] == '{' or text[0] == '[') and (last == '}' or last == ']');
}

pub fn looksLikeEmail(text: []const u8) bool {
    const local, const domain = std.mem.cutScalar(u8, text, '@') orelse return false;
    for (text) |character| {
        if (character <= ' ') return false;
    }
    return local.len > 0 and contains(domain, ".") and !contains(domain, "@") and text.len <= 254;
}

/// A switch such as `whatsapp: 1` is no phone.
pub fn isPhoneNumber(text: []const u8) bool {
    return countDigits(text) > 3;
}

pub fn looksLikePhone(text: []const u8) bool {
    const count = countDigits(text);
    const is_date = text.len >= 10 and
        ((text[4] == '-' and text[7] == '-') or (text[2] == '/' and text[5] == '/'));
    return count >= 8 and count <= 20 and countLetters(text) <= 5 and !is_date and !contains(text, "//");
}

/// Whether two spellings are one number: it may come whole and without its codes.
pub fn isSamePhone(a: []const u8, b: []const u8) Error!bool {
    const x = try digits(a);
    const y = try digits(b);
    const has_end = std.mem.endsWith(u8, x, y) or std.mem.endsWith(u8, y, x);
    return eql(a, b) or (has_end and @min(x.len, y.len) >= 8);
}

pub fn asksForPhone(name: []const u8) bool {
    return isAmong(name, &names.phones) or isPhoneName(name);
}

pub fn asksForEmail(name: []const u8) bool {
    return isAmong(name, &names.emails) or isEmailName(name);
}

pub fn isPhoneName(name: []const u8) bool {
    return containsAny(name, &names.phone_parts) and !std.mem.endsWith(u8, name, "id") and !isOthers(name);
}

pub fn isEmailName(name: []const u8) bool {
    return containsAny(name, &.{ "email", "correo" }) and !isOthers(name);
}

/// Whether a question asks for the whole name: `Qual o seu nome completo?`.
pub fn isNameQuestion(name: []const u8) bool {
    return containsAny(name, &names.name_parts) and !isOthers(name);
}

/// Whether a text is a phone with its country code and nothing else.
pub fn isFullPhone(text: []const u8) bool {
    const count = countDigits(text);
    const is_plain = std.mem.findNone(u8, text, "0123456789+()-. ") == null;
    return std.mem.startsWith(u8, text, "+") and is_plain and count >= 10 and count <= 15;
}

/// Whether a name is for another person's contact. `client` is the advertiser's word for
/// itself, `cliente` the lead.
pub fn isOthers(name: []const u8) bool {
    const is_client = contains(name, "client") and !contains(name, "cliente");
    return is_client or contains(name, "clientemail") or containsAny(name, &names.others);
}

/// Whether an object of this name is no private person's: it is the advertiser's, one of its
/// staff's, or a thing's, or the contact of one of these.
pub fn isBusiness(name: []const u8, in_business: bool) bool {
    const is_public = isOthers(name) and !containsAny(name, &names.private);
    const is_thing = isAmong(name, &names.listing_objects) or isAmong(name, &names.things);
    return is_public or is_thing or (in_business and isAmong(name, &names.contact_objects));
}
