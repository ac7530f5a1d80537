#pragma once

/* Constants in large pages: what reads hundreds of megabytes once, such as a dense layer of one row,
 * otherwise waits for the processor to look up where each 4 KiB of them are. Part of the runtime. */

#include <stdint.h>

/** Moves memory that is only read (a file mapped privately, say) to large pages, which nobody else
 *  has, at the same addresses. Nobody may read it meanwhile. Where the system has no such pages, for
 *  the part of the memory that fills none, and for less than a few megabytes nothing happens.
 *  Returns the number of bytes that were moved. */
int64_t TwLargePagesMove(const unsigned char* memory, int64_t bytes);
