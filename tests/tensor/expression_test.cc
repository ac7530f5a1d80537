// Expressions: their text and its diagnostics, their canonical form and their values.
#include "src/tensor/expression/expression.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include <cmath>

#include "src/tensor/compute/to_expression.h"
#include "src/tensor/expression/collapse.h"
#include "src/tensor/operator_list.h"
#include "src/tensor/reference/evaluate_list.h"
#include "src/tensor/reference/expression.h"
#include "src/tensor/workload.h"
#include "tests/support/interpreter.h"
#include "tests/support/random_expression.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

Expression Parsed(const std::string& text) {
  auto expression = ParseExpression(text);
  EXPECT_TRUE(expression.ok()) << expression.status().message() << "\n" << text;
  return expression.ok() ? *expression : Expression();
}

std::string KeyOf(const std::string& text) { return Workload::FromExpression(Parsed(text)).Key(); }

TEST(ExpressionOfOperators, IsNoWorkloadWithoutInputs) {
  OperatorList list;
  const int x = list.AddParameter({{4}, kInt64}), zero = list.AddScalar({{}, kInt64}, {0, 0});
  ASSERT_TRUE(list.AddOperator({OpKind::kMul, {}}, {x, zero}).ok());
  const auto expression = ExpressionOf(list);
  ASSERT_TRUE(expression.ok()) << expression.status().message();
  std::vector<int> inputs{7};
  const auto type = Workload::FromExpression(*expression, &inputs).OutputType();
  EXPECT_TRUE(inputs.empty());
  ASSERT_FALSE(type.ok());
  EXPECT_THAT(type.status().message(), HasSubstr("depends on no input"));
}

struct BadText {
  const char* text;
  const char* message;
};

// The error, its position, and the expected text.
constexpr BadText kBadTexts[] = {
    {"", "1:1: no stage, expected one at least"},
    {"input A: float32[4]", "1:20: no stage"},
    {"input A float32[4]", "1:9: 'float32', expected ':'"},
    {"input A: float33[4]", "1:10: 'float33', expected an element type such as float32"},
    {"input A: float32[0]\nB[i: 1] = A[i]", "1:18: 0, expected 1 to 2147483648"},
    {"input A: float32[4]\nB[i: 5] = A[i]", "2:11: index 0 of A is 0 to 4, expected 0 to 3"},
    {"input A: float32[4]\nB[i: 4] = A[i - 1]", "2:11: index 0 of A is -1 to 2"},
    {"input A: float32[4]\nB[i: 4] = select(i >= 1, A[i - 1], A[i - 1])", "2:36: index 0"},
    {"input A: float32[4]\ninput I: int32[3]\nB[i: 3] = A[I[i]]", "write clamp("},
    {"input A: float32[4]\nB[i: 4] = A[i] +", "2:17: the end, expected a value"},
    {"input A: float32[4]\nB[i: 4] = A[i] * j", "2:18: 'j' is neither an axis nor a size here"},
    {"input A: float32[4]\nB[i: 4] = C[i]", "2:11: no input or stage 'C' before"},
    {"input A: float32[4]\nB[i: 4] = foo(A[i])", "2:11: no function 'foo'"},
    {"input A: float32[4]\nB[i: 4] = exp(A[i], A[i])", "exp takes 1 arguments, not 2"},
    {"input A: float32[4]\nB[i: 4] = A[i, 0]", "2 indices of A, which is float32[4], expected 1"},
    {"input A: float32[4]\nB[i: 4] = A[0.5]", "index of float32, expected an integer"},
    {"input A: int8[4]\nB[i: 4] = A[i] / A[i]", "dividing an integer by what is not a number"},
    {"input A: int8[4]\ninput C: int32[4]\nB[i: 4] = A[i] + C[i]", "expected operands of one type"},
    {"input A: float16[4]\nB[i: 4] = A[i] + A[i]", "expected float32(…) of it"},
    {"input A: float32[4]\nB[i: 4] = select(A[i], 1.0, 2.0)", "expected a comparison"},
    {"input A: float32[4]\ninput A: float32[4]", "2:7: there is a 'A' already"},
    {"input A: float32[4]\nB[i: 4] = A[i]\nC[i: 4] = A[i]", "2:1: 'B' is never read"},
    {"input A: float32[4]\ninput U: float32[4]\nB[i: 4] = A[i]", "2:1: 'U' is never read"},
    {"input A: float32[4]\nB[i: 4] = A[i] ? 1", "2:16: character 63 has no meaning here"},
    {"input sum: float32[4]", "1:7: 'sum' is not a name that can be given"},
    {"input A: float32[4]\nB[i: 4, i: 3] = A[i]", "two axes of one name"},
    {"input A: float32[2000000000, 2000000000]\nB[i: 4] = A[i, i]", "expected at most 2^40"},
    {"B[i: 4] = 1.0", "no input before"},
    {"input A: float32[4]\nB[i: 4] = A[i]\ninput C: float32[4]", "3:1: an input behind a stage"},
};

