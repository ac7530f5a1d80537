#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/codegen/simt/simt.h"
#include "src/compiler/run/plan_run.h"
#include "src/runtime/loader.h"
#include "src/schedule/launch.h"
#include "tests/runtime/fake_cuda/fake_cuda.h"

namespace tilewright {

/// Fake CUDA driver whose kernels run in the SIMT emulator. Each launch must belong to the plan,
/// with its sizes and shared memory, and all its arguments must be in allocated memory. One object
/// at a time for each library.
class FakeGpu {
 public:
  /// library: FAKE_CUDA or a variant of it. plan: outlives this.
  FakeGpu(const std::string& library, const Plan& plan);
  FakeGpu(const FakeGpu&) = delete;
  FakeGpu& operator=(const FakeGpu&) = delete;
  ~FakeGpu();

  FakeCounts counts() const;
  /// The problem of the first rejected launch; empty if there is none.
  const std::string& problem() const { return problem_; }
  /// Makes the next launch fail like one that writes outside of its memory.
  void FailNext() { fails_ = true; }

 private:
  struct Known {
    std::size_t kernel, launch;
    Launch shape;
  };
  static int Execute(void* context, const char* kernel, const unsigned* grid, const unsigned* block,
                     unsigned shared_bytes, const std::uint64_t* arguments, int argument_count);
  Status Launched(const std::string& entry, const unsigned* grid, const unsigned* block,
                  unsigned shared_bytes, std::span<const std::uint64_t> arguments);
  template <typename Function>
  Function Find(const char* symbol) const {
    return reinterpret_cast<Function>(library_.Symbol(symbol));
  }

  const Plan& plan_;
  SharedLibrary library_;
  std::vector<SimtKernel> kernels_;
  std::vector<Known> launches_;
  std::string problem_;
  bool fails_ = false;
};

}  // namespace tilewright
