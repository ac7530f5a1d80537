// tune_own FOLDER STORE LIBRARY: tunes an expression of one's own with a schedule of one's own,
// asks for the best config, compiles it into this process and into a library, and calls it.

#include <tilewright/tuner.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace tuner = tilewright::tuner;

namespace {

/// What a call made, or the end of the program with its message.
template <typename T>
T Need(tuner::Result<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "tune_own: %s\n", result.status().message().c_str());
  std::exit(1);
}

/// Calls the kernel and compares it with plain loops. The sizes are those of gate.tw.
bool IsRight(const tuner::Kernel& kernel) {
  constexpr std::size_t kRows = 64, kColumns = 96;
  std::vector<float> a(kRows * kColumns), scale(kColumns), shift(kColumns), y(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 17) - 8;
  for (std::size_t j = 0; j < kColumns; ++j) {
    scale[j] = 0.25F * static_cast<float>(j % 5);
    shift[j] = static_cast<float>(j % 3) - 1;
  }
  const void* inputs[] = {a.data(), scale.data(), shift.data()};
  void* outputs[] = {y.data()};
  if (kernel.function()(inputs, outputs) != 0) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::size_t j = i % kColumns;
    const float expected = std::max(a[i] * scale[j] + shift[j], 0.0F);
    if (!(std::fabs(y[i] - expected) <= 1e-5F * (1 + std::fabs(expected)))) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: tune_own FOLDER STORE LIBRARY\n");
    return 2;
  }
  const std::string folder = argv[1], store = argv[2], library = argv[3];
  const auto gate = Need(tuner::Expression::Read(folder + "/gate.tw"));
  std::printf("key: %s\n", gate.key().c_str());

  auto tuning = Need(tuner::Tuner::Create());
  const std::string own = Need(tuning.AddScheduleFile(folder + "/blocks.tws"));
  for (const std::string& key : tuning.Templates(gate)) std::printf("template: %s\n", key.c_str());

  // A space can be looked at without a search.
  const auto space = Need(tuning.SpaceOf(gate, own));
  std::printf("%s: %lld configs\n", own.c_str(), static_cast<long long>(space.size()));
  for (std::int64_t i = 0; i < space.size(); ++i) {
    const auto config = Need(space.At(i));
    const tuner::Status legal = space.Check(config);
    if (!legal.ok()) std::printf("  %s: %s\n", config.json().c_str(), legal.message().c_str());
  }
  const auto one = Need(tuning.Measure(Need(space.Default())));
  std::printf("default of it: %s, %s\n", one.outcome().c_str(),
              one.verified() ? "verified" : "not verified");

  tuner::TuneOptions options;
  options.store = store;
  options.trials = 8;
  options.templates = {own};
  std::int64_t told = 0;
  options.progress = [&told](const tuner::Progress& progress) {
    told = progress.trials;
    return true;
  };
  const auto report = Need(tuning.Tune(gate, options));
  std::printf("tuned: %lld trials (%lld told), best of %s\n",
              static_cast<long long>(report.trials()), static_cast<long long>(told),
              report.best_template().c_str());

  // Another tuner, which never saw the schedule's file: it is in the store.
  const auto later = Need(tuner::Tuner::Create());
  const auto answer = Need(later.Query(gate, store));
  std::printf("query: %s, %s\n", answer.kind().c_str(),
              answer.config() ? answer.config()->template_key().c_str() : "nothing");

  tuner::CompileOptions compile;
  compile.store = store;
  compile.name = "gate";
  const auto kernel = Need(later.Compile(gate, compile));
  std::printf("compiled: %s, %s\n", kernel.template_key().c_str(),
              kernel.tuned() ? "tuned" : "default");
  if (!IsRight(kernel)) {
    std::fprintf(stderr, "tune_own: the kernel computes something else\n");
    return 1;
  }
  // Any config can be compiled, measured or not.
  tuner::CompileOptions chosen;
  chosen.config = Need(space.At(space.size() - 1));
  if (!IsRight(Need(tuning.Compile(gate, chosen)))) return 1;

  const tuner::Status written = later.CompileLibrary(gate, library, compile);
  if (!written.ok()) {
    std::fprintf(stderr, "tune_own: %s\n", written.message().c_str());
    return 1;
  }
  std::printf("called: right; library: %s\n", library.c_str());
  return 0;
}
