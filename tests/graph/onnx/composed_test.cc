// Operators that the import builds from others, compared with their definitions, which are written
// out in this file.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "src/graph/onnx/proto.h"
#include "src/graph/passes/passes.h"
#include "tests/graph/one_operator.h"

namespace tilewright {
namespace {

namespace def = onnx_definitions;
using def::Array;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

Array Mapped(const Array& x, const std::function<double(double)>& function) {
  Array y = x;
  for (double& value : y.v) value = function(value);
  return y;
}

struct FunctionCase {
  const char* op;
  std::vector<std::pair<const char*, float>> attributes;
  std::function<double(double)> function;
};

double Phi(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }  // normal distribution

const FunctionCase kFunctions[] = {
    {"Elu", {}, [](double x) { return x < 0 ? std::exp(x) - 1 : x; }},
    {"Elu", {{"alpha", 0.5F}}, [](double x) { return x < 0 ? 0.5 * (std::exp(x) - 1) : x; }},
    {"Celu",
     {{"alpha", 2}},
     [](double x) { return std::max(0.0, x) + std::min(0.0, 2 * (std::exp(x / 2) - 1)); }},
    {"Selu",
     {},
     [](double x) {
       return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * (std::exp(x) - 1));
     }},
    {"Selu",
     {{"alpha", 2}, {"gamma", 3}},
     [](double x) { return x > 0 ? 3 * x : 3 * (2 * std::exp(x) - 2); }},
    {"ThresholdedRelu", {}, [](double x) { return x > 1 ? x : 0; }},
    {"ThresholdedRelu", {{"alpha", -2}}, [](double x) { return x > -2 ? x : 0; }},
    {"Softplus", {}, [](double x) { return x > 30 ? x : std::log1p(std::exp(x)); }},
    {"Softsign", {}, [](double x) { return x / (1 + std::abs(x)); }},
    {"Mish", {}, [](double x) { return x * std::tanh(x > 30 ? x : std::log1p(std::exp(x))); }},
    {"Gelu", {}, [](double x) { return x * Phi(x); }},
    {"Sign", {}, [](double x) { return x > 0   ? 1
                                       : x < 0 ? -1
                                               : 0; }},
};

TEST(OnnxComposed, Functions) {
  const Array x{{13}, {-200, -20, -3, -1, -0.25, -1e-3, 0, 1e-3, 0.5, 1, 3, 20, 200}};
  for (const FunctionCase& c : kFunctions) {
    SCOPED_TRACE(c.op);
    OneOperator function(c.op, x, 20);
    for (const auto& [name, value] : c.attributes) function.model().Float(name, value);
    ExpectEqual(function.Run(), Mapped(x, c.function), 2e-6);
  }
  OneOperator gelu("Gelu", x, 20);
  gelu.model().Text("approximate", "tanh");
  ExpectEqual(gelu.Run(),
              Mapped(x,
                     [](double v) {
                       const double inner = std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v);
                       return 0.5 * v * (1 + std::tanh(inner));
                     }),
              2e-6);
  ExpectEqual(OneOperator("Sign", {{3}, {-5, 0, 7}}, 13, kInt32).Run(), {{3}, {-1, 0, 1}});
  ExpectEqual(OneOperator("Sign", {{2}, {0, 200}}, 13, kUInt8).Run(), {{2}, {0, 1}});
}

// Mean and inverse standard deviation of the elements that `same` puts into one group with an
// index.
struct Moments {
  double mean = 0, inverse = 0;
};
Moments MomentsOf(const Array& x, const std::function<bool(const Ints&)>& same, double epsilon) {
  double sum = 0, squares = 0, count = 0;
  def::ForEach(x.shape, [&](const Ints& i) {
    if (!same(i)) return;
    sum += x.At(i);
    ++count;
  });
  def::ForEach(x.shape, [&](const Ints& i) {
    if (same(i)) squares += (x.At(i) - sum / count) * (x.At(i) - sum / count);
  });
  return {sum / count, 1 / std::sqrt(squares / count + epsilon)};
}

