#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "records/package/catalog.h"
#include "src/session/misses.h"
#include "src/session/text_table.h"
#include "src/target/target.h"
#include "src/tensor/workload.h"

namespace tilewright::report {

/// Answers for several tasks as text: a numbered table, the number of answers of each level, and
/// the tasks without a hit by reason.
class AnswerTable {
 public:
  AnswerTable();
  /// workload: null for a task without an operator in Tilewright.
  void Add(const std::string& name, const Workload* workload, const records::CatalogAnswer& answer);
  /// Returns all lines. columns: maximum width of the table; 0: no limit.
  std::string Text(const Target& target, int columns);

 private:
  session::TextTable table_;
  session::TextGroups misses_, imported_, skipped_;
  std::map<records::AnswerLevel, int> counts_;
  std::size_t count_ = 0;
};

/// Returns the answer for one task with its config, record and reason, as lines.
std::string AnswerText(const std::string& name, const Workload* workload, const Target& target,
                       const records::CatalogAnswer& answer);

}  // namespace tilewright::report
