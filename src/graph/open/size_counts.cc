#include "src/graph/open/size_counts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "src/base/printable.h"
#include "src/base/strings.h"
#include "src/graph/open/size_range.h"

namespace tilewright {
namespace {

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

/// Parses a number from 1 to `most`.
Result<std::int64_t> ParseUpTo(std::string_view text, std::int64_t most, const std::string& what) {
  const auto number = ParseInt64(Trimmed(text));
  if (number.ok() && *number >= 1 && *number <= most) return number;
  constexpr std::size_t kMaxShown = 40;
  return InvalidArgument(what + " '" + Printable(Trimmed(text).substr(0, kMaxShown)) +
                         "', expected a number from 1 to " + std::to_string(most));
}

/// Largest count of one size; sums of all fit 64 bits.
constexpr std::int64_t kMaxCount = std::numeric_limits<std::int64_t>::max() / kMaxOpenSize;

Status AddLine(std::string_view line, SizeCounts& counts) {
  const std::size_t comma = line.find(',');
  if (comma == std::string_view::npos) {
    return InvalidArgument("'" + Printable(line) + "', expected SIZE,COUNT");
  }
  TW_ASSIGN_OR_RETURN(const auto size, ParseUpTo(line.substr(0, comma), kMaxOpenSize, "size"));
  TW_ASSIGN_OR_RETURN(const auto count, ParseUpTo(line.substr(comma + 1), kMaxCount, "count"));
  std::int64_t& sum = counts[size];
  if (sum > kMaxCount - count) return InvalidArgument("counts of one size exceed the limit");
  sum += count;
  return {};
}

/// Returns the index of the nearest of some sizes, by ratio.
std::size_t NearestOf(const std::vector<std::int64_t>& sizes, std::int64_t size) {
  const auto distance = [size](std::int64_t other) {
    return std::abs(std::log(static_cast<double>(other) / static_cast<double>(size)));
  };
  std::size_t nearest = 0;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    if (distance(sizes[i]) < distance(sizes[nearest])) nearest = i;
  }
  return nearest;
}

}  // namespace

Result<SizeCounts> ParseSizeCounts(std::string_view text, const std::string& file) {
  SizeCounts counts;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    if (counts.empty() && line == "size,count") continue;
    if (Status status = AddLine(line, counts); !status.ok()) {
      return status.WithContext(file + ":" + std::to_string(number));
    }
  }
  if (counts.empty()) return InvalidArgument(file + ": no sizes, expected lines SIZE,COUNT");
  return counts;
}

Status CheckSizeCounts(const SizeCounts& counts, const SizeRange& range, const std::string& file) {
  for (const auto& [size, count] : counts) {
    if (size >= range.least && size <= range.most) continue;
    return InvalidArgument(file + ": size " + std::to_string(size) + ", expected sizes of --dim " +
                           range.ToString());
  }
  return {};
}

std::vector<WeighedSize> DecidingSizes(const SizeRange& range) {
  constexpr std::int64_t kAllUpTo = 64, kOfLarger = 32;
  std::vector<WeighedSize> sizes;
  for (const auto& [size, count] : range.counts) {
    sizes.push_back({size, static_cast<double>(count)});
  }
  if (!sizes.empty()) return sizes;
  for (std::int64_t size = range.least; size <= range.most;) {
    const std::int64_t step = size <= kAllUpTo ? 1 : size / kOfLarger;
    sizes.push_back({size, static_cast<double>(step) / static_cast<double>(size)});
    size += step;
  }
  return sizes;
}

std::vector<WeighedSize> SizesToTune(const SizeRange& range) {
  // One row reads its weight once from memory. Eight rows still wait for it. With 64, the time is
  // that of the products, as with any larger number.
  constexpr std::array<std::int64_t, 3> kSizes = {1, 8, 64};
  constexpr double kLeastShare = 0.01;
  std::int64_t least = range.most, most = range.least;  // of the sizes that occur
  const std::vector<WeighedSize> deciding = DecidingSizes(range);
  for (const WeighedSize& one : deciding) {
    least = std::min(least, one.size);
    most = std::max(most, one.size);
  }
  std::set<std::int64_t> distinct;
  for (const std::int64_t size : kSizes) distinct.insert(std::clamp(size, least, most));
  const std::vector<std::int64_t> sizes(distinct.begin(), distinct.end());

  std::vector<double> shares(sizes.size());
  double all = 0;
  for (const WeighedSize& one : deciding) {
    // Observed runs count by their time; without counts all sizes count alike, by their own time.
    const double share = one.weight * (range.counts.empty() ? 1 : static_cast<double>(one.size));
    shares[NearestOf(sizes, one.size)] += share;
    all += share;
  }
  std::vector<WeighedSize> chosen;
  double largest = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (shares[i] < kLeastShare * all) continue;
    chosen.push_back({sizes[i], shares[i] / static_cast<double>(sizes[i])});
    largest = std::max(largest, chosen.back().weight);
  }
  for (WeighedSize& size : chosen) size.weight /= largest;
  return chosen;
}

}  // namespace tilewright
