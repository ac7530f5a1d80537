// Runs a fuzz entry point over its corpus, unchanged and mutated:
//   PROGRAM CORPUS [SECONDS [SEED]]
// Runs 1,000 cases, or as many as fit in SECONDS. libFuzzer runs the same entry points for hours
// with feedback; the tests run them for a second without.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "src/base/files/file.h"
#include "src/base/random.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr int kCases = 1000;

void Run(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

/// Truncates the text, changes a byte, repeats a part, or removes a part.
std::string Mutilate(std::string text, tilewright::Random& random) {
  if (text.empty()) return text;
  const std::size_t at = random.Below(text.size());
  const std::size_t length = random.Below(std::min<std::size_t>(text.size() - at, 64)) + 1;
  switch (random.Below(4)) {
    case 0:
      return text.substr(0, at);
    case 1:
      text[at] = static_cast<char>(random.Below(256));
      return text;
    case 2:
      return text.insert(at, text.substr(at, length));
    default:
      return text.erase(at, length);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) return 2;
  const int seconds = argc > 2 ? std::atoi(argv[2]) : 0;
  const std::uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[1])) {
    if (entry.is_regular_file()) files.insert(entry.path().string());
  }
  if (files.empty()) {
    std::fprintf(stderr, "%s: no corpus\n", argv[1]);
    return 1;
  }
  std::printf("seed %llu, %zu files\n", static_cast<unsigned long long>(seed), files.size());
  tilewright::Random random(seed);
  const int per_file = kCases / static_cast<int>(files.size()) + 1;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  long long cases = 0;
  do {
    for (const std::string& file : files) {
      const auto text = tilewright::ReadFile(file);
      if (!text.ok()) return 1;
      Run(*text);
      for (int i = 0; i < per_file; ++i, ++cases) {
        std::string changed = Mutilate(*text, random);
        while (random.Below(2) == 0) changed = Mutilate(std::move(changed), random);
        Run(changed);
      }
    }
  } while (std::chrono::steady_clock::now() < end);
  std::printf("%lld cases, no finding\n", cases);
  return 0;
}
