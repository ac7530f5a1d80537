#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/compiler/plan/choose_kernel.h"
#include "src/compiler/plan/group_kernel.h"
#include "src/compiler/plan/layouts.h"
#include "src/compiler/plan/plan.h"
#include "src/graph/partition/partition.h"
#include "src/target/device.h"
#include "src/tensor/compute/kernel_signature.h"

namespace tilewright {

/// Walks the groups of a graph in order and writes down steps, buffers, constants and kernels.
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
  /// After Build: the groups without an anchor that are expressions, with the names of their
  /// values.
  const std::vector<std::pair<Workload, std::string>>& group_uses() const { return group_uses_; }

 private:
  /// One form in which a value is in memory.
  struct Stored {
    PhysicalLayout layouts;
    int buffer = -1;
  };

  // Groups (plan.cc).
  Result<Workload> AnchorOf(const FusedGroup& group) const;
  Status AddGroup(std::size_t number);
  Status AddAlias(const FusedGroup& group);
  Status AddAnchor(const FusedGroup& group);
  /// Seconds for the changes of layout that a kernel of this form would need around it.
  double LayoutSecondsOf(const Workload& workload, const FusedGroup& group,
                         const KernelLayouts& layouts) const;
  /// The forms that the values an anchor reads are in, as text.
  std::string LayoutSummary(const FusedGroup& group) const;
  /// Of one operator, as machine code.
  Status AddRecurrence(const FusedGroup& group);
  Status AddUnanchored(const FusedGroup& group);
  Status AddUnanchoredIn(const FusedGroup& group, const PhysicalLayout& layouts);
  /// The group as the expression that it computes (plan_expressions.cc), if it is one that a user
  /// wrote or that a store has a record of; false: nothing was added.
  Result<bool> AddTuned(const FusedGroup& group, const PhysicalLayout& layouts,
                        const GroupKernel& kernel);
  /// The step of a kernel whose values are in `form`; name: what the kernel is called after.
  Status AddListed(const FusedGroup& group, const PhysicalLayout& layouts,
                   const GroupKernel& kernel, Program program, PlanStep step,
                   const std::string& name);
  /// The groups as one kernel if that can be, else one after the other.
  Status AddJoined(const JoinedGroups& joined);
  /// Errors: kUnsupported if it cannot be one kernel.
  Status AddAttention(const FusedGroup& group);
  PhysicalLayout LayoutWithoutAnchor(const FusedGroup& group) const;

  // Groups that are no step at all: parts of one another's memory (plan_parts.cc).
  /// Whether the group's values in this form just lie in one another, now that their buffers do.
  /// Errors: kUnsupported if the group cannot work in this form.
  Result<bool> AddInPlace(const FusedGroup& group, const PhysicalLayout& layouts);
  Result<bool> JoinInPlace(const FusedGroup& group, const PhysicalLayout& layouts,
                           const GroupKernel& kernel);
  Result<bool> SliceInPlace(const FusedGroup& group, const PhysicalLayout& layouts,
                            const GroupKernel& kernel);
  /// Something that is to lie in a joined value: a buffer, or a copy of one.
  struct JoinedPart {
    int node = -1, buffer = -1;
    std::int64_t bytes = 0;
    bool in_place = false;
  };
  /// The buffer that is no part of another and that the first of these fill, in order, as its parts
  /// or parts of its parts; -1 if there is none.
  int WholeOf(std::span<const JoinedPart> parts) const;
  bool HasParts(int buffer) const;

  /// Whether the transposition that a group begins with leaves the bytes of a form that its input
  /// is in; then the result is there already.
  bool FindTransposed(const FusedGroup& group);
  /// Buffer of an input of an anchor's kernel. value: the node it is made of.
  Result<int> InputBuffer(const Workload& workload, const KernelSignature& signature,
                          std::size_t input, int value);
  Status FinishOutputs();
  Status AddCopy(int node, int from, int to);

  // Groups for a device that leaves some to the host (plan_streams.cc).
  Status CheckContents() const;
  Status AddOffloaded(const FusedGroup& group);
  /// Finds the group's stream and the values that it reads. op: gets the group's operators as text,
  /// also on an error.
  /// Errors: kUnsupported or kInvalidArgument with the reason why the host has to do it.
  Status PlaceStream(const FusedGroup& group, StreamStep& step, std::string& op);
  /// Number of the stream, which is the bundle's, or chosen if there is none like it.
  Result<int> StreamOf(const Workload& workload, const Epilogue& epilogue);

  // Values (plan_values.cc).
  Status AddInputs();
  /// Buffer of a value in a form, which is made if the value is not there in it.
  Result<int> BufferOf(int node, const PhysicalLayout& layouts);
  Result<int> TransformTo(int node, const PhysicalLayout& layouts);
  Result<int> PackConstant(int node, const PhysicalLayout& layouts,
                           const std::vector<std::int64_t>& shape);
  Result<int> AddTransform(int node, const Stored& from, const PhysicalLayout& to);
  const Stored* Find(int node, const PhysicalLayout& layouts) const;
  int AddBuffer(BufferSpace space, std::int64_t bytes, int index = 0);
  int AddConstant(const std::string& key, Tensor contents);
  void Store(int node, const PhysicalLayout& layouts, int buffer);
  /// Number of the kernel with this code, named after `op` if it is new.
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
  const GroupLayout* layout_ = nullptr;      // of the group that is being added
  std::vector<std::pair<Workload, std::string>> group_uses_;
  std::map<int, int> views_;  // reshaped values that nobody has asked for: what they are views of
  std::map<std::string, int> kernel_numbers_;    // by code
  std::map<std::string, int> stream_numbers_;    // by workload and epilogue
  std::map<std::string, int> constant_buffers_;  // by what they hold
  std::map<std::string, std::pair<KernelChoice, int>>
      choices_;  // by workload and epilogue, with kernel
};

}  // namespace tilewright
