// Random expressions against the reference. Each runs with random configs of the spaces of its auto
// rules, on each of the targets, and is compared within the evaluator's error bounds. Exit code 1
// if a result is wrong, with the case.
//
//   expression_check [EXPRESSIONS [CONFIGS [SEED [TARGET...]]]] [--device N]
//
// EXPRESSIONS (2000; or a duration: 30s) with CONFIGS (4) each. Every fourth one is a matrix
// product or a convolution in sizes that tensor cores support. Targets that this machine cannot run
// are skipped. cuda runs in the SIMT emulator, or on a GPU (--device). In addition, faults are
// injected into every 50th result; each must be detected.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/amount.h"
#include "src/base/random.h"
#include "src/codegen/simt/simt.h"
#include "src/schedule/lower/lower.h"
#include "src/target/cpu.h"
#include "src/target/device.h"
#include "src/templates/limits.h"
#include "src/templates/registry.h"
#include "src/tensor/reference/expression.h"
#include "tests/support/built_in.h"
#include "tests/support/random_expression.h"
#include "tests/templates/device_kernel.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {
namespace {

struct Counts {
  std::int64_t run = 0, refused = 0, wrong = 0, faults = 0, found = 0;
};

struct Drawn {
  std::string text;
  Workload workload;
  AnchorData data;
  BoundedTensor expected;
};

Result<Drawn> DrawExpression(std::uint64_t seed) {
  Drawn drawn;
  drawn.text = seed % 4 == 3 ? RandomProductText(seed) : RandomExpressionText(seed);
  TW_ASSIGN_OR_RETURN(auto expression, ParseExpression(drawn.text));
  drawn.workload = Workload::FromExpression(expression);
  drawn.data = MakeAnchorData(drawn.workload, {}, seed);
  std::vector<const Tensor*> inputs = {&drawn.data.data};
  for (const Tensor& operand : drawn.data.operands) inputs.push_back(&operand);
  TW_ASSIGN_OR_RETURN(drawn.expected, EvaluateExpression(drawn.workload.expression, inputs));
  return drawn;
}

/// Changes one element by more than its bound. Returns whether the comparison detects it.
bool FindsFault(const Tensor& result, const BoundedTensor& expected, Random& random) {
  Tensor faulty = result.Clone();
  const auto at =
      static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(result.elements())));
  const double bound = expected.exact() ? 0 : expected.error.At(at);
  if (!(bound < 1e30)) return true;  // no wrong value exists there
  const Comparison comparison = Compare(result, expected.value);
  const double step = 1 + 4 * bound + 1e-3 * comparison.reference_rms;
  const double side = result.At(at) > 0 ? -1 : 1;
  double value = result.At(at) + side * step;
  const auto& others = expected.other_positions;
  const auto is_right = [&](double position) {
    const bool other =
        std::ranges::binary_search(others, std::pair(at, static_cast<std::int64_t>(position)));
    return !others.empty() && (other || position == expected.value.At(at));
  };
  while (is_right(value)) value += side;
  faulty.Set(at, value);
  return !CompareBounded(faulty, expected).ok;
}

