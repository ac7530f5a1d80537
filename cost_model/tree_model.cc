// Reads, validates and evaluates shipped models: three lines of text that describe a model and
// protect it with a checksum, then the trees as an array of nodes. Each row of features walks every
// tree from its root.

#include "cost_model/tree_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "src/base/files/file.h"
#include "src/base/hash.h"
#include "src/base/strings.h"

namespace tilewright::cost_model {
namespace {

static_assert(std::endian::native == std::endian::little, "model files are little-endian");
static_assert(sizeof(TreeModel::Node) == 12, "nodes are written in their memory layout");

constexpr std::string_view kMagic = "tilewright-cost-model";
constexpr std::int64_t kMaxModelBytes = std::int64_t{16} << 20;
constexpr std::size_t kMaxAbout = 4096;

std::string FeatureHash() {
  std::uint64_t hash = Fnv1a64("");
  for (const std::string& name : FeatureNames()) hash = Fnv1a64(name + "\n", hash);
  return HexOf(hash);
}

/// Returns the first line of a model file.
std::string Header() {
  return std::string(kMagic) + " 2 features " + std::to_string(kFeatureVersion) + " " +
         std::to_string(FeatureCount()) + " " + FeatureHash();
}

/// Returns the third line of a model file.
std::string Seal(std::string_view trees) {
  return std::to_string(trees.size()) + " " + HexOf(Crc32(std::as_bytes(std::span(trees))));
}

template <typename T>
void Put(const T& value, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// Returns false at the end of the bytes.
template <typename T>
bool Take(std::string_view& bytes, T& value) {
  if (bytes.size() < sizeof(value)) return false;
  std::memcpy(&value, bytes.data(), sizeof(value));
  bytes.remove_prefix(sizeof(value));
  return true;
}

/// Takes one line. Errors: kInvalidArgument without an end of line.
Result<std::string_view> TakeLine(std::string_view& bytes) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return InvalidArgument("cost model: header is truncated");
  const std::string_view line = bytes.substr(0, end);
  bytes.remove_prefix(end + 1);
  return line;
}

/// Parses the second line of a model file.
Result<TreeModel::Metadata> ParseAbout(std::string_view line) {
  TreeModel::Metadata metadata;
  const std::vector<std::string> words = Split(std::string(line), ' ');
  const auto slowdown =
      words.size() > 3 ? ParseDouble(words[0]) : Result<double>(InvalidArgument(""));
  if (!slowdown.ok() || !(*slowdown >= 0)) {
    return InvalidArgument("cost model: second line \"" + std::string(line.substr(0, 100)) +
                           "\", expected a slowdown, a target kind, families of operators and "
                           "a description of its training data");
  }
  metadata.expected_slowdown = *slowdown;
  metadata.target_kind = words[1];
  metadata.families = Split(words[2], ',');
  const std::size_t before = words[0].size() + words[1].size() + words[2].size() + 3;
  metadata.learned_from = line.substr(before);
  if (metadata.learned_from.size() > kMaxAbout) {
    return InvalidArgument(
        "cost model: second line with " + std::to_string(metadata.learned_from.size()) +
        " bytes on its training data, expected at most " + std::to_string(kMaxAbout));
  }
  return metadata;
}

bool IsWellFormed(const std::vector<TreeModel::Node>& tree) {
  const auto size = static_cast<std::int32_t>(tree.size());
  for (std::int32_t i = 0; i < size; ++i) {
    const TreeModel::Node& node = tree[static_cast<std::size_t>(i)];
    if (!std::isfinite(node.value) || node.feature < -1 || node.feature >= FeatureCount()) {
      return false;
    }
    // Children come after their parent, so the walk ends.
    if (node.feature >= 0 && (node.right <= i + 1 || node.right >= size)) return false;
  }
  return size > 0;
}

Result<std::vector<std::vector<TreeModel::Node>>> ParseTrees(std::string_view bytes) {
  std::uint32_t count = 0;
  std::vector<std::vector<TreeModel::Node>> trees;
  bool whole = Take(bytes, count);
  for (std::uint32_t i = 0; whole && i < count; ++i) {
    std::uint32_t size = 0;
    whole = Take(bytes, size) && size <= bytes.size() / sizeof(TreeModel::Node);
    if (!whole) break;
    std::vector<TreeModel::Node>& tree = trees.emplace_back(size);
    for (TreeModel::Node& node : tree) Take(bytes, node);
    if (!IsWellFormed(tree)) {
      return InvalidArgument("cost model: tree " + std::to_string(i) + " is malformed");
    }
  }
  if (!whole || !bytes.empty()) return InvalidArgument("cost model: the trees have another length");
  return trees;
}

}  // namespace

TreeModel::TreeModel(float base_score, std::vector<std::vector<Node>> trees, Metadata metadata)
    : base_score_(base_score), trees_(std::move(trees)), metadata_(std::move(metadata)) {
  for (const std::vector<Node>& tree : trees_) TW_CHECK(IsWellFormed(tree), "malformed tree");
}

std::string TreeModel::Serialize() const {
  std::string trees;
  Put(base_score_, trees);
  Put(static_cast<std::uint32_t>(trees_.size()), trees);
  for (const std::vector<Node>& tree : trees_) {
    Put(static_cast<std::uint32_t>(tree.size()), trees);
    for (const Node& node : tree) Put(node, trees);
  }
  std::string metadata = metadata_.learned_from.substr(0, kMaxAbout);
  std::ranges::replace(metadata, '\n', ' ');
  std::string families;
  for (const std::string& family : metadata_.families) {
    families += (families.empty() ? "" : ",") + family;
  }
  return Header() + "\n" + std::to_string(metadata_.expected_slowdown) + " " +
         metadata_.target_kind + " " + families + " " + metadata + "\n" + Seal(trees) + "\n" +
         trees;
}

Result<std::unique_ptr<TreeModel>> TreeModel::Deserialize(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) {
    return InvalidArgument("cost model: expected a file that begins with \"" + std::string(kMagic) +
                           "\"");
  }
  TW_ASSIGN_OR_RETURN(auto header, TakeLine(bytes));
  if (header != Header()) {
    return InvalidArgument("cost model: header \"" + std::string(header.substr(0, 100)) +
                           "\", expected \"" + Header() + "\"; train it again");
  }
  TW_ASSIGN_OR_RETURN(auto metadata, TakeLine(bytes));
  TW_ASSIGN_OR_RETURN(auto seal, TakeLine(bytes));
  if (seal != Seal(bytes)) {
    return InvalidArgument("cost model: truncated or damaged: " + std::to_string(bytes.size()) +
                           " bytes of trees whose checksum differs");
  }
  TW_ASSIGN_OR_RETURN(auto read, ParseAbout(metadata));
  float base_score = 0;
  if (!Take(bytes, base_score) || !std::isfinite(base_score)) {
    return InvalidArgument("cost model: no base score");
  }
  TW_ASSIGN_OR_RETURN(auto trees, ParseTrees(bytes));
  return std::make_unique<TreeModel>(base_score, std::move(trees), std::move(read));
}

