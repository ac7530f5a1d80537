#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/space/open/parameter.h"

namespace tilewright {

/// Problem that a caller's kernel solves: sizes and properties by name, sorted by name. Kernels of
/// one name with different problems are different tasks.
using Problem = std::vector<std::pair<std::string, ParameterValue>>;

/// Parses one JSON object of numbers, texts and booleans: {"m": 512, "dtype": "float16"}. At most
/// 64 members of at most 64 bytes each. It may come from anybody.
/// Errors: kInvalidArgument naming the member.
Result<Problem> ParseProblem(std::string_view json);
/// Errors: kInvalidArgument for a problem that ParseProblem does not return.
Status CheckProblem(const Problem& problem);
/// Formats a problem as the JSON object that ParseProblem reads.
std::string ProblemJson(const Problem& problem);
/// Formats a problem for display: "dtype=float16 m=512".
std::string ProblemText(const Problem& problem);
/// Returns the sum of |log2(a/b)| over the positive numbers; infinity if the problems differ in
/// names, texts or other numbers.
double ProblemDistance(const Problem& a, const Problem& b);

}  // namespace tilewright