TEST(OnnxComposed, LayerNormalization) {
  const Array x = Array::Made({2, 3, 4}, 41, -9, 9);
  for (std::int64_t axis : {-1, -2, 1, 2, 0}) {
    const auto first = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
    const Ints inner(x.shape.begin() + static_cast<std::ptrdiff_t>(first), x.shape.end());
    const Array scale = Array::Made(inner, 42, -3, 3), bias = Array::Made(inner, 43, -5, 5);
    for (double epsilon : {1e-5, 0.5}) {
      for (const bool biased : {false, true}) {
        SCOPED_TRACE("axis " + std::to_string(axis));
        Array expected = x;
        def::ForEach(x.shape, [&](const Ints& i) {
          const auto same = [&](const Ints& j) {
            return std::equal(j.begin(), j.begin() + static_cast<std::ptrdiff_t>(first), i.begin());
          };
          const Moments m = MomentsOf(x, same, epsilon);
          const Ints at(i.begin() + static_cast<std::ptrdiff_t>(first), i.end());
          expected.At(i) =
              (x.At(i) - m.mean) * m.inverse * scale.At(at) + (biased ? bias.At(at) : 0);
        });
        OneOperator norm("LayerNormalization", x, 17);
        norm.With(scale).model().Int("axis", axis);
        if (epsilon != 1e-5) norm.model().Float("epsilon", static_cast<float>(epsilon));
        if (biased) norm.With(bias);
        ExpectEqual(norm.Run(), expected, 1e-5);
      }
    }
  }
}

// A normalization is one kernel over any number of trailing dimensions.
TEST(OnnxComposed, NormalizationsAreOneKernel) {
  struct Case {
    const char* op;
    std::int64_t opset;
    Ints shape, factors;
    const char* attribute;
    std::int64_t number;
  };
  const Case cases[] = {{"InstanceNormalization", 13, {2, 6, 4, 5}, {6}, "", 0},
                        {"GroupNormalization", 21, {2, 6, 4, 5}, {6}, "num_groups", 3},
                        {"GroupNormalization", 18, {2, 6, 4, 5}, {3}, "num_groups", 3},
                        {"LayerNormalization", 17, {2, 6, 4, 5}, {5}, "axis", -1},
                        {"LayerNormalization", 17, {2, 6, 4, 5}, {6, 4, 5}, "axis", 1},
                        {"LpNormalization", 13, {2, 6, 4, 5}, {}, "p", 2},
                        {"MeanVarianceNormalization", 13, {1, 6, 4, 5}, {}, "", 0}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.op);
    OnnxBuilder model(c.opset);
    model.Input("x", c.shape);
    Strings inputs = {"x"};
    for (const char* name : {"s", "b"}) {
      if (c.factors.empty()) continue;
      model.Initializer(name, TensorOf(Array::Made(c.factors, 3, 1, 9)));
      inputs.emplace_back(name);
    }
    model.Node(c.op, inputs, {"y"}).Output("y");
    if (*c.attribute != '\0') model.Int(c.attribute, c.number);
    auto graph = model.Import();
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    auto optimized = Optimize(*std::move(graph));
    ASSERT_TRUE(optimized.ok()) << optimized.status().message();
    const auto groups = FuseGroups(*optimized);
    ASSERT_TRUE(groups.ok());
    EXPECT_EQ(std::ranges::count(*groups, false, &FusedGroup::alias), 1);
  }
}

TEST(OnnxComposed, LayerNormalizationGivesItsMoments) {
  OnnxBuilder model(17);
  model.Input("x", {2, 3}).Output("y").Output("m").Output("s");
  model.Initializer("w", MakeTensor(kFloat32, {3}, {1, 1, 1}));
  model.Node("LayerNormalization", {"x", "w"}, {"y", "m", "s"}).Float("epsilon", 0);
  auto graph = model.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->outputs().size(), 3U);
  model.proto().mutable_graph()->mutable_output()->DeleteSubrange(0, 1);
  model.proto().mutable_graph()->mutable_output()->DeleteSubrange(1, 1);
  const Tensor x = MakeTensor(kFloat32, {2, 3}, {1, 2, 3, 0, 0, 6});
  EXPECT_EQ(ValuesOf(EvaluateModel(model, {&x})), (Doubles{2, 2}));
}

