#pragma once

#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/compiler/plan/block_kernels.h"
#include "src/compiler/plan/choose_kernel.h"
#include "src/compiler/plan/group_kernel.h"
#include "src/compiler/plan/layouts.h"
#include "src/compiler/plan/plan.h"
#include "src/graph/partition/partition.h"
#include "src/target/device.h"
#include "src/tensor/compute/kernel_signature.h"

namespace tilewright {

/// Builder of a plan: walks the groups of a graph in order and adds steps, buffers, constants and
/// kernels.
class PlanBuilder {
 public:
  /// network: for options.target. options, streams: outlive this; see MakePlan.
  PlanBuilder(PartitionedGraph network, const CompileOptions& options,
              const std::vector<StreamKernel>* streams)
      : options_(options),
        device_(DeviceTraitsOf(options.target)),
        streams_(streams),
        groups_(std::move(network.groups)),
        stored_(network.graph.nodes().size()) {
    plan_.graph = std::move(network.graph);
    plan_.target = options.target;
    plan_.fuse_residuals = options.fuse_residuals;
  }
  PlanBuilder(const PlanBuilder&) = delete;
  PlanBuilder& operator=(const PlanBuilder&) = delete;
  /// Errors: those of Compile.
  Result<Plan> Build();
  /// Returns the groups without an anchor that are expressions, with the names of their values.
  /// Call it after Build.
  const std::vector<std::pair<Workload, std::string>>& group_uses() const { return group_uses_; }

 private:
  /// Buffer of a value in one physical layout.
  struct Stored {
    PhysicalLayout layouts;
    int buffer = -1;
  };

  /// Kernel of an anchor.
  struct AnchorChoice {
    KernelChoice choice;
    int kernel = -1;
    std::vector<BlockKernel> blocks;  // of an open dimension
  };

  // Groups (plan.cc).
  Result<Workload> AnchorOf(const FusedGroup& group) const;
  Status AddGroup(std::size_t number);
  Status AddAlias(const FusedGroup& group);
  Status AddAnchor(const FusedGroup& group);
  /// Returns the seconds of the layout changes that a kernel with these layouts would need around
  /// it.
  double LayoutSecondsOf(const Workload& workload, const FusedGroup& group,
                         const KernelLayouts& layouts) const;
  /// Returns the layouts of the values that an anchor reads, as text.
  std::string LayoutSummary(const FusedGroup& group) const;
  /// Adds a recurrence as machine code. The group has one operator.
  Status AddRecurrence(const FusedGroup& group);
  Status AddUnanchored(const FusedGroup& group);
  Status AddUnanchoredIn(const FusedGroup& group, const PhysicalLayout& layouts);
  /// Adds the group as the expression that it computes (plan_expressions.cc), if a user wrote that
  /// or a store has a record of it. Returns false if nothing was added.
  Result<bool> AddTuned(const FusedGroup& group, const PhysicalLayout& layouts,
                        const GroupKernel& kernel);
  /// Returns true if the target multiplies pairs of bfloat16.
  bool MultipliesPairs() const;
  /// Adds the step of a kernel with these layouts. name: part of the kernel's symbol.
  Status AddListed(const FusedGroup& group, const PhysicalLayout& layouts,
                   const GroupKernel& kernel, Program program, PlanStep step,
                   const std::string& name);
  /// Adds the groups as one kernel if possible, else one after the other.
  Status AddJoined(const JoinedGroups& joined);
  /// Errors: kUnsupported if the groups cannot be one kernel.
  Status AddAttention(const FusedGroup& group);
  /// Adds a group that joins an open number of positions. Errors: kUnsupported with the reason.
  Status AddJoin(const FusedGroup& group);
  /// Copies an input of the model with positions, which has no room for whole blocks of them, to
  /// the arena; later readers of the value read the copy.
  Status CopyToArena(int node);
  /// Adds attention over an open number of positions. Errors: kUnsupported with the reason.
  Status AddOpenAttention(const FusedGroup& group);
  PhysicalLayout LayoutWithoutAnchor(const FusedGroup& group) const;

