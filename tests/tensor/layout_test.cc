#include "src/tensor/layout.h"

#include <gtest/gtest.h>

#include "tests/support/interpreter.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

struct LayoutCase {
  const char* name;
  const char* text;
  const char* primal;
  Shape sizes, packed;
};
void PrintTo(const LayoutCase& c, std::ostream* os) { *os << c.name; }
class LayoutTest : public testing::TestWithParam<LayoutCase> {};

TEST_P(LayoutTest, PacksShapes) {
  const LayoutCase& c = GetParam();
  const auto layout = Layout::Parse(c.text);
  ASSERT_TRUE(layout.ok()) << layout.status().message();
  EXPECT_EQ(layout->text(), c.text);
  EXPECT_EQ(layout->primal(), c.primal);
  EXPECT_EQ(layout->Pack(c.sizes), c.packed);
  EXPECT_EQ(layout->Pack(layout->Unpack(c.packed)), c.packed);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, LayoutTest,
    testing::Values(LayoutCase{"Plain", "NCHW", "NCHW", {1, 3, 5, 7}, {1, 3, 5, 7}},
                    LayoutCase{"Blocked", "NCHW16c", "NCHW", {1, 32, 5, 7}, {1, 2, 5, 7, 16}},
                    LayoutCase{"RoundedUp", "NCHW16c", "NCHW", {1, 3, 5, 7}, {1, 1, 5, 7, 16}},
                    LayoutCase{"Batch", "NCHW1n16c", "NCHW", {2, 16, 5, 7}, {2, 1, 5, 7, 1, 16}},
                    LayoutCase{
                        "TwoBlocks", "OIHW4i16o4i", "OIHW", {32, 20, 3, 3}, {2, 2, 3, 3, 4, 16, 4}},
                    LayoutCase{"Shuffled", "N34cCHW", "NCHW", {1, 136, 2, 3}, {1, 34, 4, 2, 3}},
                    LayoutCase{"Matrix", "NK16n4k", "NK", {17, 9}, {2, 3, 16, 4}}),
    testing::PrintToStringParamName());

TEST(LayoutTest, BlocksMultiply) {
  const Layout layout = *Layout::Parse("OIHW4i16o4i");
  EXPECT_EQ(layout.BlockOf('I'), 16);
  EXPECT_EQ(layout.BlockOf('O'), 16);
  EXPECT_EQ(layout.BlockOf('H'), 1);
}

struct RejectForm {
  const char* name;
  const char* text;
  const char* message;
};
void PrintTo(const RejectForm& c, std::ostream* os) { *os << c.name; }
class LayoutRejectTest : public testing::TestWithParam<RejectForm> {};

