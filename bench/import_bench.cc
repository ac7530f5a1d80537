// Speed and memory use of reading and importing AutoTVM logs.
//
//   import_bench [LINES [FOLDER]]   (default: 200000 lines; a log of a tuning session in FOLDER)
//   import_bench FILE...            real logs, imported into a temporary store
//
// Prints lines per second of parsing alone (scan, task, space check) and of the whole import into a
// fresh store, on one thread, in processor time and wall time, with the process's peak memory.

#include <sys/resource.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "records/autotvm/import.h"
#include "records/autotvm/line_reader.h"
#include "records/autotvm/log_line.h"
#include "src/base/clock.h"
#include "src/base/random.h"

namespace {

using namespace tilewright;           // NOLINT: a program of a few functions
using namespace tilewright::records;  // NOLINT

double PeakMegabytes() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Writes a log as a tuner writes it: `lines` measurements of 200 convolutions, one after the
/// other.
bool WriteSession(const std::string& path, std::int64_t lines) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) return false;
  Random random(1);
  const std::int64_t per_task = std::max<std::int64_t>(1, lines / 200);
  for (std::int64_t i = 0; i < lines; ++i) {
    const std::int64_t task = i / per_task;
    const long c = 8L * (1 + task % 20), k = 16L * (1 + task / 20);
    const auto power = [&random](std::uint64_t below) { return 1L << random.Below(below); };
    const long f1 = power(2), f2 = power(3);
    std::fprintf(
        file,
        "{\"input\": [\"cuda -model=card\", \"conv2d_nchw.cuda\", [[\"TENSOR\", [1, %ld, 56, 56], "
        "\"float32\"], [\"TENSOR\", [%ld, %ld, 3, 3], \"float32\"], [1, 1], [1, 1, 1, 1], [1, 1], "
        "\"float32\"], {}], \"config\": {\"index\": %llu, \"code_hash\": null, \"entity\": "
        "[[\"tile_f\", \"sp\", [-1, %ld, %ld, 1]], [\"tile_y\", \"sp\", [-1, %ld, %ld, 1]], "
        "[\"tile_x\", \"sp\", [-1, 1, %ld, 2]], [\"tile_rc\", \"sp\", [-1, %ld]], [\"tile_ry\", "
        "\"sp\", [-1, 3]], [\"tile_rx\", \"sp\", [-1, 1]], [\"auto_unroll_max_step\", \"ot\", "
        "512], [\"unroll_explicit\", \"ot\", 1]]}, \"result\": [[%.17g], 0, %.17g, %.6f], "
        "\"version\": 0.2, \"tvm_version\": \"0.11.dev0\"}\n",
        c, k, c, static_cast<unsigned long long>(random.Below(1 << 30)), f1, f2, power(3), power(2),
        power(2), power(4), 1e-4 + random.Uniform() * 1e-3, 1 + random.Uniform(),
        1.6e9 + static_cast<double>(i) * 0.37);
  }
  return std::fclose(file) == 0;
}

/// Parses each line of a file. Returns their number.
std::int64_t ParseAll(const std::string& path) {
  auto reader = LineReader::Open(path, kMaxLogLine);
  if (!reader.ok()) return 0;
  LogLine line;
  std::int64_t lines = 0;
  std::string_view text;
  while (true) {
    auto more = reader->Next(text);
    if (!more.ok() || !*more) return lines;
    (void)ParseLogLine(text, line).ok();
    ++lines;
  }
}

/// Processor time and wall time, in seconds.
struct Moment {
  double cpu = 0, wall = 0;
  static Moment Now() {
    struct timespec time {};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return {static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec),
            SystemClock().UnixSeconds()};
  }
};

void PrintRates(const char* what, std::int64_t lines, const Moment& from, const Moment& to) {
  const auto count = static_cast<double>(lines);
  std::printf("%-7s %9.0f lines per processor second, %9.0f per second\n", what,
              count / (to.cpu - from.cpu), count / (to.wall - from.wall));
}

int Measure(const std::vector<std::string>& files, const std::string& store_path) {
  const Moment begin = Moment::Now();
  std::int64_t lines = 0;
  for (const std::string& file : files) lines += ParseAll(file);
  const Moment parsed = Moment::Now();
  auto store = Store::Open(store_path, Store::Mode::kReadWrite);
  if (!store.ok()) return 1;
  const Moment opened = Moment::Now();
  auto summaries = ImportAutotvm(*store, files, {});
  if (!summaries.ok()) {
    std::fprintf(stderr, "%s\n", summaries.status().message().c_str());
    return 1;
  }
  const Moment imported = Moment::Now();
  std::int64_t records = 0;
  for (const ImportedFile& file : *summaries) records += file.imported;
  PrintRates("parse", lines, begin, parsed);
  PrintRates("import", lines, opened, imported);
  std::printf("%lld lines, %lld imported, peak memory %.0f MB\n", static_cast<long long>(lines),
              static_cast<long long>(records), PeakMegabytes());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t lines = argc > 1 ? std::atoll(argv[1]) : 200000;
  const std::string folder = argc > 2 && lines > 0 ? argv[2] : "/var/tmp";
  const std::string store = folder + "/tilewright_import_bench.db";
  const auto clean = [&store] {
    for (const char* ending : {"", "-wal", "-shm"}) {
      std::error_code ignored;
      std::filesystem::remove(store + ending, ignored);
    }
  };
  clean();
  int result = 0;
  if (argc > 1 && lines == 0) {
    result = Measure({argv + 1, argv + argc}, store);
  } else {
    const std::string log = folder + "/tilewright_import_bench.log";
    if (!WriteSession(log, lines)) return 1;
    result = Measure({log}, store);
    std::error_code ignored;
    std::filesystem::remove(log, ignored);
  }
  clean();
  return result;
}
