// Choice of layouts as a minimum of a sum of costs over discrete variables. Each group of the graph
// is a variable. Its values are the modes of the group, each with the layouts of its inputs and of
// its result. The cost of a value of the graph depends on the layout of its producer and on those
// of its readers; each layout is produced once. With one reader the cost is a table of two
// variables. With several readers there is an additional variable, the set of available layouts.

#include "src/compiler/plan/layouts.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "src/compiler/plan/group_kernel.h"
#include "src/compiler/plan/layout_costs.h"
#include "src/compiler/plan/minimize.h"
#include "src/target/device.h"

namespace tilewright {
namespace {

/// Cost of impossible combinations: more than any network takes.
constexpr double kImpossible = 1e6;

/// Value in a layout that a group reads.
struct Wanted {
  int value;
  PhysicalLayout layouts;
  friend bool operator==(const Wanted&, const Wanted&) = default;
};

/// Mode of a group: its layouts and their cost.
struct Mode {
  PhysicalLayout works_in;
  std::vector<Wanted> wants;
  PhysicalLayout result;
  bool makes = true;  ///< false: a reshaped value without a reader
  double seconds = 0;
  std::optional<KernelOption> kernel;
  std::vector<PhysicalLayout>
      all_layouts;  ///< of an anchor: layouts that other groups may also use
};

class LayoutProblem {
 public:
  LayoutProblem(const Graph& graph, std::span<const FusedGroup> groups,
                const CompileOptions& options, LayoutCosts costs)
      : graph_(graph), groups_(groups), options_(options), costs_(costs), modes_(groups.size()) {}