TEST(ExpressionText, SaysWhatIsWrongAndWhere) {
  for (const BadText& bad : kBadTexts) {
    const auto parsed = ParseExpression(bad.text, "a.tw");
    ASSERT_FALSE(parsed.ok()) << bad.text;
    EXPECT_THAT(parsed.status().message(), HasSubstr(bad.message));
    EXPECT_TRUE(parsed.status().message().starts_with("a.tw:")) << parsed.status().message();
  }
}

TEST(ExpressionText, HasLimits) {
  const std::string deep(500, '(');
  const std::string input = "input A: float32[4]\nB[i: 4] = ";
  EXPECT_THAT(ParseExpression(input + deep).status().message(), HasSubstr("brackets"));
  EXPECT_FALSE(ParseExpression(input + std::string(500, '-') + "A[i]").ok());
  EXPECT_FALSE(ParseExpression(std::string(70000, ' ')).ok());
  std::string sum = "A[i]";
  for (int i = 0; i < 300; ++i) sum += " + A[i]";
  EXPECT_THAT(ParseExpression(input + sum).status().message(), HasSubstr("make stages of it"));
  EXPECT_FALSE(ParseExpression(input + "A[(i * 4611686018427387904 * 4) / 4]").ok());
}

TEST(ExpressionText, IsReadBackAsItWas) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const std::string text = RandomExpressionText(seed);
    const Expression first = Parsed(text);
    EXPECT_EQ(Parsed(PrintExpression(first)), first) << PrintExpression(first);
  }
  const char* kValues = R"(input A: float32[4]
input U: uint8[4]
B[i: 4] = select(not (i < 2 or A[i] == 0.1), -A[i] * -1e30, float32(shr(int32(U[i]), 2) % 3 - (1 - 5)))
C[i: 4] = float64(B[i]) - (float64(1e-300) - float64(2)) * -float64(inf)
)";
  const Expression once = Parsed(kValues);
  EXPECT_EQ(Parsed(PrintExpression(once)), once) << PrintExpression(once);
}

TEST(ExpressionKey, IsThatOfTheComputationWhateverItsNames) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::string text = RandomExpressionText(seed);
    const std::string key = KeyOf(text);
    EXPECT_EQ(KeyOf(RenamedExpressionText(text, seed)), key) << text;
    const auto back = Workload::Parse(key);
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(*back, Workload::FromExpression(Parsed(text)));
  }
}

