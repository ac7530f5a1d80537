#pragma once

#include <string_view>
#include <vector>

#include "src/graph/quantize/config.h"
#include "src/graph/quantize/part_emitter.h"

namespace tilewright::quantize {

inline constexpr double kLargestInt32 = 2147483647;
/// The largest float below 2^31.
inline constexpr double kLargestFloatInt32 = 2147483520;

/// Integers that stand for a value: it is about the integer times its scale.
struct Integers {
  int id = -1;                 ///< in the new graph
  DataType dtype = kInt32;     ///< float32 for whole numbers in floats
  std::vector<double> scales;  ///< one, or one per element of one dimension
  /// How many dimensions are behind that one: broadcasting aligns the last ones, so it is the same
  /// for a value of fewer dimensions and for the sum it goes into.
  std::size_t trailing_dimensions = 0;
  double most = kLargestInt32;  ///< no magnitude is larger, whatever the network reads
};

/// Writes the arithmetic of integers into a graph.
class Rescaler {
 public:
  Rescaler(Graph& graph, const Config& config)
      : graph_(graph), config_(config), emitter_(graph, "q") {}
  PartEmitter& emitter() { return emitter_; }

  /// The value in another element type; nothing if it has that.
  Result<int> Cast(std::string_view of, int value, DataType dtype);
  Result<int> Clip(std::string_view of, int value, double least, double most);
  /// The value within +-most; nothing if it is.
  Result<Integers> Saturate(std::string_view of, Integers value, double most);
  /// clip(round(x * (1 / scale))) of a plain value: whole numbers in floats. mark: with scales.
  Result<Integers> Round(const Node& annotation, int value, std::size_t trailing_dimensions);
  /// round(x * from / to) for whole numbers: a shift where the ratio is a power of two, a product
  /// where it is a whole number, else a fixed-point product. `to` has as many scales as `from`, or
  /// one. Nothing if they are equal; else the result is int32 or int64, to be clipped and cast.
  /// Products of whole numbers wrap around: see RescaleWithin.
  Result<Integers> Rescale(std::string_view of, Integers value, const std::vector<double>& to);
  /// clip(round(x * from / to)) to least and most (within +-2^31), whatever x is; of the element
  /// type of x.
  Result<Integers> RescaleWithin(std::string_view of, const Integers& value,
                                 const std::vector<double>& to, double least, double most);
  /// A constant of one element, or one per channel with `behind` dimensions behind the channel.
  int Constant(std::string_view of, DataType dtype, const std::vector<double>& values,
               std::size_t trailing_dimensions);

 private:
  Result<int> Binary(std::string_view of, OpKind kind, int value, int operand);
  Result<int> ShiftRight(std::string_view of, Integers value, int count);
  Result<int> FixedPointProduct(std::string_view of, const Integers& value,
                                const std::vector<double>& factors);

  Graph& graph_;
  const Config& config_;
  PartEmitter emitter_;
};

}  // namespace tilewright::quantize
