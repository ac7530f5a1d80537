#pragma once

/* Processors that this process may use: of its affinity (and so of its cpuset), and of the CPU
 * quota of its control groups, as containers set it. Plain C11 without allocations, so that
 * compiled models can link it. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the number of processors that the calling thread may use, at least 1. A quota of 1.5
 *  processors counts as 2. */
int32_t TwUsableCpus(void);

/** Returns the least CPU quota of the process's control groups (versions 1 and 2) and of their
 *  parents in processors, rounded up; 0 if there is none. root: prefix of /proc and /sys, "" for
 *  the system's. Unreadable and malformed files are ignored. */
int32_t TwCpuQuota(const char* root);

#ifdef __cplusplus
}
#endif
