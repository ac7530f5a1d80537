#include <cstring>

#include "measure/workers.h"
#include "tests/support/built_in.h"

// A sanitizer's own handlers would hide the signal that kills a crashed worker.
extern "C" const char* __asan_default_options() {
  return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0";
}
extern "C" const char* __tsan_default_options() {
  return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0:"
         "atexit_sleep_ms=0";
}

/// Replaces the program in tests of the measurer: `child build` and `child run`.
int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "build") == 0) {
    return tilewright::measure::BuildWorkerMain(tilewright::BuiltInTemplates(), 0, 1);
  }
  if (argc == 2 && std::strcmp(argv[1], "run") == 0)
    return tilewright::measure::RunWorkerMain(0, 1);
  return 2;
}
