#pragma once

#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/graph/ir/graph.h"
#include "src/graph/relay/metadata.h"
#include "src/graph/relay/syntax.h"

namespace tilewright::relay {

/// Converts one function of a module to a graph. Inlines calls of functions that the text defines.
/// Errors contain the position in the text.
class Importer {
 public:
  Importer(const Module& module, std::string_view text) : module_(module), text_(text) {}
  /// Returns kInvalidArgument; kUnsupported listing all unknown operators.
  Result<Graph> Run(std::string name);

 private:
  /// Value of an expression: nodes of the graph, or a function defined in the text.
  struct Value {
    std::vector<int> nodes;  ///< -1: a field without a counterpart (running mean of batch_norm)
    bool is_tuple = false;
    int function = -1;
  };
  /// Instance of a function call: values of its expressions, and the enclosing instance.
  struct Scope {
    int function = -1;
    Scope* outer = nullptr;
    std::map<int, Value> values;
    int result = -1;          ///< expression of the body's result
    std::string result_name;  ///< name of the result's node
  };

  Status CheckOperators() const;
  int EntryFunction() const;
  Status AddParameters(int function, Scope* scope);
  void SetStyle(int entry);
  Status RunFragment(const Function& function, Scope* scope);
  Status CallLastFunction(int expr, Scope* scope);
  /// Returns kInvalidArgument for scales that do not fit their value.
  Status AddQuantizationMap(QuantizationMap values);

  Scope* ScopeOf(int expr, Scope* scope) const;
  Result<Value> Evaluate(int root, Scope* scope);
  Result<Value> EvaluateOne(int id, Scope* scope);
  Result<Value> EvaluateCall(int id, Scope* scope);
  Result<Value> EvaluateOperator(int id, const Scope& scope);
  Result<std::vector<int>> FlatArguments(int id, const Scope& scope);
  Result<Value> Inline(int id, int function, Scope* closure, std::vector<Value> arguments,
                       std::string result_name);
  Result<Value> EvaluateLiteral(int id);
  Result<Value> EvaluateConstant(int id);
  Result<Value> EvaluateProjection(int id, const Scope& scope);
  Result<Value> EvaluateTuple(int id, const Scope& scope);

  const Value* Find(int expr, const Scope& scope) const;
  Status CheckType(std::size_t offset, const Value& value, const Type& type,
                   std::string_view what) const;
  Status At(std::size_t offset, const Status& status) const;
  Status Bad(std::size_t offset, std::string message) const;
  std::string NameOf(int expr, const Scope& scope) const;
  std::string Unique(const std::string& name);
  std::string PartName(const std::string& of);

  const Module& module_;
  std::string_view text_;
  Graph graph_;
  std::deque<Scope> scopes_;
  std::map<int, int> constants_;  // expression -> node
  // Contents of meta[relay.Constant][i], if present in the text.
  std::map<std::int64_t, Tensor> contents_;
  std::set<std::string, std::less<>> names_;
  std::map<std::string, int> parts_;
  std::map<std::string, int> copies_;  // name -> number of copies so far
  int calls_ = 0;                      // number of inlined calls so far
  int call_depth_ = 0;
};

}  // namespace tilewright::relay
