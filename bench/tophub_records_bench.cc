// Compiles the records of a family of AutoTVM's templates in logs such as TopHub's packages
// (arm_cpu, mali, intel_graphics, image2d): each is located in the space of its template, applied,
// lowered and compiled for its own target. Prints how many are compiled, how many have the index of
// the record, and why the others are refused. With --run, every record of a sample of COUNT records
// of each template runs and is compared with the reference: records of at most MEGAMACS million
// multiply-accumulates, spread over the file. Exit code 1 if a record is refused or a result is
// wrong. Code for Arm runs under qemu-user; boards with kinds of targets that the emulator lacks
// run as the Linux target of their architecture. Grids run in the emulator of threads, or with
// --device on an OpenCL device, whose driver then compiles every record. --state stores the result
// of each record in a file, from which an interrupted run continues.
//
//   tophub_records_bench LOG... [--family NAME] [--task NAME] [--run COUNT] [--megamacs MEGAMACS]
//                        [--device opencl:N] [--state FILE]

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "records/autotvm/task.h"
#include "src/base/files/file.h"
#include "src/base/strings.h"
#include "src/codegen/codegen.h"
#include "src/schedule/lower/lower.h"
#include "src/target/cpu.h"
#include "src/target/device.h"
#include "src/templates/limits.h"
#include "src/templates/registry.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/autotvm_candidate.h"
#include "tests/templates/device_kernel.h"
#include "tests/templates/emulated_kernel.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {
namespace {

struct Options {
  std::vector<std::string> paths;
  std::string family = "arm_cpu", task, state, device;
  int run = 0;  ///< records of each template
  double megamacs = 30;
};

/// Result of one record.
struct Fate {
  std::string task;
  bool same_index = false, ran = false;
  double error = 0;     // relative to the root mean square
  std::string refused;  // why; empty: legal, and right if it ran

