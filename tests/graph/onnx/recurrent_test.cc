// RNN, GRU and LSTM compared with their definitions, step by step and element by element.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "src/graph/ir/evaluate.h"
#include "tests/graph/one_operator.h"

namespace tilewright {
namespace {

using onnx_definitions::Array;
using testing::HasSubstr;

constexpr std::int64_t kSteps = 4, kSequences = 2, kInputs = 3, kHidden = 5;

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct RecurrentCase {
  const char* name;
  const char* op;
  const char* direction = "forward";
  bool biased = true, states = false, peepholes = false, batch_first = false;
  const char* attribute = "";        // set to 1
  std::vector<double> lengths = {};  // lengths of the sequences; empty: all steps
  bool rectified = false;            // Relu instead of tanh
  double clip = 0;
};
void PrintTo(const RecurrentCase& c, std::ostream* os) { *os << c.name; }

std::int64_t GatesOf(const std::string& op) { return op == "RNN" ? 1 : op == "GRU" ? 3 : 4; }

// The operands of a case: random numbers small enough that no gate saturates.
struct LayerOperands {
  explicit LayerOperands(const RecurrentCase& c, std::int64_t steps = kSteps)
      : gates(GatesOf(c.op)), directions(std::string(c.direction) == "bidirectional" ? 2 : 1) {
    const auto made = [](Ints shape, int seed) {
      Array array = Array::Made(std::move(shape), seed, -100, 100);
      for (double& v : array.v) v = static_cast<double>(static_cast<float>(v / 130));
      return array;
    };
    x = made({steps, kSequences, kInputs}, 1);
    w = made({directions, gates * kHidden, kInputs}, 2);
    r = made({directions, gates * kHidden, kHidden}, 3);
    b = c.biased ? made({directions, 2 * gates * kHidden}, 4)
                 : Array::Filled({directions, 2 * gates * kHidden});
    const Ints state = {directions, kSequences, kHidden};
    h = c.states ? made(state, 5) : Array::Filled(state);
    cell = c.states ? made(state, 6) : Array::Filled(state);
    p = c.peepholes ? made({directions, 3 * kHidden}, 7) : Array::Filled({directions, 3 * kHidden});
  }
  std::int64_t gates, directions;
  Array x, w, r, b, h, cell, p;
};

// Y, Y_h and Y_c.
struct LayerResults {
  Array all, hidden, cell;
};

class LayerDefinition {
 public:
  LayerDefinition(const RecurrentCase& c, const LayerOperands& o, std::int64_t steps = kSteps)
      : c_(c), o_(o), steps_(steps) {}

  LayerResults Run() {
    LayerResults expected{Array::Filled({steps_, o_.directions, kSequences, kHidden}), o_.h,
                          o_.cell};
    for (std::int64_t d = 0; d < o_.directions; ++d) {
      const bool backwards = d == 1 || std::string(c_.direction) == "reverse";
      for (std::int64_t n = 0; n < kSequences; ++n) {
        const auto i = static_cast<std::size_t>(n);
        const std::int64_t length =
            c_.lengths.empty() ? steps_ : static_cast<std::int64_t>(c_.lengths[i]);
        for (std::int64_t t = 0; t < length; ++t) {
          const std::int64_t step = backwards ? length - 1 - t : t;
          Step(d, n, step, expected);
        }
      }
    }
    return expected;
  }

 private:
  double Clipped(double x) const { return c_.clip > 0 ? std::clamp(x, -c_.clip, c_.clip) : x; }
  double Sigmoid(double x) const { return tilewright::Sigmoid(Clipped(x)); }
  double Tanh(double x) const {
    return c_.rectified ? std::max(Clipped(x), 0.0) : std::tanh(Clipped(x));
  }
  // Product of a gate's row with the data or with `state`, plus the biases.
  double FromData(std::int64_t d, std::int64_t n, std::int64_t t, std::int64_t row) const {
    double sum = o_.b.At({d, row});
    for (std::int64_t k = 0; k < kInputs; ++k) sum += o_.w.At({d, row, k}) * o_.x.At({t, n, k});
    return sum;
  }
  double FromState(std::int64_t d, std::int64_t row, const std::vector<double>& state) const {
    double sum = o_.b.At({d, o_.gates * kHidden + row});
    for (std::size_t k = 0; k < kHidden; ++k) {
      sum += o_.r.At({d, row, static_cast<std::int64_t>(k)}) * state[k];
    }
    return sum;
  }

