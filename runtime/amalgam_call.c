/* amalgam_call.c: the part of the C file of `export --format c` that follows the runtime and the
   bundle: what the plain functions call, and the state of each thread. It is included in that file
   and is not compiled by itself. */

/* Each thread has a pool and the plan of the sizes that it asked for last. */
typedef struct one_thread {
    akr_pool *pool;
    akr_plan plan;
    int threads, planned;
    int inferred; /* the plan's sizes were inferred from the shapes of tensors */
} one_thread;

static pthread_once_t one_once = PTHREAD_ONCE_INIT;
static pthread_key_t one_key;
static akr_bundle *one_open;
static akr_status one_status;
static akr_error one_error;

static void one_end(void *state)
{
    akr_pool_close(((one_thread *)state)->pool);
    free(state);
}

static void one_begin(void)
{
    one_status = pthread_key_create(&one_key, one_end) != 0
                     ? fail(&one_error, AKR_SYSTEM, "the process has no key for threads left")
                     : akr_open_memory(&one_open, one_bundle, sizeof one_bundle, 0, &one_error);
}

/* Finds the state of this thread, or creates it. The first call in the process opens the bundle. */
static akr_status one_mine(one_thread **out, akr_error *err)
{
    one_thread *t;
    (void)pthread_once(&one_once, one_begin);
    if (one_status != AKR_OK) {
        if (err != NULL) {
            *err = one_error;
        }
        return one_status;
    }
    t = (one_thread *)pthread_getspecific(one_key);
    if (t == NULL) {
        t = (one_thread *)calloc(1, sizeof *t);
        if (t == NULL || pthread_setspecific(one_key, t) != 0) {
            free(t);
            return fail_memory(err);
        }
    }
    *out = t;
    return AKR_OK;
}

/* Makes the plan of the thread, unless it is for these sizes already. */
static akr_status one_plan(one_thread *t, const int64_t *size, akr_error *err)
{
    if (!t->planned ||
        memcmp(t->plan.size, size, (size_t)one_open->info.size_count * sizeof *size) != 0) {
        t->planned = t->inferred = 0;
        DO(akr_query(&t->plan, one_open, size, err));
        t->planned = 1;
    }
    return AKR_OK;
}

static akr_status one_find(one_thread **out, const int64_t *size, akr_error *err)
{
    DO(one_mine(out, err));
    return one_plan(*out, size, err);
}

/* Runs the plan of the thread. Opens its pool first if there is none, if it is too small, or if it
   belongs to the process that this one was forked from. */
static akr_status one_run(one_thread *t, void *const *arg, void *workspace, size_t workspace_bytes,
                          void *stream, akr_error *err)
{
    if (t->plan.kernels > 0) {
        return akr_run_stream(one_open, &t->plan, arg, workspace, workspace_bytes, stream, err);
    }
    if (t->plan.threads > 1 && (t->threads < t->plan.threads || t->pool->forks != fork_count)) {
        akr_pool_close(t->pool);
        t->pool = NULL;
        t->threads = 0;
        DO(akr_pool_open(&t->pool, t->plan.threads, err));
        t->threads = t->plan.threads;
    }
    return akr_run(one_open, &t->plan, arg, workspace, workspace_bytes, t->pool, err);
}