  Result<LayoutChoice> Choose() {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].alias) AddAliasModes(g);
    }
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].anchor) TW_RETURN_IF_ERROR(AddAnchorModes(g));
    }
    // Layouts that anchors prefer come before those that they support, because only a few fit.
    for (const bool preferred : {true, false}) {
      for (const std::vector<Mode>& modes : modes_) {
        for (const Mode& mode : modes) {
          if ((&mode == &modes.front()) != preferred || !mode.kernel) continue;
          for (const PhysicalLayout& layouts : mode.all_layouts) AddLayout(layouts);
        }
      }
    }
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (!groups_[g].alias && !groups_[g].anchor) TW_RETURN_IF_ERROR(AddUnanchoredModes(g));
    }
    const std::vector<int> rule = ByRule();
    const CostSum sum = SumOf();
    // Variables after those of the groups follow from them.
    std::vector<int> start = rule;
    SetSubsets(start);
    const CostMinimum minimum = Minimize(sum, start);
    LayoutChoice choice;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const Mode& mode = modes_[g][static_cast<std::size_t>(minimum.values[g])];
      choice.groups.push_back({mode.works_in, mode.kernel, minimum.values[g] != rule[g]});
      if (modes_[g].size() > 1 && !groups_[g].alias) ++choice.report.choices;
      if (choice.groups.back().changed) ++choice.report.changed;
    }
    choice.report.rule_seconds = sum.At(start);
    choice.report.seconds = minimum.cost;
    choice.report.exact = minimum.exact;
    return choice;
  }

 private:
  const TensorType& TypeOf(int value) const { return graph_.node(value).type; }

  /// Returns the layouts in canonical form: equal bytes have equal layouts.
  PhysicalLayout CanonicalLayout(int value, PhysicalLayout layouts) const {
    layouts = Canonical(TypeOf(value), std::move(layouts));
    return layouts.is_logical() ? PhysicalLayout() : layouts;
  }

  /// Returns the value whose memory an unchanged value uses.
  int SourceOf(int value) const {
    for (auto same = same_.find(value); same != same_.end(); same = same_.find(value)) {
      value = same->second;
    }
    return value;
  }

  bool IsConstant(int value) const { return graph_.node(value).kind == NodeKind::kConstant; }

  void AddWanted(Mode& mode, int value, PhysicalLayout layouts) const {
    if (IsConstant(value)) return;
    const int source = SourceOf(value);
    mode.wants.push_back({source, CanonicalLayout(source, std::move(layouts))});
  }

  // Modes of each group.

  Status AddAnchorModes(std::size_t g) {
    const FusedGroup& group = groups_[g];
    TW_ASSIGN_OR_RETURN(auto workload,
                        Workload::FromOperator(graph_.node(*group.anchor).op,
                                               TypeOf(group.inputs[0]), TypeOf(group.inputs[1])));
    const bool plain_weight = !IsConstant(group.inputs[1]);
    const std::string key =
        workload.Key() + (plain_weight ? " plain " : " ") + group.epilogue.ToString();
    auto known = options_by_key_.find(key);
    if (known == options_by_key_.end()) {
      TW_ASSIGN_OR_RETURN(auto kernels,
                          KernelOptions(workload, group.epilogue, plain_weight, options_));
      known = options_by_key_.emplace(key, std::move(kernels)).first;
    }
    TW_ASSIGN_OR_RETURN(auto logical_layout, workload.OutputLayout());
    for (const KernelOption& kernel : known->second) {
      Mode mode;
      const PhysicalLayout data{workload.data_layout, kernel.layouts.data};
      const PhysicalLayout result{logical_layout, kernel.layouts.output};
      AddWanted(mode, group.inputs[0], data);
      if (plain_weight) {
        AddWanted(mode, group.inputs[1], {workload.kernel_layout, kernel.layouts.weight});
      }
      for (std::size_t i = 2; i < group.inputs.size(); ++i) {
        // An operand of few elements has no layout of the result.
        const int operand = group.inputs[i];
        const bool whole = TypeOf(operand).shape == TypeOf(group.output).shape;
        AddWanted(mode, operand, whole ? CanonicalLayout(group.output, result) : PhysicalLayout());
      }
      mode.result = CanonicalLayout(group.output, result);
      mode.seconds =
          kernel.record != nullptr ? kernel.seconds : costs_.Anchor(workload, kernel.layouts);
      mode.kernel = kernel;
      mode.all_layouts = {data, result};
      modes_[g].push_back(std::move(mode));
    }
    return Status();
  }

  /// Adds layouts of images that anchors use. Other groups may use them, too.
  void AddLayout(const PhysicalLayout& layouts) {
    constexpr std::size_t kMaxLayouts = 4;
    if (layouts.is_logical() || layouts.layout == layouts.logical_layout ||
        layouts.logical_layout.size() != 4)
      return;
    if (all_layouts_.size() == kMaxLayouts ||
        std::ranges::find(all_layouts_, layouts) != all_layouts_.end())
      return;
    all_layouts_.push_back(layouts);
  }

  Status AddUnanchoredModes(std::size_t g) {
    const FusedGroup& group = groups_[g];
    TW_ASSIGN_OR_RETURN(auto logical_layout, ModeIn(group, PhysicalLayout()));
    modes_[g].push_back(std::move(logical_layout));
    for (const PhysicalLayout& layouts : all_layouts_) AddTransposedMode(g, layouts);
    for (const PhysicalLayout& layouts : all_layouts_) {
      if (layouts.logical_layout.size() != TypeOf(group.output).shape.size()) continue;
      auto mode = ModeIn(group, layouts);
      if (!mode.ok()) continue;
      const bool known = std::ranges::any_of(modes_[g], [&](const Mode& other) {
        return other.result == mode->result && other.wants == mode->wants;
      });
      if (!known) modes_[g].push_back(*std::move(mode));
    }
    return Status();
  }

  void AddAliasModes(std::size_t g) {
    const FusedGroup& group = groups_[g];
    const bool unchanged = std::ranges::all_of(
        group.nodes, [&](int id) { return graph_.node(id).op.kind == OpKind::kIdentity; });
    if (unchanged) {
      same_[group.output] = group.inputs.front();
      modes_[g].emplace_back();
      modes_[g].back().makes = false;
      return;
    }
    Mode view;
    AddWanted(view, group.inputs.front(), PhysicalLayout());
    views_[group.output] = group.inputs.front();
    modes_[g].push_back(std::move(view));
    modes_[g].emplace_back();
    modes_[g].back().makes = false;
  }

  /// Adds a mode for a transposition that keeps the bytes of its input's layout. It needs no step;
  /// its readers use the graph's layout.
  void AddTransposedMode(std::size_t g, const PhysicalLayout& layouts) {
    FusedGroup rest = groups_[g];
    const Node& node = graph_.node(rest.nodes.front());
    if (node.op.kind != OpKind::kTranspose) return;
    const int input = node.inputs[0];
    int source = input;
    for (auto view = views_.find(source); view != views_.end(); view = views_.find(source)) {
      source = view->second;
    }
    const TensorType& type = TypeOf(source);
    if (IsConstant(source) || layouts.logical_layout.size() != type.shape.size()) return;
    const auto order =
        TransposedOrder(type, layouts.logical_layout, TypeOf(input).shape, node.op.attributes.axes);
    if (order.empty() || order != MemoryOrder(type, layouts.logical_layout, layouts.layout)) return;
    Mode mode;
    rest.nodes.erase(rest.nodes.begin());
    if (!rest.nodes.empty()) {
      auto worked = ModeIn(rest, PhysicalLayout());
      if (!worked.ok()) return;
      mode = *std::move(worked);
      std::erase_if(mode.wants,
                    [&](const Wanted& w) { return w.value == groups_[g].nodes.front(); });
    }
    AddWanted(mode, source, layouts);
    modes_[g].push_back(std::move(mode));
  }

  /// Errors: those of ListGroup.
  Result<Mode> ModeIn(const FusedGroup& group, const PhysicalLayout& layouts) const {
    TW_ASSIGN_OR_RETURN(auto kernel, ListGroup(graph_, group, layouts, TablesOf(options_)));
    Mode mode;
    mode.works_in = layouts;
    for (const GroupInput& input : kernel.inputs) AddWanted(mode, input.node, input.layouts);
    mode.result = CanonicalLayout(group.output, layouts);
    mode.seconds = costs_.Group(graph_, group, kernel, layouts);
    // A value in other memory is copied to the caller's.
    const bool leaves = std::ranges::find(graph_.outputs(), group.output) != graph_.outputs().end();
    if (mode.seconds == 0 && leaves && mode.result.is_logical()) {
      mode.seconds = costs_.Change(TypeOf(group.output), PhysicalLayout(), PhysicalLayout());
    }
    return mode;
  }

  // Rule of the first choice.

  bool IsThere(int value, const PhysicalLayout& layouts) const {
    const auto there = there_.find(value);
    return there != there_.end() &&
           std::ranges::find(there->second, layouts) != there->second.end();
  }

  void Want(int value, const PhysicalLayout& layouts) {
    if (IsThere(value, layouts)) return;
    if (const auto view = views_.find(value);
        view != views_.end() && !IsThere(value, PhysicalLayout())) {
      Want(SourceOf(view->second), PhysicalLayout());
      there_[value].push_back(PhysicalLayout());
    }
    if (!IsThere(value, layouts)) there_[value].push_back(layouts);
  }

  std::size_t ModeByRule(std::size_t g) const {
    const FusedGroup& group = groups_[g];
    if (group.anchor || group.alias) return 0;
    if (graph_.node(group.nodes.front()).op.kind == OpKind::kTranspose) {
      for (std::size_t m = 1; m < modes_[g].size(); ++m) {
        const std::vector<Wanted>& wants = modes_[g][m].wants;
        if (modes_[g][m].works_in.is_logical() && std::ranges::all_of(wants, [&](const Wanted& w) {
              return IsThere(w.value, w.layouts);
            })) {
          return m;
        }
      }
    }
    PhysicalLayout best;
    std::int64_t most = 0;
    for (int input : group.inputs) {
      const int source = SourceOf(input);
      const auto there = there_.find(source);
      const std::int64_t bytes = TypeOf(source).bytes();
      if (there == there_.end() || IsThere(source, PhysicalLayout()) || bytes <= most) continue;
      best = there->second.front();
      most = bytes;
    }
    for (std::size_t m = 1; m < modes_[g].size(); ++m) {
      if (modes_[g][m].works_in == best) return m;
    }
    return 0;
  }

  /// Returns the mode of each group if modes are chosen one after the other.
  std::vector<int> ByRule() {
    for (int input : graph_.inputs()) there_[input].push_back(PhysicalLayout());
    std::vector<int> values;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const std::size_t chosen = ModeByRule(g);
      values.push_back(static_cast<int>(chosen));
      if (groups_[g].alias) continue;  // computed on demand
      const Mode& mode = modes_[g][chosen];
      for (const Wanted& wanted : mode.wants) Want(wanted.value, wanted.layouts);
      there_[groups_[g].output].push_back(mode.result);
    }
    for (int output : graph_.outputs()) Want(SourceOf(output), PhysicalLayout());
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (modes_[g].size() > 1 && groups_[g].alias && !there_.contains(groups_[g].output)) {
        values[g] = 1;
      }
    }
    return values;
  }

  // Sum of costs.

  /// Properties of a value: its producer, its readers, their layouts.
  struct Value {
    int id = -1;
    int maker = -1;            // group; -1: an input of the graph
    std::vector<int> readers;  // groups
    std::vector<PhysicalLayout> all_layouts;
    bool leaves = false;
    int subset = -1;  // variable of the available layouts; -1: not needed, one reader

    unsigned BitOf(const PhysicalLayout& layouts) const {
      return 1U << (std::ranges::find(all_layouts, layouts) - all_layouts.begin());
    }
  };

  /// Returns the layouts that a mode needs of a value, as bits.
  static unsigned WantedBits(const Mode& mode, const Value& value) {
    unsigned bits = 0;
    for (const Wanted& wanted : mode.wants) {
      if (wanted.value == value.id) bits |= value.BitOf(wanted.layouts);
    }
    return bits;
  }

  /// Returns the seconds to get a value in the layouts of these bits, produced by a mode in `from`.
  double SecondsFor(const Value& value, const Mode* maker, unsigned bits) const {
    if (value.leaves) bits |= value.BitOf(PhysicalLayout());
    if (bits == 0) return 0;
    if (maker != nullptr && !maker->makes) return kImpossible;
    const PhysicalLayout from = maker != nullptr ? maker->result : PhysicalLayout();
    const TensorType& type = TypeOf(value.id);
    double seconds = 0;
    bool by_native = false;
    for (std::size_t i = 0; i < value.all_layouts.size(); ++i) {
      const PhysicalLayout& to = value.all_layouts[i];
      if ((bits >> i & 1U) == 0 || to == from) continue;
      // Padded blocks are changed by way of the logical layout.
      const bool direct = from.is_logical() || to.is_logical() || !IsRounded(type, from);
      by_native = by_native || !direct;
      seconds += costs_.Change(type, direct ? from : PhysicalLayout(), to);
    }
    if (by_native && (bits & value.BitOf(PhysicalLayout())) == 0) {
      seconds += costs_.Change(type, from, PhysicalLayout());
    }
    return seconds;
  }

  std::vector<Value> Values() const {
    std::map<int, Value> found;
    const auto add = [&](int id, const PhysicalLayout& layouts) {
      Value& value = found[id];
      value.id = id;
      if (std::ranges::find(value.all_layouts, layouts) == value.all_layouts.end())
        value.all_layouts.push_back(layouts);
    };
    for (int input : graph_.inputs()) add(input, PhysicalLayout());
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (const Mode& mode : modes_[g]) {
        if (mode.makes) {
          add(groups_[g].output, mode.result);
          found[groups_[g].output].maker = static_cast<int>(g);
        }
        for (const Wanted& wanted : mode.wants) {
          add(wanted.value, wanted.layouts);
          std::vector<int>& readers = found[wanted.value].readers;
          if (readers.empty() || readers.back() != static_cast<int>(g)) {
            readers.push_back(static_cast<int>(g));
          }
        }
      }
    }
    for (int output : graph_.outputs()) {
      if (IsConstant(output)) continue;
      add(SourceOf(output), PhysicalLayout());
      found[SourceOf(output)].leaves = true;
    }
    std::vector<Value> values;
    for (auto& [id, value] : found) {
      const bool view = value.maker >= 0 && groups_[static_cast<std::size_t>(value.maker)].alias;
      if (value.all_layouts.size() > 1 || view) values.push_back(std::move(value));
    }
    return values;
  }

  /// Returns the mode of a group by a table's coordinate; null for an input of the graph.
  const Mode* ModeOf(int group, std::size_t mode) const {
    return group < 0 ? nullptr : &modes_[static_cast<std::size_t>(group)][mode];
  }

  std::size_t ModesOf(int group) const {
    return group < 0 ? 1 : modes_[static_cast<std::size_t>(group)].size();
  }

  CostSum SumOf() {
    CostSum sum;
    for (const std::vector<Mode>& modes : modes_)
      sum.sizes.push_back(static_cast<int>(modes.size()));
    values_ = Values();
    constexpr std::size_t kMaxLayouts = 6;  // their sets are two to the power of it
    for (Value& value : values_) {
      if (value.readers.size() <= 1 || value.all_layouts.size() > kMaxLayouts) continue;
      value.subset = static_cast<int>(sum.sizes.size());
      sum.sizes.push_back(1 << value.all_layouts.size());
    }
    for (std::size_t g = 0; g < modes_.size(); ++g) {
      CostTable& own = sum.AddTable({static_cast<int>(g)});
      for (std::size_t m = 0; m < modes_[g].size(); ++m) own.costs[m] = modes_[g][m].seconds;
    }
    for (const Value& value : values_) AddValue(value, sum);
    return sum;
  }

  void AddValue(const Value& value, CostSum& sum) const {
    const std::size_t made = ModesOf(value.maker);
    if (value.subset < 0) {
      // With one reader, or too many layouts, each change counts for each reader.
      for (const int reader : value.readers) {
        std::vector<int> variables = {reader};
        if (value.maker >= 0) variables.insert(variables.begin(), value.maker);
        CostTable& table = sum.AddTable(std::move(variables));
        for (std::size_t from = 0, i = 0; from < made; ++from) {
          for (std::size_t m = 0; m < ModesOf(reader); ++m) {
            table.costs[i++] =
                SecondsFor(value, ModeOf(value.maker, from), WantedBits(*ModeOf(reader, m), value));
          }
        }
      }
      if (value.readers.empty() && value.maker >= 0) {
        CostTable& table = sum.AddTable({value.maker});
        for (std::size_t from = 0; from < made; ++from) {
          table.costs[from] = SecondsFor(value, ModeOf(value.maker, from), 0);
        }
      }
      return;
    }
    const auto subsets =
        static_cast<std::size_t>(sum.sizes[static_cast<std::size_t>(value.subset)]);
    std::vector<int> variables = {value.subset};
    if (value.maker >= 0) variables.insert(variables.begin(), value.maker);
    CostTable& making = sum.AddTable(std::move(variables));
    for (std::size_t from = 0, i = 0; from < made; ++from) {
      for (std::size_t bits = 0; bits < subsets; ++bits) {
        making.costs[i++] =
            SecondsFor(value, ModeOf(value.maker, from), static_cast<unsigned>(bits));
      }
    }
    for (const int reader : value.readers) {
      CostTable& reading = sum.AddTable({reader, value.subset});
      for (std::size_t m = 0, i = 0; m < ModesOf(reader); ++m) {
        const unsigned wanted = WantedBits(*ModeOf(reader, m), value);
        for (std::size_t bits = 0; bits < subsets; ++bits) {
          reading.costs[i++] = (wanted & ~bits) == 0 ? 0 : kImpossible;
        }
      }
    }
  }

  /// Appends the values of the variables of available layouts, for given modes.
  void SetSubsets(std::vector<int>& values) const {
    for (const Value& value : values_) {
      if (value.subset < 0) continue;
      unsigned bits = 0;
      for (const int reader : value.readers) {
        const auto mode = static_cast<std::size_t>(values[static_cast<std::size_t>(reader)]);
        bits |= WantedBits(*ModeOf(reader, mode), value);
      }
      values.push_back(static_cast<int>(bits));
    }
  }

  const Graph& graph_;
  std::span<const FusedGroup> groups_;
  const CompileOptions& options_;
  LayoutCosts costs_;
  std::vector<std::vector<Mode>> modes_;     // by group
  std::vector<PhysicalLayout> all_layouts_;  // for groups without an anchor
  std::map<std::string, std::vector<KernelOption>> options_by_key_;
  std::map<int, int> same_;   // unchanged values, by the value that they equal
  std::map<int, int> views_;  // reshaped values, by their source
  std::map<int, std::vector<PhysicalLayout>> there_;  // by value, while the rule is applied
  std::vector<Value> values_;
};

}  // namespace

Result<LayoutChoice> ChooseLayouts(const Graph& graph, std::span<const FusedGroup> groups,
                                   const CompileOptions& options) {
  TW_ASSIGN_OR_RETURN(auto costs, LayoutCosts::For(options.target));
  return LayoutProblem(graph, groups, options, costs).Choose();
}

}  // namespace tilewright