  // Groups without a step: their values are parts of one another's memory (plan_parts.cc).
  /// Places the group's values in one another's buffers. Returns false if that is impossible with
  /// these layouts.
  /// Errors: kUnsupported if the group cannot work in these layouts.
  Result<bool> AddInPlace(const FusedGroup& group, const PhysicalLayout& layouts);
  Result<bool> JoinInPlace(const FusedGroup& group, const PhysicalLayout& layouts,
                           const GroupKernel& kernel);
  Result<bool> SliceInPlace(const FusedGroup& group, const PhysicalLayout& layouts,
                            const GroupKernel& kernel);
  /// Part of a joined value: a buffer, or a copy of one.
  struct JoinedPart {
    int node = -1, buffer = -1;
    std::int64_t bytes = 0;
    bool in_place = false;
  };
  /// Returns the buffer (itself no part) that the first of these fill in order, as its parts or
  /// parts of its parts; -1 if none.
  int WholeOf(std::span<const JoinedPart> parts) const;
  bool HasParts(int buffer) const;

  /// Returns true if the transposition at the group's begin leaves the bytes of one of its input's
  /// layouts. The result is then stored already.
  bool FindTransposed(const FusedGroup& group);
  /// Returns the buffer of an input of an anchor's kernel. value: the node that it is made of.
  Result<int> InputBuffer(const Workload& workload, const KernelSignature& signature,
                          std::size_t input, int value);
  /// Returns the buffer of a computed operand with one element per channel, padded to blocks.
  Result<int> ChannelBuffer(const KernelParameter& parameter, int value);
  Status FinishOutputs();
  Status AddCopy(int node, int from, int to);

  // Groups for a device that leaves some to the host (plan_streams.cc).
  Status CheckContents() const;
  Status AddOffloaded(const FusedGroup& group);
  /// Finds the group's stream and the values that it reads. op: gets the group's operators as text,
  /// also on an error.
  /// Errors: kUnsupported or kInvalidArgument with the reason why the host has to do it.
  Status PlaceStream(const FusedGroup& group, StreamStep& step, std::string& op);
  /// Returns the number of the stream: the bundle's, or a newly chosen one if none is equal.
  Result<int> StreamOf(const Workload& workload, const Epilogue& epilogue);

  // Values (plan_values.cc).
  Status AddInputs();
  /// Returns the buffer of a value in these layouts. Adds a layout change if necessary.
  Result<int> BufferOf(int node, const PhysicalLayout& layouts);
  Result<int> TransformTo(int node, const PhysicalLayout& layouts);
  Result<int> PackConstant(int node, const PhysicalLayout& layouts,
                           const std::vector<std::int64_t>& shape);
  Result<int> AddTransform(int node, const Stored& from, const PhysicalLayout& to);
  /// Returns true for a constant with elements for each position of an open sequence.
  bool IsTable(int node) const;
  const Stored* Find(int node, const PhysicalLayout& layouts) const;
  int AddBuffer(BufferSpace space, std::int64_t bytes, int index = 0);
  /// Returns the buffer of a constant with these contents, for all constants of this key.
  int AddConstant(const std::string& key, Tensor contents);
  void Store(int node, const PhysicalLayout& layouts, int buffer);
  /// Returns the number of the kernel with this code. A new one is named after `op`.
  int AddKernel(Program program, const std::string& op);
  void AddStep(PlanStep step, int node, const std::vector<int>& operands);

  Plan plan_;
  const Graph& graph_ = plan_.graph;
  const CompileOptions& options_;
  const DeviceTraits& device_;
  const std::vector<StreamKernel>* streams_;  // of a bundle; null: they are chosen
  const std::vector<FusedGroup> groups_;
  std::vector<std::vector<Stored>> stored_;  // by node
  std::vector<GroupLayout> layouts_;         // of the groups; empty: each follows the one before it
  const GroupLayout* layout_ = nullptr;      // of the current group
  std::vector<std::pair<Workload, std::string>> group_uses_;
  std::map<int, int> views_;  // reshaped values without a buffer: the values that they are views of
  std::map<std::string, int> kernel_numbers_;                      // by code
  std::map<std::string, int> stream_numbers_;                      // by workload and epilogue
  std::map<std::string, int> constant_buffers_;                    // by source and layouts
  std::unordered_multimap<std::uint64_t, int> constants_by_hash_;  // buffers
  std::map<std::string, AnchorChoice> choices_;                    // by workload and epilogue
};

}  // namespace tilewright
