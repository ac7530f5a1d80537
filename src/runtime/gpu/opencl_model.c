/* OpenCL's driver for compiled models. OpenCL has buffers instead of addresses, so each launch of
 * each step has a kernel object of its own, whose arguments are set when the device is opened:
 * parts of the arena and of the workspace, a buffer for each constant, input and output. A run
 * enqueues them on a queue that executes in order. */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/runtime/gpu/opencl_device.h"

enum { kNoKernel = -1 };

/* --- memory --- */

static int32_t MakeBuffer(TwGpuDevice* device, TwClBits access, int64_t bytes, TwClObject* buffer) {
  TwClInt error = 0;
  char call[TW_CL_NAME_BYTES];
  const size_t size = bytes > 0 ? (size_t)bytes : 1;
  *buffer = device->cl.CreateBuffer(device->context, access, size, NULL, &error);
  snprintf(call, sizeof call, "clCreateBuffer of %zu bytes", size);
  return TwClCheck(device, error, call);
}

static int32_t MakeValues(TwGpuDevice* device, const TwValue* values, int64_t count,
                          TwClObject** buffers) {
  *buffers = calloc((size_t)count + 1, sizeof(TwClObject));
  if (*buffers == NULL) return TW_MODEL_NO_MEMORY;
  int32_t code = 0;
  for (int64_t i = 0; code == 0 && i < count; ++i) {
    code = MakeBuffer(device, TW_CL_READ_WRITE, values[i].bytes, &(*buffers)[i]);
  }
  return code;
}

static int CompareOffsets(const void* a, const void* b) {
  const int64_t first = ((const TwClConstant*)a)->offset, second = ((const TwClConstant*)b)->offset;
  return (first > second) - (first < second);
}

/* Lists the constants of all steps, each once. */
static int32_t ListConstants(const TwGpuModel* gpu, TwGpuDevice* device) {
  const TwModel* model = &gpu->model;
  int64_t places = 0, count = 0;
  for (int64_t i = 0; i < model->step_count; ++i) places += model->steps[i].place_count;
  TwClConstant* all = calloc((size_t)places + 1, sizeof *all);
  if (all == NULL) return TW_MODEL_NO_MEMORY;
  for (int64_t i = 0; i < model->step_count; ++i) {
    for (int64_t p = 0; p < model->steps[i].place_count; ++p) {
      const TwPlace place = model->steps[i].places[p];
      if (place.space == TW_CONSTANT) all[count++].offset = place.offset;
    }
  }
  qsort(all, (size_t)count, sizeof *all, CompareOffsets);
  device->constants = all;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t end = i + 1 < count ? all[i + 1].offset : model->constant_bytes;
    if (end == all[i].offset) continue; /* the next one is the same */
    all[device->constant_count].offset = all[i].offset;
    all[device->constant_count++].bytes = (size_t)(end - all[i].offset);
  }
  return 0;
}

static int32_t MakeMemory(const TwGpuModel* gpu, TwGpuDevice* device) {
  const TwModel* model = &gpu->model;
  int32_t code = MakeValues(device, model->inputs, model->input_count, &device->inputs);
  if (code == 0) code = MakeValues(device, model->outputs, model->output_count, &device->outputs);
  if (code == 0) code = MakeBuffer(device, TW_CL_READ_WRITE, model->arena_bytes, &device->arena);
  if (code == 0) {
    code = MakeBuffer(device, TW_CL_READ_WRITE, gpu->workspace_bytes, &device->workspace);
  }
  if (code == 0) code = ListConstants(gpu, device);
  for (int64_t i = 0; code == 0 && i < device->constant_count; ++i) {
    TwClConstant* constant = &device->constants[i];
    code = MakeBuffer(device, TW_CL_READ_ONLY, (int64_t)constant->bytes, &constant->buffer);
  }
  return code;
}

static TwClObject BufferOfConstant(const TwGpuDevice* device, int64_t offset) {
  const TwClConstant wanted = {.offset = offset};
  const TwClConstant* found = bsearch(&wanted, device->constants, (size_t)device->constant_count,
                                      sizeof wanted, CompareOffsets);
  return found != NULL ? found->buffer : NULL;
}

