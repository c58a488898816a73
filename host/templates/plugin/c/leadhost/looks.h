// What a name asks for, and what a text looks like. Names are folded.
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

#endif
