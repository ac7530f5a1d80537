#include "src/codegen/llvm/linear.h"

namespace tilewright::emit {
namespace {

/// Computes a + factor * b in wrapping integers.
std::int64_t PlusScaled(std::int64_t a, std::int64_t b, std::int64_t factor) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) +
                                   static_cast<std::uint64_t>(factor) *
                                       static_cast<std::uint64_t>(b));
}

}  // namespace

Linear AddScaled(const Linear& a, const Linear& b, std::int64_t factor) {
  if (factor == 0) return a;
  Linear sum;
  sum.constant = PlusScaled(a.constant, b.constant, factor);
  sum.lane = PlusScaled(a.lane, b.lane, factor);
  sum.terms.reserve(a.terms.size() + b.terms.size());
  auto left = a.terms.begin();
  auto right = b.terms.begin();
  while (left != a.terms.end() || right != b.terms.end()) {
    if (right == b.terms.end() || (left != a.terms.end() && left->first < right->first)) {
      sum.terms.push_back(*left++);
    } else if (left == a.terms.end() || right->first < left->first) {
      sum.terms.emplace_back(right->first, PlusScaled(0, right->second, factor));
      ++right;
    } else {
      const std::int64_t coefficient = PlusScaled(left->second, right->second, factor);
      if (coefficient != 0) sum.terms.emplace_back(left->first, coefficient);
      ++left;
      ++right;
    }
  }
  return sum;
}

}  // namespace tilewright::emit
