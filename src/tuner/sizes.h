/* sizes.h: writes the result of a run over many sizes as the object that `tune --sizes --json`
   prints and the archive keeps. Reports and `export --format dispatch` read it; see
   docs/formats.md. */
#ifndef AK_TUNER_SIZES_H
#define AK_TUNER_SIZES_H

#include "base/json.h"

/* Returns NULL without memory. */
json_t *ak_sizes_to_json(const ak_sizes_result *result);

#endif