TEST_P(LayoutRejectTest, SaysWhy) {
  const auto layout = Layout::Parse(GetParam().text);
  ASSERT_FALSE(layout.ok());
  EXPECT_EQ(layout.status().message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, LayoutRejectTest,
    testing::Values(
        RejectForm{"Empty", "", "layout '': empty, expected letters such as NCHW16c"},
        RejectForm{"Twice", "NCHWC", "layout 'NCHWC': dimension C appears twice"},
        RejectForm{"Lower", "NCHWc", "layout 'NCHWc': unexpected character at position 4"},
        RejectForm{"NoLetter", "NCHW16",
                   "layout 'NCHW16': expected a lower-case letter after a block"},
        RejectForm{"Zero", "NCHW0c", "layout 'NCHW0c': block out of range, expected 1 to 1048576"},
        RejectForm{"Huge", "NCHW99999999999999999999c",
                   "layout 'NCHW99999999999999999999c': block out of range, expected 1 to 1048576"},
        RejectForm{"Nowhere", "N16c", "layout 'N16c': block of dimension C, which it has not"},
        RejectForm{"ManyBlocks", "NC1048576c2c",
                   "layout 'NC1048576c2c': blocks of more than 1048576 elements"}),
    testing::PrintToStringParamName());

struct TransformCase {
  const char* name;
  const char* from;
  const char* to;
  Shape logical;  // in the primal order of `from`
};
void PrintTo(const TransformCase& c, std::ostream* os) { *os << c.name; }
class TransformTest : public testing::TestWithParam<TransformCase> {};

TEST_P(TransformTest, ThereAndBackIsTheSame) {
  const TransformCase& c = GetParam();
  const Layout from = *Layout::Parse(c.from);
  // Only logical positions contain values; padding is zero.
  const std::string plain = from.primal();
  const Tensor source = *TransformLayout(RandomTensor({c.logical, kInt16}, 3, 1000), plain, c.from);
  const auto there = TransformLayout(source, c.from, c.to, c.logical);
  ASSERT_TRUE(there.ok()) << there.status().message();
  const std::string to_primal = Layout::Parse(c.to)->primal();
  Shape to_logical;
  for (char d : to_primal) to_logical.push_back(c.logical[plain.find(d)]);
  EXPECT_EQ(there->shape(), Layout::Parse(c.to)->Pack(to_logical));
  const auto back = TransformLayout(*there, c.to, c.from, to_logical);
  ASSERT_TRUE(back.ok()) << back.status().message();
  ASSERT_EQ(back->type(), source.type());
  for (std::int64_t i = 0; i < source.elements(); ++i) ASSERT_EQ(back->At(i), source.At(i));
}

INSTANTIATE_TEST_SUITE_P(
    Pairs, TransformTest,
    testing::Values(TransformCase{"Permute", "NCHW", "NHWC", {2, 3, 4, 5}},
                    TransformCase{"Block", "NCHW", "NCHW8c", {2, 16, 2, 3}},
                    TransformCase{"RoundUp", "NCHW", "NCHW16c", {1, 3, 2, 3}},
                    TransformCase{"Reblock", "NCHW8c", "NCHW16c", {1, 20, 2, 3}},
                    TransformCase{"Narrow", "NCHW16c", "NCHW4c", {1, 10, 2, 2}},
                    TransformCase{"Accelerator", "NCHW", "NCHW1n16c", {2, 32, 2, 2}},
                    TransformCase{"Weights", "OIHW", "OIHW4i16o4i", {17, 5, 3, 2}},
                    TransformCase{"Shuffle", "NCHW", "N3cCHW", {2, 12, 2, 3}},
                    TransformCase{"ShuffleBlocks", "N3cCHW", "NCHW8c", {2, 12, 2, 3}},
                    TransformCase{"FromNhwc", "HWIO", "OIHW16i32o", {3, 3, 16, 20}}),
    testing::PrintToStringParamName());

TEST(TransformLayoutTest, PlacesElements) {
  Tensor source(TensorType{{3, 4}, kInt8});
  for (std::int64_t i = 0; i < 12; ++i) source.Set(i, static_cast<double>(i));
  const Tensor packed = *TransformLayout(source, "NK", "NK2n4k");
  EXPECT_EQ(packed.shape(), (Shape{2, 1, 2, 4}));
  const std::vector<double> expected{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 0, 0, 0};
  for (std::int64_t i = 0; i < 16; ++i) {
    EXPECT_EQ(packed.At(i), expected[static_cast<std::size_t>(i)]) << i;
  }
}

// Same permutation as a channel shuffle (reshape, transpose, reshape) of 2 groups of 3 channels.
TEST(TransformLayoutTest, PlacesABlockBeforeItsDimension) {
  Tensor source(TensorType{{1, 6}, kInt8});
  for (std::int64_t i = 0; i < 6; ++i) source.Set(i, static_cast<double>(i));
  const Tensor shuffled = *TransformLayout(source, "NC", "N3cC");
  EXPECT_EQ(shuffled.shape(), (Shape{1, 3, 2}));
  const std::vector<double> expected{0, 3, 1, 4, 2, 5};
  for (std::int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(shuffled.At(i), expected[static_cast<std::size_t>(i)]) << i;
  }
}

TEST(TransformLayoutTest, RefusesWhatDoesNotFit) {
  const Tensor source(TensorType{{1, 4, 2, 2, 8}, kInt8});
  EXPECT_EQ(TransformLayout(source, "NCHW8c", "NCDW").status().message(),
            "layouts NCHW8c and NCDW differ in dimensions");
  EXPECT_EQ(TransformLayout(source, "NCHW16c", "NCHW").status().message(),
            "layout NCHW16c: tensor int8[1,4,2,2,8] has other block sizes");
  EXPECT_EQ(TransformLayout(source, "NCHW", "NHWC").status().message(),
            "layout NCHW: tensor int8[1,4,2,2,8] has another number of dimensions");
  EXPECT_EQ(TransformLayout(source, "NCHW8c", "NCHW", Shape{1, 3, 2, 2}).status().message(),
            "layout NCHW8c: logical shape [1,3,2,2] does not fit int8[1,4,2,2,8]");
}

}  // namespace
}  // namespace tilewright
