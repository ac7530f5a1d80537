// Compiles the records of an AutoTVM log for CUDA, such as TopHub's package: each is applied,
// lowered and compiled to PTX, on one core. Prints how many are legal, why the others are not, and
// the time per candidate (from config to PTX, without ptxas). Bar: median of conv2d_nchw.cuda at
// most 45 ms. With --ptxas, the device's assembler has to accept every PTX for its architecture.
// With --simt, records of at most MEGAMACS million multiply-accumulates (larger ones take too long)
// run in the SIMT emulator and are compared with the reference; with --device, on that device
// (2, opencl:0). --target compiles the records for another target than their own, with their -model
// if TEXT has no options (rocm). For AMD GPUs, code objects are linked, and the registers and the
// memory that their metadata state have to be within the limits of the processor. --task selects
// the records of one template. --state stores the result of each record in a file, from which an
// interrupted run continues.
//
//   tophub_cuda_bench LOG [--ptxas] [--arch sm_75] [--simt MEGAMACS] [--device DEVICE]
//                     [--target TEXT] [--task NAME] [--state FILE]

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "records/autotvm/task.h"
#include "src/base/files/file.h"
#include "src/base/math.h"
#include "src/base/strings.h"
#include "src/codegen/amdgpu/code_object.h"
#include "src/codegen/codegen.h"
#include "src/codegen/nvptx/ptxas.h"
#include "src/schedule/launch.h"
#include "src/schedule/lower/lower.h"
#include "src/target/device.h"
#include "src/target/gpu.h"
#include "src/templates/limits.h"
#include "src/templates/registry.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/autotvm_candidate.h"
#include "tests/templates/device_kernel.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {
namespace {

/// Result of one record.
struct Fate {
  std::string task;
  bool simulated = false, assembled = false, spilling = false;
  double milliseconds = -1;        // processor time; negative: no PTX was generated
  double error = 0;                // largest in the emulator, relative to the root mean square
  int registers = 0;               // largest number of vector registers of a code object's kernels
  std::int64_t private_bytes = 0;  // largest private memory of a thread of them
  std::string refused;             // why; empty: it is legal

  /// Formats a line of the file of --state, without its line end.
  std::string ToLine() const {
    std::string line = task + '\t' + std::to_string(milliseconds);
    for (const bool flag : {simulated, assembled, spilling}) line += flag ? "\t1" : "\t0";
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "\t%.3e\t%d\t", error, registers);
    return line + text.data() + std::to_string(private_bytes) + '\t' + refused;
  }
  static Fate FromLine(const std::string& line) {
    const std::vector<std::string> parts = Split(line, '\t');
    constexpr std::size_t kParts = 9;
    if (parts.size() != kParts) return {};
    const auto number = [&](std::size_t i) { return std::strtod(parts[i].c_str(), nullptr); };
    return {parts[0],
            parts[2] == "1",
            parts[3] == "1",
            parts[4] == "1",
            number(1),
            number(5),
            static_cast<int>(number(6)),
            static_cast<std::int64_t>(number(7)),
            parts[8]};
  }
};

struct Counts {
  int records = 0, legal = 0, assembled = 0, spilling = 0, verified = 0, registers = 0;
  std::int64_t private_bytes = 0;
  double worst = 0;  // largest error in the emulator, relative to the root mean square
  std::vector<double> milliseconds;
  std::map<std::string, int> refused;  // by reason, without numbers
};

/// Returns the processor seconds of this process: one core's time, independent of other load.
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
  KernelLayouts layouts;
  Program program;
  std::string code;
};

Result<Built> Build(const records::LogLine& line, const records::AutotvmInput& input,
                    const Target& target, Fate& fate) {
  if (!input.task.workload) {
    return Unsupported(input.task.malformed_tensor ? "a tensor of four items, expected three"
                                                   : "arguments that are no operator here");
  }
  const TemplateEntry* entry = BuiltInTemplates().Find(input.task.name);
  if (entry == nullptr) return Unsupported("no such template");
  const Workload& workload = *input.task.workload;
  if (auto why = entry->refuses(workload, target); !why.empty()) return Unsupported(why);
  const Config config = ConfigOfLine(line);
  const double start = Now();
  TW_ASSIGN_OR_RETURN(auto kernel, entry->apply(workload, {}, target, config));
  TW_ASSIGN_OR_RETURN(auto program, Lower(kernel.schedule, "tw_kernel", LowerLimitsFor(target)));
  TW_ASSIGN_OR_RETURN(auto code, Generate({program}, target, Emit::kObject));
  fate.milliseconds = 1e3 * (Now() - start);
  return Built{workload, kernel.layouts, std::move(program), std::move(code)};
}

