#include "src/tensor/epilogue.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

class EpilogueTest : public testing::TestWithParam<const char*> {};

TEST_P(EpilogueTest, TextRoundTrips) {
  const auto epilogue = Epilogue::Parse(GetParam());
  ASSERT_TRUE(epilogue.ok()) << epilogue.status().message();
  EXPECT_EQ(epilogue->ToString(), GetParam());
  EXPECT_EQ(*Epilogue::Parse(epilogue->ToString()), *epilogue);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, EpilogueTest,
    testing::Values("", "relu",
                    "add(channel:int32);relu;add(256);shift_right(9);clip(-127,127);cast(int8)",
                    "add(tensor:float32);clip(0,6)", "sub(1.5,first);div(tensor:int8,first)",
                    "add(tensor:uint8,less:128);sub(channel:int16,less:-3,first)",
                    "leaky_relu(0.1);sigmoid;hard_sigmoid(0.2,0.5);hard_swish;tanh",
                    "fixed_point_multiply(1466124156,-3);saturate_cast(uint8)",
                    "mul(1e-07);max(-inf);round_even;abs;negate", "sigmoid;mul(%0)", "mul(%0)",
                    "add(channel:float32);div(1.5);erf;add(1);mul(%1);mul(0.5)",
                    "tanh;sub(%0,first);max(%2)",
                    "sub(broadcast[0]:int32);mul(broadcast[]:float32)",
                    "add(broadcast[0,2]:int8,less:3);sub(broadcast[1]:float32,first)"));

TEST(EpilogueTest, KnowsItsOutputType) {
  EXPECT_EQ(Epilogue::Parse("relu")->OutputDtype(kInt32), kInt32);
  EXPECT_EQ(Epilogue::Parse("cast(float32);mul(2);saturate_cast(uint8)")->OutputDtype(kInt32),
            kUInt8);
}

struct RejectStep {
  const char* name;
  const char* text;
  const char* message;
};
void PrintTo(const RejectStep& c, std::ostream* os) { *os << c.name; }
class EpilogueRejectTest : public testing::TestWithParam<RejectStep> {};

TEST_P(EpilogueRejectTest, SaysWhereAndWhat) {
  const auto epilogue = Epilogue::Parse(GetParam().text);
  ASSERT_FALSE(epilogue.ok());
  EXPECT_EQ(epilogue.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(epilogue.status().message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, EpilogueRejectTest,
    testing::Values(
        RejectStep{
            "Unknown", "relu;relu7",
            "epilogue 'relu;relu7': position 5: expected an elementwise operator such as relu"},
        RejectStep{"NotElementwise", "softmax",
                   "epilogue 'softmax': position 0: expected an elementwise operator such as relu"},
        RejectStep{"NoOperand", "add", "epilogue 'add': position 3: expected '('"},
        RejectStep{"Operand", "add(row)", "epilogue 'add(row)': position 4: expected a number"},
        RejectStep{
            "OperandType", "add(channel:int7)",
            "epilogue 'add(channel:int7)': position 12: expected an element type such as float32"},
        RejectStep{"Offset", "add(tensor:uint8,less:0.5)",
                   "epilogue 'add(tensor:uint8,less:0.5)': position 22: expected a whole number"},
        RejectStep{"BroadcastOrder", "add(broadcast[1,0]:int8)",
                   "epilogue 'add(broadcast[1,0]:int8)': position 16: expected a dimension, 2 to "
                   "15"},
        RejectStep{"BroadcastEnd", "add(broadcast[1:int8)",
                   "epilogue 'add(broadcast[1:int8)': position 15: expected ','"},
        RejectStep{"NaN", "add(nan)",
                   "epilogue 'add(nan)': position 7: expected a number that is not NaN"},
        RejectStep{"Open", "clip(0,6", "epilogue 'clip(0,6': position 8: expected ')'"},
        RejectStep{"Order", "clip(6,0)", "clip: a_min 6, expected at most a_max 0"},
        RejectStep{"Shift", "fixed_point_multiply(1,40)",
                   "fixed_point_multiply: shift 40, expected -30 to 31"},
        RejectStep{"Separator", "relu,relu",
                   "epilogue 'relu,relu': position 4: expected ';' or the end"},
        RejectStep{"LaterValue", "sigmoid;mul(%2)",
                   "epilogue 'sigmoid;mul(%2)': position 13: expected the number of a value so "
                   "far, 0 to 1"},
        RejectStep{"NegativeValue", "mul(%-1)",
                   "epilogue 'mul(%-1)': position 5: expected the number of a value so far, 0 to "
                   "0"},
        RejectStep{"NoValue", "mul(%)", "epilogue 'mul(%)': position 5: expected an integer"},
        RejectStep{
            "Explodes", "mul(%0);mul(%1);mul(%2);mul(%3);mul(%4);mul(%5);mul(%6);mul(%7);mul(%8)",
            "epilogue 'mul(%0);mul(%1);mul(%2);mul(%3);mul(%4);mul(%5);mul(%6);mul(%7);mul(%8)': "
            "position 71: expected at most 256 steps, what is used again "
            "counted again"},
        RejectStep{"Trailing", "relu;",
                   "epilogue 'relu;': position 5: expected an elementwise operator such as relu"}),
    testing::PrintToStringParamName());

}  // namespace
}  // namespace tilewright
