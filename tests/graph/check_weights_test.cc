#include "src/graph/ir/check_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tilewright {
namespace {

TEST(NonFiniteWeightNotes, NamesThoseThatAreNotFinite) {
  auto graph = ImportRelay(R"(def @main(%x: Tensor[(1, 4), float32]) {
  %0 = add(%x, meta[relay.Constant][0] /* ty=Tensor[(4), float32] */);
  %1 = nn.dense(%0, meta[relay.Constant][1] /* ty=Tensor[(4, 4), float32] */, units=4);
  nn.dense(%1, meta[relay.Constant][2] /* ty=Tensor[(4, 4), float32] */, units=4)
})",
                           "g");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  SeedConstants(*graph, SeedRule::kMissing);
  EXPECT_THAT(NonFiniteWeightNotes(*graph), testing::IsEmpty());
  const double infinite = std::numeric_limits<double>::infinity();
  for (int id = 0; id < graph->size(); ++id) {
    const std::string& name = graph->node(id).name;
    if (name != "relay.Constant.0" && name != "relay.Constant.1") continue;
    Tensor contents = graph->Contents(id)->Clone();
    contents.Set(2, infinite);  // added constants count too: it could be a mask
    contents.Set(3, std::numeric_limits<double>::quiet_NaN());
    graph->SetContents(id, std::move(contents));
  }
  EXPECT_THAT(NonFiniteWeightNotes(*graph),
              testing::ElementsAre(testing::HasSubstr(
                  "weight relay.Constant.1 of %1: 2 of 16 elements are infinite or NaN, the "
                  "first is element 2")));
}

}  // namespace
}  // namespace tilewright
