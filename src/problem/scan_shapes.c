/* scan_shapes.c: guesses how many elements each array of a scanned kernel has. The indices that the
   kernel uses say it where they are plain: each name in an index is followed through assignments
   and comparisons to the sizes that bound it, and the array has the product of these sizes. Where
   an index is not understood (a call, an element of another array, the number of a block that
   nothing bounds), the array gets the product of all sizes: memory that is too large is harmless
   or, in an output, found by the first check; memory that is too small ends the kernel. */
#include <stdlib.h>

#include "base/ascii.h"
#include "base/text.h"
#include "problem/scan_parts.h"
#include "problem/source_text.h"

#define NAMES_MAX   256 /* different names in a kernel; with more, nothing is followed */
#define SEGMENT_MAX 512 /* bytes of one side of a comparison or assignment */
#define ROUNDS_MAX  32  /* names in a chain that leads from an index to a size */
#define LITERAL_MAX (1 << 20)

typedef struct index_name {
    char name[AK_SCAN_NAME];
    unsigned sizes; /* the sizes that bound it, one bit each */
    bool bound;     /* a comparison bounds it by sizes, whatever is assigned to it */
    bool assigned;
    bool loose; /* something that is not understood is assigned to it */
} index_name;

typedef struct indices {
    const ak_scan *scan;
    const char *body;
    index_name names[NAMES_MAX];
    size_t count;
    bool changed, full;
} indices;

/* What a part of an expression leads to. */
typedef struct reach {
    unsigned sizes;
    bool vague;   /* it has a call, an element of an array or the like */
    bool loose;   /* it has a name that is neither bounded nor understood */
    bool literal; /* it has no name at all */
} reach;

/* Returns the bit of the size with this name in the source; 0 if it is no size. */
static unsigned size_bit(const ak_scan *s, const char *name)
{
    char own[AK_SCAN_NAME];
    unsigned bit = 1;
    for (size_t i = 0; i < s->argument_count; i++) {
        if (ak_scan_is_size(&s->arguments[i])) {
            ak_scan_source_name(own, s, &s->arguments[i]);
            if (strcmp(own, name) == 0) {
                return bit;
            }
            bit <<= 1;
        }
    }
    return 0;
}

/* Returns the entry of a name, which is made if there is none; NULL if there are too many. */
static index_name *name_of(indices *x, const char *name)
{
    for (size_t i = 0; i < x->count; i++) {
        if (strcmp(x->names[i].name, name) == 0) {
            return &x->names[i];
        }
    }
    if (x->count == NAMES_MAX) {
        x->full = true;
        return NULL;
    }
    index_name *made = &x->names[x->count++];
    *made = (index_name){.sizes = size_bit(x->scan, name)};
    made->bound = made->sizes != 0;
    ak_scan_copy_name(made->name, name, strlen(name));
    return made;
}

/* Returns whether a name adds at most the extent of a tile to an index: a type, a place within a
   block, a parameter, or a macro that only the compiler's options can define. */
static bool is_neutral(const ak_scan *s, const char *name)
{
    static const char *const names[] = {
        "int",      "long",    "unsigned",    "signed",          "short",        "char",
        "size_t",   "int32_t", "uint32_t",    "int64_t",         "uint64_t",     "ptrdiff_t",
        "uint",     "ulong",   "const",       "sizeof",          "float",        "double",
        "min",      "max",     "threadIdx",   "blockDim",        "get_local_id", "get_local_size",
        "__umul24", "__mul24", "static_cast", "reinterpret_cast"};
    bool capitals = true;
    for (const char *p = name; *p != 0; p++) {
        capitals = capitals && !(*p >= 'a' && *p <= 'z');
    }
    return AK_HAS_TEXT(names, AK_COUNT(names), name) || ak_scan_is_parameter(s, name) ||
           (capitals && name[1] != 0 && !ak_scan_defines(s, name));
}

/* Returns whether the word at `at` is the member of a structure or of a vector (threadIdx.x). */
static bool is_member(const char *text, const char *at)
{
    const size_t last = ak_source_back(text, (size_t)(at - text), AK_SOURCE_BLANK);
    return last > 0 && text[last - 1] == '.';
}

