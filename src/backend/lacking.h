/* lacking.h: recognises in a compiler's message that the target lacks a feature which the source
   uses, and says which target that is and what to do. */
#ifndef AK_BACKEND_LACKING_H
#define AK_BACKEND_LACKING_H

#include "backend/backend.h"

/* If result->reason is such a message, appends target and advice: "; sm_80 lacks it: ...". Without
   memory the reason stays as it is. */
void ak_lacking_explain(ak_compile_result *result, const ak_compile_job *job);

#endif
