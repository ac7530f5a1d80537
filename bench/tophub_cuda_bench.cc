// What becomes of the records of an AutoTVM log for CUDA, such as TopHub's package: each is
// applied, lowered and compiled to PTX, on one core. Prints how many are legal, why the others are
// not, and the time per candidate (from config to PTX, without ptxas). Bar: median of
// conv2d_nchw.cuda at most 45 ms. With --ptxas, the device's assembler has to take every PTX for
// its architecture. With --simt, records of at most so many million multiply-accumulates (the
// others take too long) run in the simulator of threads and are compared with the reference.
//
//   tophub_cuda_bench LOG [--ptxas] [--arch sm_75] [--simt MEGAMACS]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
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
#include "src/tensor/reference.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {
namespace {

struct Counts {
  int records = 0, legal = 0, assembled = 0, spilling = 0, verified = 0;
  double worst = 0;  // largest error in the simulator, as a part of the root mean square
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

struct Built {
  Workload workload;
  AnchorForm form;
  Program program;
  std::string ptx;
};

Result<Built> Build(const records::LogLine& line, const records::AutotvmInput& input,
                    const Target& target, Counts& counts) {
  if (!input.task.workload) {
    return Unsupported(input.task.malformed_tensor ? "a tensor of four items, expected three"
                                                   : "arguments that are no operator here");
  }
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
  return Built{workload, kernel->form, *std::move(program), *std::move(ptx)};
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

Status Verify(const Built& built, const Target& target, Counts& counts) {
  const AnchorData data = MakeAnchorData(built.workload, {}, 11);
  auto result = RunProgram(built.workload, {}, target, built.program, built.form, data);
  TW_RETURN_IF_ERROR(result);
  auto expected = EvaluateAnchor(built.workload, {}, data.data, data.weight, {});
  TW_RETURN_IF_ERROR(expected);
  const Comparison comparison = Compare(*result, *expected);
  if (!comparison.ok) return Internal("WRONG: differs from the reference");
  ++counts.verified;
  counts.worst = std::max(counts.worst, comparison.max_abs_error / comparison.reference_rms);
  return {};
}

void Print(const std::map<std::string, Counts>& all) {
  for (const auto& [task, c] : all) {
    std::printf("%-28s %4d records, %4d legal; processor ms: median %.1f, p90 %.1f, max %.1f\n",
                task.c_str(), c.records, c.legal, Percentile(c.milliseconds, 0.5),
                Percentile(c.milliseconds, 0.9), Percentile(c.milliseconds, 1));
    if (c.assembled > 0) std::printf("    ptxas took %d, %d spill\n", c.assembled, c.spilling);
    if (c.verified > 0) {
      std::printf("    simt: %d right, worst error %.1e of the RMS\n", c.verified, c.worst);
    }
    for (const auto& [reason, count] : c.refused) {
      std::printf("    %4d refused: %s\n", count, reason.c_str());
    }
  }
}

struct Options {
  std::string path, arch;
  bool ptxas = false;
  double simt_megamacs = 0;  // 0: nothing is run
};

int Run(const Options& options) {
  auto text = ReadFile(options.path, std::int64_t{1} << 30);
  if (!text.ok()) {
    std::fprintf(stderr, "%s\n", text.status().message().c_str());
    return 2;
  }
  const std::string ptxas = options.ptxas ? FindPtxas() : "";
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
    if (!options.arch.empty()) target.SetOption("arch", options.arch);
    auto built = Build(line, *input, target, counts);
    Status status = built.status();
    if (status.ok() && !ptxas.empty()) status = Assemble(ptxas, built->ptx, target, counts);
    if (status.ok() && built->workload.macs() <= 1e6 * options.simt_megamacs) {
      status = Verify(*built, target, counts);
    }
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
  tilewright::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--ptxas") {
      options.ptxas = true;
    } else if (argument == "--arch" && i + 1 < argc) {
      options.arch = argv[++i];
    } else if (argument == "--simt" && i + 1 < argc) {
      options.simt_megamacs = std::atof(argv[++i]);
    } else {
      options.path = argument;
    }
  }
  if (options.path.empty()) {
    std::fprintf(stderr,
                 "usage: tophub_cuda_bench LOG [--ptxas] [--arch sm_75] [--simt MEGAMACS]\n");
    return 2;
  }
  return tilewright::Run(options);
}
