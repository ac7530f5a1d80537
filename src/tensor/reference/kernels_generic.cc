#include "src/tensor/reference/kernels.h"

#define TW_KERNELS kGenericReferenceKernels
#define TW_VECTOR_BYTES 16
#define TW_PIXELS 2
#include "src/tensor/reference/kernels.inc"
