#include "report/headline.h"

#include <math.h>

#include "base/number.h"
#include "archive/finish_order.h"

ak_sizes_lost ak_sizes_lost_of(const json_t *result)
{
    ak_sizes_lost lost = {0};
    double logs = 0;
    size_t decided = 0;
    AK_EACH(one, json_object_get(result, "sizes")) {
        const char *verdict = ak_json_text_at(one, "loss_verdict");
        double loss = ak_json_positive_at(one, "loss");
        if (strcmp(verdict, "undecided") == 0) {
            lost.open++;
        } else if (loss > 0) {
            loss = strcmp(verdict, "slower") == 0 ? loss : 1;
            logs += log(loss);
            decided++;
            lost.worst_size =
                loss > 1 && loss > lost.worst ? ak_json_text_at(one, "size") : lost.worst_size;
            lost.worst = loss > lost.worst ? loss : lost.worst;
        }
    }
    lost.geomean = decided == 0 ? 0 : exp(logs / (double)decided);
    return lost;
}

void ak_headline_sizes(ak_buf *out, const ak_report_model *model)
{
    const json_t *result = model->result;
    const bool timed = strcmp(model->objective, "time") == 0;
    const size_t sizes = json_array_size(json_object_get(result, "sizes"));
    const json_t *table = json_object_get(result, "table");
    const size_t configs = json_array_size(json_object_get(table, "configs"));
    const ak_sizes_lost lost = ak_sizes_lost_of(result);
    if (sizes == 0) {
        return;
    }
    ak_buf_print(out, "%zu size%s tuned", sizes, sizes == 1 ? " was" : "s were");
    if (configs > 0 && lost.geomean > 0) {
        ak_buf_print(out,
                     "; a table of %zu configuration%s for all of them is %.1f %% %s than the best "
                     "of each (geometric mean%s), %.1f %% at worst",
                     configs, ak_plural(configs), (lost.geomean - 1) * 100,
                     timed ? "slower" : "worse", lost.open > 0 ? " where that was decided" : "",
                     (lost.worst - 1) * 100);
        if (lost.open > 0) {
            ak_buf_print(out, "; it was not decided for %zu size%s", lost.open,
                         ak_plural(lost.open));
        }
    } else if (configs > 0) {
        ak_buf_print(out,
                     "; what a table of %zu configuration%s for all of them loses against the best "
                     "of each was not decided",
                     configs, ak_plural(configs));
    }
    ak_buf_puts(out, ".");
}

/* The speeds relative to the fastest library of each size. */
typedef struct beside {
    size_t decided, ties, open;
    double logs, least, most;
    const char *least_at, *most_at;
} beside;

static void add_size(beside *b, const json_t *one)
{
    const char *size = ak_json_text_at(one, "size");
    const json_t *of_table = json_object_get(one, "config_over_library");
    const ak_speed speed =
        ak_speed_read(json_is_object(of_table) ? of_table : json_object_get(one, "over_library"));
    bool tie = speed.verdict == AK_SPEED_TIE;
    if (!(ak_json_positive_at(one, "library_ms") > 0) || !(ak_json_positive_at(one, "ms") > 0)) {
        return;
    }
    if (!(speed.ratio > 0) || speed.verdict == AK_SPEED_UNDECIDED ||
        speed.verdict == AK_SPEED_NONE) {
        b->open++; /* NONE: an earlier version recorded no verdict */
        return;
    }
    double ratio = tie ? 1 : speed.ratio;
    b->logs += log(ratio);
    b->ties += tie ? 1 : 0;
    b->least_at = b->decided == 0 || ratio < b->least ? size : b->least_at;
    b->least = b->decided == 0 || ratio < b->least ? ratio : b->least;
    b->most_at = ratio > b->most ? size : b->most_at;
    b->most = ratio > b->most ? ratio : b->most;
    b->decided++;
}

static void print_decided(ak_buf *out, const beside *b, bool timed)
{
    char mean[AK_REAL_BYTES], least[AK_REAL_BYTES], most[AK_REAL_BYTES];
    ak_buf_print(out,
                 "It has %s times the %s library of each size (geometric mean of %zu), from %s at "
                 "%.200s to %s at %.200s",
                 ak_number_ratio(mean, exp(b->logs / (double)b->decided)),
                 timed ? "speed of the fastest" : "merit of the best", b->decided,
                 ak_number_ratio(least, b->least), b->least_at, ak_number_ratio(most, b->most),
                 b->most_at);
    if (b->ties > 0) {
        ak_buf_print(out, "; it is a tie at %zu size%s", b->ties, ak_plural(b->ties));
    }
}

void ak_headline_libraries(ak_buf *out, const ak_report_model *model)
{
    const bool timed = strcmp(model->objective, "time") == 0;
    beside b = {.least_at = "", .most_at = ""};
    const char *library = timed ? "fastest" : "best";
    AK_EACH(one, json_object_get(model->result, "sizes")) {
        add_size(&b, one);
    }
    if (b.decided > b.ties) {
        print_decided(out, &b, timed);
    } else if (b.decided > 0) {
        ak_buf_print(out, "It is a tie with the %s library at %zu size%s", library, b.ties,
                     ak_plural(b.ties));
    } else if (b.open > 0) {
        ak_buf_print(out, "Against the %s library of each size nothing was decided.", library);
    }
    if (b.decided > 0 && b.open > 0) {
        ak_buf_print(out, "; not decided at %zu size%s", b.open, ak_plural(b.open));
    }
    ak_buf_puts(out, b.decided > 0 ? "." : "");
}
