// Recognises the names of fields, and the shapes of their values. Names are folded.
#ifndef LOOKS_H
#define LOOKS_H

#include "leadhost.h"

bool equal(struct text a, struct text b);
bool starts_with(struct text text, struct text start);
bool ends_with(struct text text, struct text end);
bool contains(struct text text, const char *part);
// Whether a text is one of a list that ends with NULL.
bool is_among(struct text text, const char *const *names);

struct text digits(struct text text);
// Counts letters; a character that is not ASCII counts as one.
size_t letters(struct text text);
// Whether a text begins and ends like JSON, which is for programs.
bool is_json(struct text text);
bool looks_like_email(struct text text);
bool may_be_name(struct text text);
// A switch such as `whatsapp: 1` is no phone.
bool is_phone_number(struct text text);
bool looks_like_phone(struct text text);
// Whether a text is a phone with its country code and nothing else.
bool is_full_phone(struct text text);

// Whether a name is for another person's contact. `client` is the advertiser's word for
// itself, `cliente` the lead.
bool is_others(struct text name);
bool is_phone_name(struct text name);
bool is_email_name(struct text name);
// Whether a question asks for the whole name: `Qual o seu nome completo?`.
bool is_name_question(struct text name);

// Whether an object of this name is no private person's: it is the advertiser's, one of its
// staff's, or a thing's, or the contact of one of these.
bool is_business(struct text name, bool in_business);
// Whether two spellings are one number: it may come whole and without its codes.
bool is_same_phone(struct text a, struct text b);

// --- Lists of questions and answers, as form builders send them ---

// Returns the answers by their questions, in order of these, of a list with this folded name,
// or NULL if it is something else: a question with its answer is all that each of its elements
// has, and the list's name is a usual one, or one of the answers is a phone or an e-mail
// address. `beside` is the object that the list is in.
struct value *questions_in(struct text name, struct value *list, struct value *beside);

// Returns a name, with a number if a member has it already: `Phone 2`.
struct text free_name(struct text name, const struct value *taken);

// Whether a folded question asks for a phone or an e-mail address, and the answer is one.
bool is_contact(struct text name, const struct value *answer);
// Whether an object is a question with its answer.
bool is_question(struct value *item);

// --- Other people ---

// The most places of other people that are noted.
enum { MAX_REPORTED = 20 };

// Makes what is not read of a form, without other people.
struct rest {
    // The contacts of the lead.
    struct texts phones, emails;
    // The places of other people.
    struct text left_out[MAX_REPORTED];
    size_t count;
};

// Where a value is: under a folded name, in an object of a business or not, as an item of a list or
// not, at a depth.
struct spot {
    struct text name, path;
    bool in_business, is_item;
    int depth;
};

// Returns what is left of a value, NULL if nothing is; the value itself if all of it is.
struct value *rest_of(struct rest *rest, struct value *value, struct spot spot);
struct value *rest_of_member(struct rest *rest, struct value *member);
// Notes where other people are left out.
void note_left_out(struct rest *rest);

#endif
