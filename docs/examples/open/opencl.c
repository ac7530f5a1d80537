/* Builds and times the OpenCL kernel of a file on the first device:
 *   opencl FILE GROUP_X GROUP_Y ROWS LANES STEP STAGE
 * Prints one line of JSON with the seconds by the device's clock, or why the kernel failed. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 256, CALLS = 5 };

static float a[SIZE * SIZE], b[SIZE * SIZE], c[SIZE * SIZE];

/* Ends the program with an answer if the code of an OpenCL call is an error. */
static void check(cl_int code, const char* kind, const char* call) {
  if (code == CL_SUCCESS) return;
  printf("{\"failed\": \"%s\", \"reason\": \"%s: error %d\"}\n", kind, call, code);
  exit(0);
}

static char* read_text(const char* path, size_t* bytes) {
  FILE* file = fopen(path, "rb");
  char* text = malloc(1 << 16);
  if (file == NULL || text == NULL) exit(2);
  *bytes = fread(text, 1, 1 << 16, file);
  fclose(file);
  return text;
}

/* Compares some elements: a row and a column of them. */
static int is_right(void) {
  for (int i = 0; i < SIZE; ++i) {
    const int row = i, column = (i * 7) % SIZE;
    double sum = 0;
    for (int k = 0; k < SIZE; ++k) sum += (double)a[row * SIZE + k] * b[k * SIZE + column];
    if (fabs(sum - c[row * SIZE + column]) > 1e-3) return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 8) return 2;
  cl_int code = 0;
  cl_platform_id platform;
  cl_device_id device;
  check(clGetPlatformIDs(1, &platform, NULL), "runtime", "no platform");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "runtime", "no device");
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  check(code, "runtime", "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &code);
  check(code, "runtime", "clCreateCommandQueue");

  size_t bytes = 0;
  const char* text = read_text(argv[1], &bytes);
  cl_program program = clCreateProgramWithSource(context, 1, &text, &bytes, &code);
  check(code, "runtime", "clCreateProgramWithSource");
  char options[200];
  snprintf(options, sizeof(options),
           "-DSIZE=%d -DGROUP_X=%s -DGROUP_Y=%s -DROWS=%s -DLANES=%s -DSTEP=%s -DSTAGE=%s", SIZE,
           argv[2], argv[3], argv[4], argv[5], argv[6], argv[7]);
  check(clBuildProgram(program, 1, &device, options, NULL, NULL), "compile", "clBuildProgram");
  cl_kernel kernel = clCreateKernel(program, "product", &code);
  check(code, "compile", "clCreateKernel");

  for (int i = 0; i < SIZE * SIZE; ++i) {
    a[i] = (float)(i % 17) * 0.1f;
    b[i] = (float)(i % 13) * 0.1f - 0.5f;
  }
  float* arrays[] = {a, b, c};
  cl_mem buffers[3];
  for (int i = 0; i < 3; ++i) {
    buffers[i] = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof(a), arrays[i], &code);
    check(code, "runtime", "clCreateBuffer");
    check(clSetKernelArg(kernel, (cl_uint)i, sizeof(cl_mem), &buffers[i]), "runtime",
          "clSetKernelArg");
  }
  const size_t local[] = {(size_t)atoi(argv[2]), (size_t)atoi(argv[3])};
  const size_t global[] = {SIZE / (size_t)atoi(argv[5]), SIZE / (size_t)atoi(argv[4])};
  double seconds[CALLS];
  for (int call = -1; call < CALLS; ++call) { /* the first one is not timed */
    cl_event event;
    cl_ulong start = 0, end = 0;
    check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, local, 0, NULL, &event), "runtime",
          "clEnqueueNDRangeKernel");
    check(clFinish(queue), "runtime", "clFinish");
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start), &start, NULL);
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL);
    if (call >= 0) seconds[call] = 1e-9 * (double)(end - start);
    clReleaseEvent(event);
  }
  check(clEnqueueReadBuffer(queue, buffers[2], CL_TRUE, 0, sizeof(c), c, 0, NULL, NULL), "runtime",
        "clEnqueueReadBuffer");
  if (!is_right()) {
    printf("{\"correct\": false}\n");
    return 0;
  }
  printf("{\"seconds\": [");
  for (int call = 0; call < CALLS; ++call) printf("%s%.9f", call > 0 ? ", " : "", seconds[call]);
  printf("]}\n");
  return 0;
}
