// serial_bench [--threads N] [--seconds N] FILE...: the time of each operator on all threads
// against its time on one. Two libraries run in turns: as compiled, and with all parallel loops
// serial; times of operators are the minimum. A third library has the operators serial that are
// faster so, by more than 2 %, and is raced with the first one. FILE: .onnx or Relay text. Prints a
// row of a Markdown table for each network.

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "bench/network_rows.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/compiler/plan/plan.h"
#include "src/ir/visit.h"
#include "src/optimize/race.h"

namespace tilewright {
namespace {

Stmt Serial(const Stmt& stmt) {
  std::vector<Stmt> body;
  for (const Stmt& child : stmt->body) body.push_back(Serial(child));
  if (stmt->kind == StmtKind::kFor && stmt->loop == LoopKind::kParallel) {
    return MakeFor(stmt->var, stmt->extent, LoopKind::kSerial, body[0], stmt->attributes);
  }
  return body.empty() ? stmt : WithBody(stmt, std::move(body));
}

/// Gives each step a kernel of its own, serial for those with these results.
void MakeSerial(Plan& plan, const std::set<std::string>& results) {
  std::vector<Program> kernels;
  for (PlanStep& step : plan.steps) {
    auto* kernel = std::get_if<KernelStep>(&step.action);
    if (kernel == nullptr) continue;
    Program program = plan.KernelOf(*kernel);
    if (results.contains(step.report.value)) program.body = Serial(program.body);
    kernel->kernel = static_cast<int>(kernels.size());
    program.name += fmt::format("_{}", kernels.size());
    step.report.kernel = program.name;
    kernels.push_back(std::move(program));
  }
  plan.kernels = std::move(kernels);
}

Status Measure(const NetworkArguments& arguments, BenchNetwork&& source) {
  TW_ASSIGN_OR_RETURN(const auto folder, LockedTempDir::Create("tilewright-serial"));
  std::set<std::string> serial;
  const auto library = [&](const std::string& path) -> Result<ModelLibrary> {
    source.options.change_plan = [&serial](Plan& plan) { MakeSerial(plan, serial); };
    TW_RETURN_IF_ERROR(Compile(source.graph.Clone(), source.options, path));
    return ModelLibrary::Open(path);
  };
  TW_ASSIGN_OR_RETURN(const auto all, library(folder.path() + "/all.so"));
  for (const ModelOperator& one : all.operators()) serial.insert(one.result.name);
  TW_ASSIGN_OR_RETURN(const auto alone, library(folder.path() + "/alone.so"));
  const ModelLibrary* const libraries[] = {&all, &alone};
  optimize::RaceLimits limits;
  limits.seconds = arguments.seconds;
  limits.max_rounds = 1000000;
  TW_ASSIGN_OR_RETURN(const auto seconds, OperatorSeconds(libraries, source.inputs, limits));
  double shared_sum = 0, alone_sum = 0, best_sum = 0;
  serial.clear();
  for (std::size_t i = 0; i < seconds[0].size(); ++i) {
    shared_sum += seconds[0][i];
    alone_sum += seconds[1][i];
    best_sum += std::min(seconds[0][i], seconds[1][i]);
    constexpr double kFaster = 0.98;
    if (seconds[1][i] < kFaster * seconds[0][i]) serial.insert(all.operators()[i].result.name);
  }
  TW_ASSIGN_OR_RETURN(const auto chosen, library(folder.path() + "/chosen.so"));
  const ModelLibrary* const racers[] = {&all, &chosen};
  TW_ASSIGN_OR_RETURN(const auto race, optimize::Race(racers, source.inputs, limits));
  fmt::print("| {} | {} | {:.2f} | {} | {:.3f} | {:.3f} +- {:.3f} |\n", source.name,
             seconds[0].size(), alone_sum / shared_sum, serial.size(), best_sum / shared_sum,
             race[1].ratio, race[1].spread);
  return {};
}

}  // namespace
}  // namespace tilewright

int main(int count, char** texts) {
  using namespace tilewright;
  return MeasureNetworks(
      count, texts, {.threads = 2, .seconds = 5},
      "serial_bench [--threads N] [--seconds N] FILE...",
      "| network | operators | gain of the threads (sums) | faster alone | predicted | race |\n"
      "|---|---|---|---|---|---|\n",
      &Measure);
}
