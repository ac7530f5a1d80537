// One library for a range of sizes of images and signals: the results of every size against the
// reference at that size, and what such a library refuses.

#include <gmock/gmock.h>

#include <regex>
#include <set>

#include "src/compiler/check/verify.h"
#include "src/graph/open/positions.h"
#include "tests/compiler/library_fixture.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

// W: columns of an image.
constexpr char kTwoLayers[] = R"(def @main(%data: Tensor[(1, 3, 8, W), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(16, 3, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  %1 = nn.relu(%0);
  %2 = nn.conv2d(%1, meta[relay.Constant][1] /* ty=Tensor[(16, 16, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  nn.relu(%2)
})";

// A residual block, pools with and without padding, depthwise convolutions, strides, a concat,
// windows without padding, and rows of classes at the end. C: columns after the pools.
constexpr char kRecognizer[] = R"(def @main(%data: Tensor[(1, 1, 16, W), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(16, 1, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  %1 = nn.relu(%0);
  %2 = nn.max_pool2d(%1, pool_size=[2, 2], strides=[2, 2]);
  %3 = nn.conv2d(%2, meta[relay.Constant][1] /* ty=Tensor[(16, 16, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  %4 = add(%3, %2);
  %5 = nn.relu(%4);
  %6 = nn.conv2d(%5, meta[relay.Constant][2] /* ty=Tensor[(16, 1, 3, 3), float32] */, padding=[1, 1, 1, 1], groups=16);
  %7 = nn.conv2d(%6, meta[relay.Constant][3] /* ty=Tensor[(24, 16, 1, 1), float32] */);
  %8 = nn.max_pool2d(%5, pool_size=[3, 3], strides=[1, 1], padding=[1, 1, 1, 1]);
  %9 = (%7, %8);
  %10 = concatenate(%9, axis=1);
  %11 = nn.conv2d(%10, meta[relay.Constant][4] /* ty=Tensor[(32, 40, 3, 3), float32] */, strides=[2, 2], padding=[1, 1, 1, 1]);
  %12 = nn.avg_pool2d(%11, pool_size=[4, 1], strides=[4, 1]);
  %13 = nn.conv2d(%12, meta[relay.Constant][5] /* ty=Tensor[(32, 32, 1, 3), float32] */);
  %14 = reshape(%13, newshape=[32, C]);
  %15 = transpose(%14, axes=[1, 0]);
  %16 = nn.dense(%15, meta[relay.Constant][6] /* ty=Tensor[(10, 32), float32] */);
  nn.softmax(%16)
})";

// One result for the whole image.
constexpr char kClassifier[] = R"(def @main(%data: Tensor[(1, 8, 6, W), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(16, 8, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  %1 = nn.relu(%0);
  %2 = nn.global_avg_pool2d(%1);
  %3 = nn.batch_flatten(%2);
  %4 = nn.dense(%3, meta[relay.Constant][1] /* ty=Tensor[(10, 16), float32] */);
  nn.softmax(%4)
})";

class OpenPositions : public Library {
 protected:
  /// Returns an error for an image that is too small for the network.
  static Result<Graph> Read(const std::string& text, std::int64_t size) {
    const std::int64_t half = size / 2, quarter = (half - 1) / 2 + 1;
    std::string sized =
        std::regex_replace(text, std::regex("\\bC\\b"), std::to_string(quarter - 2));
    sized = std::regex_replace(sized, std::regex("\\bW\\b"), std::to_string(size));
    sized = std::regex_replace(sized, std::regex("\\bP\\b"), std::to_string(15 - (size + 15) % 16));
    auto graph = ImportRelay(sized, "net-1");
    if (graph.ok()) SeedConstants(*graph, SeedRule::kMissing);
    return graph;
  }
  static Graph At(const std::string& text, std::int64_t size) {
    auto graph = Read(text, size);
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    return *std::move(graph);
  }
  Result<CompiledModel> CompileFor(const std::string& text, const SizeRange& range) const {
    const auto read = [&](std::int64_t size) { return Read(text, size); };
    return CompileOpen(At(text, range.least), read, range, options_, Path("open.so"));
  }
  std::string RefusalOf(const std::string& text) const {
    const auto compiled = CompileFor(text, {"W", 8, 64});
    EXPECT_EQ(compiled.status().code(), StatusCode::kUnsupported) << compiled.status().message();
    return compiled.status().message();
  }
  void ExpectRight(const std::string& text, const SizeRange& range,
                   const std::set<std::int64_t>& sizes) {
    const auto compiled = CompileFor(text, range);
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    auto library = ModelLibrary::Open(Path("open.so"));
    ASSERT_TRUE(library.ok()) << library.status().message();
    for (const std::int64_t size : sizes) {
      SCOPED_TRACE(size);
      Graph graph = At(text, size);
      ASSERT_TRUE(library->FitSize(ValuesOf(graph, graph.inputs())).ok());
      EXPECT_EQ(library->outputs()[0].type, graph.node(graph.outputs()[0]).type);
      const std::vector<Tensor> inputs = Inputs(graph);
      const auto source = PartitionLike(std::move(graph), *library);
      ASSERT_TRUE(source.ok()) << source.status().message();
      const auto report = Verify(*source, *library, inputs, {});
      ASSERT_TRUE(report.ok()) << report.status().message();
      EXPECT_TRUE(report->ok()) << report->Summary();
    }
  }
  static std::set<std::int64_t> All(const SizeRange& range) {
    std::set<std::int64_t> sizes;
    for (std::int64_t size = range.least; size <= range.most; ++size) sizes.insert(size);
    return sizes;
  }
};

