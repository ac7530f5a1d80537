#pragma once

/* Description of a library call by generated code, in numbers. Plain C: the runtime of compiled
 * models reads it too. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TW_LIBRARY_CONVOLUTION = 1, TW_LIBRARY_MATMUL = 2 };
enum { TW_LIBRARY_F32 = 1, TW_LIBRARY_S32 = 2, TW_LIBRARY_S8 = 3, TW_LIBRARY_U8 = 4 };
/* Layout of activations: plain, channels last, or blocks of this many channels. */
enum {
  TW_LIBRARY_NCHW = 0,
  TW_LIBRARY_NHWC = 1,
  TW_LIBRARY_BLOCKED_8 = 8,
  TW_LIBRARY_BLOCKED_16 = 16
};

/** Shape of a convolution: data [n, c, h, w], weight [k, c / groups, r, s], result [n, k, oh, ow].
 * Or `n` matrix products: data [h, c], weight [k, c] or, with weight_columns, [c, k], result [h,
 * k]; unused sizes are 1. */
typedef struct TwLibraryShape {
  int64_t kind;
  int64_t data_type, weight_type, result_type;
  int64_t data_layout, result_layout;
  int64_t constant_weight; /* 1: the weight may be cached in the library's layout */
  int64_t n, c, h, w, k, r, s, oh, ow, groups;
  int64_t stride_h, stride_w, dilation_h, dilation_w;
  int64_t pad_top, pad_left, pad_bottom, pad_right;
  int64_t weight_columns; /* 1: of products, the weight's columns are next to each other */
} TwLibraryShape;

#ifdef __cplusplus
}
#endif
