// Turns the requests of {{name}} into leads. The host calls these functions and does all
// input and output itself. A function returns true for its result, false for its error.

#include "../leadhost/leadhost.h"

// Says who the converter is. Raise the version with every change.
void exports_leadhost_converter_converter_describe(description *ret)
{
    *ret = (description){
        .name = string_from(text_from("{{name}}")),
        .version = string_from(text_from("1.0.0")),
        .summary = string_from(text_from("Leads of {{name}}")),
    };
}

// Says how senders prove themselves: here they need not. The host masks the usual secrets in a
// body.
bool exports_leadhost_converter_converter_sender_checks(string *config, sender_policy *ret, problem *err)
{
    (void)config, (void)err;
    *ret = (sender_policy){.carried_secrets = usual_secrets()};
    return true;
}

// Answers a GET that verifies the address: this source has none.
bool exports_leadhost_converter_converter_handshake(delivery *delivery, handshake_answer *ret, problem *err)
{
    (void)delivery, (void)err;
    *ret = (handshake_answer){0};
    return true;
}

// Returns the lead of a form. A value under a usual name (`nome`, `first_name`, `telefone`,
// `e-mail`, ...) fills its field; everything else but other people is kept as an attribute.
// TAKE(form, "deal.ref", "refs[0]") reads a name that is not usual, by its path.
static item read(struct value *form, struct text path)
{
    if (!value_is_object(form))
        return invalid_item("a lead must be an object", path);
    struct fields *fields = fields_from(form);
    lead lead = {
        .external_id = optional_from(fields_external_id(fields)),
        .is_test = fields_is_test(fields),
        .name = optional_from(fields_name(fields)),
        .phones = list_from(fields_phones(fields)),
        .emails = list_from(fields_emails(fields)),
        .listings = fields_listings(fields),
        .message = optional_from(fields_message(fields)),
        .occurred_at = optional_from(fields_occurred_at(fields)),
        .source = optional_from(fields_source(fields)),
        .campaign = fields_campaign(fields),
    };
    if (!fields_are_lead(fields, &lead))
        return invalid_item("the lead has no phone, no e-mail address and no name with an id or a message", path);
    lead.attributes = fields_rest(fields); // Last: what nothing above has read.
    return lead_item(lead);
}

// Returns the leads of a delivery.
bool exports_leadhost_converter_converter_convert(delivery *delivery, conversion *ret, problem *err)
{
    struct value *body = body_parse(delivery, err);
    if (body == NULL)
        return false;
    *ret = (conversion){.items = items_from(body, read)};
    ret->notes = noted();
    return true;
}

// Reads the answer to a fetch. This converter asks for none.
bool exports_leadhost_converter_converter_complete(completion *completion, item_list *ret, failure *err)
{
    (void)completion, (void)ret;
    *err = (failure){
        .category = string_from(text_from("give-up")),
        .message = string_from(text_from("this converter fetches nothing")),
    };
    return false;
}
