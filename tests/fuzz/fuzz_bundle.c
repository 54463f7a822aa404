/* fuzz_bundle.c: reads any bytes as a bundle, and any text as a bundle.json with checksums that
   fit. The bundle is refused in one line, or every size that it names can be queried. */
#include <stdint.h>
#include <stdlib.h>

#include "unit/bundle_fixture.h"

static void demand(bool good)
{
    if (!good) {
        abort();
    }
}

static void ask(const akr_bundle *bundle)
{
    const akr_info *info = akr_describe(bundle);
    demand(info->argument_count >= 1 && info->variant_count >= 1 && info->measured_count >= 1);
    for (int i = 0; i < info->measured_count; i++) {
        akr_plan plan;
        akr_error err;
        int64_t size[AKR_SIZES_MAX];
        void *arg[AKR_ARGUMENTS_MAX] = {NULL};
        for (int k = 0; k < info->size_count; k++) {
            size[k] = akr_measured_size(bundle, i)[k];
        }
        akr_status status = akr_query(&plan, bundle, size, &err);
        demand(status == AKR_OK || (status == err.status && err.text[0] != 0));
        demand(status != AKR_OK || (plan.measured == 1 && plan.threads >= 1));
        demand(status != AKR_OK || akr_run(bundle, &plan, arg, NULL, 0, NULL, &err) == AKR_DEVICE);
        size[0] = size[0] / 2 + 1;
        status = akr_query(&plan, bundle, size, &err);
        demand(status == AKR_OK || (status == err.status && err.text[0] != 0));
    }
    demand(akr_measured_size(bundle, info->measured_count) == NULL);
}

static void try_bytes(const void *bytes, size_t length)
{
    akr_bundle *bundle = NULL;
    akr_error err;
    akr_status status = akr_open_memory(&bundle, bytes, length, AKR_LOOK, &err);
    demand(status == AKR_OK || (status == err.status && err.text[0] != 0));
    if (status == AKR_OK) {
        ask(bundle);
    }
    akr_close(bundle);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] == '{') {
        ak_buf tar = AK_BUF(1u << 26);
        demand(bundle_wrap(&tar, (const char *)data, size, NULL, 0));
        try_bytes(tar.data, tar.length);
        ak_buf_free(&tar);
    } else {
        try_bytes(data, size);
    }
    return 0;
}
