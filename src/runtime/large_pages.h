#pragma once

/* Constants in large pages. Code that reads hundreds of megabytes once, such as a dense layer of
 * one row, otherwise waits for TLB misses of 4 KiB pages. Part of the runtime. */

#include <stdint.h>

/** Moves read-only memory (a file mapped privately, say) to large pages, private to the process, at
 *  the same addresses: from byte `done` on, for at most this many seconds. No other thread may read
 *  it meanwhile. Does nothing if the system has no large pages, for less than a few megabytes, and
 *  for the part that fills no page. Returns the byte to continue from in the next call; `bytes` if
 *  it is finished. */
int64_t TwLargePagesMove(const unsigned char* memory, int64_t bytes, int64_t done, double seconds);
