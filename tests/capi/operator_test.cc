// Descriptions of operators through the C interface.

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/capi/capi_fixture.h"

namespace tilewright::capi {
namespace {

struct Integers {
  const char* name;
  std::vector<std::int64_t> values;
};
struct Text {
  const char* name;
  const char* value;
};
struct Case {
  const char* label;
  const char* name;
  const char* dtype;
  std::vector<std::int64_t> data, weight;
  std::vector<Integers> integers;
  std::vector<Text> texts;
  const char* key;      ///< null: rejected
  const char* message;  ///< part of the error message
};

tw_code Describe(const Case& c, std::string& key, tw_error& error) {
  tw_operator* op = nullptr;
  if (tw_operator_create(c.name, &op, &error) != TW_OK) return error.code;
  const Owned<tw_operator> owned(op);
  for (const auto* shape : {&c.data, &c.weight}) {
    if (shape->empty()) continue;
    if (tw_operator_add_tensor(op, c.dtype, shape->data(), shape->size(), &error) != TW_OK) {
      return error.code;
    }
  }
  for (const Integers& i : c.integers) {
    if (tw_operator_set_integers(op, i.name, i.values.data(), i.values.size(), &error) != TW_OK) {
      return error.code;
    }
  }
  for (const Text& t : c.texts) {
    if (tw_operator_set_text(op, t.name, t.value, &error) != TW_OK) return error.code;
  }
  char buffer[512];
  std::size_t needed = 0;
  if (tw_operator_key(op, buffer, sizeof buffer, &needed, &error) != TW_OK) return error.code;
  key = buffer;
  EXPECT_EQ(needed, key.size() + 1);
  return TW_OK;
}

class OperatorTest : public testing::TestWithParam<Case> {};

TEST_P(OperatorTest, HasItsKeyOrIsRefused) {
  const Case& c = GetParam();
  tw_error error = TW_ERROR_INIT;
  std::string key;
  const tw_code code = Describe(c, key, error);
  if (c.key != nullptr) {
    EXPECT_EQ(code, TW_OK) << error.message;
    EXPECT_EQ(key, c.key);
  } else {
    EXPECT_EQ(code, TW_INVALID_ARGUMENT) << key;
    EXPECT_THAT(error.message, testing::HasSubstr(c.message));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, OperatorTest,
    testing::Values(
        Case{"Dense",
             "dense",
             "float32",
             {1, 512},
             {1000, 512},
             {},
             {},
             "dense(float32[1,512]MK,float32[1000,512]NK)->float32",
             nullptr},
        Case{"Conv",
             "conv2d",
             "int8",
             {1, 64, 56, 56},
             {64, 64, 3, 3},
             {{"padding", {1}}, {"strides", {2}}},
             {},
             "conv2d(int8[1,64,56,56]NCHW,int8[64,64,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g1)->int32",
             nullptr},
        Case{"RowAndColumnPadding",
             "conv2d",
             "float32",
             {1, 8, 9, 9},
             {8, 8, 3, 1},
             {{"padding", {1, 0}}},
             {{"out_dtype", "float32"}},
             "conv2d(float32[1,8,9,9]NCHW,float32[8,8,3,1]OIHW,s1x1,p1x0x1x0,d1x1,g1)->float32",
             nullptr},
        Case{"Depthwise",
             "depthwise_conv2d",
             "float32",
             {1, 32, 9, 9},
             {32, 1, 3, 3},
             {{"groups", {32}}, {"padding", {1, 1, 1, 1}}},
             {},
             "depthwise_conv2d(float32[1,32,9,9]NCHW,float32[32,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g32)"
             "->float32",
             nullptr},
        Case{"Transposed",
             "conv2d_transpose",
             "float32",
             {1, 8, 4, 4},
             {8, 4, 3, 3},
             {{"strides", {2, 2}}, {"output_padding", {1}}},
             {},
             "conv2d_transpose(float32[1,8,4,4]NCHW,float32[8,4,3,3]IOHW,s2x2,p0x0x0x0,d1x1,g1,"
             "o1x1)->float32",
             nullptr},
        Case{"Batched",
             "batch_matmul",
             "float32",
             {12, 128, 64},
             {12, 128, 64},
             {},
             {},
             "batch_matmul(float32[12,128,64]BMK,float32[12,128,64]BNK)->float32",
             nullptr},
        Case{"NarrowWeights",
             "conv2d",
             "int8",
             {1, 64, 8, 8},
             {64, 64, 1, 1},
             {{"narrow_weights", {1}}},
             {},
             "conv2d(int8[1,64,8,8]NCHW,int8[64,64,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1,w64)->int32",
             nullptr},
        Case{"NarrowWeightsTakenBack",
             "dense",
             "int8",
             {1, 64},
             {64, 64},
             {{"narrow_weights", {1}}, {"narrow_weights", {0}}},
             {},
             "dense(int8[1,64]MK,int8[64,64]NK)->int32",
             nullptr},
        Case{"NarrowFloats",
             "dense",
             "float32",
             {1, 64},
             {64, 64},
             {{"narrow_weights", {1}}},
             {},
             nullptr,
             "narrow weights (w64), expected conv2d or dense of 8-bit data"},
        Case{"TwiceNarrow",
             "dense",
             "int8",
             {1, 64},
             {64, 64},
             {{"narrow_weights", {2}}},
             {},
             nullptr,
             "narrow_weights: expected one value, 0 or 1"},
        Case{"UnknownName", "conv3d", "float32", {1}, {1}, {}, {}, nullptr, "operator 'conv3d'"},
        Case{"UnknownType", "dense", "float33", {1}, {1}, {}, {}, nullptr, "float33"},
        Case{"NoWeight", "dense", "float32", {1, 512}, {}, {}, {}, nullptr, "with 1 tensors"},
        Case{"ShapesDoNotFit", "dense", "float32", {1, 512}, {1000, 511}, {}, {}, nullptr, "512"},
        Case{
            "NegativeSize", "dense", "float32", {-1, 512}, {1000, 512}, {}, {}, nullptr, "size -1"},
        Case{"UnknownAttribute",
             "dense",
             "float32",
             {1, 512},
             {1000, 512},
             {{"pads", {1}}},
             {},
             nullptr,
             "attribute 'pads'"},
        Case{"ThreePaddings",
             "conv2d",
             "float32",
             {1, 8, 9, 9},
             {8, 8, 3, 3},
             {{"padding", {1, 1, 1}}},
             {},
             nullptr,
             "padding of 3 values"},
        Case{"NotDepthwise",
             "depthwise_conv2d",
             "float32",
             {1, 8, 9, 9},
             {8, 8, 3, 3},
             {},
             {},
             nullptr,
             "a conv2d was created as depthwise_conv2d"},
        Case{"StrideZero",
             "conv2d",
             "float32",
             {1, 8, 9, 9},
             {8, 8, 3, 3},
             {{"strides", {0}}},
             {},
             nullptr,
             "strides"},
        Case{"BadLayout",
             "conv2d",
             "float32",
             {1, 8, 9, 9},
             {8, 8, 3, 3},
             {},
             {{"data_layout", "N((HW"}},
             nullptr,
             "layout"}),
    [](const auto& tested) { return tested.param.label; });

TEST(OperatorKeyTest, AsksForTheBufferItNeeds) {
  tw_error error = TW_ERROR_INIT;
  tw_operator* op = nullptr;
  ASSERT_EQ(tw_operator_create("dense", &op, &error), TW_OK);
  const Owned<tw_operator> owned(op);
  const std::int64_t shape[] = {4, 4};
  ASSERT_EQ(tw_operator_add_tensor(op, "float32", shape, 2, &error), TW_OK);
  ASSERT_EQ(tw_operator_add_tensor(op, "float32", shape, 2, &error), TW_OK);
  EXPECT_EQ(tw_operator_add_tensor(op, "float32", shape, 2, &error), TW_INVALID_ARGUMENT);
  char buffer[4] = {'a', 'b', 'c', 0};
  std::size_t needed = 0;
  EXPECT_EQ(tw_operator_key(op, buffer, sizeof buffer, &needed, &error), TW_TOO_SMALL);
  EXPECT_EQ(error.code, TW_TOO_SMALL);
  EXPECT_STREQ(buffer, "abc");
  EXPECT_EQ(needed, sizeof "dense(float32[4,4]MK,float32[4,4]NK)->float32");
}

}  // namespace
}  // namespace tilewright::capi
