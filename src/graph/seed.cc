// Made-up contents of constants and inputs. A tensor's name gives the seed, an element's position
// the number, so every element stands alone: the work is cut into pieces at will.

#include "src/graph/seed.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <thread>

#include "src/base/hash.h"
#include "src/base/random.h"
#include "src/base/thread.h"
#include "src/graph/ir/graph.h"
#include "src/tensor/layout.h"

namespace tilewright {
namespace {

constexpr double kTwoTo24 = 16777216.0;

// Runs body(begin, end) over [0, count) on as many threads as the machine has and the work is
// worth; a quarter of a million elements take about as long as starting a thread a hundred times.
void ForRanges(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& body) {
  constexpr std::int64_t kMinPerThread = 1 << 18;
  const std::int64_t cores = std::max<std::int64_t>(std::thread::hardware_concurrency(), 1);
  const std::int64_t parts = std::clamp<std::int64_t>(count / kMinPerThread, 1, cores);
  std::vector<std::thread> threads;
  std::int64_t begin = 0;
  for (std::int64_t part = 1; part < parts; ++part) {
    const std::int64_t end = count * part / parts;
    auto thread = StartThread([&body, begin, end] { body(begin, end); });
    if (!thread.ok()) break;  // this thread does the rest
    threads.push_back(*std::move(thread));
    begin = end;
  }
  body(begin, count);
  for (std::thread& thread : threads) thread.join();
}

// k in [0, 2^24) of element i -> the element.
template <typename T, typename Function>
Tensor MakeSeeded(std::string_view name, const TensorType& type, const Function& value) {
  Tensor tensor(type);
  const std::span<T> out = tensor.As<T>();
  const std::uint64_t seed = Fnv1a64(name);
  ForRanges(tensor.elements(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<std::uint64_t>(i);
      out[index] = static_cast<T>(value(SeededElement(seed, index)));
    }
  });
  return tensor;
}

// Every element type by way of a double, which holds whatever the rules make.
template <typename Function>
Tensor MakeSeededAny(std::string_view name, const TensorType& type, const Function& value) {
  if (type.dtype == kFloat32) return MakeSeeded<float>(name, type, value);
  if (type.dtype == kInt8) return MakeSeeded<std::int8_t>(name, type, value);
  if (type.dtype == kInt32) return MakeSeeded<std::int32_t>(name, type, value);
  Tensor tensor(type);
  const std::uint64_t seed = Fnv1a64(name);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.Set(i, static_cast<double>(value(SeededElement(seed, static_cast<std::uint64_t>(i)))));
  }
  return tensor;
}

std::int64_t Centred(std::uint32_t k, std::int64_t limit) {
  return static_cast<std::int64_t>(k) % (2 * limit + 1) - limit;
}

// Products per result of a constant: all dimensions but the first, or, for the kernel of a
// convolution, all but those of its output channels.
std::int64_t FanOf(const Graph& graph, int id, const std::vector<int>& users) {
  const TensorType& type = graph.node(id).type;
  if (type.shape.empty()) return 1;
  for (int user : users) {
    const Node& node = graph.node(user);
    if (node.op.kind != OpKind::kConv2d || node.inputs[1] != id) continue;
    auto layout = Layout::Parse(node.op.attributes.kernel_layout);
    const std::size_t position = layout.ok() ? layout->primal().find('O') : std::string::npos;
    if (position != std::string::npos) {
      return type.elements() / layout->Unpack(type.shape)[position];
    }
  }
  return type.elements() / type.shape[0];
}

// The zero point of a value that was quantized by operators: the whole number that is added before
// the rounding, the clip and the casts.
std::optional<std::int64_t> ZeroPointOf(const Graph& graph, int id) {
  while (graph.node(id).kind == NodeKind::kOperator) {
    const Node& node = graph.node(id);
    if (node.op.kind == OpKind::kAdd) {
      for (int side : node.inputs) {
        const Tensor* contents = graph.Contents(side);
        if (contents != nullptr && contents->elements() == 1) {
          return static_cast<std::int64_t>(contents->At(0));
        }
      }
      return std::nullopt;
    }
    const bool passes = node.op.kind == OpKind::kCast || node.op.kind == OpKind::kClip ||
                        node.op.kind == OpKind::kRound || node.op.kind == OpKind::kReshape ||
                        node.op.kind == OpKind::kTranspose || node.op.kind == OpKind::kPad ||
                        node.op.kind == OpKind::kLayoutTransform ||
                        node.op.kind == OpKind::kIdentity;
    if (!passes) return std::nullopt;
    id = node.inputs[0];
  }
  return std::nullopt;
}

// What an element is made of the k in [0, 2^24) that it has.
using ElementRule = std::function<double(std::uint32_t k)>;

