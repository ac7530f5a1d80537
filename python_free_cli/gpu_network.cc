#include "python_free_cli/gpu_network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "python_free_cli/command.h"
#include "python_free_cli/own_process.h"
#include "python_free_cli/print.h"
#include "src/base/files/file.h"
#include "src/base/files/locked_folder.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/compiler/check/check_process.h"
#include "src/compiler/run/gpu_run.h"

namespace tilewright::cli {
namespace {

struct Emulated {
  std::unique_ptr<GpuPlan> plan;  // its executor points to it
  std::unique_ptr<GpuExecutor> executor;
};

/// A thread of the emulator does about so much less than a kernel's slowest code.
constexpr std::int64_t kEmulationFactor = 50;

Result<Emulated> Emulate(Graph graph, const CompileOptions& options, bool tells,
                         CheckProgress* progress) {
  auto plan = PlanGpu(std::move(graph), options);
  TW_RETURN_IF_ERROR(plan);
  Emulated emulated{std::make_unique<GpuPlan>(*std::move(plan)), nullptr};
  auto executor = EmulateGpu(*emulated.plan);
  TW_RETURN_IF_ERROR(executor);
  emulated.executor = *std::move(executor);
  std::vector<OperatorReport> operators;
  for (const PlanStep& step : emulated.plan->plan.steps) operators.push_back(step.report);
  if (tells) PrintMisses(operators);
  for (OperatorReport& op : operators) {
    op.macs *= kEmulationFactor;
    op.bytes *= kEmulationFactor;
  }
  if (progress != nullptr) progress->SetOperators(operators);
  return emulated;
}

/// Names as lines that fit a terminal; of very many some, and how many more there are.
std::vector<std::string> NameLines(const std::vector<std::string_view>& names) {
  constexpr std::size_t kWidth = 90, kMostLines = 6;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = Printable(names[i]) + (i + 1 < names.size() ? ", " : "");
    const bool fits = !lines.empty() && lines.back().size() + name.size() <= kWidth;
    if (!fits && lines.size() == kMostLines) {
      lines.push_back(fmt::format("and {} more (`compile --json` names all)", names.size() - i));
      break;
    }
    if (!fits) lines.emplace_back();
    lines.back() += name;
  }
  return lines;
}

}  // namespace

void PrintMisses(const std::vector<OperatorReport>& operators) {
  struct Miss {
    bool tuned;
    std::string_view why;
    std::vector<std::string_view> values;
  };
  std::vector<Miss> misses;  // one reason mostly serves many operators: it is said once
  for (const OperatorReport& op : operators) {
    if (!op.passed_over.empty()) {
      PrintErr("passed over: {} ({}): {}\n", op.value, op.op, op.passed_over);
    }
    if (op.workload_key.empty() || op.answer == records::AnswerLevel::kHit) continue;
    const auto same = [&](const Miss& miss) {
      return miss.tuned == op.tuned && miss.why == op.explanation;
    };
    auto miss = std::ranges::find_if(misses, same);
    if (miss == misses.end()) miss = misses.insert(miss, {op.tuned, op.explanation, {}});
    miss->values.push_back(op.value);
  }
  for (const Miss& miss : misses) {
    const char* kind = miss.tuned ? "near" : "untuned";
    std::vector<std::string> lines = NameLines(miss.values);
    if (lines.size() == 1) {
      PrintErr("{}: {}: {}\n", kind, lines.front(), miss.why);
      continue;
    }
    PrintErr("{}: {} operators: {}\n  {}\n", kind, miss.values.size(), miss.why,
             fmt::join(lines, "\n  "));
  }
}

Status GpuNetwork::CheckUnused() const {
  if (device_.device.empty()) return {};
  return InvalidArgument("--device: expected --target cuda with it");
}

Result<GpuNetwork::Order> GpuNetwork::Read(const std::string& file, bool seeded,
                                           const LoadOptions& load) const {
  if (place_.sources.rule != "own") return InvalidArgument("--rule autotvm: needs --target vta");
  if (!place_.sources.tophub.empty()) return InvalidArgument("--tophub: needs --target vta");
  auto target = place_.Parse("cuda");
  TW_RETURN_IF_ERROR(target);
  auto device = device_.Fingerprint(*target);
  TW_RETURN_IF_ERROR(device);
  auto catalog = place_.sources.Open(*target);
  TW_RETURN_IF_ERROR(catalog);
  auto accept = place_.sources.Accept();
  TW_RETURN_IF_ERROR(accept);
  auto graph = LoadForRunning(file, seeded, load);
  TW_RETURN_IF_ERROR(graph);
  Order order;
  order.graph = *std::move(graph);
  order.catalog = std::make_unique<records::Catalog>(*std::move(catalog));
  order.options.target = *std::move(target);
  order.options.device = *std::move(device);
  order.options.catalog = order.catalog.get();
  order.options.accept = *accept;
  order.tells = order.catalog->size() > 0 || place_.asks_for_records();
  return order;
}

