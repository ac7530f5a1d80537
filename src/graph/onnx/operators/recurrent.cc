// RNN, GRU and LSTM, unrolled: an input of fixed shape has a fixed number of steps, so every step
// becomes a product with the state before it and a few elementwise operators. The products with the
// data are one matrix product over all steps, in front of them.
//
// Data is [steps,batch,inputs], weights are [directions,gates*hidden,inputs or hidden], biases
// [directions,2*gates*hidden] (those of the data's products, then those of the state's), states
// [directions,batch,hidden]; with layout 1 the batch comes first in data, states and results.

#include <algorithm>
#include <array>

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {
namespace recurrent {

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t kMostSteps = 1024;  // of all directions: an operator is a dozen of ours each

int Part(OnnxNode& node, int id, std::size_t axis, std::int64_t begin, std::int64_t end) {
  if (!node.ok()) return -1;
  Operator slice = WholeSlice(node.TypeOf(id).shape);
  slice.attributes.begin[axis] = begin;
  slice.attributes.end[axis] = end;
  return node.Emit(slice, {id});
}

// What is at `index` of the first dimension, without it.
int At(OnnxNode& node, int id, std::int64_t index) {
  const int part = Part(node, id, 0, index, index + 1);
  if (!node.ok()) return -1;
  Shape shape = node.TypeOf(part).shape;
  shape.erase(shape.begin());
  return node.EmitReshape(part, shape);
}

// Values stacked along a new dimension.
int Stacked(OnnxNode& node, const std::vector<int>& values, std::int64_t axis) {
  if (!node.ok()) return -1;
  Shape shape = node.TypeOf(values[0]).shape;
  shape.insert(shape.begin() + axis, 1);
  std::vector<int> parts;
  for (int value : values) parts.push_back(node.EmitReshape(value, shape));
  if (parts.size() == 1) return parts[0];
  Operator concat{OpKind::kConcat, {}};
  concat.attributes.axis = axis;
  return node.Emit(concat, parts);
}

// What a layer is, and how large.
struct Layer {
  std::int64_t gates = 1, directions = 1, steps = 0, batch = 0, inputs = 0, hidden = 0;
  bool batch_first = false;
  int data = -1;  // steps first
  DataType dtype;
};

// One direction of it.
struct Direction {
  std::int64_t index = 0;
  bool backwards = false;
  std::array<OpKind, 3> functions = {};  // f, g and h of the format
  int data = -1;        // products with all steps and biases of them, [steps,batch,gates*hidden]
  int weight = -1;      // of the state: [gates*hidden,hidden]
  int state_bias = -1;  // [gates*hidden]; -1: none
  int peephole = -1;    // of LSTM: [3*hidden]; -1: none
};

struct State {
  int hidden = -1, cell = -1;
};

using Cell = State (*)(OnnxNode&, const Layer&, const Direction&, int data, const State&);

std::optional<OpKind> FunctionNamed(const std::string& name) {
  if (name == "Relu") return OpKind::kRelu;
  if (name == "Sigmoid") return OpKind::kSigmoid;
  if (name == "Tanh") return OpKind::kTanh;
  return std::nullopt;
}

Layer ReadLayer(OnnxNode& node, std::int64_t gates) {
  Layer layer;
  layer.gates = gates;
  layer.batch_first = node.Int("layout", 0) != 0;
  layer.data = node.Input(0);
  node.ExpectRank(0, 3);
  node.ExpectRank(2, 3);
  if (!node.ok()) return layer;
  if (layer.batch_first) layer.data = node.EmitTranspose(layer.data, {1, 0, 2});
  const Shape data = node.TypeOf(layer.data).shape, state = node.InputType(2).shape;
  layer.dtype = node.TypeOf(layer.data).dtype;
  layer.steps = data[0], layer.batch = data[1], layer.inputs = data[2];
  layer.directions = state[0], layer.hidden = state[2];
  const auto expect = [&](int index, const Shape& expected) {
    if (!node.ok() || !node.HasInput(index) || node.InputType(index).shape == expected) return;
    node.FailInvalid("input " + std::to_string(index) + " is " + node.InputType(index).ToString() +
                     ", expected " + TensorType{expected, layer.dtype}.ToString());
  };
  const std::int64_t rows = gates * layer.hidden;
  const Shape states = layer.batch_first ? Shape{layer.batch, layer.directions, layer.hidden}
                                         : Shape{layer.directions, layer.batch, layer.hidden};
  expect(1, {layer.directions, rows, layer.inputs});
  expect(2, {layer.directions, rows, layer.hidden});
  expect(3, {layer.directions, 2 * rows});
  expect(4, {layer.batch});
  expect(5, states);
  if (gates == 4) {
    expect(6, states);
    expect(7, {layer.directions, 3 * layer.hidden});
  }
  if (node.Int("hidden_size", layer.hidden) != layer.hidden) {
    node.FailInvalid("attribute hidden_size is " + std::to_string(node.Int("hidden_size", 0)) +
                     ", the weights have " + std::to_string(layer.hidden));
  }
  const std::string direction = node.String("direction", "forward");
  const bool both = direction == "bidirectional";
  if ((!both && direction != "forward" && direction != "reverse") ||
      layer.directions != (both ? 2 : 1)) {
    node.FailInvalid("attribute direction is " + direction + ", the weights are of " +
                     std::to_string(layer.directions));
  }
  if (layer.steps * layer.directions > kMostSteps) {
    node.FailUnsupported("has " + std::to_string(layer.steps * layer.directions) +
                         " steps, expected at most " + std::to_string(kMostSteps));
  }
  return layer;
}

Direction ReadDirection(OnnxNode& node, const Layer& layer, std::int64_t index,
                        std::vector<std::string> functions) {
  Direction direction;
  direction.index = index;
  direction.backwards = index == 1 || node.String("direction", "forward") == "reverse";
  const std::size_t each = functions.size();
  if (node.HasAttribute("activations")) {
    const std::vector<std::string> given = node.Strings("activations");
    if (given.size() != each * static_cast<std::size_t>(layer.directions)) {
      node.FailInvalid("attribute activations has " + std::to_string(given.size()) +
                       " names, expected " + std::to_string(each) + " for each direction");
      return direction;
    }
    functions.assign(given.begin() + index * static_cast<std::int64_t>(each),
                     given.begin() + (index + 1) * static_cast<std::int64_t>(each));
  }
  for (std::size_t i = 0; i < each; ++i) {
    const auto function = FunctionNamed(functions[i]);
    if (!function) {
      node.FailUnsupported("activation " + functions[i] +
                           " is not supported, expected Relu, Sigmoid or Tanh");
      return direction;
    }
    direction.functions[i] = *function;
  }
  const std::int64_t rows = layer.gates * layer.hidden;
  const int all = node.EmitReshape(layer.data, {layer.steps * layer.batch, layer.inputs});
  int products = EmitDense(node, all, At(node, node.Input(1), index), true);
  if (node.HasInput(3)) {
    const int biases = At(node, node.Input(3), index);
    products = node.Emit(OpKind::kAdd, {products, Part(node, biases, 0, 0, rows)});
    direction.state_bias = Part(node, biases, 0, rows, 2 * rows);
  }
  direction.data = node.EmitReshape(products, {layer.steps, layer.batch, rows});
  direction.weight = At(node, node.Input(2), index);
  if (layer.gates == 4 && node.HasInput(7)) direction.peephole = At(node, node.Input(7), index);
  return direction;
}

// Columns of gate `index` of something that has all of them, or `count` of them, side by side.
int Gate(OnnxNode& node, const Layer& layer, int id, std::int64_t index, std::int64_t count = 1) {
  if (!node.ok()) return -1;
  const auto last = static_cast<std::size_t>(node.Rank(id) - 1);
  return Part(node, id, last, index * layer.hidden, (index + count) * layer.hidden);
}

// Rows of the state's weight for some gates, times `state`, and their biases.
int FromState(OnnxNode& node, const Layer& layer, const Direction& direction, int state,
              std::int64_t gate, std::int64_t count) {
  const int weight =
      Part(node, direction.weight, 0, gate * layer.hidden, (gate + count) * layer.hidden);
  const int product = EmitDense(node, state, weight, true);
  if (direction.state_bias < 0) return product;
  return node.Emit(OpKind::kAdd, {product, Gate(node, layer, direction.state_bias, gate, count)});
}

int Sum(OnnxNode& node, int a, int b) { return node.Emit(OpKind::kAdd, {a, b}); }
int Product(OnnxNode& node, int a, int b) { return node.Emit(OpKind::kMul, {a, b}); }

State RnnCell(OnnxNode& node, const Layer& layer, const Direction& direction, int data,
              const State& state) {
  const int sum = Sum(node, data, FromState(node, layer, direction, state.hidden, 0, 1));
  return {node.Emit(direction.functions[0], {sum}), -1};
}

// Gates: update, reset, hidden.
State GruCell(OnnxNode& node, const Layer& layer, const Direction& direction, int data,
              const State& state) {
  const auto [f, g, unused] = direction.functions;
  const int both = Sum(node, Gate(node, layer, data, 0, 2),
                       FromState(node, layer, direction, state.hidden, 0, 2));
  const int gates = node.Emit(f, {both});
  const int update = Gate(node, layer, gates, 0), reset = Gate(node, layer, gates, 1);
  const bool product_first = node.Int("linear_before_reset", 0) != 0;
  const int from = product_first ? state.hidden : Product(node, reset, state.hidden);
  int recurrent = FromState(node, layer, direction, from, 2, 1);
  if (product_first) recurrent = Product(node, reset, recurrent);
  const int hidden = node.Emit(g, {Sum(node, Gate(node, layer, data, 2), recurrent)});
  const int rest = node.Emit(OpKind::kSub, {node.EmitScalar(layer.dtype, 1), update});
  return {Sum(node, Product(node, rest, hidden), Product(node, update, state.hidden)), -1};
}

// Gates: input, output, forget, cell.
State LstmCell(OnnxNode& node, const Layer& layer, const Direction& direction, int data,
               const State& state) {
  const auto [f, g, h] = direction.functions;
  const int sums = Sum(node, data, FromState(node, layer, direction, state.hidden, 0, 4));
  const auto gate = [&](std::int64_t index, std::int64_t peephole, int cell) {
    int sum = Gate(node, layer, sums, index);
    if (direction.peephole >= 0) {
      sum = Sum(node, sum, Product(node, Gate(node, layer, direction.peephole, peephole), cell));
    }
    return node.Emit(f, {sum});
  };
  const int input = gate(0, 0, state.cell);
  const bool coupled = node.Int("input_forget", 0) != 0;
  const int forget = coupled ? node.Emit(OpKind::kSub, {node.EmitScalar(layer.dtype, 1), input})
                             : gate(2, 2, state.cell);
  const int fresh = node.Emit(g, {Gate(node, layer, sums, 3)});
  const int cell = Sum(node, Product(node, forget, state.cell), Product(node, input, fresh));
  const int output = gate(1, 1, cell);
  return {Product(node, output, node.Emit(h, {cell})), cell};
}

// A state to begin with: input `index`, or zeros.
int FirstState(OnnxNode& node, const Layer& layer, int index, std::int64_t direction) {
  if (!node.HasInput(index)) {
    return node.EmitFilled({{layer.batch, layer.hidden}, layer.dtype}, 0);
  }
  int states = node.Input(index);
  if (layer.batch_first) states = node.EmitTranspose(states, {1, 0, 2});
  return At(node, states, direction);
}

// Lengths of the sequences of a batch, [batch,1]; -1 where all have every step.
int Lengths(OnnxNode& node, const Layer& layer) {
  if (!node.HasInput(4)) return -1;
  const Tensor* known = node.Known(4);
  bool whole = known != nullptr;
  for (std::int64_t i = 0; whole && i < known->elements(); ++i) {
    whole = known->At(i) == static_cast<double>(layer.steps);
  }
  if (whole || !node.ok()) return -1;
  return node.EmitReshape(node.EmitCast(node.Input(4), kInt32), {layer.batch, 1});
}

// The results of a direction's steps, in the order of the data. Beyond its length a sequence keeps
// its state, and has zeros for results.
std::vector<int> RunSteps(OnnxNode& node, const Layer& layer, const Direction& direction, Cell cell,
                          int lengths, State& state) {
  std::vector<int> results(static_cast<std::size_t>(layer.steps), -1);
  for (std::int64_t i = 0; i < layer.steps && node.ok(); ++i) {
    const std::int64_t step = direction.backwards ? layer.steps - 1 - i : i;
    int& result = results[static_cast<std::size_t>(step)];
    State next = cell(node, layer, direction, At(node, direction.data, step), state);
    result = next.hidden;
    if (lengths >= 0) {
      const int now = node.EmitScalar(kInt32, static_cast<double>(step));
      const int goes_on = node.Emit(OpKind::kLess, {now, lengths});
      const int zero = node.EmitScalar(layer.dtype, 0);
      result = node.Emit(OpKind::kWhere, {goes_on, next.hidden, zero});
      next.hidden = node.Emit(OpKind::kWhere, {goes_on, next.hidden, state.hidden});
      if (next.cell >= 0) {
        next.cell = node.Emit(OpKind::kWhere, {goes_on, next.cell, state.cell});
      }
    }
    state = next;
  }
  return results;
}

// Results [steps,directions,batch,hidden], then the last states.
void ImportLayer(OnnxNode& node, std::int64_t gates, const std::vector<std::string>& functions,
                 Cell cell) {
  const Layer layer = ReadLayer(node, gates);
  if (!node.ok()) return;
  const int lengths = Lengths(node, layer);
  std::vector<int> results, hidden, cells;
  for (std::int64_t index = 0; index < layer.directions && node.ok(); ++index) {
    const Direction direction = ReadDirection(node, layer, index, functions);
    State state{FirstState(node, layer, 5, index), -1};
    if (gates == 4) state.cell = FirstState(node, layer, 6, index);
    results.push_back(Stacked(node, RunSteps(node, layer, direction, cell, lengths, state), 0));
    hidden.push_back(state.hidden);
    cells.push_back(state.cell);
  }
  if (!node.ok()) return;
  const auto states = [&](const std::vector<int>& values) {
    return Stacked(node, values, layer.batch_first ? 1 : 0);
  };
  int all = Stacked(node, results, 1);
  if (layer.batch_first) all = node.EmitTranspose(all, {2, 0, 1, 3});
  if (node.HasOutput(0)) node.SetOutput(all, 0);
  if (node.HasOutput(1)) node.SetOutput(states(hidden), 1);
  if (gates == 4 && node.HasOutput(2)) node.SetOutput(states(cells), 2);
}

void ImportRnn(OnnxNode& node) { ImportLayer(node, 1, {"Tanh"}, &RnnCell); }
void ImportGru(OnnxNode& node) { ImportLayer(node, 3, {"Sigmoid", "Tanh"}, &GruCell); }
void ImportLstm(OnnxNode& node) { ImportLayer(node, 4, {"Sigmoid", "Tanh", "Tanh"}, &LstmCell); }

}  // namespace recurrent

constexpr OnnxHandlerEntry kRecurrentHandlers[] = {{"GRU", &recurrent::ImportGru},
                                                   {"LSTM", &recurrent::ImportLstm},
                                                   {"RNN", &recurrent::ImportRnn}};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxRecurrentHandlers() { return kRecurrentHandlers; }

}  // namespace tilewright
