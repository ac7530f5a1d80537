#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "measure/messages.h"

namespace tilewright::measure {

/// Compiled kernels that may be wanted again, in a race: their files stay, the newest ones up to a
/// bound. Not thread-safe. Included by .cc files of measure/ only.
class BuiltKernelCache {
 public:
  static constexpr std::int64_t kMaxBytes = std::int64_t{16} << 20;  ///< of all files
  static constexpr std::size_t kMax = 512;

  BuiltKernelCache() = default;
  BuiltKernelCache(const BuiltKernelCache&) = delete;
  BuiltKernelCache& operator=(const BuiltKernelCache&) = delete;

  /// Takes over the kernel's file, and removes those of the oldest ones where it is one too many.
  /// returns the file's path; empty if the file is too large to be kept, or not there.
  std::string Keep(std::uint64_t task, const Candidate& candidate, const KernelSpec& kernel);
  /// The candidate's kernel, whose file is the caller's again.
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