TEST(ExpressionKey, IsTheSameForAxesInAnotherOrder) {
  const std::string inputs = "input A: float32[8, 5]\ninput B: float32[6, 5]\n";
  const std::string result = "D[i: 8, j: 6] = C[i, j] * 2.0";
  EXPECT_EQ(KeyOf(inputs + "C[i: 8, j: 6] = sum(k: 5) A[i, k] * B[j, k]\n" + result),
            KeyOf(inputs + "C[j: 6, i: 8] = sum(k: 5) B[j, k] * A[i, k]\n" +
                  "D[i: 8, j: 6] = 2.0 * C[j, i]"));
  EXPECT_EQ(KeyOf("input X: float32[4, 5, 6]\nS[i: 4] = sum(j: 5, k: 6) X[i, j, k]"),
            KeyOf("input X: float32[4, 5, 6]\nS[i: 4] = sum(b: 6, a: 5) X[i, a, b]"));
  EXPECT_EQ(KeyOf("input X: float32[9]\nY[i: 4] = X[2*i + 1]"),
            KeyOf("input X: float32[9]\nY[i: 4] = X[1 + i + i]"));
  // The result's own axes define its memory layout.
  EXPECT_NE(KeyOf("input X: float32[4, 5]\nY[i: 4, j: 5] = X[i, j] * 2.0"),
            KeyOf("input X: float32[4, 5]\nY[j: 5, i: 4] = X[i, j] * 2.0"));
  EXPECT_NE(KeyOf("input X: float32[4]\nY[i: 4] = X[i]"),
            KeyOf("const X: float32[4]\nY[i: 4] = X[i]"));
  EXPECT_EQ(KeyOf("input X: float32[4]\nY[i: 4] = X[i] * 2"),
            "expression(input x0:float32[4];t0[i0:4]=x0[i0]*2.0)");
}

// Of 60 sizes, since hashes of sizes decide the order of axes.
TEST(ExpressionKey, IsTheSameHoweverASumOfIndicesIsGrouped) {
  for (int rows = 1; rows <= 60; ++rows) {
    const std::string before = fmt::format(
        "input X: float32[{0}, 512]\ninput W: float32[32, 4, 4, 4]\n"
        "Y[m: {0}, b: 8] = sum(c: 4, j: 4, t: 4) W[b, c, j, t] * X[m, ",
        rows);
    const std::string key = KeyOf(before + "b * 64 + (c * 4 + j) * 4 + t]");
    EXPECT_EQ(KeyOf(before + "(b * 4 + c) * 16 + (j * 4 + t)]"), key);
    EXPECT_EQ(KeyOf(before + "t + 4 * (j + 4 * (c + b * 4))]"), key);
    EXPECT_EQ(KeyOf(before + "(t + c * 16) - (0 - j * 4 - b * 64)]"), key);
    const auto back = Workload::Parse(key);
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(back->Key(), key);
  }
}

TEST(ExpressionKey, HasOneSpelling) {
  const auto other = Workload::Parse("expression(input a:float32[4];t0[i0:4]=a[i0]*2.0)");
  EXPECT_THAT(other.status().message(), HasSubstr("expected the canonical text"));
  EXPECT_FALSE(Workload::Parse("expression()").ok());
  EXPECT_FALSE(Workload::Parse("expression(input x0:float32[4])").ok());
}

std::vector<Tensor> InputsOfExpression(const Expression& expression, std::uint64_t seed) {
  std::vector<Tensor> tensors;
  for (const ExpressionInput& input : expression.inputs) {
    tensors.push_back(RandomTensor(input.type, seed + tensors.size(), 40));
  }
  return tensors;
}

/// Compares with an interpreter of the definition that works element by element in the declared
/// types.
TEST(ExpressionValues, AreThoseOfTheDefinition) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const Expression expression = Parsed(RandomExpressionText(seed));
    const std::vector<Tensor> inputs = InputsOfExpression(expression, seed);
    const auto pointers = PointersTo(inputs);
    const auto bounded = EvaluateExpression(expression, pointers);
    ASSERT_TRUE(bounded.ok()) << bounded.status().message();
    const Interpreted defined = EvaluateCompute(DefineExpression(expression), pointers);
    ASSERT_EQ(defined.error, "") << PrintExpression(expression);
    const Comparison comparison = CompareBounded(defined.result, *bounded);
    EXPECT_TRUE(comparison.ok) << seed << ": element " << comparison.first_bad << "\n"
                               << PrintExpression(expression);
  }
}

