/* space_fixture.h: makes a space from JSON text. */
#ifndef SPACE_FIXTURE_H
#define SPACE_FIXTURE_H

#include "base/json.h"
#include "space/space.h"

static inline ak_status fixture_build(ak_space **out, const char *json, const ak_scope *constants,
                                      bool numerics, ak_error *err)
{
    json_t *definition;
    ak_status status = ak_json_parse(&definition, json, strlen(json), "test.json", err);
    if (status == AK_OK) {
        ak_space_spec spec = {.definition = definition,
                              .constants = constants,
                              .allow_numerics = numerics,
                              .where = "test.json"};
        status = ak_space_build(out, &spec, err);
        json_decref(definition); /* a space keeps nothing of it */
    }
    return status;
}

static inline ak_space *fixture_space(const char *json)
{
    ak_space *space = NULL;
    ak_error err = AK_ERROR_INIT;
    if (fixture_build(&space, json, NULL, false, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    return space;
}

#endif