  void Step(std::int64_t d, std::int64_t n, std::int64_t t, LayerResults& e) const {
    std::vector<double> h, cell;
    for (std::int64_t j = 0; j < kHidden; ++j) {
      h.push_back(e.hidden.At({d, n, j}));
      cell.push_back(e.cell.At({d, n, j}));
    }
    const auto sum = [&](std::int64_t gate, std::int64_t j) {
      const std::int64_t row = gate * kHidden + j;
      return FromData(d, n, t, row) + FromState(d, row, h);
    };
    const bool set = std::string(c_.attribute) != "";
    std::vector<double> reset_state;  // of GRU
    for (std::int64_t j = 0; o_.gates == 3 && j < kHidden; ++j) {
      reset_state.push_back(Sigmoid(sum(1, j)) * h[static_cast<std::size_t>(j)]);
    }
    for (std::int64_t j = 0; j < kHidden; ++j) {
      const auto i = static_cast<std::size_t>(j);
      double next = 0;
      if (o_.gates == 1) {
        next = Tanh(sum(0, j));
      } else if (o_.gates == 3) {
        const std::int64_t row = 2 * kHidden + j;
        const double update = Sigmoid(sum(0, j)), reset = Sigmoid(sum(1, j));
        const double recurrent =
            set ? reset * FromState(d, row, h) : FromState(d, row, reset_state);
        next = (1 - update) * Tanh(FromData(d, n, t, row) + recurrent) + update * h[i];
      } else {
        const auto peephole = [&](std::int64_t gate) { return o_.p.At({d, gate * kHidden + j}); };
        const double input = Sigmoid(sum(0, j) + peephole(0) * cell[i]);
        const double forget = set ? 1 - input : Sigmoid(sum(2, j) + peephole(2) * cell[i]);
        const double fresh = forget * cell[i] + input * Tanh(sum(3, j));
        e.cell.At({d, n, j}) = fresh;
        next = Sigmoid(sum(1, j) + peephole(1) * fresh) * Tanh(fresh);
      }
      e.all.At({t, d, n, j}) = e.hidden.At({d, n, j}) = next;
    }
  }

