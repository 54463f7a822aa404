/* fuzz_expr.c: reads any text as an expression. It is parsed or refused, and evaluated or
   refused. */
#include <string.h>

#include "space/expr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = ak_strndup((const char *)data, size);
    ak_scope *scope = ak_scope_new(NULL);
    ak_arena *arena = ak_arena_new();
    ak_expr *expr = NULL;
    ak_error err = AK_ERROR_INIT;
    if (text != NULL && scope != NULL && arena != NULL &&
        ak_scope_set_int(scope, "x", 6, NULL) == AK_OK &&
        ak_scope_set_real(scope, "y", 0.5, NULL) == AK_OK &&
        ak_scope_set_text(scope, "s", "gcc", NULL) == AK_OK &&
        ak_expr_parse(&expr, text, "fuzz", &err) == AK_OK) {
        ak_value value;
        if (ak_expr_eval(&value, expr, scope, arena, &err) == AK_OK) {
            char line[64];
            (void)ak_value_format(line, sizeof line, &value);
            (void)ak_value_truth(&value);
            if (!ak_value_equal(&value, &value)) {
                __builtin_trap();
            }
        } else if (err.text[0] == 0 || strchr(err.text, '\n') != NULL) {
            __builtin_trap(); /* a fault is one line */
        }
    }
    ak_expr_free(expr);
    ak_arena_free(arena);
    ak_scope_free(scope);
    ak_free(text);
    return 0;
}
