// Attention compared with its definition, computed row by row in double precision.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/graph/one_operator.h"

namespace tilewright {
namespace {

using onnx_definitions::Array;

constexpr double kMasked = -std::numeric_limits<double>::infinity();

struct AttentionCase {
  const char* name;
  std::int64_t heads = 2, kv_heads = 2, past = 0;
  bool causal = false;
  double softcap = 0, scale = 0;
  Ints mask_shape = {};  // of a float mask; empty: no mask
  Doubles lengths = {};  // valid keys for each batch; empty: all keys
  std::int64_t left = -1, right = -1;
};

constexpr std::int64_t kBatch = 2, kQueries = 3, kNew = 4, kSize = 5, kWidth = 3;

// Returns one row of results for batch b, head h and query i. key(j, d) and value(j, d) read the
// cache.
Doubles RowOf(const AttentionCase& c, const Array& q, const Array& k, const Array& v,
              const Array& mask, std::int64_t b, std::int64_t h, std::int64_t i) {
  const std::int64_t keys = c.past + kNew, g = h / (c.heads / c.kv_heads);
  const double scale = c.scale == 0 ? 1 / std::sqrt(double{kSize}) : c.scale;
  const std::int64_t offset =
      c.lengths.empty()
          ? c.past
          : static_cast<std::int64_t>(c.lengths[static_cast<std::size_t>(b)]) - kQueries;
  Doubles scores;
  for (std::int64_t j = 0; j < keys; ++j) {
    double s = 0;
    for (std::int64_t d = 0; d < kSize; ++d) s += q.At(b, h, i, d) * k.At(b, g, j, d);
    s *= scale;
    if (c.softcap > 0) s = std::tanh(s / c.softcap) * c.softcap;
    if (!c.mask_shape.empty()) {
      const Ints full = {b, h, i, j};
      Ints at;
      for (std::size_t d = 0; d < c.mask_shape.size(); ++d) {
        const std::int64_t place = full[4 - c.mask_shape.size() + d];
        at.push_back(c.mask_shape[d] == 1 ? 0 : place);
      }
      s += at.back() < c.mask_shape.back() && j < c.mask_shape.back() ? mask.At(at) : kMasked;
    }
    const std::int64_t behind = j - i - offset;
    bool allowed = !c.causal || behind <= 0;
    allowed &= c.left < 0 || behind >= -c.left;
    allowed &= c.right < 0 || behind <= c.right;
    allowed &= c.lengths.empty() || static_cast<double>(j) < c.lengths[static_cast<std::size_t>(b)];
    scores.push_back(allowed ? s : kMasked);
  }
  const double most = *std::ranges::max_element(scores);
  Doubles row(kWidth, 0);
  if (most == kMasked) return row;
  double sum = 0;
  for (double& s : scores) sum += s = std::exp(s - most);
  for (std::int64_t d = 0; d < kWidth; ++d) {
    for (std::int64_t j = 0; j < keys; ++j) {
      const double share = scores[static_cast<std::size_t>(j)] / sum;
      row[static_cast<std::size_t>(d)] += share * v.At(b, g, j, d);
    }
  }
  return row;
}

const AttentionCase kAttentionCases[] = {
    {.name = "plain"},
    {.name = "groups", .heads = 6},
    {.name = "scaled and capped", .softcap = 2, .scale = 0.25},
    {.name = "causal", .causal = true},
    {.name = "causal behind a past", .past = 3, .causal = true},
    {.name = "mask of rows", .mask_shape = {kQueries, kNew}},
    {.name = "mask of heads and rows", .mask_shape = {2, kQueries, kNew}},
    {.name = "short mask", .mask_shape = {2, 1, kQueries, 2}},
    {.name = "lengths", .causal = true, .lengths = {4, 2}},
    {.name = "windows", .past = 2, .left = 2, .right = 1},
};

TEST(OnnxAttention, AgreesWithItsDefinition) {
  for (const AttentionCase& c : kAttentionCases) {
    SCOPED_TRACE(c.name);
    const Array q = Array::Made({kBatch, c.heads, kQueries, kSize}, 71, -2, 2);
    const Array k = Array::Made({kBatch, c.kv_heads, c.past + kNew, kSize}, 72, -2, 2);
    const Array v = Array::Made({kBatch, c.kv_heads, c.past + kNew, kWidth}, 73, -9, 9);
    const Array mask = Array::Made(c.mask_shape, 74, -3, 3);
    // The keys and values of the past are separate inputs.
    const auto part = [&](const Array& all, std::int64_t begin, std::int64_t end) {
      Array cut = Array::Filled({kBatch, c.kv_heads, end - begin, all.shape[3]});
      onnx_definitions::ForEach(
          cut.shape, [&](const Ints& i) { cut.At(i) = all.At(i[0], i[1], i[2] + begin, i[3]); });
      return cut;
    };
    OneOperator attention("Attention", q, 25);
    attention.With(part(k, c.past, c.past + kNew)).With(part(v, c.past, c.past + kNew));
    c.mask_shape.empty() ? attention.Skip() : attention.With(mask);
    if (c.past > 0) {
      attention.With(part(k, 0, c.past)).With(part(v, 0, c.past));
    } else {
      attention.Skip().Skip();
    }
    if (!c.lengths.empty()) attention.Vector(c.lengths, kInt64);
    if (c.causal) attention.model().Int("is_causal", 1);
    if (c.softcap > 0) attention.model().Float("softcap", static_cast<float>(c.softcap));
    if (c.scale > 0) attention.model().Float("scale", static_cast<float>(c.scale));
    if (c.left >= 0) attention.model().Int("left_window_size", c.left);
    if (c.right >= 0) attention.model().Int("right_window_size", c.right);
    Array expected{{kBatch, c.heads, kQueries, kWidth}, {}};
    for (std::int64_t b = 0; b < kBatch; ++b) {
      for (std::int64_t h = 0; h < c.heads; ++h) {
        for (std::int64_t i = 0; i < kQueries; ++i) {
          const Doubles row = RowOf(c, q, k, v, mask, b, h, i);
          expected.v.insert(expected.v.end(), row.begin(), row.end());
        }
      }
    }
    ExpectEqual(attention.Run(), expected, 1e-5);
  }
}

// With three dimensions the heads are part of the last one. The mask is boolean, and one row has no
// valid key.
TEST(OnnxAttention, ThreeDimensionsAndNoKeyAtAll) {
  const Array q{{1, 2, 2}, {0, 0, 0, 0}};  // two heads of one element
  const Array v{{1, 2, 2}, {1, 10, 3, 30}};
  OneOperator attention("Attention", q, 23);
  attention.With(q).With(v).With({{2, 2}, {1, 1, 0, 0}}, kBool);
  attention.model().Int("q_num_heads", 2).Int("kv_num_heads", 2);
  ExpectEqual(attention.Run(), {{1, 2, 2}, {2, 20, 0, 0}}, 1e-6);
}

// The optional output of scores at each stage: product, capped, masked, probabilities.
TEST(OnnxAttention, GivesItsScores) {
  const double expected[][2] = {{3, 6},
                                {2 * std::tanh(1.5), 2 * std::tanh(3.0)},
                                {2 * std::tanh(1.5) + 1, 2 * std::tanh(3.0) - 1},
                                {0, 0}};
  for (std::int64_t mode = 0; mode < 4; ++mode) {
    OnnxBuilder model(23);
    model.Input("q", {1, 1, 1, 1}).Output("scores");
    model.Initializer("k", MakeTensor(kFloat32, {1, 1, 2, 1}, {1, 2}));
    model.Initializer("m", MakeTensor(kFloat32, {1, 2}, {1, -1}));
    model.Node("Attention", {"q", "k", "k", "m"}, {"y", "", "", "scores"});
    model.Int("qk_matmul_output_mode", mode).Float("softcap", 2).Float("scale", 1);
    const Tensor q = MakeTensor(kFloat32, {1, 1, 1, 1}, {3});
    const Tensor scores = EvaluateModel(model, {&q});
    const double difference = expected[2][1] - expected[2][0];
    const double first = mode == 3 ? 1 / (1 + std::exp(difference)) : expected[mode][0];
    const double second = mode == 3 ? 1 - first : expected[mode][1];
    ExpectEqual(scores, {{1, 1, 1, 2}, {first, second}}, 1e-6);
  }
}

}  // namespace
}  // namespace tilewright