/* Returns a place of a step. */
static TwClPart Resolve(const TwGpuDevice* device, TwPlace place) {
  TwClPart part = {.offset = (size_t)place.offset};
  switch (place.space) {
    case TW_ARENA:
      part.base = device->arena;
      break;
    case TW_CONSTANT:
      part.base = BufferOfConstant(device, place.offset);
      part.offset = 0;
      break;
    case TW_INPUT:
      part.base = device->inputs[place.index];
      break;
    default:
      part.base = device->outputs[place.index];
  }
  part.object = part.base;
  return part;
}

/* --- arguments --- */

/* Returns the sub-buffer of a part, the same one for equal parts. kernel: name for messages. */
static int32_t MakePart(TwGpuDevice* device, const char* kernel, TwClPart* part) {
  for (int64_t i = 0; i < device->part_count; ++i) {
    const TwClPart* other = &device->parts[i];
    if (other->base != part->base || other->offset != part->offset || other->bytes != part->bytes) {
      continue;
    }
    part->object = other->object;
    return 0;
  }
  TwClInt error = 0;
  const TwClRegion region = {part->offset, part->bytes};
  part->object = device->cl.CreateSubBuffer(part->base, TW_CL_READ_WRITE, TW_CL_BUFFER_REGION,
                                            &region, &error);
  const int32_t code = TwClCheckKernel(device, error, kernel, "clCreateSubBuffer");
  if (code == 0) device->parts[device->part_count++] = *part;
  return code;
}

/* Lists the arguments of a step: its places, then the kernel's workspace. Those in the arena and in
 * the workspace are parts that end where the next one begins: kernels may not write one of two
 * overlapping parts. */
static int32_t ListArguments(const TwGpuModel* gpu, TwGpuDevice* device, int64_t i,
                             TwClPart* arguments, int64_t* count) {
  const TwStep* step = &gpu->model.steps[i];
  const TwGpuKernel* kernel = &gpu->kernels[gpu->step_kernels[i]];
  *count = 0;
  for (int64_t p = 0; p < step->place_count; ++p) {
    arguments[(*count)++] = Resolve(device, step->places[p]);
  }
  for (int64_t w = 0; w < kernel->workspace_count; ++w) {
    const TwClPart part = {.base = device->workspace, .offset = (size_t)kernel->workspace[w]};
    arguments[(*count)++] = part;
  }
  int32_t code = 0;
  for (int64_t a = 0; code == 0 && a < *count; ++a) {
    TwClPart* part = &arguments[a];
    const int in_arena = part->base == device->arena;
    if (!in_arena && part->base != device->workspace) continue;
    size_t end = (size_t)(in_arena ? gpu->model.arena_bytes : gpu->workspace_bytes);
    for (int64_t other = 0; other < *count; ++other) {
      const TwClPart* next = &arguments[other];
      if (next->base == part->base && next->offset > part->offset && next->offset < end) {
        end = next->offset;
      }
    }
    part->bytes = end - part->offset;
    code = MakePart(device, kernel->launches[0].entry, part);
  }
  return code;
}

/* Makes an image for a step, or takes one of the same size that only earlier
 * steps have. */
static int32_t TakeImage(TwGpuDevice* device, const char* kernel, int64_t step,
                         const TwOpenClImage* shape, TwClPart* part) {
  if (part->bytes < TwOpenClImageBytes(shape)) {
    return TwClFail(device, TW_MODEL_DEVICE_FAILED, "%s: an image of %zu x %zu texels has no place",
                    kernel, shape->width, shape->height);
  }
  for (int64_t i = 0; i < device->image_count; ++i) {
    TwClImage* image = &device->images[i];
    if (image->step == step || image->shape.width != shape->width ||
        image->shape.height != shape->height || image->shape.half != shape->half) {
      continue;
    }
    image->step = step;
    part->object = image->object;
    return 0;
  }
  TwClImage* longer = realloc(device->images, (size_t)(device->image_count + 1) * sizeof *longer);
  if (longer == NULL) return TW_MODEL_NO_MEMORY;
  device->images = longer;
  TwClInt error = 0;
  const TwClImage made = {*shape, TwOpenClMakeImage(&device->cl, device->context, shape, &error),
                          step};
  if (made.object != NULL) longer[device->image_count++] = made;
  part->object = made.object;
  return TwClCheckKernel(device, error, kernel, "clCreateImage");
}

