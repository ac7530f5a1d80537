// Recurrences as the importer makes them have their last states behind the results of all steps.
// Slices take both apart again.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/graph/ir/rewrite.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/recurrence.h"

namespace tilewright {
namespace {

/// What a slice reads of a recurrence: a state after the last step, or the results of all steps.
struct PartOfSteps {
  int recurrence = -1;
  std::optional<std::size_t> state;  ///< none: the results
};

class StateSeparator {
 public:
  explicit StateSeparator(Graph graph) : rewriter_(Prune(std::move(graph))) {}

  Result<Graph> Run() {
    const Graph& source = rewriter_.source();
    FindParts();
    for (int id = 0; id < source.size(); ++id) {
      const auto part = parts_.find(id);
      const bool is_part = part != parts_.end() && forms_.contains(part->second.recurrence);
      if (forms_.contains(id)) {
        TW_RETURN_IF_ERROR(AddRecurrence(id));
      } else if (is_part) {
        TW_RETURN_IF_ERROR(AddPart(id, part->second));
      } else {
        TW_RETURN_IF_ERROR(rewriter_.Copy(id));
      }
    }
    return rewriter_.Finish();
  }

 private:
  const Node& At(int id) const { return rewriter_.source().node(id); }
  const Recurrence& RecurrenceOf(int id) const { return *At(id).op.attributes.recurrence; }
  std::int64_t StepsOf(int id) const { return At(At(id).inputs[0]).type.shape[0]; }

  /// Finds the recurrences that slices alone read, and what each slice is.
  void FindParts() {
    const Graph& source = rewriter_.source();
    const std::vector<std::vector<int>> users = source.Users();
    for (int id = 0; id < source.size(); ++id) {
      if (At(id).kind != NodeKind::kOperator || At(id).op.kind != OpKind::kRecurrence) continue;
      if (RecurrenceOf(id).results != StepResults::kThenLastStates) continue;
      if (std::ranges::find(source.outputs(), id) != source.outputs().end()) continue;
      StepResults form = StepResults::kAlone;
      bool whole = true;
      for (int user : users[static_cast<std::size_t>(id)]) {
        const auto part = PartOf(user, id);
        whole = whole && part.has_value();
        if (!part) break;
        parts_[user] = *part;
        if (part->state && !IsResult(id, *part->state)) form = StepResults::kWithStates;
      }
      if (whole) forms_[id] = form;
    }
  }

  /// Returns true if a state is the result of the step.
  bool IsResult(int recurrence, std::size_t state) const {
    const Recurrence& steps = RecurrenceOf(recurrence);
    return steps.next[state] + 1 == std::ssize(steps.step.values());
  }

  std::optional<PartOfSteps> PartOf(int user, int recurrence) const {
    if (At(user).kind != NodeKind::kOperator || At(user).op.kind != OpKind::kSlice) {
      return std::nullopt;
    }
    const OpAttributes& slice = At(user).op.attributes;
    const std::vector<std::int64_t>& shape = At(recurrence).type.shape;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const bool whole = slice.begin[i] == 0 && slice.end[i] == shape[i];
      if (slice.steps[i] != 1 || (i > 0 && !whole)) return std::nullopt;
    }
    const std::int64_t steps = StepsOf(recurrence);
    if (slice.begin[0] == 0 && slice.end[0] == steps) return PartOfSteps{recurrence, {}};
    if (slice.begin[0] < steps || slice.end[0] != slice.begin[0] + 1) return std::nullopt;
    return PartOfSteps{recurrence, static_cast<std::size_t>(slice.begin[0] - steps)};
  }

  Status AddRecurrence(int id) {
    Recurrence steps = RecurrenceOf(id);
    steps.results = forms_.at(id);
    std::vector<int> inputs;
    for (int input : At(id).inputs) inputs.push_back(rewriter_.At(input));
    TW_ASSIGN_OR_RETURN(const int made, rewriter_.CopyAs(id, RecurrenceOperator(std::move(steps)),
                                                         std::move(inputs)));
    rewriter_.Map(id, made);
    return Status();
  }

  Status AddPart(int id, const PartOfSteps& part) {
    const bool with_states = forms_.at(part.recurrence) == StepResults::kWithStates;
    int value = rewriter_.At(part.recurrence);
    if (!part.state && !with_states) return Take(id, {OpKind::kIdentity, {}}, value);
    const std::vector<std::int64_t> shape = rewriter_.result().node(value).type.shape;
    Operator slice{OpKind::kSlice, {}};
    slice.attributes.begin.assign(shape.size(), 0);
    slice.attributes.end = shape;
    slice.attributes.steps.assign(shape.size(), 1);
    if (part.state) {
      const std::int64_t steps = StepsOf(part.recurrence);
      const std::int64_t last = RecurrenceOf(part.recurrence).backwards ? 0 : steps - 1;
      slice.attributes.begin[0] = last;
      slice.attributes.end[0] = last + 1;
    }
    if (!with_states) return Take(id, std::move(slice), value);
    const std::int64_t place = part.state ? 1 + static_cast<std::int64_t>(*part.state) : 0;
    slice.attributes.begin[1] = place;
    slice.attributes.end[1] = place + 1;
    const std::string name = At(id).name + (IsLocalName(At(id).name) ? "rows" : "#rows");
    TW_ASSIGN_OR_RETURN(value, rewriter_.result().AddOperator(name, std::move(slice), {value}));
    Operator reshape{OpKind::kReshape, {}};
    reshape.attributes.new_shape = At(id).type.shape;
    return Take(id, std::move(reshape), value);
  }

  Status Take(int id, Operator op, int value) {
    TW_ASSIGN_OR_RETURN(const int made, rewriter_.CopyAs(id, std::move(op), {value}));
    rewriter_.Map(id, made);
    return Status();
  }

  Rewriter rewriter_;
  std::map<int, PartOfSteps> parts_;  // by slice
  std::map<int, StepResults> forms_;  // by recurrence
};

}  // namespace

Result<Graph> SeparateStates(Graph graph) { return StateSeparator(std::move(graph)).Run(); }

}  // namespace tilewright
