// Boosted trees over XGBoost's C API.
//
// If the data is only somewhat larger than at the last full training, training takes its trees and
// adds a few rounds on all rows. If the rows have grown by a share, training starts from scratch.
// The trees therefore stay few, a training costs a fraction of the batch before it, and the model
// depends on two data sets only, from which a resumed job restores exactly the same model.
//
// Between trainings the trees are stored as bytes in temporary storage (ScratchBytes). A prediction
// creates a booster from them, which is kept until ReleaseMemory. A job has one model for each of
// its tasks and uses one at a time.
#include "cost_model/xgboost_model.h"

#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "src/base/files/scratch.h"
#include "src/base/json.h"

namespace tilewright::cost_model {
namespace {

// Beyond this many rows histograms with few bins are faster than exact splits.
constexpr std::size_t kHistogramRows = 2000;
constexpr int kAddedRounds = 10;

/// Returns the rounds of a full training: few for little data, and never many, because a job keeps
/// one model per task for its whole duration.
int RoundsFor(std::size_t rows) { return rows < 64 ? 25 : 40; }

Status XgboostStatus(int code, std::string_view what) {
  if (code == 0) return {};
  return Internal(std::string(what) + ": " + XGBGetLastError());
}

class Matrix {
 public:
  Matrix() = default;
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  ~Matrix() {
    if (handle != nullptr) XGDMatrixFree(handle);
  }
  DMatrixHandle handle = nullptr;
};

class Booster {
 public:
  Booster() = default;
  Booster(const Booster&) = delete;
  Booster& operator=(const Booster&) = delete;
  Booster(Booster&& other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
  Booster& operator=(Booster&& other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  ~Booster() {
    if (handle != nullptr) XGBoosterFree(handle);
  }
  BoosterHandle handle = nullptr;
};

/// Formats NumPy's array interface of dense memory. type: "<f4" or "<u4".
std::string ArrayInterface(const void* data, const std::string& shape, const char* type) {
  return "{\"data\":[" + std::to_string(reinterpret_cast<std::uintptr_t>(data)) +
         ",true],\"shape\":[" + shape + "],\"strides\":null,\"typestr\":\"" + type +
         "\",\"version\":3}";
}

/// Formats the array interface of a row-major matrix with a row of features for each candidate.
std::string FeatureMatrix(const float* data, std::size_t rows) {
  return ArrayInterface(data, std::to_string(rows) + "," + std::to_string(FeatureCount()), "<f4");
}

template <typename T>
Status SetInfo(DMatrixHandle matrix, const char* field, const std::vector<T>& values) {
  static_assert(sizeof(T) == 4);
  const std::string array = ArrayInterface(values.data(), std::to_string(values.size()),
                                           std::is_floating_point_v<T> ? "<f4" : "<u4");
  return XgboostStatus(XGDMatrixSetInfoFromInterface(matrix, field, array.c_str()), field);
}

Status MakeMatrix(const Dataset& data, int threads, Matrix& matrix) {
  const std::string array = FeatureMatrix(data.features.data(), data.rows());
  const std::string config = "{\"missing\":NaN,\"nthread\":" + std::to_string(threads) + "}";
  TW_RETURN_IF_ERROR(XgboostStatus(
      XGDMatrixCreateFromDense(array.c_str(), config.c_str(), &matrix.handle), "feature matrix"));
  TW_RETURN_IF_ERROR(SetInfo(matrix.handle, "label", data.scores));
  TW_RETURN_IF_ERROR(SetInfo(matrix.handle, "group", data.group_sizes));
  // Equal weights give the same result as no weights, to the bit.
  const auto& weights = data.group_weights;
  if (std::ranges::all_of(weights, [](float weight) { return weight == 1; })) return {};
  return SetInfo(matrix.handle, "weight", weights);
}

Status SetParameters(BoosterHandle booster, const XgboostOptions& options, std::size_t rows) {
  const std::pair<const char*, std::string> parameters[] = {
      {"objective", "rank:pairwise"},
      {"nthread", std::to_string(options.threads)},
      {"max_depth", std::to_string(options.max_depth)},
      {"eta", std::to_string(options.learning_rate)},
      {"min_child_weight", "1"},
      {"subsample", "1"},
      // Half of the columns per tree: half the time, and redundant features alternate.
      {"colsample_bytree", "0.5"},
      // Equivalent settings for each version, which ignores the names it does not have. XGBoost 1
      // has only the first one. XGBoost 3 would divide by differences of scores, and then ranks
      // worse.
      {"num_pairsample", "4"},
      {"lambdarank_pair_method", "mean"},
      {"lambdarank_num_pair_per_sample", "4"},
      {"lambdarank_score_normalization", "false"},
      {"seed", std::to_string(options.seed % 1000000007)},
      {"seed_per_iteration", "1"},
      {"verbosity", "0"},
      {"tree_method", rows > kHistogramRows ? "hist" : "exact"},
      {"max_bin", "64"},
  };
  for (const auto& [name, value] : parameters) {
    TW_RETURN_IF_ERROR(XgboostStatus(XGBoosterSetParam(booster, name, value.c_str()), name));
  }
  return {};
}

/// Serializes the booster. format: XGBoost's name of a format.
Result<std::string> Bytes(BoosterHandle booster, const char* format = "ubj") {
  bst_ulong size = 0;
  const char* data = nullptr;
  const std::string config = std::string("{\"format\":\"") + format + "\"}";
  TW_RETURN_IF_ERROR(XgboostStatus(
      XGBoosterSaveModelToBuffer(booster, config.c_str(), &size, &data), "saving trees"));
  return std::string(data, size);
}

Status LoadBytes(BoosterHandle booster, std::string_view bytes) {
  return XgboostStatus(XGBoosterLoadModelFromBuffer(booster, bytes.data(), bytes.size()),
                       "loading trees");
}

using Nodes = std::vector<TreeModel::Node>;

/// Appends a node of XGBoost's JSON and its subtree, parents before children.
void AppendNode(const Json& tree, std::size_t index, Nodes& nodes) {
  const std::size_t at = nodes.size();
  const auto left = tree["left_children"][index].get<std::int64_t>();
  nodes.push_back({-1, 0, tree["split_conditions"][index].get<float>()});
  if (left < 0) return;
  nodes[at].feature = tree["split_indices"][index].get<std::int32_t>();
  AppendNode(tree, static_cast<std::size_t>(left), nodes);
  nodes[at].right = static_cast<std::int32_t>(nodes.size());
  AppendNode(tree, tree["right_children"][index].get<std::size_t>(), nodes);
}

}  // namespace

struct XgboostModel::Impl {
  XgboostOptions options;
  ScratchBytes trees;         ///< all of them; none before the first training
  ScratchBytes full;          ///< those of the last full training
  std::size_t rows = 0;       ///< of the last training
  std::size_t full_rows = 0;  ///< of the last full training
  Booster awake;              ///< created from `trees` when needed

