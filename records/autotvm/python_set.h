#pragma once

#include <cstdint>
#include <vector>

namespace tilewright::records {

/// Set of positive integers with the iteration order of a CPython set.
///
/// AutoTVM's "verbose" split lists its candidates in the order of such a set, so indices written by
/// TVM 2020-04 to 0.19 depend on it. The set is an open-addressed table: an integer hashes to
/// itself and probes its slot and the nine after it, then a perturbed slot. At 3/5 full the table
/// grows.
/// Source: the algorithm of CPython 3.7 to 3.13.
class PythonSet {
 public:
  PythonSet() : table_(8, 0) {}
  /// Inserts the values one by one.
  explicit PythonSet(const std::vector<std::int64_t>& values);
  void Add(std::int64_t value);
  /// Returns the members in iteration order.
  std::vector<std::int64_t> Members() const;
  /// Returns `a | b`.
  static PythonSet Union(const PythonSet& a, const PythonSet& b);

 private:
  bool Insert(std::int64_t value);
  void Resize(std::size_t least);
  void Merge(const PythonSet& other);

  std::vector<std::int64_t> table_;  // 0: free slot; the size is a power of two
  std::size_t used_ = 0;
};

}  // namespace tilewright::records
