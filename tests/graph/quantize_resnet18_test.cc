// The published listing of ResNet-18 after quantization and packing, reproduced from the
// architecture. The weights of that network are not published. The test takes only the 20 shifts of
// the listing, which give the magnitude of each convolution's weights to within a power of two.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "src/base/files/file.h"
#include "src/graph/ir/rewrite.h"
#include "src/graph/passes/pack.h"
#include "src/graph/quantize/pipeline.h"
#include "src/graph/relay/export.h"
#include "src/models/models.h"
#include "src/tensor/synthetic_data.h"
#include "tests/graph/shared_data.h"

namespace tilewright::quantize {
namespace {

constexpr std::array kShifts = {9, 7, 6, 9, 6, 7, 9, 7, 8, 7, 8, 9, 7, 8, 7, 6, 8, 6, 8, 4};

/// Scales a constant so that its largest magnitude is `largest`.
void SetLargest(Graph& graph, int constant, double largest) {
  Tensor contents = graph.Contents(constant)->Clone();
  float before = 0;
  for (float x : contents.As<float>()) before = std::max(before, std::abs(x));
  for (float& x : contents.As<float>()) x *= static_cast<float>(largest) / before;
  graph.SetContents(constant, std::move(contents));
}

void ExpectListing(const Graph& graph, const std::string& file) {
  const std::string path = TILEWRIGHT_SOURCE_DIR "/tests/fixtures/data/relay/" + file;
  const auto listing = PrintRelay(graph);
  ASSERT_TRUE(listing.ok()) << listing.status().message();
  if (std::getenv("TILEWRIGHT_REWRITE_GOLDEN") != nullptr) {
    ASSERT_TRUE(WriteFile(path, *listing).ok());
  }
  EXPECT_EQ(*listing, *ReadFile(path));
}

// Listings of a small network with a residual, groups and a concatenation after each step.
TEST(QuantizeOwnTest, ListingsByteForByte) {
  auto graph = LoadGraph(SharedData("onnx/own_light.onnx"));
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  SeedConstants(*graph, SeedRule::kAllFloat);
  PipelineOptions options;
  ASSERT_TRUE(options.config.Set("skip_conv_layers", "[]").ok());
  options.passes = {"fold", "partition"};
  std::vector<IntegerValue> values;
  auto partitioned = RunPasses(*std::move(graph), options, &values);
  ASSERT_TRUE(partitioned.ok()) << partitioned.status().message();
  ExpectListing(*partitioned, "own_partitioned.relay");
  options.passes = {"annotate", "calibrate", "realize"};
  auto realized = RunPasses(*std::move(partitioned), options, &values);
  ASSERT_TRUE(realized.ok()) << realized.status().message();
  PackReport report;
  auto packed = PackForVta(*std::move(realized), vta::Design::Default(), {}, &report);
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  EXPECT_GT(report.convolutions, 1);
  ExpectListing(*packed, "own_quantized.relay");
}

TEST(QuantizeResnet18Test, ListingByteForByte) {
  const std::string golden = SharedData("relay/resnet18_v1_vta_packed.relay");
  TW_NEEDS_FILE(golden);
  auto onnx = MakeModelOnnx("resnet18_v1");
  ASSERT_TRUE(onnx.ok());
  auto graph = ImportOnnx(*onnx, "resnet18_v1");
  ASSERT_TRUE(graph.ok()) << graph.status().message();

  PipelineOptions options;
  ASSERT_TRUE(options.config.Set("skip_conv_layers", "[]").ok());
  ASSERT_TRUE(options.config.Set("rules", "2023-08").ok());
  options.passes = {"fold"};
  std::vector<IntegerValue> values;
  auto folded = RunPasses(*std::move(graph), options, &values);
  ASSERT_TRUE(folded.ok()) << folded.status().message();
  // A shift of 7 - log2(r) means weights up to r. The biases have magnitudes of about r, so that
  // their steps are no finer than those of the sums.
  std::size_t convolutions = 0;
  const auto users = folded->Users();
  for (int id : PostOrder(*folded)) {
    if (folded->node(id).op.kind != OpKind::kConv2d) continue;
    ASSERT_LT(convolutions, kShifts.size());
    const double range = std::exp2(7 - kShifts[convolutions++]);
    SetLargest(*folded, folded->node(id).inputs[1], 0.9 * range);
    const int sum = users[static_cast<std::size_t>(id)][0];
    SetLargest(*folded, folded->node(sum).inputs[1], 0.9 * range);
  }
  ASSERT_EQ(convolutions, kShifts.size());

  options.passes = {"partition", "annotate", "calibrate", "realize"};
  auto realized = RunPasses(*std::move(folded), options, &values);
  ASSERT_TRUE(realized.ok()) << realized.status().message();
  PackReport report;
  auto packed = PackForVta(*std::move(realized), vta::Design::Default(),
                           {"nn.conv2d", "nn.global_avg_pool2d"}, &report);
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  EXPECT_EQ(report.convolutions, 19);
  // The file was copied from a page, without its last line break.
  EXPECT_EQ(*PrintRelay(*packed), *ReadFile(golden) + "\n");
}

}  // namespace
}  // namespace tilewright::quantize
