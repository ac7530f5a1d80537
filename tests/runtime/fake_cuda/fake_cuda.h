#pragma once

/* What tests ask of the library that stands for the CUDA driver, beside the driver's own functions:
 * look these up with dlsym. */

#include <stdint.h>

enum { FAKE_MOST_ARGUMENTS = 64 };

/** What has been done so far. */
typedef struct FakeCounts {
  int to_device, to_host; /* copies */
  int launches, replays;
  int pushed;              /* contexts */
  int modules;             /* that are loaded */
  int graphs;              /* recorded ones that are not destroyed */
  int synchronized;        /* contexts */
  int recorded_in_the_way; /* recordings during which no other thread could use the default stream
                            */
  unsigned most_shared;    /* of the launches: bytes of shared memory a block was given */
} FakeCounts;

/** Executes one launch; another value than 0 is a fault of the kernel. */
typedef int (*FakeExecutor)(void* context, const char* kernel, const unsigned* grid,
                            const unsigned* block, unsigned shared_bytes, const uint64_t* arguments,
                            int argument_count);

/** fake_cuda_execute_by: from now on kernels are those of the PTX, executed by a function; null: as
 * at first. */
typedef int (*FakeExecuteBy)(FakeExecutor function, void* context);
/** fake_cuda_counts */
typedef int (*FakeCountsOf)(FakeCounts* out);
/** fake_cuda_holds: 1 if these bytes are part of one allocation. */
typedef int (*FakeHolds)(uint64_t address, uint64_t bytes);