TEST_F(OpenPositions, ResultsOfEveryWidthAreTheReferences) {
  const SizeRange range{"W", 1, 75};
  ExpectRight(kTwoLayers, range, All(range));
}

TEST_F(OpenPositions, ThreadsShareBlocks) {
  options_.target = *Target::Parse("native -num-threads=2");
  ExpectRight(kTwoLayers, {"W", 1, 75}, {1, 8, 31, 32, 33, 75});
}

TEST_F(OpenPositions, RecognizersHaveOneResultForEachColumn) {
  ExpectRight(kRecognizer, {"W", 12, 300},
              {12, 13, 14, 15, 16, 17, 31, 64, 129, 200, 255, 299, 300});
}

TEST_F(OpenPositions, MeansOfAllPositionsEndThem) {
  ExpectRight(kClassifier, {"W", 3, 700}, {3, 4, 7, 8, 31, 33, 255, 256, 257, 600, 700});
}

TEST_F(OpenPositions, PadsOfTheModelBelongToTilesToo) {
  ExpectRight(R"(def @main(%data: Tensor[(1, 4, 16, W), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(32, 4, 1, 1), float32] */);
  %1 = nn.relu(%0);
  %2 = nn.pad(%1, 0, pad_width=[[0, 0], [0, 0], [0, 0], [2, 5]]);
  nn.conv2d(%2, meta[relay.Constant][1] /* ty=Tensor[(32, 32, 3, 3), float32] */, padding=[1, 0, 1, 0])
})",
              {"W", 4, 300}, {4, 5, 6, 99, 300});
}

// A width of 1 is too small for the window, and one of 2 is the least.
TEST_F(OpenPositions, RangesBeginWhereAWindowFits) {
  ExpectRight(R"(def @main(%data: Tensor[(1, 3, 8, W), float32]) {
  nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(8, 3, 3, 2), float32] */, padding=[1, 0, 1, 0])
})",
              {"W", 2, 50}, {2, 3, 4, 49, 50});
}

// P: columns up to a multiple of 16, of which both ends of the range and its middle need none.
TEST_F(OpenPositions, RefusesWidthsThatArePaddedToAMultiple) {
  const std::string padded = R"(def @main(%data: Tensor[(1, 3, 8, W), float32]) {
  %0 = nn.pad(%data, 0, pad_width=[[0, 0], [0, 0], [0, 0], [0, P]]);
  nn.conv2d(%0, meta[relay.Constant][0] /* ty=Tensor[(8, 3, 3, 3), float32] */, padding=[1, 1, 1, 1])
})";
  const auto compiled = CompileFor(padded, {"W", 32, 1024});
  EXPECT_EQ(compiled.status().code(), StatusCode::kUnsupported) << compiled.status().message();
}

TEST_F(OpenPositions, RefusesOperatorsThatJoinPositions) {
  const std::string softmax = R"(def @main(%data: Tensor[(1, 8, 4, W), float32]) {
  %0 = nn.relu(%data);
  nn.softmax(%0, axis=3)
})";
  EXPECT_THAT(RefusalOf(softmax), HasSubstr("joins its positions"));
  const std::string mixed = R"(def @main(%data: Tensor[(1, 8, 4, W), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(8, 8, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  %1 = nn.relu(%data);
  %2 = nn.avg_pool2d(%1, pool_size=[3, 3], padding=[1, 1, 1, 1]);
  add(%0, %2)
})";
  EXPECT_THAT(RefusalOf(mixed), HasSubstr("averages windows without their padding"));
}

TEST(PositionCount, FollowsConvolutions) {
  const PositionCount input;
  const auto windows = input.Plus(2).Windows(3, 1);
  ASSERT_TRUE(windows.has_value());
  EXPECT_EQ(*windows, input);
  const auto half = input.Windows(2, 2);
  const auto quarter = half->Plus(2).Windows(3, 2);
  for (std::int64_t size = 2; size < 40; ++size) {
    EXPECT_EQ(half->At(size), size / 2);
    EXPECT_EQ(quarter->At(size), (size / 2 - 1) / 2 + 1);
    EXPECT_EQ(quarter->Times(3).At(size), 3 * quarter->At(size));
  }
  EXPECT_EQ(quarter->PerUnit(8), 2);
  EXPECT_FALSE(quarter->Times(3).Plus(1).Windows(2, 2).has_value());
  EXPECT_EQ(*quarter->Times(3).DividedBy(3), *quarter);
}

}  // namespace
}  // namespace tilewright
