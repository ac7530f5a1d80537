// RNN, GRU and LSTM against their definitions, step by step and element by element.

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
  std::vector<double> lengths = {};  // of the sequences; none: all steps
  bool rectified = false;            // Relu for tanh
};
void PrintTo(const RecurrentCase& c, std::ostream* os) { *os << c.name; }

std::int64_t GatesOf(const std::string& op) { return op == "RNN" ? 1 : op == "GRU" ? 3 : 4; }

// The operands of a case, random numbers small enough for gates that are neither open nor shut.
struct LayerOperands {
  explicit LayerOperands(const RecurrentCase& c)
      : gates(GatesOf(c.op)), directions(std::string(c.direction) == "bidirectional" ? 2 : 1) {
    const auto made = [](Ints shape, int seed) {
      Array array = Array::Made(std::move(shape), seed, -100, 100);
      for (double& v : array.v) v = static_cast<double>(static_cast<float>(v / 130));
      return array;
    };
    x = made({kSteps, kSequences, kInputs}, 1);
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
  LayerDefinition(const RecurrentCase& c, const LayerOperands& o) : c_(c), o_(o) {}

  LayerResults Run() {
    LayerResults expected{Array::Filled({kSteps, o_.directions, kSequences, kHidden}), o_.h,
                          o_.cell};
    for (std::int64_t d = 0; d < o_.directions; ++d) {
      const bool backwards = d == 1 || std::string(c_.direction) == "reverse";
      for (std::int64_t n = 0; n < kSequences; ++n) {
        const auto i = static_cast<std::size_t>(n);
        const std::int64_t length =
            c_.lengths.empty() ? kSteps : static_cast<std::int64_t>(c_.lengths[i]);
        for (std::int64_t t = 0; t < length; ++t) {
          const std::int64_t step = backwards ? length - 1 - t : t;
          Step(d, n, step, expected);
        }
      }
    }
    return expected;
  }

 private:
  double Tanh(double x) const { return c_.rectified ? std::max(x, 0.0) : std::tanh(x); }
  // Products of a gate's rows with the data and with `state`, and their biases.
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
};

// With the dimension `axis` of the batch moved to the front.
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

TEST_P(Recurrent, DoesWhatItsDefinitionDoes) {
  const RecurrentCase& c = GetParam();
  const LayerOperands o(c);
  LayerResults expected = LayerDefinition(c, o).Run();
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
  if (c.rectified) {
    auto* functions = model.proto().mutable_graph()->mutable_node(0)->add_attribute();
    functions->set_name("activations");
    functions->set_type(onnx::AttributeProto::STRINGS);
    functions->add_strings("Relu");
  }
  for (const std::string& output : outputs) model.Output(output);
  const auto graph = model.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
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
    {.name = "LstmBothWays",
     .op = "LSTM",
     .direction = "bidirectional",
     .states = true,
     .batch_first = true,
     .lengths = {1, 3}},
};

INSTANTIATE_TEST_SUITE_P(Layers, Recurrent, testing::ValuesIn(kRecurrent),
                         [](const auto& tested) { return tested.param.name; });

// Of a layer whose first result nobody asks for, and of one that is refused.
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

}  // namespace
}  // namespace tilewright
