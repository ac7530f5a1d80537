#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "records/lookup.h"
#include "src/compiler/options/report.h"
#include "src/graph/ir/graph.h"
#include "src/graph/open/size_range.h"
#include "src/session/model.h"
#include "src/session/notes.h"
#include "src/target/target.h"

namespace tilewright::session {

/// Items grouped by a text that they have in common, in the order of their first items.
class TextGroups {
 public:
  void Add(const std::string& text, std::string name);
  /// Adds an item of a numbered table. Numbers ascend; ranges of them are shown as "#3-#7".
  void Add(const std::string& text, std::size_t number);
  /// Returns the number of items.
  std::size_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  /// Returns the groups, the largest first, as lines of at most 80 characters: the number of items
  /// and the text, then the items in at most `lines` lines.
  std::string Lines(std::size_t lines = 2) const;

 private:
  struct Group {
    std::string text;
    std::vector<std::string> names;
    std::vector<std::size_t> numbers;
  };
  Group& Of(const std::string& text);

  std::vector<Group> groups_;
  std::size_t count_ = 0;
};

/// Returns why a workload has no hit and which config it gets instead: "records only for another
/// target (llvm -mcpu=znver4 on X); its config". Empty for a hit.
std::string MissReasonText(records::AnswerLevel level, const records::MissCause& cause);

/// Texts of a note on misses.
struct MissNote {
  std::string target;        ///< short text of the target
  std::string command = {};  ///< shell command that tunes the model; may be empty
};

/// Returns FILE#N if only one task of a model file is untuned, number N, else FILE.
/// model: without the range, as TakeRange leaves it. sources: the file's shape variants, of one
/// entry with a range.
std::string FileToTune(const std::vector<OperatorReport>& operators, const ModelOptions& model,
                       std::span<const ModelSource> sources, const Target& target,
                       const std::optional<SizeRange>& range);

/// Passes one note on the operators without a record of their own: grouped by reason, for which
/// target, and the command that tunes them. Skipped records are a note of their own.
void NoteMisses(const std::vector<OperatorReport>& operators, const MissNote& text,
                const NoteSink& note);

}  // namespace tilewright::session
