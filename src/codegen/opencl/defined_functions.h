#pragma once

#include <set>
#include <string>
#include <string_view>

namespace tilewright::opencl {

/// Functions that the text defines for itself, because OpenCL C has none of the same meaning.
/// Collects the used ones.
class DefinedFunctions {
 public:
  /// Returns the name and marks the function as used. Requires a name of the table
  /// (defined_functions.cc).
  std::string Use(std::string_view name);
  /// The program computes in float64, an extension of OpenCL C 1.2.
  void UseDouble() { doubles_ = true; }
  /// Returns the definitions of everything that was used; may be empty.
  std::string Text() const;

 private:
  std::set<std::string_view> used_;
  bool doubles_ = false;
};

}  // namespace tilewright::opencl
