// Sparse tensors of a file: values [NNZ] and their indices in ascending order. The indices are
// [NNZ] (linear positions in the tensor) or [NNZ, rank].

#include "src/graph/onnx/sparse.h"

#include <cstring>

#include "src/graph/onnx/proto.h"

namespace tilewright {
namespace {
namespace sparse_tensors {

// Returns the linear position of value `i` in the tensor; negative if it is out of range.
std::int64_t PlaceOf(const Tensor& indices, std::int64_t i,
                     const std::vector<std::int64_t>& shape) {
  const auto numbers = indices.As<std::int64_t>();
  if (indices.shape().size() == 1) return numbers[static_cast<std::size_t>(i)];
  std::int64_t place = 0;
  const auto rank = std::ssize(shape);
  for (std::int64_t d = 0; d < rank; ++d) {
    const std::int64_t at = numbers[static_cast<std::size_t>(i * rank + d)];
    const std::int64_t extent = shape[static_cast<std::size_t>(d)];
    if (at < 0 || at >= extent) return -1;
    place = place * extent + at;
  }
  return place;
}

}  // namespace sparse_tensors
}  // namespace

Result<Tensor> DenseOfSparse(const onnx::SparseTensorProto& sparse, OnnxImport& import) {
  const std::string& name = sparse.values().name();
  const std::string what = "sparse tensor '" + name + "'";
  if (StorageTypeOf(sparse.values().data_type()) != nullptr) {
    return Unsupported(what + " has element type " +
                       std::string(StorageTypeOf(sparse.values().data_type())->name) +
                       ", expected one that networks compute with");
  }
  auto values = TensorOfOnnx(sparse.values(), import.folder);
  if (!values.ok()) return values.status().WithContext(what);
  auto indices = TensorOfOnnx(sparse.indices(), import.folder);
  if (!indices.ok()) return indices.status().WithContext(what + ", its indices");
  TensorType type{{sparse.dims().begin(), sparse.dims().end()}, values->dtype()};
  if (Status status = CheckOnnxType(type); !status.ok()) return status.WithContext(what);
  const std::int64_t count = values->elements();
  const std::vector<std::int64_t> flat{count}, each{count, std::ssize(type.shape)};
  if (values->shape().size() != 1 || indices->dtype() != kInt64 ||
      (indices->shape() != flat && indices->shape() != each)) {
    return InvalidArgument(what + " has values " + values->type().ToString() + " at " +
                           indices->type().ToString() + ", expected [N] and int64[N] or [N," +
                           std::to_string(type.shape.size()) + "]");
  }
  import.constant_bytes += type.bytes();
  if (import.constant_bytes > OnnxImport::kMaxConstantBytes) {
    return Unsupported(what + " is " + type.ToString() +
                       " with its zeros; expected at most 2^28 bytes of all such tensors");
  }
  Tensor dense(type);
  if (type.bytes() > 0) std::memset(dense.data(), 0, static_cast<std::size_t>(type.bytes()));
  const auto size = static_cast<std::size_t>(type.dtype.bytes());
  std::int64_t before = -1;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t place = sparse_tensors::PlaceOf(*indices, i, type.shape);
    if (place <= before || place >= type.elements()) {
      return InvalidArgument(what + ": value " + std::to_string(i) + " is at position " +
                             std::to_string(place) + ", expected positions within " +
                             type.ToString() + " in ascending order");
    }
    before = place;
    std::memcpy(dense.data() + static_cast<std::size_t>(place) * size,
                values->data() + static_cast<std::size_t>(i) * size, size);
  }
  return dense;
}

Status AddSparseInitializer(const onnx::SparseTensorProto& sparse, const std::string& name,
                            OnnxImport& import) {
  TW_ASSIGN_OR_RETURN(auto dense, DenseOfSparse(sparse, import));
  onnx::TensorProto& proto = import.made.emplace_back();
  proto.set_name(name);
  proto.set_data_type(OnnxTypeOf(dense.dtype()));
  for (std::int64_t extent : dense.shape()) proto.add_dims(extent);
  proto.set_raw_data(dense.data(), static_cast<std::size_t>(dense.bytes()));
  if (import.initializers.emplace(name, &proto).second) return Status();
  return InvalidArgument("initializer '" + name + "' is defined twice");
}

}  // namespace tilewright
