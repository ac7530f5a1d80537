#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright::vta {

/// The on-chip memories, numbered as instructions number them.
enum class Memory : std::uint8_t {
  kUop = 0,      ///< micro-ops, filled through the compute engine
  kWgt = 1,      ///< weight tiles
  kInp = 2,      ///< activation tiles
  kAcc = 3,      ///< accumulator tiles
  kOut = 4,      ///< narrowed results; only stores name it
  kAccInt8 = 5,  ///< the accumulator, filled from int8 data and sign extended
};
inline constexpr int kMemoryCount = 6;

/// "UOP", "WGT", "INP", "ACC", "OUT", "ACC8".
std::string_view MemoryName(Memory memory);

/// What one VTA is built with: widths, tile shape and buffer sizes, all as powers of two.
///
/// A value of this type is always valid: it comes from Parse, which checks what the instruction
/// format, the micro-op format and the memories need.
class Design {
 public:
  /// The 16x16 design with one row per tile that all boards ship with, for target `target`.
  static Design Default(std::string_view target = "sim");

  /// Reads the JSON object of a design file, as the hardware project writes it.
  /// file: named in messages.
  /// Errors: kInvalidArgument if it is no JSON object, a field is missing, unknown, of the wrong
  ///         type or out of range, or the sizes together cannot be encoded in instructions.
  static Result<Design> Parse(std::string_view text, std::string_view file);

  /// The design of the model that Model() names; its hardware version, which no code depends on, is
  /// the usual one of the target.
  /// Errors: kInvalidArgument if the text is not such a name, or Parse would refuse the sizes.
  static Result<Design> FromModel(std::string_view model);

  /// The object that Parse reads, with a line for each field.
  std::string ToJson() const;

  /// "sim", "tsim", "pynq", "ultra96", "zcu104", "de10nano" or "intelfocl".
  const std::string& target() const { return target_; }
  const std::string& hardware_version() const { return hardware_version_; }

  /// Rows of an activation tile and columns of any tile.
  int batch() const { return 1 << log_batch_; }
  int block() const { return 1 << log_block_; }
  /// Bits of an activation (and of a stored result) and of a weight. Accumulators have 32.
  int inp_bits() const { return 1 << log_inp_width_; }
  int wgt_bits() const { return 1 << log_wgt_width_; }

  /// Bytes of one element of `memory` in DRAM: a tile, or a micro-op. For kAccInt8 what a tile
  /// takes as int8, which is the unit of its addresses.
  std::int64_t ElementBytes(Memory memory) const;
  /// Elements that `memory` holds, and the power of two they are.
  std::int64_t Depth(Memory memory) const { return std::int64_t{1} << LogDepth(memory); }
  int LogDepth(Memory memory) const;
  /// Micro-ops that code for `target()` may keep: the hardware core described in Chisel (tsim,
  /// de10nano) has 2048 whatever its design file says.
  std::int64_t UsableUops() const;

  /// "1x16_i8w8a32_15_15_18_17": every size there is, so two designs of one name are alike.
  std::string Name() const;
  /// "pynq_1x16_i8w8a32_15_15_18_17": the -model of a target string.
  std::string Model() const { return target_ + "_" + Name(); }

  friend bool operator==(const Design&, const Design&) = default;

 private:
  /// A field of the file that is a number.
  struct Number {
    const char* key;
    int* value;
    int low, high;  ///< what makes sense for this field alone
  };

  Design() = default;
  std::array<Number, 9> Numbers();
  /// Whether the sizes go together.
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
