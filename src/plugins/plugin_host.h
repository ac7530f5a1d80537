#pragma once

#include <optional>

#include "include/tilewright/plugin.h"
#include "src/schedule/schedule.h"
#include "src/space/config.h"
#include "src/tensor/workload.h"

// Types behind the handles of include/tilewright/plugin.h. Each keeps the first error.

struct tw_space {
  tilewright::ConfigSpace space;
  tilewright::Status status;
};

struct tw_config {
  const tilewright::Config& config;
  tilewright::Status status;
};

struct tw_schedule {
  const tilewright::Workload& workload;
  const tilewright::Epilogue& epilogue;
  tilewright::Schedule schedule;
  tilewright::KernelLayouts layouts = {};
  bool changed = false;  ///< a primitive was applied: layouts can no longer change
};

namespace tilewright::plugins {

/// Returns the functions that a template calls.
const tw_host& PluginHost();

}  // namespace tilewright::plugins