// Of integers whose meaning follows from what reads them: parts of a requantization in int64 (the
// factors about 2^-9), zero points, and kernels of 16 bits, whose products add up to more than
// those of 8 bits. Nothing for others.
ElementRule RuleByUse(const Graph& graph, int id, const Node& user, std::int64_t fan) {
  constexpr std::int64_t kShift = 39;
  const Node& node = graph.node(id);
  const auto always = [](std::int64_t value) {
    return [value](std::uint32_t) { return static_cast<double>(value); };
  };
  if (node.type.dtype == kInt64) {
    if (user.op.kind == OpKind::kMul) {
      return [](std::uint32_t k) { return 0x1.0p30 + 64 * static_cast<double>(k); };
    }
    if (user.op.kind == OpKind::kAdd) return always(std::int64_t{1} << (kShift - 1));
    if (user.op.kind == OpKind::kShiftRight) return always(kShift);
  }
  if (user.op.kind == OpKind::kSub && node.type.shape.empty() && user.inputs[1] == id) {
    const auto zero_point = ZeroPointOf(graph, user.inputs[0]);
    if (zero_point) return always(*zero_point);
  }
  if (user.op.kind == OpKind::kConv2d && user.inputs[1] == id && node.type.dtype == kInt16) {
    const std::int64_t limit = std::clamp<std::int64_t>(IntegerRoot((1 << 20) / fan), 1, 127);
    return [limit](std::uint32_t k) { return static_cast<double>(Centred(k, limit)); };
  }
  return nullptr;
}

// The rules of the Relay data.
Tensor MakeMissing(const Graph& graph, int id, const std::vector<int>& users) {
  const std::string& name = graph.node(id).name;
  const TensorType& type = graph.node(id).type;
  const std::int64_t fan = std::max<std::int64_t>(FanOf(graph, id, users), 1);
  if (type.dtype.is_float()) return MakeSeededFloat(name, type, fan);
  if (!users.empty()) {
    const ElementRule rule = RuleByUse(graph, id, graph.node(users[0]), fan);
    if (rule) return MakeSeededAny(name, type, rule);
  }
  const bool weights = type.dtype.bits <= 16 && type.shape.size() >= 2;
  const std::int64_t limit = weights ? std::max<std::int64_t>(1, IntegerRoot(65536 / fan))
                                     : (type.dtype.bits <= 16 ? 100 : 1000);
  const std::int64_t offset = type.dtype.code == TypeCode::kUInt ? limit : 0;
  return MakeSeededAny(
      name, type, [=](std::uint32_t k) { return static_cast<double>(Centred(k, limit) + offset); });
}

}  // namespace

// Spread evenly, so that a layer keeps the size of its values.
Tensor MakeSeededFloat(std::string_view name, const TensorType& type, std::int64_t fan) {
  if (type.shape.size() >= 2 && type.elements() > 1) {
    const double bound = std::sqrt(6.0 / static_cast<double>(fan));
    return MakeSeededAny(name, type, [bound](std::uint32_t k) {
      return (2 * (static_cast<double>(k) / kTwoTo24) - 1) * bound;
    });
  }
  return MakeSeededAny(name, type,
                       [](std::uint32_t k) { return 0.5 + static_cast<double>(k) / kTwoTo24; });
}

Tensor MakeSeededInteger(std::string_view name, const TensorType& type, std::int64_t limit) {
  return MakeSeededAny(name, type,
                       [limit](std::uint32_t k) { return static_cast<double>(Centred(k, limit)); });
}

std::int64_t IntegerRoot(std::int64_t value) {
  auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(value)));
  while (root * root > value) --root;
  while ((root + 1) * (root + 1) <= value) ++root;
  return root;
}

void SeedConstants(Graph& graph, SeedRule rule) {
  const auto users = graph.Users();
  std::int64_t made_up = 0;
  for (int id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::kConstant || SourceName(node.name) != node.name) continue;
    if (node.type.elements() == 0) continue;
    if (!graph.HasContents(id)) {
      graph.SetContents(id, MakeMissing(graph, id, users[static_cast<std::size_t>(id)]));
    } else if (rule == SeedRule::kAllFloat && node.type.dtype.is_float()) {
      const std::int64_t fan =
          node.type.shape.empty() ? 1 : node.type.elements() / node.type.shape[0];
      graph.SetContents(id, MakeSeededFloat(node.name, node.type, fan));
    } else {
      continue;
    }
    ++made_up;
  }
  // Those that the file says of itself are replaced as well, but for integers.
  graph.made_up_constants = std::max(graph.made_up_constants, made_up);
}

Tensor MakeQuantizedInput(std::string_view value_name, const TensorType& type, double scale,
                          std::int64_t zero_point) {
  return MakeSeededAny(value_name, type, [=](std::uint32_t k) {
    return static_cast<double>(static_cast<std::int64_t>(k % 256) - zero_point) * scale;
  });
}

Tensor MakeInput(std::string_view value_name, const TensorType& type, InputRule rule) {
  switch (rule) {
    case InputRule::kRamp: {
      Tensor tensor(type);
      const auto count = static_cast<double>(tensor.elements());
      for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        tensor.Set(i, static_cast<double>(i) / count);
      }
      return tensor;
    }
    case InputRule::kSeededQuantized: {
      const double step = type.dtype.is_float() ? 16 : 1;
      return MakeSeededAny(value_name, type, [step](std::uint32_t k) {
        return static_cast<double>(Centred(k, 127)) / step;
      });
    }
    case InputRule::kRandom:
      break;
  }
  if (type.dtype.is_float()) {
    return MakeSeededAny(value_name, type, [](std::uint32_t k) {
      return 2 * (static_cast<double>(k) / kTwoTo24) - 1;
    });
  }
  const bool is_unsigned = type.dtype.code != TypeCode::kInt;
  const int bits = std::min<int>(type.dtype.bits, 16);
  const double low = is_unsigned ? 0 : -std::exp2(bits - 1);
  return MakeSeededAny(value_name, type, [=](std::uint32_t k) {
    return low + static_cast<double>(k >> (24 - bits));
  });
}

}  // namespace tilewright
