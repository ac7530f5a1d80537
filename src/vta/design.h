#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright::vta {

/// On-chip memories, with the numbers that instructions use.
enum class Memory : std::uint8_t {
  kUop = 0,      ///< micro-ops, filled through the compute engine
  kWgt = 1,      ///< weight tiles
  kInp = 2,      ///< activation tiles
  kAcc = 3,      ///< accumulator tiles
  kOut = 4,      ///< narrowed results; only stores use it
  kAccInt8 = 5,  ///< accumulator, filled from sign-extended int8 data
};
inline constexpr int kMemoryCount = 6;

/// Returns "UOP", "WGT", "INP", "ACC", "OUT", "ACC8".
std::string_view MemoryName(Memory memory);

/// VTA design: widths, tile shape and buffer sizes of one accelerator, all as powers of two.
///
/// A value of this type is always valid: it comes from Parse, which checks the requirements of the
/// instruction format, the micro-op format and the memories.
class Design {
 public:
  /// Returns the 16x16 design with one row per tile that all boards ship with, for target `target`.
  static Design Default(std::string_view target = "sim");

  /// Parses the JSON object of a design file, in the format of the hardware project.
  /// file: name in messages.
  /// Errors: kInvalidArgument if it is not a JSON object, if a field is missing, unknown, of the
  ///         wrong type or out of range, or if instructions cannot encode the sizes together.
  static Result<Design> Parse(std::string_view text, std::string_view file);

  /// Returns the design whose Model() is `model`. Its hardware version, which no code depends on,
  /// is the usual one of the target. Errors: kInvalidArgument if the text is not such a name, or if
  /// Parse would reject the sizes.
  static Result<Design> FromModel(std::string_view model);

  /// Formats the object that Parse reads, with a line for each field.
  std::string ToJson() const;

  /// Returns "sim", "tsim", "pynq", "ultra96", "zcu104", "de10nano" or "intelfocl".
  const std::string& target() const { return target_; }

  /// Rows of an activation tile, and columns of any tile.
  int batch() const { return 1 << log_batch_; }
  int block() const { return 1 << log_block_; }
  /// Bits of an activation (and of a stored result) and of a weight. Accumulators have 32 bits.
  int inp_bits() const { return 1 << log_inp_width_; }
  int wgt_bits() const { return 1 << log_wgt_width_; }

  /// Returns the bytes of one element of `memory` in DRAM: a tile, or a micro-op. For kAccInt8, the
  /// bytes of a tile as int8, which are the unit of its addresses.
  std::int64_t ElementBytes(Memory memory) const;
  /// Return the number of elements of `memory`, and its log2.
  std::int64_t Depth(Memory memory) const { return std::int64_t{1} << LogDepth(memory); }
  int LogDepth(Memory memory) const;
  /// Returns the number of micro-ops that code for `target()` may keep. The hardware core described
  /// in Chisel (tsim, de10nano) has 2048, regardless of its design file.
  std::int64_t UsableUops() const;

  /// Returns "1x16_i8w8a32_15_15_18_17": all sizes, so two designs with the same name are equal.
  std::string Name() const;
  /// Returns "pynq_1x16_i8w8a32_15_15_18_17": the -model of a target string.
  std::string Model() const { return target_ + "_" + Name(); }

  friend bool operator==(const Design&, const Design&) = default;

 private:
  /// Numeric field of the file.
  struct Number {
    const char* key;
    int* value;
    int low, high;  ///< valid range of this field alone
  };

  Design() = default;
  std::array<Number, 9> Numbers();
  /// Checks that the sizes are consistent.
  Status Check() const;

  std::string target_ = "sim";
  std::string hardware_version_ = "0.0.2";
  int log_inp_width_ = 3;
  int log_wgt_width_ = 3;
  int log_acc_width_ = 5;
  int log_batch_ = 0;
  int log_block_ = 4;
  int log_uop_bytes_ = 15;
  int log_inp_bytes_ = 15;
  int log_wgt_bytes_ = 18;
  int log_acc_bytes_ = 17;
};

}  // namespace tilewright::vta
