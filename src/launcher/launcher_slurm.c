/*
 * launcher_slurm.c: starts workers with srun. Within an allocation (salloc, sbatch) each worker is
 * a job step of one task; the nodes are used in turn, and each worker gets its share of the node's
 * processors and memory. Outside an allocation each worker is a job of its own and starts when the
 * queue lets it.
 */
#include "launcher/launcher.h"

#include <string.h>

#include "base/fs.h"

#define NAME_BYTES 112

static bool in_allocation(void)
{
    return ak_env("SLURM_JOB_ID") != NULL;
}

static size_t node_count(void)
{
    return ak_launcher_number("SLURM_JOB_NUM_NODES", 1);
}

static ak_status seats(ak_launcher *l, const char *devices, size_t most, ak_error *err)
{
    size_t tasks = ak_launcher_number("SLURM_NTASKS", node_count());
    size_t count = most > 0 ? most : in_allocation() ? tasks : 1;
    l->queues = !in_allocation();
    for (size_t i = 0; i < count; i++) {
        /* Slurm shows each worker only its own devices, numbered from 0. */
        AK_DO(ak_launcher_seat(l, "", 0, devices, err));
    }
    return AK_OK;
}

/* Adds the option with the value of the variable divided by `share`. Adds nothing if the quotient
   is 0 or the variable is not set. */
static ak_status add_share(ak_words *out, const char *option, const char *variable, size_t share,
                           ak_error *err)
{
    char word[80];
    size_t whole = ak_launcher_number(variable, 0);
    if (whole / share == 0) {
        return AK_OK;
    }
    (void)snprintf(word, sizeof word, "%s=%zu", option, whole / share);
    return ak_words_add(out, word, err);
}

/* Adds the option with the name of a worker's job. Outside an allocation, if the run has a name, no
   other worker has this one, because `sweep` cancels jobs by name. */
static ak_status add_job_name(ak_words *out, const char *option, const ak_launcher *l, size_t seat,
                              ak_error *err)
{
    char word[NAME_BYTES];
    if (l->run[0] == 0 || in_allocation()) {
        (void)snprintf(word, sizeof word, "%s=autokernel", option);
    } else {
        (void)snprintf(word, sizeof word, "%s=%s-%zu", option, l->run, l->first + seat);
    }
    return ak_words_add(out, word, err);
}

static ak_status prefix(ak_words *out, const ak_launcher *l, size_t seat, ak_error *err)
{
    char node[40];
    size_t nodes = node_count(), each = (l->whole + nodes - 1) / nodes;
    AK_DO(ak_words_split(out, "srun --nodes=1 --ntasks=1", err));
    AK_DO(add_job_name(out, "--job-name", l, seat, err));
    if (in_allocation()) {
        (void)snprintf(node, sizeof node, "--relative=%zu", (l->first + seat) % nodes);
        AK_DO(ak_words_add(out, "--exact", err));
        AK_DO(ak_words_add(out, node, err));
        AK_DO(add_share(out, "--cpus-per-task", "SLURM_CPUS_ON_NODE", each, err));
        AK_DO(add_share(out, "--mem", "SLURM_MEM_PER_NODE", each, err));
    }
    return ak_words_split(out, l->text, err);
}

/* Appends the command that cancels a worker's job, because an srun that was killed leaves its job
   in the queue. Within an allocation, or if the run has no name, there is none. */
static ak_status sweep(ak_words *out, const ak_launcher *l, size_t seat, ak_error *err)
{
    if (in_allocation() || l->run[0] == 0) {
        return AK_OK;
    }
    AK_DO(ak_words_split(out, "scancel --quiet", err));
    return add_job_name(out, "--name", l, seat, err);
}

/* Appends the command that cancels this worker's job, because Slurm keeps a job whose srun was
   killed, even after its step has ended. */
static ak_status leave(ak_words *out, const char *run, ak_error *err)
{
    const char *name = ak_env("SLURM_JOB_NAME"), *id = ak_env("SLURM_JOB_ID");
    const size_t length = strlen(run);
    if (name == NULL || id == NULL || length == 0 || strncmp(name, run, length) != 0 ||
        name[length] != '-') {
        return AK_OK; /* the user made this allocation, which may have other steps */
    }
    AK_DO(ak_words_split(out, "scancel --quiet", err));
    return ak_words_add(out, id, err);
}

static const char *const passes[] = {"SLURM_", "SRUN_", "SLURM_JWT", NULL};

const ak_launcher_ops ak_launcher_slurm = {
    .name = "slurm",
    .help = "slurm[:OPTIONS of srun]",
    .seats = seats,
    .prefix = prefix,
    .sweep = sweep,
    .leave = leave,
    .passes = passes,
};
