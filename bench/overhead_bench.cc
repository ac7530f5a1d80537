// Overhead of a compiled network beyond its kernels: the time of runs of chains of nearly free
// operators, on one thread. The time of an operator is the slope between chains of different
// length. It includes the kernel's own work, so it bounds the overhead from above.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/compiler/compile.h"
#include "src/compiler/run/run.h"
#include "src/tensor/synthetic_data.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

// Returns a chain of poolings, which do not fuse with each other.
std::string Chain(int operators) {
  std::string text = "def @main(%data: Tensor[(1, 16, 1, 1), float32]) {\n";
  for (int i = 0; i < operators; ++i) {
    const std::string input = i == 0 ? "%data" : fmt::format("%{}", i - 1);
    const std::string call =
        fmt::format("nn.max_pool2d({}, pool_size=[3, 3], padding=[1, 1, 1, 1])", input);
    text += i + 1 < operators ? fmt::format("  %{} = {};\n", i, call) : "  " + call + "\n}\n";
  }
  return text;
}

// Returns the minimum seconds of one run.
Result<double> SecondsOf(int operators, const std::string& folder) {
  TW_ASSIGN_OR_RETURN(auto graph, ImportRelay(Chain(operators), "chain"));
  const Node& input = graph.node(graph.inputs()[0]);
  std::vector<Tensor> inputs;
  inputs.push_back(MakeSyntheticInput(input.name, input.type, SyntheticInputRule::kRandom));
  TW_ASSIGN_OR_RETURN(auto target, Target::Parse("native"));
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  options.target = target;
  options.device = ProbeHostCpu();
  const std::string path = fmt::format("{}/chain{}.so", folder, operators);
  TW_ASSIGN_OR_RETURN(auto compiled, Compile(std::move(graph), options, path));
  if (compiled.operators.size() != static_cast<std::size_t>(operators)) {
    return Internal(fmt::format("{} operators became {}", operators, compiled.operators.size()));
  }
  TW_ASSIGN_OR_RETURN(auto model, ModelLibrary::Open(path));
  SystemClock clock;
  constexpr int kRounds = 200, kRuns = 100;
  double least = 1;
  for (int round = 0; round < kRounds; ++round) {
    const double start = clock.MonotonicSeconds();
    for (int run = 0; run < kRuns; ++run) TW_RETURN_IF_ERROR(model.Run(inputs));
    least = std::min(least, (clock.MonotonicSeconds() - start) / kRuns);
  }
  return least;
}

Status Run() {
  TW_ASSIGN_OR_RETURN(auto folder, ScopedTempDir::Create("tilewright-overhead"));
  constexpr int kShort = 20, kLong = 220;
  TW_ASSIGN_OR_RETURN(auto few, SecondsOf(kShort, folder.path()));
  TW_ASSIGN_OR_RETURN(auto many, SecondsOf(kLong, folder.path()));
  const double per_operator = (many - few) / (kLong - kShort);
  fmt::print("run of {} operators {:.2f} us, of {} {:.2f} us\n", kShort, 1e6 * few, kLong,
             1e6 * many);
  fmt::print("per operator {:.3f} us, per run {:.3f} us\n", 1e6 * per_operator,
             1e6 * (few - kShort * per_operator));
  return Status();
}

}  // namespace
}  // namespace tilewright

int main() {
  const tilewright::Status status = tilewright::Run();
  if (status.ok()) return 0;
  fmt::print(stderr, "overhead_bench: {}\n", status.message());
  return 1;
}