TEST(OnnxComposed, InstanceAndGroupNormalization) {
  for (const Ints& shape : {Ints{2, 6, 3}, Ints{2, 6, 3, 2}, Ints{1, 6, 2, 2, 2}}) {
    const Array x = Array::Made(shape, 44, -9, 9);
    const Doubles scale = {1, 2, -1, 0.5, 3, 1}, bias = {0, 1, 2, 3, 4, -5};
    for (std::int64_t groups : {6, 3, 2, 1}) {
      SCOPED_TRACE(std::to_string(shape.size()) + " dimensions, groups " + std::to_string(groups));
      const std::int64_t size = 6 / groups;
      const auto normalized = [&](bool per_channel) {
        Array y = x;
        def::ForEach(shape, [&](const Ints& i) {
          const auto same = [&](const Ints& j) {
            return j[0] == i[0] && j[1] / size == i[1] / size;
          };
          const Moments m = MomentsOf(x, same, 1e-3F);
          const auto at = static_cast<std::size_t>(per_channel ? i[1] : i[1] / size);
          y.At(i) = (x.At(i) - m.mean) * m.inverse * scale[at] + bias[at];
        });
        return y;
      };
      OneOperator norm("GroupNormalization", x, 21);
      norm.Vector(scale).Vector(bias).model().Int("num_groups", groups).Float("epsilon", 1e-3F);
      ExpectEqual(norm.Run(), normalized(true), 1e-5);
      const auto count = static_cast<std::ptrdiff_t>(groups);
      OneOperator old("GroupNormalization", x, 18);
      old.With({{groups}, Doubles(scale.begin(), scale.begin() + count)});
      old.With({{groups}, Doubles(bias.begin(), bias.begin() + count)});
      old.model().Int("num_groups", groups).Float("epsilon", 1e-3F);
      ExpectEqual(old.Run(), normalized(false), 1e-5);
      if (groups != 6) continue;
      OneOperator instance("InstanceNormalization", x);
      instance.Vector(scale).Vector(bias).model().Float("epsilon", 1e-3F);
      ExpectEqual(instance.Run(), normalized(true), 1e-5);
    }
  }
}

using Compare = std::function<bool(double, double)>;

TEST(OnnxComposed, Comparisons) {
  const std::pair<const char*, Compare> kComparisons[] = {
      {"Equal", std::equal_to<>()},
      {"Less", std::less<>()},
      {"Greater", std::greater<>()},
      {"LessOrEqual", std::less_equal<>()},
      {"GreaterOrEqual", std::greater_equal<>()}};
  const Array a{{6}, {1, 2, 3, kNan, kInfinite, -kInfinite}};
  const Array b{{3, 1}, {2, kNan, -kInfinite}};
  for (const auto& [op, compare] : kComparisons) {
    SCOPED_TRACE(op);
    Array expected = Array::Filled({3, 6});
    def::ForEach(expected.shape, [&](const Ints& i) {
      expected.At(i) =
          compare(a.v[static_cast<std::size_t>(i[1])], b.v[static_cast<std::size_t>(i[0])]);
    });
    OneOperator floats(op, a, 16);
    ExpectEqual(floats.With(b).Run(), expected);
    OneOperator integers(op, {{4}, {-1, 0, 1, 2}}, 16, kInt32);
    ExpectEqual(integers.Scalar(1, kInt32).Run(),
                Mapped({{4}, {-1, 0, 1, 2}}, [&](double x) { return compare(x, 1); }));
  }
}

TEST(OnnxComposed, Logic) {
  const Array a{{2, 1}, {0, 1}}, b{{2}, {0, 1}};
  const std::pair<const char*, Doubles> kTables[] = {
      {"And", {0, 0, 0, 1}}, {"Or", {0, 1, 1, 1}}, {"Xor", {0, 1, 1, 0}}, {"Equal", {1, 0, 0, 1}}};
  for (const auto& [op, table] : kTables) {
    SCOPED_TRACE(op);
    ExpectEqual(OneOperator(op, a, 13, kBool).With(b, kBool).Run(), {{2, 2}, table});
  }
  ExpectEqual(OneOperator("Not", b, 13, kBool).Run(), {{2}, {1, 0}});
}

