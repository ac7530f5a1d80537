#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "measure/messages.h"
#include "measure/worker/guarded_memory.h"
#include "measure/worker/inputs.h"

namespace tilewright::measure {

/// The tensors kernels are run with, kept between candidates: one workload's candidates differ in
/// layouts only, and many share even those. Bounded; the least recently used goes first.
class Workbench {
 public:
  /// What one kernel is run with. Pointers are valid until the next Prepare.
  struct Setup {
    std::optional<double> tolerance;  ///< of a float result, see Compare
    /// Per input set, one guarded read-only memory per input parameter, in order.
    std::array<std::vector<const GuardedMemory*>, kInputSets.size()> inputs;
    /// Per input set, the expected result: in the kernel's output layout, or if `padded` (that
    /// layout has more elements than the result) in the workload's own.
    std::array<const BoundedTensor*, kInputSets.size()> expected;
    TensorType output;  ///< of the kernel's last parameter
    bool padded = false;
    std::string output_layout, result_layout;
    std::vector<std::int64_t> logical;  ///< sizes of the result's dimensions if `padded`
  };
  explicit Workbench(std::int64_t max_bytes) : max_bytes_(max_bytes) {}
  /// reference_path: file of WriteExpected.
  /// Errors: kInvalidArgument if the kernel's parameters do not fit the workload; those of the
  /// layout functions; kUnavailable without memory.
  Result<Setup> Prepare(const KernelSpec& kernel, const std::string& reference_path);

 private:
  struct Source {  // everything of one workload with epilogue, in its own layouts
    std::array<AnchorInputs, kInputSets.size()> inputs;
    ExpectedResults expected;
    std::int64_t bytes = 0, last_used = 0;
  };
  struct Piece {  // one tensor in one kernel's form
    GuardedMemory memory;
    std::int64_t last_used = 0;
  };
  struct ExpectedPiece {
    BoundedTensor tensor;
    std::int64_t last_used = 0;
  };
  Result<const Source*> FindSource(const KernelSpec& kernel, const std::string& reference_path);
  Result<const GuardedMemory*> FindInput(const KernelSpec& kernel, const Source& source,
                                         std::size_t set, std::size_t input);
  Status FindExpected(const KernelSpec& kernel, const Source& source, Setup& setup);
  void Evict();

  std::int64_t max_bytes_;
  std::int64_t now_ = 0;  // number of the current Prepare
  std::map<std::string, Source> sources_;
  std::map<std::string, Piece> pieces_;
  std::map<std::string, ExpectedPiece> expected_;
};

}  // namespace tilewright::measure
