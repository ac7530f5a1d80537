#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright {

/// All reasons to reject a file, reported together, so that the user can fix them in one pass.
class ImportDiagnostics {
 public:
  /// Adds a node of an unsupported operator. hint: how to fix it, beginning with "; ", or empty.
  void AddOperator(const std::string& op, std::string_view hint);
  /// Adds an input with open sizes: the dimensions and the options that would bind them.
  void AddOpen(const std::string& dimensions, const std::vector<std::string>& options);
  /// Adds any other reason. place: the node or the input; empty for an error of the file itself. A
  /// reason that applies to several places is reported once.
  void Add(const std::string& place, const Status& status);

  bool empty() const { return operators_.empty() && open_.empty() && others_.empty(); }
  /// Combines all entries into one status. The message is that of the only entry, or "3 refusals:
  /// (1) …; (2) …". A long list is truncated and ends with the number of further entries.
  /// Returns OK if there are no entries, kInvalidArgument if at least one entry is, else
  /// kUnsupported.
  Status ToStatus() const;
  /// Number of entries. Operators and open sizes count as one entry each.
  std::size_t size() const;

 private:
  std::string OperatorText() const;
  std::string OpenText() const;

  struct Operator {
    int nodes = 0;
    std::string hint;
  };
  std::map<std::string, Operator> operators_;
  std::vector<std::string> open_, options_;
  struct Other {
    std::string reason;
    std::vector<std::string> places;  ///< the first ones
    std::size_t more = 0;
  };
  static std::string TextOf(const Other& other);
  std::vector<Other> others_;
  std::size_t not_kept_ = 0;
  StatusCode code_ = StatusCode::kUnsupported;
};

}  // namespace tilewright
