#include "python_free_cli/tensor_file.h"

#include <fmt/format.h>

#include <cstring>

#include "src/base/file.h"
#include "src/tensor/npy.h"

namespace tilewright::cli {

Result<Tensor> ReadTensorFile(const std::string& path, const TensorType& type) {
  auto bytes = ReadFile(path, type.bytes() + (1 << 20));
  TW_RETURN_IF_ERROR(bytes);
  if (IsNpy(*bytes)) {
    auto tensor = ParseNpy(*bytes);
    if (!tensor.ok()) return tensor.status().WithContext(path);
    if (tensor->dtype() != type.dtype || tensor->elements() != type.elements()) {
      return InvalidArgument(
          fmt::format("{}: {}, expected {}", path, tensor->type().ToString(), type.ToString()));
    }
    tensor->Reshape(type.shape);
    return tensor;
  }
  if (static_cast<std::int64_t>(bytes->size()) != type.bytes()) {
    return InvalidArgument(fmt::format("{}: {} bytes of elements, expected {} for {}", path,
                                       bytes->size(), type.bytes(), type.ToString()));
  }
  Tensor tensor(type);
  std::memcpy(tensor.data(), bytes->data(), bytes->size());
  return tensor;
}

Status WriteTensorFile(const std::string& path, const Tensor& tensor) {
  if (path.ends_with(".npy")) return WriteFile(path, FormatNpy(tensor));
  return WriteFile(path, std::string_view(reinterpret_cast<const char*>(tensor.data()),
                                          static_cast<std::size_t>(tensor.bytes())));
}

}  // namespace tilewright::cli
