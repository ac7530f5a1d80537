// RNN, GRU and LSTM. A time step is a product with the previous state and a few elementwise
// operators. The products with the data are one matrix product over all steps, before the
// recurrence. Steps with float32 states form one recurrence operator, steps of other types are
// separate operators instead. ONNX Runtime's DynamicQuantizeLSTM has integer
// weights; its data and every state are quantized by their range at run time.
//
// Data is [steps,batch,inputs], weights are [directions,gates*hidden,inputs or hidden], biases
// [directions,2*gates*hidden] (those of the data's products, then those of the state's), states
// [directions,batch,hidden]. With layout 1 the batch comes first in data, states and results.

#include <algorithm>
#include <array>

#include "src/graph/onnx/handlers.h"
#include "src/graph/onnx/operators/quantized/integer.h"
#include "src/tensor/recurrence.h"

namespace tilewright {
namespace {
namespace recurrent {

using Shape = std::vector<std::int64_t>;

// Limit of the sum over all directions.
constexpr std::int64_t kMaxSteps = kMaxUnrolledSteps;

int Part(OnnxNode& node, int id, std::size_t axis, std::int64_t begin, std::int64_t end) {
  if (!node.ok()) return -1;
  Operator slice = WholeSlice(node.TypeOf(id).shape);
  slice.attributes.begin[axis] = begin;
  slice.attributes.end[axis] = end;
  return node.Emit(slice, {id});
}

// Emits element `index` of the first dimension and drops the dimension.
int At(OnnxNode& node, int id, std::int64_t index) {
  const int part = Part(node, id, 0, index, index + 1);
  if (!node.ok()) return -1;
  Shape shape = node.TypeOf(part).shape;
  shape.erase(shape.begin());
  return node.EmitReshape(part, shape);
}

// Emits values stacked along a new dimension.
int Stacked(OnnxNode& node, const std::vector<int>& values, std::int64_t axis) {
  if (!node.ok()) return -1;
  Shape shape = node.TypeOf(values[0]).shape;
  shape.insert(shape.begin() + axis, 1);
  std::vector<int> parts;
  for (int value : values) parts.push_back(node.EmitReshape(value, shape));
  // A kernel has at most 256 tensors.
  constexpr std::ptrdiff_t kMaxJoined = 128;
  Operator concat{OpKind::kConcat, {}};
  concat.attributes.axis = axis;
  while (parts.size() > 1 && node.ok()) {
    std::vector<int> joined;
    for (auto at = parts.begin(); at != parts.end();) {
      const auto end = at + std::min(kMaxJoined, parts.end() - at);
      joined.push_back(end - at == 1 ? *at : node.Emit(concat, std::vector<int>(at, end)));
      at = end;
    }
    parts = std::move(joined);
  }
  return parts[0];
}

// Parameters and sizes of a layer.
struct Layer {
  std::int64_t gates = 1, directions = 1, steps = 0, batch = 0, inputs = 0, hidden = 0;
  bool batch_first = false;
  bool quantized = false;      // 8-bit weights are [directions,inputs or hidden,gates*hidden]
  double clip = 0;             // arguments of functions are clamped to +-clip; 0: unlimited
  bool product_first = false;  // GRU: the reset gate is applied after the product with the state
  bool coupled = false;        // LSTM: the forget gate is 1 - the input gate
  int data = -1;               // the first dimension is the steps
  DataType dtype;

