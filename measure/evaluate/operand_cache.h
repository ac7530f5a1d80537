#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/evaluate/guarded_memory.h"
#include "measure/evaluate/inputs.h"
#include "measure/messages.h"

namespace tilewright::measure {

/// Overwrites the elements, so that no copy stays in memory that processes inherit.
void WipeTensor(Tensor& tensor);

/// The tensors kernels are run with, kept between candidates: one workload's candidates differ in
/// layouts only, and many share even those. Bounded; the least recently used goes first.
class OperandCache {
 public:
  /// Expected result of the fresh check. Processes forked from this one do not inherit the memory.
  struct SecretResult {
    TensorType type;
    GuardedMemory value;
    std::optional<GuardedMemory> error;  ///< float64; none: the result is exact
    std::vector<std::pair<std::int64_t, std::int64_t>> other_positions;
    std::int64_t bytes() const { return value.bytes() + (error ? error->bytes() : 0); }
    /// A copy in ordinary memory.
    BoundedTensor Copy() const;
  };
  /// What one kernel is run with. Pointers are valid until the next Begin.
  struct KernelOperands {
    std::optional<double> tolerance;  ///< of a float result, see Compare
    /// Per input set, one guarded read-only memory per input parameter, in order.
    std::array<std::vector<const GuardedMemory*>, kInputSets.size()> inputs;
    /// Per input set, the expected result: in the kernel's output layout, or if `padded` (that
    /// layout has more elements than the result) in the workload's own.
    std::array<const BoundedTensor*, kInputSets.size()> expected;
    /// Per input parameter, its contents in the fresh set, which processes do not inherit; null: as
    /// in the random set. Empty if the file of the results has no fresh check.
    std::vector<const GuardedMemory*> fresh;
    const SecretResult* fresh_expected = nullptr;  ///< in the layout of `expected`
    TensorType output;                             ///< of the kernel's last parameter
    bool padded = false;
    std::string output_layout, result_layout;
    std::vector<std::int64_t> logical;  ///< sizes of the result's dimensions if `padded`
  };
  explicit OperandCache(std::int64_t max_bytes) : max_bytes_(max_bytes) {}
  /// A new order: setups of earlier ones are no longer used.
  void Begin() { first_needed_ = now_ + 1; }
  /// reference_path: file of WriteExpected.
  /// Errors: kInvalidArgument if the kernel's parameters do not fit the workload; those of the
  /// layout functions; kUnavailable without memory.
  Result<KernelOperands> Prepare(const KernelSpec& kernel, const std::string& reference_path);

 private:
  struct Source {  // everything of one workload with epilogue, in its own layouts
    std::array<AnchorInputs, kInputSets.size()> inputs;
    ExpectedResults expected;
    std::optional<GuardedMemory> fresh_data;  // not inherited by processes
    std::optional<SecretResult> fresh_expected;
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
  struct SecretPiece {
    SecretResult result;
    std::int64_t last_used = 0;
  };
  Result<const Source*> FindSource(const KernelSpec& kernel, const std::string& reference_path);
  Result<const GuardedMemory*> FindInput(const KernelSpec& kernel, const Source& source,
                                         std::size_t set, std::size_t input);
  Status FindExpected(const KernelSpec& kernel, const Source& source,
                      KernelOperands& kernel_operands);
  Status FindFresh(const KernelSpec& kernel, const Source& source, KernelOperands& kernel_operands);
  Result<const GuardedMemory*> FindFreshInput(const KernelSpec& kernel, const Source& source,
                                              std::size_t input);
  void Evict();

  std::int64_t max_bytes_;
  std::int64_t now_ = 0;           // number of the current Prepare
  std::int64_t first_needed_ = 1;  // number of the order's first Prepare
  std::map<std::string, Source> sources_;
  std::map<std::string, Piece> pieces_;
  std::map<std::string, ExpectedPiece> expected_;
  std::map<std::string, SecretPiece> secret_;
};

}  // namespace tilewright::measure
