#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "src/base/files/file.h"
#include "src/base/random.h"
#include "src/vta/design.h"
#include "src/vta/isa.h"

namespace tilewright::vta {

inline Design PresetDesign(const std::string& name) {
  const std::string path = TILEWRIGHT_SOURCE_DIR "/configs/vta/" + name + ".json";
  const auto text = ReadFile(path);
  TW_CHECK(text.ok(), text.status().message());
  const auto design = Design::Parse(*text, path);
  TW_CHECK(design.ok(), design.status().message());
  return *design;
}

/// Returns the path of a file of the shared data. Tests that need it are skipped if it is absent.
inline std::string SharedData(const std::string& file) {
  const char* folder = std::getenv("TILEWRIGHT_SHARED");
  return std::string(folder != nullptr ? folder : TILEWRIGHT_SOURCE_DIR "/../shared") + "/data/" +
         file;
}

/// Returns `count` random signed numbers of `bits` (1 to 8) bits.
inline std::vector<std::int8_t> RandomValues(Random& random, std::int64_t count, int bits = 8) {
  std::vector<std::int8_t> values(static_cast<std::size_t>(count));
  for (auto& value : values) {
    value =
        static_cast<std::int8_t>(static_cast<int>(random.Below(1u << bits)) - (1 << (bits - 1)));
  }
  return values;
}

inline Instruction Make(const auto& operation, const Tokens& tokens = {}) {
  Instruction instruction;
  instruction.tokens = tokens;
  instruction.operation = operation;
  return instruction;
}

}  // namespace tilewright::vta
