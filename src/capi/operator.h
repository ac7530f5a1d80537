#pragma once

#include <string>
#include <vector>

#include "include/tilewright/tilewright.h"
#include "src/base/status.h"
#include "src/tensor/workload.h"

/// A description under construction.
struct tw_operator {
  std::string name;  ///< as given; depthwise_conv2d says more than its kind
  tilewright::Operator op;
  std::vector<tilewright::TensorType> tensors;
};

namespace tilewright::capi {

/// Errors: kInvalidArgument if something is missing or does not fit together.
Result<Workload> WorkloadOf(const tw_operator& op);

/// A text that two descriptions share only if they are equal; much cheaper than the workload's key.
std::string FingerprintOf(const tw_operator& op);

}  // namespace tilewright::capi
