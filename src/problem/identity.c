#include "problem/sources.h"

#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

/* Paths of the members that are prose; "[]" stands for every element of a list. No path leads to
   the names of parameters, macros or values, so a parameter may be called Description. */
#define IN_SPACE(place) place "Description", place "Title", place "Notes", place "Comment"
static const char *const problem_prose[] = {"description",
                                            "notes",
                                            "sets",
                                            "sizes[].description",
                                            "choices[].description",
                                            "arguments[].description",
                                            NULL};
static const char *const space_prose[] = {IN_SPACE(""),
                                          IN_SPACE("ConfigurationSpace."),
                                          IN_SPACE("ConfigurationSpace.TuningParameters[]."),
                                          IN_SPACE("ConfigurationSpace.Conditions[]."),
                                          IN_SPACE("KernelSpecification."),
                                          IN_SPACE("KernelSpecification.Needs[]."),
                                          "KernelSpecification.BenchmarkName",
                                          "General",
                                          "Facts",
                                          NULL};

#define PLACE_MAX 160
/* The paths above are not deeper, so deeper members are not looked up. */
#define PROSE_DEPTH_MAX 6

typedef struct canon {
    const char *const *prose;
    bool lost; /* memory ran out */
} canon;

static json_t *copy(canon *c, const json_t *value, const char *place, int depth);

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static json_t *copy_object(canon *c, const json_t *object, const char *place, int depth)
{
    char below[PLACE_MAX];
    AK_FREED const char **keys = ak_alloc(json_object_size(object) + 1, sizeof *keys);
    json_t *out = json_object();
    size_t count = 0;
    c->lost = c->lost || keys == NULL || out == NULL;
    AK_EACH_MEMBER(key, value, object) {
        if (!c->lost) {
            keys[count++] = key;
        }
    }
    if (!c->lost) {
        qsort(keys, count, sizeof *keys, by_name);
    }
    for (size_t i = 0; i < count && !c->lost; i++) {
        (void)snprintf(below, sizeof below, "%s%s%s", place, *place == 0 ? "" : ".", keys[i]);
        if (depth > PROSE_DEPTH_MAX || !ak_text_is_one_of(below, c->prose)) {
            json_t *item = copy(c, json_object_get(object, keys[i]), below, depth + 1);
            /* ak_json_set takes ownership of the item, also on failure. */
            c->lost = !ak_json_set(out, keys[i], item) || c->lost;
        }
    }
    return out;
}

static json_t *copy_array(canon *c, const json_t *array, const char *place, int depth)
{
    char below[PLACE_MAX];
    json_t *out = json_array();
    c->lost = c->lost || out == NULL;
    (void)snprintf(below, sizeof below, "%s[]", place);
    for (size_t i = 0; i < json_array_size(array) && !c->lost; i++) {
        json_t *item = copy(c, json_array_get(array, i), below, depth + 1);
        /* ak_json_append takes ownership of the item, also on failure. */
        c->lost = !ak_json_append(out, item) || c->lost;
    }
    return out;
}

/* Copies a value without prose, with members in the order of their names. */
static json_t *copy(canon *c, const json_t *value, const char *place, int depth)
{
    if (json_is_object(value)) {
        return copy_object(c, value, place, depth);
    }
    return json_is_array(value) ? copy_array(c, value, place, depth)
                                : json_incref((json_t *)(uintptr_t)value);
}

static ak_status identity(char **out, const json_t *document, const char *const *prose,
                          ak_error *err)
{
    canon c = {.prose = prose};
    json_t *made = copy(&c, document, "", 0);
    return ak_json_give_text(out, made, !c.lost, err);
}

ak_status ak_problem_identity(char **out, const json_t *problem, ak_error *err)
{
    return identity(out, problem, problem_prose, err);
}

ak_status ak_space_identity(char **out, const json_t *space, ak_error *err)
{
    return identity(out, space, space_prose, err);
}
