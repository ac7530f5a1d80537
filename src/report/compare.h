#pragma once

#include <string>

#include "src/report/document.h"

namespace tilewright::report {

/// The tasks that two documents have in common (workload and epilogue), each by its newest job that
/// has a value for it. Which one is faster is said where the 95 % intervals of the two values leave
/// no doubt; tasks whose difference weighs most in the network come first.
Comparison Compare(const Document& document, const Document& other, const std::string& store,
                   const std::string& other_store);

}  // namespace tilewright::report
