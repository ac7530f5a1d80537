// Kernels for grids against the reference, in the SIMT emulator or on a device: random workloads,
// epilogues and configs of every CUDA template, exactly for integers and within the usual bound for
// floats. Exit code 1 if one of them is wrong, with the case.
//
//   simt_check [PAIRS [SEED [KEY]]] [--device N] [--limit SECONDS]
//
// PAIRS: a number, or a duration: 30s. With KEY, checks only the template of that key, such as
// conv2d_mma.cuda. With --device, kernels run on that GPU with the same random cases, so a failing
// seed can be rerun in the emulator. With --device opencl:N, they are OpenCL C and run on that
// device and in the emulator; the two results are compared, too. A kernel that breaks the device's
// context ends the run. --limit: of a call on the device; a longer one lets the check run at a low
// priority on a device that is this processor.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/amount.h"
#include "src/base/random.h"
#include "src/codegen/simt/simt.h"
#include "src/schedule/lower/lower.h"
#include "src/schedule/tolerance.h"
#include "src/templates/limits.h"
#include "src/templates/registry.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/built_in.h"
#include "tests/templates/device_kernel.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {
namespace {

class Workloads {
 public:
  explicit Workloads(std::uint64_t seed) : random_(seed) {}

  std::string Next() {
    const std::uint64_t kind = random_.Below(10);
    if (kind == 5) return Convolution3x3();
    if (kind > 6) return ForTensorCores(kind);
    const Types types = random_.Below(3) != 0   ? kFloats[random_.Below(2)]
                        : random_.Below(2) == 0 ? Types{"uint8", "int8", "int32"}
                                                : kBytes;
    const bool bytes = types.out == kBytes.out;
    if (kind == 0) {
      const std::string m = random_.Below(2) == 0 ? Number(1, 8) : Number(32, 40);
      return Dense(types, m, Number(1, 40), std::to_string(Unit(bytes) * Value(1, 12)));
    }
    if (kind == 1) {
      return BatchMatmul(types, Number(1, 24), Number(1, 24), Number(1, 24));
    }
    if (kind == 6) return Transposed(types);
    return Convolution(kind, types, Unit(bytes));
  }

 private:
  struct Types {
    std::string data, weight, out;
  };
  inline static const Types kBytes = {"int8", "int8", "int32"};
  inline static const std::array kFloats = {Types{"float32", "float32", "float32"},
                                            Types{"float16", "float16", "float32"}};

  std::string Dense(const Types& types, const std::string& m, const std::string& n,
                    const std::string& k) {
    return "dense(" + types.data + "[" + m + "," + k + "]MK," + types.weight + "[" + n + "," + k +
           "]NK)->" + types.out;
  }
  std::string BatchMatmul(const Types& types, const std::string& m, const std::string& n,
                          const std::string& k) {
    const std::string b = Number(1, 3);
    return "batch_matmul(" + types.data + "[" + b + "," + m + "," + k + "]BMK," + types.weight +
           "[" + b + "," + n + "," + k + "]BNK)->" + types.out;
  }
  /// kind 7: dense, 8: batch_matmul, 9: a convolution, in sizes that suit the instructions.
  std::string ForTensorCores(std::uint64_t kind) {
    Types types = random_.Below(2) == 0 ? kBytes : kFloats[1];
    if (types.data == "float16" && random_.Below(2) == 0) types.out = "float16";
    const auto multiple = [&](std::int64_t unit, std::int64_t most) {
      return std::to_string(unit * Value(1, most));
    };
    if (kind == 7) return Dense(types, multiple(8, 12), multiple(8, 12), multiple(16, 6));
    if (kind == 8) return BatchMatmul(types, multiple(8, 6), multiple(8, 6), multiple(16, 4));
    const std::string channels = Number(1, 70);
    return Conv2d(types, channels, multiple(8, 8), channels, Number(1, 3), "conv2d", "1");
  }

  /// Returns a factor of the channel counts: 4 suits dp4a.
  std::int64_t Unit(bool bytes) { return bytes && random_.Below(4) > 0 ? 4 : 1; }
  std::string Number(std::int64_t low, std::int64_t high) {
    return std::to_string(Value(low, high));
  }
  std::int64_t Value(std::int64_t low, std::int64_t high) {
    return low +
           static_cast<std::int64_t>(random_.Below(static_cast<std::uint64_t>(high - low + 1)));
  }
  std::string Pick(std::vector<std::string> from) { return from[random_.Below(from.size())]; }

