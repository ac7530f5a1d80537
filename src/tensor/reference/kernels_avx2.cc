#if defined(__x86_64__)
#include "src/tensor/reference/kernels.h"

#define TW_KERNELS kAvx2ReferenceKernels
#define TW_VECTOR_BYTES 32
#define TW_PIXELS 3
#include "src/tensor/reference/kernels.inc"
#endif
