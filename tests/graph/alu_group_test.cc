// Groups without products that a VTA executes on its ALU.
#include "src/graph/passes/alu_group.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/graph/ir/graph.h"

namespace tilewright {
namespace {

/// Returns the group of all operators of a network of one function.
Result<AluGroup> GroupOfAll(const std::string& body) {
  const std::string text = "def @main(%x: Tensor[(1, 1, 4, 4, 1, 16), int32]) {\n" + body + "\n}\n";
  TW_ASSIGN_OR_RETURN(const auto graph, ImportRelay(text, "net"));
  FusedGroup group;
  for (std::size_t id = 0; id < graph.nodes().size(); ++id) {
    const auto node = static_cast<int>(id);
    if (graph.node(node).kind == NodeKind::kOperator) group.nodes.push_back(node);
  }
  group.output = group.nodes.back();
  return AluGroupOf(graph, group);
}

// An operator of which the constant is the first operand may not become the one with exchanged
// operands.
TEST(AluGroup, KeepsTheOrderOfOperands) {
  for (const char* op : {"right_shift", "subtract"}) {
    const auto second =
        GroupOfAll("  %0 = " + std::string(op) + "(%x, 4);\n  cast(%0, dtype=\"int8\")");
    ASSERT_TRUE(second.ok()) << second.status().message();
    EXPECT_FALSE(second->epilogue.steps[0].operand_first) << op;
    const auto first =
        GroupOfAll("  %0 = " + std::string(op) + "(64, %x);\n  cast(%0, dtype=\"int8\")");
    ASSERT_TRUE(first.ok()) << first.status().message();
    EXPECT_TRUE(first->epilogue.steps[0].operand_first) << op;
  }
}

}  // namespace
}  // namespace tilewright