TEST(OnnxComposed, Where) {
  const Array condition{{2, 1}, {0, 1}};
  OneOperator floats("Where", condition, 16, kBool);
  // Elements that are not selected have no effect, even if they are not finite.
  floats.With({{1, 3}, {1, -kInfinite, kNan}}).Scalar(-kInfinite);
  ExpectEqual(floats.Run(), {{2, 3}, {-kInfinite, -kInfinite, -kInfinite, 1, -kInfinite, kNan}});
  OneOperator bytes("Where", condition, 16, kBool);
  ExpectEqual(bytes.Scalar(7, kUInt8).With({{3}, {1, 2, 3}}, kUInt8).Run(),
              {{2, 3}, {1, 2, 3, 7, 7, 7}});
}

TEST(OnnxComposed, ArgMaxAndArgMin) {
  const Array x = Array::Made({3, 4, 5}, 45, -3, 3);  // with ties
  for (const char* op : {"ArgMax", "ArgMin"}) {
    const double sign = op[3] == 'M' && op[4] == 'a' ? 1 : -1;
    for (std::int64_t axis : {-1, 0, 1, 2}) {
      for (int modes = 0; modes < 4; ++modes) {
        const bool keep = (modes & 1) != 0, last = (modes & 2) != 0;
        SCOPED_TRACE(std::string(op) + " axis " + std::to_string(axis));
        const auto along = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
        Array expected;
        expected.shape = x.shape;
        expected.shape[along] = 1;
        def::ForEach(expected.shape, [&](Ints i) {
          std::int64_t best = 0;
          for (std::int64_t k = 1; k < x.shape[along]; ++k) {
            Ints at = i, best_at = i;
            at[along] = k;
            best_at[along] = best;
            const double gain = sign * (x.At(at) - x.At(best_at));
            if (gain > 0 || (gain == 0 && last)) best = k;
          }
          expected.v.push_back(static_cast<double>(best));
        });
        if (!keep)
          expected.shape.erase(expected.shape.begin() + static_cast<std::ptrdiff_t>(along));
        OneOperator arg(op, x);
        arg.model().Int("axis", axis).Int("keepdims", keep).Int("select_last_index", last);
        const Tensor result = arg.Run();
        EXPECT_EQ(result.dtype(), kInt64);
        ExpectEqual(result, expected);
      }
    }
  }
}

struct ReductionCase {
  const char* op;
  std::function<double(const Doubles&)> function;
};

double SumOf(const Doubles& values, const std::function<double(double)>& part) {
  double sum = 0;
  for (double value : values) sum += part(value);
  return sum;
}

const ReductionCase kReductions[] = {
    {"ReduceL1", [](const Doubles& v) { return SumOf(v, [](double x) { return std::abs(x); }); }},
    {"ReduceL2",
     [](const Doubles& v) { return std::sqrt(SumOf(v, [](double x) { return x * x; })); }},
    {"ReduceSumSquare", [](const Doubles& v) { return SumOf(v, [](double x) { return x * x; }); }},
    {"ReduceLogSum",
     [](const Doubles& v) { return std::log(SumOf(v, [](double x) { return x; })); }},
    {"ReduceLogSumExp",
     [](const Doubles& v) { return std::log(SumOf(v, [](double x) { return std::exp(x); })); }},
    {"ReduceProd",
     [](const Doubles& v) {
       return std::accumulate(v.begin(), v.end(), 1.0, std::multiplies<>());
     }},
};

