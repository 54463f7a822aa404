/* archive.c: lists the trials of the archive, finds the best one, and writes them as CSV.
 *
 * The archive is AUTOKERNEL_ARCHIVE or, if that is not set, the user's. Several programs may use
 * it at once. */
#include <autokernel/autokernel.h>

#include <stdlib.h>

/* Prints one trial, which is borrowed for the call. */
static bool print_trial(void *context, const ak_trial *trial)
{
    size_t *count = context;
    printf("%-10s %-24s %-14s %11.4g ms  %s\n", trial->kernel, trial->size,
           ak_trial_status_text(trial->status), trial->median_ms,
           trial->reason == NULL ? trial->config : trial->reason);
    (*count)++;
    return true;
}

int main(int argc, char **argv)
{
    ak_error err = AK_ERROR_INIT;
    ak_archive *archive = NULL;
    size_t count = 0;
    /* A field that is left out matches everything. */
    ak_archive_filter filter = {
        .kernel = argc > 1 ? argv[1] : NULL, .best_first = true, .limit = 10};
    ak_status status = ak_archive_open(&archive, NULL, &err);
    if (status == AK_OK) {
        printf("%s\n", ak_archive_path(archive));
        status = ak_archive_each(archive, &filter, print_trial, &count, &err);
    }
    if (status == AK_OK && argc > 2) {
        filter = (ak_archive_filter){.kernel = argv[1], .ok_only = true};
        status = ak_archive_export(archive, &filter, "csv", argv[2], &err);
    }
    if (status == AK_OK) {
        printf("%zu trials\n", count);
    } else {
        fprintf(stderr, "archive: %s\n", err.text);
    }
    ak_archive_close(archive);
    return status == AK_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