  /// kind 2: of one group, 3: depthwise, 4: of several groups.
  std::string Convolution(std::uint64_t kind, const Types& types, std::int64_t unit) {
    const std::int64_t groups = kind == 2 ? 1 : Value(2, 6);
    const std::int64_t per_group = kind == 3 ? 1 : unit * Value(1, 6);
    const std::int64_t outputs = groups * (kind == 3 ? 1 : unit * Value(1, 6));
    const std::string name = kind == 2 ? "conv2d" : kind == 3 ? "depthwise_conv2d" : "group_conv2d";
    return Conv2d(types, std::to_string(groups * per_group), std::to_string(outputs),
                  std::to_string(per_group), Number(1, 4), name, std::to_string(groups));
  }
  std::string Conv2d(const Types& types, const std::string& channels, const std::string& outputs,
                     const std::string& per_group, const std::string& kernel,
                     const std::string& name, const std::string& groups) {
    const std::string pad =
        "p" + Number(0, 2) + "x" + Number(0, 2) + "x" + Number(0, 2) + "x" + Number(0, 2);
    return name + "(" + types.data + "[" + Number(1, 2) + "," + channels + "," + Number(7, 15) +
           "," + Number(7, 15) + "]NCHW," + types.weight + "[" + outputs + "," + per_group + "," +
           kernel + "," + Number(1, 4) + "]OIHW,s" + Number(1, 2) + "x" + Number(1, 2) + "," + pad +
           ",d" + Number(1, 2) + "x" + Number(1, 2) + ",g" + groups + ")->" + types.out;
  }

  /// Returns a workload that Winograd templates serve.
  std::string Convolution3x3() {
    const std::string pad =
        "p" + Number(0, 2) + "x" + Number(0, 2) + "x" + Number(0, 2) + "x" + Number(0, 2);
    const std::string channels = Number(1, 12);
    return "conv2d(float32[" + Number(1, 2) + "," + channels + "," + Number(3, 16) + "," +
           Number(3, 16) + "]NCHW,float32[" + Number(1, 20) + "," + channels + ",3,3]OIHW,s1x1," +
           pad + ",d1x1,g1)->float32";
  }

  std::string Transposed(const Types& types) {
    const std::string channels = Number(1, 12), pad = "p" + Number(0, 1) + "x" + Number(0, 1) +
                                                      "x" + Number(0, 1) + "x" + Number(0, 1);
    const std::int64_t stride_h = Value(1, 3), stride_w = Value(1, 3);
    return "conv2d_transpose(" + types.data + "[" + Number(1, 2) + "," + channels + "," +
           Number(2, 7) + "," + Number(2, 7) + "]NCHW," + types.weight + "[" + channels + "," +
           Number(1, 12) + "," + Number(2, 4) + "," + Number(2, 4) + "]IOHW,s" +
           std::to_string(stride_h) + "x" + std::to_string(stride_w) + "," + pad + ",d1x1,g1,o" +
           Number(0, stride_h - 1) + "x" + Number(0, stride_w - 1) + ")->" + types.out;
  }

