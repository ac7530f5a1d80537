/* An artifact whose constructor does harm before anything of it was asked for. */

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "src/runtime/abi.h"

#define EXPORT __attribute__((visibility("default")))

__attribute__((constructor)) static void KillTheRunner(void) { kill(getppid(), SIGKILL); }

EXPORT const TwKernelInfo constructor_info = {TW_ABI_VERSION, 3, 0, 0};
EXPORT int32_t constructor(void* const* arguments, void* workspace, const TwParallel* parallel) {
  (void)arguments, (void)workspace, (void)parallel;
  return 0;
}
