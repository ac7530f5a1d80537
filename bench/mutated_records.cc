// mutated_records stores|packages|fields|package-fields [SECONDS [SEED [CASES]]]: mutates record
// stores or packages (of the latter two one field of a row) as an attacker with knowledge of the
// format would (values, schema, pages; digests are right), and exercises everything that the
// program does with them. Exit code 1 at the first finding; the case is then in the printed
// directory. A crash or a hang (20 s) ends the program: the last line contains the seed.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include "src/base/clock.h"
#include "tests/records/mutated_records.h"
#include "tests/support/hang_timer.h"

int main(int argc, char** argv) {
  using namespace tilewright;  // NOLINT: a program of one function
  const std::string what = argc > 1 ? argv[1] : "";
  const double seconds = argc > 2 ? std::strtod(argv[2], nullptr) : 60;
  std::uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  const std::int64_t most = argc > 4 ? std::strtoll(argv[4], nullptr, 10) : INT64_MAX;
  using Try = std::string (records::MutatedRecords::*)(std::uint64_t);
  const std::map<std::string, Try> kinds = {
      {"stores", &records::MutatedRecords::TryStore},
      {"packages", &records::MutatedRecords::TryPackage},
      {"fields", &records::MutatedRecords::TryField},
      {"package-fields", &records::MutatedRecords::TryPackageField}};
  const auto kind = kinds.find(what);
  if (kind == kinds.end()) {
    std::fprintf(stderr,
                 "mutated_records stores|packages|fields|package-fields [SECONDS [SEED"
                 " [CASES]]]\n");
    return 2;
  }
  const std::string root = std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp";
  const std::string folder = root + "/tilewright-mutated-" + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  auto records = records::MutatedRecords::Create(
      folder, TILEWRIGHT_SOURCE_DIR "/tests/fuzz/corpus/store/small_store");
  if (!records.ok()) {
    std::fprintf(stderr, "%s\n", records.status().message().c_str());
    return 1;
  }
  SystemClock clock;
  const double end = clock.MonotonicSeconds() + seconds;
  std::int64_t cases = 0;
  for (; clock.MonotonicSeconds() < end && cases < most; ++cases, ++seed) {
    std::printf("\rseed %llu in %s ", static_cast<unsigned long long>(seed), folder.c_str());
    std::fflush(stdout);
    StartHangTimer(20);
    const std::string wrong = (*records.*kind->second)(seed);
    if (wrong.empty()) continue;
    std::printf("\nfinding: %s\n", wrong.c_str());
    return 1;
  }
  std::filesystem::remove_all(folder);
  std::printf("\n%lld %s changed, %lld opened, %lld answers, no finding\n",
              static_cast<long long>(cases), what.c_str(), static_cast<long long>(records->opened),
              static_cast<long long>(records->answered));
  return 0;
}
