// Recognition of files of other kinds. A valid ONNX model must not be taken for one of them.

#include <cstdint>
#include <string_view>

#include "src/base/files/file_kind.h"
#include "src/base/status.h"
#include "src/graph/ir/graph.h"
#include "src/graph/onnx/import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;  // NOLINT: a test program of one function
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const FileKind* kind = IdentifyBytes(bytes, "model");
  if (kind == nullptr) return 0;
  const Status error =
      ExplainWrongFile(InvalidArgument("model: wrong"), kind, "model", {"a record store"});
  TW_CHECK(!error.message().empty(), kind->name);
  if (kind->role != FileRole::kModel) TW_CHECK(!ImportOnnx(bytes, "model").ok(), kind->name);
  return 0;
}
