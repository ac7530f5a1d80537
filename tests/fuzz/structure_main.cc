// Runs a fuzz entry point on inputs with structural mutations:
//   PROGRAM CORPUS [SECONDS [SEED [LAST]]]
// Runs 400 cases, or as many as fit in SECONDS with up to eight rounds of changes each. The current
// input is written to the file LAST, which remains if a signal ends the program. A case of more
// than a minute also ends it.

#include <google/protobuf/stubs/logging.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "src/base/files/file.h"
#include "src/base/random.h"
#include "tests/fuzz/mutator.h"
#include "tests/support/hang_timer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  google::protobuf::LogSilencer silencer;
  const int seconds = argc > 2 ? std::atoi(argv[2]) : 0;
  const std::uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[1])) {
    if (entry.is_regular_file()) files.insert(entry.path().string());
  }
  std::vector<std::string> corpus;
  for (const std::string& file : files) {
    const auto text = tilewright::ReadFile(file);
    if (!text.ok()) return 1;
    corpus.push_back(*text);
  }
  if (corpus.empty()) return 1;
  tilewright::Random random(seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  long long cases = 0;
  for (; seconds > 0 ? std::chrono::steady_clock::now() < end : cases < 400; ++cases) {
    std::string text = corpus[random.Below(corpus.size())];
    for (std::uint64_t round = random.Below(seconds > 0 ? 8 : 3) + 1; round > 0; --round) {
      text = tilewright::MutateStructure(text, random.Next());
    }
    if (argc > 4 && !tilewright::WriteFile(argv[4], text).ok()) return 1;
    tilewright::StartHangTimer(60);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
  std::printf("seed %llu, %zu files, %lld cases, no finding\n",
              static_cast<unsigned long long>(seed), corpus.size(), cases);
  return 0;
}
