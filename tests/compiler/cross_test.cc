// Libraries for Arm, run under qemu-user: every operator's result must equal the reference. Without
// an emulator, C library or C compiler for an architecture, its tests are skipped by name.

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "src/base/files/file.h"
#include "src/base/strings.h"
#include "src/compiler/compile.h"
#include "src/compiler/plan/physical_layout.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/passes/passes.h"
#include "src/models/models.h"
#include "src/tensor/reference/reference.h"
#include "src/tensor/synthetic_data.h"
#include "tests/compiler/cross/machines.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

/// Output of one operator in memory, as dump_main.c writes it.
struct Dumped {
  std::string name, logical_layout, layout, bytes;
};

Result<std::vector<Dumped>> ReadDump(const std::string& path) {
  auto text = ReadFile(path);
  TW_RETURN_IF_ERROR(text);
  std::vector<Dumped> list;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = text->find('\n', at);
    if (end == std::string::npos) return Corrupt("a truncated dump");
    const auto fields = Split(text->substr(at, end - at), '\t');
    if (fields.size() != 4) return Corrupt("a line of the dump");
    const auto bytes = ParseInt64(fields[3]);
    TW_RETURN_IF_ERROR(bytes);
    list.push_back(
        {fields[0], fields[1], fields[2], text->substr(end + 1, static_cast<std::size_t>(*bytes))});
    at = end + 1 + static_cast<std::size_t>(*bytes);
  }
  return list;
}

/// Compiles for `target`, runs on `machine`, and compares operator by operator.
void ExpectExact(Graph graph, const cross::Machine& machine, const std::string& target) {
  auto folder = ScopedTempDir::Create("tilewright-cross-test");
  ASSERT_TRUE(folder.ok());
  const std::string& root = folder->path();
  std::vector<Tensor> inputs;
  std::string command = machine.command + " " + machine.dump + " " + root + "/model.so";
  for (int id : graph.inputs()) {
    const Node& node = graph.node(id);
    inputs.push_back(MakeSyntheticInput(node.name, node.type, SyntheticInputRule::kRandom));
    const std::string path = root + "/input" + std::to_string(inputs.size());
    ASSERT_TRUE(WriteFile(path, {reinterpret_cast<const char*>(inputs.back().data()),
                                 static_cast<std::size_t>(inputs.back().bytes())})
                    .ok());
    command += " " + path;
  }
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  options.target = *Target::Parse(target);
  options.build_threads = 2;
  const auto optimized = Optimize(graph.Clone());
  ASSERT_TRUE(optimized.ok());
  auto model = Compile(std::move(graph), options, root + "/model.so");
  ASSERT_TRUE(model.ok()) << model.status().message();
  const int code = std::system((command + " > " + root + "/dump").c_str());
  ASSERT_EQ(code, 0) << command;
  const auto dump = ReadDump(root + "/dump");
  ASSERT_TRUE(dump.ok()) << dump.status().message();
  ASSERT_EQ(dump->size(), model->operators.size());
  auto values = EvaluateGraph(*optimized, inputs, KeepValues::kAll, 1);
  ASSERT_TRUE(values.ok());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    (*values)[static_cast<std::size_t>(optimized->inputs()[i])] = inputs[i].Clone();
  }
  std::map<std::string, int> by_name;
  for (int id = 0; id < optimized->size(); ++id) by_name.emplace(optimized->node(id).name, id);
  for (const Dumped& op : *dump) {
    ASSERT_TRUE(by_name.contains(op.name)) << op.name;
    const int id = by_name[op.name];
    const auto result =
        ToLogical(optimized->node(id).type, {op.logical_layout, op.layout}, op.bytes.data());
    ASSERT_TRUE(result.ok()) << op.name << ": " << result.status().message();
    const Comparison comparison = Compare(*result, (*values)[static_cast<std::size_t>(id)]);
    EXPECT_TRUE(comparison.ok) << op.name << " element " << comparison.first_bad;
  }
}

struct CrossCase {
  const char* name;
  const char* machine;
  const char* target;
};

class Cross : public testing::TestWithParam<CrossCase> {};

/// A mix of operators: convolutions of uint8 and int8 with and without scales per channel, pooling,
/// dense, softmax.
constexpr char kNet[] = R"(def @main(%data: Tensor[(1, 16, 9, 9), uint8]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(24, 16, 3, 3), int8] */, padding=[1, 1, 1, 1], out_dtype="int32");
  %1 = nn.bias_add(%0, meta[relay.Constant][1] /* ty=Tensor[(24), int32] */);
  %2 = right_shift(%1, 7);
  %3 = clip(%2, a_min=-127f, a_max=127f);
  %4 = cast(%3, dtype="int8");
  %5 = nn.conv2d(%4, meta[relay.Constant][2] /* ty=Tensor[(24, 1, 3, 3), int8] */, strides=[2, 2], padding=[1, 1, 1, 1], groups=24, out_dtype="int32");
  %6 = right_shift(%5, 6);
  %7 = clip(%6, a_min=-127f, a_max=127f);
  %8 = cast(%7, dtype="int8");
  %9 = cast(%8, dtype="int32");
  %10 = nn.global_avg_pool2d(%9);
  %11 = nn.batch_flatten(%10);
  %12 = cast(%11, dtype="int8");
  %13 = nn.dense(%12, meta[relay.Constant][3] /* ty=Tensor[(10, 24), int8] */, units=10, out_dtype="int32");
  %14 = cast(%13, dtype="float32");
  %15 = multiply(%14, 0.01f);
  nn.softmax(%15)
})";

