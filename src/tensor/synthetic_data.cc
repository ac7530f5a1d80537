// Synthetic contents of tensors. The seed is a hash of the tensor's name, the counter is the
// element's position. Elements are thus independent, and the work can be split anywhere.

#include "src/tensor/synthetic_data.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <thread>
#include <type_traits>

#include "src/base/hash.h"
#include "src/base/random.h"
#include "src/base/thread.h"

namespace tilewright {
namespace {

constexpr double kTwoTo24 = 16777216.0;

// Runs body(begin, end) over [0, count) on the machine's threads, as far as the work is worth them;
// a quarter of a million elements take about as long as a hundred thread starts.
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

// Rules for whole numbers are independent of the type: values that do not fit wrap around.
template <typename T>
T ElementOf(double value) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<std::int64_t>(value));
  return static_cast<T>(value);
}

// Maps k in [0, 2^24) of element i to the element.
template <typename T, typename Function>
Tensor MakeSeeded(std::string_view name, const TensorType& type, const Function& value) {
  Tensor tensor(type);
  const std::span<T> out = tensor.As<T>();
  const std::uint64_t seed = Fnv1a64(name);
  ForRanges(tensor.elements(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<std::uint64_t>(i);
      out[index] = ElementOf<T>(value(SeededElement(seed, index)));
    }
  });
  return tensor;
}

// Sets elements of any type by way of a double, which holds all results of the rules.
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

}  // namespace

Tensor MakeByRule(std::string_view name, const TensorType& type, const ElementRule& rule) {
  return MakeSeededAny(name, type, rule);
}

std::int64_t CentredElement(std::uint32_t k, std::int64_t limit) {
  return static_cast<std::int64_t>(k) % (2 * limit + 1) - limit;
}

// The uniform distribution keeps the magnitude of values from layer to layer.
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
  return MakeSeededAny(name, type, [limit](std::uint32_t k) {
    return static_cast<double>(CentredElement(k, limit));
  });
}

std::int64_t IntegerSqrt(std::int64_t value) {
  auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(value)));
  while (root * root > value) --root;
  while ((root + 1) * (root + 1) <= value) ++root;
  return root;
}

Tensor MakeQuantizedInput(std::string_view value_name, const TensorType& type, double scale,
                          std::int64_t zero_point) {
  return MakeSeededAny(value_name, type, [=](std::uint32_t k) {
    return static_cast<double>(static_cast<std::int64_t>(k % 256) - zero_point) * scale;
  });
}

Tensor MakeSyntheticInput(std::string_view value_name, const TensorType& type,
                          SyntheticInputRule rule) {
  switch (rule) {
    case SyntheticInputRule::kRamp: {
      Tensor tensor(type);
      const auto count = static_cast<double>(tensor.elements());
      for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        tensor.Set(i, static_cast<double>(i) / count);
      }
      return tensor;
    }
    case SyntheticInputRule::kSeededQuantized: {
      const double step = type.dtype.is_float() ? 16 : 1;
      return MakeSeededAny(value_name, type, [step](std::uint32_t k) {
        return static_cast<double>(CentredElement(k, 127)) / step;
      });
    }
    case SyntheticInputRule::kRandom:
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