void CheckOne(const Drawn& drawn, const Target& target, int configs, Random& random,
              std::map<std::string, Counts>& counts) {
  const auto entries = BuiltInTemplates().For(drawn.workload, target);
  for (int i = 0; i < configs && !entries.empty(); ++i) {
    const TemplateEntry& entry = *entries[random.Below(entries.size())];
    Counts& count = counts[target.ToString() + " " + std::string(entry.key)];
    const auto space = entry.define_space(drawn.workload, target);
    if (!space.ok()) {
      fmt::print("{}: {}\n{}", entry.key, space.status().message(), drawn.text);
      ++count.wrong;
      continue;
    }
    auto config = space->At(
        static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(space->size()))));
    if (i == 0) config = *entry.default_config(drawn.workload, target);
    const auto kernel = ApplyTemplate(entry, drawn.workload, {}, target, config);
    if (!kernel.ok()) {
      ++count.refused;
      continue;
    }
    auto result = RunKernel(drawn.workload, {}, target, *kernel, drawn.data);
    if (!result.ok()) {
      // Kernels beyond the limits of a launch, and float16 on a CPU without the conversion.
      const StatusCode code = result.status().code();
      const bool float16 = drawn.text.find("float16") != std::string::npos;
      const bool refused =
          code == StatusCode::kInvalidArgument ||
          (code == StatusCode::kUnsupported && float16 && !DeviceTraitsOf(target).launches_grids);
      ++(refused ? count.refused : count.wrong);
      if (!refused) {
        fmt::print("{} {}: {}\n{}", entry.key, config.ToString(), result.status().message(),
                   drawn.text);
      }
      continue;
    }
    ++count.run;
    const Comparison comparison = CompareBounded(*result, drawn.expected);
    if (!comparison.ok) {
      ++count.wrong;
      fmt::print("{} {} {}: element {} is {}, expected {} +- {}\n{}", target.ToString(), entry.key,
                 config.ToString(), comparison.first_bad, result->At(comparison.first_bad),
                 drawn.expected.value.At(comparison.first_bad),
                 drawn.expected.exact() ? 0 : drawn.expected.error.At(comparison.first_bad),
                 drawn.text);
    } else if (count.run % 50 == 0) {
      ++count.faults;
      count.found += FindsFault(*result, drawn.expected, random) ? 1 : 0;
    }
  }
}

int CheckExpressions(int argc, char** argv) {
  std::unique_ptr<DeviceKernelRunner> device;
  if (argc > 2 && std::string(argv[argc - 2]) == "--device") {
    device = OpenDeviceForAll(argv[argc - 1]);
    if (device == nullptr) return 2;
    argc -= 2;
  }
  const auto number = [&](int i, std::int64_t otherwise) {
    return argc > i ? std::strtoll(argv[i], nullptr, 10) : otherwise;
  };
  const Amount amount(argc > 1 ? argv[1] : "2000");
  const auto configs = static_cast<int>(number(2, 4));
  const auto seed = static_cast<std::uint64_t>(number(3, 1));
  std::vector<std::string> names = {"llvm -mcpu=skylake-avx512", "llvm -mcpu=core-avx2",
                                    "llvm -mcpu=x86-64", "cuda -arch=sm_80"};
  if (argc > 4) names.assign(argv + 4, argv + argc);
  std::vector<Target> targets;
  for (const std::string& name : names) {
    auto target = Target::Parse(name);
    if (!target.ok()) {
      fmt::print("{}\n", target.status().message());
      return 2;
    }
    targets.push_back(*std::move(target));
  }
  std::map<std::string, Counts> counts;
  Random random(seed);
  std::int64_t expressions = 0;
  for (; !amount.IsDone(expressions); ++expressions) {
    const std::int64_t i = expressions;
    const auto drawn = DrawExpression(seed * 1000003 + static_cast<std::uint64_t>(i));
    if (!drawn.ok()) {
      fmt::print("{}\n", drawn.status().message());
      return 1;
    }
    for (const Target& target : targets) CheckOne(*drawn, target, configs, random, counts);
    if (device != nullptr) device->EndIfBroken();
    if (i % 100 == 99) std::fflush(stdout);
  }
  Counts all;
  for (const auto& [name, count] : counts) {
    fmt::print("{:<48} {:>6} run, {:>5} refused, {:>3} wrong, {} of {} faults found\n", name,
               count.run, count.refused, count.wrong, count.found, count.faults);
    all.run += count.run;
    all.wrong += count.wrong;
    all.faults += count.faults;
    all.found += count.found;
  }
  fmt::print("{} expressions, {} kernels run: {} wrong; {} of {} injected faults found\n",
             expressions, all.run, all.wrong, all.found, all.faults);
  return all.wrong == 0 && all.found == all.faults ? 0 : 1;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) { return tilewright::CheckExpressions(argc, argv); }
