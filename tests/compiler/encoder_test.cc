// One layer of the built-in transformer encoder, in each of its variants.

#include <gtest/gtest.h>

#include <algorithm>

#include "src/base/files/file.h"
#include "src/compiler/compile.h"
#include "src/models/models.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

struct EncoderForm {
  const char* name;
  bool int8 = false, float16 = false;
  int attention_kernels = 1;  ///< 0: separate operators compute attention
};
void PrintTo(const EncoderForm& layouts, std::ostream* out) { *out << layouts.name; }

class CompiledEncoder : public testing::TestWithParam<EncoderForm> {
 protected:
  static Result<CompiledModel> CompileFor(const std::string& target, CheckLevel check) {
    const auto bytes = MakeModelOnnx(
        "bert_base_encoder", {.int8 = GetParam().int8, .float16 = GetParam().float16, .layers = 1});
    TW_RETURN_IF_ERROR(bytes);
    auto graph = ImportOnnx(*bytes, "encoder");
    TW_RETURN_IF_ERROR(graph);
    const auto folder = ScopedTempDir::Create("tilewright-encoder-test");
    TW_RETURN_IF_ERROR(folder);
    CompileOptions options;
    options.templates = &BuiltInTemplates();
    options.target = *Target::Parse(target);
    if (target == "native") options.device = ProbeHostCpu();
    options.build_threads = 2;
    options.check = check;
    return Compile(*std::move(graph), options, folder->path() + "/encoder.so");
  }
};

TEST_P(CompiledEncoder, AgreesWithTheReference) {
  const auto compiled = CompileFor("native", CheckLevel::kAll);
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  EXPECT_TRUE(compiled->check.ran) << compiled->check.not_run;
  EXPECT_EQ(compiled->check.compared, compiled->check.operators);
}

TEST_P(CompiledEncoder, JoinsAttentionForCpus) {
  const auto compiled = CompileFor("llvm -mcpu=core-avx2", CheckLevel::kNone);
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  EXPECT_EQ(std::ranges::count(compiled->operators, "attention", &OperatorReport::op),
            GetParam().attention_kernels);
}

TEST_P(CompiledEncoder, HasTemplatesForAllProductsOnGpus) {
  const auto compiled = CompileFor("cuda -arch=sm_90", CheckLevel::kNone);
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  EXPECT_EQ(std::ranges::count(compiled->operators, "fixed", &OperatorReport::template_key), 0);
  EXPECT_EQ(std::ranges::count_if(
                compiled->operators,
                [](const OperatorReport& report) { return !report.workload_key.empty(); }),
            8);  // six projections, scores, and their product with values
}

INSTANTIATE_TEST_SUITE_P(
    Forms, CompiledEncoder,
    testing::Values(EncoderForm{.name = "float32"}, EncoderForm{.name = "int8", .int8 = true},
                    EncoderForm{.name = "float16", .float16 = true, .attention_kernels = 0}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace tilewright
