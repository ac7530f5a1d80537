#pragma once

/* Calls from kernels to functions of libraries that are loaded at run time. Plain C11: part of
 * libtilewright_rt.a and so of every compiled model that needs it. */

#include <stdint.h>

#include "src/base/library_call.h"
#include "src/runtime/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Library call in generated code. src/codegen/llvm/emit_library.cc writes it, field by field. */
typedef struct TwLibraryCall {
  const char* file; /* file name of the library: "libdnnl.so.2" */
  const char* operation;
  struct TwLibraryState* state; /* state kept between calls; null at first */
  TwLibraryShape shape;
} TwLibraryCall;

/** The library is missing, or rejects the call; TwLibraryPrepare returns the reason. */
#define TW_LIBRARY_FAILED 111

/** Implements TwPrepare. weight: its position among the arguments. */
const char* TwLibraryPrepare(TwLibraryCall* call, void* const* arguments, int64_t weight,
                             const TwParallel* parallel);
/** Computes `result` from data and weight. A constant weight is converted to the library's layout
 *  once and identified by its address until TwLibraryForget. Returns 0 or TW_LIBRARY_FAILED.
 *  Thread-safe. */
int32_t TwLibraryRun(TwLibraryCall* call, void* result, const void* data, const void* weight,
                     const TwParallel* parallel);
/** Frees the state of all calls. No call may be running. */
void TwLibraryForget(void);

#ifdef __cplusplus
}
#endif
