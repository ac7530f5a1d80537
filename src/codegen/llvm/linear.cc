#include "src/codegen/llvm/linear.h"

namespace tilewright::emit {

Linear AddScaled(const Linear& a, const Linear& b, std::int64_t factor) {
  if (factor == 0) return a;
  Linear sum;
  sum.constant = a.constant + factor * b.constant;
  sum.lane = a.lane + factor * b.lane;
  sum.terms.reserve(a.terms.size() + b.terms.size());
  auto left = a.terms.begin();
  auto right = b.terms.begin();
  while (left != a.terms.end() || right != b.terms.end()) {
    if (right == b.terms.end() || (left != a.terms.end() && left->first < right->first)) {
      sum.terms.push_back(*left++);
    } else if (left == a.terms.end() || right->first < left->first) {
      sum.terms.emplace_back(right->first, factor * right->second);
      ++right;
    } else {
      const std::int64_t coefficient = left->second + factor * right->second;
      if (coefficient != 0) sum.terms.emplace_back(left->first, coefficient);
      ++left;
      ++right;
    }
  }
  return sum;
}

}  // namespace tilewright::emit
