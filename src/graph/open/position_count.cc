#include "src/graph/open/position_count.h"

namespace tilewright {
namespace {

std::int64_t RoundDown(std::int64_t value, std::int64_t divisor) {
  const std::int64_t quotient = value / divisor;
  return value % divisor < 0 ? quotient - 1 : quotient;
}

}  // namespace

std::int64_t PositionCount::At(std::int64_t size) const {
  return factor * RoundDown(times * size + plus, divide) + offset;
}

PositionCount PositionCount::Canonical() const {
  PositionCount made = *this;
  if (divide == 1) made = {factor * times, factor * plus, 1, 1, offset};
  if (made.factor != 1) return made;
  made.plus += made.divide * made.offset;
  made.offset = 0;
  return made;
}

PositionCount PositionCount::Plus(std::int64_t count) const {
  PositionCount made = *this;
  made.offset += count;
  return made.Canonical();
}

std::optional<PositionCount> PositionCount::Windows(std::int64_t extent,
                                                    std::int64_t stride) const {
  PositionCount made = Plus(-extent);
  if (made.factor == 1) {
    made.divide *= stride;
  } else if (made.factor % stride == 0) {
    made.factor /= stride;
    made.offset = RoundDown(made.offset, stride);
  } else {
    return std::nullopt;
  }
  return made.Plus(1);
}

PositionCount PositionCount::Times(std::int64_t count) const {
  PositionCount made = *this;
  made.factor *= count;
  made.offset *= count;
  return made.Canonical();
}

std::optional<PositionCount> PositionCount::DividedBy(std::int64_t count) const {
  PositionCount made = *this;
  if (factor % count == 0 && offset % count == 0) {
    made.factor /= count;
    made.offset /= count;
    return made.Canonical();
  }
  if (divide != 1 || factor != 1 || times % count != 0 || plus % count != 0) return std::nullopt;
  made.times /= count;
  made.plus /= count;
  return made.Canonical();
}

}  // namespace tilewright
