#include "src/base/did_you_mean.h"

#include <algorithm>
#include <numeric>

namespace tilewright {
namespace {

/// Returns the number of letters to change, insert, delete, or swap with the next one.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> rows(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  std::iota(rows[0].begin(), rows[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    rows[i][0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      rows[i][j] =
          std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (same ? 0 : 1)});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.size()][b.size()];
}

}  // namespace

std::string DidYouMean(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > 64) return {};
  std::string nearest;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& other : known) {
    const bool begins = word.size() >= 3 && other.starts_with(word);
    const std::size_t apart = begins ? 1 : EditDistance(word, other);
    if (apart >= least) continue;
    least = apart;
    nearest = other;
  }
  return nearest.empty() || nearest == word ? "" : "; did you mean '" + nearest + "'?";
}

}  // namespace tilewright
