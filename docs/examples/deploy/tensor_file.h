#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Reads the elements of a tensor: the whole of a raw file, or what follows the header of a .npy
 *  file, which must be of the type `dtype`, in C order, and of the shape but for dimensions of 1.
 *  Returns 0, or -1 after a message on standard error. */
int ReadTensor(const char* path, const char* dtype, const int64_t* shape, int64_t rank,
               void* elements, int64_t bytes);

/** Prints the five largest elements with their positions. Returns -1 for a type it does not know.
 */
int PrintTopFive(const char* dtype, const void* elements, int64_t bytes);

#ifdef __cplusplus
}
#endif