/* Finds what the names between two places of the body lead to. */
static reach follow(indices *x, const char *begin, const char *end)
{
    reach out = {.literal = true};
    char name[AK_SCAN_NAME];
    for (const char *p = begin; p < end;) {
        const size_t length = strspn(p, AK_SOURCE_WORD);
        const char *next = p + length + strspn(p + length, AK_SOURCE_BLANK);
        if (length == 0) {
            out.vague = out.vague || *p == '[' || (*p == '-' && p[1] == '>');
            p++;
            continue;
        }
        ak_scan_copy_name(name, p, length);
        if (!ak_ascii_is_digit(*p) && !is_member(x->body, p)) {
            const index_name *known = name_of(x, name);
            const bool neutral = known == NULL || (known->sizes == 0 && !known->assigned &&
                                                   is_neutral(x->scan, name));
            out.literal = false;
            out.vague = out.vague || length >= sizeof name || (*next == '(' && !neutral);
            out.sizes |= known == NULL ? 0 : known->sizes;
            out.loose =
                out.loose || (!neutral && !known->bound && (known->loose || !known->assigned));
        }
        p += length;
    }
    return out;
}

/* Returns where the side of a comparison that ends at `end` begins. */
static const char *left_side(const indices *x, const char *end)
{
    const char *begin = end;
    while (begin > x->body && end - begin <= SEGMENT_MAX &&
           strchr("(){};,?:&|[]<>=!#", begin[-1]) == NULL) {
        begin--;
    }
    return begin;
}

/* Returns the end of the side that begins at `begin`: a character of `stops` outside brackets, or
   the bracket that closes one opened before `begin`. The search ends after SEGMENT_MAX
   characters. */
static const char *right_side(const char *begin, const char *stops)
{
    int depth = 0;
    const char *p = begin;
    for (; *p != 0 && p - begin <= SEGMENT_MAX && (depth > 0 || strchr(stops, *p) == NULL); p++) {
        depth += *p == '(' || *p == '[';
        depth -= *p == ')' || *p == ']';
        if (depth < 0) {
            break;
        }
    }
    return p;
}

/* Lets all names of the smaller side be bounded by the sizes that the larger one leads to. */
static void bind(indices *x, const char *begin, const char *end, const reach *by)
{
    char name[AK_SCAN_NAME];
    for (const char *p = begin; p < end;) {
        const size_t length = strspn(p, AK_SOURCE_WORD);
        ak_scan_copy_name(name, p, length);
        if (length > 0 && length < sizeof name && !ak_ascii_is_digit(*p) &&
            !is_member(x->body, p) && size_bit(x->scan, name) == 0) {
            index_name *known = name_of(x, name);
            if (known != NULL && (!known->bound || (by->sizes & ~known->sizes) != 0)) {
                known->sizes |= by->sizes;
                known->bound = x->changed = true;
            }
        }
        p += length > 0 ? length : 1;
    }
}

/* Returns whether an index may reach farther than the product of its sizes: it names one size
   twice, as `(a*k + b)*k + c` does, or, if `input` is set, it has a number that is not subtracted,
   as `row + 1` does. Where that is doubted, an input gets more memory, which does no harm. */
static bool reaches_farther(const indices *x, const char *begin, const char *end, bool input)
{
    unsigned seen = 0;
    char name[AK_SCAN_NAME];
    for (const char *p = begin; p < end;) {
        const size_t length = strspn(p, AK_SOURCE_WORD);
        const size_t before = ak_source_back(x->body, (size_t)(p - x->body), AK_SOURCE_BLANK);
        ak_scan_copy_name(name, p, length);
        const unsigned bit = length == 0 ? 0 : size_bit(x->scan, name);
        if ((seen & bit) != 0 || (input && length > 0 && ak_ascii_is_digit(*p) && before > 0 &&
                                  x->body[before - 1] != '-')) {
            return true;
        }
        seen |= bit;
        p += length > 0 ? length : 1;
    }
    return false;
}