/* Replaces the arguments of a step that its source declares as images. */
static int32_t TakeImages(TwGpuDevice* device, const TwGpuKernel* kernel, int64_t step,
                          TwClPart* arguments, int64_t count) {
  const char *source = kernel->code, *name = kernel->launches[0].entry;
  TwOpenClImage shape;
  int found = 0;
  int32_t code = 0;
  while (code == 0 && (found = TwOpenClNextImage(&source, name, &shape)) > 0) {
    if ((int64_t)shape.argument >= count) found = -1;
    if (found < 0) break;
    code = TakeImage(device, name, step, &shape, &arguments[shape.argument]);
  }
  if (found < 0) {
    code = TwClFail(device, TW_MODEL_DEVICE_FAILED, "%s: the source declares an image that is none",
                    name);
  }
  return code;
}

static int32_t MakeKernel(TwGpuDevice* device, TwClObject program, const TwClPart* arguments,
                          int64_t count, TwClLaunch* made) {
  TwClInt error = 0;
  made->kernel = device->cl.CreateKernel(program, made->launch->entry, &error);
  int32_t code = TwClCheckKernel(device, error, made->launch->entry, "clCreateKernel");
  for (int64_t a = 0; code == 0 && a < count; ++a) {
    error = device->cl.SetKernelArg(made->kernel, (TwClUint)a, sizeof(TwClObject),
                                    &arguments[a].object);
    code = TwClCheckKernel(device, error, made->launch->entry, "clSetKernelArg");
  }
  return code;
}

static int64_t LaunchesOf(const TwGpuModel* gpu, int64_t step) {
  const int32_t kernel = gpu->step_kernels[step];
  return kernel == kNoKernel ? 0 : gpu->kernels[kernel].launch_count;
}

static int32_t MakeLaunches(const TwGpuModel* gpu, TwGpuDevice* device) {
  const int64_t steps = gpu->model.step_count;
  int64_t launches = 0, most_parts = 0;
  for (int64_t i = 0; i < steps; ++i) {
    if (gpu->step_kernels[i] == kNoKernel) continue;
    const TwGpuKernel* kernel = &gpu->kernels[gpu->step_kernels[i]];
    launches += kernel->launch_count;
    most_parts += gpu->model.steps[i].place_count + kernel->workspace_count;
  }
  device->launches = calloc((size_t)launches + 1, sizeof(TwClLaunch));
  device->first_launch = calloc((size_t)steps + 1, sizeof(int64_t));
  device->parts = calloc((size_t)most_parts + 1, sizeof(TwClPart));
  device->events = calloc((size_t)(launches + steps) + 1, sizeof(TwClEvent));
  if (device->launches == NULL || device->first_launch == NULL || device->parts == NULL ||
      device->events == NULL) {
    return TW_MODEL_NO_MEMORY;
  }
  device->launch_count = launches;
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t first = device->first_launch[i], count = LaunchesOf(gpu, i);
    device->first_launch[i + 1] = first + count;
    if (count == 0) continue;
    TwClPart arguments[TW_MODEL_MOST_PLACES];
    int64_t argument_count = 0;
    const int32_t number = gpu->step_kernels[i];
    int32_t code = ListArguments(gpu, device, i, arguments, &argument_count);
    if (code == 0) code = TakeImages(device, &gpu->kernels[number], i, arguments, argument_count);
    for (int64_t l = 0; code == 0 && l < count; ++l) {
      TwClLaunch* made = &device->launches[first + l];
      made->launch = &gpu->kernels[number].launches[l];
      code = MakeKernel(device, device->programs[number], arguments, argument_count, made);
    }
    if (code != 0) return code;
  }
  return 0;
}

static void ReleaseAll(TwClInt (*release)(TwClObject), TwClObject* objects, int64_t count) {
  for (int64_t i = 0; objects != NULL && i < count; ++i) {
    if (objects[i] != NULL) (void)release(objects[i]);
  }
}

static void ReleaseEvents(TwGpuDevice* device) {
  for (int64_t i = 0; i < device->event_count; ++i) {
    (void)device->cl.ReleaseEvent(device->events[i].object);
  }
  device->event_count = 0;
}

