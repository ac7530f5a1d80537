#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/kernel_bench_peer.h"
#include "bench/kernel_bench_timer.h"
#include "src/runtime/loader.h"
#include "src/templates/registry.h"

namespace tilewright::bench {

/// Compiled and loaded Tilewright kernel with its operands.
class OurKernel final : public Runnable {
 public:
  /// Builds a kernel. threads: as many as the target has; null: one. Has to outlive the kernel.
  /// Errors: those of apply, lowering, code generation and loading.
  static Result<std::unique_ptr<OurKernel>> Make(const TemplateEntry& entry,
                                                 const Workload& workload, const Epilogue& epilogue,
                                                 const Target& target, const Config& config,
                                                 const TwParallel* threads = nullptr);
  void Run() override {
    TW_CHECK(entry_.run(pointers_.data(), workspace_.data(), threads_) == 0, "the kernel failed");
  }

 private:
  OurKernel(LoadedKernel kernel, const TwParallel* threads)
      : library_(std::move(kernel.library)), entry_(kernel.entry), threads_(threads) {}
  SharedLibrary library_;
  KernelEntry entry_;
  const TwParallel* threads_;
  std::vector<Tensor> tensors_;
  std::vector<void*> pointers_;
  Tensor workspace_;
};

/// Template key and a config of its space.
struct Choice {
  std::string template_key;
  Config config;
};

/// Runs a quick search: the default, random configs, then steps along single knobs from the best.
/// builds: maximum number of tried kernels.
Result<Choice> QuickSearch(const Workload& workload, const Epilogue& epilogue, const Target& target,
                           int builds, std::uint64_t seed);

}  // namespace tilewright::bench
