#pragma once

/* Constants in large pages: what reads hundreds of megabytes once, such as a dense layer of one
 * row, otherwise waits for the processor to look up where each 4 KiB of them are. Part of the
 * runtime. */

#include <stdint.h>

/** Moves memory that is only read (a file mapped privately, say) to large pages, which nobody else
 *  has, at the same addresses: from byte `done` on, and for this many seconds, as nothing else is
 *  done meanwhile. Nobody may read it then. Where the system has no such pages, for the part of the
 *  memory that fills none, and for less than a few megabytes nothing happens. Returns the byte to
 *  go on from with the next call; `bytes` if nothing is left to do. */
int64_t TwLargePagesMove(const unsigned char* memory, int64_t bytes, int64_t done, double seconds);
