//! Unit tests: sh build.sh test. The golden cases run in the host's engine: leadhost plugin
//! test.

const std = @import("std");
const leadhost = @import("leadhost/leadhost.zig");
const converter = @import("converter.zig");
const fields = @import("leadhost/fields.zig");
const form = @import("leadhost/form.zig");
const json = @import("leadhost/json.zig");
const testing = std.testing;

fn expectText(expected: []const u8, found: []const u8) !void {
    try testing.expectEqualStrings(expected, found);
}

test "JSON is written as it was read" {
    for ([_][]const u8{
        \\{"a":[],"b":{},"c":[null,true,{"d":"x\"y\\ã"}],"id":9007199254740993.10}
        ,
        "[1e400,-0]",
        "\"\"",
        "\"\\u0000\\u001f\"",
    }) |text| {
        try expectText(text, try (try json.parse(text)).json());
    }
    try expectText("[1,2]", try (try json.parse("\u{FEFF} [1 , 2] ")).json());
    try expectText("\u{FFFD} 😀\u{FFFD}x", (try json.parse("\"\\ud83d \\ud83d\\uDE00\\udc00x\"")).raw);
    try expectText("😀ã\u{FFFD}/", (try json.parse("\"\\ud83d\\ude00\\u00e3\\ufffd\\/\"")).raw);
}

test "what is not JSON is refused" {
    for ([_][]const u8{
        "",           "{",                "a=1",       "{\"a\":1}x", "{\"a\" 1}", "[1,]",       "01",                        "1.", "-",
        "\"\\ud80\"", "\"\\ud83d\\u12\"", "\"\\u12\"", "\"\n\"",     "nul",       "{\"a\":1,}", &@as([1000]u8, @splat('[')),
    }) |text| {
        try testing.expectError(error.NotJson, json.parse(text));
    }
}

test "the first path with a text wins" {
    const value = try json.parse(
        \\{"none":null,"blank":" ","a":{"b":" x ","c.d":[{"e":"y"},2]}}
    );
    try expectText("x", value.text(&.{ "none", "blank", "missing", "a.b" }));
    try expectText("y", value.text(&.{"a.\"c.d\"[0].e"}));
    try expectText("2", value.text(&.{"a[\"c.d\"][1]"}));
    try expectText("", value.text(&.{ "a.b.c", "a[0]", "a.\"c.d\"[9]", "a", "a[" }));
}

test "brackets of a form make a tree" {
    for ([_][2][]const u8{
        .{ "", "{}" },
        .{ "a=1&b=x+y%C3%A3%&&c", "{\"a\":\"1\",\"b\":\"x yã%\",\"c\":\"\"}" },
        .{ "a=1&a=2&a=3", "{\"a\":[\"1\",\"2\",\"3\"]}" },
        .{ "a[]=1&a[]=2", "{\"a\":[\"1\",\"2\"]}" },
        .{ "a[0][n]=x&a[0][v]=y", "{\"a\":[{\"n\":\"x\",\"v\":\"y\"}]}" },
        .{ "a[5]=x&a[b=1", "{\"a\":{\"5\":\"x\"},\"a[b\":\"1\"}" },
        .{ "a=1&a[b]=2", "{\"a\":{\"\":\"1\",\"b\":\"2\"}}" },
        .{ "f[tel][value]=1&0=zero", "{\"0\":\"zero\",\"f\":{\"tel\":{\"value\":\"1\"}}}" },
        .{ "a=1&a[b]=2&a=3", "{\"a\":{\"\":[\"1\",\"3\"],\"b\":\"2\"}}" },
        .{ "a=1&a[]=2", "{\"a\":{\"\":\"1\",\"0\":\"2\"}}" },
        .{ "a[1]=x&a[]=y&a[]=z", "{\"a\":[\"y\",\"x\",\"z\"]}" },
        .{ "a[7]=x&a[]=y&=z", "{\"0\":\"z\",\"a\":{\"0\":\"y\",\"7\":\"x\"}}" },
        .{ "a=S\xe3o+Jos%E9&%e9=1", "{\"a\":\"São José\",\"é\":\"1\"}" },
        .{ "a=%96+%80&b=J%C3%A3%C3", "{\"a\":\"– €\",\"b\":\"Jã\u{FFFD}\"}" },
        .{ "a=Oi%e2%80&b=%f0%9f%98", "{\"a\":\"Oi\u{FFFD}\",\"b\":\"\u{FFFD}\"}" },
    }) |case| {
        try expectText(case[1], try (try form.parse(case[0])).json());
    }
}

test "spellings of a name are one" {
    for ([_][]const u8{ "Full Name", "FULL_NAME", "fullName", "q3_fullName", "fÚll-name:" }) |name| {
        try expectText("fullname", try fields.fold(name));
    }
    try expectText("q1", try fields.fold("q_1"));
    try expectText("codigon", try fields.fold("Código – nº×"));
}

test "phones have the codes beside them" {
    for ([_][2][]const u8{
        .{
            \\{"ddd":"011","whatsapp":"90000-0001","phone":"11900000001"}
            ,
            "(11) 90000-0001",
        },
        .{
            \\{"celular_ddd":11,"celular":"90000-0001","ddd2":"21","telefone2":"30000002"}
            ,
            "(11) 90000-0001, (21) 30000002",
        },
        .{
            \\{"phones":[{"type":"home","value":"(11) 3000-0003"},"+351 912 345 670"]}
            ,
            "(11) 3000-0003, +351 912 345 670",
        },
        .{
            \\{"Qual o seu WhatsApp?":"11 90000-0004","telefone_corretor":"11900000005"}
            ,
            "11 90000-0004",
        },
        .{
            \\{"contactDDD":"11","contactPhone":"900000001"}
            ,
            "(11) 900000001",
        },
        .{
            \\{"TelefoneDDD":"11","TelefoneNumero":"900000001"}
            ,
            "(11) 900000001",
        },
        .{
            \\{"whatsapp":true,"ddd":"11","numero":"90000-0006"}
            ,
            "(11) 90000-0006",
        },
    }) |case| {
        var found = try leadhost.Fields.init(try json.parse(case[0]));
        try expectText(case[1], try std.mem.join(leadhost.allocator, ", ", try found.phones()));
    }
}

