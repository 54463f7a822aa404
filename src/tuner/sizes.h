/* sizes.h: what a run over many sizes found, as the object that `tune --sizes --json` prints, the
   archive keeps and reports and `export --format dispatch` read; see docs/formats.md. */
#ifndef AK_TUNER_SIZES_H
#define AK_TUNER_SIZES_H

#include "base/json.h"

/* NULL: no memory. */
json_t *ak_sizes_to_json(const ak_sizes_result *result);

#endif
