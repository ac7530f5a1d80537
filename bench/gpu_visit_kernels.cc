// Kernels on a device outside of a job: winners of a store, records of a log.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "bench/gpu_visit.h"
#include "records/autotvm/task.h"
#include "src/base/files/file.h"
#include "src/base/strings.h"
#include "src/schedule/tolerance.h"
#include "src/target/library.h"
#include "src/templates/limits.h"
#include "src/templates/registry.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/built_in.h"
#include "tests/templates/device_kernel.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright::bench {
namespace {

constexpr std::uint64_t kSeed = 11;

std::string Named(const VisitArguments& arguments, const std::string& name,
                  const std::string& otherwise) {
  const auto found = arguments.named.find(name);
  return found == arguments.named.end() ? otherwise : found->second;
}

/// Operands and reference results of workloads; keeps the last one.
class References {
 public:
  /// Runs the kernel and compares. Errors: those of each step; kInternal for a wrong result.
  Status Check(const Workload& workload, const Target& target, const Kernel& kernel) {
    TW_ASSIGN_OR_RETURN(const auto program,
                        Lower(kernel.schedule, "kernel", LowerLimitsFor(target)));
    TW_RETURN_IF_ERROR(Prepare(workload));
    TW_ASSIGN_OR_RETURN(auto result,
                        RunProgram(workload, {}, target, program, kernel.layouts, *data_));
    const Comparison comparison = Compare(result, *expected_, ToleranceOf(program));
    if (comparison.ok) return {};
    return Internal("WRONG: element " + std::to_string(comparison.first_bad) + " is " +
                    std::to_string(result.At(comparison.first_bad)) + ", expected " +
                    std::to_string(expected_->At(comparison.first_bad)));
  }

 private:
  Status Prepare(const Workload& workload) {
    if (workload.Key() == key_) return {};
    data_ = std::make_unique<AnchorData>(MakeAnchorData(workload, {}, kSeed));
    TW_ASSIGN_OR_RETURN(auto expected,
                        EvaluateAnchor(workload, {}, data_->data, data_->weight, {}));
    expected_ = std::make_unique<Tensor>(std::move(expected));
    key_ = workload.Key();
    return {};
  }
  std::string key_;
  std::unique_ptr<AnchorData> data_;
  std::unique_ptr<Tensor> expected_;
};

Status CheckWinner(const nlohmann::json& winner, References& references) {
  TW_ASSIGN_OR_RETURN(const auto workload, Workload::Parse(winner.at("task").get<std::string>()));
  TW_ASSIGN_OR_RETURN(const auto target, Target::Parse(winner.at("target").get<std::string>()));
  const auto key = winner.at("template").get<std::string>();
  if (LibraryOfTemplate(key) != nullptr) return Unsupported(key + " calls a library");
  const TemplateEntry* entry = BuiltInTemplates().Find(key);
  if (entry == nullptr) return NotFound("no template " + key);
  TW_ASSIGN_OR_RETURN(const auto config, Config::Parse(winner.at("config").dump()));
  TW_ASSIGN_OR_RETURN(const auto kernel, ApplyTemplate(*entry, workload, {}, target, config));
  return references.Check(workload, target, kernel);
}

/// Record of a log, timed on the device.
struct Timed {
  std::string model, task, workload;
  double recorded = 0, measured = 0;  // seconds
  std::string problem;                // empty: its result was right
};

Status TimeRecord(const records::LogLine& line, const records::AutotvmInput& input,
                  const Target& target, DeviceKernelRunner& device, References& references,
                  Timed& timed) {
  const TemplateEntry* entry = BuiltInTemplates().Find(input.task.name);
  if (entry == nullptr) return NotFound("no template " + input.task.name);
  const Workload& workload = *input.task.workload;
  if (const std::string why = entry->refuses(workload, target); !why.empty()) {
    return Unsupported(why);
  }
  Config config;
  for (const records::LogEntity& entity : line.entities) {
    config.values.emplace_back(std::string(entity.name), records::KnobValueOf(line, entity));
  }
  TW_ASSIGN_OR_RETURN(const auto kernel, entry->apply(workload, {}, target, config));
  TW_RETURN_IF_ERROR(references.Check(workload, target, kernel));
  timed.measured = device.last_seconds();
  return {};
}

/// Returns the keys of the tasks in files that `tasks --json` wrote, separated by commas; empty
/// without files.
Result<std::set<std::string>> KeysOf(const std::string& paths) {
  std::set<std::string> keys;
  if (paths.empty()) return keys;
  for (const std::string& path : Split(paths, ',')) {
    TW_ASSIGN_OR_RETURN(const auto text, ReadFile(path));
    const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("tasks")) return InvalidArgument(path + ": no tasks");
    for (const auto& task : json["tasks"]) keys.insert(task.value("key", ""));
  }
  return keys;
}

