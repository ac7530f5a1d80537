#pragma once

#include <string>

#include "records/autotvm/task.h"
#include "records/imported.h"
#include "tests/support/built_in.h"

namespace tilewright {

/// Returns the config of a line of a log as it is written, which may be of another space.
inline Config ConfigOfLine(const records::LogLine& line) {
  Config config;
  for (const records::LogEntity& entity : line.entities) {
    config.values.emplace_back(std::string(entity.name), records::KnobValueOf(line, entity));
  }
  return config;
}

/// Returns the candidate that AutoTVM's rule serves for a line of a log, for the line's target.
/// Errors: those of ParseAutotvmInput and CandidateOfImported.
inline Result<Candidate> CandidateOfLine(const records::LogLine& line) {
  TW_ASSIGN_OR_RETURN(const auto input, records::ParseAutotvmInput(line));
  records::ImportedRecord record;
  record.task = input.task.name;
  record.workload_key = input.task.workload ? input.task.workload->Key() : "";
  record.tuple = input.task.tuple;
  record.target = input.target.text;
  record.index = line.index;
  line.AppendEntities(record.entities, records::LogLine::Style::kCompact);
  return records::CandidateOfImported(BuiltInTemplates(), record, input.target.target);
}

}  // namespace tilewright
