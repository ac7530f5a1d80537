#pragma once

/* How kernels call the functions of libraries that are found at run time. Plain C11: part of
 * libtilewright_rt.a and so of every compiled model that needs it. */

#include <stdint.h>

#include "src/base/library_call.h"
#include "src/runtime/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One call in the code. src/codegen/llvm/emit_library.cc writes it, field by field. */
typedef struct TwLibraryCall {
  const char* file; /* of the library: "libdnnl.so.2" */
  const char* operation;
  struct TwLibraryState* state; /* what is kept between calls; null at first */
  TwLibraryShape shape;
} TwLibraryCall;

/** The library is not there, or refuses what is asked of it; TwLibraryPrepare says why. */
#define TW_LIBRARY_FAILED 111

/** What a TwPrepare does. weight: its position among the arguments. */
const char* TwLibraryPrepare(TwLibraryCall* call, void* const* arguments, int64_t weight,
                             const TwParallel* parallel);
/** result = what the call makes of data and weight. A constant weight is brought to the library's
 *  own layout once, and known again by its address until TwLibraryForget. Returns 0 or
 *  TW_LIBRARY_FAILED. Thread-safe. */
int32_t TwLibraryRun(TwLibraryCall* call, void* result, const void* data, const void* weight,
                     const TwParallel* parallel);
/** Frees what all calls have kept. None may be under way. */
void TwLibraryForget(void);

#ifdef __cplusplus
}
#endif
