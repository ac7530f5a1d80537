#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/random.h"
#include "src/base/status.h"
#include "src/space/open/expression_pool.h"
#include "src/space/open/parameter.h"

namespace tilewright {

/// Point of an open space: for each parameter the position of its value.
using OpenConfig = std::vector<std::int32_t>;

/// Space of the configs of any program: named parameters, and conditions that a config has to
/// fulfil. Immutable value.
///
/// Configs that fulfil all conditions are "allowed". They are numbered from 0 to size() - 1 without
/// being listed: equal remaining conditions of partial assignments are counted once. A condition
/// that cannot be evaluated (division by zero, a text compared with a number) is not fulfilled.
///
/// The combinations of all values are fewer than 2^63, and at most 64 parameters have several
/// values.
class OpenSpace {
 public:
  OpenSpace() = default;
  /// Errors: kInvalidArgument naming the parameter or the condition: no value or one that occurs
  /// twice, a value of another type, a name twice, a text that is no condition, too many
  /// combinations, or no allowed config; also if conditions that are too entangled to be counted
  /// allow so few that a search with a limit of work (about a second) finds none.
  static Result<OpenSpace> Create(std::string name, std::vector<Parameter> parameters,
                                  std::vector<std::string> conditions);
  /// Parses a T1 file. Errors: kInvalidArgument naming the member; as Create.
  static Result<OpenSpace> ParseT1(std::string_view json);
  static Result<OpenSpace> FromT1(const nlohmann::ordered_json& json);
  /// Formats a T1 file with the members General and ConfigurationSpace.
  std::string ToT1() const;
  nlohmann::ordered_json T1() const;

  const std::string& name() const { return name_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<std::string>& conditions() const { return condition_texts_; }
  /// Returns the position of a parameter, or -1.
  int Find(std::string_view parameter) const;

  /// Number of combinations of all values.
  std::int64_t combinations() const { return combinations_; }
  /// Number of allowed configs; of a space that is too entangled to be counted within the limit of
  /// work, an upper bound.
  std::int64_t size() const { return counts_.empty() ? 1 : counts_[0]; }
  bool counted() const { return counted_; }

  bool Allows(const OpenConfig& config) const;
  /// Returns the text of the first condition that the config does not fulfil; empty if allowed.
  std::string ViolatedCondition(const OpenConfig& config) const;

  /// Returns the config of a number. Requires counted() and 0 <= number < size().
  OpenConfig At(std::int64_t number) const;
  /// Returns the number of a config, or -1 if it is not allowed. Requires counted().
  std::int64_t NumberOf(const OpenConfig& config) const;
  /// Returns the index of a config among all combinations; the first parameter is the fastest
  /// digit (as in ConfigSpace), and its inverse.
  std::int64_t IndexOf(const OpenConfig& config) const;
  OpenConfig FromIndex(std::int64_t index) const;

  /// Whether samples of a space that is not counted are walks from known configs, because draws
  /// would take too long.
  bool walks() const { return !counted_ && draws_ == 0; }

  /// Returns an allowed config. All are equally likely, unless walks(); a walk reaches only what
  /// steps in one or two parameters reach from the known configs.
  OpenConfig Sample(Random& random) const;
  /// Returns all allowed configs that differ from an allowed one in one parameter.
  std::vector<OpenConfig> Neighbours(const OpenConfig& config) const;
  /// Returns an allowed config that has the given value of one parameter and otherwise as many
  /// values of `config` as a walk through the parameters can keep; the others are random. Empty if
  /// no allowed config has that value. Steps in spaces whose conditions leave no neighbour.
  OpenConfig Repair(const OpenConfig& config, int parameter, std::int32_t value,
                    Random& random) const;
  /// Returns the default config, if every parameter has a default, or the first value where only
  /// some have one. Empty if no parameter has one, or if it is not allowed.
  OpenConfig Default() const;

  /// Returns the config with these values. Errors: kNotFound naming the parameter that is missing,
  /// unknown, or without that value. Does not check the conditions.
  Result<OpenConfig> Locate(
      const std::vector<std::pair<std::string, ParameterValue>>& values) const;
  const ParameterValue& ValueOf(const OpenConfig& config, int parameter) const {
    const auto p = static_cast<std::size_t>(parameter);
    return parameters_[p].values[static_cast<std::size_t>(config[p])];
  }

 private:
  /// Condition after parsing: the parameters that it names, and its expression or, of small ones, a
  /// bit for each combination of their values.
  struct Check {
    std::size_t text = 0;  ///< in condition_texts_
    std::vector<int> parameters;
    ExpressionId expression = 0;
    std::vector<bool> table;
  };
  /// Partial assignment of the first parameters in order_ or, of those with equal remaining
  /// conditions, all.
  struct Layer {
    std::vector<std::uint32_t> children;  ///< node of the next layer for each node and value
    std::size_t first_node = 0;           ///< of this layer, in counts_
  };

  class Search;

  Status CheckParameters();
  Status ParseConditions();
  Status BuildTable(Check& check);
  void ChooseOrder();
  void BuildLayers();
  /// Sets a parameter to a value in conditions. left: gets those that are not decided by that.
  /// Returns false if one cannot be fulfilled any more.
  bool Substitute(int parameter, std::size_t value, const std::vector<ExpressionId>& conditions,
                  std::vector<ExpressionId>& left);
  bool ExpandLayer(const std::vector<std::vector<ExpressionId>>& states,
                   std::vector<std::vector<ExpressionId>>& next, Layer& layer);
  void CountCompletions();
  /// Finds the known configs of a space that is not counted. last: last expression of the
  /// conditions.
  Status FindAllowed(std::uint32_t last);
  OpenConfig WalkFromKnown(Random& random) const;
  bool Fulfils(const Check& check, const OpenConfig& config) const;
  std::int64_t CountOf(std::size_t layer, std::uint32_t node) const;
  OpenConfig Descend(std::int64_t number) const;

  std::string name_;
  std::vector<Parameter> parameters_;
  std::vector<std::string> condition_texts_;
  std::int64_t combinations_ = 1;
  bool counted_ = true;
  std::int64_t table_work_ = 0;  // nodes evaluated for tables

  ExpressionPool pool_{{}};
  std::vector<std::vector<ExpressionValue>> values_;  // of each parameter
  std::vector<Check> checks_;
  std::vector<std::vector<std::size_t>> checks_of_;  // by parameter
  std::vector<int> order_;        // of the parameters with several values, in the layers
  std::vector<int> pool_number_;  // of each parameter; -1 with one value
  std::vector<Layer> layers_;
  std::vector<std::int64_t> counts_;  // allowed completions of each node; the root is the first
  std::size_t end_node_ = 0;          // first node after the last layer, in counts_
  // Of a space that is not counted: some allowed configs, and the most draws of a sample; 0: walks.
  std::vector<OpenConfig> known_;
  std::int64_t draws_ = 0;
};

}  // namespace tilewright