/// Checks the metadata of a code object. Errors: kInternal for what exceeds a limit.
Status CheckCodeObject(const Built& built, const Target& target, Fate& fate) {
  constexpr int kMaxRegisters = 256;
  TW_ASSIGN_OR_RETURN(const auto limits, LimitsOf(target));
  TW_ASSIGN_OR_RETURN(const auto kernels, ResourcesOfCodeObject(built.code));
  const LaunchPlan plan = PlanLaunches(built.program);
  if (kernels.size() != plan.launches.size()) return Internal("not a kernel for each launch");
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const AmdKernelResources& kernel = kernels[i];
    const auto launch = std::ranges::find(plan.launches, kernel.kernel, &Launch::name);
    if (launch == plan.launches.end()) return Internal("no launch " + kernel.kernel);
    const std::int64_t local = kernel.local_bytes + launch->dynamic_shared_bytes();
    if (local > limits.block_shared_bytes ||
        RoundUp(local, kSharedAlignment) < launch->shared_bytes ||
        kernel.vector_registers > kMaxRegisters || kernel.threads != launch->threads()) {
      return Internal(kernel.kernel + ": metadata beyond the limits, or not those of the launch");
    }
    fate.registers = std::max(fate.registers, kernel.vector_registers);
    fate.private_bytes = std::max(fate.private_bytes, kernel.private_bytes);
    fate.spilling = fate.private_bytes > 0;
  }
  fate.assembled = true;
  return {};
}

Status Assemble(const std::string& ptxas, const std::string& ptx, const Target& target,
                Fate& fate) {
  TW_ASSIGN_OR_RETURN(auto resources, RunPtxas(ptxas, ptx, *ComputeCapabilityOf(target)));
  fate.assembled = true;
  fate.spilling = std::any_of(resources.begin(), resources.end(),
                              [](const KernelResources& k) { return k.spill_store_bytes > 0; });
  return {};
}

Status Verify(const Built& built, const Target& target, Fate& fate) {
  const AnchorData data = MakeAnchorData(built.workload, {}, 11);
  TW_ASSIGN_OR_RETURN(auto result,
                      RunProgram(built.workload, {}, target, built.program, built.layouts, data));
  TW_ASSIGN_OR_RETURN(auto expected,
                      EvaluateAnchor(built.workload, {}, data.data, data.weight, {}));
  const Comparison comparison = Compare(result, expected);
  if (!comparison.ok) return Internal("WRONG: differs from the reference");
  fate.simulated = true;
  fate.error = comparison.max_abs_error / comparison.reference_rms;
  return {};
}

void Add(const Fate& fate, Counts& counts) {
  ++counts.records;
  counts.legal += fate.refused.empty() ? 1 : 0;
  counts.assembled += fate.assembled ? 1 : 0;
  counts.spilling += fate.spilling ? 1 : 0;
  counts.verified += fate.simulated ? 1 : 0;
  counts.worst = std::max(counts.worst, fate.error);
  counts.registers = std::max(counts.registers, fate.registers);
  counts.private_bytes = std::max(counts.private_bytes, fate.private_bytes);
  if (fate.milliseconds >= 0) counts.milliseconds.push_back(fate.milliseconds);
  if (!fate.refused.empty()) ++counts.refused[WithoutNumbers(fate.refused)];
}

void Print(const std::map<std::string, Counts>& all, const std::string& device) {
  for (const auto& [task, c] : all) {
    std::printf("%-28s %4d records, %4d legal; processor ms: median %.1f, p90 %.1f, max %.1f\n",
                task.c_str(), c.records, c.legal, Percentile(c.milliseconds, 0.5),
                Percentile(c.milliseconds, 0.9), Percentile(c.milliseconds, 1));
    if (c.registers > 0) {
      std::printf(
          "    %d code objects, at most %d vector registers, %d with private memory (at most %lld "
          "bytes)\n",
          c.assembled, c.registers, c.spilling, static_cast<long long>(c.private_bytes));
    } else if (c.assembled > 0) {
      std::printf("    ptxas took %d, %d spill\n", c.assembled, c.spilling);
    }
    if (c.verified > 0) {
      std::printf("    %s: %d right, worst error %.1e of the RMS\n",
                  device.empty() ? "simt" : device.c_str(), c.verified, c.worst);
    }
    for (const auto& [reason, count] : c.refused) {
      std::printf("    %4d refused: %s\n", count, reason.c_str());
    }
  }
}

