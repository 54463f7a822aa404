/* fuzz_problem.c: reads any text as a problem.json and as a space file. What is loaded must be
   consistent. */
#include <math.h>
#include <string.h>

#include "problem/kernel_files.h"
#include "base/alloc.h"
#include "space/rank.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORK_MAX 20000 /* so that an input takes milliseconds */

static void use_space(const ak_space *space)
{
    ak_rng rng;
    ak_rng_seed(&rng, 1);
    for (int i = 0; i < 8; i++) {
        ak_config config, near[16], fixed;
        uint64_t index;
        ak_options options = {0};
        ak_space_sample(&config, space, &rng);
        if (!ak_space_find(&index, space, &config) || index >= ak_space_count(space)) {
            __builtin_trap();
        }
        size_t n = ak_space_neighbours(near, 16, space, &config,
                                       i % 2 == 0 ? AK_NEIGHBOUR_ANY : AK_NEIGHBOUR_ADJACENT);
        for (size_t k = 0; k < n; k++) {
            if (!ak_space_has(space, &near[k])) {
                __builtin_trap();
            }
        }
        config.at[i] = (uint16_t)(i * 7);
        ak_space_repair(&fixed, space, &config);
        char text[32768];
        (void)ak_config_format(text, sizeof text, space, &fixed);
        if (ak_config_parse(&config, space, text, NULL) != AK_OK ||
            memcmp(&config, &fixed, sizeof config) != 0 ||
            ak_config_options(&options, space, &config, NULL) != AK_OK) {
            __builtin_trap();
        }
        ak_options_clear(&options);
    }
}

/* A rank of which the starts were ordered can be opened again, and it has a time or none. */
static void use_rank(const ak_space *space, const ak_scope *facts, const char *text)
{
    ak_rank *rank;
    ak_rng rng;
    bool known = true;
    if (ak_rank_open(&rank, space, facts, text, "fuzz", NULL) != AK_OK) {
        return;
    }
    if (text != NULL &&
        (ak_rank_known(&known, space, facts, text, "fuzz", NULL) != AK_OK || !known)) {
        __builtin_trap();
    }
    ak_rng_seed(&rng, 2);
    for (int i = 0; i < 4; i++) {
        ak_config config;
        ak_space_sample(&config, space, &rng);
        if (isnan(ak_rank_log(rank, &config))) {
            __builtin_trap();
        }
    }
    ak_rank_close(rank);
}

static void read_space(const json_t *file)
{
    const json_t *definition = json_object_get(file, "ConfigurationSpace");
    ak_scope *facts = ak_scope_new(NULL);
    ak_space *space = NULL;
    ak_error err = AK_ERROR_INIT;
    char *rank = NULL;
    (void)ak_rank_text(&rank, file, "Rank", "fuzz", NULL);
    if (facts != NULL && ak_scope_set_int(facts, "cpu_threads", 4, NULL) == AK_OK &&
        ak_scope_set_int(facts, "K", 100, NULL) == AK_OK) {
        ak_space_spec spec = {.definition = definition,
                              .constants = facts,
                              .where = "fuzz",
                              .rank = rank,
                              .work_max = WORK_MAX};
        if (ak_space_build(&space, &spec, &err) == AK_OK) {
            use_space(space);
            use_rank(space, facts, rank);
        } else if (err.text[0] == 0 || strchr(err.text, '\n') != NULL) {
            __builtin_trap(); /* a fault is one line */
        }
    }
    ak_free(rank);
    ak_space_free(space);
    ak_scope_free(facts);
}

static void read_problem(ak_problem *problem, const json_t *document)
{
    /* the reference and sources that a text may name are those of a built-in kernel */
    static const ak_kernel_files files = {.builtin = true, .folder = "kernels/matmul"};
    char *text;
    problem->where = "fuzz";
    if (ak_problem_read(problem, &files, document, NULL) == AK_OK &&
        ak_problem_describe(&text, problem, NULL) == AK_OK) {
        ak_free(text);
    }
    problem->implementations = ak_arena_alloc(problem->arena, sizeof *problem->implementations);
    if (problem->implementations != NULL) {
        const ak_space_file file = {"host", "host", document, "fuzz"};
        (void)ak_implementation_read(problem, &files, &file, NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *document;
    if (ak_json_parse(&document, (const char *)data, size, "fuzz", NULL) != AK_OK) {
        return 0;
    }
    ak_problem *problem = ak_alloc(1, sizeof *problem);
    if (problem == NULL || (problem->arena = ak_arena_new()) == NULL ||
        ak_problem_keep(problem, document, NULL) != AK_OK) {
        ak_problem_close(problem);
        return 0;
    }
    if (json_is_object(document)) {
        read_problem(problem, document);
        read_space(document);
    }
    ak_problem_close(problem);
    return 0;
}
