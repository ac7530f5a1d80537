/* Permission for the tile registers of AMX. Linux keeps no space for their 8 KiB in the state of a
 * thread until the process asks (arch_prctl, since version 5.16); without that, the first
 * instruction on them ends the process. */

#define _GNU_SOURCE
#include "src/runtime/abi.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  kAskPermission = 0x1023, /* ARCH_REQ_XCOMP_PERM */
  kGetPermission = 0x1022, /* ARCH_GET_XCOMP_PERM */
  kTileData = 18,          /* XFEATURE_XTILEDATA */
  kTiles = 1 << 24,        /* bits of CPUID leaf 7, edx */
  kInt8 = 1 << 25,
  kBf16 = 1 << 22,
  kXsaveEnabled = 1 << 27 /* leaf 1, ecx */
};
static const uint64_t kTileState = 0x60000; /* of XCR0 */

static uint64_t EnabledState(void) {
  unsigned eax, ebx, ecx, edx;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & kXsaveEnabled) == 0) return 0;
  __asm__ volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
  return (uint64_t)edx << 32 | eax;
}

/* Returns the instructions that the CPU has, as in TW_TILES_INT8. */
static int32_t Instructions(void) {
  unsigned eax, ebx, ecx, edx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (edx & kTiles) == 0) return 0;
  return ((edx & kInt8) != 0 ? TW_TILES_INT8 : 0) | ((edx & kBf16) != 0 ? TW_TILES_BF16 : 0);
}

static int IsPermitted(void) {
  uint64_t permitted = 0;
  return syscall(SYS_arch_prctl, kGetPermission, &permitted) == 0 &&
         (permitted >> kTileData & 1) != 0;
}

const char* TwTilesProblem(int32_t needs) {
  static atomic_int permitted; /* instructions that may be used */
  if ((atomic_load_explicit(&permitted, memory_order_relaxed) & needs) == needs) return 0;
  const int32_t instructions = Instructions();
  if ((instructions & needs) != needs) return "a CPU with AMX (tile registers): this one has none";
  if ((EnabledState() & kTileState) != kTileState) {
    return "AMX (tile registers), which the system has not enabled";
  }
  if (syscall(SYS_arch_prctl, kAskPermission, kTileData) != 0 || !IsPermitted()) {
    return "AMX (tile registers), which Linux refuses this process (needs version 5.16)";
  }
  atomic_store_explicit(&permitted, instructions, memory_order_relaxed);
  return 0;
}

#else

const char* TwTilesProblem(int32_t needs) {
  (void)needs;
  return "a CPU with AMX (tile registers): this one has none";
}

#endif
