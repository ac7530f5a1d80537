#pragma once

#include <string_view>
#include <vector>

#include "src/graph/quantize/config.h"
#include "src/graph/quantize/part_emitter.h"

namespace tilewright::quantize {

inline constexpr double kLargestInt32 = 2147483647;
/// Largest float below 2^31.
inline constexpr double kLargestFloatInt32 = 2147483520;

/// Integers that represent a value: the value is about the integer times its scale.
struct Integers {
  int id = -1;                 ///< in the new graph
  DataType dtype = kInt32;     ///< float32 for integers stored in floats
  std::vector<double> scales;  ///< one, or one per element of one dimension
  /// Number of dimensions after that one. Broadcasting aligns the last dimensions, so a value of
  /// lower rank and the sum that it is part of have the same number.
  std::size_t trailing_dimensions = 0;
  double most = kLargestInt32;  ///< upper bound of the magnitudes for all inputs of the network
};

/// Builder of integer arithmetic in a graph.
class Rescaler {
 public:
  Rescaler(Graph& graph, const Config& config)
      : graph_(graph), config_(config), emitter_(graph, "q") {}
  PartEmitter& emitter() { return emitter_; }

  /// Casts a value to another element type; adds nothing if it has that type.
  Result<int> Cast(std::string_view of, int value, DataType dtype);
  Result<int> Clip(std::string_view of, int value, double least, double most);
  /// Clips a value to +-most; adds nothing if it is within that range.
  Result<Integers> Saturate(std::string_view of, Integers value, double most);
  /// Returns clip(round(x * (1 / scale))) of a plain value: integers stored in floats. annotation:
  /// has scales.
  Result<Integers> Round(const Node& annotation, int value, std::size_t trailing_dimensions);
  /// Computes round(x * from / to) for integers: a shift if the ratio is a power of two, a product
  /// if it is an integer, else a fixed-point product. `to` has as many scales as `from`, or one.
  /// Adds nothing if they are equal; else the result is int32 or int64, to be clipped and cast.
  /// Products of integers wrap around: see RescaleWithin.
  Result<Integers> Rescale(std::string_view of, Integers value, const std::vector<double>& to);
  /// Computes clip(round(x * from / to)) to least and most (within +-2^31) for every x. Has the
  /// element type of x.
  Result<Integers> RescaleWithin(std::string_view of, const Integers& value,
                                 const std::vector<double>& to, double least, double most);
  /// Adds a constant of one element, or one element per channel with `trailing_dimensions`
  /// dimensions after the channel.
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