void PrintRanks(const std::vector<Timed>& all) {
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> by_model;
  for (const Timed& timed : all) {
    if (!timed.problem.empty()) continue;
    by_model[timed.model].first.push_back(timed.recorded);
    by_model[timed.model].second.push_back(timed.measured);
  }
  for (const auto& [model, times] : by_model) {
    std::printf("%s: %zu records timed, rank correlation of recorded and measured times %.3f\n",
                model.c_str(), times.first.size(), RankCorrelation(times.first, times.second));
  }
}

}  // namespace

int CheckWinners(const VisitArguments& arguments) {
  const auto text = ReadFile(arguments.plain[0]);
  const auto json = text.ok() ? nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false)
                              : nlohmann::json();
  if (!json.is_object() || !json.contains("best")) {
    std::fprintf(stderr, "gpu_visit: %s is not what `records best --json` writes\n",
                 arguments.plain[0].c_str());
    return 2;
  }
  const auto device = OpenDeviceForAll(Named(arguments, "device", "0"));
  if (device == nullptr) return 2;
  References references;
  std::set<std::string> seen;
  int wrong = 0;
  for (const auto& winner : json["best"]) {
    const auto task = winner.value("task", "");
    if (device->broken() || !seen.insert(task).second) continue;  // the first is the best
    const Status status = CheckWinner(winner, references);
    const bool refused = status.code() == StatusCode::kUnsupported;
    wrong += status.ok() || refused ? 0 : 1;
    std::printf("%s %s %s\n",
                status.ok() ? "right"
                : refused   ? "left out"
                            : "WRONG",
                task.c_str(), status.message().c_str());
    std::fflush(stdout);
  }
  device->EndIfBroken();
  return wrong == 0 ? 0 : 1;
}

int TimeLog(const VisitArguments& arguments) {
  const auto text = ReadFile(arguments.plain[0], std::int64_t{1} << 30);
  const auto keys = KeysOf(Named(arguments, "tasks", ""));
  if (!text.ok() || !keys.ok()) {
    const Status& status = text.ok() ? keys.status() : text.status();
    std::fprintf(stderr, "gpu_visit: %s\n", status.message().c_str());
    return 2;
  }
  const std::vector<std::string> models = Split(Named(arguments, "models", "v100,1080ti"), ',');
  const std::string arch = Named(arguments, "arch", "");
  const auto device = OpenDeviceForAll(Named(arguments, "device", "0"));
  if (device == nullptr) return 2;
  device->TimeKernels();
  std::FILE* out = std::fopen(arguments.plain[1].c_str(), "w");
  if (out == nullptr) {
    std::fprintf(stderr, "gpu_visit: %s cannot be written\n", arguments.plain[1].c_str());
    return 2;
  }
  std::fprintf(out, "model\ttemplate\tworkload\trecorded_us\tmeasured_us\tproblem\n");
  References references;
  std::vector<Timed> all;
  int wrong = 0;
  // By workload, so that one reference serves all of its records.
  std::multimap<std::string, std::string> lines;
  records::LogLine line;
  for (const std::string& record : Split(*text, '\n')) {
    if (Trim(record).empty() || record[0] == '#' || !records::ParseLogLine(record, line).ok())
      continue;
    const auto input = records::ParseAutotvmInput(line);
    if (!input.ok() || !input->task.workload) continue;
    const std::string key = input->task.workload->Key();
    const std::string model = input->target.target.Option("model");
    const bool wanted =
        (keys->empty() || keys->contains(key)) && std::ranges::find(models, model) != models.end();
    if (wanted) lines.emplace(key, record);
  }
  for (const auto& [key, record] : lines) {
    if (device->broken() || !records::ParseLogLine(record, line).ok()) continue;
    const auto input = *records::ParseAutotvmInput(line);
    Target target = input.target.target;
    Timed timed{target.Option("model"), input.task.name, key, line.cost(), 0, ""};
    if (!arch.empty()) target.SetOption("arch", arch);
    const Status status = TimeRecord(line, input, target, *device, references, timed);
    timed.problem = status.message();
    wrong += status.code() == StatusCode::kInternal ? 1 : 0;
    std::ranges::replace(timed.problem, '\n', ' ');
    std::fprintf(out, "%s\t%s\t%s\t%.3f\t%.3f\t%s\n", timed.model.c_str(), timed.task.c_str(),
                 key.c_str(), 1e6 * timed.recorded, 1e6 * timed.measured, timed.problem.c_str());
    std::fflush(out);
    all.push_back(timed);
  }
  std::fclose(out);
  std::set<std::string> workloads;
  for (const Timed& timed : all) workloads.insert(timed.workload);
  std::printf("%zu records of %zu workloads, %d wrong\n", all.size(), workloads.size(), wrong);
  PrintRanks(all);
  device->EndIfBroken();
  return wrong == 0 ? 0 : 1;
}

}  // namespace tilewright::bench