Status TreeModel::Save(const std::string& path) const { return WriteFile(path, Serialize()); }

Result<std::unique_ptr<TreeModel>> TreeModel::Load(const std::string& path) {
  TW_ASSIGN_OR_RETURN(auto bytes, ReadFile(path, kMaxModelBytes));
  auto model = Deserialize(bytes);
  if (!model.ok()) return model.status().WithContext(path);
  return model;
}

Result<std::vector<float>> TreeModel::Predict(std::span<const float> features) const {
  const auto width = static_cast<std::size_t>(FeatureCount());
  std::vector<float> scores(features.size() / width, base_score_);
  for (std::size_t row = 0; row < scores.size(); ++row) {
    const float* const values = features.data() + row * width;
    for (const std::vector<Node>& tree : trees_) {
      std::size_t at = 0;
      while (tree[at].feature >= 0) {
        const bool left = values[static_cast<std::size_t>(tree[at].feature)] < tree[at].value;
        at = left ? at + 1 : static_cast<std::size_t>(tree[at].right);
      }
      scores[row] += tree[at].value;
    }
  }
  return scores;
}

Status TreeModel::Train(const Dataset&) {
  return Unsupported("a shipped cost model predicts only, it cannot be trained further");
}

Result<std::unique_ptr<CostModel>> TreeModel::Clone() const {
  return std::unique_ptr<CostModel>(std::make_unique<TreeModel>(*this));
}

}  // namespace tilewright::cost_model
