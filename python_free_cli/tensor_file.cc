// NumPy's .npy, version 1.0: magic, version, a length, then a header that is a Python dictionary
// literal {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }, padded with blanks.

#include "python_free_cli/tensor_file.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "src/base/file.h"

namespace tilewright::cli {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

std::string Description(DataType dtype) {
  if (dtype.is_bool()) return "|b1";
  const char code = dtype.is_float() ? 'f' : dtype.code == TypeCode::kInt ? 'i' : 'u';
  return fmt::format("{}{}{}", dtype.bytes() == 1 ? '|' : '<', code, dtype.bytes());
}

/// Text between `key` and one of `ends` in a header.
std::optional<std::string> Field(std::string_view header, std::string_view key, char end) {
  const auto at = header.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const auto begin = at + key.size();
  const auto stop = header.find(end, begin);
  if (stop == std::string_view::npos) return std::nullopt;
  return std::string(header.substr(begin, stop - begin));
}

}  // namespace

Result<Tensor> ReadTensorFile(const std::string& path, const TensorType& type) {
  auto bytes = ReadFile(path, type.bytes() + (1 << 20));
  TW_RETURN_IF_ERROR(bytes);
  std::string_view data = *bytes;
  if (data.starts_with(kMagic)) {
    if (data.size() < 10 || data[6] != 1) {
      return InvalidArgument(path + ": .npy file of another version, expected 1.0");
    }
    const std::size_t length = static_cast<unsigned char>(data[8]) +
                               256 * static_cast<std::size_t>(static_cast<unsigned char>(data[9]));
    if (data.size() < 10 + length) return InvalidArgument(path + ": .npy header cut off");
    const std::string_view header = data.substr(10, length);
    data.remove_prefix(10 + length);
    const auto description = Field(header, "'descr': '", '\'');
    const auto order = Field(header, "'fortran_order': ", ',');
    if (description != Description(type.dtype)) {
      return InvalidArgument(path + ": elements of type " + description.value_or("?") +
                             ", expected " + Description(type.dtype));
    }
    if (order != "False") return InvalidArgument(path + ": in Fortran order, expected C order");
  }
  if (static_cast<std::int64_t>(data.size()) != type.bytes()) {
    return InvalidArgument(fmt::format("{}: {} bytes of elements, expected {} for {}", path,
                                       data.size(), type.bytes(), type.ToString()));
  }
  Tensor tensor(type);
  std::memcpy(tensor.data(), data.data(), data.size());
  return tensor;
}

Status WriteTensorFile(const std::string& path, const Tensor& tensor) {
  const std::string_view elements(reinterpret_cast<const char*>(tensor.data()),
                                  static_cast<std::size_t>(tensor.bytes()));
  if (!path.ends_with(".npy")) return WriteFile(path, elements);
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
  file += elements;
  return WriteFile(path, file);
}

}  // namespace tilewright::cli
