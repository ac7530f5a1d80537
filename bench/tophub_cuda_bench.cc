// What becomes of the records of an AutoTVM log for CUDA, such as TopHub's package: each is
// applied, lowered and compiled to PTX, on one core. Prints how many are legal, why the others are
// not, and the time per candidate (from config to PTX, without ptxas). Bar: median of
// conv2d_nchw.cuda at most 45 ms. With --ptxas, the device's assembler has to take every PTX for
// its architecture.
//
//   tophub_cuda_bench LOG [--ptxas] [--arch sm_75]

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "records/autotvm/task.h"
#include "src/base/file.h"
#include "src/base/strings.h"
#include "src/codegen/codegen.h"
#include "src/codegen/nvptx/ptxas.h"
#include "src/schedule/lower.h"
#include "src/target/gpu.h"
#include "src/templates/registry.h"

namespace tilewright {
namespace {

struct Counts {
  int records = 0, legal = 0, assembled = 0, spilling = 0;
  std::vector<double> milliseconds;
  std::map<std::string, int> refused;  // by reason, numbers left out
};

/// Processor seconds of this process: one core's time, whatever else the machine does.
double Now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

std::string WithoutNumbers(std::string text) {
  std::string out;
  for (char c : text) {
    if (c < '0' || c > '9') {
      out += c;
    } else if (out.empty() || out.back() != '#') {
      out += '#';
    }
  }
  return out;
}

Result<std::string> Build(const records::LogLine& line, const records::AutotvmInput& input,
                          const Target& target, Counts& counts) {
  if (!input.task.workload) return Unsupported("arguments that are no operator");
  const TemplateEntry* entry = FindTemplate(input.task.name);
  if (entry == nullptr) return Unsupported("no such template");
  const Workload& workload = *input.task.workload;
  if (auto why = entry->refuses(workload, target); !why.empty()) return Unsupported(why);
  Config config;
  for (const records::LogEntity& entity : line.entities) {
    config.values.emplace_back(std::string(entity.name), records::KnobValueOf(line, entity));
  }
  const double start = Now();
  auto kernel = entry->apply(workload, {}, target, config);
  TW_RETURN_IF_ERROR(kernel);
  auto program = Lower(kernel->schedule, "kernel");
  TW_RETURN_IF_ERROR(program);
  auto ptx = Generate({*program}, target, Emit::kAssembly);
  TW_RETURN_IF_ERROR(ptx);
  counts.milliseconds.push_back(1e3 * (Now() - start));
  return ptx;
}

Status Assemble(const std::string& ptxas, const std::string& ptx, const Target& target,
                Counts& counts) {
  auto resources = RunPtxas(ptxas, ptx, *ComputeCapabilityOf(target));
  TW_RETURN_IF_ERROR(resources);
  ++counts.assembled;
  for (const KernelResources& kernel : *resources) {
    counts.spilling += kernel.spill_store_bytes > 0 ? 1 : 0;
  }
  return {};
}

void Print(const std::map<std::string, Counts>& all) {
  for (const auto& [task, c] : all) {
    std::printf("%-28s %4d records, %4d legal; processor ms: median %.1f, p90 %.1f, max %.1f\n",
                task.c_str(), c.records, c.legal, Percentile(c.milliseconds, 0.5),
                Percentile(c.milliseconds, 0.9), Percentile(c.milliseconds, 1));
    if (c.assembled > 0) std::printf("    ptxas took %d, %d spill\n", c.assembled, c.spilling);
    for (const auto& [reason, count] : c.refused) {
      std::printf("    %4d refused: %s\n", count, reason.c_str());
    }
  }
}

int Run(const std::string& path, bool with_ptxas, const std::string& arch) {
  auto text = ReadFile(path, std::int64_t{1} << 30);
  if (!text.ok()) {
    std::fprintf(stderr, "%s\n", text.status().message().c_str());
    return 2;
  }
  const std::string ptxas = with_ptxas ? FindPtxas() : "";
  std::map<std::string, Counts> all;
  records::LogLine line;
  for (const std::string& record : Split(*text, '\n')) {
    if (Trim(record).empty() || record[0] == '#') continue;
    if (!records::ParseLogLine(record, line).ok()) continue;
    auto input = records::ParseAutotvmInput(line);
    if (!input.ok()) continue;
    Counts& counts = all[input->task.name];
    ++counts.records;
    Target target = input->target.target;
    if (!arch.empty()) target.SetOption("arch", arch);
    auto ptx = Build(line, *input, target, counts);
    Status status = ptx.status();
    if (status.ok() && !ptxas.empty()) status = Assemble(ptxas, *ptx, target, counts);
    if (status.ok()) {
      ++counts.legal;
    } else {
      ++counts.refused[WithoutNumbers(status.message())];
    }
  }
  Print(all);
  return 0;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  std::string path, arch;
  bool ptxas = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--ptxas") {
      ptxas = true;
    } else if (argument == "--arch" && i + 1 < argc) {
      arch = argv[++i];
    } else {
      path = argument;
    }
  }
  if (path.empty()) {
    std::fprintf(stderr, "usage: tophub_cuda_bench LOG [--ptxas] [--arch sm_75]\n");
    return 2;
  }
  return tilewright::Run(path, ptxas, arch);
}