  const RecurrentCase& c_;
  const LayerOperands& o_;
  std::int64_t steps_;
};

// Moves dimension `axis`, the batch, to the front.
Array BatchFirst(const Array& a, std::size_t axis) {
  Array moved = a;
  moved.shape.erase(moved.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  moved.shape.insert(moved.shape.begin(), a.shape[axis]);
  onnx_definitions::ForEach(a.shape, [&](const Ints& at) {
    Ints to = at;
    to.erase(to.begin() + static_cast<std::ptrdiff_t>(axis));
    to.insert(to.begin(), at[axis]);
    moved.At(to) = a.At(at);
  });
  return moved;
}

class Recurrent : public testing::TestWithParam<RecurrentCase> {};

void ExpectDefinition(const RecurrentCase& c, std::int64_t steps) {
  SCOPED_TRACE(steps);
  const LayerOperands o(c, steps);
  LayerResults expected = LayerDefinition(c, o, steps).Run();
  const auto given = [&](const Array& a, std::size_t axis) {
    return TensorOf(c.batch_first ? BatchFirst(a, axis) : a);
  };
  OnnxBuilder model(14);
  const Tensor x = given(o.x, 1);
  model.Input("x", x.shape()).Initializer("w", TensorOf(o.w)).Initializer("r", TensorOf(o.r));
  model.Initializer("b", TensorOf(o.b)).Initializer("h", given(o.h, 1));
  model.Initializer("c", given(o.cell, 1)).Initializer("p", TensorOf(o.p));
  Strings inputs = {"x", "w", "r", c.biased ? "b" : "", "", c.states ? "h" : ""};
  Strings outputs = {"y", "y_h"};
  if (o.gates == 4) {
    inputs.insert(inputs.end(), {c.states ? "c" : "", c.peepholes ? "p" : ""});
    outputs.emplace_back("y_c");
  }
  std::vector<Tensor> tensors;
  tensors.push_back(x.Clone());
  if (!c.lengths.empty()) {
    inputs[4] = "l";
    model.Input("l", {kSequences}, onnx::TensorProto::INT32);
    tensors.push_back(MakeTensor(kInt32, {kSequences}, c.lengths));
  }
  model.Node(c.op, inputs, outputs).Int("hidden_size", kHidden).Text("direction", c.direction);
  if (std::string(c.attribute) != "") model.Int(c.attribute, 1);
  if (c.batch_first) model.Int("layout", 1);
  if (c.clip > 0) model.Float("clip", static_cast<float>(c.clip));
  if (c.rectified) {
    auto* functions = model.proto().mutable_graph()->mutable_node(0)->add_attribute();
    functions->set_name("activations");
    functions->set_type(onnx::AttributeProto::STRINGS);
    functions->add_strings("Relu");
  }
  for (const std::string& output : outputs) model.Output(output);
  const auto graph = model.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto loops = std::ranges::count_if(
      graph->nodes(), [](const Node& node) { return node.op.kind == OpKind::kRecurrence; });
  EXPECT_EQ(loops, o.directions);
  const auto results = EvaluateGraph(*graph, tensors);
  ASSERT_TRUE(results.ok()) << results.status().message();
  if (c.batch_first) {
    expected = {BatchFirst(expected.all, 2), BatchFirst(expected.hidden, 1),
                BatchFirst(expected.cell, 1)};
  }
  ExpectEqual((*results)[0], expected.all, 1e-5);
  ExpectEqual((*results)[1], expected.hidden, 1e-5);
  if (o.gates == 4) ExpectEqual((*results)[2], expected.cell, 1e-5);
}

// Steps become a loop.
TEST_P(Recurrent, DoesWhatItsDefinitionDoes) {
  ExpectDefinition(GetParam(), 4);
  ExpectDefinition(GetParam(), 5);
}

const RecurrentCase kRecurrent[] = {
    {.name = "Rnn", .op = "RNN"},
    {.name = "RnnRectified", .op = "RNN", .states = true, .rectified = true},
    {.name = "RnnBothWays", .op = "RNN", .direction = "bidirectional", .biased = false},
    {.name = "Gru", .op = "GRU"},
    {.name = "GruOfLengths",
     .op = "GRU",
     .direction = "reverse",
     .states = true,
     .lengths = {4, 2}},
    {.name = "GruResetsProducts",
     .op = "GRU",
     .direction = "bidirectional",
     .batch_first = true,
     .attribute = "linear_before_reset"},
    {.name = "Lstm", .op = "LSTM"},
    {.name = "LstmWithPeepholes", .op = "LSTM", .states = true, .peepholes = true},
    {.name = "LstmCoupled", .op = "LSTM", .biased = false, .attribute = "input_forget"},
    {.name = "GruClipped", .op = "GRU", .states = true, .clip = 0.5},
    {.name = "LstmClipped", .op = "LSTM", .states = true, .peepholes = true, .clip = 0.5},
    {.name = "LstmBothWays",
     .op = "LSTM",
     .direction = "bidirectional",
     .states = true,
     .batch_first = true,
     .lengths = {1, 3}},
};

INSTANTIATE_TEST_SUITE_P(Layers, Recurrent, testing::ValuesIn(kRecurrent),
                         [](const auto& tested) { return tested.param.name; });

// A cell with biases but zero weights: f(bias of the first step), for each activation function of
// ONNX. Parameters go to the functions that take one, in order.
TEST(RecurrentLayers, Functions) {
  struct Case {
    const char* name;
    std::vector<float> alpha, beta;
    double (*function)(double);
  };
  const Case cases[] = {
      {"Affine", {0.5F}, {0.25F}, [](double x) { return 0.5 * x + 0.25; }},
      {"LeakyRelu", {}, {}, [](double x) { return x < 0 ? 0.01F * x : x; }},
      {"leakyrelu", {0.5F}, {}, [](double x) { return x < 0 ? 0.5 * x : x; }},
      {"ThresholdedRelu", {}, {}, [](double x) { return x > 1 ? x : 0; }},
      {"ThresholdedRelu", {0.25F}, {}, [](double x) { return x > 0.25 ? x : 0; }},
      {"ScaledTanh", {0.5F}, {2}, [](double x) { return 0.5 * std::tanh(2 * x); }},
      {"HardSigmoid", {}, {}, [](double x) { return std::clamp(0.2F * x + 0.5, 0.0, 1.0); }},
      {"HardSigmoid", {0.5F}, {0.25F}, [](double x) { return std::clamp(x / 2 + 0.25, 0.0, 1.0); }},
      {"Elu", {}, {}, [](double x) { return x < 0 ? std::expm1(x) : x; }},
      {"Elu", {0.5F}, {}, [](double x) { return x < 0 ? 0.5 * std::expm1(x) : x; }},
      {"Softsign", {}, {}, [](double x) { return x / (1 + std::abs(x)); }},
      {"Softplus", {}, {}, [](double x) { return std::log1p(std::exp(x)); }},
      {"Sigmoid", {}, {}, &Sigmoid},
  };
  const Array x = Array::Filled({1, 1, 2}), w = Array::Filled({2, 4, 2}),
              r = Array::Filled({2, 4, 4});
  Array b = Array::Filled({2, 8});
  const std::vector<double> sums = {-2, -0.5, 0.75, 1.5};
  for (std::size_t i = 0; i < 4; ++i) b.v[i] = b.v[8 + i] = sums[i];
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    OnnxBuilder model(14);
    model.Input("x", x.shape).Initializer("w", TensorOf(w)).Initializer("r", TensorOf(r));
    model.Initializer("b", TensorOf(b)).Node("RNN", {"x", "w", "r", "b"}, {"", "y"});
    model.Text("direction", "bidirectional").Output("y");
    if (!c.alpha.empty()) model.FloatList("activation_alpha", c.alpha);
    if (!c.beta.empty()) model.FloatList("activation_beta", c.beta);
    auto* functions = model.proto().mutable_graph()->mutable_node(0)->add_attribute();
    functions->set_name("activations");
    functions->set_type(onnx::AttributeProto::STRINGS);
    functions->add_strings("Tanh");  // takes no parameter
    functions->add_strings(c.name);
    Array expected = Array::Filled({2, 1, 4});
    for (std::size_t i = 0; i < 4; ++i) {
      expected.v[i] = std::tanh(sums[i]);
      expected.v[4 + i] = c.function(sums[i]);
    }
    const Tensor input = TensorOf(x);
    ExpectEqual(EvaluateModel(model, {&input}), expected, 1e-6);
  }
}

// A layer whose first result is unused, and a layer that is rejected.
TEST(RecurrentLayers, LastStateAlone) {
  const RecurrentCase c{.name = "", .op = "GRU"};
  const LayerOperands o(c);
  const auto model_of = [&](const char* attribute, const char* text) {
    OnnxBuilder model(14);
    model.Input("x", o.x.shape).Initializer("w", TensorOf(o.w)).Initializer("r", TensorOf(o.r));
    model.Initializer("b", TensorOf(o.b)).Node("GRU", {"x", "w", "r", "b"}, {"", "y_h"});
    if (*attribute != '\0') model.Text(attribute, text);
    model.Output("y_h");
    return model;
  };
  const Tensor x = TensorOf(o.x);
  ExpectEqual(EvaluateModel(model_of("", ""), {&x}), LayerDefinition(c, o).Run().hidden, 1e-5);
  const auto both = model_of("direction", "bidirectional").Import();
  ASSERT_FALSE(both.ok());
  EXPECT_THAT(both.status().message(), HasSubstr("attribute direction is bidirectional, the "
                                                 "weights are of 1"));
}

// Integer weights [inputs,4*hidden] with a scale and a zero point for each column or direction. The
// ranges of data and states are 255 steps of a power of two, so they are not rounded, and one step
// equals LSTM with the weights as reals.
TEST(RecurrentLayers, DynamicallyQuantized) {
  const RecurrentCase c{.name = "", .op = "LSTM", .direction = "bidirectional"};
  for (const bool per_column : {false, true}) {
    LayerOperands o(c);
    const std::int64_t rows = 4 * kHidden;
    const Ints scale_shape = per_column ? Ints{2, rows} : Ints{2};
    const auto turned = [&](std::int64_t columns, int seed, Array& real, Array& scales,
                            Array& zeros) {
      Array q = Array::Made({2, columns, rows}, seed, -100, 100);
      scales = Array::Made(scale_shape, seed + 1, 1, 4);
      zeros = Array::Made(scale_shape, seed + 2, -9, 9);
      if (!per_column) zeros.v[1] = zeros.v[0];
      for (double& s : scales.v) s /= 512;
      onnx_definitions::ForEach(q.shape, [&](const Ints& i) {
        const auto at = static_cast<std::size_t>(per_column ? i[0] * rows + i[2] : i[0]);
        real.At({i[0], i[2], i[1]}) = (q.At(i) - zeros.v[at]) * scales.v[at];
      });
      return q;
    };
    Array w_scale, w_zero, r_scale, r_zero;
    const Array w = turned(kInputs, 51, o.w, w_scale, w_zero);
    const Array r = turned(kHidden, 61, o.r, r_scale, r_zero);
    const auto whole = [](Array& a, double low) {
      for (double& v : a.v) v = std::round(v * 64);
      a.v[0] = low, a.v[1] = low + 255;
      for (double& v : a.v) v /= 64;
    };
    whole(o.x, -100);
    const auto directions = static_cast<std::size_t>(kSequences * kHidden);
    whole(o.h, -120);
    o.h.v[directions] = -120.0 / 64, o.h.v[directions + 1] = 135.0 / 64;  // of the other direction
    o.x.shape[0] = 1;
    o.x.v.resize(static_cast<std::size_t>(kSequences * kInputs));
    LayerResults expected = LayerDefinition(c, o, 1).Run();
    OnnxBuilder model(14);
    model.Input("x", o.x.shape).Initializer("w", TensorOf(w, kInt8));
    model.Initializer("r", TensorOf(r, kInt8)).Initializer("b", TensorOf(o.b));
    model.Initializer("h", TensorOf(o.h)).Initializer("c", TensorOf(o.cell));
    model.Initializer("ws", TensorOf(w_scale)).Initializer("wz", TensorOf(w_zero, kInt8));
    model.Initializer("rs", TensorOf(r_scale)).Initializer("rz", TensorOf(r_zero, kInt8));
    model.Node("DynamicQuantizeLSTM",
               {"x", "w", "r", "b", "", "h", "c", "", "ws", "wz", "rs", "rz"}, {"", "y"},
               "com.microsoft");
    model.Int("hidden_size", kHidden).Text("direction", "bidirectional").Output("y");
    const Tensor x = TensorOf(o.x);
    ExpectEqual(EvaluateModel(model, {&x}), expected.hidden, 1e-5);
  }
}

// Steps of a quantized layer are a loop. Weights of unsigned integers with a zero point for each
// column are the same weights as signed ones with other zero points.
TEST(RecurrentLayers, DynamicallyQuantizedLoop) {
  constexpr std::int64_t kLoopSteps = 6, kRows = 4 * kHidden;
  const Array x = Array::Made({kLoopSteps, kSequences, kInputs}, 1, -100, 100);
  const Array w = Array::Made({1, kInputs, kRows}, 2, -100, 100);
  const Array r = Array::Made({1, kHidden, kRows}, 3, -100, 100);
  const Array zeros = Array::Made({1, kRows}, 4, -9, 9);
  const auto results = [&](double shift, DataType dtype) {
    const auto shifted = [&](Array a) {
      for (double& v : a.v) v += shift;
      return TensorOf(a, dtype);
    };
    OnnxBuilder model(14);
    model.Input("x", x.shape).Initializer("w", shifted(w)).Initializer("r", shifted(r));
    const Array scale = Array::Filled({1}, 1.0 / 512);
    model.Initializer("s", TensorOf(scale)).Initializer("z", shifted(zeros));
    model.Node("DynamicQuantizeLSTM", {"x", "w", "r", "", "", "", "", "", "s", "z", "s", "z"},
               {"y"}, "com.microsoft");
    model.Int("hidden_size", kHidden).Output("y");
    const auto graph = model.Import();
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    EXPECT_EQ(std::ranges::count(graph->nodes(), OpKind::kRecurrence,
                                 [](const Node& node) { return node.op.kind; }),
              1);
    const Tensor input = TensorOf(x);
    return EvaluateModel(model, {&input});
  };
  const Tensor given = results(0, kInt8), moved = results(128, kUInt8);
  double largest = 0;
  for (std::int64_t i = 0; i < given.elements(); ++i) {
    EXPECT_EQ(given.At(i), moved.At(i));
    largest = std::max(largest, std::fabs(given.At(i)));
  }
  EXPECT_GT(largest, 0.1);
}

}  // namespace
}  // namespace tilewright
