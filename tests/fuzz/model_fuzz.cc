// A cost model's file: arbitrary bytes, as the whole file, as the trees of a file with a correct
// header and checksum (which a fuzzer cannot find), and as its second line and its trees. A valid
// model predicts and is written unchanged.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cost_model/tree_model.h"
#include "src/base/hash.h"

namespace {

using tilewright::cost_model::FeatureCount;
using tilewright::cost_model::TreeModel;

/// Returns a file with this second line and these trees.
std::string FileWith(std::string_view about, std::string_view trees) {
  const std::string file = TreeModel(0, {}, {1, "llvm", {"dense/float32"}, "nothing"}).Serialize();
  const auto crc = tilewright::Crc32(std::as_bytes(std::span(trees)));
  return file.substr(0, file.find('\n') + 1) + std::string(about) + "\n" +
         std::to_string(trees.size()) + " " + tilewright::HexOf(crc) + "\n" + std::string(trees);
}

void Use(const std::string& bytes) {
  const auto model = TreeModel::Deserialize(bytes);
  if (!model.ok()) return;
  const std::vector<float> row(static_cast<std::size_t>(FeatureCount()));
  TW_CHECK((*model)->Predict(row)->size() == 1);
  const std::string written = (*model)->Serialize();
  const auto again = TreeModel::Deserialize(written);
  TW_CHECK(again.ok() && (*again)->Serialize() == written, written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  Use(std::string(input));
  Use(FileWith("1.25 llvm dense/float32 nothing", input));
  const std::size_t line = input.find('\n');
  if (line != std::string_view::npos) {
    Use(FileWith(input.substr(0, line), input.substr(line + 1)));
  }
  return 0;
}