  Random random_;
};

struct Tally {
  int checked = 0, refused = 0;
  double worst = 0;  // largest error of a float, relative to the root mean square
};

struct Case {
  const Workload& workload;
  const Epilogue& epilogue;
  const AnchorData& data;
};

/// Runs the kernel in the emulator. Returns how its result differs from the device's; empty: it
/// does not.
std::string DifferenceToEmulator(const Tensor& result, const Program& program,
                                 const KernelLayouts& layouts, const Target& target, const Case& of,
                                 DeviceKernelRunner& device) {
  ExecuteGpuKernelsBy({});
  const auto emulated = RunProgram(of.workload, of.epilogue, target, program, layouts, of.data);
  device.ExecuteAll();
  if (!emulated.ok()) return "in the emulator: " + emulated.status().message();
  const bool same = Compare(result, *emulated, ToleranceOf(program)).ok;
  return same ? "" : "differs from the emulator";
}

/// Returns false if the kernel is wrong.
bool Check(const TemplateEntry& entry, const Workload& workload, const Epilogue& epilogue,
           const Config& config, const Target& target, DeviceKernelRunner* device, Tally& tally) {
  auto kernel = entry.apply(workload, epilogue, target, config);
  const AnchorData data = MakeAnchorData(workload, epilogue, 11);
  const auto program = kernel.ok() ? Lower(kernel->schedule, "tw_kernel", LowerLimitsFor(target))
                                   : Result<Program>(kernel.status());
  auto result = program.ok()
                    ? RunProgram(workload, epilogue, target, *program, kernel->layouts, data)
                    : Result<Tensor>(program.status());
  if (result.status().code() == StatusCode::kInvalidArgument) {
    ++tally.refused;
    return true;
  }
  std::string wrong = result.status().message();
  if (result.ok()) {
    std::vector<const Tensor*> operands;
    for (const Tensor& operand : data.operands) operands.push_back(&operand);
    auto expected = EvaluateAnchor(workload, epilogue, data.data, data.weight, operands);
    TW_CHECK(expected.ok(), expected.status().message());
    const std::optional<double> tolerance = ToleranceOf(*program);
    const Comparison comparison = Compare(*result, *expected, tolerance);
    if (!comparison.ok) wrong = "differs from the reference";
    if (device != nullptr && device->is_opencl() && wrong.empty()) {
      wrong = DifferenceToEmulator(*result, *program, kernel->layouts, target,
                                   {workload, epilogue, data}, *device);
    }
    // Results rounded to float16 or multiplied as tf32 differ by that rounding.
    if (comparison.reference_rms > 0 && result->dtype() != kFloat16 && !tolerance) {
      tally.worst = std::max(tally.worst, comparison.max_abs_error / comparison.reference_rms);
    }
  }
  ++tally.checked;
  if (wrong.empty()) return true;
  std::printf("WRONG %s %s %s: %s\n", std::string(entry.key).c_str(), workload.Key().c_str(),
              config.ToString().c_str(), wrong.c_str());
  return false;
}

/// Returns an epilogue as networks have it for this type, or an empty one.
Epilogue DrawEpilogue(DataType dtype, Random& random) {
  if (random.Below(2) == 0) return Epilogue();
  if (dtype == kInt32) {
    return *Epilogue::Parse("add(channel:int32);shift_right(4);clip(-127,127);cast(int8)");
  }
  if (dtype == kFloat16) return *Epilogue::Parse("add(channel:float16);relu");
  return *Epilogue::Parse("add(channel:float32);relu");
}

int Run(const Amount& amount, std::uint64_t seed, const std::string& only,
        DeviceKernelRunner* device) {
  std::vector<Target> targets = {
      *Target::Parse("cuda -arch=sm_75"), *Target::Parse("cuda -arch=sm_80"),
      *Target::Parse("cuda -arch=sm_80 -tf32"), *Target::Parse("cuda -arch=sm_90")};
  if (device != nullptr && device->is_opencl()) targets = {*Target::Parse("opencl")};
  Workloads workloads(seed);
  Random random(seed + 1);
  std::map<std::string, Tally> tallies;
  int checked = 0, wrong = 0;
  const auto start = std::chrono::steady_clock::now();
  const auto may_go_on = [&] { return device == nullptr || !device->broken(); };
  while (!amount.IsDone(checked) && may_go_on()) {
    auto workload = Workload::Parse(workloads.Next());
    if (!workload.ok()) continue;  // a kernel larger than its data
    const Epilogue epilogue = DrawEpilogue(workload->out_dtype, random);
    const Target& target = targets[random.Below(targets.size())];
    for (const TemplateEntry* entry : BuiltInTemplates().For(*workload, target)) {
      if ((!only.empty() && entry->key != only) || !may_go_on()) continue;
      auto space = entry->define_space(*workload, target);
      TW_CHECK(space.ok(), space.status().message());
      const auto index = random.Below(static_cast<std::uint64_t>(space->size()));
      Tally& tally = tallies[std::string(entry->key)];
      const int before = tally.checked;
      const Config config = space->At(static_cast<std::int64_t>(index));
      wrong += Check(*entry, *workload, epilogue, config, target, device, tally) ? 0 : 1;
      checked += tally.checked - before;
    }
  }
  for (const auto& [key, tally] : tallies) {
    std::printf("%-28s %5d checked, %5d refused, worst error %.1e of the RMS\n", key.c_str(),
                tally.checked, tally.refused, tally.worst);
  }
  std::printf("%d pairs, %d wrong, %.1f s\n", checked, wrong,
              std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  std::unique_ptr<tilewright::DeviceKernelRunner> device;
  double limit_seconds = 0;
  if (arguments.size() >= 2 && arguments[arguments.size() - 2] == "--limit") {
    limit_seconds = std::atof(arguments.back().c_str());
    arguments.resize(arguments.size() - 2);
  }
  if (arguments.size() >= 2 && arguments[arguments.size() - 2] == "--device") {
    device = tilewright::OpenDeviceForAll(arguments.back());
    if (device == nullptr) return 2;
    if (limit_seconds > 0) device->SetLimit(limit_seconds);
    arguments.resize(arguments.size() - 2);
  }
  const auto argument = [&](std::size_t i, const char* otherwise) {
    return arguments.size() > i ? arguments[i] : std::string(otherwise);
  };
  const int result = tilewright::Run(tilewright::Amount(argument(0, "200")),
                                     std::strtoull(argument(1, "1").c_str(), nullptr, 10),
                                     argument(2, ""), device.get());
  if (device != nullptr) device->EndIfBroken();
  return result;
}
