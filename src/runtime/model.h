#pragma once

/* Compiled model as data, and the functions that run it. Plain C11: src/compiler emits the tables;
 * the functions are part of libtilewright_rt.a and so of every compiled model. */

#include <stdint.h>

#include "src/runtime/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TW_MODEL_VERSION 2u
/** Version of models with an open dimension, which older programs must not run. */
#define TW_OPEN_MODEL_VERSION 4u

/** Maximum number of places of a step, and of arguments of a GPU launch. src/compiler rejects
 *  models that need more. */
enum { TW_MODEL_MOST_PLACES = 256 };

/** TW_ENTRIES: the number of entries of an open dimension, an int64_t. */
enum { TW_ARENA = 0, TW_CONSTANT = 1, TW_INPUT = 2, TW_OUTPUT = 3, TW_ENTRIES = 4 };

/** Location of a tensor: `offset` bytes into the arena, into the constants, or into the caller's
 *  memory for input / output `index`. */
typedef struct TwPlace {
  int32_t space;
  int32_t index;
  int64_t offset;
} TwPlace;

/** Tensor as in the source. Strings end in a zero byte. */
typedef struct TwValue {
  const char* name;
  const char* dtype;
  const int64_t* shape;
  int64_t rank;
  int64_t bytes;
} TwValue;

/** Operator. A null kernel copies result_bytes bytes from places[0] to places[1]. The last place is
 *  the result. */
typedef struct TwStep {
  TwKernel kernel;
  const TwKernelInfo* info;
  const TwPlace* places;
  int64_t place_count;
  const TwValue* result;
  const char* op;
  const char* logical_layout; /* layout of the result in the source, "" if it has none */
  const char* layout;         /* of the result in memory, "" if as in the source */
  int64_t result_bytes;       /* in memory */
  int64_t macs;
  int64_t bytes; /* of inputs, constants and the result, each once */
  /* bit 0: products of 8-bit integers; bit 1: pairs of bfloat16; bits 8 to 15: rows and columns of
     Winograd's tiles, or 0; bits 16 to 23: rows of the kernel of a convolution in such tiles, or 0
     (not known) */
  int64_t flags;
} TwStep;

typedef struct TwModelState TwModelState;

/** Number of positions along an open dimension of images or signals, by its size:
 *  factor * floor((times * size + plus) / divide) + offset. */
typedef struct TwPositionCount {
  int64_t times, plus, divide, factor, offset;
} TwPositionCount;

/** Tensor of a model with an open dimension: its table entry, which changes with the size. */
typedef struct TwOpenValue {
  TwValue* value;
  int64_t* extent;      /* of the open dimension; null if the tensor does not have it */
  int64_t entry_extent; /* with one entry */
  int64_t entry_bytes;
  /* If entries are positions: their number; else null, the number is the size. */
  const TwPositionCount* count;
} TwOpenValue;

/** Operator of a model with an open dimension. It has one of several kernels for each size. */
typedef struct TwOpenStep {
  const TwKernel* kernels; /* null if the operator copies */
  const TwKernelInfo* const* infos;
  int64_t kernel_count;
  const uint8_t* choice;      /* by size - 1; null: the first kernel */
  int64_t entry_result_bytes; /* what each entry adds; 0 if the result does not have it */
  int64_t entry_macs;
  int64_t entry_bytes;
  int64_t fixed_result_bytes; /* and what does not depend on the size */
  int64_t fixed_macs;
  int64_t fixed_bytes;
  /* Of a result with positions; else null. Its `rows` rows are row_bytes apart in memory, and the
     positions of each begin after begin_bytes. */
  const TwPositionCount* count;
  int64_t rows;
  int64_t row_bytes;
  int64_t begin_bytes;
} TwOpenStep;

/** Open dimension of a model. Its tensors have it outermost, or rows of positions. The tables that
 * it changes are those of the model; at first they are those of the least size. Offsets into the
 * arena are for one entry. */
typedef struct TwOpenDimension {
  const char* name;
  int64_t least, most;
  const TwOpenValue* values; /* inputs, outputs and results */
  int64_t value_count;
  TwStep* steps;
  const TwOpenStep* open_steps; /* one for each step */
  /* Tensors in the arena have room for a multiple of this many entries, at least 1. 0: for the most
     positions, at offsets that do not depend on the size. */
  int64_t padded_to;
} TwOpenDimension;

typedef struct TwModel {
  int64_t version; /* TW_MODEL_VERSION */
  const char* name;
  const char* target;
  const TwValue* inputs;
  int64_t input_count;
  const TwValue* outputs;
  int64_t output_count;
  const TwStep* steps;
  int64_t step_count;
  const unsigned char* constants; /* null: they are in a parameter file, see TwModelLoad */
  int64_t constant_bytes;
  uint64_t constant_hash; /* hash of the constants, as in the parameter file's header */
  int64_t arena_bytes;
  int64_t threads;      /* initial number; fewer if the process has fewer CPUs (cpu_limit.h) */
  TwModelState** state; /* null until the first run */
  /* Null unless a dimension is open. Libraries of version 2 may lack this member. */
  const TwOpenDimension* open;
} TwModel;