TEST(ExpressionValues, StayTheSameInCanonicalFormAndWithDimensionsJoined) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Expression expression = Parsed(RandomExpressionText(seed));
    const std::vector<Tensor> inputs = InputsOfExpression(expression, seed);
    const auto given = EvaluateExpression(expression, PointersTo(inputs));
    const CanonicalExpression canonical = Canonical(expression);
    ASSERT_TRUE(CheckReadBounds(canonical.expression).ok());
    std::vector<const Tensor*> moved;
    for (int input : canonical.inputs) moved.push_back(&inputs[static_cast<std::size_t>(input)]);
    const auto again = EvaluateExpression(canonical.expression, moved);
    ASSERT_TRUE(given.ok() && again.ok());
    EXPECT_TRUE(CompareBounded(again->value, *given).ok) << PrintExpression(expression);

    const Expression joined = Collapsed(expression);
    std::vector<Tensor> flat;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      flat.push_back(inputs[i].Clone());
      flat.back().Reshape(joined.inputs[i].type.shape);
    }
    auto third = EvaluateExpression(joined, PointersTo(flat));
    ASSERT_TRUE(third.ok());
    third->value.Reshape(given->value.shape());
    EXPECT_TRUE(CompareBounded(third->value, *given).ok) << PrintExpression(expression);
  }
}

TEST(ExpressionValues, OfFewElementsAreKnown) {
  const auto values = [](const std::string& text, std::vector<double> of) {
    const Expression expression = Parsed(text);
    Tensor input(expression.inputs[0].type);
    for (std::size_t i = 0; i < of.size(); ++i) input.Set(static_cast<std::int64_t>(i), of[i]);
    const Tensor* pointer = &input;
    const auto bounded = EvaluateExpression(expression, {&pointer, 1});
    EXPECT_TRUE(bounded.ok()) << bounded.status().message();
    return NumbersOf(bounded->value);
  };
  using testing::ElementsAre;
  EXPECT_THAT(values("input X: float32[3]\nI[] = argmax(i: 3) X[i]", {1, 5, 5}), ElementsAre(1));
  EXPECT_THAT(values("input X: float32[3]\nI[] = argmin(i: 3) X[i]", {4, -1, 2}), ElementsAre(1));
  EXPECT_THAT(values("input X: float32[3]\nI[] = product(i: 3) X[i]", {4, -1, 2}), ElementsAre(-8));
  EXPECT_THAT(values("input X: int8[3]\nI[i: 3] = X[i] + X[i]", {100, -100, 7}),
              ElementsAre(-56, 56, 14));
  EXPECT_THAT(values("input X: int8[2]\nI[i: 2] = X[i] / 4 * 10 + X[i] % 4", {-7, 7}),
              ElementsAre(-19, 13));
  EXPECT_THAT(values("input X: float32[2]\nI[i: 2] = int32(X[i])", {-1.75, 2.5}),
              ElementsAre(-1, 2));
  EXPECT_THAT(values("input X: uint8[2]\nI[i: 2] = int8(X[i])", {200, 7}), ElementsAre(-56, 7));
}

/// Returns the correct results for the expression's single position, starting from 0.
std::vector<std::int64_t> RightPositions(const std::string& text,
                                         const std::vector<std::vector<double>>& of) {
  const Expression expression = Parsed(text);
  std::vector<Tensor> inputs;
  for (std::size_t t = 0; t < of.size(); ++t) {
    inputs.emplace_back(expression.inputs[t].type);
    for (std::size_t i = 0; i < of[t].size(); ++i) {
      inputs[t].Set(static_cast<std::int64_t>(i), of[t][i]);
    }
  }
  const auto bounded = EvaluateExpression(expression, PointersTo(inputs));
  EXPECT_TRUE(bounded.ok()) << bounded.status().message();
  std::vector<std::int64_t> right;
  Tensor result(bounded->value.type());
  for (std::int64_t i = 0; i < expression.inputs[0].type.elements(); ++i) {
    result.Set(0, static_cast<double>(i));
    if (CompareBounded(result, *bounded).ok) right.push_back(i);
  }
  return right;
}