TEST(OnnxComposed, Reductions) {
  const Array x = Array::Made({2, 3, 4}, 46, 1, 9);
  for (const ReductionCase& c : kReductions) {
    for (const Ints& axes : {Ints{}, Ints{1}, Ints{-1, 0}}) {
      for (const bool keep : {false, true}) {
        SCOPED_TRACE(c.op);
        std::vector<bool> over(3, axes.empty());
        for (std::int64_t axis : axes)
          over[static_cast<std::size_t>(axis < 0 ? axis + 3 : axis)] = true;
        Array kept;
        kept.shape = x.shape;
        for (std::size_t d = 0; d < 3; ++d) kept.shape[d] = over[d] ? 1 : x.shape[d];
        std::vector<Doubles> groups(Array::Filled(kept.shape).v.size());
        def::ForEach(x.shape, [&](const Ints& i) {
          std::int64_t group = 0;
          for (std::size_t d = 0; d < 3; ++d) group = group * kept.shape[d] + (over[d] ? 0 : i[d]);
          groups[static_cast<std::size_t>(group)].push_back(x.At(i));
        });
        Array expected;
        for (std::size_t d = 0; d < 3; ++d) {
          if (!over[d] || keep) expected.shape.push_back(kept.shape[d]);
        }
        for (const Doubles& group : groups) expected.v.push_back(c.function(group));
        OneOperator old(c.op, x, 13);
        old.model().Int("keepdims", keep);
        if (!axes.empty()) old.model().IntList("axes", axes);
        ExpectEqual(old.Run(), expected, 1e-6);
        OneOperator since(c.op, x, 18);
        since.model().Int("keepdims", keep);
        if (!axes.empty()) since.List(axes);
        ExpectEqual(since.Run(), expected, 1e-6);
      }
    }
  }
  // The exponential of each element is infinite in float32.
  ExpectEqual(OneOperator("ReduceLogSumExp", {{2}, {200, 200}}).Run(), {{1}, {200 + std::log(2.0)}},
              1e-6);
}

struct EinsumCase {
  const char* equation;
  Ints a, b;  // b empty: one operand
  const char* result;
};

// Every index letter takes all its values. Products are added at the position that the result's
// letters give.
TEST(OnnxComposed, Einsum) {
  const EinsumCase kCases[] = {
      {"ij,jk->ik", {2, 3}, {3, 4}, "ik"},
      {"bhid, bhjd -> bhij", {2, 2, 3, 4}, {2, 2, 5, 4}, "bhij"},
      {"bhij,bjhd->bihd", {2, 2, 3, 4}, {2, 4, 2, 5}, "bihd"},
      {"i,j->ji", {3}, {4}, "ji"},
      {"ij,ij->", {2, 3}, {2, 3}, ""},
      {"bij,kj->kb", {2, 3, 4}, {5, 4}, "kb"},
      {"ij,jk", {2, 3}, {3, 4}, "ik"},
      {"bij->jb", {2, 3, 4}, {}, "jb"},
      {"ba", {2, 3}, {}, "ab"},
  };
  for (const EinsumCase& c : kCases) {
    SCOPED_TRACE(c.equation);
    std::string terms = c.equation;
    std::erase(terms, ' ');
    terms = terms.substr(0, terms.find("->"));
    const std::string left = terms.substr(0, terms.find(','));
    const std::string right = c.b.empty() ? "" : terms.substr(terms.find(',') + 1);
    const std::string result = c.result;
    const Array a = Array::Made(c.a, 56, -5, 5);
    const Array b = c.b.empty() ? Array{{}, {1}} : Array::Made(c.b, 57, -5, 5);
    std::map<char, std::int64_t> sizes;
    for (std::size_t i = 0; i < left.size(); ++i) sizes[left[i]] = c.a[i];
    for (std::size_t i = 0; i < right.size(); ++i) sizes[right[i]] = c.b[i];
    Ints extents, result_shape;
    std::string letters;
    for (const auto& [letter, extent] : sizes) {
      letters += letter;
      extents.push_back(extent);
    }
    for (char letter : result) result_shape.push_back(sizes[letter]);
    Array expected = Array::Filled(result_shape);
    def::ForEach(extents, [&](const Ints& values) {
      const auto at = [&](const std::string& term) {
        Ints index;
        for (char letter : term) index.push_back(values[letters.find(letter)]);
        return index;
      };
      expected.At(at(result)) += a.At(at(left)) * b.At(at(right));
    });
    OneOperator einsum("Einsum", a);
    if (!c.b.empty()) einsum.With(b);
    einsum.model().Text("equation", c.equation);
    ExpectEqual(einsum.Run(), expected);
  }
}