TEST_P(Cross, SmallNetworkGivesTheReferencesResults) {
  const auto machine = cross::FindMachine(GetParam().machine);
  if (!machine.missing.empty()) GTEST_SKIP() << machine.missing;
  auto graph = ImportRelay(kNet, "net");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  SeedConstants(*graph, SeedRule::kMissing);
  ExpectExact(*std::move(graph), machine, GetParam().target);
}

TEST_P(Cross, FloatNetworkGivesTheReferencesResults) {
  const auto machine = cross::FindMachine(GetParam().machine);
  if (!machine.missing.empty()) GTEST_SKIP() << machine.missing;
  auto graph = ImportRelay(R"(def @main(%data: Tensor[(1, 16, 8, 8), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(16, 16, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  %1 = tanh(%0);
  %2 = nn.conv2d(%1, meta[relay.Constant][1] /* ty=Tensor[(16, 16, 1, 1), float32] */);
  exp(%2)
})",
                           "float_net");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  SeedConstants(*graph, SeedRule::kMissing);
  ExpectExact(*std::move(graph), machine, GetParam().target);
}

class CrossMobilenet : public testing::TestWithParam<CrossCase> {};

TEST_P(CrossMobilenet, EveryInt8KernelIsExact) {
  const auto machine = cross::FindMachine(GetParam().machine);
  if (!machine.missing.empty()) GTEST_SKIP() << machine.missing;
  const auto bytes = MakeModelOnnx("mobilenet_v2", {.int8 = true});
  ASSERT_TRUE(bytes.ok());
  auto graph = ImportOnnx(*bytes, "mobilenet_v2");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  ExpectExact(*std::move(graph), machine, GetParam().target);
}

constexpr CrossCase kAarch64 = {"Aarch64", "aarch64",
                                "llvm -mtriple=aarch64-linux-gnu -mattr=+neon"};
constexpr CrossCase kAarch64Dotprod = {"Aarch64Dotprod", "aarch64",
                                       "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76"};
constexpr CrossCase kAarch64Threads = {"Aarch64Threads", "aarch64",
                                       "llvm -mtriple=aarch64-linux-gnu -num-threads=2"};
constexpr CrossCase kArmv7 = {"Armv7", "armv7",
                              "llvm -mtriple=armv7l-linux-gnueabihf -mattr=+neon"};
constexpr CrossCase kArmv7Threads = {
    "Armv7Threads", "armv7", "llvm -mtriple=armv7l-linux-gnueabihf -mattr=+neon -num-threads=2"};
constexpr CrossCase kArmv8In32Bits = {"Armv8In32Bits", "armv7",
                                      "llvm -mtriple=armv8l-linux-gnueabihf -mcpu=cortex-a53"};

std::string CaseName(const testing::TestParamInfo<CrossCase>& tested) { return tested.param.name; }

INSTANTIATE_TEST_SUITE_P(Machines, Cross,
                         testing::Values(kAarch64, kAarch64Dotprod, kAarch64Threads, kArmv7,
                                         kArmv7Threads, kArmv8In32Bits),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Machines, CrossMobilenet,
                         testing::Values(kAarch64, kAarch64Dotprod, kArmv7), CaseName);

TEST(CrossCompile, RefusesWhatItHasNoRuntimeFor) {
  const std::pair<const char*, const char*> refused[] = {
      {"llvm -mtriple=riscv64-linux-gnu", "--runtime"},
      {"llvm -mtriple=arm64-linux-android", "--runtime"},
      {"llvm -mtriple=armv7a-linux-eabi", "gnueabihf"}};
  for (const auto& [target, words] : refused) {
    auto graph = ImportRelay(kNet, "net");
    ASSERT_TRUE(graph.ok());
    SeedConstants(*graph, SeedRule::kMissing);
    CompileOptions options;
    options.templates = &BuiltInTemplates();
    options.target = *Target::Parse(target);
    const auto model = Compile(*std::move(graph), options, "/dev/null/model.so");
    EXPECT_EQ(model.status().code(), StatusCode::kUnsupported) << target;
    EXPECT_NE(model.status().message().find(words), std::string::npos) << model.status().message();
  }
}

}  // namespace
}  // namespace tilewright
