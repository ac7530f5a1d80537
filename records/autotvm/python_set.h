#pragma once

#include <cstdint>
#include <vector>

namespace tilewright::records {

/// A set of positive integers that lists them in the order in which CPython's does.
///
/// AutoTVM's "verbose" split lists its candidates in the order of such a set, so an index written
/// from 2020-04 to 0.19 counts in it. The set is an open-addressed table: an integer hashes to
/// itself, is tried at its slot and the nine behind it, then at a perturbed one; at 3/5 full the
/// table grows. Source: the algorithm of CPython 3.7 to 3.13.
class PythonSet {
 public:
  PythonSet() : table_(8, 0) {}
  /// Inserted one by one.
  explicit PythonSet(const std::vector<std::int64_t>& values);
  void Add(std::int64_t value);
  /// The members in iteration order.
  std::vector<std::int64_t> Members() const;
  /// `a | b`.
  static PythonSet Union(const PythonSet& a, const PythonSet& b);

 private:
  bool Insert(std::int64_t value);
  void Resize(std::size_t least);
  void Merge(const PythonSet& other);

  std::vector<std::int64_t> table_;  // 0: free; its size is a power of two
  std::size_t used_ = 0;
};

}  // namespace tilewright::records
