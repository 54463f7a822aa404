/* line_diff.c: finds which lines differ between two texts. The common beginning and end of the
   texts are skipped; between them dynamic programming finds a longest common subsequence, unless
   that is too much work (AK_LINE_DIFF_WORK_MAX). */
#include "report/versions.h"

#include "base/alloc.h"

typedef struct line {
    const char *text;
    size_t length;
} line;

typedef struct lines {
    line *list;
    size_t count;
} lines;

static ak_status split(lines *out, const char *text, ak_error *err)
{
    size_t count = 1;
    for (const char *at = strchr(text, '\n'); at != NULL; at = strchr(at + 1, '\n')) {
        count++;
    }
    *out = (lines){.list = ak_alloc(count, sizeof(line))};
    AK_DO(ak_made(out->list, err));
    while (*text != 0) {
        size_t length = strcspn(text, "\n");
        out->list[out->count++] = (line){text, length};
        text += length + (text[length] == 0 ? 0 : 1);
    }
    return AK_OK;
}

static bool same(const line *a, const line *b)
{
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

/* The comparison of two texts. Lines are counted from 0. The lines before `from` are the common
   beginning; the common end begins at old_to in the old text and at new_to in the new one. */
typedef struct diff {
    lines before, after;
    size_t from, old_to, new_to;
    uint32_t
        *common; /* length of the longest common subsequence from (i, j) on; NULL: not computed */
    size_t width;
    ak_line_change *list;
    size_t count;
} diff;

static void trim(diff *d)
{
    d->old_to = d->before.count;
    d->new_to = d->after.count;
    while (d->from < d->old_to && d->from < d->new_to &&
           same(&d->before.list[d->from], &d->after.list[d->from])) {
        d->from++;
    }
    while (d->old_to > d->from && d->new_to > d->from &&
           same(&d->before.list[d->old_to - 1], &d->after.list[d->new_to - 1])) {
        d->old_to--;
        d->new_to--;
    }
}

static ak_status find_common(diff *d, ak_error *err)
{
    size_t rows = d->old_to - d->from, columns = d->new_to - d->from;
    d->width = columns + 1;
    if (rows > 0 && columns > AK_LINE_DIFF_WORK_MAX / rows) {
        return AK_OK;
    }
    AK_DO(AK_NEW(d->common, (rows + 1) * d->width, err));
    for (size_t i = rows; i > 0; i--) {
        uint32_t *at = d->common + (i - 1) * d->width, *next = at + d->width;
        for (size_t j = columns; j > 0; j--) {
            bool equal = same(&d->before.list[d->from + i - 1], &d->after.list[d->from + j - 1]);
            at[j - 1] = equal ? next[j] + 1 : next[j - 1] > at[j] ? next[j - 1] : at[j];
        }
    }
    return AK_OK;
}

static void change(diff *d, char kind, const lines *of, size_t at)
{
    d->list[d->count++] = (ak_line_change){
        .kind = kind, .line = at + 1, .text = of->list[at].text, .length = of->list[at].length};
}

static void collect(diff *d)
{
    size_t i = d->from, j = d->from;
    while (i < d->old_to || j < d->new_to) {
        size_t row = i - d->from, column = j - d->from;
        if (d->common != NULL && i < d->old_to && j < d->new_to &&
            same(&d->before.list[i], &d->after.list[j])) {
            i++;
            j++;
        } else if (j == d->new_to ||
                   (i < d->old_to &&
                    (d->common == NULL || d->common[(row + 1) * d->width + column] >=
                                              d->common[row * d->width + column + 1]))) {
            change(d, '-', &d->before, i++);
        } else {
            change(d, '+', &d->after, j++);
        }
    }
}

ak_status ak_line_diff(ak_line_change **out, size_t *count, const char *before, const char *after,
                       ak_error *err)
{
    ak_status status = AK_OK;
    diff d = {0};
    AK_TRY(split(&d.before, before, err));
    AK_TRY(split(&d.after, after, err));
    trim(&d);
    AK_TRY(find_common(&d, err));
    AK_TRY(AK_NEW(d.list, d.before.count + d.after.count + 1, err));
    collect(&d);
    *out = d.list;
    *count = d.count;
out:
    AK_FREE_ALL(d.common, d.before.list, d.after.list);
    return status;
}
