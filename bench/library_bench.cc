// How often, and by how much, a library's function followed by the rest of the operator beats a
// generated kernel: each task of a built-in model, on one thread, in the same run and interleaved.
//
//   library_bench MODEL [--int8] [--builds N] [--rounds N]
//
// The generated kernel is the result of a quick search of --builds kernels. All layouts of the
// library are timed; layout transforms around the operator are not counted on either side. Tasks
// that the library's templates do not serve are listed with the reason.

#include <fmt/format.h>

#include <algorithm>

#include "bench/kernel_bench_ours.h"
#include "src/base/strings.h"
#include "src/graph/ir/graph.h"
#include "src/graph/partition/tasks.h"
#include "src/graph/passes/passes.h"
#include "src/models/models.h"
#include "src/target/library.h"
#include "tests/support/built_in.h"

namespace tilewright::bench {
namespace {

struct LibraryBenchOptions {
  std::string model;
  bool int8 = false;
  int builds = 40, rounds = 15;
};

Result<LibraryBenchOptions> ParseArguments(int argc, char** argv) {
  LibraryBenchOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--int8") {
      options.int8 = true;
    } else if ((name == "--builds" || name == "--rounds") && i + 1 < argc) {
      TW_ASSIGN_OR_RETURN(auto number, ParseInt64(argv[++i]));
      (name == "--builds" ? options.builds : options.rounds) = static_cast<int>(number);
    } else if (options.model.empty() && !name.starts_with('-')) {
      options.model = name;
    } else {
      return InvalidArgument(name + ": unknown, or without a value");
    }
  }
  if (options.model.empty()) return InvalidArgument("no MODEL");
  return options;
}

struct Totals {
  int tasks = 0, wins = 0;
  double ours = 0, library = 0, best = 0;
};

/// Returns every callable config of the library's templates.
Result<std::vector<Choice>> CallsFor(const Workload& workload, const Target& target,
                                     std::string& refusal) {
  std::vector<Choice> calls;
  for (const TemplateEntry& entry : BuiltInTemplates().all()) {
    if (LibraryOfTemplate(entry.key) == nullptr || entry.device != target.device()) continue;
    const std::string reason = entry.refuses(workload, target);
    if (!reason.empty()) {
      // The other templates serve other operators.
      if (entry.key.starts_with(workload.op == OpKind::kConv2d ? "conv2d." : "dense.")) {
        refusal = reason;
      }
      continue;
    }
    TW_ASSIGN_OR_RETURN(auto space, entry.define_space(workload, target));
    for (std::int64_t i = 0; i < space.size(); ++i) {
      calls.push_back({std::string(entry.key), space.At(i)});
    }
  }
  return calls;
}

Status BenchTask(const ExtractedTask& task, const Target& target,
                 const LibraryBenchOptions& options, QuietTimer& timer, Totals& totals) {
  Workload workload = task.workload;
  Epilogue epilogue = task.epilogue;
  if (options.int8) {
    workload.data.dtype = kUInt8, workload.weight.dtype = kInt8, workload.out_dtype = kInt32;
    epilogue =
        *Epilogue::Parse("add(channel:int32);relu;cast(float32);mul(0.0005);saturate_cast(uint8)");
  }
  ++totals.tasks;
  std::string refusal;
  TW_ASSIGN_OR_RETURN(auto calls, CallsFor(workload, target, refusal));
  if (calls.empty()) {
    fmt::print("{:<30} x{:<2} refused: {}\n", task.sites.front(), task.occurrences(), refusal);
    return {};
  }
  TW_ASSIGN_OR_RETURN(auto found, QuickSearch(workload, epilogue, WithoutLibraries(target),
                                              options.builds, /*seed=*/1));
  calls.insert(calls.begin(), std::move(found));
  std::vector<std::unique_ptr<OurKernel>> kernels;
  std::vector<std::function<void()>> functions;
  for (const Choice& choice : calls) {
    TW_ASSIGN_OR_RETURN(auto kernel, OurKernel::Make(*BuiltInTemplates().Find(choice.template_key),
                                                     workload, epilogue, target, choice.config));
    kernels.push_back(std::move(kernel));
    functions.emplace_back([kernel = kernels.back().get()] { kernel->Run(); });
  }
  const auto timings = timer.Measure(functions, options.rounds);
  std::size_t best = 1;
  for (std::size_t i = 1; i < timings.size(); ++i) {
    if (timings[i].seconds < timings[best].seconds) best = i;
  }
  const double ours = timings[0].seconds, library = timings[best].seconds;
  const auto count = static_cast<double>(task.occurrences());
  totals.wins += library < ours ? 1 : 0;
  totals.ours += count * ours;
  totals.library += count * library;
  totals.best += count * std::min(ours, library);
  fmt::print(
      "{:<30} x{:<2} generated {:8.1f} us  library {:8.1f} us  ratio {:5.2f}  quiet {}/{}  {}\n",
      task.sites.front(), task.occurrences(), ours * 1e6, library * 1e6, library / ours,
      timings[0].quiet_slices, timings[best].quiet_slices, calls[best].config.ToString());
  std::fflush(stdout);
  return {};
}

Status Run(int argc, char** argv) {
  TW_ASSIGN_OR_RETURN(auto options, ParseArguments(argc, argv));
  TW_ASSIGN_OR_RETURN(auto version, LibraryVersion(*FindLibrary("dnnl")));
  TW_ASSIGN_OR_RETURN(auto target, Target::Parse("native -libs=dnnl"));
  TW_ASSIGN_OR_RETURN(auto bytes, MakeModelOnnx(options.model));
  TW_ASSIGN_OR_RETURN(auto graph, ImportOnnx(bytes, options.model));
  TW_ASSIGN_OR_RETURN(auto tasks, ExtractTasks(graph));
  QuietTimer timer;
  Totals totals;
  for (const ExtractedTask& task : tasks) {
    const Status done = BenchTask(task, target, options, timer, totals);
    if (!done.ok()) return done.WithContext(task.sites.front());
  }
  fmt::print(
      "{} {}, {}: the library wins {} of {} tasks; of those it takes: generated {:.3f} ms, "
      "library {:.3f} ms, the better of both {:.3f} ms ({:.3f} of generated)\n",
      options.model, options.int8 ? "int8" : "fp32", version, totals.wins, totals.tasks,
      totals.ours * 1e3, totals.library * 1e3, totals.best * 1e3, totals.best / totals.ours);
  return {};
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  const tilewright::Status status = tilewright::bench::Run(argc, argv);
  if (status.ok()) return 0;
  fmt::print(stderr, "library_bench: {}\n", status.message());
  return status.code() == tilewright::StatusCode::kInvalidArgument ? 2 : 1;
}
