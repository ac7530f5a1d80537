#pragma once

#include <stddef.h>
#include <stdint.h>

/* The needed parts of oneDNN's C interfaces of versions 2 (libdnnl.so.2) and 3 (libdnnl.so.3.6), so
 * that compiling the runtime does not require oneDNN. Descriptors are passed through opaquely:
 * version 2 writes them into memory of the caller, which is larger than their size here; version 3
 * allocates them. */

enum {
  kTagAny = 1,
  kTag8 = 93,  /* aBcd8b; of version 3: 102 */
  kTag16 = 69, /* aBcd16b; of version 3: 78 */
  kTagsAdded = 9,
  kTypeF32 = 3,
  kTypeS32 = 4,
  kTypeS8 = 5,
  kTypeU8 = 6,
  kEngineCpu = 1,
  kForwardInference = 96,
  kConvolutionDirect = 1,
  kScratchpadUser = 1,
  kQuerySource = 129,
  kQueryWeights = 131,
  kQueryResult = 133,
  kQueryScratchpad = 136,
  kArgumentSource = 1,
  kArgumentResult = 17,
  kArgumentWeights = 33,
  kArgumentScratchpad = 80,
  kStrictFloats = 0,
  /* Bits of dnnl_cpu_isa_t: with AVX-512, with AVX2. */
  kVnni2 = 0x40 | 0x400,
  kVnni3 = 0x40 | 0x8
};
typedef int64_t Dims[12];
typedef union {
  int64_t words[128]; /* version 2: dnnl_memory_desc_t has 696 bytes */
  void* handle;       /* version 3 */
} MemoryDesc;
typedef struct {
  int64_t words[1024];
} OperationDesc; /* version 2: dnnl_convolution_desc_t has 5976 */
typedef struct {
  int argument;
  void* memory;
} ExecArgument;
typedef struct {
  int major, minor, patch;
} Version; /* its first members */

typedef struct {
  void* handle;
  const Version* (*version)(void);
  int (*engine_create)(void**, int, size_t);
  int (*stream_create)(void**, void*, unsigned);
  int (*stream_wait)(void*);
  int (*engine_destroy)(void*);
  int (*stream_destroy)(void*);
  int (*desc_by_tag)(MemoryDesc*, int, const int64_t*, int, int);
  int (*desc_by_strides)(MemoryDesc*, int, const int64_t*, int, const int64_t*);
  size_t (*desc_size)(const void*);
  int (*reorder)(void**, const void*, void*, const void*, void*, void*);
  int (*attr_create)(void**);
  int (*attr_scratchpad)(void*, int);
  int (*attr_destroy)(void*);
  int (*primitive_desc_destroy)(void*);
  const void* (*query)(void*, int, int);
  int (*primitive_create)(void**, void*);
  int (*primitive_destroy)(void*);
  int (*execute)(void*, void*, int, const ExecArgument*);
  int (*memory_create)(void**, const void*, void*, void*);
  int (*memory_set)(void*, void*);
  int (*memory_destroy)(void*);
  /* Version 2: an operation, then its primitive descriptor. */
  int (*convolution2)(OperationDesc*, int, int, const void*, const void*, const void*, const void*,
                      const int64_t*, const int64_t*, const int64_t*, const int64_t*);
  int (*matmul2)(OperationDesc*, const void*, const void*, const void*, const void*);
  int (*primitive_desc_create2)(void**, const void*, void*, void*, void*);
  /* Version 3: only the primitive descriptor. */
  int (*convolution3)(void**, void*, int, int, const void*, const void*, const void*, const void*,
                      const int64_t*, const int64_t*, const int64_t*, const int64_t*, void*);
  int (*matmul3)(void**, void*, const void*, const void*, const void*, const void*, void*);
  int (*desc_destroy3)(void*);
  /* Null in versions without them. */
  int (*effective_isa)(void);
  int (*attr_float_mode)(void*, int);
  /* From the OpenMP runtime that it was built with; null without one. */
  int (*get_threads)(void);
  void (*set_threads)(int);
  void (*start_threads)(void (*)(void*), void*, unsigned, unsigned);
  void* engine;
  void* stream;
  int major;
} Dnnl;

/* Loads the library and its functions, and creates an engine and a stream, unless that is done.
 * Returns 0 with the reason in problem. */
int TwDnnlLoad(Dnnl* dnnl, const char* file, char* problem, size_t size);
