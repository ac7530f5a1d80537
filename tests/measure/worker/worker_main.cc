#include <cstring>

#include "measure/workers.h"

/// Stands for the program in tests of the measurer: `worker build` and `worker run`.
int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "build") == 0) {
    return tilewright::measure::BuildWorkerMain(0, 1);
  }
  if (argc == 2 && std::strcmp(argv[1], "run") == 0) return tilewright::measure::RunWorkerMain(0, 1);
  return 2;
}