TEST(OnnxComposed, OneHotAndNumbersThatAreNone) {
  const Array indices{{2, 2}, {0, 2, -1, 5}};
  const Ints kShapes[] = {{3, 2, 2}, {2, 3, 2}, {2, 2, 3}};
  for (std::int64_t axis : {-1, 0, 1}) {
    OneOperator hot("OneHot", indices, 13, kInt64);
    hot.Scalar(3, kInt64).With({{2}, {-1, 4}}).model().Int("axis", axis);
    const auto at = static_cast<std::size_t>(axis < 0 ? 2 : axis);
    Array expected = Array::Filled(kShapes[at]);
    def::ForEach(expected.shape, [&](Ints i) {
      const auto place = static_cast<double>(i[at]);
      double& value = expected.At(i);
      i.erase(i.begin() + static_cast<std::ptrdiff_t>(at));
      const double index = indices.At(i);
      value = index == place || index == place - 3 ? 4 : -1;  // 5 occurs nowhere
    });
    ExpectEqual(hot.Run(), expected);
  }
  const Array x{{4}, {1, kNan, kInfinite, -kInfinite}};
  ExpectEqual(OneOperator("IsNaN", x).Run(), {{4}, {0, 1, 0, 0}});
  ExpectEqual(OneOperator("IsInf", x).Run(), {{4}, {0, 0, 1, 1}});
  OneOperator above("IsInf", x), below("IsInf", x);
  above.model().Int("detect_negative", 0);
  below.model().Int("detect_positive", 0);
  ExpectEqual(above.Run(), {{4}, {0, 0, 1, 0}});
  ExpectEqual(below.Run(), {{4}, {0, 0, 0, 1}});
}

TEST(OnnxComposed, DepthToSpaceAndBack) {
  const Array x = Array::Made({2, 8, 2, 3}, 47, -99, 99);
  for (const char* mode : {"DCR", "CRD"}) {
    Array expected = Array::Filled({2, 2, 4, 6});
    def::ForEach(expected.shape, [&](const Ints& o) {
      const std::int64_t block = (o[2] % 2) * 2 + o[3] % 2;
      const std::int64_t channel = mode[0] == 'D' ? block * 2 + o[1] : o[1] * 4 + block;
      expected.At(o) = x.At(o[0], channel, o[2] / 2, o[3] / 2);
    });
    OneOperator space("DepthToSpace", x);
    space.model().Int("blocksize", 2).Text("mode", mode);
    ExpectEqual(space.Run(), expected);
    if (mode[0] != 'D') continue;
    OneOperator depth("SpaceToDepth", expected);
    depth.model().Int("blocksize", 2);
    ExpectEqual(depth.Run(), x);
  }
}

TEST(OnnxComposed, SliceToTheEndWhereverThatIs) {
  OnnxBuilder model;
  model.Input("x", {4}).Node("Constant", {}, {"b"}).IntList("value_ints", {1});
  model.Node("Constant", {}, {"e"})
      .IntList("value_ints", {std::numeric_limits<std::int64_t>::max()});
  model.Node("Slice", {"x", "b", "e"}, {"y"}).Output("y");
  const Tensor x = MakeRange(kFloat32, {4});
  const auto all = ValuesOf(x);
  EXPECT_EQ(ValuesOf(EvaluateModel(model, {&x})), std::vector<double>(all.begin() + 1, all.end()));
}

TEST(OnnxComposed, TileAndTrilu) {
  const Array x = Array::Made({2, 3}, 48, -99, 99);
  Array tiled = Array::Filled({4, 9});
  def::ForEach(tiled.shape, [&](const Ints& o) { tiled.At(o) = x.At({o[0] % 2, o[1] % 3}); });
  ExpectEqual(OneOperator("Tile", x).List({2, 3}).Run(), tiled);
  const Array matrices = Array::Made({2, 3, 4}, 49, 1, 99);
  for (const bool upper : {true, false}) {
    for (std::int64_t k : {-3, -1, 0, 2, 9}) {
      Array expected = matrices;
      def::ForEach(expected.shape, [&](const Ints& i) {
        const bool kept = upper ? i[2] >= i[1] + k : i[2] <= i[1] + k;
        if (!kept) expected.At(i) = 0;
      });
      OneOperator triangle("Trilu", matrices, 14);
      triangle.Scalar(static_cast<double>(k), kInt64).model().Int("upper", upper);
      ExpectEqual(triangle.Run(), expected);
    }
  }
}

