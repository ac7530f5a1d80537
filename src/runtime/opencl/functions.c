#include "src/runtime/opencl/functions.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Symbol {
  const char* name;
  size_t offset; /* into TwOpenCl */
} Symbol;

#define TW_SYMBOL(name) \
  { "cl" #name, offsetof(TwOpenCl, name) }
static const Symbol kSymbols[] = {TW_SYMBOL(GetPlatformIDs),
                                  TW_SYMBOL(GetPlatformInfo),
                                  TW_SYMBOL(GetDeviceIDs),
                                  TW_SYMBOL(GetDeviceInfo),
                                  TW_SYMBOL(CreateContext),
                                  TW_SYMBOL(CreateCommandQueue),
                                  TW_SYMBOL(CreateBuffer),
                                  TW_SYMBOL(CreateImage),
                                  TW_SYMBOL(CreateSubBuffer),
                                  TW_SYMBOL(CreateProgramWithSource),
                                  TW_SYMBOL(BuildProgram),
                                  TW_SYMBOL(GetProgramBuildInfo),
                                  TW_SYMBOL(CreateKernel),
                                  TW_SYMBOL(SetKernelArg),
                                  TW_SYMBOL(EnqueueWriteBuffer),
                                  TW_SYMBOL(EnqueueReadBuffer),
                                  TW_SYMBOL(EnqueueCopyBuffer),
                                  TW_SYMBOL(EnqueueFillBuffer),
                                  TW_SYMBOL(EnqueueNDRangeKernel),
                                  TW_SYMBOL(EnqueueMarkerWithWaitList),
                                  TW_SYMBOL(Flush),
                                  TW_SYMBOL(Finish),
                                  TW_SYMBOL(GetEventInfo),
                                  TW_SYMBOL(GetEventProfilingInfo),
                                  TW_SYMBOL(ReleaseContext),
                                  TW_SYMBOL(ReleaseCommandQueue),
                                  TW_SYMBOL(ReleaseMemObject),
                                  TW_SYMBOL(ReleaseProgram),
                                  TW_SYMBOL(ReleaseKernel),
                                  TW_SYMBOL(ReleaseEvent)};
#undef TW_SYMBOL

typedef struct ErrorRow {
  TwClInt code;
  const char* name;
} ErrorRow;
static const ErrorRow kErrors[] = {
    {TW_CL_DEVICE_NOT_FOUND, "device not found"},
    {TW_CL_DEVICE_NOT_AVAILABLE, "device not available"},
    {-3, "compiler not available"},
    {TW_CL_NO_MEMORY_FOR_OBJECT, "memory object allocation failure"},
    {-5, "out of resources"},
    {-6, "out of host memory"},
    {-7, "profiling info not available"},
    {TW_CL_BUILD_FAILURE, "build program failure"},
    {-13, "misaligned sub-buffer offset"},
    {-14, "error of a command in the wait list"},
    {-30, "invalid value"},
    {-34, "invalid context"},
    {-36, "invalid command queue"},
    {-38, "invalid memory object"},
    {-39, "invalid image format descriptor"},
    {TW_CL_INVALID_IMAGE_SIZE, "invalid image size"},
    {-42, "invalid binary"},
    {-43, "invalid build options"},
    {-45, "invalid program executable"},
    {TW_CL_INVALID_KERNEL_NAME, "invalid kernel name"},
    {-48, "invalid kernel"},
    {-49, "invalid argument index"},
    {-50, "invalid argument value"},
    {-51, "invalid argument size"},
    {-52, "invalid kernel arguments"},
    {-54, "invalid work group size"},
    {-55, "invalid work item size"},
    {TW_CL_INVALID_BUFFER_SIZE, "invalid buffer size"},
    {TW_CL_NO_PLATFORM, "no platform"},
};

/* POSIX: an object pointer from dlsym converts to a function pointer. */
const char* TwOpenClBind(TwOpenCl* api, void* library) {
  for (size_t i = 0; i < sizeof kSymbols / sizeof *kSymbols; ++i) {
    void* found = dlsym(library, kSymbols[i].name);
    if (found == NULL) return kSymbols[i].name;
    memcpy((char*)api + kSymbols[i].offset, &found, sizeof found);
  }
  return NULL;
}

const char* TwOpenClErrorName(TwClInt code) {
  for (size_t i = 0; i < sizeof kErrors / sizeof *kErrors; ++i) {
    if (kErrors[i].code == code) return kErrors[i].name;
  }
  return "unknown error";
}

const char* TwOpenClBuildOptions(int rounds_division) {
  return rounds_division ? "-cl-fp32-correctly-rounded-divide-sqrt" : "";
}

int TwOpenClNextImage(const char** source, const char* program, TwOpenClImage* image) {
  static const char kBegin[] = "// tw_image ";
  enum { kMaxArgument = 1024, kMaxExtent = 1 << 20 };
  while (strncmp(*source, kBegin, sizeof kBegin - 1) == 0) {
    char name[256], type[8];
    unsigned argument = 0;
    unsigned long width = 0, height = 0;
    int length = 0;
    const int read = sscanf(*source, "// tw_image %255s %9u %9lu %9lu %7s%n", name, &argument,
                            &width, &height, type, &length);
    const int is_half = read == 5 && strcmp(type, "half") == 0;
    const int known = is_half || (read == 5 && strcmp(type, "float") == 0);
    if (!known || (*source)[length] != '\n' || argument > kMaxArgument || width == 0 ||
        width > kMaxExtent || height == 0 || height > kMaxExtent) {
      return -1;
    }
    *source += length + 1;
    if (strcmp(name, program) != 0) continue;
    image->argument = argument;
    image->width = width;
    image->height = height;
    image->half = is_half;
    return 1;
  }
  return 0;
}

size_t TwOpenClImageBytes(const TwOpenClImage* image) {
  enum { kHalves = 8, kFloats = 16 };
  return image->width * image->height * (image->half ? kHalves : kFloats);
}

/* cl_image_format and cl_image_desc. */
typedef struct ImageFormat {
  TwClUint order, type;
} ImageFormat;
typedef struct ImageShape {
  TwClUint type;
  size_t width, height, depth, array, row_pitch, slice_pitch;
  TwClUint levels, samples;
  TwClObject memory;
} ImageShape;

TwClObject TwOpenClMakeImage(const TwOpenCl* api, TwClObject context, const TwOpenClImage* image,
                             TwClInt* error) {
  enum { kRgba = 0x10B5, kHalf = 0x10DD, kFloat = 0x10DE, kImage2d = 0x10F1, kNan = 0xFF };
  const ImageFormat format = {kRgba, image->half ? kHalf : kFloat};
  const ImageShape shape = {.type = kImage2d, .width = image->width, .height = image->height};
  const size_t bytes = TwOpenClImageBytes(image);
  void* texels = malloc(bytes);
  if (texels == NULL) {
    *error = -6; /* out of host memory */
    return NULL;
  }
  memset(texels, kNan, bytes);
  TwClObject made =
      api->CreateImage(context, TW_CL_READ_WRITE | TW_CL_COPY_HOST, &format, &shape, texels, error);
  free(texels);
  return *error == 0 ? made : NULL;
}

/* Appends the devices of a platform. */
static TwClInt AddDevices(const TwOpenCl* api, TwClObject platform, TwOpenClPlace** places,
                          size_t* count) {
  enum { kMax = 64 };
  TwClObject devices[kMax];
  TwClUint found = 0;
  const TwClInt code = api->GetDeviceIDs(platform, TW_CL_ALL_TYPES, kMax, devices, &found);
  if (code == TW_CL_DEVICE_NOT_FOUND) return 0;
  if (code != 0) return code;
  if (found > kMax) found = kMax;
  TwOpenClPlace* longer = realloc(*places, (*count + found + 1) * sizeof **places);
  if (longer == NULL) return -6; /* out of host memory */
  *places = longer;
  for (TwClUint i = 0; i < found; ++i) {
    const TwOpenClPlace place = {platform, devices[i]};
    longer[(*count)++] = place;
  }
  return 0;
}

TwClInt TwOpenClPlaces(const TwOpenCl* api, TwOpenClPlace** places, size_t* count,
                       const char** call) {
  enum { kMax = 64 };
  TwClObject platforms[kMax];
  TwClUint found = 0;
  *places = NULL;
  *count = 0;
  *call = "clGetPlatformIDs";
  TwClInt code = api->GetPlatformIDs(kMax, platforms, &found);
  if (code == TW_CL_NO_PLATFORM) return 0;
  if (found > kMax) found = kMax;
  for (TwClUint i = 0; code == 0 && i < found; ++i) {
    *call = "clGetDeviceIDs";
    code = AddDevices(api, platforms[i], places, count);
  }
  return code;
}
