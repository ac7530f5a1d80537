// Compiles random models, each in a subprocess, and counts the outcomes:
//   random_models FIRST_SEED COUNT [FOLDER [all]]
// Prints the incorrect models and the number of each kind. Writes those models, or all of them, to
// FOLDER.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "src/base/files/file.h"
#include "src/target/device.h"
#include "tests/support/built_in.h"
#include "tests/support/check_model.h"
#include "tests/support/random_model.h"

namespace tilewright {
namespace {

constexpr unsigned kMaxSeconds = 300;  // of one model
constexpr int kExitRight = 0, kExitRefused = 10, kExitInternal = 11, kExitWrong = 12;

int ExitCodeOf(ModelOutcome outcome) {
  switch (outcome) {
    case ModelOutcome::kRight:
      return kExitRight;
    case ModelOutcome::kRefused:
      return kExitRefused;
    case ModelOutcome::kInternal:
      return kExitInternal;
    case ModelOutcome::kWrong:
      return kExitWrong;
  }
  return kExitWrong;
}

int CheckOne(std::uint64_t seed, const std::string& text_path, const std::string& keep,
             bool keep_right) {
  auto folder = ScopedTempDir::Create("tilewright-random-models");
  if (!folder.ok()) return kExitRefused;
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  constexpr const char* kTargets[] = {"native", "native", "llvm -mcpu=core-avx2",
                                      "llvm -mattr=+f16c"};
  options.target = *Target::Parse(kTargets[seed % 4]);
  options.device = ProbeHostCpu();
  options.name = "random";
  options.check = CheckLevel::kSample;
  const std::string bytes = RandomModel(seed);
  const ModelCheck check = CheckModel(bytes, options, folder->path());
  (void)WriteFile(text_path, check.message).ok();
  const bool right = check.outcome == ModelOutcome::kRight;
  if (!keep.empty() && (keep_right || !right)) (void)WriteFile(keep, bytes).ok();
  return ExitCodeOf(check.outcome);
}

int Run(std::uint64_t first, std::uint64_t count, const std::string& folder, bool keep_right) {
  auto scratch = ScopedTempDir::Create("tilewright-random-texts");
  if (!scratch.ok()) return 1;
  const std::string text_path = scratch->path() + "/text";
  std::map<std::string, int> counts;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::string keep = folder.empty() ? "" : folder + "/" + std::to_string(seed) + ".onnx";
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      alarm(kMaxSeconds);
      _exit(CheckOne(seed, text_path, keep, keep_right));
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return 1;
    std::string kind = "crash";
    std::string text;
    if (WIFEXITED(status)) {
      if (const auto written = ReadFile(text_path); written.ok()) text = *written;
      const int code = WEXITSTATUS(status);
      kind = code == kExitRight      ? "right"
             : code == kExitRefused  ? "refused"
             : code == kExitInternal ? "internal"
                                     : "wrong";
    } else if (WTERMSIG(status) == SIGALRM) {
      kind = "too long";
    }
    ++counts[kind];
    if (kind != "right")
      std::printf("%s %llu: %s\n", kind.c_str(), static_cast<unsigned long long>(seed),
                  text.c_str());
    std::fflush(stdout);
  }
  for (const auto& [kind, number] : counts) std::printf("%s: %d\n", kind.c_str(), number);
  return counts["right"] + counts["refused"] == static_cast<int>(count) ? 0 : 1;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: random_models FIRST_SEED COUNT [FOLDER [all]]\n");
    return 2;
  }
  return tilewright::Run(std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10),
                         argc > 3 ? argv[3] : "", argc > 4);
}
