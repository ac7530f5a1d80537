/* A compiled model by hand: its output is its input. */

#include <stddef.h>

#include "src/runtime/model.h"

static const int64_t shape[] = {2, 3};
static const TwValue input = {"x", "float32", shape, 2, 24};
static const TwValue output = {"y", "float32", shape, 2, 24};
static const TwPlace places[] = {{TW_INPUT, 0, 0}, {TW_OUTPUT, 0, 0}};
static const TwStep step = {NULL, NULL, places, 2, &output, "copy", "", "", 24, 0, 48, 0};
static TwModelState* state;
static const TwModel model = {
#ifdef OTHER_VERSION
    TW_MODEL_VERSION + 1,
#else
    TW_MODEL_VERSION,
#endif
    "tiny",
    "llvm",
    &input,
    1,
    &output,
    1,
    &step,
    1,
    (const unsigned char*)"",
    0,
    0,
    64,
    1,
    &state};

__attribute__((visibility("default"))) const TwModelFunctions tilewright_model = {
    &model, TwModelRun, TwModelSetThreads, TwModelRelease, TwModelLoad};