// In float32, 3 * 0.1 may be smaller or larger than 0.3, so both positions are correct. The 0.2
// between them is not.
TEST(ExpressionBounds, PositionsAreRightWhereRoundingMayChooseThem) {
  using testing::ElementsAre;
  const std::string products = "input A: float32[4]\ninput B: float32[4]\n";
  const std::vector<std::vector<double>> close = {{3, 2, 0.3F, 1}, {0.1F, 0.1F, 1, 0.1F}};
  EXPECT_THAT(RightPositions(products + "I[] = argmax(i: 4) A[i] * B[i]", close),
              ElementsAre(0, 2));
  EXPECT_THAT(RightPositions(products + "I[] = argmin(i: 4) 0.0 - A[i] * B[i]", close),
              ElementsAre(0, 2));
  // A value computed from a position may be anything between the values of the correct positions.
  EXPECT_THAT(RightPositions(products + "I[] = argmax(i: 4) A[i] * B[i]\nJ[] = I[] + 1", close),
              ElementsAre(1, 2, 3));
  // Integers computed from them are certainly equal, so the first position is correct.
  EXPECT_THAT(RightPositions(products + "I[] = argmax(i: 4) floor(A[i] * B[i])", close),
              ElementsAre(0));
}

/// Position of an element among 200 float32 products. The first `equal` ones are equal except for
/// rounding.
BoundedTensor PositionAmongTies(int equal, double last) {
  const Expression expression =
      Parsed("input A: float32[200]\ninput B: float32[200]\nI[] = argmax(i: 200) A[i] * B[i]");
  std::vector<Tensor> inputs;
  for (const ExpressionInput& input : expression.inputs) inputs.emplace_back(input.type);
  for (std::int64_t i = 0; i < 200; ++i) {
    inputs[0].Set(i, i < equal ? 3 : 1);
    inputs[1].Set(i, 0.1F);
  }
  inputs[0].Set(199, last);
  auto bounded = EvaluateExpression(expression, PointersTo(inputs));
  EXPECT_TRUE(bounded.ok()) << bounded.status().message();
  return *std::move(bounded);
}

// Correct positions are listed for each element; if there are many, an error bound replaces the
// list.
TEST(ExpressionBounds, FewRightPositionsAreListed) {
  const auto expect = [](const BoundedTensor& bounded, std::size_t listed, double error) {
    EXPECT_EQ(bounded.other_positions.size(), listed);
    EXPECT_EQ(bounded.exact() ? 0 : bounded.error.At(0), error);
  };
  expect(PositionAmongTies(1, 1), 0, 0);
  expect(PositionAmongTies(64, 1), 63, 0);
  expect(PositionAmongTies(65, 1), 0, 199);
  expect(PositionAmongTies(199, 3), 0, 199);
  // If one element is certainly larger than all others, only its position is correct.
  const BoundedTensor clear = PositionAmongTies(199, 4);
  EXPECT_EQ(clear.value.At(0), 199);
  expect(clear, 0, 0);
  // All positions are correct.
  const std::string products = "input A: float32[4]\ninput B: float32[4]\n";
  EXPECT_THAT(RightPositions(products + "I[] = argmax(i: 4) A[i] * B[i]",
                             {{3, 3, 3, 3}, {0.1F, 0.1F, 0.1F, 0.1F}}),
              testing::ElementsAre(0, 1, 2, 3));
}

TEST(ExpressionBounds, OfExactValuesTheFirstPositionAloneIsRight) {
  using testing::ElementsAre;
  EXPECT_THAT(RightPositions("input X: float32[4]\nI[] = argmax(i: 4) X[i]", {{1, 5, 5, 2}}),
              ElementsAre(1));
  EXPECT_THAT(RightPositions("input X: int8[4]\nI[] = argmin(i: 4) X[i] + X[i]", {{1, -5, 2, -5}}),
              ElementsAre(1));
  // Ties follow the order of the axes in brackets, whichever axis is the longest.
  std::vector<double> values(120, -1);
  values[2 * 3 + 2] = values[7 * 3] = 4;
  for (const char* type : {"float32", "int32"}) {
    EXPECT_THAT(RightPositions(
                    std::string("input X: ") + type + "[40, 3]\nI[] = argmax(i: 40, j: 3) X[i, j]",
                    {values}),
                ElementsAre(8));
  }
}

