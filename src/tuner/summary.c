#include "tuner/side_by_side.h"

#define SUMMARY_MAX 600
/* Longest version of a library that the line shows; a longer one is shown only in the table. */
#define VERSION_BESIDE 24

static void print_interval(ak_buf *out, const ak_speed *speed)
{
    ak_buf_puts(out, " (");
    ak_buf_ratio(out, speed->low);
    ak_buf_puts(out, " .. ");
    ak_buf_ratio(out, speed->high);
    ak_buf_puts(out, ")");
}

/* Says why a comparison is not decided, in the same words as tables and JSON. */
static void print_why(ak_buf *out, const ak_speed *speed, const ak_noise *noise)
{
    if (speed->doubt == AK_DOUBT_NONE) {
        return;
    }
    ak_buf_print(out, ": %s", ak_speed_doubt_text(speed->doubt));
    if (speed->doubt == AK_DOUBT_VARIES && speed->low > 0) {
        print_interval(out, speed);
    } else if (speed->doubt == AK_DOUBT_BUSY && noise->pressure > 0) {
        ak_buf_print(out, " (pressure %.0f %%)", 100 * noise->pressure);
    }
}

/* Returns the speed of the first candidate that may be better than the default, although this was
   not decided; NULL if there is none. */
static const ak_speed *open_rival(const ak_comparison_result *comparison)
{
    for (size_t i = 0; i < comparison->count; i++) {
        const ak_compared *one = &comparison->list[i];
        const ak_speed *speed = &one->over_default;
        if (i != comparison->fallback && i != comparison->library && one->library == NULL &&
            speed->verdict == AK_SPEED_UNDECIDED && !(speed->high < 1)) {
            return speed;
        }
    }
    return NULL;
}

/* Appends what a speed says of `name`: "2.1 times" with `times` and the name behind it and the
   interval, "a tie", or why nothing is decided. */
static void print_speed(ak_buf *out, const ak_speed *speed, const char *times, const char *name,
                        const ak_noise *noise)
{
    ak_buf_puts(out, out->length == 0 ? "" : "; ");
    switch (speed->verdict) {
    case AK_SPEED_FASTER:
    case AK_SPEED_SLOWER:
        ak_buf_ratio(out, speed->ratio);
        ak_buf_print(out, " times %s%s", times, name);
        print_interval(out, speed);
        break;
    case AK_SPEED_TIE:
        ak_buf_print(out, "a tie with %s", name);
        break;
    case AK_SPEED_NONE:
    case AK_SPEED_UNDECIDED:
        if (speed->verdict == AK_SPEED_NONE && speed->ratio > 0) {
            ak_buf_ratio(out, speed->ratio);
            ak_buf_print(out, " times %s%s, by recorded times", times, name);
            break;
        }
        ak_buf_print(out, "not decided against %s", name);
        print_why(out, speed, noise);
        break;
    }
}

ak_status ak_summary(char **out, const ak_comparison_result *comparison, size_t which,
                     const ak_objective *objective, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(SUMMARY_MAX);
    const size_t count = comparison->count, fallback = comparison->fallback;
    const ak_compared *mine = &comparison->list[which];
    const ak_compared *library =
        comparison->library < count ? &comparison->list[comparison->library] : NULL;
    bool has_default = fallback < count && mine->over_default.ratio > 0 && which != fallback;
    const ak_speed beside = ak_compared_speed(mine);
    bool open = has_default && mine->over_default.verdict == AK_SPEED_UNDECIDED;
    bool open_library = library != NULL && beside.verdict == AK_SPEED_UNDECIDED;
    bool one_reason = !open || !open_library || mine->over_default.doubt == beside.doubt;
    *out = NULL;
    if ((open || open_library) && (open || !has_default) && (open_library || library == NULL) &&
        one_reason) {
        ak_buf_puts(&text, "not decided"); /* neither against the default nor against a library */
        print_why(&text, open_library ? &beside : &mine->over_default, &comparison->noise);
    } else {
        if (has_default) {
            const char *name = comparison->list[fallback].name;
            bool is_default = strcmp(name, "default") == 0;
            print_speed(&text, &mine->over_default, objective == NULL ? "" : "as good as ",
                        is_default ? "the default" : name, &comparison->noise);
        }
        if (library != NULL) {
            char name[160];
            bool brief = library->version != NULL && strlen(library->version) <= VERSION_BESIDE;
            (void)snprintf(name, sizeof name, "%.80s%s%.40s", library->name, brief ? " " : "",
                           brief ? library->version : "");
            print_speed(&text, &beside, objective == NULL ? "the speed of " : "as good as ", name,
                        &comparison->noise);
        }
    }
    if (which == fallback && text.length == 0) {
        const char *more = objective == NULL ? "faster" : "better";
        const ak_speed *rival = open_rival(comparison);
        ak_buf_print(&text,
                     rival != NULL ? "whether anything is %s than the default is not decided"
                                   : "nothing %s than the default was found",
                     more);
        if (rival != NULL) {
            print_why(&text, rival, &comparison->noise);
        }
    } else if (which == fallback) {
        ak_buf_puts(&text, "; it is the default");
    }
    if (objective != NULL && text.length > 0) {
        ak_buf_print(&text, "; by %s", ak_objective_text(objective));
    }
    AK_DO(ak_buf_status(&text, err));
    return text.length > 0 ? ak_buf_take(out, &text, err) : AK_OK;
}
