// Weights are packed for vectors along columns. A byte has `per_byte` integers of one column, the
// first in its lowest bits. For float data, byte c of a block has elements c * per_byte, …; bytes
// of 16 columns are next to each other, so they widen to 16 lanes. For integer data, four bytes of
// a column are one lane of a dot product: part p of bytes 4c … 4c + 3 has elements (c * per_byte +
// p) * 4, …, so each part multiplies four consecutive elements of the data.

#include "src/tensor/block_quantized.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <string>

#include "src/base/math.h"

namespace tilewright {
namespace {

constexpr std::int64_t kColumns = BlockQuantizedMatmul::kColumns;
constexpr std::int64_t kBytesOfLane = 4;

Status CheckBlockSizes(const BlockQuantizedMatmul& p) {
  if (p.bits != 2 && p.bits != 4 && p.bits != 8) {
    return InvalidArgument(fmt::format("{} bits, expected 2, 4 or 8", p.bits));
  }
  if (p.block < 16 || p.block > 256 || !std::has_single_bit(static_cast<std::uint64_t>(p.block))) {
    return InvalidArgument(
        fmt::format("blocks of {}, expected a power of two from 16 to 256", p.block));
  }
  if (p.m < 1 || p.n < 1 || p.k < 1 || p.k % p.block != 0) {
    return InvalidArgument(
        fmt::format("sizes {} x {} x {}, expected positive ones, the last a "
                    "multiple of the block {}",
                    p.m, p.n, p.k, p.block));
  }
  return {};
}

/// Returns the text of a weight's integer; `index` are its indices before the part j.
std::string TextOfInteger(const BlockQuantizedMatmul& p, const std::string& index) {
  return PackedIntegerText(fmt::format("W[{}]", index), "j", p.bits);
}

std::string TextOfConstants(const BlockQuantizedMatmul& p) {
  const std::string weight =
      p.integer_data ? fmt::format("{}, {}, {}", p.block_bytes() / 4, kColumns, kBytesOfLane)
                     : fmt::format("{}, {}", p.block_bytes(), kColumns);
  std::string text = fmt::format(
      "input X: float32[{}, {}]\nconst W: uint8[{}, {}, {}]\nconst S: float32[{}, {}, {}]\n", p.m,
      p.k, p.groups(), p.blocks(), weight, p.groups(), p.blocks(), kColumns);
  if (p.zero_points != BlockZeroPoints::kMiddle) {
    const bool integers = p.zero_points == BlockZeroPoints::kIntegers;
    text += fmt::format("const Z: {}[{}, {}, {}]\n", integers ? "uint8" : "float32", p.groups(),
                        p.blocks(), kColumns);
  }
  return text;
}

/// Zero point as `dtype`, for column n.
std::string TextOfZero(const BlockQuantizedMatmul& p, const std::string& dtype) {
  if (p.zero_points == BlockZeroPoints::kMiddle) return fmt::format("{}", p.middle());
  return fmt::format("{}(Z[n / {}, b, n % {}])", dtype, kColumns, kColumns);
}

std::string TextOfFloats(const BlockQuantizedMatmul& p) {
  std::string text = fmt::format(
      "total[m: {}, b: {}] = sum(k: {}) X[m, b * {} + k]\n"
      "part[m: {}, g: {}, l: {}, b: {}] = sum(c: {}, j: {}) X[m, b * {} + c * {} + j] *"
      " float32({})\n",
      p.m, p.blocks(), p.block, p.block, p.m, p.groups(), kColumns, p.blocks(), p.block_bytes(),
      p.per_byte(), p.block, p.per_byte(), TextOfInteger(p, "g, b, c, l"));
  return text + fmt::format(
                    "Y[m: {}, n: {}] = sum(b: {}) (part[m, n / {}, n % {}, b] - {} * total[m, b]) *"
                    " S[n / {}, b, n % {}]\n",
                    p.m, p.n, p.blocks(), kColumns, kColumns, TextOfZero(p, "float32"), kColumns,
                    kColumns);
}

std::string TextOfIntegers(const BlockQuantizedMatmul& p) {
  const std::string rows = fmt::format("m: {}, b: {}", p.m, p.blocks());
  std::string text = fmt::format(
      "top[{}] = max(k: {}) abs(X[m, b * {} + k])\n"
      "Q[m: {}, k: {}] = int8(rint(X[m, k] * select(top[m, k / {}] > 0.0,"
      " 127.0 / top[m, k / {}], 0.0)))\n"
      "total[{}] = sum(k: {}) int32(Q[m, b * {} + k])\n"
      "part[m: {}, g: {}, l: {}, b: {}] = sum(c: {}, j: {}, t: {})"
      " int32(Q[m, b * {} + (c * {} + j) * {} + t]) * int32({})\n",
      rows, p.block, p.block, p.m, p.k, p.block, p.block, rows, p.block, p.block, p.m, p.groups(),
      kColumns, p.blocks(), p.block_bytes() / kBytesOfLane, p.per_byte(), kBytesOfLane, p.block,
      p.per_byte(), kBytesOfLane, TextOfInteger(p, "g, b, c, l, t"));
  const std::string part = fmt::format("part[m, n / {}, n % {}, b]", kColumns, kColumns);
  const std::string sum =
      p.zero_points == BlockZeroPoints::kFloats
          ? fmt::format("(float32({}) - {} * float32(total[m, b]))", part, TextOfZero(p, "float32"))
          : fmt::format("float32({} - {} * total[m, b])", part, TextOfZero(p, "int32"));
  return text + fmt::format(
                    "Y[m: {}, n: {}] = sum(b: {}) {} * (top[m, b] / 127.0 *"
                    " S[n / {}, b, n % {}])\n",
                    p.m, p.n, p.blocks(), sum, kColumns, kColumns);
}

/// Returns the product whose expression has such inputs and such a result, if there is one.
std::optional<FoundBlockQuantized> GuessByTypes(const Expression& e) {
  FoundBlockQuantized found;
  BlockQuantizedMatmul& p = found.matmul;
  std::array<const TensorType*, 4> types{};
  for (const ExpressionInput& input : e.inputs) {
    const std::size_t rank = input.type.shape.size();
    BlockQuantizedInput role = BlockQuantizedInput::kData;
    if (input.constant && rank >= 4) {
      role = BlockQuantizedInput::kWeight;
    } else if (input.constant) {
      // Of two constants of floats, the canonical order decides by their uses.
      const bool first = types[static_cast<std::size_t>(BlockQuantizedInput::kScales)] == nullptr;
      role = input.type.dtype == kFloat32 && first ? BlockQuantizedInput::kScales
                                                   : BlockQuantizedInput::kZeroPoints;
    }
    auto& type = types[static_cast<std::size_t>(role)];
    if (type != nullptr) return std::nullopt;
    type = &input.type;
    found.inputs.push_back(role);
  }
  const TensorType *data = types[0], *weight = types[1], *zero = types[3];
  const TensorType result = e.result();
  if (data == nullptr || weight == nullptr || types[2] == nullptr) return std::nullopt;
  if (data->shape.size() != 2 || result.shape.size() != 2) return std::nullopt;
  p.m = data->shape[0], p.k = data->shape[1], p.n = result.shape[1];
  p.integer_data = weight->shape.size() == 5;
  const std::int64_t blocks = weight->shape[1];
  if (blocks < 1 || p.k % blocks != 0) return std::nullopt;
  p.block = p.k / blocks;
  p.bits = static_cast<int>(weight->shape[2] * (p.integer_data ? kBytesOfLane : 1) * 8 / p.block);
  if (zero != nullptr) {
    p.zero_points = zero->dtype == kUInt8 ? BlockZeroPoints::kIntegers : BlockZeroPoints::kFloats;
  }
  return found;
}

}  // namespace

std::string PackedIntegerText(const std::string& byte, const std::string& part, int bits) {
  if (bits == 8) return byte;
  std::string text = fmt::format("shr({}, {})", byte, 8 - bits);
  for (int p = 8 / bits - 2; p >= 0; --p) {
    const std::string shifted = p == 0 ? byte : fmt::format("shr({}, {})", byte, p * bits);
    text = fmt::format("select({} == {}, {} % {}, {})", part, p, shifted, 1 << bits, text);
  }
  return text;
}

std::int64_t BlockQuantizedMatmul::groups() const { return CeilDiv(n, kColumns); }

Result<Expression> ExpressionOf(const BlockQuantizedMatmul& matmul) {
  TW_RETURN_IF_ERROR(CheckBlockSizes(matmul));
  return ParseExpression(TextOfConstants(matmul) +
                         (matmul.integer_data ? TextOfIntegers(matmul) : TextOfFloats(matmul)));
}

std::optional<FoundBlockQuantized> FindBlockQuantized(const Expression& canonical) {
  if (canonical.stages.size() < 3 || canonical.stages.size() > 5 || canonical.inputs.size() < 3 ||
      canonical.inputs.size() > 4) {
    return std::nullopt;
  }
  auto found = GuessByTypes(canonical);
  if (!found || !CheckBlockSizes(found->matmul).ok()) return std::nullopt;
  const auto expected = ExpressionOf(found->matmul);
  if (!expected.ok()) return std::nullopt;
  const CanonicalExpression own = Canonical(*expected);
  if (own.expression != canonical) return std::nullopt;
  for (std::size_t i = 0; i < own.inputs.size(); ++i) {
    found->inputs[i] = static_cast<BlockQuantizedInput>(own.inputs[i]);
  }
  return found;
}

Tensor PackBlockQuantized(const BlockQuantizedMatmul& p, std::span<const std::uint8_t> integers) {
  std::vector<std::int64_t> shape = {p.groups(), p.blocks(), p.block_bytes(), kColumns};
  if (p.integer_data) {
    shape = {p.groups(), p.blocks(), p.block_bytes() / kBytesOfLane, kColumns, kBytesOfLane};
  }
  Tensor packed(TensorType{std::move(shape), kUInt8});
  const auto bytes = packed.As<std::uint8_t>();
  const std::int64_t width = p.integer_data ? kBytesOfLane : 1;  // bytes of a column side by side
  const std::int64_t per_byte = p.per_byte();
  for (std::int64_t n = 0; n < p.n; ++n) {
    const std::int64_t group = n / kColumns * p.blocks() * p.block_bytes() * kColumns;
    for (std::int64_t k = 0; k < p.k; ++k) {
      const std::int64_t in_lane = k % width, part = k / width % per_byte;
      const std::int64_t lane = k / (width * per_byte);
      const std::int64_t at = group + (lane * kColumns + n % kColumns) * width + in_lane;
      bytes[static_cast<std::size_t>(at)] |= static_cast<std::uint8_t>(
          integers[static_cast<std::size_t>(n * p.k + k)] << (part * p.bits));
    }
  }
  return packed;
}

Tensor PackBlockValues(const BlockQuantizedMatmul& p, const Tensor& values) {
  Tensor packed(TensorType{{p.groups(), p.blocks(), kColumns}, values.dtype()});
  for (std::int64_t n = 0; n < p.n; ++n) {
    for (std::int64_t b = 0; b < p.blocks(); ++b) {
      packed.Set((n / kColumns * p.blocks() + b) * kColumns + n % kColumns,
                 values.At(n * p.blocks() + b));
    }
  }
  return packed;
}

}  // namespace tilewright