  Status Wake() {
    if (awake.handle != nullptr) return {};
    TW_ASSIGN_OR_RETURN(std::string bytes, trees.Read());
    Booster booster;
    TW_RETURN_IF_ERROR(XgboostStatus(XGBoosterCreate(nullptr, 0, &booster.handle), "new booster"));
    TW_RETURN_IF_ERROR(LoadBytes(booster.handle, bytes));
    TW_RETURN_IF_ERROR(SetParameters(booster.handle, options, rows));
    awake = std::move(booster);
    return {};
  }
};

XgboostModel::XgboostModel(const XgboostOptions& options) : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
}
XgboostModel::~XgboostModel() = default;

bool XgboostModel::trained() const { return !impl_->trees.empty(); }
std::size_t XgboostModel::full_training_rows() const { return impl_->full_rows; }
void XgboostModel::ReleaseMemory() { impl_->awake = Booster(); }

Status XgboostModel::Train(const Dataset& data) {
  const std::size_t rows = data.rows();
  if (rows == 0) return InvalidArgument("training data: 0 rows, expected at least 1");
  TW_CHECK(data.features.size() == rows * static_cast<std::size_t>(FeatureCount()));
  Matrix matrix;
  TW_RETURN_IF_ERROR(MakeMatrix(data, impl_->options.threads, matrix));
  const bool from_start = !trained() || rows < impl_->full_rows ||
                          static_cast<double>(rows) >=
                              impl_->options.retrain_growth * static_cast<double>(impl_->full_rows);
  Booster booster;
  TW_RETURN_IF_ERROR(
      XgboostStatus(XGBoosterCreate(&matrix.handle, 1, &booster.handle), "new booster"));
  int first = 0;
  if (!from_start) {
    TW_ASSIGN_OR_RETURN(std::string full, impl_->full.Read());
    TW_RETURN_IF_ERROR(LoadBytes(booster.handle, full));
    TW_RETURN_IF_ERROR(
        XgboostStatus(XGBoosterBoostedRounds(booster.handle, &first), "counting rounds"));
  }
  TW_RETURN_IF_ERROR(SetParameters(booster.handle, impl_->options, rows));
  const int rounds = from_start ? RoundsFor(rows) : kAddedRounds;
  for (int i = first; i < first + rounds; ++i) {
    TW_RETURN_IF_ERROR(
        XgboostStatus(XGBoosterUpdateOneIter(booster.handle, i, matrix.handle), "boosting round"));
  }
  TW_ASSIGN_OR_RETURN(std::string bytes, Bytes(booster.handle));
  if (from_start) {
    impl_->full = ScratchBytes(bytes);
    impl_->full_rows = rows;
  }
  impl_->trees = ScratchBytes(std::move(bytes));
  impl_->rows = rows;
  impl_->awake = Booster();
  return {};
}

Result<std::vector<float>> XgboostModel::Predict(std::span<const float> features) const {
  if (!trained()) return InvalidArgument("cost model: not trained");
  const std::size_t rows = features.size() / static_cast<std::size_t>(FeatureCount());
  if (rows == 0) return std::vector<float>();
  TW_RETURN_IF_ERROR(impl_->Wake());
  static constexpr const char* kConfig =
      "{\"type\":0,\"training\":false,\"iteration_begin\":0,\"iteration_end\":0,"
      "\"strict_shape\":false,\"missing\":NaN,\"cache_id\":0}";
  const bst_ulong* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* scores = nullptr;
  const std::string array = FeatureMatrix(features.data(), rows);
  TW_RETURN_IF_ERROR(
      XgboostStatus(XGBoosterPredictFromDense(impl_->awake.handle, array.c_str(), kConfig, nullptr,
                                              &shape, &dimensions, &scores),
                    "predicting"));
  if (dimensions < 1 || shape[0] != rows) return Internal("predicting: wrong number of scores");
  return std::vector<float>(scores, scores + rows);
}

Result<std::unique_ptr<CostModel>> XgboostModel::Clone() const {
  auto copy = std::make_unique<XgboostModel>(impl_->options);
  TW_ASSIGN_OR_RETURN(std::string trees, impl_->trees.Read());
  TW_ASSIGN_OR_RETURN(std::string full, impl_->full.Read());
  copy->impl_->trees = ScratchBytes(std::move(trees));
  copy->impl_->full = ScratchBytes(std::move(full));
  copy->impl_->rows = impl_->rows;
  copy->impl_->full_rows = impl_->full_rows;
  return std::unique_ptr<CostModel>(std::move(copy));
}

Result<std::unique_ptr<TreeModel>> XgboostModel::Trees(TreeModel::Metadata metadata) const {
  if (!trained()) return InvalidArgument("cost model: not trained");
  TW_RETURN_IF_ERROR(impl_->Wake());
  TW_ASSIGN_OR_RETURN(std::string bytes, Bytes(impl_->awake.handle, "json"));
  TW_ASSIGN_OR_RETURN(const Json json, ParseJson(bytes));
  const Json& learner = json["learner"];
  // "5E-1", in later versions "[5E-1]": one for each output.
  auto base = learner["learner_model_param"]["base_score"].get<std::string>();
  if (base.starts_with('[')) base.erase(0, 1);
  std::vector<Nodes> trees;
  for (const Json& tree : learner["gradient_booster"]["model"]["trees"]) {
    AppendNode(tree, 0, trees.emplace_back());
  }
  return std::make_unique<TreeModel>(std::strtof(base.c_str(), nullptr), std::move(trees),
                                     std::move(metadata));
}

}  // namespace tilewright::cost_model
