// `tilewright-runner`: runs candidates on a board. It has no compiler: kernels arrive compiled over
// standard input, and results go to standard output (docs/deploy.md).

#include <cstdio>
#include <cstring>

#include "measure/workers.h"
#include "src/base/files/scoped_temp_path.h"
#include "src/base/printable.h"
#include "src/base/stack.h"
#include "src/base/standard_streams.h"

namespace {

constexpr const char* kHelp =
    "tilewright-runner: run candidates for a tuner on another machine\n"
    "\n"
    "The tuner starts it: tilewright tune MODEL --runner 'ssh board tilewright-runner' ...\n"
    "It communicates over standard input and output, and ends when they are closed.\n"
    "  --help     print this help\n"
    "  --version  print the version; it has to be that of the tuner\n";

int RunProgram(int argc, char** argv) {
  tilewright::FixupStandardStreams();
  tilewright::RemoveTempPathsOnSignal();
  if (argc == 1) return tilewright::measure::RunWorkerMain(0, 1);
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::puts("tilewright-runner " TILEWRIGHT_VERSION);
    return 0;
  }
  std::fprintf(stderr, "tilewright-runner: '%s': unknown argument, expected none\n",
               tilewright::Printable(argv[1]).c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) { return tilewright::RunWithLargeStack(&RunProgram, argc, argv); }
