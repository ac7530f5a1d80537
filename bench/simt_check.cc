// Kernels for CUDA against the reference, in the simulator of threads: random workloads, epilogues
// and configs of every CUDA template, exactly for integers and within the usual bound for floats.
// Ends with 1 if one of them is wrong, and says which.
//
//   simt_check [PAIRS [SEED]]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "src/base/random.h"
#include "src/codegen/simt/simt.h"
#include "src/templates/registry.h"
#include "src/tensor/reference.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {
namespace {

class Workloads {
 public:
  explicit Workloads(std::uint64_t seed) : random_(seed) {}

  std::string Next() {
    const bool bytes = random_.Below(3) == 0;
    const std::string in = bytes ? Pick({"int8", "uint8"}) : "float32";
    const std::string weight = bytes ? "int8" : "float32", out = bytes ? "int32" : "float32";
    const std::uint64_t kind = random_.Below(7);
    if (kind == 0) {
      const std::string k = std::to_string(Unit(bytes) * Value(1, 12));
      const std::string m = random_.Below(2) == 0 ? Number(1, 8) : Number(32, 40);
      return "dense(" + in + "[" + m + "," + k + "]MK," + weight + "[" + Number(1, 40) + "," + k +
             "]NK)->" + out;
    }
    if (kind == 1) {
      const std::string k = Number(1, 24), b = Number(1, 3);
      return "batch_matmul(" + in + "[" + b + "," + Number(1, 24) + "," + k + "]BMK," + weight +
             "[" + b + "," + Number(1, 24) + "," + k + "]BNK)->" + out;
    }
    if (kind == 5) return Convolution3x3();
    if (kind == 6) return Transposed(in, weight, out);
    return Convolution(kind, in, weight, out, Unit(bytes));
  }

 private:
  /// What channels come in multiples of: 4 suits dp4a.
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
  std::string Convolution(std::uint64_t kind, const std::string& in, const std::string& weight,
                          const std::string& out, std::int64_t unit) {
    const std::int64_t groups = kind == 2 ? 1 : Value(2, 6);
    const std::int64_t per_group = kind == 3 ? 1 : unit * Value(1, 6);
    const std::int64_t outputs = groups * (kind == 3 ? 1 : unit * Value(1, 6));
    const std::string name = kind == 2 ? "conv2d" : kind == 3 ? "depthwise_conv2d" : "group_conv2d";
    const std::string pad =
        "p" + Number(0, 2) + "x" + Number(0, 2) + "x" + Number(0, 2) + "x" + Number(0, 2);
    return name + "(" + in + "[" + Number(1, 2) + "," + std::to_string(groups * per_group) + "," +
           Number(7, 15) + "," + Number(7, 15) + "]NCHW," + weight + "[" + std::to_string(outputs) +
           "," + std::to_string(per_group) + "," + Number(1, 4) + "," + Number(1, 4) + "]OIHW,s" +
           Number(1, 2) + "x" + Number(1, 2) + "," + pad + ",d" + Number(1, 2) + "x" +
           Number(1, 2) + ",g" + std::to_string(groups) + ")->" + out;
  }

  /// One that Winograd serves.
  std::string Convolution3x3() {
    const std::string pad =
        "p" + Number(0, 2) + "x" + Number(0, 2) + "x" + Number(0, 2) + "x" + Number(0, 2);
    const std::string channels = Number(1, 12);
    return "conv2d(float32[" + Number(1, 2) + "," + channels + "," + Number(3, 16) + "," +
           Number(3, 16) + "]NCHW,float32[" + Number(1, 20) + "," + channels + ",3,3]OIHW,s1x1," +
           pad + ",d1x1,g1)->float32";
  }

  std::string Transposed(const std::string& in, const std::string& weight, const std::string& out) {
    const std::string channels = Number(1, 12), pad = "p" + Number(0, 1) + "x" + Number(0, 1) +
                                                      "x" + Number(0, 1) + "x" + Number(0, 1);
    const std::int64_t stride_h = Value(1, 3), stride_w = Value(1, 3);
    return "conv2d_transpose(" + in + "[" + Number(1, 2) + "," + channels + "," + Number(2, 7) +
           "," + Number(2, 7) + "]NCHW," + weight + "[" + channels + "," + Number(1, 12) + "," +
           Number(2, 4) + "," + Number(2, 4) + "]IOHW,s" + std::to_string(stride_h) + "x" +
           std::to_string(stride_w) + "," + pad + ",d1x1,g1,o" + Number(0, stride_h - 1) + "x" +
           Number(0, stride_w - 1) + ")->" + out;
  }

  Random random_;
};

struct Tally {
  int checked = 0, refused = 0;
  double worst = 0;  // largest error of a float, as a part of the root mean square
};

/// False if the kernel is wrong.
bool Check(const TemplateEntry& entry, const Workload& workload, const Epilogue& epilogue,
           const Config& config, const Target& target, Tally& tally) {
  auto kernel = entry.apply(workload, epilogue, target, config);
  const AnchorData data = MakeAnchorData(workload, epilogue, 11);
  auto result = kernel.ok() ? RunKernel(workload, epilogue, target, *kernel, data)
                            : Result<Tensor>(kernel.status());
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
    const Comparison comparison = Compare(*result, *expected);
    if (!comparison.ok) wrong = "differs from the reference";
    if (comparison.reference_rms > 0) {
      tally.worst = std::max(tally.worst, comparison.max_abs_error / comparison.reference_rms);
    }
  }
  ++tally.checked;
  if (wrong.empty()) return true;
  std::printf("WRONG %s %s %s: %s\n", std::string(entry.key).c_str(), workload.Key().c_str(),
              config.ToString().c_str(), wrong.c_str());
  return false;
}

int Run(int pairs, std::uint64_t seed) {
  const Target target = *Target::Parse("cuda -arch=sm_75");
  Workloads workloads(seed);
  Random random(seed + 1);
  std::map<std::string, Tally> tallies;
  int checked = 0, wrong = 0;
  const auto start = std::chrono::steady_clock::now();
  while (checked < pairs) {
    auto workload = Workload::Parse(workloads.Next());
    if (!workload.ok()) continue;  // a kernel larger than its data
    const bool bytes = workload->out_dtype == kInt32;
    const Epilogue epilogue =
        *Epilogue::Parse(random.Below(2) == 0 ? ""
                         : bytes ? "add(channel:int32);shift_right(4);clip(-127,127);cast(int8)"
                                 : "add(channel:float32);relu");
    for (const TemplateEntry* entry : TemplatesFor(*workload, target)) {
      auto space = entry->define_space(*workload, target);
      TW_CHECK(space.ok(), space.status().message());
      const auto index = random.Below(static_cast<std::uint64_t>(space->size()));
      Tally& tally = tallies[std::string(entry->key)];
      const int before = tally.checked;
      const Config config = space->At(static_cast<std::int64_t>(index));
      wrong += Check(*entry, *workload, epilogue, config, target, tally) ? 0 : 1;
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
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 200;
  const int seed = argc > 2 ? std::atoi(argv[2]) : 1;
  return tilewright::Run(pairs, static_cast<std::uint64_t>(seed));
}
