// .npy format: magic, version, length of the header, header, elements. The header is a Python
// dictionary literal {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), } padded with
// blanks.

#include "src/media/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "src/base/strings.h"

namespace tilewright {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::size_t kMaxArrayRank = 16;  // as for tensors of graphs
constexpr std::int64_t kMaxArrayElements = std::int64_t{1} << 36;

std::string Description(DataType dtype) {
  if (dtype.is_bool()) return "|b1";
  const char code = dtype.is_float() ? 'f' : dtype.code == TypeCode::kInt ? 'i' : 'u';
  return fmt::format("{}{}{}", dtype.bytes() == 1 ? '|' : '<', code, dtype.bytes());
}

std::optional<DataType> TypeOf(std::string_view description) {
  for (DataType dtype : {kBool, kInt8, kInt16, kInt32, kInt64, kUInt8, kUInt16, kUInt32,
                         DataType{TypeCode::kUInt, 64}, kFloat16, kFloat32, kFloat64}) {
    const std::string known = Description(dtype);
    // Single bytes have no order, but some writers state one.
    const bool same = dtype.bytes() == 1
                          ? description.size() == 3 && description.substr(1) == known.substr(1)
                          : description == known;
    if (same) return dtype;
  }
  return std::nullopt;
}

/// Returns the text between `key` and `end` in a header.
std::optional<std::string_view> Field(std::string_view header, std::string_view key, char end) {
  const auto at = header.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const auto begin = at + key.size();
  const auto stop = header.find(end, begin);
  if (stop == std::string_view::npos) return std::nullopt;
  return header.substr(begin, stop - begin);
}

/// Parses "1, 3, " or "" (a scalar).
Result<std::vector<std::int64_t>> ParseShape(std::string_view text) {
  std::vector<std::int64_t> shape;
  std::int64_t elements = 1;
  for (const std::string& part : Split(text, ',')) {
    const std::string_view word = Trim(part);
    if (word.empty()) continue;
    auto extent = ParseInt64(word);
    // A size of 0 makes the array zero-size, but the product of the other sizes is limited, too.
    if (!extent.ok() || *extent < 0 || shape.size() == kMaxArrayRank ||
        __builtin_mul_overflow(elements, std::max<std::int64_t>(*extent, 1), &elements) ||
        elements > kMaxArrayElements) {
      return InvalidArgument(
          fmt::format("shape ({}), expected at most {} sizes of 0 and more, and "
                      "at most 2^36 elements",
                      text.substr(0, 80), kMaxArrayRank));
    }
    shape.push_back(*extent);
  }
  return shape;
}

std::uint32_t LittleEndian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  }
  return value;
}

}  // namespace

bool IsNpy(std::string_view bytes) { return bytes.starts_with(kMagic); }

Result<Tensor> ParseNpy(std::string_view bytes) {
  if (!IsNpy(bytes) || bytes.size() < 12) return InvalidArgument("not a .npy file");
  const int version = bytes[6];
  if (version < 1 || version > 3) {
    return InvalidArgument(fmt::format(".npy version {}, expected 1 to 3", version));
  }
  const std::size_t prefix = version == 1 ? 10 : 12;
  const std::size_t length = LittleEndian(bytes.substr(8, prefix - 8));
  if (length > bytes.size() - prefix) return InvalidArgument(".npy header is truncated");
  const std::string_view header = bytes.substr(prefix, length);
  const std::string_view elements = bytes.substr(prefix + length);

  const auto description = Field(header, "'descr': '", '\'');
  const auto dtype = description ? TypeOf(*description) : std::nullopt;
  if (!dtype) {
    return InvalidArgument(fmt::format(
        "elements of type {}, expected a little-endian number such as <f4 (float32) or |u1 (uint8)",
        description.value_or("?").substr(0, 40)));
  }
  if (Field(header, "'fortran_order': ", ',') != "False") {
    return InvalidArgument("array in Fortran order, expected C order (numpy.ascontiguousarray)");
  }
  const auto shape_text = Field(header, "'shape': (", ')');
  if (!shape_text) return InvalidArgument(".npy header without a shape");
  TW_ASSIGN_OR_RETURN(auto shape, ParseShape(*shape_text));
  const TensorType type{std::move(shape), *dtype};
  if (static_cast<std::int64_t>(elements.size()) != type.bytes()) {
    return InvalidArgument(fmt::format("{} bytes of elements, expected {} for {}", elements.size(),
                                       type.bytes(), type.ToString()));
  }
  Tensor tensor(type);
  std::memcpy(tensor.data(), elements.data(), elements.size());
  return tensor;
}

std::string FormatNpy(const Tensor& tensor) {
  std::string shape;
  for (std::int64_t extent : tensor.shape()) shape += fmt::format("{}, ", extent);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   Description(tensor.dtype()), shape);
  // The elements start at a multiple of 64.
  header += std::string(63 - (10 + header.size()) % 64, ' ') + "\n";
  std::string file(kMagic);
  file += {'\x01', '\x00', static_cast<char>(header.size() & 255),
           static_cast<char>(header.size() >> 8)};
  file += header;
  file.append(reinterpret_cast<const char*>(tensor.data()),
              static_cast<std::size_t>(tensor.bytes()));
  return file;
}

}  // namespace tilewright
