// The operator table: its page, and the fields that each row needs for its family.
#include "src/tensor/operator_table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "src/base/files/file.h"
#include "src/tensor/epilogue.h"

namespace tilewright {
namespace {

// Names and arguments occur in existing keys, epilogues and Relay texts: changing an existing line
// changes a format. TILEWRIGHT_REWRITE_GOLDEN=1 rewrites the page.
TEST(OperatorTableTest, IsThePageOfTheDocuments) {
  // tests/adding has its own page.
  const char* added = std::getenv("TILEWRIGHT_ADDED");
  const std::string path =
      std::string(added == nullptr ? TILEWRIGHT_SOURCE_DIR : added) + "/docs/operators.md";
  if (std::getenv("TILEWRIGHT_REWRITE_GOLDEN") != nullptr) {
    ASSERT_TRUE(WriteFile(path, DescribeOperators()).ok());
  }
  const auto page = ReadFile(path);
  ASSERT_TRUE(page.ok()) << page.status().message();
  EXPECT_EQ(DescribeOperators(), *page);
}

TEST(OperatorTableTest, NoRowLacksWhatItsFamilyNeeds) {
  std::set<std::string_view> relay;
  for (const OperatorRow* row : AllOperators()) {
    SCOPED_TRACE(row->name);
    EXPECT_NE(row->type, nullptr);
    EXPECT_FALSE(row->description.empty());
    EXPECT_TRUE(row->relay.empty() || relay.insert(row->relay).second);
    const bool elementwise = IsElementwise(row->kind), anchor = IsAnchor(row->kind);
    EXPECT_EQ(row->element != nullptr, elementwise);
    EXPECT_EQ(row->loops == nullptr, elementwise || anchor);
    EXPECT_EQ(row->values == nullptr, anchor);
    EXPECT_EQ(row->layouts.data.empty(), !anchor);
    const bool of_one = row->error == ErrorRule::kFunction || row->error == ErrorRule::kPeriodic;
    EXPECT_EQ(of_one, elementwise || IsComparisonOrSelect(row->kind));
    EXPECT_TRUE(row->arguments.empty() || row->family == OpFamily::kUnary);
  }
}

struct Written {
  const char* text;
  OpKind kind;
};
constexpr Written kArguments[] = {
    {"clip(-1.5,6)", OpKind::kClip},
    {"leaky_relu(0.1)", OpKind::kLeakyRelu},
    {"hard_sigmoid(0.2,0.5)", OpKind::kHardSigmoid},
    {"cast(int8)", OpKind::kCast},
    {"saturate_cast(uint8)", OpKind::kSaturateCast},
    {"fixed_point_multiply(1466124156,-3)", OpKind::kFixedPointMultiply}};

// The arguments as epilogues of stored trials contain them.
TEST(OperatorTableTest, ArgumentsAreWrittenAsEver) {
  for (const Written& written : kArguments) {
    const auto epilogue = Epilogue::Parse(written.text);
    ASSERT_TRUE(epilogue.ok()) << epilogue.status().message();
    EXPECT_EQ(epilogue->steps[0].op.kind, written.kind);
    EXPECT_EQ(epilogue->ToString(), written.text);
  }
  for (const OperatorRow* row : AllOperators()) {
    if (row->family != OpFamily::kUnary || !row->arguments.empty()) continue;
    const auto epilogue = Epilogue::Parse(row->name);
    ASSERT_TRUE(epilogue.ok()) << epilogue.status().message();
    EXPECT_EQ(epilogue->ToString(), row->name);
  }
}

}  // namespace
}  // namespace tilewright
