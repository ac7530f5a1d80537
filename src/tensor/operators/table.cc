// The rows of all files as one table, and common queries.
#include "src/tensor/operator_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "src/base/status.h"
#include "src/tensor/operator_names.h"

namespace tilewright {
namespace {

/// Returns the rows in the order of OpKind, so that a kind is its position.
std::vector<const OperatorRow*> MakeTable() {
  std::vector<const OperatorRow*> table;
  for (const auto& rows :
       {AnchorOperators(), BinaryOperators(), UnaryOperators(), ReductionOperators(),
        DataMovementOperators(), RecurrenceOperators(), ExpressionOperators()}) {
    for (const OperatorRow& row : rows) table.push_back(&row);
  }
  std::ranges::sort(table, {}, [](const OperatorRow* row) { return row->kind; });
  for (std::size_t i = 0; i < table.size(); ++i) {
    TW_CHECK(static_cast<std::size_t>(table[i]->kind) == i, table[i]->name);
  }
  return table;
}

std::string_view FamilyName(OpFamily family) {
  constexpr std::array<std::string_view, 10> kNames = {"anchor",
                                                       "elementwise, one input",
                                                       "elementwise, two inputs",
                                                       "choice",
                                                       "window",
                                                       "reduction",
                                                       "normalization",
                                                       "move",
                                                       "recurrence",
                                                       "expression"};
  return kNames[static_cast<std::size_t>(family)];
}

}  // namespace

std::span<const OperatorRow* const> AllOperators() {
  static const std::vector<const OperatorRow*> table = MakeTable();
  return table;
}

const OperatorRow& RowOf(OpKind kind) { return *AllOperators()[static_cast<std::size_t>(kind)]; }

std::string_view OpName(OpKind kind) { return RowOf(kind).name; }

std::optional<OpKind> OpKindNamed(std::string_view name) {
  for (const OperatorRow* row : AllOperators()) {
    if (row->name == name) return row->kind;
  }
  return std::nullopt;
}

bool IsAnchor(OpKind kind) { return FamilyOf(kind) == OpFamily::kAnchor; }

bool IsElementwise(OpKind kind) {
  const OpFamily family = FamilyOf(kind);
  return family == OpFamily::kUnary || family == OpFamily::kBinary;
}

bool IsComparisonOrSelect(OpKind kind) { return FamilyOf(kind) == OpFamily::kComparisonOrSelect; }

bool IsBinary(OpKind kind) { return FamilyOf(kind) == OpFamily::kBinary; }

bool IsMatrixProduct(OpKind kind) { return RowOf(kind).layouts.data.ends_with("MK"); }

std::string DescribeOperators() {
  std::string text =
      "# Operators\n\n"
      "This page lists the operators of graphs, in the order of `OpKind`. It is generated from the "
      "operator\ntable (`src/tensor/operators`), and a test compares both. Names are part of keys "
      "and records and never\nchange. In epilogues, arguments are in parentheses, in this order. "
      "`ulp` is the largest error of\nfloat32 code in units of the last place "
      "([numerics](numerics.md)).\n\n"
      "| operator | arguments | in Relay text | family | what it computes | ulp |\n"
      "|---|---|---|---|---|---|\n";
  for (const OperatorRow* row : AllOperators()) {
    std::string arguments;
    for (const OpArgument& argument : row->arguments) {
      arguments += fmt::format("{}{}", arguments.empty() ? "" : ", ", argument.name);
    }
    const std::string relay = row->relay.empty() ? "" : fmt::format("`{}`", row->relay);
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", row->name, arguments, relay,
                        FamilyName(row->family), row->description,
                        row->ulps > 0 ? fmt::format("{}", row->ulps) : "");
  }
  return text;
}

}  // namespace tilewright