static void Close(const TwGpuModel* gpu, TwGpuDevice* device) {
  const TwOpenCl* cl = &device->cl;
  if (device->queue != NULL) (void)cl->Finish(device->queue);
  ReleaseEvents(device);
  for (int64_t i = 0; i < device->launch_count; ++i) {
    if (device->launches[i].kernel != NULL) (void)cl->ReleaseKernel(device->launches[i].kernel);
  }
  for (int64_t i = 0; i < device->part_count; ++i) {
    (void)cl->ReleaseMemObject(device->parts[i].object);
  }
  for (int64_t i = 0; i < device->image_count; ++i) {
    (void)cl->ReleaseMemObject(device->images[i].object);
  }
  for (int64_t i = 0; i < device->constant_count; ++i) {
    TwClObject buffer = device->constants[i].buffer;
    if (buffer != NULL) (void)cl->ReleaseMemObject(buffer);
  }
  TwClObject single[] = {device->arena, device->workspace};
  ReleaseAll(cl->ReleaseMemObject, single, 2);
  ReleaseAll(cl->ReleaseMemObject, device->inputs, gpu->model.input_count);
  ReleaseAll(cl->ReleaseMemObject, device->outputs, gpu->model.output_count);
  ReleaseAll(cl->ReleaseProgram, device->programs, gpu->kernel_count);
  if (device->queue != NULL) (void)cl->ReleaseCommandQueue(device->queue);
  if (device->context != NULL) (void)cl->ReleaseContext(device->context);
  if (device->library != NULL) dlclose(device->library);
  free(device->programs);
  free(device->inputs);
  free(device->outputs);
  free(device->constants);
  free(device->images);
  free(device->parts);
  free(device->launches);
  free(device->first_launch);
  free(device->events);
  free(device);
}

static int32_t Open(const TwGpuModel* gpu, const char* library, int32_t ordinal, char* message,
                    TwGpuDevice** opened) {
  TwGpuDevice* device = calloc(1, sizeof *device);
  if (device == NULL) return TW_MODEL_NO_MEMORY;
  device->message = message;
  int32_t code = TwClOpenQueue(gpu, device, library, ordinal);
  if (code == 0) code = TwClBuild(gpu, device);
  if (code == 0) code = MakeMemory(gpu, device);
  if (code == 0) code = MakeLaunches(gpu, device);
  if (code != 0) {
    Close(gpu, device);
  } else {
    *opened = device;
  }
  return code;
}

static int32_t Enter(TwGpuDevice* device) {
  (void)device;
  return 0;
}

static void Leave(TwGpuDevice* device) { (void)device; }

/* --- running --- */

static int32_t Write(TwGpuDevice* device, TwClObject buffer, const void* from, size_t bytes) {
  if (bytes == 0) return 0;
  return TwClCheck(device,
                   device->cl.EnqueueWriteBuffer(device->queue, buffer, TW_CL_BLOCKING, 0, bytes,
                                                 from, 0, NULL, NULL),
                   "clEnqueueWriteBuffer");
}

static int32_t Read(TwGpuDevice* device, const TwClPart* part, void* to, size_t bytes) {
  if (bytes == 0) return 0;
  return TwClCheck(device,
                   device->cl.EnqueueReadBuffer(device->queue, part->base, TW_CL_BLOCKING,
                                                part->offset, bytes, to, 0, NULL, NULL),
                   "clEnqueueReadBuffer");
}

static int32_t Upload(const TwGpuModel* gpu, TwGpuDevice* device, const unsigned char* constants) {
  (void)gpu;
  int32_t code = 0;
  for (int64_t i = 0; code == 0 && i < device->constant_count; ++i) {
    const TwClConstant* constant = &device->constants[i];
    code = Write(device, constant->buffer, constants + constant->offset, constant->bytes);
  }
  return code;
}

static int32_t WriteInput(const TwGpuModel* gpu, TwGpuDevice* device, int64_t i, const void* from) {
  return Write(device, device->inputs[i], from, (size_t)gpu->model.inputs[i].bytes);
}

static int32_t ReadOutput(const TwGpuModel* gpu, TwGpuDevice* device, int64_t i, void* to) {
  const TwClPart part = {.base = device->outputs[i]};
  return Read(device, &part, to, (size_t)gpu->model.outputs[i].bytes);
}

/* Adds the event of a command that was enqueued. */
static void AddEvent(TwGpuDevice* device, const char* name) {
  device->events[device->event_count++].name = name;
}