/* Reads the comparison whose operator, of `length` characters, is at `at`. */
static void compare(indices *x, const char *at, size_t length)
{
    const char *left = left_side(x, at), *right = at + length;
    const char *end = right_side(right, ";,{}?&|<>=");
    if (at - left > SEGMENT_MAX || end - right > SEGMENT_MAX) {
        return;
    }
    const reach small = follow(x, left, at), large = follow(x, right, end);
    char name[AK_SCAN_NAME];
    const char *word = left + strspn(left, AK_SOURCE_BLANK);
    ak_scan_copy_name(name, word, strspn(word, AK_SOURCE_WORD));
    if (size_bit(x->scan, name) != 0) { /* n > i, n <= i */
        if (!small.vague && !reaches_farther(x, left, at, true)) {
            bind(x, right, end, &small);
        }
    } else if (!large.vague && large.sizes != 0 && !reaches_farther(x, right, end, true)) {
        bind(x, left, at, &large);
    }
}

/* Reads the assignment whose '=' is at `at`, in the first pass for its sizes, in the second for
   what is not understood. */
static void assign(indices *x, const char *at, bool second)
{
    char name[AK_SCAN_NAME];
    const bool shift = at - x->body > 1 && (at[-1] == '<' || at[-1] == '>') && at[-2] == at[-1];
    const size_t compound = shift ? 2 : at > x->body && strchr("+-*/%&|^", at[-1]) != NULL;
    const size_t end = ak_source_back(x->body, (size_t)(at - x->body) - compound, AK_SOURCE_BLANK);
    const size_t length = ak_scan_name_before(name, x->body, end);
    const char *stop = right_side(at + 1, ";,");
    if (length == 0 || length >= sizeof name || is_member(x->body, x->body + end - length)) {
        return;
    }
    index_name *known = size_bit(x->scan, name) != 0 ? NULL : name_of(x, name);
    if (known == NULL) {
        return;
    }
    const bool readable = stop - at <= SEGMENT_MAX;
    const reach value = readable ? follow(x, at + 1, stop) : (reach){.vague = true};
    const unsigned sizes = value.vague ? known->sizes : known->sizes | value.sizes;
    const bool loose = second && (compound > 0 || value.vague || value.loose);
    x->changed =
        x->changed || !known->assigned || sizes != known->sizes || (loose && !known->loose);
    known->assigned = true;
    known->sizes = sizes;
    known->loose = known->loose || loose;
}

/* Marks the name beside "++" as loose, because it grows until something bounds it. */
static void count_up(indices *x, const char *at)
{
    char name[AK_SCAN_NAME];
    if (ak_scan_name_before(name, x->body, (size_t)(at - x->body)) == 0) {
        const char *after = at + 2 + strspn(at + 2, AK_SOURCE_BLANK);
        ak_scan_copy_name(name, after, strspn(after, AK_SOURCE_WORD));
    }
    index_name *known = name[0] == 0 || size_bit(x->scan, name) != 0 ? NULL : name_of(x, name);
    if (known != NULL && !known->loose) {
        known->loose = x->changed = true;
    }
}

/* Reads all comparisons and assignments of the body once. */
static void read_body(indices *x, bool second)
{
    for (const char *p = x->body; *p != 0; p++) {
        const bool twice = p[1] == *p;
        if ((*p == '<' || *p == '>') && twice) {
            p++; /* a shift */
        } else if (*p == '-' && p[1] == '>') {
            p++;
        } else if (*p == '<' || *p == '>' || ((*p == '=' || *p == '!') && p[1] == '=')) {
            const size_t length = p[1] == '=' ? 2 : 1;
            if (!second) {
                compare(x, p, length);
            }
            p += length - 1;
        } else if (*p == '=') {
            assign(x, p, second);
        } else if (*p == '+' && twice) {
            if (second) {
                count_up(x, p);
            }
            p++;
        }
    }
}

/* Reads the body until nothing new follows. Returns false if that takes more than ROUNDS_MAX
   rounds, or if the body has more than NAMES_MAX names. */