/** Header of a parameter file, little-endian; the constants follow at TW_PARAMETER_OFFSET. */
typedef struct TwParameterHeader {
  char magic[8];     /* TW_PARAMETER_MAGIC, without its zero byte */
  uint32_t version;  /* TW_PARAMETER_VERSION */
  uint32_t reserved; /* 0 */
  int64_t bytes;
  uint64_t hash;
} TwParameterHeader;
#define TW_PARAMETER_MAGIC "TWPARAMS"
#define TW_PARAMETER_VERSION 1u
#define TW_PARAMETER_OFFSET 64

/** Called after step `step`; `result` is its result in memory, `seconds` its time. A value other
 *  than 0 ends the run, which then returns it. */
typedef int32_t (*TwObserver)(void* context, int64_t step, const void* result, double seconds);

enum {
  TW_MODEL_NO_MEMORY = 101,
  TW_MODEL_NO_THREADS = 102,
  TW_MODEL_NULL_POINTER = 103,
  TW_MODEL_NO_PARAMETERS = 104, /* none loaded, or the file cannot be read */
  /* The file is not a parameter file, is truncated, or is of another model. */
  TW_MODEL_WRONG_PARAMETERS = 105,
  /* Models for a GPU (src/runtime/gpu_model.h) provide texts for these. */
  TW_MODEL_NO_DRIVER = 106,
  TW_MODEL_NO_DEVICE = 107,
  TW_MODEL_OLD_DEVICE = 108, /* it cannot run the model's code */
  TW_MODEL_NO_DEVICE_MEMORY = 109,
  TW_MODEL_DEVICE_FAILED = 110,
  /* 111: TW_LIBRARY_FAILED of src/runtime/library.h; 117: TW_TILES_REFUSED of src/runtime/abi.h */
  TW_MODEL_NOT_ALIGNED = 112,       /* an address on the device */
  TW_MODEL_BUSY = 113,              /* called by an observer, during the observed run */
  TW_MODEL_NO_SUCH_SHAPES = 114,    /* the library has no variant for these shapes */
  TW_MODEL_NO_SUCH_DIMENSION = 115, /* the model has no open dimension of this name */
  TW_MODEL_WRONG_SIZE = 116         /* the size is outside of the dimension's range */
};

/** Runs a model. inputs and outputs: one pointer per tensor, of any alignment. Returns 0, one of
 *  the codes above, or the code of a kernel. observer may be null. Concurrent calls are serialized.
 *  After a fork the child creates new threads and memory; no other thread may be in a function of
 *  the model while the process forks. */
int32_t TwModelRun(const TwModel* model, const void* const* inputs, void* const* outputs,
                   TwObserver observer, void* context);
/** Sets the number of threads of later runs. Returns 0 or one of the codes above; after a failure
 *  the number is unchanged. */
int32_t TwModelSetThreads(const TwModel* model, int32_t threads);
/** Frees memory and threads; the next run creates them again, with the same number of threads.
 *  Loaded parameters are released too. Does nothing if an observer calls it. */
void TwModelRelease(const TwModel* model);
/** As TwModelRelease, and frees the rest of the state; called when the library is unloaded. */
void TwModelUnload(const TwModel* model);
/** Maps the parameter file of a model with separate constants; call it before the first run.
 *  Returns 0 or one of the codes above; after a failure parameters loaded before are kept. */
int32_t TwModelLoad(const TwModel* model, const char* path);

/** Sets the size of the model's open dimension for later runs: shapes and sizes in its tables are
 *  then those of this size. Allocates nothing. Returns 0 or one of the codes above; after a failure
 *  the size is unchanged. No other thread may read the tables at that time. */
int32_t TwModelSetSize(const TwModel* model, const char* dimension, int64_t size);
/** As TwModelSetSize of its open dimension, from 1 to its largest size, for checks: one entry runs
 *  even if the range begins above. Positions have no sizes below the least. */
int32_t TwModelResize(const TwModel* model, int64_t size);

/** Exported by a library with an open dimension as `tilewright_open`. */
typedef struct TwOpenFunctions {
  const TwOpenDimension* dimension;
  int32_t (*set_size)(const TwModel*, const char*, int64_t);
  int32_t (*resize)(const TwModel*, int64_t);
} TwOpenFunctions;

/** Exported by a library as `tilewright_model`, so that programs find it without the model's
 *  name. */
typedef struct TwModelFunctions {
  const TwModel* model;
  int32_t (*run)(const TwModel*, const void* const*, void* const*, TwObserver, void*);
  int32_t (*set_threads)(const TwModel*, int32_t);
  void (*release)(const TwModel*);
  int32_t (*load)(const TwModel*, const char*);
} TwModelFunctions;

/** Models of several shape variants: `tilewright_model` is the first one. Returns the index of the
 *  variant with these shapes, or -1. shapes: for each input its sizes; the ranks are those of the
 *  model. */
int64_t TwModelSetOf(const TwModelFunctions* const* sets, int64_t count,
                     const int64_t* const* shapes);
/** Runs the variant for these shapes; returns TW_MODEL_NO_SUCH_SHAPES if there is none. */
int32_t TwModelRunSet(const TwModelFunctions* const* sets, int64_t count,
                      const int64_t* const* shapes, const void* const* inputs,
                      void* const* outputs);
/** Sets the threads of every variant, as TwModelSetThreads; stops at the first failure. */
int32_t TwModelSetThreadsOfSets(const TwModelFunctions* const* sets, int64_t count,
                                int32_t threads);
void TwModelReleaseSets(const TwModelFunctions* const* sets, int64_t count);

#ifdef __cplusplus
}
#endif