Result<ModelLibrary> GpuNetwork::CompileHere(Graph graph, const Order& order) const {
  auto folder = LockedFolder::Create("tilewright-gpu");
  TW_RETURN_IF_ERROR(folder);
  const std::string path = folder->path() + "/net.so";
  auto compiled = Compile(std::move(graph), order.options, path);
  TW_RETURN_IF_ERROR(compiled);
  if (order.tells) PrintMisses(compiled->operators);
  auto library = ModelLibrary::Open(path);  // the file may go while it is loaded
  TW_RETURN_IF_ERROR(library);
  TW_RETURN_IF_ERROR(Prepare(*library));
  return library;
}

Result<int> GpuNetwork::Run(const std::string& file, bool seeded, const InputArguments& inputs,
                            const OutputArguments& outputs, bool json,
                            CheckProgress& progress) const {
  auto order = Read(file, seeded, {});
  TW_RETURN_IF_ERROR(order);
  const std::int64_t made_up = order->graph.made_up_constants;
  auto values = inputs.Make(ValuesOf(order->graph, order->graph.inputs()));
  TW_RETURN_IF_ERROR(values);
  const std::vector<ModelValue> names = ValuesOf(order->graph, order->graph.outputs());
  Result<std::vector<Tensor>> results = std::vector<Tensor>();
  if (device_.simt()) {
    auto emulated = Emulate(std::move(order->graph), order->options, order->tells, &progress);
    if (!emulated.ok()) return emulated.status().WithContext(file);
    results = RunGpu(*emulated->plan, *emulated->executor, *values, nullptr, &progress);
  } else {
    auto library = CompileHere(std::move(order->graph), *order);
    if (!library.ok()) return library.status().WithContext(file);
    results = RunAnnounced(*library, *values, progress);
  }
  TW_RETURN_IF_ERROR(results);
  TW_RETURN_IF_ERROR(outputs.Write(*results));
  if (json) {
    PrintJson(
        {{"outputs", OutputsJson(names, *results)}, {"made_up_constants", MadeUpJson(made_up)}});
  } else {
    PrintOutputs(names, *results);
  }
  return kExitDone;
}

Result<VerifyReport> GpuNetwork::Verify(const std::string& file, bool seeded,
                                        const LoadOptions& load, const InputArguments& inputs,
                                        const VerifyOptions& options) const {
  auto order = Read(file, seeded, load);
  TW_RETURN_IF_ERROR(order);
  auto values = inputs.Make(ValuesOf(order->graph, order->graph.inputs()));
  TW_RETURN_IF_ERROR(values);
  if (device_.simt()) {
    auto emulated =
        Emulate(std::move(order->graph), order->options, order->tells, options.progress);
    if (!emulated.ok()) return emulated.status().WithContext(file);
    return VerifyGpu(*emulated->plan, *emulated->executor, *values, options);
  }
  auto library =
      CompileHere(order->graph.CloneWithout(std::numeric_limits<std::int64_t>::max()), *order);
  if (!library.ok()) return library.status().WithContext(file);
  if (options.progress != nullptr) Announce(*library, *options.progress);
  return tilewright::Verify(std::move(order->graph), *library, *values, options);
}

Status GpuNetwork::Prepare(ModelLibrary& library) const {
  if (!library.on_gpu()) {
    return CheckUnused().WithContext(library.name());
  }
  if (device_.simt()) {
    return InvalidArgument("--device simt: the emulator takes the model file, with --target cuda");
  }
  auto ordinal = device_.Ordinal();
  TW_RETURN_IF_ERROR(ordinal);
  const Status opened = library.UseDevice(CudaApi::kLibrary, *ordinal);
  if (opened.code() != StatusCode::kNotFound) return opened;  // there is a driver and the device
  return NotFound(opened.message() +
                  "; `run` and `verify` of the model file emulate one with --target 'cuda "
                  "-arch=...' --device simt");
}

}  // namespace tilewright::cli
