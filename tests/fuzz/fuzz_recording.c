/* fuzz_recording.c: reads any bytes as a recorded space. It is refused with a message, or every
   configuration is found at its index, and a search runs on it. */
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "space/space.h"

static char folder[AK_PATH_MAX], input[AK_PATH_MAX];

static void leave(void)
{
    ak_fs_remove(folder);
}

static void demand(bool good)
{
    if (!good) {
        abort();
    }
}

static void search(const ak_recording *recording)
{
    ak_simulation simulation = {0};
    ak_error err = AK_ERROR_INIT;
    ak_simulate_options options = {
        .strategy = "random", .repeats = 1, .seconds = 1e9, .evaluations = 100, .jobs = 1};
    demand(ak_simulate(&simulation, recording, &options, &err) == AK_OK);
    demand(simulation.repeats[0].evaluations > 0);
    ak_simulation_clear(&simulation);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (folder[0] == 0) {
        demand(ak_fs_temp(folder, NULL) == AK_OK);
        demand(ak_fs_join(input, folder, "input", NULL) == AK_OK);
        demand(atexit(leave) == 0);
    }
    demand(ak_fs_write(input, data, size, NULL) == AK_OK);
    ak_recording *recording = NULL;
    ak_error err = AK_ERROR_INIT;
    ak_status status = ak_recording_open(&recording, input, &err);
    demand(status == AK_OK || (err.status == status && err.text[0] != 0));
    if (status == AK_OK) {
        const ak_recording_facts *facts = ak_recording_describe(recording);
        const ak_space *space = ak_recording_space(recording);
        demand(facts->ok > 0 && facts->ok <= facts->configurations);
        demand(ak_space_count(space) == facts->configurations);
        for (uint64_t i = 0; i < facts->configurations; i++) {
            ak_recorded recorded;
            uint64_t index = 0;
            ak_recording_at(&recorded, recording, i);
            demand(ak_space_find(&index, space, &recorded.config) && index == i);
        }
        search(recording);
        ak_recording_close(recording);
    }
    return 0;
}
