// One library for several shape variants of a network.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/files/file.h"
#include "src/compiler/check/verify.h"
#include "src/compiler/compile.h"
#include "src/compiler/run/run.h"
#include "src/runtime/loader.h"
#include "src/tensor/synthetic_data.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

// y = Reshape(x, shape) times w, plus 1 for each dimension of the shape.
Graph OpenNetwork(std::vector<std::int64_t> x, const std::string& shape) {
  LoadOptions options;
  options.bindings.shapes["x"] = std::move(x);
  options.bindings.values["shape"].text = shape;
  auto graph = LoadGraph(TILEWRIGHT_SOURCE_DIR "/tests/fuzz/corpus/onnx/open.onnx", options);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? *std::move(graph) : Graph();
}

std::vector<Graph> TwoSets() {
  std::vector<Graph> graphs;
  graphs.push_back(OpenNetwork({1, 4, 6}, "4,6"));
  graphs.push_back(OpenNetwork({1, 8, 12}, "16,6"));
  return graphs;
}

class CompiledSets : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = ScopedTempDir::Create("tilewright-sets");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(*std::move(folder));
    options_.templates = &BuiltInTemplates();
    options_.target = *Target::Parse("native");
    options_.device = ProbeHostCpu();
  }
  std::string path() const { return folder_->path() + "/model.so"; }

  std::optional<ScopedTempDir> folder_;
  CompileOptions options_;
};

TEST_F(CompiledSets, AreEachTheNetworkOfTheirSizes) {
  options_.check = CheckLevel::kAll;
  auto compiled = CompileShapeVariants(TwoSets(), options_, path());
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  ASSERT_EQ(compiled->variants.size(), 2U);
  EXPECT_EQ(compiled->variants[1].name, "open_2");
  for (int set = 0; set < 2; ++set) {
    SCOPED_TRACE(set);
    auto model = ModelLibrary::Open(path(), set);
    ASSERT_TRUE(model.ok()) << model.status().message();
    EXPECT_EQ(model->variants(), 2);
    std::vector<Tensor> inputs;
    inputs.push_back(MakeSyntheticInput("x", model->inputs()[0].type, SyntheticInputRule::kRandom));
    auto report =
        Verify(*PartitionLike(std::move(TwoSets()[static_cast<std::size_t>(set)]), *model), *model,
               inputs, {});
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(report->ok()) << report->Summary();
  }
  EXPECT_EQ(ModelLibrary::Open(path(), 2).status().code(), StatusCode::kNotFound);
}

TEST_F(CompiledSets, HaveEqualConstantsOnce) {
  auto one = Compile(OpenNetwork({1, 4, 6}, "4,6"), options_, path());
  ASSERT_TRUE(one.ok()) << one.status().message();
  auto both = CompileShapeVariants(TwoSets(), options_, path());
  ASSERT_TRUE(both.ok()) << both.status().message();
  EXPECT_GT(one->constant_bytes, 0);
  EXPECT_EQ(both->constant_bytes, one->constant_bytes);
}

TEST_F(CompiledSets, AreChosenByShapes) {
  auto compiled = CompileShapeVariants(TwoSets(), options_, path());
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  EXPECT_THAT(compiled->header, HasSubstr("Set 1, open_2_run:"));
  auto library = SharedLibrary::Open(path());
  ASSERT_TRUE(library.ok());
  const auto set_of =
      reinterpret_cast<std::int64_t (*)(const std::int64_t* const*)>(library->Symbol("open_set"));
  using RunFunction =
      std::int32_t (*)(const std::int64_t* const*, const void* const*, void* const*);
  const auto run = reinterpret_cast<RunFunction>(library->Symbol("open_run"));
  ASSERT_TRUE(set_of != nullptr && run != nullptr);
  const std::int64_t first[] = {1, 4, 6}, second[] = {1, 8, 12}, other[] = {1, 8, 13};
  const std::int64_t* shapes[] = {second};
  EXPECT_EQ(set_of(shapes), 1);
  const std::vector<float> x(96, 0);
  std::vector<float> y(16 * 8, -1);
  const void* inputs[] = {x.data()};
  void* outputs[] = {y.data()};
  EXPECT_EQ(run(shapes, inputs, outputs), 0);
  EXPECT_EQ(y, std::vector<float>(16 * 8, 2));
  shapes[0] = first;
  EXPECT_EQ(set_of(shapes), 0);
  shapes[0] = other;
  EXPECT_EQ(set_of(shapes), -1);
  EXPECT_EQ(run(shapes, inputs, outputs), TW_MODEL_NO_SUCH_SHAPES);
  EXPECT_EQ(set_of(nullptr), -1);
}

TEST_F(CompiledSets, ThatCannotBeToldApartAreRefused) {
  std::vector<Graph> graphs;
  graphs.push_back(OpenNetwork({1, 4, 6}, "4,6"));
  graphs.push_back(OpenNetwork({1, 4, 6}, "4,6"));
  EXPECT_EQ(CompileShapeVariants(std::move(graphs), options_, path()).status().message(),
            "two shape variants have the same shapes: x=1x4x6");
  EXPECT_FALSE(FileExists(path()));
}

}  // namespace
}  // namespace tilewright