  bool is_loop() const { return dtype == kFloat32; }
};

// Recurrent weight of consecutive gates.
struct StateWeight {
  int weight = -1;        // [gates*hidden,hidden]; -1: quantized
  ByteWeight bytes = {};  // quantized
  int scale = -1;         // quantized: factor of the products
  int bias = -1;          // [gates*hidden]; -1: none
};

// One direction of a layer.
struct Direction {
  std::int64_t index = 0;
  bool backwards = false;
  std::array<NamedActivation, 3> functions = {};  // f, g and h in ONNX's notation
  int data = -1;       // products with all steps, plus biases, [steps,batch,gates*hidden]
  StateWeight all;     // all gates
  StateWeight first;   // GRU: first two gates
  StateWeight hidden;  // GRU: third gate
  int peephole = -1;   // LSTM: [3*hidden]; -1: none
};

struct State {
  int hidden = -1, cell = -1;
};

using Cell = State (*)(OnnxNode&, const Layer&, const Direction&, int data, const State&);

// Returns whether ONNX allows a function here. Some functions are only for other operators.
bool IsRecurrentFunction(std::string_view name) {
  constexpr std::string_view kNames[] = {"affine",   "elu",        "hardsigmoid",    "leakyrelu",
                                         "relu",     "scaledtanh", "sigmoid",        "softplus",
                                         "softsign", "tanh",       "thresholdedrelu"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

// Checks the shape of input `index`, if present.
void ExpectShape(OnnxNode& node, int index, const Shape& expected) {
  if (!node.ok() || !node.HasInput(index) || node.InputType(index).shape == expected) return;
  const TensorType given = node.InputType(index);
  node.FailInvalid("input " + std::to_string(index) + " is " + given.ToString() + ", expected " +
                   TensorType{expected, given.dtype}.ToString());
}

// Checks that all operands have the shapes that follow from the data and the weights.
void CheckShapes(OnnxNode& node, const Layer& layer) {
  const std::int64_t rows = layer.gates * layer.hidden;
  const Shape states = layer.batch_first ? Shape{layer.batch, layer.directions, layer.hidden}
                                         : Shape{layer.directions, layer.batch, layer.hidden};
  const auto weight = [&](std::int64_t columns) {
    return layer.quantized ? Shape{layer.directions, columns, rows}
                           : Shape{layer.directions, rows, columns};
  };
  ExpectShape(node, 1, weight(layer.inputs));
  ExpectShape(node, 2, weight(layer.hidden));
  ExpectShape(node, 3, {layer.directions, 2 * rows});
  ExpectShape(node, 4, {layer.batch});
  ExpectShape(node, 5, states);
  if (layer.gates != 4) return;
  ExpectShape(node, 6, states);
  ExpectShape(node, 7, {layer.directions, 3 * layer.hidden});
}

Layer ReadLayer(OnnxNode& node, std::int64_t gates, bool quantized) {
  Layer layer;
  layer.gates = gates;
  layer.quantized = quantized;
  layer.clip = node.Float("clip", 0);
  layer.batch_first = node.Int("layout", 0) != 0;
  layer.product_first = gates == 3 && node.Int("linear_before_reset", 0) != 0;
  layer.coupled = gates == 4 && node.Int("input_forget", 0) != 0;
  layer.data = node.Input(0);
  node.ExpectRank(0, 3);
  node.ExpectRank(2, 3);
  if (!node.ok()) return layer;
  if (layer.batch_first) layer.data = node.EmitTranspose(layer.data, {1, 0, 2});
  const Shape data = node.TypeOf(layer.data).shape, state = node.InputType(2).shape;
  layer.dtype = node.TypeOf(layer.data).dtype;
  layer.steps = data[0], layer.batch = data[1], layer.inputs = data[2];
  layer.directions = state[0], layer.hidden = state[quantized ? 1 : 2];
  CheckShapes(node, layer);
  if (node.HasAttribute("clip") && !(layer.clip > 0)) {
    node.FailInvalid("attribute clip is " + std::to_string(layer.clip) +
                     ", expected a positive number");
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
  if (!layer.is_loop() && layer.steps * layer.directions > kMaxSteps) {
    node.FailUnsupported("has " + std::to_string(layer.steps * layer.directions) + " steps of " +
                         DataTypeName(layer.dtype) + ", expected at most " +
                         std::to_string(kMaxSteps) + ", or float32");
  }
  return layer;
}

// Emits the columns of gate `index`, or of `count` gates from it on, of a value with all gates.
int Gate(OnnxNode& node, const Layer& layer, int id, std::int64_t index, std::int64_t count = 1) {
  if (!node.ok()) return -1;
  const auto last = static_cast<std::size_t>(node.Rank(id) - 1);
  return Part(node, id, last, index * layer.hidden, (index + count) * layer.hidden);
}

// Reads the functions of all directions, with defaults `functions`, and their parameters, which are
// assigned in order to the functions that have them. Returns those of direction `index`.
std::array<NamedActivation, 3> ReadFunctions(OnnxNode& node, const Layer& layer, std::int64_t index,
                                             const std::vector<std::string>& functions) {
  const std::size_t each = functions.size();
  const std::size_t count = each * static_cast<std::size_t>(layer.directions);
  std::vector<std::string> names = node.Strings("activations");
  if (!node.HasAttribute("activations")) {
    for (std::size_t i = 0; i < count; ++i) names.push_back(functions[i % each]);
  }
  const std::vector<double> given[] = {node.Floats("activation_alpha"),
                                       node.Floats("activation_beta")};
  std::array<NamedActivation, 3> result = {};
  if (names.size() != count) {
    node.FailInvalid("attribute activations has " + std::to_string(names.size()) +
                     " names, expected " + std::to_string(each) + " for each direction");
    return result;
  }
  std::array<std::size_t, 2> used = {};
  for (std::size_t i = 0; i < count; ++i) {
    auto function = ActivationNamed(names[i]);
    if (!function || !IsRecurrentFunction(function->name)) {
      node.FailUnsupported("activation " + names[i] + " is not supported");
      return result;
    }
    for (std::size_t k = 0; k < std::size(given); ++k) {
      const bool taken = static_cast<int>(k) < function->parameters && used[k] < given[k].size();
      if (taken) function->values[k] = given[k][used[k]++];
    }
    if (i / each == static_cast<std::size_t>(index)) result[i % each] = *function;
  }
  for (std::size_t k = 0; k < std::size(given); ++k) {
    if (used[k] == given[k].size()) continue;
    node.FailInvalid(std::string("attribute activation_") + (k == 0 ? "alpha" : "beta") + " has " +
                     std::to_string(given[k].size()) + " numbers, the functions take " +
                     std::to_string(used[k]));
  }
  return result;
}

// Reads part `index` of input `place`: a number, or one for each of the direction's columns.
int ReadPerColumn(OnnxNode& node, const Layer& layer, std::int64_t index, int place) {
  const std::int64_t rows = layer.gates * layer.hidden;
  const int all = node.Input(place);
  if (!node.ok()) return -1;
  const std::int64_t elements = node.TypeOf(all).elements();
  if (elements != layer.directions && elements != layer.directions * rows) {
    node.FailInvalid("input " + std::to_string(place) + " is " + node.TypeOf(all).ToString() +
                     ", expected a number for each direction, or for each of its " +
                     std::to_string(rows) + " columns");
    return -1;
  }
  const int of =
      At(node, node.EmitReshape(all, {layer.directions, elements / layer.directions}), index);
  return elements == layer.directions ? node.EmitReshape(of, {}) : of;
}

// Reads weight `index` of input `input`: [rows,columns], or integers [columns,rows]. Inputs from 8
// on are scales and zero points of the integers W and R, one or one per row.
StateWeight ReadWeight(OnnxNode& node, const Layer& layer, std::int64_t index, int input) {
  const int weight = At(node, node.Input(input), index);
  if (!layer.quantized || !node.ok()) return {.weight = weight};
  const int scale = input == 1 ? 8 : 10, zero = scale + 1;
  ExpectBytes(node, input);
  CheckZeroPointType(node, input, zero);
  IntegerZeroPoint zeros{UniformZeroPoint(node, zero), -1};
  if (!zeros.known) zeros.id = node.EmitCast(ReadPerColumn(node, layer, index, zero), kInt32);
  return {.bytes = EmitByteWeight(node, weight, zeros),
          .scale = ReadPerColumn(node, layer, index, scale)};
}

// Emits `data` [rows,inputs] times a weight, without its bias.
int TimesWeight(OnnxNode& node, int data, const StateWeight& weight) {
  if (weight.scale < 0) return EmitDense(node, data, weight.weight, true);
  const DynamicallyQuantized numbers = EmitDynamicallyQuantized(node, data);
  const int sums = EmitDynamicProduct(node, numbers, weight.bytes);
  const int scale = node.Emit(OpKind::kMul, {numbers.scale, weight.scale});
  return node.Emit(OpKind::kMul, {node.EmitCast(sums, kFloat32), scale});
}

Direction ReadDirection(OnnxNode& node, const Layer& layer, std::int64_t index,
                        const std::vector<std::string>& functions) {
  Direction direction;
  direction.index = index;
  direction.backwards = index == 1 || node.String("direction", "forward") == "reverse";
  direction.functions = ReadFunctions(node, layer, index, functions);
  const std::int64_t rows = layer.gates * layer.hidden;
  const int all = node.EmitReshape(layer.data, {layer.steps * layer.batch, layer.inputs});
  int products = TimesWeight(node, all, ReadWeight(node, layer, index, 1));
  StateWeight& state = direction.all;
  state = ReadWeight(node, layer, index, 2);
  if (node.HasInput(3)) {
    const int biases = At(node, node.Input(3), index);
    const int of_state = Part(node, biases, 0, rows, 2 * rows);
    int bias = Part(node, biases, 0, 0, rows);
    if (layer.product_first) {
      state.bias = of_state;
    } else {
      bias = node.Emit(OpKind::kAdd, {bias, of_state});
    }
    products = node.Emit(OpKind::kAdd, {products, bias});
  }
  direction.data = node.EmitReshape(products, {layer.steps, layer.batch, rows});
  if (layer.gates == 3 && !layer.product_first) {
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      begin *= layer.hidden, end *= layer.hidden;
      return StateWeight{.weight = Part(node, state.weight, 0, begin, end)};
    };
    direction.first = part(0, 2);
    direction.hidden = part(2, 3);
  }
  if (layer.gates == 4 && node.HasInput(7)) direction.peephole = At(node, node.Input(7), index);
  return direction;
}

// Emits the contribution of the state to the sums of some gates.
int FromState(OnnxNode& node, int state, const StateWeight& weight) {
  const int product = TimesWeight(node, state, weight);
  return weight.bias < 0 ? product : node.Emit(OpKind::kAdd, {product, weight.bias});
}

// Emits function `index` of a direction (0: f, 1: g, 2: h).
int Function(OnnxNode& node, const Layer& layer, const Direction& direction, std::size_t index,
             int value) {
  if (layer.clip > 0) {
    Operator clip{OpKind::kClip, {}};
    clip.attributes.a_min = -layer.clip;
    clip.attributes.a_max = layer.clip;
    value = node.Emit(clip, {value});
  }
  return EmitActivation(node, direction.functions[index], value);
}

int Sum(OnnxNode& node, int a, int b) { return node.Emit(OpKind::kAdd, {a, b}); }
int Product(OnnxNode& node, int a, int b) { return node.Emit(OpKind::kMul, {a, b}); }

State RnnCell(OnnxNode& node, const Layer& layer, const Direction& direction, int data,
              const State& state) {
  const int sum = Sum(node, data, FromState(node, state.hidden, direction.all));
  return {Function(node, layer, direction, 0, sum), -1};
}

// Gates: update, reset, hidden. With linear_before_reset the reset gate is applied after the
// product with the state, which then is one product for all gates.
State GruCell(OnnxNode& node, const Layer& layer, const Direction& direction, int data,
              const State& state) {
  const int products =
      FromState(node, state.hidden, layer.product_first ? direction.all : direction.first);
  const int both = Sum(node, Gate(node, layer, data, 0, 2), Gate(node, layer, products, 0, 2));
  const int gates = Function(node, layer, direction, 0, both);
  const int update = Gate(node, layer, gates, 0), reset = Gate(node, layer, gates, 1);
  const int recurrent = layer.product_first
                            ? Product(node, reset, Gate(node, layer, products, 2))
                            : FromState(node, Product(node, reset, state.hidden), direction.hidden);
  const int hidden =
      Function(node, layer, direction, 1, Sum(node, Gate(node, layer, data, 2), recurrent));
  const int rest = node.Emit(OpKind::kSub, {node.EmitScalar(layer.dtype, 1), update});
  return {Sum(node, Product(node, rest, hidden), Product(node, update, state.hidden)), -1};
}

// Gates: input, output, forget, cell.
State LstmCell(OnnxNode& node, const Layer& layer, const Direction& direction, int data,
               const State& state) {
  const int sums = Sum(node, data, FromState(node, state.hidden, direction.all));
  const auto gate = [&](std::int64_t index, std::int64_t peephole, int cell) {
    int sum = Gate(node, layer, sums, index);
    if (direction.peephole >= 0) {
      sum = Sum(node, sum, Product(node, Gate(node, layer, direction.peephole, peephole), cell));
    }
    return Function(node, layer, direction, 0, sum);
  };
  const int input = gate(0, 0, state.cell);
  const int forget = layer.coupled
                         ? node.Emit(OpKind::kSub, {node.EmitScalar(layer.dtype, 1), input})
                         : gate(2, 2, state.cell);
  const int fresh = Function(node, layer, direction, 1, Gate(node, layer, sums, 3));
  const int cell = Sum(node, Product(node, forget, state.cell), Product(node, input, fresh));
  const int output = gate(1, 1, cell);
  return {Product(node, output, Function(node, layer, direction, 2, cell)), cell};
}

// Returns the initial state: input `index`, or zeros.
int FirstState(OnnxNode& node, const Layer& layer, int index, std::int64_t direction) {
  if (!node.HasInput(index)) {
    return node.EmitFilled({{layer.batch, layer.hidden}, layer.dtype}, 0);
  }
  int states = node.Input(index);
  if (layer.batch_first) states = node.EmitTranspose(states, {1, 0, 2});
  return At(node, states, direction);
}

// Returns the sequence lengths of a batch, [batch,1]; -1 if all sequences have every step.
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

// Masks the result of a step. `goes_on` ([batch,1]) is whether a sequence includes the step; -1:
// all do. A sequence that has ended keeps its state, and its result, which is returned, is zero.
int Behind(OnnxNode& node, const Layer& layer, int goes_on, const State& before, State& next) {
  if (goes_on < 0) return next.hidden;
  const int made = next.hidden, zero = node.EmitScalar(layer.dtype, 0);
  next.hidden = node.Emit(OpKind::kWhere, {goes_on, made, before.hidden});
  if (next.cell >= 0) next.cell = node.Emit(OpKind::kWhere, {goes_on, next.cell, before.cell});
  return node.Emit(OpKind::kWhere, {goes_on, made, zero});
}

// Results of all steps, in the order of the data, and the last states.
struct Run {
  int results = -1;
  State last;
};

// Emits the steps as separate operators.
Run RunSteps(OnnxNode& node, const Layer& layer, const Direction& direction, Cell cell, int lengths,
             State state) {
  std::vector<int> results(static_cast<std::size_t>(layer.steps), -1);
  for (std::int64_t i = 0; i < layer.steps && node.ok(); ++i) {
    const std::int64_t step = direction.backwards ? layer.steps - 1 - i : i;
    State next = cell(node, layer, direction, At(node, direction.data, step), state);
    int goes_on = -1;
    if (lengths >= 0) {
      const int now = node.EmitScalar(kInt32, static_cast<double>(step));
      goes_on = node.Emit(OpKind::kLess, {now, lengths});
    }
    results[static_cast<std::size_t>(step)] = Behind(node, layer, goes_on, state, next);
    state = next;
  }
  return {Stacked(node, results, 0), state};
}

// Returns the step that a graph computes. Its inputs are the parameters; its constants are scalars.
Recurrence StepOf(const Graph& graph, int result, const State& next) {
  Recurrence recurrence;
  OperatorList& step = recurrence.step;
  std::vector<int> values;
  for (int id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.kind == NodeKind::kInput) {
      values.push_back(step.AddParameter(node.type));
    } else if (node.kind == NodeKind::kConstant) {
      values.push_back(step.AddScalar(node.type, ScalarOf(*graph.Contents(id))));
    } else {
      std::vector<int> operands;
      for (int input : node.inputs) operands.push_back(values[static_cast<std::size_t>(input)]);
      const auto value = step.AddOperator(node.op, std::move(operands));
      TW_CHECK(value.ok(), value.status().message());  // the graph inferred the same type
      values.push_back(*value);
    }
  }
  const auto value = [&](int id) { return values[static_cast<std::size_t>(id)]; };
  if (result != graph.size() - 1) {
    TW_CHECK(step.AddOperator({OpKind::kIdentity, {}}, {value(result)}).ok(), "identity");
  }
  recurrence.next.push_back(value(next.hidden));
  if (next.cell >= 0) recurrence.next.push_back(value(next.cell));
  return recurrence;
}

// Emits the steps as one recurrence operator. A separate graph describes the step.
Run LoopUnroller(OnnxNode& node, const Layer& layer, const Direction& direction, Cell cell,
                 int lengths, const State& first) {
  OnnxImport import;
  import.opset = node.opset();
  OnnxNode step = node.In(import);
  std::vector<int> inputs;
  const auto parameter = [&](int id, bool of_all_steps = false) {
    if (id < 0 || !node.ok()) return -1;
    TensorType type = node.TypeOf(id);
    if (of_all_steps) type.shape.erase(type.shape.begin());
    inputs.push_back(id);
    return import.graph.AddInput("in" + std::to_string(inputs.size()), type);
  };
  int goes_on = -1;
  if (lengths >= 0) {
    goes_on = node.Emit(OpKind::kLess, {EmitPositions(node, kInt32, layer.steps, 2), lengths});
  }
  const int data = parameter(direction.data, true);
  goes_on = parameter(goes_on, true);
  const auto sliced = static_cast<int>(inputs.size());
  const State before{parameter(first.hidden), parameter(first.cell)};
  Direction inside = direction;
  for (StateWeight* weight : {&inside.all, &inside.first, &inside.hidden}) {
    const bool unused = weight == &inside.all && layer.gates == 3 && !layer.product_first;
    if (unused) continue;
    for (int* id : {&weight->weight, &weight->bytes.bytes, &weight->bytes.totals,
                    &weight->bytes.zero.id, &weight->scale, &weight->bias}) {
      *id = parameter(*id);
    }
  }
  inside.peephole = parameter(direction.peephole);
  if (!node.ok()) return {};
  State next = cell(step, layer, inside, data, before);
  const int result = Behind(step, layer, goes_on, before, next);
  if (!step.ok()) {
    node.Fail(step.status());
    return {};
  }
  Recurrence recurrence = StepOf(import.graph, result, next);
  recurrence.sliced = sliced;
  recurrence.backwards = direction.backwards;
  const int all = node.Emit(RecurrenceOperator(std::move(recurrence)), inputs);
  if (!node.ok()) return {};
  Run run{Part(node, all, 0, 0, layer.steps), {At(node, all, layer.steps), -1}};
  if (first.cell >= 0) run.last.cell = At(node, all, layer.steps + 1);
  return run;
}

// Results [steps,directions,batch,hidden], then the last states.
void ImportLayer(OnnxNode& node, std::int64_t gates, const std::vector<std::string>& functions,
                 Cell cell, bool quantized = false) {
  const Layer layer = ReadLayer(node, gates, quantized);
  if (!node.ok()) return;
  const int lengths = Lengths(node, layer);
  std::vector<int> results, hidden, cells;
  for (std::int64_t index = 0; index < layer.directions && node.ok(); ++index) {
    const Direction direction = ReadDirection(node, layer, index, functions);
    State first{FirstState(node, layer, 5, index), -1};
    if (gates == 4) first.cell = FirstState(node, layer, 6, index);
    const Run run = layer.is_loop() ? LoopUnroller(node, layer, direction, cell, lengths, first)
                                    : RunSteps(node, layer, direction, cell, lengths, first);
    results.push_back(run.results);
    hidden.push_back(run.last.hidden);
    cells.push_back(run.last.cell);
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

void ImportDynamicQuantizeLstm(OnnxNode& node) {
  ImportLayer(node, 4, {"Sigmoid", "Tanh", "Tanh"}, &LstmCell, true);
}

}  // namespace recurrent

constexpr OnnxHandlerEntry kRecurrentHandlers[] = {{"GRU", &recurrent::ImportGru},
                                                   {"LSTM", &recurrent::ImportLstm},
                                                   {"RNN", &recurrent::ImportRnn}};

constexpr OnnxHandlerEntry kRuntimeRecurrentHandlers[] = {
    {"DynamicQuantizeLSTM", &recurrent::ImportDynamicQuantizeLstm}};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxRecurrentHandlers() { return kRecurrentHandlers; }
std::span<const OnnxHandlerEntry> RuntimeRecurrentHandlers() { return kRuntimeRecurrentHandlers; }

}  // namespace tilewright
