// Turns the requests of a form into leads. The host calls the five functions of the contract and
// does all input and output itself; each returns true for its result and false for its error.

#include "lead.h"

// Says who the converter is. Raise the version with every change.
void exports_leadhost_converter_converter_describe(description *ret)
{
    *ret = (description){
        .name = text_from("form-c"),
        .version = text_from("1.0.0"),
        .summary = text_from("Leads of a form, read in C"),
    };
}

// Says how senders prove themselves: here they need not.
bool exports_leadhost_converter_converter_sender_checks(text *config, sender_policy *ret, problem *err)
{
    (void)config, (void)err;
    *ret = (sender_policy){0};
    return true;
}

// Answers a GET that verifies the address: this source has none.
bool exports_leadhost_converter_converter_handshake(delivery *delivery, handshake_answer *ret, problem *err)
{
    (void)delivery, (void)err;
    *ret = (handshake_answer){0};
    return true;
}

// Reads one lead. A path is names joined by dots; what is absent or blank there is absent.
static item read(text form, text path)
{
    lead lead = {
        .action = text_from("create"),
        .external_id = text_at(form, "id"),
        .name = text_at(form, "contact.name"),
        .phones = TEXTS_AT(form, "contact.phone", "contact.mobile"),
        .emails = TEXTS_AT(form, "contact.email"),
        .message = text_at(form, "message"),
        .attributes = ATTRIBUTES_AT(form, "budget"),
    };
    bool says_something = lead.external_id.is_some || lead.name.is_some || lead.message.is_some;
    if (!says_something && lead.phones.len + lead.emails.len == 0)
        return invalid_item("the lead has no id, name, phone, e-mail address or message", path);
    return lead_item(lead);
}

// Returns the leads of a delivery. A body that is not JSON is refused as a whole: the sender gets
// the status 400.
bool exports_leadhost_converter_converter_convert(delivery *delivery, conversion *ret, problem *err)
{
    bool is_text = delivery->body.tag == LEADHOST_TYPES_CORE_CONTENT_TEXT;
    text body = is_text ? json_from(delivery->body.val.text) : (text){0};
    if (body.len == 0) {
        *err = (problem){.message = text_from("the body is not JSON")};
        return false;
    }
    *ret = (conversion){.items = items_from(body, read)};
    return true;
}

// Reads the answer to a fetch: this converter asks for none.
bool exports_leadhost_converter_converter_complete(completion *completion, items *ret, failure *err)
{
    (void)completion, (void)ret;
    *err = (failure){
        .category = text_from("give-up"),
        .message = text_from("this converter fetches nothing"),
    };
    return false;
}
