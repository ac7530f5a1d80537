#if defined(__x86_64__)
#include "src/tensor/reference/kernels.h"

#define TW_KERNELS kAvx512ReferenceKernels
#define TW_VECTOR_BYTES 64
#define TW_PIXELS 6
#include "src/tensor/reference/kernels.inc"
#endif