TEST(OnnxComposed, ShapesThatExportersCompute) {
  // Expand to a shape of max(…, 1), which PyTorch writes for x.expand(-1, 4).
  OnnxBuilder model(13);
  model.Input("x", {3, 1}).Output("y");
  model.Initializer("shape", MakeTensor(kInt64, {2}, {-1, 4}));
  model.Initializer("minus", MakeTensor(kInt64, {1}, {-1}));
  model.Initializer("rank", MakeTensor(kInt64, {1}, {2}));
  model.Node("ConstantOfShape", {"rank"}, {"ones"}).Contents("value", MakeRange(kInt64, {1}, 1));
  model.Node("Equal", {"shape", "minus"}, {"unknown"});
  model.Node("Where", {"unknown", "ones", "shape"}, {"target"});
  model.Node("Expand", {"x", "target"}, {"wide"});
  model.Node("Size", {"wide"}, {"size"}).Node("CastLike", {"size", "x"}, {"factor"});
  model.Node("Mul", {"wide", "factor"}, {"y"});
  const Tensor x = MakeTensor(kFloat32, {3, 1}, {1, 2, 3});
  const Tensor y = EvaluateModel(model, {&x});
  EXPECT_EQ(ValuesOf(y), (Doubles{12, 12, 12, 12, 24, 24, 24, 24, 36, 36, 36, 36}));
}

TEST(OnnxComposed, RangeMeanAndChosenRows) {
  OnnxBuilder model(13);
  model.Input("i", {2}, onnx::TensorProto::INT64).Output("y");
  for (const auto& [name, value] :
       {std::pair("a", 1.0), std::pair("b", 2.2), std::pair("c", 0.5)}) {
    model.Initializer(name, MakeTensor(kFloat32, {}, {value}));
  }
  model.Initializer("w", MakeRange(kFloat32, {4, 3}));
  model.Node("Range", {"a", "b", "c"}, {"steps"});  // 1 1.5 2
  model.Node("Gather", {"w", "i"}, {"rows"});       // indices that only the run determines
  model.Node("Mean", {"rows", "steps", "steps"}, {"y"});
  const Tensor i = MakeTensor(kInt64, {2}, {3, -4});
  const Tensor y = EvaluateModel(model, {&i});
  const Doubles expected = {11.0 / 3, 13.0 / 3, 5, 2.0 / 3, 4.0 / 3, 2};
  ASSERT_EQ(y.shape(), (Ints{2, 3}));
  for (std::size_t k = 0; k < 6; ++k) {
    EXPECT_NEAR(y.At(static_cast<std::int64_t>(k)), expected[k], 1e-6);
  }
}

// Returns an image of one row, and the result of a window over it without that dimension.
Array Row(const Array& sequence) {
  Array image = sequence;
  image.shape.insert(image.shape.begin() + 2, 1);
  return image;
}
Array Sequence(Array image) {
  image.shape.erase(image.shape.begin() + 2);
  return image;
}

// The attributes of one dimension; the window's height is `neutral`.
OneOperator Windowed(const char* op, const Array& x, const def::Window& w) {
  OneOperator result(op, x);
  result.model().IntList("strides", {w.strides[1]}).IntList("dilations", {w.dilations[1]});
  if (w.auto_pad == "NOTSET") {
    result.model().IntList("pads", {w.pads[1], w.pads[3]});
  } else {
    result.model().Text("auto_pad", w.auto_pad);
  }
  return result;
}

