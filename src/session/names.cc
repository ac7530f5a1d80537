#include "src/session/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <map>
#include <set>

#include "src/base/hash.h"
#include "src/session/format.h"

namespace tilewright::session {
namespace {

/// Returns "2" for equal sizes, else "2x1".
std::string Pair(const std::array<std::int64_t, 2>& sizes) {
  return sizes[0] == sizes[1] ? std::to_string(sizes[0]) : fmt::format("{}", fmt::join(sizes, "x"));
}

std::string ShapeOf(const TensorType& type) {
  return fmt::format("{}", fmt::join(type.shape, "x"));
}

/// Returns the properties that tell tasks of equal short names apart, the most important first. The
/// number of properties is the same for all tasks.
std::vector<std::string> PropertiesOf(const NamedTask& task) {
  if (task.workload == nullptr) return {task.target};
  const Workload& w = *task.workload;
  return {
      DataTypeName(w.data.dtype),
      w.data_layout,
      task.target,
      w.weight.shape.empty() ? "" : "weights " + DataTypeName(w.weight.dtype),
      "-> " + DataTypeName(w.out_dtype),
      w.kernel_layout,
      w.reduced_range_weights ? "w64" : "",
      "s" + Pair(w.strides),
      fmt::format("p{}", fmt::join(w.padding, "x")),
      "d" + Pair(w.dilation),
      fmt::format("g{}", w.groups),
      ShapeOf(w.data),
      ShapeOf(w.weight),
      "pool " + Pair(w.pool_size),
      "out+" + Pair(w.output_padding),
  };
}

/// Returns the identity of a task: equal tasks have equal names.
std::string IdentityOf(const NamedTask& task) {
  return (task.workload != nullptr ? task.workload->Key() : task.name) + "\n" + task.target;
}

/// Adds to the names of tasks that look alike the properties in which they differ.
void TellApart(std::span<const NamedTask> tasks, const std::vector<std::size_t>& alike,
               std::vector<std::string>& names) {
  std::vector<std::vector<std::string>> properties;
  for (const std::size_t i : alike) properties.push_back(PropertiesOf(tasks[i]));
  std::size_t groups = 1;  // tasks that the names tell apart so far
  const std::size_t count = properties.front().size();
  for (std::size_t p = 0; p < count; ++p) {
    std::set<std::string> longer;
    for (std::size_t k = 0; k < alike.size(); ++k) {
      if (properties[k].size() != count) return;
      longer.insert(names[alike[k]] + " " + properties[k][p]);
    }
    if (longer.size() <= groups) continue;
    groups = longer.size();
    for (std::size_t k = 0; k < alike.size(); ++k) {
      if (!properties[k][p].empty()) names[alike[k]] += " " + properties[k][p];
    }
  }
}

}  // namespace

std::string ExpressionName(const std::string& path, const Expression& expression) {
  const std::string shape = ShapeOf(expression.result());
  return path.substr(path.rfind('/') + 1) + " " + expression.stages.back().name +
         (shape.empty() ? "" : " " + shape);
}

std::string ExpressionName(const std::string& graph, const Workload& workload) {
  if (workload.op != OpKind::kExpression || !graph.ends_with(".tw")) return {};
  return graph.substr(graph.rfind('/') + 1) + " " + ShapeOf(workload.expression.result());
}

std::vector<std::string> DistinctNames(std::span<const NamedTask> tasks) {
  std::vector<std::string> names, identities;
  std::map<std::string, std::vector<std::size_t>> by_name;
  for (const NamedTask& task : tasks) {
    names.push_back(!task.name.empty() ? task.name : ShortName(*task.workload));
    by_name[names.back()].push_back(names.size() - 1);
    identities.push_back(IdentityOf(task));
  }
  for (const auto& [name, alike] : by_name) {
    std::set<std::string> distinct;
    for (const std::size_t i : alike) distinct.insert(identities[i]);
    if (distinct.size() > 1) TellApart(tasks, alike, names);
  }
  // Tasks whose names are still equal differ in no property with a short text.
  std::map<std::string, std::set<std::string>> left;
  for (std::size_t i = 0; i < names.size(); ++i) left[names[i]].insert(identities[i]);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (left[names[i]].size() > 1) names[i] += " " + HexOf(Fnv1a64(identities[i])).substr(0, 8);
  }
  return names;
}

std::vector<std::string> DistinctNames(std::span<const search::TuneTask> tasks) {
  std::vector<NamedTask> named;
  for (const search::TuneTask& task : tasks) {
    named.push_back({&task.task.workload, {}, task.name});
  }
  return DistinctNames(std::span<const NamedTask>(named));
}

}  // namespace tilewright::session