static bool read_all(indices *x)
{
    for (int second = 0; second < 2; second++) {
        int round = 0;
        do {
            x->changed = false;
            read_body(x, second != 0);
        } while (x->changed && ++round < ROUNDS_MAX);
        if (x->changed || x->full) {
            return false;
        }
    }
    return true;
}

/* Returns whether a preprocessor line names the array, so that macros may index it. */
static bool is_in_macro(const ak_scan *s, const char *name)
{
    const char *line = s->plain, *p = s->plain;
    for (const char *at = s->plain; (at = ak_source_find(at, name)) != NULL; at += strlen(name)) {
        for (; p < at; p++) {
            line = *p == '\n' && (p == s->plain || p[-1] != '\\') ? p + 1 : line;
        }
        if (line[strspn(line, AK_SOURCE_BLANK)] == '#') {
            return true;
        }
    }
    return false;
}

/* Finds the sizes and the largest literal that index an array. Returns false if the body does not
   use the array, or if one of its uses is not understood. */
static bool read_uses(ak_scan_argument *a, indices *x, const char *name)
{
    size_t uses = 0;
    for (const char *at = x->body; (at = ak_source_find(at, name)) != NULL; at += strlen(name)) {
        if (is_member(x->body, at)) {
            continue;
        }
        const char *open = at + strlen(name) + strspn(at + strlen(name), AK_SOURCE_BLANK);
        const char *close = *open == '[' ? ak_source_closing(open) : NULL;
        if (close == NULL || close[1 + strspn(close + 1, AK_SOURCE_BLANK)] == '[') {
            return false;
        }
        const reach index = follow(x, open + 1, close);
        const char *first = open + 1 + strspn(open + 1, AK_SOURCE_BLANK);
        char *after;
        const long literal = strtol(first, &after, 0);
        const bool alone = after > first && after + strspn(after, AK_SOURCE_BLANK) == close &&
                           literal >= 0 && literal < LITERAL_MAX;
        if (index.vague || index.loose || (index.sizes == 0 && !alone) ||
            (!alone && reaches_farther(x, open + 1, close, a->reads_only))) {
            return false;
        }
        a->sizes |= index.sizes;
        a->elements = alone && literal >= a->elements ? literal + 1 : a->elements;
        uses++;
    }
    return uses > 0 && !x->full;
}

ak_status ak_scan_guess_shapes(ak_scan *s, const char *open)
{
    const char *end, *begin = ak_scan_body(&end, open);
    AK_FREED indices *x = NULL;
    AK_FREED char *body = end == NULL ? ak_strdup("") : ak_strndup(begin, (size_t)(end - begin));
    AK_DO(ak_made(body, s->err));
    AK_DO(AK_NEW(x, 1, s->err));
    x->scan = s;
    x->body = body;
    const bool known = read_all(x);
    for (size_t i = 0; i < s->argument_count; i++) {
        ak_scan_argument *a = &s->arguments[i];
        char name[AK_SCAN_NAME];
        if (a->pointer) {
            ak_scan_source_name(name, s, a);
            a->guessed = known && !is_in_macro(s, name) && read_uses(a, x, name);
        }
    }
    return AK_OK;
}

void ak_scan_shape(char out[AK_SCAN_SHAPE], const ak_scan *s, const ak_scan_argument *a)
{
    size_t used = 0;
    unsigned bit = 1;
    (void)snprintf(out, AK_SCAN_SHAPE, "n");
    for (size_t i = 0; i < s->argument_count && used < AK_SCAN_SHAPE; i++) {
        if (!ak_scan_is_size(&s->arguments[i])) {
            continue;
        }
        if (!a->guessed || (a->sizes & bit) != 0) {
            used += (size_t)snprintf(out + used, AK_SCAN_SHAPE - used, "%s%s", used == 0 ? "" : "*",
                                     s->arguments[i].name);
        }
        bit <<= 1;
    }
    if (a->guessed && a->sizes == 0) {
        (void)snprintf(out, AK_SCAN_SHAPE, "%lld", (long long)a->elements);
    }
}
