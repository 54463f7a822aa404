/* field.c: the table of fields, and functions that copy fields by it; see field.h. */
#include "archive/field.h"

#include <assert.h>
#include <string.h>

#include "archive/archive.h"
#include "base/alloc.h"
#include "base/text.h"

const ak_field ak_fields[AK_FIELD_COUNT] = {
#define PLACE(member) offsetof(ak_trial, member), sizeof(((ak_trial *)NULL)->member)
#define FIELD(name, kind, member, by)                                                              \
    {#name, #member, AK_FIELD_##kind, AK_FIELD_BY_##by, PLACE(member)},
    AK_FIELD_MAP(FIELD)
#undef FIELD
#undef PLACE
};

bool ak_field_is_text(ak_field_kind kind)
{
    return kind == AK_FIELD_TEXT || kind == AK_FIELD_NULLABLE || kind == AK_FIELD_FOREIGN;
}

static void *member(const ak_trial *trial, const ak_field *field)
{
    return (char *)(uintptr_t)trial + field->offset;
}

char **ak_field_text(const ak_trial *trial, const ak_field *field)
{
    assert(ak_field_is_text(field->kind));
    return member(trial, field);
}

int *ak_field_int(const ak_trial *trial, const ak_field *field)
{
    assert(field->kind == AK_FIELD_INT);
    return member(trial, field);
}

int64_t *ak_field_long(const ak_trial *trial, const ak_field *field)
{
    assert(field->kind == AK_FIELD_LONG || field->kind == AK_FIELD_LINK);
    return member(trial, field);
}

double *ak_field_real(const ak_trial *trial, const ak_field *field)
{
    assert(field->kind == AK_FIELD_REAL || field->kind == AK_FIELD_MEASURED ||
           field->kind == AK_FIELD_UNBOUNDED);
    return member(trial, field);
}

char **ak_trial_text(const ak_trial *trial, const char *name)
{
    const size_t i = AK_FIND(ak_fields, AK_FIELD_COUNT, name, name);
    assert(i < AK_FIELD_COUNT);
    return ak_field_text(trial, &ak_fields[i]);
}

const char *const ak_task_texts[] = {"kernel", "implementation", "device", "size",
                                     "dtype",  "choices",        NULL};

ak_status ak_fail_tasks(ak_error *err, const char *before, const char *name, const char *a,
                        const char *b)
{
    static const struct {
        const char *name, *noun, *option;
    } words[] = {{"implementation", "implementation", " (--impl)"},
                 {"device", "device", " (--device)"},
                 {"size", "size", " (--size)"},
                 {"dtype", "type", " (--dtype)"},
                 {"choices", "set of options", " (--set)"}};
    const size_t at = AK_FIND(words, AK_COUNT(words), name, name);
    const bool known = at < AK_COUNT(words); /* else the kernel, which is no option */
    const char *noun = known ? words[at].noun : name;
    return ak_fail(err, AK_INVALID, "%s (%s \"%.200s\" and \"%.200s\"): choose one %s%s", before,
                   noun, a, b, noun, known ? words[at].option : "");
}

const char *ak_trial_task_difference(const ak_trial *a, const ak_trial *b)
{
    const char *const *name = ak_task_texts;
    while (*name != NULL && ak_text_same(*ak_trial_text(a, *name), *ak_trial_text(b, *name))) {
        name++;
    }
    return *name;
}

ak_status ak_trial_task_number(size_t *out, ak_map *tasks, const ak_trial *trial,
                               const char *beside, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf key = AK_BUF(8 * AK_TRIAL_TEXT_BYTES_MAX);
    for (const char *const *name = ak_task_texts; *name != NULL; name++) {
        const char *text = ak_or_empty(*ak_trial_text(trial, *name));
        ak_buf_print(&key, "%zu %s", strlen(text), text); /* texts with any characters differ */
    }
    ak_buf_puts(&key, ak_or_empty(beside));
    AK_DO(ak_buf_status(&key, err));
    return ak_map_number(out, tasks, key.data, err);
}

ak_status ak_trial_set_text(char **text_member, const char *text, ak_error *err)
{
    char *copy;
    AK_DO(ak_copy_text(&copy, text, err));
    ak_free(*text_member);
    *text_member = copy;
    return AK_OK;
}

static ak_status copy_samples(ak_trial *out, const ak_trial *from, ak_error *err)
{
    double *copy = NULL;
    if (from->sample_count > 0) {
        AK_DO(AK_NEW(copy, from->sample_count, err));
        memcpy(copy, from->samples_ms, from->sample_count * sizeof *copy);
    }
    ak_free(out->samples_ms);
    out->samples_ms = copy;
    out->sample_count = from->sample_count;
    return AK_OK;
}

static void copy_number(ak_trial *out, const ak_trial *from, const ak_field *field)
{
    memcpy(member(out, field), member(from, field), field->bytes);
}

ak_status ak_trial_copy_fields(ak_trial *out, const ak_trial *from, unsigned by, ak_error *err)
{
    for (size_t i = 0; i < AK_FIELD_COUNT; i++) {
        const ak_field *field = &ak_fields[i];
        if ((field->by & by) == 0) {
            continue;
        }
        if (ak_field_is_text(field->kind)) {
            AK_DO(ak_trial_set_text(ak_field_text(out, field), *ak_field_text(from, field), err));
        } else if (field->kind == AK_FIELD_SAMPLES) {
            AK_DO(copy_samples(out, from, err));
        } else {
            copy_number(out, from, field);
        }
    }
    return AK_OK;
}

void ak_trial_move_fields(ak_trial *out, ak_trial *from, unsigned by)
{
    for (size_t i = 0; i < AK_FIELD_COUNT; i++) {
        const ak_field *field = &ak_fields[i];
        if ((field->by & by) == 0) {
            continue;
        }
        if (ak_field_is_text(field->kind)) {
            char **text = ak_field_text(out, field), **given = ak_field_text(from, field);
            if (*given != NULL) {
                ak_free(*text);
                *text = *given;
                *given = NULL;
            }
        } else if (field->kind == AK_FIELD_SAMPLES) {
            ak_free(out->samples_ms);
            out->samples_ms = from->samples_ms;
            out->sample_count = from->sample_count;
            from->samples_ms = NULL;
            from->sample_count = 0;
        } else {
            copy_number(out, from, field);
        }
    }
}
