#include "src/media/tensor_file.h"

#include <fmt/format.h>

#include <cstring>

#include "src/base/files/file.h"
#include "src/base/files/file_kind.h"
#include "src/media/npy.h"

namespace tilewright {
namespace {

/// Returns true if an array of shape `from` has the element order of `to`: `from` is flat, or the
/// shapes differ only in dimensions of 1. Other shapes are most likely another layout.
bool SameOrder(std::vector<std::int64_t> from, std::vector<std::int64_t> to) {
  if (from.size() == 1) return true;
  std::erase(from, 1);
  std::erase(to, 1);
  return from == to;
}

}  // namespace

Result<Tensor> ReadTensorFile(const std::string& path, const TensorType& type,
                              const ImageOptions& image) {
  constexpr std::int64_t kMaxAround = 64 << 20;  // a .npy header, or an image larger than the input
  TW_ASSIGN_OR_RETURN(auto bytes, ReadFile(path, type.bytes() + kMaxAround));
  // A file of exactly the raw size is raw, even if its first bytes look like an image.
  if (IsDecodableImage(bytes) && static_cast<std::int64_t>(bytes.size()) != type.bytes()) {
    Tensor tensor(type);
    Status status = type.shape.empty() || type.shape[0] != 1
                        ? InvalidArgument("a picture for " + type.ToString() +
                                          ", expected an input of one picture")
                        : WriteImageToBatch(bytes, image, 0, tensor);
    if (!status.ok()) return status.WithContext(path);
    return tensor;
  }
  if (IsNpy(bytes)) {
    auto tensor = ParseNpy(bytes);
    if (!tensor.ok()) return tensor.status().WithContext(path);
    if (tensor->dtype() != type.dtype || tensor->elements() != type.elements() ||
        !SameOrder(tensor->shape(), type.shape)) {
      return InvalidArgument(
          fmt::format("{}: {}, expected {}", path, tensor->type().ToString(), type.ToString()));
    }
    tensor->Reshape(type.shape);
    return tensor;
  }
  if (static_cast<std::int64_t>(bytes.size()) != type.bytes()) {
    const Status error = InvalidArgument(
        fmt::format("{}: {} bytes of raw elements, expected {} for {}, a .npy file or a picture",
                    path, bytes.size(), type.bytes(), type.ToString()));
    return ExplainWrongFile(error, IdentifyBytes(bytes, path), path,
                            {"raw elements, a .npy file or a picture"});
  }
  Tensor tensor(type);
  std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
}

Status WriteTensorFile(const std::string& path, const Tensor& tensor) {
  if (path.ends_with(".npy")) return WriteFile(path, FormatNpy(tensor));
  return WriteFile(path, std::string_view(reinterpret_cast<const char*>(tensor.data()),
                                          static_cast<std::size_t>(tensor.bytes())));
}

}  // namespace tilewright
