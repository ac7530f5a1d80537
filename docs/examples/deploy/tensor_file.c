#include "tensor_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int Fail(const char* path, const char* what) {
  fprintf(stderr, "%s: %s\n", path, what);
  return -1;
}

/* The name .npy has for a type, or "?". */
static const char* NumpyType(const char* dtype) {
  static const char* const names[][2] = {{"float32", "'<f4'"}, {"int8", "'|i1'"},
                                         {"uint8", "'|u1'"},   {"int32", "'<i4'"},
                                         {"int64", "'<i8'"},   {"float64", "'<f8'"}};
  for (unsigned i = 0; i < sizeof names / sizeof names[0]; ++i) {
    if (strcmp(names[i][0], dtype) == 0) return names[i][1];
  }
  return "?";
}

/* Whether a .npy header has the shape, but for dimensions of 1: another one with as many elements
 * is most likely another layout. */
static int HasShape(const char* header, const int64_t* shape, int64_t rank) {
  const char* at = strstr(header, "'shape': (");
  if (at == NULL) return 0;
  at += strlen("'shape': (");
  int64_t i = 0;
  while (*at != '\0' && *at != ')') {
    char* end;
    const long long extent = strtoll(at, &end, 10);
    if (end == at) return 0;
    while (i < rank && shape[i] == 1) ++i;
    if (extent != 1 && (i == rank || shape[i++] != extent)) return 0;
    for (at = end; *at == ',' || *at == ' ';) ++at;
  }
  while (i < rank && shape[i] == 1) ++i;
  return *at == ')' && i == rank;
}

/* Bytes before the elements: 0 for a raw file, -1 for a .npy file that does not fit. */
static long HeaderBytes(FILE* file, const char* dtype, const int64_t* shape, int64_t rank) {
  unsigned char start[12];
  char text[4096];
  if (fread(start, 1, sizeof start, file) != sizeof start) return 0;
  if (memcmp(start, "\x93NUMPY", 6) != 0) return 0;
  const int wide = start[6] > 1; /* since version 2 the length has four bytes */
  size_t length = start[8] + 256u * start[9];
  if (wide) length += 65536u * start[10] + 16777216u * start[11];
  const long begin = wide ? 12 : 10;
  if (length >= sizeof text || fseek(file, begin, SEEK_SET) != 0) return -1;
  if (fread(text, 1, length, file) != length) return -1;
  text[length] = '\0';
  if (strstr(text, NumpyType(dtype)) == NULL || strstr(text, "'fortran_order': False") == NULL ||
      !HasShape(text, shape, rank)) {
    return -1;
  }
  return begin + (long)length;
}

int ReadTensor(const char* path, const char* dtype, const int64_t* shape, int64_t rank,
               void* elements, int64_t bytes) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) return Fail(path, "cannot be opened");
  const long header = HeaderBytes(file, dtype, shape, rank);
  int result = 0;
  if (header < 0) {
    result = Fail(path, "not a .npy file of the model's input type and shape");
  } else if (fseek(file, 0, SEEK_END) != 0 || ftell(file) - header != (long)bytes) {
    result = Fail(path, "not as many bytes as the model's input");
  } else if (fseek(file, header, SEEK_SET) != 0 ||
             fread(elements, 1, (size_t)bytes, file) != (size_t)bytes) {
    result = Fail(path, "cannot be read");
  }
  fclose(file);
  return result;
}

static double At(const char* dtype, const void* elements, int64_t i) {
  if (strcmp(dtype, "float32") == 0) return ((const float*)elements)[i];
  if (strcmp(dtype, "int32") == 0) return ((const int32_t*)elements)[i];
  if (strcmp(dtype, "uint8") == 0) return ((const uint8_t*)elements)[i];
  return ((const int8_t*)elements)[i];
}

int PrintTopFive(const char* dtype, const void* elements, int64_t bytes) {
  const int wide = strcmp(dtype, "float32") == 0 || strcmp(dtype, "int32") == 0;
  if (!wide && strcmp(dtype, "uint8") != 0 && strcmp(dtype, "int8") != 0) {
    return Fail(dtype, "a type of outputs this program does not print");
  }
  const int64_t count = wide ? bytes / 4 : bytes;
  int64_t best[5];
  int found = 0;
  for (int64_t i = 0; i < count; ++i) {
    int place = found;
    while (place > 0 && At(dtype, elements, i) > At(dtype, elements, best[place - 1])) --place;
    if (place >= 5) continue;
    if (found < 5) ++found;
    for (int j = found - 1; j > place; --j) best[j] = best[j - 1];
    best[place] = i;
  }
  for (int j = 0; j < found; ++j) {
    printf("%6lld  %.7g\n", (long long)best[j], At(dtype, elements, best[j]));
  }
  return 0;
}
