/* status.h: reports faults inside the library. See ak_error in autokernel.h. */
#ifndef AK_BASE_STATUS_H
#define AK_BASE_STATUS_H

#include <string.h>

#include "autokernel/autokernel.h"

/* Writes a message of one line and returns `status`, so that a function can end with

       return ak_fail(err, AK_INVALID, "%s:%zu: parameter \"%s\" has no values", ...);

   Line breaks and control characters become spaces. err may be NULL. */
ak_status ak_fail(ak_error *err, ak_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* If the message in err begins with the path of this folder, puts `what` and ": " in its place,
   because the folder may be removed before anybody can look into it. Returns `status`. */
ak_status ak_fail_unpacked(ak_error *err, ak_status status, const char *folder, const char *what);

/* Puts the formatted context and ": " before the message in err. Returns err's status, or
   AK_INTERNAL if err is NULL. */
ak_status ak_fail_within(ak_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Gives the number of elements of an array. */
#define AK_COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Writes "out of memory" and returns AK_NO_MEMORY. */
ak_status ak_fail_memory(ak_error *err);

/*
 * Goes to `out:` if the call fails. A function that ends what it owns by hand declares `status`
 * first, frees everything at `out:` in reverse order, on success and failure alike, and returns
 * `status`. So the good path reads straight down:
 *
 *     ak_status status = AK_OK;
 *     char *text = NULL;
 *     AK_TRY(ak_json_text(&text, object, err));
 *     AK_TRY(ak_archive_end_run(archive, id, ended, text, err));
 * out:
 *     ak_free(text);
 *     return status;
 */
#define AK_TRY(call)                                                                               \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != AK_OK) {                                                                     \
            goto out;                                                                              \
        }                                                                                          \
    } while (0)

/*
 * Returns the status of the call at once if it fails; for functions that end nothing by hand:
 *
 *     AK_DO(read_sizes(task, object, err));
 *     return read_options(task, object, err);
 */
#define AK_DO(call)                                                                                \
    do {                                                                                           \
        const ak_status status_of_call = (call);                                                   \
        if (status_of_call != AK_OK) {                                                             \
            return status_of_call;                                                                 \
        }                                                                                          \
    } while (0)

/* Returns with the message and the status of ak_fail if the condition holds; for the refusals at
   the beginning of functions that end nothing by hand:

       AK_FAIL_IF(count > most, err, AK_LIMIT, "%s: more than %zu entries", where, most); */
#define AK_FAIL_IF(condition, err, ...)                                                            \
    do {                                                                                           \
        if (condition) {                                                                           \
            return ak_fail(err, __VA_ARGS__);                                                      \
        }                                                                                          \
    } while (0)

/*
 * Calls function(&variable) when the block that declares the variable ends, in whichever way it is
 * left; the last variable that was declared comes first. alloc.h has AK_FREED for memory, Jansson
 * has json_auto_t for JSON. A function whose variables all end so needs no `status` and no `out:`:
 *
 *     json_auto_t *object = json_object();
 *     AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(4096);
 *     AK_DO(write_sizes(&text, object, err));
 *     return ak_fs_write(path, text.data, text.length, err);
 *
 * The declaration gives the variable a value (NULL, {0}); the attribute applies to all names in it.
 * What is given to the caller must be taken from the variable: `*out = object; object = NULL;`, or
 * AK_GIVE.
 */
#define AK_AT_END(function) __attribute__((cleanup(function)))

/* Moves a variable's contents to the caller: `*out = variable`, and the variable becomes {0}. */
#define AK_GIVE(out, variable)                                                                     \
    do {                                                                                           \
        *(out) = (variable);                                                                       \
        memset(&(variable), 0, sizeof(variable));                                                  \
    } while (0)

/* Defines close_at(), which AK_AT_END can call for a pointer to a type that close() ends:
 *
 *     AK_AT_END(ak_task_close_at) ak_task *task = NULL;
 */
#define AK_END_AT(close, type)                                                                     \
    static inline void close##_at(type **pointer)                                                  \
    {                                                                                              \
        close(*pointer);                                                                           \
    }
AK_END_AT(ak_problem_close, ak_problem)
AK_END_AT(ak_task_close, ak_task)
AK_END_AT(ak_archive_close, ak_archive)
AK_END_AT(ak_recording_close, ak_recording)
AK_END_AT(ak_tester_close, ak_tester)
AK_END_AT(ak_text_free, char)

#ifdef __clang_analyzer__
/* The analyzer cannot see that these functions never return AK_OK. */
#define ak_fail(err, status, ...) ((void)(ak_fail)(err, status, __VA_ARGS__), (status))
#define ak_fail_memory(err)       ((void)(ak_fail_memory)(err), AK_NO_MEMORY)
#endif

/* Returns AK_NO_MEMORY if `pointer` is NULL, with a message; can end a function that allocates:

       *out = ak_strdup(text);
       return ak_made(*out, err); */
static inline ak_status ak_made(const void *pointer, ak_error *err)
{
    return pointer == NULL ? ak_fail_memory(err) : AK_OK;
}

/* Does the same for calls that return whether there was memory, such as ak_json_set:

       AK_DO(ak_stored(ak_json_set_text(object, "name", name), err)); */
static inline ak_status ak_stored(bool stored, ak_error *err)
{
    return stored ? AK_OK : ak_fail_memory(err);
}

#endif
