#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/vta/design.h"
#include "src/vta/isa.h"

namespace tilewright::vta {

/// Instruction times: the parameters of an event model of the three engines, in cycles or bytes per
/// cycle. docs/vta.md has the formulas.
struct CycleModel {
  std::string name;
  double launch_cycles = 0;            ///< empty launch
  double dma_cycles = 0;               ///< every transfer
  double row_cycles = 0;               ///< every row of a transfer other than weights
  double weight_row_cycles = 0;        ///< every row of a transfer of weights
  double bytes_per_cycle = 1;          ///< loads of activations, accumulators, micro-ops
  double weight_bytes_per_cycle = 1;   ///< loads of weights
  double store_bytes_per_cycle = 1;    ///< stores
  double side_padding_cycles = 0;      ///< every padded row end
  double padding_element_cycles = 0;   ///< every element of padding
  double compute_cycles = 0;           ///< every GEMM or ALU instruction
  double alu_immediate_cycles = 0;     ///< every accumulator element, immediate operand
  double alu_two_operand_cycles = 0;   ///< every accumulator element, operand from the accumulator
  double gemm_loop_cycles = 0;         ///< every iteration of a GEMM's two outer loops
  double idle_instruction_cycles = 0;  ///< instruction that only passes tokens, and FINISH

  /// Bandwidth of the memory bus for all engines together; 0: no sharing.
  double bus_bytes_per_cycle = 0;

  /// Returns the model fitted to a PYNQ board at 100 MHz (42 measured convolutions).
  static CycleModel Pynq();
  /// Returns a model derived from the hardware description of the core; not measured.
  static CycleModel Rtl();
  /// Returns Pynq() with the 8 bytes per cycle of a 64-bit port that the engines share.
  static CycleModel PynqSharedBus();
  /// Returns the built-in model `name`. Errors: kInvalidArgument listing the models.
  static Result<CycleModel> Preset(std::string_view name);
  /// Parses a cycle model. Errors: kInvalidArgument naming the field that is missing, unknown,
  /// negative, not a number or, for a rate, zero.
  static Result<CycleModel> Parse(std::string_view text, std::string_view file);
  std::string ToJson() const;

  /// Time of an instruction on its engine and on the bus.
  struct Cost {
    double before_data = 0;      ///< cycles without use of the bus
    double data = 0;             ///< cycles of data transfer that follow...
    double bytes_per_cycle = 0;  ///< ... at this rate, unless the bus limits it
    double cycles() const { return before_data + data; }
  };
  Cost CostOf(const Design& design, const Instruction& instruction) const;

  friend bool operator==(const CycleModel&, const CycleModel&) = default;
};

}  // namespace tilewright::vta
