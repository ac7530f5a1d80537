#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "measure/messages.h"

namespace tilewright::measure {

/// Cache of compiled kernels that a race may need again: keeps the newest files up to a bound. Not
/// thread-safe. Included by .cc files of measure/ only.
class BuiltKernelCache {
 public:
  static constexpr std::int64_t kMaxBytes = std::int64_t{16} << 20;  ///< of all files
  static constexpr std::size_t kMax = 512;

  BuiltKernelCache() = default;
  BuiltKernelCache(const BuiltKernelCache&) = delete;
  BuiltKernelCache& operator=(const BuiltKernelCache&) = delete;

  /// Takes ownership of the kernel's file, and evicts the oldest files if necessary. Returns the
  /// file's path; empty if the file is too large or missing.
  std::string Keep(std::uint64_t task, const Candidate& candidate, const KernelSpec& kernel);
  /// Returns the candidate's kernel and the ownership of its file.
  std::optional<KernelSpec> Take(std::uint64_t task, const Candidate& candidate);
  /// Removes all files.
  void Clear();

 private:
  struct CachedKernel {
    std::string key;
    KernelSpec kernel;
    std::int64_t bytes = 0;
  };
  void Remove(std::list<CachedKernel>::iterator kept);

  std::list<CachedKernel> kernels_;  // oldest first
  std::int64_t bytes_ = 0;
};

}  // namespace tilewright::measure