TEST(ExpressionBounds, GrowWithWhatIsRounded) {
  const std::string text = "input X: float32[2000]\nS[] = sum(i: 2000) X[i]";
  const Expression expression = Parsed(text);
  const std::vector<Tensor> inputs = InputsOfExpression(expression, 1);
  const auto sum = EvaluateExpression(expression, PointersTo(inputs));
  ASSERT_TRUE(sum.ok());
  const double bound = sum->error.At(0);
  EXPECT_GT(bound, 1e-5);
  EXPECT_LT(bound, 0.05);
  // A float may be on either side of a condition that compares it.
  const Expression edge =
      Parsed("input X: float32[1]\nA[i: 1] = X[i] * 0.1\nB[i: 1] = select(A[i] < 0.3, 1.0, 2.0)");
  Tensor three(edge.inputs[0].type);
  three.Set(0, 3);
  const Tensor* pointer = &three;
  const auto unsure = EvaluateExpression(edge, {&pointer, 1});
  ASSERT_TRUE(unsure.ok());
  EXPECT_EQ(unsure->error.At(0), 1);
}

/// Groups of a graph become tasks in this way.
TEST(ExpressionOfOperators, ComputesWhatTheyDo) {
  std::vector<Operator> operators;
  const auto add = [&](OpKind kind, const std::function<void(OpAttributes&)>& set) {
    operators.push_back({kind, {}});
    set(operators.back().attributes);
  };
  add(OpKind::kSoftmax, [](OpAttributes& a) { a.axis = -1; });
  add(OpKind::kMaxPool2d, [](OpAttributes& a) {
    a.pool_size = {3, 3};
    a.strides = {2, 2};
    a.padding = {1, 1, 1, 1};
  });
  add(OpKind::kAvgPool2d, [](OpAttributes& a) {
    a.pool_size = {2, 2};
    a.padding = {1, 0, 0, 1};
  });
  add(OpKind::kReduceMean, [](OpAttributes& a) { a.axes = {2, 3}; });
  add(OpKind::kHardSwish, [](OpAttributes&) {});
  add(OpKind::kTranspose, [](OpAttributes& a) { a.axes = {0, 2, 3, 1}; });
  add(OpKind::kGlobalAvgPool2d, [](OpAttributes&) {});
  for (const Operator& op : operators) {
    OperatorList list;
    const TensorType type{{2, 3, 9, 8}, kFloat32};
    const int x = list.AddParameter(type);
    ASSERT_TRUE(list.AddOperator(op, {x}).ok());
    const auto expression = ExpressionOf(list);
    ASSERT_TRUE(expression.ok()) << OpName(op.kind) << ": " << expression.status().message();
    const Tensor input = RandomTensor(type, 3);
    const Tensor* pointer = &input;
    const auto expected = EvaluateList(list, {&pointer, 1});
    const auto bounded = EvaluateExpression(*expression, {&pointer, 1});
    ASSERT_TRUE(expected.ok() && bounded.ok());
    EXPECT_TRUE(CompareBounded(*expected, *bounded).ok) << OpName(op.kind);
    // Its key can be parsed, as keys in a store are.
    const Workload workload = Workload::FromExpression(*expression);
    const auto parsed = Workload::Parse(workload.Key());
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(*parsed, workload);
  }
}

TEST(ExpressionCollapse, JoinsWhatIsReadTogether) {
  const Expression joined =
      Collapsed(Parsed("input X: float32[2, 8, 5, 7]\ninput b: float32[8]\n"
                       "Y[n: 2, c: 8, y: 5, x: 7] = X[n, c, y, x] + b[c]"));
  EXPECT_EQ(joined.inputs[0].type.ToString(), "float32[2,8,35]");
  const Expression whole =
      Collapsed(Parsed("input X: float32[2, 8, 5]\nY[n: 2, c: 8, y: 5] = exp(X[n, c, y])"));
  EXPECT_EQ(whole.result().ToString(), "float32[80]");
  const Expression shifted =
      Collapsed(Parsed("input X: float32[8, 6]\nY[c: 8, y: 5] = X[c, y + 1]"));
  EXPECT_EQ(shifted.result().ToString(), "float32[8,5]");
}

}  // namespace
}  // namespace tilewright