/* Enqueues a step. */
static int32_t EnqueueStep(const TwGpuModel* gpu, TwGpuDevice* device, int64_t i) {
  const TwOpenCl* cl = &device->cl;
  const TwStep* step = &gpu->model.steps[i];
  if (gpu->step_kernels[i] == kNoKernel) {
    const TwClPart from = Resolve(device, step->places[0]), to = Resolve(device, step->places[1]);
    const TwClInt error = cl->EnqueueCopyBuffer(device->queue, from.base, to.base, from.offset,
                                                to.offset, (size_t)step->result_bytes, 0, NULL,
                                                &device->events[device->event_count].object);
    if (error == 0) AddEvent(device, "clEnqueueCopyBuffer");
    return TwClCheck(device, error, "clEnqueueCopyBuffer");
  }
  for (int64_t l = device->first_launch[i]; l < device->first_launch[i + 1]; ++l) {
    const TwGpuLaunch* launch = device->launches[l].launch;
    size_t all[3], group[3];
    for (int d = 0; d < 3; ++d) {
      group[d] = launch->block[d];
      all[d] = (size_t)launch->grid[d] * launch->block[d];
    }
    const TwClInt error =
        cl->EnqueueNDRangeKernel(device->queue, device->launches[l].kernel, 3, NULL, all, group, 0,
                                 NULL, &device->events[device->event_count].object);
    if (error != 0) {
      return TwClCheckKernel(device, error, launch->entry, "clEnqueueNDRangeKernel");
    }
    AddEvent(device, launch->entry);
  }
  return 0;
}

static int32_t Wait(TwGpuDevice* device) {
  return TwClCheck(device, device->cl.Finish(device->queue), "clFinish");
}

/* Waits for the commands of a run. Errors: also that of a command that failed on the device. */
static int32_t WaitForEvents(TwGpuDevice* device) {
  int32_t code = Wait(device);
  for (int64_t i = 0; code == 0 && i < device->event_count; ++i) {
    TwClInt state = 0;
    code = TwClCheck(device,
                     device->cl.GetEventInfo(device->events[i].object, TW_CL_EVENT_STATUS,
                                             sizeof state, &state, NULL),
                     "clGetEventInfo");
    if (code == 0 && state < 0) {
      code = TwClCheckKernel(device, state, device->events[i].name, "execution");
    }
  }
  return code;
}

static int32_t Run(const TwGpuModel* gpu, TwGpuDevice* device) {
  int32_t code = 0;
  for (int64_t i = 0; code == 0 && i < gpu->model.step_count; ++i) {
    code = EnqueueStep(gpu, device, i);
  }
  if (code == 0) code = WaitForEvents(device);
  ReleaseEvents(device);
  return code;
}

/* Returns the seconds between the start of the first and the end of the last command. */
static int32_t ReadSeconds(TwGpuDevice* device, double* seconds) {
  const TwOpenCl* cl = &device->cl;
  uint64_t started = 0, ended = 0;
  TwClInt error = cl->GetEventProfilingInfo(device->events[0].object, TW_CL_EVENT_STARTED,
                                            sizeof started, &started, NULL);
  if (error == 0) {
    error = cl->GetEventProfilingInfo(device->events[device->event_count - 1].object,
                                      TW_CL_EVENT_ENDED, sizeof ended, &ended, NULL);
  }
  *seconds = ended > started ? (double)(ended - started) * 1e-9 : 0;
  return TwClCheck(device, error, "clGetEventProfilingInfo");
}

static int32_t RunStep(const TwGpuModel* gpu, TwGpuDevice* device, int64_t i, void* result,
                       double* seconds) {
  const TwStep* step = &gpu->model.steps[i];
  int32_t code = EnqueueStep(gpu, device, i);
  if (code == 0) code = WaitForEvents(device);
  if (code == 0 && device->event_count > 0) code = ReadSeconds(device, seconds);
  ReleaseEvents(device);
  if (code != 0) return code;
  const TwClPart from = Resolve(device, step->places[step->place_count - 1]);
  return Read(device, &from, result, (size_t)step->result_bytes);
}

const TwGpuDriver TwOpenClDriver = {.library = TW_OPENCL_LIBRARY,
                                    .open = Open,
                                    .close = Close,
                                    .enter = Enter,
                                    .leave = Leave,
                                    .wait = Wait,
                                    .upload = Upload,
                                    .write_input = WriteInput,
                                    .read_output = ReadOutput,
                                    .run = Run,
                                    .run_step = RunStep};