test "a code that is not used is kept" {
    var found = try leadhost.Fields.init(try json.parse(
        \\{"ddd":"11","phone":"1 555 010 0001","country_code":1}
    ));
    try expectText("+1 555 010 0001", (try found.phones())[0]);
    const rest = (try found.rest()).slice();
    try testing.expectEqual(1, rest.len);
    try expectText("\"11\"", rest[0].value.slice());
}

test "of two members with one name the last counts" {
    const value = try json.parse(
        \\{"b":1,"a":2,"b":{"c":3,"c":4}}
    );
    try expectText("{\"a\":2,\"b\":{\"c\":4}}", try value.json());
}

test "names are joined from their parts" {
    for ([_][2][]const u8{
        .{ "{\"nome\":\"Ana\",\"sobrenome\":\"Prado\"}", "Ana Prado" },
        .{ "{\"name\":\"Ana Prado\",\"lastName\":\"Prado\"}", "Ana Prado" },
        .{ "{\"name\":{\"first\":\"Ana\",\"last\":\"Prado\"}}", "Ana Prado" },
        .{ "{\"name\":\"Form\",\"data\":{\"email\":\"a@example.com\",\"nome\":\"\"}}", "" },
        .{ "{\"nomeDoComprador\":\"Ana\",\"contactPhone\":\"11900000001\"}", "Ana" },
        .{ "{\"contact\":\"ana@example.com\"}", "" },
    }) |case| {
        var found = try leadhost.Fields.init(try json.parse(case[0]));
        try expectText(case[1], try found.name());
    }
}

test "questions and answers are read like the fields of a form" {
    var found = try leadhost.Fields.init(try json.parse(
        \\{"name":"Contact form","answers":[{"label":"Qual o seu nome?","value":"Ana Prado"},
        \\{"label":"Contato","type":"tel","value":["11 90000-0001"]},
        \\{"label":"Prazo","value":{"label":"3 meses"}},{"label":"Prazo","value":2},
        \\{"label":"Bairro","value":""}]}
    ));
    try expectText("Ana Prado", try found.name());
    try expectText("11 90000-0001", (try found.phones())[0]);
    const rest = (try found.rest()).slice();
    for ([_][2][]const u8{
        .{ "Prazo", "\"3 meses\"" },
        .{ "Prazo 2", "2" },
        .{ "name", "\"Contact form\"" },
    }, rest) |expected, attribute| {
        try expectText(expected[0], attribute.name.slice());
        try expectText(expected[1], attribute.value.slice());
    }
}

test "a lead without a contact has a name or answers, and an id" {
    for ([_]struct { []const u8, bool }{
        .{ "{\"id\":\"1\",\"name\":\"Ana\"}", true },
        .{ "{\"name\":\"Ana\",\"message\":\"Olá\"}", true },
        .{ "{\"id\":\"1\",\"answers\":[{\"question\":\"Prazo\",\"answer\":\"3 meses\"}]}", true },
        .{ "{\"event\":\"deal_created\",\"id\":\"1\",\"name\":\"Ana\"}", false },
        .{ "{\"id\":\"1\",\"buyer_name\":\"Ana\"}", false },
    }) |case| {
        const result = try converter.convert(&.{ .body = .{ .tag = .text, .value = .from(case[0]) } });
        const item = result.value.ok.items.slice()[0];
        try testing.expectEqual(case[1], item.outcome.tag == .lead);
    }
}

test "a field or a value says that a lead is a test" {
    for ([_]struct { []const u8, bool }{
        .{ "{\"is_test\":true}", true },
        .{ "{\"Teste\":\"Sim\"}", true },
        .{ "{\"nome\":\"<test lead: dummy data for nome>\"}", true },
        .{ "{\"test\":0}", false },
    }) |case| {
        const found = try leadhost.Fields.init(try json.parse(case[0]));
        try testing.expectEqual(case[1], try found.isTest());
    }
}

test "the host masks the usual secrets" {
    const policy = try converter.senderChecks("{}");
    const first = policy.value.ok.carried_secrets.slice()[0];
    try expectText("json", first.place.slice());
    try expectText("google_key", first.name.slice());
}

test "damaged bodies do not crash" {
    const body =
        \\{"leads":[{"contact":{"phones":[{"ddd":"11","value":"9"}],"e-mail":["a@b.c"]},
        \\"id":9007199254740993,"unit":{"rooms":3,"id":"\u00e3\\"}}]}
    ;
    for (0..body.len) |end| {
        _ = try converter.convert(&.{ .body = .{ .tag = .text, .value = .from(body[0..end]) } });
        const rest = try std.mem.concat(leadhost.allocator, u8, &.{ body[end..], "\xFF" });
        _ = try converter.convert(&.{ .body = .{ .tag = .bytes, .value = .from(rest) } });
    }
    const whole = try converter.convert(&.{ .body = .{ .tag = .text, .value = .from(body) } });
    const lead = whole.value.ok.items.slice()[0].outcome.value.lead;
    try expectText("9007199254740993", lead.external_id.value.slice());
    try expectText("{\"rooms\":3}", lead.attributes.slice()[1].value.slice());
}