TEST(OnnxComposed, WindowsOverSequences) {
  const Array x = Array::Made({2, 4, 9}, 50, -9, 9);
  for (std::int64_t stride : {1, 2}) {
    for (const char* mode : {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}) {
      SCOPED_TRACE(mode);
      def::Window w{.kernel = {1, 3}, .strides = {1, stride}, .dilations = {1, 2}};
      w.auto_pad = mode;
      if (w.auto_pad == "NOTSET") w.pads = {0, 2, 0, 1};
      w.group = 2;
      const Array weight = Array::Made({6, 2, 3}, 51, -5, 5);
      OneOperator conv = Windowed("Conv", x, w);
      conv.With(weight).Vector({1, 2, 3, 4, 5, 6}).model().Int("group", 2);
      const Array sums = def::Conv(Row(x), Row(weight), w);
      ExpectEqual(conv.Run(), Sequence(def::AddPerChannel(sums, {1, 2, 3, 4, 5, 6})));
      w.group = 1;
      OneOperator most = Windowed("MaxPool", x, w);
      most.model().IntList("kernel_shape", {3});
      ExpectEqual(most.Run(), Sequence(def::MaxPool(Row(x), w)));
      w.dilations = {1, 1};
      OneOperator mean("AveragePool", x);
      mean.model().IntList("kernel_shape", {3}).IntList("strides", {stride});
      if (w.auto_pad == "NOTSET") {
        mean.model().IntList("pads", {w.pads[1], w.pads[3]});
      } else {
        mean.model().Text("auto_pad", mode);
      }
      ExpectEqual(mean.Run(), Sequence(def::AveragePool(Row(x), w)), 1e-6);
    }
    def::Window back{
        .strides = {1, stride}, .pads = {0, 1, 0, 0}, .output_padding = {0, stride - 1}};
    const Array weight = Array::Made({4, 3, 3}, 52, -5, 5);
    OneOperator transposed = Windowed("ConvTranspose", x, back);
    transposed.With(weight).model().IntList("output_padding", {stride - 1});
    ExpectEqual(transposed.Run(), Sequence(def::ConvTranspose(Row(x), Row(weight), back)));
  }
}

TEST(OnnxComposed, QuantizedWindowsOverSequences) {
  const Array x = Array::Made({1, 2, 7}, 53, 0, 255), w = Array::Made({4, 2, 3}, 54, -128, 127);
  def::Window window{.pads = {0, 1, 0, 1}};
  const Array sums = def::Conv(Row(x), Row(w), window, 9);
  OneOperator integer("ConvInteger", x, 13, kUInt8);
  integer.With(w, kInt8).Scalar(9, kUInt8).model().IntList("pads", {1, 1});
  ExpectEqual(integer.Run(), Sequence(sums));
  const Doubles scales = {0.125, 0.5, 0.25, 1};
  OneOperator linear("QLinearConv", x, 13, kUInt8);
  linear.Scalar(0.5).Scalar(9, kUInt8).With(w, kInt8).Vector(scales).Vector({0, 0, 0, 0}, kInt8);
  linear.Scalar(8).Scalar(20, kUInt8).model().IntList("pads", {1, 1});
  ExpectEqual(linear.Run(), Sequence(def::Requantize(sums, 0.5, scales, 8, 20, 1, "uint8")));
}

TEST(OnnxComposed, GlobalPoolsOfAnyRank) {
  for (const Ints& shape : {Ints{2, 3, 7}, Ints{2, 3, 2, 3, 4}}) {
    const Array x = Array::Made(shape, 55, -50, 50);
    const auto inner = static_cast<std::size_t>(x.size() / 6);
    Array mean = Array::Filled(Ints(shape.size(), 1)), most = mean;
    mean.shape[0] = most.shape[0] = 2;
    mean.shape[1] = most.shape[1] = 3;
    mean.v.clear();
    most.v.clear();
    for (std::size_t i = 0; i < 6; ++i) {
      const auto begin = x.v.begin() + static_cast<std::ptrdiff_t>(i * inner);
      const auto end = begin + static_cast<std::ptrdiff_t>(inner);
      mean.v.push_back(std::accumulate(begin, end, 0.0) / static_cast<double>(inner));
      most.v.push_back(*std::max_element(begin, end));
    }
    ExpectEqual(OneOperator("GlobalAveragePool", x).Run(), mean, 1e-6);
    ExpectEqual(OneOperator("GlobalMaxPool", x).Run(), most);
  }
}

}  // namespace
}  // namespace tilewright
