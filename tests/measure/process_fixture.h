#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "measure/messages.h"
#include "measure/supervisor/process_measurer.h"

namespace tilewright::measure {

/// Returns settings for tests: real workers from the test worker program, short limits.
inline ProcessMeasurerSettings TestSettings() {
  ProcessMeasurerSettings settings;
  settings.build_command = {MEASURE_WORKER, "build"};
  settings.run_commands = {{MEASURE_WORKER, "run"}};
  settings.build_limit_seconds = 20;
  settings.machine_backoff_seconds = 0.02;
  settings.builder_memory_bytes = std::int64_t{1} << 30;
  settings.runner.memory_bytes = std::int64_t{256} << 20;
  return settings;
}

/// Returns the workload of the artifacts in faults.c.
inline Candidate DenseCandidate() {
  Candidate candidate;
  auto workload = Workload::Parse("dense(float32[4,16]MK,float32[32,16]NK)->float32");
  auto target = Target::Parse("llvm");
  TW_CHECK(workload.ok(), workload.status().message());
  TW_CHECK(target.ok());
  candidate.task = {*workload, *target};
  candidate.template_key = "of_a_test";
  candidate.config.index = 0;
  return candidate;
}

inline Request RequestFor(std::uint64_t ticket, Candidate candidate) {
  Request request;
  request.ticket = ticket;
  request.candidate = std::move(candidate);
  request.best_seconds = 1e-4;
  return request;
}

inline Fault ArtifactFault(std::string symbol) {
  Fault fault;
  fault.artifact = MEASURE_FAULTS;
  fault.symbol = std::move(symbol);
  return fault;
}

/// Returns the next trial without a time limit (the workers have their own limits).
inline Reply NextReply(Measurer& measurer) {
  auto reply = measurer.Next(120);
  if (!reply.ok() || !reply->has_value()) {
    ADD_FAILURE() << "no trial came: " << reply.status().message();
    return {};
  }
  return std::move(**reply);
}

}  // namespace tilewright::measure
