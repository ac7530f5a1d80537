#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright {

/// Everything that a file is refused for, told at once: whoever mends an export should not meet its
/// faults one after the other.
class ImportDiagnostics {
 public:
  /// A node of an operator that is not supported. hint: what to do about it, beginning with "; ",
  /// or empty.
  void AddOperator(const std::string& op, std::string_view hint);
  /// Of an input whose sizes are open: which, and the options that would bind them.
  void AddOpen(const std::string& dimensions, const std::vector<std::string>& options);
  /// Anything else. place: the node or the input, empty for what is wrong with the file. Of several
  /// places that are refused for the same reason it is told once.
  void Add(const std::string& place, const Status& status);

  bool empty() const { return operators_.empty() && open_.empty() && others_.empty(); }
  /// All of them as one: the message of the only one as it is, else "3 refusals: (1) …; (2) …".
  /// Of very many the first ones, and how many more there are.
  /// Errors: kUnsupported; kInvalidArgument if one of them is. OK if there is none.
  Status ToStatus() const;
  /// How many there are, operators and open sizes counted as one each.
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
