// Evidence on imported configs: the targets that they were measured for, and the times of both
// libraries here. Records of another processor, or of a template without packed weights, can be
// many times slower than default configs.

#include "src/session/imported/times.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "src/base/clock.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/base/printable.h"
#include "src/base/text/plural.h"
#include "src/compiler/run/run.h"
#include "src/session/format.h"
#include "src/session/inputs.h"
#include "src/session/text_table.h"
#include "src/target/device.h"

namespace tilewright::session {
namespace {

/// Returns the name of the processor that the code of a target is for.
std::string ProcessorOf(const Target& target) {
  const std::string cpu = target.Option("mcpu");
  if (!cpu.empty()) return cpu;
  const std::string device = target.Option("device");
  return device.empty() ? target.Option("model") : device;
}

ImportedOrigin OriginOf(const std::string& recorded, const Target& asked) {
  ImportedOrigin origin;
  origin.target = recorded;
  const auto target = Target::Parse(recorded);
  if (!target.ok() || !DeviceTraitsOf(asked).machine_code) return origin;
  const std::string of_record = ProcessorOf(*target), of_library = ProcessorOf(asked);
  if (of_record == of_library) return origin;
  origin.recorded_cpu = of_record.empty() ? "no named processor" : of_record;
  origin.asked_cpu = of_library.empty() ? "no named processor" : of_library;
  return origin;
}

/// Returns the seconds of one run.
Result<double> SecondsOf(const ModelLibrary& library, std::span<const Tensor> inputs) {
  SystemClock clock;
  const double begun = clock.MonotonicSeconds();
  TW_RETURN_IF_ERROR(library.Run(inputs));
  return clock.MonotonicSeconds() - begun;
}

}  // namespace

std::vector<ImportedOrigin> OriginsOf(const CompiledModel& model, const Target& asked) {
  std::vector<ImportedOrigin> origins;
  for (const OperatorReport& op : model.operators) {
    if (!op.imported) continue;
    auto origin = std::ranges::find(origins, op.imported_target, &ImportedOrigin::target);
    if (origin == origins.end()) {
      origin = origins.insert(origins.end(), OriginOf(op.imported_target, asked));
    }
    ++origin->operators;
    if (std::ranges::count(origin->templates, op.template_key) == 0) {
      origin->templates.push_back(op.template_key);
    }
  }
  std::ranges::stable_sort(origins, std::greater(), &ImportedOrigin::operators);
  return origins;
}

std::string OriginsText(const std::vector<ImportedOrigin>& origins) {
  std::string text;
  for (const ImportedOrigin& origin : origins) {
    std::string line = "tuned for " + Printable(origin.target);
    if (!origin.recorded_cpu.empty()) {
      line += fmt::format("; the processor here is another one: {} and not {}",
                          Printable(origin.asked_cpu), Printable(origin.recorded_cpu));
    }
    line += "; by";
    for (std::size_t i = 0; i < origin.templates.size(); ++i) {
      line += (i == 0 ? " " : ", ") + Printable(origin.templates[i]);
    }
    const std::string head = fmt::format("  {:>3}  ", origin.operators);
    text += WrapText(head, line, TextWidth(), head.size()) + "\n";
  }
  return text;
}

Result<ImportedTimes> TimeWithDefaults(const Graph& graph, const CompileOptions& options,
                                       const std::string& library_path) {
  TW_ASSIGN_OR_RETURN(auto folder, LockedTempDir::Create("tilewright-default"));
  CompileOptions defaults = options;
  defaults.autotvm.reset();
  defaults.catalog = nullptr;
  defaults.refused_imports.clear();
  defaults.prefer.reset();
  defaults.progress = nullptr;
  defaults.on_miss = OnMiss::kWarn;
  defaults.parameter_path.clear();
  defaults.check = CheckLevel::kSample;
  const std::string default_path = folder.path() + "/default.so";
  TW_RETURN_IF_ERROR(Compile(graph.Clone(), defaults, default_path));
  TW_ASSIGN_OR_RETURN(const auto imported, ModelLibrary::Open(library_path));
  TW_ASSIGN_OR_RETURN(const auto standard, ModelLibrary::Open(default_path));
  TW_ASSIGN_OR_RETURN(const auto inputs, InputSources().Make(imported.inputs()));

  constexpr int kRounds = 3;
  constexpr double kEnoughSeconds = 2;  // slow networks have fewer rounds
  ImportedTimes times;
  double passed = 0;
  // The first round touches the memory and is not counted.
  for (int round = 0; round <= kRounds; ++round) {
    TW_ASSIGN_OR_RETURN(const double with, SecondsOf(imported, inputs));
    TW_ASSIGN_OR_RETURN(const double without, SecondsOf(standard, inputs));
    passed += with + without;
    if (round == 0) continue;
    times.imported_seconds = round == 1 ? with : std::min(times.imported_seconds, with);
    times.default_seconds = round == 1 ? without : std::min(times.default_seconds, without);
    times.rounds = round;
    if (passed > kEnoughSeconds) break;
  }
  return times;
}

std::string ImportedTimesText(const ImportedTimes& times) {
  constexpr double kSlower = 1.05;  // smaller ratios are noise
  const std::string runs = fmt::format(
      "{} with default configs (the fastest of {} each, alternating)",
      ShortSeconds(times.default_seconds), Counted(static_cast<std::int64_t>(times.rounds), "run"));
  const std::string with = ShortSeconds(times.imported_seconds);
  if (times.imported_seconds > kSlower * times.default_seconds) {
    return fmt::format(
        "warning: the imported configs are slower than default configs on this machine: a run "
        "takes {} with them, {}; without --rule autotvm the library is {:.1f} times as fast",
        with, runs, times.imported_seconds / times.default_seconds);
  }
  return fmt::format("a run on this machine takes {} with the imported configs, {}", with, runs);
}

}  // namespace tilewright::session