struct Options {
  std::string path, arch, task, state, device, target;
  bool ptxas = false;
  double simt_megamacs = 0;  // 0: runs nothing
};

Fate Try(const records::LogLine& line, const records::AutotvmInput& input, const Options& options,
         const std::string& ptxas) {
  Fate fate;
  fate.task = input.task.name;
  const Target& own = input.target.target;
  Target target = options.target.empty() ? own : *Target::Parse(options.target);
  if (target.options().empty() && !own.Option("model").empty()) {
    target.SetOption("model", own.Option("model"));
  }
  if (!options.arch.empty()) target.SetOption("arch", options.arch);
  auto built = Build(line, input, target, fate);
  Status status = built.status();
  if (status.ok() && DeviceTraitsOf(target).grids_are_code_objects) {
    status = CheckCodeObject(*built, target, fate);
  }
  if (status.ok() && !ptxas.empty()) status = Assemble(ptxas, built->code, target, fate);
  if (status.ok() && built->workload.macs() <= 1e6 * options.simt_megamacs) {
    status = Verify(*built, target, fate);
  }
  if (!status.ok()) fate.refused = status.message();
  std::replace_if(
      fate.refused.begin(), fate.refused.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return fate;
}

/// Returns the results of earlier runs, in the order of the records.
std::vector<std::string> ReadEarlierResults(const std::string& path) {
  if (path.empty() || !FileExists(path)) return {};
  auto text = ReadFile(path);
  if (!text.ok()) return {};
  std::vector<std::string> lines = Split(*text, '\n');
  lines.pop_back();  // after the last end of line: nothing, or a truncated line
  return lines;
}

int Run(const Options& options) {
  auto text = ReadFile(options.path, std::int64_t{1} << 30);
  if (!text.ok()) {
    std::fprintf(stderr, "%s\n", text.status().message().c_str());
    return 2;
  }
  const std::string ptxas = options.ptxas ? FindPtxas() : "";
  const std::vector<std::string> known = ReadEarlierResults(options.state);
  std::ofstream state;
  if (!options.state.empty()) {
    state.open(options.state, std::ios::trunc);
    for (const std::string& fate : known) state << fate << '\n';
  }
  std::map<std::string, Counts> all;
  records::LogLine line;
  std::size_t done = 0;
  for (const std::string& record : Split(*text, '\n')) {
    if (Trim(record).empty() || record[0] == '#') continue;
    if (!records::ParseLogLine(record, line).ok()) continue;
    auto input = records::ParseAutotvmInput(line);
    if (!input.ok() || (!options.task.empty() && input->task.name != options.task)) continue;
    const bool resumed = done < known.size();
    const Fate fate = resumed ? Fate::FromLine(known[done]) : Try(line, *input, options, ptxas);
    ++done;
    if (!resumed && state.is_open()) state << fate.ToLine() << std::endl;
    Add(fate, all[fate.task]);
  }
  Print(all, options.device);
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
    } else if (argument == "--task" && i + 1 < argc) {
      options.task = argv[++i];
    } else if (argument == "--device" && i + 1 < argc) {
      options.device = argv[++i];
    } else if (argument == "--target" && i + 1 < argc) {
      options.target = argv[++i];
    } else if (argument == "--state" && i + 1 < argc) {
      options.state = argv[++i];
    } else {
      options.path = argument;
    }
  }
  if (options.path.empty()) {
    std::fprintf(
        stderr,
        "usage: tophub_cuda_bench LOG [--ptxas] [--arch sm_75] [--simt MEGAMACS] [--device "
        "DEVICE] [--target TEXT] [--task NAME] [--state FILE]\n");
    return 2;
  }
  std::unique_ptr<tilewright::DeviceKernelRunner> device;
  if (!options.device.empty()) {
    device = tilewright::OpenDeviceForAll(options.device);
    if (device == nullptr) return 2;
  }
  const int result = tilewright::Run(options);
  if (device != nullptr) device->EndIfBroken();
  return result;
}
