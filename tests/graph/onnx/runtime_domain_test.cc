// Operators that ONNX Runtime's optimizer and quantizer write, compared with their definitions in
// double precision.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "src/graph/ir/evaluate.h"
#include "tests/graph/one_operator.h"

namespace tilewright {
namespace {
namespace runtime_domain {

using onnx_definitions::Array;
using onnx_definitions::ForEach;
using testing::HasSubstr;

// An operand of the node; omitted if it has neither a shape nor contents.
struct Operand {
  Array array = {};
  DataType dtype = kFloat32;
};

using Attributes = std::function<void(OnnxBuilder&)>;

// Model with that node. Its first operand is an input of the network, the others are constants.
OnnxBuilder ModelOf(const std::string& op, const std::vector<Operand>& operands,
                    const Strings& outputs, const Attributes& attributes,
                    const std::string& domain) {
  OnnxBuilder model(17);
  Strings names;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    names.push_back(operand.array.v.empty() ? "" : "i" + std::to_string(i));
    if (operand.array.v.empty()) continue;
    if (i == 0) {
      model.Input("i0", operand.array.shape,
                  operand.dtype == kUInt8   ? onnx::TensorProto::UINT8
                  : operand.dtype == kInt32 ? onnx::TensorProto::INT32
                                            : onnx::TensorProto::FLOAT);
    } else {
      model.Initializer(names.back(), TensorOf(operand.array, operand.dtype));
    }
  }
  model.Node(op, names, outputs, domain);
  if (attributes) attributes(model);
  for (const std::string& output : outputs) {
    if (!output.empty()) model.Output(output);
  }
  return model;
}

std::vector<Tensor> RunNode(const std::string& op, const std::vector<Operand>& operands,
                            const Strings& outputs = {"y"}, const Attributes& attributes = {},
                            const std::string& domain = "com.microsoft") {
  const auto graph = ModelOf(op, operands, outputs, attributes, domain).Import();
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  if (!graph.ok()) return {};
  std::vector<Tensor> inputs;
  inputs.push_back(TensorOf(operands[0].array, operands[0].dtype));
  auto results = EvaluateGraph(*graph, inputs);
  EXPECT_TRUE(results.ok()) << results.status().message();
  return results.ok() ? *std::move(results) : std::vector<Tensor>();
}

std::string Refusal(const std::string& op, const std::vector<Operand>& operands,
                    const Attributes& attributes = {}) {
  const auto graph = ModelOf(op, operands, {"y"}, attributes, "com.microsoft").Import();
  EXPECT_FALSE(graph.ok());
  return std::string(graph.status().message());
}

// Numbers of about -2.5 to 2.5, equal in float32 and in double precision.
Array Reals(Ints shape, int seed) {
  Array array = Array::Made(std::move(shape), seed, -80, 80);
  for (double& v : array.v) v /= 32;
  return array;
}

Array Mapped(Array array, const std::function<double(double)>& function) {
  for (double& v : array.v) v = function(v);
  return array;
}

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }
double ExactGelu(double x) { return x / 2 * std::erfc(-x / std::sqrt(2.0)); }
double TanhGelu(double x) {
  const double inner = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
  return x / 2 * (1 + std::tanh(inner));
}

// x plus an element of `bias` for each index of its last dimension.
Array PlusLast(Array x, const Array& bias) {
  const std::size_t columns = bias.v.size();
  for (std::size_t i = 0; i < x.v.size(); ++i) x.v[i] += bias.v[i % columns];
  return x;
}

TEST(OnnxRuntimeDomain, Gelus) {
  const Array x = Reals({2, 3, 5}, 1), bias = Reals({5}, 2);
  ExpectEqual(RunNode("Gelu", {{x}})[0], Mapped(x, ExactGelu), 1e-6);
  ExpectEqual(RunNode("BiasGelu", {{x}, {bias}})[0], Mapped(PlusLast(x, bias), ExactGelu), 2e-6);
  ExpectEqual(RunNode("FastGelu", {{x}})[0], Mapped(x, TanhGelu), 1e-6);
  ExpectEqual(RunNode("FastGelu", {{x}, {bias}})[0], Mapped(PlusLast(x, bias), TanhGelu), 2e-6);
  ExpectEqual(RunNode("QuickGelu", {{x}})[0],
              Mapped(x, [](double v) { return v * Logistic(1.702F * v); }), 1e-6);
  const Array alpha = Mapped(x, [](double v) { return v * Logistic(0.5 * v); });
  ExpectEqual(RunNode("QuickGelu", {{x}}, {"y"}, [](OnnxBuilder& m) { m.Float("alpha", 0.5F); })[0],
              alpha, 1e-6);
  EXPECT_THAT(Refusal("BiasGelu", {{x}, {Reals({3}, 2)}}),
              HasSubstr("the bias is float32[3], the data float32[2,3,5]"));
}

struct NamedFunction {
  const char* name;
  std::vector<float> parameters;
  std::function<double(double)> function;
};

TEST(OnnxRuntimeDomain, FusedConvAddsAndActivates) {
  const Array x = Reals({1, 3, 5, 4}, 3), w = Reals({4, 3, 3, 3}, 4), bias = Reals({4}, 5);
  const Array z = Reals({1, 4, 5, 4}, 6);
  onnx_definitions::Window window;
  window.kernel = {3, 3};
  window.pads = {1, 1, 1, 1};
  const NamedFunction functions[] = {
      {"", {}, [](double v) { return v; }},
      {"Relu", {}, [](double v) { return std::max(v, 0.0); }},
      {"Tanh", {}, [](double v) { return std::tanh(v); }},
      {"Sigmoid", {}, Logistic},
      {"LeakyRelu", {0.25F}, [](double v) { return v < 0 ? v / 4 : v; }},
      {"Clip", {-0.5F, 1.5F}, [](double v) { return std::clamp(v, -0.5, 1.5); }},
      {"HardSigmoid", {0.25F, 0.75F}, [](double v) { return std::clamp(v / 4 + 0.75, 0.0, 1.0); }}};
  for (const NamedFunction& f : functions) {
    SCOPED_TRACE(f.name);
    for (const bool added : {false, true}) {
      Array sum = onnx_definitions::AddPerChannel(onnx_definitions::Conv(x, w, window), bias.v);
      for (std::size_t i = 0; added && i < sum.v.size(); ++i) sum.v[i] += z.v[i];
      const auto attributes = [&](OnnxBuilder& m) {
        m.IntList("pads", window.pads).IntList("kernel_shape", window.kernel);
        if (*f.name != '\0') m.Text("activation", f.name);
        if (!f.parameters.empty()) m.FloatList("activation_params", f.parameters);
      };
      const Operand addend = added ? Operand{z} : Operand{};
      ExpectEqual(RunNode("FusedConv", {{x}, {w}, {bias}, addend}, {"y"}, attributes)[0],
                  Mapped(sum, f.function), 1e-5);
    }
  }
  EXPECT_THAT(Refusal("FusedConv", {{x}, {w}},
                      [](OnnxBuilder& m) {
                        m.Text("activation", "Relu").FloatList("activation_params", {1});
                      }),
              HasSubstr("activation_params has 1 numbers, expected at most 0 for Relu"));
  EXPECT_THAT(
      Refusal("FusedConv", {{x}, {w}}, [](OnnxBuilder& m) { m.Text("activation", "Wobble"); }),
      HasSubstr("activation Wobble with 0 parameters is not supported"));
}

TEST(OnnxRuntimeDomain, FusedGemmActivates) {
  const Array a = Reals({3, 4}, 7), b = Reals({4, 5}, 8), c = Reals({5}, 9);
  const Array sum = onnx_definitions::Gemm(a, b, c, false, false, 0.5, 2);
  const auto attributes = [](const char* name) {
    return [=](OnnxBuilder& m) {
      m.Text("activation", name).Float("activation_alpha", 0.25F);
      m.Float("alpha", 0.5F).Float("beta", 2);
    };
  };
  ExpectEqual(RunNode("FusedGemm", {{a}, {b}, {c}}, {"y"}, attributes("LeakyRelu"))[0],
              Mapped(sum, [](double v) { return v < 0 ? v / 4 : v; }), 1e-5);
  ExpectEqual(RunNode("FusedGemm", {{a}, {b}, {c}}, {"y"}, attributes("Elu"))[0],
              Mapped(sum, [](double v) { return v < 0 ? std::expm1(v) / 4 : v; }), 1e-5);
}

// Every combination of transpositions: rows, columns and batches have different sizes.
TEST(OnnxRuntimeDomain, FusedMatMulTransposes) {
  for (int flags = 0; flags < 16; ++flags) {
    const bool ta = flags & 1, tb = flags & 2, ba = flags & 4, bb = flags & 8;
    SCOPED_TRACE(flags);
    // [2,3] batches of [4,5] x [5,6]. A transposed batch dimension comes after the first dimension.
    const auto shape = [](std::int64_t rows, std::int64_t columns, bool trans, bool batch) {
      if (trans) std::swap(rows, columns);
      return batch ? Ints{rows, 2, 3, columns} : Ints{2, 3, rows, columns};
    };
    const Array a = Reals(shape(4, 5, ta, ba), 10), b = Reals(shape(5, 6, tb, bb), 11);
    const auto at = [](const Array& m, std::int64_t i, std::int64_t j, std::int64_t r,
                       std::int64_t c, bool trans, bool batch) {
      if (trans) std::swap(r, c);
      return batch ? m.At({r, i, j, c}) : m.At({i, j, r, c});
    };
    Array expected = Array::Filled({2, 3, 4, 6});
    ForEach(expected.shape, [&](const Ints& i) {
      double sum = 0;
      for (std::int64_t k = 0; k < 5; ++k) {
        sum += at(a, i[0], i[1], i[2], k, ta, ba) * at(b, i[0], i[1], k, i[3], tb, bb);
      }
      expected.At(i) = sum * -0.75;
    });
    const auto attributes = [&](OnnxBuilder& m) {
      m.Int("transA", ta).Int("transB", tb).Int("transBatchA", ba).Int("transBatchB", bb);
      m.Float("alpha", -0.75F);
    };
    ExpectEqual(RunNode("FusedMatMul", {{a}, {b}}, {"y"}, attributes)[0], expected, 1e-5);
  }
}

// Rows minus their mean (unless `rms`), divided by their root mean square.
Array NormalizedRows(const Array& x, const Array& gamma, const Array& beta, double epsilon,
                     bool rms, Array* means = nullptr) {
  Array result = x;
  const auto columns = static_cast<std::size_t>(x.shape.back());
  for (std::size_t row = 0; row < x.v.size(); row += columns) {
    double mean = 0, squares = 0;
    for (std::size_t i = 0; i < columns; ++i) mean += x.v[row + i] / static_cast<double>(columns);
    if (means != nullptr) means->v.push_back(mean);
    if (rms) mean = 0;
    for (std::size_t i = 0; i < columns; ++i) {
      squares += (x.v[row + i] - mean) * (x.v[row + i] - mean) / static_cast<double>(columns);
    }
    for (std::size_t i = 0; i < columns; ++i) {
      result.v[row + i] = (x.v[row + i] - mean) / std::sqrt(squares + epsilon) * gamma.v[i];
      if (!beta.v.empty()) result.v[row + i] += beta.v[i];
    }
  }
  return result;
}

TEST(OnnxRuntimeDomain, SkipLayerNormalizations) {
  const Array x = Reals({2, 3, 6}, 12), gamma = Reals({6}, 13), beta = Reals({6}, 14);
  const Array bias = Reals({6}, 15), skip = Reals({3, 6}, 16);  // the same in each batch
  Array sum = PlusLast(x, bias);
  for (std::size_t i = 0; i < sum.v.size(); ++i) sum.v[i] += skip.v[i % skip.v.size()];
  const auto epsilon = [](OnnxBuilder& m) { m.Float("epsilon", 0.125F); };
  Array means{{2, 3, 1}, {}};
  const auto full = RunNode("SkipLayerNormalization", {{x}, {skip}, {gamma}, {beta}, {bias}},
                            {"y", "m", "", "s"}, epsilon);
  ExpectEqual(full[0], NormalizedRows(sum, gamma, beta, 0.125, false, &means), 1e-5);
  ExpectEqual(full[1], means, 1e-5);
  ExpectEqual(full[2], sum, 1e-6);
  const auto rms = RunNode("SkipSimplifiedLayerNormalization", {{x}, {skip}, {gamma}, {bias}},
                           {"y", "", "", "s"}, epsilon);
  ExpectEqual(rms[0], NormalizedRows(sum, gamma, {}, 0.125, true), 1e-5);
  ExpectEqual(rms[1], sum, 1e-6);
  // Without beta and bias, and with an epsilon of little effect; then in ONNX's own domain.
  Array plain = x;
  for (std::size_t i = 0; i < plain.v.size(); ++i) plain.v[i] += skip.v[i % skip.v.size()];
  ExpectEqual(RunNode("SkipLayerNormalization", {{x}, {skip}, {gamma}})[0],
              NormalizedRows(plain, gamma, {}, 1e-12, false), 1e-5);
  ExpectEqual(RunNode("SimplifiedLayerNormalization", {{x}, {gamma}}, {"y"}, epsilon, "")[0],
              NormalizedRows(x, gamma, {}, 0.125, true), 1e-5);
  EXPECT_THAT(Refusal("SkipLayerNormalization", {{x}, {skip}, {Reals({5}, 1)}}),
              HasSubstr("input 2 is float32[5], expected a number for each column"));
}

TEST(OnnxRuntimeDomain, EmbedLayerNormalization) {
  const Array ids{{2, 3}, {4, 0, 2, 1, 1, 3}}, segments{{2, 3}, {0, 1, 1, 1, 0, 0}};
  const Array words = Reals({5, 4}, 17), places = Reals({6, 4}, 18), kinds = Reals({2, 4}, 19);
  const Array gamma = Reals({4}, 20), beta = Reals({4}, 21);
  const Array mask{{2, 3}, {1, 1, 0, 1, 2, 0}}, positions{{2, 3}, {5, 4, 3, 0, 1, 2}};
  for (const bool all : {false, true}) {
    Array sum = Array::Filled({2, 3, 4});
    ForEach(sum.shape, [&](const Ints& i) {
      const auto word = static_cast<std::int64_t>(ids.At({i[0], i[1]}));
      const auto kind = static_cast<std::int64_t>(segments.At({i[0], i[1]}));
      const auto place = all ? static_cast<std::int64_t>(positions.At({i[0], i[1]})) : i[1];
      sum.At(i) = words.At({word, i[2]}) + places.At({place, i[2]});
      if (all) sum.At(i) += kinds.At({kind, i[2]});
    });
    std::vector<Operand> operands = {{ids, kInt32}, {}, {words}, {places}, {}, {gamma}, {beta}};
    if (all) {
      operands[1] = {segments, kInt32};
      operands[4] = {kinds};
      operands.push_back({mask, kInt32});
      operands.push_back({positions, kInt32});
    }
    const auto results = RunNode("EmbedLayerNormalization", operands, {"y", "n", "s"},
                                 [](OnnxBuilder& m) { m.Float("epsilon", 0.25F); });
    ExpectEqual(results[0], NormalizedRows(sum, gamma, beta, 0.25, false), 1e-5);
    ExpectEqual(results[1], {{2}, all ? Doubles{2, 1} : Doubles{0, 0}});
    ExpectEqual(results[2], sum, 1e-6);
  }
}

// ---- Attention.

struct MaskCase {
  const char* name;
  Array mask = {};  // as the operator takes it
  Array seen = {};  // 1 where a key is allowed: [batch, 1 or queries, keys]
  bool causal = false, biased = false, past = false;
};

constexpr std::int64_t kBatches = 2, kRows = 3, kHeads = 2, kWidth = 4, kPast = 2;

const MaskCase kMasks[] = {
    {.name = "plain"},
    {.name = "lengths", .mask = {{2}, {3, 1}}, .seen = {{2, 1, 3}, {1, 1, 1, 1, 0, 0}}},
    {.name = "ends and begins",
     .mask = {{4}, {3, 2, 1, 0}},
     .seen = {{2, 1, 3}, {0, 1, 1, 1, 1, 0}}},
    {.name = "keys", .mask = {{2, 3}, {0, 1, 0, 0, 0, 0}}, .seen = {{2, 1, 3}, {0, 1, 0, 0, 0, 0}}},
    {.name = "rows",
     .mask = {{2, 3, 3}, {1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0}},
     .seen = {{2, 3, 3}, {1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0}},
     .causal = true},
    {.name = "bias", .biased = true},
    {.name = "past", .causal = true, .past = true},
};

// [batch, heads, rows, width] of queries, keys and values -> [batch, rows, heads * width].
Array Attended(const MaskCase& c, const Array& q, const Array& k, const Array& v, const Array& bias,
               double scale) {
  const std::int64_t keys = k.shape[2];
  Array result = Array::Filled({kBatches, kRows, kHeads * kWidth});
  ForEach({kBatches, kHeads, kRows}, [&](const Ints& at) {
    const std::int64_t b = at[0], h = at[1], i = at[2];
    Doubles scores;
    for (std::int64_t j = 0; j < keys; ++j) {
      double s = 0;
      for (std::int64_t d = 0; d < kWidth; ++d) s += q.At(b, h, i, d) * k.At(b, h, j, d);
      s *= scale;
      if (!c.seen.v.empty()) {
        const std::int64_t row = c.seen.shape[1] == 1 ? 0 : i;
        s += c.seen.At({b, row, j}) != 0 ? 0 : -30;
      }
      if (c.biased) s += bias.At(0, h, i, j);
      if (c.causal && j > i + keys - kRows) s = -1e30;
      scores.push_back(s);
    }
    const double most = *std::ranges::max_element(scores);
    double sum = 0;
    for (double& s : scores) sum += s = std::exp(s - most);
    for (std::int64_t d = 0; d < kWidth; ++d) {
      double value = 0;
      for (std::int64_t j = 0; j < keys; ++j) {
        value += scores[static_cast<std::size_t>(j)] / sum * v.At(b, h, j, d);
      }
      result.At({b, i, h * kWidth + d}) = value;
    }
  });
  return result;
}

// Returns columns `first` … of rows [B,S,…] as heads, appended to `past` if that has rows.
Array HeadsOf(const Array& rows, std::int64_t first, const Array& past) {
  const std::int64_t before = past.v.empty() ? 0 : past.shape[2];
  Array result = Array::Filled({kBatches, kHeads, before + kRows, kWidth});
  ForEach(result.shape, [&](const Ints& i) {
    result.At(i) =
        i[2] < before ? past.At(i) : rows.At({i[0], i[2] - before, first + i[1] * kWidth + i[3]});
  });
  return result;
}

void SetAttention(OnnxBuilder& m, const MaskCase& c, float scale) {
  m.Int("num_heads", kHeads).Float("mask_filter_value", -30);
  if (c.causal) m.Int("unidirectional", 1);
  if (scale != 0) m.Float("scale", scale);
}

TEST(OnnxRuntimeDomain, Attention) {
  for (const MaskCase& c : kMasks) {
    SCOPED_TRACE(c.name);
    const std::int64_t size = kHeads * kWidth, keys = c.past ? kPast + kRows : kRows;
    const Array x = Reals({kBatches, kRows, 3}, 22), w = Reals({3, 3 * size}, 23);
    const Array offsets = Reals({3 * size}, 24), bias = Reals({1, kHeads, kRows, keys}, 25);
    const Array past = c.past ? Reals({2, kBatches, kHeads, kPast, kWidth}, 26) : Array{};
    const auto half = [&](std::int64_t which) {
      Array part{{kBatches, kHeads, kPast, kWidth}, {}};
      const auto count = static_cast<std::ptrdiff_t>(past.v.size() / 2);
      if (!past.v.empty()) {
        part.v.assign(past.v.begin() + which * count, past.v.begin() + (which + 1) * count);
      }
      return past.v.empty() ? Array{} : part;
    };
    const Array all = PlusLast(onnx_definitions::MatMul(x, w), offsets);
    const Array q = HeadsOf(all, 0, {}), k = HeadsOf(all, size, half(0)),
                v = HeadsOf(all, 2 * size, half(1));
    const std::vector<Operand> operands = {
        {x}, {w}, {offsets}, {c.mask, kInt32}, {past}, c.biased ? Operand{bias} : Operand{}};
    const auto results = RunNode("Attention", operands, {"y", "present"},
                                 [&](OnnxBuilder& m) { SetAttention(m, c, 0); });
    ExpectEqual(results[0], Attended(c, q, k, v, bias, 0.5), 1e-5);  // 1 / sqrt(4)
    Array present{{2, kBatches, kHeads, keys, kWidth}, k.v};
    present.v.insert(present.v.end(), v.v.begin(), v.v.end());
    ExpectEqual(results[1], present, 1e-5);
  }
}

TEST(OnnxRuntimeDomain, MultiHeadAttention) {
  for (const MaskCase& c : kMasks) {
    SCOPED_TRACE(c.name);
    const std::int64_t size = kHeads * kWidth, keys = c.past ? kPast + kRows : kRows;
    const Ints rows = {kBatches, kRows, size}, before = {kBatches, kHeads, kPast, kWidth};
    const Array q = Reals(rows, 27), k = Reals(rows, 28), v = Reals(rows, 29);
    const Array offsets = Reals({3 * size}, 30), bias = Reals({1, kHeads, kRows, keys}, 31);
    const Array past_k = c.past ? Reals(before, 32) : Array{};
    const Array past_v = c.past ? Reals(before, 33) : Array{};
    const auto part = [&](std::int64_t i) {
      const auto begin = offsets.v.begin() + i * size;
      return Array{{size}, Doubles(begin, begin + size)};
    };
    const Array heads_q = HeadsOf(PlusLast(q, part(0)), 0, {});
    const Array heads_k = HeadsOf(PlusLast(k, part(1)), 0, past_k);
    const Array heads_v = HeadsOf(PlusLast(v, part(2)), 0, past_v);
    const Operand added = c.biased ? Operand{bias} : Operand{};
    const auto results = RunNode(
        "MultiHeadAttention",
        {{q}, {k}, {v}, {offsets}, {c.mask, kInt32}, added, {past_k}, {past_v}},
        {"y", "present_k", "present_v"}, [&](OnnxBuilder& m) { SetAttention(m, c, 0.25F); });
    const Array expected = Attended(c, heads_q, heads_k, heads_v, bias, 0.25);
    ExpectEqual(results[0], expected, 1e-5);
    ExpectEqual(results[1], heads_k, 1e-6);
    ExpectEqual(results[2], heads_v, 1e-6);
  }
}

// All in one operand, keys and values in one operand, and keys and values with separate heads.
TEST(OnnxRuntimeDomain, MultiHeadAttentionOfPackedOperands) {
  const MaskCase plain{.name = ""};
  const auto set = [&](OnnxBuilder& m) { SetAttention(m, plain, 1); };
  const Array all = Reals({kBatches, kRows, kHeads, 3, kWidth}, 34);
  const auto part = [&](std::int64_t first, std::int64_t count) {
    Array some = Array::Filled({kBatches, kRows, kHeads, count, kWidth});
    ForEach(some.shape, [&](const Ints& i) {
      some.At(i) = all.At({i[0], i[1], i[2], first + i[3], i[4]});
    });
    return some;
  };
  const auto heads = [&](std::int64_t which) {
    Array rows = part(which, 1);
    rows.shape = {kBatches, kRows, kHeads * kWidth};
    return HeadsOf(rows, 0, {});
  };
  Array rows = part(0, 1);
  rows.shape = {kBatches, kRows, kHeads * kWidth};
  const Array expected = Attended(plain, heads(0), heads(1), heads(2), {}, 1);
  ExpectEqual(RunNode("MultiHeadAttention", {{all}}, {"y"}, set)[0], expected, 1e-5);
  ExpectEqual(RunNode("MultiHeadAttention", {{rows}, {part(1, 2)}}, {"y"}, set)[0], expected, 1e-5);
  ExpectEqual(RunNode("MultiHeadAttention", {{rows}, {heads(1)}, {heads(2)}}, {"y"}, set)[0],
              expected, 1e-5);
  EXPECT_THAT(Refusal("MultiHeadAttention", {{all}}, [](OnnxBuilder& m) { m.Int("num_heads", 5); }),
              HasSubstr("input 0 is float32[2,3,2,3,4], expected 3 dimensions"));
}

TEST(OnnxRuntimeDomain, AttentionRefusesMasksThatFitNothing) {
  const Array x = Reals({2, 3, 4}, 35), w = Reals({4, 12}, 36);
  const auto heads = [](OnnxBuilder& m) { m.Int("num_heads", 2); };
  EXPECT_THAT(Refusal("Attention", {{x}, {w}, {}, {Array::Filled({2, 1, 8, 8}, 1), kInt32}}, heads),
              HasSubstr("the mask is int32[2,1,8,8], expected 2 lengths, twice as many"));
  EXPECT_THAT(Refusal("Attention", {{x}, {w}}, [](OnnxBuilder& m) { m.Int("num_heads", 3); }),
              HasSubstr("attribute num_heads: 3 heads, expected a divisor of 4 columns"));
  EXPECT_THAT(
      Refusal("Attention", {{x}, {w}}, [&](OnnxBuilder& m) { heads(m), m.Int("do_rotary", 1); }),
      HasSubstr("attribute do_rotary is not supported"));
}

// ---- Integers.

TEST(OnnxRuntimeDomain, MatMulIntegerToFloat) {
  const Array a = Array::Made({2, 3, 4}, 37, 0, 255), b = Array::Made({4, 5}, 38, -128, 127);
  const Array scales{{5}, {0.5, 0.25, 1, 2, 0.125}}, zeros{{5}, {1, -2, 3, 0, 7}};
  const Array bias = Reals({5}, 39);
  for (const bool per_column : {false, true}) {
    const Array scale = per_column ? scales : Array{{}, {0.5}};
    const Array zero = per_column ? zeros : Array{{}, {3}};
    Array expected = onnx_definitions::MatMul(a, b, {7}, zero.v);
    for (std::size_t i = 0; i < expected.v.size(); ++i) {
      const std::size_t column = i % 5;
      expected.v[i] *= 0.25 * scale.v[per_column ? column : 0];
      expected.v[i] += bias.v[column];
    }
    ExpectEqual(RunNode("MatMulIntegerToFloat", {{a, kUInt8},
                                                 {b, kInt8},
                                                 {{{}, {0.25}}},
                                                 {scale},
                                                 {{{}, {7}}, kUInt8},
                                                 {zero, kInt8},
                                                 {bias}})[0],
                expected, 1e-6);
  }
}

// The numbers are multiples of a scale that is a power of two, so nothing is rounded.
TEST(OnnxRuntimeDomain, DynamicQuantizeMatMul) {
  Array a = Array::Made({3, 4}, 40, -100, 155), b = Array::Made({4, 5}, 41, -128, 127);
  a.v[0] = -100, a.v[1] = 155;  // 255 steps
  for (double& v : a.v) v /= 16;
  const Array zeros{{5}, {1, -2, 3, 0, 7}}, scales{{5}, {0.5, 0.25, 1, 2, 0.125}};
  const Array bias = Reals({5}, 42);
  Array expected = onnx_definitions::MatMul(a, b, {0}, zeros.v);
  for (std::size_t i = 0; i < expected.v.size(); ++i) {
    expected.v[i] = expected.v[i] * scales.v[i % 5] + bias.v[i % 5];
  }
  const std::vector<Operand> operands = {{a}, {b, kInt8}, {scales}, {zeros, kInt8}, {bias}};
  ExpectEqual(RunNode("DynamicQuantizeMatMul", operands)[0], expected, 1e-6);
  // An all-zero tensor has no range; only the bias is left.
  const Array nothing = Array::Filled({3, 4}), none = Array::Filled({3, 5});
  const std::vector<Operand> zero = {{nothing}, {b, kInt8}, {scales}, {zeros, kInt8}, {bias}};
  ExpectEqual(RunNode("DynamicQuantizeMatMul", zero)[0], PlusLast(none, bias));
}

// A weight of one dimension is a column, and the result lacks its dimension.
TEST(OnnxRuntimeDomain, DynamicQuantizeMatMulOfAVector) {
  const Array b{{4}, {200, 3, 128, 77}}, scale{{}, {0.5}}, zero{{}, {128}};
  for (const std::int64_t rows : {3, 9}) {
    Array a = Array::Made({rows, 4}, 40, -100, 155);
    a.v[0] = -100, a.v[1] = 155;  // 255 steps
    Array expected = Array::Filled({rows});
    for (std::size_t i = 0; i < a.v.size(); ++i) {
      expected.v[i / 4] += a.v[i] * (b.v[i % 4] - 128) * 0.5;
    }
    const std::vector<Operand> operands = {{a}, {b, kUInt8}, {scale}, {zero, kUInt8}};
    ExpectEqual(RunNode("DynamicQuantizeMatMul", operands)[0], expected, 1e-6);
  }
}

// Projections by integers are those of the real numbers, which float32 represents exactly.
TEST(OnnxRuntimeDomain, QAttention) {
  const Array x = Array::Made({2, 3, 8}, 45, 0, 255), w = Array::Made({8, 24}, 46, -128, 127);
  const Array past = Reals({2, 2, 2, 2, 4}, 47), bias = Reals({24}, 48);
  const Array lengths{{2}, {5, 3}};
  const auto real = [](Array numbers, double zero, double scale) {
    for (double& v : numbers.v) v = (v - zero) * scale;
    return numbers;
  };
  const auto heads = [](OnnxBuilder& m) { m.Int("num_heads", 2).Int("unidirectional", 1); };
  const auto expected = RunNode(
      "Attention",
      {{real(x, 100, 1.0 / 64)}, {real(w, 3, 1.0 / 128)}, {bias}, {lengths, kInt32}, {past}},
      {"y", "present"}, heads);
  const Array x_scale{{}, {1.0 / 64}}, w_scale{{}, {1.0 / 128}};
  const auto results = RunNode("QAttention",
                               {{x, kUInt8},
                                {w, kInt8},
                                {bias},
                                {x_scale},
                                {w_scale},
                                {lengths, kInt32},
                                {{{}, {100}}, kUInt8},
                                {{{}, {3}}, kInt8},
                                {past}},
                               {"y", "present"}, heads);
  ASSERT_EQ(results.size(), 2U);
  for (std::size_t output = 0; output < 2; ++output) {
    ASSERT_EQ(results[output].shape(), expected[output].shape());
    for (std::int64_t i = 0; i < results[output].elements(); ++i) {
      ASSERT_NEAR(results[output].At(i), expected[output].At(i), 1e-5) << output << " " << i;
    }
  }
}

TEST(OnnxRuntimeDomain, ScalarsAreNoMatrices) {
  const Array scalar{{}, {1}}, b = Array::Made({4, 5}, 41, -9, 9), scale{{}, {0.5}};
  EXPECT_THAT(Refusal("DynamicQuantizeMatMul", {{scalar}, {b, kInt8}, {scale}}),
              HasSubstr("an operand is a scalar, expected at least one dimension"));
  EXPECT_THAT(Refusal("DynamicQuantizeMatMul", {{b, kInt32}, {b, kInt8}, {scale}}),
              HasSubstr("the data to be quantized is int32[4,5], expected float32"));
  const Array x = Reals({1, 2, 4}, 44);
  EXPECT_THAT(Refusal("MultiHeadAttention", {{x}, {x}, {x}, {scalar}},
                      [](OnnxBuilder& m) { m.Int("num_heads", 2); }),
              HasSubstr("an operand is float32[], expected more dimensions"));
}

TEST(OnnxRuntimeDomain, NhwcMaxPool) {
  const Array x = Array::Made({1, 5, 4, 3}, 43, 0, 255);
  Array expected = Array::Filled({1, 2, 2, 3});
  ForEach(expected.shape, [&](const Ints& i) {
    double most = 0;
    for (std::int64_t y = 0; y < 3; ++y) {
      for (std::int64_t z = 0; z < 2; ++z) {
        most = std::max(most, x.At({0, 2 * i[1] + y, 2 * i[2] + z, i[3]}));
      }
    }
    expected.At(i) = most;
  });
  const auto window = [](OnnxBuilder& m) {
    m.IntList("kernel_shape", {3, 2}).IntList("strides", {2, 2});
  };
  ExpectEqual(RunNode("NhwcMaxPool", {{x, kUInt8}}, {"y"}, window)[0], expected);
}

}  // namespace runtime_domain
}  // namespace
}  // namespace tilewright
