/* extract.c: see extract.h. A value is read from every '{' or '[', unless it lies in a complete
   value or in the best value so far; the values are ranked. */
#include "llm/extract.h"

#include "base/utf8.h"
#include "llm/relaxed.h"

/* Braces that start no JSON ("f(x) = {x | x > 0}") are common in reasoning. The search ends after
   this many starts with what it has found. */
#define STARTS_MAX 4096

typedef enum rank_of { NOTHING, SCALARS, OBJECTS, ARRAY, WANTED_CUT, WANTED } rank_of;

typedef struct search {
    const char *array;
    json_t *best, *elements; /* owned */
    rank_of rank;
    bool cut, repaired;
    size_t best_end, best_start;
} search;

/* Returns the member `name` of `value` or, if it has none, of one of the objects in `value`,
   borrowed; NULL if none has it. */
static json_t *wanted_in(json_t *value, const char *name)
{
    json_t *found = json_object_get(value, name);
    if (found == NULL) {
        AK_EACH_MEMBER(key, member, value) {
            found = found == NULL ? json_object_get(member, name) : found;
        }
    }
    return found;
}

/* Turns the wanted member into an array. A single object becomes an array of one, and a string that
   holds an array is read; *out is NULL for anything else. Sets *cut if that string is cut. */
static ak_status as_array(json_t **out, bool *cut, json_t *found, ak_error *err)
{
    *out = NULL;
    if (json_is_array(found)) {
        *out = json_incref(found);
    } else if (json_is_object(found)) {
        *out = json_array();
        AK_DO(ak_stored(*out != NULL && json_array_append(*out, found) == 0, err));
    } else if (json_is_string(found)) {
        ak_relaxed inner;
        AK_DO(ak_relaxed_read(&inner, json_string_value(found), json_string_length(found), err));
        *cut = *cut || (json_is_array(inner.value) && inner.cut);
        if (json_is_array(inner.value)) {
            *out = inner.value;
        } else {
            json_decref(inner.value);
        }
    }
    return AK_OK;
}

static void take(search *s, rank_of rank, const ak_relaxed *read, json_t *elements, size_t start,
                 bool cut)
{
    json_decref(s->best);
    json_decref(s->elements);
    s->best = json_incref(read->value);
    s->elements = elements;
    s->rank = rank;
    s->cut = cut;
    s->repaired = read->repaired;
    s->best_start = start;
    s->best_end = start + read->end;
}

/* Adds an object that is not in an array. Of objects side by side, each is an element. */
static ak_status add_object(search *s, const ak_relaxed *read, size_t start, ak_error *err)
{
    if (s->rank < OBJECTS) {
        json_t *list = json_array();
        AK_DO(ak_made(list, err));
        take(s, OBJECTS, read, list, start, false);
    }
    AK_DO(ak_stored(s->elements == NULL || json_array_append(s->elements, read->value) == 0, err));
    s->best_end = start + read->end;
    s->repaired |= read->repaired;
    return AK_OK;
}

static ak_status consider(search *s, const ak_relaxed *read, size_t start, ak_error *err)
{
    json_t *list = NULL;
    bool cut = read->cut;
    if (s->array == NULL) {
        /* The longest complete container is the answer; the others are examples. */
        bool longer = s->best == NULL || read->end >= s->best_end - s->best_start;
        if (s->rank < (cut ? ARRAY : WANTED) || (s->rank == WANTED && !cut && longer)) {
            take(s, cut ? ARRAY : WANTED, read, NULL, start, cut);
        }
        return AK_OK;
    }
    json_t *found = json_is_object(read->value) ? wanted_in(read->value, s->array) : NULL;
    ak_status status = as_array(&list, &cut, found, err);
    if (status != AK_OK) {
        json_decref(list);
        return status;
    }
    rank_of got = cut ? WANTED_CUT : WANTED;
    if (list != NULL && (got > s->rank || (got == s->rank && json_array_size(list) > 0))) {
        take(s, got, read, list, start, cut);
        return AK_OK;
    }
    if (list != NULL) { /* an empty array does not replace what was found before */
        json_decref(list);
        return AK_OK;
    }
    bool object = json_is_object(read->value) && json_object_size(read->value) > 0 && !cut &&
                  /* an object whose wanted member has the wrong type is not an element */
                  found == NULL;
    if (object && s->cut && s->rank >= ARRAY) {
        /* Only one element was broken; the objects after it are elements too. */
        s->best_end = start + read->end;
        return ak_stored(json_array_append(s->elements, read->value) == 0, err);
    }
    if (json_is_array(read->value) && json_is_object(json_array_get(read->value, 0)) &&
        s->rank <= ARRAY) {
        take(s, ARRAY, read, json_incref(read->value), start, cut);
    } else if (object && s->rank <= OBJECTS) {
        return add_object(s, read, start, err);
    } else if (s->rank == NOTHING && !cut) {
        take(s, SCALARS, read, NULL, start, cut);
    }
    return AK_OK;
}

static bool blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (strchr(" \t\r\n", text[i]) == NULL) {
            return false;
        }
    }
    return true;
}

ak_status ak_extract_read(ak_extract *out, const char *text, size_t length, const char *array,
                          ak_error *err)
{
    search s = {.array = array};
    size_t work = 0, starts = 0, at = 0;
    ak_status status = AK_OK;
    while (at < length && starts < STARTS_MAX && work <= (AK_EXTRACT_PASSES - 1) * length) {
        if (text[at] != '{' && text[at] != '[') {
            at++;
            continue;
        }
        ak_relaxed read;
        starts++;
        AK_TRY(ak_relaxed_read(&read, text + at, length - at, err));
        work += read.end;
        bool something = read.value != NULL && (json_object_size(read.value) > 0 ||
                                                json_array_size(read.value) > 0 || !read.cut);
        const ak_status considered = something ? consider(&s, &read, at, err) : AK_OK;
        /* A broken value that is not the best so far may contain a complete value, so the search
           continues inside it. */
        bool used = something && (!read.cut || s.best == read.value);
        json_decref(read.value);
        AK_TRY(considered);
        at += used ? read.end : 1;
    }
    if (s.elements == NULL) {
        s.elements = json_array();
        AK_TRY(ak_made(s.elements, err));
    }
out:
    if (status != AK_OK) {
        json_decref(s.best);
        json_decref(s.elements);
        return status;
    }
    size_t mark = ak_utf8_mark(text);
    bool alone = s.best != NULL && blank(text + mark, s.best_start - mark) &&
                 blank(text + s.best_end, length - s.best_end);
    *out = (ak_extract){s.best, s.elements, s.cut, s.repaired || (s.best != NULL && !alone), alone};
    return AK_OK;
}
