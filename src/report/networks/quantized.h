#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "src/graph/quantize/best_mode.h"
#include "src/graph/quantize/pipeline.h"
#include "src/session/notes.h"

namespace tilewright::report {

/// A quantized network, and how its results compare with those of the float network.
struct QuantizedNetwork {
  std::string file;  ///< Relay text that was written; may be empty
  quantize::PipelineOptions options;
  quantize::ModeResult result;
  std::vector<quantize::FloatLayer> left;  ///< products that stay float
  quantize::FloatResults expected;         ///< without inputs: not compared
  bool synthetic_inputs = false;           ///< of the comparison
  bool chose_mode = false;                 ///< the best of several calibration modes
  /// Modes that were tried, with the signal-to-noise ratio of their results in dB.
  std::vector<std::pair<std::string, double>> tried;

  nlohmann::ordered_json ToJson() const;
  /// Returns what was written, the float products and the quality, as lines.
  std::string ToText() const;
  /// Passes notes if ranges were not measured, or if little of the results is left.
  void NoteWeakness(const session::NoteSink& note) const;
};

}  // namespace tilewright::report
