#pragma once

#include <string>
#include <vector>

#include "include/tilewright/tilewright.h"
#include "src/base/status.h"
#include "src/tensor/workload.h"

/// Operator description under construction.
struct tw_operator {
  std::string name;  ///< as given; "depthwise_conv2d" has the kind kConv2d
  tilewright::Operator op;
  std::vector<tilewright::TensorType> tensors;
};

namespace tilewright::capi {

/// Converts the description to a workload.
/// Errors: kInvalidArgument if a part is missing or inconsistent.
Result<Workload> WorkloadOf(const tw_operator& op);

/// Returns a text that is equal only for equal descriptions; much cheaper than the workload's key.
std::string FingerprintOf(const tw_operator& op);

}  // namespace tilewright::capi
