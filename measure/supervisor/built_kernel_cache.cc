#include "measure/supervisor/built_kernel_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace tilewright::measure {
namespace {

std::string KeyOf(std::uint64_t task, const Candidate& candidate) {
  return std::to_string(task) + " " + candidate.template_key + " " + candidate.config.ToString();
}

}  // namespace

std::string BuiltKernelCache::Keep(std::uint64_t task, const Candidate& candidate,
                                   const KernelSpec& kernel) {
  struct stat info {};
  if (::stat(kernel.artifact.c_str(), &info) != 0 || info.st_size > kMaxBytes) return {};
  std::string key = KeyOf(task, candidate);
  const auto same = std::ranges::find(kernels_, key, &CachedKernel::key);
  if (same != kernels_.end()) Remove(same);
  kernels_.push_back({std::move(key), kernel, info.st_size});
  bytes_ += info.st_size;
  while (bytes_ > kMaxBytes || kernels_.size() > kMax) Remove(kernels_.begin());
  return kernel.artifact;
}

std::optional<KernelSpec> BuiltKernelCache::Take(std::uint64_t task, const Candidate& candidate) {
  const auto found = std::ranges::find(kernels_, KeyOf(task, candidate), &CachedKernel::key);
  if (found == kernels_.end()) return std::nullopt;
  bytes_ -= found->bytes;
  KernelSpec kernel = std::move(found->kernel);
  kernels_.erase(found);
  return kernel;
}

void BuiltKernelCache::Clear() {
  while (!kernels_.empty()) Remove(kernels_.begin());
}

void BuiltKernelCache::Remove(std::list<CachedKernel>::iterator kept) {
  ::unlink(kept->kernel.artifact.c_str());
  bytes_ -= kept->bytes;
  kernels_.erase(kept);
}

}  // namespace tilewright::measure
