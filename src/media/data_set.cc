// Samples from files: arrays are split along their first dimension, images are gathered into
// batches. Unused data is reported.

#include "src/media/data_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

#include "src/base/files/file.h"
#include "src/media/npy.h"
#include "src/media/npz.h"

namespace tilewright::quantize {
namespace {

/// Name that numpy.savez gives an array without a name.
constexpr const char* kNameless = "arr_0";

/// Returns `count` elements of an array from `begin` on, as a tensor of a type.
Tensor Part(const Tensor& array, std::int64_t begin, const TensorType& type) {
  Tensor part(type);
  if (array.dtype() == type.dtype) {
    std::memcpy(part.data(), array.data() + begin * type.dtype.bytes(),
                static_cast<std::size_t>(type.bytes()));
    return part;
  }
  for (std::int64_t i = 0; i < part.elements(); ++i) part.Set(i, array.At(begin + i));
  return part;
}

/// Splits an array into tensors of an input. The array has the input's shape, or that shape without
/// its first dimension, possibly repeated along the first dimension.
Result<std::vector<Tensor>> Cut(const Tensor& array, const TensorType& type) {
  if (type.elements() == 0) {
    return InvalidArgument("samples for " + type.ToString() + ", which is zero-size");
  }
  std::vector<std::int64_t> inner(type.shape.begin() + (type.shape.empty() ? 0 : 1),
                                  type.shape.end());
  const std::int64_t least = type.shape.empty() ? 1 : type.shape[0];
  std::vector<std::int64_t> shape = array.shape();
  if (shape == inner && least == 1) shape.insert(shape.begin(), 1);
  const bool fits = !shape.empty() && shape[0] >= least &&
                    std::vector<std::int64_t>(shape.begin() + 1, shape.end()) == inner;
  if (!fits) {
    return InvalidArgument(fmt::format("array {}, expected {} or several along the first dimension",
                                       array.type().ToString(), type.ToString()));
  }
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; (i + 1) * type.elements() <= array.elements(); ++i) {
    parts.push_back(Part(array, i * type.elements(), type));
  }
  return parts;
}

/// Returns the file, or the files of a directory sorted by name, without hidden files and
/// subdirectories.
Result<std::vector<std::string>> FilesOf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  std::filesystem::directory_iterator entries(path, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const bool hidden = entries->path().filename().string().starts_with('.');
    std::error_code of_entry;
    if (!hidden && entries->is_regular_file(of_entry)) files.push_back(entries->path().string());
  }
  if (error) return InvalidArgument(path + ": " + error.message());
  std::ranges::sort(files);
  return files;
}

class Loader {
 public:
  Loader(const Graph& graph, const DataSetOptions& options) : options_(options) {
    for (int id : graph.inputs()) {
      names_.push_back(graph.node(id).name);
      types_.push_back(graph.node(id).type);
    }
  }

  Result<std::vector<Sample>> Load(const std::vector<std::string>& files) {
    if (types_.empty()) return InvalidArgument("the model has no inputs");
    for (const std::string& file : files) {
      TW_ASSIGN_OR_RETURN(auto inside, FilesOf(file));
      for (const std::string& one : inside) {
        if (Full()) break;
        if (Status status = Read(one); !status.ok()) return status.WithContext(one);
      }
    }
    if (samples_.empty() && filled_ > 0) {
      return InvalidArgument(
          fmt::format("{} images, expected at least {}: the batch size of input {} is {}",
                      pictures_, types_[0].shape[0], names_[0], types_[0].shape[0]));
    }
    NoteUnused(filled_, pictures_, "images");
    return std::move(samples_);
  }

 private:
  void NoteUnused(std::int64_t left, std::int64_t all, std::string_view what) const {
    if (left == 0 || !options_.note) return;
    options_.note(fmt::format("{} of {} {} are unused: the batch size of input {} is {}", left, all,
                              what, names_[0], types_[0].shape[0]));
  }

  bool Full() const { return std::ssize(samples_) >= options_.limit; }

