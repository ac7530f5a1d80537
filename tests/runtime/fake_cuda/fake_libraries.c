// Fake cuDNN and cuBLAS for tests, used with the fake driver: device memory is host memory. They
// compute from the descriptors set by their functions, in the documented order of arguments.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define API __attribute__((visibility("default"))) int

enum { kBadParameter = 2000, kNotSupported = 3000, kScratchBytes = 192, kAlgorithm = 6 };
enum { kFma = 3, kTensorCores = 1 };

typedef struct {
  int size[4]; /* n c h w, or k c r s */
} Tensor;
typedef struct {
  int pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, groups, math;
} Convolution;
typedef struct {
  int algorithm, status;
  float milliseconds;
  size_t memory;
  int determinism, math, reserved[3];
} AlgorithmTime;

static int Make(void** made, size_t bytes) {
  *made = calloc(1, bytes);
  return 0;
}
static int Free(void* made) {
  free(made);
  return 0;
}
API cudnnCreate(void** handle) { return Make(handle, 1); }
API cudnnDestroy(void* handle) { return Free(handle); }
API cudnnSetStream(void* handle, void* stream) {
  return handle != NULL && stream != NULL ? 0 : kBadParameter;
}
API cudnnCreateTensorDescriptor(void** made) { return Make(made, sizeof(Tensor)); }
API cudnnDestroyTensorDescriptor(void* made) { return Free(made); }
API cudnnCreateFilterDescriptor(void** made) { return Make(made, sizeof(Tensor)); }
API cudnnDestroyFilterDescriptor(void* made) { return Free(made); }
API cudnnCreateConvolutionDescriptor(void** made) { return Make(made, sizeof(Convolution)); }
API cudnnDestroyConvolutionDescriptor(void* made) { return Free(made); }
API cudnnSetTensor4dDescriptor(Tensor* tensor, int format, int type, int n, int c, int h, int w) {
  if (format != 0 || type != 0) return kNotSupported;
  *tensor = (Tensor){{n, c, h, w}};
  return 0;
}
API cudnnSetFilter4dDescriptor(Tensor* filter, int type, int format, int k, int c, int r, int s) {
  return cudnnSetTensor4dDescriptor(filter, format, type, k, c, r, s);
}
API cudnnSetConvolution2dDescriptor(Convolution* made, int pad_h, int pad_w, int stride_h,
                                    int stride_w, int dilation_h, int dilation_w, int mode,
                                    int type) {
  if (mode != 1 || type != 0) return kNotSupported; /* cross-correlation in float32 */
  *made = (Convolution){pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, 1, 0};
  return 0;
}
API cudnnSetConvolutionGroupCount(Convolution* convolution, int groups) {
  convolution->groups = groups;
  return 0;
}
API cudnnSetConvolutionMathType(Convolution* convolution, int math) {
  convolution->math = math;
  return 0;
}
/* The fastest ones are none that may be taken. */
API cudnnFindConvolutionForwardAlgorithm(void* handle, Tensor* data, Tensor* weight,
                                         Convolution* convolution, Tensor* result, int most,
                                         int* count, AlgorithmTime* times) {
  if (handle == NULL || data->size[1] != weight->size[1] * convolution->groups ||
      result->size[1] != weight->size[0] || convolution->math != kFma || most < 3) {
    return kBadParameter;
  }
  times[0] = (AlgorithmTime){1, 0, 0.1f, 0, 0, kTensorCores, {0, 0, 0}};
  times[1] = (AlgorithmTime){5, kNotSupported, 0.2f, 0, 0, kFma, {0, 0, 0}};
  times[2] = (AlgorithmTime){kAlgorithm, 0, 0.3f, kScratchBytes, 0, kFma, {0, 0, 0}};
  *count = 3;
  return 0;
}
API cudnnConvolutionForward(void* handle, const float* alpha, const Tensor* x, const float* data,
                            const Tensor* f, const float* weight, const Convolution* conv,
                            int algorithm, void* scratch, size_t bytes, const float* beta,
                            const Tensor* y, float* result) {
  if (handle == NULL || algorithm != kAlgorithm || scratch == NULL || bytes != kScratchBytes ||
      *alpha != 1 || *beta != 0) {
    return kBadParameter;
  }
  const int outer = y->size[1] / conv->groups;
  for (int n = 0; n < y->size[0]; ++n)
    for (int k = 0; k < y->size[1]; ++k)
      for (int oh = 0; oh < y->size[2]; ++oh)
        for (int ow = 0; ow < y->size[3]; ++ow) {
          float sum = 0;
          for (int c = 0; c < f->size[1]; ++c)
            for (int r = 0; r < f->size[2]; ++r)
              for (int s = 0; s < f->size[3]; ++s) {
                const int h = oh * conv->stride_h + r * conv->dilation_h - conv->pad_h;
                const int w = ow * conv->stride_w + s * conv->dilation_w - conv->pad_w;
                if (h < 0 || w < 0 || h >= x->size[2] || w >= x->size[3]) continue;
                const int channel = k / outer * f->size[1] + c;
                sum += data[((n * x->size[1] + channel) * x->size[2] + h) * x->size[3] + w] *
                       weight[((k * f->size[1] + c) * f->size[2] + r) * f->size[3] + s];
              }
          result[((n * y->size[1] + k) * y->size[2] + oh) * y->size[3] + ow] = sum;
        }
  return 0;
}

typedef struct {
  void* workspace;
} Blas;
API cublasCreate_v2(void** handle) { return Make(handle, sizeof(Blas)); }
API cublasDestroy_v2(void* handle) { return Free(handle); }
API cublasSetStream_v2(void* handle, void* stream) { return cudnnSetStream(handle, stream); }
API cublasSetWorkspace_v2(Blas* handle, void* workspace, size_t bytes) {
  handle->workspace = bytes > 0 ? workspace : NULL;
  return 0;
}
/* Of the kinds there are, the one that is asked for: A transposed, B not, by columns. */
API cublasGemmStridedBatchedEx(Blas* handle, int transpose_a, int transpose_b, int m, int n, int k,
                               const void* alpha, const void* a, int a_type, int lda,
                               long long stride_a, const void* b, int b_type, int ldb,
                               long long stride_b, const void* beta, void* c, int c_type, int ldc,
                               long long stride_c, int batch, int compute, int algorithm) {
  (void)alpha, (void)beta;
  const int floats = a_type == 0 && b_type == 0 && c_type == 0 && compute == 68;
  const int bytes = a_type == 3 && b_type == 3 && c_type == 10 && compute == 72;
  if (handle->workspace == NULL || transpose_a != 1 || transpose_b != 0 || algorithm != -1) {
    return kBadParameter;
  }
  if (!floats && !bytes) return kNotSupported;
  for (long long i = 0; i < batch; ++i)
    for (int col = 0; col < n; ++col)
      for (int row = 0; row < m; ++row) {
        double sum = 0;
        for (int t = 0; t < k; ++t) {
          const long long at = i * stride_a + (long long)row * lda + t;
          const long long bt = i * stride_b + (long long)col * ldb + t;
          sum += floats ? (double)((const float*)a)[at] * ((const float*)b)[bt]
                        : (double)((const int8_t*)a)[at] * ((const int8_t*)b)[bt];
        }
        const long long ct = i * stride_c + (long long)col * ldc + row;
        if (floats) ((float*)c)[ct] = (float)sum;
        if (!floats) ((int32_t*)c)[ct] = (int32_t)sum;
      }
  return 0;
}
