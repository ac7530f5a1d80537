#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/vta/design.h"
#include "src/vta/isa.h"

namespace tilewright::vta {

/// How long instructions take: the numbers of an event model of the three engines. All in cycles,
/// or bytes per cycle. docs/vta.md has the formulas.
struct CycleModel {
  std::string name;
  double launch_cycles = 0;            ///< a launch with nothing to do
  double dma_cycles = 0;               ///< every transfer
  double row_cycles = 0;               ///< every row of a transfer that carries no weights
  double weight_row_cycles = 0;        ///< every row of a transfer of weights
  double bytes_per_cycle = 1;          ///< loads of activations, accumulators, micro-ops
  double weight_bytes_per_cycle = 1;   ///< loads of weights
  double store_bytes_per_cycle = 1;    ///< stores
  double side_padding_cycles = 0;      ///< every row end that is padded
  double padding_element_cycles = 0;   ///< every element of padding
  double compute_cycles = 0;           ///< every GEMM or ALU instruction
  double alu_immediate_cycles = 0;     ///< every accumulator element, immediate operand
  double alu_two_operand_cycles = 0;   ///< every accumulator element, operand from the accumulator
  double gemm_loop_cycles = 0;         ///< every iteration of a GEMM's two outer loops
  double idle_instruction_cycles = 0;  ///< an instruction that only passes tokens, and FINISH

  /// What the memory bus carries for all engines together; 0: each has it for itself.
  double bus_bytes_per_cycle = 0;

  /// Fitted to a PYNQ board at 100 MHz (42 measured convolutions).
  static CycleModel Pynq();
  /// What the hardware description of the core suggests; never measured.
  static CycleModel Rtl();
  /// Pynq() with the 8 bytes per cycle of a 64-bit port shared by the engines.
  static CycleModel PynqSharedBus();
  /// The built-in model called `name`. Errors: kInvalidArgument naming those there are.
  static Result<CycleModel> Preset(std::string_view name);
  /// Errors: kInvalidArgument naming the field that is missing, unknown, negative, not a number or,
  ///         for a rate, zero.
  static Result<CycleModel> Parse(std::string_view text, std::string_view file);
  std::string ToJson() const;

  /// What an instruction takes of its engine, and of the bus.
  struct Cost {
    double before_data = 0;      ///< cycles without use of the bus
    double data = 0;             ///< cycles that follow, in which data moves...
    double bytes_per_cycle = 0;  ///< ... at this rate, if the bus has room
    double cycles() const { return before_data + data; }
  };
  Cost CostOf(const Design& design, const Instruction& instruction) const;

  friend bool operator==(const CycleModel&, const CycleModel&) = default;
};

}  // namespace tilewright::vta