  Status Read(const std::string& file) {
    TW_ASSIGN_OR_RETURN(auto bytes, ReadFile(file));
    if (IsDecodableImage(bytes)) return AddImage(bytes);
    std::map<std::string, Tensor> arrays;
    if (IsNpy(bytes)) {
      TW_ASSIGN_OR_RETURN(auto array, ParseNpy(bytes));
      arrays.emplace(names_[0], std::move(array));
    } else if (bytes.starts_with("PK")) {
      TW_ASSIGN_OR_RETURN(arrays, ParseNpz(bytes));
    } else {
      return InvalidArgument("expected a .npy or .npz file, or a JPEG, PNG, PPM or PGM image");
    }
    return AddArrays(std::move(arrays));
  }

  Status AddArrays(std::map<std::string, Tensor> arrays) {
    if (names_.size() == 1 && arrays.size() == 1) {
      auto only = arrays.extract(arrays.begin());
      if (only.key() == kNameless) only.key() = names_[0];
      arrays.insert(std::move(only));
    }
    NoteOthers(arrays);
    std::vector<std::vector<Tensor>> parts;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto array = arrays.find(names_[i]);
      if (array == arrays.end()) {
        std::vector<std::string> found;
        for (const auto& [name, other] : arrays) found.push_back(name);
        return InvalidArgument(
            fmt::format("no array for input {}, found: {}", names_[i], fmt::join(found, ", ")));
      }
      auto cut = Cut(array->second, types_[i]);
      if (!cut.ok()) return cut.status().WithContext("input " + names_[i]);
      if (i > 0 && cut->size() != parts[0].size()) {
        return InvalidArgument(fmt::format("{} samples of input {}, but {} of input {}",
                                           cut->size(), names_[i], parts[0].size(), names_[0]));
      }
      parts.push_back(*std::move(cut));
    }
    NoteUnusedRows(arrays.at(names_[0]));
    for (std::size_t s = 0; s < parts[0].size() && !Full(); ++s) {
      Sample sample;
      for (auto& part : parts) sample.push_back(std::move(part[s]));
      samples_.push_back(std::move(sample));
    }
    return Status();
  }

  void NoteOthers(const std::map<std::string, Tensor>& arrays) const {
    for (const auto& [name, array] : arrays) {
      if (options_.note && std::ranges::find(names_, name) == names_.end()) {
        options_.note(fmt::format("array {} is skipped: no input has this name", name));
      }
    }
  }

  /// Reports unused rows of the first input's array; the arrays of other inputs have as many rows.
  void NoteUnusedRows(const Tensor& array) const {
    const std::int64_t batch = types_[0].shape.empty() ? 1 : types_[0].shape[0];
    const std::int64_t row = types_[0].elements() / batch, rows = array.elements() / row;
    NoteUnused(rows % batch, rows, "samples of an array");
  }

  Status AddImage(const std::string& bytes) {
    if (names_.size() != 1) return InvalidArgument("an image, but the model has several inputs");
    const TensorType& type = types_[0];
    if (filled_ == 0) batch_ = Tensor(type);
    TW_RETURN_IF_ERROR(WriteImageToBatch(bytes, options_.image, filled_, batch_));
    ++pictures_;
    if (++filled_ == type.shape[0]) {
      Sample sample;
      sample.push_back(std::move(batch_));
      samples_.push_back(std::move(sample));
      filled_ = 0;
    }
    return Status();
  }

  const DataSetOptions& options_;
  std::vector<std::string> names_;
  std::vector<TensorType> types_;
  std::vector<Sample> samples_;
  Tensor batch_;             // of images
  std::int64_t filled_ = 0;  // images in the batch
  std::int64_t pictures_ = 0;
};

}  // namespace

Result<std::vector<Sample>> LoadDataSet(const std::vector<std::string>& files, const Graph& graph,
                                        const DataSetOptions& options) {
  return Loader(graph, options).Load(files);
}

}  // namespace tilewright::quantize
