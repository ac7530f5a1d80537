#include "src/compiler/check/check_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "src/base/clock.h"
#include "src/compiler/check/check_process.h"
#include "src/compiler/run/run.h"
#include "src/tensor/reference/reference.h"
#include "src/tensor/synthetic_data.h"

namespace tilewright {
namespace {

/// Returns the sizes to check: those of all kernels, the ends of the range, and a few small ones,
/// also below the range, which have the same kernels. A large end would take long and has no kernel
/// of its own.
std::set<std::int64_t> SizesToCheck(const TwOpenDimension& dimension,
                                    std::set<std::int64_t> sizes) {
  constexpr std::int64_t kSizes[] = {2, 3, 5, 7, 11, 14}, kMaxRun = 32;
  for (std::int64_t size : kSizes) {
    if (size <= dimension.most) sizes.insert(size);
  }
  if (dimension.least <= kMaxRun) sizes.insert(dimension.least);
  if (dimension.most <= kMaxRun) sizes.insert(dimension.most);
  sizes.erase(1);
  return sizes;
}

constexpr std::int64_t kComparedEntries = 3;  // of each size

/// Copies an entry of a tensor of `size` entries; a tensor without entries as it is.
Tensor EntryOf(const Tensor& all, const TensorType& one, std::int64_t entry) {
  Tensor part(one);
  const bool whole = all.bytes() == part.bytes();
  const auto bytes = static_cast<std::size_t>(part.bytes());
  std::memcpy(part.data(), all.data() + (whole ? 0 : entry * part.bytes()), bytes);
  return part;
}

}  // namespace

Status CheckEntries(ModelLibrary& library, const std::set<std::int64_t>& of_kernels,
                    CheckProgress& progress) {
  constexpr double kSeconds = 1;
  constexpr int kFewestSizes = 2;
  SystemClock clock;
  const double start = clock.MonotonicSeconds();
  double seconds_of_entry = 0;
  int checked = 0;
  for (const std::int64_t size : SizesToCheck(*library.open_dimension(), of_kernels)) {
    const double spent = clock.MonotonicSeconds() - start;
    const double needed = static_cast<double>(size + kComparedEntries) * seconds_of_entry;
    if (checked >= kFewestSizes && spent + needed > kSeconds) break;
    TW_RETURN_IF_ERROR(library.Resize(size));
    std::vector<Tensor> inputs;
    for (const ModelValue& value : library.inputs()) {
      inputs.push_back(MakeSyntheticInput(value.name, value.type, SyntheticInputRule::kRandom));
    }
    const double begun = clock.MonotonicSeconds();
    progress.Begin(0);
    auto outputs = library.Run(inputs);
    progress.End();
    seconds_of_entry = (clock.MonotonicSeconds() - begun) / static_cast<double>(size);
    ++checked;
    TW_RETURN_IF_ERROR(outputs);
    TW_RETURN_IF_ERROR(library.Resize(1));
    for (const std::int64_t entry : std::set<std::int64_t>{0, size / 2, size - 1}) {
      std::vector<Tensor> ones;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        ones.push_back(EntryOf(inputs[i], library.inputs()[i].type, entry));
      }
      progress.Begin(0);
      const auto expected = library.Run(ones);
      progress.End();
      TW_RETURN_IF_ERROR(expected);
      for (std::size_t i = 0; i < expected->size(); ++i) {
        const Tensor made = EntryOf((*outputs)[i], (*expected)[i].type(), entry);
        const Comparison comparison = Compare(made, (*expected)[i]);
        if (comparison.ok) continue;
        return Internal(fmt::format(
            "with {} = {}, output {} of entry {} differs from that of a run of this entry: element "
            "{}, error {:.3g}",
            library.open_dimension()->name, size, library.outputs()[i].name, entry,
            comparison.first_bad, comparison.max_abs_error));
      }
    }
  }
  return Status();
}

}  // namespace tilewright