  /// Formats a line of the file of --state, without its line end.
  std::string ToLine() const {
    return fmt::format("{}\t{:d}\t{:d}\t{:.3e}\t{}", task, same_index, ran, error, refused);
  }
  static Fate FromLine(const std::string& line) {
    const std::vector<std::string> parts = Split(line, '\t');
    constexpr std::size_t kParts = 5;
    if (parts.size() != kParts) return {};
    return {parts[0], parts[1] == "1", parts[2] == "1", std::strtod(parts[3].c_str(), nullptr),
            parts[4]};
  }
};

struct Counts {
  int records = 0, legal = 0, same_index = 0, right = 0;
  double worst = 0;
  std::vector<std::string> refused;
};

/// Returns the target that the emulator can run: Linux, with the features of the given one.
Target EmulatedTarget(const Target& target) {
  const bool wide = ArchitectureOf(target) == "aarch64";
  Target emulated = target;
  emulated.SetOption("mtriple", wide ? "aarch64-linux-gnu" : "armv7l-linux-gnueabihf");
  return emulated;
}

struct Built {
  Workload workload;
  KernelLayouts layouts;
  Program program;
};

bool IsGrid(const Target& target) { return DeviceTraitsOf(target).launches_grids; }

/// Makes the candidate that `--rule autotvm` serves and compiles it for the record's own target.
/// device: compiles grids, too, if it is not null.
Result<Built> Build(const records::LogLine& line, const records::AutotvmInput& input,
                    DeviceKernelRunner* device, Fate& fate) {
  const Target& target = input.target.target;
  if (!input.task.workload) return Unsupported("arguments that are no operator here");
  TW_ASSIGN_OR_RETURN(const auto candidate, CandidateOfLine(line));
  fate.same_index = candidate.config.index == line.index;
  const TemplateEntry* entry = BuiltInTemplates().Find(candidate.template_key);
  const Workload& workload = candidate.task.workload;
  TW_ASSIGN_OR_RETURN(auto kernel, entry->apply(workload, {}, target, candidate.config));
  TW_ASSIGN_OR_RETURN(const auto program,
                      Lower(kernel.schedule, "tw_kernel", LowerLimitsFor(target)));
  if (!IsGrid(target)) {
    TW_RETURN_IF_ERROR(Generate({program}, target, Emit::kObject));
  } else if (device != nullptr) {
    TW_RETURN_IF_ERROR(device->Compile(program, target));
  } else {
    TW_RETURN_IF_ERROR(Generate({program}, target, Emit::kAssembly));
  }
  return Built{workload, kernel.layouts, program};
}

Status Verify(const Built& built, const Target& target, Fate& fate) {
  const AnchorData data = MakeAnchorData(built.workload, {}, 11);
  TW_ASSIGN_OR_RETURN(const auto expected,
                      EvaluateAnchor(built.workload, {}, data.data, data.weight, {}));
  const Target run_on = IsGrid(target) ? target : EmulatedTarget(target);
  TW_ASSIGN_OR_RETURN(const auto result,
                      RunProgram(built.workload, {}, run_on, built.program, built.layouts, data));
  const Comparison comparison = Compare(result, expected);
  if (!comparison.ok) return Internal("WRONG: differs from the reference");
  fate.ran = true;
  if (comparison.reference_rms > 0)
    fate.error = comparison.max_abs_error / comparison.reference_rms;
  return {};
}

Fate Try(const records::LogLine& line, const records::AutotvmInput& input,
         DeviceKernelRunner* device, bool runs) {
  Fate fate;
  fate.task = input.task.name;
  auto built = Build(line, input, device, fate);
  Status status = built.status();
  if (status.ok() && runs) status = Verify(*built, input.target.target, fate);
  if (!status.ok()) fate.refused = status.message();
  std::ranges::replace_if(
      fate.refused, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return fate;
}

struct Record {
  std::string text, place;
  bool runs = false;
};

/// Returns the records of the family, and marks those that run: of each template, `run` of those
/// that are small enough, at equal distances.
Result<std::vector<Record>> ReadRecords(const Options& options) {
  std::vector<Record> list;
  std::map<std::string, std::vector<std::size_t>> small;
  records::LogLine line;
  for (const std::string& path : options.paths) {
    TW_ASSIGN_OR_RETURN(const auto text, ReadFile(path));
    int number = 0;
    for (const std::string& each : Split(text, '\n')) {
      ++number;
      if (Trim(each).empty() || each[0] == '#' || !records::ParseLogLine(each, line).ok()) continue;
      const auto input = records::ParseAutotvmInput(line);
      if (!input.ok() || !input->task.name.ends_with("." + options.family)) continue;
      if (!options.task.empty() && input->task.name != options.task) continue;
      const bool is_small =
          input->task.workload && input->task.workload->macs() <= 1e6 * options.megamacs;
      if (is_small) small[input->task.name].push_back(list.size());
      list.push_back({each, fmt::format("{}:{}", path.substr(path.rfind('/') + 1), number)});
    }
  }
  for (const auto& [task, places] : small) {
    const auto count = static_cast<std::size_t>(std::max(options.run, 0));
    for (std::size_t i = 0; i < std::min(count, places.size()); ++i) {
      list[places[i * places.size() / std::min(count, places.size())]].runs = true;
    }
  }
  return list;
}

int Run(const Options& options, DeviceKernelRunner* device) {
  const auto list = ReadRecords(options);
  if (!list.ok()) {
    std::fprintf(stderr, "%s\n", list.status().message().c_str());
    return 2;
  }
  std::vector<std::string> known;
  if (!options.state.empty() && FileExists(options.state)) {
    if (const auto earlier = ReadFile(options.state); earlier.ok()) known = Split(*earlier, '\n');
    if (!known.empty()) known.pop_back();
  }
  std::ofstream state;
  if (!options.state.empty()) {
    state.open(options.state);
    for (const std::string& fate : known) state << fate << '\n';
  }
  std::map<std::string, Counts> all;
  records::LogLine line;
  std::size_t done = 0;
  for (const Record& record : *list) {
    const bool resumed = done < known.size();
    Fate fate;
    if (resumed) {
      fate = Fate::FromLine(known[done]);
    } else {
      (void)records::ParseLogLine(record.text, line);
      fate = Try(line, *records::ParseAutotvmInput(line), device, record.runs);
      if (state.is_open()) state << fate.ToLine() << std::endl;
    }
    ++done;
    Counts& counts = all[fate.task];
    ++counts.records;
    counts.legal += fate.refused.empty() ? 1 : 0;
    counts.same_index += fate.same_index ? 1 : 0;
    counts.right += fate.ran ? 1 : 0;
    counts.worst = std::max(counts.worst, fate.error);
    if (!fate.refused.empty()) {
      counts.refused.push_back(fmt::format("{}: {}", record.place, fate.refused));
    }
  }
  bool good = !all.empty();
  for (const auto& [task, c] : all) {
    fmt::print("{:<34} {:4} records: {} compiled, {} with the recorded index\n", task, c.records,
               c.legal, c.same_index);
    if (c.right > 0) {
      fmt::print("    ran: {} right, worst error {:.1e} of the RMS\n", c.right, c.worst);
    }
    for (const std::string& reason : c.refused) fmt::print("    {}\n", reason);
    good = good && c.refused.empty();
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  tilewright::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--run" && i + 1 < argc) {
      options.run = std::atoi(argv[++i]);
    } else if (argument == "--megamacs" && i + 1 < argc) {
      options.megamacs = std::atof(argv[++i]);
    } else if (argument == "--task" && i + 1 < argc) {
      options.task = argv[++i];
    } else if (argument == "--family" && i + 1 < argc) {
      options.family = argv[++i];
    } else if (argument == "--device" && i + 1 < argc) {
      options.device = argv[++i];
    } else if (argument == "--state" && i + 1 < argc) {
      options.state = argv[++i];
    } else {
      options.paths.push_back(argument);
    }
  }
  if (options.paths.empty()) {
    std::fprintf(stderr,
                 "usage: tophub_records_bench LOG... [--family NAME] [--task NAME] [--run COUNT] "
                 "[--megamacs MEGAMACS] [--device opencl:N] [--state FILE]\n");
    return 2;
  }
  tilewright::ExecuteForeignKernelsBy(&tilewright::RunEmulatedKernel);
  std::unique_ptr<tilewright::DeviceKernelRunner> device;
  if (!options.device.empty()) {
    device = tilewright::OpenDeviceForAll(options.device);
    if (device == nullptr) return 2;
  }
  const int result = tilewright::Run(options, device.get());
  if (device != nullptr) device->EndIfBroken();
  return result;
}
