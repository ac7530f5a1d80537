#pragma once

#include <string>

#include "src/report/document.h"

namespace tilewright::report {

/// Compares the tasks that two documents have in common (workload and epilogue), each by its newest
/// job that has a value for it. A task is faster or slower if the 95 % intervals of the two values
/// do not overlap. Tasks whose difference has the largest weight in the network are first.
Comparison Compare(const Document& document, const Document& other, const std::string& store,
                   const std::string& other_store);

}  // namespace tilewright::report
