/*
 * synonyms.c: lists words that other programs use for our options, commands and values. Each entry
 * is a group of words with one meaning; a word may be in several groups. A known word that shares a
 * group with an unknown word is a better guess than one that is spelled alike.
 */
#include "base/text.h"

#include <string.h>

#include "base/ascii.h"

#define GROUP_MAX 24

static const char *const groups[][GROUP_MAX] = {
    /* options */
    {"evals", "max-iterations", "iterations", "iters", "max-iter", "max-iters", "max-evals",
     "max-evaluations", "evaluations", "trials", "n-trials", "max-trials", "num-trials",
     "max-fevals", "samples", "budget", "count", "n"},
    {"time", "timeout", "time-limit", "max-time", "duration", "seconds", "time-budget", "budget"},
    {"strategy", "algorithm", "optimizer", "optimiser", "search", "method", "tuner", "searcher"},
    {"threads", "num-threads", "nthreads", "cores", "cpus", "num-cpus"},
    {"jobs", "workers", "parallel", "threads", "processes"},
    {"size", "shape", "dims", "dimensions", "problem-size", "sizes"},
    {"sizes", "shapes", "problem-sizes", "size"},
    {"dtype", "type", "precision", "data-type", "element-type"},
    {"device", "target", "platform", "gpu", "cpu", "gpu-id", "device-id", "backend"},
    {"archive", "database", "db", "cache", "cache-file", "store"},
    {"output", "out", "outfile", "output-file", "file", "o"},
    {"format", "fmt", "output-format"},
    {"libraries", "library", "libs", "vendor", "baselines", "baseline"},
    {"baselines", "baseline", "reference", "libraries"},
    {"seed", "random-seed", "random-state", "rng"},
    {"seeds", "repeats", "runs", "repetitions"},
    {"repeats", "seeds", "runs", "repetitions", "reps"},
    {"resume", "continue", "restart", "go-on"},
    {"quiet", "silent", "no-progress", "no-output", "q"},
    {"json", "machine-readable", "output-json", "as-json"},
    {"impl", "implementation", "variant", "version-of"},
    {"set", "choice", "choices", "option", "options", "problem-option"},
    {"fix", "restrict", "restrictions", "only", "freeze"},
    {"config", "configuration", "params", "parameters", "candidate", "try"},
    {"configs", "random-configs", "num-configs"},
    {"limit", "top", "number", "head", "max-rows", "rows", "n"},
    {"llm", "model", "language-model"},
    {"llm-budget", "max-cost", "cost", "dollars", "max-usd"},
    {"llm-key-file", "key-file", "api-key-file"},
    {"llm-timeout", "request-timeout", "api-timeout"},
    {"llm-output", "max-tokens", "output-tokens", "max-output-tokens", "reply-tokens"},
    {"llm-tokens", "total-tokens", "token-budget"},
    {"llm-calls", "max-calls", "max-requests"},
    {"llm-url", "url", "base-url", "endpoint", "api-base", "server"},
    {"llm-effort", "effort", "reasoning", "reasoning-effort"},
    {"allow-numerics", "fast-math", "ffast-math", "unsafe-math"},
    {"target-speedup", "target", "speedup", "goal"},
    {"events", "log", "log-file", "trace"},
    {"force", "overwrite", "yes", "f"},
    {"help", "usage", "h"},
    /* commands */
    {"tune", "search", "optimize", "optimise", "autotune", "run", "find", "start"},
    {"doctor", "info", "status", "devices", "env", "diagnose", "setup"},
    {"list", "kernels", "ls", "describe", "strategies"},
    {"check", "test", "verify", "validate"},
    {"bench", "benchmark", "measure", "time", "perf", "profile"},
    {"compare", "versus", "baseline", "baselines", "diff"},
    {"history", "log", "trials", "results"},
    {"best", "top", "winner", "fastest"},
    {"stats", "summary", "analyze", "analyse", "importance"},
    {"export", "save", "dump", "write"},
    {"import", "load", "read", "add"},
    {"report", "show", "explain"},
    {"simulate", "replay", "sim"},
    {"study", "experiment"},
    {"new", "init", "create", "template"},
    /* devices */
    {"host", "cpu", "cpu:0", "cpu0", "x86", "x86_64", "amd64", "arm", "aarch64", "native", "local",
     "localhost", "c"},
    {"cuda:0", "gpu", "gpu:0", "gpu0", "cuda", "cuda0", "nvidia"},
    /* dtypes */
    {"f32", "float", "float32", "fp32", "single", "real32"},
    {"f64", "double", "float64", "fp64"},
    {"f16", "half", "float16", "fp16"},
    {"bf16", "bfloat16", "bfloat"},
    {"i32", "int", "int32", "int32_t", "s32"},
    {"i8", "int8", "int8_t", "char", "s8"},
    {"i16", "int16", "int16_t", "short", "s16"},
    {"i64", "int64", "int64_t", "long", "s64"},
    {"u8", "uint8", "uint8_t", "uchar", "byte"},
    {"u16", "uint16", "uint16_t", "ushort"},
    {"u32", "uint32", "uint32_t", "uint", "unsigned"},
    {"u64", "uint64", "uint64_t", "ulong", "size_t"},
    /* strategies */
    {"exhaustive", "brute_force", "brute-force", "bruteforce", "grid", "grid-search", "all",
     "full"},
    {"random", "random_sample", "random-search", "randomsearch"},
    {"bayes", "bayesian", "bayes_opt", "bo", "gp", "gaussian-process", "bayesian-optimization"},
    {"forest", "rf", "random-forest", "smac", "tree"},
    {"genetic", "ga", "genetic_algorithm", "genetic-algorithm"},
    {"anneal", "annealing", "simulated_annealing", "simulated-annealing", "sa"},
    {"diffevo", "diff_evo", "de", "differential-evolution"},
    {"pso", "particle-swarm", "swarm"},
    {"local", "greedy_ils", "ils", "mls", "greedy_mls", "hill-climbing", "hillclimb"},
    {"portfolio", "auto", "default", "ensemble"},
};

static bool has(const char *const *group, const char *word)
{
    for (size_t i = 0; i < GROUP_MAX && group[i] != NULL; i++) {
        if (ak_ascii_equal(group[i], word)) {
            return true;
        }
    }
    return false;
}

/* Returns the word without a leading "--": "evals" for "--evals". */
static const char *bare(const char *word)
{
    return word + (strncmp(word, "--", 2) == 0 ? 2 : 0);
}

const char *ak_text_synonym(const char *word, const char *const *words)
{
    for (size_t g = 0; g < AK_COUNT(groups); g++) {
        for (size_t i = 0; has(groups[g], bare(word)) && words[i] != NULL; i++) {
            if (strcmp(word, words[i]) != 0 && has(groups[g], bare(words[i]))) {
                return words[i];
            }
        }
    }
    return NULL;
}
